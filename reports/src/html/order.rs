//! The picture of an order as inline SVG: a lane a process, a bar an operation, and the points of
//! the order joined by a line. Space goes by the order of events, never by time.

use super::history::{capital, place};
use crate::history::{Drawn, End, OperationRole, PictureKey, PictureView, Point, process};
use crate::units::count;
use base::Kind;
use maud::{Markup, html};
use std::collections::BTreeMap;

const LANE: u64 = 46;
/// The space above the lanes, for the numbers of what is left out.
const TOP: u64 = 24;
/// The space below the lanes, for the words at the end of the order.
const BOTTOM: u64 = 26;
const BAR: u64 = 20;
/// The least width of the space between two events.
const GAP: u64 = 22;
/// The least width of a place at which something is left out.
const BREAK: u64 = 40;
/// A picture that is narrower is drawn as wide as this, or twice as wide as it has to be.
const FILL: u64 = 880;
/// The width of letters, in tenths: no font is known here, so this is a bit more than most need.
const LETTER: u64 = 66;
const DIGIT: u64 = 70;
/// The most letters of an operation at its bar, and of a process at its lane.
const LABEL: usize = 22;
const NAME: usize = 16;

/// Draws the operations of one view.
pub(super) fn picture(key: &PictureKey, view: &PictureView) -> Markup {
    let drawing = OrderDrawing::of(key, view);
    html! {
        div class="ordered" {
            (drawing.names())
            div class="scroll" tabindex="0" role="group" aria-label="The picture, which may be wider than the page" {
                (drawing.board())
            }
        }
    }
}

struct OrderDrawing<'a> {
    key: &'a PictureKey,
    view: &'a PictureView,
    /// The lanes, by the names of their processes.
    lanes: Vec<&'a str>,
    columns: EventColumns,
}

/// The positions of the events.
struct EventColumns {
    /// The events, in order.
    places: Vec<u64>,
    /// The width of the space before each of them; the last one is behind them all.
    gaps: Vec<u64>,
}

impl EventColumns {
    fn of(view: &PictureView, end: End) -> Self {
        let ends = |drawn: &Drawn| [Some(drawn.invoke), drawn.answer];
        let mut places: Vec<u64> = view.operations.iter().flat_map(ends).flatten().collect();
        places.extend(limit(end).filter(|at| places.iter().any(|place| place >= at)));
        places.sort_unstable();
        places.dedup();
        let gaps = vec![GAP; places.len() + 1];
        let mut columns = Self { places, gaps };
        for (place, skipped) in &view.skipped {
            let gap = columns.gap(*place);
            columns.gaps[gap] += break_width(*skipped);
        }
        let mut taken: BTreeMap<usize, u64> = BTreeMap::new();
        for point in view.operations.iter().filter_map(|drawn| drawn.point.as_ref()) {
            *taken.entry(columns.gap(point.before)).or_default() += pill(point.number) + 4;
        }
        for (gap, width) in taken {
            columns.gaps[gap] = columns.gaps[gap].max(width + 14 + columns.gaps[gap] - GAP);
        }
        columns.make_room(view);
        columns.fill();
        columns
    }

    /// The space right before an event.
    fn gap(&self, place: u64) -> usize {
        self.places.partition_point(|other| *other < place)
    }

    /// Makes room for what stands at the bars.
    fn make_room(&mut self, view: &PictureView) {
        let mut next: BTreeMap<&str, u64> = BTreeMap::new();
        for drawn in view.operations.iter().rev() {
            let until = next.insert(&drawn.process, drawn.invoke);
            let first = self.gap(drawn.invoke) + 1;
            let last = until.map_or(self.gaps.len() - 1, |until| self.gap(until));
            let have: u64 = self.gaps[first..=last].iter().sum();
            self.gaps[first] += (letters(&clipped(&drawn.label, LABEL)) + 8).saturating_sub(have);
        }
    }

    fn fill(&mut self) {
        let width = self.width();
        let wanted = FILL.min(width * 2);
        for gap in &mut self.gaps {
            *gap = *gap * wanted.max(width) / width;
        }
    }

    fn width(&self) -> u64 {
        self.gaps.iter().sum()
    }

    /// Returns the x coordinate at which a space begins.
    fn left(&self, gap: usize) -> u64 {
        self.gaps[..gap].iter().sum()
    }

