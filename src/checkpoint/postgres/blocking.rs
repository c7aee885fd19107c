//! The store for callers without a runtime: each call drives one of its own.

use std::io::{self, Read};
use std::path::Path;

use tokio::runtime::Runtime;

use super::PostgresCheckpointStore;
use crate::checkpoint::{CheckpointRef, CheckpointStore, Lease, StoredObject, block_on};
use crate::error::Result;
use crate::progress::Watch;

impl PostgresCheckpointStore {
    /// Blocking [`CheckpointStore::put`]: one transaction, and nothing is written when the object
    /// is there.
    ///
    /// # Errors
    /// `Checkpoint object exceeds its limit`, `Checkpoint object is empty`, `Checkpoint source
    /// changed while it was stored`; [`ErrorKind::Store`](crate::ErrorKind::Store) for what the database refuses.
    pub fn blocking_put(&self, source: &Path) -> Result<CheckpointRef> {
        block_on(self.put(source))?
    }

    /// Blocking [`CheckpointStore::verify`]: the header's size, without reading the chunks, as in
    /// Agno.
    ///
    /// # Errors
    /// Agno's messages: limit, missing, size.
    pub fn blocking_verify(&self, reference: &CheckpointRef, watch: &Watch) -> Result<()> {
        block_on(self.verify(reference, watch))?
    }

    /// Blocking [`CheckpointStore::open_archive`].
    ///
    /// # Errors
    /// Agno's messages: limit, missing, size, checksum.
    pub fn blocking_open_archive(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Lease> {
        block_on(self.open_archive(reference, watch))?
    }

    /// Blocking [`CheckpointStore::fetch`]; a thread of its own downloads while the bytes are read.
    ///
    /// # Errors
    /// Agno's messages: limit, missing, size.
    pub fn blocking_fetch(&self, reference: &CheckpointRef, watch: &Watch) -> Result<StoredObject> {
        let runtime = crate::threads::runtime(1)?;
        let object = runtime.block_on(self.fetch(reference, watch))?;
        Ok(StoredObject {
            reference: object.reference,
            bytes: Box::new(Driven {
                bytes: object.bytes,
                runtime: Some(runtime),
            }),
        })
    }

    /// Blocking [`CheckpointStore::contains`].
    ///
    /// # Errors
    /// [`ErrorKind::Store`](crate::ErrorKind::Store) when the database cannot answer.
    pub fn blocking_contains(&self, reference: &CheckpointRef) -> Result<bool> {
        block_on(self.contains(reference))?
    }

    /// Blocking [`CheckpointStore::delete`].
    ///
    /// # Errors
    /// [`ErrorKind::Store`](crate::ErrorKind::Store) for what the database refuses.
    pub fn blocking_delete(&self, reference: &CheckpointRef) -> Result<()> {
        block_on(self.delete(reference))?
    }
}

/// Bytes on their way, and the runtime that brings them.
struct Driven {
    bytes: Box<dyn Read + Send>,
    runtime: Option<Runtime>,
}

impl Read for Driven {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(into)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // A download that nobody wants any more holds nobody up.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
