//! The server that has made a connection, where it cannot be told an address of its own to call
//! from: that of whose processes one has the other end. Each works in the folder of its server's
//! data.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;

/// Returns the number of the server, of those with a folder in this one, that has connected from an
/// address to one of ours; `None` if it is gone already.
pub fn caller(from: SocketAddr, to: SocketAddr, folder: &Path) -> Option<u32> {
    let socket = format!("socket:[{}]", inode(from, to)?);
    let processes = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    processes
        .filter(|process| has_open(process, &socket))
        .find_map(|process| server(&process, folder))
}

/// The number of the server whose process this is.
fn server(process: &Path, folder: &Path) -> Option<u32> {
    let place = fs::read_link(process.join("cwd")).ok()?;
    let below = place.strip_prefix(folder).ok()?;
    stores::node_number(below.iter().next()?.to_str()?)
}

fn has_open(process: &Path, socket: &str) -> bool {
    let Ok(files) = fs::read_dir(process.join("fd")) else { return false };
    let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.as_os_str() == socket)
}

/// The number by which the kernel knows the socket at one end of a connection of this machine.
fn inode(at: SocketAddr, other: SocketAddr) -> Option<String> {
    let (SocketAddr::V4(at), SocketAddr::V4(other)) = (at, other) else { return None };
    let ends = (written(at), written(other));
    let connections = fs::read_to_string("/proc/net/tcp").ok()?;
    connections.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it =
            fields.get(1) == Some(&ends.0.as_str()) && fields.get(2) == Some(&ends.1.as_str());
        fields.get(9).filter(|_| is_it).map(|inode| (*inode).to_owned())
    })
}

/// An address, as the kernel writes it.
fn written(address: SocketAddrV4) -> String {
    format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_known_by_the_folder_of_its_process() {
        let listener = TcpListener::bind("127.78.0.1:0").expect("a port");
        let to = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(to).expect("connected");
        let from = stream.local_addr().expect("an address");
        let here = std::env::current_dir().expect("a folder");
        // This process works in no folder of a server.
        assert_eq!(caller(from, to, &here), None);
        let process = Path::new("/proc/self");
        let socket = |inode: String| format!("socket:[{inode}]");
        assert!(has_open(process, &socket(inode(from, to).expect("it is open"))));
        drop(stream);
        assert!(!has_open(process, "socket:[0]"));
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("server-2").join("data");
        fs::create_dir_all(&data).expect("a folder");
        let sleep = std::process::Command::new("sleep").arg("10").current_dir(&data).spawn();
        let mut sleep = sleep.expect("started");
        let process = format!("/proc/{}", sleep.id());
        assert_eq!(server(Path::new(&process), folder.path()), Some(2));
        sleep.kill().expect("killed");
        sleep.wait().expect("gone");
    }
}
