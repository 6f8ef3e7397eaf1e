//! `picklock client`: the client of a lock of the catalogue; and `picklock client check`, which
//! tries a client that somebody else wrote, request by request.

use base::units::span;
use base::{
    Acquire, Backend, ClientAbility, ClientReply, ClientRequest, Command, Kind, Message, Mode,
    Notice, Passing, Promises, ReplyOutcome, Response, RunSpec,
};
use std::time::Duration;

use super::{Failure, tested};
use crate::Exit;
use crate::cli::{ClientArgs, ClientCheckArgs, ClientCommands};
use crate::manner::{hint, style};
use crate::output::say;
use crate::setup::Setup;
use crate::worlds::{Start, choose};

/// The time that a client has for its start: a virtual machine takes seconds.
const START: Duration = Duration::from_secs(60);
/// The time that it has for an answer beyond what it was told to wait.
const ANSWER: Duration = Duration::from_secs(10);
/// The time for which the second client waits while the first holds the lock.
const WAIT: Duration = Duration::from_secs(5);

pub fn run(args: &ClientArgs) -> Result<Exit, Failure> {
    match &args.command {
        None => Ok(crate::client::run()?),
        Some(ClientCommands::Check(args)) => check(args),
    }
}

fn check(args: &ClientCheckArgs) -> Result<Exit, Failure> {
    let lock = tested(&args.lock, &args.load)?;
    let run = args.servers.under(args.load.run(&lock.info, "none", 0));
    let run = RunSpec { clients: 2, ..run };
    let setup = Setup::new(&lock, run)?;
    let world = choose(args.backend.0, &setup.world, &setup.needs())?;
    if !world.is_real() {
        return Err(Failure::arguments("a client is tried on real servers: give --backend local"));
    }
    (world.prepare)(&hint).map_err(Failure::could_not)?;
    let start = Start { choices: None, logs: None, client: None, progress: &|_| () };
    let backend = (world.start)(&setup, start).map_err(Failure::could_not)?;
    let (can, heard) = (None, Vec::new());
    let mut trial = ClientTrial { backend, next: 0, passed: false, can, heard, wrong: 0 };
    let ended = trial.take(&lock.info.promises);
    let stopped = trial.backend.stop();
    if let Err(why) = ended {
        trial.tell(Err(why)).map_err(Failure::could_not)?;
    }
    stopped.map_err(Failure::could_not)?;
    match trial.wrong {
        0 => say("\nThe client does what a client has to.\n")?,
        _ => say("\nThe protocol is docs/protocol.md.\n")?,
    }
    Ok(if trial.wrong == 0 { Exit::Held } else { Exit::Violated })
}

/// A client on trial.
struct ClientTrial {
    backend: Box<dyn Backend>,
    /// The number of the last request.
    next: u64,
    /// True once a reply of a server has passed a link to a client.
    passed: bool,
    /// The answers of clients that nobody has listened to yet, each with its process.
    heard: Vec<(u32, Response)>,
    /// The abilities of the client, if it says.
    can: Option<Box<[ClientAbility]>>,
    /// The number of mistakes.
    wrong: u32,
}

/// The result of a step: a fact, or a mistake.
type Seen = Result<String, String>;

