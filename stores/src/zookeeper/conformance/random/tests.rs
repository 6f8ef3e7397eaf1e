//! Tests of the comparison: the model's servers agree, and one that answers wrongly is found.

use super::*;
use crate::zookeeper::conformance::model::ModelEnsemble;
use futures_util::FutureExt;

const LIMIT: Duration = Duration::from_secs(10);

/// A defect of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// A node is deleted whatever its version.
    BlindDelete,
    /// A node's data is set whatever its version.
    BlindSet,
    /// An ephemeral node stays when its session ends.
    Undead,
    /// A session that ends leaves its nodes.
    Endless,
    /// Lists of children lack the last one.
    OneChildShort,
    /// An existing node's czxid is not that of the transaction that made it.
    WrongStamp,
    /// The first watch of a sequence never fires.
    Deaf,
    /// Every watch on data has fired.
    Hasty,
}

const FAULTS: &[Fault] = &[
    Fault::BlindDelete,
    Fault::BlindSet,
    Fault::Undead,
    Fault::Endless,
    Fault::OneChildShort,
    Fault::WrongStamp,
    Fault::Deaf,
    Fault::Hasty,
];

struct Broken(ModelEnsemble, Fault);

impl ConformanceSubject for Broken {
    async fn open(&mut self, session: usize, ending: SessionEnding) -> Result<(), String> {
        let ending = if self.1 == Fault::Endless { SessionEnding::Silent } else { ending };
        self.0.open(session, ending).await
    }

    fn end(&mut self, session: usize) {
        self.0.end(session);
    }

    async fn call(
        &mut self,
        session: usize,
        mut request: Request,
    ) -> Result<Reply, CallError<Refusal>> {
        match (self.1, &mut request) {
            (Fault::BlindDelete, Request::Delete { version, .. })
            | (Fault::BlindSet, Request::SetData { version, .. }) => *version = None,
            (Fault::Undead, Request::Create { mode, .. }) if *mode == CreateMode::Ephemeral => {
                *mode = CreateMode::Persistent;
            }
            _ => {}
        }
        Ok(match self.0.call(session, request).await? {
            Reply::Children(mut names) if self.1 == Fault::OneChildShort => {
                names.pop();
                Reply::Children(names)
            }
            Reply::Exists(Some(czxid)) if self.1 == Fault::WrongStamp => {
                Reply::Exists(Some(czxid + 1))
            }
            other => other,
        })
    }

    async fn fired(
        &mut self,
        session: usize,
        watch: WatchId,
        within: Duration,
    ) -> Option<WatchEvent> {
        match self.1 {
            Fault::Deaf => None,
            Fault::Hasty => Some(WatchEvent::DataChanged),
            _ => self.0.fired(session, watch, within).await,
        }
    }

    async fn wait(&mut self, time: Duration) {
        self.0.wait(time).await;
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}

fn compared(servers: u32, fault: Fault, seed: u64) -> Vec<String> {
    let mut subject = Broken(ModelEnsemble::new(servers, seed), fault);
    // What is endless is not waited for.
    let limit = if fault == Fault::Endless { Duration::from_secs(1) } else { LIMIT };
    let run = compare(&mut subject, "root", [seed].into_iter(), limit);
    let report = run.now_or_never();
    report.expect("the model's answers are there when it is asked").differences
}

#[test]
fn the_model_agrees_with_its_tree() {
    for seed in 0..100 {
        let servers = [1, 3, 3, 5][seed as usize % 4];
        let result = compared(servers, Fault::Nothing, seed);
        assert_eq!(result, [""; 0], "{servers} servers, seed {seed}");
    }
}

#[test]
fn what_is_wrong_is_found_and_shrunk() {
    for fault in FAULTS {
        let found = (0..100).find_map(|seed| compared(3, *fault, seed).pop());
        let found = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        assert!(found.lines().count() <= 6, "{fault:?}: {found}");
    }
}
