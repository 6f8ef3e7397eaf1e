// Draws the timeline on its canvas: a lane a client. What falls onto the same pixel is drawn once.

const view = { from: 0, until: end };
let wide = 0, gutter = 0, plot = 0, colours = {};
const COLOURS = [
  'bg', 'card', 'ink', 'soft', 'line', 'ok', 'info', 'fail', 'shared', 'bad', 'held', 'na',
  'pause', 'crash', 'cut', 'clock', 'link', 'memory', 'stall',
];
const OVERVIEW = 26, GAP = 8, AXIS = 24, SERVER = 20;
const laneHeight = lanes.length > 40 ? 18 : lanes.length > 14 ? 26 : 44;
const top = OVERVIEW + GAP + servers.length * SERVER + (servers.length ? 4 : 0);
const bottom = top + lanes.length * laneHeight;
const tall = bottom + AXIS;
const X = (us) => gutter + ((us - view.from) / (view.until - view.from)) * plot;
const timeAt = (x) => view.from + ((x - gutter) / plot) * (view.until - view.from);
// A stretch on the canvas, cut to the window, `least` pixels wide at least.
function across(from, until, least) {
  const x0 = Math.max(X(from), gutter);
  return [x0, Math.max(Math.min(X(until), gutter + plot), x0 + least)];
}
// Which stretches of a column the window shows.
function* shown(columns) {
  let i = above(columns.reach, view.from);
  for (; i < columns.n && columns.from[i] < view.until; i++) yield i;
}
const laneTop = (number) => top + number * laneHeight;
const serverTop = (place) => OVERVIEW + GAP + place * SERVER;

function layout() {
  wide = board.clientWidth;
  gutter = wide < 520 ? 30 : 78;
  plot = Math.max(wide - gutter - 2, 50);
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = tall + 'px';
  canvas.width = Math.round(wide * ratio);
  canvas.height = Math.round(tall * ratio);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  const css = getComputedStyle(document.documentElement);
  for (const name of COLOURS) colours[name] = css.getPropertyValue('--' + name).trim();
  redraw();
}

