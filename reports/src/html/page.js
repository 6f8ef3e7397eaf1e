// The timeline: a lane a client, drawn on a canvas. Within a lane the begins are sorted, so what a
// window shows is found by binary search, and what falls onto the same pixel is drawn once.
(() => {
  'use strict';
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($('data').textContent);
  const canvas = $('canvas'), tip = $('tip'), board = $('board');
  const ctx = canvas.getContext('2d');
  const SIGN = { read: 0, write: 1, fenced: 2, unknown: 3, lost: 4, death: 5 };
  const ANSWERS = ['granted', 'no answer', 'outcome unknown', 'not granted'];
  const ENDINGS = ['until its release', 'until it gave the lock up', 'until its death', 'to the end of the history'];

  // ---- Data -------------------------------------------------------------------------------

  // Undoes the distances, and keeps for each place the latest end so far: it never falls, even
  // where a long stretch reaches over the ones after it.
  function unpack(columns) {
    const n = columns.from.length, from = new Float64Array(n), end = new Float64Array(n), reach = new Float64Array(n);
    let at = 0, far = 0;
    for (let i = 0; i < n; i++) {
      at += columns.from[i];
      from[i] = at;
      end[i] = at + (columns.length ? columns.length[i] : 0);
      reach[i] = far = Math.max(far, end[i]);
    }
    return { ...columns, n, from, end, reach };
  }
  const value = (columns, name, i) => (columns[name] ? columns[name][i] : 0);
  const word = (place) => (place ? data.words[place - 1] : '');
  const lanes = data.lanes.map((lane, seat) => ({
    seat, births: lane.births, waits: unpack(lane.waits), holds: unpack(lane.holds),
    marks: unpack(lane.marks), overlaps: unpack(lane.overlaps),
  }));
  const servers = [...new Set(data.faults.filter((f) => !f.clients.length).flatMap((f) => f.servers))].sort((a, b) => a - b);
  const end = data.end || 1e6;

  // The first place in a rising column whose value lies above `limit`.
  function above(column, limit) {
    let low = 0, high = column.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column[middle] > limit) high = middle; else low = middle + 1;
    }
    return low;
  }
  function processAt(lane, time) {
    let found = lane.births.length ? lane.births[0][1] : lane.seat;
    for (const [at, process] of lane.births) if (at <= time) found = process;
    return found;
  }

  // ---- Words ------------------------------------------------------------------------------

  function clock(us, width) {
    const decimals = width > 2e7 ? 1 : width > 2e6 ? 2 : width > 2e4 ? 3 : 6;
    return (us / 1e6).toFixed(decimals) + ' s';
  }
  const exact = (us) => (us / 1e6).toFixed(us % 1000 ? 6 : 3) + ' s';
  function lasted(us) {
    if (us >= 1e6) return +(us / 1e6).toPrecision(4) + ' s';
    return us >= 1e3 ? +(us / 1e3).toPrecision(4) + ' ms' : us + ' µs';
  }

  // ---- Where things are -------------------------------------------------------------------

  const view = { from: 0, until: end };
  let wide = 0, gutter = 0, plot = 0, colours = {};
  const OVERVIEW = 26, GAP = 8, AXIS = 24, SERVER = 20;
  const laneHeight = lanes.length > 40 ? 18 : lanes.length > 14 ? 26 : 44;
  const top = OVERVIEW + GAP + servers.length * SERVER + (servers.length ? 4 : 0);
  const bottom = top + lanes.length * laneHeight;
  const tall = bottom + AXIS;
  const X = (us) => gutter + ((us - view.from) / (view.until - view.from)) * plot;
  const timeAt = (x) => view.from + ((x - gutter) / plot) * (view.until - view.from);
  const laneTop = (seat) => top + seat * laneHeight;
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
    for (const name of ['bg', 'card', 'ink', 'soft', 'line', 'ok', 'info', 'fail', 'shared', 'bad', 'held', 'na', 'pause', 'crash', 'cut', 'on'])
      colours[name] = css.getPropertyValue('--' + name).trim();
    redraw();
  }

  // ---- Drawing ----------------------------------------------------------------------------

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
    for (let i = above(columns.reach, view.from); i < columns.n && columns.from[i] < view.until; i++) {
      const from = Math.max(X(columns.from[i]), gutter);
      const until = Math.max(Math.min(X(columns.end[i]), gutter + plot), from + 1);
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
      if (sign === SIGN.lost) { ctx.moveTo(x, middle - 7); ctx.lineTo(x + 5, middle); ctx.lineTo(x, middle + 7); ctx.lineTo(x - 5, middle); ctx.closePath(); }
      else { ctx.moveTo(x - 5, middle - 5); ctx.lineTo(x + 5, middle + 5); ctx.moveTo(x + 5, middle - 5); ctx.lineTo(x - 5, middle + 5); }
      ctx.lineWidth = sign === SIGN.lost ? 3 : 5; ctx.strokeStyle = colours.card; ctx.stroke();
      if (sign === SIGN.lost) { ctx.fillStyle = colours.info; ctx.fill(); }
      else { ctx.lineWidth = 2.5; ctx.strokeStyle = colours.bad; ctx.stroke(); }
    }
  }
  function faultBand(fault, y, height, alpha) {
    const x0 = Math.max(X(fault.from), gutter), x1 = Math.min(Math.max(X(fault.until), x0 + 2), gutter + plot);
    if (x1 <= gutter || x0 >= gutter + plot) return;
    box(x0, y, x1, height, colours[fault.kind], alpha);
    if (alpha > 0.1) {
      box(x0, y, x1, 2, colours[fault.kind], 0.9);
      if (x1 - x0 > 60 && laneHeight > 30) clipped(fault.kind, x0 + 5, y + 13, x1 - x0 - 8, colours[fault.kind], 11);
    }
  }
  function clipped(words, x, y, room, colour, size) {
    ctx.save();
    ctx.beginPath(); ctx.rect(x, y - size - 2, Math.max(room, 0), size + 8); ctx.clip();
    text(words, x, y, colour, size);
    ctx.restore();
  }
  function drawFaults() {
    for (const fault of data.faults) {
      if (fault.until < view.from || fault.from > view.until) continue;
      for (const seat of fault.clients) if (seat < lanes.length) faultBand(fault, laneTop(seat) + 1, laneHeight - 2, 0.2);
      if (fault.clients.length) continue;
      // A fault of servers reaches every client.
      faultBand(fault, top, bottom - top, 0.07);
      for (const server of fault.servers) faultBand(fault, serverTop(servers.indexOf(server)), SERVER - 3, 0.45);
    }
  }
  function drawLane(lane) {
    const y = laneTop(lane.seat), high = laneHeight > 30;
    const middle = y + laneHeight * (high ? 0.64 : 0.5), thick = laneHeight * (high ? 0.44 : 0.55);
    bars(lane.waits, middle - 2, 4, (i) => value(lane.waits, 'answer', i), [colours.na, colours.na, colours.info, colours.fail]);
    bars(lane.holds, middle - thick / 2, thick, (i) => 1 - value(lane.holds, 'shared', i), [colours.shared, colours.ok]);
    bars(lane.overlaps, middle - thick / 2 - 3, 3, () => 0, [colours.bad]);
    bars(lane.overlaps, middle + thick / 2, 3, () => 0, [colours.bad]);
    ticks(lane.marks, middle - thick / 2, thick);
    if (high) drawBirths(lane, y);
  }
  // A crashed process comes back in its lane under a new number.
  function drawBirths(lane, y) {
    let free = gutter + 2;
    const crowded = lane.births.filter(([at]) => at >= view.from && at <= view.until).length > plot / 40;
    lane.births.forEach(([at, process], place) => {
      const next = lane.births[place + 1];
      if (place === 0 && !next && process === lane.seat) return;
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
      if (breach.until < view.from || breach.from > view.until) continue;
      const x0 = Math.max(X(breach.from), gutter), x1 = Math.min(Math.max(X(breach.until), x0 + 1), gutter + plot);
      box(x0, top, x1, bottom - top, colours.bad, 0.07);
      ctx.setLineDash([4, 3]); ctx.strokeStyle = colours.bad; ctx.lineWidth = 1;
      ctx.strokeRect(x0 + 0.5, top + 0.5, Math.max(x1 - x0 - 1, 1), bottom - top - 1);
      ctx.setLineDash([]);
    }
  }
  function drawAxis() {
    const rough = ((view.until - view.from) / plot) * 110, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
    const decimals = Math.max(0, 6 - Math.floor(Math.log10(step) + 1e-9));
    for (let n = Math.ceil(view.from / step); n * step <= view.until; n++) {
      const x = X(n * step);
      box(x, top, x + 1, bottom - top + 4, colours.line, 0.8);
      const label = ((n * step) / 1e6).toFixed(Math.min(decimals, 6)) + ' s';
      text(label, Math.min(Math.max(x, gutter + 12), gutter + plot - 16), bottom + 18, colours.soft, 12, 'center');
    }
  }
  // The whole run, whatever the window shows: here no violation is ever out of sight.
  function drawOverview() {
    const at = (us) => gutter + (us / end) * plot;
    box(gutter, 4, gutter + plot, OVERVIEW - 8, colours.bg);
    if (data.quiet !== null) box(at(data.quiet), 4, gutter + plot, OVERVIEW - 8, colours.held, 0.16);
    for (const f of data.faults) box(at(f.from), 9, Math.max(at(f.until), at(f.from) + 2), OVERVIEW - 18, colours[f.kind], 0.7);
    for (const b of data.breaches) {
      const x = at((b.from + b.until) / 2), half = Math.max((at(b.until) - at(b.from)) / 2, 1.5);
      box(x - half, 4, x + half, OVERVIEW - 8, colours.bad, 0.5);
      ctx.fillStyle = colours.bad;
      ctx.beginPath(); ctx.moveTo(x - 5, 0); ctx.lineTo(x + 5, 0); ctx.lineTo(x, 8); ctx.fill();
    }
    const whole = view.from <= 0 && view.until >= end;
    ctx.strokeStyle = whole ? colours.line : colours.ink; ctx.lineWidth = whole ? 1 : 2;
    ctx.strokeRect(at(view.from) + 0.5, 4.5, Math.max(at(view.until) - at(view.from) - 1, 3), OVERVIEW - 9);
  }
  function drawNames() {
    const short = gutter < 50;
    servers.forEach((server, place) => text(short ? 's' + server : 'server ' + server, gutter - 8, serverTop(place) + 13, colours.soft, 12, 'right'));
    for (const lane of lanes) text(short ? 'c' + lane.seat : 'client ' + lane.seat, gutter - 8, laneTop(lane.seat) + laneHeight * (laneHeight > 30 ? 0.64 : 0.5) + 4, colours.ink, 12, 'right');
  }
  function draw() {
    ctx.clearRect(0, 0, wide, tall);
    ctx.save();
    ctx.beginPath(); ctx.rect(gutter, OVERVIEW, plot, tall); ctx.clip();
    for (const lane of lanes) if (lane.seat % 2 === 0) box(gutter, laneTop(lane.seat), gutter + plot, laneHeight, colours.bg, 0.7);
    if (data.quiet !== null && data.quiet < view.until) box(Math.max(X(data.quiet), gutter), top, gutter + plot, bottom - top, colours.held, 0.1);
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

  // ---- Moving -----------------------------------------------------------------------------

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
    try { history.replaceState(null, '', whole ? location.pathname + location.search : part); } catch { /* nothing is lost */ }
  }
  function readAddress(scroll) {
    const found = /^#t=([\d.]+)(us|µs|ms|s)?,([\d.]+)(us|µs|ms|s)?$/.exec(decodeURIComponent(location.hash));
    if (!found) return;
    const unit = { us: 1, 'µs': 1, ms: 1e3, s: 1e6 };
    const from = found[1] * unit[found[2] || 's'], until = found[3] * unit[found[4] || 's'];
    if (!(from < until)) return;
    show(from, until);
    if (scroll) $('timeline').scrollIntoView({ block: 'start' });
  }
  function zoom(factor, x) {
    const at = x === undefined ? (view.from + view.until) / 2 : timeAt(Math.min(Math.max(x, gutter), gutter + plot));
    show(at - (at - view.from) * factor, at + (view.until - at) * factor);
  }
  const pan = (share) => { const by = (view.until - view.from) * share; show(view.from + by, view.until + by); };
  function toBreach(breach) {
    const margin = Math.max((breach.until - breach.from) / 3, 10000);
    show(breach.from - margin, breach.until + margin);
  }
  let visited = -1;
  const actions = {
    in: () => zoom(0.5), out: () => zoom(2), reset: () => show(0, end),
    next: () => { if (data.breaches.length) toBreach(data.breaches[(visited = (visited + 1) % data.breaches.length)]); },
  };
  const keys = { '+': 'in', '=': 'in', ArrowUp: 'in', '-': 'out', ArrowDown: 'out', 0: 'reset', Home: 'reset', Escape: 'reset', v: 'next' };
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'ArrowLeft') pan(-0.2);
    else if (event.key === 'ArrowRight') pan(0.2);
    else if (keys[event.key]) actions[keys[event.key]]();
    else return;
    event.preventDefault();
  });
  for (const button of document.querySelectorAll('[data-do]')) button.addEventListener('click', actions[button.dataset.do]);
  for (const breach of data.breaches) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = '✗ ' + breach.name;
    button.addEventListener('click', () => toBreach(breach));
    $('breaches').append(button);
  }

  // A wheel that scrolls the page goes on scrolling it when the timeline comes under the pointer.
  let scrolled = 0;
  window.addEventListener('wheel', (event) => { if (!canvas.contains(event.target)) scrolled = event.timeStamp; }, { passive: true });
  canvas.addEventListener('wheel', (event) => {
    const whole = view.from <= 0 && view.until >= end;
    if (event.timeStamp - scrolled < 350 || (whole && event.deltaY > 0 && !event.deltaX)) { scrolled = event.timeStamp; return; }
    event.preventDefault();
    const scale = event.deltaMode === 1 ? 30 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(((event.deltaX || event.deltaY) * scale) / plot);
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
    const near = data.breaches.find((b) => Math.abs((b.from + b.until) / 2 - time) < (8 / plot) * end);
    if (near) { toBreach(near); return; }
    const width = view.until - view.from;
    show(time - width / 2, time + width / 2);
  }

  // ---- Pointing ---------------------------------------------------------------------------

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
    const lane = lanes[Math.floor((y - top) / laneHeight)];
    const lines = y >= top && lane ? aboutLane(lane, time, near) : [];
    for (const fault of data.faults) {
      const place = y < top && y > OVERVIEW ? servers[Math.floor((y - OVERVIEW - GAP) / SERVER)] : undefined;
      const here = lane && y >= top ? fault.clients.includes(lane.seat) || !fault.clients.length : !fault.clients.length && fault.servers.includes(place);
      if (here && fault.from - near <= time && fault.until + near >= time) lines.push('Fault: ' + fault.name + ', ' + exact(fault.from) + ' – ' + exact(fault.until) + ' (' + fault.effect + ')');
    }
    return lines.join('\n');
  }
  function aboutLane(lane, time, near) {
    const lines = [], m = lane.marks;
    let best = -1;
    for (let i = above(m.reach, time - near); i < m.n && m.from[i] <= time + near; i++)
      if (best < 0 || value(m, 'sign', i) > 3 || Math.abs(m.from[i] - time) < Math.abs(m.from[best] - time)) best = i;
    if (best >= 0) lines.push(aboutMark(m, best));
    const at = best >= 0 ? m.from[best] : time;
    const held = covering(lane.holds, at, near), waited = covering(lane.waits, at, near);
    if (held >= 0) lines.push(aboutHold(lane.holds, held));
    else if (waited >= 0) lines.push(aboutWait(lane.waits, waited));
    if (lines.length) lines.unshift('process ' + processAt(lane, at) + ', ' + clock(at, view.until - view.from));
    return lines;
  }
  // What stands at that time, or else what comes nearest to it.
  function covering(columns, time, near) {
    for (const reach of [0, near]) {
      const i = above(columns.reach, time - reach - 1);
      if (i < columns.n && columns.from[i] <= time + reach) return i;
    }
    return -1;
  }
  function aboutMark(m, i) {
    const number = value(m, 'value', i), what = value(m, 'write', i) ? 'write' : 'read';
    const of = number ? ' of ' + (number - 1) : '', why = word(value(m, 'error', i));
    const names = ['read' + of, 'write' + of, what + of + ' fenced off', what + of + ', outcome unknown', 'gave the lock up for lost', 'died'];
    return exact(m.from[i]) + ': ' + names[value(m, 'sign', i)] + (why ? ': ' + why : '');
  }
  function aboutHold(h, i) {
    const token = value(h, 'token', i), key = word(value(h, 'key', i));
    return 'Holds ' + (key || 'the lock') + (value(h, 'shared', i) ? ', shared' : '') + (token ? ', token ' + token : '') + ': ' +
      exact(h.from[i]) + ' – ' + exact(h.end[i]) + ', ' + lasted(h.end[i] - h.from[i]) + ', ' + ENDINGS[value(h, 'ending', i)];
  }
  function aboutWait(w, i) {
    const why = word(value(w, 'error', i));
    return 'Waits: ' + exact(w.from[i]) + ' – ' + exact(w.end[i]) + ', ' + lasted(w.end[i] - w.from[i]) + ', ' + ANSWERS[value(w, 'answer', i)] + (why ? ': ' + why : '');
  }

  // ---- The rest of the page ---------------------------------------------------------------

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
})();
