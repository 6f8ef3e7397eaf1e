//! Versions of stored formats. A file of another version is refused with an error of its own, which
//! names that version.

/// A stored form of a version that this picklock does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has version {found}, of {} picklock; this one reads version {reads}", age(*found, *reads))]
pub struct WrongVersion {
    /// The version that it has.
    pub found: u64,
    /// The version that is read.
    pub reads: u32,
}

impl WrongVersion {
    /// Checks that what is stored has the version that is read.
    ///
    /// # Errors
    /// Fails when it has another one.
    pub fn check(found: u64, reads: u32) -> Result<(), Self> {
        match found == u64::from(reads) {
            true => Ok(()),
            false => Err(Self { found, reads }),
        }
    }
}

fn age(found: u64, reads: u32) -> &'static str {
    if found < u64::from(reads) { "an older" } else { "a newer" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_named() {
        let says = |found| WrongVersion::check(found, 2).map_err(|wrong| wrong.to_string());
        assert_eq!(says(2), Ok(()));
        let older = "has version 1, of an older picklock; this one reads version 2";
        assert_eq!(says(1), Err(older.into()));
        let newer = "has version 9, of a newer picklock; this one reads version 2";
        assert_eq!(says(9), Err(newer.into()));
    }
}
