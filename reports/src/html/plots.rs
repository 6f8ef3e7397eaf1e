//! Plots as inline SVG: how long acquires took, and how many grants a second there were.
//!
//! plotters knows fixed colours only. Each stands for a role here and is exchanged for the page's
//! own colour afterwards, so that a plot is legible in the light and in the dark.

use crate::ReportSubject;
use crate::facts::{AcquireOutcome, HistoryFacts};
use crate::units::{digits, span};
use base::Family;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

const SIZE: (u32, u32) = (1000, 300);
/// The most marks in a plot: more only make the page slow, since they would lie over each other.
const MARKS: usize = 2_000;

const INK: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(2, 2, 2);
const OK: RGBColor = RGBColor(3, 3, 3);
const INFO: RGBColor = RGBColor(4, 4, 4);
const FAIL: RGBColor = RGBColor(5, 5, 5);
const PAUSE: RGBColor = RGBColor(6, 6, 6);
const CRASH: RGBColor = RGBColor(7, 7, 7);
const CUT: RGBColor = RGBColor(8, 8, 8);
const QUIET: RGBColor = RGBColor(9, 9, 9);
const CLOCK: RGBColor = RGBColor(10, 10, 10);
const LINK: RGBColor = RGBColor(11, 11, 11);
const MEMORY: RGBColor = RGBColor(12, 12, 12);

const ROLES: [(&str, &str); 12] = [
    ("\"#010101\"", "\"var(--soft)\""),
    ("\"#020202\"", "\"var(--line)\""),
    ("\"#030303\"", "\"var(--ok)\""),
    ("\"#040404\"", "\"var(--info)\""),
    ("\"#050505\"", "\"var(--fail)\""),
    ("\"#060606\"", "\"var(--pause)\""),
    ("\"#070707\"", "\"var(--crash)\""),
    ("\"#080808\"", "\"var(--cut)\""),
    ("\"#090909\"", "\"var(--held)\""),
    ("\"#0A0A0A\"", "\"var(--clock)\""),
    ("\"#0B0B0B\"", "\"var(--link)\""),
    ("\"#0C0C0C\"", "\"var(--memory)\""),
];

type PlotResult<T> = Result<T, Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Plots the times that acquires took, over the time at which they ended; `None` when none ended.
pub(super) fn latency(subject: &ReportSubject<'_>) -> Option<String> {
    let marks = spots(&subject.facts);
    let low = marks.iter().map(|m| m.latency).fold(f64::INFINITY, f64::min);
    let high = marks.iter().map(|m| m.latency).fold(0.0, f64::max);
    let range = low / 1.5..high * 1.5;
    (!marks.is_empty()).then(|| svg(|area| draw_latency(area, &subject.facts, &marks, range)))?
}

/// Grants a second over time; `None` when nothing was granted.
pub(super) fn rate(subject: &ReportSubject<'_>) -> Option<String> {
    let rates = rates(&subject.facts);
    let high = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    (high > 0.0).then(|| svg(|area| draw_rate(area, &subject.facts, &rates, high * 1.08)))?
}

/// Draws into a string. A plot that cannot be drawn is left out: it is no reason to lose the page.
fn svg(draw: impl FnOnce(&Area<'_>) -> PlotResult<()>) -> Option<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&area).ok()?;
        area.present().ok()?;
    }
    Some(ROLES.iter().fold(text, |text, (fixed, role)| text.replace(fixed, role)))
}

/// Acquires that ended alike at about the same time after about the same wait.
struct Spot {
    at: f64,
    latency: f64,
    answer: AcquireOutcome,
    count: u32,
}

/// The ended acquires as marks. Each answer has its own share of the marks, so that the many do not
/// push out the few.
fn spots(facts: &HistoryFacts<'_>) -> Vec<Spot> {
    let of = |answer, most| thinned(facts, answer, most);
    let mut spots = of(AcquireOutcome::Granted, MARKS * 6 / 10);
    spots.extend(of(AcquireOutcome::Unknown, MARKS * 2 / 10));
    spots.extend(of(AcquireOutcome::Failed, MARKS * 2 / 10));
    spots
}

/// One mark a cell of a grid that grows coarser until few enough are left. The grid is logarithmic
/// in height, as the plot is.
fn thinned(facts: &HistoryFacts<'_>, answer: AcquireOutcome, most: usize) -> Vec<Spot> {
    let end = seconds(facts.end).max(1e-9);
    let waits = facts.waits.iter().filter(|w| w.answer == answer);
    let points: Vec<(f64, f64)> =
        waits.map(|w| (seconds(w.until), seconds(w.until - w.from).max(1e-6))).collect();
    let grids = [4_000.0, 800.0, 400.0, 250.0, 150.0, 100.0, 60.0, 30.0];
    let mut spots = grids.into_iter().map(|columns| grid(&points, answer, end, columns));
    spots.find(|spots| spots.len() <= most).unwrap_or_default()
}

fn grid(points: &[(f64, f64)], answer: AcquireOutcome, end: f64, columns: f64) -> Vec<Spot> {
    let mut cells: BTreeMap<(u64, i64), Spot> = BTreeMap::new();
    for (at, latency) in points.iter().copied() {
        let cell = ((at / end * columns) as u64, (latency.log10() * columns / 12.0) as i64);
        let spot = cells.entry(cell).or_insert(Spot { at, latency, answer, count: 0 });
        spot.count += 1;
    }
    cells.into_values().collect()
}

