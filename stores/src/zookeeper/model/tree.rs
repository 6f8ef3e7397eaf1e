//! The tree of nodes. Every server applies the same requests in the same order and so comes to the
//! same results; nothing here depends on the server.

use crate::zookeeper::path::dots;
use crate::zookeeper::{CreateMode, Refusal, Reply, Request, WatchEvent};
use std::collections::{BTreeMap, BTreeSet};

/// A change that watches can see.
pub type TreeChange = (String, WatchEvent);

/// A node of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TreeNode {
    data: Vec<u8>,
    version: i32,
    czxid: i64,
    /// The last change of its data.
    pub mzxid: i64,
    /// The last change of its children.
    pub pzxid: i64,
    /// The session whose ephemeral node it is; 0 for none.
    owner: i64,
    children: BTreeSet<String>,
    /// The number of children ever created: the next sequence number.
    created: u32,
}

/// All nodes, by path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree(BTreeMap<String, TreeNode>);

impl Default for Tree {
    fn default() -> Self {
        Self(BTreeMap::from([("/".to_owned(), TreeNode::default())]))
    }
}

impl Tree {
    /// The node of this path.
    pub fn node(&self, path: &str) -> Option<&TreeNode> {
        self.0.get(path)
    }

    /// The path of each node and the transaction that last made or changed it, by path.
    pub fn stamps(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(path, node)| (path.as_str(), node.mzxid))
    }

    /// The path of each node and the session that owns it, 0 for none, by path.
    pub fn owners(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(path, node)| (path.as_str(), node.owner))
    }

    /// Answers a request that changes nothing.
    pub fn read(&self, request: &Request) -> Result<Reply, Refusal> {
        match request {
            Request::Exists { path, .. } => Ok(Reply::Exists(self.node(path).map(|n| n.czxid))),
            Request::GetData { path, .. } => {
                let node = self.node(path).ok_or(Refusal::NoNode)?;
                Ok(Reply::Data { data: node.data.clone(), version: node.version })
            }
            Request::GetChildren { path, .. } => {
                let node = self.node(path).ok_or(Refusal::NoNode)?;
                Ok(Reply::Children(shuffled(&node.children)))
            }
            Request::Sync { .. } => Ok(Reply::Synced),
            Request::Create { .. } | Request::Delete { .. } | Request::SetData { .. } => {
                Err(Refusal::BadArguments)
            }
        }
    }

    /// Applies a request that changes something, for this session, as this transaction.
    pub fn write(
        &mut self,
        zxid: i64,
        session: i64,
        request: &Request,
        changes: &mut Vec<TreeChange>,
    ) -> Result<Reply, Refusal> {
        match request {
            Request::Create { path, data, mode } => {
                self.create(zxid, session, path, data, *mode, changes)
            }
            Request::Delete { path, version } => self.delete(zxid, path, *version, changes),
            Request::SetData { path, data, version } => {
                self.set_data(zxid, path, data, *version, changes)
            }
            read => self.read(read),
        }
    }

    /// Deletes the ephemeral nodes of a session that is over.
    pub fn end_session(&mut self, zxid: i64, session: i64, changes: &mut Vec<TreeChange>) {
        let theirs: Vec<String> =
            self.0.iter().filter(|(_, n)| n.owner == session).map(|(p, _)| p.clone()).collect();
        for path in theirs {
            self.remove(zxid, &path, changes);
        }
    }

    fn create(
        &mut self,
        zxid: i64,
        session: i64,
        path: &str,
        data: &[u8],
        mode: CreateMode,
        changes: &mut Vec<TreeChange>,
    ) -> Result<Reply, Refusal> {
        let (parent_path, _) = split(path);
        let parent = self.0.get_mut(parent_path).ok_or(Refusal::NoNode)?;
        let path = match mode {
            CreateMode::EphemeralSequential => format!("{path}{:010}", parent.created),
            CreateMode::Persistent | CreateMode::Ephemeral => path.to_owned(),
        };
        let (_, name) = split(&path);
        if dots(name) {
            return Err(Refusal::BadArguments);
        }
        if parent.children.contains(name) {
            return Err(Refusal::NodeExists);
        }
        if parent.owner != 0 {
            return Err(Refusal::NoChildrenForEphemerals);
        }
        parent.children.insert(name.to_owned());
        // The counter counts every creation, of whatever kind, and deletions do not lower it.
        parent.created += 1;
        parent.pzxid = zxid;
        let owner = if mode == CreateMode::Persistent { 0 } else { session };
        changes.push((path.clone(), WatchEvent::Created));
        changes.push((parent_path.to_owned(), WatchEvent::ChildrenChanged));
        let node = TreeNode {
            data: data.to_vec(),
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            owner,
            ..TreeNode::default()
        };
        self.0.insert(path.clone(), node);
        Ok(Reply::Created { path, czxid: zxid })
    }

    fn delete(
        &mut self,
        zxid: i64,
        path: &str,
        version: Option<i32>,
        changes: &mut Vec<TreeChange>,
    ) -> Result<Reply, Refusal> {
        let node = self.node(path).ok_or(Refusal::NoNode)?;
        if version.is_some_and(|v| v != node.version) {
            return Err(Refusal::BadVersion);
        }
        if !node.children.is_empty() {
            return Err(Refusal::NotEmpty);
        }
        self.remove(zxid, path, changes);
        Ok(Reply::Deleted)
    }

    fn set_data(
        &mut self,
        zxid: i64,
        path: &str,
        data: &[u8],
        version: Option<i32>,
        changes: &mut Vec<TreeChange>,
    ) -> Result<Reply, Refusal> {
        if dots(split(path).1) {
            return Err(Refusal::BadArguments);
        }
        let node = self.0.get_mut(path).ok_or(Refusal::NoNode)?;
        if version.is_some_and(|v| v != node.version) {
            return Err(Refusal::BadVersion);
        }
        node.data = data.to_vec();
        node.version += 1;
        node.mzxid = zxid;
        changes.push((path.to_owned(), WatchEvent::DataChanged));
        Ok(Reply::DataSet(node.version))
    }

    fn remove(&mut self, zxid: i64, path: &str, changes: &mut Vec<TreeChange>) {
        self.0.remove(path);
        let (parent_path, name) = split(path);
        if let Some(parent) = self.0.get_mut(parent_path) {
            parent.children.remove(name);
            parent.pzxid = zxid;
        }
        changes.push((path.to_owned(), WatchEvent::Deleted));
        changes.push((parent_path.to_owned(), WatchEvent::ChildrenChanged));
    }
}

