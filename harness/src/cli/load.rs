//! The options of a run as arguments, made from their list.

use base::{LockInfo, RunSpec};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use std::time::Duration;

use crate::options::{GivenOptions, OPTIONS, RunOption, check};

/// The load on the lock: who contends, for how long, over which links.
#[derive(Clone, Default)]
pub struct LoadArgs(GivenOptions);

impl LoadArgs {
    /// Returns a run of a lock under this load.
    pub fn run(&self, lock: &LockInfo, nemesis: &str, seed: u64) -> RunSpec {
        self.apply(lock.run(nemesis, seed))
    }

    /// Returns true if the option of this name was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.has(name)
    }

    /// Returns the name of the topology that was asked for, if one was.
    pub fn topology(&self) -> Option<String> {
        self.apply(RunSpec::new("none", Duration::ZERO, 0)).topology
    }

    /// Returns a run that differs from another one by these options.
    pub fn apply(&self, run: RunSpec) -> RunSpec {
        self.0.apply(run)
    }
}

impl Args for LoadArgs {
    fn augment_args(command: Command) -> Command {
        OPTIONS.iter().fold(command, |command, option| command.arg(argument(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LoadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = GivenOptions::default();
        for option in OPTIONS {
            // A command may have left some of them out.
            let values = matches.try_get_many::<String>(option.name).ok().flatten();
            let Some(values) = values else { continue };
            let value = values.cloned().collect::<Vec<_>>().join(",");
            given.add(option, value).expect("it was checked");
        }
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The load of a sweep: every option but the ttl, which it sweeps over, with defaults of its own.
#[derive(Clone, Default)]
pub struct SweepLoadArgs(pub LoadArgs);

/// The defaults of a sweep that are not those of a run.
const SWEEP_DEFAULTS: [(&str, &str); 2] = [("hold", "exact:50ms"), ("time-limit", "60s")];

/// The help of the option whose default a sweep takes from the lock, since it has no one ttl.
const SWEEP_FAULT_SCALE: &str = "The time that the lengths of faults count in, for every ttl alike \
                                 [default: the lock's usual ttl]";

impl Args for SweepLoadArgs {
    fn augment_args(command: Command) -> Command {
        let options = OPTIONS.iter().filter(|option| option.name != "ttl");
        options.fold(command, |command, option| {
            let own = SWEEP_DEFAULTS.iter().find(|(name, _)| *name == option.name);
            let argument = argument(option);
            command.arg(match (own, option.name) {
                (Some((_, value)), _) => argument.default_value(value),
                (None, "fault-scale") => argument.help(SWEEP_FAULT_SCALE),
                (None, _) => argument,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SweepLoadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        LoadArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

pub(super) fn argument(option: &'static RunOption) -> Arg {
    let read = |text: &str| check(option, text).map(|()| text.to_owned());
    let argument = Arg::new(option.name)
        .long(option.name)
        .value_name(option.value)
        .help(option.help)
        .allow_hyphen_values(true)
        .value_parser(read);
    let argument = match option.is_list {
        true => argument.value_delimiter(',').action(ArgAction::Append),
        false => argument,
    };
    match option.default {
        Some(value) => argument.default_value(value),
        None => argument,
    }
}
