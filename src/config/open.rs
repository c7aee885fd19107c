//! From the name of a database to the database.

use std::sync::Arc;

use super::{is_postgres, sqlite_path};
use crate::error::Result;
use crate::postgres::Server;
use crate::runs::{PostgresRuns, RunsDatabase, SqliteRuns, Tables};

/// The database that `url` names. SQLite's is looked at here and now; PostgreSQL's is reached when
/// something is first asked of it.
pub(super) fn database(url: &str, tables: &Tables) -> Result<Arc<dyn RunsDatabase>> {
    if is_postgres(url) {
        return Ok(Arc::new(PostgresRuns::new(
            Server::new(url)?,
            tables.clone(),
        )));
    }
    Ok(Arc::new(SqliteRuns::open(
        sqlite_path(url)?,
        tables.clone(),
    )?))
}
