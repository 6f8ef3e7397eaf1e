//! Libraries that people look for by name among the locks of the catalogue.

/// The libraries, each with its adapter's definition file, or its source if it was never run.
const LIBRARIES: &[(&str, &str)] = &[
    ("redis-py", "adapters/python/redis_py.toml"),
    ("kazoo", "adapters/python/kazoo_lock.toml"),
    ("pymemcache", "adapters/python/pymemcache_add.toml"),
    ("psycopg", "adapters/python/psycopg_advisory.toml"),
    ("python-redis-lock", "adapters/python/python_redis_lock.toml"),
    ("pottery", "adapters/python/pottery_redlock.toml"),
    ("portalocker", "adapters/python/portalocker_redis.toml"),
    ("etcd3gw", "adapters/python/etcd3gw_lock.toml"),
    ("tooz", "adapters/python/tooz_redis.toml"),
    ("redlock-py", "adapters/python/redlock_py.toml"),
    ("sherlock", "adapters/python/sherlock_redis.toml"),
    ("huey", "adapters/python/huey_lock.toml"),
    ("aioredlock", "adapters/python/aioredlock.toml"),
    ("pymysqllock", "adapters/python/pymysqllock.toml"),
    ("pals", "adapters/python/pals.toml"),
    ("python-etcd3", "adapters/python/etcd3_lock.toml"),
    ("etcd3", "adapters/python/etcd3_lock.toml"),
    ("redis-cli", "adapters/bash/set_nx_px.toml"),
    ("curator", "adapters/java/curator_mutex.toml"),
    ("zookeeper-recipes-lock", "adapters/java/zookeeper_write_lock.toml"),
    ("etcd-concurrency", "adapters/go/etcd_mutex.toml"),
    ("node-redis", "adapters/node/node_redis.toml"),
    ("redis-rb", "adapters/ruby/redis_rb.toml"),
    ("symfony-lock", "adapters/php/symfony_lock.toml"),
    ("malkusch-lock", "adapters/php/malkusch_lock.toml"),
    ("rslock", "adapters/rust/rslock.toml"),
    ("redlock-rs", "adapters/rust/redlock.toml"),
    ("etcd-client", "adapters/rust/etcd_client.toml"),
    ("redis-lock", "adapters/rust/redis_lock.toml"),
    ("redisson", "adapters/not-run/RedissonLock.java"),
    ("redsync", "adapters/not-run/redsync_mutex.go"),
    ("shedlock", "adapters/not-run/ShedLock.java"),
    ("node-redlock", "adapters/not-run/node_redlock.mjs"),
    ("hazelcast", "adapters/not-run/HazelcastFencedLock.java"),
];

/// Returns the way to test a library that is no lock of the catalogue, as a line; `None` if it is
/// not known either.
pub fn hint(name: &str) -> Option<String> {
    let is_meant = |library: &str| library.eq_ignore_ascii_case(&name.replace('_', "-"));
    let (library, adapter) = LIBRARIES.iter().find(|(library, _)| is_meant(library))?;
    Some(match adapter.starts_with("adapters/not-run/") {
        true => format!(
            "{library} is a library: begin with {adapter}, which was written from its \
             documentation and never run, and test it with --client (docs/own-lock.md)"
        ),
        false => format!(
            "{library} is a library, which an adapter tests: give --lock {adapter} \
             (docs/own-lock.md)"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_adapter_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (library, adapter) in LIBRARIES {
            assert!(root.join(adapter).is_file(), "{library}: {adapter}");
        }
    }
}
