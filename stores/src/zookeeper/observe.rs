//! The observer of a real ensemble's members. Their transaction logs have the changes, and the
//! connections of clients tell who made them.
//!
//! A log is a number of files `version-2/log.<first zxid>`, each with a head of 16 bytes and a tail
//! of zeros that are not written yet (`org.apache.zookeeper.server.persistence.FileTxnLog`).

mod given;

pub use given::{FIRST, OTHER};

use crate::common_log::LoggedTransaction;
use crate::model::{By, Name, Noted, What};
use crate::observation::{
    Observation, ObservedServer, Observer, Passage, ReportSink, ServerReader, ServerReport, Shell,
    Traffic,
};
use crate::real::monotonic_nanos;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use given::NodeChange;
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// The way to observe a member.
pub const MEMBER: Observer = Observer {
    begin: |server| {
        let ObservedServer { traffic, shell, reports, .. } = server;
        let reader = MemberReader {
            shell,
            reports: reports.clone(),
            read: BTreeMap::new(),
            connections: BTreeMap::new(),
        };
        Box::pin(async { Ok(Observation::by(reader, traffic, reports)) })
    },
    reads_traffic: true,
};

/// The bytes of a file that are read at once.
const CHUNK: usize = 1 << 16;
/// The bytes before the first transaction of a file.
const HEAD: usize = 16;

/// The reading of a member's log, and of its clients' connections.
struct MemberReader {
    shell: Shell,
    reports: ReportSink,
    /// The bytes that were read of each file.
    read: BTreeMap<String, usize>,
    connections: BTreeMap<u16, ClientFrames>,
}

impl ServerReader for MemberReader {
    fn passed(&mut self, Traffic { at_ns, caller, passage }: Traffic) {
        let (is_request, arrived) = arrived(&mut self.connections, caller, passage);
        for frame in arrived {
            let frames = self.connections.entry(caller).or_default();
            match is_request {
                true => frames.request(&frame, (caller, at_ns), &self.reports),
                false => frames.reply(&frame, (caller, at_ns), &self.reports),
            }
        }
    }

    async fn look(&mut self) -> io::Result<()> {
        while self.read_on().await? {}
        Ok(())
    }
}

impl MemberReader {
    /// Reads the next chunk of each file. Returns true if there may be more.
    async fn read_on(&mut self) -> io::Result<bool> {
        let output = (self.shell)(command(&self.read)).await?;
        let since_epoch = since_epoch_ns();
        let mut goes_on = false;
        for (file, chunk) in output.lines().filter_map(|line| line.split_once(' ')) {
            let chunk = BASE64.decode(chunk).map_err(io::Error::other)?;
            let read = self.read.entry(file.to_owned()).or_insert(HEAD);
            let before = *read;
            let mut rest = Jute(&chunk);
            while let Some(transaction) =
                record(&mut rest).and_then(|it| transaction(it, since_epoch))
            {
                *read = before + chunk.len() - rest.0.len();
                (self.reports)(ServerReport::Logged(transaction));
            }
            goes_on |= *read > before && chunk.len() == CHUNK;
        }
        Ok(goes_on)
    }
}

/// The shell command that prints the name of each file and its next chunk, after so many bytes that
/// were read.
fn command(read: &BTreeMap<String, usize>) -> String {
    let known = read.iter().map(|(file, read)| format!("{file}) at={};; ", read + 1));
    let known = known.collect::<String>();
    format!(
        "for file in version-2/log.*; do [ -e $file ] || continue; \
         case $file in {known}*) at={};; esac; \
         echo \"$file $(tail -c +$at $file | head -c {CHUNK} | base64 -w 0)\"; done",
        HEAD + 1
    )
}

/// The nanoseconds by which CLOCK_MONOTONIC is behind the wall clock.
fn since_epoch_ns() -> u64 {
    let wall = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has this clock");
    (Duration::from(wall).as_nanos() as u64).saturating_sub(monotonic_nanos())
}

/// Bytes in the form in which ZooKeeper writes everything.
struct Jute<'a>(&'a [u8]);

impl<'a> Jute<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn int(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// A string, or other bytes of any number.
    fn buffer(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.int()?).ok()?;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

