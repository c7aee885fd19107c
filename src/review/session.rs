//! One checkout's worker, the objects it reads, and the comparison it holds.

use std::sync::Arc;
use std::time::Duration;

use super::change::Comparison;
use super::checkout::{Checkout, DOT_GIT};
use super::id::{parse_id, show_id};
use super::model::{Diff, Notice};
use super::objects::{PrivateObjects, Rejected};
use super::process::Worker;
use super::received;
use super::sent;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::Watch;

/// What one file's patch may take, and twice that to compare once more before it.
pub(crate) const PATCH_TIME: Duration = Duration::from_secs(15);

/// The tag of the notice that the worker is held to less than it should be.
const SANDBOX: &str = "sandbox";

/// The worker and what it holds; both start on first need.
#[derive(Default)]
pub(crate) struct Session {
    objects: Option<PrivateObjects>,
    worker: Option<Worker>,
    held: Option<Arc<Comparison>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session")
            .field("worker", &self.worker.is_some())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// The private repository of the checkout's objects, made once.
    pub(crate) fn objects(
        &mut self,
        checkout: &Checkout,
        notices: &mut Vec<Notice>,
        watch: &Watch,
    ) -> Result<&mut PrivateObjects> {
        if self.objects.is_none() {
            let mut objects = PrivateObjects::new(checkout.tree.archive().spool().scratch())?;
            if checkout.git.is_some() {
                objects.add(&checkout.tree, DOT_GIT, notices, watch)?;
            }
            self.objects = Some(objects);
        }
        match &mut self.objects {
            Some(objects) => Ok(objects),
            None => fail(ErrorKind::Io, "The private objects are gone"),
        }
    }

    /// The worker, started when there is none.
    pub(crate) fn worker(
        &mut self,
        checkout: &Checkout,
        notices: &mut Vec<Notice>,
        watch: &Watch,
    ) -> Result<&mut Worker> {
        if self.worker.is_none() {
            self.held = None;
            let objects = self.objects(checkout, notices, watch)?;
            objects.forget_sent();
            let folder = objects.path().to_path_buf();
            let worker = Worker::start(&folder)?;
            let said = notices.iter().any(|notice| notice.tag == SANDBOX);
            if let Some(missing) = worker.confinement().missing().filter(|_| !said) {
                let message = format!("the review worker is not fully confined: {missing}");
                notices.push(Notice::new(SANDBOX, message));
            }
            self.worker = Some(worker);
        }
        match (&mut self.worker, &mut self.objects) {
            (Some(worker), Some(objects)) => {
                objects.send_loose(worker)?;
                Ok(worker)
            }
            _ => fail(ErrorKind::UnsafeContent, "The review worker is gone"),
        }
    }

    /// Loose objects of the checkout that the worker is not given.
    pub(crate) fn rejected(&self) -> Rejected {
        let objects = self.objects.as_ref();
        objects.map(PrivateObjects::rejected).unwrap_or_default()
    }

    /// Says why an object is missing though the checkout has a file for it.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let (told, rejected) = (error.to_string(), self.rejected());
        let mut ids = told.split(' ').filter_map(|word| parse_id(word.as_bytes()));
        let found = ids.find_map(|id| Some((id, rejected.get(&id)?)));
        let Some((id, unfit)) = found else {
            return error;
        };
        let (id, why) = (show_id(&id), unfit.why());
        let message = format!("An object cannot be read: the file of {id} {why}");
        Error::new(ErrorKind::UnsafeContent, message)
            .hint("`afterrun tree` and `afterrun restore` do not need git's objects")
    }

    /// Whether the worker has made its one comparison.
    pub(crate) fn has_compared(&self) -> bool {
        self.held.is_some()
    }

    /// Notes that the worker holds `comparison`.
    pub(crate) fn hold(&mut self, comparison: &Arc<Comparison>) {
        self.held = Some(Arc::clone(comparison));
    }

    /// Ends the worker: whatever state it is in, the next call starts from a fresh one.
    pub(crate) fn end(&mut self) {
        self.worker = None;
        self.held = None;
    }

    /// Asks a worker that holds the diff's comparison about each delta of one file.
    pub(crate) fn each_delta(
        &mut self,
        checkout: &Checkout,
        diff: &Diff,
        file: usize,
        watch: &Watch,
        mut ask: impl FnMut(&mut Worker, u32) -> Result<()>,
    ) -> Result<()> {
        let Some(file) = diff.files.get(file) else {
            return fail(ErrorKind::Usage, "There is no such file in the diff");
        };
        let answer = self
            .holding(checkout, &diff.comparison, watch)
            .and_then(|worker| {
                worker.allow(PATCH_TIME, watch);
                file.deltas
                    .iter()
                    .try_for_each(|delta| ask(worker, *delta))?;
                worker.rest();
                Ok(())
            });
        if answer.is_err() {
            self.end();
        }
        answer
    }

    /// A worker that holds `comparison`, which is sent once more when it does not.
    fn holding(
        &mut self,
        checkout: &Checkout,
        comparison: &Arc<Comparison>,
        watch: &Watch,
    ) -> Result<&mut Worker> {
        let held = self
            .held
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(held, comparison));
        if !held {
            self.end();
            let worker = self.worker(checkout, &mut Vec::new(), watch)?;
            worker.allow(PATCH_TIME * 2, watch);
            sent::send_changes(worker, comparison, watch)?;
            received::receive_opaque(worker, comparison.changes.len())?;
            let deltas = received::receive_deltas(worker, &comparison.paths())?;
            received::receive_counts(worker, deltas.len(), &mut Default::default())?;
            self.hold(comparison);
        }
        self.worker(checkout, &mut Vec::new(), watch)
    }
}