impl ClientTrial {
    /// Takes all steps.
    ///
    /// # Errors
    /// Fails when the client does not answer, so that there is nothing more to try.
    fn take(&mut self, promises: &Promises) -> Result<(), String> {
        for process in 0..2 {
            self.backend.spawn(process, process).map_err(|error| error.to_string())?;
            let begun = self.backend.now();
            let outcome = self.hear(process, 0, START)?;
            let took = span(self.backend.now().since(begun).as_nanos() as u64);
            self.tell(match outcome.kind {
                Kind::Ok => Ok(format!("process {process} answers `init` after {took}")),
                _ => return Err(refused("init", &outcome)),
            })?;
        }
        self.tell_abilities(promises)?;
        let seen = self.ask(0, acquire(ANSWER), ANSWER * 2)?;
        self.expect("a free lock is granted", "acquire", &seen, &[Kind::Ok])?;
        self.tell(match self.passed {
            true => Ok("it reaches the servers at the addresses that it was given".into()),
            false => Err("it does not use the addresses that it was given: no byte came through \
                          its links"
                .into()),
        })?;
        let seen = self.ask(0, Command::Touch { hold: 0 }, ANSWER)?;
        self.expect("`touch` is answered at once", "touch", &seen, &[Kind::Ok])?;
        if self.can(ClientAbility::Extend, promises) {
            let seen = self.ask(0, Command::Extend { hold: 0 }, ANSWER)?;
            self.expect("a grant is extended", "extend", &seen, &[Kind::Ok])?;
        }
        if self.can(ClientAbility::Held, promises) {
            let held = Command::Held { hold: 0, within_ns: base::nanos(ANSWER) };
            let seen = self.ask(0, held, ANSWER)?;
            self.expect("it says that the lock is held", "held", &seen, &[Kind::Ok])?;
        }
        // A semaphore lets the other in.
        if self.can(ClientAbility::Timed, promises) && promises.permits <= 1 {
            let seen = self.ask(1, acquire(Duration::ZERO), ANSWER)?;
            let held = "another client that tries once is refused while it is held";
            self.expect(held, "acquire", &seen, &[Kind::Fail])?;
        }
        if self.can(ClientAbility::Convert, promises) {
            let seen = self.ask(0, Command::Convert { hold: 0, mode: Mode::Shared }, ANSWER)?;
            self.expect("a writer becomes a reader", "convert", &seen, &[Kind::Ok])?;
        }
        let waiting = self.send(1, acquire(WAIT));
        let seen = self.ask(0, Command::Release { hold: 0 }, ANSWER)?;
        self.expect("it is released while another waits", "release", &seen, &[Kind::Ok])?;
        let seen = self.hear(1, waiting, WAIT + ANSWER)?;
        self.expect("whoever waits is granted it then", "acquire", &seen, &[Kind::Ok])?;
        let seen = self.ask(1, Command::Release { hold: 0 }, ANSWER)?;
        self.expect("it is released again", "release", &seen, &[Kind::Ok])?;
        self.exit()
    }

    /// Returns true if the client can do this: as it says, or else as its lock promises.
    fn can(&self, ability: ClientAbility, promises: &Promises) -> bool {
        let said = self.can.as_ref().map(|can| can.contains(&ability));
        // Whatever it promises, an acquire has a time-out.
        said.unwrap_or(ability == ClientAbility::Timed || is_promised(ability, promises))
    }

    /// Tells the abilities that the client says it has, and those that its lock promises beside.
    fn tell_abilities(&mut self, promises: &Promises) -> Result<(), String> {
        let Some(can) = self.can.clone() else { return Ok(()) };
        let words: Vec<&str> = can.iter().map(|it| it.word()).collect();
        self.tell(Ok(match words.is_empty() {
            true => "it says that it answers the four requests".into(),
            false => format!("it says that it can do more: {}", words.join(", ")),
        }))?;
        let lacks = |it: &ClientAbility| is_promised(*it, promises) && !can.contains(it);
        for ability in ClientAbility::ALL.into_iter().filter(lacks) {
            let word = ability.word();
            self.tell(Err(format!(
                "its lock promises what needs `{word}`, and it cannot do that"
            )))?;
        }
        Ok(())
    }

    /// Has the first client end, which closes its stdout or ends its process.
    fn exit(&mut self) -> Result<(), String> {
        self.send(0, Command::Exit);
        match self.hear(0, self.next, Duration::from_secs(1)) {
            Ok(_) => self.tell(Err("it answers `exit`, which wants none".into())),
            Err(_) => self.tell(Ok("it gives `exit` no answer, which wants none".into())),
        }
    }

