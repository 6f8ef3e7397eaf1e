//! Names of processes, and who did what, the same in the terminal and on the page.

use base::{Event, F, Facts, Mode, Process, Removed, RunInfo, phrases};

/// Says who did what, leaving out what is the same throughout a run: the key where there is one,
/// the mode where every hold is exclusive.
#[derive(Clone, Copy, Debug)]
pub struct Speaker {
    workers: u32,
    each: u32,
    keys: bool,
    modes: bool,
}

impl Speaker {
    /// The speaker for a run.
    pub fn new(info: &RunInfo) -> Self {
        Self {
            workers: info.all_workers().max(1),
            each: info.workers.max(1),
            keys: info.run.keys > 1,
            modes: info.lock.promises.shared,
        }
    }

    /// The worker that had a process number, before and after its crashes.
    pub fn worker(&self, process: u32) -> u32 {
        process % self.workers
    }

    /// The client of a process number.
    pub fn client(&self, process: u32) -> u32 {
        self.worker(process) / self.each
    }

    /// A process by its name; one that replaced a crashed one says whose place it took.
    pub fn process(&self, process: u32) -> String {
        let client = self.client(process);
        match self.worker(process) {
            worker if self.each > 1 && worker == process => {
                format!("process {process} (in client {client})")
            }
            worker if worker == process => format!("process {process}"),
            _ => format!("process {process} (client {client})"),
        }
    }

    /// Returns the name of the event's process.
    pub fn who(&self, event: &Event) -> String {
        match event.process {
            Process::Nemesis => "nemesis".into(),
            Process::Client(n) => self.process(n),
        }
    }

    /// Tells what happened, without who: "acquired the lock".
    pub fn what(&self, event: &Event) -> String {
        let mut text = phrases::row(event);
        text.push_str(&self.details(event));
        text.push_str(event.facts.as_deref().map_or("", store_fact));
        if let Some(error) = &event.error {
            text = format!("{text}: {error}");
        }
        text
    }

    fn details(&self, event: &Event) -> String {
        let mut text = String::new();
        if event.f == F::Acquire && self.modes {
            text.push_str(match event.mode {
                Some(Mode::Shared) => ", shared",
                Some(Mode::Exclusive) => ", exclusive",
                None => "",
            });
        }
        if let (true, Some(key)) = (self.keys, &event.key) {
            text.push_str(&format!(" on {key}"));
        }
        if let Some(token) = event.token {
            text.push_str(&format!(" (token {token})"));
        }
        text
    }
}

/// Returns the words of the store, where it says more than the client.
fn store_fact(facts: &Facts) -> &'static str {
    match facts.removed.map_or("", Removed::words) {
        "" if facts.held == Some(true) => ", though the store counts it as the holder",
        words => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Kind;

    fn speaker(workers: u32, keys: bool, modes: bool) -> Speaker {
        Speaker { workers, each: 1, keys, modes }
    }

    #[test]
    fn a_process_says_whose_place_it_took() {
        let s = speaker(5, false, false);
        assert_eq!(s.process(3), "process 3");
        assert_eq!(s.process(8), "process 8 (client 3)");
        let pairs = Speaker { workers: 6, each: 2, ..s };
        assert_eq!(pairs.process(3), "process 3 (in client 1)");
        assert_eq!(pairs.process(9), "process 9 (client 1)");
    }

    #[test]
    fn words_hold_what_can_differ_and_nothing_else() {
        let mut event = Event::new(0, Process::Client(1), Kind::Ok, F::Acquire);
        event.mode = Some(Mode::Shared);
        event.key = Some("k1".into());
        event.token = Some(7);
        assert_eq!(speaker(2, false, false).what(&event), "acquired the lock (token 7)");
        assert_eq!(
            speaker(2, true, true).what(&event),
            "acquired the lock, shared on k1 (token 7)"
        );
        event.kind = Kind::Info;
        event.error = Some("no reply within 500 ms".into());
        event.token = None;
        assert_eq!(
            speaker(2, false, false).what(&event),
            "may or may not have got the lock: no reply within 500 ms"
        );
    }
}
