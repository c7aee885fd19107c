//! The hidden directory beside a destination that a restore is written into: renamed when it is
//! whole, removed when it fails, and swept by the next restore there when its process was killed.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::beneath::Beneath;
use super::{parent_of, refuse_existing};
use crate::archive::links::ROOTS;
use crate::discard::{FOLDER, MOVED, discard};
use crate::error::{Error, ErrorKind, Result};

/// What every such directory's name begins with.
const PREFIX: &str = ".afterrun-restore-";
/// One that is younger may not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);
/// Names that are looked at for what was left behind: a restore must not wait for a huge directory.
const LOOKED_AT: usize = 50_000;

/// The directory, held open and locked as long as we live. Everything goes by descriptors: whoever
/// moves the parent or puts a link in its place changes nothing.
pub(super) struct Staging {
    parent: OwnedFd,
    name: OsString,
    root: OwnedFd,
    destination: PathBuf,
    published: bool,
}

impl Staging {
    /// A new directory of mode 0700 beside `destination`, which is not there.
    pub(super) fn beside(destination: &Path) -> Result<Self> {
        let folder = parent_of(destination);
        let failed = |error: std::io::Error| Error::io("write in", &folder, error);
        // Where the destination stands may be named through a link: a person did that.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = rustix::fs::open(&folder, flags, Mode::empty())
            .map_err(|error| failed(error.into()))?;
        sweep(parent.as_fd());
        // Only the name counts: whatever folder it is put together with, we may stand in another.
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .disable_cleanup(true)
            .make_in("/", |path| {
                let name = path.file_name().unwrap_or_default();
                Ok(rustix::fs::mkdirat(&parent, name, Mode::RWXU)?)
            })
            .map_err(failed)?;
        let name = made.path().file_name().unwrap_or_default().to_owned();
        let opened = rustix::fs::openat(&parent, &name, FOLDER, Mode::empty());
        let root = opened.map_err(|error| {
            let _ = rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
            failed(error.into())
        })?;
        // A file system without locks leaves it unswept, no more.
        let _ = rustix::fs::flock(&root, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            parent,
            name,
            root,
            destination: destination.to_path_buf(),
            published: false,
        })
    }

    /// Where to write.
    pub(super) fn beneath(&self) -> Beneath<'_> {
        Beneath::new(self.root.as_fd())
    }

    /// Gives it the destination's name, which nothing has.
    pub(super) fn publish(mut self) -> Result<()> {
        let failed = |error: Errno| Error::io("restore to", &self.destination, error.into());
        if !self.is_ours(&self.name) {
            return Err(self.replaced());
        }
        let Some(name) = self.destination.file_name() else {
            return refuse_existing(&self.destination);
        };
        let (parent, flags) = (&self.parent, RenameFlags::NOREPLACE);
        match rustix::fs::renameat_with(parent, &self.name, parent, name, flags) {
            Ok(()) => {}
            // File systems without it: look once more, then rename.
            Err(Errno::INVAL | Errno::NOSYS) => {
                refuse_existing(&self.destination)?;
                rustix::fs::renameat(parent, &self.name, parent, name).map_err(failed)?;
            }
            Err(Errno::EXIST) => {
                refuse_existing(&self.destination)?;
                return Err(failed(Errno::EXIST));
            }
            Err(error) => return Err(failed(error)),
        }
        let ours = self.is_ours(name);
        self.published = true;
        if ours { Ok(()) } else { Err(self.replaced()) }
    }

    /// Whether `name` is the very directory that was written into.
    fn is_ours(&self, name: &OsStr) -> bool {
        let there = rustix::fs::statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW);
        match (there, rustix::fs::fstat(&self.root)) {
            (Ok(there), Ok(ours)) => (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino),
            _ => false,
        }
    }

    fn replaced(&self) -> Error {
        let shown = crate::text::visible_path(&self.destination);
        Error::new(
            ErrorKind::Io,
            format!("cannot restore to {shown}: another process moved what was written"),
        )
        .hint("restore to a directory that nothing else works in")
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published
            && let Err(error) = discard(self.parent.as_fd(), &self.name)
        {
            tracing::warn!(name = %self.name.display(), %error, "a partial restore could not be removed");
        }
    }
}

/// Removes what restores that were killed left in `parent`.
fn sweep(parent: BorrowedFd<'_>) {
    let Ok(entries) = Dir::read_from(parent) else {
        return;
    };
    for entry in entries.take(LOOKED_AT).flatten() {
        let name = entry.file_name();
        if name.to_bytes().starts_with(PREFIX.as_bytes()) && is_abandoned(parent, name) {
            let _ = discard(parent, OsStr::from_bytes(name.to_bytes()));
        }
    }
}

/// Whether it is ours, no link, old enough to be locked, not locked, and holds nothing else than a
/// restore writes, or its removal moves up.
fn is_abandoned(parent: BorrowedFd<'_>, name: &std::ffi::CStr) -> bool {
    let Ok(folder) = rustix::fs::openat(parent, name, FOLDER, Mode::empty()) else {
        return false;
    };
    let Ok(entry) = rustix::fs::fstat(&folder) else {
        return false;
    };
    let made = SystemTime::UNIX_EPOCH + Duration::from_secs(entry.st_ctime.try_into().unwrap_or(0));
    // A time to come tells of a clock that was set back; then the lock alone decides.
    let old = made.elapsed().map_or(true, |age| age > YOUNG);
    old && entry.st_uid == rustix::process::geteuid().as_raw()
        && rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
        && holds_only_roots(&folder)
}

fn holds_only_roots(folder: &OwnedFd) -> bool {
    let Ok(mut entries) = Dir::read_from(folder) else {
        return false;
    };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name().to_bytes();
            matches!(name, b"." | b"..")
                || ROOTS.contains(&name)
                || name.starts_with(MOVED.as_bytes())
        })
    })
}
