//! The terminal summary, whole, as a reader gets it.

mod common;

use base::is_hidden;
use common::{Sample, context, cut_off, double_hold, empty, hostile, reader_beside_writer};
use picklock_reports::terminal::{Style, summary};

const PLAIN: Style = Style { colour: false, unicode: true, width: 92, piped: true };
const ASCII: Style = Style { colour: false, unicode: false, width: 92, piped: true };
const COLOUR: Style = Style { colour: true, unicode: true, width: 92, piped: true };

fn text(sample: &Sample, style: Style) -> String {
    summary(&sample.run, &sample.verdicts, sample.outcome, &context(), style)
}

/// Compares line by line, so that a failure shows the line.
fn check(sample: &Sample, style: Style, expected: &str) {
    let found = text(sample, style);
    for (place, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", place + 1);
    }
    assert_eq!(found, expected);
}

#[test]
fn a_violated_run_shows_its_witnesses() {
    let expected = r#"picklock 0.1.0: redis-set-nx-px under pause:client, backend sim
5 clients, 1 server, ttl 1 s, 30 s of faults + 6 s quiet, seed 42, took 850 ms

✗ exclusion  violated        two clients held the lock at the same moment, 3 times
✗ vault      violated        1 write came after a later grant had been served
✓ progress   held            12 grants after the heal, the first at once
– fencing    not applicable  the lock has no tokens
✓ coverage   held            contended; 1 of 1 faults had an effect; granted after the heal

✗ double hold, seen 3 times (exclusion)
  Process 3 acquired the lock at 4.100 s and had not released it when process 1 acquired it
  too, at 5.233 s. Both held it for 1.027 s.

    4.100 s  process 3  acquired the lock
    4.210 s  nemesis    client 3 paused
    4.950 s  process 3  its lease expired
    5.233 s  process 1  acquired the lock

    process 3        ···██████████████████████████████|▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚
    process 1             ······································███████████████████████████
    both hold                                                   ▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲
    client 3 paused         ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
                                      |4.5 s            |5.0 s            |5.5 s
                     · waits   █ holds   | lease or session ends   ▚ still believes it holds
                     ░ fault

  Expected because the holder was paused for longer than its lock lives. A ttl lock cannot
  tell a paused holder from a dead one (H7) (docs/hazards.md#h7).

✗ stale write accepted, seen once (vault)
  Process 3 wrote under a hold that was over: the vault had served process 1.

    4.100 s  process 3  acquired the lock
    4.210 s  nemesis    client 3 paused
    4.950 s  process 3  its lease expired
    5.233 s  process 1  acquired the lock
    5.310 s  process 1  wrote 17 to the vault
    6.210 s  nemesis    healed: client 3 paused (measured: 2 s not running)
    6.220 s  process 3  wrote 18 to the vault

    process 3        ···█████████████████████████|▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚▚w
    process 1            ·································██w██████████████████████████████
    both hold                                             ▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲▲
    client 3 paused        ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
                     |4.0 s         |4.5 s         |5.0 s         |5.5 s         |6.0 s
                     · waits   █ holds   | lease or session ends   ▚ still believes it holds
                     ░ fault   w write

  Expected for the same reason as above, H7: a paused holder outlives its ttl and writes on
  (docs/hazards.md#h7).

other acquires   1 failed, 0 of unknown outcome
faults           1, 1 with a measured effect (the first: 2 s not running)
history          store/redis-set-nx-px+pause/20261121T101500/history.jsonl
report           store/redis-set-nx-px+pause/20261121T101500/report.html
run it again     picklock test --algo redis-set-nx-px --nemesis pause:client --backend sim --seed 42

VIOLATED: double hold, stale write accepted — a known weakness of this lock (H7: a paused holder outlives its ttl and writes on, docs/hazards.md#h7)
"#;
    check(&double_hold(), PLAIN, expected);
}

#[test]
fn a_log_without_unicode_reads_as_well() {
    let expected = r#"picklock 0.1.0: zk-rw without faults, backend sim
5 clients, 3 servers, ttl 1 s, 30 s + 6 s quiet, seed 42, took 850 ms

X exclusion  violated  a reader held the lock beside a writer

X reader-writer overlap, seen once (exclusion)
  Process 1 held the lock exclusively when process 7 came in to read.

    0.152 s  process 1             acquired the lock, exclusive
    0.153 s  process 7 (client 2)  acquired the lock, shared

    process 1             ......#####################################################
    process 7 (client 2)               ====================================================
    both hold                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
                                |0.152 s     |0.154 s      |0.156 s     |0.158 s
                          . waits   # holds   = holds, shared

  Not expected of this lock: the holder was paused for longer than its lock lives.

other acquires   0 failed, 0 of unknown outcome
faults           none
history          store/redis-set-nx-px+pause/20261121T101500/history.jsonl
report           store/redis-set-nx-px+pause/20261121T101500/report.html
run it again     picklock test --algo zk-rw --nemesis none --backend sim --seed 42

VIOLATED: reader-writer overlap - not expected of this lock
"#;
    check(&reader_beside_writer(), ASCII, expected);
}

#[test]
fn an_empty_history_is_reported_as_empty() {
    let expected = r#"picklock 0.1.0: zk-rw without faults, backend sim
5 clients, 1 server, ttl 1 s, 30 s + 6 s quiet, seed 42, took 850 ms

? coverage  inconclusive  nobody asked for the lock

Nothing was recorded: the history is empty.

other acquires   0 failed, 0 of unknown outcome
faults           none
history          store/redis-set-nx-px+pause/20261121T101500/history.jsonl
report           store/redis-set-nx-px+pause/20261121T101500/report.html
run it again     picklock test --algo zk-rw --nemesis none --backend sim --seed 42

INCONCLUSIVE: coverage: nobody asked for the lock
"#;
    check(&empty(), PLAIN, expected);
}

#[test]
fn a_cut_off_history_is_reported_as_cut_off() {
    let expected = r#"picklock 0.1.0: redis-set-nx-px under crash:server, backend sim
5 clients, 1 server, ttl 1 s, 30 s of faults + 6 s quiet, seed 42, took 850 ms

✓ exclusion  held          never two holders at once
? progress   inconclusive  the history ends before the heal

The history was cut off: it ends at 0.900 s, before its run did.

other acquires   0 failed, 0 of unknown outcome
faults           1, 0 with a measured effect
history          store/redis-set-nx-px+pause/20261121T101500/history.jsonl
report           store/redis-set-nx-px+pause/20261121T101500/report.html
run it again     picklock test --algo redis-set-nx-px --nemesis crash:server --backend sim --seed 42

INCONCLUSIVE: progress: the history ends before the heal
"#;
    check(&cut_off(), PLAIN, expected);
}

#[test]
fn colours_add_to_the_text_and_change_nothing_in_it() {
    for sample in [double_hold(), reader_beside_writer(), cut_off()] {
        let coloured = text(&sample, COLOUR);
        assert!(coloured.contains("\x1b[1;31m") || coloured.contains("\x1b[33m"));
        assert_eq!(without_colours(&coloured), text(&sample, PLAIN));
    }
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap().to_string();
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    plain
}

#[test]
fn no_control_character_of_a_stranger_reaches_the_terminal() {
    for style in [PLAIN, ASCII] {
        let text = text(&hostile(), style);
        assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)));
        assert!(text.contains("\\u{202e}\\u{2066}\\u{9b}<img"), "{text}");
    }
    assert!(text(&hostile(), ASCII).is_ascii());
}

