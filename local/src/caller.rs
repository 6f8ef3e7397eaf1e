//! The server that has made a connection, where it cannot be configured to call from an address of
//! its own: the one of whose processes one has the other end. Each works in the folder of its
//! server's data.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use testbed::tcp_owner;

/// Returns the number of the server, of those with a folder in this one, that has connected from an
/// address to one of ours; `None` if it is gone already.
pub fn caller(from: SocketAddr, to: SocketAddr, folder: &Path) -> Option<u32> {
    let socket = tcp_owner::find(from, to)?;
    let mut processes = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    // All that goes over links waits for this, so only processes of servers are looked into: where
    // hundreds run, they have thousands of files open.
    processes.find_map(|process| server(&process, folder).filter(|_| socket.is_open_in(&process)))
}

/// The number of the server whose process this is.
fn server(process: &Path, folder: &Path) -> Option<u32> {
    let place = fs::read_link(process.join("cwd")).ok()?;
    let below = place.strip_prefix(folder).ok()?;
    stores::node_number(below.iter().next()?.to_str()?)
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
        drop(stream);
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
