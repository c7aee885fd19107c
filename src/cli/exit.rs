//! The one place where a kind of failure becomes an exit code.

use std::process::ExitCode;

use crate::error::ErrorKind;

/// 1 failed · 2 usage · 3 refused by the gate · 4 object missing · 5 verification or validation
/// failed · 6 would overwrite or conflicts · 130 interrupted.
pub(super) fn code(kind: ErrorKind) -> ExitCode {
    ExitCode::from(number(kind))
}

fn number(kind: ErrorKind) -> u8 {
    use ErrorKind as Kind;
    match kind {
        Kind::Usage => 2,
        Kind::NotFound
        | Kind::Foreign
        | Kind::NotCompleted
        | Kind::NoCheckpoint
        | Kind::BadReference
        | Kind::BadRow => 3,
        Kind::ObjectMissing => 4,
        Kind::SizeMismatch
        | Kind::ChecksumMismatch
        | Kind::Limit
        | Kind::InvalidArchive
        | Kind::UnsafeContent => 5,
        Kind::Exists | Kind::Conflict => 6,
        Kind::Cancelled => 130,
        Kind::Store | Kind::Database | Kind::Io | Kind::Timeout | Kind::Unsupported => 1,
    }
}
