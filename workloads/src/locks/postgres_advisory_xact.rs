//! `postgres-advisory-xact`: `pg_advisory_xact_lock` takes the lock, the end of the transaction frees
//! it.
//!
//! It needs no table, and works behind a pooler that gives a connection to each transaction, where
//! the lock of a session (`postgres-advisory`) would stay with whichever connection took it. Nothing
//! but the transaction's end gives it back, so nobody can forget to.

use base::Lock;
use stores::postgres::{Client, Postgres, Statement};

use super::postgres_transaction::{BREAKS, TakingStatements, TransactionLock, in_transaction};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "postgres-advisory-xact",
    summary: "pg_advisory_xact_lock, until the transaction ends",
    promises: in_transaction(4),
    breaks: &[BREAKS],
    longest_hold: BEYOND_SESSION,
    open: &On::<Postgres>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(TransactionLock::new(client, settings, &STATEMENTS))
}

const STATEMENTS: TakingStatements = TakingStatements {
    before: None,
    wait: |key| Statement::AdvisoryXactLock { key },
    try_once: |key| Statement::TryAdvisoryXactLock { key },
};
