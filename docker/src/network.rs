//! The network on which the servers of a run find each other.

use base::BackendError;
use std::fmt::Display;
use std::net::Ipv4Addr;
use testbed::{broken, owner};
use testcontainers::bollard::Docker;
use testcontainers::bollard::models::{
    EndpointIpamConfig, EndpointSettings, Ipam, IpamConfig, NetworkConnectRequest,
    NetworkCreateRequest,
};

/// A network whose servers keep their addresses when they are started again. The engine's name
/// service would not do: it asks outside for the name of a member that is down, and ZooKeeper waits
/// for that answer for seconds, even to elect a leader.
#[derive(Clone, Debug)]
pub struct ContainerNetwork {
    name: String,
    base: Ipv4Addr,
}

impl ContainerNetwork {
    /// Makes it, with the labels of its run. The engine gives fixed addresses only on a subnet that
    /// was asked for, so it may choose a free one first, which is then asked for.
    pub async fn make(docker: &Docker, run: &str) -> Result<Self, BackendError> {
        let name = format!("picklock-{run}");
        create(docker, &name, run, None).await?;
        let subnet = subnet(docker, &name).await?;
        docker.remove_network(&name).await.map_err(failed)?;
        create(docker, &name, run, Some(&subnet)).await?;
        let base = subnet.split('/').next().and_then(|it| it.parse().ok());
        let base = base.ok_or_else(|| failed(format!("{subnet} is no IPv4 subnet")))?;
        Ok(Self { name, base })
    }

    /// The address of a server. The first after the subnet's own is the gateway's.
    pub fn address(&self, server: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.base.to_bits() + 2 + server)
    }

    /// Joins a server's container to it, for good.
    pub async fn join(
        &self,
        docker: &Docker,
        container: &str,
        server: u32,
    ) -> Result<(), BackendError> {
        let ipam_config = EndpointIpamConfig {
            ipv4_address: Some(self.address(server).to_string()),
            ..Default::default()
        };
        let endpoint = EndpointSettings { ipam_config: Some(ipam_config), ..Default::default() };
        let request =
            NetworkConnectRequest { container: container.into(), endpoint_config: Some(endpoint) };
        docker.connect_network(&self.name, request).await.map_err(failed)
    }
}

async fn create(
    docker: &Docker,
    name: &str,
    run: &str,
    subnet: Option<&str>,
) -> Result<(), BackendError> {
    let config = |it: &str| vec![IpamConfig { subnet: Some(it.into()), ..Default::default() }];
    let request = NetworkCreateRequest {
        name: name.into(),
        labels: Some(owner::labels(run).into()),
        ipam: Some(Ipam { config: subnet.map(config), ..Default::default() }),
        ..Default::default()
    };
    docker.create_network(request).await.map(drop).map_err(failed)
}

async fn subnet(docker: &Docker, name: &str) -> Result<String, BackendError> {
    let network = docker.inspect_network(name, None).await.map_err(failed)?;
    let configs = network.ipam.and_then(|ipam| ipam.config).unwrap_or_default();
    let subnets = configs.into_iter().filter_map(|config| config.subnet);
    let subnet = subnets.into_iter().find(|subnet| subnet.contains('.'));
    subnet.ok_or_else(|| failed("the engine gave it no IPv4 subnet"))
}

fn failed(error: impl Display) -> BackendError {
    broken("cannot make a network for the servers", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_stand_behind_the_gateway() {
        let network = ContainerNetwork { name: "n".into(), base: Ipv4Addr::new(172, 20, 0, 0) };
        assert_eq!(network.address(0), Ipv4Addr::new(172, 20, 0, 2));
        assert_eq!(network.address(2), Ipv4Addr::new(172, 20, 0, 4));
    }
}
