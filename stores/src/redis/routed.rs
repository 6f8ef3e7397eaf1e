//! The way to the primary of a topology with Sentinels: a link to one server around the links to
//! all.
//!
//! A Sentinel says where the primary is, by its name, which stands for this client's own link to
//! it, so that what befalls the link befalls the client. Whoever is named must say itself that it
//! is a master. The answer is good until a call fails, for whatever reason; the next call asks
//! anew. No command is ever sent twice.

use super::sentinel_timing::MASTER;
use super::{Layout, Redis, Refusal};
use crate::driver::no_server;
use crate::node_number;
use base::{Answer, CallError, Link, LocalFuture, World};
use redis::{Cmd, FromRedisValue, Value};
use std::cell::Cell;
use std::future::ready;
use std::rc::Rc;
use std::time::Duration;

/// The time within which a Sentinel that is down refuses.
const AT_ONCE: Duration = Duration::from_millis(50);

/// A link to whichever server is the primary.
pub struct Routed {
    links: Rc<dyn Link<Redis>>,
    data: usize,
    sentinels: usize,
    /// The server that was the primary when the last call succeeded.
    primary: Cell<Option<usize>>,
    /// The Sentinel to ask first, counted from the first of them.
    first: Cell<usize>,
}

impl Routed {
    /// Makes it, around the links to all servers of a layout.
    pub fn new(links: Rc<dyn Link<Redis>>, layout: &Layout) -> Self {
        let (data, servers) = (layout.data as usize, layout.servers as usize);
        let sentinels = servers - data;
        Self { links, data, sentinels, primary: Cell::default(), first: Cell::default() }
    }

    /// Finds the primary. Nothing has been asked of it then.
    async fn find(&self) -> Result<usize, CallError<Refusal>> {
        let primary =
            self.named_primary().await.ok_or_else(|| refused("no Sentinel names a primary"))?;
        match self.is_master(primary).await {
            true => {
                self.primary.set(Some(primary));
                Ok(primary)
            }
            false => Err(refused("the server that Sentinel names is no primary")),
        }
    }

    /// The primary that a Sentinel names. One that cannot be reached is passed over if that shows
    /// at once; if not, another is asked by the next call, so that none takes too long.
    async fn named_primary(&self) -> Option<usize> {
        let mut ask = Cmd::new();
        ask.arg("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(MASTER);
        let (ask, first) = (Rc::new(ask), self.first.get());
        let begun = self.links.world().monotonic();
        for next in (first..first + self.sentinels).map(|next| next % self.sentinels) {
            self.first.set(next);
            if let Ok(answer) = self.links.call(self.data + next, ask.clone()).await {
                let (name, _port) = <(String, u16)>::from_redis_value_ref(&answer).ok()?;
                return node_number(&name).map(|number| number as usize);
            }
            self.first.set((next + 1) % self.sentinels);
            if self.links.world().monotonic().since(begun) > AT_ONCE {
                break;
            }
        }
        None
    }

    async fn is_master(&self, server: usize) -> bool {
        let role = self.links.call(server, Rc::new(redis::cmd("ROLE"))).await;
        let role = role.map(|role| match *role {
            Value::Array(words) => words.into_iter().next(),
            _ => None,
        });
        matches!(role, Ok(Some(Value::BulkString(word))) if word == b"master")
    }
}

fn refused(why: &str) -> CallError<Refusal> {
    CallError::Refused(Refusal(why.into()))
}

impl Link<Redis> for Routed {
    fn world(&self) -> &dyn World {
        self.links.world()
    }

    /// The command leaves now if the primary is known.
    fn call(&self, server: usize, request: Rc<Cmd>) -> LocalFuture<'_, Answer<Redis>> {
        if server > 0 {
            return Box::pin(ready(Err(no_server::<Redis>(server))));
        }
        let known = self.primary.get();
        let known = known.map(|primary| (primary, self.links.call(primary, request.clone())));
        Box::pin(async move {
            let (primary, answer) = match known {
                Some(known) => known,
                None => {
                    let primary = self.find().await?;
                    (primary, self.links.call(primary, request))
                }
            };
            let answer = answer.await;
            if answer.is_err() && self.primary.get() == Some(primary) {
                self.primary.set(None);
            }
            answer
        })
    }

