//! One client of a cluster, with links that can be cut one by one.

use super::*;
use crate::redis::judge_reply;
use crate::redis::reply::{bulk, error};
use crate::stopped_world::StoppedWorld;
use crate::{StoreId, node_name};
use std::collections::BTreeSet;
use std::task::{Context, Poll, Waker};

/// The links of one client to six servers, each of which can be cut. The primary of the first
/// shard may be another than server 0, which servers still name for a while.
#[derive(Default)]
struct Links {
    cut: RefCell<BTreeSet<usize>>,
    /// The primary of the first shard.
    primary: Cell<usize>,
    /// True if the servers do not know it yet and still name server 0.
    is_news: Cell<bool>,
    /// True if the two servers of the first shard name each other as its primary.
    is_disputed: Cell<bool>,
    sent: RefCell<Vec<(usize, String)>>,
}

impl Links {
    fn reply(&self, server: usize, name: &str) -> Value {
        let named = if self.is_news.get() { 0 } else { self.primary.get() };
        match name {
            "CLUSTER" => {
                let range = |first: u16, last: u16, primary: usize| {
                    let primary = vec![bulk(node_name(primary as u32)), Value::Int(6_379)];
                    let bounds = [first, last].map(|slot| Value::Int(slot.into()));
                    Value::Array(bounds.into_iter().chain([Value::Array(primary)]).collect())
                };
                let ranges =
                    [range(0, 5_460, named), range(5_461, 10_922, 1), range(10_923, 16_383, 2)];
                Value::Array(ranges.into())
            }
            _ if self.is_disputed.get() => {
                error(&format!("MOVED 3300 server-{}:6379", (server + 3) % 6))
            }
            _ if server == self.primary.get() => Value::Okay,
            _ => error(&format!("MOVED 3300 server-{}:6379", self.primary.get())),
        }
    }

    fn take_sent(&self) -> Vec<(usize, String)> {
        self.sent.take()
    }
}

impl Link<Redis> for Links {
    fn world(&self) -> &dyn World {
        &StoppedWorld
    }

    fn call(&self, server: usize, request: Rc<Cmd>) -> LocalFuture<'_, Answer<Redis>> {
        let name = match request.args_iter().next() {
            Some(Arg::Simple(name)) => String::from_utf8_lossy(name).into_owned(),
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

fn client() -> (Rc<Links>, SlotRouted) {
    let topology = StoreId::topology("redis-cluster").expect("it is in the list");
    let shards = Shards::of(topology).expect("it has several");
    let links = Rc::new(Links::default());
    (links.clone(), SlotRouted::new(links, shards))
}

fn set(client: &SlotRouted) -> Answer<Redis> {
    let mut answer = client.call(0, Rc::new(redis::cmd("SET").arg("b").arg("v").clone()));
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("every link answers at once"),
    }
}

fn servers(sent: &[(usize, String)], name: &str) -> Vec<usize> {
    sent.iter().filter(|(_, sent)| sent == name).map(|(server, _)| *server).collect()
}

#[test]
fn a_cut_of_any_link_of_a_client_is_one() {
    for (primary, cut) in [0, 3].into_iter().flat_map(|it| (0..6).map(move |cut| (it, cut))) {
        let (links, client) = client();
        links.primary.set(primary);
        links.cut.borrow_mut().insert(cut);
        let answer = set(&client);
        let sent = links.take_sent();
        let asked = if cut == 0 { vec![0, 1] } else { vec![0] };
        assert_eq!(servers(&sent, "CLUSTER"), asked);
        assert_eq!(servers(&sent, "SET"), [primary]);
        assert_eq!(answer.is_ok(), cut != primary);
    }
    let (links, client) = client();
    links.cut.borrow_mut().extend(0..6);
    assert!(matches!(set(&client), Err(CallError::Refused(_))));
    assert!(servers(&links.take_sent(), "SET").is_empty(), "nobody says where to");
}

#[test]
fn a_command_that_was_turned_away_goes_to_whoever_is_named() {
    let (links, client) = client();
    links.primary.set(3);
    links.is_news.set(true);
    assert!(set(&client).is_ok() && set(&client).is_ok());
    let sent = links.take_sent();
    assert_eq!(servers(&sent, "SET"), [0, 3, 3]);
    assert_eq!(servers(&sent, "CLUSTER"), [0], "it knows better than to ask again");
}

#[test]
fn a_command_in_doubt_is_sent_once_and_the_next_one_asks_anew() {
    let (links, client) = client();
    assert!(set(&client).is_ok());
    links.cut.borrow_mut().insert(0);
    links.take_sent();
    assert!(matches!(set(&client), Err(CallError::Unknown(_))));
    assert_eq!(links.take_sent(), [(0, "SET".to_owned())]);
    links.primary.set(3);
    assert!(set(&client).is_ok());
    let sent = links.take_sent();
    assert_eq!(servers(&sent, "SET"), [3]);
    assert_eq!(servers(&sent, "CLUSTER"), [1]);
}

#[test]
fn two_that_name_each_other_end_a_call() {
    let (links, client) = client();
    links.is_disputed.set(true);
    let answer = set(&client);
    assert!(matches!(answer, Err(CallError::Refused(Refusal(why))) if why.starts_with("MOVED")));
    assert_eq!(servers(&links.take_sent(), "SET").len(), MOST_MOVES + 1);
}

#[test]
fn the_first_key_of_a_command_is_found() {
    let key = |words: &[&str]| {
        let mut command = redis::cmd(words[0]);
        let command = command.arg(&words[1..]);
        first_key(command).map(|key| String::from_utf8_lossy(key).into_owned())
    };
    assert_eq!(key(&["SET", "k", "v"]).as_deref(), Some("k"));
    assert_eq!(key(&["eval", "return 1", "2", "k", "l"]).as_deref(), Some("k"));
    assert_eq!(key(&["EVALSHA", "abc", "0", "argument"]), None);
    assert_eq!(key(&["TIME"]), None);
    assert_eq!(key(&["SCRIPT", "LOAD", "return 1"]), None);
}
