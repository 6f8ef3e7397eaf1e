//! `none`: no faults at all. What breaks under it is broken.

use base::{Nemesis, NemesisSpec, Next, Rng, ServersNeeded, View};

pub const NONE: NemesisSpec = NemesisSpec {
    name: "none",
    needs: &[],
    servers: ServersNeeded::ANY,
    causes: &[],
    make: || Box::new(Quiet),
};

struct Quiet;

impl Nemesis for Quiet {
    fn next(&mut self, _view: &View<'_>, _rng: &mut Rng) -> Next {
        Next::Done
    }
}
