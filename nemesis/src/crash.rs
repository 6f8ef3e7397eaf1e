//! `crash`: the process of a node dies (SIGKILL, `docker kill`) and is started again. Its machine
//! lives on: it closes the connections, and refuses new ones to a server that is down.
//!
//! Clients die while they hold, or in an open acquire to which a server has just replied: between
//! two commands of a recipe, where a slow link leaves time for it. Servers die one at a time, and
//! lose their data only once the last one that did has joined the others again.
//!
//! `vanish-server`: the whole machine of a server is gone. Nothing is closed and nothing refused:
//! connections fall silent, and new ones are not answered until it is back.

use base::{
    Ability, Action, Cause, Data, Fault, Mono, Nemesis, NemesisSpec, Next, Node, Rng,
    ServersNeeded, View,
};

use crate::aim::{self, Deck};
use std::collections::BTreeSet;

const NEEDS: &[Ability] = &[Ability::Crash];

const OF_CLIENTS: &[Cause] = &[Cause::ClientDied];
const OF_SERVERS: &[Cause] = &[
    Cause::ServerForgets,
    Cause::OnlyServerDown,
    Cause::LateRequest,
    Cause::ReplyLost,
    Cause::ReleaseLost,
    Cause::ServersApart,
    Cause::ClientDied,
];

pub const CRASH: NemesisSpec = NemesisSpec {
    name: "crash",
    needs: NEEDS,
    servers: ServersNeeded::ANY,
    causes: &[OF_CLIENTS, OF_SERVERS],
    make: || Box::new(Crash::new(ALL, Data::Kept)),
};

pub const CLIENT: NemesisSpec = NemesisSpec {
    name: "crash-client",
    needs: NEEDS,
    servers: ServersNeeded::ANY,
    causes: &[OF_CLIENTS],
    make: || Box::new(Crash::new(CLIENTS, Data::Kept)),
};

pub const SERVER: NemesisSpec = NemesisSpec {
    name: "crash-server",
    needs: NEEDS,
    servers: ServersNeeded::ANY,
    causes: &[OF_SERVERS],
    make: || Box::new(Crash::new(SERVERS, Data::Kept)),
};

pub const SERVER_LOSE_DATA: NemesisSpec = NemesisSpec {
    name: "crash-server-lose-data",
    needs: NEEDS,
    servers: ServersNeeded::ANY,
    causes: &[OF_SERVERS],
    make: || Box::new(Crash::new(SERVERS, Data::Lost)),
};

pub const SERVER_LOSE_SECOND: NemesisSpec = NemesisSpec {
    name: "crash-server-lose-second",
    needs: &[Ability::CutPower],
    servers: ServersNeeded::ANY,
    causes: &[OF_SERVERS],
    make: || Box::new(Crash::new(SERVERS, Data::Unsynced)),
};

pub const LEADER: NemesisSpec = NemesisSpec {
    name: "crash-leader",
    needs: NEEDS,
    servers: ServersNeeded { least: 3, peers: true },
    causes: &[OF_SERVERS],
    make: || Box::new(Crash::new(&[Aim::Leader], Data::Kept)),
};

pub const VANISH: NemesisSpec = NemesisSpec {
    name: "vanish-server",
    needs: &[Ability::Vanish],
    servers: ServersNeeded::ANY,
    causes: &[OF_SERVERS, &[Cause::ServerSilent]],
    make: || Box::new(Vanish { chance: false }),
};

/// The target of the next crash.
#[derive(Clone, Copy)]
enum Aim {
    Holder,
    HalfGranted,
    Server,
    /// The server that leads the others.
    Leader,
}

const CLIENTS: &[Aim] = &[Aim::HalfGranted, Aim::HalfGranted, Aim::Holder];
const SERVERS: &[Aim] = &[Aim::Server];
const ALL: &[Aim] = &[Aim::HalfGranted, Aim::HalfGranted, Aim::Holder, Aim::Server];

struct Crash {
    aims: Deck<Aim>,
    data: Data,
    /// The next aim, and the time from which it waits for its chance.
    aim: Option<(Aim, Mono)>,
    /// The servers that were seen to lead or follow others.
    members: BTreeSet<u32>,
    /// The last of them to lose its data.
    emptied: Option<u32>,
}

