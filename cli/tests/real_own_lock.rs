//! Locks that somebody else wrote, as programs: the client of the README, adapters of libraries,
//! and programs that break the rules of the protocol.

#![expect(clippy::disallowed_methods, reason = "measures how long a run took")]

mod command;

use command::adapters_path;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn picklock(folder: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(args).current_dir(folder.path()).env("PATH", adapters_path()).env("NO_COLOR", "1");
    command.output().expect("it runs")
}

fn text(output: &Output) -> String {
    let all = [output.stdout.as_slice(), b"\n", output.stderr.as_slice()].concat();
    String::from_utf8(all).expect("text")
}

fn adapter(name: &str) -> String {
    root().join("adapters").join(name).display().to_string()
}

/// Returns the first block of Python in a document.
fn python(document: &str) -> String {
    let text = fs::read_to_string(root().join(document)).expect("a document");
    let (_, rest) = text.split_once("```python\n").expect("a block of Python");
    rest.split_once("```").expect("its end").0.into()
}

#[test]
fn the_client_of_the_readme_holds_without_faults() {
    let client = python("README.md");
    assert_eq!(client, python("docs/own-lock.md"), "one client is shown");
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("my_lock.py"), client).expect("written");
    let helper = root().join("adapters/python/picklock.py");
    fs::copy(helper, folder.path().join("picklock.py")).expect("copied");
    let run = ["--client", "python3 my_lock.py", "--on", "redis", "--backend", "local"];
    let checked = picklock(&folder, &[&["client", "check"], &run[..]].concat());
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
    let more = ["--promises", "recovers", "--ttl", "1s", "--time-limit", "4s", "--seed", "1"];
    let held = picklock(&folder, &[&["test"], &run[..], &more].concat());
    assert_eq!(held.status.code(), Some(0), "{}", text(&held));
    let again = "--client 'python3 my_lock.py' --on redis --promises recovers --nemesis none";
    assert!(text(&held).contains(again), "{}", text(&held));
}

/// etcd3's lock waits by tenacity, later versions of which call it in a way that it does not know.
#[test]
fn a_check_finds_a_library_that_does_not_go_with_another() {
    let folder = TempDir::new().expect("a folder");
    let checked = |adapter_file: &str| {
        picklock(&folder, &["client", "check", "--lock", &adapter(adapter_file)])
    };
    let broken = checked("python/etcd3_lock.toml");
    assert_eq!(broken.status.code(), Some(1), "{}", text(&broken));
    let refused = "✗ another client that tries once is refused while it is held: not so, it \
                   answered `acquire` with info (TypeError(";
    assert!(text(&broken).contains(refused), "{}", text(&broken));
    let sound = checked("python/etcd3_lock_tenacity_6.toml");
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound));
}

/// A client that makes no mistake.
const SOUND: &str = include_str!("own_lock/client.py");

/// Mistakes, each a change of the sound client, with the words in which a check names it.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("saying,", "print('Welcome to my lock')\nsaying,", "`Welcome to my lock`"),
    ("flush=True", "flush=answer['id'] == 0", "process 0 buffers its lines"),
    ("id=request[\"id\"]", "id=request['id'] - 1", "answered request 0, and was asked request 1"),
    ("daemon=True).start()", "daemon=True).run()", "it blocks its reader while it waits"),
    (
        "if not connection",
        "return 'STORED'\n    if not connection",
        "no byte came through its links",
    ),
    (
        "saying,",
        "import signal\nsignal.signal(signal.SIGCONT, lambda *_: os._exit(3))\nsaying,",
        "process 1 died",
    ),
    ("kind = \"info\"", "os._exit(4)", "process 0 died"),
    ("return \"fail\"\n        return", "os._exit(5)\n        return", "process 1 died"),
    ("        break\n", "        say(id=request['id'], type='ok')\n", "it answers `exit`"),
];

/// Tries a client in Python.
fn checked(folder: &TempDir, name: &str, client: &str) -> Output {
    let script = folder.path().join(format!("{name}.py"));
    fs::write(&script, client).expect("written");
    let client = format!("python3 {}", script.display());
    picklock(folder, &["client", "check", "--client", &client, "--on", "memcached"])
}

