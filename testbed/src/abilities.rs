//! The abilities of real servers, by their backend and store; the rest is refused by name.

use super::servers::Servers;
use base::Ability;
use stores::StoreId;

/// The lack of an ability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The reason, in one line.
    pub reason: String,
    /// The way to have it on real servers all the same, if there is one.
    pub fix: Option<String>,
}

impl Lack {
    /// The lack of what no real server can do.
    pub fn of(ability: Ability) -> Self {
        Self { reason: format!("real servers cannot {ability}"), fix: None }
    }

    /// The lack of what these servers cannot do, for this reason.
    #[must_use]
    pub fn because(mut self, why: &str) -> Self {
        self.reason = format!("{}: {why}", self.reason);
        self
    }

    /// The same with a remedy.
    #[must_use]
    pub fn unless(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// Checks that real servers of a store have the ability.
///
/// # Errors
/// Fails with what they lack.
pub fn can<S: Servers>(store: StoreId, ability: Ability) -> Result<(), Lack> {
    match ability {
        Ability::Pause | Ability::Crash | Ability::Vanish | Ability::Evict => Ok(()),
        Ability::Cut | Ability::CutServers => Ok(()),
        Ability::DelayServers => S::can_delay_peers(ability),
        Ability::Reset | Ability::Refuse | Ability::Throttle => Ok(()),
        Ability::LoseRequest | Ability::LoseReply | Ability::Slow | Ability::Jitter => Ok(()),
        // The vault is the drive loop's, and so are its links.
        Ability::Vault => Ok(()),
        // What a killed process has written is safe with the kernel.
        Ability::CutPower => Err(Lack::of(ability)),
        Ability::ClientClock | Ability::ClientClockRate => Ok(()),
        Ability::ServerClock | Ability::ServerClockRate => S::can_set_clocks(store, ability),
    }
}
