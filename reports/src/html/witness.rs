//! The picture of a witness as inline SVG. The events of the witness carry the numbers that they
//! have in the table beside it.

use super::PICTURE_CSS;
use crate::ReportSubject;
use crate::picture::{Band, Interval, Lane, Mark, MarkKind, Picture, PictureLimits, picture};
use crate::units::{round_step, tick_label};
use base::{Event, F, Mode};
use maud::{Markup, PreEscaped, html};

const LIMITS: PictureLimits = PictureLimits { lanes: 8, bands: 6 };
/// The frames of a picture. It is drawn twice, for a wide screen and for a phone: one picture
/// shrunk would be illegible, and one that scrolls sideways would hide its right half, where the
/// breach is. The style sheet shows one.
const WIDE: Frame = Frame { class: "witness wide", width: 960, gutter: 150, style: None };
const NARROW: Frame = Frame { class: "witness narrow", width: 430, gutter: 84, style: None };
/// The frame of a file of its own, which has no style sheet beside it.
const ALONE: Frame =
    Frame { class: "witness alone", width: 960, gutter: 150, style: Some(PICTURE_CSS) };
const RIGHT: u64 = 14;
const LANE: u64 = 58;
const BAND: u64 = 30;
/// The distance between two hatches.
const HATCH: u64 = 6;
/// The least distance between two numbers that can be read.
const APART: u64 = 20;

/// The picture of a witness, or nothing where no client is part of it.
pub(super) fn draw(subject: &ReportSubject<'_>, witness: &[u64]) -> Markup {
    let Some(picture) = picture(subject.run, &subject.facts, witness, LIMITS) else {
        return html! {};
    };
    let events: Vec<&Event> = witness.iter().filter_map(|i| subject.run.history.get(*i)).collect();
    html! {
        @for frame in [WIDE, NARROW] {
            (WitnessDrawing { picture: &picture, events: &events, frame }.whole())
        }
        (legend(&picture))
    }
}

/// The picture of a witness as an SVG file, or nothing where no client is part of it.
pub(super) fn file(subject: &ReportSubject<'_>, witness: &[u64]) -> Option<String> {
    let picture = picture(subject.run, &subject.facts, witness, LIMITS)?;
    let events: Vec<&Event> = witness.iter().filter_map(|i| subject.run.history.get(*i)).collect();
    let drawing = WitnessDrawing { picture: &picture, events: &events, frame: ALONE };
    Some(drawing.whole().into_string() + "\n")
}

struct Frame {
    class: &'static str,
    width: u64,
    gutter: u64,
    /// The style of a picture that is a file of its own.
    style: Option<&'static str>,
}

struct WitnessDrawing<'a> {
    picture: &'a Picture,
    events: &'a [&'a Event],
    frame: Frame,
}

/// A numbered circle at an event's place.
struct Callout {
    number: usize,
    x: u64,
    at: u64,
    y: u64,
}

