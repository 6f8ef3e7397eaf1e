// What is pointed at, and where a picture that is too wide begins.

const tip = document.createElement('div');
tip.id = 'tip';
tip.hidden = true;
document.body.append(tip);
for (const title of document.querySelectorAll('svg.order title')) {
  title.parentNode.dataset.told = title.textContent;
  title.parentNode.setAttribute('aria-label', title.textContent);
  title.remove();
}
function show(event) {
  const told = event.target.closest?.('[data-told]')?.dataset.told;
  tip.hidden = !told;
  if (!told) return;
  tip.textContent = told;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = Math.max(Math.min(event.clientX + 12, room), 8) + 'px';
  const below = event.clientY + 16 + tip.offsetHeight < innerHeight;
  tip.style.top = (below ? event.clientY + 16 : event.clientY - 12 - tip.offsetHeight) + 'px';
}
for (const name of ['pointermove', 'click']) document.addEventListener(name, show);
document.addEventListener('scroll', () => (tip.hidden = true), true);

function showEnd(within) {
  for (const scroll of within.querySelectorAll('.ordered .scroll')) {
    const end = scroll.querySelector('.limit line');
    if (end) scroll.scrollLeft = end.getAttribute('x1') - scroll.clientWidth * 0.75;
  }
}
showEnd(document);
for (const details of document.querySelectorAll('details')) {
  details.addEventListener('toggle', () => showEnd(details));
}
