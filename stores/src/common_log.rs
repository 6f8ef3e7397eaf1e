//! The log that the members of an ensemble share, put together from what each of them has of it and
//! from what their clients have asked for.

use crate::model::{By, Noted, What};
use std::collections::{BTreeMap, BTreeSet};

/// The grain of the times of transactions.
const GRAIN_NS: u64 = 1_000_000;

/// The name of what a request asks for. Others that ask for the same again have the same name.
pub type RequestId = (i64, i64);

/// A transaction, as a member has logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedTransaction {
    /// Its place in the log. The upper half numbers the leaders, under each of whom the lower one
    /// counts from 1.
    pub zxid: i64,
    /// The requests that it can come from, the likeliest first.
    pub requests: Vec<RequestId>,
    /// The time at which it was there, by CLOCK_MONOTONIC, in nanoseconds, as well as is known.
    pub made_ns: u64,
    /// The changes.
    pub noted: Vec<Noted>,
    /// The kind of the changes if no client has asked for them before that time, where it is
    /// another.
    pub unasked: Option<What>,
    /// The member knows that it is committed.
    pub is_committed: bool,
}

/// A transaction that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedTransaction {
    /// The time by CLOCK_MONOTONIC, in nanoseconds: after the request and before the reply, and
    /// after the transaction before it.
    pub at_ns: u64,
    /// The process that asked for it, if one did whose request was seen.
    pub process: Option<u32>,
    /// The changes.
    pub noted: Vec<Noted>,
}

/// A request of a client on its way.
#[derive(Clone, Copy, Debug)]
struct RequestSpan {
    /// Its place among all requests.
    number: usize,
    process: Option<u32>,
    asked_ns: u64,
    answered_ns: Option<u64>,
}

/// The log, in the making.
#[derive(Debug, Default)]
pub struct CommonLog {
    members: usize,
    /// Each transaction, and the members that have had it.
    transactions: BTreeMap<i64, (LoggedTransaction, BTreeSet<u32>)>,
    requests: BTreeMap<RequestId, Vec<RequestSpan>>,
    /// The number of requests.
    count: usize,
    /// Two members have had different transactions at the same place, as only happens after a
    /// majority has lost its data.
    contradicts_itself: bool,
}

impl CommonLog {
    /// The log of so many members.
    pub fn of(members: u32) -> Self {
        Self { members: members as usize, ..Self::default() }
    }

    /// Adds a transaction of a member's log, once or again.
    pub fn add(&mut self, member: u32, transaction: LoggedTransaction) {
        let known = self.transactions.entry(transaction.zxid);
        let (first, members) = known.or_insert_with(|| (transaction.clone(), BTreeSet::new()));
        members.insert(member);
        self.contradicts_itself |=
            (&first.requests, &first.noted) != (&transaction.requests, &transaction.noted);
    }

    /// A process has asked for a transaction at a time.
    pub fn asked(&mut self, request: RequestId, process: Option<u32>, asked_ns: u64) {
        let span = RequestSpan { number: self.count, process, asked_ns, answered_ns: None };
        self.count += 1;
        self.requests.entry(request).or_default().push(span);
    }

    /// A request that was made at this time was answered: what it asked for is done.
    pub fn answered(&mut self, request: RequestId, asked_ns: u64, answered_ns: u64) {
        let mut made = self.requests.get_mut(&request).into_iter().flatten();
        if let Some(span) = made.find(|span| span.asked_ns == asked_ns) {
            span.answered_ns = Some(answered_ns);
        }
    }

    /// A request that was made at this time was refused: nothing comes from it.
    pub fn refused(&mut self, request: RequestId, asked_ns: u64) {
        if let Some(made) = self.requests.get_mut(&request) {
            made.retain(|span| span.asked_ns != asked_ns);
        }
    }

    /// Returns what was committed, in order; `None` if that is not known.
    pub fn applied(self) -> Option<Vec<AppliedTransaction>> {
        let committed = self.committed();
        let follows = |before: i64, next: i64| next == before + 1 || next as u32 == 1;
        let zxids = || committed.iter().map(|transaction| transaction.zxid);
        let is_whole = zxids().zip(zxids().skip(1)).all(|(before, next)| follows(before, next));
        if is_whole && !self.contradicts_itself { self.dated(&committed) } else { None }
    }

