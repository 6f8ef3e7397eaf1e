//! Clients that are led to the right server by others, Sentinels or the servers of a Cluster:
//! nothing that they say goes around their links. Nothing is skipped: where there is no
//! `redis-server`, this fails.

use base::{
    Acquire, Action, Backend, ClientReply, ClientRequest, Command, Data, Direction, Fault, Mode,
    Node, Notice, Passing, ProgramCommand,
};
use local::LocalServers;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;
use stores::{StoreId, WorldSpec};
use testbed::RealBackend;

const LIMIT: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(2);
/// Longer than a call may take, shorter than a failover.
const PATIENCE: Duration = Duration::from_millis(600);
/// Enough for each of three primaries to have some.
const KEYS: u32 = 12;

type Servers = RealBackend<LocalServers>;

/// One client at servers of this topology.
fn start(topology: &str) -> Servers {
    let program = env!("CARGO_BIN_EXE_picklock");
    let client = ProgramCommand::new(program, vec!["client".into()]);
    let topology = StoreId::topology(topology).expect("it is in the list");
    let spec = WorldSpec::new(StoreId::Redis, topology, "redis-set-nx-px", TTL);
    let spec = WorldSpec { call_timeout: Duration::from_millis(250), ..spec };
    let mut backend = RealBackend::start_with(&spec, client, &|_| ()).expect("servers");
    backend.spawn(0, 0).expect("a client");
    assert!(matches!(answer(&mut backend, 0), ClientReply::Ok { .. }));
    backend
}

/// Lets the world run until something happens that is looked for.
fn until<T>(backend: &mut Servers, look: impl Fn(&Notice) -> Option<T>) -> T {
    let limit = backend.now() + LIMIT;
    while backend.now() < limit {
        let mut inbox = Vec::new();
        backend.advance(limit, Passing::Awaited, &mut inbox).expect("it runs");
        if let Some(found) = inbox.iter().find_map(|message| look(&message.notice)) {
            return found;
        }
    }
    panic!("it did not happen within {LIMIT:?}");
}

fn answer(backend: &mut Servers, request: u64) -> ClientReply {
    until(backend, |notice| match notice {
        Notice::Client { response, .. } if response.id == Some(request) => {
            Some(response.reply.clone())
        }
        _ => None,
    })
}

/// The conversation with the client, of which each round has keys of its own.
struct Talk {
    backend: Servers,
    requests: u64,
    rounds: u32,
}

impl Talk {
    fn ask(&mut self, command: Command) -> ClientReply {
        self.requests += 1;
        let request = ClientRequest { id: self.requests, worker: 0, command };
        self.backend.send(0, request);
        answer(&mut self.backend, self.requests)
    }

    /// The keys of a round that the client can lock.
    fn lockable(&mut self) -> BTreeSet<u32> {
        self.rounds += 1;
        let mut lockable = BTreeSet::new();
        for number in 0..KEYS {
            // What ended in doubt stays taken, so that no key is asked for twice.
            let key = format!("round-{}-key-{number}", self.rounds).as_str().into();
            let acquire_timeout_ns = PATIENCE.as_nanos() as u64;
            let mode = Mode::Exclusive;
            let wanted = Acquire { key, hold: 0, mode, permits: 1, acquire_timeout_ns };
            if let ClientReply::Ok { .. } = self.ask(Command::Acquire(Box::new(wanted))) {
                lockable.insert(number);
                self.ask(Command::Release { hold: 0 });
            }
            assert_within_links();
        }
        lockable
    }

    /// Returns true if the client can lock all keys. On a busy machine a call may be late, but
    /// hardly three times in a row.
    fn reaches_all(&mut self) -> bool {
        (0..3).any(|_| self.lockable().len() as u32 == KEYS)
    }

    /// Does a fault, has something done while it is in force, and heals it.
    fn suffer<T>(&mut self, fault: &Fault, meanwhile: impl FnOnce(&mut Self) -> T) -> T {
        self.backend.inject(1, fault).expect("it can be done");
        let injected = |notice: &Notice| matches!(notice, Notice::Injected { id: 1 }).then_some(());
        until(&mut self.backend, injected);
        let done = meanwhile(self);
        self.backend.heal(1, fault).expect("it is in force");
        until(&mut self.backend, |notice| matches!(notice, Notice::Healed { .. }).then_some(()));
        done
    }
}

