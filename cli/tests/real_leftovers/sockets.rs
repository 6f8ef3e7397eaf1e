//! The ports at which servers listen during a run: none of local ones is open to other machines,
//! and to other users of this one only those of a list; so it is with those of containers. The
//! kernel is asked, and not picklock.

use super::{LIMIT, ended, picklock, place};
use nix::unistd::geteuid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testbed::owner::stat_field;

/// The ports that are open to everybody: the topology, the program, the most such ports of one
/// process, and the reason.
const OPEN: &[(&str, &str, usize, &str)] =
    &[("etcd-x3", "etcd", 2, "etcd asks for passwords by request, and its members for none")];

/// The topologies whose servers have no port at all, but sockets in a folder.
const BEHIND_SOCKETS: &[&str] = &["etcd-x3"];

/// A socket that listens at a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ListeningSocket {
    process: u32,
    program: String,
    /// Its address, as the kernel writes it, without the port.
    address: String,
    port: u16,
}

/// A process and all that have come from it.
fn family(first: u32) -> BTreeSet<u32> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let numbers = all.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let parent = |id: u32| Some((id, stat_field(id, 4)?.parse::<u32>().ok()?));
    let parents: BTreeMap<u32, u32> = numbers.filter_map(parent).collect();
    let mut family = BTreeSet::from([first]);
    loop {
        let of_it = parents.iter().filter(|(_, parent)| family.contains(parent));
        let grown: BTreeSet<u32> = of_it.map(|(id, _)| *id).chain(family.clone()).collect();
        if grown == family {
            return family;
        }
        family = grown;
    }
}

/// The processes that have sockets open, with their programs: of a process and all that have come
/// from it.
fn owners(first: u32) -> BTreeMap<u64, (u32, String)> {
    let mut owners = BTreeMap::new();
    // What it has just forked has its sockets, too, until another program takes its place.
    for process in std::iter::once(first).chain(family(first)) {
        let program = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        for file in files.filter_map(|file| fs::metadata(file.path()).ok()) {
            owners.entry(file.ino()).or_insert((process, program.trim().to_owned()));
        }
    }
    owners
}

/// The sockets at whose ports a process and all that have come from it listen.
fn listeners(first: u32) -> BTreeSet<ListeningSocket> {
    let owners = owners(first);
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|it| fs::read_to_string(it).unwrap_or_default());
    let mut listeners = BTreeSet::new();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let owner = owners.get(&fields[9].parse::<u64>().expect("a number"));
        if let (Some((process, program)), "0A") = (owner, fields[3]) {
            let (address, port) = fields[1].split_once(':').expect("a port");
            let port = u16::from_str_radix(port, 16).expect("a number");
            let (program, address) = (program.clone(), address.to_owned());
            listeners.insert(ListeningSocket { process: *process, program, address, port });
        }
    }
    listeners
}

/// The files of the sockets at which they listen beside these, as another user would name them.
fn files_of_sockets(first: u32) -> BTreeSet<PathBuf> {
    let owners = owners(first);
    let table = fs::read_to_string("/proc/net/unix").expect("the kernel's table");
    let mut files = BTreeSet::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // One that listens, and whose it is.
        let owner = owners.get(&fields[6].parse::<u64>().expect("a number"));
        if let (Some((process, _)), "00010000") = (owner, fields[3]) {
            let name = fields.get(7).expect("a name");
            assert!(!name.starts_with('@'), "{name} is open to everybody");
            let folder = fs::read_link(format!("/proc/{process}/cwd")).expect("it works somewhere");
            files.insert(folder.join(name));
        }
    }
    files
}

/// A shell command of another user.
fn another_user(ask: &str) -> Command {
    let mut other = match geteuid().is_root() {
        true => Command::new("setpriv"),
        false => Command::new("sudo"),
    };
    match geteuid().is_root() {
        true => other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]),
        false => other.args(["-n", "-u", "nobody"]),
    };
    other.args(["timeout", "5", "bash", "-c", ask]);
    other
}

/// A packet by which a member of a ZooKeeper offers or asks for proof, with none in it.
const MEMBER: &[u8] = b"_$5\x01\x35\x01\xed\xcc\0\0\0\0\0\0\0\0";

/// The request with which a client of a ZooKeeper asks for a session.
const SESSION: &[u8] = b"\0\0\0\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07\xd0\0\0\0\0\0\0\0\0\
                         \0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// Its first request within that, for the children of the root.
const CHILDREN: &[u8] = b"\0\0\0\x0e\0\0\0\x01\0\0\0\x08\0\0\0\x01/\0";
/// The answer to that of a server that wants a proof first: an error, -124.
const NOT_PROVEN: &[u8] = b"\0\0\0\x10\0\0\0\x01\0\0\0\0\0\0\0\0\xff\xff\xff\x84";

impl ListeningSocket {
    /// Returns true if its address is of this machine only: 127.0.0.0/8 in the order of its bytes,
    /// or the same within IPv6.
    fn is_loopback(&self) -> bool {
        let address = &self.address;
        address.ends_with("7F") && (address.len() == 8 || address.contains("FFFF0000"))
            || address == "00000000000000000000000001000000"
    }