impl Crash {
    fn new(aims: &'static [Aim], data: Data) -> Self {
        Self { aims: Deck::new(aims), data, aim: None, members: BTreeSet::new(), emptied: None }
    }

    /// The client to kill, if the chance is there. Over a fast link no reply is ever seen on its
    /// way, so that the best shot gives way to the next best after a while.
    fn victim(aim: Aim, since: Mono, view: &View<'_>, rng: &mut Rng) -> Option<u32> {
        let late = view.now.since(since) > view.ttl;
        match aim {
            Aim::Holder => aim::holder(view, rng),
            Aim::HalfGranted if late => aim::answered(view).or_else(|| aim::holder(view, rng)),
            Aim::HalfGranted => aim::half_granted(view),
            Aim::Server | Aim::Leader => None,
        }
    }

    fn client(client: u32, view: &View<'_>, rng: &mut Rng) -> Next {
        let fault = Fault::at(Node::Client(client), Action::Kill);
        Next::Inject { fault, lasts: rng.between(view.ttl / 20, view.ttl / 4) }
    }

    /// A server that loses its data must be back while somebody still holds, so it dies early in a
    /// long hold and stays down for as short a time as can be. Late in one would be too late: a
    /// real server takes a second to come back on a busy machine.
    fn server(&mut self, number: u32, view: &View<'_>, rng: &mut Rng) -> Next {
        let node = Node::Server(number);
        let fault = Fault::at(node, Action::Crash(self.data));
        match self.data {
            Data::Kept => {
                Next::Inject { fault, lasts: rng.between(view.ttl / 10, view.ttl * 3 / 2) }
            }
            // What is to be lost must be young, and the hold that it stood for a long one.
            Data::Lost | Data::Unsynced => {
                match aim::long_holder(view, view.ttl / 20..view.ttl / 8) {
                    Some(_) if self.others_are_whole(number, view) => {
                        self.emptied = Some(number).filter(|number| self.members.contains(number));
                        Next::Inject { fault, lasts: view.ttl / 50 }
                    }
                    _ => Next::At(view.now + view.ttl / 50),
                }
            }
        }
    }
}

impl Crash {
    /// Returns true if no server but this one still has to get its data back from the others: the
    /// loss of a majority of them is not what this nemesis is about.
    fn others_are_whole(&self, number: u32, view: &View<'_>) -> bool {
        self.emptied.is_none_or(|emptied| emptied == number || aim::stands(view, emptied))
    }
}

impl Nemesis for Crash {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        self.members.extend((0..view.server_count()).filter(|number| aim::stands(view, *number)));
        if view.active > 0 {
            return Next::Watch;
        }
        let Some((aim, since)) = self.aim else {
            let chance = aim::gap(view, rng);
            self.aim = Some((self.aims.draw(rng), chance));
            return Next::At(chance);
        };
        let next = match aim {
            Aim::Server => {
                let number = rng.below(u64::from(view.server_count())) as u32;
                self.server(number, view, rng)
            }
            Aim::Leader => match aim::leader(view) {
                Some(number) => self.server(number, view, rng),
                // There is none between two elections.
                None => Next::At(view.now + view.ttl / 50),
            },
            aim => match Self::victim(aim, since, view, rng) {
                Some(client) => Self::client(client, view, rng),
                None => Next::Watch,
            },
        };
        if matches!(next, Next::Inject { .. }) {
            self.aim = None;
        }
        next
    }

    fn looks_at_standings(&self) -> bool {
        self.data != Data::Kept || self.aims.has(|aim| matches!(aim, Aim::Leader))
    }
}

struct Vanish {
    /// True once the time for the next one has come.
    chance: bool,
}

impl Nemesis for Vanish {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        if !std::mem::replace(&mut self.chance, true) {
            return Next::At(aim::gap(view, rng));
        }
        self.chance = false;
        let server = rng.below(u64::from(view.server_count())) as u32;
        let lasts = rng.between(view.ttl / 10, view.ttl * 3 / 2);
        Next::Inject { fault: Fault::at(Node::Server(server), Action::Vanish), lasts }
    }
}
