//! The owner of the other end of a connection of this machine, by the kernel's own word.
//!
//! The loopback interface is open to all users of a machine. What listens there for one of them asks
//! here who calls. The kernel is asked for the one socket (`sock_diag`): its list of all of them
//! takes it 30 ms where there are 20,000, during which nothing would go over any link. That list is
//! looked at where the kernel does not know the socket, or the question.

use nix::unistd::geteuid;
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use tokio::net::TcpStream;

/// A socket that a process has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSocket {
    /// The user whose it is.
    pub uid: u32,
    /// The number by which the kernel knows it.
    pub inode: u32,
}

impl OpenSocket {
    /// Returns true if a process, by its folder below `/proc`, has it open.
    pub fn is_open_in(&self, process: &Path) -> bool {
        let socket = format!("socket:[{}]", self.inode);
        let Ok(files) = fs::read_dir(process.join("fd")) else { return false };
        let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| link.as_os_str() == &*socket)
    }
}

/// Returns true if the other end of a connection, on this machine, is this user's or root's. It is
/// nobody's once it is closed.
pub fn is_from_us(connection: &TcpStream) -> bool {
    let (Ok(from), Ok(to)) = (connection.peer_addr(), connection.local_addr()) else {
        return false;
    };
    find(from, to).is_some_and(|socket| socket.uid == 0 || socket.uid == geteuid().as_raw())
}

/// Finds the socket at one end of a connection of this machine; `None` if it is closed.
pub fn find(at: SocketAddr, other: SocketAddr) -> Option<OpenSocket> {
    let (SocketAddr::V4(at), SocketAddr::V4(other)) = (at, other) else { return None };
    let asked = request(at, other);
    let found = ask(&asked).ok().and_then(|answer| read(&answer, &asked));
    found.or_else(|| listed(at, other))
}

/// Finds the same in the kernel's lists of all sockets, as IPv4 and as IPv6 that speaks it.
fn listed(at: SocketAddrV4, other: SocketAddrV4) -> Option<OpenSocket> {
    let ends = [at, other].map(written);
    let find_in = |list: String| list.lines().find_map(|line| socket_of(line, &ends));
    let lists = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter();
    lists.filter_map(|list| fs::read_to_string(list).ok()).find_map(find_in)
}

/// Reads the socket in a line of such a list, if it has these ends and is open.
fn socket_of(line: &str, ends: &[String; 2]) -> Option<OpenSocket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let has = |place: usize, end: &str| fields.get(place).is_some_and(|it| it.ends_with(end));
    let number = |place: usize| fields.get(place)?.parse().ok();
    let (uid, inode) = (number(7)?, number(9)?);
    let is_it = has(1, &ends[0]) && has(2, &ends[1]) && inode != 0;
    is_it.then_some(OpenSocket { uid, inode })
}

/// An address, as the kernel writes it; of IPv6, the end.
fn written(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

/// The numbers of the kernel's interface: the family of its own sockets, and the protocol and the
/// message by which it tells of others.
const AF_NETLINK: i32 = 16;
const NETLINK_SOCK_DIAG: i32 = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;

/// The length of a message's head, and the places of what is read of an answer.
const HEAD: usize = 16;
const PORTS: std::ops::Range<usize> = 4..8;
const UID: usize = 64;
const INODE: usize = 68;

/// A question for the TCP socket with these ends, in any state. A socket of IPv6 that speaks IPv4 is
/// found, too.
fn request(at: SocketAddrV4, other: SocketAddrV4) -> Vec<u8> {
    const AF_INET: u8 = 2;
    const TCP: u8 = 6;
    const REQUEST: u16 = 1;
    let mut body = vec![AF_INET, TCP, 0, 0, 0xff, 0xff, 0xff, 0xff];
    body.extend(at.port().to_be_bytes());
    body.extend(other.port().to_be_bytes());
    for end in [at, other] {
        body.extend(end.ip().octets());
        // The rest of an address of IPv6.
        body.extend([0; 12]);
    }
    // Any interface, and no number by which it was known before.
    body.extend([0; 4]);
    body.extend([0xff; 8]);
    let mut message = Vec::from((HEAD as u32 + body.len() as u32).to_ne_bytes());
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

fn ask(request: &[u8]) -> io::Result<Vec<u8>> {
    let protocol = Protocol::from(NETLINK_SOCK_DIAG);
    let mut kernel = Socket::new(Domain::from(AF_NETLINK), Type::DGRAM, Some(protocol))?;
    kernel.write_all(request)?;
    let mut answer = vec![0; 4096];
    let length = kernel.read(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

/// Reads the answer to a question.
fn read(answer: &[u8], asked: &[u8]) -> Option<OpenSocket> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let (body, asked) = (answer.get(HEAD..)?, &asked[HEAD..]);
    // In a question they stand behind the set of states. One that only listens has one port.
    if kind != SOCK_DIAG_BY_FAMILY || body.get(PORTS)? != &asked[8..12] {
        return None;
    }
    let number = |at: usize| Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let (uid, inode) = (number(UID)?, number(INODE)?);
    // One that is closed has no number, and looks like root's.
    (inode != 0).then_some(OpenSocket { uid, inode })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::os::fd::AsRawFd;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn an_open_socket_is_found_with_its_user_and_a_closed_one_is_nobody_s() {
        for address in ["127.0.0.1:0", "[::]:0"] {
            let listener = TcpListener::bind(address).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            // The caller's end is the listener's kind of socket here, and the other way round.
            let near = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
            let (far, from) = listener.accept().await.unwrap();
            let unmapped = SocketAddr::new(from.ip().to_canonical(), from.port());
            let (at, other) = (near.peer_addr().unwrap(), unmapped);
            let found = find(at, other).expect("it is open");
            assert_eq!(found.uid, geteuid().as_raw());
            let file = format!("/proc/self/fd/{}", far.as_raw_fd());
            let file = fs::read_link(file).unwrap();
            assert_eq!(file.to_str(), Some(&*format!("socket:[{}]", found.inode)));
            assert!(found.is_open_in(Path::new("/proc/self")));
            assert!(!OpenSocket { inode: 0, ..found }.is_open_in(Path::new("/proc/self")));
            let SocketAddr::V4(ends) = at else { panic!("it is IPv4") };
            let SocketAddr::V4(others) = other else { panic!("it is IPv4") };
            assert_eq!(listed(ends, others), Some(found));
            assert!(is_from_us(&near));
            drop(far);
            assert_eq!(find(at, other), None);
            assert!(!is_from_us(&near));
        }
    }
}
