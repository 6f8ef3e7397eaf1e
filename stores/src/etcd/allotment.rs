//! The allotment of a run on an etcd that others use, too: keys with a name in front, and leases
//! whose numbers begin with a tag that is made of the name. They would run out by themselves, but
//! not before somebody has wondered whose they are. A program of somebody else puts more in front
//! of the name, and has leases of any number: those that no key goes with any more do run out.

use super::{Etcd, KeyValue, LeaseId, Reply, Request, Signal};
use crate::allotment::{Allotment, ProgramAllotment, within};
use base::{Answer, Link, LocalFuture, World};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;

/// The way to keep to it, and to clear it.
pub const ALLOTMENT: Allotment<Etcd> = Allotment {
    confine: |link, name| Rc::new(Confined { link, name: name.into(), own: RefCell::default() }),
    programs: ProgramAllotment::Keys,
    #[cfg(feature = "real")]
    mark: |servers, name| Box::pin(real::mark(servers, name)),
    ask_for_mark: None,
    #[cfg(feature = "real")]
    remove: |servers, whose| Box::pin(real::remove(servers, whose)),
};

/// A link that knows no other keys than those of an allotment.
struct Confined {
    link: Rc<dyn Link<Etcd>>,
    name: String,
    /// The numbers that the client knows its leases by, by those that they have.
    own: RefCell<BTreeMap<LeaseId, LeaseId>>,
}

/// The bits of the number of a lease that are the client's own; the others are the tag.
const OWN_BITS: u32 = 39;

/// Returns the tag of an allotment (FNV-1a), for the upper bits of a positive number.
fn tag(name: &str) -> LeaseId {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, hash);
    (hash >> (OWN_BITS + 1)) as LeaseId
}

impl Confined {
    /// Returns the number that a lease of the client has on the servers. None is zero.
    fn lease(&self, own: LeaseId) -> LeaseId {
        if own == 0 {
            return 0;
        }
        let lease = tag(&self.name) << OWN_BITS | own & ((1 << OWN_BITS) - 1);
        self.own.borrow_mut().insert(lease, own);
        lease
    }

    /// Names the lease in a reply as the client does.
    fn with_own_lease(&self, reply: Reply) -> Reply {
        match reply {
            Reply::Found { found: Some(found), revision } => {
                let lease = self.own.borrow().get(&found.lease).copied();
                let lease = lease.unwrap_or_else(|| self.of_another(found.lease));
                Reply::Found { found: Some(KeyValue { lease, ..found }), revision }
            }
            other => other,
        }
    }

    /// Returns the number that a lease of another client has there, as far as it is known here.
    fn of_another(&self, lease: LeaseId) -> LeaseId {
        match lease >> OWN_BITS == tag(&self.name) {
            true => lease & ((1 << OWN_BITS) - 1),
            false => lease,
        }
    }
}

impl Link<Etcd> for Confined {
    fn world(&self) -> &dyn World {
        self.link.world()
    }

    fn call(&self, server: usize, mut request: Request) -> LocalFuture<'_, Answer<Etcd>> {
        match &mut request {
            Request::Create { lease, .. }
            | Request::LeaseGrant { lease, .. }
            | Request::LeaseRevoke { lease }
            | Request::LeaseKeepAlive { lease } => *lease = self.lease(*lease),
            _ => {}
        }
        match &mut request {
            Request::Create { key, .. }
            | Request::Delete { key, .. }
            | Request::Get { key }
            | Request::Watch { key, .. } => *key = within(&self.name, key),
            Request::GetLast { prefix, .. } => *prefix = within(&self.name, prefix),
            Request::LeaseGrant { .. }
            | Request::LeaseRevoke { .. }
            | Request::LeaseKeepAlive { .. }
            | Request::Unwatch { .. } => {}
        }
        let answer = self.link.call(server, request);
        Box::pin(async move { answer.await.map(|reply| self.with_own_lease(reply)) })
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
    use super::{OWN_BITS, tag};
    use crate::allotment::{Whose, name_of, within};
    use crate::etcd::LeaseId;
    use crate::etcd::real::ask;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use serde_json::{Value, json};
    use std::time::Duration;
    use tokio::time::timeout;

