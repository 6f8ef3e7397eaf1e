//! The clients' task: to contend for a lock. Each client thinks, asks, reads, works, writes,
//! releases.

use base::{Mode, Rng, Spread};
use std::time::Duration;

/// The manner in which clients contend.
#[derive(Clone, Debug)]
pub struct Contend {
    /// The number of keys.
    pub keys: u32,
    /// True if readers can hold the lock together: a little more than half of the turns are theirs.
    pub shared: bool,
    /// The time for which a client works. A hold that is shorter than a fault can never show what
    /// the fault breaks, so some have to be long.
    pub hold: Spread,
    /// The time for which a client does something else before its turn.
    pub think: Spread,
    /// The number of turns that each client takes. `None`: turns until the run is over.
    pub turns: Option<u32>,
}

/// One turn of one client.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The time before it asks for the lock.
    pub think: Duration,
    /// The number of the key, from 0.
    pub key: u32,
    /// The mode in which it asks.
    pub mode: Mode,
    /// The time for which it works between its read and its last touch.
    pub hold: Duration,
}

impl Contend {
    /// Draws a turn.
    pub fn turn(&self, rng: &mut Rng) -> Turn {
        let hold = self.hold.draw(rng);
        let mode = if self.shared && rng.chance(0.6) { Mode::Shared } else { Mode::Exclusive };
        Turn {
            think: self.think.draw(rng),
            key: rng.below(u64::from(self.keys)) as u32,
            mode,
            hold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_have_a_little_more_than_half_of_the_turns() {
        let spread = Spread::Exponential { least: Duration::ZERO, mean: Duration::from_millis(20) };
        let contend = Contend { keys: 1, shared: true, hold: spread, think: spread, turns: None };
        let mut rng = Rng::new(1);
        let turns = (0..1_000).map(|_| contend.turn(&mut rng));
        let readers = turns.filter(|t| t.mode == Mode::Shared).count();
        assert!((500..700).contains(&readers));
    }
}
