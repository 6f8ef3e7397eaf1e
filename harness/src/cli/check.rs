//! The arguments of `picklock check`.

use super::{BudgetArgs, Format};
use clap::{Args, ValueEnum};
use histories::reading::{self, EdnError, Value};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  picklock check store/latest
  picklock check store/zk-rw+partition/20260101T120000.000Z --format json
  picklock check store/latest --model owner-mutex
  picklock check jepsen/history.edn --model cas-register --report history.html
  picklock check jepsen/history.edn --model cas-register --independent --initial 0
  zcat etcd.log.gz | picklock check - --model cas-register --time-budget 5m
  picklock check store/latest --export edn > history.edn";

/// The beginning of `check --help`.
pub const CHECK_ABOUT: &str = "Judges a stored run again, and draws its report.\n\nWith --model: holds \
any history against a model (`picklock list models`), by Jepsen's rule: an operation that failed \
did not happen, and one of unknown outcome may have happened at any time after its begin, or not \
at all. Reads picklock's JSON Lines, Jepsen's and Knossos' EDN, and operations in a log, such as \
`INFO  jepsen.util - 0  :invoke  :write  4`.\n\nA read of `nil` found nothing in the register. In a \
log, a cas that failed with its two values and no error behind them (`:fail :cas [1 2]`) did find \
another value; elsewhere a cas that failed says nothing. A client may have a number or a name; only \
the process `nemesis` is no client. How a lock is asked for stands in `mode`, or in the value: \
exclusive (or write) or shared (or read). A fencing token is a whole number, in `token` or in the \
value of a grant; the value with which a semaphore is asked for or freed is the number of permits. A \
key that is a list is several locks, taken or freed together.\n\nA hold also ends with the `death` of \
its client, or with its `lost`; a failed `extend` and a `valid` that is answered with false say the \
same. An `extend` or a `valid` that is ok says that the client holds the lock, and is held against \
that. Beside the model, progress is judged: a lock that can be had, and that nobody who asks for it \
is given by the end of a whole history, is violated.\n\nInconclusive is a history that is legal up \
to where it was cut off, one in which nothing was answered ok, and, for `fenced`, one without any token.";

/// The arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// A run folder, or the history in it; with --model any history, `-` for standard input.
    #[arg(value_name = "RUN|FILE")]
    pub run: PathBuf,
    /// Holds the history against this model (`picklock list models`).
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The format of the history; its first bytes tell it when this is not given.
    #[arg(long, value_enum, value_name = "FORMAT", requires = "model")]
    pub input_format: Option<InputFormat>,
    /// Values are [key value], as those of `jepsen.independent`; each key is judged by itself. Seen
    /// without it where the first operation leaves no doubt.
    #[arg(long, requires = "model")]
    pub independent: bool,
    /// The first value of a register, as EDN [default: nil; 0 in a run of picklock].
    #[arg(long, value_name = "VALUE", requires = "model", allow_hyphen_values = true, value_parser = value)]
    pub initial: Option<Value>,
    /// Writes a page here (HTML, one file) with a picture of the history: how far its operations
    /// can be ordered, and what cannot.
    #[arg(long, value_name = "FILE", requires = "model")]
    pub report: Option<PathBuf>,
    /// The limits on time and memory.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Writes the history of a run to stdout in this format, and judges nothing.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "model")]
    pub export: Option<ExportFormat>,
    /// The format of the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The format of a history that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// JSON Lines: one object per event.
    Jsonl,
    /// EDN: one map per event, one after another or in one vector.
    Edn,
    /// A log with operations in it, as Jepsen prints them.
    Log,
}

impl InputFormat {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Edn => "edn",
            Self::Log => "log",
        }
    }
}

impl From<InputFormat> for reading::Notation {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Jsonl => Self::Jsonl,
            InputFormat::Edn => Self::Edn,
            InputFormat::Log => Self::Log,
        }
    }
}

impl From<reading::Notation> for InputFormat {
    fn from(format: reading::Notation) -> Self {
        match format {
            reading::Notation::Jsonl => Self::Jsonl,
            reading::Notation::Edn => Self::Edn,
            reading::Notation::Log => Self::Log,
        }
    }
}

/// The format of an exported history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// As Jepsen and Knossos read it: one map per event, one per line.
    Edn,
}

/// A text that is no value.
#[derive(Debug, thiserror::Error)]
#[error("{0}; write it as 0, nil or :a")]
struct NoValue(EdnError);

fn value(text: &str) -> Result<Value, NoValue> {
    text.parse().map_err(NoValue)
}
