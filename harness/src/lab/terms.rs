//! The terms in which a lock is written for a lab, with examples.

/// Returned by a lock that was not taken.
///
/// ```
/// use picklock::AcquireError;
///
/// // After an error of the connection, the server may have granted the lock, or may grant it yet.
/// let lost = AcquireError::Unknown("connection reset by peer".into());
/// assert_eq!(lost.to_string(), "connection reset by peer");
/// ```
#[doc(inline)]
pub use base::AcquireError;

/// Returned by a lock that was taken.
///
/// ```
/// use picklock::Grant;
///
/// let fenced = Grant { token: Some(7), ..Grant::default() };
/// assert_ne!(fenced, Grant::default());
/// ```
#[doc(inline)]
pub use base::Grant;

/// Asked for by an acquire: [`Exclusive`](Mode::Exclusive), but for locks with readers.
///
/// ```
/// use picklock::Mode;
///
/// assert!(Mode::Exclusive.excludes(Mode::Shared));
/// assert!(!Mode::Shared.excludes(Mode::Shared));
/// ```
#[doc(inline)]
pub use base::Mode;

/// Given to a lab: the faults of its schedules.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::{Lab, Nemesis};
///
/// let lab = Lab::redis().lock(MyLock::new);
/// lab.under([Nemesis::CrashClient, Nemesis::LinkReset]).schedules(20).assert_held();
/// ```
#[doc(inline)]
pub use nemesis::Nemesis;

/// Reached by a lab.
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
#[doc(inline)]
pub use base::Outcome;

/// Implemented by you, for your lock.
///
/// ```
/// use picklock::{AcquireError, Grant, Lab, Lock, Mode, ReleaseError, Removed, Site};
/// use std::time::Duration;
///
/// /// A lock that nobody gets.
/// struct Shut(Site);
///
/// impl Lock for Shut {
///     async fn acquire(&mut self, _: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
///         self.0.sleep(timeout).await;
///         Err(AcquireError::Failed("it is shut".into()))
///     }
///
///     async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
///         Err(ReleaseError::NotHeld("it is shut".into()))
///     }
/// }
///
/// # let folder = tempfile::tempdir().expect("a folder");
/// let lab = Lab::redis().lock(Shut).schedules(20);
/// # let lab = lab.keeping_in(folder.path());
/// let breach = lab.check()?.counterexample.expect("that nobody gets it");
/// assert_eq!(breach.anomaly, "deadlock by recipe");
/// # Ok::<(), picklock::LabError>(())
/// ```
#[doc(inline)]
pub use base::Recipe as Lock;

/// Returned by a release that has not freed the lock for certain.
///
/// ```
/// use picklock::ReleaseError;
///
/// let late = ReleaseError::NotHeld("its time was over".into());
/// assert_eq!(late.to_string(), "its time was over");
/// ```
#[doc(inline)]
pub use base::ReleaseError;

/// Returned by a release.
///
/// ```
/// use picklock::Removed;
///
/// // A release that compared the owner's value before, and one that did not.
/// assert_ne!(Removed::Own, Removed::Any);
/// ```
#[doc(inline)]
pub use base::Removed;

/// Given to a lock that is written over `ConnectionLike`.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::{Lab, RedisConnection, Site};
///
/// let lock = |site: Site| {
///     let shared: RedisConnection = site.connection(0);
///     let _same = shared.clone();
///     MyLock::new(site)
/// };
/// Lab::redis().lock(lock).schedules(20).assert_held();
/// ```
#[doc(inline)]
pub use stores::redis::RedisConnection;
