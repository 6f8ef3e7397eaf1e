//! The promises of a lock, as its author makes them.

use base::{Pace, Wakes, nanos};
use std::time::Duration;

use super::ForeignError;

/// The pace of a lock whose author says nothing about it: slower than that of most libraries.
const PACE: Pace = Pace { back_off_ns: 1_000_000_000, round_trips: 4, tries: 3, ..Pace::EXACT };

/// The promises of a lock, as its author makes them. Whatever is not stated is not promised, and
/// not judged.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::{Lab, Promises};
/// use std::time::Duration;
///
/// let promises = Promises::mutex().recovers().back_off(Duration::from_millis(50));
/// Lab::redis().lock(MyLock::new).promises(promises).schedules(20).assert_held();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Promises {
    made: base::Promises,
    /// The longest time for which a dead holder keeps it. `None`: lives of the lock say it.
    recovers_within: Option<Duration>,
    pub(super) renews: bool,
}

impl Promises {
    /// Promises one holder at a time, as every lock does.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_eq!(Promises::mutex(), Promises::default());
    /// ```
    pub const fn mutex() -> Self {
        let made = base::Promises { pace: PACE, ..base::Promises::MUTEX };
        Self { made, recovers_within: None, renews: false }
    }

    /// Promises that readers hold it together, and a writer alone.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().shared(), Promises::mutex());
    /// ```
    pub const fn shared(mut self) -> Self {
        self.made.shared = true;
        self
    }

    /// Lets in so many holders at once.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().permits(2), Promises::mutex());
    /// ```
    ///
    /// # Panics
    /// Panics for 0, which lets in nobody.
    pub const fn permits(mut self, permits: u32) -> Self {
        assert!(permits > 0, "a lock with 0 permits lets in nobody");
        self.made.permits = permits;
        self
    }

    /// Promises a token with each grant that is greater than those before it.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().fenced(), Promises::mutex());
    /// ```
    pub const fn fenced(mut self) -> Self {
        self.made.fenced = true;
        self
    }

    /// Promises that it is free again within a ttl after its holder has died.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Nemesis, Promises};
    ///
    /// let lab = Lab::redis().lock(MyLock::new).promises(Promises::mutex().recovers());
    /// lab.under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    pub const fn recovers(mut self) -> Self {
        self.made.recovers = Some(1);
        self
    }

    /// Promises that it is free again within such a time after its holder has died.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Nemesis, Promises};
    /// use std::time::Duration;
    ///
    /// let promises = Promises::mutex().recovers_within(Duration::from_secs(10));
    /// let lab = Lab::redis().lock(MyLock::new).promises(promises);
    /// lab.under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    pub const fn recovers_within(mut self, longest: Duration) -> Self {
        self.recovers_within = Some(longest);
        self
    }

    /// Promises grants in the order in which clients asked for it.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().fifo(), Promises::mutex());
    /// ```
    pub const fn fifo(mut self) -> Self {
        self.made.fifo = true;
        self
    }

    /// Promises that its holder may acquire it again.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().reentrant(), Promises::mutex());
    /// ```
    pub const fn reentrant(mut self) -> Self {
        self.made.reentrant = true;
        self
    }

    /// Promises that a writer may become a reader without letting go of it.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// let shared = Promises::mutex().shared();
    /// assert_ne!(shared.downgrades(), shared);
    /// ```
    pub const fn downgrades(mut self) -> Self {
        self.made.downgrades = true;
        self
    }

    /// Promises that its holder may ask for more time: the ttl begins anew.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().extends(), Promises::mutex());
    /// ```
    pub const fn extends(mut self) -> Self {
        self.made.extends = true;
        self
    }

    /// Promises that it is kept for as long as its holder lives and reaches its servers, by a
    /// session, a watchdog or a keep-alive: its clients hold it for longer than a ttl, too.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().renews(), Promises::mutex());
    /// ```
    pub const fn renews(mut self) -> Self {
        self.renews = true;
        self
    }

    /// Promises that it can say whether its holder still holds it.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().tells(), Promises::mutex());
    /// ```
    pub const fn tells(mut self) -> Self {
        self.made.tells = true;
        self
    }

    /// Promises to be granted while a minority of its servers is down.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().available(), Promises::mutex());
    /// ```
    pub const fn available(mut self) -> Self {
        self.made.available = true;
        self
    }

    /// Promises that a release wakes the next waiter, and no others.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().wakes_next(), Promises::mutex().wakes_all());
    /// ```
    pub const fn wakes_next(self) -> Self {
        self.wakes(Wakes::Next)
    }

    /// Promises that a release wakes all waiters.
    ///
    /// ```
    /// use picklock::Promises;
    ///
    /// assert_ne!(Promises::mutex().wakes_all(), Promises::mutex());
    /// ```
    pub const fn wakes_all(self) -> Self {
        self.wakes(Wakes::All)
    }

    /// Says the longest time between two tries of an acquire, which is taken to be a second.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::{Lab, Promises};
    /// use std::time::Duration;
    ///
    /// let promises = Promises::mutex().back_off(Duration::from_millis(50));
    /// Lab::redis().lock(MyLock::new).promises(promises).schedules(20).assert_held();
    /// ```
    pub fn back_off(mut self, longest: Duration) -> Self {
        self.made.pace.back_off_ns = nanos(longest);
        self
    }

    const fn wakes(mut self, whom: Wakes) -> Self {
        (self.made.wakes, self.made.pace.back_off_ns) = (Some(whom), 0);
        self
    }

    /// Returns the promises of a lock with this ttl.
    ///
    /// # Errors
    /// Fails when it is to be free again at once after a holder's death.
    pub(super) fn with(self, ttl: Duration) -> Result<base::Promises, ForeignError> {
        if self.recovers_within == Some(Duration::ZERO) {
            return Err(ForeignError::Recovery);
        }
        let lives = |within: Duration| {
            let lives = within.as_nanos().div_ceil(ttl.as_nanos().max(1));
            u32::try_from(lives).unwrap_or(u32::MAX).max(1)
        };
        let recovers = self.recovers_within.map(lives).or(self.made.recovers);
        Ok(base::Promises { recovers, ..self.made })
    }
}

impl Default for Promises {
    fn default() -> Self {
        Self::mutex()
    }
}
