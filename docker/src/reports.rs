//! The reports of the engine on what is done to the containers of a run.

use super::server::DockerServer;
use futures_util::{Stream, StreamExt};
use std::sync::Arc;
use testbed::owner;
use testcontainers::bollard::Docker;
use testcontainers::bollard::models::EventMessage;
use testcontainers::bollard::query_parameters::EventsOptions;

/// Whatever somebody else does to these servers, in words, until the engine tells no more.
pub fn of(
    docker: Docker,
    run: &str,
    servers: Vec<Arc<DockerServer>>,
) -> impl Stream<Item = String> + Send + 'static {
    let label = format!("{}={run}", owner::RUN);
    let filters = [("label".into(), vec![label]), ("type".into(), vec!["container".into()])];
    let options = EventsOptions { filters: Some(filters.into()), ..Default::default() };
    let reports = docker.events(Some(options)).filter_map(move |event| {
        std::future::ready(match event {
            Ok(event) => words(&servers, &event),
            Err(error) => Some(format!("the engine tells no more: {error}")),
        })
    });
    reports.chain(futures_util::stream::iter(["the engine tells no more".to_owned()]))
}

/// The engine's event in words; `None` if it was caused here.
fn words(servers: &[Arc<DockerServer>], event: &EventMessage) -> Option<String> {
    let actor = event.actor.as_ref()?;
    let server = servers.iter().find(|it| Some(it.id()) == actor.id.as_deref())?;
    let text = server.describe_unexpected(event.action.as_deref()?)?;
    let attribute = |name| actor.attributes.as_ref()?.get(name);
    let more = attribute("signal").map(|signal| format!(" (signal {signal})"));
    let more = more.or_else(|| attribute("exitCode").map(|it| format!(" (exit code {it})")));
    Some(text + &more.unwrap_or_default())
}
