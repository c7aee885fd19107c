//! What every store does, whatever holds its bytes.

use std::future::Future;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use super::{CheckpointRef, Lease};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Watch;

/// The stored bytes of one object, *not yet verified*: whoever reads them must compare size and
/// digest with the reference before anything read from them is trusted.
pub struct StoredObject {
    /// What the bytes should be.
    pub reference: CheckpointRef,
    /// The bytes, from the first.
    pub bytes: Box<dyn Read + Send>,
}

impl std::fmt::Debug for StoredObject {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("StoredObject")
            .field("reference", &self.reference)
            .finish_non_exhaustive()
    }
}

/// Immutable checkpoint objects, addressed by the digest of their stored bytes (Agno's
/// `CheckpointStore`).
///
/// Reading an absent object answers [`ErrorKind::ObjectMissing`]; one that is over the limit or
/// does not match its reference, [`ErrorKind::Limit`], [`ErrorKind::SizeMismatch`] or
/// [`ErrorKind::ChecksumMismatch`]. Every call has a `blocking_` twin.
#[async_trait]
pub trait CheckpointStore: Send + Sync + std::fmt::Debug {
    /// Stores the bytes of the regular file `source` and returns their reference; storing the
    /// same bytes again verifies what is there.
    async fn put(&self, source: &Path) -> Result<CheckpointRef>;

    /// [`CheckpointStore::put`] that `watch` can cancel while it waits for a network; what was
    /// begun by then is taken back first.
    async fn put_watched(&self, source: &Path, watch: &Watch) -> Result<CheckpointRef> {
        watch.check()?;
        self.put(source).await
    }

    /// Checks what the store knows of the object without sending its bytes: a directory reads them
    /// and compares size and digest, a database and a bucket answer from the object's labels.
    async fn verify(&self, reference: &CheckpointRef, watch: &Watch) -> Result<()>;

    /// Verifies the object and returns a hold on exactly the bytes that were verified.
    async fn open_archive(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Lease>;

    /// Starts reading the object once, for a caller that verifies while it reads
    /// ([`Archive::read`](crate::archive::Archive::read)). Missing, oversized and wrong-sized
    /// objects are refused here already. A read that waits for a network ends when `watch` is
    /// cancelled.
    async fn fetch(&self, reference: &CheckpointRef, watch: &Watch) -> Result<StoredObject>;

    /// Whether the object is there, by name alone.
    async fn contains(&self, reference: &CheckpointRef) -> Result<bool>;

    /// Removes the object; removing one that is gone is no error.
    async fn delete(&self, reference: &CheckpointRef) -> Result<()>;

    /// Where it is, for messages; never with a secret.
    fn describe(&self) -> String;
}

/// Reads until `piece` is full or the input ends, whatever interrupts it.
pub(crate) fn fill(input: &mut (impl Read + ?Sized), piece: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < piece.len() {
        match input.read(&mut piece[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads what there is, whatever interrupts it: on a slow line the rest is not waited for.
pub(crate) fn some(input: &mut (impl Read + ?Sized), piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}

/// Drives a future on a small runtime of its own.
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map(|runtime| runtime.block_on(future))
        .map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot start a runtime: {error}")).source(error)
        })
}

/// A store shared between jobs.
pub type SharedStore = Arc<dyn CheckpointStore>;
