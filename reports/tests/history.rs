//! The page about a history that was held against a model: what is drawn of it, and that words of
//! strangers stay words.

use base::{Kind, Outcome, is_hidden};
use expect_test::{expect, expect_file};
use picklock_reports::history::{Drawn, End, OperationRole, PictureKey, PictureView, Point, Sheet};
use picklock_reports::html::history;
use picklock_reports::terminal::Decided;
use std::collections::BTreeMap;

fn drawn(process: &str, label: &str, invoke: u64, answer: Option<u64>, number: u64) -> Drawn {
    let point = Point { number, before: answer.unwrap_or(0), state: Some("it was held".into()) };
    Drawn {
        process: process.into(),
        label: label.into(),
        text: format!("process {process}'s {label}"),
        invoke,
        answer,
        ended: if answer.is_some() { Kind::Ok } else { Kind::Info },
        point: Some(point).filter(|point| point.number > 0),
        role: OperationRole::Plain,
    }
}

/// Returns a view of two holds at once: the second cannot be put anywhere.
fn double_hold() -> PictureView {
    let stuck = Drawn { role: OperationRole::Stuck, ..drawn("2", "acquire", 11, Some(20), 0) };
    let beside =
        Drawn { role: OperationRole::Beside, ..drawn("1", "acquire", 10, Some(12), 2_991) };
    let failed = Drawn { ended: Kind::Fail, ..drawn("4", "acquire", 15, Some(16), 0) };
    let operations = vec![
        drawn("0", "release", 8, Some(9), 2_990),
        beside,
        stuck,
        drawn("3", "acquire", 13, None, 0),
        failed,
    ];
    PictureView { operations, skipped: BTreeMap::from([(8, 2_989), (u64::MAX, 7)]) }
}

fn key(view: PictureView, end: End) -> PictureKey {
    let (close, wide) = (view.clone(), view);
    PictureKey { name: None, operations: 3_001, ordered: 2_991, end, close, wide }
}

fn sheet(outcome: Outcome, keys: Vec<PictureKey>) -> Sheet {
    let decided = Decided {
        model: "mutex".into(),
        outcome,
        summary: "3,001 operations by 5 processes".into(),
        why: vec!["process 2's acquire can be put nowhere.".into()],
        notes: vec!["the time goes back at line 9".into()],
        report: None,
    };
    let command = "picklock check file.edn --model mutex --report page.html".into();
    let (about, file) = ("a lock".into(), "file.edn".into());
    Sheet { decided, about, file, command, version: "0.0.0".into(), keys, left_out: 0 }
}

fn violated() -> Sheet {
    sheet(Outcome::Violated, vec![key(double_hold(), End::Stuck { at: 20, reached: true })])
}

/// Returns a page's elements, a line each, without its styles and scripts.
fn elements(html: &str) -> String {
    let (_, body) = html.split_once("</head>").expect("a head");
    let body = body.split("<script").next().expect("no script");
    body.replace("><", ">\n<")
}

