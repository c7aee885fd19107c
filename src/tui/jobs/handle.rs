//! What an open run keeps alive: its archive, its review worker, its diff. The state carries these
//! as opaque handles; tests carry none.

use std::fmt;
use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tokio::sync::{Mutex, OnceCell};

use crate::archive::Archive;
use crate::error::Result;
use crate::progress::Watch;
use crate::review::{Diff, Review};
use crate::runs::RunRow;

/// An open run.
pub(crate) struct Live {
    pub(crate) row: RunRow,
    pub(crate) archive: Arc<Archive>,
    /// Whose turn it is with the worker.
    pub(crate) turn: Mutex<()>,
    review: OnceCell<Arc<Review>>,
    /// Held until its private files are removed and its worker has ended: leaving waits for that.
    alive: Sender<()>,
}

impl Live {
    /// The checkout's review, read when it is first needed.
    pub(crate) async fn review(&self, watch: &Watch) -> Result<Arc<Review>> {
        let open = || Review::open(Arc::clone(&self.archive), self.row.repository(), watch);
        self.review.get_or_try_init(open).await.cloned()
    }

    /// Ends its worker, which starts again when it is needed.
    pub(crate) fn rest(&self) {
        if let Some(review) = self.review.get() {
            review.rest();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Closing a large spool and ending a worker wait on the system: not on the event loop.
        let parts = (Arc::clone(&self.archive), self.review.take());
        let alive = self.alive.clone();
        // Where there is no thread for it, they are let go here.
        let _ = crate::threads::start(move || {
            drop(parts);
            drop(alive);
        });
    }
}

/// An open run, held by the state for its jobs.
#[derive(Clone, Default)]
pub struct Handle(Option<Arc<Live>>);

impl Handle {
    pub(crate) fn new(row: RunRow, archive: Arc<Archive>, alive: Sender<()>) -> Self {
        Self(Some(Arc::new(Live {
            row,
            archive,
            turn: Mutex::new(()),
            review: OnceCell::new(),
            alive,
        })))
    }

    pub(crate) fn live(&self) -> Option<&Arc<Live>> {
        self.0.as_ref()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Handle({})", self.0.is_some())
    }
}

/// A comparison, held by the state for its jobs.
#[derive(Clone, Default)]
pub struct DiffHandle(Option<Arc<Diff>>);

impl DiffHandle {
    pub(crate) fn new(diff: Arc<Diff>) -> Self {
        Self(Some(diff))
    }

    pub(crate) fn diff(&self) -> Option<&Arc<Diff>> {
        self.0.as_ref()
    }
}

impl fmt::Debug for DiffHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DiffHandle({})", self.0.is_some())
    }
}
