//! The trade that a ttl is: violations against the time that is lost when a holder dies, as a
//! table, as curves and as a page.

use crate::html::still;
use crate::units::{digits, span};
use base::visible;
use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;
use serde::Serialize;

/// The figures of a lock over its ttl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TtlSweep {
    /// The name of the lock.
    pub algo: String,
    /// The nemeses, joined by commas.
    pub nemesis: String,
    /// The command that measures it again.
    pub command: String,
    /// The number of runs that an early end has left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// The figures, by ttl.
    pub points: Vec<SweepPoint>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The figures of one ttl, over several runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepPoint {
    /// The time to live, or the session time-out.
    pub ttl_ns: u64,
    /// The number of runs.
    pub runs: u64,
    /// The runs in which two held at once.
    pub violated: u64,
    /// The grants that were given while another hold forbade it, in all runs.
    pub overlaps: u64,
    /// The stale writes and lost updates, in all runs.
    pub stale_writes: u64,
    /// The grants, in all runs.
    pub grants: u64,
    /// The median of the grants in a thousand seconds.
    pub grants_mhz: u64,
    /// The median of the slowest grant after a holder's death; `None` where none died.
    pub lost_ns: Option<u64>,
}

impl SweepPoint {
    /// The overlapping grants in a thousand.
    fn overlaps_per_1000(&self) -> f64 {
        self.overlaps as f64 * 1_000.0 / self.grants.max(1) as f64
    }
}

/// The heads of the table.
pub const HEADS: [&str; 6] = [
    "ttl",
    "runs violated",
    "overlaps in 1000 grants",
    "stale writes",
    "grants a second",
    "lost after a death",
];

impl TtlSweep {
    /// Says how much was measured, if that is not all.
    pub fn incomplete(&self) -> Option<String> {
        let made: u64 = self.points.iter().map(|point| point.runs).sum();
        (self.left_out > 0)
            .then(|| format!("interrupted after {made} of {} runs", made + self.left_out))
    }

    /// Returns the rows of the table.
    pub fn rows(&self) -> Vec<[String; 6]> {
        let row = |point: &SweepPoint| {
            [
                span(point.ttl_ns),
                format!("{} of {}", point.violated, point.runs),
                digits(point.overlaps_per_1000()),
                point.stale_writes.to_string(),
                digits(point.grants_mhz as f64 / 1_000.0),
                point.lost_ns.map_or_else(|| "no death".to_owned(), span),
            ]
        };
        self.points.iter().map(row).collect()
    }
}

const SIZE: (u32, u32) = (1000, 620);
const INK: RGBColor = RGBColor(89, 97, 111);
const LINE: RGBColor = RGBColor(223, 227, 233);
const UNSAFE: RGBColor = RGBColor(200, 38, 46);
const LOST: RGBColor = RGBColor(43, 127, 208);

/// Draws the curves; `None` where there is nothing to draw.
pub fn svg(sweep: &TtlSweep) -> Option<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        area.fill(&WHITE).ok()?;
        let (above, below) = area.split_vertically(SIZE.1 / 2);
        let overlaps = |point: &SweepPoint| Some(point.overlaps_per_1000());
        let lost = |point: &SweepPoint| Some(point.lost_ns? as f64 / 1e9);
        let part = sweep.incomplete().map_or(String::new(), |why| format!(" ({why})"));
        let title = format!("grants in 1000 that overlap another hold{part}");
        curve(&above, sweep, &title, UNSAFE, overlaps)?;
        let title = format!("seconds without a grant after a holder's death{part}");
        curve(&below, sweep, &title, LOST, lost)?;
        area.present().ok()?;
    }
    Some(text)
}

/// Draws one figure over the ttl, which has a logarithmic axis.
fn curve(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    sweep: &TtlSweep,
    title: &str,
    colour: RGBColor,
    figure: impl Fn(&SweepPoint) -> Option<f64>,
) -> Option<()> {
    let seconds = |point: &SweepPoint| point.ttl_ns as f64 / 1e9;
    let values: Vec<(f64, f64)> =
        sweep.points.iter().filter_map(|point| Some((seconds(point), figure(point)?))).collect();
    let (first, last) = (sweep.points.first()?, sweep.points.last()?);
    let top = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.1 } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(title, ("sans-serif", 18).into_font().color(&INK))
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d((seconds(first)..seconds(last)).log_scale(), 0.0..top)
        .ok()?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(LINE)
        .axis_style(INK)
        .label_style(("sans-serif", 14).into_font().color(&INK))
        .x_desc("ttl")
        .x_label_formatter(&|x| span((x * 1e9) as u64))
        .y_label_formatter(&|y| digits(*y))
        .y_labels(5)
        .draw()
        .ok()?;
    chart.draw_series(LineSeries::new(values.clone(), colour.stroke_width(2))).ok()?;
    let spots = values.into_iter().map(|spot| Circle::new(spot, 4, colour.filled()));
    chart.draw_series(spots).ok()?;
    Some(())
}

/// Makes a page of the table and the curves.
pub fn page(sweep: &TtlSweep) -> String {
    let title = format!("{} under {}: what a ttl costs", sweep.algo, sweep.nemesis);
    still(&title, &content(sweep, &title))
}

fn content(sweep: &TtlSweep, title: &str) -> Markup {
    html! {
        header.banner {
            h1 { (visible(title)) }
            p.note {
                "A short ttl runs out under holders that live; a long one is waited for when its \
                 holder has died. Faults and holds are as long for every ttl."
            }
            @if let Some(incomplete) = sweep.incomplete() { p.note { "Incomplete: " (incomplete) } }
        }
        section {
            h2 { "The trade" }
            @if let Some(svg) = svg(sweep) { div.plot { (PreEscaped(svg)) } }
        }
        section {
            h2 { "The figures" }
            table {
                thead { tr { @for head in HEADS { th { (head) } } } }
                tbody {
                    @for row in sweep.rows() { tr { @for cell in row { td { (cell) } } } }
                }
            }
            p.hint { "Measured in virtual time by " code { (visible(&sweep.command)) } }
        }
    }
}
