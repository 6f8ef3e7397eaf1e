//! Ownership of whatever a run makes on a machine (containers, networks, processes, folders), as
//! labels, so that what a killed run left behind can be distinguished from what a living one uses.

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
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

/// The variable by which a process says of which run it is a client.
pub const CLIENTS_VARIABLE: &str = "PICKLOCK_CLIENTS_OF";

/// Returns the fates of the owners of a process: of the one that it names, if it names one to us,
/// and of that of the folder in which it works, if it is one of ours. What runs belongs to no boot
/// that is over: whoever names another one is in a container that has its own name for this one.
pub fn fates_of_process(id: u32) -> impl Iterator<Item = Fate> {
    let named = variable(id, OWNER_VARIABLE).and_then(|label| Owner::parse(&label));
    [named, owner_of_working_folder(id)].into_iter().flatten().map(|owner| {
        let here = Owner::this();
        if owner.boot == here.boot { owner.fate(&here) } else { Fate::Unseen }
    })
}

/// Returns the owner of the folder in which a process works; `None` if that is in no folder of
/// ours.
fn owner_of_working_folder(id: u32) -> Option<Owner> {
    let folder = fs::read_link(format!("/proc/{id}/cwd")).ok()?;
    let named = |folder: &&Path| {
        let name = folder.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.starts_with(PREFIX))
    };
    let folder = folder.ancestors().find(named).filter(|folder| is_ours(folder))?;
    Owner::of_name(&folder.file_name()?.to_string_lossy())
}

/// Returns true if a folder is this user's own, and no link to one: its name alone proves nothing,
/// since anybody can give it to another.
pub fn is_ours(folder: &Path) -> bool {
    let found = fs::symlink_metadata(folder);
    found.is_ok_and(|it| it.is_dir() && it.uid() == nix::unistd::geteuid().as_raw())
}

/// The living processes that say they are clients of a run, or were started by one.
pub fn clients_of(run: &str) -> impl Iterator<Item = u32> {
    let is_of_run = move |id: &u32| variable(*id, CLIENTS_VARIABLE).as_deref() == Some(run);
    processes().filter(is_of_run).filter(|id| started(*id).is_some())
}

/// The value of a variable of a process; `None` if it has none, or not for us.
fn variable(id: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        let value = std::str::from_utf8(variable).ok()?.strip_prefix(name)?;
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
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            pid,
            started: field("self", 22).unwrap_or_default(),
            namespace: namespace_of("self").unwrap_or_default(),
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

    /// Returns the owner of something with this name.
    fn of_name(name: &str) -> Option<Self> {
        let (owner, _) = name.strip_prefix(PREFIX)?.rsplit_once('_')?;
        Self::parse(&owner.replace('_', " "))
    }

    /// Returns its fate, as far as that can be seen from here.
    fn fate(&self, here: &Self) -> Fate {
        if self.boot != here.boot {
            return Fate::Ended;
        }
        if self.namespace == here.namespace {
            return match started(self.pid) {
                None if is_hidden(self.pid) => Fate::Unseen,
                started => self.fate_as(started),
            };
        }
        match here.namespace.as_str() {
            // It may be mounted so that one user sees nothing of another's.
            INITIAL_NAMESPACE if stat_field(1, 3).is_some() => self.fate_below(),
            _ => Fate::Unseen,
        }
    }

    /// Returns its fate if the process under its number started at this time; `None`: there is
    /// none.
    fn fate_as(&self, started: Option<String>) -> Fate {
        if started.as_ref() == Some(&self.started) { Fate::Lives } else { Fate::Ended }
    }

    /// Looks for it among all processes of the machine, which have other numbers here than in its
    /// namespace.
    fn fate_below(&self) -> Fate {
        let mut fate = Fate::Ended;
        for id in processes() {
            match namespace_of(&id.to_string()) {
                // It has just ended.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => fate = Fate::Unseen,
                Ok(namespace)
                    if namespace == self.namespace && number_within(id) == Some(self.pid) =>
                {
                    return self.fate_as(started(id));
                }
                Ok(_) => {}
            }
        }
        fate
    }
}

/// The namespace of processes that all others are within.
const INITIAL_NAMESPACE: &str = "4026531836";

/// The fate of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It lives.
    Lives,
    /// It has certainly ended.
    Ended,
    /// It cannot be seen from here, as one in another container.
    Unseen,
}

/// The certainty that it takes to remove what an owner has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The owner has ended.
    Ended,
    /// It has ended, or cannot be seen from here.
    NotSeen,
}

impl Certainty {
    /// Returns true if what has become of an owner is enough.
    pub fn allows(self, fate: Fate) -> bool {
        fate == Fate::Ended || (fate == Fate::Unseen && self == Self::NotSeen)
    }

    /// Returns true if what has this label may be removed. A label that cannot be read proves
    /// nothing.
    pub fn allows_label(self, label: Option<&String>) -> bool {
        label.and_then(|label| fate_of(label)).is_some_and(|fate| self.allows(fate))
    }
}

/// Returns the fate of the owner that a label names; `None` if it is no label.
pub fn fate_of(label: &str) -> Option<Fate> {
    Owner::parse(label).map(|owner| owner.fate(&Owner::this()))
}

/// Returns the fate of the owner of something with this name; `None` if it is not of picklock.
pub fn fate_of_name(name: &str) -> Option<Fate> {
    Owner::of_name(name).map(|owner| owner.fate(&Owner::this()))
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {}", self.pid, self.started, self.namespace, self.boot)
    }
}

