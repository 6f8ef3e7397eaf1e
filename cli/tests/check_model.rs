//! `picklock check FILE --model M` as a user meets it: published shapes of histories in, a verdict
//! and its exit code out; one clear line for what cannot be judged.

mod command;

use command::{Bench, CommandOutput};
use expect_test::{expect, expect_file};
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// Holds a text against a model.
fn check(bench: &Bench, text: impl AsRef<[u8]>, model: &str, more: &[&str]) -> CommandOutput {
    fs::write(bench.home.path().join("file"), text).expect("written");
    bench.run(&[&["check", "file", "--model", model], more].concat())
}

/// A history in EDN of these operations: process, verb, the value with which it began and the one
/// with which it ended well.
fn edn(operations: &[(&str, &str, &str, &str)]) -> String {
    let event = |process: &str, kind: &str, f: &str, value: &str| {
        format!("{{:process {process}, :type :{kind}, :f :{f}, :value {value}}}\n")
    };
    let both = |(process, f, asked, answer): &(&str, &str, &str, &str)| {
        event(process, "invoke", f, asked) + &event(process, "ok", f, answer)
    };
    operations.iter().map(both).collect()
}

/// The same as JSON Lines: what is a number, a string or `nil` in both.
fn json(operations: &[(&str, &str, &str, &str)]) -> String {
    let text = edn(operations).replace("nil", "null").replace(":type :", ":type ");
    let text = text.replace(":invoke", "invoke").replace("invoke, ", "\"invoke\", ");
    let text = text.replace(":type ok", ":type \"ok\"");
    let text = operations
        .iter()
        .fold(text, |text, (_, f, ..)| text.replace(&format!(":f :{f}"), &format!(":f \"{f}\"")));
    [":process", ":type", ":f", ":value"]
        .iter()
        .fold(text, |text, key| text.replace(&format!("{key} "), &format!("\"{}\":", &key[1..])))
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
    let mut outputs = String::new();
    for model in ["register", "cas-register"] {
        // What was written, what never was, and nothing where something was.
        for (read, code) in [("4", 0), ("5", 1), ("nil", 1)] {
            for text in register(read) {
                let output = check(&bench, &text, model, &[]);
                assert_eq!((output.code, output.err.as_str()), (code, ""), "{output:?}\n{text}");
                outputs += &(output.flat() + "\n");
            }
        }
    }
    expect![[r#"
        ✓ register held 2 operations by 2 processes HELD
        ✓ register held 2 operations by 2 processes HELD
        ✓ register held 2 operations by 2 processes HELD
        ✗ register violated 2 operations by 2 processes process 1's read of 5 (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. VIOLATED
        ✗ register violated 2 operations by 2 processes process 1's read of 5 (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. VIOLATED
        ✗ register violated 2 operations by 2 processes process 1's read of 5 (lines 3 to 4) can be put nowhere, whatever is done with the rest. Just before, it held 4. VIOLATED
        ✗ register violated 2 operations by 2 processes process 1's read of nil (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. Note: only reads of nil break it: it would be legal if nil meant that the value is unknown VIOLATED
        ✗ register violated 2 operations by 2 processes process 1's read of nil (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. Note: only reads of nil break it: it would be legal if nil meant that the value is unknown VIOLATED
        ✗ register violated 2 operations by 2 processes process 1's read of nil (lines 3 to 4) can be put nowhere, whatever is done with the rest. Just before, it held 4. Note: only reads of nil break it: it would be legal if nil meant that the value is unknown VIOLATED
        ✓ cas-register held 2 operations by 2 processes HELD
        ✓ cas-register held 2 operations by 2 processes HELD
        ✓ cas-register held 2 operations by 2 processes HELD
        ✗ cas-register violated 2 operations by 2 processes process 1's read of 5 (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. VIOLATED
        ✗ cas-register violated 2 operations by 2 processes process 1's read of 5 (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. VIOLATED
        ✗ cas-register violated 2 operations by 2 processes process 1's read of 5 (lines 3 to 4) can be put nowhere, whatever is done with the rest. Just before, it held 4. VIOLATED
        ✗ cas-register violated 2 operations by 2 processes process 1's read of nil (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. Note: only reads of nil break it: it would be legal if nil meant that the value is unknown VIOLATED
        ✗ cas-register violated 2 operations by 2 processes process 1's read of nil (lines 4 to 5) can be put nowhere, whatever is done with the rest. Just before, it held 4. Note: only reads of nil break it: it would be legal if nil meant that the value is unknown VIOLATED
        ✗ cas-register violated 2 operations by 2 processes process 1's read of nil (lines 3 to 4) can be put nowhere, whatever is done with the rest. Just before, it held 4. Note: only reads of nil break it: it would be legal if nil meant that the value is unknown VIOLATED
    "#]].assert_eq(&outputs);
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
    let output = check(&bench, tuples, "register", &["--format", "json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let json: serde_json::Value = serde_json::from_str(&output.out).expect("JSON");
    assert_eq!(json["witness"]["key"], "x");
    assert_eq!(json["witness"]["operation"]["answer_line"], 6);
    assert_eq!((json["keys"].as_u64(), json["outcome"].as_str()), (Some(2), Some("violated")));
    assert_eq!(json["input_format"], "log");
    expect!["values are read as [key value]: each key is judged by itself"]
        .assert_eq(json["notes"][0].as_str().expect("a note"));
}

#[test]
fn locks_in_tuples_are_judged_each_by_itself() {
    let bench = Bench::new();
    let locks = |last| {
        [
            ("0", "acquire", "[\"a\", nil]", "[\"a\", nil]"),
            ("1", "acquire", "[\"b\", nil]", "[\"b\", nil]"),
            ("2", "acquire", last, last),
        ]
    };
    let held = [edn(&locks("[\"c\", nil]")), json(&locks("[\"c\", nil]"))].map(|text| {
        assert_eq!(check(&bench, &text, "mutex", &["--independent"]).code, 0);
        check(&bench, &text, "mutex", &[]).to_string()
    });
    expect![[r#"
        ✓ mutex  held  3 operations by 3 processes on 3 keys

        Note: values are read as [key value]: each key is judged by itself

        HELD
        ✓ mutex  held  3 operations by 3 processes on 3 keys

        Note: values are read as [key value]: each key is judged by itself

        HELD
    "#]]
    .assert_eq(&held.concat());
    let violated = check(&bench, edn(&locks("[\"a\", nil]")), "mutex", &[]);
    expect![[r#"
        ✗ mutex  violated  3 operations by 3 processes on 2 keys

          On key a, process 2's acquire (lines 5 to 6) can be put nowhere, whatever is
          done with the rest.

          Beside it stands process 0's acquire (lines 1 to 2).

          Just before, it was held by process 0.

        Note: values are read as [key value]: each key is judged by itself

        VIOLATED
        exit code 1
    "#]]
    .assert_eq(&violated.to_string());
    // Some say a key and some do not.
    let mixed = [("0", "acquire", "nil", "nil"), ("1", "acquire", "[\"b\" nil]", "nil")];
    let refused =
        [edn(&locks("nil")), edn(&mixed)].map(|text| check(&bench, text, "mutex", &[]).to_string());
    expect![[r#"
        picklock: `file`: line 5: values are [key value] here, and this one is nil
        exit code 254
        picklock: `file`: line 3: this acquire of ["b" nil] may be one on a key, and those before it are not; if all values are [key value], say --independent
        exit code 254
    "#]].assert_eq(&refused.concat());
}

#[test]
fn clients_may_have_names() {
    let bench = Bench::new();
    let mut outputs = String::new();
    for (first, second) in [("\"p1\"", "\"p2\""), ("\"7\"", "7"), ("\"Jürgen 1\"", "\"\"")] {
        let twice = [(first, "acquire", "nil", "nil"), (second, "acquire", "nil", "nil")];
        for text in [edn(&twice), json(&twice)] {
            outputs += &(check(&bench, &text, "mutex", &[]).flat() + "\n");
        }
    }
    let keywords = [(":p1", "acquire", "nil", "nil"), (":p2", "acquire", "nil", "nil")];
    let log =
        "INFO jepsen.util - :p1 :invoke :acquire nil\nINFO jepsen.util - :p1 :ok :acquire nil\n";
    for text in [edn(&keywords), log.to_owned() + &log.replace("p1", "p2")] {
        outputs += &(check(&bench, &text, "owner-mutex", &[]).flat() + "\n");
    }
    expect![[r#"
        ✗ mutex violated 2 operations by 2 processes process "p2"'s acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process "p1"'s acquire (lines 1 to 2). Just before, it was held by process "p1". VIOLATED
        ✗ mutex violated 2 operations by 2 processes process "p2"'s acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process "p1"'s acquire (lines 1 to 2). Just before, it was held by process "p1". VIOLATED
        ✗ mutex violated 2 operations by 2 processes process 7's acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process "7"'s acquire (lines 1 to 2). Just before, it was held by process "7". VIOLATED
        ✗ mutex violated 2 operations by 2 processes process 7's acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process "7"'s acquire (lines 1 to 2). Just before, it was held by process "7". VIOLATED
        ✗ mutex violated 2 operations by 2 processes process ""'s acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process "Jürgen 1"'s acquire (lines 1 to 2). Just before, it was held by process "Jürgen 1". VIOLATED
        ✗ mutex violated 2 operations by 2 processes process ""'s acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process "Jürgen 1"'s acquire (lines 1 to 2). Just before, it was held by process "Jürgen 1". VIOLATED
        ✗ owner-mutex violated 2 operations by 2 processes process :p2's acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process :p1's acquire (lines 1 to 2). Just before, it was held by process :p1. VIOLATED
        ✗ owner-mutex violated 2 operations by 2 processes process :p2's acquire (lines 3 to 4) can be put nowhere, whatever is done with the rest. Beside it stands process :p1's acquire (lines 1 to 2). Just before, it was held by process :p1. VIOLATED
    "#]].assert_eq(&outputs);
    // The nemesis is nobody.
    for nemesis in [":nemesis", "\"nemesis\""] {
        let text = edn(&[("0", "acquire", "nil", "nil"), (nemesis, "acquire", "nil", "nil")]);
        assert_eq!(check(&bench, &text, "mutex", &[]).code, 0);
    }
    let output = check(&bench, edn(&[("nil", "acquire", "nil", "nil")]), "mutex", &[]);
    expect![[r#"
        picklock: `file`: line 1: no process is nil: a number or a name
        exit code 254
    "#]]
    .assert_eq(&output.to_string());
}

/// A lock that is granted with one token, freed, and granted with another.
fn tokens(first: &str, second: &str) -> [(&'static str, &'static str, &'static str, String); 3] {
    [
        ("7", "acquire", "nil", first.into()),
        ("7", "release", "nil", "nil".into()),
        ("9", "acquire", "nil", second.into()),
    ]
}

#[test]
fn tokens_are_compared_or_refused_never_passed_over() {
    let bench = Bench::new();
    let judge = |first: &str, second: &str| {
        let tokens = tokens(first, second);
        let each = tokens
            .each_ref()
            .map(|(process, f, asked, answer)| (*process, *f, *asked, &answer[..]));
        check(&bench, edn(&each), "fenced", &[])
    };
    for (low, high) in [
        ("3", "9"),
        ("3.0", "9.0"),
        ("3", "1e2"),
        ("-9", "-3"),
        ("88888888888888888888", "99999999999999999999"),
        ("{:fence 3}", "{:token 9N}"),
    ] {
        assert_eq!(judge(low, high).code, 0, "{low} {high}");
        assert_eq!(judge(high, low).code, 1, "{high} {low}");
        assert_eq!(judge(high, high).code, 1, "{high} {high}");
    }
    let refused = ["\"3\"", "3.5", "[3 4 5]", "{:token \"3\"}", "1/3"]
        .map(|strange| judge("9", strange).to_string());
    expect![[r#"
        picklock: `file`: line 6: neither a mode nor a fencing token is "3"
        exit code 254
        picklock: `file`: line 6: neither a mode nor a fencing token is 3.5
        exit code 254
        picklock: `file`: line 6: neither a mode nor a fencing token is [3 4 5]
        exit code 254
        picklock: `file`: line 6: a fencing token is a whole number of at most 128 bits, and this one is "3"
        exit code 254
        picklock: `file`: line 6: neither a mode nor a fencing token is 1/3
        exit code 254
    "#]].assert_eq(&refused.concat());
    expect![[r#"
        ✗ fenced  violated  3 operations by 2 processes

          process 9's acquire with token 3 (lines 5 to 6) can be put nowhere, whatever
          is done with the rest.

          Beside it stands process 7's acquire with token 9 (lines 1 to 2).

          Just before, it was free, and its last token was 9.

        VIOLATED
        exit code 1
    "#]]
    .assert_eq(&judge("9", "3").to_string());
    let json = "{\"process\":0,\"type\":\"invoke\",\"f\":\"acquire\"}\n\
                {\"process\":0,\"type\":\"ok\",\"f\":\"acquire\",\"token\":99999999999999999999}\n";
    expect![[r#"
        picklock: `file`: line 2: not an event: a number too large to be read exactly at column 67
        exit code 254
    "#]]
    .assert_eq(&check(&bench, json, "fenced", &[]).to_string());
}

#[test]
fn what_goes_wrong_first_is_named() {
    let bench = Bench::new();
    let text = edn(&[
        ("0", "acquire", "nil", "nil"),
        ("1", "acquire", "nil", "9"),
        ("1", "release", "nil", "nil"),
        ("2", "acquire", "nil", "3"),
    ]);
    expect![[r#"
        ✗ fenced  violated  4 operations by 3 processes

          process 1's acquire with token 9 (lines 3 to 4) can be put nowhere, whatever
          is done with the rest.

          Beside it stands process 0's acquire (lines 1 to 2).

          Just before, it was held by process 0.

        Note: of 3 grants, 2 said a fencing token; only those are compared

        VIOLATED
        exit code 1
    "#]]
    .assert_eq(&check(&bench, text, "fenced", &[]).to_string());
}

#[test]
fn two_readers_are_two_readers_whatever_form_their_grant_has() {
    let bench = Bench::new();
    for (first, second) in
        [("true", "true"), ("1", "2"), ("{:fence 1}", "{:fence 2}"), ("nil", "nil")]
    {
        let text = edn(&[("0", "acquire", ":read", first), ("1", "acquire", ":read", second)]);
        assert_eq!(check(&bench, &text, "rw", &[]).code, 0, "{text}");
        let fenced = check(&bench, &text, "fenced", &[]);
        let tokens = first != "true" && first != "nil";
        assert_eq!(fenced.code, if tokens { 0 } else { 2 }, "{fenced:?}\n{text}");
    }
    let mistyped = edn(&[("0", "acquire", ":raed", "true")]);
    expect![[r#"
        picklock: `file`: line 1: no mode is :raed: exclusive or shared
        exit code 254
    "#]]
    .assert_eq(&check(&bench, &mistyped, "rw", &[]).to_string());
}

#[test]
fn equal_numbers_are_one_value_in_every_format() {
    let bench = Bench::new();
    for (written, read, code) in [
        ("5", "5.0", 0),
        ("1e2", "100", 0),
        ("0", "-0", 0),
        ("0", "-0.0", 0),
        ("0.5", "5e-1", 0),
        ("5", "5.5", 1),
        ("5", "\"5\"", 1),
    ] {
        let operations = [("0", "write", written, written), ("0", "read", "nil", read)];
        for text in [edn(&operations), json(&operations)] {
            let output = check(&bench, &text, "register", &[]);
            assert_eq!(output.code, code, "{output:?}\n{text}");
        }
    }
    let remark = "{:process 0, :type :invoke, :f :write, :value 5}{:process 0, :type :ok, :f :write, :value 5}
                  {:process 0, :type :invoke, :f :read}
                  {:process 0, :type :ok, :f :read, :value 5, :zk/value 6}";
    assert_eq!(check(&bench, remark, "register", &[]).code, 0);
}

#[test]
fn a_cas_that_failed_with_an_error_found_nothing_out() {
    let bench = Bench::new();
    let log = |error: &str| {
        format!(
            "0\t:invoke\t:write\t1\n0\t:ok\t:write\t1\n0\t:invoke\t:cas\t[1 2]\n\
             0\t:fail\t:cas\t[1 2]{error}\n"
        )
    };
    for error in ["\t:connection-refused", "\tjava.net.SocketTimeoutException: (", "\t[:a \"b\"]"] {
        assert_eq!(check(&bench, log(error), "cas-register", &[]).code, 0, "{error}");
    }
    for none in ["", "\tnil"] {
        assert_eq!(check(&bench, log(none), "cas-register", &[]).code, 1, "{none}");
    }
}

#[test]
fn what_can_prove_nothing_is_inconclusive() {
    let bench = Bench::new();
    let failed = "- 0 :invoke :acquire nil\n- 0 :fail :acquire nil\n- 1 :invoke :acquire nil\n";
    let granted = "- 0 :invoke :acquire nil\n- 0 :ok :acquire nil\n";
    let outputs = [(failed, "mutex"), (failed, "fenced"), (granted, "fenced")]
        .map(|(text, model)| check(&bench, text, model, &[]).to_string());
    expect_file!["snapshots/proves-nothing.txt"].assert_eq(&outputs.join("\n"));
    assert_eq!(check(&bench, granted, "rw", &[]).code, 0);
}

#[test]
fn witnesses_are_described_in_the_words_of_the_file() {
    let bench = Bench::new();
    let take = |process| (process, "acquire", "nil", "nil");
    let share = |process| (process, "acquire", ":read", ":read");
    let cell = [("7", "write", "\"a\"", "\"a\""), ("9", "read", "nil", "\"b\"")];
    let outputs = [
        (&[take("7"), take("9")][..], "mutex", &[][..]),
        (&[take("7"), take("8"), take("9")], "semaphore:2", &[]),
        (&[take("7"), take("7"), take("7")], "reentrant:2", &[]),
        (&[share("7"), share("8"), take("9")], "rw", &[]),
        (&cell, "register", &[]),
        (&cell[1..], "register", &[]),
        (&cell[1..], "register", &["--initial", ":c"]),
        (&[("7", "add", "1", "1"), ("7", "read", "nil", "[]")], "set", &[]),
    ]
    .map(|(operations, model, more)| check(&bench, edn(operations), model, more).to_string());
    expect_file!["snapshots/witnesses.txt"].assert_eq(&outputs.join("\n"));
}

#[test]
fn what_is_there_at_first_is_no_operation() {
    let bench = Bench::new();
    let text = edn(&[("0", "read", "nil", "0")]);
    let output = check(&bench, text, "register", &["--initial", "0"]);
    expect![[r#"
        ✓ register  held  1 operation by 1 process

        HELD
    "#]]
    .assert_eq(&output.to_string());
}

#[test]
fn what_is_there_at_first_can_be_given() {
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
            let output = bench.run(&["check", "store/latest", "--model", model]);
            assert_eq!(output.code, code, "{nemesis} {model}: {output:?}");
        }
        let locks = |line: &&str| line.contains(":f :acquire") || line.contains(":f :release");
        let only: Vec<&str> = exported.out.lines().filter(locks).collect();
        assert!(only.len() > 50, "{nemesis}");
        let output = check(&bench, only.join("\n"), "owner-mutex", &[]);
        assert_eq!(output.code, mutex, "{nemesis}: {output:?}");
    }
}

/// Their holders die, and the lock runs out: that is no breach of a lock that only its holder
/// frees.
#[test]
fn a_sound_lock_whose_holders_die_is_held_by_its_export_too() {
    let bench = Bench::new();
    for seed in ["1", "2", "3", "4", "5"] {
        bench.test("zk-sequential", "crash-client", seed);
        let ours = bench.run(&["check", "store/latest", "--model", "owner-mutex"]);
        assert_eq!(ours.code, 0, "{ours:?}");
        let edn = bench.run(&["check", "store/latest", "--export", "edn"]).out;
        let foreign = check(&bench, &edn, "owner-mutex", &[]);
        assert_eq!(foreign.code, 0, "{foreign:?}");
        let left_out = "operations that the model owner-mutex does not have";
        assert!(foreign.flat().contains(left_out), "reads and writes of the vault: {foreign:?}");
    }
    bench.test("redis-set-nx-px", "pause-client", "1");
    let broken = bench.run(&["check", "store/latest", "--model", "owner-mutex"]);
    assert_eq!(broken.code, 1, "{broken:?}");
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
    let output = CommandOutput::from(child.wait_with_output().expect("ends"));
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.err.is_empty(), "{output:?}");
}

#[test]
fn a_run_that_was_cut_off_between_two_lines_is_not_green() {
    let bench = Bench::new();
    assert_eq!(bench.test("redis-set-nx-px", "none", "1").code, 0);
    let path = bench.home.path().join("store/latest/history.jsonl");
    let whole = fs::read_to_string(path).expect("a history");
    assert_eq!(check(&bench, &whole, "mutex", &[]).code, 0);
    let stop = whole.rfind("{\"index\"").expect("a last line");
    assert!(whole[stop..].contains("\"f\":\"stop\""), "{}", &whole[stop..]);
    let output = check(&bench, &whole[..stop], "mutex", &[]);
    assert_eq!(output.code, 2, "{output:?}");
    let why = "the file ends before the `stop` of its run, and what is missing may break it";
    assert!(output.flat().contains(why), "{output:?}");
    bench.test("redis-set-nx-px", "pause", "1");
    let path = bench.home.path().join("store/latest/history.jsonl");
    let violated = fs::read_to_string(path).expect("a history");
    let stop = violated.rfind("{\"index\"").expect("a last line");
    let output = check(&bench, &violated[..stop], "mutex", &[]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.flat().contains("before the `stop` of its run; this is about what"),
        "{output:?}"
    );
}

#[test]
fn what_was_cut_off_is_judged_up_to_there_and_says_so() {
    let bench = Bench::new();
    let outputs = register("5").map(|text| {
        let cut = &text[..text.trim_end().len() - 3];
        check(&bench, cut, "register", &[]).to_string()
    });
    expect![[r#"
        ? register  inconclusive  2 operations by 2 processes: the file ends in the
                                  middle of line 5, and what is missing may break it

        INCONCLUSIVE
        exit code 2

        ? register  inconclusive  2 operations by 2 processes: the file ends in the
                                  middle of line 5, and what is missing may break it

        INCONCLUSIVE
        exit code 2

        ? register  inconclusive  2 operations by 2 processes: the file ends in the
                                  middle of line 4, and what is missing may break it

        INCONCLUSIVE
        exit code 2
    "#]]
    .assert_eq(&outputs.join("\n"));
    // What is violated stays so, whatever comes.
    let twice = "- 0 :invoke :acquire nil\n- 0 :ok :acquire nil\n".repeat(2).replace("- 0", "- 1");
    let cut =
        "- 0 :invoke :acquire nil\n- 0 :ok :acquire nil\n".to_owned() + &twice[..50] + "- 2 :inv";
    expect![[r#"
        ✗ mutex  violated  2 operations by 2 processes

          process 1's acquire (lines 3 to 4) can be put nowhere, whatever is done with
          the rest.

          Beside it stands process 0's acquire (lines 1 to 2).

          Just before, it was held by process 0.

        Note: the file ends in the middle of line 5; this is about what stands before it

        VIOLATED
        exit code 1
    "#]]
    .assert_eq(&check(&bench, cut, "mutex", &[]).to_string());
}

#[test]
fn a_budget_that_is_spent_is_inconclusive() {
    let bench = Bench::new();
    let many: String =
        (0..2000).map(|n| format!("- {n} :invoke :write {n}\n- {n} :ok :write {n}\n")).collect();
    // Values that are not numbers are kept, however few they are.
    let long = "x".repeat(100_000);
    let large: String = (0..20).map(|n| format!("- {n} :invoke :write \"{n}{long}\"\n")).collect();
    let outputs = [
        (&many[..], "register", &["--memory-budget", "64KiB"][..]),
        (&large, "register", &["--memory-budget", "1MiB"]),
        (&register("4")[1], "register", &["--time-budget", "0s"]),
        // What is found without a search is found.
        (
            &"- 0 :invoke :acquire nil\n- 0 :ok :acquire nil\n".repeat(2),
            "mutex",
            &["--time-budget", "0s"],
        ),
        ("INFO nothing here\n", "mutex", &[]),
    ]
    .map(|(text, model, more)| check(&bench, text, model, more).to_string());
    expect_file!["snapshots/budgets.txt"].assert_eq(&outputs.join("\n"));
}

#[test]
fn what_cannot_be_judged_gets_one_line() {
    let bench = Bench::new();
    let outputs = [
        (&b""[..], "mutex"),
        (b"x", "mutx"),
        (b"x", "semaphore"),
        (b"- 0 :ok :read 1\n", "register"),
        (b"- 0 :invoke :swim\x1b\x07 1\n", "mutex"),
        (b"{:process 0}", "mutex"),
        ("[".repeat(100_000).as_bytes(), "mutex"),
        (&vec![b'x'; 3 << 20], "mutex"),
        (b"\x1f\x8b\x08\0\0", "mutex"),
        (b"- 0 :ok :read \xff\n", "mutex"),
        (b"{\"process\":0,\"type\":\"begin\",\"f\":\"read\"}\n", "mutex"),
    ]
    .map(|(text, model)| check(&bench, text, model, &[]).to_string());
    expect![[r#"
        picklock: `file`: the history is empty
        exit code 254
        picklock: there is no model `mutx`; did you mean mutex? (`picklock list` shows all)
        exit code 254
        picklock: `semaphore` needs the number of permits, from 1 on: write `semaphore:2`
        exit code 254
        picklock: `file`: line 1: process 0 ends its read, which it did not begin
        exit code 254
        picklock: `file`: line 1: the model mutex has no `swim\u{1b}\u{7}`
        exit code 254
        picklock: `file`: line 1: an operation without :type: {:process 0}
        exit code 254
        picklock: `file`: line 1: EDN nested deeper than 64
        exit code 254
        picklock: `file`: line 1: longer than 1048576 bytes: this is not a history
        exit code 254
        picklock: `file`: line 1: compressed by gzip; unpack it first
        exit code 254
        picklock: `file`: line 1: not UTF-8 text
        exit code 254
        picklock: `file`: line 1: not an event: unknown variant `begin`, expected one of `invoke`, `ok`, `fail`, `info` at column 27
        exit code 254
    "#]].assert_eq(&outputs.concat());
}

/// A mutex that is held by two.
const DOUBLE_HOLD: [(&str, &str, &str, &str); 2] =
    [("0", "acquire", "nil", "nil"), ("1", "acquire", "nil", "nil")];

#[test]
fn a_report_draws_what_was_decided_and_leaves_it_as_it_is() {
    let bench = Bench::new();
    let page = |name: &str| {
        let page = fs::read_to_string(bench.home.path().join(name)).expect("a page");
        page.replace('\u{a0}', " ")
    };
    for text in [edn(&DOUBLE_HOLD), json(&DOUBLE_HOLD)] {
        let plain = check(&bench, &text, "mutex", &[]);
        let output = check(&bench, &text, "mutex", &["--report", "page.html"]);
        assert_eq!((output.code, plain.code), (1, 1), "{output:?}");
        let line = "report           page.html\n\n";
        assert_eq!(output.out.replace(line, ""), plain.out);
        assert!(output.out.contains(line), "{output:?}");
        let html = page("page.html");
        assert!(html.contains("Process 1's acquire (lines 3 to 4) can be put nowhere"), "{html}");
        assert!(html.contains("class=\"op ok stuck\"") && html.contains(">1</text>"), "{html}");
        assert!(html.contains("picklock check file --model mutex --report page.html"), "{html}");
    }
    let output = check(&bench, register("4")[0].as_str(), "register", &["--report", "held.html"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(page("held.html").contains("Here is an order of 2 operations"));
    let json = ["--report", "page.html", "--format", "json"];
    let output = check(&bench, edn(&DOUBLE_HOLD), "mutex", &json);
    let answer: serde_json::Value = serde_json::from_str(&output.out).expect("JSON");
    assert_eq!(answer["report"], "page.html");
}

#[test]
fn every_model_has_a_report() {
    let bench = Bench::new();
    let take = [("0", "acquire", "nil", "nil"), ("0", "release", "nil", "nil")];
    let locks = ["mutex", "owner-mutex", "rw", "reentrant:2", "semaphore:2", "fenced"];
    for model in locks {
        check(&bench, edn(&take), model, &["--report", &format!("{model}.html")]);
        let html = fs::read_to_string(bench.home.path().join(format!("{model}.html")));
        assert!(html.expect(model).contains("Here is an order of 2\u{a0}operations"), "{model}");
    }
    let set = [("0", "add", "4", "4"), ("1", "read", "nil", "[4]")];
    check(&bench, edn(&set), "set", &["--report", "set.html"]);
    let html = fs::read_to_string(bench.home.path().join("set.html")).expect("a page");
    assert!(html.contains("read {4}") && html.contains("It had 1 member"), "{html}");
}

#[test]
fn the_keys_that_go_wrong_are_drawn_first() {
    let bench = Bench::new();
    let mut operations = Vec::new();
    let keys: Vec<String> = (0..20).map(|n| format!("[{n} nil]")).collect();
    for key in &keys {
        operations.push(("0", "acquire", &key[..], &key[..]));
    }
    operations.push(("1", "acquire", &keys[7], &keys[7]));
    check(&bench, edn(&operations), "mutex", &["--report", "page.html"]);
    let html = fs::read_to_string(bench.home.path().join("page.html")).expect("a page");
    assert!(html.contains("<h2>Key 7</h2>"), "{html}");
    assert!(html.contains("12 more keys are not drawn"), "{html}");
}

#[test]
fn a_report_that_cannot_be_written_does_not_take_the_verdict_away() {
    let bench = Bench::new();
    let mut errors = String::new();
    for place in ["nowhere/page.html", "/dev/full"] {
        let output = check(&bench, edn(&DOUBLE_HOLD), "mutex", &["--report", place]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.out.ends_with("VIOLATED\n") && !output.out.contains("report"), "{output:?}");
        errors += &output.err;
        let output = check(&bench, edn(&DOUBLE_HOLD[..1]), "mutex", &["--report", place]);
        assert_eq!(output.code, 255, "{output:?}");
        assert!(output.out.ends_with("HELD\n"), "{output:?}");
        errors += &output.err;
    }
    expect![[r#"
        picklock: cannot write `nowhere/page.html`: No such file or directory (os error 2)
        picklock: VIOLATED, but not without the errors above
        picklock: cannot write `nowhere/page.html`: No such file or directory (os error 2)
        picklock: HELD, but not without the errors above
        picklock: cannot write `/dev/full`: No space left on device (os error 28)
        picklock: VIOLATED, but not without the errors above
        picklock: cannot write `/dev/full`: No space left on device (os error 28)
        picklock: HELD, but not without the errors above
    "#]]
    .assert_eq(&errors);
    let text = edn(&DOUBLE_HOLD);
    let output = check(&bench, &text, "mutex", &["--report", "./file"]);
    expect![[r#"
        picklock: --report would write over the history `file`
        exit code 254
    "#]]
    .assert_eq(&output.to_string());
    let kept = fs::read_to_string(bench.home.path().join("file")).expect("still there");
    assert_eq!(kept, text);
}