let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}
function box(x0, y, x1, height, colour, alpha) {
  ctx.globalAlpha = alpha === undefined ? 1 : alpha;
  ctx.fillStyle = colour;
  ctx.fillRect(x0, y, x1 - x0, height);
  ctx.globalAlpha = 1;
}
function text(words, x, y, colour, size, align) {
  ctx.font = (size || 12) + 'px system-ui, sans-serif';
  ctx.textAlign = align || 'left';
  ctx.fillStyle = colour;
  ctx.fillText(words, x, y);
}
// Stretches of a column as bars. `rank` picks the colour; where several fall onto one pixel the
// highest rank is shown, so that what matters is never hidden.
function bars(columns, y, height, rank, paint) {
  let x0 = -1, x1 = -2, top = 0;
  const flush = () => { if (x1 > x0) box(x0, y, x1, height, paint[top]); };
  for (const i of shown(columns)) {
    const [from, until] = across(columns.from[i], columns.end[i], 1);
    const r = rank(i);
    if (from <= x1 && (r === top || until - from < 1.5)) {
      top = Math.max(top, r);
      x1 = Math.max(x1, until);
    } else {
      flush();
      x0 = from; x1 = until; top = r;
    }
  }
  flush();
}
// What a client believed in after its lease had run out is hatched, behind a line at its end.
function leases(holds, y, height) {
  for (const i of shown(holds)) {
    const lease = value(holds, 'lease_us', i);
    if (!lease) continue;
    const at = holds.from[i] + lease - 1;
    const [x0, x1] = across(Math.max(at, holds.from[i]), holds.end[i], 1);
    if (x1 <= gutter || x0 >= gutter + plot) continue;
    ctx.save();
    ctx.beginPath(); ctx.rect(x0, y, x1 - x0, height); ctx.clip();
    ctx.beginPath();
    for (let x = x0 - height; x < x1; x += 6) { ctx.moveTo(x, y + height); ctx.lineTo(x + height, y); }
    ctx.strokeStyle = colours.card; ctx.lineWidth = 2; ctx.stroke();
    ctx.restore();
    if (at >= view.from) box(x0 - 1, y - 4, x0 + 1, height + 8, colours.bad);
  }
}
function ticks(columns, y, height) {
  const last = [-9, -9, -9, -9], first = above(columns.reach, view.from - 1);
  // Where reads and writes stand close they would only hide the holds; what went wrong stays.
  const dense = above(columns.from, view.until) - first > plot / 7;
  for (let i = first; i < columns.n && columns.from[i] <= view.until; i++) {
    const sign = value(columns, 'sign', i), x = Math.round(X(columns.from[i]));
    if (dense && sign < 2) continue;
    if (sign < 4 && x === last[sign]) continue;
    if (sign < 4) last[sign] = x;
    mark(sign, x, y, height);
  }
}
function mark(sign, x, y, height) {
  const middle = y + height / 2;
  if (sign === SIGN.read) box(x - 0.5, y + height * 0.6, x + 0.5, height * 0.4, colours.ink, 0.55);
  else if (sign === SIGN.write) box(x - 0.5, y, x + 0.5, height, colours.ink, 0.8);
  else if (sign === SIGN.fenced) box(x - 1, y - 3, x + 1, height + 6, colours.fail);
  else if (sign === SIGN.unknown) box(x - 1, y - 3, x + 1, height + 6, colours.info);
  else {
    ctx.beginPath();
    if (sign !== SIGN.death) {
      path([[x, middle - 7], [x + 5, middle], [x, middle + 7], [x - 5, middle]]);
    } else {
      path([[x - 5, middle - 5], [x + 5, middle + 5]]);
      path([[x + 5, middle - 5], [x - 5, middle + 5]]);
    }
    ctx.lineWidth = sign === SIGN.death ? 5 : 3; ctx.strokeStyle = colours.card; ctx.stroke();
    if (sign === SIGN.lost) { ctx.fillStyle = colours.info; ctx.fill(); }
    else if (sign === SIGN.doubt) { ctx.lineWidth = 1; ctx.strokeStyle = colours.info; ctx.stroke(); }
    else { ctx.lineWidth = 2.5; ctx.strokeStyle = colours.bad; ctx.stroke(); }
  }
}
function path(points) {
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
}
function faultBand(fault, y, height, alpha) {
  const [x0, x1] = across(fault.from_us, fault.until_us, 2);
  if (x1 <= gutter || x0 >= gutter + plot) return;
  box(x0, y, x1, height, colours[fault.kind], alpha);
  if (alpha > 0.1) {
    box(x0, y, x1, 2, colours[fault.kind], 0.9);
    if (x1 - x0 > 60 && laneHeight > 30) text(fault.kind, x0 + 5, y + 13, colours[fault.kind], 11);
  }
}
function drawFaults() {
  for (const fault of data.faults) {
    if (fault.until_us < view.from || fault.from_us > view.until) continue;
    for (const number of fault.clients) {
      if (number < lanes.length) faultBand(fault, laneTop(number) + 1, laneHeight - 2, 0.2);
    }
    if (fault.clients.length) continue;
    // A fault of servers reaches every client.
    faultBand(fault, top, bottom - top, 0.07);
    for (const server of fault.servers) {
      faultBand(fault, serverTop(servers.indexOf(server)), SERVER - 3, 0.45);
    }
  }
}
function drawLane(lane) {
  const y = laneTop(lane.number), high = laneHeight > 30;
  const middle = y + laneHeight * (high ? 0.64 : 0.5), thick = laneHeight * (high ? 0.44 : 0.55);
  const { na, info, fail, shared, ok } = colours;
  bars(lane.waits, middle - 2, 4, (i) => value(lane.waits, 'answer', i), [na, na, info, fail]);
  const exclusive = (i) => 1 - value(lane.holds, 'shared', i);
  bars(lane.holds, middle - thick / 2, thick, exclusive, [shared, ok]);
  leases(lane.holds, middle - thick / 2, thick);
  bars(lane.overlaps, middle - thick / 2 - 3, 3, () => 0, [colours.bad]);
  bars(lane.overlaps, middle + thick / 2, 3, () => 0, [colours.bad]);
  ticks(lane.marks, middle - thick / 2, thick);
  if (high) drawBirths(lane, y);
}
// A crashed process comes back in its lane under a new number.
function drawBirths(lane, y) {
  let free = gutter + 2;
  const seen = lane.births.filter(([at]) => at >= view.from && at <= view.until);
  const crowded = seen.length > plot / 40;
  lane.births.forEach(([at, process], place) => {
    const next = lane.births[place + 1];
    if (place === 0 && !next && process === lane.number) return;
    if (at > view.until || (next && next[0] < view.from)) return;
    const x = Math.max(X(at), gutter);
    if (at > view.from && place && !crowded) box(x, y + 3, x + 1, laneHeight - 6, colours.soft);
    const name = 'process ' + process;
    ctx.font = '11px system-ui, sans-serif';
    const room = (next ? Math.min(X(next[0]), gutter + plot) : gutter + plot) - x;
    if (crowded || x < free || ctx.measureText(name).width + 8 > room) return;
    text(name, x + 4, y + 12, colours.soft, 11);
    free = x + ctx.measureText(name).width + 10;
  });
}
function drawBreaches() {
  for (const breach of data.breaches) {
    if (breach.until_us < view.from || breach.from_us > view.until) continue;
    const [x0, x1] = across(breach.from_us, breach.until_us, 1);
    box(x0, top, x1, bottom - top, colours.bad, 0.07);
    ctx.setLineDash([4, 3]); ctx.strokeStyle = colours.bad; ctx.lineWidth = 1;
    ctx.strokeRect(x0 + 0.5, top + 0.5, Math.max(x1 - x0 - 1, 1), bottom - top - 1);
    ctx.setLineDash([]);
  }
}
function drawAxis() {
  const rough = ((view.until - view.from) / plot) * 110;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
  const decimals = Math.max(0, 6 - Math.floor(Math.log10(step) + 1e-9));
  for (let n = Math.ceil(view.from / step); n * step <= view.until; n++) {
    const x = X(n * step);
    box(x, top, x + 1, bottom - top + 4, colours.line, 0.8);
    const label = ((n * step) / 1e6).toFixed(Math.min(decimals, 6)) + ' s';
    const inside = Math.min(Math.max(x, gutter + 12), gutter + plot - 16);
    text(label, inside, bottom + 18, colours.soft, 12, 'center');
  }
}
// The whole run, whatever the window shows: here no violation is ever out of sight.
function drawOverview() {
  const at = (us) => gutter + (us / end) * plot;
  box(gutter, 4, gutter + plot, OVERVIEW - 8, colours.bg);
  if (data.quiet_us !== null) {
    box(at(data.quiet_us), 4, gutter + plot, OVERVIEW - 8, colours.held, 0.16);
  }
  for (const f of data.faults) {
    const from = at(f.from_us);
    box(from, 9, Math.max(at(f.until_us), from + 2), OVERVIEW - 18, colours[f.kind], 0.7);
  }
  for (const b of data.breaches) {
    const x = at((b.from_us + b.until_us) / 2);
    const half = Math.max((at(b.until_us) - at(b.from_us)) / 2, 1.5);
    box(x - half, 4, x + half, OVERVIEW - 8, colours.bad, 0.5);
    ctx.fillStyle = colours.bad;
    ctx.beginPath(); ctx.moveTo(x - 5, 0); ctx.lineTo(x + 5, 0); ctx.lineTo(x, 8); ctx.fill();
  }
  const whole = view.from <= 0 && view.until >= end;
  ctx.strokeStyle = whole ? colours.line : colours.ink; ctx.lineWidth = whole ? 1 : 2;
  const width = Math.max(at(view.until) - at(view.from) - 1, 3);
  ctx.strokeRect(at(view.from) + 0.5, 4.5, width, OVERVIEW - 9);
}
function drawNames() {
  const short = gutter < 50;
  const name = (word, y, colour) => text(word, gutter - 8, y, colour, 12, 'right');
  servers.forEach((server, place) => {
    name((short ? 's' : 'server ') + server, serverTop(place) + 13, colours.soft);
  });
  const middle = laneHeight * (laneHeight > 30 ? 0.64 : 0.5) + 4;
  for (const { number } of lanes) {
    name((short ? 'c' : 'client ') + number, laneTop(number) + middle, colours.ink);
  }
}
function draw() {
  ctx.clearRect(0, 0, wide, tall);
  ctx.save();
  ctx.beginPath(); ctx.rect(gutter, OVERVIEW, plot, tall); ctx.clip();
  for (let number = 0; number < lanes.length; number += 2) {
    box(gutter, laneTop(number), gutter + plot, laneHeight, colours.bg, 0.7);
  }
  if (data.quiet_us !== null && data.quiet_us < view.until) {
    const [x0, x1] = across(data.quiet_us, end, 1);
    box(x0, top, x1, bottom - top, colours.held, 0.1);
  }
  ctx.restore();
  drawAxis();
  ctx.save();
  ctx.beginPath(); ctx.rect(gutter, OVERVIEW, plot, tall); ctx.clip();
  drawFaults();
  drawBreaches();
  for (const lane of lanes) drawLane(lane);
  ctx.restore();
  drawOverview();
  drawNames();
  const width = view.until - view.from;
  $('window').textContent = clock(view.from, width) + ' – ' + clock(view.until, width);
}
