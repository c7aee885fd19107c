//! Removing a directory of ours with all that is in it: never through a link, however deep it is,
//! and though its directories may be closed even to us.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::{Errno, Result};

/// How a directory is opened that must be one.
pub(crate) const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What the name of a directory begins with that was moved up to be removed; one is left where we are
/// killed meanwhile.
pub(crate) const MOVED: &str = ".moved-";

/// Removes the directory `name` in `parent`. Its subdirectories are moved up one by one, so that
/// few descriptors are open at a time and no path gets long.
///
/// # Errors
/// What the file system refuses; the rest is left.
pub(crate) fn discard(parent: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
    let root = open(parent, name)?;
    let mut moved = 0_u64;
    loop {
        let folders = clear(&root)?;
        if folders.is_empty() {
            break;
        }
        for name in folders {
            let folder = open(root.as_fd(), &name)?;
            for child in clear(&folder)? {
                // Moving a directory writes in it, so that it is opened first.
                open(folder.as_fd(), &child)?;
                loop {
                    moved += 1;
                    match rustix::fs::renameat(&folder, &child, &root, format!("{MOVED}{moved}")) {
                        Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                        answer => break answer?,
                    }
                }
            }
            rustix::fs::unlinkat(&root, &name, AtFlags::REMOVEDIR)?;
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Removes what is no directory from `folder`, and names the directories.
fn clear(folder: &OwnedFd) -> Result<Vec<OsString>> {
    let mut folders = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Unknown => {
                let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(found.st_mode) == FileType::Directory
            }
            kind => kind == FileType::Directory,
        };
        if is_folder {
            folders.push(OsStr::from_bytes(name.to_bytes()).to_owned());
        } else {
            rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
        }
    }
    Ok(folders)
}

/// Opens a directory, and opens it to us.
fn open(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
    let opened = match rustix::fs::openat(parent, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            unlock(parent, name)?;
            rustix::fs::openat(parent, name, FOLDER, Mode::empty())?
        }
        answer => answer?,
    };
    // Most are open already; where it matters and is refused, removing fails by itself.
    let _ = rustix::fs::fchmod(&opened, Mode::RWXU);
    Ok(opened)
}

/// Changes the mode of a directory that may not be opened; not of what a link in its place names.
#[cfg(target_os = "linux")]
fn unlock(parent: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), Mode::RWXU)
}

#[cfg(not(target_os = "linux"))]
fn unlock(parent: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, create_dir_all, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::*;

    fn at(folder: &Path) -> OwnedFd {
        rustix::fs::open(folder, FOLDER, Mode::empty()).expect("open")
    }

    #[test]
    fn everything_goes_but_what_links_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let (left, kept) = (folder.path().join("left"), folder.path().join("kept"));
        create_dir(&kept).expect("made");
        write(kept.join("file"), "x").expect("written");
        create_dir_all(left.join("a/b/c")).expect("made");
        write(left.join("a/b/file"), "x").expect("written");
        symlink(&kept, left.join("a/link")).expect("made");
        symlink(&kept, left.join("a/b/.moved-1")).expect("made");
        for closed in ["a/b/c", "a/b", "a"] {
            set_permissions(left.join(closed), Permissions::from_mode(0o000)).expect("closed");
        }
        discard(at(folder.path()).as_fd(), "left".as_ref()).expect("removed");
        assert!(!left.exists() && kept.join("file").exists());
        assert_eq!(
            kept.metadata().expect("there").permissions().mode() & 0o777,
            0o755
        );
    }

    #[test]
    fn no_depth_is_too_deep() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = at(folder.path());
        rustix::fs::mkdirat(&root, "left", Mode::RWXU).expect("made");
        let mut open = at(&folder.path().join("left"));
        for _ in 0..3000 {
            rustix::fs::mkdirat(&open, "d", Mode::RWXU).expect("made");
            open = rustix::fs::openat(&open, "d", FOLDER, Mode::empty()).expect("open");
        }
        discard(root.as_fd(), "left".as_ref()).expect("removed");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
    }

    #[test]
    fn a_link_is_not_removed_through() {
        let folder = tempfile::tempdir().expect("a folder");
        create_dir_all(folder.path().join("kept/inner")).expect("made");
        symlink("kept", folder.path().join("left")).expect("made");
        discard(at(folder.path()).as_fd(), "left".as_ref()).expect_err("no directory");
        assert!(folder.path().join("kept/inner").exists());
    }
}
