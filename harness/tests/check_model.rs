//! `picklock check FILE --model M` as a user meets it: published shapes of histories in, a verdict
//! and its exit code out; one clear line for what cannot be judged.

mod command;

use command::{Bench, Said};
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// Holds a text against a model.
fn check(bench: &Bench, text: impl AsRef<[u8]>, model: &str, more: &[&str]) -> Said {
    fs::write(bench.home.path().join("file"), text).expect("written");
    bench.run(&[&["check", "file", "--model", model], more].concat())
}

/// A write and a read of it, of 4; what is read is given.
fn register(read: &str) -> [String; 3] {
    let edn = format!(
        "[{{:process 0, :type :invoke, :f :write, :value 4}}
          {{:process 0, :type :ok, :f :write, :value 4}}
          {{:process :nemesis, :type :info, :f :start, :value nil}}
          {{:process 1, :type :invoke, :f :read, :value nil}}
          {{:process 1, :type :ok, :f :read, :value {read}}}]"
    );
    let log = format!(
        "INFO  jepsen.core - Running\nINFO  jepsen.util - 0\t:invoke\t:write\t4\n\
         INFO  jepsen.util - 0\t:ok\t:write\t4\nINFO  jepsen.util - 1\t:invoke\t:read\tnil\n\
         INFO  jepsen.util - 1\t:ok\t:read\t{read}\n"
    );
    let null = read.replace("nil", "null");
    let json = format!(
        "{{\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"value\":4}}\n\
         {{\"process\":0,\"type\":\"ok\",\"f\":\"write\",\"value\":4}}\n\
         {{\"process\":1,\"type\":\"invoke\",\"f\":\"read\"}}\n\
         {{\"process\":1,\"type\":\"ok\",\"f\":\"read\",\"value\":{null}}}\n"
    );
    [edn, log, json]
}

#[test]
fn every_format_gives_the_same_verdict() {
    let bench = Bench::new();
    for model in ["register", "cas-register"] {
        for text in register("4") {
            let said = check(&bench, &text, model, &[]);
            assert_eq!(said.code, 0, "{said:?}\n{text}");
            assert!(said.out.contains("2 operations by 2 processes"), "{said:?}");
            assert!(said.out.ends_with("HELD\n") && said.err.is_empty(), "{said:?}");
        }
        // What was never written, and nothing where something was.
        for read in ["5", "nil"] {
            for text in register(read) {
                let said = check(&bench, &text, model, &[]);
                assert_eq!(said.code, 1, "{said:?}\n{text}");
                assert!(said.out.contains(&format!("process 1's read of {read} (")), "{said:?}");
                assert!(said.out.ends_with("VIOLATED\n"), "{said:?}");
            }
        }
    }
}

#[test]
fn a_write_of_unknown_outcome_may_come_late_and_a_failed_one_never() {
    let history = |end: &str, read: &str| {
        format!(
            "- 0 :invoke :write 1\n- 0 {end} :write :timed-out\n- 1 :invoke :read nil\n\
             - 1 :ok :read nil\n- 1 :invoke :read nil\n- 1 :ok :read {read}\n"
        )
    };
    let bench = Bench::new();
    assert_eq!(check(&bench, history(":info", "1"), "register", &[]).code, 0);
    assert_eq!(check(&bench, history(":info", "nil"), "register", &[]).code, 0);
    assert_eq!(check(&bench, history(":fail", "nil"), "register", &[]).code, 0);
    assert_eq!(check(&bench, history(":fail", "1"), "register", &[]).code, 1);
}