/// Takes the next record of a log, if all of it is there.
fn record<'a>(log: &mut Jute<'a>) -> Option<Jute<'a>> {
    let _checksum = log.long()?;
    let record = log.buffer()?;
    (log.array()? == *b"B").then_some(Jute(record))
}

/// The kinds of transactions and requests that matter (`org.apache.zookeeper.ZooDefs.OpCode`).
mod op {
    pub const CREATE: i32 = 1;
    pub const DELETE: i32 = 2;
    pub const SET_DATA: i32 = 5;
    pub const CHECK: i32 = 13;
    pub const MULTI: i32 = 14;
    pub const CREATE_2: i32 = 15;
    pub const CREATE_CONTAINER: i32 = 19;
    pub const CREATE_TTL: i32 = 21;
    pub const CREATE_SESSION: i32 = -10;
    pub const CLOSE_SESSION: i32 = -11;
    pub const ERROR: i32 = -1;
}

/// Reads a transaction. The wall clock that it is dated by is ahead of CLOCK_MONOTONIC by these
/// nanoseconds.
fn transaction(mut record: Jute<'_>, since_epoch_ns: u64) -> Option<LoggedTransaction> {
    let (session, number, zxid) = (record.long()?, record.int()?, record.long()?);
    let (made_ms, kind) = (record.long()?, record.int()?);
    let changes = changes(session, kind, &mut record)?;
    let noted = |(object, what)| Noted { object, what, zxid: Some(zxid) };
    // The end of a session for which nobody asked has no number.
    let is_asked = number != 0 || kind == op::CREATE_SESSION;
    Some(LoggedTransaction {
        zxid,
        requests: is_asked.then_some((session, number.into())).into_iter().collect(),
        made_ns: (made_ms.unsigned_abs() * 1_000_000).saturating_sub(since_epoch_ns),
        noted: changes.into_iter().map(noted).collect(),
        unasked: None,
        is_committed: false,
    })
}

/// The changes of a transaction of this kind, which come next.
fn changes(session: i64, kind: i32, body: &mut Jute<'_>) -> Option<Vec<(Name, What)>> {
    let by = By::Session(session);
    Some(match kind {
        op::CREATE | op::CREATE_2 | op::SET_DATA => {
            vec![(Name::from_slice(body.buffer()?), What::Written(by))]
        }
        op::DELETE => vec![(Name::from_slice(body.buffer()?), What::Deleted(by))],
        op::CREATE_SESSION => vec![(Name::new(), What::SessionBegan(session))],
        op::CLOSE_SESSION => {
            let paths = (0..body.int()?).map(|_| body.buffer().map(Name::from_slice));
            let mut paths = paths.collect::<Option<Vec<_>>>()?;
            // A client whose session owned nothing may still wait in it, in vain.
            if paths.is_empty() {
                paths.push(Name::new());
            }
            paths.into_iter().map(|path| (path, What::SessionEnded(session))).collect()
        }
        op::MULTI => {
            let parts = (0..body.int()?).map(|_| Some((body.int()?, Jute(body.buffer()?))));
            let parts = parts.collect::<Option<Vec<_>>>()?;
            // Where one fails, nothing was done.
            if parts.iter().any(|(kind, _)| *kind == op::ERROR) {
                return Some(Vec::new());
            }
            let changes = parts.into_iter().map(|(kind, mut it)| changes(session, kind, &mut it));
            changes.collect::<Option<Vec<_>>>()?.concat()
        }
        _ => Vec::new(),
    })
}

/// The frames on a client's connection.
#[derive(Default)]
struct ClientFrames {
    requests: Vec<u8>,
    replies: Vec<u8>,
    /// The time at which the client asked for its session, or for a new one.
    opened_ns: Option<u64>,
    session: Option<i64>,
    /// The times of the requests for changes that were not answered yet, by number.
    open: BTreeMap<i32, u64>,
    /// The same on a server of somebody else, each with the changes that it asks for.
    changes: BTreeMap<i32, (u64, Vec<NodeChange>)>,
}

/// Takes a frame from the beginning, if it is whole.
fn frame(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let frame = Jute(bytes).buffer()?.to_vec();
    bytes.drain(..4 + frame.len());
    Some(frame)
}

