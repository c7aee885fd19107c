//! Which state a database's files are in, without a connection to it: a kept connection would keep
//! `-wal` and `-shm` files alive that its writer wants to remove, and a fresh one has no
//! `data_version` to count from.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::error::{Error, Result};

/// Bytes of the database's header that say something: which journal it uses, and the counter of
/// changes that each write without a `-wal` moves on.
const HEADER: usize = 28;
/// Bytes of the `-shm` file's first header. Each commit to the `-wal` changes them, though it may
/// leave that file as long as it was: a writer begins a checkpointed `-wal` again from its start.
const INDEX: usize = 48;

/// Open descriptors of a database's files. They are kept, since closing any descriptor of a file drops
/// every lock on it that this process has, those of a reading in SQLite too.
#[derive(Debug, Default)]
pub(super) struct Files {
    kept: Mutex<Both>,
}

#[derive(Debug, Default)]
struct Both {
    database: Kept,
    index: Kept,
}

#[derive(Debug, Default)]
struct Kept(Option<(File, (u64, u64))>);

impl Kept {
    /// The first bytes of the file at `path` now; zeros where there are none.
    fn start<const N: usize>(
        &mut self,
        path: &Path,
        entry: Option<&Metadata>,
    ) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        let Some(entry) = entry.filter(|entry| entry.is_file()) else {
            return Ok(bytes);
        };
        let id = |entry: &Metadata| (entry.dev(), entry.ino());
        if self.0.as_ref().is_none_or(|(_, of)| *of != id(entry)) {
            self.0 = None;
            let Some(file) = there(File::open(path))? else {
                return Ok(bytes);
            };
            let of = id(&file.metadata()?);
            self.0 = Some((file, of));
        }
        if let Some((file, _)) = &self.0 {
            match file.read_exact_at(&mut bytes, 0) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok([0; N]),
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }
}

/// What was answered about a file, nothing when there is none.
fn there<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What of a file tells that it was written.
#[derive(Debug, Default, PartialEq, Hash)]
struct Seen {
    length: u64,
    modified: Option<SystemTime>,
    file: (u64, u64),
}

impl Seen {
    fn of(entry: Option<&Metadata>) -> Self {
        entry.map_or_else(Self::default, |entry| Self {
            length: entry.len(),
            modified: entry.modified().ok(),
            file: (entry.dev(), entry.ino()),
        })
    }
}

/// The state of a database's files.
#[derive(Debug, PartialEq, Hash)]
pub(super) struct Look {
    header: [u8; HEADER],
    database: Seen,
    wal: Seen,
    index: [u8; INDEX],
}

impl Look {
    /// Whether it is a WAL database that nobody writes now.
    pub(super) fn has_idle_wal(&self) -> bool {
        let wal_mode = self.header[18] == 2 || self.header[19] == 2;
        wal_mode && self.wal.length == 0
    }