/// The number of a namespace, without the rest of its name ("pid:[4026531836]"): a file whose name
/// has brackets is a pattern to some, such as Redis.
fn number(namespace: &str) -> String {
    namespace.trim_matches(|it: char| !it.is_ascii_digit()).into()
}

/// The beginning of the names of folders, and of keys on servers that others use, too.
pub const PREFIX: &str = "picklock_";

/// Returns a name that is unique, and says which process has to remove what has it: there is no
/// moment in which nobody knows.
pub fn own_name() -> String {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{}_{}", label().replace(' ', "_"), NAMES.fetch_add(1, Relaxed))
}

/// Returns true if this is the name of something whose owner has ended.
pub fn is_abandoned(name: &str) -> bool {
    fate_of_name(name) == Some(Fate::Ended)
}

/// The same where other machines have names, too: who owns what was made in another boot may live
/// on another machine, so that it is left alone.
pub fn is_abandoned_here(name: &str) -> bool {
    name.contains(&Owner::this().boot) && is_abandoned(name)
}

/// The time at which a process started, in the kernel's ticks; `None` if there is no such process,
/// or only what its parent has yet to ask about.
fn started(pid: u32) -> Option<String> {
    let state = stat_field(pid, 3)?;
    stat_field(pid, 22).filter(|_| !["Z", "X"].contains(&state.as_str()))
}

/// Returns true if there is a process of which nothing can be seen from here.
fn is_hidden(pid: u32) -> bool {
    let signal_nothing = || kill(Pid::from_raw(pid.cast_signed()), None);
    stat_field(pid, 3).is_none() && signal_nothing() != Err(Errno::ESRCH)
}

/// All processes that can be seen from here, by their numbers.
pub fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The namespace of processes that a process is in.
fn namespace_of(process: &str) -> io::Result<String> {
    let link = fs::read_link(format!("/proc/{process}/ns/pid"))?;
    Ok(number(&link.to_string_lossy()))
}

/// The number that a process has within its own namespace.
fn number_within(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().last()?.parse().ok()
}

/// A field of /proc/PID/stat, by its number in proc(5), from 3 on. The name before them may hold
/// anything, even brackets and blanks.
pub fn stat_field(pid: u32, number: usize) -> Option<String> {
    field(&pid.to_string(), number)
}

fn field(process: &str, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
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
        assert_eq!(fate_of(&label), Some(Fate::Lives));
        for certainty in [Certainty::Ended, Certainty::NotSeen] {
            for label in [Some(&label), Some(&"nonsense".into()), None] {
                assert!(!certainty.allows_label(label), "{label:?}");
            }
        }
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
        assert!(is_abandoned_here(&one.replacen(&format!("_{started}_"), "_1_", 1)));
        let elsewhere = one.replacen(&Owner::this().boot, "another-boot", 1);
        assert!(is_abandoned(&elsewhere) && !is_abandoned_here(&elsewhere));
    }

    #[test]
    fn another_process_under_the_same_number_is_another_owner() {
        let here = Owner::this();
        let fate = |owner: Owner| owner.fate(&here);
        assert_eq!(fate(Owner { started: "1".into(), ..here.clone() }), Fate::Ended);
        assert_eq!(fate(Owner { boot: "before".into(), ..here.clone() }), Fate::Ended);
        let elsewhere = Owner { namespace: "1".into(), ..here.clone() };
        let within = |namespace: &str| Owner { namespace: namespace.into(), ..here.clone() };
        assert_eq!(elsewhere.fate(&within("2")), Fate::Unseen);
        assert!(Certainty::NotSeen.allows(Fate::Unseen) && !Certainty::Ended.allows(Fate::Unseen));
        // From the outermost namespace all are seen, if one may look: nobody is in that one.
        assert_ne!(elsewhere.fate(&within(INITIAL_NAMESPACE)), Fate::Lives);
    }

    #[test]
    fn what_runs_is_of_no_boot_that_is_over() {
        let here = Owner::this();
        let owned_by = |owner: Owner| {
            let mut child = std::process::Command::new("sleep");
            let child = child.arg("60").env(OWNER_VARIABLE, owner.to_string()).spawn();
            let mut child = child.expect("it starts");
            let fates = || fates_of_process(child.id()).collect::<Vec<_>>();
            // What it says can only be read once it has begun.
            let fates = std::iter::repeat_with(fates).find(|fates| !fates.is_empty());
            child.kill().expect("it runs");
            child.wait().expect("a child");
            fates.expect("there is no last one")
        };
        assert_eq!(owned_by(here.clone()), [Fate::Lives]);
        assert_eq!(owned_by(Owner { started: "1".into(), ..here.clone() }), [Fate::Ended]);
        assert_eq!(owned_by(Owner { boot: "another".into(), ..here }), [Fate::Unseen]);
    }

    #[test]
    fn an_owner_that_is_a_zombie_has_ended() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let pid = child.id();
        let owner = Owner { pid, started: started(pid).expect("it runs"), ..Owner::this() };
        assert_eq!(owner.fate(&Owner::this()), Fate::Lives);
        drop(child.stdin.take());
        while stat_field(pid, 3).as_deref() != Some("Z") {
            std::thread::yield_now();
        }
        assert_eq!(owner.fate(&Owner::this()), Fate::Ended);
        child.wait().expect("a child");
    }
}
