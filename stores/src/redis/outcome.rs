//! The one table that decides what an answer of Redis says about a command's effect: it was
//! applied (`Ok`), it certainly was not and never will be (`Refused`), or nobody knows (`Unknown`).
//! An answer that is not provably without effect is unknown.

use super::Refusal;
use super::reply::error_text;
use base::CallError;
use redis::{Arg, Cmd, Value};

/// The kind of command that an error answers. The same error proves less after a script, which may
/// have written before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedAs {
    /// One command. Redis checks it before it changes anything.
    Command,
    /// EVAL, EVALSHA, FCALL: many commands, without a way back.
    Script,
}

const SCRIPT_COMMANDS: &[&str] = &["eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"];

impl AskedAs {
    /// The kind of this request.
    pub fn of(request: &Cmd) -> Self {
        let Some(Arg::Simple(name)) = request.args_iter().next() else { return Self::Command };
        let script = SCRIPT_COMMANDS.iter().any(|s| s.as_bytes().eq_ignore_ascii_case(name));
        if script { Self::Script } else { Self::Command }
    }
}

/// A kind of error reply. The first row that fits decides.
struct ErrorRow {
    /// The beginning of the reply, up to a word's end; "" fits every reply.
    starts: &'static str,
    /// A text that must stand further on in it.
    has: &'static str,
    /// The proof that it gives: true if a command, and if a script, had no effect.
    refuses: (bool, bool),
}

const fn row(starts: &'static str, has: &'static str, command: bool, script: bool) -> ErrorRow {
    ErrorRow { starts, has, refuses: (command, script) }
}

static ROWS: &[ErrorRow] = &[
    // A script that broke off, in the words of Redis 7 and of earlier ones: it may have written.
    row("", " script: ", false, false),
    row("ERR Error running script", "", false, false),
    // The script never ran: it is unknown, or no Lua, or was called wrongly.
    row("NOSCRIPT", "", true, true),
    row("ERR Error compiling script", "", true, true),
    row("ERR", " script shebang", true, true),
    row("ERR Unknown lua shebang option", "", true, true),
    row("ERR wrong number of arguments for", "", true, true),
    row("ERR Number of keys can't be", "", true, true),
    row("ERR unknown command", "", true, true),
    // The server refused the command before it ran it. No redis.call in a script says these words.
    row("LOADING", "", true, true),
    row("BUSY", "", true, true),
    row("NOAUTH", "", true, true),
    row("NOPERM", "", true, true),
    row("MASTERDOWN", "", true, true),
    row("CLUSTERDOWN", "", true, true),
    row("MOVED", "", true, true),
    row("ASK", "", true, true),
    row("TRYAGAIN", "", true, true),
    row("CROSSSLOT", "", true, true),
    row("EXECABORT", "", true, true),
    // Each of these turns one command away. A script can hear it from redis.pcall, after it wrote,
    // and pass it on.
    row("READONLY", "", true, false),
    row("OOM", "", true, false),
    row("MISCONF", "", true, false),
    row("NOREPLICAS", "", true, false),
    row("WRONGTYPE", "", true, false),
    row("ERR", "", true, false),
    // Codes of modules and of times to come.
    row("", "", false, false),
];

impl ErrorRow {
    fn fits(&self, text: &str) -> bool {
        text.strip_prefix(self.starts).is_some_and(|rest| {
            let whole_word = self.starts.is_empty() || !rest.starts_with(char::is_alphanumeric);
            whole_word && rest.contains(self.has)
        })
    }
}

fn deciding(text: &str) -> Option<&'static ErrorRow> {
    ROWS.iter().find(|row| row.fits(text))
}

fn judge_text(asked: AskedAs, text: String) -> CallError<Refusal> {
    let (command, script) = deciding(&text).map_or((false, false), |row| row.refuses);
    let refused = if asked == AskedAs::Command { command } else { script };
    if refused { CallError::Refused(Refusal(text)) } else { CallError::Unknown(text) }
}

/// Decides what a reply says about this command.
///
/// # Errors
/// For an error reply: `Refused` or `Unknown`.
pub fn judge_reply(request: &Cmd, reply: Box<Value>) -> Result<Box<Value>, CallError<Refusal>> {
    match &*reply {
        Value::ServerError(error) => Err(judge_text(AskedAs::of(request), error_text(error))),
        _ => Ok(reply),
    }
}

/// The progress of a command when the client library gave up.
#[cfg(feature = "real")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandProgress {
    /// The connection was not open yet: not a byte of the command has left.
    Unsent,
    /// The command was handed to an open connection: its bytes may have left, and TCP may deliver
    /// them long after the client has stopped waiting.
    Sent,
}

