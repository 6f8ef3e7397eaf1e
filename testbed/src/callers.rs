//! The clients that call at an address which servers tell of each other, instead of at their own
//! links: each is known by its processes, one of which has the other end.

use super::link_proxy::Entrance;
use super::servers::StartedServer;
use super::tcp_owner::{self, OpenSocket};
use super::testbed::Testbed;
use base::Node;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// The ways into the links of clients, for connections that were accepted elsewhere.
pub trait ClientEntrances: Send + Sync {
    /// Returns the way into the link to a server of the client that has connected from an address
    /// to one of ours; `None` if it is no client, or is gone already.
    fn entrance(&self, server: u32, from: SocketAddr, to: SocketAddr) -> Option<Entrance>;
}

impl<S: StartedServer> ClientEntrances for Testbed<S> {
    fn entrance(&self, server: u32, from: SocketAddr, to: SocketAddr) -> Option<Entrance> {
        let client = caller(tcp_owner::find(from, to)?, &self.client_processes())?;
        self.link_proxy(client, server).map(|link_proxy| link_proxy.entrance())
    }
}

/// Returns the client that has a socket open, of those with these leaders of their processes.
fn caller(socket: OpenSocket, clients: &[(Node, u32)]) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let of_clients = processes.filter_map(|process| {
        let group = group_of(&process)?;
        let (node, _) = clients.iter().find(|(_, leader)| *leader == group)?;
        Some((process, *node))
    });
    let mut owners = of_clients.filter(|(process, _)| socket.is_open_in(process));
    owners.find_map(|(_, node)| match node {
        Node::Client(number) => Some(number),
        _ => None,
    })
}

/// Returns the process group of a process; `None` if it is none, or is gone.
fn group_of(process: &Path) -> Option<u32> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // Behind the name, which may be anything: its state, its parent, its group.
    stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_client_is_known_by_the_group_of_the_process_that_calls() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(to).expect("connected");
        let from = stream.local_addr().expect("an address");
        let socket = tcp_owner::find(from, to).expect("it is open");
        let group = group_of(Path::new("/proc/self")).expect("a group");
        let clients = [(Node::Client(2), 1), (Node::Client(4), group)];
        assert_eq!(caller(socket, &clients), Some(4));
        assert_eq!(caller(socket, &clients[..1]), None);
        assert_eq!(caller(OpenSocket { inode: 0, ..socket }, &clients), None);
    }
}