    fn servers(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::reply::{bulk, error};
    use crate::redis::{PORT, judge_reply};
    use crate::stopped_world::StoppedWorld;
    use crate::{StoreId, node_name};
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::task::{Context, Poll, Waker};

    /// The links of one client to six servers, each of which can be cut.
    #[derive(Default)]
    struct Links {
        cut: RefCell<BTreeSet<usize>>,
        primary: Cell<usize>,
        sent: RefCell<Vec<(usize, String)>>,
    }

    impl Links {
        fn reply(&self, server: usize, name: &str) -> Value {
            match (name, server == self.primary.get()) {
                ("SENTINEL", _) => {
                    let name = node_name(self.primary.get() as u32);
                    Value::Array(vec![bulk(name), bulk(PORT.to_string())])
                }
                ("ROLE", true) => Value::Array(vec![bulk("master")]),
                ("ROLE", false) => Value::Array(vec![bulk("slave")]),
                (_, true) => Value::Okay,
                (_, false) => error("READONLY You can't write against a read only replica."),
            }
        }

        /// The servers to which a command was sent, since the last time.
        fn sent(&self, name: &str) -> Vec<usize> {
            let sent = self.sent.take().into_iter();
            sent.filter(|(_, sent)| sent == name).map(|(server, _)| server).collect()
        }
    }

    impl Link<Redis> for Links {
        fn world(&self) -> &dyn World {
            &StoppedWorld
        }

        fn call(&self, server: usize, request: Rc<Cmd>) -> LocalFuture<'_, Answer<Redis>> {
            let name = match request.args_iter().next() {
                Some(redis::Arg::Simple(name)) => String::from_utf8_lossy(name).into_owned(),
                _ => String::new(),
            };
            self.sent.borrow_mut().push((server, name.clone()));
            let answer = match self.cut.borrow().contains(&server) {
                true => Err(CallError::Unknown("no reply in time".into())),
                false => judge_reply(&request, self.reply(server, &name).into()),
            };
            Box::pin(ready(answer))
        }

        fn servers(&self) -> usize {
            6
        }
    }

    fn client() -> (Rc<Links>, Routed) {
        let topology = StoreId::topology("redis-sentinel").expect("it is in the list");
        let layout = Layout::of(topology).expect("it has Sentinels");
        let links = Rc::new(Links::default());
        (links.clone(), Routed::new(links, &layout))
    }

    fn set(client: &Routed) -> Answer<Redis> {
        let mut answer = client.call(0, Rc::new(redis::cmd("SET")));
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("every link answers at once"),
        }
    }

    #[test]
    fn a_cut_of_any_link_of_a_client_is_one() {
        for (primary, cut) in (0..3).flat_map(|primary| (0..6).map(move |cut| (primary, cut))) {
            let (links, client) = client();
            links.primary.set(primary);
            links.cut.borrow_mut().insert(cut);
            let answer = set(&client);
            let asked: Vec<usize> = links.sent.borrow().iter().map(|(server, _)| *server).collect();
            match cut {
                cut if cut == primary => assert!(answer.is_err() && asked == [3, primary]),
                3 => assert_eq!((answer.is_ok(), asked), (true, vec![3, 4, primary, primary])),
                _ => assert_eq!((answer.is_ok(), asked), (true, vec![3, primary, primary])),
            }
        }
        let (links, client) = client();
        links.cut.borrow_mut().extend(3..6);
        assert!(matches!(set(&client), Err(CallError::Refused(_))));
        assert!(links.sent("SET").is_empty(), "nobody says where to");
    }

    #[test]
    fn a_command_is_sent_once_and_the_next_one_goes_where_the_primary_is_then() {
        let (links, client) = client();
        assert!(set(&client).is_ok() && set(&client).is_ok());
        assert_eq!(links.sent("SENTINEL").len(), 1);
        links.primary.set(2);
        assert!(
            matches!(set(&client), Err(CallError::Refused(Refusal(why))) if why.starts_with("READONLY"))
        );
        assert_eq!(links.sent("SET"), [0]);
        assert!(set(&client).is_ok());
        assert_eq!(links.sent("SET"), [2]);
        links.cut.borrow_mut().insert(2);
        assert!(matches!(set(&client), Err(CallError::Unknown(_))));
        assert_eq!(links.sent("SET"), [2]);
        assert!(set(&client).is_err());
        assert!(links.sent("SET").is_empty(), "who does not answer is not called");
    }

    #[test]
    fn a_lock_sees_one_server() {
        let (_, client) = client();
        assert_eq!(client.servers(), 1);
        let mut answer = client.call(1, Rc::new(redis::cmd("SET")));
        let answer = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(answer, Poll::Ready(Err(CallError::Refused(_)))));
    }
}
