//! `postgres-row`: `SELECT … FOR UPDATE` takes a row, the end of the transaction frees it. The row is
//! made before, if it is not there.

use base::Lock;
use stores::postgres::{Client, Postgres, Statement};

use super::postgres_transaction::{BREAKS, TakingStatements, TransactionLock, in_transaction};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "postgres-row",
    summary: "a row, locked by SELECT FOR UPDATE until the transaction ends",
    promises: in_transaction(5),
    breaks: &[BREAKS],
    longest_hold: BEYOND_SESSION,
    open: &On::<Postgres>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(TransactionLock::new(client, settings, &STATEMENTS))
}

const STATEMENTS: TakingStatements = TakingStatements {
    before: Some(|name| Statement::InsertRow { name }),
    wait: |name| Statement::LockRow { name, wait: true },
    try_once: |name| Statement::LockRow { name, wait: false },
};
