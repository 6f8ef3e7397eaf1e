//! The cost of a simulated run, in numbers that do not depend on the machine: a guard against slow
//! growth that needs no clock. Memory is flat in the number of runs, and the cost of an event does
//! not grow with the number of clients.

#![expect(unsafe_code, reason = "counts what the allocator is asked for")]

use picklock::scenario::{self, RunCounts};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, live: i64) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    LIVE.set(LIVE.get() + live);
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of one run, and what it came to.
fn run(name: &str, clients: Option<u32>) -> (u64, RunCounts) {
    let mut prepared = scenario::find(name).expect("a scenario").prepare(clients);
    prepared.run(1);
    let before = ALLOCATIONS.get();
    let tally = prepared.run(2);
    (ALLOCATIONS.get() - before, tally)
}

#[test]
fn an_event_costs_few_allocations() {
    for (name, most) in [("redis-set-nx-px", 4.0), ("redlock", 8.0), ("zk-rw", 8.0)] {
        let (allocations, tally) = run(name, None);
        let each = allocations as f64 / tally.events as f64;
        println!("{name}: {each:.2} allocations an event");
        assert!(each < most, "{name}: {each:.2} allocations an event");
    }
}

/// Timers that nobody waits for any more would be events of their own.
#[test]
fn dropped_timers_do_not_happen() {
    let (_, tally) = run("redis-set-nx-px", None);
    let each = tally.events as f64 / tally.operations as f64;
    println!("{each:.2} events an operation");
    assert!(each < 10.0, "{each:.2} events an operation");
}

#[test]
fn the_cost_of_an_event_does_not_grow_with_the_clients() {
    for name in ["redis-set-nx-px", "redlock"] {
        let cost = |clients| {
            let (allocations, tally) = run(name, Some(clients));
            allocations as f64 / tally.events as f64
        };
        let (few, many) = (cost(5), cost(200));
        println!("{name}: {few:.2} with 5 clients, {many:.2} with 200");
        assert!(many < few * 1.5, "{name}: {few:.2} with 5 clients, {many:.2} with 200");
    }
}

/// The garbage of Lua that may wait for its collector, in bytes. A leak of sixty bytes a run is
/// more in the runs between the two counts.
const GARBAGE: i64 = 20_000;

#[test]
fn memory_is_flat_in_the_number_of_runs() {
    for scenario in scenario::SCENARIOS {
        let mut prepared = scenario.prepare(None);
        // Lua collects its garbage from time to time, so the least of many counts.
        let mut least = |seeds: std::ops::Range<u64>| {
            let live = seeds.map(|seed| {
                prepared.run(seed);
                LIVE.get()
            });
            live.min().unwrap_or_default()
        };
        let early = least(0..60);
        least(60..400);
        let late = least(400..460);
        assert!(late <= early + GARBAGE, "{}: {early} bytes live, then {late}", scenario.name);
    }
}
