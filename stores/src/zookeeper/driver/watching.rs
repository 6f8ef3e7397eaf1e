//! The watches that a client waits for. A server knows only that a connection watches a path; the
//! client knows which watches that means.

use super::WatchKind;
use crate::zookeeper::model::watched;
use crate::zookeeper::{Refusal, Reply, Request, WatchEvent, WatchId};
use std::collections::BTreeSet;

/// All watches that are set and have not fired.
#[derive(Debug, Default)]
pub(super) struct Watching(Vec<LibraryWatch>);

#[derive(Debug)]
struct LibraryWatch {
    id: WatchId,
    path: String,
    kind: WatchKind,
}

impl Watching {
    /// Sets the watch that an answered request asked for, if the server set one.
    pub(super) fn answered(&mut self, request: &Request, result: &Result<Reply, Refusal>) {
        let id = match request {
            Request::Exists { watch, .. }
            | Request::GetData { watch, .. }
            | Request::GetChildren { watch, .. } => *watch,
            _ => None,
        };
        if let (Some(id), Some((path, kind))) = (id, watched(request, result)) {
            self.0.push(LibraryWatch { id, path: path.to_owned(), kind });
        }
    }

    /// Takes out the watches that an event on this path fires, in the order in which they were set.
    pub(super) fn fire(&mut self, path: &str, event: WatchEvent) -> Vec<WatchId> {
        let fires = |watch: &mut LibraryWatch| {
            watch.path == path
                && match event {
                    WatchEvent::Created | WatchEvent::DataChanged => watch.kind != WatchKind::Child,
                    WatchEvent::ChildrenChanged => watch.kind == WatchKind::Child,
                    WatchEvent::Deleted | WatchEvent::SessionExpired => true,
                }
        };
        self.0.extract_if(.., fires).map(|watch| watch.id).collect()
    }

    /// The watches to tell a server of after a reconnection, each once.
    pub(super) fn list(&self) -> Vec<(String, WatchKind)> {
        let all: BTreeSet<_> = self.0.iter().map(|w| (w.path.clone(), w.kind)).collect();
        all.into_iter().collect()
    }

    /// Takes out all watches when the session is over.
    pub(super) fn clear(&mut self) -> Vec<WatchId> {
        self.0.drain(..).map(|watch| watch.id).collect()
    }
}