/// The sockets that a process has open, by their numbers in the kernel.
fn sockets(process: &str) -> BTreeSet<String> {
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    let number = |link: std::path::PathBuf| {
        let link = link.to_string_lossy();
        Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    links.filter_map(number).collect()
}

/// The client processes that this one has started.
fn clients() -> Vec<String> {
    let children = std::process::Command::new("pgrep")
        .args(["-P", &std::process::id().to_string(), "-f", "picklock client"])
        .output()
        .expect("pgrep is there");
    String::from_utf8_lossy(&children.stdout).lines().map(String::from).collect()
}

/// Checks that every connection of the client leads to a port that this process listens on: a link.
fn assert_within_links() {
    let table = fs::read_to_string("/proc/net/tcp").expect("the kernel tells");
    let rows: Vec<Vec<&str>> =
        table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let (own, listening) = (sockets("self"), "0A");
    let links: BTreeSet<&str> = rows
        .iter()
        .filter(|row| row[3] == listening && own.contains(row[9]))
        .map(|row| row[1])
        .collect();
    let mut seen = 0;
    for client in clients() {
        let theirs = sockets(&client);
        for row in rows.iter().filter(|row| theirs.contains(row[9])) {
            assert!(links.contains(row[2]), "{} leads around the links {links:?}", row[2]);
            seen += 1;
        }
    }
    assert!(seen > 0, "the client has no connection");
}

/// The keys that a client that is cut from this server can lock no more.
fn lost_by_cut(talk: &mut Talk, server: u32) -> BTreeSet<u32> {
    let links = vec![(Node::Client(0), Node::Server(server))];
    let cut = Fault::over(links, Action::Cut(Direction::Both));
    let left = talk.suffer(&cut, Talk::lockable);
    (0..KEYS).filter(|key| !left.contains(key)).collect()
}

/// The same for each of these servers.
fn lost_by_cuts(talk: &mut Talk, servers: u32) -> Vec<BTreeSet<u32>> {
    (0..servers).map(|server| lost_by_cut(talk, server)).collect()
}

#[test]
fn a_client_of_sentinels_is_cut_from_the_primary_by_its_own_link_and_by_no_other() {
    let mut talk = Talk { backend: start("redis-sentinel"), requests: 0, rounds: 0 };
    assert!(talk.reaches_all(), "no fault is in force");
    let lost = lost_by_cuts(&mut talk, 6);
    assert_eq!(lost[0].len() as u32, KEYS, "it reaches the primary in another way");
    assert!(lost[1..3].iter().all(BTreeSet::is_empty), "it needs no replica: {lost:?}");
    // A Sentinel that is silent costs a call, and then another one is asked.
    let crash = Fault::at(Node::Server(0), Action::Crash(Data::Kept));
    talk.suffer(&crash, |talk| {
        let begun = talk.backend.now();
        while talk.lockable().is_empty() {
            assert!(talk.backend.now().since(begun) < LIMIT, "no replica was promoted");
        }
    });
}

#[test]
fn a_client_of_a_cluster_is_cut_from_each_share_by_the_link_to_its_primary() {
    let mut talk = Talk { backend: start("redis-cluster"), requests: 0, rounds: 0 };
    assert!(talk.reaches_all(), "no fault is in force");
    // Keys of other rounds are other keys, so that only their number is known.
    let lost = lost_by_cuts(&mut talk, 6);
    assert!(lost[..3].iter().all(|keys| !keys.is_empty()), "{lost:?}");
    assert!(lost[..3].iter().all(|keys| (keys.len() as u32) < KEYS), "{lost:?}");
    // On a busy machine a call may be late without any cut, but hardly beside the same one twice.
    let mut is_needed = |server: &u32| !lost_by_cut(&mut talk, *server).is_empty();
    let mut suspects = (3..6).filter(|server| !lost[*server as usize].is_empty());
    assert_eq!(suspects.find(&mut is_needed), None, "it needs no replica: {lost:?}");
}
