//! What the conformance suite cannot show: that nothing stays behind, and that abuse does no harm.

use super::Engine;
use crate::redis::Server;
use crate::redis::conformance::render;
use base::Wall;
use redis::cmd;

fn eval(server: &mut Server, script: &str) -> String {
    let now = Wall::from_nanos(1_700_000_000_123_456_789);
    let value = server.execute(now, cmd("EVAL").arg(script).arg(1).arg("key").arg("argument"));
    // The sentence that names the script is the conformance suite's.
    let text = render(&value).join(" ");
    text.split(" script: ").next().unwrap_or_default().to_owned()
}

fn check(script: &str, expected: &str) {
    assert_eq!(eval(&mut Server::new(Engine::new()), script), expected, "{script}");
}

/// Whatever the first script does, the second, on another server of the same machine, answers as
/// on a fresh one.
fn leaves_nothing(first: &str, second: &str) {
    let engine = Engine::new();
    let expected = eval(&mut Server::new(Engine::new()), second);
    eval(&mut Server::new(engine.clone()), first);
    assert_eq!(eval(&mut Server::new(engine), second), expected, "after {first}");
}

#[test]
fn nothing_stays_behind() {
    for (first, second) in [
        ("KEYS.x = 1 ARGV[2] = 2", "return {KEYS.x or 0, #ARGV}"),
        ("setmetatable(KEYS, {__index = function() return 1 end})", "return KEYS[2]"),
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
fn no_address_can_be_seen() {
    check("return tostring({})", "\"table: 0x000000000000\"");
    check("return tostring(print == nil)", "(error) ERR user_script:1: Script attempted to access nonexistent global variable 'print'");
    check("return tostring(pcall)", "\"function: 0x000000000000\"");
    check("return tostring(redis)", "\"table: 0x000000000000\"");
    check("return tostring('table: 0x1')", "\"table: 0x1\"");
    check("error(function() end)", "(error) ERR function: 0x000000000000");
}

#[test]
fn bytecode_is_not_run() {
    let refused = "1) (nil)";
    check("return {loadstring('\\27Lua')}", "(empty array)");
    check("return {(loadstring('\\27Lua')) or false}", refused);
    check("local n = 0 return {load(function() n = n + 1 return n == 1 and '\\27Lua' or nil end) or false}", refused);
    check("local n = 0 return load(function() n = n + 1 return n == 1 and 'return 7' or nil end)()", "(integer) 7");
}

#[test]
fn deep_and_endless_answers_are_refused() {
    check("local t = {} t[1] = t return t", "(error) ERR reached lua stack limit");
    check("local function f() return 1 + f() end return f()", "(error) ERR user_script:1: stack overflow");
    check("local t = 7 for _ = 1, 20 do t = {t} end return #t", "(integer) 1");
}

#[test]
fn libraries_that_are_missing_are_named() {
    check("return cjson.encode({})", "(error) ERR user_script:1: Script attempted to access nonexistent global variable 'cjson'");
}

#[test]
fn a_command_outside_a_script_does_not_exist() {
    // A coroutine that outlives its script would still hold `redis.call`; nothing can reach it.
    let engine = Engine::new();
    let mut server = Server::new(engine);
    eval(&mut server, "local co = coroutine.create(function() coroutine.yield() end) coroutine.resume(co)");
    assert_eq!(eval(&mut server, "return redis.call('dbsize')"), "(integer) 0");
}

#[test]
fn many_scripts_do_not_pile_up() {
    let mut server = Server::new(Engine::new());
    for n in 0..super::MOST_SCRIPTS + 10 {
        assert_eq!(eval(&mut server, &format!("return {n}")), format!("(integer) {n}"));
    }
    assert!(server.scripts.engine.0.compiled.borrow().len() <= super::MOST_SCRIPTS);
}
