//! The role of a process at a lab. On real servers, each client is the program of the test again,
//! which begins the same test anew and becomes a client at the lab that has started it.

use std::cell::Cell;

/// The variable that has the number of the lab whose client a process is.
pub const CLIENT_VARIABLE: &str = "PICKLOCK_LAB_CLIENT";

thread_local! {
    /// The number of labs that this test, which has a thread of its own, has come to so far.
    static LABS: Cell<u64> = const { Cell::new(0) };
}

/// A role at a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Tests the lock. The lab has this number in its test.
    Tester(u64),
    /// Takes the lock, as a client of this lab.
    Client,
    /// Does nothing, on the way to the lab whose client it is.
    Bystander,
}

impl Role {
    /// Returns the role of this process at the next lab of the test on this thread.
    pub fn next() -> Self {
        let number = LABS.replace(LABS.get() + 1);
        Self::at(number, std::env::var(CLIENT_VARIABLE).ok().as_deref())
    }

    fn at(number: u64, client_of: Option<&str>) -> Self {
        match client_of {
            None => Self::Tester(number),
            Some(value) if value == number.to_string() => Self::Client,
            Some(_) => Self::Bystander,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_passes_by_the_labs_before_its_own() {
        let roles = |client_of| [0, 1].map(|number| Role::at(number, client_of));
        assert_eq!(roles(None), [Role::Tester(0), Role::Tester(1)]);
        assert_eq!(roles(Some("1")), [Role::Bystander, Role::Client]);
    }
}
