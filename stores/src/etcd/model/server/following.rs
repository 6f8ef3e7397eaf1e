//! Following: a log that becomes that of the leader.

use super::{LogEntry, LogPlace, MemberRole, Outgoing, PeerMessage, Server};

impl Server {
    pub(super) fn on_append(
        &mut self,
        from: u32,
        previous: LogPlace,
        entries: Vec<LogEntry>,
        commit: usize,
        out: &mut Outgoing,
    ) {
        if !matches!(self.role, MemberRole::Follower(Some(leader)) if leader == from) {
            self.follow(Some(from), out);
        }
        self.elapsed = 0;
        let last = self.disk.log.len();
        let fits = previous.index <= last && self.disk.place(previous.index) == previous;
        if !fits {
            let index = last.min(previous.index.saturating_sub(1));
            return self.send(from, PeerMessage::Appended { fits, index }, out);
        }
        let index = previous.index + entries.len();
        self.take_over(previous.index, entries);
        self.apply(commit.min(index), out);
        self.joins &= index < commit;
        self.send(from, PeerMessage::Appended { fits, index }, out);
    }

    /// Takes the leader's entries over, in place of any others.
    fn take_over(&mut self, mut index: usize, entries: Vec<LogEntry>) {
        for entry in entries {
            if self.disk.log.get(index).is_some_and(|own| own.term != entry.term) {
                self.disk.log.truncate(index);
            }
            if index == self.disk.log.len() {
                self.disk.log.push(entry);
            }
            index += 1;
        }
    }
}
