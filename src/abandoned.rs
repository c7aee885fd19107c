//! What a process that was killed left behind, told from what a living one holds: by its owner, its
//! age, and a lock that goes with the process, whatever ends it.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// Entries of a folder that are looked at: a start must not wait for a huge one.
pub(crate) const LOOKED_AT: usize = 50_000;

/// One that is younger may not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// Locks `file` as long as it is open; `false` when somebody takes it for abandoned this very
/// moment. A file system without locks leaves it unswept, no more.
pub(crate) fn hold(file: &File) -> bool {
    let locked = rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
    let named = file.metadata().is_ok_and(|entry| entry.nlink() > 0);
    named && locked != Err(Errno::WOULDBLOCK)
}

/// Whether `file`, whose lock says that its owner lives, is ours and left behind. Then it is locked:
/// nobody else removes it meanwhile.
pub(crate) fn is_abandoned(file: &File) -> bool {
    file.metadata().is_ok_and(|entry| is_old(&entry))
        && rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Whether `entry` is ours and was made long enough ago to be locked by now. A time far ahead tells
/// of a clock that was set back, and of no age.
pub(crate) fn is_old(entry: &Metadata) -> bool {
    let ours = entry.uid() == rustix::process::geteuid().as_raw();
    let distance = entry.modified().map(|made| {
        let now = SystemTime::now();
        now.duration_since(made)
            .unwrap_or_else(|ahead| ahead.duration())
    });
    ours && distance.is_ok_and(|distance| distance > YOUNG)
}
