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
fn a_script_is_known_only_where_it_was_loaded() {
    let engine = Engine::new();
    let (mut here, mut there) = (Server::new(engine.clone()), Server::new(engine));
    eval(&mut here, "return 1");
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    let known = |server: &mut Server| {
        let value = server.execute(Wall::ZERO, cmd("EVALSHA").arg(sha).arg(0));
        render(&value).join(" ")
    };
    assert_eq!(known(&mut here), "(integer) 1");
    assert_eq!(known(&mut there), "(error) NOSCRIPT No matching script. Please use EVAL.");
}

/// How a script complains about a global that it misses.
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
