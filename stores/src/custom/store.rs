//! Servers of somebody else's, as the list of stores knows them.

use base::{Link, ProgramCommand};
use std::rc::Rc;
use std::time::Duration;

use super::Custom;
use super::nothing::Nothing;
#[cfg(feature = "real")]
use crate::ConnectError;
use crate::driver::CallDriver;
use crate::zookeeper::Timing;
use crate::{
    Allotment, ClientSettings, Cluster, Group, Junk, Launch, Need, Place, Ports, Probe,
    ProgramAllotment, SettableClock, Shape, Store, StoreId, Topology,
};

impl Store for Custom {
    const ID: StoreId = StoreId::Custom;
    const NAME: &'static str = "a store of your own";
    const TOPOLOGIES: &'static [Topology] = &[Topology {
        name: "custom",
        summary: "one server of your own, of any store, for a program (docs/own-lock.md)",
        shape: Shape::One,
        groups: &[Group { role: "server", count: 1, peers: false }],
    }];
    const TTL: Duration = Duration::from_secs(2);
    const JUNK: Result<Junk, &'static str> = Err("picklock does not know how to fill its memory");
    const SETTABLE_CLOCK: Result<SettableClock, &'static str> =
        Err("picklock does not know how to ask it for the time");
    const CALLS_ARE_KNOWN: Result<(), &'static str> =
        Err("picklock does not know which bytes of a connection are a call");
    const PORTS: Ports = Ports { clients: 0, peers: &[] };

    /// A program's keys begin with the name of the run. They stay.
    const ALLOTMENT: Result<Allotment<Self>, &'static str> = Ok(Allotment {
        confine: |link, _| link,
        programs: ProgramAllotment::Keys,
        #[cfg(feature = "real")]
        mark: |_, _| Box::pin(std::future::ready(Ok(()))),
        ask_for_mark: None,
        #[cfg(feature = "real")]
        remove: |_, _| Box::pin(std::future::ready(Ok(0))),
    });

    type Server = Nothing;
    type Driver = CallDriver<Self>;
    type Client = Rc<dyn Link<Self>>;
    type Standalone = Nothing;

    fn commands() -> Vec<&'static str> {
        Vec::new()
    }

    fn tick(_: &Timing) -> Duration {
        Duration::ZERO
    }

    /// Nobody knows; so a crash may be the reason why something is gone.
    fn persists() -> bool {
        false
    }

    fn server(_: &Cluster, _number: u32) -> Nothing {
        unreachable!("a program runs on real servers only")
    }

    fn standalone() -> Nothing {
        unreachable!("a program runs on real servers only")
    }

    fn driver(settings: ClientSettings) -> CallDriver<Self> {
        CallDriver::to(settings.servers)
    }

    fn client(link: Rc<dyn Link<Self>>, _: &Topology) -> Self::Client {
        link
    }

    fn needs(_: &Topology) -> Result<&'static [Need], &'static str> {
        Ok(&[])
    }

    /// To take connections is all that it has to do.
    fn probe(_: &Cluster, _number: u32) -> Probe {
        Probe { send: b"", expect: &[] }
    }

    fn variables(_: &Topology, servers: &[String], _: Option<&str>) -> Vec<(&'static str, String)> {
        vec![("SERVER", servers.join(","))]
    }

    fn launch(cluster: &Cluster, _number: u32, place: &Place) -> Launch {
        let command = cluster.command.as_ref().expect("a run without one is refused");
        let Place { data, host, port, .. } = place;
        let (host, port) = ((*host).to_owned(), port.to_string());
        let command = command.reaching(&[("DATA", data.clone()), ("HOST", host), ("PORT", port)]);
        let ProgramCommand { program, args, folder, variables } = command;
        // It is started in the folder of its data.
        let folder = std::path::absolute(folder.unwrap_or_else(|| ".".into())).unwrap_or_default();
        let begin = ["sh", "-c", IN_FOLDER].map(String::from).into_iter();
        let begin = begin.chain([folder.display().to_string(), "env".into()]);
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={value}"));
        let words = [program.display().to_string()].into_iter().chain(args);
        Launch { command: begin.chain(variables).chain(words).collect(), files: Vec::new() }
    }

    #[cfg(feature = "real")]
    fn connect(_: crate::RealSettings) -> crate::Connecting<Self> {
        let error = ConnectError("picklock has no lock for a server of your own".into());
        Box::pin(std::future::ready(Err(error)))
    }
}

/// Runs a command in a folder, in the place of the shell.
const IN_FOLDER: &str = "cd -- \"$0\" && exec \"$@\"";
