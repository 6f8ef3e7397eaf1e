//! Locks of somebody else's Rust whose waiters are woken by messages of Redis, as those of Redisson
//! are: a sound one holds, and one that trusts in messages alone does not.

mod woken;

use picklock::Nemesis;
use tempfile::tempdir;
use woken::lab;

#[test]
fn a_lock_whose_waiters_are_woken_by_messages_holds() {
    let nemeses = [Nemesis::CrashClient, Nemesis::Partition, Nemesis::CrashServer];
    lab(true).under(nemeses).schedules(100).assert_held();
}

#[test]
fn a_lock_that_trusts_in_messages_alone_waits_for_a_dead_holder() {
    let kept = tempdir().expect("a folder");
    let lab = lab(false).keeping_in(kept.path()).under([Nemesis::CrashClient]);
    lab.schedules(300).assert_violated("deadlock by client-died");
}
