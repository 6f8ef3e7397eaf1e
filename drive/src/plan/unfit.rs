//! Clients that cannot do what a run asks of them.

use base::{ClientAbility, PROTOCOL_VERSION};

/// A lack of a client, from its answer to `init`. Each says what to do about it, in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitClient {
    /// It says that it cannot do what the task asks of it.
    #[error(
        "the task {task} needs clients that can do `{}`, and this one does not say so in its answer \
         to `init`: {}, or give --task contend",
        .ability.word(),
        remedy(*.ability)
    )]
    Unable {
        /// The name of the task.
        task: &'static str,
        /// The ability.
        ability: ClientAbility,
    },
    /// It speaks another version of the protocol.
    #[error(
        "the client speaks version {0} of the protocol, and this picklock version \
         {PROTOCOL_VERSION}: copy the helper file of this version (adapters/) beside it"
    )]
    Version(u32),
}

/// Returns the way for a client to get an ability.
const fn remedy(ability: ClientAbility) -> &'static str {
    match ability {
        ClientAbility::Shared => {
            "have its `acquire` take the mode, leave `shared` out of its promises"
        }
        ClientAbility::Timed => "have its `acquire` take a time-out",
        ClientAbility::Convert => "give its lock a method `convert`",
        ClientAbility::Extend => "give its lock a method `extend`",
        ClientAbility::Held => "give its lock a method `held`",
        ClientAbility::Cancel => "have it carry out `cancel` (docs/protocol.md)",
        ClientAbility::Workers => "have it serve each worker by a thread of its own",
        ClientAbility::Permits => "have its `acquire` take `permits`",
    }
}

impl UnfitClient {
    /// Reads the lack of a client, if it has one, from the version and the abilities in its answer
    /// to `init`. A client that does not say what it can is believed to do what its lock promises.
    pub fn of(
        needed: &[ClientAbility],
        task: &'static str,
        (version, can): (Option<u32>, Option<&[ClientAbility]>),
    ) -> Option<Self> {
        if let Some(other) = version.filter(|it| *it != PROTOCOL_VERSION) {
            return Some(Self::Version(other));
        }
        let has = |it: &ClientAbility| can.map_or(it.is_assumed(), |can| can.contains(it));
        let ability = *needed.iter().find(|it| !has(it))?;
        Some(Self::Unable { task, ability })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_asked_only_what_it_says_that_it_can() {
        let needed = [ClientAbility::Timed, ClientAbility::Extend];
        let of = |version, can| UnfitClient::of(&needed, "extend", (version, can));
        assert_eq!(of(None, None), None);
        assert_eq!(of(Some(PROTOCOL_VERSION), Some(&needed)), None);
        let lack = of(None, Some(&[ClientAbility::Timed])).expect("a lack");
        assert_eq!(
            lack.to_string(),
            "the task extend needs clients that can do `extend`, and this one does not say so in \
             its answer to `init`: give its lock a method `extend`, or give --task contend"
        );
        assert_eq!(of(Some(2), None), Some(UnfitClient::Version(2)));
        let several = UnfitClient::of(&[ClientAbility::Permits], "permits", (None, None));
        assert!(several.is_some(), "nobody is believed to take several permits");
    }
}
