//! Sessions that meet at locks, and what becomes of them.

use super::*;
use crate::postgres::SessionSettings;
use base::WallTime;
use std::time::Duration;

fn at(millis: u64) -> Clocks {
    let mono = Mono::ZERO + Duration::from_millis(millis);
    Clocks { wall: WallTime::from_nanos(0), mono }
}

/// A server, and a log of what it has answered.
#[derive(Default)]
struct Rig {
    server: Server,
    out: Outgoing,
}

fn advisory() -> Statement {
    Statement::AdvisoryLock { key: "k".into() }
}

fn row() -> Statement {
    Statement::LockRow { name: "r".into(), wait: true }
}

impl Rig {
    fn connect(&mut self, connection: u64, lock_timeout: u64, idle: u64) {
        let settings = SessionSettings {
            lock_timeout: Duration::from_millis(lock_timeout),
            idle_in_transaction: Duration::from_millis(idle),
        };
        self.send(0, connection, Packet::Startup(settings));
        self.out.clear();
    }

    fn send(&mut self, millis: u64, connection: u64, packet: Packet) {
        self.server.receive(at(millis), Peer::Connection(connection), packet, &mut self.out);
    }

    /// Has a session execute a statement.
    fn say(&mut self, millis: u64, connection: u64, statement: Statement) {
        self.send(millis, connection, Packet::Statement(statement));
    }

    fn hang_up(&mut self, millis: u64, connection: u64) {
        self.server.disconnected(at(millis), connection, &mut self.out);
    }

    /// Says who was answered since the last time; true: and not refused.
    fn answered(&mut self) -> Vec<(u64, bool)> {
        let to_answer = |out| match out {
            Out::Send(Peer::Connection(to), Packet::Answer(result)) => Some((to, result.is_ok())),
            _ => None,
        };
        self.out.drain(..).filter_map(to_answer).collect()
    }
}

#[test]
fn a_client_that_is_gone_stays_in_the_queue_until_it_is_its_turn() {
    let mut rig = Rig::default();
    (1..=3).for_each(|connection| rig.connect(connection, 0, 0));
    (1..=3).for_each(|connection| rig.say(0, connection, advisory()));
    assert_eq!(rig.answered(), [(1, true)]);
    rig.hang_up(1, 2);
    assert_eq!((rig.server.sessions(), rig.server.waiting()), (3, 2));
    rig.hang_up(2, 1);
    assert_eq!(rig.answered(), [(2, true), (3, true)]);
    assert_eq!(rig.server.sessions(), 1);
    let mut journal = Vec::new();
    rig.server.take_journal(&mut journal);
    let last: Vec<What> = journal.iter().rev().take(3).map(|noted| noted.what).collect();
    let (two, three) = (What::SessionEnded(2), What::Written(By::Session(3)));
    assert_eq!(last, [three, two, What::Written(By::Session(2))]);
}

#[test]
fn a_wait_ends_by_its_time_out_and_fails_its_transaction() {
    let mut rig = Rig::default();
    rig.connect(1, 0, 0);
    rig.connect(2, 100, 0);
    rig.say(0, 1, advisory());
    rig.say(0, 2, Statement::Begin);
    rig.say(50, 2, advisory());
    assert_eq!(rig.server.due(), Some(at(150).mono));
    rig.server.tick(at(150), &mut rig.out);
    assert_eq!(rig.answered(), [(1, true), (2, true), (2, false)]);
    rig.say(160, 2, Statement::Ping);
    rig.say(160, 2, Statement::Rollback);
    rig.say(160, 2, Statement::Ping);
    assert_eq!(rig.answered(), [(2, false), (2, true), (2, true)]);
}

#[test]
fn an_error_frees_the_rows_of_its_transaction_before_that_is_ended() {
    let mut rig = Rig::default();
    (1..=2).for_each(|connection| rig.connect(connection, 0, 0));
    rig.say(0, 1, Statement::InsertRow { name: "r".into() });
    rig.say(0, 1, Statement::Begin);
    rig.say(0, 1, row());
    rig.say(0, 2, Statement::InsertRow { name: "other".into() });
    rig.say(0, 2, Statement::Begin);
    rig.say(0, 2, Statement::LockRow { name: "other".into(), wait: false });
    rig.say(0, 2, row());
    rig.out.clear();
    rig.say(0, 1, Statement::LockRow { name: "other".into(), wait: false });
    assert_eq!(rig.answered(), [(1, false), (2, true)]);
}

#[test]
fn whoever_comes_to_wait_first_for_a_row_has_its_time_anew() {
    let mut rig = Rig::default();
    for connection in 1..=3 {
        rig.connect(connection, 100, 0);
        rig.say(0, connection, Statement::InsertRow { name: "r".into() });
        rig.say(0, connection, Statement::Begin);
        rig.say(0, connection, row());
    }
    rig.say(80, 1, Statement::Commit);
    assert_eq!(rig.server.due(), Some(at(180).mono));
}

#[test]
fn a_session_that_is_idle_in_a_transaction_ends_and_one_that_waits_does_not() {
    let mut rig = Rig::default();
    for connection in 1..=2 {
        rig.connect(connection, 0, 1_000);
        rig.say(0, connection, Statement::InsertRow { name: "r".into() });
        rig.say(0, connection, Statement::Begin);
        rig.say(0, connection, row());
    }
    rig.say(700, 1, Statement::Ping);
    assert_eq!(rig.server.tick(at(1_600), &mut rig.out), Some(at(1_700).mono));
    rig.out.clear();
    assert_eq!(rig.server.tick(at(1_700), &mut rig.out), Some(at(2_700).mono));
    assert!(rig.out.contains(&Out::Close(1)), "{:?}", rig.out);
    assert_eq!(rig.answered(), [(2, true)]);
}

#[test]
fn an_advisory_lock_is_given_back_as_often_as_it_was_taken() {
    let mut rig = Rig::default();
    let unlock = || Statement::AdvisoryUnlock { key: "k".into() };
    rig.connect(1, 0, 0);
    rig.connect(2, 0, 0);
    rig.say(0, 1, advisory());
    rig.say(0, 1, advisory());
    rig.say(0, 2, advisory());
    rig.say(0, 1, unlock());
    assert_eq!(rig.answered(), [(1, true), (1, true), (1, true)]);
    rig.say(0, 1, unlock());
    assert_eq!(rig.answered(), [(2, true), (1, true)]);
}

#[test]
fn a_restart_keeps_rows_and_no_session() {
    let mut rig = Rig::default();
    rig.connect(1, 0, 0);
    rig.say(0, 1, Statement::InsertRow { name: "r".into() });
    rig.say(0, 1, advisory());
    rig.server.restart(at(1), Data::Kept);
    assert_eq!((rig.server.sessions(), rig.server.rows.len()), (0, 1));
    rig.server.restart(at(2), Data::Lost);
    assert_eq!(rig.server.rows.len(), 0);
}
