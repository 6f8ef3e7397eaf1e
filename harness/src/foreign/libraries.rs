//! Libraries that people look for by name among the locks of the catalogue.

/// The libraries, and where there is an adapter its definition file, or its source if it was never
/// run.
const LIBRARIES: &[(&str, Option<&str>)] = &[
    ("redis-py", Some("adapters/python/redis_py.toml")),
    ("kazoo", Some("adapters/python/kazoo_lock.toml")),
    ("pymemcache", Some("adapters/python/pymemcache_add.toml")),
    ("psycopg", Some("adapters/python/psycopg_advisory.toml")),
    ("python-redis-lock", Some("adapters/python/python_redis_lock.toml")),
    ("pottery", Some("adapters/python/pottery_redlock.toml")),
    ("portalocker", Some("adapters/python/portalocker_redis.toml")),
    ("etcd3gw", Some("adapters/python/etcd3gw_lock.toml")),
    ("tooz", Some("adapters/python/tooz_redis.toml")),
    ("redis-cli", Some("adapters/bash/set_nx_px.toml")),
    ("curator", Some("adapters/java/curator_mutex.toml")),
    ("zookeeper-recipes-lock", Some("adapters/java/zookeeper_write_lock.toml")),
    ("etcd-concurrency", Some("adapters/go/etcd_mutex.toml")),
    ("node-redis", Some("adapters/node/node_redis.toml")),
    ("redis-rb", Some("adapters/ruby/redis_rb.toml")),
    ("symfony-lock", Some("adapters/php/symfony_lock.toml")),
    ("redisson", Some("adapters/not-run/RedissonLock.java")),
    ("redsync", Some("adapters/not-run/redsync_mutex.go")),
    ("shedlock", Some("adapters/not-run/ShedLock.java")),
    ("node-redlock", Some("adapters/not-run/node_redlock.mjs")),
    ("hazelcast", None),
    ("rslock", None),
];

/// Returns the way to test a library that is no lock of the catalogue, as a line; `None` if it is
/// not known either.
pub fn hint(name: &str) -> Option<String> {
    let is_meant = |library: &str| library.eq_ignore_ascii_case(&name.replace('_', "-"));
    let (library, adapter) = LIBRARIES.iter().find(|(library, _)| is_meant(library))?;
    Some(match adapter {
        Some(file) if file.starts_with("adapters/not-run/") => format!(
            "{library} is a library: begin with {file}, which was written from its documentation \
             and never run, and test it with --client (docs/own-lock.md)"
        ),
        Some(file) => format!(
            "{library} is a library, which an adapter tests: give --lock {file} (docs/own-lock.md)"
        ),
        None => format!(
            "{library} is a library: an adapter of some ten lines tests it with --client \
             (docs/own-lock.md)"
        ),
    })
}
