//! The port of a server that listens on a Unix socket only, where no other user gets: connections
//! to the port are forwarded to the socket, if they are of picklock's own user or of root.

use super::port::{BACKLOG, Port, accept};
use base::BackendError;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use testbed::{broken, tcp_owner};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixStream};
use tokio::task::{AbortHandle, JoinSet};

/// A port that is forwarded to a Unix socket. It closes, with all that goes through it, when it is
/// dropped.
pub struct SocketForwarder {
    socket: Arc<SocketFile>,
    listening: AbortHandle,
}

/// The file of a Unix socket.
struct SocketFile {
    folder: PathBuf,
    name: String,
}

impl SocketForwarder {
    /// Opens a port before the socket of its address in this folder. Needs a runtime around it.
    pub fn open(port: &Port, folder: &Path) -> Result<Self, BackendError> {
        let address = (Ipv4Addr::LOCALHOST, port.number());
        let listen = || {
            let socket = TcpSocket::new_v4()?;
            // The port is kept by a socket of ours.
            socket.set_reuseaddr(true)?;
            socket.bind(address.into())?;
            socket.listen(BACKLOG)
        };
        let listener = listen().map_err(|e| broken("cannot open the port of a server", e))?;
        let name = format!("{}:{}", address.0, address.1);
        let socket = Arc::new(SocketFile { folder: folder.to_owned(), name });
        let listening = tokio::spawn(serve_all(listener, socket.clone())).abort_handle();
        Ok(Self { socket, listening })
    }

    /// Removes what a killed server has left: where there is a file, none listens.
    pub fn remove_socket(&self) -> io::Result<()> {
        match fs::remove_file(self.socket.folder.join(&self.socket.name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for SocketForwarder {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl SocketFile {
    async fn connect(&self) -> io::Result<UnixStream> {
        // Its whole path may be longer than the kernel takes.
        let folder = File::open(&self.folder)?;
        UnixStream::connect(format!("/proc/self/fd/{}/{}", folder.as_raw_fd(), self.name)).await
    }
}

async fn serve_all(listener: TcpListener, socket: Arc<SocketFile>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut client, _) = accept(&listener).await;
        let socket = socket.clone();
        connections.spawn(async move {
            if serve(&mut client, &socket).await.is_err() {
                // What one side has aborted is aborted for the other, as by the kernel of a server
                // that is dead. It fails where the client is gone.
                let _: io::Result<()> = client.set_zero_linger();
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Forwards a connection to the socket.
async fn serve(client: &mut TcpStream, socket: &SocketFile) -> io::Result<()> {
    if !tcp_owner::is_from_us(client) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    client.set_nodelay(true)?;
    copy_bidirectional(client, &mut socket.connect().await?).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;

    /// A forwarder, its port, and the folder of its socket: the path of that alone is too long for
    /// a socket.
    fn forwarder(place: &TempDir) -> (SocketForwarder, u16, PathBuf) {
        let folder = place.path().join("f".repeat(100));
        fs::create_dir(&folder).unwrap();
        let port = Port::take(Ipv4Addr::LOCALHOST).unwrap();
        let forwarder = SocketForwarder::open(&port, &folder).unwrap();
        (forwarder, port.number(), folder)
    }

    async fn call(port: u16) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap()
    }

    /// Listens as a server does that was started in the folder.
    fn server(forwarder: &SocketForwarder, folder: &Path) -> io::Result<UnixListener> {
        let folder = File::open(folder)?;
        let name = &forwarder.socket.name;
        UnixListener::bind(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
    }

    #[tokio::test]
    async fn a_port_leads_to_a_socket_with_a_long_path() {
        let place = TempDir::new().unwrap();
        let (forwarder, port, folder) = forwarder(&place);
        let server = server(&forwarder, &folder).unwrap();
        let mut client = call(port).await;
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let (mut called, _) = server.accept().await.unwrap();
        let mut text = String::new();
        called.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "question");
        called.write_all(b"answer").await.unwrap();
        drop(called);
        text.clear();
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "answer");
    }

    #[tokio::test]
    async fn where_no_server_is_connections_break_and_a_new_one_finds_no_old_socket() {
        let place = TempDir::new().unwrap();
        let (forwarder, port, folder) = forwarder(&place);
        let broken = async || call(port).await.read_u8().await.unwrap_err().kind();
        assert_eq!(broken().await, io::ErrorKind::ConnectionReset);
        forwarder.remove_socket().unwrap();
        // The file of a socket outlives it.
        drop(server(&forwarder, &folder).unwrap());
        assert_eq!(broken().await, io::ErrorKind::ConnectionReset);
        assert!(server(&forwarder, &folder).is_err());
        forwarder.remove_socket().unwrap();
        server(&forwarder, &folder).unwrap();
    }

    #[tokio::test]
    async fn a_server_that_dies_with_a_question_unread_aborts_the_connection() {
        let place = TempDir::new().unwrap();
        let (forwarder, port, folder) = forwarder(&place);
        let server = server(&forwarder, &folder).unwrap();
        let mut client = call(port).await;
        let (called, _) = server.accept().await.unwrap();
        client.write_all(b"question").await.unwrap();
        called.readable().await.unwrap();
        drop(called);
        let broken = client.read_u8().await.unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::ConnectionReset);
    }
}
