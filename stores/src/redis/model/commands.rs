//! The commands that the model knows, one line each, and the checks that Redis makes before it
//! runs one.

pub use super::command::{Call, CommandFunction, CommandSpec, KeyPlaces, WallClock};
use super::command::{KeysFunction, OnServer, Typed};
use super::{
    admin, blocking, channels, cluster, expiry, hashes, lists, replica, score_range, session, sets,
    sorted_sets, strings, transactions,
};
use crate::redis::reply::{error, wrong_arity};
use redis::Value;

const fn command(name: &'static str, arity: i32, run: CommandFunction) -> CommandSpec {
    let places = KeyPlaces::First;
    CommandSpec { name, arity, run, writes: false, places, is_container: false }
}

/// A command that reads values of any type, or strings.
const fn read(name: &'static str, arity: i32, run: fn(Call<'_>) -> Value) -> CommandSpec {
    command(name, arity, CommandFunction::Keys(KeysFunction::Plain(run)))
}

/// A command that writes them.
const fn write(name: &'static str, arity: i32, run: fn(Call<'_>) -> Value) -> CommandSpec {
    CommandSpec { writes: true, ..read(name, arity, run) }
}

/// A command that reads values of one type.
const fn tell(name: &'static str, arity: i32, run: Typed) -> CommandSpec {
    command(name, arity, CommandFunction::Keys(KeysFunction::Typed(run)))
}

/// A command that changes them.
const fn change(name: &'static str, arity: i32, run: Typed) -> CommandSpec {
    CommandSpec { writes: true, ..tell(name, arity, run) }
}

/// A command on the whole server, without a key.
const fn server(name: &'static str, arity: i32, run: OnServer) -> CommandSpec {
    command(name, arity, CommandFunction::Server(run)).with(KeyPlaces::None)
}

/// A command that may wait, and is a write.
const fn blocking(name: &'static str, arity: i32, run: OnServer) -> CommandSpec {
    CommandSpec { writes: true, ..server(name, arity, run) }
}

/// A command that only comes with a subcommand.
const fn container(name: &'static str) -> CommandSpec {
    CommandSpec { is_container: true, ..server(name, -2, admin::no_subcommand) }
}

