//! A new file that has no name until it is whole: whatever ends us before leaves nothing, and
//! nothing that is there is ever replaced.
//!
//! Where the file system or the platform knows no file without a name, it has a hidden one that its
//! process holds by a lock, and the next such file in that folder removes those left behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::abandoned::{LOOKED_AT, hold, is_abandoned};

/// What every hidden name begins with.
const PREFIX: &str = ".afterrun-part-";

/// For a file that others may read, as far as the umask lets them.
pub(crate) const SHARED: Mode = Mode::from_raw_mode(0o666);
/// For a file of its user alone.
pub(crate) const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// The file, open for writing. Dropped before it is published, it is gone.
#[derive(Debug)]
pub(crate) struct NewFile {
    folder: OwnedFd,
    file: File,
    /// Its hidden name, where it has one.
    part: Option<OsString>,
}

impl NewFile {
    /// A file that is to be published in `folder`, of `mode` as far as the umask lets it.
    pub(crate) fn within(folder: &Path, mode: Mode) -> io::Result<Self> {
        let folder = open_folder(folder)?;
        #[cfg(target_os = "linux")]
        if let Some(file) = without_a_name(&folder, mode)? {
            let part = None;
            return Ok(Self { folder, file, part });
        }
        Self::hidden_in(folder, mode)
    }

    /// A file that is to be published at `path`.
    pub(crate) fn beside(path: &Path, mode: Mode) -> io::Result<Self> {
        name_of(path)?;
        Self::within(folder_of(path), mode)
    }

    /// A file that goes by its hidden name in `folder` as long as it is kept.
    pub(crate) fn hidden(folder: &Path, mode: Mode) -> io::Result<Self> {
        Self::hidden_in(open_folder(folder)?, mode)
    }

    fn hidden_in(folder: OwnedFd, mode: Mode) -> io::Result<Self> {
        sweep(&folder);
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let new = |path: &Path| {
            let part = path.file_name().unwrap_or_default();
            let file = File::from(rustix::fs::openat(&folder, part, flags, mode)?);
            // Taken for abandoned before it was locked: another name, then.
            let held = hold(&file).then_some(file);
            held.ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))
        };
        let mut names = tempfile::Builder::new();
        // A folder that is not there: only the name counts.
        let made = names
            .prefix(PREFIX)
            .disable_cleanup(true)
            .make_in("/", new)?;
        let (file, path) = made.into_parts();
        let part = path.file_name().map(OsStr::to_owned);
        Ok(Self { folder, file, part })
    }

    /// What is written so far.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Its hidden name, where it has one.
    pub(crate) fn hidden_name(&self) -> Option<&OsStr> {
        self.part.as_deref()
    }

    /// Gives the file the name `name` in its folder, by a hard link.
    ///
    /// # Errors
    /// [`Errno::EXIST`] when something has that name; what the file system refuses.
    pub(crate) fn link(&self, name: &OsStr) -> Result<(), Errno> {
        match &self.part {
            Some(part) => {
                rustix::fs::linkat(&self.folder, part, &self.folder, name, AtFlags::empty())
            }
            None => {
                use std::os::fd::AsRawFd;
                let file = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                rustix::fs::linkat(CWD, file, &self.folder, name, AtFlags::SYMLINK_FOLLOW)
            }
        }
    }

    /// Gives the file the last name of `path`, in the folder that it is in.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something has that name; what the file system refuses.
    pub(crate) fn publish(&mut self, path: &Path) -> io::Result<()> {
        let name = name_of(path)?;
        match (self.link(name), &self.part) {
            // A file system without hard links.
            (Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS), Some(part)) => {
                rename_new(self.folder.as_fd(), part, name)?;
                self.part = None;
                Ok(())
            }
            (linked, _) => Ok(linked?),
        }
    }
}

