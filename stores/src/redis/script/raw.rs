//! Calling a script, and being called by it, on Lua's own stack.
//!
//! The binding's safe way wraps every value that passes into a reference that it has to count and
//! free, and makes a new function for every call; a script of two commands costs several times as
//! much with it as with this. Three rules keep this sound. Lua raises an error by jumping over the
//! frames of its callers, so no frame that can be jumped over owns anything. Outside a protected
//! call nothing is done that can raise an error; memory that cannot be had raises none, since the
//! binding's allocator ends the process then, as Rust does everywhere. And a string on the stack is
//! looked at only as long as it stands there.

#![expect(unsafe_code, reason = "works on Lua's stack")]

use super::Raised;
use super::convert::truncated;
use super::host::Host;
use crate::redis::model::lua_number;
use crate::redis::reply::error_text;
use mlua::{Function, Lua, RegistryKey, Result, Table, Value as LuaValue, ffi};
use redis::Value;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

type LuaState = *mut ffi::lua_State;

/// The result of a script.
pub enum Ran {
    /// The script returned a plain value.
    Plain(Value),
    /// The script returned a table.
    Returned(LuaValue),
    /// The script broke off, with what the sandbox made of the error.
    Raised(LuaValue),
}

/// The place where scripts are run: a machine's main stack, and in its registry what has to be at
/// hand there.
pub struct ScriptStage {
    lua: Lua,
    state: LuaState,
    explain: RegistryKey,
    keys: List,
    argv: List,
    /// The slot for a result that is not a plain value.
    left: RegistryKey,
}

impl ScriptStage {
    /// `members` are the globals that a script sees, `explain` is the handler of its errors.
    pub fn new(lua: &Lua, members: &Table, explain: Function) -> Result<Self> {
        let mut state = std::ptr::null_mut();
        // SAFETY: nothing is done with the stack.
        unsafe { lua.exec_raw::<()>((), |main| state = main)? };
        Ok(Self {
            lua: lua.clone(),
            state,
            explain: lua.create_registry_value(explain)?,
            keys: List::new(lua, members, "KEYS")?,
            argv: List::new(lua, members, "ARGV")?,
            left: lua.create_registry_value(true)?,
        })
    }

    /// Runs a script, which may change KEYS and ARGV or only reads their elements.
    pub fn run(
        &self,
        script: &RegistryKey,
        may_change: bool,
        keys: &[&[u8]],
        argv: &[&[u8]],
    ) -> Result<Ran> {
        self.keys.fill(&self.lua, self.state, keys, may_change)?;
        self.argv.fill(&self.lua, self.state, argv, may_change)?;
        let state = self.state;
        // SAFETY: the state lives as long as `lua`, its stack has room for these and is left as it
        // was found, and only the script, which is called in protected mode, can raise an error.
        let (ok, plain) = unsafe {
            push_registered(state, &self.explain);
            push_registered(state, script);
            let ok = ffi::lua_pcall(state, 0, 1, -2) == ffi::LUA_OK;
            let plain = if ok { plain_value(state) } else { None };
            if plain.is_none() {
                ffi::lua_pushvalue(state, -1);
                ffi::lua_rawseti(state, ffi::LUA_REGISTRYINDEX, self.left.id().into());
            }
            ffi::lua_settop(state, -3);
            (ok, plain)
        };
        Ok(match plain {
            Some(value) => Ran::Plain(value),
            None if ok => Ran::Returned(self.lua.registry_value(&self.left)?),
            None => Ran::Raised(self.lua.registry_value(&self.left)?),
        })
    }
}

/// Pushes a value of the registry.
unsafe fn push_registered(state: LuaState, key: &RegistryKey) {
    unsafe { ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, key.id()) };
}

/// The list KEYS or ARGV. To make a table costs more than to fill it, so it serves one script after
/// the other, as long as they only read it.
struct List {
    name: &'static str,
    members: Table,
    made: RefCell<Made>,
}

struct Made {
    table: RegistryKey,
    length: usize,
    /// True if a script may have changed it.
    spent: bool,
}