/// All commands. Those that locks use most stand first, since the search goes from the top. A
/// command without stated key places has one key, its first argument.
const COMMANDS: &[CommandSpec] = &[
    read("get", 2, strings::get),
    write("set", -3, strings::set),
    server("eval", -3, admin::eval).with(KeyPlaces::Counted),
    server("evalsha", -3, admin::evalsha).with(KeyPlaces::Counted),
    write("del", -2, strings::del).with(KeyPlaces::All),
    write("incr", 2, strings::incr),
    write("setnx", 3, strings::setnx),
    write("expire", -3, expiry::expire),
    write("pexpire", -3, expiry::pexpire),
    write("getset", 3, strings::getset),
    read("pttl", 2, expiry::pttl),
    read("ttl", 2, expiry::ttl),
    read("exists", -2, strings::exists).with(KeyPlaces::All),
    write("getdel", 2, strings::getdel),
    write("getex", -2, strings::getex),
    write("unlink", -2, strings::del).with(KeyPlaces::All),
    write("setex", 4, strings::setex),
    write("psetex", 4, strings::psetex),
    write("incrby", 3, strings::incrby),
    write("decr", 2, strings::decr),
    write("decrby", 3, strings::decrby),
    write("append", 3, strings::append),
    read("type", 2, strings::type_of),
    change("hset", -4, hashes::hset),
    change("hsetnx", 4, hashes::hsetnx),
    change("hmset", -4, hashes::hmset),
    change("hincrby", 4, hashes::hincrby),
    change("hdel", -3, hashes::hdel),
    tell("hget", 3, hashes::hget),
    tell("hmget", -3, hashes::hmget),
    tell("hexists", 3, hashes::hexists),
    tell("hlen", 2, hashes::hlen),
    tell("hstrlen", 3, hashes::hstrlen),
    tell("hkeys", 2, hashes::hkeys),
    tell("hvals", 2, hashes::hvals),
    tell("hgetall", 2, hashes::hgetall),
    change("zadd", -4, sorted_sets::zadd),
    change("zincrby", 4, sorted_sets::zincrby),
    change("zrem", -3, sorted_sets::zrem),
    change("zremrangebyrank", 4, sorted_sets::zremrangebyrank),
    change("zremrangebyscore", 4, sorted_sets::zremrangebyscore),
    change("zremrangebylex", 4, sorted_sets::zremrangebylex),
    change("zpopmin", -2, sorted_sets::zpopmin),
    change("zpopmax", -2, sorted_sets::zpopmax),
    tell("zrange", -4, score_range::zrange),
    tell("zrevrange", -4, score_range::zrevrange),
    tell("zrangebyscore", -4, score_range::zrangebyscore),
    tell("zrevrangebyscore", -4, score_range::zrevrangebyscore),
    tell("zcount", 4, score_range::zcount),
    tell("zcard", 2, score_range::zcard),
    tell("zscore", 3, score_range::zscore),
    tell("zmscore", -3, score_range::zmscore),
    tell("zrank", 3, score_range::zrank),
    tell("zrevrank", 3, score_range::zrevrank),
    change("lpush", -3, lists::lpush),
    change("rpush", -3, lists::rpush),
    change("lpushx", -3, lists::lpushx),
    change("rpushx", -3, lists::rpushx),
    change("lpop", -2, lists::lpop),
    change("rpop", -2, lists::rpop),
    change("lrem", 4, lists::lrem),
    change("ltrim", 4, lists::ltrim),
    change("rpoplpush", 3, lists::rpoplpush).with(KeyPlaces::FirstTwo),
    change("lmove", 5, lists::lmove).with(KeyPlaces::FirstTwo),
    blocking("blpop", -3, blocking::blpop).with(KeyPlaces::AllButLast),
    blocking("brpop", -3, blocking::brpop).with(KeyPlaces::AllButLast),
    blocking("brpoplpush", 4, blocking::brpoplpush).with(KeyPlaces::FirstTwo),
    blocking("blmove", 6, blocking::blmove).with(KeyPlaces::FirstTwo),
    tell("lrange", 4, lists::lrange),
    tell("llen", 2, lists::llen),
    tell("lindex", 3, lists::lindex),
    change("sadd", -3, sets::sadd),
    change("srem", -3, sets::srem),
    tell("sismember", 3, sets::sismember),
    tell("smismember", -3, sets::smismember),
    tell("scard", 2, sets::scard),
    tell("smembers", 2, sets::smembers),
    write("expireat", -3, expiry::expireat),
    write("pexpireat", -3, expiry::pexpireat),
    read("expiretime", 2, expiry::expiretime),
    read("pexpiretime", 2, expiry::pexpiretime),
    write("persist", 2, expiry::persist),
    read("time", 1, admin::time).with(KeyPlaces::None),
    read("ping", -1, admin::ping).with(KeyPlaces::None),
    read("echo", 2, admin::echo).with(KeyPlaces::None),
    read("select", 2, admin::select).with(KeyPlaces::None),
    read("dbsize", 1, admin::dbsize).with(KeyPlaces::None),
    write("flushall", -1, admin::flush).with(KeyPlaces::None),
    write("flushdb", -1, admin::flush).with(KeyPlaces::None),
    read("publish", 3, channels::publish).with(KeyPlaces::None),
    server("subscribe", -2, channels::subscribe),
    server("psubscribe", -2, channels::psubscribe),
    server("unsubscribe", -1, channels::unsubscribe),
    server("punsubscribe", -1, channels::punsubscribe),
    server("multi", 1, transactions::multi),
    server("exec", 1, transactions::exec),
    server("discard", 1, transactions::discard),
    server("watch", -2, transactions::watch).with(KeyPlaces::All),
    server("unwatch", 1, transactions::unwatch),
    container("script"),
    server("script|load", 3, admin::script_load),
    server("script|exists", -3, admin::script_exists),
    server("script|flush", -2, admin::script_flush),
    server("replicaof", 3, replica::replicaof),
    server("role", 1, replica::role),
    server("wait", 3, blocking::wait),
    container("client"),
    server("client|id", 2, session::client_id),
    server("client|setname", 3, session::client_setname),
    server("client|getname", 2, session::client_getname),
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
