//! redis-lock's `lock_across`, over all servers that there are (tried with 0.5.1 on redis 0.27.6). It knows a hold only
//! as a future that runs meanwhile: here, one that waits for the release.

#[path = "../picklock.rs"]
mod picklock;

use picklock::{Answer, Error, Run};
use redis_0_27::Client;
use redis_0_27::aio::{ConnectionManager, ConnectionManagerConfig};
use redis_lock::{LockAcrossError, LockAcrossOptions, lock_across};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, oneshot};

struct RedisLock {
    runtime: Runtime,
    connections: Vec<Arc<Mutex<ConnectionManager>>>,
    ttl: Duration,
}

/// A hold that goes on until it is told to end, and then tells how that went.
struct Hold {
    end: oneshot::Sender<()>,
    ended: Receiver<Answer<()>>,
}

impl RedisLock {
    fn new(run: &Run) -> Self {
        let runtime = Runtime::new().expect("threads");
        let connected = |server| runtime.block_on(connected(server));
        let connections =
            run.servers.iter().map(connected).map(|it| Arc::new(Mutex::new(it))).collect();
        Self { connections, ttl: run.ttl, runtime }
    }
}

/// Connects to a server, which may be down while this client begins.
async fn connected(server: &String) -> ConnectionManager {
    let client = Client::open(format!("redis://{server}")).expect("an address");
    let limit = Duration::from_secs(1);
    let config =
        ConnectionManagerConfig::new().set_response_timeout(limit).set_connection_timeout(limit);
    loop {
        match ConnectionManager::new_with_config(client.clone(), config.clone()).await {
            Ok(connection) => return connection,
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

impl picklock::Lock for RedisLock {
    type Grant = Hold;
    const CAN: &'static [&'static str] = &["timed"];

    fn acquire(&self, key: &str, timeout: Duration, _: bool) -> Answer<Hold> {
        // It tries while this time is not over: for a time of zero, never.
        let duration = timeout.max(Duration::from_millis(1));
        let options =
            LockAcrossOptions { ttl: self.ttl, retry: Duration::from_millis(100), duration };
        let (connections, key, runtime) =
            (self.connections.clone(), key.to_owned(), self.runtime.handle().clone());
        let (end, is_to_end) = oneshot::channel();
        let (is_granted, granted) = channel();
        let (has_ended, ended) = channel();
        std::thread::spawn(move || {
            let refused = is_granted.clone();
            let hold = async move {
                let _ = is_granted.send(Ok(()));
                let _ = is_to_end.await;
            };
            let _ = match runtime.block_on(lock_across(&connections, &key, hold, options)) {
                Err(LockAcrossError::Acquire(error)) => {
                    refused.send(Err(Error::Failed(error.to_string())))
                }
                Err(error) => has_ended.send(Err(error.into())),
                Ok(()) => has_ended.send(Ok(())),
            };
        });
        granted.recv()?.map(|()| Hold { end, ended })
    }

    fn release(&self, hold: Hold) -> Answer<()> {
        let _ = hold.end.send(());
        hold.ended.recv()?
    }
}

fn main() {
    picklock::serve(RedisLock::new);
}
