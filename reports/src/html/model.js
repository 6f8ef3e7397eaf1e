// The timeline's data and its words. Within a lane the begins are sorted, so what a window shows is
// found by binary search.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const canvas = $('canvas'), tip = $('tip'), board = $('board');
const ctx = canvas.getContext('2d');
const SIGN = { read: 0, write: 1, fenced: 2, unknown: 3, doubt: 4, lost: 5, death: 6 };
const ANSWERS = ['granted', 'no answer', 'outcome unknown', 'not granted'];
const ENDINGS = [
  'until its release', 'until it gave the lock up', 'until its death', 'to the end of the history',
  'until it went on in another mode',
];

// Undoes the distances, and keeps for each place the latest end so far: it never falls, even
// where a long stretch reaches over the ones after it.
function unpack({ from_us, length_us, ...columns }) {
  const n = from_us.length;
  const [from, end, reach] = [0, 1, 2].map(() => new Float64Array(n));
  let at = 0, far = 0;
  for (let i = 0; i < n; i++) {
    at += from_us[i];
    from[i] = at;
    end[i] = at + (length_us ? length_us[i] : 0);
    reach[i] = far = Math.max(far, end[i]);
  }
  return { ...columns, n, from, end, reach };
}
const value = (columns, name, i) => (columns[name] ? columns[name][i] : 0);
const word = (place) => (place ? data.words[place - 1] : '');
const lanes = data.lanes.map((lane, number) => ({
  number, births: lane.births_us, waits: unpack(lane.waits), holds: unpack(lane.holds),
  marks: unpack(lane.marks), overlaps: unpack(lane.overlaps),
}));
// Only servers that were hit as servers have a lane: a cut link is shown at its client.
const ofServers = data.faults.filter((fault) => !fault.clients.length);
const servers = [...new Set(ofServers.flatMap((f) => f.servers))].sort((a, b) => a - b);
const end = data.end_us || 1e6;

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
  let found = lane.births.length ? lane.births[0][1] : lane.number;
  for (const [at, process] of lane.births) if (at <= time) found = process;
  return found;
}

function clock(us, width) {
  const decimals = width > 2e7 ? 1 : width > 2e6 ? 2 : width > 2e4 ? 3 : 6;
  return (us / 1e6).toFixed(decimals) + ' s';
}
const exact = (us) => (us / 1e6).toFixed(us % 1000 ? 6 : 3) + ' s';
// As the rest of the page says a duration: three digits in the unit that fits.
function lasted(us) {
  if (us >= 120e6) return Math.floor(us / 60e6) + ' min ' + (Math.floor(us / 1e6) % 60) + ' s';
  if (us >= 999500) return +(us / 1e6).toPrecision(3) + ' s';
  return us >= 999.5 ? +(us / 1e3).toPrecision(3) + ' ms' : us + ' µs';
}
