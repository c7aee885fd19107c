//! An object into its rows: header and chunks in one transaction, so that what is interrupted leaves
//! nothing that can be read.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;

use super::{PostgresCheckpointStore, failure};
use crate::checkpoint::{CheckpointRef, blocking, hex, open_regular};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::postgres::{Transaction, Value};

const PIECE: usize = 256 * 1024;
/// How long a put may wait for another of the same bytes, and a statement that removes a GiB may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Stores the file; the caller verifies.
///
/// # Errors
/// `Checkpoint object exceeds its limit`, `Checkpoint object is empty`, `Checkpoint source changed
/// while it was stored`; what the database answers.
pub(super) async fn put(store: &PostgresCheckpointStore, source: &Path) -> Result<CheckpointRef> {
    let (path, max_bytes) = (source.to_path_buf(), store.max_bytes);
    let reference = blocking(move || digest(path, max_bytes)).await?;
    let stored = async {
        make_tables(store).await?;
        write(store, source, &reference).await
    };
    let stored: Result<()> = stored.await;
    stored.map_err(|error| failure::of_store(error, &store.tables))?;
    Ok(reference)
}

/// Removes the object; its chunks go with their header.
///
/// # Errors
/// What the database answers.
pub(super) async fn delete(
    store: &PostgresCheckpointStore,
    reference: &CheckpointRef,
) -> Result<()> {
    let removed = async {
        let transaction = patient(store).await?;
        let name: [Value<'_>; 1] = [(&reference.sha256(), Type::TEXT)];
        transaction.execute(&store.tables.delete, &name).await?;
        transaction.end().await
    };
    let removed: Result<()> = removed.await;
    removed.map_err(|error| failure::of_store(error, &store.tables))
}

async fn patient(store: &PostgresCheckpointStore) -> Result<Transaction> {
    let mut transaction = store.server.write().await?;
    transaction.allow(PATIENCE).await?;
    Ok(transaction)
}

async fn make_tables(store: &PostgresCheckpointStore) -> Result<()> {
    if store.ready.load(Ordering::Acquire) {
        return Ok(());
    }
    let transaction = store.server.write().await?;
    store.tables.create(&transaction).await?;
    transaction.end().await?;
    store.ready.store(true, Ordering::Release);
    Ok(())
}

async fn write(
    store: &PostgresCheckpointStore,
    source: &Path,
    reference: &CheckpointRef,
) -> Result<()> {
    let transaction = patient(store).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
    let size = i64::try_from(reference.size())
        .map_err(|_| Error::new(ErrorKind::Limit, "Checkpoint object exceeds its limit"))?;
    // Waits for another put of the same bytes; when that one counts, this one has nothing to write.
    let claimed = transaction
        .row(
            &store.tables.claim,
            &[
                (&reference.sha256(), Type::TEXT),
                (&size, Type::INT8),
                (&now, Type::INT8),
            ],
        )
        .await?;
    if claimed.is_some() {
        write_chunks(store, &transaction, source, reference).await?;
    }
    transaction.end().await
}

async fn write_chunks(
    store: &PostgresCheckpointStore,
    transaction: &Transaction,
    source: &Path,
    reference: &CheckpointRef,
) -> Result<()> {
    let (path, chunk_bytes) = (source.to_path_buf(), store.chunk_bytes);
    let mut source = blocking(move || Source::open(path)).await?;
    for seq in 0_i32.. {
        let (back, chunk) = blocking(move || source.next(chunk_bytes)).await?;
        source = back;
        if chunk.is_empty() || source.size > reference.size() {
            break;
        }
        let row: [Value<'_>; 3] = [
            (&reference.sha256(), Type::TEXT),
            (&seq, Type::INT4),
            (&chunk, Type::BYTEA),
        ];
        transaction.execute(&store.tables.insert, &row).await?;
    }
    // Nothing counts before the transaction's end, so a source that changed publishes nothing.
    if source.size != reference.size() || hex(&source.digest.finalize()) != reference.sha256() {
        return fail(
            ErrorKind::UnsafeContent,
            "Checkpoint source changed while it was stored",
        );
    }
    Ok(())
}

fn digest(path: PathBuf, max_bytes: u64) -> Result<CheckpointRef> {
    let mut source = Source::open(path)?;
    loop {
        let (back, piece) = source.next(PIECE)?;
        source = back;
        if source.size > max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint object exceeds its limit");
        }
        if piece.is_empty() {
            break;
        }
    }
    if source.size == 0 {
        return fail(ErrorKind::BadReference, "Checkpoint object is empty");
    }
    CheckpointRef::new(hex(&source.digest.finalize()), source.size)
}

/// The file that is stored, and what was read of it.
struct Source {
    path: PathBuf,
    file: File,
    digest: Sha256,
    size: u64,
}

impl Source {
    fn open(path: PathBuf) -> Result<Self> {
        Ok(Self {
            file: open_regular(&path)?,
            path,
            digest: Sha256::new(),
            size: 0,
        })
    }

    /// The next `length` bytes, fewer at the end alone.
    fn next(mut self, length: usize) -> Result<(Self, Vec<u8>)> {
        let mut chunk = Vec::new();
        let read = (&self.file).take(length as u64).read_to_end(&mut chunk);
        read.map_err(|error| Error::io("read", &self.path, error))?;
        self.digest.update(&chunk);
        self.size += chunk.len() as u64;
        Ok((self, chunk))
    }
}
