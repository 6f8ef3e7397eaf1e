//! Scripts that need no Lua. A search over thousands of schedules may run the scripts of which Rust
//! has a twin here without Lua; nobody has to, and a simulator does not unless it is told to. A
//! twin is found by the exact text of its script, and a differential test holds it against Lua.

use crate::redis::model::{Keyspace, Millis};
use redis::Value;

/// The machine that runs scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runner {
    /// Real Lua 5.1.
    #[default]
    Lua,
    /// Rust, where it has a twin of the script; else Lua.
    Native,
}

/// A function that does what a script does with these keys and arguments; `None`: ask Lua.
pub type Twin = fn(&mut Keyspace, Millis, &[&[u8]], &[&[u8]]) -> Option<Value>;

/// The scripts that have a twin.
const TWINS: &[(&str, Twin)] = &[(
    "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('del', KEYS[1]) else return 0 end",
    compare_and_delete,
)];

/// The twin of a script, if it has one.
pub fn twin(body: &[u8]) -> Option<Twin> {
    TWINS.iter().find(|(text, _)| text.as_bytes() == body).map(|(_, twin)| *twin)
}

fn compare_and_delete(
    store: &mut Keyspace,
    now: Millis,
    keys: &[&[u8]],
    argv: &[&[u8]],
) -> Option<Value> {
    let key = keys.first()?;
    let found = store.get(key, now).map(|entry| entry.value.as_slice());
    let own = found.is_some() && found == argv.first().copied();
    Some(Value::Int(i64::from(own && store.delete(key, now))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::Server;
    use crate::redis::script::Engine;
    use base::{Rng, Wall};

    /// Thousands of random calls, on keys that come, change, run out and go, get the same replies
    /// from both and leave the same keys.
    #[test]
    fn each_twin_does_what_lua_does() {
        for (script, _) in TWINS {
            let mut rng = Rng::new(5);
            let mut lua = Server::new(Engine::new());
            let mut native = Server::new(Engine::new().run_by(Runner::Native));
            let mut replies = std::collections::BTreeSet::new();
            for step in 0..20_000 {
                let now = Wall::from_nanos(1_000_000_000_000 + step * 500_000);
                let key = format!("k{}", rng.below(3));
                let value = format!("v{}", rng.below(3));
                let mut command = redis::Cmd::new();
                match rng.below(4) {
                    0 => {
                        command.arg("SET").arg(&key).arg(&value);
                        if rng.chance(0.7) {
                            command.arg("PX").arg(1 + rng.below(5));
                        }
                    }
                    1 => drop(command.arg("PTTL").arg(&key)),
                    _ => {
                        command.arg("EVAL").arg(*script).arg(rng.below(3));
                        for argument in 0..rng.below(4) {
                            command.arg(if argument == 0 { &key } else { &value });
                        }
                    }
                }
                let said = lua.execute(now, &command);
                assert_eq!(native.execute(now, &command), said, "{command:?}");
                replies.insert(format!("{said:?}"));
            }
            assert!(replies.len() > 5, "too little happened: {replies:?}");
        }
    }
}
