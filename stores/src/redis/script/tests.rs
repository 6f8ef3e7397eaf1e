//! Tests of two things that the conformance suite cannot show: nothing stays behind, and abuse does
//! no harm.

use super::Engine;
use crate::redis::Server;
use crate::redis::conformance::render;
use base::WallTime;
use redis::{Value, cmd};

fn eval(server: &mut Server, script: &str) -> String {
    let now = WallTime::from_nanos(1_700_000_000_123_456_789);
    reply_text(server, now, cmd("EVAL").arg(script).arg(1).arg("key").arg("argument"))
}

/// The reply without the sentence that names the script, which is the conformance suite's.
fn reply_text(server: &mut Server, now: WallTime, command: &redis::Cmd) -> String {
    let text = render(&server.execute(now, command)).join(" ");
    text.split(" script: ").next().unwrap_or_default().to_owned()
}

fn check(script: &str, expected: &str) {
    assert_eq!(eval(&mut Server::new(Engine::new()), script), expected, "{script}");
}

/// Checks that, whatever the first script does, the second, on another server of the same machine,
/// answers as on a fresh one.
fn leaves_nothing(first: &str, second: &str) {
    let engine = Engine::new();
    let expected = eval(&mut Server::new(Engine::new()), second);
    eval(&mut Server::new(engine.clone()), first);
    assert_eq!(eval(&mut Server::new(engine), second), expected, "after {first}");
}

/// Fields that are gone again leave room behind, and `pairs` goes by the room.
const MAKES_ROOM: &str =
    "for n = 1, 99 do KEYS['x' .. n] = 1 end for n = 1, 99 do KEYS['x' .. n] = nil end";
const ORDER_OF_FIELDS: &str = "for c in ('alpha beta gamma delta'):gmatch('%a+') do KEYS[c] = c end \
    local order = '' for _, c in pairs(KEYS) do order = order .. c end return order";

#[test]
fn nothing_stays_behind() {
    for (first, second) in [
        ("KEYS.x = 1 ARGV[2] = 2", "return {KEYS.x or 0, #ARGV}"),
        ("setmetatable(KEYS, {__index = function() return 1 end})", "return KEYS[2]"),
        ("KEYS[1] = nil ARGV[1] = {}", "return {#KEYS, KEYS[1], ARGV[1]}"),
        (
            "rawset(KEYS, 2, 'x') rawset(ARGV, -1, 'x')",
            "return {#KEYS, KEYS[2] or 0, ARGV[-1] or 0}",
        ),
        ("table.insert(KEYS, 'x') table.remove(ARGV)", "return {#KEYS, #ARGV, ARGV[1]}"),
        ("KEYS[1] = ARGV return KEYS", "return {KEYS, ARGV}"),
        ("error(KEYS)", "return {KEYS.err or 0, KEYS.source or 0, KEYS.line or 0}"),
        ("pcall(error, setmetatable(ARGV, {}))", "return type(getmetatable(ARGV))"),
        ("coroutine.wrap(function() KEYS.x = 1 coroutine.yield() end)()", "return KEYS.x or 0"),
        (MAKES_ROOM, ORDER_OF_FIELDS),
        ("loadstring('KEYS' .. string.char(61) .. '1')()", "return KEYS"),
        ("rawset(_G, 'x', 1)", "return rawget(_G, 'x')"),
        ("pcall(rawset, redis, 'x', 1)", "return redis.x"),
        ("pcall(table.insert, redis, 1)", "return redis[1]"),
        ("pcall(setmetatable, string, {})", "return string.format('%d', 1)"),
        ("pcall(function() string.format = nil end)", "return string.format('%d', 1)"),
        ("getmetatable('').__index = {}", "return ('x'):upper()"),
        ("math.randomseed(5)", "return tostring(math.random())"),
        ("math.random() math.random()", "return tostring(math.random())"),
        ("local t = {} for i = 1, 1e5 do t[i] = {} end", "return collectgarbage('count')"),
        ("local f = loadstring('x = 1') pcall(f)", "return pcall(function() return x end)"),
        ("redis.call('set', KEYS[1], 1)", "return redis.call('get', KEYS[1])"),
    ] {
        leaves_nothing(first, second);
    }
}

#[test]
fn each_script_has_its_own_keys_and_arguments() {
    let mut server = Server::new(Engine::new());
    for (keys, count) in [(1, 3), (1, 3), (0, 3), (3, 3), (0, 0), (1, 1), (2, 40), (1, 3)] {
        let args: Vec<String> = (0..count).map(|n| format!("{keys} {count} {n}")).collect();
        let mut command = cmd("EVAL");
        command.arg("return {#KEYS, KEYS, #ARGV, ARGV}").arg(keys).arg(&args);
        let strings = |args: &[String]| {
            Value::Array(args.iter().map(|arg| Value::BulkString(arg.clone().into())).collect())
        };
        let (first, rest) = args.split_at(keys);
        let (many, others) = (first.len() as i64, rest.len() as i64);
        let expected = [Value::Int(many), strings(first), Value::Int(others), strings(rest)];
        assert_eq!(server.execute(WallTime::ZERO, &command), Value::Array(expected.into()));
        let mut reader = cmd("EVAL");
        reader.arg("return (KEYS[1] or '-') .. (ARGV[2] or '-')").arg(keys).arg(&args);
        let element = |args: &[String], n| args.get(n).map_or("-".into(), String::clone);
        let expected = element(first, 0) + &element(rest, 1);
        assert_eq!(server.execute(WallTime::ZERO, &reader), Value::BulkString(expected.into()));
    }
}

