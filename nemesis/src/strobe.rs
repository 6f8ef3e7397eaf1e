//! `clock-strobe`: a wall clock is set ahead and right again, many times in a row, as two time
//! servers that disagree do it to a machine that believes each in turn.
//!
//! **Source.** Jepsen's clock nemesis has a strobe, too.

use base::{
    Action, ClockChange, Fault, Mono, Nemesis, NemesisSpec, Next, Node, Rng, ServersNeeded, View,
};

use crate::aim::{self, Deck};
use crate::clock::{ALL, Aim, SET, WRONG, nodes};

/// The number of jumps in a row.
const JUMPS: u32 = 10;

pub const STROBE: NemesisSpec = NemesisSpec {
    name: "clock-strobe",
    needs: SET,
    servers: ServersNeeded::ANY,
    causes: &[WRONG],
    make: || Box::new(Strobes { aims: Deck::new(ALL), stage: StrobeStage::Gap, too: Vec::new() }),
};

struct Strobes {
    aims: Deck<Aim>,
    stage: StrobeStage,
    /// Nodes that are hit together with the last one.
    too: Vec<(Node, i64)>,
}

/// The next step of a strobe.
enum StrobeStage {
    /// A pause before it.
    Gap,
    /// It waits for its chance.
    Chance(Aim),
    /// So many jumps are left of it, each of these nodes ahead by so many nanoseconds, not before a
    /// time.
    Jumps { left: u32, nodes: Vec<Node>, nanos: i64, from: Mono },
}

impl Strobes {
    fn inject(&mut self, view: &View<'_>) -> Next {
        let Some((node, nanos)) = self.too.pop() else { return Next::Watch };
        let fault = Fault::at(node, Action::Clock(ClockChange::Jump(nanos)));
        Next::Inject { fault, lasts: view.ttl / 20 }
    }

    /// The next jump of a strobe, once the clocks have been right for a moment.
    fn jump(&mut self, view: &View<'_>) -> Next {
        let StrobeStage::Jumps { left, nodes, nanos, from } = &mut self.stage else {
            return Next::At(view.now);
        };
        if view.now < *from {
            return Next::At(*from);
        }
        // As long as this jump lasts, and as long again.
        (*left, *from) = (*left - 1, view.now + view.ttl / 10);
        self.too = nodes.iter().map(|node| (*node, *nanos)).collect();
        if *left == 0 {
            self.stage = StrobeStage::Gap;
        }
        self.inject(view)
    }
}

impl Nemesis for Strobes {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if !self.too.is_empty() {
            return self.inject(view);
        }
        if view.active > 0 {
            return Next::Watch;
        }
        match self.stage {
            StrobeStage::Jumps { .. } => self.jump(view),
            StrobeStage::Gap => {
                self.stage = StrobeStage::Chance(self.aims.draw(rng));
                Next::At(aim::gap(view, rng))
            }
            StrobeStage::Chance(aim) => {
                let nodes = nodes(aim, view, rng);
                if nodes.is_empty() {
                    return Next::At(view.now + view.ttl / 50);
                }
                let nanos = rng.between(view.ttl / 2, view.ttl * 5 / 2).as_nanos() as i64;
                self.stage = StrobeStage::Jumps { left: JUMPS, nodes, nanos, from: view.now };
                self.jump(view)
            }
        }
    }
}
