//! Ownership of whatever a run makes on a machine (containers, networks, processes, folders), as
//! labels, so that what a killed run left behind can be told from what a living one uses.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The label of everything that picklock makes; its value is the run.
pub const RUN: &str = "picklock";
/// The label that names the process that has to remove it.
pub const OWNER: &str = "picklock.owner";

/// The variable by which a process says who has to end it.
pub const OWNER_VARIABLE: &str = "PICKLOCK_OWNER";

/// The name of this process as an owner.
pub fn label() -> String {
    Owner::this().to_string()
}

/// The name of the owner that a process says it has; `None` if it says nothing, or not to us.
pub fn of_process(id: i32) -> Option<String> {
    let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        let value = std::str::from_utf8(variable).ok()?.strip_prefix(OWNER_VARIABLE)?;
        value.strip_prefix('=').map(String::from)
    })
}

/// The labels of everything that belongs to this run.
pub fn labels(run: &str) -> [(String, String); 2] {
    [(RUN.into(), run.into()), (OWNER.into(), label())]
}

/// A process that no other can be mistaken for: numbers are used again, and they mean something
/// only within a boot and a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    pid: u32,
    started: String,
    namespace: String,
    boot: String,
}

impl Owner {
    fn this() -> Self {
        let pid = std::process::id();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            pid,
            started: started(pid).unwrap_or_default(),
            namespace: number(&namespace.to_string_lossy()),
            boot: boot.trim().into(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ').map(String::from);
        let pid = words.next()?.parse().ok()?;
        let (started, namespace) = (words.next()?, number(&words.next()?));
        let owner = Self { pid, started, namespace, boot: words.next()? };
        words.next().is_none().then_some(owner)
    }

    /// Returns true if it has certainly ended. One of another namespace cannot be seen from here.
    fn is_gone(&self, here: &Self) -> bool {
        if self.boot != here.boot {
            return true;
        }
        self.namespace == here.namespace && started(self.pid).as_ref() != Some(&self.started)
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {}", self.pid, self.started, self.namespace, self.boot)
    }
}

/// The number of a namespace, without the rest of its name ("pid:[4026531836]"): a file whose name has
/// brackets is a pattern to some, such as Redis.
fn number(namespace: &str) -> String {
    namespace.trim_matches(|it: char| !it.is_ascii_digit()).into()
}

/// The beginning of the names of folders, and of keys on servers that others use, too.
const PREFIX: &str = "picklock_";

/// Returns a name that is unique, and says which process has to remove what has it: there is no moment in
/// which nobody knows.
pub fn own_name() -> String {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{}_{}", label().replace(' ', "_"), NAMES.fetch_add(1, Relaxed))
}

/// Returns true if this is the name of something whose owner has ended.
pub fn is_abandoned(name: &str) -> bool {
    let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('_'));
    owner.is_some_and(|(owner, _)| is_gone(Some(&owner.replace('_', " "))))
}

/// Returns true if the owner that a label names has certainly ended. A label that cannot be read
/// proves nothing.
pub fn is_gone(label: Option<&String>) -> bool {
    let here = Owner::this();
    label.and_then(|label| Owner::parse(label)).is_some_and(|owner| owner.is_gone(&here))
}

/// The time at which a process started, in the kernel's ticks; `None` if there is no such process.
fn started(pid: u32) -> Option<String> {
    stat_field(pid, 22)
}

/// A field of /proc/PID/stat, by its number in proc(5), from 3 on. The name before them may hold
/// anything, even brackets and blanks.
pub fn stat_field(pid: u32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(number - 3).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_owner_is_not_gone_and_a_label_survives_the_trip() {
        let [_, (_, label)] = labels("run");
        assert_eq!(Owner::parse(&label), Some(Owner::this()));
        let plain = |it: char| it.is_ascii_alphanumeric() || "- ".contains(it);
        assert!(label.chars().all(plain), "{label} is a part of file names");
        assert!(!is_gone(Some(&label)));
        assert!(!is_gone(Some(&"nonsense".into())));
        assert!(!is_gone(None));
    }

    #[test]
    fn a_name_is_unique_and_tells_whether_its_owner_has_ended() {
        let (one, other) = (own_name(), own_name());
        assert_ne!(one, other);
        assert!(!is_abandoned(&one));
        let started = Owner::this().started;
        assert!(is_abandoned(&one.replacen(&format!("_{started}_"), "_1_", 1)));
        assert!(!is_abandoned("picklock_of_somebody"));
        assert!(!is_abandoned("picklock"));
    }

    #[test]
    fn another_process_under_the_same_number_is_another_owner() {
        let here = Owner::this();
        assert!(Owner { started: "1".into(), ..here.clone() }.is_gone(&here));
        assert!(Owner { boot: "before".into(), ..here.clone() }.is_gone(&here));
        let elsewhere = Owner { started: "1".into(), namespace: "1".into(), ..here.clone() };
        assert!(!elsewhere.is_gone(&here));
    }
}
