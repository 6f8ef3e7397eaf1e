//! From what was asked for to what is run: one lock, its nemeses, a plan, and the run's header.

use base::{Ability, Nemesis, RunInfo, Spread};
use std::time::Duration;
use stores::{Links, Store, WorldSpec};
use workloads::LockSpec;
use workloads::task::Contend;

use crate::drive::{Plan, Script};
use crate::explore::swarm;
use crate::nearest;
use crate::schedule::{Aim, Scripted};

/// What a user can set.
#[derive(Clone, Debug)]
pub struct Options {
    /// The lock.
    pub algo: String,
    /// The nemeses, joined by commas.
    pub nemesis: String,
    /// How many clients contend.
    pub clients: u32,
    /// How long faults are injected.
    pub time_limit: Duration,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The mean of a short hold.
    pub hold: Duration,
    /// The mean time between two turns of a client.
    pub think: Duration,
    /// How long each client-server link delays, each way.
    pub link_delay: Duration,
    /// How these delays are spread, which only a swarm chooses.
    pub links: Links,
    /// How many keys.
    pub keys: u32,
    /// The seed.
    pub seed: u64,
    /// The seed draws its own configuration within these options, see [`crate::explore::swarm`].
    pub swarm: bool,
}

impl Options {
    /// The defaults, for a lock and its nemeses.
    pub fn new(algo: &str, nemesis: &str, seed: u64) -> Self {
        Self {
            algo: algo.into(),
            nemesis: nemesis.into(),
            clients: 5,
            time_limit: Duration::from_secs(30),
            ttl: workloads::find(algo).map_or(Duration::from_secs(2), |lock| lock.store().ttl()),
            hold: Duration::from_millis(50),
            think: Duration::from_millis(25),
            link_delay: Duration::ZERO,
            links: Links::default(),
            keys: 1,
            seed,
            swarm: false,
        }
    }
}

/// What is to be run.
pub struct Setup {
    /// The lock.
    pub lock: &'static LockSpec,
    /// What the run's header says. The backend is filled in by `info_for`.
    info: RunInfo,
    /// What was asked for.
    asked: Options,
    /// Turns and faults to take instead of drawn ones.
    script: Option<Script>,
    /// What is run: a swarm varies what was asked for.
    options: Options,
}

impl Setup {
    /// Checks what was asked for.
    ///
    /// # Errors
    /// One line that names the mistake and its fix.
    pub fn new(options: Options) -> Result<Self, String> {
        let lock = workloads::find(&options.algo).ok_or_else(|| {
            let names: Vec<&str> = workloads::LOCKS.iter().map(|lock| lock.name).collect();
            nearest::unlisted("lock", &options.algo, &names)
        })?;
        Self::of(lock, options)
    }

    /// The same for a lock that need not be in the catalogue.
    ///
    /// # Errors
    /// One line that names the mistake and its fix.
    pub fn of(lock: &'static LockSpec, options: Options) -> Result<Self, String> {
        check_nemeses(&options.nemesis)?;
        check_numbers(lock, &options)?;
        Ok(Self::sound(lock, options))
    }

    /// A run by a script. Its numbers are as they are: a shrunk run is shorter than any that would
    /// be drawn.
    ///
    /// # Errors
    /// One line that names a lock or a nemesis that does not exist.
    pub fn scripted(options: Options, script: Script) -> Result<Self, String> {
        check_nemeses(&options.nemesis)?;
        let lock = workloads::find(&options.algo)
            .ok_or_else(|| format!("there is no lock `{}`", options.algo))?;
        let nanos = |d: Duration| d.as_nanos() as u64;
        let mut setup = Self::sound(lock, options);
        setup.info.patience = nanos(script.patience);
        // A schedule was cut as short as the simulator allows; real servers take their time.
        setup.info.quiet = match script.aim {
            Aim::Time => nanos(script.quiet),
            Aim::Moment => setup.info.quiet.max(nanos(script.quiet)),
        };
        setup.script = Some(script);
        Ok(setup)
    }

