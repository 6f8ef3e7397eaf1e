//! The requests, as calls of the library.

use crate::zookeeper::{CreateMode, Reply, Request, WatchEvent, WatchId};
use base::LocalFuture;
use futures_util::FutureExt;
use futures_util::future::Shared;
use zookeeper_client as zk;

/// The event of a watch, for as many as want to know.
pub(super) type FiredWatch = Shared<LocalFuture<'static, WatchEvent>>;

type AnswerAndWatch = (Reply, Option<(WatchId, FiredWatch)>);

/// Makes a request. A watch that it set comes with the reply.
pub(super) async fn perform(
    client: &zk::Client,
    request: Request,
) -> Result<AnswerAndWatch, zk::Error> {
    match request {
        Request::Create { path, data, mode } => create(client, path, &data, mode).await,
        Request::Delete { path, version } => {
            client.delete(&path, version).await?;
            Ok((Reply::Deleted, None))
        }
        Request::SetData { path, data, version } => {
            let stat = client.set_data(&path, &data, version).await?;
            Ok((Reply::DataSet(stat.version), None))
        }
        Request::Sync { path } => {
            client.sync(&path).await?;
            Ok((Reply::Synced, None))
        }
        Request::Exists { path, watch: None } => {
            let stat = client.check_stat(&path).await?;
            Ok((Reply::Exists(stat.map(|stat| stat.czxid)), None))
        }
        Request::Exists { path, watch: Some(id) } => {
            let (stat, watcher) = client.check_and_watch_stat(&path).await?;
            Ok((Reply::Exists(stat.map(|stat| stat.czxid)), Some((id, fired(watcher)))))
        }
        Request::GetData { path, watch: None } => {
            let (data, stat) = client.get_data(&path).await?;
            Ok((Reply::Data { data, version: stat.version }, None))
        }
        Request::GetData { path, watch: Some(id) } => {
            let (data, stat, watcher) = client.get_and_watch_data(&path).await?;
            Ok((Reply::Data { data, version: stat.version }, Some((id, fired(watcher)))))
        }
        Request::GetChildren { path, watch: None } => {
            Ok((Reply::Children(client.list_children(&path).await?), None))
        }
        Request::GetChildren { path, watch: Some(id) } => {
            let (children, watcher) = client.list_and_watch_children(&path).await?;
            Ok((Reply::Children(children), Some((id, fired(watcher)))))
        }
    }
}

async fn create(
    client: &zk::Client,
    path: String,
    data: &[u8],
    mode: CreateMode,
) -> Result<AnswerAndWatch, zk::Error> {
    let kind = match mode {
        CreateMode::Persistent => zk::CreateMode::Persistent,
        CreateMode::Ephemeral => zk::CreateMode::Ephemeral,
        CreateMode::EphemeralSequential => zk::CreateMode::EphemeralSequential,
    };
    let options = kind.with_acls(zk::Acls::anyone_all());
    let (stat, sequence) = client.create(&path, data, &options).await?;
    let path = match mode {
        CreateMode::EphemeralSequential => format!("{path}{sequence}"),
        CreateMode::Persistent | CreateMode::Ephemeral => path,
    };
    Ok((Reply::Created { path, czxid: stat.czxid }, None))
}

/// The event of a watch.
fn fired(watcher: zk::OneshotWatcher) -> FiredWatch {
    let event: LocalFuture<'static, WatchEvent> =
        Box::pin(async move { event_of(watcher.changed().await.event_type) });
    event.shared()
}

const fn event_of(event: zk::EventType) -> WatchEvent {
    match event {
        zk::EventType::NodeCreated => WatchEvent::Created,
        zk::EventType::NodeDeleted => WatchEvent::Deleted,
        zk::EventType::NodeDataChanged => WatchEvent::DataChanged,
        zk::EventType::NodeChildrenChanged => WatchEvent::ChildrenChanged,
        // One-shot watches hear of the session only when it is over.
        zk::EventType::Session => WatchEvent::SessionExpired,
    }
}