/// Takes what passed a client's connection. Returns the frames that are whole with it, and whether
/// they are requests.
fn arrived(
    connections: &mut BTreeMap<u16, ClientFrames>,
    caller: u16,
    passage: Passage,
) -> (bool, Vec<Vec<u8>>) {
    let frames = connections.entry(caller).or_default();
    let (is_request, buffer, bytes) = match passage {
        Passage::Request(bytes) => (true, &mut frames.requests, bytes),
        Passage::Reply(bytes) => (false, &mut frames.replies, bytes),
        Passage::Closed => {
            connections.remove(&caller);
            return (false, Vec::new());
        }
    };
    buffer.extend(bytes);
    (is_request, std::iter::from_fn(|| frame(buffer)).collect())
}

impl ClientFrames {
    /// Reads a request. The first one asks for a session.
    fn request(&mut self, frame: &[u8], (caller, at_ns): (u16, u64), reports: &ReportSink) {
        if self.opened_ns.is_none() {
            self.opened_ns = Some(at_ns);
            return;
        }
        let mut frame = Jute(frame);
        let (Some(number), Some(kind)) = (frame.int(), frame.int()) else { return };
        let changes =
            [op::CREATE, op::DELETE, op::SET_DATA, op::MULTI, op::CREATE_2, op::CLOSE_SESSION];
        if let Some(session) = self.session.filter(|_| changes.contains(&kind)) {
            self.open.insert(number, at_ns);
            reports(ServerReport::Asked { request: (session, number.into()), caller, at_ns });
        }
    }

