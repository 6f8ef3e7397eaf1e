//! The allotment of a run on a ZooKeeper that others use, too: all below a node, as clients know it
//! by the name chroot.

use super::{Refusal, Reply, Request, Signal, ZooKeeper};
use crate::allotment::{Allotment, ProgramAllotment};
use base::{Answer, CallError, Link, LocalFuture, World};
use std::rc::Rc;
use std::task::Waker;

/// The way to keep to it, and to clear it.
pub const ALLOTMENT: Allotment<ZooKeeper> = Allotment {
    confine: |link, name| Rc::new(Confined { link, root: format!("/{name}") }),
    programs: ProgramAllotment::Folder,
    #[cfg(feature = "real")]
    mark: |servers, name| Box::pin(real::mark(servers, name)),
    ask_for_mark: None,
    #[cfg(feature = "real")]
    remove: |servers, whose| Box::pin(real::remove(servers, whose)),
};

/// A link that takes a node for the root.
struct Confined {
    link: Rc<dyn Link<ZooKeeper>>,
    root: String,
}

impl Confined {
    /// Names the node in a reply as its client does.
    fn with_own_path(&self, answer: Answer<ZooKeeper>) -> Answer<ZooKeeper> {
        match answer {
            Ok(Reply::Created { path, czxid }) => {
                let path = path.strip_prefix(&self.root).unwrap_or(&path).to_owned();
                Ok(Reply::Created { path, czxid })
            }
            other => other,
        }
    }
}

impl Link<ZooKeeper> for Confined {
    fn world(&self) -> &dyn World {
        self.link.world()
    }

    /// The request leaves now: the order of calls is that of their effects.
    fn call(&self, server: usize, mut request: Request) -> LocalFuture<'_, Answer<ZooKeeper>> {
        if let Err(refusal) = super::path::check(&request) {
            return Box::pin(std::future::ready(Err(CallError::<Refusal>::Refused(refusal))));
        }
        let path = request.path_mut();
        *path = if path == "/" { self.root.clone() } else { format!("{}{path}", self.root) };
        let answer = self.link.call(server, request);
        Box::pin(async move { self.with_own_path(answer.await) })
    }

    fn signal(&self) -> Option<Signal> {
        self.link.signal()
    }

    fn wake_on_signal(&self, waker: &Waker) {
        self.link.wake_on_signal(waker);
    }

    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<Refusal>>> {
        self.link.renew()
    }

    fn servers(&self) -> usize {
        self.link.servers()
    }
}

#[cfg(feature = "real")]
mod real {
    use crate::allotment::Whose;
    use crate::zookeeper::{Client, CreateMode, RealSession, Refusal};
    use base::{CallError, LocalFuture};
    use std::rc::Rc;
    use std::time::Duration;

    /// The session time-out of whoever clears up. Servers may give another.
    const SESSION: Duration = Duration::from_secs(10);

    pub async fn mark(servers: Vec<String>, name: String) -> Result<(), String> {
        // Each of them is to be of the ensemble: a client may come to any.
        for server in &servers {
            let client = open(vec![server.clone()]).await?;
            match client.create(&format!("/{name}"), &[], CreateMode::Persistent).await {
                Ok(_) | Err(CallError::Refused(Refusal::NodeExists)) => {}
                Err(error) => return Err(format!("{server}: {error}")),
            }
        }
        Ok(())
    }

    pub async fn remove(servers: Vec<String>, whose: Whose) -> Result<u64, String> {
        let client = open(servers).await?;
        let names = client.get_children("/").await.map_err(|error| error.to_string())?;
        let mut removed = 0;
        for name in names.iter().filter(|name| whose.contains(name)) {
            removed += remove_all(&client, format!("/{name}")).await?;
        }
        Ok(removed)
    }

    async fn open(servers: Vec<String>) -> Result<Client, String> {
        let session = RealSession::connect(servers, SESSION, 0).await;
        Ok(Client::new(Rc::new(session.map_err(|error| error.to_string())?)))
    }

    /// Removes a node with all below it. A session that is just ending may be quicker.
    fn remove_all(client: &Client, path: String) -> LocalFuture<'_, Result<u64, String>> {
        Box::pin(async move {
            let mut removed = 0;
            loop {
                let names = match client.get_children(&path).await {
                    Ok(names) => names,
                    Err(CallError::Refused(Refusal::NoNode)) => return Ok(removed),
                    Err(error) => return Err(error.to_string()),
                };
                for name in names {
                    removed += remove_all(client, format!("{path}/{name}")).await?;
                }
                match client.delete(&path, None).await {
                    Ok(()) => return Ok(removed + 1),
                    // What a client had sent before its end has just arrived.
                    Err(CallError::Refused(Refusal::NotEmpty)) => {}
                    Err(CallError::Refused(Refusal::NoNode)) => return Ok(removed),
                    Err(error) => return Err(error.to_string()),
                }
            }
        })
    }
}
