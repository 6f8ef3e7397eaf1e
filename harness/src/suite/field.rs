//! The values of a suite's fields, each read from a text and refused with its place.

use reports::hazards::{self, HAZARDS, Hazard};
use serde::de::{Deserialize, Deserializer, Error};
use std::path::PathBuf;
use std::time::Duration;
use stores::{StoreId, Topology};
use workloads::LockSpec;

use crate::nearest;
use crate::plan::Length;

/// Reads a text and makes something of it.
fn read<'de, D: Deserializer<'de>, T>(
    from: D,
    make: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    make(&String::deserialize(from)?).map_err(D::Error::custom)
}

/// A lock of the catalogue.
#[derive(Clone, Copy)]
pub struct LockField(pub &'static LockSpec);

impl<'de> Deserialize<'de> for LockField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let names = || workloads::LOCKS.iter().map(|lock| lock.name).collect::<Vec<_>>();
        let find = |name: &str| {
            workloads::find(name).ok_or_else(|| nearest::unknown("lock", name, &names()))
        };
        read(from, find).map(Self)
    }
}

/// A hazard of the list, by its name: "H7".
#[derive(Clone, Copy)]
pub struct HazardField(pub &'static Hazard);

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

/// A topology of the list.
#[derive(Clone, Copy)]
pub struct TopologyField(pub &'static Topology);

impl<'de> Deserialize<'de> for TopologyField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let names = || StoreId::all_topologies().map(|on| on.name).collect::<Vec<_>>();
        let find = |name: &str| {
            StoreId::topology(name).ok_or_else(|| nearest::unknown("topology", name, &names()))
        };
        read(from, find).map(Self)
    }
}

/// A task of the list.
#[derive(Clone, Copy)]
pub struct TaskField(pub &'static base::Task);

impl<'de> Deserialize<'de> for TaskField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let names = || workloads::TASKS.iter().map(|task| task.name).collect::<Vec<_>>();
        let find = |name: &str| {
            workloads::task(name).ok_or_else(|| nearest::unknown("task", name, &names()))
        };
        read(from, find).map(Self)
    }
}

/// A length of time, such as "500ms".
#[derive(Clone, Copy)]
pub struct TimeField(pub Duration);

impl<'de> Deserialize<'de> for TimeField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let parse = |text: &str| humantime::parse_duration(text);
        let wrong = |why| format!("{why}; write it as \"500ms\", \"2s\" or \"1m30s\"");
        read(from, |text| parse(text).map_err(wrong)).map(Self)
    }
}

/// The length of holds or pauses, such as "exact:50ms".
#[derive(Clone, Copy)]
pub struct LengthField(pub Length);

impl<'de> Deserialize<'de> for LengthField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let parse = |text: &str| text.parse::<Length>().map_err(|why| why.to_string());
        read(from, parse).map(Self)
    }
}

/// The path of a fault script, from the folder of the suite.
#[derive(Clone)]
pub struct ScriptField(pub PathBuf);

impl<'de> Deserialize<'de> for ScriptField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read(from, |path| Ok(PathBuf::from(path))).map(Self)
    }
}
