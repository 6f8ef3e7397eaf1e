//! A test of a lock in Rust: the surface of the library, and the searches behind it.

mod client_waker;
mod error;
mod findings;
mod hunt;
mod kept;
mod opening;
mod outcome;
#[cfg(feature = "real")]
mod real;
mod role;
mod site;
mod terms;
mod tokio_time;
mod watched;

pub use error::LabError;
pub use outcome::{Counterexample, LabOutcome};
pub use site::Site;
pub use terms::{
    AcquireError, Grant, Lock, Mode, Nemesis, Outcome, RedisConnection, ReleaseError, Removed,
};

use base::{Length, LockName, Shape};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use workloads::TestedLock;
use workloads::locks::Opens;

use crate::foreign::{ForeignLock, Promises};
use crate::named_anomaly::NamedAnomaly;
use opening::LabOpening;
use role::Role;

/// The schedules of a lab in the simulator that says nothing about them.
const SCHEDULES: u64 = 1_000;

/// The faults of a lab that says nothing about them: those that every lock can bear. A pause that
/// is longer than the ttl breaks each lock that runs out by time and has no fencing.
const NEMESES: [Nemesis; 2] = [Nemesis::CrashClient, Nemesis::PartitionClient];

/// The variable that has the number of schedules, whatever a test asks for.
const SCHEDULES_VARIABLE: &str = "PICKLOCK_SCHEDULES";

/// Looks for an anomaly, or for any breach, in a world.
type Hunts = fn(Lab, Option<&NamedAnomaly>, Role) -> Result<LabOutcome, LabError>;

/// The servers of a lab that is to be.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::Lab;
///
/// let servers = Lab::redis();
/// servers.lock(MyLock::new).schedules(20).assert_held();
/// ```
pub struct LabServers {
    topology: &'static str,
    shape: Shape,
    tokio: bool,
}

impl LabServers {
    /// Gives the lock no tokio, which makes a schedule several times as fast: its waiting is
    /// [`Site::sleep`], then.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// Lab::redis().without_tokio().lock(MyLock::new).schedules(20).assert_held();
    /// ```
    #[must_use]
    pub const fn without_tokio(mut self) -> Self {
        self.tokio = false;
        self
    }

    /// Takes a lock: the function opens it, once for each acquire that may hold beside others.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// Lab::redis().lock(|site| MyLock::new(site)).schedules(20).assert_held();
    /// ```
    pub fn lock<L: Lock + 'static>(self, open: impl Fn(Site) -> L + Send + Sync + 'static) -> Lab {
        Lab {
            lock: ForeignLock { on: self.topology.into(), ..ForeignLock::default() },
            opening: LabOpening {
                open: Arc::new(move |site| Box::new(open(site))),
                shape: self.shape,
                tokio: self.tokio,
            },
            hunt: hunt::in_simulator,
            nemeses: NEMESES.into(),
            schedules: SCHEDULES,
            clients: None,
            hold: None,
            kept: kept::FOLDER.into(),
        }
    }
}

/// A test of a lock, in the simulator or on real servers. It is begun by [`redis`](Self::redis) and
/// ended by [`assert_held`](Self::assert_held), [`assert_violated`](Self::assert_violated) or
/// [`check`](Self::check).
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::Lab;
/// use std::time::Duration;
///
/// Lab::redis().lock(MyLock::new).ttl(Duration::from_secs(2)).schedules(20).assert_held();
/// ```
#[must_use = "a lab does nothing before it is told to check, or what to assert"]
pub struct Lab {
    lock: ForeignLock,
    opening: LabOpening,
    /// The search for what is wanted, which depends on the world.
    hunt: Hunts,
    nemeses: Vec<Nemesis>,
    schedules: u64,
    clients: Option<u32>,
    hold: Option<Length>,
    /// The folder for the schedules of counterexamples.
    kept: PathBuf,
}

impl Lab {
    /// Begins with one Redis server.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// Lab::redis().lock(MyLock::new).schedules(20).assert_held();
    /// ```
    pub const fn redis() -> LabServers {
        LabServers { topology: "redis", shape: Shape::One, tokio: true }
    }

    /// Begins with five Redis servers that know nothing of each other, as Redlock asks for.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// // A lock on the first server alone, whatever the four others do.
    /// Lab::redis_x5().lock(MyLock::new).schedules(20).assert_held();
    /// ```
    pub const fn redis_x5() -> LabServers {
        LabServers { topology: "redis-x5", shape: Shape::Several, tokio: true }
    }

