//! An open run's checkout, ready to be compared with any base.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::base::{self, BaseTree};
use super::checkout::Checkout;
use super::diff::{self, Known};
use super::id::{Id, parse_id};
use super::model::{Base, BaseChoice, Commit, Diff, FilePatch, Notice, PatchOptions};
use super::process::unexpected;
use super::protocol::{Request, Response};
use super::refs::Head;
use super::remarks;
use super::session::Session;
use super::sides::{self, Made, TREE_TIME};
use crate::archive::Archive;
use crate::checkpoint::blocking;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::{Stage, Watch};
use crate::runs::{Opening, Previous, Repository, RunRow, Runs, block_on};

const LOG_TIME: Duration = Duration::from_secs(10);
/// Commits since the pin that are listed.
const MAX_COMMITS: u32 = 1000;

/// The checkout of one open run. Its worker starts on first need; calls take turns.
#[derive(Debug)]
pub struct Review {
    archive: Arc<Archive>,
    checkout: Checkout,
    head: Option<String>,
    session: Mutex<Session>,
}

/// A base whose other side is known.
enum Resolved {
    Commit(Base, Id),
    Run(Base, Arc<Archive>),
    Empty,
}

impl Review {
    /// Reads the checkout out of a verified archive. `pin` is the row's; without one the archive's
    /// own word of it counts.
    ///
    /// # Errors
    /// When the spool cannot be read.
    pub fn blocking_open(
        archive: Arc<Archive>,
        pin: Option<Repository>,
        watch: &Watch,
    ) -> Result<Self> {
        watch.check()?;
        let checkout = Checkout::read(&archive, pin)?;
        let head = checkout.head();
        watch.passed(Stage::Checkout, archive.entries().len() as u64);
        Ok(Self {
            archive,
            checkout,
            head,
            session: Mutex::default(),
        })
    }

    /// Async [`Review::blocking_open`].
    ///
    /// # Errors
    /// The same.
    pub async fn open(
        archive: Arc<Archive>,
        pin: Option<Repository>,
        watch: &Watch,
    ) -> Result<Arc<Self>> {
        let watch = watch.clone();
        blocking(move || Self::blocking_open(archive, pin, &watch).map(Arc::new)).await
    }

    /// The archive.
    #[must_use]
    pub fn archive(&self) -> &Arc<Archive> {
        &self.archive
    }

