//! Prints the report of a sample run, to look at it: `cargo run -p picklock-reports --example
//! gallery -- double-hold html > page.html`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::Sample;
use picklock_reports::{html, terminal};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let sample = words.first().map_or("double-hold", String::as_str);
    let form = words.get(1).map_or("text", String::as_str);
    match (find(sample), form) {
        (Some(sample), "html") => print!("{}", page(&sample)),
        (Some(sample), "text" | "colour" | "ascii") => print!("{}", text(&sample, form)),
        _ => eprintln!(
            "usage: gallery double-hold|reader|held|empty|cut-off|hostile|busy|huge text|colour|ascii|html"
        ),
    }
}

fn find(name: &str) -> Option<Sample> {
    Some(match name {
        "double-hold" => common::double_hold(),
        "reader" => common::reader_beside_writer(),
        "held" => common::busy(600),
        "empty" => common::empty(),
        "cut-off" => common::cut_off(),
        "hostile" => common::hostile(),
        "busy" => common::busy(4_000),
        "huge" => common::busy(100_000),
        _ => return None,
    })
}

fn page(s: &Sample) -> String {
    html::page(&s.run, &s.verdicts, s.outcome, &common::context())
}

fn text(s: &Sample, form: &str) -> String {
    let (colour, unicode) = (form == "colour", form != "ascii");
    let style = terminal::Style { colour, unicode, width: 92, piped: true };
    terminal::summary(&s.run, &s.verdicts, s.outcome, &common::context(), style)
}
