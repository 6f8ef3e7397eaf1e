//! EDN, form by form, from anything that can be read: without recursion, so that no nesting ends
//! the stack, and with bounds on depth and size, so that no form fills the memory.
//!
//! Source: <https://github.com/edn-format/edn>. Beyond it, as Clojure prints: namespaced maps
//! (`#:op{…}`), `##NaN`, ratios (`1/2`).

use super::entry::Value;
use super::number::{decimal, ratio};
use super::source::Source;
use crate::HistoryError;
use std::borrow::Cow;
use std::io::BufRead;
use std::str::FromStr;

/// The greatest depth to which forms may be nested.
const DEEPEST: usize = 64;
/// The greatest size of one form, on all levels together, in units of [`UNIT`]: each value is one,
/// and so is each such piece of its text.
const LARGEST: usize = 1 << 20;
/// The length of a piece of text that counts as one value, in bytes.
const UNIT: usize = 32;
/// The greatest length of one string, number or name, in bytes.
const LONGEST: usize = 1 << 20;

/// A reason for which there is no form.
#[derive(Debug)]
pub enum NoForm {
    /// The text ends within the form that begins on this line.
    CutOff,
    /// The text is wrong.
    Wrong(HistoryError),
}

impl From<HistoryError> for NoForm {
    fn from(error: HistoryError) -> Self {
        Self::Wrong(error)
    }
}

/// The next thing in the text.
#[derive(Debug, PartialEq, Eq)]
pub enum NextForm {
    /// A whole form, and the line on which it begins.
    Form(u64, Value),
    /// The bracket that closes the sequence that was entered.
    Close,
    /// The end of the text.
    End,
}

/// A reader of forms.
#[derive(Debug)]
pub struct Parser<R> {
    source: Source<R>,
    /// The forms that have begun, and the last word: kept for their room.
    begun: Vec<OpenForm>,
    word: Vec<u8>,
}

/// A token of the text.
#[derive(Debug)]
enum EdnToken {
    Open(FormShape),
    Close(u8),
    Tag(Box<str>),
    Discard,
    Atom(Value),
    End,
}

impl EdnToken {
    /// The size that the token adds to its form.
    fn size(&self) -> usize {
        match self {
            Self::Tag(name) => 1 + name.len() / UNIT,
            Self::Atom(value) => size(value),
            _ => 1,
        }
    }
}

