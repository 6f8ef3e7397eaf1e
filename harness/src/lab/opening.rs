//! The way in which a lab opens its lock.

use base::{Link, Lock, Shape};
use std::rc::Rc;
use std::sync::Arc;
use stores::redis::{OverLink, Redis};
use workloads::locks::On;

use super::site::{Site, Wires};
use super::tokio_time::OnTokio;

/// The function that opens a lock, and what it has to find there.
#[derive(Clone)]
pub struct LabOpening {
    /// Opens it.
    pub open: Arc<dyn Fn(Site) -> Box<dyn Lock> + Send + Sync>,
    /// The shape in which it sees the servers.
    pub shape: Shape,
    /// True if it has tokio in the simulator. On real servers, there always is one.
    pub tokio: bool,
}

impl LabOpening {
    /// Opens it in the simulator.
    pub fn simulated(self) -> On<Redis> {
        let Self { open, shape, tokio } = self;
        On::by(shape, move |link: Rc<dyn Link<Redis>>, settings| {
            let (ttl, wires) = (settings.ttl, Wires::default());
            let open = |link: Rc<dyn Link<Redis>>| {
                let connections = Rc::new(OverLink(link.clone()));
                open(Site::new(link, connections, &settings, Some(wires.clone())))
            };
            match tokio {
                true => Box::new(OnTokio::open(link, wires.clone(), ttl, open)),
                false => open(link),
            }
        })
    }
}
