//! The doors of local servers: none is open to other machines, and none that leads to a shell to
//! other users of this one. The kernel is asked, and not the servers.

use local::LocalServers;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use stores::{StoreId, Topology};
use testbed::{RealServers, owner};

type LocalCluster = RealServers<LocalServers>;

fn start(store: StoreId, topology: &'static Topology) -> LocalCluster {
    let started = RealServers::start(store, topology, Duration::from_secs(4), &|_| ());
    started.unwrap_or_else(|error| panic!("{}: {error}", topology.name))
}

/// This process, and the servers that work in its folders.
fn family() -> impl Iterator<Item = u32> {
    let name = owner::own_name();
    let mine = std::env::temp_dir().join(name.rsplit_once('_').expect("an owner").0);
    let works_there = move |id: &u32| {
        let folder = fs::read_link(format!("/proc/{id}/cwd")).unwrap_or_default();
        folder.to_string_lossy().starts_with(&*mine.to_string_lossy())
    };
    owner::processes().filter(works_there).chain([std::process::id()])
}

/// The sockets that this process and its servers have open, by the number of their inode.
fn sockets() -> BTreeSet<u64> {
    let folders = family().filter_map(|id| fs::read_dir(format!("/proc/{id}/fd")).ok());
    let files = folders.flatten().flatten().filter_map(|file| fs::metadata(file.path()).ok());
    files.map(|file| file.ino()).collect()
}

/// The addresses at which they listen, as the kernel writes them, without their ports.
fn listening() -> Vec<String> {
    let own = sockets();
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|it| fs::read_to_string(it).unwrap_or_default());
    let mut all = Vec::new();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let inode = fields[9].parse().expect("a number");
        if fields[3] == "0A" && own.contains(&inode) {
            all.push(fields[1].split_once(':').expect("a port").0.to_owned());
        }
    }
    all
}

/// Returns true if an address is of this machine only: 127.0.0.0/8 in the order of its bytes, or
/// the same within IPv6.
fn is_loopback(address: &String) -> bool {
    address.ends_with("7F") && (address.len() == 8 || address.contains("FFFF0000"))
        || address == "00000000000000000000000001000000"
}

#[test]
fn local_servers_listen_on_the_loopback_interface_only() {
    for store in StoreId::ALL.iter().copied() {
        for topology in store.topologies() {
            let servers = start(store, topology);
            let all = listening();
            assert!(all.len() >= servers.addresses().len(), "{}: {all:?}", topology.name);
            assert!(all.iter().all(is_loopback), "{}: {all:?}", topology.name);
        }
    }
}

/// Opens a session as the superuser, and returns what the server asks for: 0 is nothing, 10 a
/// proof that one knows the password.
fn asked_by(postgres: SocketAddr) -> u32 {
    let mut stream = TcpStream::connect(postgres).expect("it listens");
    stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").expect("it reads");
    let mut answer = [0; 9];
    stream.read_exact(&mut answer).expect("it answers");
    assert_eq!(answer[0], b'R', "{answer:?}");
    u32::from_be_bytes(answer[5..].try_into().expect("four bytes"))
}

/// Whoever is a superuser of a PostgreSQL runs programs as the user of its server.
#[test]
fn a_local_postgres_asks_for_a_password() {
    let servers = start(StoreId::Postgres, &StoreId::Postgres.topologies()[0]);
    assert_eq!(asked_by(servers.addresses()[0]), 10);
}
