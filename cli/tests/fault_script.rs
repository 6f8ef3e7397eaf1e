//! `picklock test --script` as a user meets it: the hazard that a script aims at, one error with
//! its place for a script that is wrong, and no green run by a fault that never came.

mod command;

use command::{Bench, CommandOutput, transcript};
use expect_test::{expect, expect_file};
use std::fs;
use std::path::Path;

/// Runs a script in the simulator.
fn follow(cli: &Bench, algo: &str, script: &str, more: &[&str]) -> CommandOutput {
    fs::write(cli.home.path().join("it.toml"), script).expect("written");
    let args = ["test", "--algo", algo, "--script", "it.toml", "--backend", "sim", "--seed", "1"];
    cli.run(&[&args[..], more].concat())
}

const PAUSE: &str = "[[fault]]
action = \"pause\"
target = \"holder\"
when = \"working\"
lasts = \"1.5 ttl\"
";

#[test]
fn a_script_runs_in_the_place_of_a_nemesis_and_the_run_names_it() {
    let cli = Bench::new();
    let output = follow(&cli, "redis-set-nx-px", PAUSE, &[]);
    assert_eq!(output.code, 1, "{output:?}");
    for words in ["redis-set-nx-px under it.toml", "VIOLATED: double hold", "was paused"] {
        assert!(output.out.contains(words), "`{words}` is missing: {}", output.out);
    }
    let history =
        || fs::read_to_string(cli.home.path().join("store/latest/history.jsonl")).expect("read");
    let first = history();
    let again = output.out.lines().find_map(|line| line.strip_prefix("run it again     picklock "));
    let again: Vec<&str> = again.expect("a command").split(' ').collect();
    assert!(again.windows(2).any(|flag| flag == ["--script", "it.toml"]), "{again:?}");
    assert_eq!((cli.run(&again).code, history() == first), (1, true), "{again:?}");
    assert_eq!((cli.run(&["replay", "store/latest"]).code, without_lines(&history())), {
        (1, without_lines(&first))
    });
    assert!(cli.home.path().join("store/redis-set-nx-px+it.toml").is_dir());
}

/// The history but for the lines of its script, of which a replay knows nothing.
fn without_lines(history: &str) -> Vec<String> {
    let line = |line: &str| match line.split_once(",\"line\":") {
        Some((before, after)) => format!("{before}{}", after.trim_start_matches(char::is_numeric)),
        None => line.to_owned(),
    };
    history.lines().map(line).collect()
}

