//! Actions as a script names them, with their extents.

use base::{ACTIONS, Action, ActionExtent, ExtentUnit};
use std::ops::Range;
use std::time::Duration;

use super::error::{Mistake, ScriptMistake};
use super::fields::Fields;
use super::time;
use crate::nearest;

/// The fields that give an action its extent.
pub fn extents() -> Vec<&'static str> {
    let field = |action: &Action| Some(action.spec().extent?.field);
    let mut fields: Vec<&str> = ACTIONS.iter().filter_map(field).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// Reads the action of a fault.
pub fn read(fields: &Fields<'_>, ttl: Duration) -> Result<Action, ScriptMistake> {
    let action = fields.text("action", "the name of an action: action = \"pause\"")?;
    let missing = Mistake::Missing("an action: action = \"pause\" (`picklock list actions`)");
    let (name, at) = action.ok_or_else(|| missing.at(fields.at.clone()))?;
    let named = ACTIONS.iter().find(|action| action.spec().name == name);
    let action = named.copied().ok_or_else(|| {
        let names: Vec<&str> = ACTIONS.iter().map(|action| action.spec().name).collect();
        Mistake::Unknown(nearest::unknown("action", name, &names)).at(at.clone())
    })?;
    let extent = action.spec().extent;
    let own = extent.map(|extent| extent.field);
    for field in extents().into_iter().filter(|field| own != Some(*field)) {
        if let Some(at) = fields.place(field) {
            let misfit = format!("`{name}` takes no `{field}`");
            return Err(Mistake::Misfit(misfit).at(at));
        }
    }
    extent.map_or(Ok(action), |extent| read_extent(fields, ttl, at, extent))
}

fn read_extent(
    fields: &Fields<'_>,
    ttl: Duration,
    at: Range<usize>,
    extent: ActionExtent,
) -> Result<Action, ScriptMistake> {
    let ActionExtent { field, noun, wanted, unit, .. } = extent;
    let time = || match fields.text(field, wanted)? {
        Some((text, place)) => match time::read(text, ttl) {
            Ok(time) => Ok(Some((time, place))),
            Err(why) => Err(Mistake::Number(why).at(place)),
        },
        None => Ok(None),
    };
    let given = match unit {
        ExtentUnit::Nanos => time()?.map(|(time, place)| (time.as_nanos() as i64, place)),
        ExtentUnit::Micros => time()?.map(|(time, place)| (time.as_micros() as i64, place)),
        ExtentUnit::Ppm => fields
            .number(field, wanted)?
            .map(|(percent, place)| ((percent * 10_000.0).round() as i64, place)),
        ExtentUnit::Count => {
            fields.count(field, wanted)?.map(|(number, place)| (i64::from(number), place))
        }
    };
    let (number, place) = given.ok_or_else(|| Mistake::Missing(noun).at(at))?;
    (extent.make)(number).ok_or_else(|| Mistake::Number(extent.bounds.into()).at(place))
}

/// The field with the extent of an action, and its value.
pub fn write_extent(action: Action) -> Option<(&'static str, String)> {
    let (extent, number) = (action.spec().extent?, action.extent());
    let time = |time| format!("\"{}\"", time::write(time));
    let value = match extent.unit {
        ExtentUnit::Nanos => time(Duration::from_nanos(number.unsigned_abs())),
        ExtentUnit::Micros => time(Duration::from_micros(number.unsigned_abs())),
        ExtentUnit::Ppm => format!("{:?}", number as f64 / 10_000.0),
        ExtentUnit::Count => number.to_string(),
    };
    Some((extent.field, value))
}
