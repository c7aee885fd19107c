//! ④ the archive: stored bytes become a validated tree of entries whose contents can be read by
//! offset, are written to a directory by a restore, and come from one by a capture.
//!
//! An [`Archive`] exists only once size, digest, framing, names, links, parents, limits and manifest
//! have passed; a [`RestorePlan`] only comes from an archive and is consumed by being carried out.

mod ambiguous;
mod capture;
mod entry;
pub(crate) mod framing;
pub(crate) mod gunzip;
mod inspect;
pub(crate) mod intake;
pub(crate) mod links;
mod manifest;
pub(crate) mod member;
pub(crate) mod number;
pub(crate) mod pax;
mod restore;
mod spool;

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

pub use ambiguous::Ambiguity;
pub use capture::{CaptureRoots, DEFAULT_NATIVE_EXCLUSIONS};
pub use entry::{Entry, EntryKind};
pub use pax::Mtime;
#[cfg(feature = "app")]
pub(crate) use restore::sweep_left;
pub use restore::{RestoreOptions, RestorePlan, RestoreReport};
pub use spool::Spool;

use crate::checkpoint::{
    CheckpointLimits, CheckpointRef, Lease, StoredObject, blocking, open_regular,
};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::json::Json;
use crate::progress::{Stage, Watch};
use crate::scratch::Scratch;
use inspect::{Inspected, inspect};

/// Captures, validates and restores archives under limits (Agno's `CheckpointArchive`).
#[derive(Clone, Copy, Debug)]
pub struct CheckpointArchive {
    /// How much an archive may hold.
    pub limits: CheckpointLimits,
    /// Whether a capture is gzipped; both forms are read.
    pub compress: bool,
}

impl Default for CheckpointArchive {
    fn default() -> Self {
        Self {
            limits: CheckpointLimits::default(),
            compress: true,
        }
    }
}

impl CheckpointArchive {
    /// An archive handler with other limits.
    #[must_use]
    pub fn new(limits: CheckpointLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Opens and validates the stored bytes in the regular file `source`, without a reference to
    /// hold them against.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArchive`] in Agno's words.
    pub fn blocking_open(&self, source: &Path, watch: &Watch) -> Result<Archive> {
        self.blocking_open_in(source, &Scratch::default(), watch)
    }

    /// As [`CheckpointArchive::blocking_open`], with private files in `scratch`.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_open_in(
        &self,
        source: &Path,
        scratch: &Scratch,
        watch: &Watch,
    ) -> Result<Archive> {
        let file = open_regular(source)?;
        let size = file
            .metadata()
            .map_err(|error| Error::io("read", source, error))?
            .len();
        if size > self.limits.max_bytes {
            return fail(
                ErrorKind::InvalidArchive,
                "Checkpoint archive exceeds its limit",
            );
        }
        let intake = intake::take_in(Box::new(file), None, &self.limits, scratch, watch)?;
        Archive::validated(intake, &self.limits, watch)
    }

    /// Validates the archive in `source` and returns its state (Agno's `validate`).
    ///
    /// # Errors
    /// As [`CheckpointArchive::blocking_open`].
    pub fn blocking_validate(&self, source: &Path, watch: &Watch) -> Result<Json> {
        Ok(self.blocking_open(source, watch)?.state)
    }

    /// Async [`CheckpointArchive::blocking_validate`].
    ///
    /// # Errors
    /// The same.
    pub async fn validate(&self, source: &Path, watch: &Watch) -> Result<Json> {
        let (this, source, watch) = (*self, source.to_path_buf(), watch.clone());
        blocking(move || this.blocking_validate(&source, &watch)).await
    }

    /// Restores the archive in `source` into the new directory `destination` and returns its state
    /// (Agno's `restore`). Absolute links are left out unless `absolute_links`.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] when the destination is there; [`ErrorKind::InvalidArchive`]; what the
    /// file system refuses. Nothing is left behind.
    pub fn blocking_restore(
        &self,
        source: &Path,
        destination: &Path,
        absolute_links: bool,
        watch: &Watch,
    ) -> Result<Json> {
        restore::refuse_existing(destination)?;
        let archive = self.blocking_open(source, watch)?;
        let options = RestoreOptions {
            absolute_links,
            only: Vec::new(),
        };
        let report = archive
            .plan_restore(destination, &options)?
            .carry_out(watch)?;
        Ok(report.state)
    }

    /// Async [`CheckpointArchive::blocking_restore`].
    ///
    /// # Errors
    /// The same.
    pub async fn restore(
        &self,
        source: &Path,
        destination: &Path,
        absolute_links: bool,
        watch: &Watch,
    ) -> Result<Json> {
        let (this, watch) = (*self, watch.clone());
        let (source, destination) = (source.to_path_buf(), destination.to_path_buf());
        blocking(move || this.blocking_restore(&source, &destination, absolute_links, &watch)).await
    }
}

/// A verified and validated archive, open for reading; nothing of it is on disk under a name.
#[derive(Debug)]
pub struct Archive {
    spool: Spool,
    entries: Vec<Entry>,
    by_path: HashMap<Vec<u8>, usize>,
    state: Json,
    stored: CheckpointRef,
    compressed: bool,
    unrestorable: Option<Error>,
    ambiguities: Vec<Ambiguity>,
}

impl Archive {
    /// Reads an object once, verifying it against its reference while it is expanded and parsed.
    ///
    /// # Errors
    /// [`ErrorKind::SizeMismatch`] and [`ErrorKind::ChecksumMismatch`] before anything that the
    /// archive rules say; then [`ErrorKind::InvalidArchive`].
    pub fn blocking_read(
        object: StoredObject,
        limits: &CheckpointLimits,
        watch: &Watch,
    ) -> Result<Self> {
        Self::blocking_read_in(object, limits, &Scratch::default(), watch)
    }