/// The size that a value without items adds to its form.
fn size(atom: &Value) -> usize {
    match atom {
        Value::Text(text) => 1 + text.len() / UNIT,
        Value::Word(text) => 1 + text.len() / UNIT,
        _ => 1,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormShape {
    Vector,
    List,
    Set,
    Map,
}

impl FormShape {
    fn close(self) -> u8 {
        match self {
            Self::Vector => b']',
            Self::List => b')',
            Self::Set | Self::Map => b'}',
        }
    }

    /// Room for what it holds: the map of an operation has some ten pairs.
    fn room(self) -> Vec<Value> {
        Vec::with_capacity(if self == Self::Map { 20 } else { 0 })
    }
}

/// A form that has begun.
#[derive(Debug)]
enum OpenForm {
    Holds(FormShape, Vec<Value>),
    Tagged(Box<str>),
    Discards,
}

impl<R: BufRead> Parser<R> {
    /// Forms from the place where the reader stands, which is on this line.
    pub fn new(reader: R, line: u64) -> Self {
        Self { source: Source::new(reader, line), begun: Vec::new(), word: Vec::new() }
    }

    /// Enters a vector or a list, if the text begins with one (its tag, if any, is ignored), and
    /// returns the bracket that closes it. Otherwise returns what stands there.
    pub fn enter(&mut self) -> Result<Result<u8, NextForm>, NoForm> {
        let mut tagged = false;
        loop {
            let token = self.token()?;
            let line = self.source.token_line();
            match token {
                EdnToken::End if tagged => return Err(NoForm::CutOff),
                EdnToken::Open(shape @ (FormShape::Vector | FormShape::List)) => {
                    return Ok(Ok(shape.close()));
                }
                EdnToken::Tag(_) => tagged = true,
                EdnToken::Discard => self.discard()?,
                token => return self.form_from(token, line, None).map(Err),
            }
        }
    }

    /// The next form, or what stands in its place. `close` is the bracket that may stand there.
    pub fn form(&mut self, close: Option<u8>) -> Result<NextForm, NoForm> {
        let token = self.token()?;
        let line = self.source.token_line();
        self.form_from(token, line, close)
    }

    /// The line of the last token.
    pub fn line(&self) -> u64 {
        self.source.token_line()
    }

    fn discard(&mut self) -> Result<(), NoForm> {
        match self.form(None)? {
            NextForm::Form(..) => Ok(()),
            NextForm::Close | NextForm::End => Err(NoForm::CutOff),
        }
    }

    fn form_from(
        &mut self,
        first: EdnToken,
        line: u64,
        close: Option<u8>,
    ) -> Result<NextForm, NoForm> {
        let mut begun = std::mem::take(&mut self.begun);
        let next = self.form_of(first, line, close, &mut begun);
        begun.clear();
        self.begun = begun;
        next
    }

    fn form_of(
        &mut self,
        first: EdnToken,
        line: u64,
        close: Option<u8>,
        begun: &mut Vec<OpenForm>,
    ) -> Result<NextForm, NoForm> {
        let mut size = 0;
        let mut start = line;
        let mut token = first;
        loop {
            let here = self.source.token_line();
            size += token.size();
            let finished = match token {
                EdnToken::End if begun.is_empty() => return Ok(NextForm::End),
                EdnToken::End => return Err(NoForm::CutOff),
                EdnToken::Close(bracket) if begun.is_empty() && close == Some(bracket) => {
                    return Ok(NextForm::Close);
                }
                EdnToken::Close(bracket) => Some(closed(begun.pop(), bracket, here)?),
                EdnToken::Atom(value) => Some(value),
                EdnToken::Open(shape) => {
                    begun.push(OpenForm::Holds(shape, shape.room()));
                    None
                }
                EdnToken::Tag(name) => {
                    begun.push(OpenForm::Tagged(name));
                    None
                }
                EdnToken::Discard => {
                    begun.push(OpenForm::Discards);
                    None
                }
            };
            if begun.len() > DEEPEST {
                return Err(wrong(here, format!("EDN nested deeper than {DEEPEST}")));
            }
            if size > LARGEST {
                let most = (LARGEST * UNIT) >> 20;
                return Err(wrong(start, format!("one form of more than {most} MiB")));
            }
            if let Some(whole) = finished.and_then(|value| place(value, begun)) {
                return Ok(NextForm::Form(start, whole));
            }
            if let Some(OpenForm::Holds(_, items)) = begun.last_mut() {
                size += self.plain_words(items, LARGEST - size);
            }
            token = self.token()?;
            if begun.is_empty() {
                // What stood here was discarded.
                (start, size) = (self.source.token_line(), 0);
            }
        }
    }

    /// Reads words as far as they are at hand and each is one value of size 1, at most so many, and
    /// returns their number. Most of a history is such words, for which a token each is slow; what
    /// is anything else, or wrong, is left where it is.
    fn plain_words(&mut self, into: &mut Vec<Value>, most: usize) -> usize {
        let before = into.len();
        while into.len() - before < most
            && let Some(value) = self.source.take_word_as(&ENDS_WORD, plain)
        {
            into.push(value);
        }
        into.len() - before
    }

    fn token(&mut self) -> Result<EdnToken, NoForm> {
        self.source.skip_blank()?;
        let Some(byte) = self.source.peek()? else { return Ok(EdnToken::End) };
        if !b"[({])}\"#\\".contains(&byte) {
            return self.atom().map(EdnToken::Atom);
        }
        self.source.bump()?;
        Ok(match byte {
            b'[' => EdnToken::Open(FormShape::Vector),
            b'(' => EdnToken::Open(FormShape::List),
            b'{' => EdnToken::Open(FormShape::Map),
            b']' | b')' | b'}' => EdnToken::Close(byte),
            b'"' => EdnToken::Atom(self.string()?),
            b'#' => self.dispatch()?,
            _ => self.character()?,
        })
    }

    /// Reads a number, a keyword or a symbol.
    fn atom(&mut self) -> Result<Value, NoForm> {
        let line = self.source.token_line();
        let word = match self.source.take_word(&ENDS_WORD) {
            Some(word) => word,
            // It goes on in the next piece.
            None => self.word(b"")?.as_bytes(),
        };
        atom(word).ok_or_else(|| match std::str::from_utf8(word) {
            Ok(word) => nonsense(line, word),
            Err(_) => NoForm::Wrong(HistoryError::NotUtf8 { line }),
        })
    }

    /// Reads the rest of a token that begins with `#`.
    fn dispatch(&mut self) -> Result<EdnToken, NoForm> {
        match self.source.peek()? {
            None => Err(NoForm::CutOff),
            Some(b'{') => {
                self.source.bump()?;
                Ok(EdnToken::Open(FormShape::Set))
            }
            Some(b'_') => {
                self.source.bump()?;
                Ok(EdnToken::Discard)
            }
            Some(b'#') => Ok(EdnToken::Atom(Value::Word(self.word(b"#")?.to_owned().into()))),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b':' => {
                Ok(EdnToken::Tag(self.word(b"")?.into()))
            }
            Some(_) => Err(self.nonsense("#")),
        }
    }

    /// Reads a character after its `\`: any one character, and the rest of its name if it has one.
    fn character(&mut self) -> Result<EdnToken, NoForm> {
        let Some(byte) = self.source.bump()? else { return Err(NoForm::CutOff) };
        let word = self.word(&[b'\\', byte])?.to_owned();
        Ok(EdnToken::Atom(Value::Word(word.into())))
    }

    /// The rest of a word whose beginning was read.
    fn word(&mut self, beginning: &[u8]) -> Result<&str, NoForm> {
        let mut word = std::mem::take(&mut self.word);
        word.clear();
        word.extend_from_slice(beginning);
        while self.source.take_until(|byte| ENDS_WORD[byte as usize], &mut word)? > 0 {
            self.bounded(&word)?;
        }
        self.word = word;
        let line = self.source.token_line();
        std::str::from_utf8(&self.word).map_err(|_| NoForm::Wrong(HistoryError::NotUtf8 { line }))
    }

    /// The rest of a string whose quote was read.
    fn string(&mut self) -> Result<Value, NoForm> {
        let mut text = Vec::new();
        loop {
            while self.source.take_until(|byte| b"\"\\".contains(&byte), &mut text)? > 0 {
                self.bounded(&text)?;
            }
            match self.source.bump()?.ok_or(NoForm::CutOff)? {
                b'"' => return Ok(Value::Text(self.text(text)?.into())),
                _ => {
                    let escaped = self.escape()?;
                    text.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, NoForm> {
        Ok(match self.source.bump()?.ok_or(NoForm::CutOff)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            byte @ (b'"' | b'\\') => byte.into(),
            b'u' => self.unicode()?,
            other => return Err(self.nonsense(&format!("\\{}", char::from(other)))),
        })
    }

    /// Reads four hexadecimal digits; a pair of surrogates is one character.
    fn unicode(&mut self) -> Result<char, NoForm> {
        let mut units = vec![self.hex()?];
        if (0xd800..0xdc00).contains(&units[0]) {
            for expected in *b"\\u" {
                if self.source.bump()?.ok_or(NoForm::CutOff)? != expected {
                    return Err(self.nonsense("half of a character"));
                }
            }
            units.push(self.hex()?);
        }
        match char::decode_utf16(units).next() {
            Some(Ok(c)) => Ok(c),
            _ => Err(self.nonsense("half of a character")),
        }
    }

    fn hex(&mut self) -> Result<u16, NoForm> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = char::from(self.source.bump()?.ok_or(NoForm::CutOff)?).to_digit(16);
            let digit = digit.ok_or_else(|| self.nonsense("\\u"))?;
            unit = unit << 4 | digit as u16;
        }
        Ok(unit)
    }

    fn bounded(&self, word: &[u8]) -> Result<(), NoForm> {
        if word.len() <= LONGEST {
            return Ok(());
        }
        let why = format!("a string or name longer than {LONGEST} bytes");
        Err(wrong(self.source.token_line(), why))
    }

    fn text(&self, bytes: Vec<u8>) -> Result<String, NoForm> {
        let line = self.source.token_line();
        String::from_utf8(bytes).map_err(|_| NoForm::Wrong(HistoryError::NotUtf8 { line }))
    }

    fn nonsense(&self, word: &str) -> NoForm {
        nonsense(self.source.token_line(), word)
    }
}

fn nonsense(line: u64, word: &str) -> NoForm {
    let word: String = word.chars().take(40).collect();
    wrong(line, format!("not EDN: `{word}`"))
}

/// A text that is not exactly one form of EDN.
#[derive(Debug, thiserror::Error)]
pub enum EdnError {
    /// The text is no EDN.
    #[error(transparent)]
    Wrong(#[from] HistoryError),
    /// The text has no form, more than one, or a part of one.
    #[error("not one EDN value")]
    NotOne,
}

/// Parses a text that consists of exactly one form.
impl FromStr for Value {
    type Err = EdnError;

    fn from_str(text: &str) -> Result<Self, EdnError> {
        let mut parser = Parser::new(text.as_bytes(), 1);
        match (parser.form(None), parser.form(None)) {
            (Ok(NextForm::Form(_, value)), Ok(NextForm::End)) => Ok(value),
            (Err(NoForm::Wrong(error)), _) | (_, Err(NoForm::Wrong(error))) => Err(error.into()),
            _ => Err(EdnError::NotOne),
        }
    }
}

fn wrong(line: u64, why: String) -> NoForm {
    NoForm::Wrong(HistoryError::Wrong { line, why })
}

const fn is_blank(byte: u8) -> bool {
    byte == b',' || byte.is_ascii_whitespace() || byte == 0x0b || (0x1c <= byte && byte < 0x20)
}

/// The bytes that are blank.
pub(super) const BLANK: [bool; 256] = {
    let mut blank = [false; 256];
    let mut byte = 0;
    while byte < blank.len() {
        blank[byte] = is_blank(byte as u8);
        byte += 1;
    }
    blank
};

/// The bytes before which a word ends.
const ENDS_WORD: [bool; 256] = {
    let mut ends = BLANK;
    let mut signs: &[u8] = b"\"()[]{};\\";
    while let [sign, rest @ ..] = signs {
        ends[*sign as usize] = true;
        signs = rest;
    }
    ends
};

/// Puts a value where it belongs; gives it back when it is a whole form.
fn place(mut value: Value, begun: &mut Vec<OpenForm>) -> Option<Value> {
    loop {
        match begun.last_mut() {
            None => return Some(value),
            Some(OpenForm::Holds(_, items)) => {
                items.push(value);
                return None;
            }
            Some(OpenForm::Tagged(name)) => {
                value = Value::Tagged(std::mem::take(name), Box::new(value));
                begun.pop();
            }
            Some(OpenForm::Discards) => {
                begun.pop();
                return None;
            }
        }
    }
}

/// The value of a form that its bracket has closed.
fn closed(frame: Option<OpenForm>, bracket: u8, line: u64) -> Result<Value, NoForm> {
    let found = char::from(bracket);
    match frame {
        Some(OpenForm::Holds(shape, items)) if shape.close() == bracket => match shape {
            FormShape::Vector | FormShape::List => Ok(Value::List(items)),
            FormShape::Set => {
                let mut items = items;
                items.sort();
                Ok(Value::Set(items))
            }
            FormShape::Map => map(items, line),
        },
        Some(OpenForm::Holds(shape, _)) => {
            let expected = char::from(shape.close());
            Err(wrong(line, format!("not EDN: `{found}` where `{expected}` should be")))
        }
        Some(OpenForm::Tagged(tag)) => {
            Err(wrong(line, format!("not EDN: no value after `#{tag}`")))
        }
        Some(OpenForm::Discards) => Err(wrong(line, "not EDN: nothing after `#_`".into())),
        None => Err(wrong(line, format!("not EDN: `{found}` closes nothing"))),
    }
}

fn map(items: Vec<Value>, line: u64) -> Result<Value, NoForm> {
    let mut items = items.into_iter();
    let mut pairs = Vec::with_capacity(items.len() / 2);
    while let Some(key) = items.next() {
        let Some(value) = items.next() else {
            return Err(wrong(line, "not EDN: a map with a key that has no value".into()));
        };
        pairs.push((key, value));
    }
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    if pairs.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(wrong(line, "not EDN: a map with a key that stands twice".into()));
    }
    Ok(Value::Map(pairs))
}

/// The value of a word, if it is one of size 1 and not the beginning of something else.
fn plain(word: &[u8]) -> Option<Value> {
    match word.first() {
        None | Some(b'#') => None,
        Some(_) => atom(word).filter(|value| size(value) == 1),
    }
}

/// The value of a word: a number, a keyword, a symbol.
fn atom(word: &[u8]) -> Option<Value> {
    let common = match word {
        [b':'] => return None,
        [b':', ..] => known(word).map(|word| Value::Word(Cow::Borrowed(word))),
        [b'0'..=b'9', ..] => digits(word).map(|number| Value::Int(number.into())),
        b"nil" => Some(Value::Nil),
        b"true" => Some(Value::Bool(true)),
        b"false" => Some(Value::Bool(false)),
        _ => None,
    };
    common.or_else(|| number_or_name(std::str::from_utf8(word).ok()?))
}

fn number_or_name(word: &str) -> Option<Value> {
    let signed = word.strip_prefix(['+', '-']).unwrap_or(word);
    match signed.starts_with(|c: char| c.is_ascii_digit()) {
        true => number(word),
        false => Some(Value::Word(word.to_owned().into())),
    }
}

/// The number of a word that is digits only, and so few that it fits. Most numbers are such, and
/// 128 bits are slow.
fn digits(word: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    };
    if word.len() < 20 { word.iter().try_fold(0, add) } else { None }
}

/// The words of most operations, which need no room of their own: keywords without a namespace.
fn known(word: &[u8]) -> Option<&'static str> {
    // As bytes: such a match decides by one byte after another, and does not compare each word.
    Some(match word {
        b":process" => ":process",
        b":type" => ":type",
        b":f" => ":f",
        b":value" => ":value",
        b":time" => ":time",
        b":index" => ":index",
        b":invoke" => ":invoke",
        b":ok" => ":ok",
        b":fail" => ":fail",
        b":info" => ":info",
        b":read" => ":read",
        b":write" => ":write",
        b":cas" => ":cas",
        b":add" => ":add",
        b":acquire" => ":acquire",
        b":release" => ":release",
        b":key" => ":key",
        b":mode" => ":mode",
        b":token" => ":token",
        b":exclusive" => ":exclusive",
        b":shared" => ":shared",
        b":error" => ":error",
        b":nemesis" => ":nemesis",
        b":node" => ":node",
        _ => return None,
    })
}

fn number(word: &str) -> Option<Value> {
    let whole = word.strip_suffix('N').unwrap_or(word);
    if let Ok(number) = whole.parse() {
        return Some(Value::Int(number));
    }
    let signed = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let hex = signed.strip_prefix("0x").or(signed.strip_prefix("0X"));
    if let Some(hex) = hex.filter(|hex| hex.starts_with(|c: char| c.is_ascii_hexdigit())) {
        let number = i128::from_str_radix(hex, 16).ok()?;
        return Some(Value::Int(if whole.starts_with('-') { -number } else { number }));
    }
    if let Some((above, below)) = whole.split_once('/') {
        return ratio(above, below);
    }
    // Beside a whole number stands an N, beside any other an M or nothing.
    let is_whole = || signed.bytes().all(|byte| byte.is_ascii_digit());
    match word.len() == whole.len() {
        true => decimal(word.strip_suffix('M').unwrap_or(word)),
        false => is_whole().then(|| decimal(whole)).flatten(),
    }
}

#[cfg(test)]
mod tests;
