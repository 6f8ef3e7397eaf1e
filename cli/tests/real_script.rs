//! Fault scripts on real servers: the holder that one names is paused at its moment, a client dies
//! between two commands, what servers send each other is delayed. Nothing is skipped: where a
//! server is missing, this fails.

mod command;

use command::Bench;
use std::fs;
use std::path::Path;

#[test]
fn the_holder_is_paused_in_its_critical_section() {
    let cli = Bench::new();
    let script = "[[fault]]
action = \"pause\"
target = \"holder\"
when = \"working\"
lasts = \"1.5 ttl\"
";
    fs::write(cli.home.path().join("it.toml"), script).expect("written");
    let test = ["test", "--algo", "redis-set-nx-px", "--script", "it.toml", "--backend", "local"];
    let load = ["--ttl", "1s", "--time-limit", "8s", "--hold", "exact:400ms"];
    let output = cli.run(&[&test[..], &load, &["--print-script", "again.toml"]].concat());
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.out.contains("VIOLATED: double hold"), "{output:?}");
    let printed = fs::read_to_string(cli.home.path().join("again.toml")).expect("printed");
    for line in ["action = \"pause\"", "target = \"holder\"", "when = \"granted\""] {
        assert!(printed.contains(line), "{printed}");
    }
}

/// The faults of the last run as its history has them: the end of each, with its measured effect.
fn heals(cli: &Bench) -> Vec<serde_json::Value> {
    let history = fs::read_to_string(cli.home.path().join("store/latest/history.jsonl"));
    let events = history.expect("read");
    let events = events.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    events
        .filter(|event: &serde_json::Value| event["f"] == "heal" && event["type"] == "info")
        .collect()
}

#[test]
fn a_client_dies_between_two_commands() {
    let cli = Bench::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/between-commands.toml");
    fs::copy(script, cli.home.path().join("it.toml")).expect("an example");
    let test = ["test", "--algo", "redis-setnx-expire", "--script", "it.toml"];
    let load = ["--backend", "local", "--link-delay", "50ms", "--time-limit", "5s", "--ttl", "1s"];
    // All ask at once, and the first that is heard to have an answer may be one that came second.
    let mut outputs = (0..4).map(|_| cli.run(&[&test[..], &load].concat()));
    let output =
        outputs.find(|output| output.code != 0).expect("one of four kills hits the holder");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.out.contains("deadlock"), "{output:?}");
}

#[test]
fn what_servers_send_each_other_is_delayed() {
    let cli = Bench::new();
    let fault = |how: &str, at: u32| {
        format!(
            "[[fault]]\n{how}\nlinks = [[\"leader\", \"servers\"]]\nat = \"{at}s\"\nlasts = \"1500ms\"\n\n"
        )
    };
    let script = [
        fault("action = \"slow\"\ntimes = 100", 1),
        fault("action = \"jitter\"\nby = \"40ms\"", 3),
        fault("action = \"throttle\"\nbytes-per-second = 20000", 5),
    ];
    fs::write(cli.home.path().join("it.toml"), script.concat()).expect("written");
    let test = ["test", "--algo", "zk-sequential", "--script", "it.toml", "--time-limit", "7s"];
    let output = cli.run(&[&test[..], &["--backend", "local"]].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let heals = heals(&cli);
    assert_eq!(heals.len(), 3, "{heals:?}");
    for heal in heals {
        assert!(heal["fault"]["effect"]["amount"].as_u64() > Some(0), "{heal}");
    }
    let refused = cli.run(&[&test[..], &["--backend", "docker"]].concat());
    assert_eq!(refused.code, 254, "{refused:?}");
    for words in ["line 2, column 10", "slow or throttle a link between servers", "--backend local"]
    {
        assert!(refused.err.contains(words), "`{words}` is missing: {}", refused.err);
    }
}
