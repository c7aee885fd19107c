//! Runs from SQLite, beside a live writer and without a trace: the database is opened read-only,
//! and no side file of it is made.

mod agents;
mod connection;
mod page;
mod reading;
mod retention;
mod row;
mod version;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use async_trait::async_trait;
use rusqlite::Connection;

use self::reading::{Reading, Readings};
use self::row::{COLUMNS, run_row, text};
use self::version::Files;
use super::binding::Binding;
use super::database::{LOCK_GRACE, RunsDatabase, Tables};
use super::model::{AgentSummary, Cursor, RunFilter, RunPage, RunRow};
use crate::error::{Error, ErrorKind, Result};
use crate::text::{visible, visible_path};

/// The runs in one SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteRuns {
    path: PathBuf,
    tables: Tables,
    readings: Arc<Readings>,
    files: Arc<Files>,
    /// The reading that this is used for, where it can be given up.
    reading: Option<Arc<Reading>>,
}

impl SqliteRuns {
    /// The database at `path`, checked for being one and for having Agno's tables.
    ///
    /// # Errors
    /// [`ErrorKind::Database`]: missing, no SQLite, locked, or other tables than expected.
    pub fn open(path: impl Into<PathBuf>, tables: Tables) -> Result<Self> {
        let this = Self {
            path: path.into(),
            tables,
            readings: Arc::default(),
            files: Arc::default(),
            reading: None,
        };
        match std::fs::metadata(&this.path) {
            Ok(entry) if entry.is_file() => {}
            Ok(_) => return Err(this.named("is not a file; expected an SQLite database of Agno's")),
            Err(error) => {
                let reason = crate::error::reason(&error);
                return Err(this
                    .named(&format!("cannot be read: {reason}"))
                    .source(error));
            }
        }
        this.with(|connection, _| this.check_tables(connection))?;
        Ok(this)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn named(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Database,
            format!("{} {what}", visible_path(&self.path)),
        )
    }

    fn check_tables(&self, connection: &Connection) -> Result<()> {
        let columns = |table: &str| -> Result<HashSet<String>> {
            let mut statement = connection
                .prepare("SELECT name FROM pragma_table_info(?1)")
                .map_err(|error| self.failed(error))?;
            let names = statement
                .query_map([table], |row| row.get::<_, String>(0))
                .map_err(|error| self.failed(error))?;
            names
                .collect::<rusqlite::Result<_>>()
                .map_err(|error| self.failed(error))
        };
        let (sessions, runs) = (&self.tables.sessions, &self.tables.runs);
        let session_columns = columns(sessions)?;
        if columns(runs)?.is_empty() {
            if session_columns.contains("runs") {
                return Err(self
                    .named(&format!(
                        "keeps runs inside {}, as Agno 2.x did; expected a table {}",
                        visible(sessions),
                        visible(runs)
                    ))
                    .hint("migrate the database with Agno 3.1.5 or later, then open it again"));
            }
            let found = self.table_names(connection)?;
            let found = if found.is_empty() {
                "no tables at all".to_owned()
            } else {
                found.join(", ")
            };
            return Err(self
                .named(&format!(
                    "has no table {}; expected Agno's {} and {}, found {found}",
                    visible(runs),
                    visible(sessions),
                    visible(runs)
                ))
                .hint("renamed tables are named with --sessions-table and --runs-table"));
        }
        Ok(())
    }

    fn table_names(&self, connection: &Connection) -> Result<Vec<String>> {
        let mut statement = connection
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT 8")
            .map_err(|error| self.failed(error))?;
        let names = statement
            .query_map([], |row| row.get::<_, String>(0))
            .map_err(|error| self.failed(error))?;
        names
            .map(|name| name.map(|name| visible(&name).into_owned()))
            .collect::<rusqlite::Result<_>>()
            .map_err(|error| self.failed(error))
    }

    fn runs_table(&self) -> String {
        quoted(&self.tables.runs)
    }

