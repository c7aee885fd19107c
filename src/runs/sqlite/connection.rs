//! Read-only connections that leave no side file behind, and what SQLite's refusals mean.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rustix::fs::Access;
use rustix::io::Errno;

use super::SqliteRuns;
use super::version::Look;
use crate::error::{Error, Result};
use crate::text::{visible, visible_path};

/// How long a busy database is waited for.
const BUSY: Duration = Duration::from_secs(2);

/// Steps of SQLite's machine after which a query looks whether it is still wanted.
const STEPS: i32 = 1_000;

impl SqliteRuns {
    /// Runs `work` on a fresh read-only connection; with the notices of how it was opened.
    ///
    /// A WAL database without a `-wal` file has no writer now. Opening it the usual way would make
    /// `-wal` and `-shm` files, which would be ours and could lock its writer out; so it is opened
    /// as immutable, and read again if somebody began to write meanwhile.
    pub(super) fn with<T>(
        &self,
        work: impl Fn(&Connection, &mut Vec<String>) -> Result<T>,
    ) -> Result<T> {
        for _ in 0..3 {
            self.check_wanted()?;
            let before = self.look()?;
            if !(before.has_idle_wal()) {
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
            if self.look()? == before {
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

    /// What state the files are in.
    pub(super) fn look(&self) -> Result<Look> {
        self.files.look(&self.real()).map_err(|error| {
            let reason = crate::error::reason(&error);
            self.named(&format!("cannot be read: {reason}"))
                .source(error)
        })
    }

    /// The file itself: what SQLite writes beside it stands there, whatever links lead to it.
    pub(super) fn real(&self) -> PathBuf {
        std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    fn is_on_read_only_fs(&self) -> bool {
        rustix::fs::statvfs(&self.path)
            .is_ok_and(|fs| fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    }

    /// Whether nothing can be written beside the database.
    fn is_read_only(&self) -> bool {
        let real = self.real();
        let folder = real.parent().filter(|path| !path.as_os_str().is_empty());
        let may = rustix::fs::access(folder.unwrap_or(Path::new(".")), Access::WRITE_OK);
        matches!(may, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
    }

    /// Whether the failure is that of a WAL database whose side files cannot be made or opened, since
    /// nothing may be written there. Any other failure to read them is no reason to leave them out.
    fn cannot_share(&self, error: &Error) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, ReadOnly, SystemIoFailure};
        std::error::Error::source(error)
            .and_then(|source| source.downcast_ref::<rusqlite::Error>())
            .and_then(rusqlite::Error::sqlite_error_code)
            .is_some_and(|code| matches!(code, CannotOpen | ReadOnly | SystemIoFailure))
            && self.is_read_only()
    }

    fn connect(&self, how: &str) -> Result<Connection> {
        let absolute = std::path::absolute(self.real())
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
        let mut connection =
            Connection::open_with_flags(uri, flags).map_err(|error| self.failed(error))?;
        if let Some(reading) = self.reading.clone() {
            connection
                .progress_handler(STEPS, Some(move || reading.is_given_up()))
                .map_err(|error| self.failed(error))?;
        }
        connection
            .busy_timeout(BUSY)
            .and_then(|()| connection.pragma_update(None, "query_only", true))
            // A hostile schema must not run functions through views or triggers.
            .and_then(|()| connection.pragma_update(None, "trusted_schema", false))
            .map_err(|error| self.failed(error))?;
        Ok(connection)
    }

    pub(super) fn failed(&self, error: rusqlite::Error) -> Error {
        use rusqlite::ErrorCode;
        let what = match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => return Error::cancelled(),
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
}