    fn ask(
        &mut self,
        process: u32,
        command: Command,
        within: Duration,
    ) -> Result<ReplyOutcome, String> {
        let id = self.send(process, command);
        self.hear(process, id, within)
    }

    fn send(&mut self, worker: u32, command: Command) -> u64 {
        self.next += 1;
        self.backend.send(worker, ClientRequest { id: self.next, worker, command });
        self.next
    }

    /// Waits for the answer to a request.
    fn hear(&mut self, of: u32, id: u64, within: Duration) -> Result<ReplyOutcome, String> {
        let until = self.backend.now() + within;
        let mut inbox = Vec::new();
        loop {
            while let Some(place) = self.heard.iter().position(|(process, _)| *process == of) {
                let (_, response) = self.heard.remove(place);
                if let ClientReply::Ok { can: Some(can), .. } = &response.reply {
                    self.can = Some(can.clone());
                }
                match response.reply.outcome() {
                    Some(outcome) if response.id == Some(id) => return Ok(outcome),
                    Some(_) => return Err(stray(response.id, id)),
                    None => {}
                }
            }
            if self.backend.now() >= until {
                break;
            }
            let heard = self.backend.advance(until, Passing::Noted, &mut inbox);
            heard.map_err(|error| error.to_string())?;
            for Message { notice, .. } in inbox.drain(..) {
                match notice {
                    Notice::Passed { .. } => self.passed = true,
                    Notice::Died { process, error } => {
                        return Err(format!("process {process} died: {error}"));
                    }
                    Notice::Interference { what } => return Err(what),
                    // A waiter may be granted the lock before the release has been answered.
                    Notice::Client { process, response } => self.heard.push((process, response)),
                    _ => {}
                }
            }
        }
        let within = span(within.as_nanos() as u64);
        Err(format!("process {of} has not answered request {id} within {within}"))
    }

    /// Tells whether an answer is of these kinds.
    fn expect(
        &mut self,
        what: &str,
        command: &str,
        seen: &ReplyOutcome,
        kinds: &[Kind],
    ) -> Result<(), String> {
        self.tell(match kinds.contains(&seen.kind) {
            true => Ok(what.into()),
            false => Err(format!("{what}: not so, {}", refused(command, seen))),
        })
    }

    /// Tells what a step has shown.
    fn tell(&mut self, seen: Seen) -> Result<(), String> {
        self.wrong += u32::from(seen.is_err());
        let (sign, text) = match (&seen, style().unicode) {
            (Ok(text), true) => ("✓", text),
            (Ok(text), false) => ("ok", text),
            (Err(text), true) => ("✗", text),
            (Err(text), false) => ("NO", text),
        };
        say(&format!("{sign} {}\n", base::visible(text))).map_err(|error| error.to_string())
    }
}

/// Returns true if a lock with these promises needs an ability of its clients.
const fn is_promised(ability: ClientAbility, promises: &Promises) -> bool {
    match ability {
        ClientAbility::Shared => promises.shared,
        ClientAbility::Timed | ClientAbility::Cancel => false,
        ClientAbility::Convert => promises.downgrades,
        ClientAbility::Extend => promises.extends,
        ClientAbility::Held => promises.tells,
    }
}

fn acquire(wait: Duration) -> Command {
    Command::Acquire(Box::new(Acquire {
        key: "k0".into(),
        hold: 0,
        mode: Mode::Exclusive,
        acquire_timeout_ns: base::nanos(wait),
    }))
}

fn refused(command: &str, outcome: &ReplyOutcome) -> String {
    let why = outcome.error.as_deref().unwrap_or("without a reason");
    let kind = format!("{:?}", outcome.kind).to_lowercase();
    format!("it answered `{command}` with {kind} ({why})")
}

fn stray(answered: Option<u64>, id: u64) -> String {
    match answered {
        Some(other) => format!("it answered request {other}, and was asked request {id}"),
        None => format!("it answered without the `id` of request {id}"),
    }
}
