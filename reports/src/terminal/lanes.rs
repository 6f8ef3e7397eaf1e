//! The picture of a witness in characters.
//!
//! ```text
//! process 3  ····██████████████|▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚
//! process 1              ···············████████████
//! both hold                             ▲▲▲▲▲▲▲▲
//! client 3 paused  ░░░░░░░░░░░░░░░░░░░░░░░░
//!           |4.0 s         |5.0 s         |6.0 s
//! ```

use super::paint::{Ink, Painter};
use crate::picture::{Band, Interval, Lane, MarkKind, Picture};
use crate::units::{counted, round_step, tick_label};
use base::Mode;

/// A longer label is cut: the bars need the room.
const LABEL: usize = 24;
/// The narrowest bars that say something.
const BARS: usize = 20;

/// Draws a picture, with its legend.
pub(super) fn draw(out: &mut Painter, picture: &Picture) {
    let labels = picture.lanes.iter().map(|l| &l.label);
    let labels = labels.chain(picture.bands.iter().map(|b| &b.label));
    let widest = labels.map(|l| l.chars().count()).max().unwrap_or(0);
    let least = "both hold".len();
    let label = widest.clamp(least, LABEL.min(out.width() / 3).max(least));
    let columns = out.width().saturating_sub(label + 6).max(BARS);
    let scale = Scale { window: picture.window, columns };
    let signs = Signs::of(out.unicode());
    for lane in &picture.lanes {
        row(out, label, &lane.label, &cells(lane, &scale, &signs));
    }
    if !picture.overlaps.is_empty() {
        let mut cells = scale.empty();
        for overlap in &picture.overlaps {
            scale.fill(&mut cells, *overlap, (signs.overlap, Ink::Bad));
        }
        row(out, label, "both hold", &cells);
    }
    for band in &picture.bands {
        row(out, label, &band.label, &band_cells(band, &scale, &signs));
    }
    let axis = axis(&scale);
    out.raw(&format!("    {:label$}  {}", "", out.inked(Ink::Faint, axis.trim_end())));
    legend(out, label, picture, &signs);
}

type Cell = (char, Ink);

/// The characters of the picture.
struct Signs {
    wait: char,
    exclusive: char,
    shared: char,
    unleased: char,
    lease_end: char,
    overlap: char,
    fault: char,
    death: char,
    doubt: char,
    lost: char,
    fenced: char,
}

impl Signs {
    fn of(unicode: bool) -> Self {
        match unicode {
            true => Self {
                wait: '·',
                exclusive: '█',
                shared: '▒',
                unleased: '▚',
                lease_end: '|',
                overlap: '▲',
                fault: '░',
                death: '✗',
                doubt: '¿',
                lost: '!',
                fenced: '⊘',
            },
            false => Self {
                wait: '.',
                exclusive: '#',
                shared: '=',
                unleased: '/',
                lease_end: '|',
                overlap: '^',
                fault: '~',
                death: 'X',
                doubt: '%',
                lost: '!',
                fenced: '0',
            },
        }
    }

    fn hold(&self, mode: Mode) -> char {
        match mode {
            Mode::Exclusive => self.exclusive,
            Mode::Shared => self.shared,
        }
    }

    fn mark(&self, sign: MarkKind) -> char {
        match sign {
            MarkKind::Read => 'r',
            MarkKind::Write => 'w',
            MarkKind::Unknown => '?',
            MarkKind::Fenced => self.fenced,
            MarkKind::Doubt => self.doubt,
            MarkKind::Lost => self.lost,
            MarkKind::Death => self.death,
        }
    }
}

struct Scale {
    window: Interval,
    columns: usize,
}

impl Scale {
    fn empty(&self) -> Vec<Cell> {
        vec![(' ', Ink::Plain); self.columns]
    }

    fn column(&self, time: u64) -> usize {
        let width = (self.window.until - self.window.from).max(1);
        let at = u128::from(time.saturating_sub(self.window.from)) * self.columns as u128;
        ((at / u128::from(width)) as usize).min(self.columns - 1)
    }

    /// Fills the cells of an interval: whatever lasted at all has at least one.
    fn fill(&self, cells: &mut [Cell], interval: Interval, cell: Cell) {
        let (from, until) = (self.column(interval.from), self.column(interval.until));
        cells[from..until.max(from + 1)].fill(cell);
    }
}

