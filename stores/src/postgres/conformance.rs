//! The conformance suite: random steps of several sessions that meet at locks, taken by the model and
//! by a real server.
//!
//! After each step both must have given the same answers, and have as many sessions, and as many that
//! wait for a lock: so a backend that does not notice that its client is gone is seen, too. No answer
//! depends on the moment. A session waits only for what comes after all that it has, so that none waits
//! for itself; nothing waits for ever but what another may still free. What goes by time is measured
//! besides.

#[cfg(feature = "real")]
mod arm;

#[cfg(feature = "real")]
pub use arm::{ConformanceReport, real_arm};

use super::{Packet, Refusal, Reply, Server, SessionId, SessionSettings, Statement};
use crate::model::{Clocks, Out, Peer, ServerModel};
use base::{Mono, Rng, WallTime};
use std::collections::BTreeSet;

/// A step of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionStep {
    /// A session connects.
    Connect(SessionId),
    /// Executes a statement, though the one before it may not be answered.
    Execute(SessionId, Statement),
    /// Closes its connection without a word.
    Close(SessionId),
}

/// An answer to a session.
pub type Answered = (SessionId, Result<Reply, Refusal>);

/// The model, and what it has answered.
#[derive(Default)]
pub struct Expected {
    server: Server,
    out: Vec<Out<Packet>>,
    /// The sessions that were closed: nobody hears what their backends still answer.
    closed: BTreeSet<SessionId>,
}

impl Expected {
    /// Takes a step, and returns the answers that it leads to.
    pub fn take(&mut self, step: &SessionStep) -> Vec<Answered> {
        let at = Clocks { wall: WallTime::ZERO, mono: Mono::ZERO };
        let (connection, packet) = match step {
            SessionStep::Connect(session) => {
                (*session, Some(Packet::Startup(SessionSettings::default())))
            }
            SessionStep::Execute(session, statement) => {
                (*session, Some(Packet::Statement(statement.clone())))
            }
            SessionStep::Close(session) => (*session, None),
        };
        match packet {
            Some(packet) => {
                self.server.receive(at, Peer::Connection(connection), packet, &mut self.out);
            }
            None => {
                self.closed.insert(connection);
                self.server.disconnected(at, connection, &mut self.out);
            }
        }
        let told = |out| match out {
            Out::Send(Peer::Connection(to), Packet::Answer(answer)) => Some((to, answer)),
            Out::Send(Peer::Connection(to), Packet::Ready) => Some((to, Ok(Reply::Done))),
            _ => None,
        };
        let heard = |(to, _): &Answered| !self.closed.contains(to);
        self.out.drain(..).filter_map(told).filter(heard).collect()
    }

    /// The number of sessions, and of those that wait for a lock.
    pub fn counts(&self) -> (usize, usize) {
        (self.server.sessions(), self.server.waiting())
    }
}

/// The number of rows, and of advisory locks.
const ROWS: u64 = 2;

/// The number of sessions that are open at once.
const SLOTS: usize = 4;

/// Draws the steps of a sequence. The names of what it locks are its own.
pub struct StepDraw {
    rng: Rng,
    seed: u64,
    model: Expected,
    /// The open sessions. Their numbers grow.
    open: Vec<SessionId>,
    sessions: SessionId,
    /// The number of rows that are there.
    rows: u64,
}

impl StepDraw {
    /// Begins a sequence.
    pub fn new(seed: u64) -> Self {
        let (rng, model) = (Rng::new(seed), Expected::default());
        Self { rng, seed, model, open: Vec::new(), sessions: 0, rows: 0 }
    }

    /// Draws the next step, and returns it with the answers of the model.
    pub fn step(&mut self) -> (SessionStep, Vec<Answered>) {
        let step = self.draw();
        (step.clone(), self.model.take(&step))
    }

    /// Closes all that is open.
    pub fn end(&mut self) -> Option<(SessionStep, Vec<Answered>)> {
        let step = SessionStep::Close(self.open.pop()?);
        Some((step.clone(), self.model.take(&step)))
    }

    /// The number of sessions, and of those that wait for a lock.
    pub fn counts(&self) -> (usize, usize) {
        self.model.counts()
    }

    fn draw(&mut self) -> SessionStep {
        if self.open.len() < SLOTS && (self.open.len() < 2 || self.rng.below(3) == 0) {
            self.sessions += 1;
            self.open.push(self.sessions);
            return SessionStep::Connect(self.sessions);
        }
        let place = self.rng.below(self.open.len() as u64) as usize;
        let session = self.open[place];
        // They meet at rows only when these are there.
        if self.rows < ROWS {
            self.rows += 1;
            let name = self.name(self.rows - 1);
            return SessionStep::Execute(session, Statement::InsertRow { name });
        }
        if self.rng.below(16) == 0 {
            return SessionStep::Close(self.open.remove(place));
        }
        SessionStep::Execute(session, self.statement(session))
    }

    fn name(&self, number: u64) -> String {
        format!("picklock-{}-{number}", self.seed)
    }

    fn statement(&mut self, session: SessionId) -> Statement {
        let server = &self.model.server;
        let (waits, in_transaction) = (server.is_waiting(session), server.has_begun(session));
        if !waits && !in_transaction && self.rng.below(2) == 0 {
            return Statement::Begin;
        }
        let number = self.rng.below(ROWS);
        let (key, name) = (self.name(number), self.name(number));
        let drawn = match self.rng.below(if waits { 4 } else { 13 }) {
            0 => Statement::AdvisoryUnlock { key },
            1 => Statement::Commit,
            2 => Statement::Rollback,
            3 => Statement::Ping,
            4 => Statement::TryAdvisoryLock { key },
            5 | 6 => Statement::AdvisoryLock { key },
            7 => Statement::Begin,
            8 if !in_transaction => Statement::InsertRow { name },
            8 | 9 => Statement::LockRow { name, wait: false },
            _ => Statement::LockRow { name, wait: true },
        };
        if self.model.server.keeps_order(session, &drawn) { drawn } else { Statement::Ping }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_wait_hand_on_are_refused_and_close_while_they_wait() {
        let (mut waited, mut handed_on, mut refused, mut left) = (0, 0, 0, 0);
        for seed in 0..100 {
            let mut draw = StepDraw::new(seed);
            for _ in 0..40 {
                let before = draw.counts();
                let (step, answers) = draw.step();
                let after = draw.counts();
                waited += usize::from(after.1 > before.1);
                handed_on += usize::from(after.1 < before.1);
                refused += answers.iter().filter(|(_, answer)| answer.is_err()).count();
                left += usize::from(matches!(step, SessionStep::Close(_)) && after.0 == before.0);
            }
            while draw.end().is_some() {}
            assert_eq!(draw.counts(), (0, 0), "seed {seed}");
        }
        let seen = [waited, handed_on, refused, left];
        assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
    }
}
