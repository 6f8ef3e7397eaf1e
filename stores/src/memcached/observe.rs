//! The observer of a real memcached, which reports to its watchers a line for each look at an item,
//! each write and each eviction. The numbers of the lines are in the order in which its threads did
//! that; the lines come in another, and some time later.
//!
//! A `delete` shows as a look, as a `get` does. Which of them it was the requests of clients tell:
//! the first one on a connection made the first look. An item that is over shows at a look, too:
//! once it may be, the observer looks again and again, which counts as no use of the item. The last
//! lines of a server that is killed never come: in their place the replies tell what it still did.
//!
//! Not seen are a `delete` that comes through no link, and `flush_all` until somebody looks at an
//! item. Lines for which the server has no room are lost; it counts them, and is followed no longer
//! then.
//!
//! A server that others use, too, tells of all of them. Only connections from here and keys of the
//! run are reckoned with; the numbers go on from those of watchers before; and the clock lags.

mod given;

use super::text_connection::{SentCommand, TextConnection};
use crate::allotment::own_name;
use crate::model::{By, Name, Noted, What};
use crate::observation::{
    Observation, ObservedServer, Observer, Passage, ReportSink, ServerReport, Traffic,
};
use crate::real::{MachineClock, monotonic_nanos};
use percent_encoding::percent_decode_str;
use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{interval, sleep};

/// The way to observe a server.
pub const OBSERVER: Observer =
    Observer { begin: |server| Box::pin(begin(server)), reads_traffic: true };

const WATCH: &[u8] = b"watch fetchers mutations evictions connevents\r\n";

/// The number of the first line: the watcher itself has that before it.
const FIRST: u64 = 2;

/// A look that tells, by its line, that all lines before it are there.
const MARK: &str = "picklock-mark";

/// The interval between two looks at an item that may be over.
const LOOKED_EVERY: Duration = Duration::from_millis(5);

/// The time after which the last replies of a dead server have come.
const LAST_REPLIES: Duration = Duration::from_millis(100);

const SECOND_NS: u64 = 1_000_000_000;

/// A server that is watched.
struct WatchedServer {
    lines: Lines<BufReader<TcpStream>>,
    /// The observer's own questions, and the answers to them.
    questions: OwnedWriteHalf,
    answers: Lines<BufReader<OwnedReadHalf>>,
    traffic: UnboundedReceiver<Traffic>,
    /// Those who want to know when all that is done is reported.
    waiting: UnboundedReceiver<oneshot::Sender<()>>,
    /// The server's counts of lines that were lost before.
    lost_before: Vec<String>,
    report: WatchReport,
}

async fn begin(server: ObservedServer) -> io::Result<Observation> {
    let ObservedServer { endpoint, allotment, traffic, reports, .. } = server;
    let mut watching = endpoint.connect().await?;
    watching.write_all(WATCH).await?;
    let mut lines = BufReader::new(watching).lines();
    if lines.next_line().await?.as_deref() != Some("OK") {
        return Err(io::Error::other("it lets nobody watch"));
    }
    let (answers, questions) = endpoint.connect().await?.into_split();
    let answers = BufReader::new(answers).lines();
    let (wait, waiting) = unbounded_channel();
    let (report, lost_before) = (WatchReport::new(reports), Vec::new());
    let mut watched =
        WatchedServer { lines, questions, answers, traffic, waiting, lost_before, report };
    if let Some(allotment) = allotment {
        watched.prepare(allotment).await?;
    }
    Ok(Observation {
        following: Box::pin(watched.follow()),
        catch_up: Box::new(move || {
            let (done, is_done) = oneshot::channel();
            let is_asked = wait.send(done).is_ok();
            Box::pin(async move {
                if !is_asked || is_done.await.is_err() {
                    pending().await
                }
            })
        }),
    })
}

impl WatchedServer {
    async fn follow(mut self) {
        // Of a server of somebody else nobody knows what it did last.
        if self.watch().await.is_none() || self.report.given.is_some() {
            return (self.report.reports)(ServerReport::Incomplete);
        }
        sleep(LAST_REPLIES).await;
        self.take_traffic();
        self.report.conclude();
        // It is in the place of this one, and empty, when there is no more traffic.
        while self.traffic.recv().await.is_some() {}
        self.report.wipe();
    }

