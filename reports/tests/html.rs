//! The page: whole, self-contained, escaped, and small enough.

mod common;

use base::is_hidden;
use common::{Sample, busy, context, cut_off, double_hold, empty, hostile, reader_beside_writer};
use expect_test::expect_file;
use picklock_reports::facts::HistoryFacts;
use picklock_reports::html::page;
use serde_json::Value;

fn html(sample: &Sample) -> String {
    page(&sample.run, &sample.verdicts, sample.outcome, &context())
}

/// Returns the data that the page's script reads.
fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("<script id=\"data\" type=\"application/json\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn samples() -> Vec<Sample> {
    vec![double_hold(), reader_beside_writer(), busy(500), empty(), cut_off(), hostile()]
}

fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    for sample in samples() {
        let html = html(&sample).replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!html.contains("http://") && !html.contains("https://"));
        assert!(!html.contains("url(") && !html.contains("@import"));
        assert_eq!(attributes(&html, "src"), [""; 0]);
        let files = ["history.jsonl", "run.json", "verdict.json", "data:,"];
        for href in attributes(&html, "href") {
            assert!(files.contains(&href) || href.starts_with("#t="), "{href}");
        }
    }
}

#[test]
fn sections_come_in_the_order_of_what_a_reader_asks_first() {
    for sample in samples() {
        let html = html(&sample);
        let mut last = 0;
        for part in [
            "<header class=\"banner",
            "id=\"properties\"",
            "id=\"settings\"",
            "id=\"timeline\"",
            "id=\"faults\"",
            "id=\"numbers\"",
            "id=\"files\"",
        ] {
            let at = html.find(part).unwrap_or_else(|| panic!("no {part}"));
            assert!(at > last, "{part}");
            last = at;
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    let html = html(&hostile());
    assert_eq!(html.matches("<script").count(), 2, "the data and the page's own");
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("<img"));
    assert!(html.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    let words = &data(&html)["words"];
    assert!(words.to_string().contains("</script><script>alert(1)"), "{words}");
}

#[test]
fn hidden_characters_are_written_out() {
    let html = html(&hostile());
    assert!(html.chars().all(|c| c == '\n' || !is_hidden(c)));
    assert!(html.contains("\\u{202e}\\u{2066}\\u{9b}&lt;img"));
    assert!(data(&html)["words"].to_string().contains("\\\\u{202e}"));
}

#[test]
fn the_witness_is_drawn_with_the_numbers_of_its_events() {
    let html = html(&double_hold());
    // A wide and a narrow picture for each of the two anomalies.
    assert_eq!(html.matches("<svg class=\"witness").count(), 4);
    let (_, anomaly) = html.split_once("✗ stale write accepted</h2>").unwrap();
    let (anomaly, _) = anomaly.split_once("</section>").unwrap();
    expect_file!["snapshots/anomaly.html"].assert_eq(&anomaly.replace("><", ">\n<"));
}

#[test]
fn the_timeline_gets_every_hold_with_its_times() {
    let sample = busy(2_000);
    let html = html(&sample);
    let data = data(&html);
    let facts = HistoryFacts::of(&sample.run);
    let mut expected: Vec<(u64, u64)> =
        facts.holds.iter().map(|h| (h.from / 1_000, h.until / 1_000)).collect();
    let lanes = data["lanes"].as_array().unwrap();
    let mut found: Vec<(u64, u64)> = lanes.iter().flat_map(|l| unpacked(&l["holds"])).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert!(found.len() > 200);
    assert_eq!(found, expected);
    assert_eq!(lanes.len(), 5);
}

/// Begins and ends, as the page's script computes them.
fn unpacked(columns: &Value) -> Vec<(u64, u64)> {
    let numbers = |name: &str| columns[name].as_array().cloned().unwrap_or_default();
    let mut at = 0i64;
    let unpack = |(from, length): (&Value, &Value)| {
        at += from.as_i64().unwrap();
        (at as u64, at as u64 + length.as_u64().unwrap())
    };
    numbers("from_us").iter().zip(&numbers("length_us")).map(unpack).collect()
}

#[test]
fn plots_are_drawn_in_the_colours_of_the_page() {
    let html = html(&busy(2_000));
    assert!(html.contains("fill=\"var(--ok)\""));
    assert!(html.contains("stroke=\"var(--fail)\""));
    assert!(html.contains("fill=\"var(--cut)\""));
    for digit in 1..=9 {
        assert!(!html.contains(&format!("\"#0{digit}0{digit}0{digit}\"")), "{digit}");
    }
}

#[test]
fn an_empty_history_has_a_page_without_plots() {
    let html = html(&empty());
    assert!(html.contains("Nothing was recorded"));
    assert!(!html.contains("id=\"plots\""));
}

#[test]
fn a_cut_off_history_says_so() {
    let html = html(&cut_off());
    assert!(html.contains("The history was cut off: it ends at 0.900\u{a0}s"));
    assert!(html.contains("never healed"));
}

#[test]
fn a_hundred_thousand_events_make_a_page_of_a_megabyte() {
    let html = html(&busy(100_000));
    assert!(html.len() < 1_500_000, "{}", html.len());
    let marks = html.matches("<circle").count() + html.matches("<polygon").count();
    assert!((200..2_000).contains(&marks), "{marks}");
}
