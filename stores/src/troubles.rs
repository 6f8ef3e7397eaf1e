//! The words in which a server says that it has a trouble of its own, and turns everybody away,
//! whatever the lock. What is sent is looked at, and not only what a client makes of it.

use crate::{Store, StoreId, Visit};

/// The words of one store ([`Store::OWN_TROUBLES`](crate::Store)).
#[derive(Clone, Copy, Debug)]
pub struct TroubleWords {
    words: &'static [&'static str],
    but: &'static [&'static str],
    before: &'static [&'static str],
}

impl StoreId {
    /// Returns the words in which a server turns everybody away.
    pub fn troubles(self) -> TroubleWords {
        self.visit(TroublesOf)
    }
}

struct TroublesOf;

impl Visit for TroublesOf {
    type Out = TroubleWords;

    fn visit<S: Store>(self) -> Self::Out {
        TroubleWords { words: S::OWN_TROUBLES, but: S::DISPENSABLE, before: S::BEFORE_TROUBLES }
    }
}

impl TroubleWords {
    /// Returns true if an error that a client reports is of the server.
    pub fn are_in(self, error: &str) -> bool {
        self.words.iter().any(|words| error.contains(words)) && !self.is_dispensable(error)
    }

    /// Returns the first line in a chunk of what a server sends that turns somebody away. A client
    /// of a majority goes on after it, and a library may keep it from its user.
    pub fn line_of(self, sent: &[u8]) -> Option<&str> {
        let lines = sent.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
        lines.map(str::trim_end).find(|line| self.begin(line) && !self.is_dispensable(line))
    }

    fn begin(self, line: &str) -> bool {
        let stripped = self.before.iter().find_map(|before| line.strip_prefix(before));
        stripped.is_some_and(|rest| self.words.iter().any(|words| rest.starts_with(words)))
    }

    fn is_dispensable(self, line: &str) -> bool {
        self.but.iter().any(|words| line.contains(words))
    }
}

#[cfg(test)]
mod tests {
    use crate::StoreId;

    #[test]
    fn lines_in_which_a_server_turns_everybody_away_are_found_among_others() {
        let redis = |sent: &'static str| StoreId::Redis.troubles().line_of(sent.as_bytes());
        let full = "-OOM command not allowed when used memory > 'maxmemory'.";
        assert_eq!(
            redis("+OK\r\n-OOM command not allowed when used memory > 'maxmemory'.\r\n"),
            Some(full)
        );
        let many = "-ERR max number of clients reached";
        assert_eq!(redis("-ERR max number of clients reached\r\n"), Some(many));
        assert!(redis("-ERR unknown command 'EVAL', with args beginning with: \r\n").is_some());
        for other in [
            "$9\r\nREADONLY \r\n",
            "-NOSCRIPT No matching script.\r\n",
            "-ERR unknown command 'HELLO', with args beginning with: '3'\r\n",
            "-NOPERM this user has no permissions to run the 'client|setinfo' command\r\n",
        ] {
            assert_eq!(redis(other), None);
        }
        let memcached = |sent: &'static str| StoreId::Memcached.troubles().line_of(sent.as_bytes());
        assert!(memcached("SERVER_ERROR out of memory storing object\r\n").is_some());
        assert!(memcached("ERROR Too many open connections\r\n").is_some());
        assert_eq!(memcached("STORED\r\nEND\r\n"), None);
        let etcd = StoreId::Etcd.troubles();
        let body = b"{\"error\":\"etcdserver: mvcc: database space exceeded\",\"code\":8}";
        assert!(etcd.line_of(body).is_some());
        // What it sends are no lines, and may contain anything.
        let zookeeper = StoreId::ZooKeeper.troubles();
        assert_eq!(zookeeper.line_of(b"QuotaExceeded"), None);
        assert!(zookeeper.are_in("QuotaExceeded"));
    }
}