    /// Reports until the server is gone; `None`: no longer, because it may have missed something.
    async fn watch(&mut self) -> Option<()> {
        let mut looks = interval(LOOKED_EVERY);
        let mut wait = VecDeque::<oneshot::Sender<()>>::new();
        loop {
            let ask = tokio::select! {
                line = self.lines.next_line() => {
                    let Ok(Some(line)) = line else { return Some(()) };
                    "stats\r\n".repeat(self.hear(line)?)
                }
                answer = self.answers.next_line() => {
                    let Ok(Some(answer)) = answer else { break };
                    if has_lost(&answer) && !self.lost_before.contains(&answer) {
                        return None;
                    }
                    if answer == "END" && let Some(done) = wait.pop_front() {
                        // Whoever does not wait any more needs no answer.
                        let _ = done.send(());
                    }
                    continue;
                }
                done = self.waiting.recv() => {
                    wait.push_back(done?);
                    look(self.report.mark())
                }
                _ = looks.tick() => self.report.due().map(look).collect(),
            };
            // A server that is gone ends the lines.
            let _ = self.questions.write_all(ask.as_bytes()).await;
        }
        while let Ok(Some(line)) = self.lines.next_line().await {
            self.hear(line)?;
        }
        Some(())
    }

    /// Takes a line, after the requests that it may be about.
    fn hear(&mut self, line: String) -> Option<usize> {
        self.take_traffic();
        self.report.take(line)
    }

    fn take_traffic(&mut self) {
        while let Ok(traffic) = self.traffic.try_recv() {
            self.report.pass(traffic);
        }
    }
}

fn look(key: &str) -> String {
    format!("me {key}\r\n")
}

/// Returns true if an answer to `stats` says that lines were lost.
fn has_lost(answer: &str) -> bool {
    let count = ["STAT log_worker_dropped ", "STAT log_watcher_skipped "];
    count.iter().any(|it| answer.strip_prefix(it).is_some_and(|count| count != "0"))
}

/// The reading of what a server says, and of what goes over the connections of its clients.
struct WatchReport {
    reports: ReportSink,
    /// The lines that came before others of a smaller number.
    early: BTreeMap<u64, String>,
    /// The number of the next line.
    next: u64,
    /// The port of each connection, by the server's name for it.
    ports: BTreeMap<String, u16>,
    /// The connections from each port of a client, in order.
    clients: BTreeMap<u16, VecDeque<TextConnection>>,
    /// The items of clients that are there, each with the time from which it may be over.
    standing: BTreeMap<String, u64>,
    /// The time of the last report, or of a request that has been carried out since.
    past_ns: u64,
    /// The time by which the server's wall clock is ahead of CLOCK_MONOTONIC.
    ahead_ns: u64,
    /// The knowledge of a server that others use, too.
    given: Option<SharedWatch>,
}

/// The knowledge of a server that others use, too.
struct SharedWatch {
    /// The name that the run's own keys have in them.
    allotment: String,
    /// The look that tells that all lines before it are there.
    mark: String,
    /// The address that connections from here come from.
    address: String,
}

impl WatchReport {
    fn new(reports: ReportSink) -> Self {
        Self {
            reports,
            early: BTreeMap::new(),
            next: FIRST,
            ports: BTreeMap::new(),
            clients: BTreeMap::new(),
            standing: BTreeMap::new(),
            past_ns: 0,
            ahead_ns: 0,
            given: None,
        }
    }

    /// The key of a look that tells that all lines before it are there.
    fn mark(&self) -> &str {
        self.given.as_ref().map_or(MARK, |given| &given.mark)
    }

    /// The name that the run has for a key, if it is one of its own.
    fn own(&self, key: &str) -> Option<Name> {
        let allotment = self.given.as_ref().map(|given| &*given.allotment);
        own_name(allotment, Name::from_slice(key.as_bytes()))
    }

    /// Returns true if a line is of a connection from here.
    fn is_from_here(&self, line: &str) -> bool {
        self.given.as_ref().is_none_or(|given| field(line, "rip") == Some(&given.address))
    }

    fn pass(&mut self, Traffic { at_ns, caller, passage }: Traffic) {
        let connections = self.clients.entry(caller).or_default();
        let is_open = connections.back().is_some_and(|last| !last.is_closed);
        if !is_open && matches!(passage, Passage::Request(_)) {
            connections.push_back(TextConnection::default());
        }
        let Some(connection) = connections.back_mut() else { return };
        match passage {
            Passage::Request(bytes) => connection.ask(at_ns, &bytes),
            Passage::Reply(bytes) => connection.answer(at_ns, &bytes),
            Passage::Closed if connection.is_over => drop(connections.pop_back()),
            Passage::Closed => connection.is_closed = true,
        }
    }

