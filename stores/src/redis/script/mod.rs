//! Scripts: EVAL in real Lua 5.1 over the model, so that a script that a server would refuse to
//! compile is refused here with the same words.
//!
//! Left out of what Redis offers a script: the libraries `cjson`, `cmsgpack`, `struct` and `bit`,
//! RESP3, and the flags of a `#!lua` line. A script that asks for them fails by their name. The
//! protected tables are no tables to `rawset`, `setmetatable`, `next` and `table.insert`: what
//! Redis answers with "Attempt to modify a readonly table" fails there in Lua's own words. One
//! thing cannot be kept from a script: `pairs` over a table whose keys are tables or functions goes
//! by their addresses. A script that raises a table without the text `err` crashes Redis 7.0.15;
//! here it ends with an error reply. A script that never ends, which makes a server answer BUSY,
//! hangs the run.

mod convert;
mod host;
mod random;
mod raw;

use crate::redis::model::cluster::LocalKeys;
use crate::redis::model::{Keyspace, WallClock};
use crate::redis::reply::error;
use convert::{field, to_reply};
#[cfg(any(test, feature = "real"))]
pub(crate) use host::sha1hex;
use host::{Host, Terms};
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, RegistryKey, StdLib, Table, Value as LuaValue};
use raw::{Ran, ScriptStage};
use redis::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// The number of compiled scripts that an engine keeps. Locks have a handful; a test that makes up
/// scripts must not fill the memory.
const MOST_SCRIPTS: usize = 1000;

/// The name of the chunk that is the sandbox; frames of it are invisible in error texts.
const SANDBOX: &str = "=sandbox";

/// The scripts, by their SHA-1, that set no global and do nothing with KEYS and ARGV but look their
/// elements up. They are spared the guards against both, which cost time at each call.
const HARMLESS: [&str; 3] = [
    // if redis.call('get', KEYS[1]) == ARGV[1] then
    // return redis.call('del', KEYS[1]) else return 0 end
    "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4",
    // if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    // return redis.call('incr', KEYS[2]) else return 0 end
    "0457559857c83b9c0baaaf74c543f2da263dc08b",
    // if redis.call('get', KEYS[1]) == ARGV[1] then
    // return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end
    "9136fcf51831e5cf49f109b6e9c97d5b675280d6",
];

/// Returns true if a script is known to be harmless, so that the model runs it without guards. The
/// scripts of locks should be: a new one is entered here by its SHA-1.
pub fn is_harmless(body: &str) -> bool {
    HARMLESS.contains(&host::sha1hex(body.as_bytes()).as_str())
}

/// An error on its way through Lua.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Raised {
    /// An error that Redis raises as a table: an error reply.
    #[error("{0}")]
    Reply(String),
    /// An error that Lua's own libraries raise: a text that begins with the place.
    #[error("{0}")]
    Text(String),
}

/// A Lua machine, shared by all servers and runs of a simulation: starting one takes longer than
/// fifty scripts. Nothing that a script does outlives it.
#[derive(Clone)]
pub struct Engine {
    machine: Rc<LuaMachine>,
}

struct LuaMachine {
    lua: Lua,
    /// The globals that a script sees.
    members: Table,
    stage: ScriptStage,
    host: Rc<Host>,
    compiled: RefCell<BTreeMap<Vec<u8>, Rc<Script>>>,
}

/// A compiled script.
pub struct Script {
    sha: String,
    function: RegistryKey,
    /// True if it may set globals, or change KEYS or ARGV.
    guarded: bool,
}

