//! The allotment of a run on an etcd that others use, too: keys with a name in front. Leases have
//! numbers that are drawn from so many that nobody else has them, and run out by themselves.

use super::{Etcd, Request, Signal};
use crate::allotment::{Allotment, within};
use base::{Answer, Link, LocalFuture, World};
use std::rc::Rc;
use std::task::Waker;

/// The way to keep to it, and to clear it.
pub const ALLOTMENT: Allotment<Etcd> = Allotment {
    confine: |link, name| Rc::new(Confined { link, name: name.into() }),
    #[cfg(feature = "real")]
    mark: |servers, name| Box::pin(real::mark(servers, name)),
    #[cfg(feature = "real")]
    remove: |servers, chosen| Box::pin(real::remove(servers, chosen)),
};

/// A link that knows no other keys than those of an allotment.
struct Confined {
    link: Rc<dyn Link<Etcd>>,
    name: String,
}

impl Link<Etcd> for Confined {
    fn world(&self) -> &dyn World {
        self.link.world()
    }

    fn call(&self, server: usize, mut request: Request) -> LocalFuture<'_, Answer<Etcd>> {
        match &mut request {
            Request::Create { key, .. }
            | Request::Delete { key, .. }
            | Request::Get { key }
            | Request::Watch { key, .. } => *key = within(&self.name, key),
            Request::LeaseGrant { .. }
            | Request::LeaseRevoke { .. }
            | Request::LeaseKeepAlive { .. }
            | Request::Unwatch { .. } => {}
        }
        self.link.call(server, request)
    }

    fn signal(&self) -> Option<Signal> {
        self.link.signal()
    }

    fn wake_on_signal(&self, waker: &Waker) {
        self.link.wake_on_signal(waker);
    }

    fn servers(&self) -> usize {
        self.link.servers()
    }
}

#[cfg(feature = "real")]
mod real {
    use crate::allotment::{Chosen, name_of, within};
    use crate::etcd::real::ask;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use serde_json::json;
    use std::time::Duration;
    use tokio::time::timeout;

    /// The longest time for a question.
    const LIMIT: Duration = Duration::from_secs(10);

    pub async fn mark(servers: Vec<String>, name: String) -> Result<(), String> {
        // Each of them is to be of the cluster: a client may come to any.
        for server in &servers {
            let mark = json!({ "key": BASE64.encode(within(&name, "")), "value": "" });
            told(server, "/v3/kv/put", mark).await?;
        }
        Ok(())
    }

    pub async fn remove(servers: Vec<String>, chosen: Chosen) -> Result<u64, String> {
        let server = servers.first().ok_or("there is no server")?;
        // From the first key to the last.
        let all = json!({ "key": "AA==", "range_end": "AA==", "keys_only": true });
        let listed = told(server, "/v3/kv/range", all).await?;
        let mut removed = 0;
        for stored in listed["kvs"].as_array().into_iter().flatten() {
            let key = BASE64.decode(stored["key"].as_str().unwrap_or_default()).unwrap_or_default();
            let key = String::from_utf8_lossy(&key);
            if name_of(&key).is_some_and(|name| chosen(name)) {
                let delete = json!({ "key": BASE64.encode(key.as_bytes()) });
                told(server, "/v3/kv/deleterange", delete).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    async fn told(
        server: &str,
        path: &'static str,
        body: serde_json::Value,
    ) -> Result<serde_json::Value, String> {
        match timeout(LIMIT, ask(server, path, body)).await {
            Ok(answer) => answer.map_err(|error| format!("{server}: {error}")),
            Err(_) => Err(format!("{server} did not answer within {LIMIT:?}")),
        }
    }
}