    /// The transactions that a majority has had, that a member knows to be committed or whose
    /// client was answered, and those before them under the same leader.
    fn committed(&self) -> Vec<&LoggedTransaction> {
        let (mut last, none) = (BTreeMap::<i64, i64>::new(), BTreeSet::new());
        for (transaction, members) in self.transactions.values() {
            let is_answered =
                || self.span(transaction, &none).is_some_and(|it| it.answered_ns.is_some());
            let is_known = transaction.is_committed || members.len() > self.members / 2;
            if is_known || is_answered() {
                last.insert(transaction.zxid >> 32, transaction.zxid);
            }
        }
        let all = self.transactions.values().map(|(transaction, _)| transaction);
        let is_committed = |zxid: i64| last.get(&(zxid >> 32)).is_some_and(|last| zxid <= *last);
        all.filter(|transaction| is_committed(transaction.zxid)).collect()
    }

    /// The request that a transaction comes from: one that was answered, or else the first. A
    /// client library may count from 1 again on each connection (kazoo does), so that requests far
    /// apart have one name: of those that were answered it is the last before the transaction. It
    /// is none of these, from which others come.
    fn span(
        &self,
        transaction: &LoggedTransaction,
        taken: &BTreeSet<usize>,
    ) -> Option<RequestSpan> {
        let made = transaction.requests.iter().filter_map(|it| self.requests.get(it)).flatten();
        let made = made.filter(|span| !taken.contains(&span.number));
        let is_before = |span: &&RequestSpan| span.asked_ns <= transaction.made_ns;
        // A transaction that is committed when it is reported was asked for before.
        let mut made = made.filter(|span| !transaction.is_committed || is_before(span));
        let first = made.clone().next();
        let answered = made.clone().filter(|span| span.answered_ns.is_some());
        // The time of a transaction is known to the millisecond.
        let in_time = |span: &&RequestSpan| span.asked_ns <= transaction.made_ns + GRAIN_NS;
        let last = answered.filter(in_time).max_by_key(|span| span.asked_ns);
        last.or_else(|| made.find(|span| span.answered_ns.is_some())).or(first).copied()
    }

