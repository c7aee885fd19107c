//! The hidden directory beside a destination that a restore is written into: renamed when it is
//! whole, removed when it fails, and swept by the next start, or the next restore there, when its
//! process was killed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[cfg(feature = "app")]
use rustix::fs::FlockOperation;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::beneath::Beneath;
use super::{parent_of, refuse_existing};
use crate::abandoned::{self, LOOKED_AT};
use crate::archive::links::ROOTS;
use crate::discard::{FOLDER, MOVED, discard};
use crate::error::{Error, ErrorKind, Result};
use crate::new_file::rename_new;
use crate::private::PrivateFolder;
use crate::scratch::Scratch;

/// What every such directory's name begins with.
const PREFIX: &str = ".afterrun-restore-";

/// The directory, held open and locked as long as we live. Everything goes by descriptors: whoever
/// moves the parent or puts a link in its place changes nothing.
pub(super) struct Staging {
    parent: OwnedFd,
    name: OsString,
    root: File,
    destination: PathBuf,
    published: bool,
    /// Tells the next start of it, should we be killed.
    _told: Option<PrivateFolder>,
}

impl Staging {
    /// A new directory of mode 0700 beside `destination`, which is not there; `scratch` is where the
    /// next start looks for what was left.
    pub(super) fn beside(destination: &Path, scratch: &Scratch) -> Result<Self> {
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
        let root = File::from(root);
        abandoned::hold(&root);
        // A restore goes on where it cannot be told: the next one into this directory finds it, too.
        let told = PrivateFolder::new(scratch).ok();
        let told = told.filter(|told| told.tell_of(&folder.join(&name)).is_ok());
        Ok(Self {
            _told: told,
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
            refuse_existing(&self.destination)?;
            return Err(failed(Errno::INVAL));
        };
        match rename_new(self.parent.as_fd(), &self.name, name) {
            Ok(()) => {}
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

/// Removes the directory at `path` that a restore which was killed has left there; whether there is
/// none any more.
#[cfg(feature = "app")]
pub(crate) fn sweep_left(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return true;
    };
    let parent = match rustix::fs::open(parent, flags, Mode::empty()) {
        Ok(parent) => parent,
        Err(error) => return error == Errno::NOENT,
    };
    if name.as_bytes().starts_with(PREFIX.as_bytes()) {
        // A restore into the same directory may be removing it: until it is through, nobody can tell
        // that it is gone.
        if let Ok(folder) = rustix::fs::openat(&parent, name, FOLDER, Mode::empty()) {
            let _ = rustix::fs::flock(&folder, FlockOperation::LockExclusive);
        }
        sweep_one(parent.as_fd(), name);
    }
    let there = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
    there.is_err_and(|error| error == Errno::NOENT)
}

/// Removes what restores that were killed left in `parent`.
fn sweep(parent: BorrowedFd<'_>) {
    let Ok(entries) = Dir::read_from(parent) else {
        return;
    };
    for entry in entries.take(LOOKED_AT).flatten() {
        let name = entry.file_name().to_bytes();
        if name.starts_with(PREFIX.as_bytes()) {
            sweep_one(parent, OsStr::from_bytes(name));
        }
    }
}

/// Removes it when it is ours, no link, left behind, and holds nothing else than a restore writes, or
/// its removal moves up.
fn sweep_one(parent: BorrowedFd<'_>, name: &OsStr) {
    let Ok(folder) = rustix::fs::openat(parent, name, FOLDER, Mode::empty()).map(File::from) else {
        return;
    };
    // Locked until it is gone: nobody else removes it meanwhile.
    if abandoned::is_abandoned(&folder) && holds_only_roots(&folder) {
        let _ = discard(parent, name);
    }
}

fn holds_only_roots(folder: &File) -> bool {
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

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, create_dir_all, write};
    use std::time::SystemTime;

    use super::*;

    /// What of these is left when they were made two minutes ago and the next restore comes.
    fn left(names: &[&str], make: impl Fn(&Path)) -> Vec<String> {
        let parent = tempfile::tempdir().expect("a folder");
        for name in names {
            let path = parent.path().join(name);
            create_dir(&path).expect("made");
            make(&path);
            let then = SystemTime::now() - std::time::Duration::from_secs(120);
            let folder = File::open(&path).expect("open");
            folder.set_modified(then).expect("set");
        }
        let scratch = Scratch::new(parent.path()).expect("a place");
        let staging = Staging::beside(&parent.path().join("out"), &scratch).expect("made");
        let ours = staging.name.clone();
        let entries = std::fs::read_dir(parent.path()).expect("listed").flatten();
        let others = entries
            .map(|entry| entry.file_name())
            .filter(|name| *name != ours);
        let names = others.map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<_> = names
            .filter(|name| !name.starts_with("afterrun-private-"))
            .collect();
        names.sort();
        drop(staging);
        assert!(!parent.path().join(&ours).exists());
        names
    }

    #[test]
    fn what_a_killed_restore_left_goes_with_the_next() {
        let of_a_restore = |path: &Path| {
            create_dir_all(path.join("workspace/a")).expect("made");
            create_dir(path.join(".moved-1")).expect("made");
            write(path.join("workspace/a/file"), "x").expect("written");
        };
        let names = [
            ".afterrun-restore-abc",
            ".restore-abc",
            "afterrun-restore-abc",
        ];
        assert_eq!(
            left(&names, of_a_restore),
            [".restore-abc", "afterrun-restore-abc"]
        );
        let of_somebody = |path: &Path| write(path.join("notes"), "x").expect("written");
        assert_eq!(
            left(&names[..1], of_somebody),
            names[..1],
            "it holds something else"
        );
    }

    #[cfg(feature = "app")]
    #[test]
    fn what_is_told_of_is_removed_by_its_path() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join(".afterrun-restore-x");
        create_dir_all(path.join("native")).expect("made");
        assert!(!sweep_left(&path), "it is young");
        assert!(path.exists());
        let then = SystemTime::now() - std::time::Duration::from_secs(120);
        File::open(&path)
            .expect("open")
            .set_modified(then)
            .expect("set");
        sweep_left(&path);
        assert!(!path.exists());
        sweep_left(Path::new("/"));
        sweep_left(parent.path());
        assert!(parent.path().exists());
    }
}