#[test]
fn lines_fit_the_terminal_unless_they_are_there_to_be_copied() {
    let copied = ["history  ", "report  ", "run it again  "];
    for width in [40, 60, 80, 92, 120, 200] {
        for sample in [double_hold(), reader_beside_writer(), empty(), cut_off()] {
            let text = text(&sample, Style { width, piped: false, ..PLAIN });
            let lines = text.lines().filter(|line| !copied.iter().any(|c| line.starts_with(c)));
            for line in lines.clone() {
                assert!(line.chars().count() <= width, "{width} columns: {line}");
            }
            for line in lines {
                let mut words = line.rsplit(' ');
                let last = words.next().unwrap_or_default().trim_start_matches('(');
                // "process 1" is a name.
                let parted = last.parse::<f64>().is_ok() && words.next() != Some("process");
                assert!(!parted, "a number without its unit: {line}");
            }
        }
    }
}

#[test]
fn bars_take_the_room_that_there_is() {
    let longest = |width| {
        let text = text(&double_hold(), Style { width, ..PLAIN });
        text.lines().filter(|line| line.contains('█')).map(|line| line.chars().count()).max()
    };
    let (narrow, wide) = (longest(60).expect("bars"), longest(160).expect("bars"));
    assert!(narrow <= 60 && wide > 150, "{narrow}, {wide}");
}

#[test]
fn the_last_line_stays_in_one_piece_in_a_pipe_alone() {
    let last = |piped| {
        let text = text(&empty(), Style { width: 40, piped, ..PLAIN });
        text.trim_end().rsplit('\n').next().unwrap_or_default().to_owned()
    };
    assert_eq!(last(true), "INCONCLUSIVE: coverage: nobody asked for the lock");
    assert_eq!(last(false), "the lock");
}

#[test]
fn a_long_witness_is_cut_in_the_middle() {
    let mut sample = double_hold();
    let events = sample.run.history.events().len() as u64;
    sample.verdicts[0].anomalies[0].witness = (0..events).collect();
    let text = text(&sample, PLAIN);
    // The end of the lease is a step as well.
    let more = events + 1 - 14 + 1;
    assert!(text.contains(&format!("… {more} more events, all of them in the report")), "{text}");
}
