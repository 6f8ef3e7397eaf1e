//! Values on their way between Redis and Lua, by the rules of the Redis manual ("Data type
//! conversion").

use super::Raised;
use crate::redis::model::lua_number;
use crate::redis::reply::{bulk, error, error_text, flag, status};
use mlua::{IntoLua, Lua, LuaString, Result, Table, Value as LuaValue, Variadic};
use redis::Value;

/// The greatest depth of a script's answer. Redis stops where its Lua stack ends, far deeper, but
/// no client library reads a reply of such a depth.
const DEEPEST: usize = 100;

/// A reply as a script sees it. An error reply becomes a table, as `redis.pcall` gives it.
pub fn to_lua(lua: &Lua, value: Value) -> Result<LuaValue> {
    match value {
        Value::Int(n) => Ok(LuaValue::Number(n as f64)),
        Value::BulkString(bytes) => lua.create_string(bytes)?.into_lua(lua),
        Value::Okay => single(lua, "ok", "OK"),
        Value::SimpleString(text) => single(lua, "ok", &text),
        Value::ServerError(refusal) => error_table(lua, &error_text(&refusal)),
        Value::Array(values) => {
            let items: Result<Vec<_>> = values.into_iter().map(|v| to_lua(lua, v)).collect();
            lua.create_sequence_from(items?)?.into_lua(lua)
        }
        _ => Ok(LuaValue::Boolean(false)),
    }
}

fn single(lua: &Lua, field: &str, text: &str) -> Result<LuaValue> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(field, text)?;
    table.into_lua(lua)
}

/// The table that stands for an error reply in a script.
pub fn error_table(lua: &Lua, text: &str) -> Result<LuaValue> {
    single(lua, "err", text)
}

/// The table that `redis.status_reply` returns.
pub fn status_table(lua: &Lua, text: &LuaString) -> Result<LuaValue> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set("ok", text)?;
    table.into_lua(lua)
}

/// The arguments of `redis.call`: strings and numbers.
pub fn arguments(
    lua: &Lua,
    args: Variadic<LuaValue>,
) -> std::result::Result<Vec<LuaString>, Raised> {
    if args.is_empty() {
        let reason = "ERR Please specify at least one argument for this redis lib call";
        return Err(Raised::Reply(reason.into()));
    }
    let strings: Option<Vec<LuaString>> = args.into_iter().map(|arg| argument(lua, arg)).collect();
    strings.ok_or_else(|| {
        Raised::Reply("ERR Lua redis lib command arguments must be strings or integers".into())
    })
}

fn argument(lua: &Lua, value: LuaValue) -> Option<LuaString> {
    match value {
        LuaValue::String(text) => Some(text),
        // Lua 5.1 has one kind of number; the binding shows whole ones as integers.
        LuaValue::Integer(n) => lua.create_string(lua_number(n as f64)).ok(),
        LuaValue::Number(n) => lua.create_string(lua_number(n)).ok(),
        _ => None,
    }
}

/// The value that a script returned, as a reply.
pub fn to_reply(value: &LuaValue) -> Value {
    reply(value, DEEPEST).unwrap_or_else(|| error("ERR reached lua stack limit"))
}

fn reply(value: &LuaValue, depth: usize) -> Option<Value> {
    Some(match value {
        LuaValue::String(text) => bulk(text.as_bytes().to_vec()),
        LuaValue::Boolean(true) => flag(true),
        LuaValue::Integer(n) => Value::Int(*n),
        LuaValue::Number(n) => Value::Int(truncated(*n)),
        LuaValue::Table(table) => table_reply(table, depth)?,
        _ => Value::Nil,
    })
}

/// Converts a number as C converts a double to a `long long` on the usual machine.
pub fn truncated(n: f64) -> i64 {
    let end = (1u64 << 63) as f64;
    if (-end..end).contains(&n) { n as i64 } else { i64::MIN }
}

fn table_reply(table: &Table, depth: usize) -> Option<Value> {
    if let Some(text) = field(table, "err") {
        return Some(error(&text));
    }
    if let Some(text) = field(table, "ok") {
        return Some(status(text.replace(['\r', '\n'], " ")));
    }
    let depth = depth.checked_sub(1)?;
    let mut values = Vec::new();
    // An array ends at its first nil.
    for index in 1.. {
        match table.raw_get::<LuaValue>(index) {
            Ok(LuaValue::Nil) | Err(_) => break,
            Ok(value) => values.push(reply(&value, depth)?),
        }
    }
    Some(Value::Array(values))
}

/// A field of a table, if it is a string: up to its first zero, since C reads it.
pub fn field(table: &Table, name: &str) -> Option<String> {
    match table.raw_get(name) {
        Ok(LuaValue::String(text)) => {
            let bytes = text.as_bytes();
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            Some(String::from_utf8_lossy(text).into_owned())
        }
        _ => None,
    }
}
