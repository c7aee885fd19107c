//! What a database's failure means for the store in it.

use tokio_postgres::error::SqlState;

use super::tables::Tables;
use crate::error::{Error, ErrorKind};

/// The failure of a statement on `tables`, of the kind that a store's failures have.
pub(super) fn of_store(error: Error, tables: &Tables) -> Error {
    let [objects, chunks] = tables.shown();
    match state(&error) {
        Some(state)
            if *state == SqlState::UNDEFINED_TABLE || *state == SqlState::INVALID_SCHEMA_NAME =>
        {
            Error::new(
                ErrorKind::Store,
                format!("There is no checkpoint store here: the tables {objects} and {chunks} are not both there"),
            )
            .hint("name where Agno keeps them: --store 'postgresql://…?schema=SCHEMA&table=TABLE'; they are made when the first checkpoint is stored")
            .source(error)
        }
        Some(state)
            if [
                SqlState::UNDEFINED_COLUMN,
                SqlState::UNDEFINED_FUNCTION,
                SqlState::DATATYPE_MISMATCH,
            ]
            .contains(state) =>
        {
            Error::new(
                ErrorKind::Store,
                format!("The tables {objects} and {chunks} are no checkpoint store: {}", error.message()),
            )
            .source(error)
        }
        Some(state) if *state == SqlState::INSUFFICIENT_PRIVILEGE => {
            in_store(error).hint(format!(
                "reading checkpoints needs USAGE on their schema and SELECT on {objects} and {chunks}"
            ))
        }
        Some(state) if *state == SqlState::QUERY_CANCELED => error.of_kind(ErrorKind::Timeout),
        _ => in_store(error),
    }
}

fn in_store(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Database => error.of_kind(ErrorKind::Store),
        _ => error,
    }
}

/// The server's own word for what went wrong, where it is the server that says so.
fn state(error: &Error) -> Option<&SqlState> {
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<tokio_postgres::Error>() {
            return error.code();
        }
        next = error.source();
    }
    None
}
