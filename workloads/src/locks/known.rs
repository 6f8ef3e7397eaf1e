//! Causes that are known to break locks: the rows that several locks share.

use base::{Cause, Known, Promises, Wakes};

/// Causes that are known to break a lock in the same way.
#[derive(Clone, Copy)]
pub struct Breaks {
    /// The causes that break the lock.
    pub by: &'static [Cause],
    /// The anomalies that each of them is known to show.
    pub shows: &'static [&'static str],
    /// The reason, in a sentence, with the hazard's number in the catalogue.
    pub why: &'static str,
}

impl Breaks {
    /// Returns its causes and anomalies, each pair by itself, as they are stored with a run.
    pub fn rows(&'static self) -> impl Iterator<Item = Known> {
        let pairs = self.by.iter().flat_map(|by| self.shows.iter().map(move |it| (by, it)));
        pairs.map(|(cause, anomaly)| Known {
            cause: *cause,
            anomaly: (*anomaly).into(),
            why: self.why.into(),
        })
    }
}

/// A row of a lock's list.
pub const fn breaks(
    by: &'static [Cause],
    shows: &'static [&'static str],
    why: &'static str,
) -> Breaks {
    Breaks { by, shows, why }
}

/// The anomalies of two holders at once, where nothing fences writes off.
pub const OVERLAP: &[&str] = &["double hold", "stale write accepted", "lost update"];

/// The anomalies of two holders under a lock that readers hold together.
pub const SHARED_OVERLAP: &[&str] =
    &["double hold", "reader-writer overlap", "stale write accepted", "lost update"];

/// A lock that stays taken.
pub const STUCK: &[&str] = &["deadlock"];

/// A node that its own client does not know stands in the way, also once the client has given up.
pub const ORPHANED: &[&str] = &["deadlock", "phantom holder"];

/// A release that frees another's lock.
pub const FOREIGN_RELEASE: &[&str] = &["foreign release"];

const LATE_WRITE: &[&str] = &["stale write accepted", "lost update"];

/// The reasons of the rows below, for locks whose writes are fenced off or that have readers.
pub mod why {
    pub const PAUSED: &str = "H7: a holder that is paused past its ttl does not know that it ran \
         out; only a fencing token that the resource checks can stop its write";
    pub const STOOD_STILL: &str = "a holder whose clock stands still waits for another lock and does not \
         notice that the ttl of this one ran out";
    pub const LONG_HOLD: &str =
        "H8: the work took longer than the ttl, and nothing told its holder";
    pub const SERVER_CLOCK: &str = "the ttl is kept by the server's wall clock: one that is set \
         ahead, or set right after it stood still, ends it before its time";
    pub const BARE_DEL: &str = "H4: a bare DEL frees whoever holds the lock by then; compare the owner \
         and delete in one script";
    pub const OWN_NODE: &str = "H19: the reply to its own creation was lost, and it waits for its own \
         node as long as its session lives; write the owner's id into the node";
    pub const LEFT_NODE: &str = "a deletion without an answer is not tried again, and the node stands as \
         long as its session lives, which other threads of the client keep alive";
    pub const SESSION_PAUSED: &str = "H25: a holder that is paused past its session does not know \
         that it expired; only a fencing token that the resource checks can stop its write";
    pub const SESSION_FROZEN: &str = "a server whose clocks stand still does not notice that it has \
         lost its quorum and answers pings, and a client whose clocks stand still sends none: the \
         session expires and its owner does not know";
    pub const SHORT_SESSION: &str = "H46: a server that is cut off serves its clients for up to two \
         sync limits, and their sessions had ended before; a session must be 2 x syncLimit x tickTime \
         or longer";
    pub const ABANDONED: &str = "a caller that stops waiting in mid-call leaves its node, which lives for as \
         long as the session of its client";
    pub const SERVER_SILENT: &str = "H46, with two faults: a server that is cut off from the others and \
         is paused before it closes its connections leaves its client to wait for two thirds of a \
         session, and the session ends before; only a fencing token is safe of that";
}

/// A lock whose node names its owner by the session alone.
pub const SHARED_NODE: &[Breaks] = &[breaks(
    &[Cause::SharedIdentity],
    &[
        "double hold",
        "stale write accepted",
        "lost update",
        "foreign release",
        "failed release",
        "release freed nothing",
    ],
    "H40, H32: the session's id says whose client the node is, and not which of its threads or \
         holds: a second one is let in, and the first release frees the lock; give each acquire an \
         id of its own",
)];

/// The ways in which a lock breaks what it does not promise, where a run holds it to that.
pub fn unpromised(promises: &Promises) -> impl Iterator<Item = Known> {
    let all_woken = (promises.wakes == Some(Wakes::All)).then_some(&ALL_WOKEN);
    let one_server = (!promises.available).then_some(&ONE_SERVER);
    let one_hold = (!promises.reentrant).then_some(&ONE_HOLD);
    [all_woken, one_server, one_hold].into_iter().flatten().flat_map(Breaks::rows)
}

