//! The vault: the resource that the lock guards. One register per key, which takes a fencing token
//! with each read and each write.
//!
//! After Kleppmann, "How to do distributed locking" (2016): a token that is older than one it has
//! already seen is refused. A read raises the mark as well; otherwise a reader that was overtaken
//! could still write first, and the other's update would be lost.

use base::{Key, Mode};

/// A resource with one register per key.
#[derive(Clone, Debug, Default, Hash)]
pub struct Vault {
    /// True if it checks tokens.
    fenced: bool,
    /// The registers in the order of their keys, which are few.
    registers: Vec<(Key, Register)>,
}

#[derive(Clone, Debug, Default, Hash)]
struct Register {
    value: u64,
    /// The highest token of all.
    mark: u64,
    /// The highest token of an exclusive grant.
    exclusive_mark: u64,
}

/// A refusal: the token was older than one that the vault has already seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fenced: token {token} is older than {mark}")]
pub struct StaleToken {
    /// The token that came.
    pub token: u64,
    /// The token that it would have to reach.
    pub mark: u64,
}

impl Vault {
    /// An empty vault, all registers 0. One that is not `fenced` accepts every token.
    pub fn new(fenced: bool) -> Self {
        Self { fenced, registers: Vec::new() }
    }

    /// Reads a register.
    ///
    /// # Errors
    /// Fails when the token is fenced off. A shared one is refused only below the highest exclusive
    /// one: readers do not overtake each other.
    pub fn read(&mut self, key: &Key, mode: Mode, token: Option<u64>) -> Result<u64, StaleToken> {
        Ok(self.admit(key, mode, token)?.value)
    }

    /// Writes a register, in the name of an exclusive grant.
    ///
    /// # Errors
    /// Fails when the token is fenced off.
    pub fn write(&mut self, key: &Key, token: Option<u64>, value: u64) -> Result<(), StaleToken> {
        self.admit(key, Mode::Exclusive, token)?.value = value;
        Ok(())
    }

    fn register(&mut self, key: &Key) -> &mut Register {
        let place = self.registers.binary_search_by(|(known, _)| known.cmp(key));
        let place = place.unwrap_or_else(|place| {
            self.registers.insert(place, (key.clone(), Register::default()));
            place
        });
        &mut self.registers[place].1
    }

    fn admit(
        &mut self,
        key: &Key,
        mode: Mode,
        token: Option<u64>,
    ) -> Result<&mut Register, StaleToken> {
        let fenced = self.fenced;
        let register = self.register(key);
        let (true, Some(token)) = (fenced, token) else { return Ok(register) };
        let mark = match mode {
            Mode::Exclusive => register.mark,
            Mode::Shared => register.exclusive_mark,
        };
        if token < mark {
            return Err(StaleToken { token, mark });
        }
        register.mark = register.mark.max(token);
        if mode == Mode::Exclusive {
            register.exclusive_mark = register.exclusive_mark.max(token);
        }
        Ok(register)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Mode::{Exclusive, Shared};

    #[test]
    fn a_read_fences_off_an_older_write() {
        let mut vault = Vault::new(true);
        let key: Key = "k".into();
        assert_eq!(vault.read(&key, Exclusive, Some(2)), Ok(0));
        assert_eq!(vault.write(&key, Some(1), 9), Err(StaleToken { token: 1, mark: 2 }));
        assert_eq!(vault.write(&key, Some(2), 1), Ok(()));
        assert_eq!(vault.read(&key, Exclusive, Some(3)), Ok(1));
    }

    #[test]
    fn readers_do_not_overtake_each_other_but_writers_overtake_them() {
        let mut vault = Vault::new(true);
        let key: Key = "k".into();
        assert!(vault.read(&key, Shared, Some(5)).is_ok());
        assert!(vault.read(&key, Shared, Some(4)).is_ok());
        assert!(vault.write(&key, Some(4), 1).is_err());
        assert!(vault.write(&key, Some(6), 1).is_ok());
        assert!(vault.read(&key, Shared, Some(5)).is_err());
    }

    #[test]
    fn without_fencing_everybody_is_served() {
        let mut vault = Vault::new(false);
        let key: Key = "k".into();
        assert!(vault.write(&key, Some(7), 1).is_ok());
        assert!(vault.write(&key, Some(1), 2).is_ok());
        assert_eq!(vault.read(&key, Exclusive, None), Ok(2));
    }
}
