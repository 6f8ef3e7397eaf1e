//! `vault`: did a client that had been overtaken change what the lock guards?
//!
//! **Decides** whether the effects were right, whatever the clients believed, from the reads and
//! writes of the vault: an `ok` stands at the place where the vault served it. An access belongs
//! to the latest grant that its process had when it was sent. Anomalies:
//!
//! * `lost update`: a write was applied, and between it and the access that it builds on (the last
//!   read or write that the vault served to the same hold) a write of another process had been.
//! * `stale write accepted`: a write was applied after the vault had served, to another process, a
//!   later grant that excludes its own.
//! * `unguarded write`: a write of a process was applied that had never been granted the lock.
//!
//! **Which grant is later.** The one whose acquire was answered `ok` later. Fencing tokens know it
//! better: the news of a grant can reach its client after the next grant was given. So under a
//! lock that promises `fenced`, of two grants with tokens the one with the higher token is later,
//! and also any grant that was asked for after the other was given, whatever its token.
//!
//! Writes that the vault fenced off broke nothing; the summary counts them. **Limits.** A write of
//! unknown outcome is left out, unless it is seen to arrive late: then it belongs to the grant
//! under which it was sent. Without an accepted write the answer is inconclusive.
//!
//! **Source.** Kleppmann, "How to do distributed locking", 2016: the write of a client that was
//! paused past its lease, and the one that was delayed on its way.

use crate::causes::{self, Occurrence, by_cause, by_recipe};
use crate::evidence::Evidence;
use crate::story::Story;
use crate::words::{count, process};
use crate::{Case, Checker};
use base::{Anomaly, Causes, F, Outcome, Verdict};
use scan::{Because, Scan, WrongWrite};

mod scan;
#[cfg(test)]
mod tests;

const UNGUARDED: &str = "unguarded write";

/// The vault checker.
pub struct VaultChecker;

impl Checker for VaultChecker {
    fn name(&self) -> &'static str {
        "vault"
    }

    fn summary(&self) -> &'static str {
        "what the lock guards takes no write of an overtaken client and loses no update"
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        if case.run.info.lock.promises.permits > 1 {
            let why = "several hold it at once, and nothing keeps their writes apart";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        let scan = Scan::of(&case.run.history, &case.claims, case.run.info.lock.promises.fenced);
        verdict(self.name(), case, &scan)
    }

    fn explain(&self, case: &Case<'_>, anomaly: &Anomaly, story: &mut Story<'_>) {
        if anomaly.name == UNGUARDED {
            return story.retell(case, &anomaly.witness);
        }
        // The scan is made again: what it found is too much to be kept for every run.
        if !story.pay(case.claims.accesses.len() as u64) {
            return;
        }
        let scan = Scan::of(&case.run.history, &case.claims, case.run.info.lock.promises.fenced);
        let found = named(&scan).into_iter().find(|(name, _)| *name == anomaly.name);
        let is_same = |breach: &&WrongWrite| witness(breach)[..] == anomaly.witness[..];
        if let Some(breach) = found.and_then(|(_, breaches)| breaches.iter().find(is_same)) {
            tell(story, case, *breach);
        }
    }
}

fn verdict(name: &str, case: &Case<'_>, scan: &Scan<'_>) -> Verdict {
    let accepted = count(scan.accepted, "write") + " accepted";
    let fenced = fenced_off(scan);
    if scan.accepted == 0 {
        // A task that only takes and frees the lock says nothing about what it guards.
        if case.claims.accesses.is_empty() && !case.claims.answered.is_empty() {
            let why = "no client has touched what the lock guards";
            return Verdict::new(name, Outcome::NotApplicable, why);
        }
        let why = format!("{accepted}: nothing could be lost{fenced}");
        return Verdict::new(name, Outcome::Inconclusive, why);
    }
    let breaches = [
        ("lost update", scan.lost.len()),
        ("stale write", scan.stale.len()),
        (UNGUARDED, scan.unguarded.len()),
    ];
    let broken = breaches.iter().filter(|(_, breaches)| *breaches > 0);
    let broken: Vec<String> = broken.map(|(what, n)| count(*n as u64, what)).collect();
    if broken.is_empty() {
        let summary = format!("{accepted}, none of them stale{fenced}");
        return Verdict::new(name, Outcome::Held, summary);
    }
    let summary = format!("{accepted}, among them {}{fenced}", broken.join(" and "));
    let anomalies = anomalies(case, scan);
    Verdict { anomalies, ..Verdict::new(name, Outcome::Violated, summary) }
}

