//! The reference for the answers: the tree that the model's servers are made of, and watches as the
//! documentation has them, each for itself.

use crate::zookeeper::model::Tree;
use crate::zookeeper::{CreateMode, Refusal, Reply, Request, WatchEvent, WatchId, path};

/// A watch that has not fired.
struct PendingWatch {
    session: usize,
    id: WatchId,
    path: String,
    /// True for a watch on the node's children and its end, false for one on the node.
    children: bool,
}

/// The watches that fired: session, number and event of each.
pub type FiredWatches = Vec<(usize, WatchId, WatchEvent)>;

/// The state that all servers share, once they are up to date.
pub struct Reference {
    tree: Tree,
    zxid: i64,
    watches: Vec<PendingWatch>,
}

impl Reference {
    /// The reference with the roots of the sequence, made by transactions 1 and 2.
    pub fn new(base: &str) -> Self {
        let mut reference = Self { tree: Tree::default(), zxid: 0, watches: Vec::new() };
        for path in [base.to_owned(), super::rooted(base, "")] {
            let root = Request::Create { path, data: Vec::new(), mode: CreateMode::Persistent };
            drop(reference.apply(0, 0, &root));
        }
        reference
    }

    /// The answer to a request of a session, and the watches that it fires.
    pub fn apply(
        &mut self,
        session: usize,
        number: i64,
        request: &Request,
    ) -> (Result<Reply, Refusal>, FiredWatches) {
        if let Err(refusal) = path::check(request) {
            return (Err(refusal), Vec::new());
        }
        self.zxid += 1;
        let mut changes = Vec::new();
        let answer = self.tree.write(self.zxid, number, request, &mut changes);
        let fired = self.fire(&changes);
        self.set_watch(session, request, answer.is_ok());
        (answer, fired)
    }

    fn set_watch(&mut self, session: usize, request: &Request, found: bool) {
        let (path, id, children) = match request {
            Request::Exists { path, watch: Some(id) } => (path, id, false),
            Request::GetData { path, watch: Some(id) } if found => (path, id, false),
            Request::GetChildren { path, watch: Some(id) } if found => (path, id, true),
            _ => return,
        };
        self.watches.push(PendingWatch { session, id: *id, path: path.clone(), children });
    }

    fn fire(&mut self, changes: &[(String, WatchEvent)]) -> FiredWatches {
        let mut fired = Vec::new();
        for (path, event) in changes {
            self.watches.retain(|watch| {
                let hears = match event {
                    WatchEvent::Created | WatchEvent::DataChanged => !watch.children,
                    WatchEvent::ChildrenChanged => watch.children,
                    WatchEvent::Deleted => true,
                    WatchEvent::SessionExpired => false,
                };
                let fires = hears && watch.path == *path;
                if fires {
                    fired.push((watch.session, watch.id, *event));
                }
                !fires
            });
        }
        fired
    }

    /// Ends a session. Returns the nodes that go and the watches that this fires. Its own go
    /// silently.
    pub fn end(&mut self, session: usize, number: i64) -> (Vec<String>, FiredWatches) {
        self.watches.retain(|watch| watch.session != session);
        self.zxid += 1;
        let mut changes = Vec::new();
        self.tree.end_session(self.zxid, number, &mut changes);
        let deleted = |(path, event): &(String, WatchEvent)| {
            (*event == WatchEvent::Deleted).then(|| path.clone())
        };
        let gone = changes.iter().filter_map(deleted).collect();
        (gone, self.fire(&changes))
    }

    /// The watches that have not fired.
    pub fn waiting(&self) -> Vec<(usize, WatchId)> {
        self.watches.iter().map(|watch| (watch.session, watch.id)).collect()
    }
}
