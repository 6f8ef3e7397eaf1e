//! A command of the model: its arguments, its keys and the function that executes it.

use super::Server;
use super::keyspace::{Keyspace, Millis};
use super::number::integer;
use super::value::Collection;
use redis::Value;

/// A command on the keys, as it is called.
pub struct Call<'a> {
    /// The keys of the server.
    pub keys: &'a mut Keyspace,
    /// The server's wall clock, which stands still during a command and during a whole script.
    pub clock: WallClock,
    /// The arguments; the first is the command's name, as it was spelled.
    pub args: &'a [&'a [u8]],
    /// The command's name, for error texts.
    pub name: &'static str,
}

/// The server's wall clock at one moment.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// The time in milliseconds, by which keys expire.
    pub millis: Millis,
    /// The time in microseconds, as TIME tells it.
    pub micros: i64,
}

impl Call<'_> {
    /// Tells something of the collection under the first key; see [`Keyspace::read`].
    pub fn read<T: Collection, R>(self, tell: impl FnOnce(&T) -> R) -> Result<R, Value> {
        self.keys.read(self.args[1], self.clock.millis, tell)
    }

    /// Changes the collection under the first key; see [`Keyspace::change`].
    pub fn change<T: Collection>(
        self,
        change: impl FnOnce(&mut T) -> Result<(Value, bool), Value>,
    ) -> Result<Value, Value> {
        self.keys.change(self.args[1], self.clock.millis, change)
    }
}

/// The function of a command on values of one type.
pub type Typed = fn(Call<'_>) -> Result<Value, Value>;

/// The function of a command on the whole server.
pub type OnServer = fn(&mut Server, WallClock, &[&[u8]]) -> Value;

/// The function that executes a command.
pub enum CommandFunction {
    /// A function of the keys alone, so that a script may call it.
    Keys(KeysFunction),
    /// A function of the whole server, which no script may call.
    Server(OnServer),
}

/// A function of the keys alone.
#[derive(Clone, Copy)]
pub enum KeysFunction {
    /// One that returns its reply, whatever that is.
    Plain(fn(Call<'_>) -> Value),
    /// One of which the reply that refuses stands apart.
    Typed(Typed),
}

impl KeysFunction {
    /// Executes it.
    pub fn run(self, call: Call<'_>) -> Value {
        match self {
            Self::Plain(run) => run(call),
            Self::Typed(run) => run(call).unwrap_or_else(|refusal| refusal),
        }
    }
}

/// The places of the keys among a command's arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyPlaces {
    /// It has no keys.
    None,
    /// The first argument is one.
    First,
    /// The first two are.
    FirstTwo,
    /// All arguments are.
    All,
    /// All arguments but the last are.
    AllButLast,
    /// They follow their number, as those of a script.
    Counted,
}

/// A command that the model knows.
pub struct CommandSpec {
    /// The name; that of a subcommand reads "script|load".
    pub name: &'static str,
    /// The number of arguments that it takes, its name included; a negative number: at least so
    /// many.
    pub arity: i32,
    /// The function that executes it.
    pub run: CommandFunction,
    /// True if Redis takes it for a write, whether or not it changes anything.
    pub writes: bool,
    /// The places of its keys.
    pub places: KeyPlaces,
    /// True if it only comes with a subcommand.
    pub is_container: bool,
}

impl CommandSpec {
    /// Returns true if it can be called with so many arguments.
    pub fn takes(&self, count: usize) -> bool {
        let count = count as i32;
        if self.arity >= 0 { count == self.arity } else { count >= -self.arity }
    }

    /// The keys among the arguments of a call.
    pub fn keys<'a, 'b>(&self, args: &'a [&'b [u8]]) -> &'a [&'b [u8]] {
        let keys = match self.places {
            KeyPlaces::None => None,
            KeyPlaces::First => args.get(1..2),
            KeyPlaces::FirstTwo => args.get(1..3),
            KeyPlaces::All => args.get(1..),
            KeyPlaces::AllButLast => args.get(1..args.len().saturating_sub(1)),
            KeyPlaces::Counted => {
                let count = args.get(2).and_then(|count| integer(count));
                let count = count.and_then(|count| usize::try_from(count).ok());
                args.get(3..3 + count.unwrap_or_default())
            }
        };
        keys.unwrap_or_default()
    }

    /// The same command with its keys at these places.
    pub const fn with(self, places: KeyPlaces) -> Self {
        Self { places, ..self }
    }
}