#[test]
fn what_is_wrong_is_one_error_with_its_place_and_nothing_is_written() {
    let cli = Bench::new();
    let fault = |about: &str| format!("[[fault]]\n{about}\n");
    let pause = "action = \"pause\"\ntarget = \"holder\"";
    let at = "at = \"3s\"\nlasts = \"2s\"";
    let refused = [
        String::new(),
        "# none\n".into(),
        "fault = []\n".into(),
        "fault = 3\n".into(),
        "[[fault]\n".into(),
        "[[falut]]\n".into(),
        fault("action = pause"),
        fault("action = \"puase\""),
        fault("action = 3"),
        fault("target = \"holder\""),
        fault("action = \"pause\""),
        fault("acton = \"pause\""),
        fault("action = \"pause\"\naction = \"kill\""),
        fault("action = \"pause\"\ntarget = \"hodler\""),
        fault("action = \"pause\"\ntarget = \"client-5\""),
        fault("action = \"pause\"\ntarget = \"server-1\""),
        fault("action = \"pause\"\ntarget = \"boss\""),
        fault("action = \"pause\"\ntarget = \"same-client\""),
        fault("action = \"pause\"\ntarget = \"vault\""),
        fault("action = \"kill\"\ntarget = \"server-0\""),
        fault("action = \"crash\"\ntarget = \"holder\""),
        fault("action = \"evict\"\ntarget = \"server-0\""),
        fault("action = \"pause\"\nlinks = []"),
        fault("action = \"cut\"\nlinks = []"),
        fault("action = \"cut\"\nlinks = [\"holder\"]"),
        fault("action = \"cut\"\nlinks = [[\"server-0\", \"holder\"]]"),
        fault("action = \"cut\"\nlinks = [[\"holder\", \"next-waiter\"]]"),
        fault("action = \"cut\"\nlinks = [[\"servers\", \"servers\"]]"),
        fault("action = \"cut\"\nlinks = [[\"holder\", \"vault\"], [\"holder\", \"server-0\"]]"),
        fault("action = \"cut\"\ntarget = \"holder\"\nlinks = [[\"holder\", \"vault\"]]"),
        fault(&format!("{pause}\nby = \"1s\"")),
        fault("action = \"clock-jump\"\ntarget = \"holder\""),
        fault("action = \"clock-drift\"\npercent = -95\ntarget = \"holder\""),
        fault("action = \"slow\"\ntimes = 0"),
        fault("action = \"throttle\"\ntarget = \"all\""),
        fault(pause),
        fault(&format!("{pause}\nat = \"3\"")),
        fault(&format!("{pause}\nat = \"x ttl\"")),
        fault(&format!("{pause}\nat = \"30s\"")),
        fault(&format!("{pause}\nwhen = \"garnted\"")),
        fault(&format!("{pause}\nat = \"3s\"\nwhen = \"granted\"")),
        fault(&format!("{pause}\nwhen = \"fault\"")),
        fault(&format!("{pause}\nwhen = \"majority\"")),
        fault(&format!("{pause}\nwhen = \"sent\"")),
        fault(&format!("{pause}\nwhen = \"sent\"\ncommand = \"EXPRIE\"")),
        fault(&format!("{pause}\nwhen = \"asked\"\ncommand = \"SET\"")),
        fault(&format!("{pause}\nwhen = \"asked\"\nwho = \"holder\"")),
        fault(&format!("{pause}\nat = \"1s\"\nwho = \"client-0\"")),
        fault(&format!("{pause}\n{at}\nnth = 2")),
        fault(&format!("{pause}\n{at}\nafter = \"1s\"")),
        fault(&format!("{pause}\nwhen = \"asked\"\nnth = 0")),
        fault(&format!("{pause}\nat = \"3s\"")),
        fault(&format!("{pause}\nat = \"3s\"\nlasts = \"0s\"")),
        fault(&format!("{pause}\nat = \"29s\"\nlasts = \"2s\"")),
        "fault = [{ action = \"pause\", target = \"all\", at = \"1s\", lasts = \"1s\" }, \
             { action = \"pause\", target = \"all\", at = \"1s\", lasts = \"1s\" }]"
            .into(),
    ]
    .map(|script: String| format!("{script}\n{}\n", follow(&cli, "redis-set-nx-px", &script, &[])));
    expect_file!["snapshots/scripts.txt"].assert_eq(&refused.concat());
    assert!(!cli.home.path().join("store").exists());
}

#[test]
fn a_script_takes_the_place_of_nemeses() {
    let cli = Bench::new();
    fs::write(cli.home.path().join("it.toml"), PAUSE).expect("written");
    transcript(&cli, "script-or-nemesis");
}

#[test]
fn a_fault_that_never_came_or_did_nothing_is_named() {
    let cli = Bench::new();
    let short = PAUSE.replace("1.5 ttl", "0.2 ttl");
    let late = short.replace("\"working\"", "\"granted\"\nnth = 999");
    let nobody = "[[fault]]
action = \"crash\"
target = \"server-0\"
when = \"asked\"
lasts = \"300ms\"
";
    let twice = "[[fault]]
action = \"pause\"
target = \"client-0\"
at = \"1s\"
lasts = \"300ms\"

[[fault]]
action = \"pause\"
target = \"client-0\"
at = \"1.1s\"
lasts = \"100ms\"
";
    for (script, words) in [
        (format!("{short}{late}"), {
            "the fault in line 6 of the script, pause holder when granted nth 999, never came"
        }),
        (format!("{late}{nobody}"), {
            "in line 7 of the script, crash server-0 when asked, never came"
        }),
        (twice.into(), "in line 1 of the script, pause client-0 at 1s, had no effect"),
    ] {
        let output = follow(&cli, "zk-sequential", &script, &[]);
        assert_eq!(output.code, 2, "{output:?}");
        let flat = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "`{words}` is missing: {flat}");
        let judged = cli.run(&["check", "store/latest"]);
        let flat = judged.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(judged.code == 2 && flat.contains(words), "a stored run says the same: {flat}");
    }
}

