//! A connection of the `redis` crate that is a link, for locks that are written against that crate.

use super::model::command_names;
use super::reply::error;
use super::{Redis, Refusal};
use crate::driver::is_without_reply;
use base::{Answer, CallError, Link, Protocol};
use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use send_wrapper::SendWrapper;
use std::io;
use std::rc::Rc;

/// A connection to one server over a link. Clones share it. It must stay on the thread of its link:
/// the trait asks for futures that may be sent, and these end the program when they are.
#[derive(Clone)]
pub struct LinkConnection {
    link: SendWrapper<Rc<dyn Link<Redis>>>,
    server: usize,
}

impl LinkConnection {
    /// Connects to the server with this number, from 0.
    pub fn new(link: Rc<dyn Link<Redis>>, server: usize) -> Self {
        Self { link: SendWrapper::new(link), server }
    }

    /// Sends a command now, and returns its reply: an error of the server is a value, as on a
    /// socket; a call without a reply is an error of the connection.
    fn send(&self, command: &Cmd) -> impl Future<Output = RedisResult<Value>> + use<'_> {
        let command = Rc::new(command.clone());
        check_known(&Redis::command(&command));
        let call = self.link.call(self.server, command.clone());
        async move { reply(&command, call.await) }
    }
}

/// Ends the run where the model has no such command: a real server has an answer, and what a lock
/// does without it says nothing about the lock.
///
/// # Panics
/// Panics then.
pub(super) fn check_known(name: &str) {
    assert!(
        !["SUBSCRIBE", "PSUBSCRIBE"].contains(&name),
        "{name} takes a connection of its own: that of `pub_sub`"
    );
    let is_known = command_names().any(|known| known.eq_ignore_ascii_case(name));
    assert!(
        is_known,
        "picklock's model of Redis has no {name}: a lock that sends it can be tested on real servers only"
    );
}

/// The libraries of a real server's scripts that those of the model do not have.
const LIBRARIES: [&str; 4] = ["bit", "cjson", "cmsgpack", "struct"];

/// Ends the run where a script asks for what the model does not have, as [`check_known`] does.
///
/// # Panics
/// Panics then.
fn check_script(command: &Cmd, text: &str) {
    let missing: Vec<&str> = if text.contains("Unknown Redis command called from script") {
        let script = command.args_iter().nth(1);
        let script =
            script.map_or(&[][..], |it| if let Arg::Simple(text) = it { text } else { b"" });
        unknown_calls(str::from_utf8(script).unwrap_or_default())
    } else {
        let global = |name: &&str| text.contains(&format!("nonexistent global variable '{name}'"));
        LIBRARIES.into_iter().filter(global).collect()
    };
    assert!(
        missing.is_empty(),
        "picklock's model of Redis has no {} for scripts: a lock that calls it can be tested on real servers only",
        missing.join(", ")
    );
}

/// The commands in the calls of a script that the model does not know.
fn unknown_calls(script: &str) -> Vec<&str> {
    let named = |call: &'static str| script.split(call).skip(1);
    let quoted = |rest: &str| rest.trim_start().starts_with(['\'', '"']);
    let calls = named("call(").filter(|rest| quoted(rest));
    let names = calls.filter_map(|rest| rest.trim_start()[1..].split(['\'', '"']).next());
    names.filter(|name| !command_names().any(|known| known.eq_ignore_ascii_case(name))).collect()
}

/// Returns what a server has replied, an error included; nothing if it has not.
pub(super) fn replied(command: &Cmd, answer: Answer<Redis>) -> Result<Value, String> {
    let text = match answer {
        Ok(value) => return Ok(*value),
        Err(CallError::Unknown(why)) if is_without_reply(&why) => return Err(why),
        // After an error of a script nobody knows what it has done; the client knows the error.
        Err(CallError::Refused(Refusal(text)) | CallError::Unknown(text)) => text,
    };
    check_script(command, &text);
    Ok(error(&text))
}

fn reply(command: &Cmd, answer: Answer<Redis>) -> RedisResult<Value> {
    let lost = |why| RedisError::from(io::Error::new(io::ErrorKind::TimedOut, why));
    replied(command, answer).map_err(lost)
}

impl ConnectionLike for LinkConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(SendWrapper::new(self.send(command)))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        // All leave at once, in their order.
        let around = |name| pipeline.is_transaction().then(|| self.send(&redis::cmd(name)));
        let mut replies: Vec<_> = around("MULTI").into_iter().collect();
        replies.extend(pipeline.cmd_iter().map(|command| self.send(command)));
        replies.extend(around("EXEC"));
        Box::pin(SendWrapper::new(async move {
            let mut all = Vec::with_capacity(replies.len());
            for reply in replies {
                all.push(reply.await?);
            }
            Ok(all.into_iter().skip(offset).take(count).collect())
        }))
    }

    fn get_db(&self) -> i64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::script::Engine;
    use crate::redis::{Server, judge_reply};
    use crate::stopped_world::StoppedWorld;
    use base::{LocalFuture, WallTime, World};
    use futures_util::FutureExt;
    use redis::{cmd, pipe};
    use std::cell::RefCell;
    use std::future::ready;

    /// A link to a model that answers at once.
    struct ModelLink(RefCell<Server>);

    impl Link<Redis> for ModelLink {
        fn world(&self) -> &dyn World {
            &StoppedWorld
        }

        fn call(&self, _: usize, request: Rc<Cmd>) -> LocalFuture<'_, Answer<Redis>> {
            let value = self.0.borrow_mut().execute(WallTime::ZERO, &request);
            Box::pin(ready(judge_reply(&request, value.into())))
        }

        fn servers(&self) -> usize {
            1
        }
    }

    #[test]
    fn a_pipeline_may_be_a_transaction() {
        let link = Rc::new(ModelLink(RefCell::new(Server::new(Engine::new()))));
        let mut connection = LinkConnection::new(link.clone(), 0);
        let mut both = pipe();
        both.atomic().cmd("SET").arg("k").arg("v").ignore().cmd("GET").arg("k");
        let mut run = |pipeline: &Pipeline| {
            let sent = pipeline.query_async::<Option<(String,)>>(&mut connection);
            sent.now_or_never().expect("the model answers at once")
        };
        assert_eq!(run(&both), Ok(Some(("v".to_owned(),))));
        let mut watch = cmd("WATCH");
        watch.arg("k");
        link.0.borrow_mut().execute(WallTime::ZERO, &watch);
        link.0.borrow_mut().execute(WallTime::ZERO, cmd("DEL").arg("k"));
        assert_eq!(run(&both), Ok(None));
    }
}
