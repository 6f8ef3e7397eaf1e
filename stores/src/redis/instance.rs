//! A process of Redis in the simulator, of either kind: one that stores data, or a Sentinel.

use crate::Cluster;
use crate::model::{Clocks, Noted, Out, Peer, ServerModel};
use crate::redis::model::sentinel::Sentinel;
use crate::redis::script::Engine;
use crate::redis::{ClusterTiming, Layout, Packet, SentinelTiming, Server, Shards};
use base::{Data, Mono, ServerStanding};

/// The model of a process of Redis.
#[expect(clippy::large_enum_variant, reason = "behind a box, every packet would take its time")]
pub enum Instance {
    /// It stores data.
    Data(Server),
    /// It watches those that do.
    Sentinel(Box<Sentinel>),
}

impl Instance {
    /// The server of a cluster with this number. All servers of a thread share its script engine.
    pub fn of(cluster: &Cluster, number: u32) -> Self {
        match Self::alike(cluster, number) {
            Self::Data(server) if cluster.permits > 1 => Self::Data(server.telling_members()),
            other => other,
        }
    }

    fn alike(cluster: &Cluster, number: u32) -> Self {
        let engine = Engine::of_this_thread();
        if let Some(shards) = Shards::of(cluster.topology) {
            let timing = ClusterTiming::of(cluster.ttl);
            return Self::Data(Server::clustered(engine, number, shards, timing));
        }
        match Layout::of(cluster.topology) {
            None => Self::Data(Server::new(engine)),
            Some(layout) if layout.is_sentinel(number) => {
                let timing = SentinelTiming::of(cluster.ttl);
                Self::Sentinel(Box::new(Sentinel::new(number, &layout, timing)))
            }
            Some(layout) => Self::Data(Server::member(engine, number, &layout)),
        }
    }
}

impl ServerModel for Instance {
    type Packet = Packet;

    fn is_call(packet: &Packet) -> bool {
        Server::is_call(packet)
    }

    fn receive(&mut self, at: Clocks, from: Peer, packet: Packet, out: &mut Vec<Out<Packet>>) {
        match self {
            Self::Data(server) => server.receive(at, from, packet, out),
            Self::Sentinel(sentinel) => sentinel.receive(at, from, packet, out),
        }
    }

    fn disconnected(&mut self, at: Clocks, connection: u64, out: &mut Vec<Out<Packet>>) {
        if let Self::Data(server) = self {
            server.disconnected(at, connection, out);
        }
    }

    fn tick(&mut self, at: Clocks, out: &mut Vec<Out<Packet>>) -> Option<Mono> {
        match self {
            Self::Data(server) => server.tick(at, out),
            Self::Sentinel(sentinel) => Some(sentinel.tick(at, out)),
        }
    }

    fn hang_up(&self, out: &mut Vec<Out<Packet>>) {
        match self {
            Self::Data(server) => server.hang_up(out),
            Self::Sentinel(sentinel) => sentinel.hang_up(out),
        }
    }

    fn restart(&mut self, at: Clocks, data: Data) {
        match self {
            Self::Data(server) => server.restart(at, data),
            Self::Sentinel(sentinel) => sentinel.restart(),
        }
    }

    fn standing(&self) -> Option<ServerStanding> {
        match self {
            Self::Data(server) if server.follows() => Some(ServerStanding::Follower),
            Self::Data(_) => Some(ServerStanding::Leader),
            Self::Sentinel(_) => None,
        }
    }

    fn take_journal(&mut self, into: &mut Vec<Noted>) {
        if let Self::Data(server) = self {
            server.take_journal(into);
        }
    }

    fn take_appointed(&mut self) -> Option<u32> {
        match self {
            Self::Data(server) => server.take_appointed(),
            Self::Sentinel(sentinel) => sentinel.take_appointed(),
        }
    }

    fn succeeds(&self, before: &Self, into: &mut Vec<Noted>) {
        if let (Self::Data(server), Self::Data(before)) = (self, before) {
            server.succeeds(before, into);
        }
    }
}
