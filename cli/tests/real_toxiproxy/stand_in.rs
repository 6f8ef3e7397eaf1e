//! A small stand-in for Shopify's Toxiproxy, version 2: its HTTP API, as far as picklock and the
//! crate `toxiproxy_rust` use it, over proxies that really forward.

#![expect(
    clippy::disallowed_methods,
    reason = "it forwards over real connections, on real threads"
)]

use super::forward::Forwarder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// The trick of a stand-in that does otherwise than it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trick {
    /// Nothing.
    None,
    /// It refuses every toxic.
    Refuses,
    /// It says that it has made a toxic, and has not.
    Forgets,
    /// It lists a toxic that does nothing.
    Idles,
    /// It lists a toxic once, and then it is gone.
    Wanes,
    /// It says that it has deleted a proxy, and has not.
    Keeps,
}

/// A running stand-in. It ends with the process.
pub struct StandIn {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    trick: Trick,
    proxies: BTreeMap<String, Proxy>,
    /// The toxics that it was asked for, as they were sent.
    asked: Vec<Value>,
}

struct Proxy {
    listen: String,
    upstream: String,
    forwarder: Option<Forwarder>,
    toxics: Arc<Mutex<Vec<Value>>>,
}

type Response = (u16, Value);

impl StandIn {
    pub fn start(trick: Trick) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = State { trick, proxies: BTreeMap::new(), asked: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { address, state }
    }

    /// The value of `--links`.
    pub fn links(&self) -> String {
        format!("toxiproxy=http://{}", self.address)
    }

    /// Makes a proxy of somebody's.
    pub fn add(&self, name: &str) {
        let proxy = json!({ "name": name, "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1" });
        self.lock().create(&proxy, true).expect("it is made");
    }

    pub fn names(&self) -> Vec<String> {
        self.lock().proxies.keys().cloned().collect()
    }

    /// The types of the toxics that it was asked for, each with its way.
    pub fn asked(&self) -> Vec<String> {
        let described =
            |toxic: &Value| format!("{} {}", text(toxic, "type"), text(toxic, "stream"));
        self.lock().asked.iter().map(described).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn error(status: u16, why: &str) -> Response {
    (status, json!({ "error": why, "status": status }))
}

fn no_proxy() -> Response {
    error(404, "proxy not found")
}

/// Serves the requests of a connection until it is closed.
fn serve(mut stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) <= 2 {
                break;
            }
            if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("the body");
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (status, body) = state.lock().expect("whole").answer(method, &parts, &body);
        let body = if status == 204 { String::new() } else { body.to_string() };
        let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n");
        let length = if status == 204 {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        if stream.write_all(format!("{head}{length}\r\n{body}").as_bytes()).is_err() {
            return;
        }
    }
}

impl State {
    fn answer(&mut self, method: &str, parts: &[&str], body: &Value) -> Response {
        let answer = match (method, parts) {
            ("GET", ["version"]) => Ok((200, json!({ "version": "2.12.0" }))),
            ("GET", ["proxies"]) => Ok((200, self.listed())),
            ("POST", ["populate"]) => Ok(self.populate(body)),
            ("POST", ["proxies"]) => self.create(body, false).map(|proxy| (201, proxy)),
            ("GET", ["proxies", name]) => self.shown(name).map(|proxy| (200, proxy)),
            ("POST" | "PATCH", ["proxies", name]) => self.update(name, body),
            ("DELETE", ["proxies", name]) => self.delete(name),
            ("GET", ["proxies", name, "toxics"]) => self.list_toxics(name),
            ("POST", ["proxies", name, "toxics"]) => self.make_toxic(name, body),
            ("DELETE", ["proxies", name, "toxics", toxic]) => self.delete_toxic(name, toxic),
            _ => Err(error(404, "page not found")),
        };
        answer.unwrap_or_else(|refusal| refusal)
    }

    fn proxy(&mut self, name: &str) -> Result<&mut Proxy, Response> {
        self.proxies.get_mut(name).ok_or_else(no_proxy)
    }

    fn listed(&self) -> Value {
        self.proxies.iter().map(|(name, proxy)| (name.clone(), proxy.shown(name))).collect()
    }

    fn shown(&mut self, name: &str) -> Result<Value, Response> {
        self.proxy(name).map(|proxy| proxy.shown(name))
    }

