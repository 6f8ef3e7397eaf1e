use super::*;
use expect_test::expect;

fn defined(text: &str) -> Result<TestedLock, ForeignError> {
    read(Path::new("some/my-lock.toml"), text)
}

#[test]
fn a_definition_says_all_about_a_lock() {
    let text = r#"
        command = "python3 lock.py --url {redis_url}"
        on = "redis"
        ttl = "2s"
        promises = ["recovers", "fenced"]
        back-off = "100ms"
        start-up = "2m"
        recovers-within = "5s"
        known = ["double hold by holder-paused"]
        environment = { DEBUG = "1" }
    "#;
    let lock = defined(text).expect("a definition");
    assert_eq!(lock.name(), "my-lock");
    assert_eq!(lock.info.named(), "--lock some/my-lock.toml");
    assert_eq!(lock.info.promises.recovers, Some(3), "lives within five seconds");
    assert!(lock.info.promises.fenced && !lock.info.promises.fifo);
    assert_eq!(lock.info.promises.pace.back_off_ns, 100_000_000);
    assert_eq!(lock.info.known[0].anomaly, "double hold");
    assert_eq!(lock.opener.start_up(), Duration::from_secs(120));
    let command = lock.opener.program().expect("a program");
    assert_eq!(command.args, ["lock.py", "--url", "{redis_url}"]);
    assert_eq!(command.folder.as_deref(), Some(Path::new("some")));
    assert_eq!(command.variables, [("DEBUG".into(), "1".into())]);
}

#[test]
fn a_server_of_ones_own_has_a_command_of_its_own() {
    let text = "command = \"./lock\"\non = \"custom\"\nserver = \"mysqld --port {port}\"";
    let lock = defined(text).expect("a definition");
    let server = lock.opener.server().expect("a server");
    assert_eq!((server.program.to_str(), &*server.args[1]), (Some("mysqld"), "{port}"));
    assert_eq!(server.folder.as_deref(), Some(Path::new("some")));
    assert!(
        defined("command = \"./lock\"\non = \"redis\"")
            .is_ok_and(|it| it.opener.server().is_none())
    );
}

#[test]
fn a_mistake_in_a_definition_is_reported_with_its_place() {
    let wrong = [
        "on = \"redis\"",
        "command = \"x\"\non = \"rediss\"",
        "command = \"x\"\non = \"redis\"\npromises = [\"recover\"]",
        "command = \"x\"\non = \"redis\"\nttl = \"two\"",
        "command = \"'x\"\non = \"redis\"",
        "command = \"x\"\non = \"redis\"\nname = \"../x\"",
        "command = \"x\"\non = \"redis\"\nknown = [\"double hold\"]",
        "command = \"x\"\non = \"redis\"\nport = 1",
        "command = \"x\"\non = \"redis\"\nserver = \"redis-server\"",
        "command = \"x\"\non = \"custom\"\nserver = \"'\"",
        "command = \"x\"\non = \"redis\"\nrecovers-within = \"0s\"",
        "command = \"x\"\non = \"redis\"\nstart-up = \"0s\"",
        "command = \"x\"\non = \"redis\"\npromises = [\"wakes-next\", \"wakes-all\"]",
        "command = \"x\"\non = \"redis\"\n[environment]\n\"LEVEL=debug\" = \"\"",
    ];
    let errors = wrong.map(|text| format!("{}\n", defined(text).err().expect("a mistake")));
    expect![[r#"
        `some/my-lock.toml`, line 1, column 1: missing field `command`
        `some/my-lock.toml`, line 2, column 1: there is no topology `rediss`; did you mean redis, redis-cluster, redis-x5? (`picklock list` shows all)
        `some/my-lock.toml`, line 3, column 1: there is no promise `recover`; did you mean recovers?
        `some/my-lock.toml`, line 3, column 7: expected number at 0; write it as 500ms, 2s or 1m30s
        `some/my-lock.toml`, line 1, column 1: `'x` is no command: give a program with its arguments, as a shell takes them
        `some/my-lock.toml`, line 3, column 1: `../x` is no name of a lock: it has letters, digits, dots, dashes and underscores, begins with a letter or a digit, and has at most 100 of them; give it one with name = "…" in a definition file (docs/own-lock.md)
        `some/my-lock.toml`, line 3, column 1: a known weakness has a cause: write `double hold by …`, such as `double hold by holder-paused`
        `some/my-lock.toml`, line 3, column 1: unknown field `port`, expected one of `name`, `summary`, `command`, `server`, `on`, `ttl`, `permits`, `promises`, `back-off`, `recovers-within`, `start-up`, `environment`, `known`
        `some/my-lock.toml`, line 3, column 1: picklock starts the servers of redis itself: leave `server` out, or write on = "custom"
        `some/my-lock.toml`, line 3, column 1: `'` is no command: give the server with its arguments, as a shell takes them
        `some/my-lock.toml`, line 3, column 1: no lock is free again within 0s of its holder's death: give the longest time that it takes, such as 3s
        `some/my-lock.toml`, line 3, column 1: no program starts within 0s: give the longest time that it takes, such as 2m
        `some/my-lock.toml`, line 3, column 1: `wakes-next` and `wakes-all` cannot both be kept: leave one out
        `some/my-lock.toml`, line 3, column 1: `LEVEL=debug` is no name of a variable: one is not empty, and has neither `=` nor NUL in it
    "#]].assert_eq(&errors.concat());
}
