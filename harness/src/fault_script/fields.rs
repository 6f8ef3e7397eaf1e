//! The fields of a `[[fault]]` table, each with its place.

use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::{Mistake, ScriptMistake};
use crate::nearest;

/// The fields of one fault.
pub struct Fields<'t> {
    table: &'t DeTable<'t>,
    /// The place of the whole table.
    pub at: Range<usize>,
}

/// A value with its place.
pub type Placed<T> = (T, Range<usize>);

impl<'t> Fields<'t> {
    /// The fields of a table, if it has no others than the known ones.
    pub fn of(
        table: &'t DeTable<'t>,
        at: Range<usize>,
        known: &[&str],
    ) -> Result<Self, ScriptMistake> {
        let strange = |key: &&Spanned<_>| !known.contains(&AsRef::<str>::as_ref(key.get_ref()));
        let strange = table.keys().filter(strange).min_by_key(|key| key.span().start);
        match strange {
            Some(key) => {
                let unknown = nearest::unknown("field", key.get_ref(), known);
                Err(Mistake::Unknown(unknown).at(key.span()))
            }
            None => Ok(Self { table, at }),
        }
    }

    /// The place of a field, if it is there.
    pub fn place(&self, field: &str) -> Option<Range<usize>> {
        self.table.get(field).map(Spanned::span)
    }

    fn get<T>(
        &self,
        field: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&'t DeValue<'t>) -> Option<T>,
    ) -> Result<Option<Placed<T>>, ScriptMistake> {
        let Some(value) = self.table.get(field) else { return Ok(None) };
        match read(value.get_ref()) {
            Some(read) => Ok(Some((read, value.span()))),
            None => Err(Mistake::Type { field, wanted }.at(value.span())),
        }
    }

    /// Reads a field that holds a text.
    pub fn text(
        &self,
        field: &'static str,
        wanted: &'static str,
    ) -> Result<Option<Placed<&'t str>>, ScriptMistake> {
        self.get(field, wanted, DeValue::as_str)
    }

    /// Reads a field that holds a list.
    pub fn list(
        &self,
        field: &'static str,
        wanted: &'static str,
    ) -> Result<Option<Placed<&'t DeArray<'t>>>, ScriptMistake> {
        self.get(field, wanted, DeValue::as_array)
    }

    /// A whole number from 1.
    pub fn count(
        &self,
        field: &'static str,
        wanted: &'static str,
    ) -> Result<Option<Placed<u32>>, ScriptMistake> {
        self.get(field, wanted, |value| {
            let number = value.as_integer().filter(|number| number.radix() == 10)?;
            number.as_str().parse().ok().filter(|number| *number > 0)
        })
    }

    /// Yes or no; no if it is not there.
    pub fn flag(&self, field: &'static str, wanted: &'static str) -> Result<bool, ScriptMistake> {
        Ok(self.get(field, wanted, DeValue::as_bool)?.is_some_and(|(flag, _)| flag))
    }

    /// Reads a field that holds a number.
    pub fn number(
        &self,
        field: &'static str,
        wanted: &'static str,
    ) -> Result<Option<Placed<f64>>, ScriptMistake> {
        self.get(field, wanted, |value| {
            let number = value.as_float().map(|float| float.as_str());
            let number = number.or_else(|| value.as_integer().map(|integer| integer.as_str()));
            number?.parse().ok().filter(|number: &f64| number.is_finite())
        })
    }
}
