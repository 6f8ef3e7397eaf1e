//! Runs whose links lead through Toxiproxy, or rather through a stand-in for it that this test
//! starts, and that does not always do what it says.

mod forward;
mod stand_in;

use local::RealServers;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use stand_in::{StandIn, Trick};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;
use stores::StoreId;
use tempfile::TempDir;
use testbed::owner;

const LOCAL: [&str; 2] = ["--backend", "local"];
const ALGO: [&str; 3] = ["test", "--algo", "redis-set-nx-px"];

fn picklock(folder: &Path, links: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(ALGO).args(["--seed", "1", "--links", links]).args(args).current_dir(folder);
    command
}

fn run(links: &str, args: &[&str]) -> (Output, TempDir) {
    let folder = TempDir::new().expect("a folder");
    let output = picklock(folder.path(), links, args).output().expect("it runs");
    (output, folder)
}

/// The effects of the faults of the only run below a folder.
fn effects(folder: &TempDir) -> Vec<(String, u64)> {
    let history = folder.path().join("store/latest/history.jsonl");
    let history = std::fs::read_to_string(history).expect("a history");
    let events = history.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let effect = |event: Value| {
        let effect = event["fault"].get("effect").filter(|it| !it.is_null())?.clone();
        Some((effect["what"].as_str()?.to_owned(), effect["amount"].as_u64()?))
    };
    events.filter_map(effect).collect()
}

/// Runs a lock under faults for some seconds: it holds, the faults have effects with these words,
/// and nothing stays.
fn holds(nemesis: &str, place: [&str; 2], words: &str) -> Vec<String> {
    let server = StandIn::start(Trick::None);
    server.add("theirs");
    let args = ["--nemesis", nemesis, "--time-limit", "6s", "--ttl", "1s"];
    let (output, folder) = run(&server.links(), &[&args[..], &place].concat());
    let stdout = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stdout}{why}");
    assert!(stdout.contains(&format!("--links {}", server.links())), "{stdout}");
    let effects = effects(&folder);
    assert!(effects.iter().any(|(_, amount)| *amount > 0), "{effects:?}");
    assert!(
        effects.iter().filter(|(_, it)| *it > 0).all(|(what, _)| what.contains(words)),
        "{effects:?}"
    );
    assert_eq!(server.names(), ["theirs"]);
    server.asked()
}

#[test]
fn links_are_slow_by_latency_both_ways() {
    let mut asked = holds("link-slow", LOCAL, "packets slowed while a round trip took");
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked, ["latency downstream", "latency upstream"]);
}

#[test]
fn links_are_throttled_by_bandwidth_both_ways() {
    let mut asked = holds("link-throttle", LOCAL, "packets throttled while a round trip took");
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked, ["bandwidth downstream", "bandwidth upstream"]);
}

#[test]
fn connections_are_reset_without_a_toxic() {
    assert_eq!(holds("link-reset", LOCAL, "connections reset"), [""; 0]);
}

#[test]
fn a_server_that_was_down_is_reached_again() {
    assert_eq!(holds("crash-server", LOCAL, "ms until it served again"), [""; 0]);
}

#[test]
fn servers_of_somebody_else_are_reached_through_it() {
    let topology = StoreId::topology("redis").expect("it is in the list");
    let ttl = Duration::from_secs(1);
    let redis = RealServers::start(StoreId::Redis, topology, ttl, &|_| ()).expect("it starts");
    let servers = format!("server-0={}", redis.addresses()[0]);
    assert!(!holds("link-slow", ["--servers", &servers], "packets slowed while").is_empty());
}

#[test]
fn a_server_that_does_not_do_what_it_says_ends_the_run() {
    thread::scope(|scope| {
        for (trick, wanted) in [
            (Trick::Refuses, "it was to have \"latency downstream jitter=0 latency="),
            (Trick::Forgets, "and lists no toxic"),
            (Trick::Idles, "a round trip took"),
            (Trick::Wanes, "cannot heal"),
            (Trick::Keeps, "it still has proxies that it was to delete"),
        ] {
            scope.spawn(move || fails(trick, wanted));
        }
    });
}

fn fails(trick: Trick, wanted: &str) {
    let server = StandIn::start(trick);
    let short = ["--nemesis", "link-slow", "--time-limit", "4s", "--ttl", "1s"];
    let (output, _folder) = run(&server.links(), &[&short[..], &LOCAL].concat());
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains(wanted), "{trick:?}: {why}");
    assert_eq!(output.status.code(), Some(255), "{trick:?}: {why}");
    assert_eq!(server.names().is_empty(), trick != Trick::Keeps, "{trick:?}");
}

