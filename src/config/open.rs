//! From the name of a database to the database.

use std::sync::Arc;

use super::{Settings, sqlite_path};
use crate::error::Result;
use crate::postgres::is_named_by;
use crate::runs::{PostgresRuns, RunsDatabase, SqliteRuns};

/// The database that `url` names. SQLite's is looked at here and now; PostgreSQL's is reached when
/// something is first asked of it.
pub(super) fn database(settings: &Settings, url: &str) -> Result<Arc<dyn RunsDatabase>> {
    let tables = &settings.tables;
    if is_named_by(url) {
        return Ok(Arc::new(PostgresRuns::new(
            settings.server(url)?,
            tables.clone(),
        )));
    }
    Ok(Arc::new(SqliteRuns::open(
        sqlite_path(url)?,
        tables.clone(),
    )?))
}
