//! The making of a server: the settings of its container, and the check that it serves.

use super::image;
use super::network::Network;
use super::owner;
use std::net::SocketAddr;
use std::time::Duration;
use stores::{Cluster, Container, Probe, Store, StoreId, Visit, node_name};
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
    pub store: StoreId,
    /// The servers and their settings.
    pub cluster: Cluster,
    /// The network on which they find each other.
    pub network: Network,
}

/// Asks a store for the container of a server.
struct Describe<'a>(&'a Ensemble, u32);

impl Visit for Describe<'_> {
    type Out = Container;

    fn visit<S: Store>(self) -> Container {
        let Self(ensemble, server) = self;
        let address = |number| ensemble.network.address(number).to_string();
        S::container(&ensemble.cluster, server, &address)
    }
}

impl Ensemble {
    /// Describes the container of a server.
    pub fn container(&self, server: u32) -> Container {
        self.store.visit(Describe(self, server))
    }

    /// The request for a server's container.
    pub fn request(&self, server: u32) -> ContainerRequest<GenericImage> {
        let Container { command, environment, port, .. } = self.container(server);
        let (repository, tag) = image::tagged();
        let request = GenericImage::new(repository.into(), tag)
            .with_exposed_port(port.tcp())
            .with_container_name(format!("picklock-{}-{server}", self.run))
            .with_labels(owner::labels(&self.run))
            // For iptables, in the container's own network namespace.
            .with_cap_add("NET_ADMIN")
            .with_host_config_modifier(move |config| on_loopback(config, port))
            .with_cmd(command);
        let request = environment
            .into_iter()
            .fold(request, |request, (name, value)| request.with_env_var(name, value));
        (0..self.cluster.servers()).fold(request, |request, number| {
            request.with_host(node_name(number), Host::Addr(self.network.address(number).into()))
        })
    }
}

/// Returns true if the server at this address answers as one that serves does.
pub async fn serves(address: SocketAddr, probe: Probe) -> bool {
    match timeout(Duration::from_secs(1), ask(address, probe.send)).await {
        Ok(Ok(answer)) => probe.expect.iter().any(|expected| answer.contains(expected)),
        Ok(Err(_)) | Err(_) => false,
    }
}

/// Sends a question after which the server closes, and returns the answer.
pub async fn ask(address: SocketAddr, question: &[u8]) -> std::io::Result<String> {
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
