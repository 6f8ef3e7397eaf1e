//! The names of the commands that a client sends: noted at its link, reported by the worker that
//! sent them.

use base::{Answer, CallError, Link, LocalFuture, World};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use crate::Store;

/// Gives the variants of an enum of commands their names: a list of them, and the name of each
/// value's own.
macro_rules! named_commands {
    ($enum:ty { $($variant:ident => $name:literal,)* }) => {
        /// The names of all commands.
        pub const COMMANDS: &[&str] = &[$($name),*];

        impl $enum {
            /// The name of its command.
            pub const fn command(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }
        }
    };
}
pub(crate) use named_commands;

/// The names that are not reported yet, in the order of the calls. Clones are the same.
#[derive(Clone, Default)]
pub struct CallNames(Rc<RefCell<VecDeque<String>>>);

impl CallNames {
    /// Takes the first name.
    pub fn take(&self) -> Option<String> {
        self.0.borrow_mut().pop_front()
    }
}

/// A link that notes the name of each command.
pub struct NamedCalls<S: Store> {
    link: Rc<dyn Link<S>>,
    names: CallNames,
}

impl<S: Store> NamedCalls<S> {
    /// Stands before a link, and notes what goes over it.
    pub fn new(link: Rc<dyn Link<S>>, names: CallNames) -> Self {
        Self { link, names }
    }
}

impl<S: Store> Link<S> for NamedCalls<S> {
    fn world(&self) -> &dyn World {
        self.link.world()
    }

    fn call(&self, server: usize, request: S::Request) -> LocalFuture<'_, Answer<S>> {
        self.names.0.borrow_mut().push_back(S::command(&request).into_owned());
        self.link.call(server, request)
    }

    fn signal(&self) -> Option<S::Signal> {
        self.link.signal()
    }

    fn wake_on_signal(&self, waker: &Waker) {
        self.link.wake_on_signal(waker);
    }

    fn pushed(&self, connection: usize) -> LocalFuture<'_, Option<S::Signal>> {
        self.link.pushed(connection)
    }

    fn hang_up(&self, connection: usize) {
        self.link.hang_up(connection);
    }

    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<S::Refusal>>> {
        self.link.renew()
    }

    fn servers(&self) -> usize {
        self.link.servers()
    }
}
