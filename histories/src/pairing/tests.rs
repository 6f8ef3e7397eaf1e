//! Tests of what events become: operations, or an error with its line.

use super::*;
use crate::reading::Entries;
use expect_test::expect;

fn pair(model: &str, reading: Reading, text: &str) -> Result<Paired, String> {
    let mut pairing = Pairing::new(model.parse().unwrap(), reading);
    for entry in Entries::open(text.as_bytes(), None).unwrap() {
        pairing.push(entry.unwrap()).map_err(|error| error.to_string())?;
    }
    pairing.finish().map_err(|error| error.to_string())
}

/// The operations of a log in words, a line each.
fn words(model: &str, text: &str) -> Vec<String> {
    let paired = pair(model, Reading::default(), text).unwrap_or_else(|error| panic!("{error}"));
    paired.operations.iter().map(|operation| paired.describe(operation)).collect()
}

/// A log with these lines.
fn log(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

#[test]
fn begin_and_end_are_one_operation() {
    let text = log(&[
        "0 :invoke :write 3",
        "1 :invoke :read nil",
        "0 :ok :write 3",
        "2 :invoke :cas [3 4]",
        "1 :ok :read nil",
        "2 :info :cas :timed-out",
        "3 :invoke :write :x",
    ]);
    assert_eq!(
        words("cas-register", &text),
        [
            "process 0's write of 3 (lines 1 to 3)",
            "process 1's read of nil (lines 2 to 5)",
            "process 2's cas from 3 to 4 (lines 4 to 6, outcome unknown)",
            "process 3's write of :x (from line 7 on, never answered)",
        ]
    );
    let paired = pair("cas-register", Reading::default(), &text).unwrap();
    assert_eq!((paired.events(), paired.processes(), paired.keys()), (7, 4, 1));
    assert_eq!(paired.operations[1].action, OperationKind::Read { value: Some(None) });
    assert_eq!(paired.operations[2].ended, Ended::Info);
    assert_eq!(paired.operations[3].answer, None);
}

#[test]
fn a_cas_that_failed_with_its_values_found_another_where_that_is_the_custom() {
    let text = log(&[
        "0 :invoke :cas [3 4]",
        "0 :fail :cas [3 4]",
        "0 :invoke :cas [3 4]",
        "0 :fail :cas :timed-out",
        "0 :invoke :cas [3 4]",
        "0 :fail :cas [3 4] :connection-refused",
        "0 :invoke :cas [3 4]",
        "0 :fail :cas [:timeout 4]",
    ]);
    let ended = |misses| {
        let paired = pair("cas-register", Reading { misses, ..Reading::default() }, &text);
        paired.unwrap().operations.iter().map(|operation| operation.ended).collect::<Vec<_>>()
    };
    assert_eq!(ended(true), [Ended::Ok, Ended::Fail, Ended::Fail, Ended::Fail]);
    assert_eq!(ended(false), [Ended::Fail; 4]);
    let paired = pair("cas-register", Reading { misses: true, ..Reading::default() }, &text);
    let paired = paired.unwrap();
    let text = paired.describe(&paired.operations[0]);
    assert_eq!(text, "process 0's cas that did not find 3 (lines 1 to 2)");
}

#[test]
fn a_read_of_unknown_outcome_read_nobody_knows_what() {
    let paired = pair("register", Reading::default(), "- 0 :invoke :read 3\n- 0 :info :read 3\n");
    assert_eq!(paired.unwrap().operations[0].action, OperationKind::Read { value: None });
}

#[test]
fn the_value_of_the_answer_counts() {
    let text = "{:process 0, :type :invoke, :f :write, :value nil}
                {:process 0, :type :ok, :f :write, :value 7}";
    assert_eq!(words("register", text), ["process 0's write of 7 (lines 1 to 2)"]);
    let text =
        log(&["0 :invoke :write 7", "0 :ok :write nil", "0 :invoke :read 7", "0 :ok :read nil"]);
    assert_eq!(
        words("register", &text),
        ["process 0's write of 7 (lines 1 to 2)", "process 0's read of nil (lines 3 to 4)"]
    );
}

#[test]
fn an_operation_on_one_line_has_that_line() {
    let event = |kind| format!("{{:process -3, :type :{kind}, :f :write, :value 7}}");
    let text = format!("[{} {}]", event("invoke"), event("ok"));
    assert_eq!(words("register", &text), ["process -3's write of 7 (line 1)"]);
}

#[test]
fn locks_have_modes_and_tokens() {
    let text = "{:process 0, :type :invoke, :f :acquire, :value :read}
                {:process 0, :type :ok, :f :acquire, :value :read}
                {:process 0, :type :invoke, :f :upgrade}
                {:process 0, :type :ok, :f :upgrade}
                {:process 0, :type :invoke, :f :convert, :mode :shared}
                {:process 0, :type :ok, :f :convert}
                {:process 0, :type :invoke, :f :unlock}
                {:process 0, :type :ok, :f :unlock}";
    assert_eq!(
        words("rw", text),
        [
            "process 0's shared acquire (lines 1 to 2)",
            "process 0's upgrade (lines 3 to 4)",
            "process 0's downgrade (lines 5 to 6)",
            "process 0's release (lines 7 to 8)",
        ]
    );
    for granted in ["7", "{:fence 7}", "{:token 7, :client \"a\"}", "nil, :token 7"] {
        let text = format!(
            "{{:process 0, :type :invoke, :f :lock, :value nil}}
             {{:process 0, :type :ok, :f :lock, :value {granted}}}"
        );
        assert_eq!(words("fenced", &text), ["process 0's acquire with token 7 (lines 1 to 2)"]);
    }
}

#[test]
fn a_set_has_members() {
    let text = "{:process 0, :type :invoke, :f :add, :value \"a\"}
                {:process 0, :type :ok, :f :add, :value \"a\"}
                {:process 0, :type :invoke, :f :read}
                {:process 0, :type :ok, :f :read, :value #{\"a\" 5}}";
    let described = words("set", text);
    assert_eq!(described[0], "process 0's add of \"a\" (lines 1 to 2)");
    assert_eq!(described[1], "process 0's read of 2 members: 5 \"a\" (lines 3 to 4)");
    let read = |members: &str| {
        let text = format!("- 0 :invoke :read nil\n- 0 :ok :read [{members}]\n");
        words("set", &text).remove(0)
    };
    let ten = "0 1 2 3 4 5 6 7 8 9";
    let described = ["7", "", ten, &format!("{ten} 10")].map(read);
    expect![[r#"
        process 0's read of 1 member: 7 (lines 1 to 2)
        process 0's read of no members (lines 1 to 2)
        process 0's read of 10 members: 0 1 2 3 4 5 6 7 8 9 (lines 1 to 2)
        process 0's read of 11 members: 0 1 2 3 4 5 6 7 8 9 … (lines 1 to 2)"#]]
    .assert_eq(&described.join("\n"));
}

#[test]
fn tuples_are_taken_apart_where_asked_for_or_unmistakable() {
    let tuples = log(&["0 :invoke :write [1 5]", "1 :invoke :read [2 nil]", "0 :ok :write [1 5]"]);
    let paired = pair("register", Reading::default(), &tuples).unwrap();
    assert!(paired.independent);
    assert_eq!(paired.keys(), 2);
    assert_eq!(paired.key(1), Some("2".into()));
    assert_eq!(paired.operations[0].action, OperationKind::Write { value: Some(5) });
    let pairs = log(&["0 :invoke :write [1 5]", "0 :ok :write [1 5]"]);
    assert!(!pair("register", Reading::default(), &pairs).unwrap().independent);
    let asked = Reading { independent: Some(true), ..Reading::default() };
    assert_eq!(pair("register", asked.clone(), &pairs).unwrap().operations[0].key, 0);
    let cas = log(&["0 :invoke :cas [1 5]", "0 :ok :cas [1 5]"]);
    assert!(!pair("cas-register", Reading::default(), &cas).unwrap().independent);
    for wrong in ["5", "[1 2 3]"] {
        let text = log(&[&format!("0 :invoke :write {wrong}")]);
        let refused = pair("register", asked.clone(), &text).unwrap_err();
        let why = "line 1: values are [key value] here, and this one is";
        assert_eq!(refused, format!("{why} {wrong}"));
    }
    let doubt = log(&["0 :invoke :write [1 5]", "0 :info :write :timed-out"]);
    let paired = pair("register", asked, &doubt).unwrap();
    assert_eq!(paired.operations[0].action, OperationKind::Write { value: Some(5) });
}

#[test]
fn tuples_are_guessed_only_from_what_would_make_no_sense_otherwise() {
    for (lines, independent) in [
        (&["0 :invoke :cas [1 [2 3]]"][..], true),
        (&["0 :invoke :cas [1 [2 3 4]]"], false),
        (&["0 :invoke :cas [1 5]", "1 :invoke :read nil"], false),
        (&["0 :invoke :write [1 5]", "0 :info :write nil", "1 :invoke :read [2 nil]"], true),
    ] {
        let paired = pair("cas-register", Reading::default(), &log(lines)).unwrap();
        assert_eq!(paired.independent, independent, "{lines:?}");
    }
    let keyed = "{:process 0, :type :invoke, :f :read, :key 7, :value [1 nil]}";
    assert!(!pair("register", Reading::default(), keyed).unwrap().independent);
}

#[test]
fn locks_in_tuples_are_as_many_locks() {
    for value in ["nil", ":read", "{:mode :read}"] {
        let ask = format!("0 :invoke :acquire [\"a\" {value}]");
        let text = log(&[&ask, "1 :invoke :acquire [\"b\" nil]", "0 :ok :acquire [\"a\" nil]"]);
        let paired = pair("rw", Reading::default(), &text).unwrap();
        assert!(paired.independent, "{text}");
        assert_eq!((paired.keys(), paired.key(1)), (2, Some("b".into())));
    }
    // A key of its own says which lock it is, and then the value is something else.
    let keyed = "{:process 0, :type :invoke, :f :acquire, :key 7, :value [1 nil]}";
    assert!(!pair("mutex", Reading::default(), keyed).unwrap().independent);
}

#[test]
fn what_may_be_one_lock_or_many_is_refused() {
    let refused = [
        ["0 :invoke :acquire nil", "1 :invoke :acquire [1 nil]"],
        ["0 :invoke :acquire nil", "0 :ok :acquire [1 nil]"],
        ["0 :invoke :acquire [1 2 3]", "1 :invoke :release [1 nil]"],
        ["0 :invoke :acquire [1 nil]", "1 :invoke :acquire nil"],
        ["0 :invoke :acquire [1 nil]", "0 :ok :acquire nil"],
        ["0 :invoke :cas [1 5]", "1 :invoke :read [2 nil]"],
    ]
    .map(|lines| {
        let model = if lines[0].contains("cas") { "cas-register" } else { "mutex" };
        pair(model, Reading::default(), &log(&lines)).unwrap_err()
    });
    expect![[r#"
        line 2: this acquire of [1 nil] may be one on a key, and those before it are not; if all values are [key value], say --independent
        line 2: this acquire of [1 nil] may be one on a key, and those before it are not; if all values are [key value], say --independent
        line 2: this release of [1 nil] may be one on a key, and those before it are not; if all values are [key value], say --independent
        line 2: values are [key value] here, and this one is nil
        line 2: values are [key value] here, and this one is nil
        line 2: this read of [2 nil] may be one on a key, and those before it are not; if all values are [key value], say --independent"#]].assert_eq(&refused.join("\n"));
}

/// A lock that is asked for with one value and given with another, as the first operation of this
/// history; or why it is refused.
fn given(model: &str, asked: &str, granted: &str) -> Result<String, String> {
    let text = format!(
        "{{:process 0, :type :invoke, :f :acquire, :value {asked}}}
         {{:process 0, :type :ok, :f :acquire, :value {granted}}}"
    );
    let paired = pair(model, Reading::default(), &text)?;
    Ok(paired
        .describe(&paired.operations[0])
        .replace("process 0's ", "")
        .replace(" (lines 1 to 2)", ""))
}

#[test]
fn what_was_asked_for_is_what_was_given_unless_the_answer_says_another_mode() {
    for (model, asked, granted, is) in [
        ("rw", ":read", "true", "shared acquire"),
        ("rw", ":read", "17", "shared acquire"),
        ("rw", "\"shared\"", "nil", "shared acquire"),
        ("rw", "{:mode :read}", "\"granted\"", "shared acquire"),
        ("rw", "{:timeout 5}", "{:client 3}", "acquire"),
        ("rw", ":read", ":write", "acquire"),
        ("rw", "nil", ":read", "shared acquire"),
        ("fenced", ":read", "17", "shared acquire with token 17"),
        ("fenced", ":lock/read", "{:fence 17}", "shared acquire with token 17"),
        ("fenced", "nil", "{:fence 17, :mode :read}", "shared acquire with token 17"),
        ("fenced", "nil", "{:zk/token 3, :token 17}", "acquire with token 17"),
        ("fenced", "nil", "#:lock{:token 17}", "acquire with token 17"),
        ("fenced", ":write", "9.0, :mode :shared", "shared acquire with token 9"),
        ("fenced", ":read", "true, :token -9", "shared acquire with token -9"),
        ("fenced", "nil", "true", "acquire"),
        ("fenced", "nil", "99999999999999999999", "acquire with token 99999999999999999999"),
        ("mutex", ":client-7", "\"yes\"", "acquire"),
    ] {
        assert_eq!(given(model, asked, granted).as_deref(), Ok(is), "{model} {asked} {granted}");
    }
}

#[test]
fn what_a_lock_cannot_understand_is_refused() {
    let beyond = "9".repeat(60);
    for (model, asked, granted, expected) in [
        ("rw", ":raed", "true", "line 1: no mode is :raed: exclusive or shared"),
        ("rw", "nil", "\"raed\"", "line 2: no mode is \"raed\": exclusive or shared"),
        ("rw", "{:mode :raed}", "nil", "line 1: no mode is :raed: exclusive or shared"),
        ("rw", "true", "nil", "line 1: no mode is true: exclusive or shared"),
        ("rw", "5", "nil", "line 1: no mode is 5: exclusive or shared"),
        ("rw", ":read", "{:mode 5}", "line 2: no mode is 5: exclusive or shared"),
        ("fenced", "nil", "\"9\"", "line 2: neither a mode nor a fencing token is \"9\""),
        ("fenced", ":read", "9.5", "line 2: neither a mode nor a fencing token is 9.5"),
        ("fenced", "nil", "[9 \"x\" 1]", "line 2: neither a mode nor a fencing token is [9"),
        ("fenced", "nil", &beyond, "line 2: neither a mode nor a fencing token is 9999"),
        ("fenced", "nil", "nil, :token \"9\"", "line 2: a fencing token is a whole number of"),
        ("fenced", "nil", "{:fence 1/2}", "line 2: a fencing token is a whole number of"),
        ("fenced", "nil", "{:fence :read}", "line 2: a fencing token is a whole number of"),
        ("mutex", "nil", "false", "line 2: this acquire is ok and says false: was it granted?"),
    ] {
        let refused = given(model, asked, granted).unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn clients_may_have_names() {
    let text = "{:process \"7\", :type :invoke, :f :acquire}
                {:process 7, :type :invoke, :f :acquire}
                {:process :p1, :type :invoke, :f :acquire}
                {:process :nemesis, :type :info, :f :start}
                {:process \"7\", :type :ok, :f :acquire}";
    assert_eq!(
        words("mutex", text),
        [
            "process \"7\"'s acquire (lines 1 to 5)",
            "process 7's acquire (from line 2 on, never answered)",
            "process :p1's acquire (from line 3 on, never answered)",
        ]
    );
    let other = "{:process 7, :type :invoke, :f :acquire}{:process \"7\", :type :ok, :f :acquire}";
    let refused = pair("mutex", Reading::default(), other).unwrap_err();
    assert_eq!(refused, "line 1: process \"7\" ends its acquire, which it did not begin");
}

#[test]
fn what_can_prove_nothing_says_why() {
    let proves = |model: &str, text: &str| {
        let paired = pair(model, Reading::default(), text).unwrap();
        paired.proves_nothing(model.parse().unwrap())
    };
    let failed = log(&["0 :invoke :acquire nil", "0 :fail :acquire nil", "1 :invoke :acquire nil"]);
    let why = proves("mutex", &failed).unwrap();
    assert_eq!(why, "every operation failed or has no known outcome");
    let granted = log(&["0 :invoke :acquire nil", "0 :ok :acquire nil"]);
    assert_eq!(proves("mutex", &granted), None);
    assert_eq!(proves("fenced", &granted).unwrap(), "no grant says its fencing token");
    assert_eq!(proves("fenced", &granted.replace("ok :acquire nil", "ok :acquire 7")), None);
    // The register's initial value is nobody's doing.
    let initial = Reading { initial: Value::Int(0), ..Reading::default() };
    let text = log(&["0 :invoke :read nil", "0 :fail :read nil"]);
    let paired = pair("register", initial, &text).unwrap();
    assert_eq!((paired.asked(), paired.operations.len()), (1, 2));
    assert!(paired.proves_nothing("register".parse().unwrap()).is_some());
}

#[test]
fn what_a_model_does_not_look_at_is_reported() {
    let passed_over = |model: &str, lines: &[&str]| {
        let paired = pair(model, Reading::default(), &log(lines)).unwrap();
        paired.passed_over(model.parse().unwrap())
    };
    let readers = [
        "0 :invoke :acquire :read",
        "0 :ok :acquire 7",
        "1 :invoke :acquire nil",
        "1 :ok :acquire nil",
    ];
    let text = passed_over("fenced", &readers).unwrap();
    assert_eq!(text, "of 2 grants, 1 said a fencing token; only those are compared");
    assert_eq!(passed_over("fenced", &readers[..2]), None);
    assert_eq!(passed_over("rw", &readers), None);
    let text = passed_over("mutex", &readers).unwrap();
    assert_eq!(text, "the model mutex knows no shared holds; it takes all for exclusive");
}

#[test]
fn registers_may_hold_something_at_first() {
    let reading = Reading { initial: Value::Int(0), ..Reading::default() };
    let text = log(&["0 :invoke :read nil", "0 :ok :read 0"]);
    let paired = pair("register", reading.clone(), &text).unwrap();
    assert_eq!(paired.describe(&paired.operations[0]), "the initial value");
    assert_eq!(paired.operations[0].action, OperationKind::Write { value: Some(0) });
    assert!(paired.operations[0].answer < Some(paired.operations[1].invoke));
    let text = log(&["0 :invoke :acquire nil"]);
    assert_eq!(pair("mutex", reading, &text).unwrap().operations.len(), 1);
}

#[test]
fn a_run_of_ours_holds_more_than_one_model_knows() {
    let line = |kind: &str, f: &str| {
        format!("{{\"process\":1,\"type\":\"{kind}\",\"f\":\"{f}\",\"key\":\"k\",\"value\":3}}\n")
    };
    let text: String = [("invoke", "acquire"), ("ok", "acquire"), ("invoke", "write")]
        .iter()
        .chain(&[("info", "lost"), ("ok", "write"), ("invoke", "release"), ("info", "death")])
        .map(|(kind, f)| line(kind, f))
        .collect();
    let mixed = Reading { mixed: true, ..Reading::default() };
    let paired = pair("mutex", mixed.clone(), &text).unwrap();
    assert_eq!(paired.operations.len(), 2);
    assert_eq!(paired.operations[1].answer, None);
    assert_eq!(pair("register", mixed, &text).unwrap().operations.len(), 1);
}

#[test]
fn what_is_done_to_another_object_is_left_out_and_counted() {
    let text = log(&[
        "0 :invoke :acquire nil",
        "0 :ok :acquire nil",
        "0 :invoke :read nil",
        "0 :ok :read 3",
        "0 :invoke :write 4",
        "0 :fail :write 4",
        "0 :invoke :release nil",
        "0 :ok :release nil",
    ]);
    let operations = |model| {
        let paired = pair(model, Reading::default(), &text).unwrap();
        (paired.operations.len(), paired.left_out)
    };
    assert_eq!(operations("mutex"), (2, 2));
    assert_eq!(operations("register"), (2, 2));
}

/// Process 0 holds the lock; then come these events, and process 1 takes the lock.
fn taken_after(events: &[&str]) -> String {
    let before = ["0 :invoke :acquire nil", "0 :ok :acquire nil"];
    let after = ["1 :invoke :acquire nil", "1 :ok :acquire nil"];
    log(&[&before[..], events, &after[..]].concat())
}

#[test]
fn a_hold_ends_with_its_process_or_with_its_word_that_it_may_be_lost() {
    let freed = "process 0's release (from line 3 on, never answered)";
    for event in ["0 :info :death nil", "0 :info :lost nil"] {
        let words = words("owner-mutex", &taken_after(&[event]));
        assert_eq!(words[1], freed, "{event}");
        assert_eq!(words.len(), 3, "{event}");
    }
    // What is freed after the loss is not that hold any more; what is taken again, is.
    let again = ["0 :info :lost nil", "0 :invoke :release nil", "0 :ok :release nil"];
    assert_eq!(words("owner-mutex", &taken_after(&again)).len(), 3);
    let taken = ["0 :info :lost nil", "0 :invoke :acquire nil", "0 :ok :acquire nil"];
    let freed = ["0 :invoke :release nil", "0 :ok :release nil"];
    let both = [&taken[..], &freed[..]].concat();
    assert_eq!(words("owner-mutex", &taken_after(&both)).len(), 5, "three grants, two ends");
    // Whoever holds nothing has nothing to lose.
    assert_eq!(words("owner-mutex", &taken_after(&["2 :info :death nil"])).len(), 2);
    assert_eq!(words("register", &log(&["2 :info :death nil"])).len(), 0);
}

#[test]
fn acquires_that_nobody_answered_are_counted() {
    let text = log(&["0 :invoke :acquire nil", "1 :invoke :acquire nil", "1 :info :acquire nil"]);
    let paired = pair("mutex", Reading::default(), &text).unwrap();
    assert_eq!(paired.unanswered_acquires(), 1);
}

#[test]
fn what_fits_nothing_is_refused_with_its_line() {
    for (model, lines, expected) in [
        ("mutex", &["0 :invoke :downgrade nil"][..], "line 1: the model mutex has no `downgrade`"),
        ("register", &["0 :invoke :cas [1 2]"], "line 1: the model register has no `cas`"),
        ("set", &["0 :invoke :swim 1"], "line 1: the model set has no `swim`"),
        ("register", &["0 :ok :read 1"], "line 1: process 0 ends its read, which it did not begin"),
        (
            "register",
            &["0 :invoke :read nil", "0 :invoke :write 1"],
            "line 2: process 0 begins its write while its read of line 1 is open",
        ),
        (
            "register",
            &["0 :invoke :read nil", "0 :ok :write 1"],
            "line 2: process 0 ends its write, which it did not begin",
        ),
        (
            "cas-register",
            &["0 :invoke :cas 5"],
            "line 1: a cas needs [old new], and this one says 5",
        ),
        ("set", &["0 :invoke :add nil"], "line 1: an add of nothing"),
        (
            "set",
            &["0 :invoke :read nil", "0 :ok :read 5"],
            "line 2: a read of a set needs its members, not 5",
        ),
        ("rw", &["0 :invoke :convert nil"], "line 1: a convert without its new mode"),
    ] {
        assert_eq!(pair(model, Reading::default(), &log(lines)).unwrap_err(), expected);
    }
    let keys = "{:process 0, :type :invoke, :f :acquire, :key 1}
                {:process 0, :type :ok, :f :acquire, :key 2}";
    let refused = pair("mutex", Reading::default(), keys).unwrap_err();
    assert_eq!(refused, "line 2: process 0 ends on another key than it began on");
}

/// Returns the memory that a pairing keeps after these lines, begun with a `Reading` of tuples or
/// not.
fn kept(model: &str, independent: Option<bool>, text: &str) -> usize {
    let reading = Reading { independent, ..Reading::default() };
    let mut pairing = Pairing::new(model.parse().unwrap(), reading);
    for entry in Entries::open(text.as_bytes(), None).unwrap() {
        pairing.push(entry.unwrap()).unwrap();
    }
    pairing.memory()
}

#[test]
fn whatever_is_kept_is_counted() {
    const LONG: usize = 100_000;
    let long = "x".repeat(LONG);
    // A value that is not an integer, one that is open, one that waits, and a name of a key.
    let write = format!("- 0 :invoke :write \"{long}\"\n");
    let over = write.clone() + "- 0 :fail :write nil\n";
    let waits = format!("- 0 :invoke :write [1 \"{long}\"]\n");
    let key = format!("{{:process 0, :type :invoke, :f :read, :key \"{long}\"}}");
    assert!(kept("register", Some(false), &write) >= 3 * LONG);
    assert!((2 * LONG..3 * LONG).contains(&kept("register", Some(false), &over)));
    assert!((LONG..2 * LONG).contains(&kept("register", None, &waits)));
    assert!((2 * LONG..3 * LONG).contains(&kept("register", Some(false), &key)));
    let two = format!("{write}- 1 :invoke :write \"y{long}\"\n- 0 :fail :write nil\n");
    assert!((5 * LONG..6 * LONG).contains(&kept("register", Some(false), &two)));
    // Members of a set.
    let members = "7 ".repeat(LONG);
    let read = format!("- 0 :invoke :read nil\n- 0 :ok :read [{members}]\n");
    assert!((8 * LONG..9 * LONG).contains(&kept("set", Some(false), &read)));
}

#[test]
fn each_operation_and_each_process_is_counted() {
    let pairs = |count: usize, processes: usize| -> String {
        let pair = |n| format!("- {n} :invoke :write 1\n- {n} :ok :write 1\n");
        (0..count).map(|n| pair(n % processes)).collect()
    };
    let kept = |count, processes| kept("register", Some(false), &pairs(count, processes));
    // Lists that grow have room for a power of two.
    let operations = (512 - 128) * size_of::<Operation>();
    assert_eq!(kept(300, 5) - kept(100, 5), operations + (1024 - 256) * size_of::<u32>());
    let names = (128 - 8) * size_of::<Value>() + 100 * 2 * size_of::<(Value, u32)>();
    assert_eq!(kept(300, 105) - kept(300, 5), names);
}

#[test]
fn equal_numbers_are_one_value() {
    let text = log(&["0 :invoke :write 5", "1 :invoke :write 5.0", "2 :invoke :write 50e-1"]);
    let paired = pair("register", Reading::default(), &text).unwrap();
    assert!(paired.operations.iter().all(|o| o.action == OperationKind::Write { value: Some(5) }));
}

#[test]
fn numbers_beyond_an_integer_are_distinguished() {
    let text = log(&[
        "0 :invoke :write 9223372036854775807",
        "1 :invoke :write 9223372036854775808",
        "2 :invoke :write -9223372036854775808",
        "3 :invoke :write \"9223372036854775808\"",
    ]);
    let paired = pair("register", Reading::default(), &text).unwrap();
    let mut actions: Vec<String> =
        paired.operations.iter().map(|o| format!("{:?}", o.action)).collect();
    actions.sort();
    actions.dedup();
    assert_eq!(actions.len(), 4);
    expect!["process 1's write of 9223372036854775808 (from line 2 on, never answered)"]
        .assert_eq(&paired.describe(&paired.operations[1]));
}

/// A history in EDN, from lines such as `0 invoke acquire "a"`: process, type, name and value.
fn events(lines: &[&str]) -> String {
    let event = |(at, line): (usize, &&str)| {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let value = words.get(3).unwrap_or(&"nil");
        let [process, kind, f] = [words[0], words[1], words[2]];
        format!("{{:time {at}000, :process {process}, :type :{kind}, :f :{f}, :value {value}}}\n")
    };
    lines.iter().enumerate().map(event).collect()
}

fn is_legal(model: &str, lines: &[&str]) -> bool {
    let paired = pair(model, Reading::default(), &events(lines)).unwrap();
    let budget = crate::Budget { memory: 1 << 20, expired: &mut || false };
    match crate::decide(model.parse().unwrap(), &paired.operations, budget) {
        Ok(crate::Decision::Legal) => true,
        Ok(crate::Decision::Illegal(_)) => false,
        other => panic!("{other:?}"),
    }
}

const HELD_BY_0: [&str; 2] = ["0 invoke acquire", "0 ok acquire"];
const TAKEN_BY_1: [&str; 2] = ["1 invoke acquire", "1 ok acquire"];

#[test]
fn what_confirms_a_hold_is_held_against_it() {
    for (f, yes) in [("extend", "nil"), ("renew", "nil"), ("valid", "true"), ("valid", "nil")] {
        let confirmed =
            |process| [format!("{process} invoke {f}"), format!("{process} ok {f} {yes}")];
        let [begins, ends] = confirmed(0);
        let confirmed = [&begins[..], &ends];
        assert!(is_legal("owner-mutex", &[HELD_BY_0, confirmed].concat()), "{f}");
        let freed = ["0 invoke release", "0 ok release"];
        for model in ["owner-mutex", "mutex", "rw", "fenced", "reentrant:2", "semaphore:2"] {
            assert!(!is_legal(model, &[HELD_BY_0, freed, confirmed].concat()), "{f} {model}");
        }
        // It reports the loss, another one takes the lock, and then its own hold is confirmed.
        let lost = ["0 info lost"];
        let stale = [&HELD_BY_0[..], &lost, &TAKEN_BY_1, &confirmed].concat();
        assert!(!is_legal("owner-mutex", &stale), "{f}");
        let in_time = [&HELD_BY_0[..], &lost, &confirmed, &TAKEN_BY_1].concat();
        assert!(is_legal("owner-mutex", &in_time), "{f}");
    }
}

#[test]
fn a_hold_ends_where_its_process_learns_so() {
    for denial in [
        ["0 invoke extend", "0 fail extend"],
        ["0 invoke valid", "0 ok valid false"],
        ["0 invoke valid", "0 fail valid"],
    ] {
        assert!(is_legal("owner-mutex", &[HELD_BY_0, denial, TAKEN_BY_1].concat()));
        let frees = ["0 invoke release", "0 ok release"];
        assert!(is_legal("owner-mutex", &[HELD_BY_0, denial, TAKEN_BY_1, frees].concat()));
        // It may have come to an end as soon as it was asked, and not before.
        let [asked, answered] = denial;
        let meanwhile = [&HELD_BY_0[..], &[asked], &TAKEN_BY_1, &[answered]].concat();
        assert!(is_legal("owner-mutex", &meanwhile));
        let before = [&HELD_BY_0[..], &TAKEN_BY_1, &denial].concat();
        assert!(!is_legal("owner-mutex", &before));
    }
    let unknown = ["0 invoke extend", "0 info extend"];
    assert!(!is_legal("owner-mutex", &[HELD_BY_0, unknown, TAKEN_BY_1].concat()));
}

#[test]
fn a_release_that_failed_leaves_the_hold_which_may_be_lost_later() {
    let refused = ["0 invoke release", "0 fail release"];
    assert!(!is_legal("owner-mutex", &[HELD_BY_0, refused, TAKEN_BY_1].concat()));
    let lost = ["0 info lost"];
    assert!(is_legal("owner-mutex", &[&HELD_BY_0[..], &refused, &lost, &TAKEN_BY_1].concat()));
}

#[test]
fn a_list_of_keys_is_several_locks() {
    let both = ["0 invoke acquire [\"a\" \"b\"]", "0 ok acquire [\"a\" \"b\"]"];
    let other =
        |value: &str| [format!("1 invoke acquire {value}"), format!("1 ok acquire {value}")];
    for (value, legal) in
        [("[\"b\" \"c\"]", false), ("#{b c}", true), ("[\"c\" \"d\" \"e\"]", true)]
    {
        let [begins, ends] = other(value);
        let lines = [both, [&begins[..], &ends]].concat();
        assert_eq!(is_legal("mutex", &lines), legal, "{value}");
    }
    // A tuple of a key and a mode is none.
    let paired = |lines: &[&str]| pair("rw", Reading::default(), &events(lines)).unwrap();
    let tuple = paired(&["0 invoke acquire [\"a\" :read]", "0 ok acquire [\"a\" :read]"]);
    assert_eq!((tuple.keys(), tuple.several, tuple.independent), (1, false, true));
    let tuples =
        paired(&["0 invoke acquire [[\"a\" \"b\"] nil]", "0 ok acquire [[\"a\" \"b\"] nil]"]);
    assert_eq!((tuples.keys(), tuples.several), (2, true));
    let none = pair("mutex", Reading::default(), &events(&["0 invoke acquire [[] nil]"]));
    expect!["line 1: this acquire is of an empty list of locks"].assert_eq(&none.unwrap_err());
}

#[test]
fn permits_are_counted_where_the_model_counts_them() {
    let taken = |n| [format!("0 invoke acquire {n}"), format!("0 ok acquire {n}")];
    let [begins, ends] = taken(2);
    let two = [&begins[..], &ends];
    for (model, legal) in [("semaphore:1", false), ("semaphore:2", true), ("mutex", true)] {
        assert_eq!(is_legal(model, &two), legal, "{model}");
    }
    assert!(!is_legal("semaphore:2", &[two, TAKEN_BY_1].concat()));
    // A release gives back what was taken, unless it says how much.
    let freed = ["0 invoke release", "0 ok release"];
    assert!(is_legal("semaphore:2", &[two, freed, TAKEN_BY_1].concat()));
    let one = ["0 invoke release {:permits 1}", "0 ok release"];
    assert!(is_legal("semaphore:2", &[two, one, TAKEN_BY_1, freed].concat()));
    assert!(!is_legal("semaphore:2", &[two, one, TAKEN_BY_1, TAKEN_BY_1].concat()));
    let refused = ["0", "1.5", "\"2\""].map(|permits| {
        let asked = events(&[&format!("0 invoke acquire {permits}")]);
        pair("semaphore:2", Reading::default(), &asked).unwrap_err()
    });
    expect![[r#"
        line 1: a number of permits is from 1 on, and this one is 0
        line 1: a number of permits is from 1 on, and this one is 1.5
        line 1: a number of permits is from 1 on, and this one is "2""#]]
    .assert_eq(&refused.join("\n"));
}

/// The numbers of acquires that wait in vain at the end, lock by lock.
fn unserved(model: &str, lines: &[&str]) -> String {
    let paired = pair(model, Reading::default(), &events(lines)).unwrap();
    let waiting = paired.unserved.iter().map(|lock| lock.waiting.len().to_string());
    waiting.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_free_lock_that_nobody_gets_is_a_deadlock() {
    let freed = ["0 invoke release", "0 ok release"];
    let (waits, waits_too) = (["1 invoke acquire"], ["2 invoke acquire"]);
    let all = |parts: &[&[&str]]| unserved("mutex", &parts.concat());
    assert_eq!(all(&[&HELD_BY_0, &freed, &waits, &waits_too]), "2");
    // The history may have ended too early, or somebody holds it.
    assert_eq!(all(&[&HELD_BY_0, &freed, &waits]), "");
    assert_eq!(all(&[&HELD_BY_0, &waits, &waits_too]), "");
    assert_eq!(all(&[&HELD_BY_0, &freed, &waits, &waits_too, &["1 ok acquire"]]), "");
    // Grants have waited for longer.
    let slow = ["0 invoke acquire", "3 invoke valid", "3 fail valid", "0 ok acquire"];
    assert_eq!(all(&[&slow, &freed, &waits, &waits_too]), "");
    // Its holder died, or could not free it, or nobody knows whether it did.
    assert_eq!(all(&[&HELD_BY_0, &["0 info death"], &waits, &waits_too]), "2");
    assert_eq!(all(&[&HELD_BY_0, &["0 invoke release", "0 fail release"], &waits]), "1");
    assert_eq!(
        all(&[&HELD_BY_0, &["0 invoke release", "0 info release"], &waits, &waits_too]),
        "2"
    );
    // It could free it in the end.
    let again = ["0 invoke release", "0 fail release", "1 invoke acquire", "0 invoke release"];
    assert_eq!(all(&[&HELD_BY_0, &again, &["0 ok release"]]), "");
    assert_eq!(all(&[&HELD_BY_0, &again, &["0 ok release"], &waits_too]), "2");
    // Its release is under way.
    assert_eq!(all(&[&HELD_BY_0, &waits, &freed[..1], &waits_too, &["3 invoke acquire"]]), "");
    // Nothing was ever granted.
    assert_eq!(all(&[&waits, &waits_too, &["3 invoke acquire"]]), "");
}

#[test]
fn a_free_lock_that_refuses_whoever_asks_alone_is_a_deadlock() {
    let freed = ["0 invoke release", "0 ok release"];
    let refused = ["1 invoke acquire", "1 fail acquire"];
    let all = |parts: &[&[&str]]| unserved("mutex", &parts.concat());
    assert_eq!(all(&[&HELD_BY_0, &freed, &refused, &refused]), "2");
    // Once is no rule, somebody is granted it in the end, and two at once may be in each other's
    // way.
    assert_eq!(all(&[&HELD_BY_0, &freed, &refused]), "");
    assert_eq!(all(&[&HELD_BY_0, &freed, &refused, &refused, &TAKEN_BY_1]), "");
    let both = ["1 invoke acquire", "2 invoke acquire", "1 fail acquire", "2 fail acquire"];
    assert_eq!(all(&[&HELD_BY_0, &freed, &both, &both]), "");
    // It is held, or may be: by somebody who died, or who does not know.
    assert_eq!(all(&[&HELD_BY_0, &refused, &refused]), "");
    assert_eq!(all(&[&HELD_BY_0, &["0 info death"], &refused, &refused]), "");
    let doubt = ["0 invoke release", "0 info release"];
    assert_eq!(all(&[&HELD_BY_0, &doubt, &refused, &refused]), "");
    let maybe = ["3 invoke acquire", "3 info acquire"];
    assert_eq!(all(&[&HELD_BY_0, &freed, &maybe, &refused, &refused]), "");
    // One that died may have a permit, whoever has released another since.
    let died = ["2 invoke acquire", "2 ok acquire", "2 info death"];
    let permits = [&HELD_BY_0[..], &died, &freed, &refused, &refused].concat();
    assert_eq!(unserved("semaphore:2", &permits), "");
}

#[test]
fn without_times_somebody_is_answered_while_a_free_lock_is_not_given() {
    let untimed = |parts: &[&[&str]]| {
        let lines = events(&parts.concat());
        let lines = lines.lines().map(|line| line.split_once(", ").expect("a time").1);
        let lines: Vec<String> = lines.map(|line| format!("{{{line}\n")).collect();
        pair("mutex", Reading::default(), &lines.concat()).unwrap().unserved.len()
    };
    let freed = ["0 invoke release", "0 ok release"];
    let waits = ["1 invoke acquire", "2 invoke acquire"];
    assert_eq!(untimed(&[&HELD_BY_0, &freed, &waits]), 0);
    assert_eq!(untimed(&[&HELD_BY_0, &freed, &waits, &["3 invoke acquire", "3 fail acquire"]]), 1);
}

#[test]
fn a_semaphore_that_has_room_and_gives_none_has_lost_it() {
    let waits = ["1 invoke acquire", "2 invoke acquire"];
    assert_eq!(unserved("semaphore:2", &[HELD_BY_0, waits].concat()), "2");
    assert_eq!(unserved("semaphore:1", &[HELD_BY_0, waits].concat()), "");
    // Whoever waits for more may stand before the others.
    let many = ["1 invoke acquire 2", "2 invoke acquire"];
    assert_eq!(unserved("semaphore:2", &[HELD_BY_0, many].concat()), "");
    // Whoever does not know whether it was granted one may have it.
    let freed = ["0 invoke release", "0 ok release"];
    let maybe = ["3 invoke acquire", "3 info acquire"];
    assert_eq!(unserved("semaphore:2", &[HELD_BY_0, freed, many].concat()), "2");
    assert_eq!(unserved("semaphore:2", &[HELD_BY_0, maybe, freed, many].concat()), "");
}
