//! The timeline's data: columns of numbers, one set a lane, as JSON.
//!
//! Times are whole microseconds, each as its distance from the one before it in its column: most
//! are short then, and a hundred thousand events fit into a few hundred kilobytes. Columns that are
//! zero throughout are left out. The page's script undoes all this.

use crate::ReportSubject;
use crate::facts::{
    AcquireOutcome, FaultTimes, HistoryFacts, HoldEnding, HoldSpan, OverlapSpan, WaitSpan,
};
use crate::interpretation::breaches;
use crate::names::Speaker;
use crate::picture::sign;
use crate::units::span;
use base::{Event, Mode, Node, Stall, phrases, show_strings};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::Range;

/// The most clients that have a lane. A run has no more, whatever its file says.
const LANES: u32 = 200;

/// The data as JSON that is safe inside a `<script>`: nothing in it can end the element.
pub(super) fn embed(subject: &ReportSubject<'_>) -> String {
    let mut data = data(subject);
    show_strings(&mut data);
    data.to_string().replace('<', "\\u003c")
}

fn data(subject: &ReportSubject<'_>) -> Value {
    let ReportSubject { run, facts, .. } = subject;
    let mut words = WordTable::default();
    let speaker = Speaker::new(&run.info);
    let overlaps = facts.overlaps();
    let lanes: Vec<Value> = (0..run.info.all_workers().clamp(1, LANES))
        .map(|worker| LaneData { subject, speaker, worker }.columns(&mut words, &overlaps))
        .collect();
    json!({
        "end_us": micros(facts.end),
        "quiet_us": facts.quiet.map(micros),
        "lanes": lanes,
        "faults": bands(facts, run.info.workers),
        "breaches": breach_marks(subject),
        "words": words.list,
    })
}

fn micros(nanos: u64) -> u64 {
    nanos / 1_000
}

/// Keys and errors, each once; columns name them by place, from 1. 0 is none.
#[derive(Default)]
struct WordTable {
    list: Vec<String>,
    places: BTreeMap<String, u64>,
}

impl WordTable {
    fn place(&mut self, word: Option<&str>) -> u64 {
        let Some(word) = word.filter(|w| !w.is_empty()) else { return 0 };
        // A client may say very much; a tooltip has little room.
        let word: String = word.chars().take(200).collect();
        if let Some(place) = self.places.get(&word) {
            return *place;
        }
        self.list.push(word.clone());
        let place = self.list.len() as u64;
        self.places.insert(word, place);
        place
    }
}

struct LaneData<'a> {
    subject: &'a ReportSubject<'a>,
    speaker: Speaker,
    worker: u32,
}

impl LaneData<'_> {
    fn columns(&self, words: &mut WordTable, overlaps: &[OverlapSpan]) -> Value {
        let facts = &self.subject.facts;
        let mine = |process: u32| self.speaker.worker(process) == self.worker;
        let births = facts.births.iter().filter(|(process, _)| mine(*process));
        let waits: Vec<&WaitSpan> = facts.waits.iter().filter(|w| mine(w.process)).collect();
        let holds: Vec<&HoldSpan> = facts.holds.iter().filter(|h| mine(h.process)).collect();
        let marks: Vec<&&Event> =
            facts.marks.iter().filter(|e| e.client().is_some_and(mine)).collect();
        let overlaps: Vec<&OverlapSpan> = overlaps.iter().filter(|o| mine(o.process)).collect();
        json!({
            "births_us": births.map(|(p, at)| json!([micros(*at), p])).collect::<Vec<_>>(),
            "waits": wait_columns(&waits, words),
            "holds": hold_columns(&holds, words),
            "marks": mark_columns(&marks, words),
            "overlaps": intervals(overlaps.iter().map(|o| (o.from, o.until))),
        })
    }
}