    /// A number that another state of the files has, too, only by chance.
    ///
    /// # Errors
    /// [`ErrorKind::Database`](crate::ErrorKind::Database) when the database at `path` is not there.
    pub(super) fn version(&self, path: &Path) -> Result<u64> {
        if self.database == Seen::default() {
            let why = std::fs::metadata(path).err();
            let why = why.map_or("is no file".to_owned(), |error| {
                format!("cannot be read: {}", crate::error::reason(&error))
            });
            let named = crate::text::visible_path(path);
            return Err(Error::new(
                crate::ErrorKind::Database,
                format!("{named} {why}"),
            ));
        }
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

impl Files {
    /// What state the files of the database at `path` are in.
    ///
    /// # Errors
    /// When they cannot be looked at: a `-wal` file taken for none would hide what it holds, and a
    /// database taken for one without would get one from us.
    pub(super) fn look(&self, path: &Path) -> io::Result<Look> {
        let beside = |suffix: &str| {
            let mut name = OsString::from(path);
            name.push(suffix);
            PathBuf::from(name)
        };
        let entry = |path: &Path| there(std::fs::metadata(path));
        let (database, wal) = (entry(path)?, entry(&beside("-wal"))?);
        let index = beside("-shm");
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Look {
            header: kept.database.start(path, database.as_ref())?,
            database: Seen::of(database.as_ref()),
            wal: Seen::of(wal.as_ref()),
            index: kept.index.start(&index, entry(&index)?.as_ref())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::runs::{SqliteRuns, Tables};

    fn writer(path: &Path, mode: &str) -> Connection {
        let writer = Connection::open(path).expect("made");
        writer
            .execute_batch(&format!(
                "PRAGMA journal_mode = {mode};
                 CREATE TABLE agno_sessions (session_id VARCHAR PRIMARY KEY, session_data JSON);
                 CREATE TABLE agno_runs (run_id VARCHAR PRIMARY KEY, session_id VARCHAR, agent_id VARCHAR,
                     user_id VARCHAR, run_type VARCHAR, status VARCHAR, run_index BIGINT, run_data JSON,
                     created_at BIGINT, updated_at BIGINT);
                 INSERT INTO agno_runs (run_id, session_id, status, created_at) VALUES ('r', 's', 'A', 1);"
            ))
            .expect("tables");
        writer
    }

    fn version(runs: &SqliteRuns) -> u64 {
        runs.files
            .look(&runs.path)
            .expect("looked at")
            .version(&runs.path)
            .expect("there")
    }

    /// Writes of which none makes a file longer, each right after the one before.
    fn each_write_is_told(mode: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agno.sqlite");
        let writer = writer(&path, mode);
        let runs = SqliteRuns::open(&path, Tables::default()).expect("opened");
        let mut lengths = std::collections::HashSet::new();
        let mut last = version(&runs);
        assert_eq!(version(&runs), last, "nothing was written");
        for round in 0..200 {
            if round % 20 == 0 && mode == "WAL" {
                // From here on the writer begins the same file again.
                writer
                    .query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))
                    .expect("a checkpoint");
                last = version(&runs);
            }
            let status = if round % 2 == 0 { "B" } else { "C" };
            writer
                .execute("UPDATE agno_runs SET status = ?1", [status])
                .expect("written");
            let now = version(&runs);
            assert_ne!(now, last, "write {round} in {mode}");
            assert_eq!(version(&runs), now, "and nothing since");
            last = now;
            let wal = std::fs::metadata(folder.path().join("agno.sqlite-wal"));
            lengths.extend(wal.map(|entry| entry.len()));
        }
        if mode == "WAL" {
            assert!(
                lengths.len() < 40,
                "the file was not used again: {lengths:?}"
            );
        }
    }

    #[test]
    fn a_write_that_reuses_the_wal_is_told() {
        each_write_is_told("WAL");
    }

    #[test]
    fn a_write_without_a_wal_is_told() {
        each_write_is_told("DELETE");
    }

    #[test]
    fn looking_leaves_no_file_and_takes_no_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agno.sqlite");
        let writer = writer(&path, "WAL");
        let runs = SqliteRuns::open(&path, Tables::default()).expect("opened");
        version(&runs);
        writer
            .execute_batch("BEGIN EXCLUSIVE; UPDATE agno_runs SET status = 'D'; COMMIT;")
            .expect("written");
        version(&runs);
        writer.close().expect("closed");
        // Its last connection removed both side files, and looking makes none.
        version(&runs);
        let names = std::fs::read_dir(folder.path()).expect("listed");
        assert_eq!(names.count(), 1);
        std::fs::remove_file(&path).expect("removed");
        let gone = runs
            .files
            .look(&path)
            .expect("looked at")
            .version(&path)
            .expect_err("gone");
        assert!(
            gone.message().ends_with("no such file or directory"),
            "{gone}"
        );
    }

    #[test]
    fn a_reading_keeps_its_lock_while_others_look() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agno.sqlite");
        let other = writer(&path, "DELETE");
        let runs = SqliteRuns::open(&path, Tables::default()).expect("opened");
        let answer = runs.with(|connection, _| {
            connection
                .execute_batch("BEGIN; SELECT count(*) FROM agno_runs")
                .expect("begun");
            connection
                .query_row("SELECT count(*) FROM agno_runs", [], |_| Ok(()))
                .expect("read");
            version(&runs);
            // POSIX locks are a process's: another process is asked whether it may write.
            let asked = std::process::Command::new("python3")
                .args(["-c", TRY_TO_WRITE])
                .arg(&path)
                .output();
            Ok(asked.ok().map(|asked| asked.stdout))
        });
        drop(other);
        if let Some(asked) = answer.expect("read") {
            assert_eq!(String::from_utf8_lossy(&asked).trim(), "database is locked");
        }
    }

    const TRY_TO_WRITE: &str = "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0)
try:
    db.execute('update agno_runs set status = 1'); db.commit(); print('written')
except sqlite3.OperationalError as error:
    print(error)
";
}