    fn sound(lock: &'static LockSpec, asked: Options) -> Self {
        let options = if asked.swarm { swarm::vary(&asked) } else { asked.clone() };
        let nanos = |d: Duration| d.as_nanos() as u64;
        let info = RunInfo {
            version: 1,
            algo: options.algo.clone(),
            nemesis: options.nemesis.clone(),
            backend: String::new(),
            seed: options.seed,
            clients: options.clients,
            servers: lock.servers(),
            keys: options.keys,
            ttl: nanos(options.ttl),
            time_limit: nanos(options.time_limit),
            quiet: nanos(quiet(lock, &options)),
            link_delay: nanos(options.link_delay),
            patience: nanos(patience(lock, &options)),
            promises: lock.promises,
            known: lock.known(),
            command: String::new(),
        };
        Self { lock, info, asked, options, script: None }
    }

    /// The run's header on a backend, with the command that runs it again.
    pub fn info_for(&self, backend: &str) -> RunInfo {
        RunInfo {
            backend: backend.into(),
            command: command(&self.asked, backend),
            ..self.info.clone()
        }
    }

    /// Fresh nemeses.
    pub fn nemeses(&self) -> Vec<Box<dyn Nemesis>> {
        if let Some(script) = &self.script {
            return vec![Box::new(Scripted::new(script.faults.clone(), script.aim))];
        }
        let find = |name| nemesis::find(name).expect("checked when the setup was made");
        let make = |name| {
            let nemesis = (find(name).make)();
            match self.options.swarm {
                true => Box::new(swarm::Weighted::new(nemesis, self.options.seed)),
                false => nemesis,
            }
        };
        self.options.nemesis.split(',').map(make).collect()
    }

    /// What a backend must be able to do for the faults of this run.
    pub fn needs(&self) -> Vec<Ability> {
        if let Some(script) = &self.script {
            return script.faults.iter().map(|planned| planned.fault.ability()).collect();
        }
        let specs = self.options.nemesis.split(',').filter_map(nemesis::find);
        specs.flat_map(|spec| spec.needs).copied().collect()
    }

    /// What the drive loop is to do.
    pub fn plan(&self) -> Plan {
        let options = &self.options;
        Plan {
            clients: options.clients,
            servers: self.info.servers,
            ttl: options.ttl,
            time_limit: options.time_limit,
            quiet: Duration::from_nanos(self.info.quiet),
            patience: Duration::from_nanos(self.info.patience),
            task: Contend {
                keys: options.keys,
                shared: self.lock.promises.shared,
                hold: Spread::Tailed {
                    mean: options.hold,
                    most: options.ttl.mul_f64(self.lock.longest_hold),
                },
                think: Spread::Exponential { least: Duration::ZERO, mean: options.think },
                turns: None,
            },
            promises: self.lock.promises,
            seed: options.seed,
            script: self.script.clone(),
        }
    }

    /// What a backend is to set up.
    pub fn world(&self) -> WorldSpec {
        let options = &self.options;
        WorldSpec {
            store: self.lock.store(),
            servers: self.info.servers,
            clients: options.clients,
            algo: options.algo.clone(),
            ttl: options.ttl,
            // A round trip over a slow link takes two delays, and a recipe must not time out on it.
            call_timeout: match &self.script {
                Some(script) => script.call_timeout,
                None => Duration::from_millis(500) + options.link_delay * 4,
            },
            link_delay: options.link_delay,
            links: options.links,
            seed: options.seed,
            logs: None,
        }
    }
}

/// A client waits long enough for every other to have a long hold before it.
fn patience(lock: &LockSpec, options: &Options) -> Duration {
    options.ttl.mul_f64(lock.longest_hold.max(1.0)) * options.clients.max(5)
}

/// Long enough for the lock to be free again as it promises, and for somebody to take it.
fn quiet(lock: &LockSpec, options: &Options) -> Duration {
    let recovery = options.ttl * lock.promises.recovers.unwrap_or(1);
    recovery + options.ttl.mul_f64(lock.longest_hold) * 2 + options.link_delay * 20
}

fn check_nemeses(names: &str) -> Result<(), String> {
    for name in names.split(',') {
        if nemesis::find(name).is_none() {
            let known: Vec<&str> = nemesis::NEMESES.iter().map(|nemesis| nemesis.name).collect();
            return Err(nearest::unlisted("nemesis", name, &known));
        }
    }
    Ok(())
}

