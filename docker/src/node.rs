//! The making of a server: the settings of its container, and the check that it serves.

use super::image;
use super::network::Network;
use super::owner;
use std::net::SocketAddr;
use std::time::Duration;
use stores::Store;
use stores::zookeeper::Timing;
use testcontainers::bollard::models::{HostConfig, PortBinding};
use testcontainers::core::{Host, IntoContainerPort};
use testcontainers::{ContainerRequest, GenericImage, ImageExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The servers of one run.
#[derive(Clone, Debug)]
pub struct Ensemble {
    /// The id of the run.
    pub run: String,
    /// The store that the servers belong to.
    pub store: Store,
    /// The number of servers.
    pub servers: u32,
    /// The settings of a ZooKeeper ensemble.
    pub timing: Timing,
    /// The network on which they find each other.
    pub network: Network,
}

impl Ensemble {
    /// The port that they serve on, inside their containers.
    pub fn port(&self) -> u16 {
        match self.store {
            Store::Redis => 6379,
            Store::ZooKeeper => 2181,
        }
    }

    /// The request for a server's container.
    pub fn request(&self, server: u32) -> ContainerRequest<GenericImage> {
        let (repository, tag) = image::tagged();
        let port = self.port();
        let request = GenericImage::new(repository.into(), tag)
            .with_exposed_port(port.tcp())
            .with_container_name(format!("picklock-{}-{server}", self.run))
            .with_labels(owner::labels(&self.run))
            // For iptables, in the container's own network namespace.
            .with_cap_add("NET_ADMIN")
            .with_host_config_modifier(move |config| on_loopback(config, port));
        match self.store {
            Store::Redis => request.with_cmd(["redis"]),
            Store::ZooKeeper => self.member(request, server),
        }
    }

    fn member(
        &self,
        request: ContainerRequest<GenericImage>,
        server: u32,
    ) -> ContainerRequest<GenericImage> {
        let host = |number| format!("server-{number}");
        let peers: Vec<String> = (0..self.servers).map(host).collect();
        let request = request
            .with_cmd(["zookeeper"])
            .with_env_var("ZOO_ID", (server + 1).to_string())
            .with_env_var("ZOO_ADDRESS", self.network.address(server).to_string())
            .with_env_var("ZOO_PEERS", peers.join(" "))
            .with_env_var("ZOO_TICK", self.timing.tick.as_millis().to_string())
            .with_env_var("ZOO_INIT_LIMIT", self.timing.init_limit.to_string())
            .with_env_var("ZOO_SYNC_LIMIT", self.timing.sync_limit.to_string());
        (0..self.servers).fold(request, |request, number| {
            request.with_host(host(number), Host::Addr(self.network.address(number).into()))
        })
    }

    /// Returns true if the server at this address serves: Redis has loaded its data, a ZooKeeper
    /// member belongs to a quorum.
    pub async fn serves(&self, address: SocketAddr) -> bool {
        let (question, answers): (&[u8], &[&str]) = match self.store {
            Store::Redis => (b"PING\r\nQUIT\r\n", &["+PONG"]),
            Store::ZooKeeper => (b"srvr", &["Mode: leader", "Mode: follower", "Mode: standalone"]),
        };
        match timeout(Duration::from_secs(1), ask(address, question)).await {
            Ok(Ok(answer)) => answers.iter().any(|expected| answer.contains(expected)),
            Ok(Err(_)) | Err(_) => false,
        }
    }
}

/// Sends a question after which the server closes, and returns the answer.
async fn ask(address: SocketAddr, question: &[u8]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(question).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn on_loopback(config: &mut HostConfig, port: u16) {
    // testcontainers publishes on every interface of the machine, an open Redis for the whole
    // neighbourhood.
    config.publish_all_ports = Some(false);
    let binding = PortBinding { host_ip: Some("127.0.0.1".into()), host_port: Some("".into()) };
    config.port_bindings = Some([(format!("{port}/tcp"), Some(vec![binding]))].into());
}