/// Tells what was fenced off: "; 2 stale writes fenced off".
fn fenced_off(scan: &Scan<'_>) -> String {
    let refused = [(scan.refused_writes, "stale write"), (scan.refused_reads, "stale read")];
    let refused = refused.iter().filter(|(n, _)| *n > 0);
    let refused: Vec<String> = refused.map(|(n, what)| count(*n, what)).collect();
    if refused.is_empty() {
        return String::new();
    }
    format!("; {} fenced off", refused.join(" and "))
}

fn anomalies(case: &Case<'_>, scan: &Scan<'_>) -> Vec<Anomaly> {
    let occurrence = |breach: &WrongWrite| {
        Occurrence::new(cause(case, breach).unwrap_or_default(), witness(breach))
    };
    let decide = |(name, breaches): (&str, &[WrongWrite])| {
        by_cause(case, name, "", breaches.iter().map(occurrence))
    };
    let unguarded = scan.unguarded.first().map(|write| {
        let reason = "its process had never been granted the lock";
        by_recipe(UNGUARDED, scan.unguarded.len() as u64, [*write], reason)
    });
    named(scan).into_iter().flat_map(decide).chain(unguarded).collect()
}

fn witness(breach: &WrongWrite) -> [u64; 2] {
    [breach.over, breach.write]
}

/// Returns the reason why the write came too late.
fn cause(case: &Case<'_>, breach: &WrongWrite) -> Option<Causes> {
    let claims = &case.claims.claims;
    let later = match breach.because {
        Because::Later(grant) => Some(grant),
        // The grant of the access that the write ran over.
        Because::BuiltOn(_) => {
            let place = case.claims.accesses.binary_search_by_key(&breach.over, |a| a.at).ok()?;
            let other = case.claims.accesses[place].grant? as usize;
            // Of the two writes, the one under the earlier grant came too late.
            let (granted, theirs) = (claims[breach.claim].granted(), claims[other].granted());
            if theirs < granted {
                let (writer, later) = (&claims[other], &claims[breach.claim]);
                return Some(causes::of_late_write(case, writer, later, breach.over));
            }
            Some(other)
        }
    };
    Some(causes::of_late_write(case, &claims[breach.claim], &claims[later?], breach.write))
}

fn named<'a>(scan: &'a Scan<'_>) -> [(&'static str, &'a [WrongWrite]); 2] {
    [("lost update", &scan.lost), ("stale write accepted", &scan.stale)]
}

/// Tells what the two processes did, in order, and the faults of the one that was overtaken.
fn tell(story: &mut Story<'_>, Evidence { run, claims, .. }: &Evidence<'_>, breach: WrongWrite) {
    let claim = &claims.claims[breach.claim];
    story.grant(claim);
    let value = |at: u64| {
        let value = run.history.get(at).and_then(|event| event.value);
        value.map_or(String::new(), |value| format!(" {value}"))
    };
    let did = |at: u64| match run.history.get(at).map(|event| event.f) {
        Some(F::Read) => format!("read{}", value(at)),
        Some(F::Arrive) => format!("wrote{}, late,", value(at)),
        _ => format!("wrote{}", value(at)),
    };
    let other = run.history.get(breach.over).map_or(String::new(), |e| e.process.to_string());
    story.tell(breach.over, &other, &did(breach.over), "");
    let from = match breach.because {
        Because::Later(grant) => {
            story.grant(&claims.claims[grant]);
            claim.granted().unwrap_or(claim.invoke)
        }
        Because::BuiltOn(base) => {
            story.tell(base, process(claim), &did(base), "");
            base
        }
    };
    let accepted = match breach.because {
        Because::Later(_) => ", and the vault accepted it".to_owned(),
        Because::BuiltOn(_) => format!(" over what {other} had written"),
    };
    let hit = story.client_faults(claim, from..breach.write, breach.write);
    if story.concerns_servers(hit) {
        story.server_faults(from..breach.write, breach.write);
    }
    let write = run.history.get(breach.write);
    let begun = write.and_then(|event| event.facts.as_ref()?.begun);
    let Some(begun) = begun else {
        return story.tell(breach.write, process(claim), &did(breach.write), &accepted);
    };
    story.tell(begun, process(claim), &format!("sent its write of{}", value(breach.write)), "");
    if let Some(end) = claim.end.filter(|end| end.at < breach.write) {
        story.end(claim, end);
    }
    story.tell(breach.write, format!("the write of {}", process(claim)), "arrived", &accepted);
}
