//! The observer of a real PostgreSQL, which reads its answers on the connections of clients.
//!
//! A lock is granted to one session at a time. So where the answer that grants it to a session is
//! there before anything tells that the one before has lost it, that has happened all the same, and
//! is about to show: in an answer to that session, or in its end. The grant waits for that.
//!
//! A grant to a session whose connection was reset does not show; it ends at once. Nor does it show
//! when exactly a session ends: it is over when the server says so (`FATAL`), or when its
//! connection is closed.

use super::model::{LockScope, Lockable, Taken};
use super::wire_connection::{Deed, WireConnection};
use crate::model::{By, Name, Noted, What};
use crate::observation::{
    Observation, ObservedServer, Observer, Passage, ReportSink, ServerReport, Traffic,
};
use crate::real::monotonic_nanos;
use std::collections::{BTreeMap, VecDeque};
use std::future::{pending, ready};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// The way to observe a server.
pub const OBSERVER: Observer =
    Observer { begin: |server| Box::pin(ready(Ok(observe(server)))), reads_traffic: true };

/// The time after which the answers of a server are read.
const ANSWERED: Duration = Duration::from_millis(50);

fn observe(server: ObservedServer) -> Observation {
    let ObservedServer { mut traffic, reports, .. } = server;
    let (settled, is_settled) = watch::channel(true);
    let mut report = SessionReport::new(reports);
    let following = async move {
        while let Some(passed) = traffic.recv().await {
            if report.pass(passed).is_none() {
                return (report.reports)(ServerReport::Incomplete);
            }
            settled.send_replace(report.known.is_empty());
        }
        report.end();
    };
    let catch_up = move || {
        let mut is_settled = is_settled.clone();
        Box::pin(async move {
            sleep(ANSWERED).await;
            if is_settled.wait_for(|it| *it).await.is_err() {
                pending().await
            }
        }) as _
    };
    Observation { following: Box::pin(following), catch_up: Box::new(catch_up) }
}

/// A session: its number, and the port of its client.
type SessionKey = (i64, u16);

/// The reading of what goes over the connections of clients.
struct SessionReport {
    reports: ReportSink,
    /// The connections, by the port of their client, each with the number of its session, if that
    /// is open.
    connections: BTreeMap<u16, (WireConnection, Option<i64>)>,
    /// The number of sessions so far.
    sessions: i64,
    /// The deeds that are not reported yet, each with the time at which it became known, in order.
    known: VecDeque<(u64, SessionKey, Deed)>,
    /// The locks that somebody has, with the ways in which it has each.
    taken: BTreeMap<Lockable, (SessionKey, Taken)>,
}

impl SessionReport {
    fn new(reports: ReportSink) -> Self {
        let (connections, known, taken) = Default::default();
        Self { reports, connections, sessions: 0, known, taken }
    }

    /// Takes what goes over a connection; `None`: it is not what it should be.
    fn pass(&mut self, Traffic { at_ns, caller, passage }: Traffic) -> Option<()> {
        match passage {
            Passage::Request(bytes) => self.connections.entry(caller).or_default().0.ask(&bytes),
            Passage::Reply(bytes) => {
                let Some((connection, _)) = self.connections.get_mut(&caller) else {
                    return Some(());
                };
                let deeds = connection.answer(&bytes)?;
                deeds.into_iter().for_each(|deed| self.learn(at_ns, caller, deed));
            }
            Passage::Closed => {
                self.learn(at_ns, caller, Deed::Ends);
                self.connections.remove(&caller);
            }
        }
        self.report();
        Some(())
    }

    /// A session has done something, unless it is over.
    fn learn(&mut self, at_ns: u64, caller: u16, deed: Deed) {
        let Some((_, open)) = self.connections.get_mut(&caller) else { return };
        if matches!(deed, Deed::Begins) {
            self.sessions += 1;
            *open = Some(self.sessions);
        }
        let Some(session) = *open else { return };
        if matches!(deed, Deed::Ends) {
            *open = None;
        }
        self.known.push_back((at_ns, (session, caller), deed));
    }

    /// Reports what is known, up to a grant of something that another still has.
    fn report(&mut self) {
        while let Some((at_ns, who, deed)) = self.known.pop_front() {
            let Some(owner) = self.owner(&deed).filter(|owner| *owner != who) else {
                self.apply(at_ns, who, deed);
                continue;
            };
            let next = self.known.iter().position(|(_, by, _)| *by == owner);
            let before = next.and_then(|next| self.known.remove(next));
            self.known.push_front((at_ns, who, deed));
            let Some((_, _, before)) = before else { return };
            self.apply(at_ns, owner, before);
        }
    }

