//! The allotment of a run on servers that others use, too: all keys that begin with a name of its
//! own.

use base::Link;
use std::rc::Rc;

#[cfg(feature = "real")]
use base::LocalFuture;

#[cfg(feature = "real")]
use crate::model::Name;
use crate::{Store, StoreId, Topology, Visit};

/// The way to keep to an allotment, and to clear it.
pub struct Allotment<S: Store> {
    /// Puts the name in front of every key that goes over a link.
    pub confine: Confine<S>,
    /// The way in which a program of somebody else keeps to it.
    pub programs: ProgramAllotment,
    /// Leaves a mark with the name on all servers at these addresses. So it is known that they are
    /// such servers and take writes.
    #[cfg(feature = "real")]
    pub mark: fn(Vec<String>, String) -> Clearing<()>,
    /// Returns the question after the mark of this name; `None` where servers have data in common,
    /// which none loses alone.
    pub ask_for_mark: Option<fn(&str) -> MarkQuestion>,
    /// Removes all keys of these servers that are of such allotments. Returns the number of them.
    #[cfg(feature = "real")]
    pub remove: fn(Vec<String>, Whose) -> Clearing<u64>,
}

/// A question to a server, which closes the connection after it, whether it still has a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkQuestion {
    /// The bytes to send.
    pub send: String,
    /// The beginning of the answer of a server that has none.
    pub gone: &'static str,
}

/// The way in which a program of somebody else, which knows no allotments, keeps to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramAllotment {
    /// The keys that it is asked for begin with the name. It may put more in front of them.
    Keys,
    /// The addresses of its servers end with the name of a folder (ZooKeeper's chroot).
    Folder,
}

impl ProgramAllotment {
    /// Returns the key that the program is asked for in place of this one.
    pub fn key(self, allotment: &str, key: &str) -> String {
        match self {
            Self::Keys => within(allotment, key),
            Self::Folder => key.into(),
        }
    }

    /// Returns the addresses of servers, as they are passed to the program.
    pub fn addresses(self, allotment: &str, mut servers: Vec<String>) -> Vec<String> {
        if let (Self::Folder, Some(last)) = (self, servers.last_mut()) {
            *last = format!("{last}/{allotment}");
        }
        servers
    }
}

/// Makes a link that keeps to the allotment of this name out of one that knows no allotments.
pub type Confine<S> = fn(Rc<dyn Link<S>>, &str) -> Rc<dyn Link<S>>;

/// Work on the keys of servers, which fails with the reason. Needs a tokio `LocalSet` around it.
#[cfg(feature = "real")]
pub type Clearing<T> = LocalFuture<'static, Result<T, String>>;

/// The allotments that keys are of.
#[derive(Clone)]
pub enum Whose {
    /// The one of this name.
    Own(String),
    /// Those whose names begin so, as far as they are chosen.
    Others {
        /// The beginning of all names.
        prefix: &'static str,
        /// Returns true for a name that is chosen.
        chosen: fn(&str) -> bool,
    },
}

#[cfg(feature = "real")]
impl Whose {
    /// Returns true if the allotment of this name is among them.
    pub(crate) fn contains(&self, name: &str) -> bool {
        match self {
            Self::Own(own) => own == name,
            Self::Others { chosen, .. } => chosen(name),
        }
    }

    /// Returns true if a key is of one of them, the name of which a program may have put anywhere
    /// in it.
    pub(crate) fn has(&self, key: &str) -> bool {
        let named = |(place, _)| name_of(&key[place..]).is_some_and(|name| self.contains(name));
        key.match_indices(&self.prefix()).any(named)
    }

    /// Returns what all of their keys begin with, or have in them.
    pub(crate) fn prefix(&self) -> String {
        match self {
            Self::Own(own) => within(own, ""),
            Self::Others { prefix, .. } => (*prefix).to_owned(),
        }
    }
}

/// The end of the name of an allotment, where keys have no folders.
pub(crate) const END: char = ':';

/// Returns the key, with the name of its allotment in front.
pub(crate) fn within(name: &str, key: &str) -> String {
    format!("{name}{END}{key}")
}

/// Returns a key without the name of an allotment, which a program may have put anywhere in it.
/// `None`: it is in another one, or in none.
#[cfg(feature = "real")]
pub(crate) fn without(name: &str, key: &[u8]) -> Option<Vec<u8>> {
    let name = within(name, "");
    let place = key.windows(name.len()).position(|part| part == name.as_bytes())?;
    Some([&key[..place], &key[place + name.len()..]].concat())
}

/// Returns the name that a run has for a key; `None` if it is none of its own: of somebody else, on
/// servers where the run has an allotment, or the mark.
#[cfg(feature = "real")]
pub(crate) fn own_name(allotment: Option<&str>, key: Name) -> Option<Name> {
    let Some(allotment) = allotment else { return Some(key) };
    let own = without(allotment, &key)?;
    (!own.is_empty()).then(|| Name::from_slice(&own))
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

    /// Returns the way in which a program of somebody else keeps to an allotment; `None` if none
    /// does.
    pub fn program_allotment(self) -> Option<ProgramAllotment> {
        self.visit(AllotProgram)
    }

    /// Leaves a mark with the name of an allotment on all servers at these addresses.
    #[cfg(feature = "real")]
    pub fn mark(self, servers: Vec<String>, name: String) -> Clearing<()> {
        self.visit(MarkAllotment { servers, name })
    }

    /// Returns the question after the mark of this name; `None` if no server can lose it alone.
    pub fn ask_for_mark(self, name: &str) -> Option<MarkQuestion> {
        self.visit(AskForMark(name))
    }

    /// Removes all keys of such allotments. Returns the number of them.
    #[cfg(feature = "real")]
    pub fn remove_allotments(self, servers: Vec<String>, whose: Whose) -> Clearing<u64> {
        self.visit(RemoveAllotments { servers, whose })
    }
}

struct CheckAllotment;

impl Visit for CheckAllotment {
    type Out = Result<(), &'static str>;

    fn visit<S: Store>(self) -> Self::Out {
        S::ALLOTMENT.map(drop)
    }
}

struct AllotProgram;

impl Visit for AllotProgram {
    type Out = Option<ProgramAllotment>;

    fn visit<S: Store>(self) -> Self::Out {
        Some(S::ALLOTMENT.ok()?.programs)
    }
}

struct AskForMark<'a>(&'a str);

impl Visit for AskForMark<'_> {
    type Out = Option<MarkQuestion>;

    fn visit<S: Store>(self) -> Self::Out {
        Some(S::ALLOTMENT.ok()?.ask_for_mark?(self.0))
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
    whose: Whose,
}

#[cfg(feature = "real")]
impl Visit for RemoveAllotments {
    type Out = Clearing<u64>;

    fn visit<S: Store>(self) -> Self::Out {
        match S::ALLOTMENT {
            Ok(Allotment { remove, .. }) => remove(self.servers, self.whose),
            Err(why) => Box::pin(std::future::ready(Err(why.into()))),
        }
    }
}

#[cfg(all(test, feature = "real"))]
mod tests {
    use super::Whose;

    #[test]
    fn a_program_may_put_the_name_anywhere() {
        let own = Whose::Own("run_1".into());
        let others = Whose::Others { prefix: "run_", chosen: |name| name == "run_2" };
        let has = |key: &str| (own.has(key), others.has(key));
        assert_eq!(has("run_1:k0"), (true, false));
        assert_eq!(has("/locks/run_1:k0/7"), (true, false));
        assert_eq!(has("run_of_theirs:run_2:k0"), (false, true));
        assert_eq!(has("run_10:k0"), (false, false));
    }
}