#[test]
fn a_printed_script_does_the_same_again() {
    let cli = Bench::new();
    let read = |name: &str| fs::read_to_string(cli.home.path().join(name)).expect("read");
    let mut by_grant = 0;
    for (algo, nemesis, seed) in [
        ("redis-set-nx-px", "pause,link,partition", "3"),
        ("redis-set-nx-px-fixed", "pause-client", "1"),
        ("redis-setnx", "crash-client", "2"),
        ("redlock", "clock,crash,vanish-server", "5"),
        ("memcached-add", "evict,link-vault", "4"),
        ("zk-sequential", "partition-server,crash,clock", "3"),
        ("zk-rw", "partition,crash", "6"),
        ("zk-sequential", "partition-vault", "1"),
        // Its sessions are made one after the other, and the first holds the lock meanwhile.
        ("zk-sequential", "pause-client", "11"),
    ] {
        let test = ["test", "--algo", algo, "--seed", seed, "--backend", "sim"];
        let first = ["--nemesis", nemesis, "--print-script", "a.toml"];
        let first = cli.run(&[&test[..], &first].concat());
        let (history, verdict) = (read("store/latest/history.jsonl"), judged(&cli));
        let again = ["--script", "a.toml", "--print-script", "b.toml"];
        let again = cli.run(&[&test[..], &again].concat());
        assert_eq!(again.code, first.code, "{algo} under {nemesis}\n{again:?}\n{first:?}");
        assert_eq!(judged(&cli), verdict, "{algo} under {nemesis}");
        let ours = read("store/latest/history.jsonl");
        assert!(timed(&ours) == timed(&history), "{algo} under {nemesis}");
        let tables = |script: String| script.split_once("\n\n").map(|(_, it)| it.to_owned());
        assert_eq!(tables(read("b.toml")), tables(read("a.toml")), "{algo} under {nemesis}");
        by_grant += read("a.toml").matches("when = \"granted\"").count();
    }
    assert!(by_grant > 10, "{by_grant}");
}

/// The events with their times. What happens at once has no order.
fn timed(history: &str) -> Vec<String> {
    let event = |line: String| match line.split_once(',') {
        Some((index, event)) if index.starts_with("{\"index\"") => event.to_owned(),
        _ => line,
    };
    let mut events: Vec<String> = without_lines(history).into_iter().map(event).collect();
    events.sort_unstable();
    events
}

/// The outcome of each property, with the anomalies and their causes.
fn judged(cli: &Bench) -> Vec<String> {
    let file = cli.home.path().join("store/latest/verdict.json");
    let verdict: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(file).expect("read")).expect("JSON");
    let outcomes = verdict["verdicts"].as_array().expect("verdicts").iter().map(|verdict| {
        let word = |it: &serde_json::Value| it.as_str().unwrap_or_default().to_owned();
        let anomalies = verdict["anomalies"].as_array().expect("anomalies").iter().map(|it| {
            format!("; {} by {}, {} times", word(&it["name"]), word(&it["cause"]), it["count"])
        });
        let (property, outcome) = (word(&verdict["property"]), word(&verdict["outcome"]));
        format!("{property} {outcome}{}", anomalies.collect::<String>())
    });
    outcomes.collect()
}

