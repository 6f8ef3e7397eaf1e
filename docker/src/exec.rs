//! Runs commands in a container. testcontainers can do this, too, but looks only twice a second
//! whether the command has ended, and a fault should begin when it was asked for.

use futures_util::StreamExt;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};

/// The exit code of a command and its output, stdout and stderr together.
pub async fn run(
    docker: &Docker,
    container: &str,
    command: &str,
) -> Result<(Option<i64>, String), Error> {
    let options = CreateExecOptions {
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
