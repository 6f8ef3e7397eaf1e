//! `docs/libraries.md`: locks of real libraries, and what the suite shows of each.

use picklock::suite::{Suite, SuiteEntry};
use reports::card::remedy;
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "<!-- Made by `cargo xtask pages`; do not edit. -->

# Locks of real libraries

Each row is an entry of [suites/libraries.toml](../suites/libraries.toml), which runs the library by its
[adapter](../adapters) on real servers. The tests of every change run an eighth of them, in turn; this runs all:

```
picklock suite suites/libraries.toml --backend local
```

To test your own, see [own-lock.md](own-lock.md).

| library | adapter | under | what is seen | what to do |
| --- | --- | --- | --- | --- |
";

const TAIL: &str = "
## Not run here

These adapters were written from the documentation of their libraries, which no package of Debian has, and have never
been run by picklock. Each says so in its first lines.

| library | adapter |
| --- | --- |
| Hazelcast 5, `FencedLock` | [not-run/HazelcastFencedLock.java](../adapters/not-run/HazelcastFencedLock.java) |
| node-redlock 5 | [not-run/node_redlock.mjs](../adapters/not-run/node_redlock.mjs) |
| Redisson, `RLock` | [not-run/RedissonLock.java](../adapters/not-run/RedissonLock.java) |
| redsync 4 | [not-run/redsync_mutex.go](../adapters/not-run/redsync_mutex.go) |
| ShedLock, with Jedis 4 | [not-run/ShedLock.java](../adapters/not-run/ShedLock.java) |
";

/// Returns the page.
///
/// # Panics
/// Panics when the suite has a mistake.
pub fn make(root: &Path) -> String {
    let path = root.join("suites/libraries.toml");
    let text = std::fs::read_to_string(&path).expect("a suite");
    let suite = Suite::read("libraries.toml", &text, &root.join("suites"));
    let suite = suite.unwrap_or_else(|error| panic!("{error}"));
    let mut page = HEAD.to_owned();
    for entry in &suite.entries {
        let lock = &entry.lock.info;
        let adapter = lock.arguments.rsplit("/adapters/").next().unwrap_or_default();
        let link = format!("[{adapter}](../adapters/{adapter})");
        let (nemesis, seen, advice) = (&entry.run.nemesis, &entry.expect, advice(entry));
        writeln!(page, "| {} | {link} | `{nemesis}` | {seen} | {advice} |", lock.summary)
            .expect("a text");
    }
    page + TAIL
}

/// The advice against what an entry shows.
fn advice(entry: &SuiteEntry) -> &'static str {
    let causes = entry.expect.anomalies().filter_map(|(_, anomaly)| anomaly.cause);
    causes.filter_map(remedy).next().unwrap_or_default()
}
