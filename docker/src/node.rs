//! The making of a server: the settings of its container.

use super::clock;
use super::image;
use super::network::ContainerNetwork;
use stores::{Cluster, Member, Place, Probe, Secrets, StoreId, node_name};
use testbed::owner;
use testcontainers::bollard::models::{HostConfig, PortBinding};
use testcontainers::core::{Host, IntoContainerPort};
use testcontainers::{ContainerRequest, GenericImage, ImageExt};

/// Paths that `node.sh` knows under the same names.
pub const DATA: &str = "/var/lib/picklock/data";
const FILES: &str = "/var/lib/picklock/files";

/// The servers of one run.
#[derive(Clone, Debug)]
pub struct RunContainers {
    /// The id of the run.
    pub run: String,
    /// The store that the servers belong to.
    pub store: StoreId,
    /// The servers and their settings.
    pub cluster: Cluster,
    /// The network on which they find each other.
    pub network: ContainerNetwork,
    /// The secrets of the servers that have some.
    pub secrets: Option<Secrets>,
}

impl RunContainers {
    /// The question that tells whether a server serves.
    pub fn probe(&self, server: u32) -> Probe {
        self.store.probe(&self.cluster, server)
    }

    /// The request for a server's container. `clock` is the text of its wall clock, if faults are
    /// to set that.
    ///
    /// # Errors
    /// Fails when no fault can set the clock of such a server.
    pub fn request(
        &self,
        server: u32,
        clock: Option<String>,
    ) -> Result<ContainerRequest<GenericImage>, String> {
        let ports = self.store.ports();
        let advertised = self.store.advertised_ports(self.cluster.topology);
        let peer_ports = if advertised.is_empty() { ports.peers } else { advertised }.to_vec();
        let host = |number| Member { host: node_name(number), ports: peer_ports.clone() };
        let place = Place {
            data: DATA.into(),
            host: "0.0.0.0",
            port: ports.clients,
            members: (0..self.cluster.servers()).map(host).collect(),
            peer_ports: peer_ports.clone(),
            source: None,
            proxy: None,
            // No forwarder of ours reaches into a container.
            sockets: false,
            secrets: self.secrets.clone(),
        };
        let launch = self.store.launch(&self.cluster, server, &place);
        let (repository, tag) = image::tagged();
        let request = GenericImage::new(repository.into(), tag)
            .with_exposed_port(ports.clients.tcp())
            .with_container_name(format!("picklock-{}-{server}", self.run))
            .with_labels(owner::labels(&self.run))
            // For iptables, in the container's own network namespace.
            .with_cap_add("NET_ADMIN")
            .with_host_config_modifier(move |config| on_loopback(config, ports.clients))
            .with_env_var("PICKLOCK_ADDRESS", self.network.address(server).to_string())
            .with_cmd(launch.command);
        let request = launch.files.into_iter().fold(request, |request, (name, text)| {
            request.with_copy_to(format!("{FILES}/{name}"), text.into_bytes())
        });
        let request = (0..self.cluster.servers()).fold(request, |request, number| {
            request.with_host(node_name(number), Host::Addr(self.network.address(number).into()))
        });
        let Some(text) = clock else { return Ok(request) };
        let variables = clock::variables(&self.store.settable_clock()?);
        let request = request.with_copy_to(clock::file(), text.into_bytes());
        Ok(variables
            .into_iter()
            .fold(request, |request, (name, value)| request.with_env_var(name, value)))
    }
}

fn on_loopback(config: &mut HostConfig, port: u16) {
    // testcontainers publishes on every interface of the machine, an open Redis for the whole
    // neighbourhood.
    config.publish_all_ports = Some(false);
    let binding = PortBinding { host_ip: Some("127.0.0.1".into()), host_port: Some("".into()) };
    config.port_bindings = Some([(format!("{port}/tcp"), Some(vec![binding]))].into());
}
