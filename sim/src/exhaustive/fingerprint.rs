//! 128 bits that stand for a state: two states with the same fingerprint count as one.
//!
//! Of a million different states two share a fingerprint with a probability of about 10^-27, which
//! is why states are compared by it and thrown away.

use std::fmt::{Debug, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A fingerprint in the making. It takes anything that can be hashed, and anything that can be
/// printed: not all that clients and servers say can be hashed.
pub struct Fingerprint(DefaultHasher, DefaultHasher);

impl Fingerprint {
    /// Returns the fingerprint of nothing yet.
    #[expect(clippy::new_without_default, reason = "a default would say nothing more")]
    pub fn new() -> Self {
        let (low, mut high) = (DefaultHasher::new(), DefaultHasher::new());
        high.write_u64(0x9E37_79B9_7F4A_7C15);
        Self(low, high)
    }

    /// Adds a value by what `{:?}` prints of it.
    pub fn debug(&mut self, value: &impl Debug) {
        write!(self, "{value:?}").expect("a hasher takes everything");
        self.write_u8(0xFF);
    }

    /// Adds a value by its hash.
    pub fn add(&mut self, value: impl Hash) {
        value.hash(self);
    }

    /// The 128 bits.
    pub fn bits(&self) -> u128 {
        u128::from(self.0.finish()) << 64 | u128::from(self.1.finish())
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
        self.1.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}
