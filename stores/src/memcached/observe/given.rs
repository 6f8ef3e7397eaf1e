//! The preparation of the watch of a memcached that others use, too: where the numbers of its lines
//! have come to, how its clock differs, and where connections from here seem to come from.

use super::{SharedWatch, WatchedServer, field, has_lost, look, nanos};
use crate::real::monotonic_nanos;
use std::io;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

/// The number of times that a server is asked, which tells its time.
const ASKED_FOR_TIME: usize = 20;

/// The longest time for the preparation.
const LIMIT: Duration = Duration::from_secs(5);

impl WatchedServer {
    /// Prepares the watch of a server where the run has this allotment.
    pub(super) async fn prepare(&mut self, allotment: String) -> io::Result<()> {
        let prepared = timeout(LIMIT, self.prepare_in_time(allotment)).await;
        prepared.unwrap_or_else(|_| Err(io::Error::other("it tells those who watch it nothing")))
    }

    async fn prepare_in_time(&mut self, allotment: String) -> io::Result<()> {
        self.lost_before = self.lost().await?;
        // No key has it: the name of an allotment ends with another sign.
        let mark = format!("{allotment}-mark");
        let asked = self.ask_again_and_again(&mark).await?;
        let port = self.questions.local_addr()?.port().to_string();
        let (mut marks, mut address, mut early) = (Vec::new(), None, Vec::new());
        while marks.len() < asked.len() {
            let line = self.lines.next_line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
            if field(&line, "type") == Some("conn_new") && field(&line, "rport") == Some(&port) {
                address = field(&line, "rip").map(str::to_owned);
            }
            let fields = (number(&line), field(&line, "ts").and_then(nanos));
            let (Some(number), Some(at_ns)) = fields else {
                return Err(io::Error::other(format!("it tells {line:?} to those who watch it")));
            };
            match field(&line, "key") == Some(&mark) {
                true => marks.push((number, at_ns)),
                false => early.push((number, line)),
            }
        }
        let address = address.ok_or_else(|| {
            io::Error::other("the ports that clients connect from do not come through to it")
        })?;
        let last = marks.last().map_or(0, |(number, _)| *number);
        self.report.next = last + 1;
        self.report.early = early.into_iter().filter(|(number, _)| *number > last).collect();
        self.report.ahead_ns = ahead_ns(&asked, &marks);
        self.report.given = Some(SharedWatch { allotment, mark, address });
        Ok(())
    }

    /// The server's counts of lines that it has lost.
    async fn lost(&mut self) -> io::Result<Vec<String>> {
        self.questions.write_all(b"stats\r\n").await?;
        let mut lost = Vec::new();
        loop {
            let answer = self.answer().await?;
            match &*answer {
                "END" => return Ok(lost),
                _ if has_lost(&answer) => lost.push(answer),
                _ => {}
            }
        }
    }

    /// Looks for something again and again. Returns the time before and after each answer.
    async fn ask_again_and_again(&mut self, key: &str) -> io::Result<Vec<(u64, u64)>> {
        let mut asked = Vec::new();
        while asked.len() < ASKED_FOR_TIME {
            let asked_ns = monotonic_nanos();
            self.questions.write_all(look(key).as_bytes()).await?;
            let answer = self.answer().await?;
            if answer != "EN" {
                return Err(io::Error::other(format!("it answers a meta command with {answer:?}")));
            }
            asked.push((asked_ns, monotonic_nanos()));
        }
        Ok(asked)
    }

    async fn answer(&mut self) -> io::Result<String> {
        let answer = self.answers.next_line().await?;
        answer.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

fn number(line: &str) -> Option<u64> {
    field(line, "gid")?.parse().ok()
}

/// The time by which the server's clock is ahead, by the quickest of the answers.
fn ahead_ns(asked: &[(u64, u64)], marks: &[(u64, u64)]) -> u64 {
    let middles = asked.iter().zip(marks).map(|((from_ns, until_ns), (_, server_ns))| {
        let took_ns = until_ns - from_ns;
        (took_ns, server_ns.saturating_sub(from_ns + took_ns / 2))
    });
    middles.min().map_or(0, |(_, ahead_ns)| ahead_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_tells_the_time_best() {
        let asked = [(100, 180), (200, 210), (300, 400)];
        let marks = [(7, 9_999), (8, 1_205), (9, 9_999)];
        assert_eq!(ahead_ns(&asked, &marks), 1_000);
    }
}
