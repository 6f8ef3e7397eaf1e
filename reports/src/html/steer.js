// Wheel, fingers, keys, the address, what is pointed at, and the start of it all.

// Moving.

let writing = 0;
function show(from, until) {
  const width = Math.min(Math.max(until - from, 20), end);
  from = Math.min(Math.max(from, 0), end - width);
  view.from = from;
  view.until = from + width;
  hideTip();
  redraw();
  clearTimeout(writing);
  writing = setTimeout(writeAddress, 250);
}
function writeAddress() {
  const whole = view.from <= 0 && view.until >= end;
  const digits = Math.min(Math.max(10 - Math.ceil(Math.log10(view.until - view.from)), 0), 6);
  const seconds = (us) => +(us / 1e6).toFixed(digits) + 's';
  const part = '#t=' + seconds(view.from) + ',' + seconds(view.until);
  // Some browsers refuse this for a page from a file; the window is then not kept.
  try {
    history.replaceState(null, '', whole ? location.pathname + location.search : part);
  } catch {
    // Nothing else depends on it.
  }
}
function readAddress(scroll) {
  const found = /^#t=([\d.]+)(us|ms|s)?,([\d.]+)(us|ms|s)?$/.exec(location.hash);
  if (!found) return;
  const unit = { us: 1, ms: 1e3, s: 1e6 };
  const from = found[1] * unit[found[2] || 's'], until = found[3] * unit[found[4] || 's'];
  if (!(from < until)) return;
  show(from, until);
  if (scroll) $('timeline').scrollIntoView({ block: 'start' });
}
function zoom(factor, x) {
  const inside = x === undefined ? gutter + plot / 2 : Math.min(Math.max(x, gutter), gutter + plot);
  const at = timeAt(inside);
  show(at - (at - view.from) * factor, at + (view.until - at) * factor);
}
function pan(share) {
  const by = (view.until - view.from) * share;
  show(view.from + by, view.until + by);
}
function toBreach(breach) {
  const margin = Math.max((breach.until_us - breach.from_us) / 3, 10000);
  show(breach.from_us - margin, breach.until_us + margin);
}
let visited = -1;
const actions = {
  in: () => zoom(0.5), out: () => zoom(2), reset: () => show(0, end),
  next: () => {
    if (!data.breaches.length) return;
    visited = (visited + 1) % data.breaches.length;
    toBreach(data.breaches[visited]);
  },
};
const keys = {
  '+': 'in', '=': 'in', ArrowUp: 'in', '-': 'out', ArrowDown: 'out',
  0: 'reset', Home: 'reset', Escape: 'reset', v: 'next',
};
canvas.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'ArrowLeft') pan(-0.2);
  else if (event.key === 'ArrowRight') pan(0.2);
  else if (keys[event.key]) actions[keys[event.key]]();
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll('[data-do]')) {
  button.addEventListener('click', actions[button.dataset.do]);
}
for (const breach of data.breaches) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = '✗ ' + breach.name;
  button.addEventListener('click', () => toBreach(breach));
  $('breaches').append(button);
}

// A wheel that scrolls the page goes on scrolling it when the timeline comes under the pointer.
let scrolled = 0;
window.addEventListener('wheel', (event) => {
  if (event.target !== canvas) scrolled = event.timeStamp;
}, { passive: true });
canvas.addEventListener('wheel', (event) => {
  const whole = view.from <= 0 && view.until >= end;
  if (event.timeStamp - scrolled < 350 || (whole && event.deltaY > 0 && !event.deltaX)) {
    scrolled = event.timeStamp;
    return;
  }
  event.preventDefault();
  const scale = event.deltaMode === 1 ? 30 : 1;
  const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (sideways) pan(((event.deltaX || event.deltaY) * scale) / plot);
  else zoom(Math.exp(event.deltaY * scale * 0.0016), event.offsetX);
}, { passive: false });

const fingers = new Map();
let grip = null;
function takeGrip() {
  const xs = [...fingers.values()];
  grip = { times: xs.map(timeAt), xs };
}
canvas.addEventListener('pointerdown', (event) => {
  if (event.offsetY < OVERVIEW) { jump(event.offsetX); return; }
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, event.offsetX);
  canvas.classList.add('dragging');
  takeGrip();
});
canvas.addEventListener('pointermove', (event) => {
  if (!fingers.has(event.pointerId)) { hover(event.offsetX, event.offsetY); return; }
  fingers.set(event.pointerId, event.offsetX);
  const xs = [...fingers.values()];
  let width = view.until - view.from;
  if (xs.length > 1) {
    const apart = Math.max(Math.abs(xs[1] - xs[0]), 10);
    width = (Math.abs(grip.times[1] - grip.times[0]) / apart) * plot;
  }
  const from = grip.times[0] - ((xs[0] - gutter) / plot) * width;
  show(from, from + width);
});
function letGo(event) {
  if (!fingers.delete(event.pointerId)) return;
  if (fingers.size) takeGrip(); else canvas.classList.remove('dragging');
}
canvas.addEventListener('pointerup', (event) => {
  const still = grip && fingers.size === 1 && Math.abs(event.offsetX - grip.xs[0]) < 4;
  letGo(event);
  if (still) hover(event.offsetX, event.offsetY);
});
canvas.addEventListener('pointercancel', letGo);
canvas.addEventListener('dblclick', (event) => zoom(0.4, event.offsetX));
// A click into the overview moves the window there; onto a violation, it opens it.
function jump(x) {
  const time = ((x - gutter) / plot) * end;
  const middle = (breach) => (breach.from_us + breach.until_us) / 2;
  const near = data.breaches.find((b) => Math.abs(middle(b) - time) < (8 / plot) * end);
  if (near) { toBreach(near); return; }
  const width = view.until - view.from;
  show(time - width / 2, time + width / 2);
}

