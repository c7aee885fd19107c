//! What retention does next to the sessions of a page: the binding of each where the database has
//! them, and its newest runs. Nothing here is an error: a table that is absent or odd says nothing.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::row::{COLUMNS, data, text};
use super::{SqliteRuns, quoted};
use crate::checkpoint::CheckpointRef;
use crate::error::Result;
use crate::runs::binding::Binding;
use crate::runs::gate::{Opening, gate};
use crate::runs::model::{RunData, RunPage, RunRow};
use crate::runs::retention::{Kept, LOOKED_AT, Retention, next, wanted};

/// Namespaces that are looked into; Agno's default is one.
const NAMESPACES: usize = 16;

impl SqliteRuns {
    /// What retention does next, by session.
    pub(super) fn retention_of(
        &self,
        connection: &Connection,
        page: &RunPage,
    ) -> HashMap<String, Retention> {
        let here: HashMap<&str, &RunRow> = page
            .runs
            .iter()
            .map(|run| (run.run_id.as_str(), run))
            .collect();
        let namespaces = self.namespaces(connection);
        let mut found = HashMap::new();
        for (session, info) in &page.sessions {
            let kept = namespaces
                .iter()
                .find_map(|namespace| self.kept(connection, namespace, session));
            let Some(wanted) = wanted(kept.as_ref(), info.runs) else {
                continue;
            };
            let Some(runs) = self.newest_completed(connection, session, wanted, &here) else {
                continue;
            };
            if let Some(retention) = next(kept.as_ref(), &runs) {
                found.insert(session.clone(), retention);
            }
        }
        found
    }

    fn bindings_table(&self) -> String {
        quoted(&self.tables.bindings())
    }

    /// Every namespace of the bindings, by steps through the key's index; none without the table.
    fn namespaces(&self, connection: &Connection) -> Vec<String> {
        let table = self.bindings_table();
        let step = format!("SELECT min(namespace) FROM {table} WHERE namespace > ?1");
        let mut found: Vec<String> = Vec::new();
        let empty = format!("SELECT 1 FROM {table} WHERE namespace = '' LIMIT 1");
        let unnamed = connection
            .query_row(&empty, [], |_| Ok(()))
            .optional()
            .ok()
            .flatten();
        found.extend(unnamed.map(|()| String::new()));
        let mut last = String::new();
        while found.len() < NAMESPACES {
            let next = connection
                .prepare_cached(&step)
                .and_then(|mut statement| {
                    statement.query_row([&last], |row| Ok(text(row.get_ref(0)?)))
                })
                .ok()
                .flatten();
            let Some(next) = next.filter(|next| *next > last) else {
                break;
            };
            last.clone_from(&next);
            found.push(next);
        }
        found
    }

