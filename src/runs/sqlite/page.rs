//! One page of runs, and the sessions on it.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params_from_iter};

use super::row::{COLUMNS, data, integer};
use super::{SqliteRuns, quoted};
use crate::error::Result;
use crate::runs::model::{
    Cursor, MAX_TITLE, RunData, RunFilter, RunOrder, RunPage, RunRow, SessionInfo,
};

impl SqliteRuns {
    /// Blocking [`RunsDatabase::page`](crate::runs::RunsDatabase::page).
    ///
    /// # Errors
    /// [`ErrorKind::Database`](crate::ErrorKind::Database).
    pub fn blocking_page(
        &self,
        filter: &RunFilter,
        limit: u32,
        after: Option<&Cursor>,
    ) -> Result<RunPage> {
        self.with(|connection, notices| {
            let mut page = self.read_page(connection, filter, limit, after)?;
            page.notices.append(notices);
            Ok(page)
        })
    }

    /// Blocking [`RunsDatabase::rows`](crate::runs::RunsDatabase::rows).
    ///
    /// # Errors
    /// [`ErrorKind::Database`](crate::ErrorKind::Database).
    pub fn blocking_rows(&self, run_ids: &[String]) -> Result<RunPage> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE run_id = ?1",
            self.runs_table()
        );
        self.with(|connection, notices| {
            let mut page = RunPage::default();
            for run_id in run_ids {
                page.runs.extend(self.rows(connection, &sql, &[run_id])?);
            }
            page.sessions = self.sessions_of(connection, &page.runs)?;
            page.retention = self.retention_of(connection, &page);
            page.notices.append(notices);
            Ok(page)
        })
    }

    pub(super) fn read_page(
        &self,
        connection: &Connection,
        filter: &RunFilter,
        limit: u32,
        after: Option<&Cursor>,
    ) -> Result<RunPage> {
        let (condition, values) = self.condition(connection, filter)?;
        let table = self.runs_table();
        // Keys first, from the index on created_at alone; rows only for what is shown.
        let (beyond, direction, start) = match filter.order {
            RunOrder::NewestFirst => ("<", "DESC", i64::MAX),
            RunOrder::OldestFirst => (">", "ASC", i64::MIN),
        };
        let mut last = match &after {
            None => (start, start),
            Some(after) => match after.row.parse() {
                Ok(row) => (after.created_at, row),
                Err(_) => return Err(Cursor::refused(&after.to_string())),
            },
        };
        // Text sorts after every number: without an upper bound one order would list it.
        let keys = format!(
            "SELECT created_at, rowid FROM {table} AS r WHERE {condition} \
             AND (created_at, rowid) {beyond} (?1, ?2) AND created_at <= {} \
             ORDER BY created_at {direction}, rowid {direction} LIMIT ?3",
            i64::MAX
        );
        let row = format!("SELECT {COLUMNS} FROM {table} WHERE rowid = ?1");
        let mut page = RunPage::default();
        let wanted = limit as usize;
        loop {
            let want = wanted + 1 - page.runs.len();
            let mut statement = connection
                .prepare(&keys)
                .map_err(|error| self.failed(error))?;
            let mut all: Vec<rusqlite::types::Value> = vec![
                last.0.into(),
                last.1.into(),
                i64::try_from(want).unwrap_or(i64::MAX).into(),
            ];
            all.extend(values.iter().cloned().map(Into::into));
            let found: Vec<(i64, i64)> = statement
                .query_map(params_from_iter(all), |row| {
                    Ok((integer(row.get_ref(0)?).unwrap_or_default(), row.get(1)?))
                })
                .and_then(Iterator::collect)
                .map_err(|error| self.failed(error))?;
            let exhausted = found.len() < want;
            for (created_at, rowid) in found {
                for run in self.rows(connection, &row, &[&rowid])? {
                    let status = run.effective_status();
                    if !filter.statuses.is_empty() && !filter.statuses.contains(&status) {
                        continue;
                    }
                    if page.runs.len() == wanted {
                        page.next = Some(Cursor {
                            created_at: last.0,
                            row: last.1.to_string(),
                        });
                        break;
                    }
                    page.runs.push(run);
                }
                if page.next.is_some() {
                    break;
                }
                last = (created_at, rowid);
            }
            if exhausted || page.next.is_some() {
                break;
            }
        }
        page.sessions = self.sessions_of(connection, &page.runs)?;
        page.retention = self.retention_of(connection, &page);
        Ok(page)
    }

    /// The filter as SQL over `r`, and its values from ?4 on.
    pub(super) fn condition(
        &self,
        connection: &Connection,
        filter: &RunFilter,
    ) -> Result<(String, Vec<String>)> {
        let (mut parts, mut values) = (vec!["TRUE".to_owned()], Vec::new());
        let mut value = |text: &str| {
            values.push(text.to_owned());
            format!("?{}", values.len() + 3)
        };
        if let Some(agent) = &filter.agent {
            parts.push(format!("agent_id = {}", value(agent)));
        }
        if let Some(session) = &filter.session {
            parts.push(format!("session_id = {}", value(session)));
        }
        if let Some(since) = filter.since {
            parts.push(format!("created_at >= {since}"));
        }
        if !filter.statuses.is_empty() {
            // The column decides where it says anything; the rest is looked at one by one.
            let known: Vec<_> = filter.statuses.iter().map(|status| value(status)).collect();
            parts.push(format!(
                "(status IS NULL OR status = '' OR upper(status) IN ({}))",
                known.join(", ")
            ));
        }
        if let Some(text) = filter.text.as_deref().filter(|text| !text.is_empty()) {
            let needle = value(text);
            let holds = |what: &str| format!("instr(lower({what}), lower({needle})) > 0");
            let json = |column: &str, path: &str| {
                format!(
                    "CASE WHEN json_valid({column}, 2) THEN json_extract({column}, '{path}') END"
                )
            };
            let mut any = vec![holds("run_id"), holds("session_id"), holds("agent_id")];
            let lower = text.to_lowercase();
            for agent in self.agent_names(connection)? {
                if agent.1.to_lowercase().contains(&lower) {
                    any.push(format!("agent_id = {}", value(&agent.0)));
                }
            }
            any.push(format!(
                "EXISTS (SELECT 1 FROM {} AS s WHERE s.session_id = r.session_id AND {})",
                quoted(&self.tables.sessions),
                holds(&json("s.session_data", "$.session_name"))
            ));
            any.push(format!(
                "EXISTS (SELECT 1 FROM {} AS f WHERE f.session_id = r.session_id AND f.run_index = 0 AND {})",
                self.runs_table(),
                holds(&json("f.run_data", "$.input.input_content"))
            ));
            parts.push(format!("({})", any.join(" OR ")));
        }
        Ok((parts.join(" AND "), values))
    }

    /// Titles and sizes of the sessions that `runs` belong to.
    pub(super) fn sessions_of(
        &self,
        connection: &Connection,
        runs: &[RunRow],
    ) -> Result<HashMap<String, SessionInfo>> {
        let ids: HashSet<&str> = runs.iter().map(|run| run.session_id.as_str()).collect();
        let (sessions, table) = (quoted(&self.tables.sessions), self.runs_table());
        let failed = |error| self.failed(error);
        let name = format!("SELECT session_data FROM {sessions} WHERE session_id = ?1");
        let first = format!(
            "SELECT {COLUMNS} FROM {table} WHERE session_id = ?1 ORDER BY run_index, created_at LIMIT 1"
        );
        let count = format!("SELECT count(*) FROM {table} WHERE session_id = ?1");
        let mut found = HashMap::with_capacity(ids.len());
        for id in ids {
            let named = connection.prepare_cached(&name).and_then(|mut statement| {
                let mut rows = statement.query([id])?;
                rows.next()?
                    .map(|row| Ok(data(row.get_ref(0)?)))
                    .transpose()
            });
            // A database whose sessions table is missing or other still has its runs.
            let named = named.ok().flatten().and_then(|data| match data {
                RunData::Value(value) => value.get("session_name")?.as_str().map(str::to_owned),
                RunData::Unreadable(_) => None,
            });
            let title = match named.filter(|name| !name.trim().is_empty()) {
                Some(name) => name,
                None => self
                    .rows(connection, &first, &[&id])?
                    .first()
                    .and_then(|run| run.input())
                    .filter(|input| !input.trim().is_empty())
                    .unwrap_or(id)
                    .to_owned(),
            };
            // It is shown on one line; a longer one is not kept for every session.
            let title = title.chars().take(MAX_TITLE).collect();
            let runs = connection
                .prepare_cached(&count)
                .and_then(|mut statement| statement.query_row([id], |row| row.get::<_, i64>(0)))
                .map_err(failed)?;
            let runs = u64::try_from(runs).unwrap_or(0);
            found.insert(id.to_owned(), SessionInfo { title, runs });
        }
        Ok(found)
    }
}
