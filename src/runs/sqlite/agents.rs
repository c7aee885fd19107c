//! Agents with their sessions and runs counted.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;

use super::SqliteRuns;
use super::row::{COLUMNS, FromColumn, text};
use crate::error::Result;
use crate::runs::model::{AgentSummary, RunRow};

impl SqliteRuns {
    /// Agent ids with the names their newest readable runs recorded.
    pub(super) fn agent_names(&self, connection: &Connection) -> Result<Vec<(String, String)>> {
        let table = self.runs_table();
        let mut statement = connection
            .prepare(&format!(
                "SELECT DISTINCT agent_id FROM {table} WHERE agent_id IS NOT NULL"
            ))
            .map_err(|error| self.failed(error))?;
        let ids: Vec<String> = statement
            .query_map([], |row| Ok(text(row.get_ref(0)?).unwrap_or_default()))
            .and_then(Iterator::collect)
            .map_err(|error| self.failed(error))?;
        let newest = format!(
            "SELECT {COLUMNS} FROM {table} WHERE agent_id = ?1 ORDER BY rowid DESC LIMIT 5"
        );
        let mut names = Vec::new();
        for id in ids {
            let runs = self.rows(connection, &newest, &[&id])?;
            let name = runs
                .iter()
                .find_map(|run| run.agent_name().map(str::to_owned));
            names.extend(name.map(|name| (id, name)));
        }
        Ok(names)
    }

    /// Blocking [`RunsDatabase::agents`](crate::runs::RunsDatabase::agents).
    ///
    /// Each column is read through its own index and joined here by row number: grouping in SQL
    /// would read every row with all its `run_data`.
    ///
    /// # Errors
    /// [`ErrorKind::Database`](crate::ErrorKind::Database).
    pub fn blocking_agents(&self) -> Result<Vec<AgentSummary>> {
        self.with(|connection, _| {
            let agents: HashMap<i64, Option<String>> = self.column(connection, "agent_id")?;
            let statuses: HashMap<i64, Option<String>> = self.column(connection, "status")?;
            let sessions: HashMap<i64, Option<String>> = self.column(connection, "session_id")?;
            let made: HashMap<i64, Option<i64>> = self.column(connection, "created_at")?;
            let names: HashMap<_, _> = self.agent_names(connection)?.into_iter().collect();
            let by_row = format!(
                "SELECT {COLUMNS} FROM {} WHERE rowid = ?1",
                self.runs_table()
            );
            let mut found: BTreeMap<Option<String>, (AgentSummary, HashSet<&str>)> =
                BTreeMap::new();
            for (row, agent) in &agents {
                let (summary, seen) = found.entry(agent.clone()).or_insert_with(|| {
                    let name = agent.as_ref().and_then(|id| names.get(id)).cloned();
                    let summary = AgentSummary {
                        agent_id: agent.clone(),
                        name,
                        sessions: 0,
                        runs: BTreeMap::new(),
                        last_run_at: None,
                    };
                    (summary, HashSet::new())
                });
                let status = statuses.get(row).cloned().flatten();
                let status = match status.filter(|status| !status.is_empty()) {
                    Some(status) => status.to_uppercase(),
                    None => self
                        .rows(connection, &by_row, &[row])?
                        .first()
                        .map(RunRow::effective_status)
                        .unwrap_or_default(),
                };
                let status = if status.is_empty() {
                    "unknown".into()
                } else {
                    status
                };
                *summary.runs.entry(status).or_default() += 1;
                seen.extend(sessions.get(row).and_then(Option::as_deref));
                summary.last_run_at = summary.last_run_at.max(made.get(row).copied().flatten());
            }
            let mut agents: Vec<AgentSummary> = found
                .into_values()
                .map(|(summary, seen)| AgentSummary {
                    sessions: seen.len() as u64,
                    ..summary
                })
                .collect();
            agents.sort_by_key(|agent| {
                (
                    agent.agent_id.is_none(),
                    std::cmp::Reverse(agent.last_run_at),
                )
            });
            Ok(agents)
        })
    }

    pub(super) fn column<T: FromColumn>(
        &self,
        connection: &Connection,
        name: &str,
    ) -> Result<HashMap<i64, Option<T>>> {
        let sql = format!("SELECT rowid, {name} FROM {}", self.runs_table());
        let mut statement = connection
            .prepare(&sql)
            .map_err(|error| self.failed(error))?;
        statement
            .query_map([], |row| Ok((row.get(0)?, T::from_column(row.get_ref(1)?))))
            .and_then(Iterator::collect)
            .map_err(|error| self.failed(error))
    }
}
