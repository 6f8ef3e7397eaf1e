//! The watches that a server keeps for the connections of its clients. Each fires once.

use super::WatchKind;
use super::database::Database;
use super::tree::TreeChange;
use crate::zookeeper::WatchEvent;
use std::collections::{BTreeMap, BTreeSet};

type Table = BTreeMap<String, BTreeSet<u64>>;

/// Watches by path, each a set of connections.
#[derive(Clone, Debug, Default, Hash)]
pub struct Watches {
    /// Watches on a node: its creation, deletion and data.
    nodes: Table,
    /// Watches on a node's children.
    children: Table,
}

impl Watches {
    /// Sets a watch. One connection's watches of one kind on one path are one.
    pub fn add(&mut self, connection: u64, path: &str, kind: WatchKind) {
        let table = match kind {
            WatchKind::Data | WatchKind::Exist => &mut self.nodes,
            WatchKind::Child => &mut self.children,
        };
        table.entry(path.to_owned()).or_default().insert(connection);
    }

    /// Sets a watch again after a reconnection, unless what it waits for has happened since
    /// transaction `since`: then returns the event.
    pub fn restore(
        &mut self,
        connection: u64,
        since: i64,
        path: &str,
        kind: WatchKind,
        database: &Database,
    ) -> Option<WatchEvent> {
        let missed = match (kind, database.tree.node(path)) {
            (WatchKind::Data | WatchKind::Child, None) => Some(WatchEvent::Deleted),
            (WatchKind::Exist, Some(_)) => Some(WatchEvent::Created),
            (WatchKind::Data, Some(n)) if n.mzxid > since => Some(WatchEvent::DataChanged),
            (WatchKind::Child, Some(n)) if n.pzxid > since => Some(WatchEvent::ChildrenChanged),
            (WatchKind::Data | WatchKind::Child, Some(_)) | (WatchKind::Exist, None) => None,
        };
        if missed.is_none() {
            self.add(connection, path, kind);
        }
        missed
    }

    /// Takes out the watches that a change fires.
    pub fn fire(&mut self, (path, event): &TreeChange) -> BTreeSet<u64> {
        let mut take = |children: bool| {
            let table = if children { &mut self.children } else { &mut self.nodes };
            table.remove(path).unwrap_or_default()
        };
        match event {
            WatchEvent::ChildrenChanged => take(true),
            // A connection that watches both the node and its children hears of the end once.
            WatchEvent::Deleted => &take(false) | &take(true),
            WatchEvent::Created | WatchEvent::DataChanged => take(false),
            // Clients raise this one themselves; no change of the tree carries it.
            WatchEvent::SessionExpired => BTreeSet::new(),
        }
    }

    /// Returns true if a connection has any watches.
    pub fn has(&self, connection: u64) -> bool {
        let mut all = self.nodes.values().chain(self.children.values());
        all.any(|connections| connections.contains(&connection))
    }

    /// Forgets the watches of a connection that is gone.
    pub fn forget(&mut self, connection: u64) {
        for table in [&mut self.nodes, &mut self.children] {
            table.retain(|_, connections| {
                connections.remove(&connection);
                !connections.is_empty()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_is_sent_once_to_who_watches_node_and_children() {
        let mut watches = Watches::default();
        watches.add(1, "/a", WatchKind::Data);
        watches.add(1, "/a", WatchKind::Child);
        watches.add(2, "/a", WatchKind::Child);
        let fired = watches.fire(&("/a".into(), WatchEvent::Deleted));
        assert_eq!(fired, BTreeSet::from([1, 2]));
        assert!(watches.fire(&("/a".into(), WatchEvent::Deleted)).is_empty());
    }

    #[test]
    fn a_connection_takes_its_watches_with_it() {
        let mut watches = Watches::default();
        watches.add(1, "/a", WatchKind::Exist);
        watches.add(2, "/a", WatchKind::Exist);
        watches.forget(1);
        assert_eq!(watches.fire(&("/a".into(), WatchEvent::Created)), BTreeSet::from([2]));
    }
}
