//! `evict`: the memory of a server is filled with junk while somebody holds, so that the server
//! evicts the lock (H18).
//!
//! It strikes early in a long hold, as what loses the data of a server does, and the junk is soon
//! taken out again: what is evicted does not come back.

use base::{
    Ability, Action, Cause, Fault, Nemesis, NemesisSpec, Next, Node, Rng, ServersNeeded, View,
};

use crate::aim;

pub const EVICT: NemesisSpec = NemesisSpec {
    name: "evict",
    needs: &[Ability::Evict],
    servers: ServersNeeded::ANY,
    causes: &[&[Cause::Evicted]],
    make: || Box::new(Evict { chance: false }),
};

struct Evict {
    /// True once the time for the next one has come.
    chance: bool,
}

impl Nemesis for Evict {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        if !self.chance {
            self.chance = true;
            return Next::At(aim::gap(view, rng));
        }
        if aim::long_holder(view, view.ttl / 20..view.ttl / 4).is_none() {
            return Next::At(view.now + view.ttl / 50);
        }
        self.chance = false;
        let server = rng.below(u64::from(view.server_count())) as u32;
        let lasts = rng.between(view.ttl / 50, view.ttl / 4);
        Next::Inject { fault: Fault::at(Node::Server(server), Action::Evict), lasts }
    }
}
