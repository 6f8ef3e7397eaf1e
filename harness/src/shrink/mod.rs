//! From a schedule that shows an anomaly to the least one that still shows the same: fewer faults,
//! fewer clients, fewer turns, shorter faults and holds, no idle time, plain links and clocks.
//!
//! Each step proposes a smaller schedule, runs it, and keeps it if the anomaly is still there.
//! Pieces are taken out by delta debugging.

mod small;
mod story;

use base::{Action, DeltaDebugger, Direction, Fault, Node, nanos};
use sim::Chances;
use std::time::Duration;
use workloads::TestedLock;

use crate::schedule::{Schedule, Shows};
use crate::simulate;
use small::draw_small;
pub use story::{CounterexampleStory, StoryError, is_small, render_story, story, story_of};

/// Returns true if a schedule shows its anomaly where nothing is exact, too: with the faults at
/// their triggers, over links with delays of their own. Then it most likely does so on real
/// servers.
pub fn is_robust(lock: &TestedLock, schedule: &Schedule) -> bool {
    let shows = |seed: u64| {
        let setup = schedule.loose_setup(lock, seed).ok()?;
        let run = simulate::run(&setup).ok()?;
        Some(schedule.shows.as_ref()?.is_in(&run))
    };
    (0..3).all(|seed| shows(seed) == Some(true))
}

/// A schedule that was shrunk.
#[derive(Debug)]
pub struct Shrunk {
    /// The least schedule that was found.
    pub schedule: Schedule,
    /// The number of schedules that were run to find it.
    pub tried: u64,
    /// The reason why there may be a smaller one; `None` if nothing was left to try.
    pub cut_short: Option<CutShort>,
}

/// The schedule that should be shrunk does not show the anomaly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schedule does not show {anomaly}")]
pub struct NotShown {
    anomaly: String,
}

/// The reason why a shrink ended before there was nothing left to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort {
    /// The caller asked for its end.
    Caller,
    /// It had run as many schedules as may be spent on one.
    Bound,
}

/// The most runs that are spent on one schedule.
const MOST_RUNS: u64 = 6_000;

/// The number of small schedules drawn where taking pieces out does not lead to one.
const MOST_DRAWN: u64 = 10_000;

/// The delay of a message over a fast link, in nanoseconds.
const FAST_LINK: u64 = 300_000;

const MILLI: u64 = 1_000_000;

/// Links that are slow enough for two clients to meet that would miss each other over fast ones.
const SLOW_LINKS: [u64; 3] = [2 * MILLI, 10 * MILLI, 40 * MILLI];

/// The most turns of a schedule that is tried over slow links, too.
const FEW_TURNS: usize = 16;