fn wait_columns(waits: &[&WaitSpan<'_>], words: &mut WordTable) -> Value {
    let mut columns = intervals(waits.iter().map(|w| (w.from, w.until)));
    column(&mut columns, "answer", waits.iter().map(|w| answer(w.answer)));
    column(&mut columns, "error", waits.iter().map(|w| words.place(w.error)));
    Value::Object(columns)
}

fn hold_columns(holds: &[&HoldSpan], words: &mut WordTable) -> Value {
    let mut columns = intervals(holds.iter().map(|h| (h.from, h.until)));
    column(&mut columns, "shared", holds.iter().map(|h| u64::from(h.mode == Mode::Shared)));
    column(&mut columns, "ending", holds.iter().map(|h| ending(h.ending)));
    // One more than the time to the end of the lease, so that 0 is none.
    let leases = holds.iter().map(|h| h.ran_out.map_or(0, |end| lease(h, end.at_ns) + 1));
    column(&mut columns, "lease_us", leases);
    column(&mut columns, "token", holds.iter().map(|h| h.token.unwrap_or(0)));
    column(&mut columns, "key", holds.iter().map(|h| words.place(Some(&h.key))));
    Value::Object(columns)
}

/// Returns the time from the begin of a hold to the end of its lease, in microseconds.
fn lease(hold: &HoldSpan, ran_out: u64) -> u64 {
    micros(ran_out).saturating_sub(micros(hold.from))
}

fn mark_columns(marks: &[&&Event], words: &mut WordTable) -> Value {
    let mut columns = intervals(marks.iter().map(|e| (e.time_ns, e.time_ns)));
    column(&mut columns, "sign", marks.iter().map(|e| sign(e) as u64));
    column(&mut columns, "write", marks.iter().map(|e| u64::from(e.f == base::F::Write)));
    // One more than the value, so that 0 is none.
    column(&mut columns, "value", marks.iter().map(|e| e.value.map_or(0, |v| v.saturating_add(1))));
    column(&mut columns, "error", marks.iter().map(|e| words.place(e.error.as_deref())));
    Value::Object(columns)
}

/// Begins, each as its distance from the one before, and lengths. Both ends are cut to whole
/// microseconds first, so that intervals that touch still touch.
fn intervals(of: impl Iterator<Item = (u64, u64)>) -> Map<String, Value> {
    let (mut from, mut lengths, mut last) = (Vec::new(), Vec::new(), 0);
    for (begin, end) in of {
        let (begin, end) = (micros(begin), micros(end));
        from.push(begin as i64 - last as i64);
        lengths.push(end.saturating_sub(begin));
        last = begin;
    }
    let mut columns = Map::new();
    columns.insert("from_us".into(), json!(from));
    column(&mut columns, "length_us", lengths.into_iter());
    columns
}

fn column(columns: &mut Map<String, Value>, name: &str, values: impl Iterator<Item = u64>) {
    let values: Vec<u64> = values.collect();
    if values.iter().any(|v| *v != 0) {
        columns.insert(name.into(), json!(values));
    }
}

fn answer(answer: AcquireOutcome) -> u64 {
    match answer {
        AcquireOutcome::Granted => 0,
        AcquireOutcome::Open => 1,
        AcquireOutcome::Unknown => 2,
        AcquireOutcome::Failed => 3,
    }
}

fn ending(ending: HoldEnding) -> u64 {
    match ending {
        HoldEnding::Released => 0,
        HoldEnding::Lost => 1,
        HoldEnding::Died => 2,
        HoldEnding::Open => 3,
        HoldEnding::Converted => 4,
    }
}

/// Returns the faults and the stalls of the machine.
fn bands(facts: &HistoryFacts<'_>, workers: u32) -> Vec<Value> {
    let faults = facts.faults.iter().map(|it| fault(it, facts.end, workers));
    faults.chain(facts.stalls.iter().map(|(it, end)| stall(it, *end, workers))).collect()
}

fn stall(stall: &Stall, end: u64, workers: u32) -> Value {
    let (clients, servers) = lanes(stall.node, workers);
    json!({
        "from_us": micros(end.saturating_sub(stall.lasted_ns)),
        "until_us": micros(end),
        "kind": "stall",
        "name": format!("{} not run by the machine", stall.waited()),
        "effect": span(stall.lasted_ns),
        "clients": clients,
        "servers": servers,
    })
}

/// The lanes of the clients that are hit, and the servers.
fn lanes(hit: impl IntoIterator<Item = Node>, workers: u32) -> (Vec<u32>, Vec<u32>) {
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for node in hit {
        match node {
            Node::Client(n) => clients.extend(lanes_of(n, workers)),
            Node::Server(n) => servers.push(n),
            // It is shown in the lanes of the clients whose links these are.
            Node::Vault => {}
        }
    }
    (clients, servers)
}

fn fault(span: &FaultTimes, end: u64, workers: u32) -> Value {
    let (clients, servers) = lanes(span.fault.nodes(), workers);
    json!({
        "from_us": micros(span.from),
        "until_us": micros(span.until.unwrap_or(end)),
        "kind": span.fault.family().name(),
        "name": span.fault.to_string(),
        "effect": span.effect.as_ref().map_or_else(|| "not measured".into(), phrases::measured),
        "clients": clients,
        "servers": servers,
    })
}

/// Returns the marks of the witnesses, as JSON.
fn breach_marks(subject: &ReportSubject<'_>) -> Vec<Value> {
    let history = &subject.run.history;
    let mark = |breach: crate::interpretation::Breach<'_>| {
        let witness = breach.anomaly.witness.iter();
        let times: Vec<u64> = witness.filter_map(|i| Some(history.get(*i)?.time_ns)).collect();
        let (from, until) = (times.iter().min()?, times.iter().max()?);
        Some(json!({
            "name": breach.anomaly.name,
            "from_us": micros(*from),
            "until_us": micros(*until),
        }))
    };
    breaches(&subject.run.info, subject.verdicts).into_iter().filter_map(mark).collect()
}

/// The lanes of a client: one for each of its workers.
fn lanes_of(client: u32, workers: u32) -> Range<u32> {
    let first = client.saturating_mul(workers);
    first..first.saturating_add(workers).min(LANES)
}