#[test]
fn a_check_names_the_mistake_of_a_client() {
    let folder = TempDir::new().expect("a folder");
    let sound = checked(&folder, "sound", SOUND);
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound));
    std::thread::scope(|scope| {
        for (number, (right, wrong, words)) in MISTAKES.iter().enumerate() {
            let folder = &folder;
            scope.spawn(move || {
                let client = SOUND.replacen(right, wrong, 1);
                assert_ne!(client, SOUND, "{right}");
                let output = checked(folder, &format!("wrong-{number}"), &client);
                let printed = text(&output);
                assert_eq!(output.status.code(), Some(1), "{wrong}: {printed}");
                assert!(printed.contains("✗") && printed.contains(words), "{wrong}: {printed}");
            });
        }
    });
}

/// Nothing else is wrong with a client whose try waits: until a lock of two seconds runs out, or for
/// three and more.
#[test]
fn a_check_lays_a_try_that_waits_to_the_try_alone() {
    let folder = TempDir::new().expect("a folder");
    let ends = "if time.monotonic() >= until";
    for (number, (ttl, more, answer)) in
        [("2", 30, ", with ok. Have it try once"), ("60", 3, ", with fail (")].iter().enumerate()
    {
        let client = SOUND.replace("0 60 1", &format!("0 {ttl} 1"));
        let client = client.replacen(ends, &format!("{ends} + {more}"), 1);
        let output = checked(&folder, &format!("waits-{number}"), &client);
        let printed = text(&output);
        assert_eq!((output.status.code(), printed.matches('✗').count()), (Some(1), 1), "{printed}");
        assert!(printed.contains("✗ it waits for the lock where it is to try once"), "{printed}");
        assert!(printed.contains(answer), "{printed}");
    }
}

#[test]
fn a_check_finds_a_release_that_leaves_the_lock_to_its_ttl() {
    let folder = TempDir::new().expect("a folder");
    let idle = "return \"ok\" if held.pop() else \"fail\"";
    let frees = SOUND.lines().find(|line| line.contains("DELETED")).expect("a release").trim();
    let client = SOUND.replace(frees, idle).replace("0 60 1", "0 3 1");
    let output = checked(&folder, "idle", &client);
    let printed = text(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("✗ its release frees nothing: whoever waited was granted"),
        "{printed}"
    );
}

