//! The way to the Docker daemon.

use base::BackendError;
use std::fmt::Display;
use std::time::Duration;
use testcontainers::bollard::Docker;
use testcontainers::core::client::docker_client_instance;
use tokio::time::timeout;

/// The Docker daemon, the same that testcontainers uses. An error if none answers.
pub async fn daemon() -> Result<Docker, BackendError> {
    local()?;
    let docker = docker_client_instance().await.map_err(silent)?;
    // The library speaks a newer version of the API than many daemons do.
    match timeout(Duration::from_secs(5), docker.negotiate_version()).await {
        Ok(answer) => answer.map_err(silent),
        Err(elapsed) => Err(silent(elapsed)),
    }
}

fn silent(error: impl Display) -> BackendError {
    BackendError(format!(
        "no Docker daemon answers ({error}); fix: start one and join the docker group, or use \
         --backend local or sim"
    ))
}

/// Ports are published on the loopback of the daemon's machine, so it has to be this one.
fn local() -> Result<(), BackendError> {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    if is_local(&host) {
        return Ok(());
    }
    Err(BackendError(format!(
        "DOCKER_HOST names the remote daemon {host}, whose servers cannot be reached; fix: unset \
         it to use this machine's daemon"
    )))
}

fn is_local(host: &str) -> bool {
    let Some((scheme, rest)) = host.split_once("://") else {
        return host.is_empty();
    };
    scheme == "unix" || rest.starts_with("localhost") || rest.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_daemon_of_this_machine_is_local() {
        for host in ["", "unix:///run/docker.sock", "tcp://127.0.0.1:2375", "http://localhost:1"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["tcp://10.0.0.1:2375", "ssh://somebody@somewhere", "somewhere:2375"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