    /// Blocking [`RunsDatabase::run`].
    ///
    /// # Errors
    /// [`ErrorKind::Database`].
    pub fn blocking_run(&self, run_id: &str) -> Result<Option<RunRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE run_id = ?1",
            self.runs_table()
        );
        self.with(|connection, _| Ok(self.rows(connection, &sql, &[&run_id])?.pop()))
    }

    /// Blocking [`RunsDatabase::session`].
    ///
    /// # Errors
    /// [`ErrorKind::Database`].
    pub fn blocking_session(&self, session_id: &str) -> Result<Vec<RunRow>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE session_id = ?1 ORDER BY run_index, created_at, rowid",
            self.runs_table()
        );
        self.with(|connection, _| self.rows(connection, &sql, &[&session_id]))
    }

    /// Blocking [`RunsDatabase::with_prefix`].
    ///
    /// # Errors
    /// [`ErrorKind::Database`].
    pub fn blocking_with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>> {
        // A range, not LIKE: it uses the key's index and takes no wildcards.
        let sql = format!(
            "SELECT run_id FROM {} WHERE run_id >= ?1 AND run_id < ?1 || char(1114111) \
             ORDER BY run_id LIMIT ?2",
            self.runs_table()
        );
        self.with(|connection, _| {
            let mut statement = connection
                .prepare(&sql)
                .map_err(|error| self.failed(error))?;
            let ids = statement
                .query_map((prefix, limit), |row| {
                    Ok(text(row.get_ref(0)?).unwrap_or_default())
                })
                .map_err(|error| self.failed(error))?;
            ids.collect::<rusqlite::Result<_>>()
                .map_err(|error| self.failed(error))
        })
    }

    fn rows(
        &self,
        connection: &Connection,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<RunRow>> {
        self.check_wanted()?;
        let mut statement = connection
            .prepare(sql)
            .map_err(|error| self.failed(error))?;
        let rows = statement
            .query_map(values, run_row)
            .map_err(|error| self.failed(error))?;
        rows.collect::<rusqlite::Result<_>>()
            .map_err(|error| self.failed(error))
    }

    /// Blocking [`RunsDatabase::queue_worker_active`].
    ///
    /// # Errors
    /// [`ErrorKind::Database`].
    pub fn blocking_queue_worker_active(&self) -> Result<bool> {
        self.with(|connection, _| {
            let there: i64 = connection
                .query_row(
                    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'agno_jobs'",
                    [],
                    |row| row.get(0),
                )
                .map_err(|error| self.failed(error))?;
            if there == 0 {
                return Ok(false);
            }
            let now = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
            let fresh: i64 = connection
                .query_row(
                    "SELECT count(*) FROM agno_jobs WHERE status = 'running' AND locked_at > ?1",
                    [now - LOCK_GRACE],
                    |row| row.get(0),
                )
                .map_err(|error| self.failed(error))?;
            Ok(fresh > 0)
        })
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[async_trait]
impl RunsDatabase for SqliteRuns {
    async fn agents(&self) -> Result<Vec<AgentSummary>> {
        self.read(Self::blocking_agents).await
    }

    async fn page(&self, filter: &RunFilter, limit: u32, after: Option<Cursor>) -> Result<RunPage> {
        let filter = filter.clone();
        let begun = Instant::now();
        let page = self
            .read(move |this| this.blocking_page(&filter, limit, after.as_ref()))
            .await?;
        tracing::debug!(
            "a page of {} runs of at most {limit} was read in {:?}; {} below it",
            page.runs.len(),
            begun.elapsed(),
            if page.next.is_some() {
                "more is"
            } else {
                "nothing is"
            }
        );
        Ok(page)
    }

    async fn run(&self, run_id: &str) -> Result<Option<RunRow>> {
        let run_id = run_id.to_owned();
        self.read(move |this| this.blocking_run(&run_id)).await
    }

    async fn session(&self, session_id: &str) -> Result<Vec<RunRow>> {
        let session_id = session_id.to_owned();
        self.read(move |this| this.blocking_session(&session_id))
            .await
    }

    async fn with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>> {
        let prefix = prefix.to_owned();
        self.read(move |this| this.blocking_with_prefix(&prefix, limit))
            .await
    }

    async fn rows(&self, run_ids: &[String]) -> Result<RunPage> {
        let run_ids = run_ids.to_vec();
        self.read(move |this| this.blocking_rows(&run_ids)).await
    }

    async fn version(&self) -> Result<Option<u64>> {
        self.read(|this| this.look()?.version(&this.path).map(Some))
            .await
    }

    async fn binding(&self, session_id: &str) -> Result<Option<Binding>> {
        let session_id = session_id.to_owned();
        self.read(move |this| this.blocking_binding(&session_id))
            .await
    }

    async fn checkpoints_table(&self) -> Result<Option<String>> {
        // Agno keeps objects in tables of PostgreSQL alone.
        Ok(None)
    }

    async fn queue_worker_active(&self) -> Result<bool> {
        self.read(Self::blocking_queue_worker_active).await
    }

    fn describe(&self) -> String {
        format!(
            "sqlite:///{}",
            visible_path(&self.path).trim_start_matches('/')
        )
    }
}

// A locked database is waited for, then named; see tests/bad_input.rs for the rest.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::RunOrder;
    use std::collections::BTreeMap;

    fn database(folder: &Path) -> (Connection, SqliteRuns) {
        let path = folder.join("agno.sqlite");
        let connection = Connection::open(&path).expect("made");
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                 CREATE TABLE agno_sessions (session_id VARCHAR PRIMARY KEY, session_data JSON);
                 CREATE TABLE agno_runs (run_id VARCHAR PRIMARY KEY, session_id VARCHAR, agent_id VARCHAR,
                     user_id VARCHAR, run_type VARCHAR, status VARCHAR, run_index BIGINT, run_data JSON,
                     created_at BIGINT, updated_at BIGINT);
                 CREATE INDEX at ON agno_runs (created_at);
                 INSERT INTO agno_sessions VALUES ('s1', '{\"session_name\": \"Fix Refunds\"}'), ('s2', 'broken');",
            )
            .expect("tables");
        for n in 0..25 {
            connection
                .execute(
                    "INSERT INTO agno_runs VALUES (?1, ?2, 'engineer', NULL, 'agent', ?3, ?4, ?5, ?6, NULL)",
                    (
                        format!("run-{n}"),
                        if n % 2 == 0 { "s1" } else { "s2" },
                        if n % 5 == 0 { "ERROR" } else { "COMPLETED" },
                        n / 2,
                        r#"{"agent_name": "Engineer", "input": {"input_content": "Migrate billing"}}"#,
                        // Runs of one second, so that the row number must tell them apart.
                        1000 + n / 10,
                    ),
                )
                .expect("a row");
        }
        let runs = SqliteRuns::open(path, Tables::default()).expect("opened");
        (connection, runs)
    }

    fn ids(runs: &SqliteRuns, filter: &RunFilter, limit: u32) -> Vec<String> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = runs
                .blocking_page(filter, limit, after.as_ref())
                .expect("a page");
            assert!(page.runs.len() <= limit as usize);
            ids.extend(page.runs.into_iter().map(|run| run.run_id));
            after = page.next;
            if after.is_none() {
                return ids;
            }
        }
    }

    #[test]
    fn pages_add_up_to_the_whole_list() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_writer, runs) = database(folder.path());
        let all = ids(&runs, &RunFilter::default(), 100);
        assert_eq!(all.len(), 25);
        assert_eq!(all[0], "run-24");
        for limit in [1, 2, 7, 24, 25] {
            assert_eq!(
                ids(&runs, &RunFilter::default(), limit),
                all,
                "{limit} a page"
            );
        }
        let errors = RunFilter {
            statuses: vec!["ERROR".into()],
            ..RunFilter::default()
        };
        assert_eq!(
            ids(&runs, &errors, 2),
            ["run-20", "run-15", "run-10", "run-5", "run-0"]
        );
        let named = |text: &str| {
            ids(
                &runs,
                &RunFilter {
                    text: Some(text.into()),
                    ..RunFilter::default()
                },
                4,
            )
            .len()
        };
        assert_eq!(named("refunds"), 13, "by the session's name");
        assert_eq!(named("BILLING"), 25, "by the first input");
        assert_eq!(named("enginee"), 25, "by the agent");
        assert_eq!(named("run-24"), 1, "by id");
        assert_eq!(named("100%"), 0);
        let page = runs
            .blocking_page(&RunFilter::default(), 3, None)
            .expect("a page");
        assert_eq!(page.sessions["s1"].title, "Fix Refunds");
        assert_eq!(page.sessions["s2"].title, "Migrate billing");
        assert_eq!(
            runs.blocking_with_prefix("run-2", 10).expect("ids").len(),
            6
        );
        let agents = runs.blocking_agents().expect("agents");
        assert_eq!(
            agents[0].runs,
            BTreeMap::from([("COMPLETED".into(), 20), ("ERROR".into(), 5)])
        );
        assert_eq!(
            (agents[0].sessions, agents[0].name.as_deref()),
            (2, Some("Engineer"))
        );
    }

    #[test]
    fn the_oldest_first_is_the_same_list_the_other_way_round() {
        let folder = tempfile::tempdir().expect("a folder");
        let (writer, runs) = database(folder.path());
        // What is no number has no place in either.
        writer
            .execute_batch(
                "INSERT INTO agno_runs (run_id, session_id, created_at) VALUES ('odd', 's1', 'soon');
                 INSERT INTO agno_runs (run_id, session_id, created_at) VALUES ('none', 's1', NULL);",
            )
            .expect("rows");
        let mut newest = ids(&runs, &RunFilter::default(), 100);
        assert_eq!(newest.len(), 25);
        newest.reverse();
        let oldest = RunFilter {
            order: RunOrder::OldestFirst,
            ..RunFilter::default()
        };
        for indexed in [true, false] {
            for limit in [1, 3, 24, 25, 100] {
                assert_eq!(ids(&runs, &oldest, limit), newest, "{limit} a page");
            }
            if indexed {
                writer.execute_batch("DROP INDEX at").expect("dropped");
            }
        }
        let errors = RunFilter {
            statuses: vec!["ERROR".into()],
            since: Some(1001),
            ..oldest
        };
        assert_eq!(ids(&runs, &errors, 2), ["run-10", "run-15", "run-20"]);
    }

    #[test]
    fn reading_leaves_no_side_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let (writer, runs) = database(folder.path());
        writer.close().expect("closed");
        let names = || {
            let mut names: Vec<_> = std::fs::read_dir(folder.path())
                .expect("listed")
                .flatten()
                .map(|e| e.file_name())
                .collect();
            names.sort();
            names
        };
        let before = names();
        assert_eq!(before.len(), 1);
        assert_eq!(runs.blocking_agents().expect("agents").len(), 1);
        assert_eq!(names(), before);
    }

    #[test]
    fn a_live_writers_rows_are_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let (writer, runs) = database(folder.path());
        writer.execute("INSERT INTO agno_runs (run_id, session_id, created_at, run_data) VALUES ('new', 's9', 9, '{}')", []).expect("a row");
        assert!(runs.blocking_run("new").expect("read").is_some());
    }
}
