//! A hold on one object's verified bytes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::CheckpointRef;
use crate::error::{Error, Result};
use crate::new_file::{NewFile, PRIVATE};
use crate::scratch::Share;

/// An open descriptor of an object whose size and digest were right when it was opened.
///
/// It stays readable whatever retention does to the object's name, and writes nothing into the
/// store. Dropping it removes what [`Lease::path`] made.
#[derive(Debug)]
pub struct Lease {
    reference: CheckpointRef,
    file: File,
    path: Option<(PathBuf, NewFile)>,
    _share: Option<Share>,
}

impl Lease {
    pub(super) fn new(reference: CheckpointRef, file: File) -> Self {
        Self {
            reference,
            file,
            path: None,
            _share: None,
        }
    }

    /// Its bytes are a private copy that counts in `share` as long as it is held.
    pub(super) fn counted(mut self, share: Share) -> Self {
        self._share = Some(share);
        self
    }

    /// What the bytes are.
    #[must_use]
    pub fn reference(&self) -> &CheckpointRef {
        &self.reference
    }

    /// The stored bytes from their beginning, independent of other readers of this lease.
    #[must_use]
    pub fn reader(&self) -> LeaseReader<'_> {
        LeaseReader {
            file: &self.file,
            at: 0,
        }
    }

    /// The stored bytes from their beginning, for a reader that outlives this lease.
    pub(super) fn into_reader(self) -> impl io::Read + Send + 'static {
        Owned { lease: self, at: 0 }
    }

    /// A path that holds the stored bytes, read-only, until the lease is dropped: a private copy
    /// under `directory` (the store itself is never written to).
    ///
    /// # Errors
    /// When the copy cannot be written.
    pub fn path(&mut self, directory: &Path) -> Result<PathBuf> {
        if let Some((path, _)) = &self.path {
            return Ok(path.clone());
        }
        let failed = |error| Error::io("write in", directory, error);
        let mut copy = NewFile::hidden(directory, PRIVATE).map_err(failed)?;
        io::copy(&mut self.reader(), &mut copy).map_err(failed)?;
        rustix::fs::fchmod(copy.file(), rustix::fs::Mode::from_raw_mode(0o400))
            .map_err(|error| Error::io("protect a copy in", directory, error.into()))?;
        let path = directory.join(copy.hidden_name().unwrap_or_default());
        let (path, _) = self.path.insert((path, copy));
        Ok(path.clone())
    }
}

impl AsFd for Lease {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Reads a [`Lease`] from the start by offset.
#[derive(Debug)]
pub struct LeaseReader<'a> {
    file: &'a File,
    at: u64,
}

impl io::Read for LeaseReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Reads a [`Lease`] that it owns.
struct Owned {
    lease: Lease,
    at: u64,
}

impl io::Read for Owned {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.lease.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
