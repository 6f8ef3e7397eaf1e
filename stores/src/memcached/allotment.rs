//! The allotment of a run on a memcached that others use, too: keys with a name in front.

use super::{Memcached, Request};
use crate::allotment::{Allotment, MarkQuestion, within};
use base::{Answer, Link, LocalFuture, World};
use std::rc::Rc;

/// The way to keep to it, and to clear it.
pub const ALLOTMENT: Allotment<Memcached> = Allotment {
    confine: |link, name| Rc::new(Confined { link, name: name.into() }),
    programs: None,
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
    use crate::allotment::{Whose, name_of, within};
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
            let said = ask(&server, &format!("set {mark} 0 0 0\r\n\r\n")).await?;
            if said != "STORED\r\n" {
                return Err(format!("{server} answers a set with {:?}", said.trim()));
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
                if name_of(&key).is_some_and(|name| whose.contains(name)) {
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
        // A colon has a meaning in addresses, and so it is written in another way.
        let key =
            |line: &str| Some(line.strip_prefix("key=")?.split(' ').next()?.replace("%3A", ":"));
        Ok(listed.lines().filter_map(key).collect())
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
