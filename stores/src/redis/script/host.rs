//! The functions that Rust lends to the sandbox.

use super::convert::{arguments, error_table, status_table, to_lua};
use super::random::Drand48;
use super::{Raised, SANDBOX, raw};
use crate::redis::model::cluster::LocalKeys;
use crate::redis::model::{Call, CommandFunction, Keyspace, READ_ONLY, WallClock, find};
use crate::redis::reply::error;
use mlua::{Lua, LuaString, Result, Table, Value as LuaValue, Variadic};
use redis::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// The environment of a running script: keys, clock and randomness.
#[derive(Default)]
pub struct Host {
    running: RefCell<RunningScript>,
    random: Drand48,
}

#[derive(Default)]
struct RunningScript {
    keys: Keyspace,
    /// `None` while no script runs.
    terms: Option<Terms>,
}

/// The terms on which a script runs.
#[derive(Clone, Copy)]
pub struct Terms {
    /// The clock of its server.
    pub clock: WallClock,
    /// True if it may only read.
    pub readonly: bool,
    /// The keys that it may use; `None`: all.
    pub local: Option<LocalKeys>,
}

impl Host {
    /// Lends the keys to a script.
    pub fn begin(&self, keys: &mut Keyspace, terms: Terms) {
        self.random.reset();
        self.swap(keys, Some(terms));
    }

    /// Gives the keys back.
    pub fn end(&self, keys: &mut Keyspace) {
        self.swap(keys, None);
    }

    fn swap(&self, keys: &mut Keyspace, terms: Option<Terms>) {
        let mut running = self.running.borrow_mut();
        running.terms = terms;
        std::mem::swap(&mut running.keys, keys);
    }

    /// Executes a command that a script calls.
    pub fn execute(&self, args: &[&[u8]]) -> Value {
        let Some(command) = find(args) else {
            return error("ERR Unknown Redis command called from script");
        };
        if !command.takes(args.len()) {
            return error("ERR Wrong number of args calling Redis command from script");
        }
        let CommandFunction::Keys(run) = command.run else {
            return error("ERR This Redis command is not allowed from script");
        };
        let mut running = self.running.borrow_mut();
        match running.terms {
            Some(Terms { readonly: true, .. }) if command.writes => error(READ_ONLY),
            Some(Terms { clock, local, .. }) => {
                if let Some(refusal) = local.and_then(|it| it.refusal(command, args)) {
                    return refusal;
                }
                run.run(Call { keys: &mut running.keys, clock, args, name: command.name })
            }
            None => error("ERR redis.call/pcall can only be called inside a script invocation"),
        }
    }

    /// `redis.pcall`: an error reply is returned as a table.
    fn pcall(&self, lua: &Lua, args: Variadic<LuaValue>) -> Result<LuaValue> {
        match arguments(lua, args) {
            Ok(args) => {
                let bytes: Vec<_> = args.iter().map(|arg| arg.as_bytes()).collect();
                let args: Vec<&[u8]> = bytes.iter().map(|bytes| bytes.as_ref()).collect();
                to_lua(lua, self.execute(&args))
            }
            Err(raised) => error_table(lua, &raised.to_string()),
        }
    }
}

/// All functions, by the names that the sandbox uses.
pub fn functions(lua: &Lua, host: &Rc<Host>) -> Result<Table> {
    let table = lua.create_table()?;
    table.set("call", raw::redis_call(lua, host)?)?;
    let shared = host.clone();
    table.set("pcall", lua.create_function(move |lua, args| shared.pcall(lua, args))?)?;
    let shared = host.clone();
    let random = move |lua: &Lua, bounds: Variadic<f64>| random(lua, &shared.random, &bounds);
    table.set("random", lua.create_function(random)?)?;
    let shared = host.clone();
    let seed = move |_: &Lua, seed: f64| {
        shared.random.seed(seed as i64 as i32);
        Ok(())
    };
    table.set("randomseed", lua.create_function(seed)?)?;
    table.set("sha1hex", lua.create_function(sha1hex_function)?)?;
    table.set("error_reply", lua.create_function(error_reply)?)?;
    table.set("status_reply", lua.create_function(status_reply)?)?;
    table.set("thaw", lua.create_function(thaw)?)?;
    table.set("raiser", lua.create_function(|lua, ()| Ok(raiser(lua)))?)?;
    Ok(table)
}