    /// The address, in the form that a program takes.
    fn host(&self) -> String {
        let bytes = u32::from_str_radix(&self.address[self.address.len() - 8..], 16);
        let bytes = bytes.expect("a number").to_ne_bytes();
        if bytes == [0, 0, 0, 1] {
            "::1".into()
        } else {
            std::net::Ipv4Addr::from(bytes).to_string()
        }
    }

    /// Returns true if a server that is asked for something asks for a password instead.
    fn asks_for_a_password(&self) -> bool {
        let (question, refusal): (&[u8], &[u8]) = match &*self.program {
            "java" => return self.asks_members() || self.asks_clients(),
            "redis-server" => return self.is_not_authenticated() || self.asks_for_a_certificate(),
            "memcached" => (b"version\r\n", b"CLIENT_ERROR unauthenticated"),
            // A session of the superuser, who runs programs as the user of the server. It has to
            // prove that it knows the password.
            "postgres" => {
                (b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0", b"R\0\0\0\x17\0\0\0\x0aSCRAM")
            }
            _ => return false,
        };
        self.refuses(question, refusal)
    }

    /// Returns true if a Redis says that whoever asks has not named the password. It is asked for
    /// nothing that a Sentinel does not know, which it would say first.
    fn is_not_authenticated(&self) -> bool {
        self.refuses(b"PING\r\n", b"-NOAUTH Authentication required.")
    }

    /// Returns true if a server that speaks TLS breaks off with who shows it no certificate, as the
    /// bus of a Redis Cluster does.
    fn asks_for_a_certificate(&self) -> bool {
        let at = format!("{}:{}", self.host(), self.port);
        // A server without TLS may wait for more.
        let asking = Command::new("timeout")
            .args(["5", "openssl", "s_client", "-connect", &at])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut asking = asking.expect("openssl runs");
        // It would hang up first if it had nothing more to read.
        let _input = asking.stdin.take();
        let errors = asking.wait_with_output().expect("it ends").stderr;
        String::from_utf8_lossy(&errors).contains("alert certificate required")
    }

    /// Returns true if a member of a ZooKeeper has another one prove who it is: as a leader, or, in
    /// an election, once that has sent its number.
    fn asks_members(&self) -> bool {
        let questions = [MEMBER.to_vec(), [&[0; 8], MEMBER].concat()];
        questions.iter().any(|question| self.refuses(question, &MEMBER[..12]))
    }

    /// Returns true if a ZooKeeper grants a client a session, and nothing in it without a proof.
    fn asks_clients(&self) -> bool {
        let mut stream = self.asked(&[SESSION, CHILDREN].concat());
        let mut answer = [0; 61];
        stream.read_exact(&mut answer).is_ok() && answer[41..] == *NOT_PROVEN
    }

    /// Returns true if the answer to a question begins so.
    fn refuses(&self, question: &[u8], refusal: &[u8]) -> bool {
        let mut stream = self.asked(question);
        let mut answer = vec![0; refusal.len()];
        stream.read_exact(&mut answer).is_ok() && answer == refusal
    }

    /// A connection over which this was asked.
    fn asked(&self, question: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect((self.host(), self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
        stream.write_all(question).expect("it reads");
        stream
    }

    /// The answer to another user who asks for something.
    fn answer_to_another_user(&self) -> Vec<u8> {
        let (host, port) = (self.host(), self.port);
        let ask = format!("exec 3<>/dev/tcp/{host}/{port} && printf 'PING\\r\\n' >&3; cat <&3");
        let asked = another_user(&ask).output().expect("it runs");
        // It waits for an answer for as long as nobody closes.
        assert_ne!(asked.status.code(), Some(124), "{self:?} is left open");
        asked.stdout
    }
}

/// Starts a run, and waits until its servers listen at as many ports as they will.
fn in_full_swing(
    backend: &str,
    temporary: &Path,
    (topology, algo): (&str, &str),
) -> (Child, BTreeSet<ListeningSocket>) {
    let args =
        ["test", "--algo", algo, "--on", topology, "--backend", backend, "--nemesis", "none"];
    let run = picklock(temporary, &[&args[..], &["--time-limit", "60s"]].concat()).spawn();
    let (run, begun) = (run.expect("it starts"), Instant::now());
    // Clients listen nowhere, and are there once all servers serve.
    let has_clients = || family(run.id()).into_iter().any(is_client);
    while !has_clients() {
        assert!(begun.elapsed() < LIMIT, "{topology}: it has not begun");
        sleep(Duration::from_millis(50));
    }
    let listeners = listeners(run.id());
    (run, listeners)
}

fn is_client(process: u32) -> bool {
    let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).nth(1) == Some(b"client")
}

/// Checks that all listeners of servers ask for a password, but for those of the list.
fn only_known_are_open<'a>(
    topology: &str,
    is_behind_sockets: bool,
    listeners: impl IntoIterator<Item = &'a ListeningSocket>,
) {
    let mut open = BTreeMap::<_, usize>::new();
    for listener in listeners.into_iter().filter(|listener| !listener.asks_for_a_password()) {
        *open.entry((listener.process, &*listener.program)).or_default() += 1;
    }
    let known = OPEN.iter().filter(|(on, ..)| *on == topology && !is_behind_sockets);
    let known: Vec<_> = known.map(|(_, program, most, _)| (*program, *most)).collect();
    for ((_, program), count) in &open {
        let is_known = known.iter().any(|(it, most)| it == program && count <= most);
        assert!(is_known, "{topology}: {program} has {count}");
    }
    assert_eq!(open.is_empty(), known.is_empty(), "{topology}: {known:?}");
}

#[test]
fn local_servers_and_links_are_open_to_nobody_else() {
    for (topology, algo) in super::topologies::LOCKS {
        let (_place, temporary) = place();
        let (mut run, listeners) = in_full_swing("local", &temporary, (topology, algo));
        assert!(listeners.iter().all(ListeningSocket::is_loopback), "{topology}: {listeners:?}");
        let (links, servers): (Vec<_>, Vec<_>) =
            listeners.iter().partition(|listener| listener.process == run.id());
        assert!(!links.is_empty(), "{topology}: {listeners:?}");
        let is_behind_sockets = BEHIND_SOCKETS.contains(&topology);
        assert_eq!(servers.is_empty(), is_behind_sockets, "{topology}: {listeners:?}");
        let files = files_of_sockets(run.id());
        assert!(!is_behind_sockets || files.len() == 6, "{topology}: {files:?}");
        for file in files {
            assert!(file.exists(), "{topology}: {file:?}");
            let found = another_user(&format!("test -e '{}'", file.display())).status();
            assert_eq!(found.expect("it runs").code(), Some(1), "{topology}: {file:?}");
        }
        only_known_are_open(topology, is_behind_sockets, servers);
        for link in links {
            let answer = link.answer_to_another_user();
            assert!(answer.is_empty(), "{topology}: {link:?}: {answer:?}");
        }
        assert_eq!(run.try_wait().expect("a child"), None, "{topology}: the run has ended");
        ended(run.id(), "-TERM");
        run.wait().expect("it ends");
    }
}

/// A field of all containers of a run, by the engine's own client.
fn of_containers(run: u32, field: &str) -> Vec<String> {
    let docker = |args: &[&str]| {
        let output = Command::new("docker").args(args).output().expect("docker is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let name = format!("name=picklock-{run}-");
    let ids = docker(&["ps", "-q", "--filter", &name]);
    let args = ["inspect", "--format", field].into_iter().chain(ids.lines());
    docker(&args.collect::<Vec<_>>()).lines().map(String::from).collect()
}

/// The sockets at whose ports a server in a container listens, by the address of that.
fn listeners_of_container(address: &str, process: u32) -> BTreeSet<ListeningSocket> {
    let address: std::net::Ipv4Addr = address.parse().expect("an address");
    let address = format!("{:08X}", u32::from_ne_bytes(address.octets()));
    let program = fs::read_to_string(format!("/proc/{process}/comm")).expect("it runs");
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp")).expect("a table");
    let table6 = fs::read_to_string(format!("/proc/{process}/net/tcp6")).unwrap_or_default();
    let lines = [&table, &table6].into_iter().flat_map(|table| table.lines().skip(1));
    let listening = lines.filter(|line| line.split_whitespace().nth(3) == Some("0A"));
    listening
        .filter_map(|line| line.split_whitespace().nth(1)?.split_once(':'))
        // The engine's own names are at an address that only the container has.
        .filter(|(at, _)| !at.ends_with("7F"))
        .map(|(_, port)| ListeningSocket {
            process,
            program: program.trim().to_owned(),
            address: address.clone(),
            port: u16::from_str_radix(port, 16).expect("a number"),
        })
        .collect()
}

#[test]
fn servers_in_containers_ask_for_a_password() {
    docker::ensure_image(&|_| ()).unwrap_or_else(|error| panic!("{error}"));
    for (topology, algo) in super::topologies::LOCKS {
        let (_place, temporary) = place();
        let (mut run, links) = in_full_swing("docker", &temporary, (topology, algo));
        assert!(links.iter().all(ListeningSocket::is_loopback), "{topology}: {links:?}");
        let networks = "{{.State.Pid}}{{range .NetworkSettings.Networks}} {{.IPAddress}}{{end}}";
        let containers = of_containers(run.id(), networks);
        let listeners: Vec<_> = containers
            .iter()
            .flat_map(|line| {
                let (process, address) = line.split_once(' ').expect("an address");
                listeners_of_container(address, process.parse().expect("a number"))
            })
            .collect();
        let asked = listeners.iter().map(|listener| listener.process).collect::<BTreeSet<_>>();
        assert!(!asked.is_empty() && asked.len() == containers.len(), "{topology}: {listeners:?}");
        only_known_are_open(topology, false, &listeners);
        ended(run.id(), "-TERM");
        run.wait().expect("it ends");
    }
}