/// Renames `from` to `to` in `folder`, where nothing may have that name. Where the file system cannot
/// promise it, it is looked for right before.
///
/// # Errors
/// [`Errno::EXIST`] when something has that name; what the file system refuses.
pub(crate) fn rename_new(
    folder: BorrowedFd<'_>,
    from: &OsStr,
    to: &OsStr,
) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::statat(folder, to, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => rustix::fs::renameat(folder, from, folder, to),
                Err(error) => Err(error),
            }
        }
        answer => answer,
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = rustix::fs::unlinkat(&self.folder, part, AtFlags::empty());
        }
    }
}

/// The folder that `path` is in, as its words say it.
fn folder_of(path: &Path) -> &Path {
    let bytes = path.as_os_str().as_bytes();
    match bytes.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => Path::new(OsStr::from_bytes(&bytes[..=slash])),
        None => Path::new("."),
    }
}

/// What stands behind the last slash of `path`, where it is the name of a file.
fn name_of(path: &Path) -> io::Result<&OsStr> {
    let bytes = path.as_os_str().as_bytes();
    let start = bytes
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    match &bytes[start..] {
        b"" if bytes.is_empty() => Err(Errno::NOENT.into()),
        b"" | b"." | b".." => Err(Errno::ISDIR.into()),
        name => Ok(OsStr::from_bytes(name)),
    }
}

fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    // Files are made in a folder that may not be listed, too.
    #[cfg(target_os = "linux")]
    let access = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let access = OFlags::RDONLY;
    let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?)
}

/// A file in `folder` without a name, where there is such a thing and it can be given one later.
#[cfg(target_os = "linux")]
fn without_a_name(folder: &OwnedFd, mode: Mode) -> io::Result<Option<File>> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(folder, ".", flags, mode) {
        Ok(file) => file,
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOSYS | Errno::INVAL) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // It gets its name by way of /proc.
    let way = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::stat(way).is_ok().then(|| file.into()))
}

