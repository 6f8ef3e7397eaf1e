//! The fields of a suite's entry, each read from its value and refused with its place.

use reports::hazards::{self, HAZARDS, Hazard};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;

use super::Expectation;
use crate::nearest;
use crate::options::{GivenOptions, OPTIONS, RunOption, parse_duration};

/// The fields of an entry: its own, and the options of its run.
pub struct EntryFields {
    pub name: Option<String>,
    pub hazards: Vec<String>,
    pub lock: Spanned<String>,
    pub nemesis: Option<String>,
    pub script: Option<Spanned<PathBuf>>,
    pub options: GivenOptions,
    pub seeds: Option<Spanned<u64>>,
    pub rare: bool,
    pub real: u64,
    pub real_time_limit: Option<Duration>,
    pub expect: Spanned<Expectation>,
}

/// A field of an entry, by its name.
enum Field {
    Own(&'static str),
    Option(&'static RunOption),
}

/// The fields that are no options of a run.
const OWN: &[&str] = &[
    "name",
    "hazards",
    "lock",
    "nemesis",
    "script",
    "seeds",
    "rare",
    "real",
    "real-time-limit",
    "expect",
];

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let own = OWN.iter().find(|own| **own == name).map(|own| Self::Own(own));
        let option = || OPTIONS.iter().find(|option| option.name == name).map(Self::Option);
        own.or_else(option).ok_or_else(|| {
            let names: Vec<&str> =
                OWN.iter().copied().chain(OPTIONS.iter().map(|option| option.name)).collect();
            D::Error::custom(nearest::unknown("field", &name, &names))
        })
    }
}

impl<'de> Deserialize<'de> for EntryFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = EntryFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry of a suite")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EntryFields, A::Error> {
        let (mut lock, mut expect) = (None, None);
        let (mut name, mut nemesis, mut script) = (None, None, None);
        let (mut hazards, mut options) = (Vec::new(), GivenOptions::default());
        let (mut seeds, mut rare, mut real, mut real_time_limit) = (None, false, 0, None);
        while let Some(field) = map.next_key()? {
            match field {
                Field::Own("name") => name = Some(map.next_value()?),
                Field::Own("hazards") => {
                    let named: Vec<HazardField> = map.next_value()?;
                    hazards = named.iter().map(|hazard| hazard.0.name()).collect();
                }
                Field::Own("lock") => lock = Some(map.next_value()?),
                Field::Own("nemesis") => nemesis = Some(map.next_value()?),
                Field::Own("script") => script = Some(map.next_value()?),
                Field::Own("seeds") => seeds = Some(map.next_value()?),
                Field::Own("rare") => rare = map.next_value()?,
                Field::Own("real") => real = map.next_value()?,
                Field::Own("real-time-limit") => {
                    real_time_limit = Some(map.next_value::<TimeField>()?.0);
                }
                Field::Own(_) => expect = Some(map.next_value()?),
                Field::Option(option) => map.next_value_seed(OptionSeed(option, &mut options))?,
            }
        }
        Ok(EntryFields {
            name,
            hazards,
            lock: lock.ok_or_else(|| A::Error::missing_field("lock"))?,
            nemesis,
            script,
            options,
            seeds,
            rare,
            real,
            real_time_limit,
            expect: expect.ok_or_else(|| A::Error::missing_field("expect"))?,
        })
    }
}

/// Reads the value of an option and adds it to the others.
struct OptionSeed<'a>(&'static RunOption, &'a mut GivenOptions);

/// The value of an option: a text, a whole number, or a list of texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum OptionValue {
    Text(String),
    Number(u64),
    List(Vec<String>),
}

impl<'de> DeserializeSeed<'de> for OptionSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let Self(option, options) = self;
        let value = OptionValue::deserialize(from)
            .map_err(|_| D::Error::custom("write it as a text or a whole number"))?;
        let text = match value {
            OptionValue::Text(text) => text,
            OptionValue::Number(number) => number.to_string(),
            OptionValue::List(texts) => texts.join(","),
        };
        options.add(option, text).map_err(D::Error::custom)
    }
}

/// Reads a text and makes something of it.
fn read<'de, D: Deserializer<'de>, T>(
    from: D,
    make: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    make(&String::deserialize(from)?).map_err(D::Error::custom)
}

/// A hazard of the list, by its name: "H7".
struct HazardField(&'static Hazard);

impl<'de> Deserialize<'de> for HazardField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let find = |name: &str| {
            let last = HAZARDS.last().map_or(String::new(), Hazard::name);
            let none = || format!("no hazard `{name}`: docs/hazards.md has H1 to {last}");
            hazards::find(name).ok_or_else(none)
        };
        read(from, find).map(Self)
    }
}

/// A length of time, such as "500ms".
struct TimeField(Duration);

impl<'de> Deserialize<'de> for TimeField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read(from, |text| parse_duration(text).map_err(|why| why.to_string())).map(Self)
    }
}