    /// As [`Archive::blocking_read`], with private files in `scratch`.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_read_in(
        object: StoredObject,
        limits: &CheckpointLimits,
        scratch: &Scratch,
        watch: &Watch,
    ) -> Result<Self> {
        watch.passed(Stage::Object, object.reference.size());
        let begun = Instant::now();
        let expected = object.reference.clone();
        let intake = intake::take_in(object.bytes, Some(&expected), limits, scratch, watch)?;
        tracing::info!(
            "object {}: {} B read, hashed and expanded to {} B in {:?}",
            object.reference.sha256(),
            object.reference.size(),
            intake.spool.len(),
            begun.elapsed()
        );
        Self::validated(intake, limits, watch)
    }

    /// Async [`Archive::blocking_read`].
    ///
    /// # Errors
    /// The same.
    pub async fn read(
        object: StoredObject,
        limits: &CheckpointLimits,
        watch: &Watch,
    ) -> Result<Self> {
        Self::read_in(object, limits, &Scratch::default(), watch).await
    }

    /// Async [`Archive::blocking_read_in`].
    ///
    /// # Errors
    /// The same.
    pub async fn read_in(
        object: StoredObject,
        limits: &CheckpointLimits,
        scratch: &Scratch,
        watch: &Watch,
    ) -> Result<Self> {
        let (limits, scratch, watch) = (*limits, scratch.clone(), watch.clone());
        blocking(move || Self::blocking_read_in(object, &limits, &scratch, &watch)).await
    }

    /// Opens a lease's bytes; they are hashed once more, so that every byte used was verified.
    ///
    /// # Errors
    /// As [`Archive::blocking_read`].
    pub fn blocking_from_lease(
        lease: &Lease,
        limits: &CheckpointLimits,
        watch: &Watch,
    ) -> Result<Self> {
        let file = std::os::fd::AsFd::as_fd(lease)
            .try_clone_to_owned()
            .map_err(|error| Error::io("read", Path::new(lease.reference().sha256()), error))?;
        let bytes = Box::new(FromStart {
            file: file.into(),
            at: 0,
        });
        let reference = lease.reference().clone();
        Self::blocking_read(StoredObject { reference, bytes }, limits, watch)
    }

    pub(crate) fn validated(
        intake: intake::Intake,
        limits: &CheckpointLimits,
        watch: &Watch,
    ) -> Result<Self> {
        let begun = Instant::now();
        let spool = intake.spool;
        framing::preflight(&spool, limits, watch)?;
        let Inspected {
            entries,
            state,
            ambiguities,
        } = inspect(&spool, limits, watch)?;
        let unrestorable = restore::obstacle(&entries, spool.len());
        let by_path = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| (entry.path.clone(), index))
            .collect();
        watch.passed(Stage::Archive, entries.len() as u64);
        tracing::info!(
            "the archive is valid: {} entries, looked at in {:?}",
            entries.len(),
            begun.elapsed()
        );
        Ok(Self {
            spool,
            entries,
            by_path,
            state,
            stored: intake.stored,
            compressed: intake.compressed,
            unrestorable,
            ambiguities,
        })
    }

    /// The entries below both roots, in the archive's order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at `path`, without leading or trailing slash.
    #[must_use]
    pub fn entry(&self, path: &[u8]) -> Option<&Entry> {
        self.by_path.get(path).map(|index| &self.entries[*index])
    }

    /// The captured state.
    #[must_use]
    pub fn state(&self) -> &Json {
        &self.state
    }

    /// Digest and size of the stored bytes.
    #[must_use]
    pub fn reference(&self) -> &CheckpointRef {
        &self.stored
    }

    /// Whether the stored bytes are gzipped.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// The sum of all file sizes.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        self.entries.iter().map(Entry::size).sum()
    }

    /// Why a restore would fail though the archive is valid; `None` when it would not.
    #[must_use]
    pub fn unrestorable(&self) -> Option<&Error> {
        self.unrestorable.as_ref()
    }

    /// Where other readers of tar see something else in these bytes than Agno, which is followed
    /// here; the first 20.
    #[must_use]
    pub fn ambiguities(&self) -> &[Ambiguity] {
        &self.ambiguities
    }

    /// The expanded bytes, for reading contents by offset.
    #[must_use]
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// A file's first `limit` bytes (all of them when it is shorter).
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when `entry` is no file; when the spool cannot be read.
    pub fn content(&self, entry: &Entry, limit: u64) -> Result<Vec<u8>> {
        match entry.kind {
            EntryKind::File { offset, size } => self.spool.bytes(offset, size.min(limit)),
            _ => fail(
                ErrorKind::Usage,
                format!("{} is not a file", crate::text::visible_bytes(&entry.path)),
            ),
        }
    }

    /// Copies a file's whole content to `out`, piece by piece.
    ///
    /// # Errors
    /// As [`Archive::content`]; what `out` answers.
    pub fn copy_content(&self, entry: &Entry, out: &mut dyn std::io::Write) -> Result<()> {
        let EntryKind::File { mut offset, size } = entry.kind else {
            return self.content(entry, 0).map(drop);
        };
        let end = offset + size;
        while offset < end {
            let piece = self.spool.bytes(offset, (end - offset).min(1 << 18))?;
            offset += piece.len() as u64;
            out.write_all(&piece)
                .map_err(|error| Error::io("write", Path::new("the output"), error))?;
        }
        Ok(())
    }
}

struct FromStart {
    file: std::fs::File,
    at: u64,
}

impl std::io::Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = std::os::unix::fs::FileExt::read_at(&self.file, buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