    /// Finds the time of each transaction: the earliest that it can have been applied at. `None`:
    /// nobody knows whose one is.
    fn dated(&self, committed: &[&LoggedTransaction]) -> Option<Vec<AppliedTransaction>> {
        let (mut at_ns, mut taken) = (0, BTreeSet::new());
        let forward = committed.iter().map(|transaction| {
            let span = self.span(transaction, &taken);
            taken.extend(span.map(|span| span.number));
            at_ns = at_ns.max(transaction.made_ns).max(span.map_or(0, |span| span.asked_ns));
            let (process, mut noted) = (span.and_then(|it| it.process), transaction.noted.clone());
            if let (None, Some(what)) = (span, transaction.unasked) {
                noted.iter_mut().for_each(|noted| noted.what = what);
            }
            let is_somebodys = |it: &Noted| {
                matches!(it.what, What::Written(By::Caller) | What::Deleted(By::Caller))
            };
            let is_known = span.is_some() || !noted.iter().any(is_somebodys);
            let applied = AppliedTransaction { at_ns, process, noted };
            is_known.then_some((applied, span.and_then(|it| it.answered_ns)))
        });
        let mut dated = forward.collect::<Option<Vec<_>>>()?;
        let mut until_ns = u64::MAX;
        for (applied, answered_ns) in dated.iter_mut().rev() {
            until_ns = until_ns.min(answered_ns.unwrap_or(u64::MAX));
            applied.at_ns = applied.at_ns.min(until_ns);
        }
        Some(dated.into_iter().map(|(applied, _)| applied).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    fn logged(zxid: i64, request: Option<RequestId>, made_ns: u64) -> LoggedTransaction {
        let what = What::Written(By::Session(zxid));
        let noted = vec![Noted { object: Name::new(), what, zxid: Some(zxid) }];
        let requests = request.into_iter().collect();
        LoggedTransaction { zxid, requests, made_ns, noted, unasked: None, is_committed: false }
    }

    fn times(log: CommonLog) -> Option<Vec<(u64, Option<u32>)>> {
        let applied = log.applied()?.into_iter();
        Some(applied.map(|applied| (applied.at_ns, applied.process)).collect())
    }

    #[test]
    fn what_a_minority_has_had_counts_only_before_what_a_majority_has() {
        let mut log = CommonLog::of(3);
        let second = 1 << 32;
        for (member, zxid) in [(0, 1), (0, 2), (1, 2), (0, 3), (1, second + 1), (2, second + 1)] {
            log.add(member, logged(zxid, None, zxid as u64));
        }
        log.add(0, logged(1, None, 1));
        assert_eq!(times(log), Some([1, 2, second + 1].map(|at| (at as u64, None)).to_vec()));
    }

    #[test]
    fn a_gap_or_a_contradiction_leaves_nothing_known() {
        let with = |transactions: [LoggedTransaction; 2]| {
            let mut log = CommonLog::of(1);
            transactions.into_iter().for_each(|transaction| log.add(0, transaction));
            times(log)
        };
        assert_eq!(with([logged(1, None, 0), logged(3, None, 0)]), None);
        assert_eq!(with([logged(1, None, 0), logged(1, Some((7, 1)), 0)]), None);
        assert!(with([logged(1, None, 0), logged(2, None, 0)]).is_some());
    }

    #[test]
    fn a_transaction_is_applied_between_its_request_and_its_reply() {
        let mut log = CommonLog::of(3);
        log.asked((7, 1), Some(4), 100);
        log.asked((7, 2), Some(4), 300);
        log.answered((7, 2), 300, 310);
        for (zxid, request, made_ns) in
            [(1, Some((7, 1)), 50), (2, None, 400), (3, Some((7, 2)), 400), (4, None, 350)]
        {
            log.add(0, logged(zxid, request, made_ns));
        }
        // The last one, which no reply confirms, is not known to be committed.
        assert_eq!(times(log), Some(vec![(100, Some(4)), (310, None), (310, Some(4))]));
    }

    #[test]
    fn a_number_that_comes_again_is_that_of_the_last_request() {
        let mut log = CommonLog::of(1);
        let (first, second) = (100, 9_000_000_000);
        for (process, asked_ns) in [(4, first), (5, second)] {
            log.asked((7, 1), Some(process), asked_ns);
            log.answered((7, 1), asked_ns, asked_ns + 10);
        }
        log.add(0, logged(1, Some((7, 1)), first + 5));
        log.add(0, logged(2, Some((7, 1)), second + 5));
        assert_eq!(times(log), Some(vec![(105, Some(4)), (9_000_000_005, Some(5))]));
    }

    #[test]
    fn of_a_request_comes_one_transaction_and_of_no_request_none_that_somebody_made() {
        let deleted = |zxid, made_ns, unasked| {
            let what = What::Deleted(By::Caller);
            let noted = vec![Noted { object: Name::new(), what, zxid: Some(zxid) }];
            let requests = vec![(5, 1)];
            let is_committed = true;
            LoggedTransaction { zxid, requests, made_ns, noted, unasked, is_committed }
        };
        let with = |second| {
            let mut log = CommonLog::of(1);
            log.asked((5, 1), Some(4), 10);
            log.answered((5, 1), 10, 20);
            log.add(0, deleted(1, 15, None));
            log.add(0, second);
            let applied = log.applied()?.into_iter();
            Some(applied.map(|it| (it.process, it.noted[0].what)).collect::<Vec<_>>())
        };
        let (by_client, ended) = (What::Deleted(By::Caller), What::SessionEnded(7));
        let expected = vec![(Some(4), by_client), (None, ended)];
        assert_eq!(with(deleted(2, 30, Some(ended))), Some(expected));
        assert_eq!(with(deleted(2, 30, None)), None);
    }

    #[test]
    fn what_no_client_has_asked_for_before_is_of_another_kind() {
        let (by_client, ended) = (What::Deleted(By::Caller), What::SessionEnded(7));
        let kind = |ask: fn(&mut CommonLog)| {
            let noted = vec![Noted { object: Name::new(), what: by_client, zxid: Some(1) }];
            let requests = vec![(5, 1), (7, 2)];
            let mut log = CommonLog::of(3);
            log.add(
                0,
                LoggedTransaction {
                    zxid: 1,
                    requests,
                    made_ns: 50,
                    noted,
                    unasked: Some(ended),
                    is_committed: true,
                },
            );
            ask(&mut log);
            log.applied().expect("whole")[0].noted[0].what
        };
        assert_eq!(kind(|_| ()), ended);
        assert_eq!(kind(|log| log.asked((7, 2), None, 51)), ended);
        assert_eq!(kind(|log| log.asked((7, 2), None, 49)), by_client);
        let refused = |log: &mut CommonLog| {
            log.asked((7, 2), None, 49);
            log.refused((7, 2), 49);
        };
        assert_eq!(kind(refused), ended);
        let asked_again = |log: &mut CommonLog| {
            log.asked((7, 2), None, 47);
            log.asked((7, 2), None, 49);
            log.answered((7, 2), 49, 60);
            log.refused((7, 2), 47);
        };
        assert_eq!(kind(asked_again), by_client);
    }
}