    /// Reads a reply. The first one has the number of the session, which is 0 of one that is over.
    fn reply(&mut self, frame: &[u8], (caller, at_ns): (u16, u64), reports: &ReportSink) {
        let mut frame = Jute(frame);
        let Some(session) = self.session else {
            let _version_and_time_out = frame.long();
            self.session = frame.long();
            if let (Some(session), Some(asked_ns)) = (self.session, self.opened_ns) {
                let request = (session, 0);
                reports(ServerReport::Asked { request, caller, at_ns: asked_ns });
                reports(ServerReport::Answered { request, asked_ns, at_ns: Some(at_ns) });
            }
            return;
        };
        let open = frame.int().and_then(|number| self.open.remove_entry(&number));
        if let Some((number, asked_ns)) = open {
            let request = (session, number.into());
            reports(ServerReport::Answered { request, asked_ns, at_ns: Some(at_ns) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    const SESSION: i64 = 0x1_0000_2ecf_7500;

    /// Numbers and strings, one after the other.
    macro_rules! jute {
        ($($part:expr),*) => { [$(Part::from($part).0),*].concat() };
    }

    struct Part(Vec<u8>);

    impl From<i32> for Part {
        fn from(int: i32) -> Self {
            Self(int.to_be_bytes().into())
        }
    }

    impl From<i64> for Part {
        fn from(long: i64) -> Self {
            Self(long.to_be_bytes().into())
        }
    }

    impl From<&[u8]> for Part {
        fn from(bytes: &[u8]) -> Self {
            Self([&(bytes.len() as i32).to_be_bytes(), bytes].concat())
        }
    }

    impl From<&str> for Part {
        fn from(text: &str) -> Self {
            text.as_bytes().into()
        }
    }

    fn logged(zxid: i64, (number, kind): (i32, i32), body: &[u8]) -> Vec<u8> {
        let head = jute!(SESSION, number, zxid, 1_795_668_778_306_i64, kind);
        let digest = [0; 12];
        let record = [&head[..], body, &digest].concat();
        [jute!(0_i64, &record[..]), b"B".to_vec()].concat()
    }

    fn seen_by(shell: Shell, look: impl AsyncFnOnce(&mut MemberReader)) -> Vec<ServerReport> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sees = seen.clone();
        let reports: ReportSink = Arc::new(move |report| sees.lock().expect("whole").push(report));
        let (read, connections) = (BTreeMap::new(), BTreeMap::new());
        let mut reader = MemberReader { shell, reports, read, connections };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(look(&mut reader));
        seen.lock().expect("whole").clone()
    }

    /// The shell of a machine that has this log, from a byte on that the command names.
    fn shell_with(log: Arc<Mutex<Vec<u8>>>) -> Shell {
        Arc::new(move |command| {
            let file = "version-2/log.100000001";
            let at = command.split_once(&format!("{file}) at=")).map_or(HEAD, |(_, rest)| {
                rest.split_once(';')
                    .and_then(|(at, _)| at.parse().ok())
                    .map_or(0, |at: usize| at - 1)
            });
            let chunk = BASE64.encode(&log.lock().expect("whole")[at - HEAD..]);
            Box::pin(async move { Ok(format!("{file} {chunk}\n")) })
        })
    }

    #[test]
    fn a_log_is_read_as_it_grows() {
        let whole = [
            logged(1, (0, op::CREATE_SESSION), &jute!(2000)),
            logged(2, (1, op::CREATE_2), &jute!("/a", "data", 0)),
            logged(3, (2, op::ERROR), &jute!(-110)),
            logged(4, (3, op::MULTI), &jute!(2, op::DELETE, &jute!("/a")[..], op::ERROR, "")),
            logged(5, (4, op::DELETE), &jute!("/a")),
            logged(6, (0, op::CLOSE_SESSION), &jute!(2, "/b", "/c")),
            logged(7, (5, op::CLOSE_SESSION), &jute!(0)),
        ]
        .concat();
        let log = Arc::new(Mutex::new(Vec::new()));
        let seen = seen_by(shell_with(log.clone()), async |reader| {
            for end in [0, 50, 200, whole.len()] {
                let zeros = vec![0; whole.len() - end];
                *log.lock().expect("whole") = [&whole[..end], &zeros, &[0; 99]].concat();
                reader.look().await.expect("the shell answers");
            }
        });
        let transactions = seen.iter().map(|report| match report {
            ServerReport::Logged(transaction) => {
                let changes = transaction.noted.iter().map(|it| (it.object.to_vec(), it.what));
                (transaction.zxid, transaction.requests.clone(), changes.collect::<Vec<_>>())
            }
            other => panic!("{other:?}"),
        });
        let (by, ended) = (By::Session(SESSION), What::SessionEnded(SESSION));
        let named = |name: &str, what| (name.as_bytes().to_vec(), what);
        let request = |number| vec![(SESSION, number)];
        let expected = vec![
            (1, request(0), vec![named("", What::SessionBegan(SESSION))]),
            (2, request(1), vec![named("/a", What::Written(by))]),
            (3, request(2), vec![]),
            (4, request(3), vec![]),
            (5, request(4), vec![named("/a", What::Deleted(by))]),
            (6, vec![], vec![named("/b", ended), named("/c", ended)]),
            (7, request(5), vec![named("", ended)]),
        ];
        assert_eq!(transactions.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn requests_and_replies_are_known_by_their_session_and_number() {
        let framed = |frame: Vec<u8>| jute!(&frame[..]);
        let opened = framed(jute!(0, 0_i64, 2000, 0_i64, ""));
        let session = framed(jute!(0, 2000, SESSION, ""));
        let asked = framed(jute!(1, op::CREATE, "/a"));
        let (read, ping) = (framed(jute!(2, 4, "/a")), framed(jute!(-2, 11)));
        let answered = framed(jute!(1, 9_i64, 0));
        let (half, rest) = answered.split_at(7);
        let passages = [
            (1, Passage::Request(opened)),
            (2, Passage::Reply(session)),
            (3, Passage::Request([asked, read, ping].concat())),
            (4, Passage::Reply(half.to_vec())),
            (5, Passage::Reply(rest.to_vec())),
        ];
        let seen = seen_by(shell_with(Arc::default()), async |reader| {
            for (at_ns, passage) in passages {
                reader.passed(Traffic { at_ns, caller: 4000, passage });
            }
        });
        let asked =
            |number, at_ns| ServerReport::Asked { request: (SESSION, number), caller: 4000, at_ns };
        let answered = |number, asked_ns, at_ns| {
            let request = (SESSION, number);
            ServerReport::Answered { request, asked_ns, at_ns: Some(at_ns) }
        };
        assert_eq!(seen, [asked(0, 1), answered(0, 1, 2), asked(1, 3), answered(1, 3, 5)]);
    }
}
