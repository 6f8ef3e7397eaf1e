//! The talk with a Toxiproxy server, by the crate `toxiproxy_rust`. It blocks, so each question is
//! asked on a thread where one may; and it takes every answer for a yes, so each change is read
//! back.

use super::toxic::{LATENCY, Toxic};
use crate::broken;
use base::BackendError;
use std::net::SocketAddr;
use tokio::task::spawn_blocking;
use toxiproxy_rust::client::Client;
use toxiproxy_rust::proxy::{Proxy, ProxyPack};
use toxiproxy_rust::toxic::ToxicPack;

/// A port of the server's choice, on the loopback.
const ANY_PORT: &str = "127.0.0.1:0";

/// A Toxiproxy server.
#[derive(Clone)]
pub struct Api {
    client: Client,
    address: SocketAddr,
}

impl Api {
    /// The server at this address. Whether it is there is seen when it is asked.
    pub async fn connect(address: SocketAddr) -> Result<Self, BackendError> {
        let client = spawn_blocking(move || Client::new(address)).await;
        let client = client.map_err(|why| broken("cannot make a client of Toxiproxy", why))?;
        Ok(Self { client, address })
    }

    /// The names of its proxies, those of others among them.
    pub async fn names(&self) -> Result<Vec<String>, BackendError> {
        self.ask(|client| match client.all() {
            Ok(all) => Ok(all.into_keys().collect()),
            Err(why) => Err(why + detour()),
        })
        .await
    }

    /// Makes a proxy before this server, or makes it anew, and returns its address.
    pub async fn create(
        &self,
        name: &str,
        upstream: SocketAddr,
    ) -> Result<SocketAddr, BackendError> {
        let (name, upstream) = (name.to_owned(), upstream.to_string());
        self.ask(move |client| {
            client.populate(vec![ProxyPack::new(name.clone(), ANY_PORT.into(), upstream.clone())])?;
            let ProxyPack { listen, upstream: to, enabled, .. } = find(client, &name)?.proxy_pack;
            let address = listen.parse().ok().filter(|it: &SocketAddr| it.port() != 0);
            address.filter(|_| enabled && to == upstream).ok_or_else(|| {
                format!("it was to listen before {upstream}, and says: {listen} before {to}, enabled: {enabled}")
            })
        })
        .await
    }

    /// Deletes those of these proxies that are there.
    pub async fn delete(&self, names: Vec<String>) -> Result<(), BackendError> {
        self.ask(move |client| {
            for proxy in client.all()?.into_values() {
                if names.contains(&proxy.proxy_pack.name) {
                    proxy.delete()?;
                }
            }
            let left: Vec<_> =
                client.all()?.into_keys().filter(|name| names.contains(name)).collect();
            match left.as_slice() {
                [] => Ok(()),
                left => Err(format!("it still has proxies that it was to delete: {left:?}")),
            }
        })
        .await
    }

    /// Gives a proxy these toxics and no others.
    pub async fn set_toxics(&self, name: &str, wanted: Vec<Toxic>) -> Result<(), BackendError> {
        let name = name.to_owned();
        self.ask(move |client| {
            let proxy = find(client, &name)?;
            proxy.delete_all_toxics()?;
            for toxic in &wanted {
                let stream = toxic.stream.to_string();
                match toxic.kind {
                    LATENCY => proxy.with_latency(stream, toxic.amount, 0, 1.0),
                    _ => proxy.with_bandwidth(stream, toxic.amount, 1.0),
                };
            }
            compare(&proxy, &wanted)
        })
        .await
    }

    /// Checks that a proxy has these toxics and no others.
    pub async fn check_toxics(&self, name: &str, wanted: Vec<Toxic>) -> Result<(), BackendError> {
        let name = name.to_owned();
        self.ask(move |client| compare(&find(client, &name)?, &wanted)).await
    }

    /// Has a proxy take connections, or break those that it has and take no more.
    pub async fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), BackendError> {
        let name = name.to_owned();
        self.ask(move |client| {
            let proxy = find(client, &name)?;
            if enabled { proxy.enable() } else { proxy.disable() }?;
            let is_so = find(client, &name)?.proxy_pack.enabled == enabled;
            let complaint = || format!("{name} was to be enabled: {enabled}, and is not so");
            is_so.then_some(()).ok_or_else(complaint)
        })
        .await
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Client) -> Result<T, String> + Send + 'static,
    ) -> Result<T, BackendError> {
        let client = self.client.clone();
        let answer = spawn_blocking(move || question(&client)).await;
        // The library panics when nobody answers as it makes a toxic.
        let answer = answer.unwrap_or_else(|_| Err("no answer".into()));
        answer.map_err(|why| broken(format!("Toxiproxy at {}", self.address), why))
    }
}

fn find(client: &Client, name: &str) -> Result<Proxy, String> {
    client.find_proxy(name).map_err(|why| format!("it has no proxy {name} any more: {why}"))
}

/// Compares the toxics that a proxy lists with those that it was to have.
fn compare(proxy: &Proxy, wanted: &[Toxic]) -> Result<(), String> {
    let mut listed: Vec<String> = proxy.toxics()?.iter().map(described).collect();
    let mut asked: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    listed.sort_unstable();
    asked.sort_unstable();
    match listed == asked {
        true => Ok(()),
        false => {
            let name = &proxy.proxy_pack.name;
            let (asked, listed) = (quoted(&asked), quoted(&listed));
            Err(format!("it was to have {asked} on {name}, and lists {listed}"))
        }
    }
}

/// Renders toxics for a message.
fn quoted(toxics: &[String]) -> String {
    if toxics.is_empty() { "no toxic".into() } else { format!("\"{}\"", toxics.join("\", \"")) }
}

/// A toxic as the server lists it, in the words of [`Toxic`].
fn described(toxic: &ToxicPack) -> String {
    let mut attributes: Vec<_> = toxic.attributes.iter().collect();
    attributes.sort_unstable();
    let attributes = attributes.into_iter().map(|(name, value)| format!(" {name}={value}"));
    let (kind, stream) = (&toxic.r#type, &toxic.stream);
    format!("{kind} {stream}{} toxicity={}", attributes.collect::<String>(), toxic.toxicity)
}

/// A hint where the library goes a way around that leads nowhere.
fn detour() -> &'static str {
    let is_set = |name: &&str| std::env::var_os(name).is_some();
    match ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].iter().any(is_set) {
        true => " (HTTP_PROXY is set: is 127.0.0.1 in NO_PROXY?)",
        false => "",
    }
}