/// Returns those of a page's elements that begin with one of these, a line each.
fn some_elements(html: &str, begins: &[&str]) -> String {
    let elements = elements(html).replace('\u{a0}', " ");
    let is_wanted = |line: &&str| begins.iter().any(|begin| line.starts_with(begin));
    elements.lines().filter(is_wanted).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_cannot_be_ordered_is_drawn_with_the_order_up_to_there() {
    expect_file!["snapshots/violated.html"].assert_eq(&elements(&history(&violated())));
}

#[test]
fn a_bar_goes_from_call_to_answer_and_without_an_answer_to_the_end() {
    let html = history(&violated());
    let svg = html.split("<svg class=\"order\"").nth(1).expect("a picture");
    let width: u64 = attribute(svg, " width");
    let bar = |class: &str| {
        let (_, group) = svg.split_once(&format!("<g class=\"op {class}\">")).expect(class);
        let from: u64 = attribute(group, "<rect x");
        (from, from + attribute(group, " width"))
    };
    assert_eq!(bar("info never later").1, width);
    let (stuck, beside) = (bar("ok stuck"), bar("ok beside"));
    assert!(beside.0 < stuck.0 && stuck.0 < beside.1 && beside.1 < stuck.1, "they overlap");
    let limit = svg.split_once("<g class=\"limit\">").expect("where the order ends").1;
    assert!(stuck.1.abs_diff(attribute(limit, "x1")) <= 1);
}

/// The first attribute of this name.
fn attribute(text: &str, name: &str) -> u64 {
    let (_, rest) = text.split_once(&format!("{name}=\"")).expect("the attribute");
    rest.split('"').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn an_order_that_is_whole_ends_nowhere() {
    let held = history(&sheet(Outcome::Held, vec![key(double_hold(), End::Whole)]));
    let wanted = ["<h1", "<h2", "<p class=\"meta\""];
    expect![[r#"
        <h1>✓ Held</h1>
        <h2>The order</h2>
        <p class="meta">Here is an order of 2,991 operations in which the model allows each. 5 of its 3,001 operations are drawn.</p>
        <h2>How to read this</h2>
        <h2>Make it again</h2>"#]].assert_eq(&some_elements(&held, &wanted));
    assert!(!held.contains("class=\"limit"));
    let unknown = End::Unknown { at: 16 };
    let open = history(&sheet(Outcome::Inconclusive, vec![key(double_hold(), unknown)]));
    expect![[r#"
        <h1>? Inconclusive</h1>
        <h2>The order</h2>
        <p class="meta">Here is an order of 2,991 operations; how it goes on was not found. 5 of its 3,001 operations are drawn.</p>
        <h2>How to read this</h2>
        <h2>Make it again</h2>"#]].assert_eq(&some_elements(&open, &wanted));
    assert!(open.contains("how it goes on is not known"));
}

#[test]
fn the_first_key_is_open_and_the_others_can_be_opened() {
    let named = |name: &str, end| PictureKey { name: Some(name.into()), ..key(double_hold(), end) };
    let stuck = End::Stuck { at: 20, reached: true };
    let keys = vec![named("k17", stuck), named("k0", End::Whole)];
    let html = history(&Sheet { left_out: 58, ..sheet(Outcome::Violated, keys) });
    let wanted = ["<h2", "<details", "<summary", "<p class=\"hint\""];
    expect![[r#"
        <h2>What cannot be ordered</h2>
        <h2>Key k17</h2>
        <details>
        <summary>
        <h2>Key k0: 3,001 operations, can be ordered</h2>
        <p class="hint">58 more keys are not drawn. Keys that go wrong come first.</p>
        <h2>How to read this</h2>
        <p class="hint">Distances show what comes before what, not how long it took. Point at a bar to read all of it; the table says the same.</p>
        <h2>Make it again</h2>"#]].assert_eq(&some_elements(&html, &wanted));
}

#[test]
fn there_is_a_page_where_there_is_nothing_to_draw() {
    let html = history(&sheet(Outcome::Inconclusive, Vec::new()));
    assert!(html.contains("? Inconclusive") && !html.contains("<svg"));
    let empty = key(PictureView::default(), End::Stuck { at: 3, reached: false });
    assert!(history(&sheet(Outcome::Violated, vec![empty])).contains("<svg"));
}

#[test]
fn words_of_strangers_stay_words() {
    let evil = "\u{202e}</title><script>alert(1)</script>\x1b[2J";
    let mut view = double_hold();
    view.operations[0] = Drawn {
        process: evil.into(),
        label: evil.into(),
        text: evil.into(),
        ..view.operations[0].clone()
    };
    let mut sheet = sheet(
        Outcome::Violated,
        vec![PictureKey { name: Some(evil.into()), ..key(view, End::Whole) }],
    );
    (sheet.file, sheet.command) = (evil.into(), evil.into());
    let html = history(&sheet);
    assert_eq!(html.matches("<script").count(), 1, "the page's own");
    assert!(html.chars().all(|c| c == '\n' || !is_hidden(c)));
    assert!(html.contains("\\u{202e}&lt;/title&gt;"));
}

#[test]
fn a_page_loads_nothing() {
    let html = history(&violated());
    for word in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!html.contains(word), "{word}");
    }
    assert_eq!(html.matches("href=").count(), 1, "the icon, which is empty");
}

#[test]
fn a_picture_of_many_operations_is_not_large() {
    let operations: Vec<Drawn> = (0..240)
        .map(|n| drawn(&(n % 32).to_string(), "acquire", 2 * n, Some(2 * n + 1), n + 1))
        .collect();
    let view = PictureView { operations, skipped: BTreeMap::new() };
    let keys = (0..8).map(|_| key(view.clone(), End::Whole)).collect();
    let html = history(&sheet(Outcome::Held, keys));
    assert!(html.len() < 3_000_000, "{}", html.len());
}
