//! The work of each fuzz target on its bytes. The test `cli/tests/hostile.rs` does the same
//! with the corpus and with mutations of it, on every run of the tests.

use histories::reading::{Entries, Notation, Value};
use histories::{Budget, Pairing, Reading, decide};

/// Bytes as a stored run: what can be read can be written, and is then read as the same.
pub fn run(data: &[u8]) {
    let Ok(parsed) = histories::read(data) else { return };
    let again = histories::read(parsed.history.to_jsonl().as_bytes()).expect("it was just written");
    assert_eq!(again.history, parsed.history);
    for event in parsed.history.events() {
        let text = histories::edn(event);
        text.parse::<Value>().unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// Bytes as a foreign history: as operations of each kind of model, judged on a small budget.
pub fn entries(data: &[u8], format: Notation) {
    for model in ["mutex", "fenced", "rw", "cas-register", "set"] {
        for independent in [None, Some(true)] {
            for mixed in [false, true] {
                judge(data, format, model, Reading { independent, mixed, ..Reading::default() });
            }
        }
    }
}

fn judge(data: &[u8], format: Notation, model: &str, reading: Reading) {
    let model = model.parse().expect("a model");
    let Ok(entries) = Entries::open(data, Some(format)) else { return };
    let mut pairing = Pairing::new(model, reading);
    for entry in entries {
        let Ok(entry) = entry else { return };
        if pairing.push(entry).is_err() {
            return;
        }
    }
    let Ok(paired) = pairing.finish() else { return };
    let mut asked = 0;
    let mut expired = || {
        asked += 1;
        asked > 2
    };
    let _ = decide(model, &paired.operations, Budget { memory: 1 << 20, expired: &mut expired });
    for operation in paired.operations.iter().take(100) {
        assert!(!paired.describe(operation).is_empty());
    }
}