/// A path's parent and its last name.
fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(pair) => pair,
        None => ("", path),
    }
}

/// ZooKeeper returns children in the order of a hash table. A sorted list would be kinder than
/// life: a recipe that forgets to sort would work here and fail there.
fn shuffled(children: &BTreeSet<String>) -> Vec<String> {
    let mut names: Vec<String> = children.iter().cloned().collect();
    names.sort_by_cached_key(|name| fnv(name));
    names
}

/// FNV-1a: Fowler, Noll, Vo.
fn fnv(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(tree: &mut Tree, zxid: i64, path: &str, mode: CreateMode) -> Result<Reply, Refusal> {
        tree.write(
            zxid,
            9,
            &Request::Create { path: path.into(), data: Vec::new(), mode },
            &mut Vec::new(),
        )
    }

    #[test]
    fn children_come_in_no_order() {
        let mut tree = Tree::default();
        let names = ["a", "b", "c", "d", "e"];
        for (zxid, name) in (1..).zip(names) {
            create(&mut tree, zxid, &format!("/{name}"), CreateMode::Persistent).unwrap();
        }
        let Ok(Reply::Children(mut children)) =
            tree.read(&Request::GetChildren { path: "/".into(), watch: None })
        else {
            panic!("the root has children");
        };
        assert_ne!(children, names);
        children.sort();
        assert_eq!(children, names);
    }

    #[test]
    fn a_sessions_end_takes_its_ephemeral_nodes_and_no_others() {
        let mut tree = Tree::default();
        create(&mut tree, 1, "/stays", CreateMode::Persistent).unwrap();
        create(&mut tree, 2, "/goes", CreateMode::Ephemeral).unwrap();
        let mut changes = Vec::new();
        tree.end_session(3, 9, &mut changes);
        assert!(tree.node("/stays").is_some());
        assert!(tree.node("/goes").is_none());
        let expected =
            [("/goes".into(), WatchEvent::Deleted), ("/".into(), WatchEvent::ChildrenChanged)];
        assert_eq!(changes, expected);
    }
}