/// A waiter that asks again only after four seconds is slow, and its lock was free.
#[test]
fn a_check_tells_a_waiter_that_sleeps_from_a_release_that_frees_nothing() {
    let folder = TempDir::new().expect("a folder");
    let output = checked(&folder, "sleeps", &SOUND.replacen("sleep(0.05)", "sleep(4)", 1));
    let printed = text(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(
        printed.contains("later, though it was free before. Say how long a client"),
        "{printed}"
    );
}

/// A memcached, as a server that picklock knows nothing of.
#[test]
fn a_lock_runs_on_a_server_of_ones_own() {
    let folder = TempDir::new().expect("a folder");
    let client = SOUND.replace("MEMCACHED_SERVERS", "SERVER");
    fs::write(folder.path().join("client.py"), client).expect("written");
    let bare = "command = \"python3 client.py\"\non = \"custom\"\n";
    let server = "server = \"memcached -u root -l {host} -p {port}\"\n";
    fs::write(folder.path().join("bare.toml"), bare).expect("written");
    fs::write(folder.path().join("lock.toml"), format!("{bare}{server}")).expect("written");
    let checked = picklock(&folder, &["client", "check", "--lock", "lock.toml"]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
    let test = ["test", "--lock", "lock.toml", "--time-limit", "6s"];
    let run = |more: &[&str]| picklock(&folder, &[&test[..], more].concat());
    // It comes back without what it had in memory.
    let crash = "[[fault]]\naction = \"crash\"\ntarget = \"server-0\"\nwhen = \"working\"\n\
                 lasts = \"100ms\"\n";
    fs::write(folder.path().join("crash.toml"), crash).expect("written");
    let crashed = run(&["--script", "crash.toml", "--hold", "exact:2s"]);
    assert_eq!(crashed.status.code(), Some(1), "{}", text(&crashed));
    assert!(text(&crashed).contains("double hold"), "{}", text(&crashed));
    for (refused, words) in [
        (run(&["--nemesis", "none", "--backend", "docker"]), "no container has it"),
        (
            run(&["--nemesis", "link-lose-reply"]),
            "picklock does not know which bytes of a connection are a call",
        ),
        (picklock(&folder, &["test", "--lock", "bare.toml"]), "give its command with server = "),
    ] {
        assert_eq!(refused.status.code(), Some(254), "{}", text(&refused));
        assert!(text(&refused).contains(words), "{}", text(&refused));
    }
}

#[test]
fn libraries_are_as_the_suite_says() {
    let folder = TempDir::new().expect("a folder");
    let suite = root().join("suites/libraries.toml").display().to_string();
    let eighth = std::env::var("PICKLOCK_EIGHTH").ok().filter(|eighth| eighth != "all");
    let shard = eighth.map_or("1/1".into(), |eighth| format!("{eighth}/8"));
    let run = ["suite", &suite, "--backend", "local", "--retries", "1", "--shard", &shard];
    let output = picklock(&folder, &run);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn a_card_tells_what_a_lock_bears_and_what_not() {
    let folder = TempDir::new().expect("a folder");
    let lock = adapter("bash/set_nx_px.toml");
    // A busy machine needs a lock that lives for longer than the machine may stand still.
    let survey = ["survey", "--lock", &lock, "--nemesis", "none,pause-client", "--ttl", "4s"];
    let more = [
        "--runs",
        "2",
        "--format",
        "json",
        "--html",
        "card.html",
        "--junit",
        "card.xml",
        "--allow-known",
    ];
    let output = picklock(&folder, &[&survey[..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let card: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cell = |row: usize, property: &str| {
        let cells = card["rows"][row]["cells"].as_array().expect("cells");
        let cell = cells.iter().find(|cell| cell["property"] == property).expect("a cell").clone();
        (cell["outcome"].clone(), cell["breaches"][0]["name"].clone())
    };
    assert_eq!(cell(0, "exclusion").0, "held");
    let broken = ("violated".into(), "double hold by holder-paused".into());
    assert_eq!(cell(1, "exclusion"), broken);
    let report = card["rows"][1]["report"].as_str().expect("the first broken run is kept");
    assert!(folder.path().join(report).is_file(), "{report}");
    let page = fs::read_to_string(folder.path().join("card.html")).expect("a page");
    assert!(page.contains("double hold by holder-paused"));
    let junit = fs::read_to_string(folder.path().join("card.xml")).expect("JUnit");
    assert!(junit.contains("tests=\"2\"") && junit.contains("failures=\"0\""), "known: {junit}");
}

/// Answers each request with `ok`.
const OBLIGING: &str =
    r#"ok() { line=${1#*\"id\":}; echo "{\"id\":${line%%,*},\"type\":\"ok\"}"; }"#;

/// Programs that break a rule, each with the words in which picklock says so.
const WRONG: &[(&str, &str)] = &[
    ("echo 'Welcome to my lock'; cat >/dev/null", "`Welcome to my lock`"),
    ("head -c 100000000 /dev/zero | tr '\\0' x; cat >/dev/null", "a line of more than 65536 bytes"),
    ("printf '\\377\\376\\n'; cat >/dev/null", "a line to stdout that is no response"),
    ("echo 'no such server' >&2; exit 3", "exit status: 3); its last words: no such server"),
    (
        "printf 'Error: no redis\\n    at a\\n    at b\\n    at c\\n}\\n' >&2; exit 3",
        "its last words: Error: no redis",
    ),
    ("read -r l; echo '{\"id\":17,\"type\":\"ok\"}'; cat >/dev/null", "answered request 17"),
    ("read -r l; echo '{\"type\":\"ok\"}'; cat >/dev/null", "without the `id` of a request"),
    ("read -r l; ok \"$l\"; read -r l; ok \"$l\"; ok \"$l\"; cat >/dev/null", "answered request"),
    (
        "while read -r l; do case $l in *touch*) ;; *) ok \"$l\" ;; esac; done",
        "has not answered the `touch`",
    ),
];

#[test]
fn a_program_that_breaks_a_rule_ends_the_run_with_a_sentence_about_it() {
    let folder = TempDir::new().expect("a folder");
    for (number, (program, words)) in WRONG.iter().enumerate() {
        let script = folder.path().join(format!("wrong-{number}.sh"));
        fs::write(&script, format!("{OBLIGING}\n{program}\n")).expect("written");
        let client = format!("bash {}", script.display());
        let begun = Instant::now();
        let run = ["test", "--client", &client, "--on", "memcached", "--backend", "local"];
        let output = picklock(&folder, &[&run[..], &["--time-limit", "15s"]].concat());
        let printed = text(&output);
        assert!(matches!(output.status.code(), Some(1 | 2 | 255)), "{program}: {printed}");
        let flat = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{program}: {printed}");
        assert!(begun.elapsed() < Duration::from_secs(40), "{program}");
        assert!(printed.len() < 20_000, "{program}: {} bytes", printed.len());
    }
}

#[test]
fn whatever_a_program_has_started_ends_with_the_run() {
    let folder = TempDir::new().expect("a folder");
    // As many seconds as nobody else sleeps.
    let mark = format!("{}", 200_000 + std::process::id());
    let script = folder.path().join("forks.sh");
    let forks =
        format!("{OBLIGING}\nsetsid sh -c 'sleep {mark} & sleep {mark}' >/dev/null 2>&1 &\n");
    let serves = "while read -r l; do ok \"$l\"; done";
    fs::write(&script, format!("{forks}{serves}\n")).expect("written");
    let client = format!("bash {}", script.display());
    let run = ["test", "--client", &client, "--on", "memcached", "--backend", "local"];
    let faults = ["--nemesis", "crash-client", "--time-limit", "4s", "--seed", "1"];
    picklock(&folder, &[&run[..], &faults].concat());
    let sleeps = |entry: fs::DirEntry| {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|it| it == mark.as_bytes())
    };
    let left = fs::read_dir("/proc").expect("processes").flatten();
    assert_eq!(left.map(sleeps).filter(|it| *it).count(), 0);
}

#[test]
fn what_a_program_cannot_have_is_refused_before_the_run() {
    let folder = TempDir::new().expect("a folder");
    let sentinel =
        [0, 1, 2, 3, 4, 5].map(|it| format!("server-{it}=127.0.0.1:{}", it + 1)).join(",");
    let refused: &[(&[&str], &str)] = &[
        (&["--on", "redis", "--nemesis", "clock-jump-client"], "set the clock of a client"),
        (
            &["--on", "redis-sentinel", "--backend", "docker"],
            "this run needs it: give --backend local",
        ),
        (&["--on", "redis", "--backend", "sim"], "a program runs on real servers only"),
        (&["--on", "redis-sentinel", "--servers", &sentinel], "give --backend local instead"),
        (&["--on", "postgres", "--servers", "server-0=127.0.0.1:1"], "give --backend local"),
        (&["--on", "redis", "--promises", "recover"], "did you mean recovers?"),
        (&["--on", "redis", "--task", "permits"], "give --permits 2 or more, if it has them"),
    ];
    for (args, words) in refused {
        let output = picklock(&folder, &[&["test", "--client", "true"], *args].concat());
        assert_eq!(output.status.code(), Some(254), "{args:?}: {}", text(&output));
        assert!(text(&output).contains(words), "{args:?}: {}", text(&output));
    }
    let definition = "command = \"true\"\non = \"redis\"\n";
    fs::write(folder.path().join("it.toml"), definition).expect("written");
    for (task, words) in [
        ("permits", "give `permits` of 2 or more in its definition file"),
        ("readers", "give `shared` among the promises of its definition file"),
    ] {
        let output = picklock(&folder, &["test", "--lock", "it.toml", "--task", task]);
        assert_eq!(output.status.code(), Some(254), "{}", text(&output));
        assert!(text(&output).contains(words), "{}", text(&output));
    }
    let output = picklock(&folder, &["test", "--algo", "redis-py"]);
    assert_eq!(output.status.code(), Some(254));
    assert!(text(&output).contains("--lock adapters/python/redis_py.toml"), "{}", text(&output));
    assert!(!folder.path().join("store").exists(), "no run was begun");
}
