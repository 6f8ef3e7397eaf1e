//! Events in words, the same in the terminal and on the page.

use base::{Event, F, Facts, Kind, Mode, Process, Removed, RunInfo};

/// Says who did what, leaving out what is the same throughout a run: the key where there is one,
/// the mode where every hold is exclusive.
#[derive(Clone, Copy, Debug)]
pub struct Speaker {
    workers: u32,
    each: u32,
    keys: bool,
    modes: bool,
}

impl Speaker {
    /// The speaker for a run.
    pub fn new(info: &RunInfo) -> Self {
        Self {
            workers: info.all_workers().max(1),
            each: info.workers.max(1),
            keys: info.keys > 1,
            modes: info.promises.shared,
        }
    }

    /// The worker that had a process number, before and after its crashes.
    pub fn worker(&self, process: u32) -> u32 {
        process % self.workers
    }

    /// The client of a process number.
    pub fn client(&self, process: u32) -> u32 {
        self.worker(process) / self.each
    }

    /// A process by its name; one that replaced a crashed one says whose place it took.
    pub fn process(&self, process: u32) -> String {
        let client = self.client(process);
        match self.worker(process) {
            worker if self.each > 1 && worker == process => {
                format!("process {process} (in client {client})")
            }
            worker if worker == process => format!("process {process}"),
            _ => format!("process {process} (client {client})"),
        }
    }

    /// Returns the name of the event's process.
    pub fn who(&self, event: &Event) -> String {
        match event.process {
            Process::Nemesis => "nemesis".into(),
            Process::Client(n) => self.process(n),
        }
    }

    /// Tells what happened, without who: "acquired the lock".
    pub fn what(&self, event: &Event) -> String {
        let mut text = self.phrase(event);
        text.push_str(&self.details(event));
        text.push_str(event.facts.as_deref().map_or("", store_fact));
        if let Some(error) = &event.error {
            text = format!("{text}: {error}");
        }
        text
    }

    fn phrase(&self, event: &Event) -> String {
        match event.f {
            F::Acquire => acquire(event.kind).into(),
            F::Convert => convert(event).into(),
            F::Release => release(event.kind).into(),
            F::Lost => "learnt that it may have lost the lock".into(),
            F::Notified => "was woken by the store".into(),
            F::Death => "died".into(),
            F::Read => read(event),
            F::Write => write(event),
            F::Arrive => arrive(event),
            F::Fault => fault(event),
            F::Heal => heal(event),
            F::Interference => "somebody else interfered".into(),
            F::Quiet => "all faults are healed; the lock must make progress now".into(),
            F::Stop => "the run is over".into(),
        }
    }

    fn details(&self, event: &Event) -> String {
        let mut text = String::new();
        if event.f == F::Acquire && self.modes {
            text.push_str(match event.mode {
                Some(Mode::Shared) => ", shared",
                Some(Mode::Exclusive) => ", exclusive",
                None => "",
            });
        }
        if let (true, Some(key)) = (self.keys, &event.key) {
            text.push_str(&format!(" on {key}"));
        }
        if let Some(token) = event.token {
            text.push_str(&format!(" (token {token})"));
        }
        text
    }
}

/// Returns the words of the store, where it says more than the client.
fn store_fact(facts: &Facts) -> &'static str {
    match (facts.removed, facts.held) {
        (Some(Removed::Nothing), _) => ", which removed nothing",
        (Some(Removed::Any), _) => ", which removed whatever stood there",
        (_, Some(true)) => ", though the store counts it as the holder",
        _ => "",
    }
}

fn acquire(kind: Kind) -> &'static str {
    match kind {
        Kind::Invoke => "asks for the lock",
        Kind::Ok => "acquired the lock",
        Kind::Fail => "did not get the lock",
        Kind::Info => "may or may not have got the lock",
    }
}

fn convert(event: &Event) -> &'static str {
    match (event.mode, event.kind) {
        (Some(Mode::Shared), Kind::Invoke) => "begins to downgrade its hold",
        (Some(Mode::Shared), Kind::Ok) => "downgraded its hold",
        (Some(Mode::Shared), Kind::Fail) => "could not downgrade its hold",
        (Some(Mode::Shared), Kind::Info) => "does not know whether it downgraded its hold",
        (_, Kind::Invoke) => "asks to upgrade its hold",
        (_, Kind::Ok) => "upgraded its hold",
        (_, Kind::Fail) => "did not get its hold upgraded",
        (_, Kind::Info) => "does not know whether its hold was upgraded",
    }
}