#[test]
fn a_script_on_stdout_stands_there_alone() {
    let cli = Bench::new();
    let test = ["test", "--algo", "redis-set-nx-px", "--backend", "sim", "--seed", "1"];
    let printed = cli.run(&[&test[..], &["--nemesis", "pause", "--print-script"]].concat());
    assert_eq!(printed.code, 1, "{printed:?}");
    assert!(printed.err.contains("VIOLATED: double hold"), "{printed:?}");
    let again = follow(&cli, "redis-set-nx-px", &printed.out, &[]);
    assert_eq!(again.code, 1, "{again:?}");
    let none = cli.run(&[&test[..], &["--print-script", "-"]].concat());
    assert_eq!(none.code, 0, "{none:?}");
    expect![[r#"
        # The faults of a run, as they came:
        #   picklock test --algo redis-set-nx-px --nemesis none --backend sim --seed 1
        # There was none.
    "#]]
    .assert_eq(&none.out);
    let nowhere = cli.run(&[&test[..], &["--print-script", "nowhere/a.toml"]].concat());
    expect![[r#"
        picklock: cannot write `nowhere/a.toml`: name a file in a folder that exists with --print-script
        exit code 255
    "#]].assert_eq(&nowhere.to_string());
}

/// Runs a script of `scripts/` and returns its output.
fn example(cli: &Bench, algo: &str, name: &str, more: &[&str]) -> CommandOutput {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name);
    let script = fs::read_to_string(script).expect("an example");
    assert!(script.contains(&format!("--script scripts/{name}")), "it says how to run it");
    follow(cli, algo, &script, more)
}

#[test]
fn each_example_shows_its_hazard() {
    let cli = Bench::new();
    let long: &[&str] = &["--hold", "exact:2s"];
    let slow: &[&str] = &["--link-delay", "50ms"];
    for (algo, name, more, shows) in [
        ("redis-set-nx-px", "pause-holder.toml", &[][..], "double hold by holder-paused"),
        ("redis-setnx", "kill-unaware-holder.toml", &[][..], "deadlock by client-died"),
        ("redlock", "redlock-amnesia.toml", long, "double hold by server-forgets"),
        ("redis-setnx-expire", "between-commands.toml", slow, "deadlock by client-died"),
    ] {
        let output = example(&cli, algo, name, more);
        assert_eq!(output.code, 1, "{output:?}");
        let judged = judged(&cli);
        assert!(judged.iter().any(|it| it.contains(shows)), "{name}: {judged:?}");
        assert!(!output.out.contains("NOT EXPECTED"), "{}", output.out);
    }
    let held = example(&cli, "redis-set-nx-px", "kill-unaware-holder.toml", &[]);
    assert_eq!(held.code, 0, "{held:?}");
}

#[test]
fn a_majority_that_has_answered_is_aimed_at() {
    let cli = Bench::new();
    let script = "[[fault]]
action = \"kill\"
target = \"asker\"
when = \"majority\"
lasts = \"2s\"
";
    let output = follow(&cli, "redlock", script, &[]);
    assert_eq!(output.code, 0, "{output:?}");
    let lines = |name: &str| -> Vec<serde_json::Value> {
        let text = fs::read_to_string(cli.home.path().join("store/latest").join(name));
        let text = text.expect("read");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let history = lines("history.jsonl");
    let killed = history.iter().find(|event| event["f"] == "fault").expect("a fault");
    let client = &killed["fault"]["fault"]["node"]["client"];
    let ledger = lines("ledger.jsonl");
    let by_then = ledger.iter().filter(|it| it["time_ns"].as_u64() <= killed["time_ns"].as_u64());
    let written = by_then.filter(|it| it["change"]["written"] == *client);
    assert_eq!(written.count(), 3, "{killed}");
}

/// The changes of the store by the client that was killed, up to its death and after it.
fn changes_by_the_killed(cli: &Bench) -> (usize, usize) {
    let lines = |name: &str| -> Vec<serde_json::Value> {
        let text = fs::read_to_string(cli.home.path().join("store/latest").join(name));
        text.expect("read").lines().map(|it| serde_json::from_str(it).expect("JSON")).collect()
    };
    let history = lines("history.jsonl");
    let killed = history.iter().find(|event| event["f"] == "fault").expect("a fault");
    let client = &killed["fault"]["fault"]["node"]["client"];
    let ledger = lines("ledger.jsonl");
    let of_it = ledger.iter().filter(|it| it["change"]["written"] == *client);
    let (before, after): (Vec<_>, Vec<_>) =
        of_it.partition(|it| it["time_ns"].as_u64() <= killed["time_ns"].as_u64());
    (before.len(), after.len())
}

#[test]
fn a_client_dies_between_two_commands_that_are_named() {
    let cli = Bench::new();
    let kill = |when: &str, command: &str| {
        format!(
            "[[fault]]\naction = \"kill\"\ntarget = \"asker\"\nwhen = \"{when}\"\ncommand = \"{command}\"\nlasts = \"2s\"\n"
        )
    };
    let slow = &["--link-delay", "50ms", "--clients", "2"];
    for (when, command, before, outcome) in [
        ("sent", "SETNX", 0, 1),
        ("answered", "SETNX", 1, 1),
        ("sent", "expire", 1, 0),
        ("answered", "EXPIRE", 1, 0),
    ] {
        let output = follow(&cli, "redis-setnx-expire", &kill(when, command), slow);
        assert_eq!(output.code, outcome, "{when} {command}: {output:?}");
        let (by_then, _) = changes_by_the_killed(&cli);
        assert_eq!(by_then, before, "{when} {command}");
    }
}

#[test]
fn what_a_release_sends_is_a_moment_of_its_holder() {
    let cli = Bench::new();
    let pause = "[[fault]]\naction = \"kill\"\ntarget = \"holder\"\nwhen = \"answered\"\ncommand = \"GET\"\nlasts = \"2s\"\n";
    let output = follow(&cli, "redis-set-nx-px-getdel", pause, &["--link-delay", "50ms"]);
    assert_eq!(output.code, 0, "{output:?}");
    let history = fs::read_to_string(cli.home.path().join("store/latest/history.jsonl"));
    let events: Vec<serde_json::Value> = history
        .expect("read")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let fault = events.iter().position(|event| event["f"] == "fault").expect("a fault");
    let death = events[..=fault + 1].iter().find(|event| event["f"] == "death").expect("a death");
    let last = events[..fault]
        .iter()
        .rfind(|event| event["process"] == death["process"] && event["type"] == "invoke");
    assert_eq!(last.expect("an operation")["f"], "release");
}

#[test]
fn a_search_follows_a_script() {
    let cli = Bench::new();
    fs::write(cli.home.path().join("it.toml"), PAUSE).expect("written");
    let search = ["explore", "--algo", "redis-set-nx-px", "--script", "it.toml", "--seeds", "12"];
    let found = cli.run(&[&search[..], &["--out", "one.json"]].concat());
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.out.contains("under it.toml") && found.out.contains("violated 12"), "{found:?}");
    let again = found.out.lines().find_map(|line| line.trim().strip_prefix("picklock replay "));
    let again: Vec<&str> = again.expect("a command").split(' ').collect();
    let replayed = cli.run(&[&["replay"][..], &again].concat());
    assert_eq!(replayed.code, 1, "{again:?} {replayed:?}");
    // Another script of that name is another search.
    fs::write(cli.home.path().join("it.toml"), PAUSE.replace("1.5", "2")).expect("written");
    let more = ["--first-seed", "12", "--out", "two.json"];
    cli.run(&[&search[..], &more].concat());
    let merged = cli.run(&["merge", "one.json", "two.json"]);
    expect![[r#"
        picklock: `one.json` and `two.json` are of different searches: script_file is {"path":"it.toml","text":"[[fault]]\\naction = \"pause\"\\ntarget = \"holder\"\\nwhen = \"working\"\\nlasts = \"1.5 ttl\"\\n"} and {"path":"it.toml","text":"[[fault]]\\naction = \"pause\"\\ntarget = \"holder\"\\nwhen = \"working\"\\nlasts = \"2 ttl\"\\n"}
        exit code 255
    "#]].assert_eq(&merged.to_string());
    let all = cli.run(&[&search[..], &["--exhaustive"]].concat());
    assert_eq!(all.code, 254, "{all:?}");
}

#[cfg(feature = "real")]
#[test]
fn what_a_backend_cannot_do_is_refused_with_its_line() {
    let cli = Bench::new();
    let script = format!(
        "{PAUSE}\n[[fault]]\naction = \"clock-freeze\"\ntarget = \"leader\"\nat = \"1s\"\nlasts = \"1s\"\n"
    );
    fs::write(cli.home.path().join("it.toml"), script).expect("written");
    let test = ["test", "--algo", "zk-rw", "--script", "it.toml", "--backend", "docker"];
    let output = cli.run(&test);
    expect![[r#"
        picklock: `it.toml`, line 8, column 10: real servers cannot have the clock of a server run fast or slow, or stand still: ZooKeeper counts by its monotonic clock, which nobody can set; the faults of this run need it: give --backend sim
          |
        8 | action = "clock-freeze"
          |          ^^^^^^^^^^^^^^
        exit code 254
    "#]].assert_eq(&output.to_string());
    assert!(!cli.home.path().join("store").exists());
}

#[test]
fn the_page_names_all_that_a_script_can_say() {
    let cli = Bench::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/scripts.md");
    let page = fs::read_to_string(page).expect("a page");
    for kind in ["actions", "targets", "moments"] {
        let listed = cli.run(&["list", kind, "--format", "json"]);
        let listed: serde_json::Value = serde_json::from_str(&listed.out).expect("JSON");
        for it in listed[kind].as_array().expect("a list") {
            let name = it["name"].as_str().expect("a name");
            assert!(page.contains(&format!("`{name}`")), "{name} is missing");
        }
    }
    let unknown = follow(&cli, "zk-rw", "[[fault]]\nqqq = 1\n", &[]);
    let fields = unknown.err.lines().next().and_then(|line| line.split("there are ").nth(1));
    for field in fields.expect("all fields").split(", ") {
        assert!(page.contains(&format!("`{field}`")), "{field} is missing");
    }
}

/// The faults of the last run that a script asked for, and their heals: the servers that are hit,
/// and those that led others at the time.
fn hit_and_leaders(cli: &Bench, f: &str, kind: &str) -> Vec<(u64, Vec<u64>)> {
    let history = fs::read_to_string(cli.home.path().join("store/latest/history.jsonl"));
    let history = history.expect("read");
    let events = history.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let events =
        events.filter(|event: &serde_json::Value| event["f"] == f && event["type"] == kind);
    let hit = |event: serde_json::Value| {
        let leaders = event["fault"]["leaders"].as_array().cloned().unwrap_or_default();
        let server = event["fault"]["fault"]["node"]["server"].as_u64().expect("a server");
        (server, leaders.iter().filter_map(serde_json::Value::as_u64).collect())
    };
    events.map(hit).collect()
}

#[test]
fn whichever_server_leads_is_hit_and_the_history_says_who_leads_before_and_after() {
    let cli = Bench::new();
    let crash = |at: &str| {
        let fault = "[[fault]]\naction = \"crash\"\ntarget = \"leader\"\nlasts = \"3s\"\n";
        format!("{fault}at = \"{at}\"\n")
    };
    let script = crash("2s") + &crash("16s");
    for (algo, on) in [("redis-set-nx-px", "redis-sentinel"), ("zk-sequential", "zookeeper-x3")] {
        let output = follow(&cli, algo, &script, &["--on", on]);
        assert!(output.code < 2, "{output:?}");
        let (before, after) =
            (hit_and_leaders(&cli, "fault", "invoke"), hit_and_leaders(&cli, "heal", "info"));
        assert_eq!((before.len(), after.len()), (2, 2), "{on}");
        for (server, leaders) in &before {
            assert_eq!(leaders, &[*server], "{on}: {before:?}");
        }
        assert!(after[0].1.iter().any(|leader| *leader != after[0].0), "{on}: {after:?}");
        assert_ne!(before[0].0, before[1].0, "{on}: another one leads then");
    }
}

#[test]
fn minorities_and_majorities_are_drawn_and_nobody_leads_where_all_are_alike() {
    let cli = Bench::new();
    let pause = |target: &str| {
        let fault = "[[fault]]\naction = \"pause\"\nat = \"2s\"\nlasts = \"1s\"\n";
        format!("{fault}target = \"{target}\"\n")
    };
    for (target, count) in [("minority", 2), ("majority", 3), ("follower", 1)] {
        let on = ["--on", "zookeeper-x5", "--time-limit", "4s"];
        let output = follow(&cli, "zk-sequential", &pause(target), &on);
        assert_eq!(output.code, 0, "{output:?}");
        assert_eq!(hit_and_leaders(&cli, "fault", "invoke").len(), count, "{target}");
    }
    let refused = ["leader", "minority"]
        .map(|target| follow(&cli, "redis-set-nx-px", &pause(target), &[]).to_string());
    expect![[r#"
        picklock: `it.toml`, line 5, column 10: the servers of this run are nothing to each other: none leads
          |
        5 | target = "leader"
          |          ^^^^^^^^
        exit code 254
        picklock: `it.toml`, line 5, column 10: the servers of this run are too few for a minority of them
          |
        5 | target = "minority"
          |          ^^^^^^^^^^
        exit code 254
    "#]].assert_eq(&refused.concat());
}