    fn populate(&mut self, body: &Value) -> Response {
        let mut made = Vec::new();
        for proxy in body.as_array().into_iter().flatten() {
            match self.create(proxy, true) {
                Ok(proxy) => made.push(proxy),
                Err((status, mut refusal)) => {
                    refusal["proxies"] = Value::Null;
                    return (status, refusal);
                }
            }
        }
        (201, json!({ "proxies": made }))
    }

    fn create(&mut self, body: &Value, replaces: bool) -> Result<Value, Response> {
        let name = text(body, "name");
        if self.proxies.contains_key(name) && !replaces {
            return Err(error(409, "proxy already exists"));
        }
        if name.is_empty() || text(body, "upstream").is_empty() {
            return Err(error(400, "missing required field"));
        }
        self.proxies.remove(name);
        let mut proxy = Proxy {
            listen: text(body, "listen").into(),
            upstream: text(body, "upstream").into(),
            forwarder: None,
            toxics: Arc::default(),
        };
        if body["enabled"].as_bool().unwrap_or(true) {
            proxy.start(self.trick)?;
        }
        let shown = proxy.shown(name);
        self.proxies.insert(name.into(), proxy);
        Ok(shown)
    }

    fn update(&mut self, name: &str, body: &Value) -> Result<Response, Response> {
        let trick = self.trick;
        let proxy = self.proxy(name)?;
        match (body["enabled"].as_bool(), proxy.forwarder.is_some()) {
            (Some(true), false) => proxy.start(trick)?,
            (Some(false), true) => proxy.forwarder = None,
            _ => {}
        }
        Ok((200, proxy.shown(name)))
    }

    fn delete(&mut self, name: &str) -> Result<Response, Response> {
        self.proxy(name)?;
        if self.trick != Trick::Keeps {
            self.proxies.remove(name);
        }
        Ok((204, Value::Null))
    }

    fn list_toxics(&mut self, name: &str) -> Result<Response, Response> {
        let wanes = self.trick == Trick::Wanes;
        let proxy = self.proxy(name)?;
        let listed = proxy.listed_toxics();
        if wanes {
            proxy.toxics.lock().expect("whole").clear();
        }
        Ok((200, listed))
    }

    fn make_toxic(&mut self, name: &str, body: &Value) -> Result<Response, Response> {
        self.asked.push(body.clone());
        let trick = self.trick;
        let mut toxics = self.proxy(name)?.toxics.lock().expect("whole");
        let mut toxic = body.clone();
        if text(&toxic, "name").is_empty() {
            let name = format!("{}_{}", text(&toxic, "type"), text(&toxic, "stream"));
            toxic["name"] = name.into();
        }
        match () {
            () if trick == Trick::Refuses
                || !["upstream", "downstream"].contains(&text(&toxic, "stream")) =>
            {
                Err(error(400, "stream was invalid, can be either upstream or downstream"))
            }
            () if !["latency", "bandwidth"].contains(&text(&toxic, "type")) => {
                Err(error(400, "invalid toxic type"))
            }
            () if toxics.iter().any(|it| it["name"] == toxic["name"]) => {
                Err(error(409, "toxic already exists"))
            }
            () => {
                if trick != Trick::Forgets {
                    toxics.push(toxic.clone());
                }
                Ok((200, toxic))
            }
        }
    }

    fn delete_toxic(&mut self, name: &str, toxic: &str) -> Result<Response, Response> {
        let mut toxics = self.proxy(name)?.toxics.lock().expect("whole");
        let place = toxics.iter().position(|it| text(it, "name") == toxic);
        let place = place.ok_or_else(|| error(404, "toxic not found"))?;
        toxics.remove(place);
        Ok((204, Value::Null))
    }
}

impl Proxy {
    fn shown(&self, name: &str) -> Value {
        json!({
            "name": name,
            "listen": self.listen,
            "upstream": self.upstream,
            "enabled": self.forwarder.is_some(),
            "Logger": {},
            "toxics": self.listed_toxics(),
        })
    }

    fn listed_toxics(&self) -> Value {
        Value::Array(self.toxics.lock().expect("whole").clone())
    }

    fn start(&mut self, trick: Trick) -> Result<(), Response> {
        let toxics = if trick == Trick::Idles { Arc::default() } else { self.toxics.clone() };
        let forwarder = Forwarder::start(&self.listen, self.upstream.clone(), toxics);
        let forwarder = forwarder.map_err(|why| error(500, &why.to_string()))?;
        self.listen = forwarder.address.to_string();
        self.forwarder = Some(forwarder);
        Ok(())
    }
}
