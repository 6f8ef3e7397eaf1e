//! The hazards of distributed locks: the registry that suites, the terminal, the page and
//! `docs/hazards.md` name them from.
//!
//! A hazard has its number for ever; a new one is a line at the end of [`HAZARDS`].

mod list;

pub use list::HAZARDS;

/// The page on which every hazard has its story.
const PAGE: &str = "docs/hazards.md";

/// A hazard: a way in which locks of some kind break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The number behind the H.
    pub number: u32,
    /// The hazard in a few words: "failover loses the lock".
    pub title: &'static str,
    /// The document or the search that it comes from.
    pub source: HazardSource,
    /// The story: what happens, in order, and what helps.
    pub story: &'static str,
    /// Commands that show it where no entry of the suite does, such as an enumeration.
    pub commands: &'static [&'static str],
}

/// The origin of a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HazardSource {
    /// Code or claims of "为什么要用分布式锁" ("Why use distributed locks?"), on Redis and ZooKeeper.
    WhyLocks,
    /// "zookeeper分布式鎖" ("ZooKeeper's distributed locks").
    ZooKeeperLocks,
    /// "redis下分布式锁的简单实现" ("A simple distributed lock on Redis").
    SimpleRedis,
    /// "分布式锁" ("Distributed locks"), on memcached, ZooKeeper and Redis, with a PHP class.
    ManyStores,
    /// "curator分布式锁" ("Curator's distributed lock").
    CuratorLock,
    /// A search of picklock, or its checkers.
    Search,
}

impl HazardSource {
    /// The source as a page names it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::WhyLocks => "“为什么要用分布式锁” (why use distributed locks?)",
            Self::ZooKeeperLocks => "“zookeeper分布式鎖” (ZooKeeper's distributed locks)",
            Self::SimpleRedis => "“redis下分布式锁的简单实现” (a simple distributed lock on Redis)",
            Self::ManyStores => "“分布式锁” (distributed locks, on memcached, ZooKeeper and Redis)",
            Self::CuratorLock => "“curator分布式锁” (Curator's distributed lock)",
            Self::Search => "a search with picklock, which no document tells of",
        }
    }
}

impl Hazard {
    /// The hazard's name: "H7".
    pub fn name(&self) -> String {
        format!("H{}", self.number)
    }

    /// The place of its story: "docs/hazards.md#h7".
    pub fn link(&self) -> String {
        format!("{PAGE}#h{}", self.number)
    }

    /// The hazard in one line: "H7: a paused holder writes on (docs/hazards.md#h7)".
    pub fn summary(&self) -> String {
        format!("{}: {} ({})", self.name(), self.title, self.link())
    }
}

/// Finds a hazard by its name, "H7".
pub fn find(name: &str) -> Option<&'static Hazard> {
    HAZARDS.iter().find(|hazard| hazard.name() == name)
}

/// Finds the hazards that a sentence names, in its order.
pub fn named(text: &str) -> Vec<&'static Hazard> {
    let mut found: Vec<&Hazard> = Vec::new();
    for hazard in text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(find) {
        if !found.contains(&hazard) {
            found.push(hazard);
        }
    }
    found
}

/// Adds to a sentence the places of the stories that it names by number.
pub fn with_links(text: &str) -> String {
    let links: Vec<String> = named(text).into_iter().map(Hazard::link).collect();
    match links.is_empty() {
        true => text.to_owned(),
        false => format!("{} ({})", text.trim_end_matches('.'), links.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hazards_are_numbered_from_one_without_a_gap() {
        for (place, hazard) in HAZARDS.iter().enumerate() {
            assert_eq!(hazard.number as usize, place + 1, "{}", hazard.title);
            assert!(hazard.story.ends_with('.') && hazard.story.len() > 80, "{}", hazard.name());
            assert!(!hazard.title.ends_with('.') && hazard.title.len() < 75, "{}", hazard.name());
        }
    }

    #[test]
    fn a_number_is_linked_to_its_story() {
        let why = "H40, H32: the session's id does not tell threads apart, see H40";
        assert_eq!(with_links(why), format!("{why} (docs/hazards.md#h40, docs/hazards.md#h32)"));
        assert_eq!(with_links("nothing, and no H99."), "nothing, and no H99.");
        assert_eq!(
            find("H10").map(Hazard::summary).as_deref(),
            Some("H10: failover loses the lock (docs/hazards.md#h10)")
        );
    }
}
