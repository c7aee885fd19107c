//! Making files, directories and links below one directory, never through a link: not one of the
//! archive, nor one that another process puts there meanwhile.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Mode, OFlags, Timestamps};
use rustix::io::{Errno, Result};

use crate::discard::FOLDER;

/// The directory, and the one below it that was used last: an archive lists what stands in one
/// directory together.
pub(super) struct Beneath<'a> {
    root: BorrowedFd<'a>,
    last: Option<(Vec<u8>, OwnedFd)>,
}

impl<'a> Beneath<'a> {
    pub(super) fn new(root: BorrowedFd<'a>) -> Self {
        Self { root, last: None }
    }

    /// A directory of mode 0700; its parent is there.
    pub(super) fn make_directory(&mut self, path: &[u8]) -> Result<()> {
        let (parent, name) = self.place(path)?;
        rustix::fs::mkdirat(parent, name, Mode::RWXU)
    }

    /// A file of mode 0600 that was not there.
    pub(super) fn make_file(&mut self, path: &[u8]) -> Result<File> {
        let (parent, name) = self.place(path)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR);
        rustix::io::retry_on_intr(open).map(File::from)
    }

    pub(super) fn make_link(
        &mut self,
        path: &[u8],
        target: &[u8],
        times: &Timestamps,
    ) -> Result<()> {
        let (parent, name) = self.place(path)?;
        rustix::fs::symlinkat(target, parent, name)?;
        rustix::fs::utimensat(parent, name, times, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Gives a directory its times and mode, after which it may be closed even to us.
    pub(super) fn settle_directory(
        &mut self,
        path: &[u8],
        mode: Mode,
        times: &Timestamps,
    ) -> Result<()> {
        let (parent, name) = self.place(path)?;
        let folder = rustix::fs::openat(parent, name, FOLDER, Mode::empty())?;
        rustix::fs::futimens(&folder, times)?;
        rustix::fs::fchmod(&folder, mode)
    }

    /// The directory that holds `path`, open, and its name in there.
    fn place<'p>(&mut self, path: &'p [u8]) -> Result<(BorrowedFd<'_>, &'p OsStr)> {
        let Some(slash) = path.iter().rposition(|byte| *byte == b'/') else {
            return Ok((self.root, OsStr::from_bytes(path)));
        };
        let (folder, name) = (&path[..slash], OsStr::from_bytes(&path[slash + 1..]));
        if self.last.as_ref().is_none_or(|(open, _)| open != folder) {
            self.last = Some((folder.to_vec(), open_beneath(self.root, folder)?));
        }
        let open = self
            .last
            .as_ref()
            .map_or(self.root, |(_, open)| open.as_fd());
        Ok((open, name))
    }
}

/// The directory at `path` below `root`. Linux walks there in one call; elsewhere, and where a
/// container forbids that call, we walk.
fn open_beneath(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(root, path, FOLDER, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            answer => return answer,
        }
    }
    walk(root, path)
}

fn walk(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd> {
    let mut open: Option<OwnedFd> = None;
    for name in path.split(|byte| *byte == b'/') {
        if matches!(name, b"" | b"." | b"..") {
            return Err(Errno::INVAL);
        }
        let at = open.as_ref().map_or(root, AsFd::as_fd);
        open = Some(rustix::fs::openat(at, name, FOLDER, Mode::empty())?);
    }
    open.ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn open(folder: &Path) -> OwnedFd {
        rustix::fs::open(folder, FOLDER, Mode::empty()).expect("open")
    }

    #[test]
    fn a_link_is_never_walked_through() {
        let (folder, outside) = (
            tempfile::tempdir().expect("one"),
            tempfile::tempdir().expect("two"),
        );
        std::fs::create_dir_all(folder.path().join("a/b")).expect("made");
        symlink(outside.path(), folder.path().join("a/link")).expect("made");
        symlink("b", folder.path().join("a/inside")).expect("made");
        let root = open(folder.path());
        for way in [walk, open_beneath] {
            way(root.as_fd(), b"a/b").expect("a directory");
            for path in [
                "a/link", "a/inside", "a/link/x", "a/..", "../x", "a//b", "/etc",
            ] {
                let answer = way(root.as_fd(), path.as_bytes());
                let kept = answer.is_err() || path == "a/.." || path == "a//b";
                assert!(kept, "{path}: {answer:?}");
            }
        }
        let mut beneath = Beneath::new(root.as_fd());
        let times = Timestamps {
            last_access: rustix::fs::Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            },
            last_modification: rustix::fs::Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            },
        };
        beneath.make_file(b"a/link/x").expect_err("through a link");
        beneath.make_file(b"a/link").expect_err("over a link");
        beneath
            .make_directory(b"a/link/x")
            .expect_err("through a link");
        beneath
            .make_link(b"a/link/x", b"y", &times)
            .expect_err("through a link");
        let settled = beneath.settle_directory(b"a/link", Mode::empty(), &times);
        settled.expect_err("a link is no directory");
        assert_eq!(
            std::fs::read_dir(outside.path()).expect("listed").count(),
            0
        );
        beneath.make_file(b"a/b/x").expect("made");
        beneath.make_file(b"a/y").expect("made");
        beneath.make_file(b"z").expect("made");
        assert!(folder.path().join("a/b/x").exists());
    }
}
