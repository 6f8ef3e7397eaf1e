//! Servers that are kept between the runs of a suite, by the thread that runs them: they die with it.

#[cfg(feature = "real")]
use {
    base::{Backend, BackendError},
    stores::WorldSpec,
    testbed::{ClientCommand, KeptServers, RealBackend, Servers},
};

/// The sets of servers that a thread keeps at most. The one that was used longest ago goes first.
#[cfg(feature = "real")]
const MOST: usize = 3;

/// The servers that a thread keeps.
pub struct KeptWorlds {
    /// Those that are processes.
    #[cfg(feature = "real")]
    pub local: Shelf<local::LocalServers>,
    /// Those in containers.
    #[cfg(feature = "docker")]
    pub docker: Shelf<docker::DockerServers>,
}

impl KeptWorlds {
    /// Makes the place for servers; unless `keep`, none stay there.
    #[cfg_attr(not(feature = "real"), expect(unused_variables, reason = "there are no servers"))]
    pub fn new(keep: bool) -> Self {
        Self {
            #[cfg(feature = "real")]
            local: Shelf { keep, sets: Vec::new() },
            #[cfg(feature = "docker")]
            docker: Shelf { keep, sets: Vec::new() },
        }
    }
}

/// The place for servers of a backend between two runs.
#[cfg(feature = "real")]
pub struct Shelf<S: Servers> {
    keep: bool,
    sets: Vec<KeptServers<S>>,
}

#[cfg(feature = "real")]
impl<S: Servers> Shelf<S> {
    /// Makes the backend of a run, on kept servers if there are some for it.
    pub fn backend(&mut self, spec: &WorldSpec) -> Result<RealBackend<S>, BackendError> {
        let client = ClientCommand::built_in()?;
        while let Some(place) = self.sets.iter().position(|set| set.fits(spec)) {
            let mut set = self.sets.remove(place);
            // Those that are not what they were are removed.
            if set.renew().is_ok() {
                return RealBackend::on(spec, client, set);
            }
        }
        RealBackend::start_with(spec, client, &|_| ())
    }

    /// Ends a run, and keeps its servers if it came to its end and left them as they were.
    pub fn take_back(
        &mut self,
        mut backend: RealBackend<S>,
        is_sound: bool,
    ) -> Result<(), BackendError> {
        if !self.keep || !is_sound {
            return backend.stop();
        }
        self.sets.extend(backend.stop_and_keep()?);
        if self.sets.len() > MOST {
            self.sets.remove(0);
        }
        Ok(())
    }
}