impl List {
    fn new(lua: &Lua, members: &Table, name: &'static str) -> Result<Self> {
        let made = RefCell::new(Made::new(lua, members, name, 0)?);
        Ok(Self { name, members: members.clone(), made })
    }

    /// Fills it for a script, which may change it or only reads it.
    fn fill(&self, lua: &Lua, state: LuaState, items: &[&[u8]], may_change: bool) -> Result<()> {
        let mut made = self.made.borrow_mut();
        if made.spent || made.length != items.len() {
            *made = Made::new(lua, &self.members, self.name, items.len())?;
        }
        made.spent = may_change;
        // SAFETY: what is pushed is popped; setting an element that has its place raises no error.
        unsafe {
            push_registered(state, &made.table);
            for (index, item) in items.iter().enumerate() {
                ffi::lua_pushlstring(state, item.as_ptr().cast(), item.len());
                ffi::lua_rawseti(state, -2, index as ffi::lua_Integer + 1);
            }
            ffi::lua_settop(state, -2);
        }
        Ok(())
    }
}

impl Made {
    fn new(lua: &Lua, members: &Table, name: &str, length: usize) -> Result<Self> {
        let table = lua.create_table_with_capacity(length, 0)?;
        members.raw_set(name, &table)?;
        Ok(Self { table: lua.create_registry_value(table)?, length, spent: false })
    }
}

/// The value on top of the stack as a reply; `None` for a table.
unsafe fn plain_value(state: LuaState) -> Option<Value> {
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
unsafe fn string<'a>(state: LuaState, index: c_int) -> &'a [u8] {
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

unsafe extern "C-unwind" fn call(state: LuaState) -> c_int {
    // SAFETY: by the time that the error is raised, everything that was owned is gone.
    unsafe {
        if answer(state) {
            return 1;
        }
        ffi::lua_error(state)
    }
}

/// Carries the command out and pushes the reply. Returns false for an error, to be raised.
unsafe fn answer(state: LuaState) -> bool {
    unsafe {
        let host = &*ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)).cast::<Host>();
        // A panic must not cross Lua's frames.
        let value = catch_unwind(AssertUnwindSafe(|| execute(state, host)));
        // With the arguments gone there is always room for the reply.
        ffi::lua_settop(state, 0);
        match value.unwrap_or_else(|_| std::process::abort()) {
            Ok(value) => push(state, &value),
            Err(raised) => {
                push_single(state, c"err", raised.to_string().as_bytes());
                false
            }
        }
    }
}

unsafe fn execute(state: LuaState, host: &Host) -> std::result::Result<Value, Raised> {
    let refuse = |reason: &str| Err(Raised::Reply(reason.into()));
    let count = unsafe { ffi::lua_gettop(state) };
    if count == 0 {
        return refuse("ERR Please specify at least one argument for this redis lib call");
    }
    let mut args: SmallVec<[&[u8]; 8]> = SmallVec::new();
    for index in 1..=count {
        match unsafe { ffi::lua_type(state, index) } {
            ffi::LUA_TSTRING => {}
            ffi::LUA_TNUMBER => unsafe { number_to_string(state, index) },
            _ => {
                return refuse("ERR Lua redis lib command arguments must be strings or integers");
            }
        }
        args.push(unsafe { string(state, index) });
    }
    Ok(host.execute(&args))
}

/// Puts the text of a number in its place, which Redis writes otherwise than Lua.
unsafe fn number_to_string(state: LuaState, index: c_int) {
    unsafe {
        let text = lua_number(ffi::lua_tonumber(state, index));
        ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
        ffi::lua_replace(state, index);
    }
}

/// Pushes a reply as a script sees it. Returns false for an error.
unsafe fn push(state: LuaState, value: &Value) -> bool {
    unsafe {
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
                ffi::luaL_checkstack(state, 4, std::ptr::null());
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
unsafe fn push_single(state: LuaState, field: &CStr, text: &[u8]) {
    unsafe {
        ffi::lua_createtable(state, 0, 1);
        ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
        ffi::lua_setfield(state, -2, field.as_ptr());
    }
}
