//! The proxies of the stand-in: they forward connections, through toxics that can change meanwhile.

#![expect(
    clippy::disallowed_methods,
    reason = "it forwards over real connections, on real threads"
)]

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

type Toxics = Arc<Mutex<Vec<Value>>>;

/// A proxy that forwards. It breaks its connections when it is dropped.
pub struct Forwarder {
    pub address: SocketAddr,
    ended: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    accepting: Option<thread::JoinHandle<()>>,
}

impl Forwarder {
    pub fn start(listen: &str, upstream: String, toxics: Toxics) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let (ended, connections) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (over, all) = (ended.clone(), connections.clone());
        let accepting = thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if over.load(SeqCst) {
                    return;
                }
                // Where there is no server, the client is hung up on, as the original does it.
                if let Ok(server) = TcpStream::connect(&upstream) {
                    connect(&client, &server, &toxics, &all).expect("two connections");
                }
            }
        });
        Ok(Self { address, ended, connections, accepting: Some(accepting) })
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.ended.store(true, SeqCst);
        let _wakes_it = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for connection in self.connections.lock().expect("whole").iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn connect(
    client: &TcpStream,
    server: &TcpStream,
    toxics: &Toxics,
    all: &Mutex<Vec<TcpStream>>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    all.lock().expect("whole").extend([client.try_clone()?, server.try_clone()?]);
    for (from, to, stream) in [(client, server, "upstream"), (server, client, "downstream")] {
        let (from, to, toxics) = (from.try_clone()?, to.try_clone()?, toxics.clone());
        let (queue, arriving) = channel();
        thread::spawn(move || take_in(from, &queue));
        thread::spawn(move || deliver(to, &arriving, &toxics, stream));
    }
    Ok(())
}

fn take_in(mut from: TcpStream, queue: &Sender<(Instant, Vec<u8>)>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if queue.send((Instant::now(), buffer[..length].to_vec())).is_err() {
            return;
        }
    }
}

fn deliver(mut to: TcpStream, queue: &Receiver<(Instant, Vec<u8>)>, toxics: &Toxics, stream: &str) {
    while let Ok((arrived, bytes)) = queue.recv() {
        let now = toxics.lock().expect("whole").clone();
        for toxic in now.iter().filter(|toxic| toxic["stream"] == stream) {
            let amount = |name: &str| toxic["attributes"][name].as_u64();
            if let Some(latency) = amount("latency") {
                let due = arrived + Duration::from_millis(latency);
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            if let Some(rate) = amount("rate") {
                // Kilobytes a second are bytes a millisecond.
                thread::sleep(Duration::from_millis(bytes.len() as u64) / rate as u32);
            }
        }
        if to.write_all(&bytes).is_err() {
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
