//! Objects as files: `<root>/<sha256>`, mode 0400.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::{CheckpointRef, CheckpointStore, Lease, StoredObject, blocking, fill};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::new_file::{NewFile, PRIVATE};
use crate::progress::{Stage, Watch};
use crate::text::visible_path;

/// Where Agno keeps checkpoints when nothing is configured, below the home directory.
pub const DEFAULT_CHECKPOINTS: &str = ".agno/sandbox/checkpoints";

const PIECE: usize = 256 * 1024;

/// A directory of objects (Agno's `FileCheckpointStore`).
#[derive(Clone, Debug)]
pub struct FileCheckpointStore {
    root: PathBuf,
    max_bytes: u64,
}

impl FileCheckpointStore {
    /// The store at `root`, for reading; nothing is created.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when `root` is missing, a link, or no directory.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let shown = visible_path(&root);
        match std::fs::symlink_metadata(&root) {
            Ok(entry) if entry.is_symlink() => fail(
                ErrorKind::Store,
                format!("Checkpoint store root cannot be a symlink: {shown}"),
            ),
            Ok(entry) if !entry.is_dir() => fail(
                ErrorKind::Store,
                format!("Checkpoint store {shown} is a file, not a directory"),
            ),
            Ok(_) => Ok(Self {
                root,
                max_bytes: 1 << 30,
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::new(
                ErrorKind::Store,
                format!("Checkpoint store {shown} does not exist"),
            )
            .hint("--store names the directory that the sandbox's checkpoints= writes to")),
            Err(error) => Err(Error::new(
                ErrorKind::Store,
                format!(
                    "Checkpoint store {shown} cannot be read: {}",
                    crate::error::reason(&error)
                ),
            )
            .source(error)),
        }
    }

