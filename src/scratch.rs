//! Where private files go that are made to look at a checkpoint: expanded archives, git's packs,
//! copies for an editor. It is one folder, and there may be a limit on what lies in it at a time.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::text::{human_bytes, visible_path};

/// Others may write there.
const SHARED: u32 = 0o022;
/// Others may not remove what is not theirs.
const STICKY: u32 = 0o1000;

/// A folder for private files, and how many bytes they may come to. Clones count together.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    limit: Option<u64>,
    used: AtomicU64,
}

/// The system's folder for temporary files, without a limit.
impl Default for Scratch {
    fn default() -> Self {
        Self::of(std::env::temp_dir())
    }
}

impl Scratch {
    fn of(folder: PathBuf) -> Self {
        Self(Arc::new(Inner {
            folder,
            limit: None,
            used: AtomicU64::new(0),
        }))
    }

    /// The folder at `folder`, which must be there, belong to this user or to root, and be one where
    /// nobody else can replace what is written.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when it is not.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        check(&folder)?;
        Ok(Self::of(folder))
    }

    /// At most this many bytes at a time; what would be more is refused with [`ErrorKind::Io`].
    #[must_use]
    pub fn with_limit(self, bytes: u64) -> Self {
        Self(Arc::new(Inner {
            folder: self.0.folder.clone(),
            limit: Some(bytes),
            used: AtomicU64::new(0),
        }))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// The most bytes that may lie there, where there is a limit.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    /// Bytes that lie there now.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// A file without a name, so that nothing is left behind by whatever ends the process and no
    /// other process can open it.
    pub(crate) fn file(&self) -> Result<File> {
        tempfile::tempfile_in(self.folder()).map_err(|error| self.failed(error))
    }

    /// What is written from here on counts in the share.
    pub(crate) fn share(&self) -> Share {
        Share {
            scratch: self.clone(),
            bytes: 0,
        }
    }

    /// Why the folder could not be written in.
    pub(crate) fn failed(&self, error: std::io::Error) -> Error {
        Error::io("write in", self.folder(), error)
    }
}

/// Bytes of one file or folder that count against the limit until they are let go.
#[derive(Debug)]
pub(crate) struct Share {
    scratch: Scratch,
    bytes: u64,
}

impl Share {
    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Counts `bytes` more, before they are written.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<()> {
        let inner = &self.scratch.0;
        let more = |used: u64| {
            let used = used.saturating_add(bytes);
            (used <= inner.limit.unwrap_or(u64::MAX)).then_some(used)
        };
        let grown = inner
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        match grown {
            Ok(_) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(used) => Err(self.full(used)),
        }
    }

    /// `used` bytes lie there, those of this share among them.
    fn full(&self, used: u64) -> Error {
        let folder = visible_path(self.scratch.folder());
        let limit = human_bytes(self.scratch.0.limit.unwrap_or(u64::MAX));
        let others = match used.saturating_sub(self.bytes) {
            0 => String::new(),
            others => format!(", and others take {} of it", human_bytes(others)),
        };
        Error::new(
            ErrorKind::Io,
            format!("The private files do not fit in {folder}: they may take {limit}{others}"),
        )
        .hint("allow more with spool_size or --spool-size; an archive expands to 1 GiB at most")
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.scratch.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

fn check(folder: &Path) -> Result<()> {
    let shown = visible_path(folder);
    let refuse = |why: &str| {
        Err(Error::new(
            ErrorKind::Io,
            format!("{shown} is no place for private files: {why}"),
        )
        .hint("name a folder of your own with --spool DIR or spool in the configuration"))
    };
    let entry = match std::fs::metadata(folder) {
        Ok(entry) => entry,
        Err(error) => return refuse(&crate::error::reason(&error)),
    };
    if !folder.is_absolute() {
        return refuse("its path does not begin with /");
    }
    if !entry.is_dir() {
        return refuse("it is no folder");
    }
    let ours = [rustix::process::geteuid().as_raw(), 0];
    if !ours.contains(&entry.uid()) {
        return refuse("it belongs to another user");
    }
    if entry.mode() & SHARED != 0 && entry.mode() & STICKY == 0 {
        return refuse("others can write there, and replace what is yours");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn shares_count_together_and_are_given_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::new(folder.path())
            .expect("a place")
            .with_limit(100);
        let copy = scratch.clone();
        let (mut one, mut two) = (scratch.share(), copy.share());
        one.grow(60).expect("it fits");
        two.grow(40).expect("it fits");
        let full = two.grow(1).expect_err("it is full");
        assert_eq!(full.kind(), ErrorKind::Io);
        let end = "they may take 100 B, and others take 60 B of it";
        assert!(full.message().ends_with(end), "{full}");
        drop(one);
        two.grow(60).expect("there is room again");
        assert_eq!((scratch.used(), copy.used()), (100, 100));
        drop(two);
        assert_eq!(scratch.used(), 0);
    }

    #[test]
    fn a_file_has_no_name_and_lies_in_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::new(folder.path()).expect("a place");
        let file = scratch.file().expect("a file");
        let device = |entry: &std::fs::Metadata| entry.dev();
        assert_eq!(
            device(&file.metadata().expect("there")),
            device(&folder.path().metadata().expect("there"))
        );
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
    }

    #[test]
    fn only_a_safe_folder_is_taken() {
        let parent = tempfile::tempdir().expect("a folder");
        let refused = |folder: &Path, why: &str| {
            let error = Scratch::new(folder).expect_err("refused");
            assert!(error.message().ends_with(why), "{error}");
            assert_eq!(error.kind(), ErrorKind::Io);
        };
        refused(&parent.path().join("none"), ": no such file or directory");
        let file = parent.path().join("file");
        std::fs::write(&file, "x").expect("written");
        refused(&file, ": it is no folder");
        refused(Path::new("src"), ": its path does not begin with /");
        let open = parent.path().join("open");
        create_dir(&open).expect("made");
        set_permissions(&open, Permissions::from_mode(0o777)).expect("set");
        refused(&open, ": others can write there, and replace what is yours");
        set_permissions(&open, Permissions::from_mode(0o1777)).expect("set");
        Scratch::new(&open).expect("sticky, as the system's own");
    }
}
