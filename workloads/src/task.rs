//! What clients do with a lock: contend. Each client thinks, asks, reads, works, writes, releases.

use base::{Mode, Rng};
use std::time::Duration;

/// How clients contend.
#[derive(Clone, Debug)]
pub struct Contend {
    /// How many keys.
    pub keys: u32,
    /// The lock can be held by readers together: a little more than half of the turns are theirs.
    pub shared: bool,
    /// The mean of a short hold.
    pub hold: Duration,
    /// The longest hold.
    pub hold_max: Duration,
    /// The mean time between two turns.
    pub think: Duration,
}

/// One turn of one client.
#[derive(Clone, Debug)]
pub struct Turn {
    /// What it does before it asks for the lock.
    pub think: Duration,
    /// Which key, from 0.
    pub key: u32,
    /// How it asks.
    pub mode: Mode,
    /// How long it works between its read and its last touch.
    pub hold: Duration,
}

impl Contend {
    /// Draws a turn. Three holds in four are short; the others reach up to the longest, because a
    /// hold that is shorter than a fault can never show what the fault breaks.
    pub fn turn(&self, rng: &mut Rng) -> Turn {
        let long = rng.chance(0.25);
        let hold = if long {
            rng.between(self.hold_max / 3, self.hold_max)
        } else {
            rng.exponential(self.hold).min(self.hold_max)
        };
        let mode = if self.shared && rng.chance(0.6) { Mode::Shared } else { Mode::Exclusive };
        Turn {
            think: rng.exponential(self.think),
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
    fn holds_have_a_tail_but_stay_below_the_longest() {
        let longest = Duration::from_millis(600);
        let contend = Contend {
            keys: 1,
            shared: true,
            hold: Duration::from_millis(20),
            hold_max: longest,
            think: Duration::from_millis(20),
        };
        let mut rng = Rng::new(1);
        let turns: Vec<Turn> = (0..1_000).map(|_| contend.turn(&mut rng)).collect();
        assert!(turns.iter().all(|t| t.hold <= longest));
        assert!(turns.iter().filter(|t| t.hold > longest / 3).count() > 150);
        assert!(turns.iter().filter(|t| t.hold < longest / 10).count() > 200);
        let readers = turns.iter().filter(|t| t.mode == Mode::Shared).count();
        assert!((500..700).contains(&readers));
    }
}