    /// The session that has what is taken here.
    fn owner(&self, deed: &Deed) -> Option<SessionKey> {
        match deed {
            Deed::Takes(lock, _) => self.taken.get(lock).map(|(who, _)| *who),
            _ => None,
        }
    }

    fn apply(&mut self, at_ns: u64, who: SessionKey, deed: Deed) {
        let by = By::Session(who.0);
        match deed {
            Deed::Begins => self.tell(at_ns, who, None, What::SessionBegan(who.0)),
            Deed::Takes(lock, scope) => {
                let (_, taken) = self.taken.entry(lock.clone()).or_insert((who, Taken::default()));
                let was_free = taken.is_free();
                taken.take(scope);
                if was_free {
                    self.tell(at_ns, who, Some(&lock), What::Written(by));
                }
            }
            Deed::Gives(lock) => {
                if let Some((_, taken)) = self.taken.get_mut(&lock) {
                    taken.give_back(LockScope::Session);
                }
                self.free(at_ns, who, Taken::is_free, What::Deleted(by));
            }
            Deed::HasNoTransaction => {
                for (_, taken) in self.taken.values_mut().filter(|(owner, _)| *owner == who) {
                    taken.give_back(LockScope::Transaction);
                }
                self.free(at_ns, who, Taken::is_free, What::Deleted(by));
            }
            Deed::Ends => {
                let ended = What::SessionEnded(who.0);
                if self.free(at_ns, who, |_| true, ended) == 0 {
                    self.tell(at_ns, who, None, ended);
                }
            }
        }
    }

    /// Frees some of a session's locks, and returns the number of them.
    fn free(
        &mut self,
        at_ns: u64,
        who: SessionKey,
        which: impl Fn(Taken) -> bool,
        what: What,
    ) -> usize {
        let own = self.taken.iter().filter(|(_, (by, taken))| *by == who && which(*taken));
        let freed: Vec<Lockable> = own.map(|(lock, _)| lock.clone()).collect();
        for lock in &freed {
            self.taken.remove(lock);
            self.tell(at_ns, who, Some(lock), what);
        }
        freed.len()
    }

    fn tell(&self, at_ns: u64, (_, port): SessionKey, lock: Option<&Lockable>, what: What) {
        let object = lock.map(|lock| Name::from_slice(lock.to_string().as_bytes()));
        let noted = Noted { object: object.unwrap_or_default(), what, zxid: None };
        let (caller, at_ns) = (Some(port), Some(at_ns));
        (self.reports)(ServerReport::Change { caller, noted, at_ns, value: 0 });
    }

