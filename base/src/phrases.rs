//! The phrases for events: one for a sentence with others, and one for a row of its own. Checkers
//! and reports describe events with them; a phrase stands after the name of the process or node.

use crate::{Effect, Event, F, Kind, Mode, units};

/// The words for an event in a sentence, before its time: "acquired", "wrote".
pub const fn clause(f: F, kind: Kind) -> &'static str {
    match (f, kind) {
        (F::Acquire, Kind::Invoke) => "asked",
        (F::Acquire, Kind::Ok) => "acquired",
        (F::Acquire, Kind::Fail) => "was told that it did not get the lock",
        (F::Acquire, Kind::Info) => "gave up asking, in doubt,",
        (F::Convert, Kind::Invoke) => "began to convert its hold",
        (F::Convert, Kind::Ok) => "converted its hold",
        (F::Convert, Kind::Fail) => "was told that its hold was not converted",
        (F::Convert, Kind::Info) => "gave up converting its hold, in doubt,",
        (F::Extend, Kind::Invoke) => "asked for more time",
        (F::Extend, Kind::Ok) => "extended its hold",
        (F::Extend, Kind::Fail) => "was told that it cannot extend its hold",
        (F::Extend, Kind::Info) => "gave up extending its hold, in doubt,",
        (F::Valid, Kind::Invoke) => "asked whether it still holds the lock",
        (F::Valid, Kind::Ok) => "was told that it still holds the lock",
        (F::Valid, Kind::Fail) => "was told that it no longer holds the lock",
        (F::Valid, Kind::Info) => "heard nothing about its hold",
        (F::Release, Kind::Invoke) => "began to release",
        (F::Release, Kind::Ok) => "released",
        (F::Release, Kind::Fail) => "was told that its release failed",
        (F::Release, Kind::Info) => "gave up its release, in doubt,",
        (F::Read, _) => "read",
        (F::Write, Kind::Fail) => "was fenced off",
        (F::Write, _) => "wrote",
        (F::Arrive, Kind::Fail) => "was fenced off with a write that came late",
        (F::Arrive, _) => "wrote, with a write that came late,",
        (F::Lost, _) => LOST,
        (F::Doubt, _) => DOUBT,
        (F::Notified, _) => "was woken",
        (F::Death, _) => DIED,
        (F::Interference, _) => "was interfered with",
        (F::Stall, _) => "saw a stall of the machine",
        (F::Quiet, _) => "had healed all faults",
        (F::Stop, _) => "ended the run",
        (F::Fault, _) => "began a fault",
        (F::Heal, _) => "healed it",
    }
}

/// The words for an event in a row of its own: "acquired the lock", "wrote 7 to the vault".
pub fn row(event: &Event) -> String {
    match event.f {
        F::Acquire => acquire(event),
        F::Convert => convert(event).into(),
        F::Extend | F::Valid => clause(event.f, event.kind).into(),
        F::Release => release(event.kind).into(),
        F::Lost => LOST.into(),
        F::Doubt => DOUBT.into(),
        F::Notified => "was woken by the store".into(),
        F::Death => DIED.into(),
        F::Read => read(event),
        F::Write => write(event),
        F::Arrive => arrive(event),
        F::Fault => fault(event),
        F::Heal => heal(event),
        F::Interference => "somebody else interfered".into(),
        F::Stall => stall(event),
        F::Quiet => "all faults are healed; the lock must make progress now".into(),
        F::Stop => "the run is over".into(),
    }
}

fn stall(event: &Event) -> String {
    event.stall().map_or("the machine stalled".into(), |stall| {
        format!("the machine did not run {} for {}", stall.waited(), units::span(stall.lasted_ns))
    })
}

const LOST: &str = "noticed that it may have lost the lock";
const DOUBT: &str = "came to doubt its hold, and went on";
const DIED: &str = "died";

fn acquire(event: &Event) -> String {
    let did = match event.kind {
        Kind::Invoke => "asks for",
        Kind::Ok => "acquired",
        Kind::Fail => "did not get",
        Kind::Info => "may or may not have got",
    };
    let permits = event.value.map_or_else(String::new, |permits| several(permits) + " of ");
    format!("{did} {permits}the lock")
}

/// The words for permits that are taken at once: "2 permits".
pub fn several(permits: u64) -> String {
    units::counted(permits, "permit", "permits")
}

const fn convert(event: &Event) -> &'static str {
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

const fn release(kind: Kind) -> &'static str {
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
        Kind::Fail => format!("its write{} was fenced off by the vault", of_value(event)),
        Kind::Info => format!("may or may not have written{value} to the vault"),
    }
}

fn arrive(event: &Event) -> String {
    let how = if event.kind == Kind::Fail { "fenced off" } else { "applied" };
    let of = of_value(event);
    format!("its write{of}, which it had given up, arrived and was {how} by the vault")
}

fn of_value(event: &Event) -> String {
    event.value.map_or_else(String::new, |v| format!(" of {v}"))
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
        (_, Some(effect)) => format!("healed: {name} (measured: {})", measured(effect)),
        (_, None) => format!("healed: {name}"),
    }
}

fn named_fault(event: &Event) -> String {
    event.fault.as_ref().map_or_else(|| "a fault".into(), |about| about.fault.to_string())
}

/// The words for a measured effect, its unit behind its amount: "5,120 bytes held", or that there
/// was none.
pub fn measured(effect: &Effect) -> String {
    match effect.amount {
        0 => format!("no effect ({})", effect.what),
        n => units::measured(n, &effect.what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;

    fn event(kind: Kind, f: F) -> Event {
        Event::new(0, Process::Client(1), kind, f)
    }

    #[test]
    fn a_write_is_described_with_and_without_its_value() {
        let mut write = event(Kind::Fail, F::Write);
        assert_eq!(row(&write), "its write was fenced off by the vault");
        write.value = Some(9);
        assert_eq!(row(&write), "its write of 9 was fenced off by the vault");
        write.f = F::Arrive;
        let late = "its write of 9, which it had given up, arrived and was fenced off by the vault";
        assert_eq!(row(&write), late);
    }

    #[test]
    fn a_write_that_was_fenced_off_did_not_write() {
        let words = [(F::Write, Kind::Ok), (F::Write, Kind::Fail), (F::Release, Kind::Fail)];
        let words = words.map(|(f, kind)| clause(f, kind));
        assert_eq!(words, ["wrote", "was fenced off", "was told that its release failed"]);
    }

    #[test]
    fn an_acquire_of_several_permits_says_how_many() {
        let mut acquire = event(Kind::Ok, F::Acquire);
        assert_eq!(row(&acquire), "acquired the lock");
        acquire.value = Some(2);
        assert_eq!(row(&acquire), "acquired 2 permits of the lock");
    }

    #[test]
    fn a_conversion_is_described_by_its_direction() {
        let mut convert = event(Kind::Ok, F::Convert);
        assert_eq!(row(&convert), "upgraded its hold");
        convert.mode = Some(Mode::Shared);
        assert_eq!(row(&convert), "downgraded its hold");
    }
}
