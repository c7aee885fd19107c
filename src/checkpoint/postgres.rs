//! Objects as rows: a header row for each, and its stored bytes in chunk rows.
//!
//! The tables are Agno's own (`tables.rs`), so objects go either way between it and us. Bytes come
//! in slices of chunks (`download.rs`), so that memory is bounded whatever a row holds.

mod blocking;
mod download;
mod failure;
mod pipeline;
mod tables;
mod upload;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use async_trait::async_trait;
use tokio_postgres::types::Type;

use self::tables::{DEFAULT_TABLE, Tables};
use super::copy::leased;
use super::pump::{STALLED, pumped, unless_stalled_for};
use super::{CheckpointRef, CheckpointStore, Lease, StoredObject};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::postgres::{Server, Transaction};
use crate::progress::Watch;
use crate::scratch::Scratch;
use crate::text::visible;

/// The largest chunk that Agno writes.
const LARGEST_CHUNK: usize = 256 << 20;

/// Two tables of a PostgreSQL database (Agno's `PostgresCheckpointStore`).
///
/// Reading never writes: the tables are made by the first [`CheckpointStore::put`] alone.
#[derive(Clone, Debug)]
pub struct PostgresCheckpointStore {
    server: Arc<Server>,
    tables: Arc<Tables>,
    max_bytes: u64,
    chunk_bytes: usize,
    stalled: Duration,
    scratch: Scratch,
    /// The tables are there, and need not be asked for before each put.
    ready: Arc<AtomicBool>,
}

impl PostgresCheckpointStore {
    /// The name of the header table when none is given; `_chunks` is appended for the other one.
    pub const DEFAULT_TABLE: &'static str = DEFAULT_TABLE;

    /// The store in `schema` of the database at `server`, its headers in `table` and its bytes in
    /// `<table>_chunks`; nothing is connected yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for names that are empty or that PostgreSQL would cut: two stores
    /// might share a table then.
    pub fn new(
        server: Arc<Server>,
        schema: impl Into<String>,
        table: impl Into<String>,
    ) -> Result<Self> {
        Ok(Self {
            server,
            tables: Arc::new(Tables::new(schema.into(), table.into())?),
            max_bytes: 1 << 30,
            chunk_bytes: 8 << 20,
            stalled: STALLED,
            scratch: Scratch::default(),
            ready: Arc::default(),
        })
    }

    /// Refuses objects over `max_bytes` (1 GiB unless set).
    #[must_use]
    pub fn with_limit(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Writes rows of `chunk_bytes` (8 MiB unless set), which is also what a put holds in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], in Agno's words, when it is 0 or over 256 MiB.
    pub fn with_chunk_bytes(mut self, chunk_bytes: usize) -> Result<Self> {
        if !(1..=LARGEST_CHUNK).contains(&chunk_bytes) {
            return fail(
                ErrorKind::Usage,
                "Checkpoint chunk size must be between 1 byte and 256 MiB",
            );
        }
        self.chunk_bytes = chunk_bytes;
        Ok(self)
    }

    /// Gives a database up that answers nothing for so long (30 s unless set).
    #[must_use]
    pub fn with_stall_limit(mut self, stalled: Duration) -> Self {
        self.stalled = stalled;
        self
    }

    /// Puts the private copies of opened objects into `scratch`, not into the system's folder for
    /// temporary files.
    #[must_use]
    pub fn with_scratch(mut self, scratch: Scratch) -> Self {
        self.scratch = scratch;
        self
    }

    /// Waits for a transaction until `watch` is cancelled. Connecting and waiting for a connection have
    /// limits of their own, and say whose fault it is.
    async fn begun(
        &self,
        watch: &Watch,
        begun: impl Future<Output = Result<Transaction>>,
    ) -> Result<Transaction> {
        tokio::select! {
            biased;
            () = watch.token().cancelled() => Err(Error::cancelled()),
            begun = begun => begun.map_err(|error| failure::of_store(error, &self.tables)),
        }
    }

