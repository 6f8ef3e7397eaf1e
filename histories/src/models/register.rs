//! `register`: a cell that is read and written; nothing is in it at first.

use super::ModelSpec;
use super::cas_register::CasRegister;
use crate::operation::OperationKind;
use crate::search::{line, search};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "register",
    bound: None,
    summary: "a cell with read and write",
    reentrant: None,
    lock: None,
    takes: |action| matches!(action, OperationKind::Read { .. } | OperationKind::Write { .. }),
    search: |_, operations, meter| search(&CasRegister, operations, meter),
    line: |_, operations, wanted, meter| line(&CasRegister, operations, wanted, meter),
};