    /// Names the lock. Without it, its name is that of the test.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// let outcome = Lab::redis().lock(MyLock::new).named("my-lock").schedules(20).check()?;
    /// assert_eq!(outcome.lock, "my-lock");
    /// # Ok::<(), picklock::LabError>(())
    /// ```
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.lock.name = Some(name.into());
        self
    }

    /// Sets the time for which a grant lives.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    /// use std::time::Duration;
    ///
    /// Lab::redis().lock(MyLock::new).ttl(Duration::from_millis(500)).schedules(20).assert_held();
    /// ```
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.lock.ttl = Some(ttl);
        self
    }

    /// Sets what the lock promises. Without it, that is mutual exclusion.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Promises};
    ///
    /// let promises = Promises::mutex().recovers();
    /// Lab::redis().lock(MyLock::new).promises(promises).schedules(20).assert_held();
    /// ```
    pub const fn promises(mut self, promises: Promises) -> Self {
        self.lock.promises = promises;
        self
    }

    /// Sets the faults.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Nemesis};
    ///
    /// let lab = Lab::redis().lock(MyLock::new);
    /// lab.under([Nemesis::CrashClient, Nemesis::LinkLoseReply]).schedules(20).assert_held();
    /// ```
    pub fn under(mut self, nemeses: impl IntoIterator<Item = Nemesis>) -> Self {
        self.nemeses = nemeses.into_iter().collect();
        self
    }

    /// Sets the number of schedules, of all faults together. PICKLOCK_SCHEDULES overrules it.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// let outcome = Lab::redis().lock(MyLock::new).schedules(20).check()?;
    /// assert_eq!(outcome.schedules, 20);
    /// # Ok::<(), picklock::LabError>(())
    /// ```
    pub const fn schedules(mut self, schedules: u64) -> Self {
        self.schedules = schedules;
        self
    }

    /// Sets the number of clients.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// Lab::redis().lock(MyLock::new).clients(5).schedules(20).assert_held();
    /// ```
    pub const fn clients(mut self, clients: u32) -> Self {
        self.clients = Some(clients);
        self
    }

    /// Lets every hold last so long. Without it, a hold is drawn, below the ttl.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    /// use std::time::Duration;
    ///
    /// let lab = Lab::redis().lock(MyLock::new).holding(Duration::from_millis(100));
    /// let outcome = lab.schedules(20).check()?;
    /// assert!(outcome.counterexample.is_none());
    /// # Ok::<(), picklock::LabError>(())
    /// ```
    pub const fn holding(mut self, hold: Duration) -> Self {
        self.hold = Some(Length { time: hold, exact: true });
        self
    }

    /// Keeps the schedules of counterexamples in this folder, in the place of
    /// `picklock-regressions`.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Nemesis};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// let lab = Lab::redis().lock(MyLock::careless).named("careless");
    /// let lab = lab.under([Nemesis::PauseClient]);
    /// lab.keeping_in(folder).assert_violated("double hold by foreign-release");
    /// assert_eq!(std::fs::read_dir(folder.join("careless"))?.count(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn keeping_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.kept = folder.into();
        self
    }

    /// Runs the schedules until one breaks a promise.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Outcome};
    ///
    /// let outcome = Lab::redis().lock(MyLock::new).schedules(20).check()?;
    /// assert_eq!(outcome.outcome, Outcome::Held);
    /// # Ok::<(), picklock::LabError>(())
    /// ```
    ///
    /// # Errors
    /// Fails when the lab is asked for something that is not there.
    pub fn check(self) -> Result<LabOutcome, LabError> {
        Ok(self.hunt(None)?.unwrap_or_else(|| LabOutcome::begun(String::new())))
    }

    /// Runs all schedules, and panics with the story of the first that breaks a promise.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Nemesis};
    ///
    /// Lab::redis().lock(MyLock::new).under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    ///
    /// # Panics
    /// Panics then, when too few schedules could have shown a breach, and when the lab is asked for
    /// something that is not there.
    #[track_caller]
    pub fn assert_held(self) {
        match self.check() {
            Ok(LabOutcome { outcome: Outcome::Held, .. }) => {}
            Ok(outcome) => panic!("{outcome}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs schedules until one shows this anomaly: `double hold by holder-paused`.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Nemesis};
    ///
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// let lab = Lab::redis().lock(MyLock::new).under([Nemesis::PauseClient]);
    /// # let lab = lab.keeping_in(folder.path());
    /// lab.assert_violated("double hold by holder-paused");
    /// ```
    ///
    /// # Panics
    /// Panics when none does, and when there is no such cause.
    #[track_caller]
    pub fn assert_violated(self, anomaly: &str) {
        let wanted = NamedAnomaly::parse(anomaly).unwrap_or_else(|why| panic!("{why}"));
        match self.hunt(Some(&wanted)) {
            Ok(None | Some(LabOutcome { counterexample: Some(_), .. })) => {}
            Ok(Some(outcome)) => panic!("no schedule shows {wanted}; {outcome}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// Looks for an anomaly, or for any breach. `None`: this process is the client of another lab.
    fn hunt(self, wanted: Option<&NamedAnomaly>) -> Result<Option<LabOutcome>, LabError> {
        match Role::next() {
            Role::Bystander => Ok(None),
            role => (self.hunt)(self, wanted, role).map(Some),
        }
    }

    /// Makes a lock that can be tested, which clients open in this way.
    fn tested(&self, opener: Arc<dyn Opens>) -> Result<TestedLock, LabError> {
        let name = self.lock.name.clone().unwrap_or_else(name_of_test);
        Ok(self.lock.clone().opened_by(name, opener)?)
    }
}

/// Returns the name of the test that runs on this thread, as a lock may be called.
fn name_of_test() -> String {
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let fitting: String = test.chars().map(|c| if LockName::takes(c) { c } else { '-' }).collect();
    // Its end is the name of the test itself.
    let end = &fitting[fitting.len().saturating_sub(LockName::LONGEST)..];
    match end.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()) {
        "" => "my-lock".to_owned(),
        name => name.to_owned(),
    }
}