impl Script {
    /// The SHA-1 of the script, 40 hexadecimal digits in lower case.
    pub fn sha(&self) -> &str {
        &self.sha
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    /// A machine with its sandbox.
    ///
    /// # Panics
    /// Panics when there is no memory for it.
    pub fn new() -> Self {
        Self::build().expect("the sandbox loads")
    }

    /// The machine that all worlds of this thread share, one after the other or side by side.
    pub fn of_this_thread() -> Self {
        thread_local! {
            static SHARED: Engine = Engine::new();
        }
        SHARED.with(Engine::clone)
    }

    fn build() -> mlua::Result<Self> {
        // The base library, coroutines included, always comes along.
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let host = Rc::new(Host::default());
        let functions = host::functions(&lua, &host)?;
        let (members, explain): (Table, Function) =
            lua.load(include_str!("sandbox.lua")).set_name(SANDBOX).call(functions)?;
        let stage = ScriptStage::new(&lua, &members, explain)?;
        let machine = LuaMachine { lua, members, stage, host, compiled: RefCell::default() };
        Ok(Self { machine: Rc::new(machine) })
    }

    fn compile(&self, body: &[u8]) -> Result<Rc<Script>, Value> {
        let machine = &*self.machine;
        let mut compiled = machine.compiled.borrow_mut();
        if let Some(script) = compiled.get(body) {
            return Ok(script.clone());
        }
        if compiled.len() == MOST_SCRIPTS {
            compiled.clear();
            machine.lua.expire_registry_values();
        }
        let source = without_shebang(body)?;
        let sha = host::sha1hex(body);
        let guarded = !HARMLESS.contains(&sha.as_str());
        let function =
            machine.function(source, guarded).map_err(|reason| compile_error(&reason))?;
        let script = Rc::new(Script { sha, function, guarded });
        compiled.insert(body.to_vec(), script.clone());
        Ok(script)
    }

    fn call(&self, script: &Script, keys: &[&[u8]], argv: &[&[u8]]) -> mlua::Result<Value> {
        let stage = &self.machine.stage;
        Ok(match stage.run(&script.function, script.guarded, keys, argv)? {
            Ran::Plain(value) => value,
            Ran::Returned(value) => to_reply(&value),
            Ran::Raised(raised) => runtime_error(&script.sha, &raised),
        })
    }
}

impl LuaMachine {
    /// The function of a script. One that sets no globals is given the very table behind the
    /// guarded ones, which spares each look-up a detour; what it loads as text is guarded all the
    /// same.
    fn function(&self, source: &[u8], guarded: bool) -> mlua::Result<RegistryKey> {
        let chunk = self.lua.load(source).set_name("@user_script").set_mode(ChunkMode::Text);
        let function = chunk.into_function()?;
        if !guarded {
            function.set_environment(self.members.clone())?;
        }
        self.lua.create_registry_value(function)
    }
}

/// The first line may name the engine. Its line break stays, so that lines keep their numbers.
fn without_shebang(body: &[u8]) -> Result<&[u8], Value> {
    if !body.starts_with(b"#!") {
        return Ok(body);
    }
    let refusal = |reason: String| error(&format!("ERR {reason}"));
    let end = body.iter().position(|b| *b == b'\n');
    let end = end.ok_or_else(|| refusal("Invalid script shebang".into()))?;
    let line = String::from_utf8_lossy(&body[..end]);
    let mut words = line.split_ascii_whitespace();
    match (words.next(), words.next()) {
        (Some("#!lua"), None) => Ok(&body[end..]),
        (Some("#!lua"), Some(option)) => {
            Err(refusal(format!("Unknown lua shebang option: {option}")))
        }
        (engine, _) => {
            let engine = engine.unwrap_or_default();
            Err(refusal(format!("Unexpected engine in script shebang: {engine}")))
        }
    }
}

fn compile_error(reason: &mlua::Error) -> Value {
    let reason = match reason {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    error(&format!("ERR Error compiling script (new function): {reason}"))
}

/// The error reply for an error that the sandbox has turned into a table with the text and the
/// place.
fn runtime_error(sha: &str, raised: &LuaValue) -> Value {
    let LuaValue::Table(raised) = raised else {
        return error(&format!("ERR Error running script {sha}, execution failure"));
    };
    let text = field(raised, "err").unwrap_or_else(|| "ERR unknown error".into());
    match (field(raised, "source"), raised.raw_get::<i64>("line")) {
        (Some(source), Ok(line)) => error(&format!("{text} script: {sha}, on {source}:{line}.")),
        _ => error(&text),
    }
}

/// The script cache of one server. It does not outlive a restart.
#[derive(Clone)]
pub(crate) struct Scripts {
    engine: Engine,
    loaded: BTreeMap<String, Rc<Script>>,
    /// True if scripts may only read.
    readonly: bool,
    /// The keys that scripts may use, on a member of a cluster.
    local: Option<LocalKeys>,
}

impl Scripts {
    /// An empty cache.
    pub fn new(engine: Engine) -> Self {
        Self { engine, loaded: BTreeMap::new(), readonly: false, local: None }
    }

    /// Compiles a script and keeps it, for EVAL and for SCRIPT LOAD.
    ///
    /// # Errors
    /// The error reply.
    pub fn load(&mut self, body: &[u8]) -> Result<Rc<Script>, Value> {
        let script = self.engine.compile(body)?;
        if !self.loaded.contains_key(script.sha()) {
            self.loaded.insert(script.sha.clone(), script.clone());
        }
        Ok(script)
    }

    /// The script with this SHA-1, in upper or lower case.
    pub fn get(&self, sha: &[u8]) -> Option<Rc<Script>> {
        let sha = std::str::from_utf8(sha).ok()?.to_ascii_lowercase();
        self.loaded.get(&sha).cloned()
    }

    /// Sets whether a write that a script calls is refused, as on a replica.
    pub const fn refuse_writes(&mut self, refuse: bool) {
        self.readonly = refuse;
    }

    /// Sets the keys that scripts may use; `None`: all.
    pub const fn keep_to(&mut self, local: Option<LocalKeys>) {
        self.local = local;
    }

    /// Forgets all scripts.
    pub fn clear(&mut self) {
        self.loaded.clear();
    }

    /// Runs a script over these keys.
    pub fn run(
        &self,
        script: &Script,
        keyspace: &mut Keyspace,
        clock: WallClock,
        keys: &[&[u8]],
        argv: &[&[u8]],
    ) -> Value {
        let host = &self.engine.machine.host;
        host.begin(keyspace, Terms { clock, readonly: self.readonly, local: self.local });
        let result = self.engine.call(script, keys, argv);
        host.end(keyspace);
        result.unwrap_or_else(|reason| error(&format!("ERR {reason}")))
    }
}

#[cfg(test)]
mod tests;
