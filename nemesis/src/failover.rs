//! `failover`: the primary's data do not reach its replicas, a client is granted the lock, and the
//! primary dies. A replica is promoted that knows nothing of the grant.
//!
//! The primary of the lock is whichever server with data has answered a client last; until one has,
//! it is the first one with that role. Where there are several, replicas are dealt out to them in
//! turn.

use base::{
    Ability, Action, Cause, Data, Direction, Fault, Mono, Nemesis, NemesisSpec, Next, Node, Rng,
    ServersNeeded, View,
};

use crate::aim;

/// The role of the server that is the primary at first, and that of those which hold what it does.
pub const ROLE: &str = "primary";
const REPLICA: &str = "replica";

/// The nemesis in the list.
pub const FAILOVER: NemesisSpec = NemesisSpec {
    name: "failover",
    needs: &[Ability::CutServers, Ability::Crash],
    servers: ServersNeeded::ANY,
    causes: &[&[
        Cause::ServerForgets,
        Cause::LateRequest,
        Cause::ReplyLost,
        Cause::ReleaseLost,
        Cause::ServersApart,
        Cause::ClientDied,
    ]],
    make: || Box::new(Failovers { step: RoundStep::Gap }),
};

/// The next step of a round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoundStep {
    /// A pause before it.
    Gap,
    /// The next fault is the cut between the primary and its replicas.
    Cut,
    /// The death of this server, once a client was granted the lock: not before this time, so that
    /// the grant came after the cut.
    Kill(u32, Mono),
}

struct Failovers {
    step: RoundStep,
}

impl Failovers {
    /// The primary of the lock, and those who hold what it does.
    fn share(view: &View<'_>) -> Option<(u32, Vec<u32>)> {
        let with = |role: &'static str| {
            let servers = (0..).zip(view.servers);
            servers.filter(move |(_, server)| server.role == role).map(|(number, _)| number)
        };
        let shares = with(ROLE).count();
        let data: Vec<u32> = with(ROLE).chain(with(REPLICA)).collect();
        let answering = view.answering.and_then(|it| data.iter().position(|server| *server == it));
        let place = answering.unwrap_or_default();
        let victim = *data.get(place)?;
        let others = data.into_iter().skip(place.checked_rem(shares)?).step_by(shares);
        Some((victim, others.filter(|server| *server != victim).collect()))
    }

    fn cut(&mut self, view: &View<'_>) -> Next {
        let Some((victim, others)) = Self::share(view) else { return Next::Done };
        self.step = RoundStep::Kill(victim, view.now + view.ttl / 8);
        let links =
            others.iter().map(|other| (Node::Server(victim), Node::Server(*other))).collect();
        let fault = Fault::over(links, Action::Cut(Direction::Both));
        Next::Inject { fault, lasts: view.ttl * 3 }
    }

    /// Kills the victim early in a hold that is to outlast the failover.
    fn kill(&mut self, victim: u32, from: Mono, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active == 0 {
            self.step = RoundStep::Gap;
            return Next::At(view.now);
        }
        if view.now < from {
            return Next::At(from);
        }
        if aim::long_holder(view, view.ttl / 20..view.ttl / 8).is_none() {
            return Next::At(view.now + view.ttl / 50);
        }
        self.step = RoundStep::Gap;
        let fault = Fault::at(Node::Server(victim), Action::Crash(Data::Kept));
        Next::Inject { fault, lasts: rng.between(view.ttl, view.ttl * 2) }
    }
}

impl Nemesis for Failovers {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        match self.step {
            RoundStep::Kill(victim, from) => self.kill(victim, from, view, rng),
            _ if view.active > 0 => Next::Watch,
            RoundStep::Gap => {
                self.step = RoundStep::Cut;
                Next::At(aim::gap(view, rng))
            }
            RoundStep::Cut => self.cut(view),
        }
    }
}