/// Shrinks a schedule that shows this anomaly. `go_on` is called with the number of schedules tried
/// so far: of small ones that are drawn, and then of those that have less in them. Once it returns
/// false, the least so far is the result; whatever is drawn in vain, pieces are taken out.
///
/// # Errors
/// Fails when the schedule does not show it.
pub fn shrink(
    lock: &TestedLock,
    schedule: &Schedule,
    shows: &Shows,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Shrunk, NotShown> {
    if is_small(lock, schedule) {
        return take_out(lock, schedule, shows, go_on);
    }
    if !is_shown(lock, schedule, shows) {
        return Err(NotShown { anomaly: shows.anomaly.clone() });
    }
    let mut tried = 1;
    let drawn = draw_small(lock, schedule, shows, MOST_DRAWN, &mut || {
        tried += 1;
        go_on(tried)
    });
    let (mut least, mut taken_out): (Option<Shrunk>, u64) = (None, 0);
    for candidate in drawn.iter().chain([schedule]) {
        let shrunk = take_out(lock, candidate, shows, &mut |now| go_on(taken_out + now))?;
        taken_out += shrunk.tried;
        let done = is_small(lock, &shrunk.schedule) || shrunk.cut_short == Some(CutShort::Caller);
        let is_less = |least: &Shrunk| size(&shrunk.schedule) < size(&least.schedule);
        if least.as_ref().is_none_or(is_less) {
            least = Some(shrunk);
        }
        if done {
            break;
        }
    }
    let least = least.expect("there is a candidate");
    Ok(Shrunk { tried: tried + taken_out, ..least })
}

/// Returns true if a schedule shows the anomaly. One that cannot be run shows nothing.
fn is_shown(lock: &TestedLock, schedule: &Schedule, shows: &Shows) -> bool {
    simulate::replay(lock, schedule).is_ok_and(|run| shows.is_in(&run))
}

/// Returns true if a schedule would show the anomaly with more quiet, too.
fn is_lasting(lock: &TestedLock, schedule: &Schedule, shows: &Shows) -> bool {
    schedule.quiet_ns == 0 || is_shown(lock, &schedule.with_more_quiet(), shows)
}

/// Takes out of a schedule what its anomaly does not need.
fn take_out(
    lock: &TestedLock,
    schedule: &Schedule,
    shows: &Shows,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Shrunk, NotShown> {
    let mut shrinker = Shrinker {
        lock,
        best: Schedule { shows: Some(shows.clone()), ..schedule.clone() },
        shows,
        lasting: is_lasting(lock, schedule, shows),
        robust: false,
        tried: 0,
        done: None,
        cut_short: None,
        go_on,
    };
    if !shrinker.still(&shrinker.best.clone()) {
        return Err(NotShown { anomaly: shows.anomaly.clone() });
    }
    let mut least = shrinker.best.clone();
    loop {
        shrinker.round();
        if size(&shrinker.best) >= size(&least) {
            break;
        }
        least = shrinker.best.clone();
    }
    shrinker.best = least;
    shrinker.rounder();
    let Shrinker { best, tried, cut_short, .. } = shrinker;
    Ok(Shrunk { schedule: best, tried, cut_short })
}

struct Shrinker<'a> {
    lock: &'a TestedLock,
    best: Schedule,
    shows: &'a Shows,
    /// The anomaly lasts through more quiet, and has to go on doing so.
    lasting: bool,
    /// The best one shows its anomaly where nothing is exact, too.
    robust: bool,
    tried: u64,
    /// The reason to stop; `None` while there is more to try.
    done: Option<CutShort>,
    /// The same, once there would have been something.
    cut_short: Option<CutShort>,
    go_on: &'a mut dyn FnMut(u64) -> bool,
}

impl Shrinker<'_> {
    fn round(&mut self) {
        self.pin_turns();
        self.less_after();
        self.plain_chance();
        self.fewer_faults();
        self.fewer_turns();
        self.fewer_turns_longer();
        self.fewer_clients();
        self.fewer_links();
        self.fewer_delays();
        self.less_waiting();
        self.shorter();
    }

    /// Gives each turn the time at which it really began, where it waited for the turn before it:
    /// that one can then be taken out without moving it.
    fn pin_turns(&mut self) {
        let Ok((_, played)) = simulate::replay_played(self.lock, &self.best) else { return };
        self.attempt(|s| {
            for (client, turns) in (0..).zip(&mut s.clients) {
                *turns = played.turns_of(client);
            }
        });
    }

    /// Returns true if a schedule still shows the anomaly.
    fn still(&mut self, schedule: &Schedule) -> bool {
        self.tried += 1;
        if !(self.go_on)(self.tried) {
            self.done = Some(CutShort::Caller);
        } else if self.tried >= MOST_RUNS {
            self.done = Some(CutShort::Bound);
        }
        is_shown(self.lock, schedule, self.shows)
            && (!self.lasting || is_lasting(self.lock, schedule, self.shows))
    }

    /// Keeps a changed schedule if it still shows the anomaly.
    fn attempt(&mut self, change: impl FnOnce(&mut Schedule)) -> bool {
        if self.done.is_some() {
            self.cut_short = self.done;
            return false;
        }
        let mut candidate = self.best.clone();
        change(&mut candidate);
        if candidate == self.best || !self.still(&candidate) {
            return false;
        }
        refresh_triggers(self.lock, &mut candidate);
        // What has become robust once stays so.
        let robust = is_robust(self.lock, &candidate);
        let kept = robust || !self.robust;
        if kept {
            self.robust = robust;
            self.best = candidate;
        }
        kept
    }

    /// Keeps a schedule without a piece, if need be over slow links: the piece may have done no
    /// more than to make others meet.
    fn take_out(&mut self, piece: impl Fn(&mut Schedule)) -> bool {
        if self.attempt(&piece) {
            return true;
        }
        let few = self.best.clients.iter().map(Vec::len).sum::<usize>() <= FEW_TURNS;
        few && self.over_slow_links(piece)
    }

    fn over_slow_links(&mut self, change: impl Fn(&mut Schedule)) -> bool {
        SLOW_LINKS.iter().any(|link| {
            self.attempt(|s| {
                change(s);
                s.run.link_delay_ns = 0;
                s.chance = Chances::plain(Duration::from_nanos(*link));
            })
        })
    }

    /// Removes what comes after the anomaly, first of all: every later run is shorter for it.
    fn less_after(&mut self) {
        self.least(MILLI / 100, |s| &mut s.run.time_limit_ns);
        self.least(MILLI / 100, |s| &mut s.quiet_ns);
    }

    /// All that the simulator leaves to chance made plain, at once or one by one.
    fn plain_chance(&mut self) {
        let fast = |s: &mut Schedule| {
            s.run.link_delay_ns = 0;
            s.chance.link_ns = FAST_LINK;
        };
        let link = Duration::from_nanos(self.best.chance.link_ns);
        if self.attempt(|s| s.chance = Chances::plain(link)) {
            self.attempt(fast);
            return;
        }
        if self.over_slow_links(|_| ()) {
            return;
        }
        self.attempt(fast);
        self.attempt(|s| s.chance.delays.clear());
        self.attempt(|s| s.chance.server_skews_ns.clear());
        self.attempt(|s| s.chance.client_skews_ns.clear());
        self.attempt(|s| s.chance.random.clear());
        self.attempt(|s| s.chance.libraries.clear());
    }

    fn fewer_faults(&mut self) {
        self.fewer(|s| s.faults.clone(), |s, faults| s.faults = faults.to_vec());
    }

    fn fewer_turns(&mut self) {
        let all = |s: &Schedule| {
            let clients = s.clients.iter().enumerate();
            clients
                .flat_map(|(client, turns)| turns.iter().map(move |turn| (client, *turn)))
                .collect()
        };
        self.fewer(all, |s, left| {
            s.clients.iter_mut().for_each(Vec::clear);
            left.iter().for_each(|(client, turn)| s.clients[*client].push(*turn));
        });
    }

    /// Removes turn by turn once more, with longer holds: a turn that went before others may only
    /// have made them late enough for a fault to hit them.
    fn fewer_turns_longer(&mut self) {
        // Beyond the longest hold that is drawn a lock may break for another reason.
        let longest = nanos(self.lock.info.longest_hold(self.best.run.ttl()));
        for client in 0..self.best.clients.len() {
            for place in (0..self.best.clients[client].len()).rev() {
                for longer in [500 * MILLI, 3_000 * MILLI] {
                    let taken_out = self.take_out(|s| {
                        s.clients[client].remove(place);
                        for turn in s.clients.iter_mut().flatten() {
                            turn.hold_ns = turn.hold_ns.max((turn.hold_ns + longer).min(longest));
                        }
                    });
                    if taken_out {
                        break;
                    }
                }
            }
        }
    }

    fn fewer_clients(&mut self) {
        for client in (0..self.best.client_count()).rev() {
            if self.best.client_count() > 1 {
                self.take_out(|s| without_client(s, client));
            }
        }
    }

    /// Tries fewer links that are hit, and cuts both ways rather than one.
    fn fewer_links(&mut self) {
        for place in 0..self.best.faults.len() {
            let links = move |s: &Schedule| s.faults[place].fault.links().to_vec();
            self.fewer(links, move |s, left| {
                if let Some(links) = s.faults[place].fault.links_mut()
                    && !left.is_empty()
                {
                    *links = left.to_vec();
                }
            });
            self.attempt(|s| {
                let fault = &mut s.faults[place].fault;
                if let Action::Cut(_) = fault.action() {
                    *fault = Fault::over(fault.links().to_vec(), Action::Cut(Direction::Both));
                }
            });
        }
    }

    /// Removes delays where chance could not be made plain at once: link by link, message by
    /// message.
    fn fewer_delays(&mut self) {
        self.fewer(|s| s.chance.delays.clone(), |s, left| s.chance.delays = left.to_vec());
        for place in 0..self.best.chance.delays.len() {
            let entries = move |s: &Schedule| -> Vec<(u64, u64)> {
                s.chance.delays[place].delays_ns.iter().map(|(n, d)| (*n, *d)).collect()
            };
            self.fewer(entries, move |s, left| {
                s.chance.delays[place].delays_ns = left.iter().copied().collect();
            });
        }
    }

    /// Takes idle time out: everything after a point in time moves to the front.
    fn less_waiting(&mut self) {
        let mut from = 0;
        loop {
            let points = points(&self.best);
            let Some(next) = points.into_iter().find(|at| *at > from) else { break };
            let gap = next - from;
            for part in [1.0, 0.9, 0.75, 0.5, 0.25] {
                let less = (gap as f64 * part) as u64;
                if less >= MILLI / 10 && self.attempt(|s| earlier(s, next, less)) {
                    break;
                }
            }
            let points = points_after(&self.best, from);
            let Some(reached) = points else { break };
            from = reached;
        }
    }

    /// Shorter faults, holds and phases, each as short as it can be.
    fn shorter(&mut self) {
        for place in 0..self.best.faults.len() {
            self.least(MILLI, move |s| &mut s.faults[place].lasts_ns);
        }
        for client in 0..self.best.clients.len() {
            for place in 0..self.best.clients[client].len() {
                self.least(MILLI, move |s| &mut s.clients[client][place].hold_ns);
            }
        }
        self.less_after();
    }

    /// The least value that still does, found by halving: zero, or as close as this.
    fn least(&mut self, close: u64, place: impl Fn(&mut Schedule) -> &mut u64) {
        if self.attempt(|s| *place(s) = 0) {
            return;
        }
        let (mut low, mut high) = (0, *place(&mut self.best.clone()));
        while high - low > close {
            let middle = low + (high - low) / 2;
            match self.attempt(|s| *place(s) = middle) {
                true => high = middle,
                false => low = middle,
            }
        }
    }

    /// Times that a person can read: 4.2 s rather than 4.213 772 s.
    fn rounder(&mut self) {
        for unit in [10 * MILLI, MILLI] {
            self.attempt(|s| times(s).into_iter().for_each(|time| *time = round(*time, unit)));
        }
        for place in 0..times(&mut self.best.clone()).len() {
            for unit in [1_000 * MILLI, 100 * MILLI, 10 * MILLI, MILLI] {
                let value = *times(&mut self.best.clone())[place];
                // Rounding must not undo what made it small.
                let close = value.is_multiple_of(unit) || round(value, unit) - value <= value / 4;
                if close && self.attempt(|s| *times(s)[place] = round(value, unit)) {
                    break;
                }
            }
        }
    }

    /// Delta debugging over the pieces that `get` lists and `set` puts back.
    fn fewer<T: Clone>(
        &mut self,
        get: impl Fn(&Schedule) -> Vec<T>,
        set: impl Fn(&mut Schedule, &[T]),
    ) {
        let mut pieces = DeltaDebugger::new(get(&self.best));
        while let Some(fewer) = pieces.propose() {
            if self.take_out(|s| set(s, &fewer)) {
                pieces.keep(fewer);
            }
        }
    }
}