    /// The store at `root`, made with mode 0700 when it is not there.
    ///
    /// # Errors
    /// As [`FileCheckpointStore::open`], and when it cannot be made.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let root = root.into();
        if std::fs::symlink_metadata(&root).is_err() {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&root)
                .map_err(|error| Error::io("make", &root, error))?;
        }
        Self::open(root)
    }

    /// Refuses objects over `max_bytes` (1 GiB unless set).
    #[must_use]
    pub fn with_limit(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, reference: &CheckpointRef) -> PathBuf {
        self.root.join(reference.sha256())
    }

    /// Blocking [`CheckpointStore::put`]: copy, fsync, mode 0400, published by a hard link.
    ///
    /// # Errors
    /// `Checkpoint object exceeds its limit`; what the file system refuses.
    pub fn blocking_put(&self, source: &Path) -> Result<CheckpointRef> {
        let mut input = open_regular(source)?;
        let failed = |error: std::io::Error| Error::io("write in", &self.root, error);
        let mut upload = NewFile::within(&self.root, PRIVATE).map_err(failed)?;
        let (mut digest, mut size) = (Sha256::new(), 0_u64);
        let mut piece = vec![0; PIECE];
        loop {
            let count =
                fill(&mut input, &mut piece).map_err(|error| Error::io("read", source, error))?;
            if count == 0 {
                break;
            }
            size += count as u64;
            if size > self.max_bytes {
                return fail(ErrorKind::Limit, "Checkpoint object exceeds its limit");
            }
            digest.update(&piece[..count]);
            upload.write_all(&piece[..count]).map_err(failed)?;
        }
        upload.file().sync_all().map_err(failed)?;
        rustix::fs::fchmod(upload.file(), Mode::from_raw_mode(0o400))
            .map_err(|error| failed(error.into()))?;
        let reference = CheckpointRef::new(hex(&digest.finalize()), size)?;
        match upload.link(reference.sha256().as_ref()) {
            Ok(()) => {}
            Err(Errno::EXIST) => self.blocking_verify(&reference, &Watch::default())?,
            Err(Errno::NOSYS | Errno::OPNOTSUPP) => {
                return fail(
                    ErrorKind::Store,
                    "Checkpoint storage requires filesystem hard links for publication",
                );
            }
            Err(error) => return Err(failed(error.into())),
        }
        self.sync_root()?;
        Ok(reference)
    }

    /// Blocking [`CheckpointStore::verify`].
    ///
    /// # Errors
    /// Agno's messages: limit, missing, size, checksum.
    pub fn blocking_verify(&self, reference: &CheckpointRef, watch: &Watch) -> Result<()> {
        self.verified(reference, watch).map(drop)
    }

    /// Blocking [`CheckpointStore::open_archive`].
    ///
    /// # Errors
    /// As [`FileCheckpointStore::blocking_verify`]; *missing* is answered before the limit, as
    /// Agno's lease does.
    pub fn blocking_open_archive(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Lease> {
        self.open_object(reference)?;
        let file = self.verified(reference, watch)?;
        Ok(Lease::new(reference.clone(), file))
    }

    /// Blocking [`CheckpointStore::fetch`].
    ///
    /// # Errors
    /// Missing, limit and size, in the order of Agno's lease.
    pub fn blocking_fetch(&self, reference: &CheckpointRef) -> Result<StoredObject> {
        let file = self.open_object(reference)?;
        self.check_limit(reference)?;
        self.check_size(&file, reference)?;
        Ok(StoredObject {
            reference: reference.clone(),
            bytes: Box::new(file),
        })
    }

    /// Blocking [`CheckpointStore::contains`].
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when the file system does not say.
    pub fn blocking_contains(&self, reference: &CheckpointRef) -> Result<bool> {
        let path = self.path(reference);
        match std::fs::symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unreadable(&path, error)),
        }
    }

    /// Blocking [`CheckpointStore::delete`].
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn blocking_delete(&self, reference: &CheckpointRef) -> Result<()> {
        match std::fs::remove_file(self.path(reference)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("remove", &self.path(reference), error)),
        }
        self.sync_root()
    }

    fn verified(&self, reference: &CheckpointRef, watch: &Watch) -> Result<File> {
        self.check_limit(reference)?;
        let mut file = self.open_object(reference)?;
        self.check_size(&file, reference)?;
        let (mut digest, mut size) = (Sha256::new(), 0_u64);
        let mut piece = vec![0; PIECE];
        loop {
            watch.check()?;
            let count = fill(&mut file, &mut piece)
                .map_err(|error| unreadable(&self.path(reference), error))?;
            if count == 0 {
                break;
            }
            size += count as u64;
            if size > reference.size() {
                return fail(
                    ErrorKind::SizeMismatch,
                    "Checkpoint object changed while reading",
                );
            }
            digest.update(&piece[..count]);
            watch.at(Stage::Digest, size, reference.size());
        }
        if size != reference.size() || hex(&digest.finalize()) != reference.sha256() {
            return fail(ErrorKind::ChecksumMismatch, "Checkpoint checksum mismatch");
        }
        Ok(file)
    }

    fn open_object(&self, reference: &CheckpointRef) -> Result<File> {
        let path = self.path(reference);
        match open_regular(&path) {
            Ok(file) => Ok(file),
            Err(error) if is_missing(&error) => Err(Error::new(
                ErrorKind::ObjectMissing,
                "Checkpoint object is missing",
            )
            .hint("retention keeps only a session's last checkpoints; open a later turn")),
            Err(error) if error.kind() == ErrorKind::Io => {
                Err(explain_unreadable(&path, error.of_kind(ErrorKind::Store)))
            }
            Err(error) => Err(error),
        }
    }

    fn check_limit(&self, reference: &CheckpointRef) -> Result<()> {
        if reference.size() > self.max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint object exceeds its limit");
        }
        Ok(())
    }

    fn check_size(&self, file: &File, reference: &CheckpointRef) -> Result<()> {
        let entry = file
            .metadata()
            .map_err(|error| unreadable(&self.path(reference), error))?;
        if entry.len() != reference.size() {
            return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
        }
        Ok(())
    }

    fn sync_root(&self) -> Result<()> {
        File::open(&self.root)
            .and_then(|root| root.sync_all())
            .map_err(|error| Error::io("sync", &self.root, error))
    }
}

/// A regular file, never through a link at its end.
pub(crate) fn open_regular(path: &Path) -> Result<File> {
    // NONBLOCK: a pipe under that name must not hold us up before it is refused.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))
        .map(File::from)
        .map_err(|error| Error::io("read", path, error.into()))?;
    let entry = file
        .metadata()
        .map_err(|error| Error::io("read", path, error))?;
    if !entry.is_file() {
        return fail(ErrorKind::Store, "Checkpoint object must be a regular file");
    }
    Ok(file)
}

/// An object that cannot be read is the store's failure, so that it is told apart from one of ours:
/// a full folder for temporary files says nothing about the object.
fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::io("read", path, error).of_kind(ErrorKind::Store)
}