    /// Returns the x coordinate of an event.
    fn x(&self, place: u64) -> u64 {
        let gap = self.gap(place);
        self.left(gap) + self.gaps[gap]
    }
}

/// The event at which the order ends.
fn limit(end: End) -> Option<u64> {
    match end {
        End::Whole => None,
        End::Stuck { at, .. } | End::Unknown { at } => Some(at),
    }
}

/// A point as it is drawn.
struct DrawnPoint {
    number: u64,
    x: u64,
    y: u64,
}

impl<'a> OrderDrawing<'a> {
    fn of(key: &'a PictureKey, view: &'a PictureView) -> Self {
        let mut lanes: Vec<&str> = view.operations.iter().map(|op| &op.process[..]).collect();
        lanes.sort_by_key(|name| (name.parse::<u64>().unwrap_or(u64::MAX), *name));
        lanes.dedup();
        Self { key, view, lanes, columns: EventColumns::of(view, key.end) }
    }

    fn height(&self) -> u64 {
        TOP + self.lanes.len() as u64 * LANE + BOTTOM
    }

    /// The middle of the bars of a process.
    fn middle(&self, process: &str) -> u64 {
        let lane = self.lanes.iter().position(|lane| *lane == process).unwrap_or(0);
        TOP + lane as u64 * LANE + LANE - BAR / 2 - 6
    }

    fn names(&self) -> Markup {
        let name = |lane: &str| clipped(&process(lane), NAME);
        let width = self.lanes.iter().map(|lane| letters(&name(lane))).max().unwrap_or(0) + 8;
        html! {
            svg class="order names" width=(width) height=(self.height()) aria-hidden="true" {
                @for lane in &self.lanes {
                    text x=(width - 8) y=(self.middle(lane) + 5) text-anchor="end" {
                        (name(lane))
                    }
                }
            }
        }
    }