/// Gives faults the triggers that they have in this very schedule: the lock's life has changed with
/// it.
fn refresh_triggers(lock: &TestedLock, schedule: &mut Schedule) {
    if let Ok((_, again)) = simulate::replay_played(lock, schedule) {
        for (planned, new) in schedule.faults.iter_mut().zip(again.faults) {
            planned.moment = new.moment;
        }
    }
}

/// Returns the size to be made small: pieces before times.
pub fn size(s: &Schedule) -> (usize, usize, usize, usize, u64) {
    let links = s.faults.iter().map(|f| f.fault.nodes().len()).sum::<usize>();
    let delays = s.chance.delays.iter().map(|link| link.delays_ns.len()).sum::<usize>();
    let turns = s.clients.iter().map(Vec::len).sum();
    let times_ms: u64 = times(&mut s.clone()).into_iter().map(|time| *time / MILLI).sum();
    let time = times_ms + (s.run.time_limit_ns + s.quiet_ns) / MILLI;
    (s.faults.len() + links, s.clients.len(), turns, delays, time)
}

/// Every time of a schedule that its story tells of. (Its end is not: rounded, it would let more
/// happen.)
fn times(s: &mut Schedule) -> Vec<&mut u64> {
    let turns =
        s.clients.iter_mut().flatten().flat_map(|turn| [&mut turn.at_ns, &mut turn.hold_ns]);
    let faults = s.faults.iter_mut().flat_map(|f| [&mut f.at_ns, &mut f.lasts_ns]);
    turns.chain(faults).collect()
}