    /// All sessions that have something have ended: another server is in the place of theirs.
    fn end(&mut self) {
        while let Some((at_ns, _, deed)) = self.known.front()
            && let Some(owner) = self.owner(deed)
        {
            self.apply(*at_ns, owner, Deed::Ends);
            self.report();
        }
        let now_ns = monotonic_nanos();
        while let Some((who, _)) = self.taken.values().next() {
            self.apply(now_ns, *who, Deed::Ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    const LOCK: &str = "> SELECT pg_advisory_lock(hashtextextended('k', 0))";
    const TRY: &str = "> SELECT pg_try_advisory_lock(hashtextextended('k', 0))";
    const UNLOCK: &str = "> SELECT pg_advisory_unlock(hashtextextended('k', 0))";
    const ROW: &str = "> SELECT name FROM locks WHERE name = 'it''s' FOR UPDATE";
    const XACT: &str = "> SELECT pg_advisory_xact_lock(hashtextextended('k', 0))";
    const TRY_XACT: &str = "> SELECT pg_try_advisory_xact_lock(hashtextextended('k', 0))";

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [&[kind], &length[..], body].concat()
    }

    /// Makes of `t I` an answer of one row, after which the session is in no transaction; `-` is
    /// none.
    fn answer(text: &str) -> Vec<u8> {
        let (row, state) = text.split_once(' ').unwrap_or((text, ""));
        let first = match row {
            "-" => message(b'C', b"OK\0"),
            "error" => message(b'E', b"SERROR\0VERROR\0C55P03\0\0"),
            "fatal" => message(b'E', b"SFATAL\0VFATAL\0C25P03\0\0"),
            row => message(b'D', &[b"\0\x01\0\0\0\x01", row.as_bytes()].concat()),
        };
        [first, state.bytes().flat_map(|state| message(b'Z', &[state])).collect()].concat()
    }

    /// Reads what clients and server say, each with the port of the client, and returns what is
    /// reported.
    fn reported(transcript: &[(u16, &str)]) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let hearing = lines.clone();
        let reports: ReportSink = Arc::new(move |report| {
            let ServerReport::Change { noted: Noted { object, what, .. }, at_ns, .. } = report
            else {
                return;
            };
            let (at, object) = (at_ns.unwrap_or(0), String::from_utf8_lossy(&object));
            hearing.lock().expect("nobody panics").push(format!("{at} {what:?} {object}"));
        });
        let mut report = SessionReport::new(reports);
        for (at_ns, (caller, line)) in (0..).zip(transcript) {
            let mut pass = |passage| {
                let passed = Traffic { at_ns, caller: *caller, passage };
                report.pass(passed).expect("as it should be");
            };
            match line.split_once(' ') {
                None if *line == "closes" => pass(Passage::Closed),
                None => {
                    pass(Passage::Request(
                        message(0, b"\0\x03\0\0user\0postgres\0\0")[1..].to_vec(),
                    ));
                    pass(Passage::Reply(answer("- I")));
                }
                Some((">", sql)) => {
                    let bytes = message(b'Q', &[sql.as_bytes(), b"\0"].concat());
                    // In two parts.
                    pass(Passage::Request(bytes[..6].to_vec()));
                    pass(Passage::Request(bytes[6..].to_vec()));
                }
                Some((_, reply)) => pass(Passage::Reply(answer(reply))),
            }
        }
        assert!(report.known.is_empty(), "all is settled");
        std::mem::take(&mut lines.lock().expect("nobody panics"))
    }

    #[test]
    fn a_grant_waits_for_what_has_freed_the_lock() {
        let seen = reported(&[
            (1, "opens"),
            (2, "opens"),
            (1, LOCK),
            (1, "< - I"),
            (2, TRY),
            (2, "< f I"),
            (2, LOCK),
            (1, UNLOCK),
            (2, "< - I"),
            (1, "< t I"),
            (3, "opens"),
            (3, LOCK),
            (3, "< error I"),
            (3, TRY),
            (3, "< t I"),
            (2, "closes"),
            (3, "closes"),
        ]);
        let expected = [
            "0 SessionBegan(1) ",
            "1 SessionBegan(2) ",
            "3 Written(Session(1)) advisory lock k",
            "8 Deleted(Session(1)) advisory lock k",
            "8 Written(Session(2)) advisory lock k",
            "10 SessionBegan(3) ",
            "14 SessionEnded(2) advisory lock k",
            "14 Written(Session(3)) advisory lock k",
            "16 SessionEnded(3) advisory lock k",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn an_advisory_lock_is_free_when_its_session_and_its_transaction_have_given_it_back() {
        let mut transcript = vec![(1, "opens"), (1, LOCK), (1, "< - I"), (1, "> BEGIN")];
        transcript.extend([(1, "< - T"), (1, TRY_XACT), (1, "< t T"), (1, UNLOCK), (1, "< t T")]);
        transcript.extend([(1, "> COMMIT"), (1, "< - I"), (1, XACT), (1, "< - I")]);
        let expected = [
            "0 SessionBegan(1) ",
            "2 Written(Session(1)) advisory lock k",
            "10 Deleted(Session(1)) advisory lock k",
        ];
        assert_eq!(reported(&transcript), expected);
    }

    #[test]
    fn a_row_is_free_when_its_transaction_has_ended_or_failed_or_its_session_has() {
        let mut transcript = vec![(1, "opens")];
        for (sql, reply) in [("> COMMIT", "< - I"), ("> SELECT 1", "< error E"), ("> x", "< fatal")]
        {
            transcript.extend([(1, "> BEGIN"), (1, "< - T"), (1, ROW), (1, "< k T")]);
            transcript.extend([(1, sql), (1, reply)]);
        }
        transcript.extend([(1, "closes"), (2, "opens"), (2, ROW), (2, "< k I"), (2, "closes")]);
        let expected = [
            "0 SessionBegan(1) ",
            "4 Written(Session(1)) row it's",
            "6 Deleted(Session(1)) row it's",
            "10 Written(Session(1)) row it's",
            "12 Deleted(Session(1)) row it's",
            "16 Written(Session(1)) row it's",
            "18 SessionEnded(1) row it's",
            "20 SessionBegan(2) ",
            "23 SessionEnded(2) ",
        ];
        assert_eq!(reported(&transcript), expected);
    }
}
