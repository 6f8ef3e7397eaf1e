//! The allotment of a run on a memcached that others use, too: keys with a name in front.

use super::{Memcached, Request};
use crate::allotment::{Allotment, MarkQuestion, ProgramAllotment, within};
use base::{Answer, Link, LocalFuture, World};
use std::rc::Rc;

/// The way to keep to it, and to clear it.
pub const ALLOTMENT: Allotment<Memcached> = Allotment {
    confine: |link, name| Rc::new(Confined { link, name: name.into() }),
    programs: ProgramAllotment::Keys,
    #[cfg(feature = "real")]
    mark: |servers, name| Box::pin(real::mark(servers, name)),
    ask_for_mark: Some(|name| MarkQuestion {
        send: format!("get {}\r\nquit\r\n", within(name, "")),
        gone: "END\r\n",
    }),
    #[cfg(feature = "real")]
    remove: |servers, whose| Box::pin(real::remove(servers, whose)),
};

/// A link that knows no other keys than those of an allotment.
struct Confined {
    link: Rc<dyn Link<Memcached>>,
    name: String,
}

impl Link<Memcached> for Confined {
    fn world(&self) -> &dyn World {
        self.link.world()
    }

    fn call(&self, server: usize, mut request: Request) -> LocalFuture<'_, Answer<Memcached>> {
        let (Request::Add { key, .. }
        | Request::Set { key, .. }
        | Request::Get { key }
        | Request::Delete { key }) = &mut request;
        *key = within(&self.name, key);
        self.link.call(server, request)
    }

    fn servers(&self) -> usize {
        self.link.servers()
    }
}

#[cfg(feature = "real")]
mod real {
    use crate::allotment::{Whose, within};
    use std::time::Duration;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    /// The longest time for a question.
    const LIMIT: Duration = Duration::from_secs(10);
    /// The beginnings of the lines of a list.
    const LISTED: &[&str] = &["key=", "ITEM ", "STAT "];

    pub async fn mark(servers: Vec<String>, name: String) -> Result<(), String> {
        for server in servers {
            let mark = within(&name, "");
            let answer = ask(&server, &format!("set {mark} 0 0 0\r\n\r\n")).await?;
            if answer != "STORED\r\n" {
                return Err(format!("{server} answers a set with {:?}", answer.trim()));
            }
            if !keys(&server).await?.contains(&mark) {
                return Err(format!("{server} lists no keys, so that none could be removed"));
            }
        }
        Ok(())
    }

    pub async fn remove(servers: Vec<String>, whose: Whose) -> Result<u64, String> {
        let mut removed = 0;
        for server in servers {
            for key in keys(&server).await? {
                if whose.has(&key) {
                    ask(&server, &format!("delete {key}\r\n")).await?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    /// The keys of a server, but for those that are none of ours: whoever has blanks in keys writes
    /// them in another way.
    async fn keys(server: &str) -> Result<Vec<String>, String> {
        let listed = ask(server, "lru_crawler metadump all\r\n").await?;
        if listed.contains("ERROR") && !listed.starts_with(LISTED[0]) {
            return keys_by_size(server).await;
        }
        let key = |line: &str| Some(decoded(line.strip_prefix("key=")?.split(' ').next()?));
        Ok(listed.lines().filter_map(key).collect())
    }

    /// Returns a key as it is: what has a meaning in addresses, such as a colon, is listed as in
    /// them.
    fn decoded(key: &str) -> String {
        let mut parts = key.split('%');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            let byte = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
            bytes.push(byte.unwrap_or(b'%'));
            bytes.extend_from_slice(&part.as_bytes()[if byte.is_some() { 2 } else { 0 }..]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The same of a server that has no thread for lists: what it tells of each size of items,
    /// which is not all of a large cache, but what was used last.
    async fn keys_by_size(server: &str) -> Result<Vec<String>, String> {
        let sizes = ask(server, "stats items\r\n").await?;
        let size = |line: &str| {
            let (size, what) = line.strip_prefix("STAT items:")?.split_once(':')?;
            what.starts_with("number ").then(|| size.to_owned())
        };
        let mut keys = Vec::new();
        for size in sizes.lines().filter_map(size) {
            let listed = ask(server, &format!("stats cachedump {size} 0\r\n")).await?;
            let key = |line: &str| Some(line.strip_prefix("ITEM ")?.split(' ').next()?.to_owned());
            keys.extend(listed.lines().filter_map(key));
        }
        Ok(keys)
    }

    /// Sends a command, and returns the answer: a line or a list.
    async fn ask(server: &str, command: &str) -> Result<String, String> {
        let asked = async {
            let mut stream = BufReader::new(TcpStream::connect(server).await?);
            stream.write_all(command.as_bytes()).await?;
            let mut answer = String::new();
            loop {
                let begin = answer.len();
                let read = stream.read_line(&mut answer).await?;
                if read == 0 || !LISTED.iter().any(|it| answer[begin..].starts_with(it)) {
                    return Ok(answer);
                }
            }
        };
        match timeout(LIMIT, asked).await {
            Ok(answer) => answer.map_err(|error: std::io::Error| error.to_string()),
            Err(_) => Err(format!("it did not answer within {LIMIT:?}")),
        }
    }
}