fn round(value: u64, unit: u64) -> u64 {
    value.div_ceil(unit) * unit
}

/// Returns the times at which turns and faults begin, in order.
fn points(s: &Schedule) -> Vec<u64> {
    let turns = s.clients.iter().flatten().map(|turn| turn.at_ns);
    let mut points: Vec<u64> = turns.chain(s.faults.iter().map(|f| f.at_ns)).collect();
    points.sort_unstable();
    points.dedup();
    points
}

fn points_after(s: &Schedule, from: u64) -> Option<u64> {
    points(s).into_iter().find(|at| *at > from)
}

/// Moves what begins at `from` or later to the front.
fn earlier(s: &mut Schedule, from: u64, by: u64) {
    let turns = s.clients.iter_mut().flatten().map(|turn| &mut turn.at_ns);
    for at in turns.chain(s.faults.iter_mut().map(|f| &mut f.at_ns)) {
        if *at >= from {
            *at -= by;
        }
    }
}

/// The same schedule without a client: those behind it move up, and with them all that names them.
fn without_client(s: &mut Schedule, gone: u32) {
    let (clients, each) = (s.client_count(), s.workers_each() as usize);
    let first = gone as usize * each;
    s.clients.drain(first..first + each);
    let is_gone = |node: Node| node == Node::Client(gone);
    let moved = |node: Node| match node {
        Node::Client(client) if client > gone => Node::Client(client - 1),
        node => node,
    };
    s.faults.retain_mut(|planned| {
        if let Some(links) = planned.fault.links_mut() {
            links.retain(|(a, b)| !is_gone(*a) && !is_gone(*b));
            if links.is_empty() {
                return false;
            }
        } else if planned.fault.nodes().into_iter().any(is_gone) {
            return false;
        }
        planned.fault = planned.fault.map(moved);
        true
    });
    s.chance.delays.retain(|link| !is_gone(link.from) && !is_gone(link.to));
    for link in &mut s.chance.delays {
        (link.from, link.to) = (moved(link.from), moved(link.to));
    }
    // A process's number tells its client: client + life × clients.
    let process = |number: u32| {
        let (client, life) = (number % clients, number / clients);
        (client != gone).then(|| client - u32::from(client > gone) + life * (clients - 1))
    };
    fn renumber<T: Clone>(
        map: &std::collections::BTreeMap<u32, T>,
        process: impl Fn(u32) -> Option<u32>,
    ) -> std::collections::BTreeMap<u32, T> {
        map.iter().filter_map(|(n, value)| Some((process(*n)?, value.clone()))).collect()
    }
    s.chance.client_skews_ns = renumber(&s.chance.client_skews_ns, process);
    s.chance.random = renumber(&s.chance.random, process);
    s.chance.libraries = renumber(&s.chance.libraries, process);
}
