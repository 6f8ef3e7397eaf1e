//! The start of a real server, as data. Whoever starts it, in a container or as a process, needs to
//! know nothing of the store, and both start it the same way.

/// The start of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program, to be found on the PATH, and its arguments.
    pub command: Vec<String>,
    /// The files that it finds in the folder of its data, each by its name.
    pub files: Vec<(&'static str, String)>,
}

/// The place where a server is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder of its data.
    pub data: String,
    /// The address on which it serves clients.
    pub host: &'static str,
    /// The port on which it serves clients.
    pub port: u16,
    /// The ports on which it serves other servers, in the order of the ports in `members`.
    pub peer_ports: Vec<u16>,
    /// The address from which it calls other servers; `None`: any.
    pub source: Option<String>,
    /// The port of a SOCKS proxy of this machine through which it calls other servers; `None`: it
    /// calls them itself.
    pub proxy: Option<u16>,
    /// True if it is to listen on Unix sockets in the folder where it is started, and on no port:
    /// on one for each of its ports, whose name is the address, `host:port`.
    pub sockets: bool,
    /// The secrets of all of them, where others of the machine reach them.
    pub secrets: Option<Secrets>,
    /// All servers, as this one names them, by number.
    pub members: Vec<Member>,
}

impl Place {
    /// Returns the password that the server asks its clients for, where its store has some.
    pub fn password(&self) -> Option<&str> {
        self.secrets.as_ref().map(|secrets| &*secrets.password)
    }
}

/// The secrets of a run's servers, by which they keep out other users of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// The password of clients.
    pub password: String,
    /// A certificate that has signed itself, and its private key (PEM): for servers that know each
    /// other by TLS.
    pub identity: String,
}

/// A server, as another one or itself names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name or its address.
    pub host: String,
    /// Its ports for other servers, in the order of `Ports::peers` or of `Store::advertised_ports`.
    pub ports: Vec<u16>,
}

/// The ports of a server that has an address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The port for clients.
    pub clients: u16,
    /// The ports for other servers.
    pub peers: &'static [u16],
}

/// The folders in which distributions keep programs off the PATH: in each, `bin` of a folder a
/// version.
pub const PROGRAM_FOLDERS: &[&str] = &["/usr/lib/postgresql"];

/// A thing that a machine must have to start a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The name of a program on the PATH or in one of `PROGRAM_FOLDERS`, or the path of a file.
    pub what: &'static str,
    /// The package of Debian that has it.
    pub package: &'static str,
}

/// A question after which the server closes the connection, and what it answers once it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The bytes to send.
    pub send: &'static [u8],
    /// The texts of which an answer of a server that serves has one. None: it takes connections,
    /// and is not asked.
    pub expect: &'static [&'static str],
}

/// The servers that join others which have to be ready for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joining {
    /// The number of the first of them; so do all with a greater one.
    pub first: u32,
    /// The question to server 0 that tells whether all others are ready.
    pub when: Probe,
}

/// Splits a command line at its blanks.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}
