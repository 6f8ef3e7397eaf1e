//! A simulated client: one task on a machine, a client library, a number.

use base::{Link, LocalFuture, Mailbox, Mono};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use stores::Store;

use crate::event_queue::Ticket;
use crate::link::Library;
use crate::machine::{Machine, SimMailbox};
use crate::pause::Paused;

/// The arguments of a client's task: its link and its mailbox.
pub struct Handle<S: Store> {
    /// The link to its servers, and its clocks.
    pub link: Rc<dyn Link<S>>,
    /// The conversation with the harness.
    pub mailbox: Box<dyn Mailbox>,
    /// Its process number.
    pub process: u32,
}

/// True while a task has to be polled again.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub struct SimulatedClient<S: Store> {
    pub process: u32,
    pub machine: Rc<Machine>,
    pub library: Library<S>,
    task: Option<LocalFuture<'static, ()>>,
    flag: Arc<Flag>,
    waker: Waker,
    /// The work held back by a pause; `None` while the client runs.
    pub paused: Option<Paused>,
    /// The library's next tick: when it is due, by the machine's monotonic clock, and its ticket on
    /// the event queue.
    pub tick: Option<(Mono, Ticket)>,
    /// Its connections: the library's number and the network's.
    pub wires: Vec<(u64, u64)>,
}

impl<S: Store> SimulatedClient<S> {
    pub fn new(
        process: u32,
        machine: Rc<Machine>,
        library: Library<S>,
        link: Rc<dyn Link<S>>,
        open: &dyn Fn(Handle<S>) -> LocalFuture<'static, ()>,
    ) -> Self {
        let mailbox = Box::new(SimMailbox(machine.clone()));
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        Self {
            process,
            library,
            task: Some(open(Handle { link, mailbox, process })),
            waker: Waker::from(flag.clone()),
            flag,
            machine,
            paused: None,
            tick: None,
            wires: Vec::new(),
        }
    }

    /// The other end has closed a connection.
    pub fn hang_up(&mut self, local: u64) {
        self.wires.retain(|(known, _)| *known != local);
    }

    /// Returns true if the client's task has to run.
    pub fn is_woken(&self) -> bool {
        self.task.is_some() && self.flag.0.load(Ordering::Relaxed)
    }

    /// Runs the task until it waits for something. False when it had nothing to do.
    pub fn run(&mut self) -> bool {
        let mut ran = false;
        // A client never leaves its thread, so this need not be one step.
        while self.flag.0.load(Ordering::Relaxed) {
            self.flag.0.store(false, Ordering::Relaxed);
            let Some(task) = &mut self.task else { break };
            ran = true;
            if task.as_mut().poll(&mut Context::from_waker(&self.waker)).is_ready() {
                self.task = None;
            }
        }
        ran
    }
}