    /// Takes the next line. Returns how many marks have come; `None`: it is not what it should be.
    fn take(&mut self, line: String) -> Option<usize> {
        if self.given.is_none() {
            // An exact measure: whoever is interrupted in between measures less.
            let clock = MachineClock::default();
            self.ahead_ns = self.ahead_ns.max(clock.wall().nanos().checked_sub(monotonic_nanos())?);
        }
        let number = field(&line, "gid")?.parse().ok()?;
        self.early.insert(number, line);
        let mut marks = 0;
        while let Some(line) = self.early.remove(&self.next) {
            self.next += 1;
            marks += usize::from(field(&line, "key") == Some(self.mark()));
            self.event(&line)?;
        }
        Some(marks)
    }

    fn event(&mut self, line: &str) -> Option<()> {
        let at_ns = nanos(field(line, "ts")?)?.saturating_sub(self.ahead_ns);
        let name = || field(line, "cfd");
        let key = || Some(percent_decode_str(field(line, "key")?).decode_utf8_lossy().into_owned());
        match field(line, "type")? {
            "conn_new" if self.is_from_here(line) => {
                self.ports.insert(name()?.into(), field(line, "rport")?.parse().ok()?);
            }
            "conn_close" => self.close(name()?),
            "item_get" => {
                let port = self.ports.get(name()?).copied();
                self.look(at_ns, port, key()?, field(line, "status")? == "found")?;
            }
            "item_store" if field(line, "status")? == "stored" => {
                let port = self.ports.get(name()?).copied();
                if port.is_some_and(|port| self.clients.contains_key(&port)) {
                    let life_ns = field(line, "ttl")?.parse::<u64>().ok()? * SECOND_NS;
                    self.write(at_ns, port, key()?, life_ns);
                }
            }
            "eviction" => self.remove(at_ns, None, &key()?, What::Evicted),
            _ => {}
        }
        Some(())
    }

    /// The server has closed a connection.
    fn close(&mut self, name: &str) {
        let port = self.ports.remove(name);
        let Some(connections) = port.and_then(|port| self.clients.get_mut(&port)) else { return };
        match connections.front_mut() {
            Some(first) if first.is_closed => drop(connections.pop_front()),
            Some(first) => first.is_over = true,
            None => {}
        }
    }

    /// A command of somebody at a port has looked at an item, and found it or not.
    fn look(&mut self, at_ns: u64, port: Option<u16>, key: String, found: bool) -> Option<()> {
        let client = port.and_then(|port| self.clients.get_mut(&port));
        let command = client.map(|it| it.front_mut()?.carried_out().filter(|it| it.key == key));
        if !found {
            self.remove(at_ns, None, &key, What::Expired);
        }
        if let Some(command) = command {
            let command = command?;
            self.past_ns = self.past_ns.max(command.asked_ns);
            if found && command.deletes {
                self.remove(at_ns, port, &key, What::Deleted(By::Caller));
            }
        }
        Some(())
    }

    /// The items that may be over by now.
    fn due(&self) -> impl Iterator<Item = &str> {
        let now_ns = monotonic_nanos();
        self.standing.iter().filter(move |(_, due)| **due <= now_ns).map(|(key, _)| key.as_str())
    }

    /// Reports what the server has done last: whatever it has answered that no line tells of.
    fn conclude(&mut self) {
        let clients = std::mem::take(&mut self.clients).into_iter();
        let unread = |(port, connections): (u16, VecDeque<TextConnection>)| {
            let commands = connections.into_iter().flat_map(TextConnection::unread);
            commands.map(move |command| (port, command))
        };
        let mut last: Vec<_> = clients.flat_map(unread).collect();
        last.sort_by_key(|(_, command)| command.done_ns.unwrap_or(u64::MAX));
        while let Some(at_ns) = last.iter().find_map(|(_, command)| command.done_ns) {
            // One that could not be done yet was done after another.
            let can =
                |(_, it): &(u16, SentCommand)| it.deletes == self.standing.contains_key(&it.key);
            let next = last.iter().position(can).unwrap_or(0);
            let (port, command) = last.remove(next);
            match command.deletes {
                true => self.remove(at_ns, Some(port), &command.key, What::Deleted(By::Caller)),
                false => {
                    self.remove(at_ns, None, &command.key, What::Expired);
                    self.write(at_ns, Some(port), command.key, 0);
                }
            }
        }
    }

    /// Reports that the server has lost its data by now.
    fn wipe(&mut self) {
        let now_ns = monotonic_nanos();
        for (key, _) in std::mem::take(&mut self.standing) {
            self.tell(now_ns, None, &key, What::Wiped);
        }
    }

