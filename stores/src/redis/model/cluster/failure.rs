//! The detection of failures: a member suspects whoever does not answer, says so to all, and takes
//! him for dead once a majority of the primaries says it, too.

use super::{Bus, BusPayload, GossipEntry};
use crate::model::Out;
use crate::redis::Packet;
use crate::redis::model::keyspace::Millis;

/// The number of time-outs for which a report is good, and after which a primary that answers again
/// is no longer taken for dead though nobody has replaced it.
const VALID: Millis = 2;
const UNDONE: Millis = 2;

/// The lead that a gossip entry may have over the clock of its receiver.
const AHEAD: Millis = 500;

impl Bus {
    /// Suspects whoever has not answered for too long. Returns true if there is another suspect.
    pub(super) fn suspect(&mut self, now: Millis) -> bool {
        let mut found = false;
        for (other, peer) in &mut self.peers {
            let silent = peer.pinged.map_or(0, |pinged| (now - pinged).min(now - peer.heard));
            let is_new = !peer.is_suspected && self.file.members[*other as usize].failed.is_none();
            if silent > self.node_timeout && is_new {
                (peer.is_suspected, found) = (true, true);
            }
        }
        found
    }

    pub(super) fn suspects(&self, server: u32) -> bool {
        self.peers.get(&server).is_some_and(|peer| peer.is_suspected)
    }

    /// Notes that a member has answered a ping.
    pub(super) fn answered(&mut self, now: Millis, from: u32) {
        let Some(peer) = self.peers.get_mut(&from) else { return };
        (peer.ponged, peer.pinged) = (now, None);
        // Each member pings over a connection of its own: that the other one's stands says nothing.
        peer.connected.get_or_insert(now);
        let was_suspected = std::mem::take(&mut peer.is_suspected);
        let has_failed = self.file.members[from as usize].failed;
        if let Some(since) = has_failed
            && (!self.is_owner(from) || now - since > self.node_timeout * UNDONE)
        {
            self.file.members[from as usize].failed = None;
        }
        if was_suspected || has_failed.is_some() {
            self.update_state(now);
        }
    }

    /// Returns the gossip for a member: what this one thinks of the others.
    pub(super) fn gossip(&self, to: u32) -> Vec<GossipEntry> {
        let others = self.peers.iter().filter(|(about, _)| **about != to);
        let entry = |(&about, peer): (&u32, &super::BusPeer)| GossipEntry {
            about,
            is_down: (peer.is_suspected && peer.is_counted)
                || self.file.members[about as usize].failed.is_some(),
            heard: peer.ponged / 1_000,
        };
        others.map(entry).collect()
    }

    /// Listens to what a primary thinks of the others.
    pub(super) fn listen(
        &mut self,
        now: Millis,
        from: u32,
        gossip: &[GossipEntry],
        out: &mut Vec<Out<Packet>>,
    ) {
        for entry in gossip {
            let Some(peer) = self.peers.get_mut(&entry.about) else { continue };
            if entry.is_down {
                peer.reports.insert(from, now);
                self.conclude(now, entry.about, out);
                continue;
            }
            peer.reports.remove(&from);
            // An answer to another is an answer.
            let ponged = entry.heard * 1_000;
            if peer.pinged.is_none() && peer.reports.is_empty() && ponged <= now + AHEAD {
                peer.ponged = peer.ponged.max(ponged);
            }
        }
    }

    /// Takes a suspect for dead if enough primaries find it down, and tells everybody.
    fn conclude(&mut self, now: Millis, server: u32, out: &mut Vec<Out<Packet>>) {
        let majority = self.majority();
        let own = usize::from(self.is_owner(self.number));
        let Some(peer) = self.peers.get_mut(&server) else { return };
        peer.reports.retain(|_, at| now - *at <= self.node_timeout * VALID);
        if peer.is_suspected && peer.reports.len() + own >= majority {
            self.believe_failed(now, server);
            self.broadcast(&BusPayload::Failed(server), out);
        }
    }

    /// Takes a server for dead.
    pub(super) fn believe_failed(&mut self, now: Millis, server: u32) {
        let Some(peer) = self.peers.get_mut(&server) else { return };
        peer.is_suspected = false;
        self.file.members[server as usize].failed.get_or_insert(now);
        self.update_state(now);
    }
}
