//! What may be read of Agno's tables, each by its name.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::types::Type;

use super::data::Database;
use super::{Found, told_above};
use crate::config::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::postgres::Server;
use crate::runs::{RunFilter, Tables};
use crate::text::visible;

/// Agno's jobs, whatever its other tables are called.
const JOBS: &str = "agno_jobs";

/// What the role may do with a table that is there.
#[derive(Clone, Copy)]
struct Rights {
    read: bool,
    write: bool,
}

/// A read of everything that is read is what shows that the rights are enough.
pub(super) async fn rights(settings: &Settings, database: &Database) -> Result<Found> {
    let Ok(database) = database else {
        return Found::skipped(told_above("the database"));
    };
    let page = database.page(&RunFilter::default(), 1, None).await?;
    if let Some(run) = page.runs.first() {
        database.run(&run.run_id).await?;
        database.binding(&run.session_id).await?;
    }
    let queue = database.queue_worker_active().await;
    let Some(server) = settings.database_server()? else {
        queue?;
        let what = "enough to read runs, and sessions, bindings and the queue where they are; \
                    nothing is ever written";
        return Found::well(what);
    };
    let tables = &settings.tables;
    let bindings = tables.bindings();
    let found = of(&server, tables, &bindings).await?;
    let state = |name: &str| match found.get(name) {
        None => "absent",
        Some(rights) if rights.read => "yes",
        Some(_) => "no right",
    };
    let unseen = match queue {
        Err(error) if error.kind() == ErrorKind::Store && state(JOBS) == "no right" => Some(error),
        queue => queue.map(|_| None)?,
    };
    let hint = unseen.as_ref().and_then(Error::next_step);
    let mut notes: Vec<String> = hint.map(str::to_owned).into_iter().collect();
    if state(&bindings) == "no right" {
        let name = format!("{}.{}", quoted(&tables.schema), quoted(&bindings));
        notes.push(format!(
            "bindings are not shown; its owner can: GRANT SELECT ON {} TO the user",
            visible(&name)
        ));
    }
    if found.values().any(|rights| rights.write) {
        notes.push("the role may write, too; a role with SELECT alone is enough".into());
    }
    let what = format!(
        "read: runs {}, sessions {}, bindings {}, queue {}; nothing is ever written",
        state(&tables.runs),
        state(&tables.sessions),
        state(&bindings),
        state(JOBS)
    );
    Ok(Found::Well(what, notes))
}

/// The tables that are there.
async fn of(
    server: &Arc<Server>,
    tables: &Tables,
    bindings: &str,
) -> Result<HashMap<String, Rights>> {
    const ASK: &str = "SELECT c.relname::pg_catalog.text, \
           pg_catalog.has_any_column_privilege(c.oid, 'SELECT'), \
           pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE') \
         FROM pg_catalog.pg_class AS c \
         JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace \
         WHERE n.nspname OPERATOR(pg_catalog.=) $1 AND c.relname OPERATOR(pg_catalog.=) ANY($2) \
           AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";
    let names: Vec<&str> = vec![&tables.runs, &tables.sessions, bindings, JOBS];
    let values = [
        (&tables.schema as _, Type::TEXT),
        (&names as _, Type::TEXT_ARRAY),
    ];
    let transaction = server.read().await?;
    let rows = transaction.rows(ASK, &values).await?;
    transaction.end().await?;
    let yes = |row: &tokio_postgres::Row, at| row.try_get(at).unwrap_or(false);
    let of = |row: &tokio_postgres::Row| {
        let (read, write) = (yes(row, 1), yes(row, 2));
        Some((row.try_get(0).ok()?, Rights { read, write }))
    };
    Ok(rows.iter().filter_map(of).collect())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