    fn board(&self) -> Markup {
        let (width, height) = (self.columns.width(), self.height());
        let what = match self.key.end {
            End::Stuck { .. } => "which of them can be ordered, and which cannot",
            _ => "in what order they can have happened",
        };
        let label = format!("Operations, a lane a process, and {what}");
        html! {
            svg class="order" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}"))
                role="img" aria-label=(label) {
                @for lane in &self.lanes {
                    @let y = self.middle(lane);
                    line class="ground" x1="0" x2=(width) y1=(y) y2=(y) {}
                }
                @for (place, skipped) in &self.view.skipped { (self.skip(*place, *skipped)) }
                @for drawn in &self.view.operations { (self.tail(drawn)) }
                @for drawn in &self.view.operations { (self.bar(drawn)) }
                (self.limit())
                (self.route())
            }
        }
    }

    /// A place where operations are left out.
    fn skip(&self, place: u64, skipped: u64) -> Markup {
        let x = self.columns.left(self.columns.gap(place)) + break_width(skipped) / 2;
        html! {
            g class="skip" {
                title { (count(skipped)) " operations begin here that are not drawn" }
                line x1=(x) x2=(x) y1=(TOP) y2=(self.height() - BOTTOM) {}
                text x=(x) y=(TOP - 8) text-anchor="middle" { "+" (count(skipped)) }
            }
        }
    }

    /// An operation of unknown outcome may happen at any time after its answer.
    fn tail(&self, drawn: &Drawn) -> Markup {
        let doubt = drawn.ended == Kind::Info;
        let from = drawn.answer.filter(|_| doubt).map(|answer| self.columns.x(answer));
        html! {
            @if let Some(from) = from {
                @let y = self.middle(&drawn.process);
                line class="tail" x1=(from) x2=(self.columns.width()) y1=(y) y2=(y) {}
            }
        }
    }

    fn bar(&self, drawn: &Drawn) -> Markup {
        let from = self.columns.x(drawn.invoke) + 1;
        let until = drawn.answer.map_or(self.columns.width(), |answer| self.columns.x(answer) - 1);
        let width = until.saturating_sub(from).max(4);
        let top = self.middle(&drawn.process) - BAR / 2;
        html! {
            g class=(self.classes(drawn)) {
                title { (self.tooltip(drawn)) }
                rect x=(from) y=(top) width=(width) height=(BAR) rx="4" {}
                text x=(from + 1) y=(top - 5) { (clipped(&drawn.label, LABEL)) }
                @if drawn.role == OperationRole::Stuck {
                    text class="cross" x=(until - width.min(22) / 2) y=(top + 16) text-anchor="middle" { "✗" }
                }
            }
        }
    }

    fn classes(&self, drawn: &Drawn) -> String {
        let kind = match drawn.ended {
            Kind::Fail => "fail",
            Kind::Info if drawn.answer.is_none() => "info never",
            Kind::Info => "info",
            _ => "ok",
        };
        let role = match drawn.role {
            OperationRole::Stuck => " stuck",
            OperationRole::Beside => " beside",
            OperationRole::Plain => "",
        };
        let later = drawn.point.is_none()
            && drawn.role == OperationRole::Plain
            && drawn.ended != Kind::Fail;
        let later = if later && self.key.end != End::Whole { " later" } else { "" };
        format!("op {kind}{role}{later}")
    }

    /// The text of the tooltip of an operation.
    fn tooltip(&self, drawn: &Drawn) -> String {
        let place = place(self.key, drawn);
        let state = drawn.point.as_ref().and_then(|point| point.state.as_ref());
        let state = state.map_or(String::new(), |state| format!("\nThen {state}."));
        format!("{}\n{place}{state}", capital(&drawn.text))
    }

    /// The points, in order, and where each is drawn.
    fn spots(&self) -> Vec<DrawnPoint> {
        let point = |drawn: &'a Drawn| Some((drawn.point.as_ref()?, drawn));
        let mut points: Vec<_> = self.view.operations.iter().filter_map(point).collect();
        points.sort_by_key(|(point, _)| point.number);
        // From the right: what is left out stands on the left of its space.
        let mut taken: BTreeMap<usize, u64> = BTreeMap::new();
        let spot = |(point, drawn): &(&Point, &Drawn)| {
            let gap = self.columns.gap(point.before);
            let right = taken.entry(gap).or_insert(7);
            let width = pill(point.number);
            let x = self.columns.left(gap + 1) - *right - width / 2;
            *right += width + 4;
            DrawnPoint { number: point.number, x, y: self.middle(&drawn.process) }
        };
        let mut spots: Vec<DrawnPoint> = points.iter().rev().map(spot).collect();
        spots.reverse();
        spots
    }

    fn route(&self) -> Markup {
        let spots = self.spots();
        html! {
            @for pair in spots.windows(2) {
                @let class = if pair[0].number + 1 == pair[1].number { "route" } else { "route far" };
                line class=(class) x1=(pair[0].x) y1=(pair[0].y) x2=(pair[1].x) y2=(pair[1].y) {}
            }
            @for spot in &spots {
                @let width = pill(spot.number);
                g class="point" {
                    rect x=(spot.x - width / 2) y=(spot.y - 8) width=(width) height="16" rx="8" {}
                    text x=(spot.x) y=(spot.y + 4) text-anchor="middle" { (count(spot.number)) }
                }
            }
        }
    }

    /// Draws the line at which the order ends.
    fn limit(&self) -> Markup {
        let (class, text) = match self.key.end {
            End::Whole => return html! {},
            End::Stuck { reached: true, .. } => ("limit", "no order goes on past here"),
            End::Stuck { reached: false, .. } => ("limit", "no order goes on from here"),
            End::Unknown { .. } => ("limit unknown", "how it goes on is not known"),
        };
        let Some(at) = limit(self.key.end).filter(|at| self.columns.places.last() >= Some(at))
        else {
            return html! {};
        };
        let (x, bottom) = (self.columns.x(at), self.height() - BOTTOM + 4);
        let (end, anchor) = match x > letters(text) {
            true => (x + 4, "end"),
            false => (x.saturating_sub(4), "start"),
        };
        html! {
            g class=(class) {
                line x1=(x) x2=(x) y1=(TOP - 6) y2=(bottom) {}
                text x=(end) y=(bottom + 15) text-anchor=(anchor) { (text) }
            }
        }
    }
}

/// Returns the width of a place at which so many operations are left out.
fn break_width(skipped: u64) -> u64 {
    (letters(&count(skipped)) + 18).max(BREAK)
}

/// Returns the width of the sign of a point.
fn pill(number: u64) -> u64 {
    10 + count(number).len() as u64 * DIGIT / 10
}

/// Returns the width of a text.
fn letters(text: &str) -> u64 {
    text.chars().count() as u64 * LETTER / 10
}

/// The text, cut where it is too long.
fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