/// Returns the radius of a mark: larger for more acquires, and larger where there are few marks.
fn radius(spot: &Spot, few: bool) -> i32 {
    let growth = spot.count.ilog2().min(3) as i32;
    if few { 4 } else { 2 + growth / 2 }
}

/// Grants a second, in steps: (begin of the step in seconds, rate).
fn rates(facts: &HistoryFacts<'_>) -> Vec<(f64, f64)> {
    let step = crate::units::round_step(facts.end / 10).max(1);
    let mut counts = vec![0u64; (facts.end / step) as usize + 1];
    for wait in facts.waits.iter().filter(|w| w.answer == AcquireOutcome::Granted) {
        counts[(wait.until / step) as usize] += 1;
    }
    // The last step is rarely whole, and the rate of a sliver would say little.
    if counts.len() > 1 && facts.end % step < step / 2 {
        counts.pop();
    }
    let rate = |(n, count): (usize, u64)| {
        let begin = n as u64 * step;
        let width = step.min(facts.end - begin).max(1);
        (seconds(begin), count as f64 / seconds(width))
    };
    counts.into_iter().enumerate().map(rate).collect()
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn draw_latency(
    area: &Area<'_>,
    facts: &HistoryFacts<'_>,
    spots: &[Spot],
    range: Range<f64>,
) -> PlotResult<()> {
    let time = 0.0..seconds(facts.end).max(1e-9);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(24)
        .x_label_area_size(30)
        .y_label_area_size(76)
        .build_cartesian_2d(time, range.clone().log_scale().with_key_points(decades(&range)))?;
    chart.draw_series(bands(facts, range))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .label_style(("sans-serif", 17).into_font().color(&INK))
        .y_label_formatter(&|s| span((s * 1e9) as u64))
        .x_label_formatter(&|s| format!("{} s", digits(*s)))
        .draw()?;
    let few = spots.len() < 300;
    let of = |answer| spots.iter().filter(move |s| s.answer == answer);
    let place = |s: &Spot| (s.at, s.latency);
    let granted = of(AcquireOutcome::Granted)
        .map(|s| Circle::new(place(s), radius(s, few), OK.mix(0.75).filled()));
    let unknown = of(AcquireOutcome::Unknown)
        .map(|s| TriangleMarker::new(place(s), if few { 6 } else { 4 }, INFO.filled()));
    let failed = of(AcquireOutcome::Failed)
        .map(|s| Cross::new(place(s), if few { 4 } else { 3 }, FAIL.stroke_width(2)));
    chart.draw_series(granted)?;
    chart.draw_series(unknown)?;
    chart.draw_series(failed)?;
    Ok(())
}

/// Returns round places on a logarithmic axis: 1, 2 and 5 of each power of ten, or the powers alone
/// where those would be too many.
fn decades(range: &Range<f64>) -> Vec<f64> {
    let points = |steps: &[f64]| -> Vec<f64> {
        let powers = (-7..=9).map(|power| 10f64.powi(power));
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * power));
        all.filter(|point| range.contains(point)).collect()
    };
    let fine = points(&[1.0, 2.0, 5.0]);
    if fine.len() > 9 { points(&[1.0]) } else { fine }
}

fn draw_rate(
    area: &Area<'_>,
    facts: &HistoryFacts<'_>,
    rates: &[(f64, f64)],
    high: f64,
) -> PlotResult<()> {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(24)
        .x_label_area_size(30)
        .y_label_area_size(76)
        .build_cartesian_2d(0.0..seconds(facts.end).max(1e-9), 0.0..high)?;
    chart.draw_series(bands(facts, 0.0..high))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .label_style(("sans-serif", 17).into_font().color(&INK))
        .y_labels(5)
        .y_label_formatter(&|rate| digits(*rate))
        .x_label_formatter(&|s| format!("{} s", digits(*s)))
        .draw()?;
    let end = seconds(facts.end);
    let mut stairs = Vec::new();
    for (place, (at, rate)) in rates.iter().enumerate() {
        let next = rates.get(place + 1).map_or(end, |next| next.0);
        stairs.extend([(*at, *rate), (next, *rate)]);
    }
    chart.draw_series(AreaSeries::new(stairs.iter().copied(), 0.0, OK.mix(0.22)))?;
    chart.draw_series(LineSeries::new(stairs, OK.stroke_width(2)))?;
    Ok(())
}

/// The faults and the quiet phase, over the whole height.
fn bands(facts: &HistoryFacts<'_>, height: Range<f64>) -> Vec<Rectangle<(f64, f64)>> {
    let band = |from: u64, until: u64, colour: RGBColor, share: f64| {
        let corners = [(seconds(from), height.start), (seconds(until), height.end)];
        Rectangle::new(corners, colour.mix(share).filled())
    };
    let faults = facts.faults.iter().map(|f| {
        let colour = match f.fault.family() {
            Family::Pause => PAUSE,
            Family::Crash => CRASH,
            Family::Cut => CUT,
            Family::Clock => CLOCK,
            Family::Link => LINK,
            Family::Memory => MEMORY,
        };
        band(f.from, f.until.unwrap_or(facts.end), colour, 0.2)
    });
    let quiet = facts.quiet.map(|at| band(at, facts.end, QUIET, 0.09));
    quiet.into_iter().chain(faults).collect()
}