fn cells(lane: &Lane, scale: &Scale, signs: &Signs) -> Vec<Cell> {
    let mut cells = scale.empty();
    for wait in &lane.waits {
        scale.fill(&mut cells, *wait, (signs.wait, Ink::Faint));
    }
    for (hold, mode) in &lane.holds {
        let ink = if *mode == Mode::Shared { Ink::Good } else { Ink::Info };
        scale.fill(&mut cells, *hold, (signs.hold(*mode), ink));
    }
    for interval in &lane.unleased {
        scale.fill(&mut cells, *interval, (signs.unleased, Ink::Warn));
    }
    for end in &lane.lease_ends {
        cells[scale.column(*end)] = (signs.lease_end, Ink::Warn);
    }
    // What the witness names is drawn last, so that nothing hides it. Reads and writes that it
    // does not name would only clutter the bars.
    let mut marks: Vec<_> =
        lane.marks.iter().filter(|m| m.named || m.sign >= MarkKind::Doubt).collect();
    marks.sort_by_key(|m| m.named);
    for mark in marks {
        cells[scale.column(mark.at)] = (signs.mark(mark.sign), Ink::Bad);
    }
    cells
}

fn band_cells(band: &Band, scale: &Scale, signs: &Signs) -> Vec<Cell> {
    let mut cells = scale.empty();
    scale.fill(&mut cells, band.interval, (signs.fault, Ink::Warn));
    cells
}

fn row(out: &mut Painter, width: usize, label: &str, cells: &[Cell]) {
    let label = out.cut(label, width);
    let line: String = cells.chunk_by(|a, b| a.1 == b.1).fold(String::new(), |line, run| {
        let text: String = run.iter().map(|c| c.0).collect();
        line + &out.inked(run[0].1, &text)
    });
    out.raw(&format!("    {label:width$}  {line}"));
}

/// Times below the lanes, at round places, each behind the tick that marks its column.
fn axis(scale: &Scale) -> String {
    let mut text = vec![' '; scale.columns];
    let step = round_step(scale.window.until - scale.window.from);
    let mut tick = scale.window.from.div_ceil(step) * step;
    let mut free = 0;
    while tick <= scale.window.until {
        let label = format!("|{}", tick_label(tick, step));
        let at = scale.column(tick);
        if at >= free && at + label.len() <= scale.columns {
            for (place, c) in label.chars().enumerate() {
                text[at + place] = c;
            }
            free = at + label.len() + 2;
        }
        tick = tick.saturating_add(step);
    }
    text.into_iter().collect()
}

fn legend(out: &mut Painter, width: usize, picture: &Picture, signs: &Signs) {
    let lanes = &picture.lanes;
    let mut parts = Vec::new();
    let any_hold = |mode| lanes.iter().any(|l| l.holds.iter().any(|h| h.1 == mode));
    let any_mark = |sign| lanes.iter().any(|l| l.marks.iter().any(|m| m.named && m.sign == sign));
    let any_end = |sign| lanes.iter().any(|l| l.marks.iter().any(|m| m.sign == sign));
    let mut entry = |seen: bool, sign: char, name: &str| {
        if seen {
            parts.push(format!("{sign} {name}"));
        }
    };
    entry(lanes.iter().any(|l| !l.waits.is_empty()), signs.wait, "waits");
    entry(any_hold(Mode::Exclusive), signs.exclusive, "holds");
    entry(any_hold(Mode::Shared), signs.shared, "holds, shared");
    entry(lanes.iter().any(|l| !l.lease_ends.is_empty()), signs.lease_end, "lease or session ends");
    entry(lanes.iter().any(|l| !l.unleased.is_empty()), signs.unleased, "still believes it holds");
    entry(!picture.bands.is_empty(), signs.fault, "fault");
    entry(any_mark(MarkKind::Read), 'r', "read");
    entry(any_mark(MarkKind::Write), 'w', "write");
    entry(any_mark(MarkKind::Fenced), signs.fenced, "fenced off");
    entry(any_mark(MarkKind::Unknown), '?', "unknown outcome");
    entry(any_end(MarkKind::Doubt), signs.doubt, "doubted its hold");
    entry(any_end(MarkKind::Lost), signs.lost, "gave up the lock");
    entry(any_end(MarkKind::Death), signs.death, "died");
    if picture.hidden > 0 {
        let more = picture.hidden as u64;
        parts.push(format!("(and {})", counted(more, "more process", "more processes")));
    }
    out.items(width + 6, Ink::Faint, &parts);
}
