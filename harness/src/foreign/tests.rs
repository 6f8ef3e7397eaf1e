use super::*;

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
    assert!(hint("Redis_Py").is_some_and(|it| it.contains("adapters/python/redis_py.toml")));
    let begun = hint("redisson").expect("a hint");
    assert!(begun.contains("adapters/not-run/RedissonLock.java") && begun.contains("--client"));
    assert!(hint("sherlock").is_some_and(|it| it.contains("adapters/python/sherlock_redis.toml")));
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
    assert!(refused("redis", available).is_some_and(|it| it.contains("a minority of servers")));
    assert_eq!(refused("redis-x5", available), None);
    assert!(refused("redis", shared.permits(2)).is_some_and(|it| it.contains("leave one out")));
    assert_eq!(refused("redis", shared), None);
    let downgrades = Promises::mutex().downgrades();
    assert!(refused("redis", downgrades).is_some_and(|it| it.contains("promise `shared`")));
    assert_eq!(refused("redis", downgrades.shared()), None);
}