    /// The number of keys that are listed at a time.
    const LISTED: usize = 1_000;
    /// The longest time for a question.
    const LIMIT: Duration = Duration::from_secs(10);

    pub async fn mark(servers: Vec<String>, name: String) -> Result<(), String> {
        // Each of them is to be of the cluster: a client may come to any.
        for server in &servers {
            let mark = json!({ "key": BASE64.encode(within(&name, "")), "value": "" });
            ask_in_time(server, "/v3/kv/put", mark).await?;
        }
        Ok(())
    }

    pub async fn remove(servers: Vec<String>, whose: Whose) -> Result<u64, String> {
        let server = servers.first().ok_or("there is no server")?;
        let (keys, held) = keys(server, &whose).await?;
        let mut names: Vec<&str> = keys.iter().filter_map(|key| name_of(key)).collect();
        names.dedup();
        if let Whose::Own(own) = &whose {
            names = vec![own];
        }
        let leases = leases(server, &whose, &names, &held).await?;
        for lease in &leases {
            // One that runs out meanwhile is gone as well.
            let _ =
                ask_in_time(server, "/v3/lease/revoke", json!({ "ID": lease.to_string() })).await;
        }
        for key in &keys {
            let delete = json!({ "key": BASE64.encode(key.as_bytes()) });
            ask_in_time(server, "/v3/kv/deleterange", delete).await?;
        }
        Ok((keys.len() + leases.len()) as u64)
    }

    /// Lists the keys of allotments, some at a time, and the leases that go with them.
    async fn keys(server: &str, whose: &Whose) -> Result<(Vec<String>, Vec<LeaseId>), String> {
        let (mut first, mut keys, mut leases) = (vec![0], Vec::new(), Vec::new());
        loop {
            let range = json!({
                "key": BASE64.encode(&first),
                "range_end": BASE64.encode([0]),
                "keys_only": true,
                "serializable": true,
                "limit": LISTED,
            });
            let listed = ask_in_time(server, "/v3/kv/range", range).await?;
            let found = listed["kvs"].as_array().map_or(&[][..], Vec::as_slice);
            for stored in found {
                first =
                    BASE64.decode(stored["key"].as_str().unwrap_or_default()).unwrap_or_default();
                let key = String::from_utf8_lossy(&first).into_owned();
                if whose.has(&key) {
                    keys.push(key);
                    leases.extend(number(&stored["lease"]));
                }
            }
            if found.len() < LISTED {
                return Ok((keys, leases));
            }
            // The least key that is greater.
            first.push(0);
        }
    }

    /// Lists the leases of allotments: by their tags, and those that their keys go with. One that
    /// keys of somebody else go with is none of them, whatever its number.
    async fn leases(
        server: &str,
        whose: &Whose,
        names: &[&str],
        held: &[LeaseId],
    ) -> Result<Vec<LeaseId>, String> {
        let tags: Vec<LeaseId> = names.iter().map(|name| tag(name)).collect();
        let listed = ask_in_time(server, "/v3/lease/leases", json!({})).await?;
        let all = listed["leases"].as_array().into_iter().flatten();
        let all = all.filter_map(|lease| number(&lease["ID"]));
        let mut ours = Vec::new();
        let is_ours = |it: &LeaseId| tags.contains(&(it >> OWN_BITS)) || held.contains(it);
        for lease in all.filter(is_ours) {
            let ask = json!({ "ID": lease.to_string(), "keys": true });
            let answer = ask_in_time(server, "/v3/lease/timetolive", ask).await?;
            let decoded = |key: &Value| BASE64.decode(key.as_str()?).ok();
            let mut keys = answer["keys"].as_array().into_iter().flatten().filter_map(decoded);
            if keys.all(|key| whose.has(&String::from_utf8_lossy(&key))) {
                ours.push(lease);
            }
        }
        Ok(ours)
    }

    fn number(lease: &Value) -> Option<LeaseId> {
        lease.as_str()?.parse().ok()
    }

    /// Asks a server, which has to answer within the limit.
    async fn ask_in_time(server: &str, path: &'static str, body: Value) -> Result<Value, String> {
        match timeout(LIMIT, ask(server, path, body)).await {
            Ok(answer) => answer.map_err(|error| format!("{server}: {error}")),
            Err(_) => Err(format!("{server} did not answer within {LIMIT:?}")),
        }
    }
}
