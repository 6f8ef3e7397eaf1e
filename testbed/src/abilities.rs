//! The abilities of real servers, by their backend and store; the rest is refused by name.

use super::servers::Servers;
use base::{Ability, Lack};
use stores::StoreId;

/// Checks that real servers of a store have the ability.
///
/// # Errors
/// Fails with what they lack.
pub fn can<S: Servers>(store: StoreId, ability: Ability) -> Result<(), Lack> {
    match ability {
        Ability::Pause | Ability::Crash | Ability::Vanish | Ability::Evict => Ok(()),
        Ability::Cut | Ability::CutServers => Ok(()),
        Ability::DelayServers => S::can_delay_peers(ability),
        Ability::LeadPrograms => S::can_lead_programs(ability),
        Ability::Reset | Ability::Refuse | Ability::Throttle => Ok(()),
        Ability::RunServer => S::can_run_servers(ability),
        Ability::LoseRequest | Ability::LoseReply => {
            store.calls_are_known().map_err(|why| Lack::of(ability).because(why))
        }
        Ability::Slow | Ability::Jitter => Ok(()),
        // The vault is the drive loop's, and so are its links.
        Ability::Vault => Ok(()),
        // What a killed process has written is safe with the kernel.
        Ability::CutPower => Err(Lack::of(ability)),
        Ability::ClientClock | Ability::ClientClockRate => Ok(()),
        Ability::ServerClock | Ability::ServerClockRate => S::can_set_clocks(store, ability),
    }
}