#[test]
fn locks_in_foreign_words() {
    let step = |process: u32, f: &str, kind: &str| {
        format!("#jepsen.history.Op{{:process {process}, :type :{kind}, :f :{f}, :value nil}}\n")
    };
    let both = |process, f| step(process, f, "invoke") + &step(process, f, "ok");
    let turns = both(0, "lock") + &both(0, "unlock") + &both(1, "lock");
    let twice = both(0, "acquire") + &both(1, "acquire");
    let bench = Bench::new();
    for model in ["mutex", "owner-mutex", "reentrant:2", "semaphore:1"] {
        assert_eq!(check(&bench, &turns, model, &[]).code, 0, "{model}");
        assert_eq!(check(&bench, &twice, model, &[]).code, 1, "{model}");
    }
    assert_eq!(check(&bench, &twice, "semaphore:2", &[]).code, 0);
    let readers = twice.replace(":value nil", ":value :read");
    assert_eq!(check(&bench, &readers, "rw", &[]).code, 0);
    assert_eq!(check(&bench, &twice, "rw", &[]).code, 1);
    // The mutex of Knossos knows no owner.
    let others = both(0, "acquire") + &both(1, "release");
    assert_eq!(check(&bench, &others, "mutex", &[]).code, 0);
    assert_eq!(check(&bench, &others, "owner-mutex", &[]).code, 1);
    let early = both(0, "release");
    assert_eq!(check(&bench, &early, "mutex", &[]).code, 1);
}

