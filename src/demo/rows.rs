//! Agno's tables and rows in SQLite, as its `SqliteDb` makes them: same schema, same JSON text,
//! journal in WAL mode.

use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::checkpoint::hex;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Json;

const SCHEMA: &str = "
CREATE TABLE agno_sessions (
	session_id VARCHAR NOT NULL, 
	session_type VARCHAR NOT NULL, 
	agent_id VARCHAR, 
	team_id VARCHAR, 
	workflow_id VARCHAR, 
	user_id VARCHAR, 
	session_data JSON, 
	agent_data JSON, 
	team_data JSON, 
	workflow_data JSON, 
	metadata JSON, 
	summary JSON, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT, 
	PRIMARY KEY (session_id)
);
CREATE INDEX idx_agno_sessions_created_at ON agno_sessions (created_at);
CREATE INDEX idx_agno_sessions_session_type ON agno_sessions (session_type);
CREATE TABLE agno_schema_versions (
	table_name VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	created_at VARCHAR NOT NULL, 
	updated_at VARCHAR, 
	PRIMARY KEY (table_name)
);
CREATE INDEX idx_agno_schema_versions_created_at ON agno_schema_versions (created_at);
CREATE TABLE agno_runs (
	run_id VARCHAR NOT NULL, 
	session_id VARCHAR NOT NULL, 
	run_type VARCHAR NOT NULL, 
	agent_id VARCHAR, 
	team_id VARCHAR, 
	workflow_id VARCHAR, 
	user_id VARCHAR, 
	parent_run_id VARCHAR, 
	status VARCHAR, 
	run_index BIGINT, 
	run_data JSON NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT, 
	PRIMARY KEY (run_id), 
	FOREIGN KEY(session_id) REFERENCES agno_sessions (session_id) ON DELETE CASCADE
);
CREATE INDEX idx_agno_runs_agent_id ON agno_runs (agent_id);
CREATE INDEX idx_agno_runs_created_at ON agno_runs (created_at);
CREATE INDEX idx_agno_runs_run_type ON agno_runs (run_type);
CREATE INDEX idx_agno_runs_session_id ON agno_runs (session_id);
CREATE INDEX idx_agno_runs_session_id_run_index ON agno_runs (session_id, run_index);
CREATE INDEX idx_agno_runs_status ON agno_runs (status);
CREATE INDEX idx_agno_runs_team_id ON agno_runs (team_id);
CREATE INDEX idx_agno_runs_user_id ON agno_runs (user_id);
CREATE INDEX idx_agno_runs_workflow_id ON agno_runs (workflow_id);
INSERT INTO agno_schema_versions VALUES
	('agno_sessions', '3.0.0', '2026-06-01T00:00:00.000000', '2026-06-01T00:00:00.000000'),
	('agno_runs', '3.0.0', '2026-06-01T00:00:00.000000', '2026-06-01T00:00:00.000000');
";

/// What runs: its kind is also the row's type.
#[derive(Clone, Copy)]
pub(super) struct Runner {
    /// `agent`, `team` or `workflow`.
    pub(super) kind: &'static str,
    pub(super) id: &'static str,
    pub(super) name: &'static str,
}

impl Runner {
    fn id_when(&self, kind: &str) -> Option<&'static str> {
        (self.kind == kind).then_some(self.id)
    }
}

/// A row of `agno_sessions`.
pub(super) struct SessionRow {
    pub(super) id: String,
    pub(super) runner: Runner,
    pub(super) user: Option<&'static str>,
    pub(super) data: Value,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
}

/// A row of `agno_runs`.
pub(super) struct RunRow {
    pub(super) id: String,
    pub(super) session_id: String,
    pub(super) runner: Runner,
    pub(super) user: Option<&'static str>,
    pub(super) status: &'static str,
    pub(super) index: i64,
    pub(super) data: String,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
}

/// 32 hex digits that are always the same for the same words.
pub(super) fn token(words: &[&str]) -> String {
    let mut text = hex(&Sha256::digest(format!(
        "afterrun demo/{}",
        words.join("/")
    )));
    text.truncate(32);
    text
}

/// A UUID, likewise.
pub(super) fn identifier(words: &[&str]) -> String {
    let text = token(words);
    let [a, b, c, d, e] = [0..8, 8..12, 13..16, 17..20, 20..32].map(|range| &text[range]);
    format!("{a}-{b}-4{c}-a{d}-{e}")
}

/// JSON as Python's `json.dumps` writes it.
pub(super) fn python(value: &Value) -> Result<String> {
    state(value)?.to_python().ok_or_else(|| {
        Error::new(
            ErrorKind::Io,
            "the demo's rows hold a number that is no JSON",
        )
    })
}

/// The same value in the crate's own terms.
pub(super) fn state(value: &Value) -> Result<Json> {
    Json::parse(&value.to_string()).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("the demo's rows are no JSON: {error}"),
        )
    })
}

/// Writes the database; runs are in the order they were made, as a living one has them.
pub(super) fn write(path: &Path, sessions: &[SessionRow], runs: &[RunRow]) -> Result<()> {
    let failed = |error: rusqlite::Error| {
        Error::new(
            ErrorKind::Database,
            format!("cannot write {}: {error}", crate::text::visible_path(path)),
        )
        .source(error)
    };
    let mut connection = Connection::open(path).map_err(failed)?;
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(failed)?;
    debug_assert_eq!(mode, "wal");
    // Made anew each time: nothing here is worth waiting for the disk.
    connection
        .pragma_update(None, "synchronous", "OFF")
        .map_err(failed)?;
    let transaction = connection.transaction().map_err(failed)?;
    transaction.execute_batch(SCHEMA).map_err(failed)?;
    for row in sessions {
        let about = |kind: &str| -> Result<Option<String>> {
            let value =
                serde_json::json!({"name": row.runner.name, format!("{kind}_id"): row.runner.id});
            (row.runner.kind == kind)
                .then(|| python(&value))
                .transpose()
        };
        transaction
            .execute(
                "INSERT INTO agno_sessions VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, 'null', 'null', ?, ?)",
                params![
                    row.id,
                    row.runner.kind,
                    row.runner.id_when("agent"),
                    row.runner.id_when("team"),
                    row.runner.id_when("workflow"),
                    row.user,
                    python(&row.data)?,
                    about("team")?,
                    about("workflow")?,
                    row.created_at,
                    row.updated_at
                ],
            )
            .map_err(failed)?;
    }
    for row in runs {
        transaction
            .execute(
                "INSERT INTO agno_runs VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?)",
                params![
                    row.id,
                    row.session_id,
                    row.runner.kind,
                    row.runner.id_when("agent"),
                    row.runner.id_when("team"),
                    row.runner.id_when("workflow"),
                    row.user,
                    row.status,
                    row.index,
                    row.data,
                    row.created_at,
                    row.updated_at
                ],
            )
            .map_err(failed)?;
    }
    transaction.commit().map_err(failed)?;
    // The last one to close a WAL database folds its journal back in and removes it.
    connection.close().map_err(|(_, error)| failed(error))
}
