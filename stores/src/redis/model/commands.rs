//! The commands that the model knows, one line each, and the checks that Redis makes before it
//! runs one.

use super::keyspace::{Keyspace, Millis};
use super::{Server, admin, cluster, expiry, replica, strings};
use crate::redis::reply::{error, wrong_arity};
use redis::Value;

/// A command on the keys, as it is called.
pub struct Call<'a> {
    /// The keys of the server.
    pub keys: &'a mut Keyspace,
    /// The server's wall clock, which stands still during a command and during a whole script.
    pub clock: WallClock,
    /// The arguments; the first is the command's name, as it was spelled.
    pub args: &'a [&'a [u8]],
    /// The command's name, for error texts.
    pub name: &'static str,
}

/// The server's wall clock at one moment.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// The time in milliseconds, by which keys expire.
    pub millis: Millis,
    /// The time in microseconds, as TIME tells it.
    pub micros: i64,
}

/// The function that executes a command.
pub enum CommandFunction {
    /// A function of the keys alone, so that a script may call it.
    Keys(fn(Call<'_>) -> Value),
    /// A function of the whole server, which no script may call.
    Server(fn(&mut Server, WallClock, &[&[u8]]) -> Value),
}

/// A command that the model knows.
pub struct CommandSpec {
    /// The name; that of a subcommand reads "script|load".
    pub name: &'static str,
    /// The number of arguments that it takes, its name included; a negative number: at least so
    /// many.
    arity: i32,
    /// The function that executes it.
    pub run: CommandFunction,
    /// True if it only comes with a subcommand.
    is_container: bool,
}

impl CommandSpec {
    /// Returns true if it can be called with so many arguments.
    pub fn takes(&self, count: usize) -> bool {
        let count = count as i32;
        if self.arity >= 0 { count == self.arity } else { count >= -self.arity }
    }
}

const fn keys(name: &'static str, arity: i32, run: fn(Call<'_>) -> Value) -> CommandSpec {
    CommandSpec { name, arity, run: CommandFunction::Keys(run), is_container: false }
}

const fn server(
    name: &'static str,
    arity: i32,
    run: fn(&mut Server, WallClock, &[&[u8]]) -> Value,
) -> CommandSpec {
    CommandSpec { name, arity, run: CommandFunction::Server(run), is_container: false }
}

const fn container(name: &'static str) -> CommandSpec {
    CommandSpec {
        name,
        arity: -2,
        run: CommandFunction::Server(admin::no_subcommand),
        is_container: true,
    }
}

/// All commands. Those that locks use most stand first, since the search goes from the top.
const COMMANDS: &[CommandSpec] = &[
    keys("get", 2, strings::get),
    keys("set", -3, strings::set),
    server("eval", -3, admin::eval),
    server("evalsha", -3, admin::evalsha),
    keys("del", -2, strings::del),
    keys("incr", 2, strings::incr),
    keys("setnx", 3, strings::setnx),
    keys("expire", -3, expiry::expire),
    keys("pexpire", -3, expiry::pexpire),
    keys("getset", 3, strings::getset),
    keys("pttl", 2, expiry::pttl),
    keys("ttl", 2, expiry::ttl),
    keys("exists", -2, strings::exists),
    keys("getdel", 2, strings::getdel),
    keys("getex", -2, strings::getex),
    keys("unlink", -2, strings::del),
    keys("setex", 4, strings::setex),
    keys("psetex", 4, strings::psetex),
    keys("incrby", 3, strings::incrby),
    keys("decr", 2, strings::decr),
    keys("decrby", 3, strings::decrby),
    keys("expireat", -3, expiry::expireat),
    keys("pexpireat", -3, expiry::pexpireat),
    keys("expiretime", 2, expiry::expiretime),
    keys("pexpiretime", 2, expiry::pexpiretime),
    keys("persist", 2, expiry::persist),
    keys("time", 1, admin::time),
    keys("ping", -1, admin::ping),
    keys("echo", 2, admin::echo),
    keys("select", 2, admin::select),
    keys("dbsize", 1, admin::dbsize),
    keys("flushall", -1, admin::flush),
    keys("flushdb", -1, admin::flush),
    container("script"),
    server("script|load", 3, admin::script_load),
    server("script|exists", -3, admin::script_exists),
    server("script|flush", -2, admin::script_flush),
    server("replicaof", 3, replica::replicaof),
    server("role", 1, replica::role),
    container("client"),
    server("client|id", 2, admin::client_id),
    container("cluster"),
    server("cluster|slots", 2, cluster::slots),
    server("cluster|keyslot", 3, cluster::keyslot),
    server("cluster|myid", 2, cluster::myid),
];

/// The names of all commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}

/// The command that these arguments call.
pub fn find(args: &[&[u8]]) -> Option<&'static CommandSpec> {
    let found = named(args.first()?)?;
    match args.get(1) {
        Some(sub) if found.is_container => COMMANDS.iter().find(|command| {
            command.name.split_once('|').is_some_and(|(first, second)| {
                first == found.name && second.as_bytes().eq_ignore_ascii_case(sub)
            })
        }),
        _ => Some(found),
    }
}

fn named(name: &[u8]) -> Option<&'static CommandSpec> {
    COMMANDS.iter().find(|command| is_called(command.name, name))
}

/// Returns true if a name is spelled so, in whatever case. Most names differ in their length or
/// their first letter, and the library's comparison prepares for long ones.
fn is_called(name: &str, spelled: &[u8]) -> bool {
    let mut letters = name.bytes().zip(spelled);
    name.len() == spelled.len() && letters.all(|(a, b)| a == b.to_ascii_lowercase())
}

/// The command, if it may be called with these arguments.
///
/// # Errors
/// The error reply that refuses it.
pub fn checked(args: &[&[u8]]) -> Result<&'static CommandSpec, Value> {
    let command = find(args).ok_or_else(|| unknown(args))?;
    if command.takes(args.len()) { Ok(command) } else { Err(wrong_arity(command.name)) }
}

fn unknown(args: &[&[u8]]) -> Value {
    let name = args.first().copied().unwrap_or_default();
    if let (Some(container), Some(sub)) = (named(name).filter(|c| c.is_container), args.get(1)) {
        let (sub, container) = (clipped(sub, 128), container.name.to_uppercase());
        return error(&format!("ERR unknown subcommand '{sub}'. Try {container} HELP."));
    }
    let mut shown = String::new();
    for arg in args.iter().skip(1) {
        if shown.len() >= 128 {
            break;
        }
        shown += &format!("'{}' ", clipped(arg, 128 - shown.len()));
    }
    let name = clipped(name, 128);
    error(&format!("ERR unknown command '{name}', with args beginning with: {shown}"))
}

/// The output of C's `%.*s`: at most so many bytes, and none after a zero.
pub fn clipped(bytes: &[u8], most: usize) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len()).min(most);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
