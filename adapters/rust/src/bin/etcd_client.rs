//! etcd-client's `lock`, with a lease that a task keeps alive (tried with 0.21.1).

#[path = "../picklock.rs"]
mod picklock;

use etcd_client::{Client, LockOptions};
use picklock::{Answer, Error, Run};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A call that takes longer is given up.
const CALL_LIMIT: Duration = Duration::from_secs(2);

struct EtcdClient {
    runtime: Runtime,
    client: Client,
    ttl: Duration,
}

struct Held {
    key: Vec<u8>,
    lease: i64,
    renewal: JoinHandle<()>,
}

impl EtcdClient {
    fn new(run: &Run) -> Self {
        let runtime = Runtime::new().expect("threads");
        let client = runtime.block_on(Client::connect(&run.servers, None)).expect("addresses");
        Self { runtime, client, ttl: run.ttl }
    }

    /// Gives up an acquire whose time is over: the key goes with its lease.
    async fn give_up(mut client: Client, lease: i64, renewal: JoinHandle<()>) -> Answer<()> {
        renewal.abort();
        timeout(CALL_LIMIT, client.lease_revoke(lease)).await??;
        Ok(())
    }
}

/// Keeps a lease alive, and tells once it is not.
async fn renew(mut client: Client, lease: i64, ttl: Duration, worker: u64) {
    let why = loop {
        let renewed = async {
            let (mut keeper, mut answers) = client.lease_keep_alive(lease).await?;
            keeper.keep_alive().await?;
            answers.message().await
        };
        match timeout(ttl, renewed).await {
            Ok(Ok(Some(answer))) if answer.ttl() > 0 => sleep(ttl / 3).await,
            Ok(Ok(_)) => break "its lease is over",
            Ok(Err(_)) => sleep(ttl / 10).await,
            Err(_) => break "nobody answers",
        }
    };
    picklock::lost(worker, why);
}

impl picklock::Lock for EtcdClient {
    type Grant = Held;
    const CAN: &'static [&'static str] = &["timed", "held"];

    fn acquire(&self, key: &str, limit: Duration, _: bool) -> Answer<Held> {
        let (mut client, worker) = (self.client.clone(), picklock::worker());
        self.runtime.block_on(async {
            let seconds = self.ttl.as_secs().max(1) as i64;
            let lease = timeout(CALL_LIMIT, client.lease_grant(seconds, None)).await??.id();
            let renewal = tokio::spawn(renew(client.clone(), lease, self.ttl, worker));
            let options = LockOptions::new().with_lease(lease);
            // A try takes as long as its call.
            match timeout(limit.max(CALL_LIMIT / 4), client.lock(key, Some(options))).await {
                Ok(Ok(granted)) => Ok(Held { key: granted.key().to_vec(), lease, renewal }),
                Ok(Err(error)) => {
                    // Its lease runs out by itself.
                    renewal.abort();
                    Err(error.into())
                }
                Err(_) => {
                    Self::give_up(client, lease, renewal).await?;
                    Err(Error::Failed("not granted in time".into()))
                }
            }
        })
    }

    fn held(&self, held: &Held) -> Answer<bool> {
        let mut client = self.client.clone();
        let asked = async { timeout(CALL_LIMIT, client.get(held.key.clone(), None)).await };
        Ok(self.runtime.block_on(asked)??.count() == 1)
    }

    fn release(&self, held: Held) -> Answer<()> {
        let mut client = self.client.clone();
        held.renewal.abort();
        self.runtime.block_on(async {
            timeout(CALL_LIMIT, client.unlock(held.key)).await??;
            // The key went with the lock; what is left of the lease is nobody's.
            let _ = timeout(CALL_LIMIT, client.lease_revoke(held.lease)).await;
            Ok(())
        })
    }
}

fn main() {
    picklock::serve(EtcdClient::new);
}
