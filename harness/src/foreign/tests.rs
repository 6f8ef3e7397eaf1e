use super::*;

#[test]
fn a_program_is_named_after_its_file() {
    let named = |command: &str| {
        let words: Vec<String> = command.split(' ').map(String::from).collect();
        name_of(&ClientCommand::new(&words[0], words[1..].to_vec()))
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
