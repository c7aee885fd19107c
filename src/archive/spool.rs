//! The archive's expanded bytes in a private file that has no name, readable by offset.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use crate::error::{Error, ErrorKind, Result};
use crate::scratch::{Scratch, Share};

/// Expanded bytes on disk. The file is unlinked as it is made, so nothing is left behind by
/// whatever ends the process, and no other process can open it.
#[derive(Debug)]
pub struct Spool {
    file: File,
    length: u64,
    share: Share,
}

impl Spool {
    /// An empty spool in `scratch`.
    pub(crate) fn new(scratch: &Scratch) -> Result<Self> {
        Ok(Self {
            file: scratch.file()?,
            length: 0,
            share: scratch.share(),
        })
    }

    /// Where it lies, and what else is made of the same archive.
    pub(crate) fn scratch(&self) -> &Scratch {
        self.share.scratch()
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.share.grow(bytes.len() as u64)?;
        let written = self.file.write_all(bytes);
        written.map_err(|error| self.scratch().failed(error))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Expanded bytes in all.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// When the spool ends before the buffer is full, or cannot be read.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!(
                    "cannot read the expanded archive back: {}",
                    crate::error::reason(&error)
                ),
            )
            .source(error)
        })
    }

    /// The `length` bytes at `offset`; the caller has bounded `length`.
    ///
    /// # Errors
    /// As [`Spool::read_exact_at`].
    pub fn bytes(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}