#[test]
fn keys_are_judged_by_themselves() {
    let bench = Bench::new();
    let tuples = "- 0 :invoke :write [:x 1]\n- 0 :ok :write [:x 1]\n\
                  - 1 :invoke :read [:y nil]\n- 1 :ok :read [:y nil]\n\
                  - 1 :invoke :read [:x nil]\n- 1 :ok :read [:x 2]\n";
    let said = check(&bench, tuples, "register", &["--format", "json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(json["witness"]["key"], "x");
    assert_eq!(json["witness"]["operation"]["answer_line"], 6);
    assert_eq!((json["keys"].as_u64(), json["outcome"].as_str()), (Some(2), Some("violated")));
    assert_eq!(json["input_format"], "log");
    assert!(json["notes"][0].as_str().expect("a note").contains("[key value]"), "{json}");
}

#[test]
fn what_is_there_at_first_can_be_told() {
    let bench = Bench::new();
    let text = "- 0 :invoke :read nil\n- 0 :ok :read 0\n";
    assert_eq!(check(&bench, text, "register", &[]).code, 1);
    assert_eq!(check(&bench, text, "register", &["--initial", "0"]).code, 0);
    assert_eq!(check(&bench, text, "register", &["--initial", "[1"]).code, 254);
}

#[test]
fn a_run_of_ours_is_judged_by_models_and_by_its_export() {
    let bench = Bench::new();
    // The vault is a register, whatever the lock does.
    let runs = [("none", 0, 0), ("pause", 1, 0)];
    for (nemesis, mutex, vault) in runs {
        bench.test("redis-set-nx-px", nemesis, "1");
        let exported = bench.run(&["check", "store/latest", "--export", "edn"]);
        assert_eq!(exported.code, 0, "{exported:?}");
        for (model, code) in [("owner-mutex", mutex), ("register", vault)] {
            let said = bench.run(&["check", "store/latest", "--model", model]);
            assert_eq!(said.code, code, "{nemesis} {model}: {said:?}");
        }
        let locks = |line: &&str| line.contains(":f :acquire") || line.contains(":f :release");
        let only: Vec<&str> = exported.out.lines().filter(locks).collect();
        assert!(only.len() > 50, "{nemesis}");
        let said = check(&bench, only.join("\n"), "owner-mutex", &[]);
        assert_eq!(said.code, mutex, "{nemesis}: {said:?}");
    }
}

#[test]
fn standard_input_is_a_history_too() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["check", "-", "--model", "register"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("picklock starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    for text in register("5")[0].split_inclusive(' ') {
        pipe.write_all(text.as_bytes()).expect("written");
    }
    drop(pipe);
    let said = Said::from(child.wait_with_output().expect("ends"));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.is_empty(), "{said:?}");
}

#[test]
fn what_was_cut_off_is_judged_up_to_there_and_says_so() {
    let bench = Bench::new();
    for (text, line) in register("5").iter().zip([5, 5, 4]) {
        let cut = &text[..text.trim_end().len() - 3];
        let said = check(&bench, cut, "register", &[]);
        assert_eq!(said.code, 0, "{said:?}\n{cut}");
        let note = format!("ends in the middle of line {line};");
        assert!(said.out.contains(&note), "{said:?}\n{cut}");
    }
}

#[test]
fn a_budget_that_is_spent_is_inconclusive() {
    let bench = Bench::new();
    let text: String =
        (0..2000).map(|n| format!("- {n} :invoke :write {n}\n- {n} :ok :write {n}\n")).collect();
    let said = check(&bench, &text, "register", &["--memory-budget", "64KiB"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains("is larger than the"), "{said:?}");
    // Values that are no numbers are kept, however few they are.
    let long = "x".repeat(100_000);
    let text: String = (0..20).map(|n| format!("- {n} :invoke :write \"{n}{long}\"\n")).collect();
    let said = check(&bench, &text, "register", &["--memory-budget", "1MiB"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains("is larger than the"), "{said:?}");
    let said = check(&bench, &register("4")[1], "register", &["--time-budget", "0s"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains("was spent in reading"), "{said:?}");
    assert!(said.out.contains("up to line 5 nothing was found"), "{said:?}");
    // What is found without a search is found.
    let twice = "- 0 :invoke :acquire nil\n- 0 :ok :acquire nil\n".repeat(2);
    let said = check(&bench, &twice, "mutex", &["--time-budget", "0s"]);
    assert_eq!(said.code, 1, "{said:?}");
    let said = check(&bench, "INFO nothing here\n", "mutex", &[]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains("there is no operation of a client"), "{said:?}");
}

#[test]
fn what_cannot_be_judged_gets_one_line() {
    let bench = Bench::new();
    let refuse = |text: &[u8], model: &str, code, words: &[&str]| {
        check(&bench, text, model, &[]).refuses(code, words);
    };
    refuse(b"", "mutex", 255, &["`file`", "the history is empty"]);
    refuse(b"x", "mutx", 254, &["there is no model `mutx`", "did you mean mutex"]);
    refuse(b"x", "semaphore", 254, &["write `semaphore:2`"]);
    refuse(b"- 0 :ok :read 1\n", "register", 255, &["line 1: process 0 ends its read"]);
    refuse(b"- 0 :invoke :swim\x1b\x07 1\n", "mutex", 255, &["line 1", "no `swim  `"]);
    refuse(b"{:process 0}", "mutex", 255, &["line 1: an operation without :type"]);
    refuse("[".repeat(100_000).as_bytes(), "mutex", 255, &["line 1: EDN nested deeper than 64"]);
    refuse(&vec![b'x'; 3 << 20], "mutex", 255, &["line 1: longer than"]);
    refuse(b"\x1f\x8b\x08\0\0", "mutex", 255, &["line 1: compressed by gzip"]);
    refuse(b"- 0 :ok :read \xff\n", "mutex", 255, &["line 1: not UTF-8"]);
    let json = b"{\"process\":0,\"type\":\"begin\",\"f\":\"read\"}\n";
    refuse(json, "mutex", 255, &["line 1: not an event: unknown variant `begin`"]);
    let said = check(&bench, json, "mutex", &[]);
    assert_eq!(said.err.matches("unknown variant").count(), 1, "said once: {said:?}");
    bench.run(&["check", "nowhere", "--model", "mutex"]).refuses(255, &["cannot read `nowhere`"]);
    let wrong = bench.run(&["check", "file", "--model", "mutex", "--memory-budget", "lots"]);
    assert_eq!(wrong.code, 254, "{wrong:?}");
    let alone = bench.run(&["check", "file", "--independent"]);
    assert_eq!(alone.code, 254, "{alone:?}");
    let no_run = bench.run(&["check", "file"]);
    no_run.refuses(255, &["no run folder", "--model"]);
}
