//! The model that such a server does not have: it runs on real servers alone.

use base::Data;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::Hasher;

use crate::Enumerable;
use crate::model::{Clocks, Noted, Out, Peer, ServerModel};
use base::Mono;

/// A model of which there is none.
#[derive(Clone)]
pub enum Nothing {}

impl ServerModel for Nothing {
    type Packet = Infallible;

    fn is_call(packet: &Infallible) -> bool {
        match *packet {}
    }

    fn receive(&mut self, _: Clocks, _: Peer, packet: Infallible, _: &mut Vec<Out<Infallible>>) {
        match packet {}
    }

    fn disconnected(&mut self, _: Clocks, _: u64, _: &mut Vec<Out<Infallible>>) {
        match *self {}
    }

    fn tick(&mut self, _: Clocks, _: &mut Vec<Out<Infallible>>) -> Option<Mono> {
        match *self {}
    }

    fn restart(&mut self, _: Clocks, _: Data) {
        match *self {}
    }

    fn take_journal(&mut self, _: &mut Vec<Noted>) {
        match *self {}
    }
}

impl Enumerable for Nothing {
    const SESSIONS: bool = false;

    fn fingerprint(&self, _: &mut impl Hasher) {
        match *self {}
    }

    fn things(&self) -> BTreeMap<String, u64> {
        match *self {}
    }

    fn words(packet: &Infallible) -> String {
        match *packet {}
    }
}
