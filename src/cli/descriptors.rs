//! Whether we may open the files that any command needs: a runtime has no words for one that may not.

use std::fs::File;

use crate::error::{Error, ErrorKind, Result};

/// The runtime, signals, a database, a store and a worker's pipes.
const NEEDED: usize = 24;

/// Opens so many at once, and closes them again.
///
/// # Errors
/// [`ErrorKind::Io`] when they are more than this process may open.
pub(super) fn check() -> Result<()> {
    let mut open = Vec::with_capacity(NEEDED);
    while open.len() < NEEDED {
        match File::open("/dev/null") {
            Ok(file) => open.push(file),
            Err(error) if is_limit(&error) => return Err(too_few(error, open.len())),
            // A container without that file says nothing of their number.
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

fn is_limit(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let limits = [Errno::MFILE, Errno::NFILE];
    error
        .raw_os_error()
        .is_some_and(|code| limits.iter().any(|limit| limit.raw_os_error() == code))
}

fn too_few(error: std::io::Error, count: usize) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("{count} more files can be opened, and {NEEDED} are needed"),
    )
    .source(error)
    .hint("`ulimit -n` says how many a process may have open, and `ulimit -n 1024` allows more")
}
