//! Leases: the leader alone counts their time, by its own monotonic clock, and keeps them alive.

use super::{Asker, LeaseId, LogCommand, MemberRole, Outgoing, PeerMessage, Server};
use crate::etcd::timing::EXPIRY_CHECK;
use crate::etcd::{Refusal, Reply};
use base::Mono;
use std::time::Duration;

/// The time at which a lease is over that begins now.
pub(super) fn end(now: Mono, ttl: i64) -> Mono {
    now + Duration::from_secs(ttl.unsigned_abs())
}

impl Server {
    /// Asks the leader, if one is known, to keep a lease alive.
    pub(super) fn ask_to_renew(&mut self, asker: Asker, lease: LeaseId, out: &mut Outgoing) {
        match self.leader() {
            Some(leader) if leader == self.me => self.renew_here(asker, lease, out),
            Some(leader) => self.send(leader, PeerMessage::Renew(asker, lease), out),
            None => {}
        }
    }

    /// Keeps a lease alive, if it leads; nothing tells whether it still does. A request
    /// for a lease whose time is over is answered only once that is ended.
    pub(super) fn renew_here(&mut self, asker: Asker, lease: LeaseId, out: &mut Outgoing) {
        let ttl = self.disk.store.ttl(lease);
        let MemberRole::Leader(leading) = &mut self.role else { return };
        if let Some(deadline) = leading.deadlines.get_mut(&lease) {
            if *deadline <= self.now {
                return leading.too_late.push((asker, lease));
            }
            *deadline = end(self.now, ttl);
        }
        self.tell_renewed(asker, Ok(Reply::Leased { ttl }), out);
    }

    fn tell_renewed(&mut self, asker: Asker, result: Result<Reply, Refusal>, out: &mut Outgoing) {
        if asker.server == self.me {
            self.renewed(asker, result, out);
        } else {
            self.send(asker.server, PeerMessage::Renewed(asker, result), out);
        }
    }

    /// The leader has answered.
    pub(super) fn renewed(
        &mut self,
        asker: Asker,
        result: Result<Reply, Refusal>,
        out: &mut Outgoing,
    ) {
        if self.renewals.remove(&asker).is_some() {
            self.reply(asker, result, out);
        }
    }

    /// A lease was made: a leader counts its time.
    pub(super) fn start_lease(&mut self, lease: LeaseId) {
        let end = end(self.now, self.disk.store.ttl(lease));
        if let MemberRole::Leader(leading) = &mut self.role {
            leading.deadlines.insert(lease, end);
        }
    }

    /// Notes the end of a lease, and answers those who waited for it.
    pub(super) fn end_lease(&mut self, lease: LeaseId, out: &mut Outgoing) {
        let MemberRole::Leader(leading) = &mut self.role else { return };
        leading.deadlines.remove(&lease);
        let waiting: Vec<_> = leading.too_late.extract_if(.., |(_, of)| *of == lease).collect();
        for (asker, _) in waiting {
            self.tell_renewed(asker, Ok(Reply::Leased { ttl: 0 }), out);
        }
    }

    /// Ends the leases whose time is over: a command as any other, which a majority has to have.
    pub(super) fn end_leases(&mut self, out: &mut Outgoing) {
        let MemberRole::Leader(leading) = &mut self.role else { return };
        if self.now < leading.expires_at {
            return;
        }
        leading.expires_at = self.now + EXPIRY_CHECK;
        let over = leading.deadlines.iter().filter(|(_, deadline)| **deadline <= self.now);
        for lease in over.map(|(lease, _)| *lease).collect::<Vec<_>>() {
            self.append(LogCommand::Expire(lease), out);
        }
    }
}