fn release(kind: Kind) -> &'static str {
    match kind {
        Kind::Invoke => "releases the lock",
        Kind::Ok => "released the lock",
        Kind::Fail => "released nothing",
        Kind::Info => "may or may not have released the lock",
    }
}

fn read(event: &Event) -> String {
    let value = event.value.map_or_else(|| "the vault".into(), |v| v.to_string());
    match event.kind {
        Kind::Invoke => "reads the vault".into(),
        Kind::Ok => format!("read {value}"),
        Kind::Fail => "its read was refused by the vault".into(),
        Kind::Info => "may or may not have read the vault".into(),
    }
}

fn write(event: &Event) -> String {
    let value = event.value.map_or_else(String::new, |v| format!(" {v}"));
    match event.kind {
        Kind::Invoke => format!("writes{value} to the vault"),
        Kind::Ok => format!("wrote{value} to the vault"),
        Kind::Fail => {
            let of = event.value.map_or_else(String::new, |v| format!(" of {v}"));
            format!("its write{of} was fenced off by the vault")
        }
        Kind::Info => format!("may or may not have written{value} to the vault"),
    }
}

fn arrive(event: &Event) -> String {
    let of = event.value.map_or_else(String::new, |v| format!(" of {v}"));
    let how = if event.kind == Kind::Fail { "fenced off" } else { "applied" };
    format!("its write{of}, which it had given up, arrived and was {how} by the vault")
}

fn named_fault(event: &Event) -> String {
    event.fault.as_ref().map_or_else(|| "a fault".into(), |f| fault_name(&f.fault))
}

/// A fault in words.
pub fn fault_name(fault: &base::Fault) -> String {
    fault.to_string()
}

fn fault(event: &Event) -> String {
    match event.kind {
        Kind::Invoke => format!("about to begin: {}", named_fault(event)),
        _ => named_fault(event),
    }
}

fn heal(event: &Event) -> String {
    let name = named_fault(event);
    let effect = event.fault.as_ref().and_then(|f| f.effect.as_ref());
    match (event.kind, effect) {
        (Kind::Invoke, _) => format!("about to heal: {name}"),
        (_, Some(effect)) => format!("healed: {name} (measured: {})", effect_name(effect)),
        (_, None) => format!("healed: {name}"),
    }
}

/// A measured effect in words, its unit behind its amount: "5,120 bytes held", or that there was
/// none.
pub fn effect_name(effect: &base::Effect) -> String {
    match effect.amount {
        0 => format!("no effect ({})", effect.what),
        n => crate::units::measured(n, &effect.what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaker(workers: u32, keys: bool, modes: bool) -> Speaker {
        Speaker { workers, each: 1, keys, modes }
    }

    #[test]
    fn a_process_says_whose_place_it_took() {
        let s = speaker(5, false, false);
        assert_eq!(s.process(3), "process 3");
        assert_eq!(s.process(8), "process 8 (client 3)");
        let pairs = Speaker { workers: 6, each: 2, ..s };
        assert_eq!(pairs.process(3), "process 3 (in client 1)");
        assert_eq!(pairs.process(9), "process 9 (client 1)");
    }

    #[test]
    fn words_hold_what_can_differ_and_nothing_else() {
        let mut event = Event::new(0, Process::Client(1), Kind::Ok, F::Acquire);
        event.mode = Some(Mode::Shared);
        event.key = Some("k1".into());
        event.token = Some(7);
        assert_eq!(speaker(2, false, false).what(&event), "acquired the lock (token 7)");
        assert_eq!(
            speaker(2, true, true).what(&event),
            "acquired the lock, shared on k1 (token 7)"
        );
        event.kind = Kind::Info;
        event.error = Some("no reply within 500 ms".into());
        event.token = None;
        assert_eq!(
            speaker(2, false, false).what(&event),
            "may or may not have got the lock: no reply within 500 ms"
        );
    }

    #[test]
    fn a_write_is_told_with_and_without_its_value() {
        let mut event = Event::new(0, Process::Client(1), Kind::Fail, F::Write);
        let s = speaker(2, false, false);
        assert_eq!(s.what(&event), "its write was fenced off by the vault");
        event.value = Some(9);
        assert_eq!(s.what(&event), "its write of 9 was fenced off by the vault");
        event.f = F::Arrive;
        let late = "its write of 9, which it had given up, arrived and was fenced off by the vault";
        assert_eq!(s.what(&event), late);
    }
}