/// The texts of the scripts that are run without guards.
const HARMLESS: [&str; 3] = [
    "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('del', KEYS[1]) else return 0 end",
    "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then \
     return redis.call('incr', KEYS[2]) else return 0 end",
    "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end",
];

/// Random calls, on keys that come, change and run out, get the same replies from a script that is
/// spared the guards and from the same script with a space behind it, which nobody knows.
#[test]
fn a_harmless_script_does_the_same_without_guards() {
    for script in HARMLESS {
        assert!(super::is_harmless(script), "{script}");
        let guarded = script.to_owned() + " ";
        assert!(!super::is_harmless(&guarded));
        let mut rng = base::Rng::new(5);
        let mut servers = [Server::new(Engine::new()), Server::new(Engine::new())];
        let mut replies = std::collections::BTreeSet::new();
        for step in 0..5_000 {
            let now = WallTime::from_nanos(1_000_000_000_000 + step * 500_000);
            let key = format!("k{}", rng.below(3));
            let value = (1 + rng.below(3)).to_string();
            let (keys, count) = (rng.below(3), rng.below(5));
            let evals = [script, &guarded].map(|script| {
                let mut eval = cmd("EVAL");
                eval.arg(script).arg(keys);
                for argument in 0..count {
                    eval.arg(if argument == 0 { &key } else { &value });
                }
                eval
            });
            let set = rng.chance(0.3).then(|| {
                let mut set = cmd("SET");
                set.arg(&key).arg(&value).arg("PX").arg(1 + step % 5);
                set
            });
            let [one, other] = [0, 1].map(|place| {
                let server = &mut servers[place];
                reply_text(server, now, set.as_ref().unwrap_or(&evals[place]))
            });
            assert_eq!(one, other, "{:?}", evals[0]);
            replies.insert(one);
        }
        assert!(replies.len() > 3, "too little happened: {replies:?}");
    }
    assert_eq!(HARMLESS.len(), super::HARMLESS.len());
}

#[test]
fn globals_are_guarded_however_they_are_set() {
    let refusal =
        |place: &str| format!("(error) ERR {place}:1: Attempt to modify a readonly table");
    for script in ["KEYS = 1", "x=1", "function redis() end", "x, KEYS = 1"] {
        check(script, &refusal("user_script"));
    }
    check("redis--==\n=1", &refusal("user_script").replace(":1:", ":2:"));
    check("loadstring('x' .. string.char(61) .. '1')()", &refusal("[string \"x=1\"]"));
}

#[test]
fn a_script_is_known_only_where_it_was_loaded() {
    let engine = Engine::new();
    let (mut here, mut there) = (Server::new(engine.clone()), Server::new(engine));
    eval(&mut here, "return 1");
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    let known = |server: &mut Server| {
        let value = server.execute(WallTime::ZERO, cmd("EVALSHA").arg(sha).arg(0));
        render(&value).join(" ")
    };
    assert_eq!(known(&mut here), "(integer) 1");
    assert_eq!(known(&mut there), "(error) NOSCRIPT No matching script. Please use EVAL.");
}

/// The complaint of a script about a global that does not exist.
fn nonexistent(name: &str) -> String {
    let what = "Script attempted to access nonexistent global variable";
    format!("(error) ERR user_script:1: {what} '{name}'")
}

#[test]
fn no_address_can_be_seen() {
    check("return tostring({})", "\"table: 0x000000000000\"");
    check("return tostring(pcall)", "\"function: 0x000000000000\"");
    check("return tostring(redis)", "\"table: 0x000000000000\"");
    check("return tostring('table: 0x1')", "\"table: 0x1\"");
    check("error(function() end)", "(error) ERR function: 0x000000000000");
}

#[test]
fn bytecode_is_not_run() {
    // `load` takes a function that hands the text over piece by piece.
    let piece_by_piece = |text: &str, then: &str| {
        format!("local t = {{'{text}'}} return {then}(load(function() return table.remove(t) end))")
    };
    check("return type(loadstring('\\27Lua'))", "\"nil\"");
    check(&piece_by_piece("\\27Lua", "type"), "\"nil\"");
    check(&piece_by_piece("return 7", "(function(f) return f() end)"), "(integer) 7");
}

#[test]
fn deep_and_endless_answers_are_refused() {
    check("local t = {} t[1] = t return t", "(error) ERR reached lua stack limit");
    check(
        "local function f() return 1 + f() end return f()",
        "(error) ERR user_script:1: stack overflow",
    );
    check("local t = 7 for _ = 1, 20 do t = {t} end return #t", "(integer) 1");
}

#[test]
fn libraries_that_are_missing_are_named() {
    for library in ["cjson", "cmsgpack", "struct", "bit", "os", "io", "debug", "package"] {
        check(&format!("return {library}.anything"), &nonexistent(library));
    }
}

#[test]
fn many_scripts_do_not_pile_up() {
    let mut server = Server::new(Engine::new());
    for n in 0..super::MOST_SCRIPTS + 10 {
        assert_eq!(eval(&mut server, &format!("return {n}")), format!("(integer) {n}"));
    }
    assert!(server.scripts.engine.machine.compiled.borrow().len() <= super::MOST_SCRIPTS);
}
