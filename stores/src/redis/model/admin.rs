//! The commands on the server itself and its scripts.

use super::Server;
use super::commands::{Call, WallClock};
use super::number::integer;
use super::option;
use crate::model::{By, What};
use crate::redis::reply::{bulk, error, flag, not_an_integer, status, syntax_error, wrong_arity};
use redis::Value;

/// PING [word]: answers PONG, or the word.
pub fn ping(call: Call<'_>) -> Value {
    match call.args {
        [_] => status("PONG".into()),
        [_, word] => bulk(*word),
        _ => wrong_arity(call.name),
    }
}

/// ECHO word: answers the word.
pub fn echo(call: Call<'_>) -> Value {
    bulk(call.args[1])
}

/// SELECT index. The model is a server with one database.
pub fn select(call: Call<'_>) -> Value {
    match integer(call.args[1]) {
        Some(0) => Value::Okay,
        Some(index) if i32::try_from(index).is_ok() => error("ERR DB index is out of range"),
        Some(_) => error(&format!(
            "ERR value is out of range, value must between {} and {}",
            i32::MIN,
            i32::MAX
        )),
        None => not_an_integer(),
    }
}

/// TIME: seconds and microseconds.
pub fn time(call: Call<'_>) -> Value {
    let micros = call.clock.micros;
    let text = |number: i64| bulk(number.to_string());
    Value::Array(vec![text(micros / 1_000_000), text(micros % 1_000_000)])
}

/// DBSIZE: the number of keys.
pub fn dbsize(call: Call<'_>) -> Value {
    Value::Int(call.keys.len() as i64)
}

/// FLUSHALL [ASYNC | SYNC] and FLUSHDB, which are the same with one database.
pub fn flush(call: Call<'_>) -> Value {
    if !is_flush_mode(&call.args[1..]) {
        return syntax_error();
    }
    call.keys.clear(What::Deleted(By::Caller));
    Value::Okay
}

fn is_flush_mode(options: &[&[u8]]) -> bool {
    match options {
        [] => true,
        [mode] => matches!(option::name(mode), option::SYNC | option::ASYNC),
        _ => false,
    }
}

/// SCRIPT and CLIENT alone: the number of arguments is refused before this is asked.
pub fn no_subcommand(_: &mut Server, _: WallClock, _: &[&[u8]]) -> Value {
    syntax_error()
}

/// SCRIPT LOAD script.
pub fn script_load(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    match server.scripts.load(args[2]) {
        Ok(script) => bulk(script.sha()),
        Err(refusal) => refusal,
    }
}

/// SCRIPT EXISTS sha….
pub fn script_exists(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    Value::Array(args[2..].iter().map(|sha| flag(server.scripts.get(sha).is_some())).collect())
}

/// SCRIPT FLUSH [ASYNC | SYNC].
pub fn script_flush(server: &mut Server, _: WallClock, args: &[&[u8]]) -> Value {
    if !is_flush_mode(&args[2..]) {
        return error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
    }
    server.scripts.clear();
    Value::Okay
}

/// EVAL script numkeys key… arg….
pub fn eval(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    let (keys, rest) = match split(args) {
        Ok(both) => both,
        Err(refusal) => return refusal,
    };
    match server.scripts.load(args[1]) {
        Ok(script) => server.scripts.run(&script, &mut server.keys, clock, keys, rest),
        Err(refusal) => refusal,
    }
}

/// EVALSHA sha numkeys key… arg….
pub fn evalsha(server: &mut Server, clock: WallClock, args: &[&[u8]]) -> Value {
    let no_script = || error("NOSCRIPT No matching script. Please use EVAL.");
    // Redis looks at the length first, at the number of keys next and only then for the script.
    if args[1].len() != 40 {
        return no_script();
    }
    let (keys, rest) = match split(args) {
        Ok(both) => both,
        Err(refusal) => return refusal,
    };
    match server.scripts.get(args[1]) {
        Some(script) => server.scripts.run(&script, &mut server.keys, clock, keys, rest),
        None => no_script(),
    }
}

/// A script's arguments: its keys and the others.
type Split<'a> = (&'a [&'a [u8]], &'a [&'a [u8]]);

fn split<'a>(args: &'a [&'a [u8]]) -> Result<Split<'a>, Value> {
    let count = integer(args[2]).ok_or_else(not_an_integer)?;
    let rest = &args[3..];
    if count > rest.len() as i64 {
        return Err(error("ERR Number of keys can't be greater than number of args"));
    }
    let count =
        usize::try_from(count).map_err(|_| error("ERR Number of keys can't be negative"))?;
    Ok(rest.split_at(count))
}