// Pointing.

function hideTip() { tip.hidden = true; }
canvas.addEventListener('pointerleave', hideTip);
function hover(x, y) {
  const words = x > gutter ? describe(x, y) : '';
  if (!words) { hideTip(); return; }
  tip.textContent = words;
  tip.hidden = false;
  const left = x + 14 + tip.offsetWidth > wide ? x - tip.offsetWidth - 12 : x + 14;
  tip.style.left = Math.max(left, 0) + 'px';
  tip.style.top = y + 16 + 'px';
}
function describe(x, y) {
  const time = timeAt(x), near = ((view.until - view.from) / plot) * 4;
  const lane = y >= top ? lanes[Math.floor((y - top) / laneHeight)] : undefined;
  const server = lane ? undefined : servers[Math.floor((y - serverTop(0)) / SERVER)];
  // A fault of servers reaches every client.
  const here = (fault) => {
    if (fault.clients.length) return lane && fault.clients.includes(lane.number);
    return lane || fault.servers.includes(server);
  };
  const now = (fault) => fault.from_us - near <= time && fault.until_us + near >= time;
  const lines = lane ? aboutLane(lane, time, near) : [];
  for (const fault of data.faults) if (here(fault) && now(fault)) lines.push(aboutFault(fault));
  return lines.join('\n');
}
function aboutFault(fault) {
  return `Fault: ${fault.name}, ${exact(fault.from_us)} – ${exact(fault.until_us)} (${fault.effect})`;
}
function aboutLane(lane, time, near) {
  const lines = [], mark = nearestMark(lane.marks, time, near);
  if (mark >= 0) lines.push(aboutMark(lane.marks, mark));
  const at = mark >= 0 ? lane.marks.from[mark] : time;
  const held = covering(lane.holds, at, near), waited = covering(lane.waits, at, near);
  if (held >= 0) lines.push(aboutHold(lane.holds, held));
  else if (waited >= 0) lines.push(aboutWait(lane.waits, waited));
  const moment = clock(at, view.until - view.from);
  if (lines.length) lines.unshift(`process ${processAt(lane, at)}, ${moment}`);
  return lines;
}
// A loss or a death is easily hidden among reads and writes, so it goes before them.
function nearestMark(marks, time, near) {
  let best = -1;
  const first = (i) => (value(marks, 'sign', i) >= SIGN.doubt ? near * 2 : 0);
  const far = (i) => Math.abs(marks.from[i] - time) - first(i);
  for (let i = above(marks.reach, time - near); i < marks.n && marks.from[i] <= time + near; i++) {
    if (best < 0 || far(i) < far(best)) best = i;
  }
  return best;
}
// What stands at that time, or else what comes nearest to it.
function covering(columns, time, near) {
  for (const reach of [0, near]) {
    const i = above(columns.reach, time - reach - 1);
    if (i < columns.n && columns.from[i] <= time + reach) return i;
  }
  return -1;
}
function aboutMark(marks, i) {
  const number = value(marks, 'value', i), why = word(value(marks, 'error', i));
  const of = number ? ' of ' + (number - 1) : '';
  const what = (value(marks, 'write', i) ? 'write' : 'read') + of;
  const names = {
    [SIGN.fenced]: what + ' fenced off', [SIGN.unknown]: what + ', outcome unknown',
    [SIGN.doubt]: 'doubted its hold', [SIGN.lost]: 'gave the lock up for lost', [SIGN.death]: 'died',
  };
  const told = names[value(marks, 'sign', i)] || what;
  return `${exact(marks.from[i])}: ${told}${why ? ': ' + why : ''}`;
}
function stretch(columns, i) {
  const from = columns.from[i], until = columns.end[i];
  return `${exact(from)} – ${exact(until)}, ${lasted(until - from)}`;
}
function aboutHold(holds, i) {
  const token = value(holds, 'token', i), key = word(value(holds, 'key', i)) || 'the lock';
  const mode = value(holds, 'shared', i) ? ', shared' : '';
  const ending = ENDINGS[value(holds, 'ending', i)], lease = value(holds, 'lease_us', i);
  const expired = lease ? `; gone from the store at ${exact(holds.from[i] + lease - 1)}` : '';
  const what = `Holds ${key}${mode}${token ? ', token ' + token : ''}`;
  return `${what}: ${stretch(holds, i)}, ${ending}${expired}`;
}
function aboutWait(waits, i) {
  const why = word(value(waits, 'error', i)), answer = ANSWERS[value(waits, 'answer', i)];
  return `Waits: ${stretch(waits, i)}, ${answer}${why ? ': ' + why : ''}`;
}

// The rest of the page.

$('copy').addEventListener('click', async () => {
  const code = $('command');
  try {
    await navigator.clipboard.writeText(code.textContent);
    $('copy').textContent = 'Copied';
    setTimeout(() => { $('copy').textContent = 'Copy'; }, 1500);
  } catch {
    // Without leave to write, the command is at least selected.
    getSelection().selectAllChildren(code);
  }
});

new ResizeObserver(layout).observe(board);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', layout);
addEventListener('hashchange', () => readAddress(true));
layout();
readAddress(true);
