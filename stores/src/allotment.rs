//! The allotment of a run on servers that others use, too: all keys that begin with a name of its
//! own.

use base::Link;
use std::rc::Rc;

#[cfg(feature = "real")]
use base::LocalFuture;

use crate::{Store, StoreId, Topology, Visit};

/// The way to keep to an allotment, and to clear it.
pub struct Allotment<S: Store> {
    /// Puts the name in front of every key that goes over a link.
    pub confine: Confine<S>,
    /// Leaves a mark with the name on all servers at these addresses. So it is known that they are
    /// such servers and take writes.
    #[cfg(feature = "real")]
    pub mark: fn(Vec<String>, String) -> Clearing<()>,
    /// Removes all keys of these servers whose name is chosen. Returns the number of them.
    #[cfg(feature = "real")]
    pub remove: fn(Vec<String>, Chosen) -> Clearing<u64>,
}

/// Makes a link that keeps to the allotment of this name out of one that knows no allotments.
pub type Confine<S> = fn(Rc<dyn Link<S>>, &str) -> Rc<dyn Link<S>>;

/// Work on the keys of servers, which fails with the reason. Needs a tokio `LocalSet` around it.
#[cfg(feature = "real")]
pub type Clearing<T> = LocalFuture<'static, Result<T, String>>;

/// Chooses allotments by their names.
pub type Chosen = Rc<dyn Fn(&str) -> bool>;

/// The end of the name of an allotment, where keys have no folders.
pub(crate) const END: char = ':';

/// Returns the key, with the name of its allotment in front.
pub(crate) fn within(name: &str, key: &str) -> String {
    format!("{name}{END}{key}")
}

/// Returns the name of the allotment that a key is in; `None` if it is in none.
#[cfg(feature = "real")]
pub(crate) fn name_of(key: &str) -> Option<&str> {
    key.split_once(END).map(|(name, _)| name)
}

impl StoreId {
    /// Checks that servers of a topology which somebody else runs can be used.
    ///
    /// # Errors
    /// Fails with the reason, as a clause.
    pub fn can_be_given(self, topology: &Topology) -> Result<(), &'static str> {
        self.visit(CheckAllotment)?;
        match self.leads_clients(topology) {
            false => Ok(()),
            true => {
                Err("its servers tell clients addresses, which lead around the links of the run")
            }
        }
    }

    /// Leaves a mark with the name of an allotment on all servers at these addresses.
    #[cfg(feature = "real")]
    pub fn mark(self, servers: Vec<String>, name: String) -> Clearing<()> {
        self.visit(MarkAllotment { servers, name })
    }

    /// Removes all keys of the allotments that are chosen. Returns the number of them.
    #[cfg(feature = "real")]
    pub fn remove_allotments(self, servers: Vec<String>, chosen: Chosen) -> Clearing<u64> {
        self.visit(RemoveAllotments { servers, chosen })
    }
}

struct CheckAllotment;

impl Visit for CheckAllotment {
    type Out = Result<(), &'static str>;

    fn visit<S: Store>(self) -> Self::Out {
        S::ALLOTMENT.map(drop)
    }
}

#[cfg(feature = "real")]
struct MarkAllotment {
    servers: Vec<String>,
    name: String,
}

#[cfg(feature = "real")]
impl Visit for MarkAllotment {
    type Out = Clearing<()>;

    fn visit<S: Store>(self) -> Self::Out {
        match S::ALLOTMENT {
            Ok(Allotment { mark, .. }) => mark(self.servers, self.name),
            Err(why) => Box::pin(std::future::ready(Err(why.into()))),
        }
    }
}

#[cfg(feature = "real")]
struct RemoveAllotments {
    servers: Vec<String>,
    chosen: Chosen,
}

#[cfg(feature = "real")]
impl Visit for RemoveAllotments {
    type Out = Clearing<u64>;

    fn visit<S: Store>(self) -> Self::Out {
        match S::ALLOTMENT {
            Ok(Allotment { remove, .. }) => remove(self.servers, self.chosen),
            Err(why) => Box::pin(std::future::ready(Err(why.into()))),
        }
    }
}
