use super::*;
use expect_test::expect;

#[test]
fn a_program_is_named_after_its_file() {
    let named = |command: &str| {
        let words: Vec<String> = command.split(' ').map(String::from).collect();
        name_of(&ProgramCommand::new(&words[0], words[1..].to_vec()))
    };
    assert_eq!(named("python3 -u adapters/my_lock.py"), "my_lock");
    assert_eq!(named("./target/debug/lock --fast"), "lock");
    assert_eq!(named("java -jar lock.jar"), "lock");
}

#[test]
fn a_library_is_no_lock_of_the_catalogue_and_has_an_adapter() {
    let hints = ["Redis_Py", "redisson", "sherlock"].map(|name| hint(name).expect("a hint"));
    expect![[r#"
        redis-py is a library, which an adapter tests: give --lock adapters/python/redis_py.toml (docs/own-lock.md)
        redisson is a library: begin with adapters/not-run/RedissonLock.java, which was written from its documentation and never run, and test it with --client (docs/own-lock.md)
        sherlock is a library, which an adapter tests: give --lock adapters/python/sherlock_redis.toml (docs/own-lock.md)"#]].assert_eq(&hints.join("\n"));
    assert_eq!(hint("zk-rw"), None);
}

/// Only a hold that outlasts the ttl shows whether its holder stops in time.
#[test]
fn a_lock_that_is_kept_is_held_for_longer_than_its_ttl() {
    let longest_hold = |on: &str, promises| {
        let command = "./lock".into();
        let client = ForeignLock { command, on: on.into(), promises, ..ForeignLock::default() };
        client.tested().expect("a lock").info.longest_hold_permille
    };
    let (mutex, renews) = (Promises::mutex(), Promises::mutex().renews());
    assert_eq!(longest_hold("redis", mutex), BELOW_TTL);
    assert_eq!(longest_hold("redis", renews), BEYOND_SESSION);
    assert_eq!(longest_hold("zookeeper-x3", mutex), BEYOND_SESSION);
}

#[test]
fn promises_that_nobody_can_keep_are_refused() {
    let refused = |on: &str, promises| {
        let command = "./lock".into();
        let client = ForeignLock { command, on: on.into(), promises, ..ForeignLock::default() };
        client.tested().err().map(|it| it.to_string())
    };
    let (available, shared) = (Promises::mutex().available(), Promises::mutex().shared());
    let downgrades = Promises::mutex().downgrades();
    let reasons = [available, shared.permits(2), downgrades]
        .map(|promises| refused("redis", promises).expect("refused"));
    expect![[r#"
        `available` is about a minority of servers, and redis has too few: leave it out, or choose a topology of at least three
        `shared` and several permits cannot both be judged: leave one out
        `downgrades` is about readers: promise `shared` as well"#]].assert_eq(&reasons.join("\n"));
    assert_eq!(refused("redis-x5", available), None);
    assert_eq!(refused("redis", shared), None);
    assert_eq!(refused("redis", downgrades.shared()), None);
}
