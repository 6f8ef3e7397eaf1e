//! Removes what runs that were killed left behind, and nothing of a run that still lives.

use super::daemon::daemon;
use base::BackendError;
use futures_util::future::join_all;
use std::time::Duration;
use testbed::owner::{self, Certainty};
use testbed::{broken, runtime};
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::query_parameters::{
    ListContainersOptions, ListNetworksOptions, RemoveContainerOptions,
};
use tokio::time::{Instant, sleep};

/// The number of objects removed, and the reasons why others were not.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// The number of containers.
    pub containers: usize,
    /// The number of networks.
    pub networks: usize,
    /// A reason for each object that could not be removed.
    pub failures: Vec<BackendError>,
}

/// Removes the containers and networks of runs whose process has ended, with this certainty.
///
/// # Errors
/// Fails when no daemon answers.
pub fn clean(certainty: Certainty) -> Result<Cleaned, BackendError> {
    runtime()?.block_on(async { remove_abandoned(&daemon().await?, certainty).await })
}

pub async fn remove_abandoned(
    docker: &Docker,
    certainty: Certainty,
) -> Result<Cleaned, BackendError> {
    remove(docker, owner::OWNER, |label| certainty.allows_label(label)).await
}

/// The longest time for which an engine that does not answer is asked again: it may be starting
/// anew.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

/// Removes everything of one run.
///
/// # Errors
/// Fails when something is still there after all [`PATIENCE`].
pub async fn remove_run(docker: &Docker, run: &str) -> Result<(), BackendError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let removed = remove(docker, owner::RUN, |label| label.is_some_and(|it| it == run)).await;
        let removed = removed.and_then(|it| it.failures.into_iter().next().map_or(Ok(()), Err));
        if removed.is_ok() || Instant::now() > until {
            return removed;
        }
        sleep(PAUSE).await;
    }
}

/// Removes what carries the label with a value that `chosen` accepts: containers first, since a
/// network in use cannot be removed.
async fn remove(
    docker: &Docker,
    label: &str,
    chosen: impl Fn(Option<&String>) -> bool,
) -> Result<Cleaned, BackendError> {
    let filters = || Some([("label".to_string(), vec![label.to_string()])].into());
    let all = ListContainersOptions { all: true, filters: filters(), ..Default::default() };
    let containers = docker.list_containers(Some(all)).await;
    let containers: Vec<String> = containers
        .map_err(|e| broken("cannot list containers", e))?
        .into_iter()
        .filter(|it| chosen(it.labels.as_ref().and_then(|labels| labels.get(label))))
        .filter_map(|it| it.id)
        .collect();
    let networks = docker.list_networks(Some(ListNetworksOptions { filters: filters() })).await;
    let networks: Vec<String> = networks
        .map_err(|e| broken("cannot list networks", e))?
        .into_iter()
        .filter(|it| chosen(it.labels.as_ref().and_then(|labels| labels.get(label))))
        .filter_map(|it| it.id)
        .collect();
    let mut cleaned = Cleaned::default();
    for removed in join_all(containers.iter().map(|id| remove_container(docker, id))).await {
        cleaned.containers += cleaned.note(removed, "cannot remove a container");
    }
    for id in &networks {
        let removed = docker.remove_network(id).await;
        cleaned.networks += cleaned.note(removed, "cannot remove a network");
    }
    Ok(cleaned)
}

impl Cleaned {
    /// Returns the number of objects removed, which is one, or notes why it is none.
    fn note(&mut self, removed: Result<(), Error>, failure: &str) -> usize {
        match unless_gone(removed) {
            Ok(()) => 1,
            Err(error) => {
                self.failures.push(broken(failure, error));
                0
            }
        }
    }
}

async fn remove_container(docker: &Docker, id: &str) -> Result<(), Error> {
    let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
    docker.remove_container(id, Some(options)).await
}

/// Accepts that an object is gone. Two that clean at the same time find the same objects; the
/// second finds them gone (404) or going (409).
fn unless_gone(removed: Result<(), Error>) -> Result<(), Error> {
    match removed {
        Err(Error::DockerResponseServerError { status_code: 404 | 409, .. }) => Ok(()),
        other => other,
    }
}