/// Removes what was left in `folder` under hidden names.
fn sweep(folder: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listed) = rustix::fs::openat(folder, ".", flags, Mode::empty()).and_then(Dir::new)
    else {
        return;
    };
    for entry in listed.take(LOOKED_AT).flatten() {
        let name = entry.file_name();
        if name.to_bytes().starts_with(PREFIX.as_bytes())
            && let Some(file) = open_part(folder, name)
            && file.metadata().is_ok_and(|entry| entry.is_file())
            && is_abandoned(&file)
        {
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

/// Never through a link, and without waiting for a pipe's other side.
fn open_part(folder: &OwnedFd, name: &std::ffi::CStr) -> Option<File> {
    // NFS locks only what is open for writing; a copy that is finished may not be.
    let opened = [OFlags::RDWR, OFlags::RDONLY]
        .into_iter()
        .find_map(|access| {
            let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::openat(folder, name, flags, Mode::empty()).ok()
        });
    opened.map(File::from)
}

#[cfg(test)]
mod tests {
    use std::fs::{read, read_dir, symlink_metadata, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use super::*;

    type Make = fn(&Path, Mode) -> io::Result<NewFile>;
    const BOTH: [Make; 2] = [NewFile::within, NewFile::hidden];

    fn names(folder: &Path) -> Vec<String> {
        let names = read_dir(folder).expect("listed").flatten();
        let mut names: Vec<_> = names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with(PREFIX))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_has_the_name_before_it_is_whole() {
        for make in BOTH {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("new");
            let mut file = make(folder.path(), PRIVATE).expect("made");
            file.write_all(b"whole").expect("written");
            assert_eq!(names(folder.path()), [""; 0]);
            file.publish(&path).expect("published");
            drop(file);
            assert_eq!(read(&path).expect("there"), b"whole");
            let mode = path.metadata().expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let mut file = make(folder.path(), SHARED).expect("made");
            file.write_all(b"half").expect("written");
            drop(file);
            assert_eq!(read_dir(folder.path()).expect("listed").count(), 1);
        }
    }

    #[test]
    fn nothing_is_ever_replaced() {
        for make in BOTH {
            let folder = tempfile::tempdir().expect("a folder");
            let at = |name: &str| folder.path().join(name);
            write(at("file"), "kept").expect("written");
            symlink("nowhere", at("dangling")).expect("made");
            std::fs::create_dir(at("folder")).expect("made");
            for name in ["file", "dangling", "folder"] {
                let mut file = make(folder.path(), PRIVATE).expect("made");
                let told = file.publish(&at(name)).expect_err("it is there");
                assert_eq!(told.kind(), io::ErrorKind::AlreadyExists, "{name}");
            }
            assert_eq!(names(folder.path()), ["dangling", "file", "folder"]);
            assert_eq!(read(at("file")).expect("there"), b"kept");
            assert!(!at("nowhere").exists());
        }
    }

    #[test]
    fn a_folders_name_is_no_name_of_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["", "new/", "new/.", "..", "nowhere/new"] {
            let path = PathBuf::from(format!("{}/{name}", folder.path().display()));
            assert!(NewFile::beside(&path, PRIVATE).is_err(), "{name:?}");
        }
        assert!(NewFile::beside(Path::new(""), PRIVATE).is_err());
        assert_eq!(folder_of(Path::new("new")), Path::new("."));
        assert_eq!(folder_of(Path::new("/new")), Path::new("/"));
    }

    #[test]
    fn what_is_published_stays_in_the_folder_though_that_moves() {
        let parent = tempfile::tempdir().expect("a folder");
        let (one, two) = (parent.path().join("one"), parent.path().join("two"));
        for make in BOTH {
            std::fs::create_dir(&one).expect("made");
            let mut file = make(&one, PRIVATE).expect("made");
            std::fs::rename(&one, &two).expect("moved");
            file.publish(&one.join("new")).expect("published");
            drop(file);
            assert_eq!(names(&two), ["new"]);
            let mut late = make(&two, PRIVATE).expect("made");
            std::fs::remove_dir_all(&two).expect("removed");
            late.publish(&two.join("late")).expect_err("nowhere to be");
        }
    }

    #[test]
    fn only_what_was_left_behind_is_swept() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(format!("{PREFIX}{name}"));
        let now = SystemTime::now();
        let make = |name: &str, made: SystemTime| {
            let file = File::create_new(at(name)).expect("made");
            file.set_modified(made).expect("set");
            file
        };
        let (minutes, year) = (Duration::from_secs(120), Duration::from_secs(365 * 86400));
        let held = make("held", now - minutes);
        assert!(hold(&held));
        drop(make("young", now));
        drop(make("left", now - minutes));
        // The clock was set back since: it says nothing of the age, and nobody holds it.
        drop(make("ahead", now + year));
        let ahead = make("ahead-held", now + year);
        assert!(hold(&ahead));
        // What is finished may not be written.
        let finished = make("finished", now - minutes);
        finished
            .set_permissions(std::fs::Permissions::from_mode(0o400))
            .expect("set");
        drop(finished);
        symlink(at("young"), at("link")).expect("made");
        std::fs::create_dir(at("folder")).expect("made");
        rustix::fs::mkfifoat(CWD, at("pipe"), PRIVATE).expect("made");
        write(folder.path().join("other"), "x").expect("written");
        let mut left = vec!["ahead-held", "folder", "held", "link", "pipe", "young"];
        if rustix::process::geteuid().is_root() {
            let theirs = make("theirs", now - minutes);
            let uid = rustix::fs::Uid::from_raw(12345);
            rustix::fs::fchown(&theirs, Some(uid), None).expect("given");
            left.insert(5, "theirs");
        }
        drop(NewFile::hidden(folder.path(), PRIVATE).expect("made"));
        let mut there: Vec<_> = read_dir(folder.path())
            .expect("listed")
            .map(|entry| entry.expect("an entry").file_name().into_string())
            .map(|name| name.expect("UTF-8").replace(PREFIX, ""))
            .collect();
        there.sort();
        left.insert(left.len() - 1, "other");
        left.sort_unstable();
        assert_eq!(there, left);
        assert!(symlink_metadata(at("young")).is_ok());
    }
}
