//! The conformance suite: random steps of several sessions that meet at locks, taken by the model
//! and by a real server.
//!
//! After each step both must have given the same answers, and have as many sessions, and as many
//! that wait for a lock: so a backend that does not notice that its client is gone is seen, too. No
//! answer depends on the moment. A session waits only for what comes after all that it has, so that
//! none waits for itself; nothing waits for ever but what another may still free. What goes by time
//! is measured besides.

#[cfg(feature = "real")]
mod arm;

#[cfg(feature = "real")]
pub use arm::real_arm;

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
    /// The open sessions: nobody hears what the backends of others still answer.
    open: BTreeSet<SessionId>,
}

impl Expected {
    /// Takes a step, and returns the answers that it leads to.
    pub fn take(&mut self, step: &SessionStep) -> Vec<Answered> {
        let at = Clocks { wall: WallTime::ZERO, mono: Mono::ZERO };
        let (connection, packet) = match step {
            SessionStep::Connect(session) => {
                self.open.insert(*session);
                (*session, Packet::Startup(SessionSettings::default()))
            }
            SessionStep::Execute(session, statement) => {
                (*session, Packet::Statement(statement.clone()))
            }
            SessionStep::Close(session) => {
                self.open.remove(session);
                self.server.disconnected(at, *session, &mut self.out);
                return self.take_answers();
            }
        };
        self.server.receive(at, Peer::Connection(connection), packet, &mut self.out);
        self.take_answers()
    }

    fn take_answers(&mut self) -> Vec<Answered> {
        let to_answer = |out| match out {
            Out::Send(Peer::Connection(to), Packet::Answer(answer)) => Some((to, answer)),
            Out::Send(Peer::Connection(to), Packet::Ready) => Some((to, Ok(Reply::Done))),
            _ => None,
        };
        let heard = |(to, _): &Answered| self.open.contains(to);
        self.out.drain(..).filter_map(to_answer).filter(heard).collect()
    }

    /// Returns true if a step can be taken, and has nobody wait for ever.
    pub fn can_take(&self, step: &SessionStep) -> bool {
        match step {
            SessionStep::Connect(_) => true,
            SessionStep::Close(session) => self.open.contains(session),
            SessionStep::Execute(session, statement) => {
                let frees = matches!(
                    statement,
                    Statement::AdvisoryUnlock { .. }
                        | Statement::Commit
                        | Statement::Rollback
                        | Statement::Ping
                );
                let ready = frees || !self.server.is_waiting(*session);
                self.open.contains(session) && ready && self.server.keeps_order(*session, statement)
            }
        }
    }

    /// The step that closes the last of the open sessions.
    pub fn close(&self) -> Option<SessionStep> {
        self.open.last().map(|session| SessionStep::Close(*session))
    }

    /// The number of sessions, and of those that wait for a lock.
    pub fn counts(&self) -> (usize, usize) {
        (self.server.sessions(), self.server.waiting())
    }
}

/// The number of steps of a sequence, but for those that close what is open.
const STEPS: usize = 40;

/// The number of rows, and of advisory locks.
const ROWS: u64 = 2;

/// The number of sessions that are open at once.
const SLOTS: usize = 4;

/// The sequence of this seed.
pub fn sequence(seed: u64) -> Vec<SessionStep> {
    let mut draw =
        StepDraw { rng: Rng::new(seed), model: Expected::default(), sessions: 0, rows: 0 };
    let mut steps = Vec::new();
    while let Some(step) = if steps.len() < STEPS { Some(draw.step()) } else { draw.model.close() }
    {
        draw.model.take(&step);
        steps.push(step);
    }
    steps
}

/// A generator of steps.
struct StepDraw {
    rng: Rng,
    model: Expected,
    /// The number of sessions so far.
    sessions: SessionId,
    /// The number of rows that are there.
    rows: u64,
}

impl StepDraw {
    fn step(&mut self) -> SessionStep {
        let open = self.model.open.len();
        if open < SLOTS && (open < 2 || self.rng.below(3) == 0) {
            self.sessions += 1;
            return SessionStep::Connect(self.sessions);
        }
        let session = self.model.open.iter().nth(self.rng.below(open as u64) as usize);
        let session = *session.expect("so many are open");
        // They meet at rows only when these are there.
        if self.rows < ROWS {
            self.rows += 1;
            let name = (self.rows - 1).to_string();
            return SessionStep::Execute(session, Statement::InsertRow { name });
        }
        if self.rng.below(16) == 0 {
            return SessionStep::Close(session);
        }
        SessionStep::Execute(session, self.statement(session))
    }

    fn statement(&mut self, session: SessionId) -> Statement {
        let server = &self.model.server;
        let (waits, in_transaction) = (server.is_waiting(session), server.has_begun(session));
        if !waits && !in_transaction && self.rng.below(2) == 0 {
            return Statement::Begin;
        }
        let name = self.rng.below(ROWS).to_string();
        let key = name.clone();
        let drawn = match self.rng.below(if waits { 4 } else { 16 }) {
            0 => Statement::AdvisoryUnlock { key },
            1 => Statement::Commit,
            2 => Statement::Rollback,
            3 => Statement::Ping,
            4 => Statement::TryAdvisoryLock { key },
            5 | 6 => Statement::AdvisoryLock { key },
            7 => Statement::TryAdvisoryXactLock { key },
            8 | 9 => Statement::AdvisoryXactLock { key },
            10 => Statement::Begin,
            11 if !in_transaction => Statement::InsertRow { name },
            11 | 12 => Statement::LockRow { name, wait: false },
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
            let mut model = Expected::default();
            for step in sequence(seed) {
                assert!(model.can_take(&step), "{step:?}");
                let before = model.counts();
                let answers = model.take(&step);
                let after = model.counts();
                waited += usize::from(after.1 > before.1);
                handed_on += usize::from(after.1 < before.1);
                refused += answers.iter().filter(|(_, answer)| answer.is_err()).count();
                left += usize::from(matches!(step, SessionStep::Close(_)) && after.0 == before.0);
            }
            assert_eq!(model.counts(), (0, 0), "seed {seed}");
        }
        let seen = [waited, handed_on, refused, left];
        assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
    }
}
