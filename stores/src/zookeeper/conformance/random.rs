//! Random requests of one session, compared reply by reply with the tree that the model's servers
//! are made of.

use super::{Ending, Subject};
use crate::zookeeper::model::Tree;
use crate::zookeeper::{CreateMode, Refusal, Reply, Request};
use base::{CallError, Rng};

/// How many sequences.
pub const SEEDS: u64 = 10;
/// How many requests in each.
const REQUESTS: u64 = 120;

/// Makes the requests of this seed and compares.
pub async fn compare(subject: &mut dyn Subject, base: &str, seed: u64) -> Result<(), String> {
    subject.open(0, Ending::Closed).await?;
    let (mut rng, mut tree) = (Rng::new(seed), Tree::default());
    let root =
        Request::Create { path: base.to_owned(), data: Vec::new(), mode: CreateMode::Persistent };
    ask(subject, &mut tree, 0, root).await?;
    for n in 1..=REQUESTS {
        let request = draw(&mut rng, base);
        ask(subject, &mut tree, n, request).await?;
    }
    Ok(())
}

async fn ask(
    subject: &mut dyn Subject,
    tree: &mut Tree,
    n: u64,
    request: Request,
) -> Result<(), String> {
    let expected = tree.write(n as i64, 1, &request, &mut Vec::new());
    let answer = match subject.call(0, request.clone()).await {
        Ok(reply) => Ok(reply),
        Err(CallError::Refused(refusal)) => Err(refusal),
        Err(CallError::Unknown(why)) => return Err(format!("request {n}, {request:?}: {why}")),
    };
    if normal(answer.clone()) == normal(expected.clone()) {
        return Ok(());
    }
    Err(format!("request {n}, {request:?}: answered {answer:?}, the model {expected:?}"))
}

/// Transaction numbers differ from ensemble to ensemble, and children come in no order.
fn normal(answer: Result<Reply, Refusal>) -> Result<Reply, Refusal> {
    answer.map(|reply| match reply {
        Reply::Created { path, .. } => Reply::Created { path, czxid: 0 },
        Reply::Exists(found) => Reply::Exists(found.map(|_| 0)),
        Reply::Children(mut names) => {
            names.sort();
            Reply::Children(names)
        }
        other => other,
    })
}

/// Few names, so that requests meet each other.
fn draw(rng: &mut Rng, base: &str) -> Request {
    let mut path = base.to_owned();
    for _ in 0..=rng.below(3) {
        path.push_str(["/a", "/b", "/c-0000000001"][rng.below(3) as usize]);
    }
    let version = rng.chance(0.3).then(|| rng.below(3) as i32);
    let data = vec![rng.below(256) as u8; rng.below(4) as usize];
    match rng.below(9) {
        0 | 1 => Request::Create { path, data, mode: CreateMode::Persistent },
        2 => Request::Create { path, data, mode: CreateMode::Ephemeral },
        3 => {
            let path = path.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
            Request::Create { path, data, mode: CreateMode::EphemeralSequential }
        }
        4 => Request::Delete { path, version },
        5 => Request::SetData { path, data, version },
        6 => Request::GetData { path, watch: None },
        7 => Request::Exists { path, watch: None },
        _ => Request::GetChildren { path, watch: None },
    }
}
