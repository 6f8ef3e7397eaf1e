//! An event as Jepsen and Knossos write it: an EDN map.

use crate::reading::{Quoted, Value};
use base::{Event, Kind, Mode, Process};
use serde::Serialize;
use std::fmt::Write;

/// Returns an event as a map of EDN, on one line and without its end.
pub fn edn(event: &Event) -> String {
    let mut map = format!("{{:index {}, :time {}", event.index, event.time_ns);
    let mut add = |name: &str, value: &str| {
        write!(map, ", :{name} {value}").expect("a string takes all");
    };
    match event.process {
        Process::Nemesis => add("process", ":nemesis"),
        Process::Client(number) => add("process", &number.to_string()),
    }
    add("type", kind(event.kind));
    add("f", &format!(":{}", event.f));
    add("value", &event.value.map_or("nil".into(), |value| value.to_string()));
    if let Some(key) = &event.key {
        add("key", &Quoted(key).to_string());
    }
    if let Some(mode) = event.mode {
        add("mode", if mode == Mode::Shared { ":shared" } else { ":exclusive" });
    }
    if let Some(token) = event.token {
        add("token", &token.to_string());
    }
    if let Some(error) = &event.error {
        add("error", &Quoted(error).to_string());
    }
    if let Some(fault) = &event.fault {
        add("fault", &plain(fault));
    }
    if let Some(facts) = &event.facts {
        add("facts", &plain(facts));
    }
    map.push('}');
    map
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Invoke => ":invoke",
        Kind::Ok => ":ok",
        Kind::Fail => ":fail",
        Kind::Info => ":info",
    }
}

/// Serializable data of any shape, as EDN.
fn plain(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("plain data");
    serde_json::from_str::<Value>(&json).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Entries, Entry};
    use base::{Action, Effect, F, Fault, FaultEvent, History, Node};
    use expect_test::expect;

    fn entries(text: &str) -> Vec<Entry> {
        let read: Result<Vec<Entry>, _> = Entries::open(text.as_bytes(), None).unwrap().collect();
        read.unwrap()
    }

    #[test]
    fn what_is_exported_is_read_as_the_same() {
        let mut history = History::default();
        let mut event = Event::new(5, Process::Client(1), Kind::Ok, F::Acquire);
        event.mode = Some(Mode::Shared);
        event.key = Some("a \"b\"\n\u{202e}\x1b\u{e0041}".into());
        event.token = Some(7);
        history.push(event.clone());
        event.value = Some(u64::MAX);
        event.error = Some("no".into());
        (event.kind, event.f) = (Kind::Info, F::Read);
        history.push(event);
        let mut heal = Event::new(9, Process::Nemesis, Kind::Info, F::Heal);
        heal.fault = Some(Box::new(FaultEvent {
            id: 1,
            fault: Fault::at(Node::Client(1), Action::Pause),
            effect: Some(Effect::new("process state T", 3)),
            line: None,
            leaders: Vec::new(),
        }));
        history.push(heal);
        let lines: Vec<String> = history.events().iter().map(|event| edn(event) + "\n").collect();
        assert!(lines[0].trim_end().chars().all(|c| !base::is_hidden(c)), "{}", lines[0]);
        expect![[r#"{:index 2, :time 9, :process :nemesis, :type :info, :f :heal, :value nil, :fault {"effect" {"amount" 3, "what" "process state T"}, "fault" {"kind" "pause", "node" {"client" 1}}, "id" 1}}"#]].assert_eq(lines[2].trim_end());
        let mut ours = entries(&history.to_jsonl());
        // The header is a line more.
        ours.iter_mut().for_each(|entry| entry.line -= 1);
        assert_eq!(entries(&lines.concat()), ours);
    }
}