    /// An item is stored that may be over from the last second of its life on; never where that is
    /// zero.
    fn write(&mut self, at_ns: u64, port: Option<u16>, key: String, life_ns: u64) {
        if self.own(&key).is_none() {
            return;
        }
        self.tell(at_ns, port, &key, What::Written(By::Caller));
        let due_ns = life_ns.checked_sub(SECOND_NS).map_or(u64::MAX, |sure_ns| at_ns + sure_ns);
        self.standing.insert(key, due_ns);
    }

    /// An item is gone, if it was there.
    fn remove(&mut self, at_ns: u64, port: Option<u16>, key: &str, what: What) {
        if self.standing.remove(key).is_some() {
            self.tell(at_ns, port, key, what);
        }
    }

    fn tell(&mut self, at_ns: u64, caller: Option<u16>, key: &str, what: What) {
        self.past_ns = self.past_ns.max(at_ns);
        let Some(object) = self.own(key) else { return };
        let noted = Noted { object, what, zxid: None };
        (self.reports)(ServerReport::Change { caller, noted, at_ns: Some(self.past_ns), value: 0 });
    }
}

/// The value of a field in a line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
    fields.find(|(it, _)| *it == name).map(|(_, value)| value)
}

/// Reads a time in seconds and, behind the point, microseconds without leading zeros.
fn nanos(time: &str) -> Option<u64> {
    let (seconds, micros) = time.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * SECOND_NS + micros.parse::<u64>().ok()? * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Reads what clients and server say, `|` for the end of a line of theirs, and returns what is
    /// reported.
    fn reported(transcript: &str) -> Vec<String> {
        reported_of(None, transcript)
    }

    /// The same of a server that others use, too.
    fn reported_of(given: Option<SharedWatch>, transcript: &str) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let hearing = lines.clone();
        let reports: ReportSink = Arc::new(move |report| {
            let ServerReport::Change { caller, noted: Noted { object, what, .. }, .. } = report
            else {
                return;
            };
            let caller = caller.map_or("nobody".into(), |port| port.to_string());
            let line = format!("{caller} {what:?} {}", String::from_utf8_lossy(&object));
            hearing.lock().expect("nobody panics").push(line);
        });
        let mut report = WatchReport { given, ..WatchReport::new(reports) };
        for (at_ns, line) in
            (1..).zip(transcript.lines().map(str::trim).filter(|it| !it.is_empty()))
        {
            let mut pass = |port: &str, passage| {
                let caller = port.parse().expect("a port");
                report.pass(Traffic { at_ns, caller, passage });
            };
            let bytes = |text: &str| text.replace('|', "\r\n").into_bytes();
            match line.split_once(' ').unwrap_or((line, "")) {
                (port, "closes") => pass(port, Passage::Closed),
                (port, text) if text.starts_with("> ") => {
                    pass(port, Passage::Request(bytes(&text[2..])))
                }
                (port, text) if text.starts_with("< ") => {
                    pass(port, Passage::Reply(bytes(&text[2..])))
                }
                ("dies", _) => report.conclude(),
                ("restarts", _) => report.wipe(),
                _ => drop(report.take(format!("ts=0.5 {line}")).expect("as it should be")),
            }
        }
        std::mem::take(&mut lines.lock().expect("nobody panics"))
    }

    #[test]
    fn a_look_is_what_the_request_says_and_the_numbers_are_the_order() {
        let seen = reported(
            "71 > add lock:1 0 5 1|-|
             gid=2 type=conn_new rip=::1 rport=71 transport=tcp cfd=24
             72 > add lock:1 0 5 1|
             72 > -|get lock:1|delete lo
             72 > ck:1|
             71 > delete lock:1|
             gid=6 type=item_get key=lock%3A1 status=found clsid=1 cfd=24 size=1
             gid=5 type=conn_new rip=::1 rport=72 transport=tcp cfd=25
             gid=3 type=item_get key=lock%3A1 status=not_found clsid=0 cfd=24 size=0
             gid=4 type=item_store key=lock%3A1 status=stored cmd=add ttl=5 clsid=1 cfd=24 size=1
             71 closes
             gid=7 type=conn_close rip=::1 rport=71 transport=tcp reason=normal cfd=24
             gid=8 type=item_get key=lock%3A1 status=not_found clsid=0 cfd=25 size=0
             gid=9 type=item_store key=lock%3A1 status=stored cmd=add ttl=5 clsid=1 cfd=25 size=1
             gid=10 type=item_get key=lock%3A1 status=found clsid=1 cfd=25 size=1
             gid=11 type=item_get key=lock%3A1 status=found clsid=1 cfd=25 size=1",
        );
        let expected = [
            "71 Written(Caller) lock:1",
            "71 Deleted(Caller) lock:1",
            "72 Written(Caller) lock:1",
            "72 Deleted(Caller) lock:1",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn of_a_server_of_somebody_else_only_our_connections_and_keys_count() {
        let given = SharedWatch {
            allotment: "run_1".into(),
            mark: "run_1-mark".into(),
            address: "::1".into(),
        };
        let seen = reported_of(
            Some(given),
            "71 > add run_1:a 0 5 1|-|add theirs 0 5 1|-|
             gid=2 type=conn_new rip=::1 rport=71 transport=tcp cfd=24
             gid=3 type=conn_new rip=::2 rport=71 transport=tcp cfd=25
             gid=4 type=item_get key=theirs status=not_found clsid=0 cfd=25 size=0
             gid=5 type=item_get key=run_1%3Aa status=not_found clsid=0 cfd=24 size=0
             gid=6 type=item_store key=run_1%3Aa status=stored cmd=add ttl=5 clsid=1 cfd=24 size=1
             gid=7 type=conn_close rip=::2 rport=71 transport=tcp reason=normal cfd=25
             gid=8 type=item_get key=theirs status=not_found clsid=0 cfd=24 size=0
             gid=9 type=item_store key=theirs status=stored cmd=add ttl=5 clsid=1 cfd=24 size=1
             gid=10 type=eviction key=theirs fetch=no ttl=2 la=0 clsid=1 size=1
             gid=11 type=eviction key=run_1%3Aa fetch=no ttl=2 la=0 clsid=1 size=1",
        );
        assert_eq!(seen, ["71 Written(Caller) a", "nobody Evicted a"]);
    }

    #[test]
    fn an_item_is_over_when_anybody_finds_it_so_and_junk_is_nothing() {
        let seen = reported(
            "gid=2 type=conn_new rip=::1 rport=70 transport=tcp cfd=23
             gid=3 type=conn_new rip=::1 rport=71 transport=tcp cfd=24
             71 > add a 0 5 1|-|add b 0 5 1|-|
             gid=4 type=item_get key=a status=not_found clsid=0 cfd=24 size=0
             gid=5 type=item_store key=a status=stored cmd=add ttl=5 clsid=1 cfd=24 size=1
             gid=6 type=item_get key=b status=not_found clsid=0 cfd=24 size=0
             gid=7 type=item_store key=b status=stored cmd=add ttl=5 clsid=1 cfd=24 size=1
             gid=8 type=item_get key=a status=found clsid=1 cfd=23 size=1
             gid=9 type=item_get key=a status=expired clsid=0 cfd=23 size=0
             gid=10 type=item_store key=junk status=stored cmd=set ttl=0 clsid=1 cfd=23 size=1
             gid=11 type=eviction key=b fetch=no ttl=2 la=0 clsid=1 size=1
             gid=12 type=eviction key=junk fetch=no ttl=-1 la=0 clsid=1 size=1
             restarts",
        );
        let expected = [
            "71 Written(Caller) a",
            "71 Written(Caller) b",
            "nobody Expired a",
            "nobody Evicted b",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_a_dead_server_did_last_is_known_by_its_replies() {
        let seen = reported(
            "gid=2 type=conn_new rip=::1 rport=71 transport=tcp cfd=24
             71 > add a 0 5 1|-|
             gid=3 type=item_get key=a status=not_found clsid=0 cfd=24 size=0
             gid=4 type=item_store key=a status=stored cmd=add ttl=5 clsid=1 cfd=24 size=1
             71 < STORED|
             71 > delete a|
             72 > add a 0 5 1|-|
             73 > add b 0 5 1|-|
             74 > add a 0 5 1|-|
             72 < STORED|
             74 < NOT_STORED|
             72 closes
             dies
             restarts",
        );
        let expected = [
            "71 Written(Caller) a",
            "71 Deleted(Caller) a",
            "72 Written(Caller) a",
            "nobody Wiped a",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn microseconds_have_no_leading_zeros_and_lost_lines_are_counted() {
        assert_eq!(nanos("1795666241.85238"), Some(1_795_666_241_085_238_000));
        assert!(has_lost("STAT log_worker_dropped 3") && !has_lost("STAT log_watcher_skipped 0"));
    }
}
