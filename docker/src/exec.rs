//! Runs commands in a container. testcontainers can do this, too, but looks only twice a second
//! whether the command has ended, and a fault should begin when it was asked for.

use futures_util::StreamExt;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};

/// The user that a command runs as.
#[derive(Clone, Copy, Debug)]
pub enum User {
    /// The user of the server.
    Server,
    /// Root, with the capabilities that the container was given.
    Root,
}

/// The exit code of a command and its output, stdout and stderr together.
pub async fn run(
    docker: &Docker,
    container: &str,
    (user, command): (User, &str),
) -> Result<(Option<i64>, String), Error> {
    let options = CreateExecOptions {
        user: match user {
            User::Server => None,
            User::Root => Some("root"),
        },
        cmd: Some(vec!["sh", "-c", command]),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..Default::default()
    };
    let exec = docker.create_exec(container, options).await?.id;
    let mut text = String::new();
    let started = docker.start_exec(&exec, None::<StartExecOptions>).await?;
    if let StartExecResults::Attached { mut output, .. } = started {
        while let Some(piece) = output.next().await {
            text += &String::from_utf8_lossy(&piece?.into_bytes());
        }
    }
    Ok((docker.inspect_exec(&exec).await?.exit_code, text))
}
