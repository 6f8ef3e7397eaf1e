//! The endpoints of servers, and the logins past their question for a password.

use std::net::SocketAddr;

/// A login to a server that asks for a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// A request ahead of all others, which names the password.
    Ahead {
        /// The request.
        request: Vec<u8>,
        /// The answer to the right one.
        accepted: &'static [u8],
    },
    /// An exchange within the session that a client has opened, as a ZooKeeper demands it, with
    /// this password (`zookeeper::sasl`). Questions of four letters need none.
    InSession(String),
}

/// An address of a server, and the login with which a connection to it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub address: SocketAddr,
    /// The beginning of each connection; `None` if it asks for no password.
    pub login: Option<Login>,
}

impl Endpoint {
    /// An address at which nobody is asked for a password.
    pub const fn without_login(address: SocketAddr) -> Self {
        Self { address, login: None }
    }

    /// Connects to the server.
    ///
    /// # Errors
    /// Fails when there is no connection, or the server does not take the password.
    #[cfg(feature = "real")]
    pub async fn connect(&self) -> std::io::Result<tokio::net::TcpStream> {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};

        let mut stream = tokio::net::TcpStream::connect(self.address).await?;
        if let Some(Login::Ahead { request, accepted }) = &self.login {
            stream.write_all(request).await?;
            let mut answer = vec![0; accepted.len()];
            stream.read_exact(&mut answer).await?;
            if answer != *accepted {
                return Err(std::io::ErrorKind::PermissionDenied.into());
            }
        }
        Ok(stream)
    }
}