fn is_missing(error: &Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Objects are readable by their owner alone: say who that is.
fn explain_unreadable(path: &Path, error: Error) -> Error {
    let denied = std::error::Error::source(&error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
    match std::fs::symlink_metadata(path) {
        Ok(entry) if denied => Error::new(
            ErrorKind::Store,
            format!(
                "{} is readable only by its owner, uid {} (mode {:04o}); you are uid {}",
                visible_path(path),
                entry.uid(),
                entry.mode() & 0o7777,
                rustix::process::geteuid().as_raw()
            ),
        )
        .hint("run afterrun as that user, or have the object copied"),
        _ => error,
    }
}

/// Lower-case hex of a digest.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[async_trait]
impl CheckpointStore for FileCheckpointStore {
    async fn put(&self, source: &Path) -> Result<CheckpointRef> {
        let (store, source) = (self.clone(), source.to_path_buf());
        blocking(move || store.blocking_put(&source)).await
    }

    async fn verify(&self, reference: &CheckpointRef, watch: &Watch) -> Result<()> {
        let (store, reference, watch) = (self.clone(), reference.clone(), watch.clone());
        blocking(move || store.blocking_verify(&reference, &watch)).await
    }

    async fn open_archive(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Lease> {
        let (store, reference, watch) = (self.clone(), reference.clone(), watch.clone());
        blocking(move || store.blocking_open_archive(&reference, &watch)).await
    }

    async fn fetch(&self, reference: &CheckpointRef, _watch: &Watch) -> Result<StoredObject> {
        let (store, reference) = (self.clone(), reference.clone());
        blocking(move || store.blocking_fetch(&reference)).await
    }

    async fn contains(&self, reference: &CheckpointRef) -> Result<bool> {
        let (store, reference) = (self.clone(), reference.clone());
        blocking(move || store.blocking_contains(&reference)).await
    }

    async fn delete(&self, reference: &CheckpointRef) -> Result<()> {
        let (store, reference) = (self.clone(), reference.clone());
        blocking(move || store.blocking_delete(&reference)).await
    }

    fn describe(&self) -> String {
        visible_path(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_object_is_published_once_read_only_and_verified() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FileCheckpointStore::create(folder.path().join("store")).expect("a store");
        let source = folder.path().join("source");
        std::fs::write(&source, b"stored bytes").expect("written");
        let first = store.blocking_put(&source).expect("put");
        assert_eq!(store.blocking_put(&source).expect("again"), first);
        let path = store.root().join(first.sha256());
        assert_eq!(
            std::fs::metadata(&path).expect("there").mode() & 0o777,
            0o400
        );
        assert_eq!(std::fs::read_dir(store.root()).expect("listed").count(), 1);

        let lease = store
            .blocking_open_archive(&first, &Watch::default())
            .expect("open");
        store.blocking_delete(&first).expect("deleted");
        store
            .blocking_delete(&first)
            .expect("deleting again is no error");
        let mut held = Vec::new();
        lease
            .reader()
            .read_to_end(&mut held)
            .expect("still readable");
        assert_eq!(held, b"stored bytes");
        let gone = store
            .blocking_verify(&first, &Watch::default())
            .expect_err("gone");
        assert_eq!(
            (gone.kind(), gone.message()),
            (ErrorKind::ObjectMissing, "Checkpoint object is missing")
        );
    }

    #[test]
    fn a_changed_object_is_told_by_size_then_by_digest() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FileCheckpointStore::create(folder.path()).expect("a store");
        let digest = hex(&Sha256::digest(b"right"));
        let reference = CheckpointRef::new(digest.clone(), 5).expect("a reference");
        for (bytes, kind) in [
            (&b"wrong"[..], ErrorKind::ChecksumMismatch),
            (b"righ", ErrorKind::SizeMismatch),
        ] {
            std::fs::write(folder.path().join(&digest), bytes).expect("written");
            let told = store
                .blocking_open_archive(&reference, &Watch::default())
                .expect_err("wrong bytes");
            assert_eq!(told.kind(), kind);
        }
        let large = CheckpointRef::new(digest, (1 << 30) + 1).expect("a reference");
        assert_eq!(
            store
                .blocking_verify(&large, &Watch::default())
                .expect_err("large")
                .kind(),
            ErrorKind::Limit
        );
        let absent = CheckpointRef::new("0".repeat(64), (1 << 30) + 1).expect("a reference");
        assert_eq!(
            store
                .blocking_open_archive(&absent, &Watch::default())
                .expect_err("absent")
                .kind(),
            ErrorKind::ObjectMissing
        );
    }
}
