//! Calling a script, and being called by it, on Lua's own stack.
//!
//! The binding's safe way wraps every value that passes into a reference that it has to count and
//! free; with it a script of two commands costs three times as much as with this, and scripts are
//! half of what a simulated Redis costs. Two rules keep this sound: Lua raises an error by jumping
//! over the frames of its callers, so no frame that can be jumped over owns anything; and a string on
//! the stack is looked at only as long as it stands there. The first has a hole: if memory runs out
//! while a reply is pushed, the frame that owns the reply is jumped over.

#![expect(unsafe_code, reason = "works on Lua's stack")]

use super::Raised;
use super::convert::truncated;
use super::host::Host;
use crate::redis::model::lua_number;
use crate::redis::reply::error_text;
use mlua::{Function, Lua, Result, Value as LuaValue, ffi};
use redis::Value;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

type State = *mut ffi::lua_State;

/// What came of a script.
pub enum Ran {
    /// It returned something plain.
    Plain(Value),
    /// It returned a table.
    Returned(LuaValue),
    /// It broke off, with what the sandbox made of the error.
    Raised(LuaValue),
}

/// Runs a script by way of the sandbox's own function.
pub fn run(
    lua: &Lua,
    sandbox: &Function,
    script: &Function,
    keys: &[&[u8]],
    argv: &[&[u8]],
) -> Result<Ran> {
    let mut plain = None;
    // SAFETY: what is pushed is popped or handed over, and the closure owns nothing.
    let (ok, value): (Option<bool>, LuaValue) = unsafe {
        lua.exec_raw((sandbox, script), |state| {
            list(state, keys);
            list(state, argv);
            ffi::lua_call(state, 3, 2);
            if ffi::lua_toboolean(state, -2) != 0 {
                plain = plain_value(state);
                if plain.is_some() {
                    ffi::lua_settop(state, -3);
                }
            }
        })?
    };
    Ok(match plain {
        Some(value) => Ran::Plain(value),
        None if ok == Some(true) => Ran::Returned(value),
        None => Ran::Raised(value),
    })
}

/// Pushes a table of strings.
unsafe fn list(state: State, items: &[&[u8]]) {
    unsafe {
        ffi::luaL_checkstack(state, 2, std::ptr::null());
        ffi::lua_createtable(state, items.len() as c_int, 0);
        for (index, item) in items.iter().enumerate() {
            ffi::lua_pushlstring(state, item.as_ptr().cast(), item.len());
            ffi::lua_rawseti(state, -2, index as ffi::lua_Integer + 1);
        }
    }
}

/// What stands on top of the stack, as a reply, if it is no table.
unsafe fn plain_value(state: State) -> Option<Value> {
    unsafe {
        match ffi::lua_type(state, -1) {
            ffi::LUA_TNUMBER => Some(Value::Int(truncated(ffi::lua_tonumber(state, -1)))),
            ffi::LUA_TSTRING => Some(Value::BulkString(string(state, -1).to_vec())),
            ffi::LUA_TBOOLEAN if ffi::lua_toboolean(state, -1) != 0 => Some(Value::Int(1)),
            ffi::LUA_TTABLE => None,
            _ => Some(Value::Nil),
        }
    }
}

/// A string on the stack, which has to stay there.
unsafe fn string<'a>(state: State, index: c_int) -> &'a [u8] {
    let mut length = 0;
    unsafe {
        let bytes = ffi::lua_tolstring(state, index, &mut length);
        std::slice::from_raw_parts(bytes.cast(), length)
    }
}

/// `redis.call`: an error reply is raised. The machine must not outlive the host.
pub fn redis_call(lua: &Lua, host: &Rc<Host>) -> Result<Function> {
    let host = Rc::as_ptr(host);
    // SAFETY: the closure pushes one value, which is handed over.
    unsafe {
        lua.exec_raw((), |state| {
            ffi::lua_pushlightuserdata(state, host.cast_mut().cast());
            ffi::lua_pushcclosure(state, call, 1);
        })
    }
}

unsafe extern "C-unwind" fn call(state: State) -> c_int {
    // SAFETY: by the time that the error is raised, everything that was owned is gone.
    unsafe {
        if answer(state) {
            return 1;
        }
        ffi::lua_error(state)
    }
}

/// Carries the command out and pushes the reply; false when it is an error, to be raised.
unsafe fn answer(state: State) -> bool {
    unsafe {
        let host = &*ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)).cast::<Host>();
        // A panic must not cross Lua's frames.
        let value = catch_unwind(AssertUnwindSafe(|| execute(state, host)));
        match value.unwrap_or_else(|_| std::process::abort()) {
            Ok(value) => push(state, &value),
            Err(raised) => {
                push_single(state, c"err", raised.to_string().as_bytes());
                false
            }
        }
    }
}

unsafe fn execute(state: State, host: &Host) -> std::result::Result<Value, Raised> {
    let refuse = |reason: &str| Err(Raised::Reply(reason.into()));
    let count = unsafe { ffi::lua_gettop(state) };
    if count == 0 {
        return refuse("ERR Please specify at least one argument for this redis lib call");
    }
    let mut args: SmallVec<[Cow<'_, [u8]>; 8]> = SmallVec::new();
    for index in 1..=count {
        args.push(match unsafe { ffi::lua_type(state, index) } {
            ffi::LUA_TSTRING => Cow::Borrowed(unsafe { string(state, index) }),
            ffi::LUA_TNUMBER => {
                Cow::Owned(lua_number(unsafe { ffi::lua_tonumber(state, index) }).into())
            }
            _ => {
                return refuse("ERR Lua redis lib command arguments must be strings or integers");
            }
        });
    }
    let args: SmallVec<[&[u8]; 8]> = args.iter().map(|arg| &**arg).collect();
    Ok(host.execute(&args))
}

/// Pushes a reply as a script sees it; false when it is an error.
unsafe fn push(state: State, value: &Value) -> bool {
    unsafe {
        ffi::luaL_checkstack(state, 4, std::ptr::null());
        match value {
            Value::Int(n) => ffi::lua_pushnumber(state, *n as f64),
            Value::BulkString(bytes) => {
                ffi::lua_pushlstring(state, bytes.as_ptr().cast(), bytes.len());
            }
            Value::Okay => push_single(state, c"ok", b"OK"),
            Value::SimpleString(text) => push_single(state, c"ok", text.as_bytes()),
            Value::ServerError(refusal) => {
                push_single(state, c"err", error_text(refusal).as_bytes());
                return false;
            }
            Value::Array(values) => {
                ffi::lua_createtable(state, values.len() as c_int, 0);
                for (index, value) in values.iter().enumerate() {
                    push(state, value);
                    ffi::lua_rawseti(state, -2, index as ffi::lua_Integer + 1);
                }
            }
            _ => ffi::lua_pushboolean(state, 0),
        }
    }
    true
}

/// Pushes a table with one field.
unsafe fn push_single(state: State, field: &CStr, text: &[u8]) {
    unsafe {
        ffi::lua_createtable(state, 0, 1);
        ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
        ffi::lua_setfield(state, -2, field.as_ptr());
    }
}