/// `math.random`, with its bounds as C would read them: whole numbers.
fn random(lua: &Lua, source: &Drand48, bounds: &[f64]) -> Result<f64> {
    let r = source.unit();
    let (low, high, argument) = match bounds {
        [] => return Ok(r),
        [high] => (1.0, high.trunc(), 1),
        [low, high] => (low.trunc(), high.trunc(), 2),
        _ => return Err(raised_here(lua, "wrong number of arguments")),
    };
    if low > high {
        let reason = format!("bad argument #{argument} to 'random' (interval is empty)");
        return Err(raised_here(lua, &reason));
    }
    Ok((r * (high - low + 1.0)).floor() + low)
}

/// An error as Lua's libraries raise it: behind the place of their caller.
fn raised_here(lua: &Lua, reason: &str) -> mlua::Error {
    let place = lua.inspect_stack(1, |frame| {
        let source = frame.source().short_src.map(|source| source.into_owned());
        source.zip(frame.current_line())
    });
    let text = match place.flatten() {
        Some((source, line)) => format!("{source}:{line}: {reason}"),
        None => reason.to_owned(),
    };
    mlua::Error::external(Raised::Text(text))
}

/// The SHA-1 in hexadecimal digits, which is a script's name.
pub fn sha1hex(bytes: &[u8]) -> String {
    sha1_smol::Sha1::from(bytes).digest().to_string()
}

fn sha1hex_function(lua: &Lua, args: Variadic<LuaValue>) -> Result<String> {
    if args.len() != 1 {
        return Err(mlua::Error::external(Raised::Reply("ERR wrong number of arguments".into())));
    }
    let text = lua.coerce_string(args[0].clone())?;
    Ok(text.map_or_else(|| sha1hex(b""), |text| sha1hex(&text.as_bytes())))
}

/// The one string that `error_reply` and `status_reply` take.
fn one_string(args: &[LuaValue]) -> Option<&LuaString> {
    match args {
        [LuaValue::String(text)] => Some(text),
        _ => None,
    }
}

const NOT_ONE_STRING: &str = "ERR wrong number or type of arguments";

/// A text without a blank has no code, and gets the general one.
fn error_reply(lua: &Lua, args: Variadic<LuaValue>) -> Result<LuaValue> {
    let Some(text) = one_string(&args) else { return error_table(lua, NOT_ONE_STRING) };
    let text = text.to_string_lossy();
    let text = text.strip_prefix('-').unwrap_or(&text).trim_matches(['\r', '\n']);
    if text.contains(' ') {
        error_table(lua, text)
    } else {
        error_table(lua, &format!("ERR {text}"))
    }
}

fn status_reply(lua: &Lua, args: Variadic<LuaValue>) -> Result<LuaValue> {
    match one_string(&args) {
        Some(text) => status_table(lua, text),
        None => error_table(lua, NOT_ONE_STRING),
    }
}

/// The table that Redis would have raised in place of an error that came from Rust; a text, for an
/// error of the machine itself.
fn thaw(lua: &Lua, raised: LuaValue) -> Result<LuaValue> {
    let LuaValue::Error(error) = raised else { return Ok(raised) };
    match error.downcast_ref::<Raised>() {
        Some(Raised::Reply(text)) => error_table(lua, text),
        Some(Raised::Text(text)) => Ok(LuaValue::String(lua.create_string(text)?)),
        None => Ok(LuaValue::String(lua.create_string(error.to_string())?)),
    }
}

/// The place at which an error was raised: the innermost frame that is the script's own. Redis
/// passes over one C function and no more.
fn raiser(lua: &Lua) -> (Option<String>, Option<i64>) {
    let mut passed_c = false;
    // 0 is this function and 1 the sandbox's handler.
    for level in 2.. {
        let frame = lua.inspect_stack(level, |frame| {
            let source = frame.source();
            let line = frame.current_line().map_or(-1, |line| line as i64);
            (source.source.map(|s| s.into_owned()), source.what == "C", line)
        });
        match frame {
            None => break,
            Some((Some(source), _, _)) if source == SANDBOX => {}
            Some((_, true, _)) if !passed_c => passed_c = true,
            Some((source, _, line)) => return (source, Some(line)),
        }
    }
    (None, None)
}
