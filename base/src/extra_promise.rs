//! Promises that a lock does not make, and to which a run holds it all the same: so it shows by how
//! much it falls short of one that makes them.

use crate::{Promises, Wakes};
use serde::{Deserialize, Serialize};

/// A promise to which a run holds a lock that does not make it, by the property that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtraPromise {
    /// It goes on being granted while a minority of its servers, or the only one, is down.
    Availability,
    /// The store wakes the next of its waiters, and not all.
    Herd,
    /// Its holder may acquire it again.
    Reentrancy,
}

impl ExtraPromise {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Availability, Self::Herd, Self::Reentrancy];

    /// The name of the property that it is about.
    pub const fn property(self) -> &'static str {
        match self {
            Self::Availability => "availability",
            Self::Herd => "herd",
            Self::Reentrancy => "reentrancy",
        }
    }

    /// Adds it to the promises of a lock.
    ///
    /// # Errors
    /// Fails where there is nothing to judge, with the reason as a clause.
    pub fn add_to(self, promises: Promises) -> Result<Promises, &'static str> {
        match self {
            Self::Availability => Ok(Promises { available: true, ..promises }),
            Self::Herd if promises.wakes.is_none() => Err("its store wakes nobody"),
            Self::Herd => Ok(Promises { wakes: Some(Wakes::Next), ..promises }),
            Self::Reentrancy => Ok(Promises { reentrant: true, ..promises }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_added_where_it_can_be_judged() {
        let all = Promises { wakes: Some(Wakes::All), ..Promises::MUTEX };
        assert_eq!(ExtraPromise::Herd.add_to(all).map(|it| it.wakes), Ok(Some(Wakes::Next)));
        assert_eq!(ExtraPromise::Herd.add_to(Promises::MUTEX), Err("its store wakes nobody"));
        assert!(ExtraPromise::Availability.add_to(all).is_ok_and(|it| it.available));
        assert!(ExtraPromise::Reentrancy.add_to(all).is_ok_and(|it| it.reentrant));
    }
}
