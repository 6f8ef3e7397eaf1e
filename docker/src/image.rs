//! The image that every server runs in. The binary carries what it is made from, so that an
//! installed one can make it, too.

use super::daemon::daemon;
use base::BackendError;
use futures_util::StreamExt;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;
use testbed::{Readiness, broken, runtime};
use testcontainers::bollard::Docker;
use testcontainers::bollard::body_full;
use testcontainers::bollard::query_parameters::{BuildImageOptions, CreateImageOptions};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// The pause between two attempts to get the turn to make the image.
const PAUSE: Duration = Duration::from_millis(200);
const REPOSITORY: &str = "picklock-node";
const BASE: (&str, &str) = ("debian", "bookworm-20251229-slim");
const BASE_SCRIPT: &str = include_str!("../base.sh");
const CONTEXT: [(&str, &str); 2] =
    [("Dockerfile", include_str!("../Dockerfile")), ("node.sh", include_str!("../node.sh"))];

/// Looks whether servers could be started, and changes nothing.
pub fn ready() -> Readiness {
    let looked = runtime().and_then(|it| it.block_on(async { is_there(&daemon().await?).await }));
    match looked {
        Ok(true) => Readiness::Ready,
        Ok(false) => Readiness::NotReady {
            reason: format!("the image {} is not there", name()),
            fix: "--backend docker builds it, once".into(),
        },
        Err(error) => Readiness::not(&error),
    }
}

/// Makes the image unless it exists. `progress` receives each line of output.
///
/// # Errors
/// Fails when there is no daemon, no base image to be had, or the build fails.
pub fn ensure_image(progress: &dyn Fn(&str)) -> Result<(), BackendError> {
    runtime()?.block_on(async { ensure(&daemon().await?, progress).await })
}

/// The repository and the tag. The tag is a hash of the files that the image is made from: a
/// changed file makes another image, and an old binary keeps its own.
pub fn tagged() -> (&'static str, String) {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in CONTEXT.iter().flat_map(|(name, text)| name.bytes().chain(text.bytes())) {
        // FNV-1a.
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    (REPOSITORY, format!("{hash:016x}"))
}

fn name() -> String {
    let (repository, tag) = tagged();
    format!("{repository}:{tag}")
}

pub async fn ensure(docker: &Docker, progress: &dyn Fn(&str)) -> Result<(), BackendError> {
    if is_there(docker).await? {
        return Ok(());
    }
    let _turn =
        turn(&name(), progress).await.map_err(|e| broken("cannot wait for the image", e))?;
    if is_there(docker).await? {
        return Ok(());
    }
    if docker.inspect_image(&format!("{}:{}", BASE.0, BASE.1)).await.is_err()
        && let Err(error) = pull_base(docker, progress).await
    {
        progress(&format!("cannot pull the base image ({error}); making it from packages"));
        bootstrap_base(progress).await?;
    }
    build(docker, progress).await
}

/// Waits until no other process of this machine makes this image. The turn ends with the listener
/// that it returns: a socket with a name that is no file's, of which nothing is left when its
/// process is killed.
async fn turn(image: &str, progress: &dyn Fn(&str)) -> io::Result<UnixListener> {
    let address = SocketAddr::from_abstract_name(image)?;
    let mut reported = false;
    loop {
        match UnixListener::bind_addr(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if !std::mem::replace(&mut reported, true) {
                    progress("another process is making the image; waiting for it");
                }
                tokio::time::sleep(PAUSE).await;
            }
            turn => return turn,
        }
    }
}

async fn is_there(docker: &Docker) -> Result<bool, BackendError> {
    use testcontainers::bollard::errors::Error::DockerResponseServerError;
    match docker.inspect_image(&name()).await {
        Ok(_) => Ok(true),
        Err(DockerResponseServerError { status_code: 404, .. }) => Ok(false),
        Err(error) => Err(broken("cannot look for the image", error)),
    }
}

async fn pull_base(docker: &Docker, progress: &dyn Fn(&str)) -> Result<(), BackendError> {
    let options = CreateImageOptions {
        from_image: Some(BASE.0.into()),
        tag: Some(BASE.1.into()),
        ..Default::default()
    };
    let mut pull = docker.create_image(Some(options), None, None);
    while let Some(step) = pull.next().await {
        let step = step.map_err(|e| BackendError(e.to_string()))?;
        progress(&step.status.unwrap_or_default());
    }
    Ok(())
}

async fn bootstrap_base(progress: &dyn Fn(&str)) -> Result<(), BackendError> {
    let image = format!("{}:{}", BASE.0, BASE.1);
    let mut script = Command::new("sh")
        // debootstrap talks on both; what it and the script complain about has to be seen.
        .args(["-c", &format!("exec 2>&1\n{BASE_SCRIPT}"), "base.sh", "--no-pull", &image])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| broken("cannot run sh", e))?;
    let mut lines = BufReader::new(script.stdout.take().expect("it is piped")).lines();
    let mut last = String::new();
    while let Ok(Some(line)) = lines.next_line().await {
        progress(&line);
        last = line;
    }
    match script.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(broken(format!("cannot make the base image {image}"), last)),
        Err(error) => Err(broken("cannot wait for sh", error)),
    }
}

async fn build(docker: &Docker, progress: &dyn Fn(&str)) -> Result<(), BackendError> {
    let context = context().map_err(|e| broken("cannot pack the build context", e))?;
    let options = BuildImageOptions { t: Some(name()), rm: true, ..Default::default() };
    let mut steps = docker.build_image(options, None, Some(body_full(context.into())));
    let mut last = String::new();
    while let Some(step) = steps.next().await {
        let text = step.map_err(|e| {
            BackendError(format!("cannot build the image {} ({e}); last line: {last}", name()))
        })?;
        for line in text.stream.iter().flat_map(|it| it.lines()).filter(|it| !it.is_empty()) {
            progress(line);
            last = line.into();
        }
    }
    Ok(())
}

fn context() -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, text) in CONTEXT {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, text.as_bytes())?;
    }
    archive.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn one_process_at_a_time_makes_the_image() {
        let image = format!("picklock-turn-{}", std::process::id());
        let reports = Cell::new(0);
        let progress = |line: &str| {
            assert!(line.contains("waiting for it"), "{line}");
            reports.set(reports.get() + 1);
        };
        let first_then_second = async {
            let first = turn(&image, &progress).await.expect("nobody else wants it");
            let mut second = Box::pin(turn(&image, &progress));
            let waited = tokio::time::timeout(3 * PAUSE, &mut second).await;
            assert!(waited.is_err(), "two at once");
            drop(first);
            second.await.expect("the first one is done");
        };
        runtime().expect("a runtime").block_on(first_then_second);
        assert_eq!(reports.get(), 1);
    }
}