#[test]
fn an_interrupted_run_leaves_no_proxy() {
    let server = StandIn::start(Trick::None);
    let folder = TempDir::new().expect("a folder");
    let mut command =
        picklock(folder.path(), &server.links(), &["--nemesis", "link-slow", "--backend", "local"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    while server.asked().is_empty() {
        assert_eq!(child.try_wait().expect("a child"), None);
    }
    assert_eq!(server.names().len(), 5, "a proxy a client");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is there");
    assert_eq!(child.wait().expect("a child").code(), Some(130));
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("interrupted"))));
    assert_eq!(server.names(), [""; 0]);
}

/// Of the first this process is not the owner: none of this number has begun with the machine.
#[test]
fn a_run_removes_what_a_killed_one_has_left() {
    let server = StandIn::start(Trick::None);
    let living = owner::own_name();
    let words: Vec<&str> = living.split('_').collect();
    let dead = [words[0], words[1], "1", words[3], words[4], words[5]].join("_");
    server.add(&dead);
    server.add(&living);
    let args = ["--nemesis", "none", "--backend", "local", "--time-limit", "1s"];
    let (output, _folder) = run(&server.links(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.names(), [living]);
}

/// Links between servers do not lead through Toxiproxy.
#[test]
fn servers_are_cut_from_each_other_as_ever() {
    let place = ["--backend", "local"];
    let args = ["--nemesis", "partition-server", "--on", "redis-sentinel"];
    let server = StandIn::start(Trick::None);
    let short = ["--time-limit", "8s", "--ttl", "1s"];
    let (output, folder) = run(&server.links(), &[&args[..], &short, &place].concat());
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{why}");
    let effects = effects(&folder);
    let between = "bytes and connections held between servers";
    assert!(effects.iter().any(|(what, amount)| what == between && *amount > 0), "{effects:?}");
    assert!(effects.iter().all(|(what, _)| what == between), "{effects:?}");
    assert!(server.asked().is_empty() && server.names().is_empty());
}

#[test]
fn a_script_may_cut_links_between_servers_and_no_others() {
    for (links, code, wanted) in [
        ("[\"server-0\", \"server-1\"]", 255, "Connection refused"),
        ("[\"server-0\", \"server-1\"], [\"client-0\", \"server-0\"]", 254, "cut a link as"),
    ] {
        let folder = TempDir::new().expect("a folder");
        let (path, lasts) = (folder.path().join("cut.toml"), "at = \"1s\"\nlasts = \"1s\"");
        let text = format!("[[fault]]\naction = \"cut\"\nlinks = [{links}]\n{lasts}\n");
        std::fs::write(&path, text).expect("it is written");
        let script = path.display().to_string();
        let args = ["--script", &script, "--on", "redis-sentinel", "--backend", "local"];
        let (output, _folder) = run("toxiproxy=http://127.0.0.1:1", &args);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains(wanted), "{links}: {why}");
        assert_eq!(output.status.code(), Some(code), "{why}");
    }
}

/// Nobody is at this address: what is refused before anything starts is never asked for there.
#[test]
fn what_toxiproxy_cannot_do_is_refused_by_name() {
    let nobody = "toxiproxy=http://127.0.0.1:1";
    for (links, args, code, wanted) in [
        (nobody, &["--nemesis", "partition-client", "--backend", "local"][..], 254, "cut a link"),
        // There is one server, which has no peers to be cut from.
        (nobody, &["--nemesis", "partition-server", "--backend", "local"], 254, "cut a link as"),
        (
            nobody,
            &["--nemesis", "partition-halves", "--on", "redis-sentinel", "--backend", "local"],
            254,
            "cut a link as",
        ),
        (
            nobody,
            &["--nemesis", "failover", "--on", "redis-sentinel", "--backend", "local"],
            255,
            "Connection refused",
        ),
        (nobody, &["--nemesis", "link-refuse", "--backend", "local"], 254, "refuse a connection"),
        (nobody, &["--nemesis", "link-lose-reply", "--backend", "local"], 254, "exactly one reply"),
        (nobody, &["--nemesis", "link", "--backend", "local"], 254, "leave --links out"),
        (nobody, &["--nemesis", "link-slow"], 254, "give --backend local"),
        (nobody, &["--nemesis", "link-slow", "--backend", "sim"], 254, "give --backend local"),
        (nobody, &["--nemesis", "link-slow", "--backend", "local"], 255, "Connection refused"),
        (
            nobody,
            &["--nemesis", "link-throttle", "--ttl", "4s", "--backend", "local"],
            254,
            "give --fault-scale 1s",
        ),
        ("toxiproxy=nonsense", &["--backend", "local"], 254, "toxiproxy=http://127.0.0.1:8474"),
        ("toxiproxy=http://10.0.0.1:8474", &["--backend", "local"], 254, "on another machine"),
    ] {
        let (output, _folder) = run(links, args);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains(wanted), "{links} {args:?}: {why}");
        assert_eq!(output.status.code(), Some(code), "{why}");
    }
}
