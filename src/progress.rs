//! How long work tells how far it is, and how it is told to stop.

use std::sync::Arc;

pub use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// The steps of the proof chain and of a restore, in the order of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The run's row is read.
    Row,
    /// The gate answers.
    Gate,
    /// The stored object is found and its size compared.
    Object,
    /// Its bytes are hashed; done and total are stored bytes.
    Digest,
    /// The archive is inflated and validated; done counts archive bytes.
    Archive,
    /// The virtual checkout is read; done and total are files hashed.
    Checkout,
    /// The diff is made.
    Diff,
    /// Files are written; done and total are archive bytes.
    Restore,
}

/// How far one step is. `total` is 0 when it is not known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step at work.
    pub stage: Stage,
    /// Bytes or files done so far (see [`Stage`]).
    pub done: u64,
    /// All there is to do, 0 when unknown.
    pub total: u64,
    /// Whether the step has passed.
    pub finished: bool,
}

type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// The two strings attached to long work: a listener for progress and a token that cancels it.
///
/// Cloning shares both. The default reports to nobody and is never cancelled.
#[derive(Clone, Default)]
pub struct Watch {
    listener: Option<Listener>,
    cancel: CancellationToken,
}

impl Watch {
    /// Work that `cancel` stops.
    #[must_use]
    pub fn new(cancel: CancellationToken) -> Self {
        Self {
            listener: None,
            cancel,
        }
    }

    /// Work that also reports to `listener`, which must be quick: it is called from the worker.
    #[must_use]
    pub fn reporting(
        cancel: CancellationToken,
        listener: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Self {
        Self {
            listener: Some(Arc::new(listener)),
            cancel,
        }
    }

    /// The token that stops the work.
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Fails with [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) once cancelled.
    ///
    /// # Errors
    /// Only that one.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::cancelled());
        }
        Ok(())
    }

    /// Waits for `work` until cancelled; for work that leaves nothing behind when it is dropped.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Error::cancelled()),
            done = work => done,
        }
    }

    /// Reports that `stage` has done `done` of `total`.
    pub fn at(&self, stage: Stage, done: u64, total: u64) {
        self.tell(stage, done, total, false);
    }

    /// Reports that `stage` has passed with `done` bytes or files.
    pub fn passed(&self, stage: Stage, done: u64) {
        self.tell(stage, done, done, true);
    }

    fn tell(&self, stage: Stage, done: u64, total: u64, finished: bool) {
        if let Some(listener) = &self.listener {
            listener(Progress {
                stage,
                done,
                total,
                finished,
            });
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Watch")
            .field("cancelled", &self.cancel.is_cancelled())
            .finish_non_exhaustive()
    }
}
