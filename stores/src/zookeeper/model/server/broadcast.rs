//! Broadcasting: a leader puts everybody's requests in one order, and commits each when a majority
//! has logged it.

use super::{Outgoing, Server, ServerRole, ToFollower, ToLeader, Transaction, to_follower};
use base::Mono;
use std::collections::BTreeSet;

/// A sync that waits for the commit of what was proposed before it.
#[derive(Debug)]
pub(super) struct PendingSync {
    after: i64,
    from: u32,
    session: i64,
    xid: u64,
}

impl Server {
    /// Decides on what a client of `from` wants; `from` may be this server itself.
    pub(super) fn decide(&mut self, at: Mono, from: u32, request: ToLeader, out: &mut Outgoing) {
        let ServerRole::Leading(leading) = &mut self.role else { return };
        match request {
            ToLeader::Forward(Transaction::CreateSession { session, timeout }) => {
                leading.sessions.add(at, session, timeout, Some(from));
                self.propose(at, Transaction::CreateSession { session, timeout }, out);
            }
            ToLeader::Forward(transaction) => {
                let session = transaction.session();
                if !leading.sessions.admits(session, from) {
                    self.answer(at, from, ToFollower::Disown { session }, out);
                } else if matches!(transaction, Transaction::CloseSession { .. }) {
                    self.end_session(at, session, out);
                } else {
                    self.propose(at, transaction, out);
                }
            }
            ToLeader::Sync { session, xid } => {
                let after = leading.last;
                if leading.acks.is_empty() {
                    self.answer(at, from, ToFollower::Synced { session, xid }, out);
                } else {
                    leading.syncs.push_back(PendingSync { after, from, session, xid });
                }
            }
            ToLeader::Revalidate { session } => {
                let timeout = leading.sessions.move_to(at, session, from);
                self.answer(at, from, ToFollower::Revalidated { session, timeout }, out);
            }
            // The others are about the connection, not about a client.
            _ => {}
        }
    }

    pub(super) fn end_session(&mut self, at: Mono, session: i64, out: &mut Outgoing) {
        let ServerRole::Leading(leading) = &mut self.role else { return };
        if leading.sessions.close(session) {
            self.propose(at, Transaction::CloseSession { session }, out);
        }
    }

    /// Numbers a transaction, logs it and sends it to the followers.
    fn propose(&mut self, at: Mono, transaction: Transaction, out: &mut Outgoing) {
        let me = self.me;
        let ServerRole::Leading(leading) = &mut self.role else { return };
        leading.last += 1;
        let zxid = leading.last;
        leading.acks.insert(zxid, BTreeSet::from([me]));
        self.disk.log.push_back((zxid, transaction.clone()));
        for (id, learner) in &leading.learners {
            let propose = ToFollower::Propose { zxid, transaction: transaction.clone() };
            to_follower(out, *id, learner.join, propose);
        }
        self.commit(at, out);
    }

    pub(super) fn on_ack(&mut self, at: Mono, from: u32, zxid: i64, out: &mut Outgoing) {
        let ServerRole::Leading(leading) = &mut self.role else { return };
        if let Some(acks) = leading.acks.get_mut(&zxid) {
            acks.insert(from);
            self.commit(at, out);
        }
    }

    /// Commits, in order, what a majority has logged.
    fn commit(&mut self, at: Mono, out: &mut Outgoing) {
        let majority = self.majority();
        loop {
            let ServerRole::Leading(leading) = &mut self.role else { return };
            let Some(first) = leading.acks.first_entry().filter(|a| a.get().len() >= majority)
            else {
                return;
            };
            let zxid = *first.key();
            first.remove();
            for (id, learner) in &leading.learners {
                to_follower(out, *id, learner.join, ToFollower::Commit { zxid });
            }
            self.apply_next(at, out);
            self.release_syncs(at, zxid, out);
        }
    }

    fn release_syncs(&mut self, at: Mono, zxid: i64, out: &mut Outgoing) {
        loop {
            let ServerRole::Leading(leading) = &mut self.role else { return };
            if leading.syncs.front().is_none_or(|sync| sync.after > zxid) {
                return;
            }
            let Some(sync) = leading.syncs.pop_front() else { return };
            let synced = ToFollower::Synced { session: sync.session, xid: sync.xid };
            self.answer(at, sync.from, synced, out);
        }
    }

    /// Answers the server whose client asked, which may be this one.
    fn answer(&mut self, at: Mono, to: u32, message: ToFollower, out: &mut Outgoing) {
        if to == self.me {
            return self.on_answer(at, message, out);
        }
        if let ServerRole::Leading(leading) = &self.role {
            leading.tell(to, message, out);
        }
    }
}