const ALL_WOKEN: Breaks = breaks(
    &[Cause::Recipe],
    &["herd"],
    "H21: everybody watches the same node, and each release wakes all of them",
);

const ONE_SERVER: Breaks = breaks(
    &[Cause::OnlyServerDown],
    &["unavailable"],
    "H11: there is no other server that could grant it",
);

const ONE_HOLD: Breaks = breaks(
    &[Cause::Recipe],
    &["self-deadlock"],
    "H32: it does not know its holder, who waits for its own lock",
);

// Locks that run out by time.

pub const PAUSED: Breaks = breaks(&[Cause::HolderPaused], OVERLAP, why::PAUSED);
pub const STOOD_STILL: Breaks = breaks(&[Cause::ClientClock], OVERLAP, why::STOOD_STILL);
pub const LONG_HOLD: Breaks = breaks(&[Cause::LongHold], OVERLAP, why::LONG_HOLD);
pub const SERVER_CLOCK: Breaks = breaks(&[Cause::ServerClock], OVERLAP, why::SERVER_CLOCK);
pub const WIPED: Breaks = breaks(
    &[Cause::ServerForgets],
    OVERLAP,
    "H9: the only copy of the lock was lost with the server's data",
);
pub const PROMOTED: Breaks = breaks(
    &[Cause::ServerForgets],
    OVERLAP,
    "H10: a replica was promoted that had not got the lock",
);

/// Leaves, of two reasons for which servers forget, the one that is true of these: another takes
/// the place of a primary that fails, or none does.
pub fn on_servers(known: &mut Vec<Known>, fail_over: bool) {
    let other = if fail_over { WIPED.why } else { PROMOTED.why };
    known.retain(|known| known.why != other);
}
pub const EVICTED: Breaks = breaks(
    &[Cause::Evicted],
    OVERLAP,
    "H18: a cache evicts what was used least recently when its memory is full, also a lock that has \
     not run out",
);
pub const AHEAD: Breaks = breaks(
    &[Cause::ServerClock],
    STUCK,
    "H45: a lock that is taken while the server's clock is ahead outlives its ttl by as much once \
     the clock is set right",
);

/// The rows of a lock that runs out by time, is on one server, and has no token.
pub const TTL: &[Breaks] =
    &[AHEAD, LONG_HOLD, PAUSED, PROMOTED, SERVER_CLOCK, STOOD_STILL, WIPED, WRITE_DELAYED];

/// The rows of a mutex that lives as long as a session and has no token.
pub const SESSION: &[Breaks] = &in_session(OVERLAP);

/// The same for a lock that readers hold together.
pub const SHARED_SESSION: &[Breaks] = &in_session(SHARED_OVERLAP);

const fn in_session(shows: &'static [&'static str]) -> [Breaks; 6] {
    [
        breaks(&[Cause::HolderPaused], shows, why::SESSION_PAUSED),
        breaks(&[Cause::ClientClock, Cause::ServerClock], shows, why::SESSION_FROZEN),
        breaks(&[Cause::ShortSession], shows, why::SHORT_SESSION),
        breaks(&[Cause::ServerSilent], shows, why::SERVER_SILENT),
        breaks(&[Cause::CallCancelled], STUCK, why::ABANDONED),
        WRITE_DELAYED,
    ]
}

/// The rows, beside these, of a lock that does not stop at *Disconnected*.
pub const DEAF: &[Breaks] = &[
    breaks(
        &[Cause::HolderCutOff],
        OVERLAP,
        "H24: a client that is cut off longer than its session has lost its node and does not \
         notice; it must stop at Disconnected",
    ),
    breaks(
        &[Cause::ServersApart],
        OVERLAP,
        "H24: a client whose servers are gone for longer than its session has lost its node and \
         does not notice; it must stop at Disconnected",
    ),
    breaks(
        &[Cause::ServerForgets],
        OVERLAP,
        "a member that comes back without its data can outvote what was committed: the session and \
         its node are gone, and a client that does not stop at Disconnected believes on",
    ),
];

/// The rows of a lock that runs out by time and whose release frees whoever holds it by then.
pub const fn frees_anybody(why: &'static str) -> [Breaks; 2] {
    const OUTLIVED: &[Cause] = &[
        Cause::HolderPaused,
        Cause::RanOutWhileReleasing,
        Cause::LongHold,
        Cause::ClientClock,
        Cause::ServerClock,
        Cause::ServerForgets,
        Cause::LateRequest,
        Cause::ForeignRelease,
    ];
    [
        breaks(OUTLIVED, FOREIGN_RELEASE, why),
        breaks(&[Cause::LateRequest, Cause::ForeignRelease], OVERLAP, why),
    ]
}

// Every lock whose writes are not fenced off.

pub const WRITE_DELAYED: Breaks = breaks(
    &[Cause::WriteDelayed],
    LATE_WRITE,
    "H47: the write was on its way to the vault while the lock changed hands; only a fencing token \
     that the resource checks can stop it",
);
