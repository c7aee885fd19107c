//! Private folders: of mode 0700, removed on drop, and swept at the next start when their owner was
//! killed before it could.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::abandoned::{LOOKED_AT, hold, is_abandoned, is_old};
use crate::discard::{FOLDER, discard};
use crate::error::Result;
use crate::scratch::{Scratch, Share};
use crate::text::visible_path;

/// What every private folder's name begins with.
const PREFIX: &str = "afterrun-private-";
/// Locked as long as the folder's owner lives, whatever ends it; the first that is made in a folder
/// and the last that is removed.
const LOCK: &str = "lock";
/// Holds the path of what its owner writes in another folder under a hidden name, where it does.
const ELSEWHERE: &str = "elsewhere";
/// No path is longer.
const PATH_MAX: u64 = 4096;

/// A folder of ours where private files go.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    path: PathBuf,
    share: Share,
    _lock: File,
    kept: bool,
}

impl PrivateFolder {
    /// A new folder; what killed processes of this user left behind is removed first.
    pub(crate) fn new(scratch: &Scratch) -> Result<Self> {
        sweep(scratch, None);
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .disable_cleanup(true)
            .make_in(scratch.folder(), make)
            .map_err(|error| scratch.failed(error))?;
        let (lock, path) = made.into_parts();
        Ok(Self {
            path: path.to_path_buf(),
            share: scratch.share(),
            _lock: lock,
            kept: false,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
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

    /// Says that its owner writes at `path`, too, so that the next start finds what is left there.
    pub(crate) fn tell_of(&self, path: &Path) -> std::io::Result<()> {
        let path = std::path::absolute(path)?;
        std::fs::write(self.path.join(ELSEWHERE), path.as_os_str().as_bytes())
    }

    /// Leaves the folder to its user.
    #[cfg(feature = "app")]
    pub(crate) fn keep(mut self) {
        let _ = std::fs::remove_file(self.path.join(LOCK));
        self.kept = true;
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = open(&self.path).and_then(|folder| remove(&folder, &self.path))
        {
            tracing::warn!(path = %visible_path(&self.path), %error, "a private folder could not be removed");
        }
    }
}

/// Makes the folder `path` and the lock in it.
fn make(path: &Path) -> std::io::Result<File> {
    rustix::fs::mkdir(path, Mode::RWXU)?;
    let made = File::create_new(path.join(LOCK));
    match made {
        Ok(lock) if hold(&lock) => Ok(lock),
        // Taken for abandoned before it was locked: another name, then.
        Ok(_) => Err(std::io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(std::io::ErrorKind::AlreadyExists.into())
        }
        Err(error) => {
            let _ = std::fs::remove_dir(path);
            Err(error)
        }
    }
}

/// Removes private folders that nobody holds any more. What was written elsewhere is left to
/// `elsewhere`, which hears of its path and answers whether it is gone; else the folder stays for the
/// next start.
pub(crate) fn sweep(scratch: &Scratch, elsewhere: Option<fn(&Path) -> bool>) {
    let Ok(entries) = std::fs::read_dir(scratch.folder()) else {
        return;
    };
    for entry in entries.take(LOOKED_AT).flatten() {
        let named = entry.file_name();
        if named.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            sweep_one(&entry.path(), elsewhere);
        }
    }
}

fn open(path: &Path) -> rustix::io::Result<File> {
    rustix::fs::open(path, FOLDER, Mode::empty()).map(File::from)
}

/// Removes the folder at `path` when it is ours, no link, and its lock is free.
fn sweep_one(path: &Path, elsewhere: Option<fn(&Path) -> bool>) {
    let Ok(folder) = open(path) else {
        return;
    };
    let Ok(about) = folder.metadata() else {
        return;
    };
    if about.uid() != rustix::process::geteuid().as_raw() {
        return;
    }
    let left = told_of(&folder);
    if left.is_some() && elsewhere.is_none() {
        // Not even locked for a moment: whoever can remove it may be looking.
        return;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::openat(&folder, LOCK, flags, Mode::empty()).map(File::from) {
        Ok(lock) if is_abandoned(&lock) => {
            if left.is_some_and(|left| !elsewhere.is_some_and(|is_gone| is_gone(&left))) {
                return;
            }
            // What cannot be removed now is tried again at the next start.
            let _ = remove(&folder, path);
        }
        // Its owner got no further than making it, or all but that far in removing it. One that was
        // kept has content, and stays.
        Err(Errno::NOENT) if is_old(&about) => {
            let _ = std::fs::remove_dir(path);
        }
        _ => {}
    }
}

/// What the owner of a folder wrote elsewhere.
fn told_of(folder: &File) -> Option<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let told = rustix::fs::openat(folder, ELSEWHERE, flags, Mode::empty()).ok()?;
    let mut path = Vec::new();
    File::from(told)
        .take(PATH_MAX)
        .read_to_end(&mut path)
        .ok()?;
    let path = PathBuf::from(OsString::from_vec(path));
    path.is_absolute().then_some(path)
}

/// Removes what is in the open folder `folder`, and the folder, which is at `path`. The lock goes last:
/// whatever ends us on the way, the rest is found by it.
fn remove(folder: &File, path: &Path) -> rustix::io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") || name.to_bytes() == LOCK.as_bytes() {
            continue;
        }
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            // What says that it is a directory differs between systems.
            Err(Errno::ISDIR | Errno::PERM) => {
                discard(folder.as_fd(), OsStr::from_bytes(name.to_bytes()))?;
            }
            answer => answer?,
        }
    }
    rustix::fs::unlinkat(folder, LOCK, AtFlags::empty())?;
    rustix::fs::rmdir(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;

    /// A folder for private folders, and what makes one of this name and age in it.
    struct Parent(tempfile::TempDir);

    impl Parent {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(format!("{PREFIX}{name}"))
        }

        fn make(&self, name: &str, made: SystemTime) -> File {
            std::fs::create_dir(self.at(name)).unwrap();
            let lock = File::create(self.at(name).join(LOCK)).unwrap();
            lock.set_modified(made).unwrap();
            std::fs::create_dir(self.at(name).join("objects")).unwrap();
            std::fs::write(self.at(name).join("objects/content"), "x").unwrap();
            lock
        }

        /// Sets the time of the folder itself.
        fn age(&self, name: &str, made: SystemTime) {
            File::open(self.at(name))
                .unwrap()
                .set_modified(made)
                .unwrap();
        }

        fn scratch(&self) -> Scratch {
            Scratch::new(self.0.path()).unwrap()
        }

        /// What is left of these after a sweep.
        fn swept<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
            sweep(&self.scratch(), None);
            let there = names
                .iter()
                .filter(|name| self.at(name).symlink_metadata().is_ok());
            there.copied().collect()
        }
    }

    fn minutes_ago() -> SystemTime {
        SystemTime::now() - Duration::from_secs(120)
    }

    #[test]
    fn what_is_elsewhere_is_told_at_the_next_start() {
        static TOLD: std::sync::Mutex<Vec<PathBuf>> = std::sync::Mutex::new(Vec::new());
        let parent = Parent::new();
        let folder = PrivateFolder::new(&parent.scratch()).unwrap();
        folder.tell_of(Path::new("/left/.hidden")).unwrap();
        let path = folder.path().to_path_buf();
        let elsewhere: fn(&Path) -> bool = |path| {
            TOLD.lock().unwrap().push(path.to_path_buf());
            TOLD.lock().unwrap().len() > 1
        };
        let age = || {
            File::open(path.join(LOCK))
                .unwrap()
                .set_modified(minutes_ago())
        };
        age().unwrap();
        sweep(&parent.scratch(), Some(elsewhere));
        assert!(
            path.exists() && TOLD.lock().unwrap().is_empty(),
            "it is held"
        );
        // As a process that is killed leaves it.
        drop(folder._lock.try_clone().unwrap());
        rustix::fs::flock(&folder._lock, rustix::fs::FlockOperation::Unlock).unwrap();
        sweep(&parent.scratch(), None);
        assert!(path.exists(), "somebody has to hear of it first");
        sweep(&parent.scratch(), Some(elsewhere));
        assert!(path.exists(), "it is not gone yet");
        sweep(&parent.scratch(), Some(elsewhere));
        assert_eq!(*TOLD.lock().unwrap(), [Path::new("/left/.hidden"); 2]);
        assert!(!path.exists());
        folder.keep();
    }

    #[test]
    fn only_abandoned_folders_are_swept() {
        let parent = Parent::new();
        let held = parent.make("held", minutes_ago());
        assert!(hold(&held));
        drop(parent.make("abandoned", minutes_ago()));
        drop(parent.make("young", SystemTime::now()));
        let other = parent.0.path().join("afterrun-demo-x");
        std::fs::create_dir(&other).unwrap();
        symlink(&other, parent.at("link")).unwrap();
        std::fs::create_dir(parent.at("linked-lock")).unwrap();
        symlink(
            parent.at("abandoned").join(LOCK),
            parent.at("linked-lock").join(LOCK),
        )
        .unwrap();
        parent.age("linked-lock", minutes_ago());
        let all = ["held", "abandoned", "young", "link", "linked-lock"];
        assert_eq!(parent.swept(&all), ["held", "young", "link", "linked-lock"]);
        assert!(other.exists());
        drop(held);
        assert_eq!(parent.swept(&all), ["young", "link", "linked-lock"]);
    }

    #[test]
    fn another_users_folders_are_left_alone() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can make another user's folder");
            return;
        }
        let parent = Parent::new();
        let other = rustix::fs::Uid::from_raw(12345);
        for (name, whole) in [("folder", true), ("lock", false)] {
            let lock = parent.make(name, minutes_ago());
            rustix::fs::fchown(&lock, Some(other), None).unwrap();
            if whole {
                rustix::fs::chown(parent.at(name), Some(other), None).unwrap();
            }
        }
        std::fs::create_dir(parent.at("empty")).unwrap();
        parent.age("empty", minutes_ago());
        rustix::fs::chown(parent.at("empty"), Some(other), None).unwrap();
        let all = ["folder", "lock", "empty"];
        assert_eq!(parent.swept(&all), all);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_immortal() {
        let parent = Parent::new();
        let year = Duration::from_secs(365 * 86400);
        drop(parent.make("left", SystemTime::now() + year));
        let held = parent.make("held", SystemTime::now() + year);
        assert!(hold(&held));
        // A server's clock may be a little ahead of ours.
        drop(parent.make("young", SystemTime::now() + Duration::from_secs(5)));
        assert_eq!(parent.swept(&["left", "held", "young"]), ["held", "young"]);
    }

    #[test]
    fn a_folder_whose_making_or_removing_was_cut_short_goes_too() {
        let parent = Parent::new();
        for name in ["begun", "begun-just-now", "kept"] {
            std::fs::create_dir(parent.at(name)).unwrap();
        }
        std::fs::write(parent.at("kept").join("agno.sqlite"), "x").unwrap();
        parent.age("begun", minutes_ago());
        parent.age("kept", minutes_ago());
        let all = ["begun", "begun-just-now", "kept"];
        assert_eq!(parent.swept(&all), ["begun-just-now", "kept"]);
    }
}
