//! The conversation with clients on trial: requests, their answers, and faults in between.

use base::units::span;
use base::{
    Backend, BackendError, ClientAbility, ClientReply, ClientRequest, Command, Fault, Kind,
    Message, Mono, Notice, Passing, Promises, ReplyOutcome, Response,
};
use std::time::Duration;

use crate::output::say;
use crate::output_style::style;
use crate::setup::Setup;
use drive::plan::UnfitClient;

/// The time that a client has for an answer beyond the time that it was to wait.
pub const ANSWER: Duration = Duration::from_secs(10);

/// The time that a client which was asked to end has for the lines that it has not written yet.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Clients on trial.
pub struct ClientTrial<'a> {
    backend: Box<dyn Backend>,
    pub promises: &'a Promises,
    pub servers: u32,
    /// The longest time that a client takes for its start.
    pub start_up: Duration,
    /// The number of the last request.
    next: u64,
    /// True once a reply of a server has passed a link to a client.
    pub passed: bool,
    /// The number of the last fault, and the number of the last one that came or was undone.
    faults: (u32, Option<u32>),
    /// The requests that have not been answered, each with its process.
    open: Vec<(u32, u64)>,
    /// The answers that nobody has listened to yet, each with its request.
    heard: Vec<(u64, ReplyOutcome)>,
    /// The abilities of the client, if it says.
    pub can: Option<Box<[ClientAbility]>>,
    /// The number of mistakes.
    wrong: u32,
}

/// The result of a step: a fact, or a mistake.
type Seen = Result<String, String>;

impl<'a> ClientTrial<'a> {
    pub fn of(backend: Box<dyn Backend>, setup: &'a Setup) -> Self {
        Self {
            backend,
            promises: &setup.lock.info.promises,
            servers: setup.world.topology.servers(),
            start_up: setup.plan.start_up,
            next: 0,
            passed: false,
            faults: (0, None),
            open: Vec::new(),
            heard: Vec::new(),
            can: None,
            wrong: 0,
        }
    }

    /// Ends it all. Returns the number of mistakes.
    pub fn end(mut self) -> Result<u32, BackendError> {
        self.backend.stop()?;
        Ok(self.wrong)
    }

    pub fn now(&self) -> Mono {
        self.backend.now()
    }

    /// Starts a client, and waits for its answer to `init`.
    pub fn begin(&mut self, process: u32, within: Duration) -> Result<ReplyOutcome, String> {
        self.backend.spawn(process, process).map_err(|error| error.to_string())?;
        self.open.push((process, 0));
        self.hear(process, 0, within)
    }

    /// Asks the first worker of a client, and waits for the answer.
    pub fn ask(
        &mut self,
        process: u32,
        command: Command,
        within: Duration,
    ) -> Result<ReplyOutcome, String> {
        let id = self.send(process, process, command);
        self.hear(process, id, within)
    }

    pub fn send(&mut self, process: u32, worker: u32, command: Command) -> u64 {
        self.next += 1;
        self.open.push((process, self.next));
        self.backend.send(process, ClientRequest { id: self.next, worker, command });
        self.next
    }

    /// Waits for the answer to a request.
    ///
    /// # Errors
    /// Fails when none comes in time, or something else does.
    pub fn hear(
        &mut self,
        process: u32,
        id: u64,
        within: Duration,
    ) -> Result<ReplyOutcome, String> {
        let until = self.now() + within;
        if self.answered(&[id], until)? {
            let place = self.heard.iter().position(|(answered, _)| *answered == id);
            return Ok(self.heard.remove(place.expect("it has come")).1);
        }
        // What it had written is read once it ends.
        self.send(process, process, Command::Exit);
        let until = self.now() + LAST_WORDS;
        if self.answered(&[id], until)? {
            return Err(format!(
                "process {process} buffers its lines: request {id} was answered only when it was \
                 told to end. Have it flush its stdout after each line"
            ));
        }
        let within = span(within.as_nanos() as u64);
        Err(format!("process {process} has not answered request {id} within {within}"))
    }

    /// Waits until one of these requests has been answered. Returns false if none is in time.
    pub fn answered(&mut self, ids: &[u64], until: Mono) -> Result<bool, String> {
        loop {
            if ids.iter().any(|id| self.has_come(*id)) {
                return Ok(true);
            }
            if !self.advance(until)? {
                return Ok(false);
            }
        }
    }

