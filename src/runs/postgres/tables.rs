//! The tables' names as SQL.

use crate::runs::database::Tables;

/// Agno's jobs, beside the runs, whatever those are called.
pub(super) const JOBS: &str = "agno_jobs";

/// Each table with its schema, quoted: nothing depends on a search path.
pub(super) struct Named {
    pub(super) sessions: String,
    pub(super) runs: String,
    pub(super) bindings: String,
    pub(super) jobs: String,
}

impl Named {
    pub(super) fn of(tables: &Tables) -> Self {
        let within = |name: &str| format!("{}.{}", quoted(&tables.schema), quoted(name));
        Self {
            sessions: within(&tables.sessions),
            runs: within(&tables.runs),
            bindings: within(&tables.bindings()),
            jobs: within(JOBS),
        }
    }
}

/// `name` as an identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