    /// What `session` is bound to; SQLite keeps no times with zones, so nobody holds it by its
    /// columns alone.
    pub(super) fn blocking_binding(&self, session: &str) -> Result<Option<Binding>> {
        self.with(|connection, _| {
            let sql = format!(
                "SELECT record, agent_id, run_id FROM {} WHERE namespace = ?1 AND session_id = ?2",
                self.bindings_table()
            );
            let found = self
                .namespaces(connection)
                .into_iter()
                .find_map(|namespace| {
                    let mut statement = connection.prepare_cached(&sql).ok()?;
                    let row = |row: &rusqlite::Row<'_>| {
                        Ok((
                            data(row.get_ref(0)?),
                            text(row.get_ref(1)?),
                            text(row.get_ref(2)?),
                        ))
                    };
                    let found = statement.query_row([namespace.as_str(), session], row);
                    found.optional().ok().flatten()
                });
            Ok(found.and_then(|(record, agent_id, run_id)| match record {
                RunData::Value(record) => {
                    Some(Binding::of(&record, run_id, None).of_agent(agent_id))
                }
                RunData::Unreadable(_) => None,
            }))
        })
    }

    fn kept(&self, connection: &Connection, namespace: &str, session: &str) -> Option<Kept> {
        let sql = format!(
            "SELECT record FROM {} WHERE namespace = ?1 AND session_id = ?2",
            self.bindings_table()
        );
        let mut statement = connection.prepare_cached(&sql).ok()?;
        let record = statement
            .query_row([namespace, session], |row| Ok(data(row.get_ref(0)?)))
            .optional()
            .ok()
            .flatten()?;
        match record {
            RunData::Value(record) => Kept::of(&record),
            RunData::Unreadable(_) => None,
        }
    }

    /// The session's newest completed runs with their references, at most `wanted`. Rows that stand
    /// on the page are not read again.
    fn newest_completed(
        &self,
        connection: &Connection,
        session: &str,
        wanted: usize,
        here: &HashMap<&str, &RunRow>,
    ) -> Option<Vec<(String, CheckpointRef)>> {
        let table = self.runs_table();
        // By the index on session and position alone; a row's data only where it is needed.
        let keys = format!(
            "SELECT rowid FROM {table} WHERE session_id = ?1 \
             ORDER BY run_index DESC, rowid DESC LIMIT {LOOKED_AT}"
        );
        let id = format!("SELECT run_id FROM {table} WHERE rowid = ?1");
        let row = format!(
            "SELECT {COLUMNS} FROM {table} WHERE rowid = ?1 \
             AND (status IS NULL OR status = '' OR upper(status) = 'COMPLETED')"
        );
        let mut keys = connection.prepare_cached(&keys).ok()?;
        let keys: Vec<i64> = keys
            .query_map([session], |row| row.get(0))
            .and_then(Iterator::collect)
            .ok()?;
        let mut id = connection.prepare_cached(&id).ok()?;
        let mut found = Vec::new();
        for key in keys {
            let run_id = id
                .query_row([key], |row| Ok(text(row.get_ref(0)?).unwrap_or_default()))
                .ok()?;
            let passed = |run: &RunRow| gate(&run_id, Some(run), &Opening::Own).ok();
            let reference = match here.get(run_id.as_str()) {
                Some(run) => passed(run),
                None => self
                    .rows(connection, &row, &[&key])
                    .ok()?
                    .first()
                    .and_then(passed),
            };
            found.extend(reference.map(|reference| (run_id, reference)));
            if found.len() == wanted {
                break;
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{RunFilter, Tables};

    fn digest(n: usize) -> String {
        format!("{n:064x}")
    }

    /// Two sessions of five turns each, of which every second failed, and one of a single turn.
    fn database(folder: &std::path::Path, more: &str) -> SqliteRuns {
        let path = folder.join("agno.sqlite");
        let connection = Connection::open(&path).expect("made");
        connection
            .execute_batch(
                "CREATE TABLE agno_runs (run_id VARCHAR PRIMARY KEY, session_id VARCHAR, agent_id VARCHAR,
                     user_id VARCHAR, run_type VARCHAR, status VARCHAR, run_index BIGINT, run_data JSON,
                     created_at BIGINT, updated_at BIGINT);
                 CREATE INDEX turns ON agno_runs (session_id, run_index);",
            )
            .expect("tables");
        for (session, turns) in [("s1", 7), ("s2", 7), ("s3", 1)] {
            for turn in 0..turns {
                let checkpoint = format!(
                    r#"{{"metadata":{{"sandbox":{{"checkpoint":{{"sha256":"{}","size":9}}}}}}}}"#,
                    digest(turn)
                );
                let (status, data) = match turn % 2 {
                    0 => ("COMPLETED", checkpoint.as_str()),
                    _ => ("ERROR", "{}"),
                };
                connection
                    .execute(
                        "INSERT INTO agno_runs VALUES (?1, ?2, 'a', NULL, 'agent', ?3, ?4, ?5, ?4, NULL)",
                        (format!("{session}-{turn}"), session, status, turn as i64, data),
                    )
                    .expect("a row");
            }
        }
        connection.execute_batch(more).expect("more");
        SqliteRuns::open(path, Tables::default()).expect("opened")
    }

    /// What is at risk, on a page of one row and on one of all.
    fn at_risk(more: &str) -> Vec<(String, usize, bool)> {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = database(folder.path(), more);
        let of = |limit| {
            let page = runs
                .blocking_page(&RunFilter::default(), limit, None)
                .expect("a page");
            let mut found: Vec<_> = page
                .retention
                .into_values()
                .flat_map(|one| {
                    let (keeps, by_default) = (one.keeps, one.by_default);
                    one.at_risk
                        .into_iter()
                        .map(move |run_id| (run_id, keeps, by_default))
                })
                .collect();
            found.sort();
            found
        };
        let all = of(100);
        let one = of(1);
        assert!(one.iter().all(|found| all.contains(found)), "{one:?}");
        all
    }

    fn binding(record: &str) -> String {
        format!(
            "CREATE TABLE agno_sessions_sandbox_bindings (namespace VARCHAR, session_id VARCHAR, record JSON,
                 PRIMARY KEY (namespace, session_id));
             INSERT INTO agno_sessions_sandbox_bindings VALUES ('default', 's2', '{record}');"
        )
    }

    #[test]
    fn without_bindings_the_third_newest_is_the_next_to_go() {
        let found = [("s1-2".to_owned(), 3, true), ("s2-2".to_owned(), 3, true)];
        assert_eq!(at_risk(""), found);
        // A table of that name which is another one says nothing.
        assert_eq!(
            at_risk("CREATE TABLE agno_sessions_sandbox_bindings (session_id VARCHAR);"),
            found
        );
        assert_eq!(at_risk(&binding("no JSON")), found);
    }

    #[test]
    fn a_binding_tells_how_many_are_kept() {
        let kept = |turns: &[usize]| {
            let items: Vec<String> = turns
                .iter()
                .map(|turn| format!(r#"{{"sha256":"{}","size":9}}"#, digest(*turn)))
                .collect();
            binding(&format!(
                r#"{{"retained_checkpoints":[{}],"retired_checkpoints":[]}}"#,
                items.join(",")
            ))
        };
        let first = ("s1-2".to_owned(), 3, true);
        assert_eq!(
            at_risk(&kept(&[4, 6])),
            [first.clone(), ("s2-4".to_owned(), 2, false)]
        );
        // All four are kept, so it keeps more than the default.
        assert_eq!(at_risk(&kept(&[0, 2, 4, 6])), [first]);
    }
}