    /// Returns true if a request has been answered, and nobody has listened yet.
    pub fn has_come(&self, id: u64) -> bool {
        self.heard.iter().any(|(answered, _)| *answered == id)
    }

    /// Does a fault, and undoes it.
    ///
    /// # Errors
    /// Fails when it cannot be done here.
    pub fn hit(&mut self, fault: &Fault) -> Result<(), String> {
        let (id, _) = self.faults;
        self.faults.0 += 1;
        self.backend.inject(id, fault).map_err(|error| error.to_string())?;
        self.fault(id)?;
        self.backend.heal(id, fault).map_err(|error| error.to_string())?;
        self.fault(id)
    }

    /// Waits until a fault has come, or is undone.
    fn fault(&mut self, id: u32) -> Result<(), String> {
        let until = self.now() + ANSWER;
        while self.faults.1.take() != Some(id) {
            if !self.advance(until)? {
                return Err("a fault could not be done in time".into());
            }
        }
        Ok(())
    }

    /// Takes what happens next. Returns false if nothing has until then.
    fn advance(&mut self, until: Mono) -> Result<bool, String> {
        if self.now() >= until {
            return Ok(false);
        }
        let mut inbox = Vec::new();
        let heard = self.backend.advance(until, Passing::Noted, &mut inbox);
        heard.map_err(|error| error.to_string())?;
        for Message { notice, .. } in inbox {
            match notice {
                Notice::Passed { .. } => self.passed = true,
                Notice::Died { process, error } => {
                    return Err(format!("process {process} died: {error}"));
                }
                Notice::Interference { what } => return Err(what),
                Notice::Injected { id } | Notice::Healed { id, .. } => self.faults.1 = Some(id),
                Notice::Client { process, response } => self.take_in(process, response)?,
                Notice::Stalled { .. } | Notice::GivenUp { .. } => {}
            }
        }
        Ok(true)
    }

    fn take_in(&mut self, process: u32, response: Response) -> Result<(), String> {
        if let ClientReply::Ok { can, version, .. } = &response.reply {
            if let Some(unfit) = UnfitClient::of(&[], "", (*version, None)) {
                return Err(unfit.to_string());
            }
            if can.is_some() {
                self.can.clone_from(can);
            }
        }
        let answered = response.id;
        // A notice answers nothing.
        let Some(outcome) = response.reply.outcome() else { return Ok(()) };
        let open = self.open.iter().position(|(of, id)| (*of, Some(*id)) == (process, answered));
        let Some(place) = open else { return Err(self.stray(process, answered)) };
        let (_, id) = self.open.remove(place);
        self.heard.push((id, outcome));
        Ok(())
    }

    /// Returns what is wrong with an answer to a request that is not open, in words.
    fn stray(&self, process: u32, answered: Option<u64>) -> String {
        let open = self.open.iter().filter(|(of, _)| *of == process);
        let open: Vec<String> = open.map(|(_, id)| id.to_string()).collect();
        let open = match open.is_empty() {
            true => "was asked nothing".into(),
            false => format!("was asked request {}", open.join(" and ")),
        };
        match answered {
            Some(other) => format!("process {process} answered request {other}, and {open}"),
            None => format!("process {process} answered without an `id`, and {open}"),
        }
    }

    /// Tells whether an answer is of these kinds.
    pub fn expect(
        &mut self,
        what: &str,
        command: &str,
        seen: &ReplyOutcome,
        kinds: &[Kind],
    ) -> Result<(), String> {
        self.tell(match kinds.contains(&seen.kind) {
            true => Ok(what.into()),
            false => Err(format!("{what}: not so, it answered `{command}` with {}", words(seen))),
        })
    }

    /// Tells what a step has shown.
    pub fn tell(&mut self, seen: Seen) -> Result<(), String> {
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

/// The words for an answer.
pub fn words(outcome: &ReplyOutcome) -> String {
    let kind = format!("{:?}", outcome.kind).to_lowercase();
    match (&outcome.error, outcome.kind) {
        (Some(error), _) if !error.is_empty() => format!("{kind} ({error})"),
        (_, Kind::Ok) => kind,
        _ => format!("{kind} (without a reason)"),
    }
}
