//! The table in the simulator: 1,000 seeds a row. A row that must be violated is found by at least
//! one seed in ten, a row that must hold by no seed at all; the same seed twice gives the same
//! same history both times.
//!
//! `PICKLOCK_SEEDS` sets another number of seeds.

mod rows;

use picklock::simulate;
use rows::{Must, Row, SIMULATED, TABLE};
use std::time::Duration;

const TIME_LIMIT: Duration = Duration::from_secs(30);

fn seeds() -> u64 {
    std::env::var("PICKLOCK_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000)
}

fn rows() -> Vec<&'static Row> {
    TABLE.iter().chain(SIMULATED).collect()
}

/// How many seeds did what the row demands, did not, and could not tell.
#[derive(Default)]
struct Count {
    fits: u64,
    misfits: u64,
    unclear: u64,
    first_misfit: Option<u64>,
}

fn count(row: &Row) -> Count {
    let mut count = Count::default();
    for seed in 0..seeds() {
        let run = simulate::run_twice(&row.setup(seed, TIME_LIMIT));
        let run = run.unwrap_or_else(|error| panic!("{}: {error}", row.name()));
        match row.judge(&run).0 {
            Some(true) => count.fits += 1,
            Some(false) => {
                count.misfits += 1;
                count.first_misfit.get_or_insert(seed);
            }
            None => count.unclear += 1,
        }
    }
    count
}

#[track_caller]
fn check(row: &Row) {
    let Count { fits, misfits, unclear, first_misfit } = count(row);
    let name = row.name();
    println!("{name}: {fits} as demanded, {misfits} not, {unclear} unclear");
    match row.must {
        Must::Hold => {
            assert_eq!(misfits, 0, "{name}: violated, first by seed {first_misfit:?}");
            assert!(unclear * 20 <= seeds(), "{name}: {unclear} seeds could not tell");
        }
        Must::Show(_) | Must::Fence(_) => {
            assert!(fits * 10 >= seeds(), "{name}: caught by {fits} of {} seeds only", seeds());
        }
    }
}

/// Every row is a test of its own, so that they run side by side and fail one by one.
macro_rules! table {
    ($($name:ident: $index:expr,)*) => {
        $(#[test] fn $name() { check(rows()[$index]); })*

        #[test]
        fn every_row_is_tested() {
            assert_eq!([$($index),*].to_vec(), (0..rows().len()).collect::<Vec<_>>());
        }
    };
}

table! {
    redis_setnx_expire_none: 0,
    redis_set_nx_px_none: 1,
    redis_set_nx_px_fenced_none: 2,
    redis_getset_none: 3,
    zk_exclusive_none: 4,
    zk_sequential_none: 5,
    zk_rw_none: 6,
    zk_rw_as_printed_none: 7,
    zk_rw_partition: 8,
    zk_rw_crash: 9,
    zk_sequential_partition: 10,
    zk_sequential_crash: 11,
    redis_set_nx_px_pause: 12,
    redis_set_nx_px_fenced_pause: 13,
    redis_setnx_expire_crash: 14,
    redis_set_nx_px_crash_client: 15,
    redis_set_nx_px_crash_server_lose_data: 16,
    redlock_none: 17,
    redlock_pause: 18,
    redis_set_nx_px_getdel_none: 19,
    redis_timestamp_del_none: 20,
    zk_exclusive_naive_none: 21,
    zk_sequential_naive_none: 22,
    zk_sequential_partition_vault: 23,
    redis_set_nx_px_fenced_partition_vault: 24,
    zk_sequential_vanish_server: 25,
    redis_setnx_none: 26,
    redis_setnx_crash_client: 27,
    redis_set_nx_px_del_pause: 28,
    redis_set_nx_px_fixed_pause: 29,
    redis_set_nx_px_threadid_as_printed_none: 30,
    redis_set_nx_px_lua_as_printed_none: 31,
    redis_lock_class_as_printed_none: 32,
    zk_sequential_herd_none: 33,
    zk_sequential_fenced_none: 34,
    zk_sequential_fenced_pause: 35,
    zk_rw_neighbour_none: 36,
    zk_exclusive_as_printed_none: 37,
    zk_exclusive_as_printed_partition: 38,
    zk_exclusive_as_printed_pause: 39,
    zk_rw_as_printed_partition: 40,
    redis_set_nx_px_getdel_pause: 41,
    zk_exclusive_naive_partition: 42,
    zk_sequential_naive_partition: 43,
    redis_set_nx_px_clock_jump: 44,
    zk_rw_clock: 45,
    redis_set_nx_px_crash_server_lose_second: 46,
    zk_sequential_link: 47,
    redis_set_nx_px_clock_drift: 48,
    zk_sequential_partition_server_with_short_sessions: 49,
    zk_sequential_partition_server_with_long_sessions: 50,
    zk_exclusive_as_printed_link_lose_reply: 51,
    zk_exclusive_partition: 52,
}
