//! The mode, the fencing token and the number of permits with which an event says that a lock is
//! asked for, given or freed.
//!
//! They may stand in a part of their own, or in the value: `:read`, `7`, `{:mode :read, :fence 7}`,
//! `{:permits 2}`. A model that knows both modes has to know which it is, and one that compares
//! tokens which they are; what cannot be understood is refused there. Other models do not look at
//! it.

use crate::HistoryError;
use crate::models::NamedModel;
use crate::operation::Token;
use crate::reading::{Entry, Value, Verb, mode_of, short};
use base::{Kind, Mode};

/// The mode, the token and the permits of a lock that is asked for, given or freed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    /// `None` where neither the event nor the one with which it began says it.
    pub mode: Option<Mode>,
    /// The token, only of a grant, for a model that compares tokens.
    pub token: Option<Token>,
    /// The number of permits, for a model that counts them.
    pub permits: Option<u32>,
}

impl Said {
    /// Reads an event. `asked` is the mode with which it began.
    pub(super) fn of(
        model: NamedModel,
        entry: &Entry,
        asked: Option<Mode>,
    ) -> Result<Self, HistoryError> {
        if !matches!(entry.verb, Verb::Acquire | Verb::Convert | Verb::Release) {
            return Ok(Self::default());
        }
        let permits = permits(model, entry)?;
        if entry.verb == Verb::Release {
            let value = entry.value.bare();
            let said = value.get("mode").unwrap_or(value).bare().name().and_then(mode_of);
            return Ok(Self { mode: entry.mode.or(said), token: None, permits });
        }
        let granted = entry.kind == Kind::Ok;
        let value = entry.value.bare();
        if granted && *value == Value::Bool(false) {
            let why = format!("this {} is ok and says false: was it granted?", entry.verb);
            return Err(HistoryError::wrong(entry.line, why));
        }
        let read = SaidReading { model, entry, known: entry.mode.or(asked) };
        let mode = entry.mode.or(read.mode(value)?).or(asked);
        let token = match model.is_fenced() && granted && entry.verb == Verb::Acquire {
            true => read.token(value)?,
            false => None,
        };
        Ok(Self { mode, token, permits })
    }
}

/// The number of permits that an event asks for or gives back. Only the begin of an operation may
/// say it by the number alone: with a grant stands often something else.
fn permits(model: NamedModel, entry: &Entry) -> Result<Option<u32>, HistoryError> {
    let value = entry.value.bare();
    let part = value.get("permits").map(Value::bare);
    // A word or a text with a digit first is a number, too, if a wrong one.
    let begins_with_digit =
        |text: &str| text.trim_start_matches('-').starts_with(|it: char| it.is_ascii_digit());
    let is_number = |value: &&Value| match value {
        Value::Int(_) => true,
        Value::Word(word) => begins_with_digit(word),
        Value::Text(text) => begins_with_digit(text),
        _ => false,
    };
    let alone = Some(value).filter(is_number);
    let said = part.or(alone.filter(|_| entry.kind == Kind::Invoke));
    let Some(said) = said.filter(|_| model.has_permits()) else { return Ok(None) };
    match said.int().filter(|permits| *permits > 0) {
        Some(permits) => Ok(Some(permits)),
        None => {
            let why = format!("a number of permits is from 1 on, and this one is {}", short(said));
            Err(HistoryError::wrong(entry.line, why))
        }
    }
}

struct SaidReading<'a> {
    model: NamedModel,
    entry: &'a Entry,
    known: Option<Mode>,
}

impl SaidReading<'_> {
    /// The mode that a value says.
    fn mode(&self, value: &Value) -> Result<Option<Mode>, HistoryError> {
        let granted = self.entry.kind == Kind::Ok;
        let part = value.get("mode");
        let said = part.unwrap_or(value).bare();
        if let Some(mode) = said.name().and_then(mode_of) {
            return Ok(Some(mode));
        }
        let silent = match said {
            Value::Nil => true,
            _ if part.is_some() => false,
            Value::Map(_) => true,
            Value::Bool(_) | Value::Int(_) => granted,
            // It may be a token, and whether it is one is seen there.
            _ => granted && (self.known.is_some() || self.model.is_fenced()),
        };
        if silent || !self.model.is_shared() {
            return Ok(None);
        }
        Err(self.wrong(format!("no mode is {}: exclusive or shared", short(said))))
    }

    /// The token that a grant says, in its own part or in its value.
    fn token(&self, value: &Value) -> Result<Option<Token>, HistoryError> {
        let part = value.get("token").or_else(|| value.get("fence"));
        let part = Some(&self.entry.token).filter(|token| **token != Value::Nil).or(part);
        match (part.unwrap_or(value).bare(), part) {
            (Value::Int(number), _) => Ok(Some(Token::from(*number))),
            (Value::Nil, _) | (Value::Map(_) | Value::Bool(_), None) => Ok(None),
            (said, None) if said.name().is_some_and(|name| mode_of(name).is_some()) => Ok(None),
            (said, None) => {
                let why = format!("neither a mode nor a fencing token is {}", short(said));
                Err(self.wrong(why))
            }
            (said, Some(_)) => {
                let most = "a fencing token is a whole number of at most 128 bits";
                Err(self.wrong(format!("{most}, and this one is {}", short(said))))
            }
        }
    }

    fn wrong(&self, why: String) -> HistoryError {
        HistoryError::wrong(self.entry.line, why)
    }
}
