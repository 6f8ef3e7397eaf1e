//! The steps of a trial: a lock is taken, waited for and released, and what goes wrong between.

use base::units::span;
use base::{
    Acquire, Action, ClientAbility, Command, Fault, Kind, LinkFault, Mode, Node, Promises,
    ReplyOutcome, nanos,
};
use std::time::Duration;

use super::trial::{ANSWER, ClientTrial, words};

/// The time for which the second client waits while the first holds the lock.
const WAIT: Duration = Duration::from_secs(5);
/// The time after which whoever answers has waited for the lock.
const WAITED: Duration = Duration::from_millis(500);

/// The time after which whoever is refused at a try has waited: a first call may take a while.
const REFUSED: Duration = Duration::from_secs(2);

/// The second worker of the second client.
const SECOND_WORKER: u32 = 3;

impl ClientTrial<'_> {
    /// Takes all steps.
    ///
    /// # Errors
    /// Fails when the client does not answer, so that there is nothing more to try.
    pub fn take(&mut self) -> Result<(), String> {
        for process in 0..2 {
            self.start(process)?;
        }
        self.tell_abilities()?;
        self.take_all()?;
        self.hold()?;
        self.wait_for_the_other()?;
        self.bear_a_pause()?;
        self.bear_a_broken_link()?;
        let seen = self.ask(1, Command::Release { hold: 0 }, ANSWER)?;
        self.tell(Ok(format!("a second release is answered, with {}", words(&seen))))?;
        self.exit()
    }

    fn start(&mut self, process: u32) -> Result<(), String> {
        let begun = self.now();
        let outcome = self.begin(process, self.start_up)?;
        let took = span(nanos(self.now().since(begun)));
        match outcome.kind {
            Kind::Ok => self.tell(Ok(format!("process {process} answers `init` after {took}"))),
            _ => Err(format!("it answered `init` with {}", words(&outcome))),
        }
    }

    /// Has the first client take all permits at once, if it can do that.
    fn take_all(&mut self) -> Result<(), String> {
        let all = self.promises.permits;
        if all <= 1 || !self.can_do(ClientAbility::Permits) {
            return Ok(());
        }
        let seen = self.ask(0, acquire_permits(all, ANSWER), ANSWER * 2)?;
        self.expect("all permits are granted at once", "acquire", &seen, &[Kind::Ok])?;
        let is_timed = self.can_do(ClientAbility::Timed);
        if is_timed {
            let seen = self.try_once(1)?;
            self.expect("no other permit is granted then", "acquire", &seen, &[Kind::Fail])?;
        }
        let seen = self.ask(0, Command::Release { hold: 0 }, ANSWER)?;
        self.expect("they are released together", "release", &seen, &[Kind::Ok])?;
        if is_timed {
            let seen = self.ask(1, acquire_permits(all, Duration::ZERO), ANSWER)?;
            self.expect("all of them are free again", "acquire", &seen, &[Kind::Ok])?;
            let seen = self.ask(1, Command::Release { hold: 0 }, ANSWER)?;
            self.expect("another client releases them", "release", &seen, &[Kind::Ok])?;
        }
        Ok(())
    }

    /// Has the first client take the lock, and asks it all that there is to ask of a holder.
    fn hold(&mut self) -> Result<(), String> {
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
        if self.can_do(ClientAbility::Extend) {
            let seen = self.ask(0, Command::Extend { hold: 0 }, ANSWER)?;
            self.expect("a grant is extended", "extend", &seen, &[Kind::Ok])?;
        }
        if self.can_do(ClientAbility::Held) {
            let held = Command::Held { hold: 0, within_ns: nanos(ANSWER) };
            let seen = self.ask(0, held, ANSWER)?;
            self.expect("it says that the lock is held", "held", &seen, &[Kind::Ok])?;
        }
        // A semaphore lets the other in.
        if self.can_do(ClientAbility::Timed) && self.promises.permits <= 1 {
            let seen = self.try_once(1)?;
            let held = "another client that tries once is refused while it is held";
            self.expect(held, "acquire", &seen, &[Kind::Fail])?;
        }
        if self.can_do(ClientAbility::Convert) {
            let seen = self.ask(0, Command::Convert { hold: 0, mode: Mode::Shared }, ANSWER)?;
            self.expect("a writer becomes a reader", "convert", &seen, &[Kind::Ok])?;
        }
        Ok(())
    }

    /// Has a client try once to take the lock.
    ///
    /// # Errors
    /// Fails when it waits: a grant of the other one may have run out until then, and nothing that
    /// follows would be its mistake.
    fn try_once(&mut self, process: u32) -> Result<ReplyOutcome, String> {
        let begun = self.now();
        let asked = self.send(process, process, acquire(Duration::ZERO));
        let seen = match self.answered(&[asked], begun + ANSWER)? {
            true => Some(self.hear(process, asked, ANSWER)?),
            false => None,
        };
        let waited = self.now().since(begun);
        let answer = match seen {
            Some(seen) if waited < longest_try(seen.kind) => return Ok(seen),
            Some(seen) => {
                format!("was answered after {}, with {}", span(nanos(waited)), words(&seen))
            }
            None => format!("was not answered for {}", span(nanos(waited))),
        };
        Err(format!(
            "it waits for the lock where it is to try once: an `acquire` with an \
             `acquire_timeout_ns` of 0 {answer}. Have it try once then; or list in `can` what it \
             can do, without `{}`",
            ClientAbility::Timed.word(),
        ))
    }

    /// Has the second client wait for the lock until the first releases it.
    fn wait_for_the_other(&mut self) -> Result<(), String> {
        let waiting = self.send(1, 1, acquire(WAIT));
        let beside = match self.can_do(ClientAbility::Workers) && self.promises.permits <= 1 {
            true => Some(self.ask_beside(waiting)?),
            false => None,
        };
        let seen = self.ask(0, Command::Release { hold: 0 }, ANSWER)?;
        self.expect("it is released while another waits", "release", &seen, &[Kind::Ok])?;
        let freed = self.now();
        let back_off = Duration::from_nanos(self.promises.pace.back_off_ns);
        let is_prompt = self.answered(&[waiting], freed + back_off + WAITED)?;
        let is_free = !is_prompt && self.is_free()?;
        // It may have been about to ask, and so the try came too late.
        let is_prompt = is_prompt || !is_free && self.has_come(waiting);
        let seen = self.hear(1, waiting, WAIT + ANSWER)?;
        let waited = span(nanos(self.now().since(freed)));
        let sleeps = format!(
            "how long a client sleeps between two tries, if it is that (`back-off`, now {})",
            span(nanos(back_off))
        );
        if seen.kind != Kind::Ok || is_prompt {
            self.expect("whoever waits is granted it then", "acquire", &seen, &[Kind::Ok])?;
        } else if is_free {
            self.tell(Ok(format!(
                "whoever waits is granted it {waited} later, though it was free before. Say {sleeps}"
            )))?;
        } else {
            self.tell(Err(format!(
                "its release frees nothing: whoever waited was granted the lock {waited} later, \
                 when it had run out. Free what the acquire has taken; or say {sleeps}"
            )))?;
        }
        match beside {
            Some(touch) => self.hear(1, touch, ANSWER).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Returns true if the first client is granted the lock at a try, while the second one waits for
    /// it. A client that cannot try proves nothing.
    fn is_free(&mut self) -> Result<bool, String> {
        if !self.can_do(ClientAbility::Timed) {
            return Ok(false);
        }
        let granted = self.try_once(0)?.kind == Kind::Ok;
        if granted {
            self.ask(0, Command::Release { hold: 0 }, ANSWER)?;
        }
        Ok(granted)
    }

    /// Asks the second worker of a client, whose first one waits for the lock with this request,
    /// for what waits for nothing.
    fn ask_beside(&mut self, waiting: u64) -> Result<u64, String> {
        let begun = self.now();
        let touch = self.send(1, SECOND_WORKER, Command::Touch { hold: 0 });
        let is_first =
            self.answered(&[waiting, touch], begun + WAIT * 4 / 5)? && self.has_come(touch);
        let waited = self.now().since(begun);
        self.tell(match is_first || waited < WAITED {
            true => Ok("a worker is answered while another one waits for the lock".into()),
            false => Err(format!(
                "it blocks its reader while it waits for the lock: the `touch` of another worker \
                 was not answered for {}. Serve each worker by a thread of its own; or list in \
                 `can` what it can do, without `{}`",
                span(nanos(waited)),
                ClientAbility::Workers.word(),
            )),
        })?;
        Ok(touch)
    }

    /// Pauses the holder with all its children, and lets it go on.
    fn bear_a_pause(&mut self) -> Result<(), String> {
        self.hit(&Fault::at(Node::Client(1), Action::Pause))?;
        let seen = self.ask(1, Command::Touch { hold: 0 }, ANSWER)?;
        self.expect("it goes on after a pause", "touch", &seen, &[Kind::Ok])
    }

    /// Breaks the connections of a client while it waits for the lock: whatever it says of that, it
    /// has to say something.
    fn bear_a_broken_link(&mut self) -> Result<(), String> {
        let waiting = self.send(0, 0, acquire(WAIT));
        let links = (0..self.servers).map(|it| (Node::Client(0), Node::Server(it))).collect();
        self.hit(&Fault::over(links, Action::Link(LinkFault::Reset)))?;
        let seen = self.ask(1, Command::Release { hold: 0 }, ANSWER)?;
        self.expect("it is released again", "release", &seen, &[Kind::Ok])?;
        let seen = self.hear(0, waiting, WAIT + ANSWER)?;
        let answer = words(&seen);
        self.tell(Ok(format!("its connections break while it waits: it answers with {answer}")))?;
        if seen.kind == Kind::Ok {
            self.ask(0, Command::Release { hold: 0 }, ANSWER)?;
        }
        Ok(())
    }

    /// Returns true if the client can do this: as it says, or else as its lock promises.
    fn can_do(&self, ability: ClientAbility) -> bool {
        let claimed = self.can.as_ref().map(|can| can.contains(&ability));
        claimed.unwrap_or_else(|| match ability {
            // Whatever it promises, an acquire has a time-out, and a worker may not be the only
            // one.
            ClientAbility::Timed | ClientAbility::Workers => true,
            _ => is_promised(ability, self.promises),
        })
    }

    /// Tells the abilities that the client says it has, and those that its lock promises beside.
    fn tell_abilities(&mut self) -> Result<(), String> {
        let Some(can) = self.can.clone() else { return Ok(()) };
        let words: Vec<&str> = can.iter().map(|it| it.word()).collect();
        self.tell(Ok(match words.is_empty() {
            true => "it says that it answers the four requests".into(),
            false => format!("it says that it can do more: {}", words.join(", ")),
        }))?;
        let lacks = |it: &ClientAbility| is_promised(*it, self.promises) && !can.contains(it);
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
        let exit = self.send(0, 0, Command::Exit);
        let until = self.now() + Duration::from_secs(1);
        match self.answered(&[exit], until) {
            Ok(true) => self.tell(Err("it answers `exit`, which wants none".into())),
            _ => self.tell(Ok("it gives `exit` no answer, which wants none".into())),
        }
    }
}

/// Returns true if a lock with these promises needs an ability of its clients.
const fn is_promised(ability: ClientAbility, promises: &Promises) -> bool {
    match ability {
        ClientAbility::Shared => promises.shared,
        ClientAbility::Timed
        | ClientAbility::Cancel
        | ClientAbility::Workers
        | ClientAbility::Permits => false,
        ClientAbility::Convert => promises.downgrades,
        ClientAbility::Extend => promises.extends,
        ClientAbility::Held => promises.tells,
    }
}

/// Returns the time that a try takes at most, by its answer.
const fn longest_try(kind: Kind) -> Duration {
    match kind {
        Kind::Ok => WAITED,
        _ => REFUSED,
    }
}

fn acquire(wait: Duration) -> Command {
    acquire_permits(1, wait)
}

fn acquire_permits(permits: u32, wait: Duration) -> Command {
    Command::Acquire(Box::new(Acquire {
        key: "k0".into(),
        hold: 0,
        mode: Mode::Exclusive,
        permits,
        acquire_timeout_ns: nanos(wait),
    }))
}
