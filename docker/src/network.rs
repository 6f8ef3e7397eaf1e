//! The network on which the servers of a run find each other.

use base::{BackendError, Rng};
use std::fmt::Display;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;
use testbed::{broken, monotonic_nanos, owner};
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{
    EndpointIpamConfig, EndpointSettings, Ipam, IpamConfig, NetworkConnectRequest,
    NetworkCreateRequest, NetworkDisconnectRequest,
};
use testcontainers::bollard::query_parameters::ListNetworksOptions;
use tokio::time::sleep;

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
    /// was asked for. It has thirty subnets or so, each for thousands of containers, and a run
    /// takes a small part of one: beside other runs if there are some, else of one that the engine
    /// chooses.
    pub async fn make(docker: &Docker, run: &str) -> Result<Self, BackendError> {
        let name = format!("picklock-{run}");
        let mut rng = Rng::new(monotonic_nanos() ^ u64::from(std::process::id()));
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match attempt(docker, &name, run, &mut rng).await {
                Ok(base) => return Ok(Self { name, base }),
                Err(error) if may_pass(&error) => last = Some(error),
                Err(error) => return Err(failed(error)),
            }
            sleep(PAUSE).await;
        }
        Err(failed(last.map_or_else(String::new, |error| error.to_string())))
    }

    /// The address of a server. The first after the subnet's own is the gateway's.
    pub fn address(&self, server: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.base.to_bits() + 2 + server)
    }

    /// Joins a server's container to it, for good, and to no other any more: what is on the
    /// engine's usual network can be reached by every other container there.
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
        docker.connect_network(&self.name, request).await.map_err(failed)?;
        let leave = NetworkDisconnectRequest { container: container.into(), force: Some(false) };
        docker.disconnect_network(USUAL, leave).await.map_err(failed)
    }
}

/// The network that the engine joins every container to at first.
const USUAL: &str = "bridge";

/// The number of times that a free part is looked for.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(20);
/// The length of the prefix of a run's part, which has room for thirteen servers.
const PART: u32 = 28;
/// The length of the shortest prefix of the subnets that engines choose.
const WHOLE: u32 = 20;

/// A part, drawn, of the subnet in which this address is.
fn part_near(near: Ipv4Addr, rng: &mut Rng) -> Ipv4Addr {
    let whole = near.to_bits() & (u32::MAX << (32 - WHOLE));
    let part = rng.below(1 << (PART - WHOLE)) as u32;
    Ipv4Addr::from_bits(whole | part << (32 - PART))
}

/// Makes a network of a part of a subnet that seems to be free, and returns the address with which
/// it begins.
async fn attempt(docker: &Docker, name: &str, run: &str, rng: &mut Rng) -> Result<Ipv4Addr, Error> {
    let near = match rng.pick(&in_use(docker).await?).copied() {
        Some(near) => near,
        None => chosen_by_engine(docker, name, run).await?,
    };
    let base = part_near(near, rng);
    create(docker, name, run, Some(base)).await.map(|()| base)
}

/// Addresses within the parts that other runs use.
async fn in_use(docker: &Docker) -> Result<Vec<Ipv4Addr>, Error> {
    let filters = Some([("label".to_string(), vec![owner::RUN.to_string()])].into());
    let networks = docker.list_networks(Some(ListNetworksOptions { filters })).await?;
    Ok(networks.into_iter().filter_map(|it| address_in(it.ipam)).collect())
}

/// An address within a subnet that the engine finds free.
async fn chosen_by_engine(docker: &Docker, name: &str, run: &str) -> Result<Ipv4Addr, Error> {
    create(docker, name, run, None).await?;
    let network = docker.inspect_network(name, None).await;
    // It is removed with all that the run has made, should this fail.
    docker.remove_network(name).await?;
    let none = || io::Error::other("the engine gave it no IPv4 subnet").into();
    address_in(network?.ipam).ok_or_else(none)
}

/// The address with which the first IPv4 subnet begins.
fn address_in(ipam: Option<Ipam>) -> Option<Ipv4Addr> {
    let configs = ipam.and_then(|ipam| ipam.config).unwrap_or_default();
    let mut subnets = configs.into_iter().filter_map(|config| config.subnet);
    subnets.find_map(|subnet| subnet.split('/').next()?.parse().ok())
}

/// Returns true if another network has the part, or took it just now, or if others that make theirs
/// at the same time have all subnets for a moment.
fn may_pass(error: &Error) -> bool {
    let words = ["verlap", "fully subnetted"];
    matches!(error, Error::DockerResponseServerError { message, .. }
        if words.iter().any(|words| message.contains(words)))
}

async fn create(
    docker: &Docker,
    name: &str,
    run: &str,
    base: Option<Ipv4Addr>,
) -> Result<(), Error> {
    let config = |base: Ipv4Addr| {
        let subnet = Some(format!("{base}/{PART}"));
        vec![IpamConfig { subnet, ..Default::default() }]
    };
    let request = NetworkCreateRequest {
        name: name.into(),
        labels: Some(owner::labels(run).into()),
        ipam: Some(Ipam { config: base.map(config), ..Default::default() }),
        ..Default::default()
    };
    docker.create_network(request).await.map(drop)
}

fn failed(error: impl Display) -> BackendError {
    broken("cannot make a network for the servers", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clean::remove_run, daemon::daemon};
    use futures_util::future::join_all;
    use std::collections::BTreeSet;

    #[test]
    fn servers_stand_behind_the_gateway() {
        let network = ContainerNetwork { name: "n".into(), base: Ipv4Addr::new(172, 20, 0, 0) };
        assert_eq!(network.address(0), Ipv4Addr::new(172, 20, 0, 2));
        assert_eq!(network.address(2), Ipv4Addr::new(172, 20, 0, 4));
    }

    #[test]
    fn a_run_takes_a_part_of_the_subnet_that_others_are_in() {
        let mut rng = Rng::new(1);
        for near in [Ipv4Addr::new(172, 20, 3, 16), Ipv4Addr::new(192, 168, 16, 0)] {
            for _ in 0..1_000 {
                let part = part_near(near, &mut rng);
                assert_eq!(part.to_bits() >> 12, near.to_bits() >> 12, "{part}");
                assert_eq!(part.octets()[3] % 16, 0, "{part}");
            }
        }
    }

    /// More than the subnets that an engine has. Needs one.
    #[test]
    #[ignore = "it takes all subnets of the engine, for which other runs then wait"]
    fn runs_that_begin_at_once_have_a_network_each() {
        let runtime = testbed::runtime().expect("a runtime");
        runtime.block_on(async {
            let docker = daemon().await.unwrap_or_else(|error| panic!("{error}"));
            let run = format!("networks-{}", std::process::id());
            let runs: Vec<String> = (0..32).map(|number| format!("{run}-{number}")).collect();
            let made = join_all(runs.iter().map(|run| ContainerNetwork::make(&docker, run))).await;
            for removed in join_all(runs.iter().map(|run| remove_run(&docker, run))).await {
                removed.expect("it is removed");
            }
            let parts = made.into_iter().map(|it| it.expect("there is room").base);
            assert_eq!(parts.collect::<BTreeSet<_>>().len(), runs.len());
        });
    }
}
