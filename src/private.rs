//! Private folders: of mode 0700, removed on drop, and swept at the next start when their owner was
//! killed before it could.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};
use tempfile::TempDir;

use crate::error::Result;
use crate::scratch::{Scratch, Share};

/// What every private folder's name begins with.
const PREFIX: &str = "afterrun-private-";
/// Locked as long as the folder's owner lives, whatever ends it.
const LOCK: &str = "lock";
const YOUNG: Duration = Duration::from_secs(60);

/// A folder of ours where private files go.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    folder: TempDir,
    share: Share,
    _lock: File,
}

impl PrivateFolder {
    /// A new folder; what killed processes of this user left behind is removed first.
    pub(crate) fn new(scratch: &Scratch) -> Result<Self> {
        let parent = scratch.folder();
        sweep(parent);
        let failed = |error| scratch.failed(error);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(failed)?;
        let lock = File::create(folder.path().join(LOCK)).map_err(failed)?;
        // A file system without locks leaves the folder unswept, no more.
        let _ = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            folder,
            share: scratch.share(),
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Counts what is about to be written in it.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<()> {
        self.share.grow(bytes)
    }

    /// A share of its own for one file in it.
    #[cfg(feature = "app")]
    pub(crate) fn share(&self) -> Share {
        self.share.scratch().share()
    }

    /// Leaves the folder to its user.
    #[cfg(feature = "app")]
    pub(crate) fn keep(self) {
        let _ = std::fs::remove_file(self.folder.path().join(LOCK));
        let _ = self.folder.keep();
    }
}

/// Removes private folders in `parent` that nobody holds any more.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let named = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX));
        if named && is_abandoned(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether `folder` is ours, no link, and its lock is free. A young one may not be locked yet.
fn is_abandoned(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let ours = std::fs::symlink_metadata(folder)
        .is_ok_and(|entry| entry.is_dir() && entry.uid() == rustix::process::geteuid().as_raw());
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    if !ours {
        return false;
    }
    let Ok(lock) = rustix::fs::open(folder.join(LOCK), flags, Mode::empty()).map(File::from) else {
        return false;
    };
    let age = lock.metadata().and_then(|entry| entry.modified());
    let old = age.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > YOUNG));
    old && rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_folders_are_swept() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(format!("{PREFIX}{name}"));
            std::fs::create_dir(&folder).unwrap();
            let lock = File::create(folder.join(LOCK)).unwrap();
            lock.set_modified(std::time::SystemTime::now() - 2 * YOUNG)
                .unwrap();
            std::fs::write(folder.join("content"), "x").unwrap();
            (folder, lock)
        };
        let (held, lock) = make("held");
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let (abandoned, free) = make("abandoned");
        drop(free);
        let (young, free) = make("young");
        free.set_modified(std::time::SystemTime::now()).unwrap();
        drop(free);
        let begun = parent.path().join(format!("{PREFIX}begun"));
        std::fs::create_dir(&begun).unwrap();
        let other = parent.path().join("afterrun-demo-x");
        std::fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(&other, parent.path().join(format!("{PREFIX}link"))).unwrap();
        sweep(parent.path());
        assert!(!abandoned.exists());
        assert!(held.exists() && young.exists() && begun.exists() && other.exists());
    }
}