    /// What was noticed about the checkout itself.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.checkout.notices
    }

    /// HEAD's commit, 40 hex digits.
    #[must_use]
    pub fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// The repository the session started from.
    #[must_use]
    pub fn pin(&self) -> Option<&Repository> {
        self.checkout.pin.as_ref()
    }

    /// Whether there is a checkout; without one plain files are compared.
    #[must_use]
    pub fn is_checkout(&self) -> bool {
        self.checkout.git.is_some()
    }

    /// The folder compared: `workspace/repository` or `workspace`.
    #[must_use]
    pub fn root(&self) -> &[u8] {
        self.checkout.tree.root()
    }

    /// Compares the run's working tree with a base; another run is opened for it, as its own agent.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafeContent`] when the checkout cannot be compared safely,
    /// [`ErrorKind::Unsupported`] when the base asked for does not exist here, what opening another
    /// run answers.
    pub async fn diff(
        self: &Arc<Self>,
        runs: &Runs,
        row: &RunRow,
        choice: &BaseChoice,
        watch: &Watch,
    ) -> Result<Diff> {
        let previous = |wanted: bool| async move {
            if !wanted {
                return Ok(Err(String::new()));
            }
            match runs.previous(row).await? {
                Previous::None(why) => Ok(Err(why)),
                Previous::Run(run) => {
                    let quiet = Watch::new(watch.token().clone());
                    let opened = runs.open_run(&run.run_id, &Opening::Own, &quiet).await?;
                    Ok::<_, Error>(Ok(Resolved::Run(
                        Base::Previous(run.run_id.clone()),
                        opened.archive,
                    )))
                }
            }
        };
        let resolved = match choice {
            BaseChoice::Run(run_id) => {
                let quiet = Watch::new(watch.token().clone());
                let opened = runs.open_run(run_id, &Opening::Own, &quiet).await?;
                Some(Resolved::Run(Base::Run(run_id.clone()), opened.archive))
            }
            BaseChoice::Previous => match previous(true).await? {
                Ok(resolved) => Some(resolved),
                Err(why) => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!("There is no previous turn to compare with: {why}"),
                    )
                    .hint("--base pin, head or empty"));
                }
            },
            BaseChoice::Default if !self.has_commits() => {
                previous(true).await.ok().and_then(Result::ok)
            }
            _ => None,
        };
        let (this, choice, watch) = (Arc::clone(self), choice.clone(), watch.clone());
        blocking(move || match resolved {
            Some(resolved) => this.compare(resolved, Vec::new(), &watch),
            None => this.blocking_diff_archive(&choice, &watch),
        })
        .await
    }

    /// Blocking [`Review::diff`], for callers without a runtime.
    ///
    /// # Errors
    /// The same.
    pub fn blocking_diff(
        self: &Arc<Self>,
        runs: &Runs,
        row: &RunRow,
        choice: &BaseChoice,
        watch: &Watch,
    ) -> Result<Diff> {
        block_on(self.diff(runs, row, choice, watch))?
    }

    /// Ends the worker and lets its memory go; the next call starts another. Waits for a call that
    /// is under way.
    pub fn rest(&self) {
        self.session().end();
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the session's worker; after a failure the next call starts from a fresh one.
    pub(crate) fn in_session<T>(
        &self,
        ask: impl FnOnce(&mut Session, &Checkout) -> Result<T>,
    ) -> Result<T> {
        let mut session = self.session();
        let answer = ask(&mut session, &self.checkout);
        if answer.is_err() {
            session.end();
        }
        answer
    }

    /// Whether a commit can be the default base.
    fn has_commits(&self) -> bool {
        self.checkout.git.is_some() && (self.head.is_some() || self.checkout.pin.is_some())
    }

    /// Compares with a base that needs no other run: default, pin, head or empty.
    ///
    /// # Errors
    /// As [`Review::diff`].
    pub fn blocking_diff_archive(&self, choice: &BaseChoice, watch: &Watch) -> Result<Diff> {
        match choice {
            BaseChoice::Pin => self.compare(self.pin_base()?, Vec::new(), watch),
            BaseChoice::Head => self.compare(self.head_base()?, Vec::new(), watch),
            BaseChoice::Empty => self.compare(Resolved::Empty, Vec::new(), watch),
            BaseChoice::Previous | BaseChoice::Run(_) => fail(
                ErrorKind::Unsupported,
                "A bare archive has no other run to compare with",
            ),
            BaseChoice::Default => self.default_diff(watch),
        }
    }

    /// The pin when its objects are there; a pin that is gone is said loudly before HEAD is used.
    fn default_diff(&self, watch: &Watch) -> Result<Diff> {
        let mut notices = Vec::new();
        if self.checkout.git.is_some() && self.checkout.pin.is_some() {
            match self.pin_base().and_then(|base| self.compare(base, Vec::new(), watch)) {
                Ok(diff) => return Ok(diff),
                Err(error) if error.kind() == ErrorKind::UnsafeContent => notices.push(Notice::new(
                    "pin-missing",
                    format!("the pin cannot be compared with, so commits of the agent may not show: {error}"),
                )),
                Err(error) => return Err(error),
            }
        }
        match self.head_base() {
            Ok(base) => self.compare(base, notices, watch),
            Err(_) if self.checkout.git.is_none() => self.compare(Resolved::Empty, notices, watch),
            Err(error) => Err(error),
        }
    }

    fn pin_base(&self) -> Result<Resolved> {
        let Some(pin) = &self.checkout.pin else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "This run has no pin: its agent has no repository",
            )
            .hint("--base head, previous or empty"));
        };
        if self.checkout.git.is_none() {
            return self.no_checkout();
        }
        match parse_id(pin.commit.as_bytes()) {
            Some(id) => Ok(Resolved::Commit(Base::Pin(pin.commit.to_lowercase()), id)),
            None => fail(
                ErrorKind::UnsafeContent,
                format!(
                    "The pin {} is no commit id",
                    crate::text::visible(&pin.commit)
                ),
            ),
        }
    }

    fn head_base(&self) -> Result<Resolved> {
        match self.checkout.git.as_ref().map(|git| &git.head) {
            None => self.no_checkout(),
            Some(Head::At { id, .. }) => {
                Ok(Resolved::Commit(Base::Head(super::id::show_id(id)), *id))
            }
            // A branch without a commit is an empty tree.
            Some(Head::Unborn { .. }) => Ok(Resolved::Empty),
            Some(Head::Broken(why)) => Err(Error::new(
                ErrorKind::UnsafeContent,
                format!("HEAD cannot be followed: {why}"),
            )
            .hint("--base empty shows every file")),
        }
    }

    fn compare(&self, base: Resolved, mut notices: Vec<Notice>, watch: &Watch) -> Result<Diff> {
        let mut session = self.session();
        let answer = self.compare_in(&mut session, base, &mut notices, watch);
        if answer.is_err() {
            session.end();
        }
        answer
    }

    fn compare_in(
        &self,
        session: &mut Session,
        base: Resolved,
        notices: &mut Vec<Notice>,
        watch: &Watch,
    ) -> Result<Diff> {
        let begun = Instant::now();
        if session.has_compared() {
            session.end();
        }
        let mut all_notices = self.checkout.notices.clone();
        all_notices.append(notices);
        let checkout = &self.checkout;
        let made = match &base {
            Resolved::Commit(_, id) => {
                let worker = session.worker(checkout, &mut all_notices, watch)?;
                worker.allow(TREE_TIME, watch);
                let tree = base::list(worker, *id);
                worker.rest();
                let tree = tree.map_err(|error| session.explain(error))?;
                sides::with_tree(checkout, session, &tree, watch)?
            }
            Resolved::Empty => sides::with_tree(checkout, session, &BaseTree::new(), watch)?,
            Resolved::Run(_, archive) => sides::with_run(checkout, archive, watch)?,
        };
        let Made {
            comparison,
            scan,
            extra,
            notices,
        } = made;
        all_notices.extend(notices);
        let comparison = Arc::new(comparison);
        let known = Known {
            index: sides::index(checkout),
        };
        session.worker(checkout, &mut all_notices, watch)?;
        let rejected = session.rejected();
        let worker = session.worker(checkout, &mut all_notices, watch)?;
        let compared = diff::compare(worker, &comparison, &known, &rejected, watch)?;
        if compared.alive {
            session.hold(&comparison);
        } else {
            session.end();
        }
        all_notices.extend(compared.notices);
        let mut files = compared.files;
        files.extend(extra);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        all_notices.extend(sides::hidden_by_index(&self.checkout, &files));
        all_notices.extend(remarks::of_files(&files));
        let commits = self.commits(session, &mut all_notices, watch)?;
        let base = match base {
            Resolved::Commit(base, _) | Resolved::Run(base, _) => base,
            Resolved::Empty => Base::Empty,
        };
        all_notices.extend(remarks::of_head(&base, checkout.pin.as_ref()));
        remarks::condense(&mut all_notices);
        tracing::info!(
            "compared with {}: {} files changed, {} ignored, {} notices, in {:?}",
            base.label(),
            files.len(),
            scan.ignored,
            all_notices.len(),
            begun.elapsed()
        );
        Ok(Diff {
            base,
            head: self.head.clone(),
            pin: self.checkout.pin.as_ref().map(|pin| pin.commit.clone()),
            files,
            ignored: scan.ignored,
            ignored_paths: scan.ignored_paths,
            commits,
            stashes: self
                .checkout
                .git
                .as_ref()
                .map(|git| git.stashes.clone())
                .unwrap_or_default(),
            notices: all_notices,
            root: self.root().to_vec(),
            comparison,
        })
    }

    /// Commits between the pin and HEAD; what cannot be listed is said, and costs nothing else.
    fn commits(
        &self,
        session: &mut Session,
        notices: &mut Vec<Notice>,
        watch: &Watch,
    ) -> Result<Vec<Commit>> {
        let id = |text: Option<&str>| text.and_then(|text| parse_id(text.as_bytes()));
        let pin = id(self.checkout.pin.as_ref().map(|pin| pin.commit.as_str()));
        let (Some(pin), Some(head)) = (pin, id(self.head())) else {
            return Ok(Vec::new());
        };
        if pin == head {
            return Ok(Vec::new());
        }
        let worker = session.worker(&self.checkout, notices, watch)?;
        worker.allow(LOG_TIME, watch);
        match base::log(worker, head, pin, MAX_COMMITS) {
            Ok(commits) => {
                worker.rest();
                Ok(commits)
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            Err(error) => {
                session.end();
                notices.push(Notice::new(
                    "commits",
                    format!("commits since the pin cannot be listed: {error}"),
                ));
                Ok(Vec::new())
            }
        }
    }

    /// The hunks of `diff.files[file]`.
    ///
    /// # Errors
    /// [`ErrorKind::Timeout`], [`ErrorKind::UnsafeContent`] when the worker stops.
    pub fn blocking_patch(
        &self,
        diff: &Diff,
        file: usize,
        options: PatchOptions,
        watch: &Watch,
    ) -> Result<FilePatch> {
        let mut whole = FilePatch::default();
        self.session()
            .each_delta(&self.checkout, diff, file, watch, |worker, delta| {
                worker.send(&Request::Patch { delta, options })?;
                match worker.receive()? {
                    Response::Patch(part) => {
                        whole.hunks.extend(part.hunks);
                        whole.binary |= part.binary;
                        whole.truncated = whole.truncated.take().or(part.truncated);
                        Ok(())
                    }
                    other => Err(unexpected(&other)),
                }
            })?;
        Ok(whole)
    }

    /// Async [`Review::blocking_patch`].
    ///
    /// # Errors
    /// The same.
    pub async fn patch(
        self: &Arc<Self>,
        diff: &Arc<Diff>,
        file: usize,
        options: PatchOptions,
        watch: &Watch,
    ) -> Result<FilePatch> {
        let (this, diff, watch) = (Arc::clone(self), Arc::clone(diff), watch.clone());
        blocking(move || this.blocking_patch(&diff, file, options, &watch)).await
    }

    /// The patch of `diff.files[file]` in git's own form, binary included; empty when its content
    /// cannot be compared.
    ///
    /// # Errors
    /// As [`Review::blocking_patch`].
    pub fn blocking_patch_text(
        &self,
        diff: &Diff,
        file: usize,
        options: PatchOptions,
        watch: &Watch,
    ) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        self.session()
            .each_delta(&self.checkout, diff, file, watch, |worker, delta| {
                worker.send(&Request::PatchText { delta, options })?;
                loop {
                    match worker.receive()? {
                        Response::Text(piece) => text.extend(piece),
                        Response::Done => return Ok(()),
                        other => return Err(unexpected(&other)),
                    }
                }
            })?;
        Ok(text)
    }

    /// Why there is no HEAD and no pin to compare with.
    fn no_checkout<T>(&self) -> Result<T> {
        let told = &self.checkout.notices;
        let message = match told.iter().find(|told| {
            told.path
                .as_ref()
                .is_some_and(|path| path.ends_with(b".git"))
        }) {
            Some(told) if told.tag == "gitfile" => {
                "This run's .git is a file, which leads elsewhere"
            }
            Some(told) if told.tag == "git-symlink" => {
                "This run's .git is a link, which is not followed"
            }
            _ => "This run left no checkout, only plain files",
        };
        Err(Error::new(ErrorKind::Unsupported, message).hint("--base previous or empty"))
    }
}