fn check_numbers(lock: &LockSpec, options: &Options) -> Result<(), String> {
    let between = |what: &str, d: Duration, low: Duration, high: Duration| {
        if d < low || d > high {
            let (low, high) = (humantime::format_duration(low), humantime::format_duration(high));
            let d = humantime::format_duration(d);
            return Err(format!("{what} {d} is out of range: give {low} to {high}"));
        }
        Ok(())
    };
    let (ms, s) = (Duration::from_millis, Duration::from_secs);
    between("--time-limit", options.time_limit, s(1), s(24 * 3_600))?;
    if options.ttl == crate::cli::UNLIMITED {
        return Err("--ttl unlimited needs --exhaustive: give 100ms to 10m".into());
    }
    between("--ttl", options.ttl, ms(100), s(600))?;
    between("--hold", options.hold, ms(1), options.ttl.mul_f64(0.6))?;
    between("--link-delay", options.link_delay, Duration::ZERO, slowest_link(lock, options))?;
    if !(1..=200).contains(&options.clients) {
        return Err(format!("--clients {} is out of range: give 1 to 200", options.clients));
    }
    if !(1..=1_000).contains(&options.keys) {
        return Err(format!("--keys {} is out of range: give 1 to 1000", options.keys));
    }
    Ok(())
}

/// With slower links than these nobody would ever be granted the lock. A ZooKeeper client gives a
/// connection up after 2/5 of its session without a word, and a round trip is two delays and more.
fn slowest_link(lock: &LockSpec, options: &Options) -> Duration {
    let share = match lock.store() {
        Store::Redis => options.ttl / 4,
        Store::ZooKeeper => options.ttl / 6,
    };
    Duration::from_millis(share.as_millis() as u64)
}

/// The command that runs this again: what differs from the defaults, and the seed.
fn command(options: &Options, backend: &str) -> String {
    let Options { algo, nemesis, seed, .. } = options;
    let command = match options.swarm {
        true => format!(
            "picklock explore --algo {algo} --nemesis {nemesis} --first-seed {seed} --seeds 1"
        ),
        false => format!(
            "picklock test --algo {algo} --nemesis {nemesis} --backend {backend} --seed {seed}"
        ),
    };
    command + &flags(options)
}

/// The flags for what differs from the defaults, each behind a blank.
pub fn flags(options: &Options) -> String {
    let defaults = Options::new(&options.algo, &options.nemesis, options.seed);
    let mut flags = String::new();
    let mut add = |flag: &str, value: String, default: String| {
        if value != default {
            flags.push_str(&format!(" {flag} {value}"));
        }
    };
    let duration = |d: Duration| humantime::format_duration(d).to_string().replace(' ', "");
    add("--clients", options.clients.to_string(), defaults.clients.to_string());
    add("--time-limit", duration(options.time_limit), duration(defaults.time_limit));
    add("--ttl", duration(options.ttl), duration(defaults.ttl));
    add("--hold", duration(options.hold), duration(defaults.hold));
    add("--link-delay", duration(options.link_delay), duration(defaults.link_delay));
    add("--keys", options.keys.to_string(), defaults.keys.to_string());
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::new("zk-rw", "none", 1);
        change(&mut options);
        Setup::new(options).err().expect("refused")
    }

    #[test]
    fn nonsense_is_refused_in_one_line_that_names_the_fix() {
        assert!(refusal(|o| o.clients = 0).contains("give 1 to 200"));
        assert!(
            refusal(|o| o.ttl = Duration::ZERO).contains("--ttl 0s is out of range: give 100ms")
        );
        assert!(refusal(|o| o.hold = Duration::from_secs(9)).contains("--hold"));
        assert!(refusal(|o| o.link_delay = o.ttl / 5).contains("give 0s to 333ms"));
        assert!(refusal(|o| o.algo = "zk-wr".into()).contains("did you mean zk-rw"));
        assert!(refusal(|o| o.nemesis = "pause,partitoin".into()).contains("partition"));
    }

    #[test]
    fn the_command_names_what_is_not_the_default() {
        let mut options = Options::new("zk-rw", "pause", 7);
        options.ttl = Duration::from_millis(1_500);
        let info = Setup::new(options).unwrap_or_else(|e| panic!("{e}")).info_for("sim");
        let expected = "picklock test --algo zk-rw --nemesis pause --backend sim --seed 7 \
                        --ttl 1s500ms";
        assert_eq!(info.command, expected);
    }
}
