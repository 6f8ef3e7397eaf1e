//! Follows a history event by event: what is open, and how it ends.

use super::{Answer, Ending, Facts, FaultSpan, Hold, Wait};
use base::{Event, F, FaultId, Kind, Leases, Mode};
use std::collections::{BTreeMap, BTreeSet};

type Open<'a> = BTreeMap<(u32, &'a str), Vec<usize>>;

/// Follows a history event by event.
pub(super) struct Reader<'a> {
    leases: Leases,
    facts: Facts<'a>,
    waiting: BTreeMap<(u32, &'a str), usize>,
    holding: Open<'a>,
    faults: BTreeMap<FaultId, usize>,
    born: BTreeSet<u32>,
}

impl<'a> Reader<'a> {
    pub fn new(leases: Leases) -> Self {
        Self {
            leases,
            facts: Facts::default(),
            waiting: BTreeMap::new(),
            holding: BTreeMap::new(),
            faults: BTreeMap::new(),
            born: BTreeSet::new(),
        }
    }

    pub fn read(&mut self, event: &'a Event) {
        match event.client() {
            Some(process) => self.client(event, process),
            None => self.nemesis(event),
        }
    }

    fn client(&mut self, event: &'a Event, process: u32) {
        if self.born.insert(process) {
            self.facts.births.push((process, event.time_ns));
        }
        let key = event.key.as_deref().unwrap_or_default();
        match (event.f, event.kind) {
            (F::Acquire, Kind::Invoke) => self.ask(event, process, key),
            (F::Acquire, _) => self.answer(event, process, key),
            (F::Convert, kind) => self.convert(event, process, key, kind),
            (F::Release, Kind::Invoke) => self.release(event, process, key),
            (F::Read | F::Write, Kind::Invoke) => {}
            (F::Read | F::Write, _) => self.facts.marks.push(event),
            (F::Lost, _) => {
                self.facts.marks.push(event);
                self.drop_holds(event, process, event.key.as_deref(), Ending::Lost);
            }
            (F::Death, _) => self.death(event, process),
            _ => {}
        }
    }

    fn ask(&mut self, event: &'a Event, process: u32, key: &'a str) {
        self.waiting.insert((process, key), self.facts.waits.len());
        self.facts.waits.push(Wait {
            process,
            key,
            from: event.time_ns,
            until: event.time_ns,
            answer: Answer::Open,
            error: None,
        });
    }

    fn answer(&mut self, event: &'a Event, process: u32, key: &'a str) {
        let Some(at) = self.waiting.remove(&(process, key)) else { return };
        let wait = &mut self.facts.waits[at];
        wait.until = event.time_ns.max(wait.from);
        wait.error = event.error.as_deref();
        wait.answer = match event.kind {
            Kind::Ok => Answer::Granted,
            Kind::Fail => Answer::Failed,
            _ => Answer::Unknown,
        };
        if event.kind == Kind::Ok {
            self.grant(event, process, key);
        }
    }

    fn grant(&mut self, event: &'a Event, process: u32, key: &'a str) {
        self.holding.entry((process, key)).or_default().push(self.facts.holds.len());
        self.facts.holds.push(Hold {
            process,
            key,
            mode: event.mode.unwrap_or_default(),
            token: event.token,
            from: event.time_ns,
            until: event.time_ns,
            ending: Ending::Open,
            ran_out: self.leases.end(event),
            begins: event.index,
            ends: u64::MAX,
        });
    }

    fn release(&mut self, event: &'a Event, process: u32, key: &'a str) {
        let open = self.holding.get_mut(&(process, key)).and_then(Vec::pop);
        if let Some(at) = open {
            self.end_hold(at, event, Ending::Released);
        }
    }

    /// Parts a hold where its mode changes: a downgrade counts from when it was asked for, an upgrade
    /// from when it was granted, so that the weaker hold is drawn throughout.
    fn convert(&mut self, event: &'a Event, process: u32, key: &'a str, kind: Kind) {
        let mode = event.mode.unwrap_or_default();
        let counts =
            matches!((mode, kind), (Mode::Shared, Kind::Invoke) | (Mode::Exclusive, Kind::Ok));
        let Some(open) = self.holding.get_mut(&(process, key)).filter(|_| counts) else { return };
        let converts = |at: &usize| self.facts.holds[*at].mode != mode;
        let Some(at) = open.pop_if(|at| converts(at)) else { return };
        open.push(self.facts.holds.len());
        self.end_hold(at, event, Ending::Converted);
        let (from, begins) = (event.time_ns, event.index);
        let hold =
            Hold { mode, from, begins, ending: Ending::Open, ..self.facts.holds[at].clone() };
        self.facts.holds.push(hold);
    }

    fn end_hold(&mut self, at: usize, event: &Event, ending: Ending) {
        let hold = &mut self.facts.holds[at];
        hold.until = event.time_ns.max(hold.from);
        hold.ends = event.index;
        hold.ending = ending;
    }

    /// Ends all holds of a process, or those on one key.
    fn drop_holds(&mut self, event: &Event, process: u32, key: Option<&str>, ending: Ending) {
        let of_process = self.holding.range_mut((process, "")..);
        let mut ended = Vec::new();
        for ((owner, held), open) in of_process {
            if *owner != process {
                break;
            }
            if key.is_none_or(|key| key == *held) {
                ended.append(open);
            }
        }
        for at in ended {
            self.end_hold(at, event, ending);
        }
    }

    fn death(&mut self, event: &'a Event, process: u32) {
        self.facts.marks.push(event);
        self.drop_holds(event, process, None, Ending::Died);
        let asked: Vec<_> =
            self.waiting.range((process, "")..).take_while(|((p, _), _)| *p == process).collect();
        for at in asked.into_iter().map(|(_, at)| *at) {
            let wait = &mut self.facts.waits[at];
            wait.until = event.time_ns.max(wait.from);
            wait.error = Some("its process died");
        }
        self.waiting.retain(|(p, _), _| *p != process);
    }

    fn nemesis(&mut self, event: &'a Event) {
        match event.f {
            F::Quiet => self.facts.quiet = Some(event.time_ns),
            F::Stop => self.facts.stopped = true,
            F::Fault => self.fault(event),
            F::Heal if event.kind == Kind::Info => self.heal(event),
            _ => {}
        }
    }

    fn fault(&mut self, event: &'a Event) {
        let Some(fault) = &event.fault else { return };
        let known = self.faults.get(&fault.id).map(|at| &mut self.facts.faults[*at]);
        match known {
            Some(span) => span.from = event.time_ns,
            None => {
                self.faults.insert(fault.id, self.facts.faults.len());
                self.facts.faults.push(FaultSpan {
                    id: fault.id,
                    fault: &fault.fault,
                    from: event.time_ns,
                    until: None,
                    effect: None,
                });
            }
        }
    }

    fn heal(&mut self, event: &'a Event) {
        let Some(fault) = &event.fault else { return };
        let Some(at) = self.faults.get(&fault.id) else { return };
        let span = &mut self.facts.faults[*at];
        span.until = Some(event.time_ns.max(span.from));
        span.effect = fault.effect.as_ref();
    }

    /// Ends what is still open with the history, and returns the facts.
    pub fn finish(mut self, end: u64) -> Facts<'a> {
        for at in self.waiting.values() {
            self.facts.waits[*at].until = end;
        }
        for at in self.holding.values().flatten() {
            self.facts.holds[*at].until = end;
        }
        for hold in &mut self.facts.holds {
            hold.ran_out = hold.ran_out.filter(|end| end.at_ns < hold.until);
        }
        self.facts.end = end;
        self.facts
    }
}