/// Decides what an error of the client library says about a command.
#[cfg(feature = "real")]
pub fn judge_error(
    asked: AskedAs,
    error: &redis::RedisError,
    progress: CommandProgress,
) -> CallError<Refusal> {
    use redis::ErrorKind;
    match (progress, error.kind()) {
        (CommandProgress::Unsent, _) => CallError::Refused(Refusal(error.to_string())),
        // Some versions of the library hand an error reply over as an error.
        (CommandProgress::Sent, ErrorKind::Server(_) | ErrorKind::Extension) => {
            let text = match (error.code(), error.detail()) {
                (Some(code), Some(detail)) => format!("{code} {detail}"),
                (Some(code), None) => code.to_owned(),
                (None, _) => error.to_string(),
            };
            judge_text(asked, text)
        }
        // Time-outs, broken connections, replies that nobody can read.
        (CommandProgress::Sent, _) => CallError::Unknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::reply::error;
    use redis::cmd;

    /// Replies, at least one for every row, and whether each proves that a command, and that a
    /// script, had no effect.
    const EXAMPLES: &[(&str, bool, bool)] = &[
        ("ERR value is not an integer script: 6f5ade10, on @user_script:1.", false, false),
        ("NOSCRIPT gone script: 6f5ade10, on @user_script:1.", false, false),
        ("ERR Error running script (call to f_6f5ade10): @user_script:1: x", false, false),
        ("NOSCRIPT No matching script. Please use EVAL.", true, true),
        ("ERR Error compiling script (new function): user_script:1: '=' expected", true, true),
        ("ERR Unexpected engine in script shebang: #!python", true, true),
        ("ERR Unknown lua shebang option: bogus=1", true, true),
        ("ERR wrong number of arguments for 'eval' command", true, true),
        ("ERR Number of keys can't be negative", true, true),
        ("ERR unknown command 'EVAL', with args beginning with: ", true, true),
        ("LOADING Redis is loading the dataset in memory", true, true),
        ("BUSY Redis is busy running a script.", true, true),
        ("NOAUTH Authentication required.", true, true),
        ("NOPERM this user has no permissions to run the 'set' command", true, true),
        ("MASTERDOWN Link with MASTER is down", true, true),
        ("CLUSTERDOWN The cluster is down", true, true),
        ("MOVED 3999 127.0.0.1:6381", true, true),
        ("ASK 3999 127.0.0.1:6381", true, true),
        ("TRYAGAIN Multiple keys request during rehashing of slot", true, true),
        ("CROSSSLOT Keys in request don't hash to the same slot", true, true),
        ("EXECABORT Transaction discarded because of previous errors.", true, true),
        ("READONLY You can't write against a read only replica.", true, false),
        ("OOM command not allowed when used memory > 'maxmemory'.", true, false),
        ("MISCONF Redis is configured to save RDB snapshots", true, false),
        ("NOREPLICAS Not enough good replicas to write.", true, false),
        ("WRONGTYPE Operation against a key holding the wrong kind of value", true, false),
        ("ERR syntax error", true, false),
        ("ERR value is not an integer or out of range", true, false),
        ("BUSYKEY Target key name already exists.", false, false),
        ("ERRATIC behaviour of a module", false, false),
        ("NOVELTY", false, false),
    ];

    #[test]
    fn each_row_decides_as_it_says() {
        for (text, command, script) in EXAMPLES {
            for (asked, refused) in [("GET", command), ("EVAL", script)] {
                let expected = if *refused {
                    CallError::Refused(Refusal((*text).into()))
                } else {
                    CallError::Unknown((*text).into())
                };
                assert_eq!(judge_reply(&cmd(asked), error(text).into()), Err(expected), "{asked}");
            }
        }
    }

    #[test]
    fn no_row_is_without_an_example() {
        for row in ROWS {
            let decided = |text: &str| deciding(text).is_some_and(|found| std::ptr::eq(found, row));
            let shown = EXAMPLES.iter().any(|(text, ..)| decided(text));
            assert!(shown, "no example for {:?} {:?}", row.starts, row.has);
        }
    }

    #[test]
    fn a_reply_that_is_no_error_is_ok() {
        for value in [Value::Nil, Value::Okay, Value::Int(0)].map(Box::new) {
            assert_eq!(judge_reply(&cmd("EVAL"), value.clone()), Ok(value));
        }
    }

    #[test]
    fn scripts_are_known_by_their_command() {
        assert_eq!(AskedAs::of(&cmd("EvalSha")), AskedAs::Script);
        assert_eq!(AskedAs::of(&cmd("FCALL")), AskedAs::Script);
        assert_eq!(AskedAs::of(&cmd("SET")), AskedAs::Command);
        assert_eq!(AskedAs::of(&Cmd::new()), AskedAs::Command);
    }

    #[cfg(feature = "real")]
    #[test]
    fn errors_of_the_library() {
        use redis::{ErrorKind, RedisError};
        use std::io;
        let kinds = [
            io::ErrorKind::ConnectionRefused,
            io::ErrorKind::ConnectionReset,
            io::ErrorKind::TimedOut,
            io::ErrorKind::UnexpectedEof,
        ];
        let broken = kinds.map(|kind| RedisError::from(io::Error::from(kind)));
        let unreadable = RedisError::from((ErrorKind::Parse, "no reply"));
        for error in broken.iter().chain([&unreadable]) {
            let judge = |progress| judge_error(AskedAs::Command, error, progress);
            assert!(matches!(judge(CommandProgress::Unsent), CallError::Refused(_)), "{error}");
            assert!(matches!(judge(CommandProgress::Sent), CallError::Unknown(_)), "{error}");
        }
        let Value::ServerError(reply) = error("ERR syntax error") else { panic!("not an error") };
        assert_eq!(
            judge_error(AskedAs::Command, &reply.into(), CommandProgress::Sent),
            CallError::Refused(Refusal("ERR syntax error".into()))
        );
    }
}