    /// Waits for `step` until `watch` is cancelled or the database has stalled.
    async fn step<T>(&self, watch: &Watch, step: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = watch.token().cancelled() => Err(Error::cancelled()),
            answer = unless_stalled_for(self.stalled, step) => {
                answer.map_err(|error| failure::of_store(error, &self.tables))
            }
        }
    }

    /// The size in the object's header.
    async fn head(
        &self,
        transaction: &Transaction,
        reference: &CheckpointRef,
    ) -> Result<Option<i64>> {
        let row = transaction
            .row(&self.tables.head, &[(&reference.sha256(), Type::TEXT)])
            .await?;
        row.map_or(Ok(None), |row| tables::column(&row, 0))
    }

    fn check_limit(&self, reference: &CheckpointRef) -> Result<()> {
        if reference.size() > self.max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint object exceeds its limit");
        }
        Ok(())
    }
}

/// Agno's `_check`: the header is there, and says the reference's size.
fn check_size(reference: &CheckpointRef, size: Option<i64>) -> Result<()> {
    match size.map(u64::try_from) {
        None => Err(
            Error::new(ErrorKind::ObjectMissing, "Checkpoint object is missing")
                .hint("retention keeps only a session's last checkpoints; open a later turn"),
        ),
        Some(Ok(size)) if size == reference.size() => Ok(()),
        Some(_) => fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch"),
    }
}

#[async_trait]
impl CheckpointStore for PostgresCheckpointStore {
    async fn put(&self, source: &Path) -> Result<CheckpointRef> {
        let reference = upload::put(self, source).await?;
        self.verify(&reference, &Watch::default()).await?;
        Ok(reference)
    }

    async fn put_watched(&self, source: &Path, watch: &Watch) -> Result<CheckpointRef> {
        watch.check()?;
        tokio::select! {
            biased;
            () = watch.token().cancelled() => {}
            stored = self.put(source) => return stored,
        }
        self.server.settled().await;
        Err(Error::cancelled())
    }

    async fn verify(&self, reference: &CheckpointRef, watch: &Watch) -> Result<()> {
        self.check_limit(reference)?;
        let transaction = self.begun(watch, self.server.read()).await?;
        let asked = async {
            let size = self.head(&transaction, reference).await?;
            transaction.end().await?;
            Ok(size)
        };
        check_size(reference, self.step(watch, asked).await?)
    }

    async fn open_archive(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Lease> {
        let object = self.fetch(reference, watch).await?;
        leased(object, &self.scratch, watch).await
    }

    async fn fetch(&self, reference: &CheckpointRef, watch: &Watch) -> Result<StoredObject> {
        self.check_limit(reference)?;
        // One moment for the header and every chunk: an object that is deleted meanwhile is read whole.
        let transaction = self.begun(watch, self.server.snapshot()).await?;
        let head = self.head(&transaction, reference);
        check_size(reference, self.step(watch, head).await?)?;
        let (store, wanted) = (self.clone(), reference.clone());
        Ok(pumped(reference, watch, move |pump| async move {
            download::fill(&store, transaction, &wanted, &pump).await
        }))
    }

    async fn contains(&self, reference: &CheckpointRef) -> Result<bool> {
        let watch = Watch::default();
        let transaction = self.begun(&watch, self.server.read()).await?;
        let asked = async {
            let size = self.head(&transaction, reference).await?;
            transaction.end().await?;
            Ok(size.is_some())
        };
        self.step(&watch, asked).await
    }

    async fn delete(&self, reference: &CheckpointRef) -> Result<()> {
        upload::delete(self, reference).await
    }

    fn describe(&self) -> String {
        format!(
            "{}, table {}.{}",
            self.server.describe(),
            visible(&self.tables.schema),
            visible(&self.tables.table)
        )
    }
}
