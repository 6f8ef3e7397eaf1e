//! The clients of a member: their requests, and the answers to them.

use super::{Asker, LogCommand, Outgoing, Server, session_of};
use crate::etcd::{Packet, Refusal, Reply, Request};
use crate::model::{Name, Noted, Out, Peer, What};

impl Server {
    pub(super) fn hear_client(
        &mut self,
        connection: u64,
        id: u64,
        request: Request,
        out: &mut Outgoing,
    ) {
        let asker = Asker { server: self.me, connection, id };
        if self.clients.insert(connection) {
            self.note_session(session_of(&asker));
        }
        match request {
            Request::Watch { key, from, watch } => {
                if self.leader().is_none() {
                    return self.reply(asker, Err(Refusal::NoLeader), out);
                }
                self.reply(asker, Ok(Reply::Watching), out);
                self.watches.set(connection, watch, key, from);
                self.watches.fire(&self.disk.store, out);
            }
            Request::Unwatch { watch } => self.watches.unset(connection, watch),
            Request::LeaseKeepAlive { lease } => {
                self.renewals.insert(asker, lease);
                self.ask_to_renew(asker, lease, out);
            }
            request => {
                if let Request::LeaseGrant { lease, .. } = request {
                    self.note_session(lease);
                }
                self.propose(LogCommand::Request(asker, request), None, out);
            }
        }
    }

    /// A client is gone: what nobody has been asked for yet is not asked for.
    pub(super) fn forget_client(&mut self, connection: u64) {
        self.clients.remove(&connection);
        self.watches.forget(connection);
        self.renewals.retain(|asker, _| asker.connection != connection);
        self.waiting.retain(|command| match command {
            LogCommand::Request(asker, _) => asker.connection != connection,
            LogCommand::Nothing | LogCommand::Expire(_) => true,
        });
    }

    /// Answers a client, if it is still there.
    pub(super) fn reply(
        &mut self,
        asker: Asker,
        result: Result<Reply, Refusal>,
        out: &mut Outgoing,
    ) {
        if self.clients.contains(&asker.connection) {
            let packet = Packet::Reply { id: asker.id, result };
            out.push(Out::Send(Peer::Connection(asker.connection), packet));
        }
    }

    /// Notes that the client that has just asked has this session.
    fn note_session(&mut self, session: i64) {
        let what = What::SessionBegan(session);
        self.journal.push(Noted { object: Name::new(), what, zxid: None });
    }
}