impl WitnessDrawing<'_> {
    fn whole(&self) -> Markup {
        let view = format!("0 0 {} {}", self.frame.width, self.floor() + 38);
        html! {
            svg xmlns=[self.frame.style.map(|_| "http://www.w3.org/2000/svg")]
                class=(self.frame.class) viewBox=(view) role="img"
                aria-label="The witness as a picture: who held the lock when" {
                @if let Some(style) = self.frame.style { style { (PreEscaped(style)) } }
                (self.axis())
                @for (place, band) in self.picture.bands.iter().enumerate() {
                    (self.band(place, band))
                }
                @for (place, lane) in self.picture.lanes.iter().enumerate() {
                    (self.lane(place, lane))
                }
                @for overlap in &self.picture.overlaps { (self.overlap(*overlap)) }
                @for (place, lane) in self.picture.lanes.iter().enumerate() {
                    (self.marks(place, lane))
                }
                @for callout in self.callouts() { (number(&callout)) }
            }
        }
    }

    fn right(&self) -> u64 {
        self.frame.width - RIGHT
    }

    fn name_end(&self) -> u64 {
        self.frame.gutter - 12
    }

    fn x(&self, time: u64) -> u64 {
        let Interval { from, until } = self.picture.window;
        let width = u128::from(self.right() - self.frame.gutter);
        let at = u128::from(time.clamp(from, until) - from);
        self.frame.gutter + (at * width / u128::from((until - from).max(1))) as u64
    }

    fn band_top(&self, place: usize) -> u64 {
        8 + place as u64 * BAND
    }

    fn lane_top(&self, place: usize) -> u64 {
        12 + self.picture.bands.len() as u64 * BAND + place as u64 * LANE
    }

    fn floor(&self) -> u64 {
        self.lane_top(self.picture.lanes.len())
    }

    fn axis(&self) -> Markup {
        let Interval { from, until } = self.picture.window;
        let step = round_step(until - from);
        let ticks = (from.div_ceil(step)..=until / step).map(|n| n * step);
        let floor = self.floor() + 4;
        html! {
            @for tick in ticks {
                @let x = self.x(tick);
                line class="grid" x1=(x) x2=(x) y1="4" y2=(floor) {}
                text class="tick" x=(x) y=(floor + 24) text-anchor="middle" {
                    (tick_label(tick, step))
                }
            }
        }
    }

    fn band(&self, place: usize, band: &Band) -> Markup {
        let (x, width) = self.bar(band.interval);
        let top = self.band_top(place);
        let hit: Vec<usize> = match band.lanes.is_empty() {
            true => (0..self.picture.lanes.len()).collect(),
            false => band.lanes.clone(),
        };
        html! {
            @for lane in hit {
                rect class=(format!("tint {}", band.kind)) x=(x) width=(width)
                    y=(self.lane_top(lane)) height=(LANE - 4) {}
            }
            text class="label" x=(self.name_end()) y=(top + 16) text-anchor="end" { "fault" }
            rect class=(format!("band {}", band.kind)) x=(x) width=(width) y=(top)
                height=(BAND - 8) rx="3" {}
            (self.band_name(band, x, width, top))
        }
    }

    /// Draws the name of a band, inside its bar where there is room, else beside it.
    fn band_name(&self, band: &Band, x: u64, width: u64, top: u64) -> Markup {
        let needs = band.label.chars().count() as u64 * 7 + 30;
        let (at, anchor, class) = match () {
            () if width >= needs => (x + width / 2, "middle", "bandname"),
            () if x + width + needs <= self.frame.width => (x + width + 16, "start", "label"),
            () => (x.saturating_sub(16), "end", "label"),
        };
        html! { text class=(class) x=(at) y=(top + 16) text-anchor=(anchor) { (band.label) } }
    }

    fn bar(&self, interval: Interval) -> (u64, u64) {
        let (from, until) = (self.x(interval.from), self.x(interval.until));
        (from, (until - from).max(2))
    }

    fn lane(&self, place: usize, lane: &Lane) -> Markup {
        let top = self.lane_top(place);
        let middle = top + 36;
        html! {
            line class="ground" x1=(self.frame.gutter) x2=(self.right()) y1=(middle) y2=(middle) {}
            text class="label" x=(self.name_end()) y=(middle + 5) text-anchor="end" {
                (self.name(lane))
            }
            @for wait in &lane.waits {
                @let (x, width) = self.bar(*wait);
                rect class="wait" x=(x) width=(width) y=(middle - 3) height="6" rx="3" {}
            }
            @for (hold, mode) in &lane.holds {
                @let (x, width) = self.bar(*hold);
                @let class = if *mode == Mode::Shared { "hold shared" } else { "hold" };
                rect class=(class) x=(x) width=(width) y=(middle - 11) height="22" rx="3" {}
            }
            @for interval in &lane.unleased {
                @let (x, width) = self.bar(*interval);
                path class="unleased" d=(hatches(x, width, middle - 11, 22)) {}
            }
            @for end in &lane.lease_ends {
                path class="leaseend" d=(format!("M{} {}v34", self.x(*end), middle - 17)) {}
            }
        }
    }

    /// Returns the name of a lane. In a narrow frame there is no room to say whose place a process
    /// took.
    fn name(&self, lane: &Lane) -> String {
        let room = (self.frame.gutter / 7) as usize;
        match lane.label.chars().count() <= room {
            true => lane.label.clone(),
            false => format!("process {}", lane.process),
        }
    }

    fn overlap(&self, overlap: Interval) -> Markup {
        let (x, width) = self.bar(overlap);
        let top = self.lane_top(0);
        html! {
            rect class="overlap" x=(x) width=(width) y=(top) height=(self.floor() - top) {}
        }
    }

    fn marks(&self, place: usize, lane: &Lane) -> Markup {
        let middle = self.lane_top(place) + 36;
        // Where the witness ends in a write, that write is the breach.
        let breach = self.events.last().map(|e| e.index);
        // What the witness names is drawn over the rest.
        let (named, others): (Vec<&Mark>, Vec<&Mark>) = lane.marks.iter().partition(|m| m.named);
        html! {
            @for mark in others.into_iter().chain(named) {
                @let x = self.x(mark.at);
                @let class = if mark.named { "mark named" } else { "mark" };
                g class=(class) { (glyph(mark.sign, x, middle)) }
                @if mark.sign == MarkKind::Write && Some(mark.index) == breach {
                    rect class="breach" x=(x.saturating_sub(6)) y=(middle - 15) width="12"
                        height="30" rx="4" {}
                }
            }
        }
    }

    fn callouts(&self) -> Vec<Callout> {
        let mut callouts: Vec<Callout> = Vec::new();
        for (place, event) in self.events.iter().enumerate() {
            let Some(y) = self.row(event) else { continue };
            let at = self.x(event.time_ns);
            let taken = callouts.iter().filter(|c| c.y == y).map(|c| c.x).max();
            let x = taken.map_or(at, |taken| at.max(taken + APART)).min(self.frame.width - 10);
            callouts.push(Callout { number: place + 1, x, at, y });
        }
        callouts
    }

    /// Returns the height at which the numbers of an event's lane or band stand; those of the run's
    /// phases stand below the lanes. An event whose lane found no place has none.
    fn row(&self, event: &Event) -> Option<u64> {
        if matches!(event.f, F::Quiet | F::Stop) {
            return Some(self.floor() + 2);
        }
        let lane = self.picture.lanes.iter().position(|l| Some(l.process) == event.client());
        let id = event.fault.as_ref().map(|f| f.id);
        let band = self.picture.bands.iter().position(|b| Some(b.id) == id);
        lane.map(|place| self.lane_top(place) + 12)
            .or_else(|| band.map(|place| self.band_top(place) + 11))
    }
}

