//! Agno's tables in PostgreSQL, and rows for them.

use std::path::Path;

use rusqlite::types::Value;

/// What Agno 3 creates, in the schema `{s}`, with indexes.
const TABLES: &str = "
CREATE SCHEMA IF NOT EXISTS {s};
CREATE TABLE {s}.agno_sessions (session_id varchar PRIMARY KEY, session_type varchar NOT NULL,
  agent_id varchar, team_id varchar, workflow_id varchar, user_id varchar, session_data jsonb,
  agent_data jsonb, team_data jsonb, workflow_data jsonb, metadata jsonb, summary jsonb,
  created_at bigint NOT NULL, updated_at bigint);
CREATE TABLE {s}.agno_runs (run_id varchar PRIMARY KEY,
  session_id varchar NOT NULL REFERENCES {s}.agno_sessions ON DELETE CASCADE,
  run_type varchar NOT NULL, agent_id varchar, team_id varchar, workflow_id varchar, user_id varchar,
  parent_run_id varchar, status varchar, run_index bigint, run_data jsonb NOT NULL,
  created_at bigint NOT NULL, updated_at bigint);
CREATE INDEX idx_agno_runs_agent_id ON {s}.agno_runs (agent_id);
CREATE INDEX idx_agno_runs_created_at ON {s}.agno_runs (created_at);
CREATE INDEX idx_agno_runs_run_type ON {s}.agno_runs (run_type);
CREATE INDEX idx_agno_runs_session_id ON {s}.agno_runs (session_id);
CREATE INDEX idx_agno_runs_session_id_run_index ON {s}.agno_runs (session_id, run_index);
CREATE INDEX idx_agno_runs_status ON {s}.agno_runs (status);
CREATE INDEX idx_agno_runs_team_id ON {s}.agno_runs (team_id);
CREATE INDEX idx_agno_runs_user_id ON {s}.agno_runs (user_id);
CREATE INDEX idx_agno_runs_workflow_id ON {s}.agno_runs (workflow_id);
CREATE INDEX idx_agno_sessions_created_at ON {s}.agno_sessions (created_at);
CREATE INDEX idx_agno_sessions_session_type ON {s}.agno_sessions (session_type);
";
/// What Agno adds beside them for sandboxes, in the schema `ai`.
pub const BINDINGS: &str = "
CREATE TABLE ai.agno_sessions_sandbox_bindings (namespace varchar, session_id varchar,
  agent_id varchar NOT NULL, user_id varchar, epoch bigint NOT NULL, owner varchar, run_id varchar,
  queue_attempt bigint, expires_at timestamptz, record jsonb NOT NULL, PRIMARY KEY (namespace, session_id));
";

/// Agno's tables in `schema`.
pub fn tables(schema: &str) -> String {
    TABLES.replace("{s}", schema)
}

/// The statements that put the sessions and runs of a SQLite database into the schema `ai`, but for a
/// row that is no JSON, which PostgreSQL does not take.
pub fn rows_of(database: &Path) -> String {
    let database = rusqlite::Connection::open(database).expect("opened");
    let copied = |table: &str, json: &str, columns: &str| {
        let mut rows = database
            .prepare(&format!(
                "SELECT {columns} FROM {table} WHERE json_valid({json}) ORDER BY rowid"
            ))
            .expect("a table");
        let count = rows.column_count();
        let rows = rows.query_map([], |row| {
            let cells = (0..count).map(|at| row.get::<_, Value>(at).map(cell));
            Ok(cells.collect::<Result<Vec<_>, _>>()?.join(", "))
        });
        let insert = |cells: rusqlite::Result<String>| {
            let cells = cells.expect("a row");
            format!("INSERT INTO ai.{table} ({columns}) VALUES ({cells});\n")
        };
        rows.expect("rows").map(insert).collect::<String>()
    };
    let sessions = "session_id, session_type, agent_id, team_id, workflow_id, user_id, session_data, \
                    created_at, updated_at";
    let runs = "run_id, session_id, run_type, agent_id, team_id, workflow_id, user_id, \
                parent_run_id, status, run_index, run_data, created_at, updated_at";
    copied("agno_sessions", "session_data", sessions) + &copied("agno_runs", "run_data", runs)
}

fn cell(value: Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => literal(&text),
        other => panic!("no column of Agno's holds {other:?}"),
    }
}

/// `text` as SQL has it.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
