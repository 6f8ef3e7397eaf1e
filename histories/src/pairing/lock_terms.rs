//! The mode, the fencing token and the number of permits with which a lock is requested, granted or
//! released, as an event gives them.
//!
//! They may stand in a part of their own, or in the value: `:read`, `7`, `{:mode :read, :fence 7}`,
//! `{:permits 2}`. A model with both modes has to know which of them it is, and one that compares
//! tokens has to know these; a value that cannot be understood is refused there. Other models
//! ignore it.

use crate::HistoryError;
use crate::models::NamedModel;
use crate::operation::Token;
use crate::reading::{Entry, Value, Verb, mode_of, short};
use base::{Kind, Mode};

/// The mode, the token and the permits of a request, a grant or a release.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LockTerms {
    /// `None` if neither the event nor the `invoke` of its operation gives it.
    pub mode: Option<Mode>,
    /// The token, only of a grant, for a model that compares tokens.
    pub token: Option<Token>,
    /// The number of permits, for a model that counts them.
    pub permits: Option<u32>,
}

impl LockTerms {
    /// Reads an event. `asked` is the mode that its `invoke` gave.
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
            let mode = value.get("mode").unwrap_or(value).bare().name().and_then(mode_of);
            return Ok(Self { mode: entry.mode.or(mode), token: None, permits });
        }
        let granted = entry.kind == Kind::Ok;
        let value = entry.value.bare();
        if granted && *value == Value::Bool(false) {
            let why = format!("this {} is ok and says false: was it granted?", entry.verb);
            return Err(HistoryError::wrong(entry.line, why));
        }
        let read = TermsReader { model, entry, known: entry.mode.or(asked) };
        let mode = entry.mode.or(read.mode(value)?).or(asked);
        let token = match model.is_fenced() && granted && entry.verb == Verb::Acquire {
            true => read.token(value)?,
            false => None,
        };
        Ok(Self { mode, token, permits })
    }
}

/// The number of permits that an event requests or releases. Only an `invoke` may give it as a bare
/// number: the value of a grant is often something else.
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
    let given = part.or(alone.filter(|_| entry.kind == Kind::Invoke));
    let Some(given) = given.filter(|_| model.has_permits()) else { return Ok(None) };
    match given.int().filter(|permits| *permits > 0) {
        Some(permits) => Ok(Some(permits)),
        None => {
            let why = format!("a number of permits is from 1 on, and this one is {}", short(given));
            Err(HistoryError::wrong(entry.line, why))
        }
    }
}

struct TermsReader<'a> {
    model: NamedModel,
    entry: &'a Entry,
    known: Option<Mode>,
}

impl TermsReader<'_> {
    /// The mode that a value gives.
    fn mode(&self, value: &Value) -> Result<Option<Mode>, HistoryError> {
        let granted = self.entry.kind == Kind::Ok;
        let part = value.get("mode");
        let given = part.unwrap_or(value).bare();
        if let Some(mode) = given.name().and_then(mode_of) {
            return Ok(Some(mode));
        }
        let silent = match given {
            Value::Nil => true,
            _ if part.is_some() => false,
            Value::Map(_) => true,
            Value::Bool(_) | Value::Int(_) => granted,
            // It may be a token: `token` checks that.
            _ => granted && (self.known.is_some() || self.model.is_fenced()),
        };
        if silent || !self.model.is_shared() {
            return Ok(None);
        }
        Err(self.wrong(format!("no mode is {}: exclusive or shared", short(given))))
    }

    /// The token that a grant gives, in its own part or in its value.
    fn token(&self, value: &Value) -> Result<Option<Token>, HistoryError> {
        let part = value.get("token").or_else(|| value.get("fence"));
        let part = Some(&self.entry.token).filter(|token| **token != Value::Nil).or(part);
        match (part.unwrap_or(value).bare(), part) {
            (Value::Int(number), _) => Ok(Some(Token::from(*number))),
            (Value::Nil, _) | (Value::Map(_) | Value::Bool(_), None) => Ok(None),
            (given, None) if given.name().is_some_and(|name| mode_of(name).is_some()) => Ok(None),
            (given, None) => {
                let why = format!("neither a mode nor a fencing token is {}", short(given));
                Err(self.wrong(why))
            }
            (given, Some(_)) => {
                let most = "a fencing token is a whole number of at most 128 bits";
                Err(self.wrong(format!("{most}, and this one is {}", short(given))))
            }
        }
    }

    fn wrong(&self, why: String) -> HistoryError {
        HistoryError::wrong(self.entry.line, why)
    }
}