/// Slanting lines over a bar. A pattern would need a name that is unique in the page.
fn hatches(x: u64, width: u64, y: u64, height: u64) -> String {
    let (end, bottom) = (x + width, y + height);
    let line = |from: u64| {
        // Each climbs at half a right angle, and is cut at both ends of the bar.
        let (low, high) = (from.max(x), (from + height).min(end));
        format!("M{low} {}L{high} {}", bottom - (low - from), bottom - (high - from))
    };
    let first = x.saturating_sub(height - HATCH);
    (first..end).step_by(HATCH as usize).map(line).collect()
}

fn legend(picture: &Picture) -> Markup {
    let lanes = &picture.lanes;
    let holds = |mode| lanes.iter().any(|l| l.holds.iter().any(|h| h.1 == mode));
    let marks = |sign| lanes.iter().any(|l| l.marks.iter().any(|m| m.sign == sign));
    let signs = [
        (MarkKind::Read, "read"),
        (MarkKind::Write, "write"),
        (MarkKind::Fenced, "fenced off"),
        (MarkKind::Unknown, "unknown outcome"),
        (MarkKind::Doubt, "doubted its hold"),
        (MarkKind::Lost, "gave the lock up"),
        (MarkKind::Death, "died"),
    ];
    html! {
        p class="legend" {
            @if lanes.iter().any(|l| !l.waits.is_empty()) { span { i class="k wait" {} "waits" } }
            @if holds(Mode::Exclusive) { span { i class="k hold" {} "holds" } }
            @if holds(Mode::Shared) { span { i class="k shared" {} "holds, shared" } }
            @if lanes.iter().any(|l| !l.lease_ends.is_empty()) {
                span { i class="k leaseend" {} "lease or session ends" }
            }
            @if lanes.iter().any(|l| !l.unleased.is_empty()) {
                span { i class="k unleased" {} "still believes it holds" }
            }
            @if !picture.overlaps.is_empty() {
                span { i class="k overlap" {} "held by both" }
            }
            @for (sign, name) in signs {
                @if marks(sign) {
                    span {
                        svg class="key mark named" viewBox="0 0 16 24" { (glyph(sign, 8, 12)) }
                        (name)
                    }
                }
            }
            @if picture.hidden > 0 {
                span { "and " (picture.hidden) " more processes" }
            }
        }
    }
}

fn number(callout: &Callout) -> Markup {
    html! {
        @if callout.x != callout.at {
            line class="leader" x1=(callout.at) x2=(callout.x) y1=(callout.y + 9) y2=(callout.y) {}
        }
        g class="callout" {
            circle cx=(callout.x) cy=(callout.y) r="9" {}
            text x=(callout.x) y=(callout.y + 4) text-anchor="middle" { (callout.number) }
        }
    }
}

/// Each sign has a shape of its own, so that nobody needs the colours to tell them apart.
fn glyph(sign: MarkKind, x: u64, y: u64) -> Markup {
    let x = x as i64;
    let y = y as i64;
    let path = match sign {
        MarkKind::Read => format!("M{x} {}v11", y),
        MarkKind::Write => format!("M{x} {}v22", y - 11),
        MarkKind::Fenced => format!("M{} {}l12 12m0 -12l-12 12M{} {}v22", x - 6, y - 6, x, y - 11),
        MarkKind::Unknown => format!("M{x} {}v6m0 4v6", y - 8),
        MarkKind::Doubt | MarkKind::Lost => format!("M{x} {}l7 9l-7 9l-7 -9z", y - 9),
        MarkKind::Death => format!("M{} {}l14 14m0 -14l-14 14", x - 7, y - 7),
    };
    let class = match sign {
        MarkKind::Read => "read",
        MarkKind::Write => "write",
        MarkKind::Fenced => "fenced",
        MarkKind::Unknown => "unknown",
        MarkKind::Doubt => "doubt",
        MarkKind::Lost => "lost",
        MarkKind::Death => "death",
    };
    html! { path class=(class) d=(path) {} }
}
