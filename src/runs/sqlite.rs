//! Runs from SQLite, beside a live writer and without a trace: the database is opened read-only,
//! and no side file of it is made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::database::{RunsDatabase, Tables};
use super::model::{AgentSummary, Cursor, RunData, RunFilter, RunPage, RunRow, SessionInfo};
use crate::checkpoint::blocking;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Json;
use crate::text::{visible, visible_path};

/// How long a busy database is waited for.
const BUSY: Duration = Duration::from_secs(2);
/// `run_data` past this is not read: no list stalls on one row.
const MAX_RUN_DATA: usize = 64 << 20;
/// Characters of a session's title.
const MAX_TITLE: usize = 300;
/// A running job whose lock is older than this is abandoned (Agno's lock grace).
const LOCK_GRACE: i64 = 60;
/// The columns of one run, in the order that [`run_row`] reads them.
const COLUMNS: &str = "run_id, session_id, agent_id, user_id, run_type, status, run_index, \
                       created_at, updated_at, run_data";

/// The runs in one SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteRuns {
    path: PathBuf,
    tables: Tables,
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

    /// Runs `work` on a fresh read-only connection; with the notices of how it was opened.
    ///
    /// A WAL database without a `-wal` file has no writer now. Opening it the usual way would make
    /// `-wal` and `-shm` files, which would be ours and could lock its writer out; so it is opened
    /// as immutable, and read again if somebody began to write meanwhile.
    fn with<T>(&self, work: impl Fn(&Connection, &mut Vec<String>) -> Result<T>) -> Result<T> {
        for _ in 0..3 {
            let before = self.look();
            if !(before.wal_mode && before.wal_bytes == 0) {
                break;
            }
            let connection = self.connect("?mode=ro&immutable=1")?;
            let mut notices = Vec::new();
            if self.is_on_read_only_fs() {
                notices.push(format!(
                    "{} is on a read-only file system: opened as immutable",
                    visible_path(&self.path)
                ));
            }
            let answer = work(&connection, &mut notices);
            if self.look() == before {
                return answer;
            }
        }
        let connection = self.connect("?mode=ro")?;
        match work(&connection, &mut Vec::new()) {
            Err(error) if self.cannot_share(&error) => {}
            answer => return answer,
        }
        let mut notices = vec![format!(
            "{} is on a read-only file system: opened as immutable, what its -wal file holds is not seen",
            visible_path(&self.path)
        )];
        let connection = self.connect("?mode=ro&immutable=1")?;
        work(&connection, &mut notices)
    }

    fn is_on_read_only_fs(&self) -> bool {
        rustix::fs::statvfs(&self.path)
            .is_ok_and(|fs| fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }

    /// Whether the failure is that of a WAL database whose side files cannot be made or opened.
    fn cannot_share(&self, error: &Error) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, ReadOnly, SystemIoFailure};
        std::error::Error::source(error)
            .and_then(|source| source.downcast_ref::<rusqlite::Error>())
            .and_then(rusqlite::Error::sqlite_error_code)
            .is_some_and(|code| matches!(code, CannotOpen | ReadOnly | SystemIoFailure))
    }

    fn look(&self) -> Look {
        use std::io::Read;
        let wal = |suffix: &str| {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            std::fs::metadata(name).map_or(0, |entry| entry.len())
        };
        let mut head = [0; 20];
        let wal_mode = std::fs::File::open(&self.path)
            .and_then(|mut file| file.read_exact(&mut head))
            .is_ok_and(|()| head[18] == 2 || head[19] == 2);
        let entry = std::fs::metadata(&self.path).ok();
        Look {
            wal_mode,
            wal_bytes: wal("-wal"),
            length: entry.as_ref().map_or(0, std::fs::Metadata::len),
            modified: entry.and_then(|entry| entry.modified().ok()),
        }
    }

    fn connect(&self, how: &str) -> Result<Connection> {
        let absolute = std::path::absolute(&self.path)
            .map_err(|error| Error::io("read", &self.path, error))?;
        let mut uri = String::from("file://");
        for byte in absolute.as_os_str().as_bytes() {
            match byte {
                b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                    uri.push(char::from(*byte));
                }
                byte => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        uri.push_str(how);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(uri, flags).map_err(|error| self.failed(error))?;
        connection
            .busy_timeout(BUSY)
            .and_then(|()| connection.pragma_update(None, "query_only", true))
            // A hostile schema must not run functions through views or triggers.
            .and_then(|()| connection.pragma_update(None, "trusted_schema", false))
            .map_err(|error| self.failed(error))?;
        Ok(connection)
    }

    fn failed(&self, error: rusqlite::Error) -> Error {
        use rusqlite::ErrorCode;
        let what = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => "is not an SQLite database".to_owned(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                return self
                    .named("is locked by another process")
                    .hint("try again when its writer has finished")
                    .source(error);
            }
            Some(ErrorCode::DatabaseCorrupt) => format!("is damaged: {error}"),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                format!("cannot be opened: {error}")
            }
            _ => format!("cannot be read: {error}"),
        };
        self.named(&visible(&what)).source(error)
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
        let mut statement = connection
            .prepare(sql)
            .map_err(|error| self.failed(error))?;
        let rows = statement
            .query_map(values, run_row)
            .map_err(|error| self.failed(error))?;
        rows.collect::<rusqlite::Result<_>>()
            .map_err(|error| self.failed(error))
    }

    /// Blocking [`RunsDatabase::page`].
    ///
    /// # Errors
    /// [`ErrorKind::Database`].
    pub fn blocking_page(
        &self,
        filter: &RunFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<RunPage> {
        self.with(|connection, notices| {
            let mut page = self.read_page(connection, filter, limit, after)?;
            page.notices.append(notices);
            Ok(page)
        })
    }

    fn read_page(
        &self,
        connection: &Connection,
        filter: &RunFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<RunPage> {
        let (condition, values) = self.condition(connection, filter)?;
        let table = self.runs_table();
        // Keys first, from the index on created_at alone; rows only for what is shown.
        let keys = format!(
            "SELECT created_at, rowid FROM {table} AS r WHERE {condition} \
             AND (created_at, rowid) < (?1, ?2) ORDER BY created_at DESC, rowid DESC LIMIT ?3"
        );
        let row = format!("SELECT {COLUMNS} FROM {table} WHERE rowid = ?1");
        let mut page = RunPage::default();
        let mut cursor = after.unwrap_or(Cursor {
            created_at: i64::MAX,
            row: i64::MAX,
        });
        let wanted = limit as usize;
        loop {
            let want = wanted + 1 - page.runs.len();
            let mut statement = connection
                .prepare(&keys)
                .map_err(|error| self.failed(error))?;
            let mut all: Vec<rusqlite::types::Value> = vec![
                cursor.created_at.into(),
                cursor.row.into(),
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
                        page.next = Some(cursor);
                        break;
                    }
                    page.runs.push(run);
                }
                if page.next.is_some() {
                    break;
                }
                cursor = Cursor {
                    created_at,
                    row: rowid,
                };
            }
            if exhausted || page.next.is_some() {
                break;
            }
        }
        page.sessions = self.sessions_of(connection, &page.runs)?;
        Ok(page)
    }

    /// The filter as SQL over `r`, and its values from ?4 on.
    fn condition(
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
    fn sessions_of(
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

    /// Agent ids with the names their newest readable runs recorded.
    fn agent_names(&self, connection: &Connection) -> Result<Vec<(String, String)>> {
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

    /// Blocking [`RunsDatabase::agents`].
    ///
    /// Each column is read through its own index and joined here by row number: grouping in SQL
    /// would read every row with all its `run_data`.
    ///
    /// # Errors
    /// [`ErrorKind::Database`].
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

    fn column<T: FromColumn>(
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

#[derive(PartialEq)]
struct Look {
    wal_mode: bool,
    wal_bytes: u64,
    length: u64,
    modified: Option<SystemTime>,
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

trait FromColumn: Sized {
    fn from_column(value: ValueRef<'_>) -> Option<Self>;
}

impl FromColumn for String {
    fn from_column(value: ValueRef<'_>) -> Option<Self> {
        text(value)
    }
}

impl FromColumn for i64 {
    fn from_column(value: ValueRef<'_>) -> Option<Self> {
        integer(value)
    }
}

/// Any value as text: SQLite's columns hold whatever was put in.
fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(format!("{number:?}")),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// A JSON column as Agno reads it: text or bytes of JSON, and JSON once more when that is text.
fn data(value: ValueRef<'_>) -> RunData {
    let bytes = match value {
        ValueRef::Null => return RunData::Value(Json::Null),
        ValueRef::Integer(number) => return RunData::Value(Json::Int(number.to_string())),
        ValueRef::Real(number) => return RunData::Value(Json::Float(number)),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
    };
    // Bytes may be UTF-16 or begin with a mark; text may not.
    let parsed = || match value {
        ValueRef::Text(_) => match std::str::from_utf8(bytes) {
            Ok(text) => Json::parse(text),
            Err(_) => Json::parse_bytes(bytes),
        },
        _ => Json::parse_bytes(bytes),
    };
    if bytes.len() > MAX_RUN_DATA {
        return RunData::Unreadable(format!(
            "its run_data is {}, over the {} that are read",
            crate::text::human_bytes(bytes.len() as u64),
            crate::text::human_bytes(MAX_RUN_DATA as u64)
        ));
    }
    let decoded = parsed().and_then(|value| match value {
        Json::Text(text) => Json::parse(&text),
        value => Ok(value),
    });
    match decoded {
        Ok(value) => RunData::Value(value),
        Err(error) => RunData::Unreadable(format!("its run_data is no JSON ({error})")),
    }
}

fn run_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        run_id: text(row.get_ref(0)?).unwrap_or_default(),
        session_id: text(row.get_ref(1)?).unwrap_or_default(),
        agent_id: text(row.get_ref(2)?),
        user_id: text(row.get_ref(3)?),
        run_type: text(row.get_ref(4)?),
        status: text(row.get_ref(5)?),
        run_index: integer(row.get_ref(6)?),
        created_at: integer(row.get_ref(7)?),
        updated_at: integer(row.get_ref(8)?),
        data: data(row.get_ref(9)?),
    })
}

#[async_trait]
impl RunsDatabase for SqliteRuns {
    async fn agents(&self) -> Result<Vec<AgentSummary>> {
        let this = self.clone();
        blocking(move || this.blocking_agents()).await
    }

    async fn page(&self, filter: &RunFilter, limit: u32, after: Option<Cursor>) -> Result<RunPage> {
        let (this, filter) = (self.clone(), filter.clone());
        blocking(move || this.blocking_page(&filter, limit, after)).await
    }

    async fn run(&self, run_id: &str) -> Result<Option<RunRow>> {
        let (this, run_id) = (self.clone(), run_id.to_owned());
        blocking(move || this.blocking_run(&run_id)).await
    }

    async fn session(&self, session_id: &str) -> Result<Vec<RunRow>> {
        let (this, session_id) = (self.clone(), session_id.to_owned());
        blocking(move || this.blocking_session(&session_id)).await
    }

    async fn with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>> {
        let (this, prefix) = (self.clone(), prefix.to_owned());
        blocking(move || this.blocking_with_prefix(&prefix, limit)).await
    }

    async fn queue_worker_active(&self) -> Result<bool> {
        let this = self.clone();
        blocking(move || this.blocking_queue_worker_active()).await
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
            let page = runs.blocking_page(filter, limit, after).expect("a page");
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
