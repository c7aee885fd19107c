//! An open run's checkout, ready to be compared with any base.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::base::{self, BaseTree};
use super::checkout::{Checkout, DOT_GIT};
use super::compare::{Change, Comparison, Side, Source, against_scan, against_tree};
use super::diff::{self, Known, submodule_change};
use super::index::{GITLINK, Index};
use super::model::{Base, BaseChoice, Diff, FileChange, FilePatch, Notice, PatchOptions, Status};
use super::objects::PrivateObjects;
use super::process::{Worker, unexpected};
use super::protocol::{Request, Response};
use super::refs::{Head, Id, parse_id};
use super::scan::{Scan, Tracked, scan};
use super::tree::join;
use crate::archive::Archive;
use crate::checkpoint::blocking;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::{Stage, Watch};
use crate::runs::{Opening, Previous, Repository, RunRow, Runs};

const TREE_TIME: Duration = Duration::from_secs(20);
const PATCH_TIME: Duration = Duration::from_secs(15);
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

/// The worker and what it holds.
#[derive(Default)]
struct Session {
    objects: Option<PrivateObjects>,
    worker: Option<Worker>,
    /// The comparison the worker holds.
    held: Option<Arc<Comparison>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session")
            .field("worker", &self.worker.is_some())
            .finish_non_exhaustive()
    }
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
            return no_checkout();
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
            None => no_checkout(),
            Some(Head::At { id, .. }) => {
                Ok(Resolved::Commit(Base::Head(super::refs::show_id(id)), *id))
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
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.compare_in(&mut session, base, &mut notices, watch);
        if answer.is_err() {
            // Whatever state it is in, the next call starts from a fresh one.
            session.worker = None;
            session.held = None;
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
        let mut all_notices = self.checkout.notices.clone();
        all_notices.append(notices);
        self.start(session, &mut all_notices, watch)?;
        let made = match &base {
            Resolved::Commit(_, id) => {
                let Some(worker) = session.worker.as_mut() else {
                    return fail(ErrorKind::UnsafeContent, "The review worker is gone");
                };
                worker.allow(TREE_TIME, watch);
                let tree = base::list(worker, *id)?;
                worker.rest();
                self.with_tree(session, &tree, watch)?
            }
            Resolved::Empty => self.with_tree(session, &BaseTree::new(), watch)?,
            Resolved::Run(_, archive) => self.with_run(archive, watch)?,
        };
        let Made {
            comparison,
            scan,
            extra,
            notices,
        } = made;
        all_notices.extend(notices);
        let comparison = Arc::new(comparison);
        let Some(worker) = session.worker.as_mut() else {
            return fail(ErrorKind::UnsafeContent, "The review worker is gone");
        };
        let known = Known {
            index: self.index(),
            head: HashSet::new(),
        };
        let compared = diff::compare(worker, &comparison, &known, watch)?;
        session.held = compared.alive.then(|| Arc::clone(&comparison));
        if !compared.alive {
            session.worker = None;
        }
        all_notices.extend(compared.notices);
        let mut files = compared.files;
        files.extend(extra);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        all_notices.extend(self.hidden_by_index(&files));
        let commits = self.commits(session, &mut all_notices, watch)?;
        let base = match base {
            Resolved::Commit(base, _) | Resolved::Run(base, _) => base,
            Resolved::Empty => Base::Empty,
        };
        all_notices.sort();
        all_notices.dedup();
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

    fn index(&self) -> Option<&Index> {
        self.checkout.git.as_ref().map(|git| &git.index)
    }

    fn git_dir(&self) -> Option<&'static [u8]> {
        self.checkout.git.as_ref().map(|_| DOT_GIT)
    }

    /// Makes the private repository once, and a worker on it when there is none.
    fn start(&self, session: &mut Session, notices: &mut Vec<Notice>, watch: &Watch) -> Result<()> {
        if session.objects.is_none() {
            let objects = PrivateObjects::new()?;
            if self.checkout.git.is_some() {
                objects.add(&self.checkout.tree, DOT_GIT, notices, watch)?;
            }
            session.objects = Some(objects);
        }
        if session.worker.is_none()
            && let Some(objects) = &session.objects
        {
            session.held = None;
            session.worker = Some(Worker::start(objects.path())?);
        }
        Ok(())
    }

    /// The working tree against a commit's tree.
    fn with_tree(&self, session: &mut Session, base: &BaseTree, watch: &Watch) -> Result<Made> {
        let tree = &self.checkout.tree;
        let mut tracked = Tracked::default();
        for (path, (mode, _)) in base {
            tracked.add(path, *mode, true);
        }
        if let Some(index) = self.index() {
            tracked.add_index(index);
        }
        let mut scan = scan(tree, self.git_dir(), self.index(), &tracked, watch)?;
        let (mut changes, mut notices) = {
            let mut base_has_crlf = |id: Id| match session.worker.as_mut() {
                Some(worker) => {
                    worker.allow(PATCH_TIME, watch);
                    worker.send(&Request::HasCrlf { blob: id })?;
                    match worker.receive()? {
                        Response::Truth(truth) => Ok(truth),
                        other => Err(unexpected(&other)),
                    }
                }
                None => Ok(false),
            };
            against_tree(tree, self.git_dir(), base, &scan, &mut base_has_crlf, watch)?
        };
        let extra = self.submodules(session, base, &scan, &mut changes, watch)?;
        notices.append(&mut scan.notices);
        Ok(Made {
            comparison: Comparison {
                changes,
                old_archive: None,
                new_archive: Arc::clone(&self.archive),
            },
            scan,
            extra,
            notices,
        })
    }

    /// The working tree against another run's.
    fn with_run(&self, archive: &Arc<Archive>, watch: &Watch) -> Result<Made> {
        let other = Checkout::read(archive, self.checkout.pin.clone())?;
        // Both sides are looked at from the same folder.
        let all = super::tree::WorkTree::new(Arc::clone(archive));
        let other_tree = all.below(self.root());
        let same_root = other.tree.root() == self.root();
        let other_git = other.git.as_ref().filter(|_| same_root);
        let mut tracked = Tracked::default();
        if let Some(git) = other_git {
            tracked.add_index(&git.index);
        }
        let other_dir = other_git.map(|_| DOT_GIT);
        let before = scan(
            &other_tree,
            other_dir,
            other_git.map(|git| &git.index),
            &tracked,
            watch,
        )?;
        let mut tracked = Tracked::default();
        for (path, found) in &before.files {
            tracked.add(path, found.mode, true);
        }
        if let Some(index) = self.index() {
            tracked.add_index(index);
        }
        let mut after = scan(
            &self.checkout.tree,
            self.git_dir(),
            self.index(),
            &tracked,
            watch,
        )?;
        let mut changes = against_scan(archive, &before, &self.archive, &after, watch)?;
        let links: std::collections::BTreeSet<_> =
            before.nested.keys().chain(after.nested.keys()).collect();
        for path in links {
            let side = |scan: &Scan| {
                let head = scan.nested.get(path)?.head?;
                Some(Side {
                    mode: GITLINK,
                    source: Source::Object(head),
                })
            };
            let (old, new) = (side(&before), side(&after));
            let id = |side: &Option<Side>| match side {
                Some(Side {
                    source: Source::Object(id),
                    ..
                }) => Some(*id),
                _ => None,
            };
            if id(&old) != id(&new) {
                changes.push(Change {
                    path: path.clone(),
                    old,
                    new,
                });
            }
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        let notices = std::mem::take(&mut after.notices);
        Ok(Made {
            comparison: Comparison {
                changes,
                old_archive: Some(Arc::clone(archive)),
                new_archive: Arc::clone(&self.archive),
            },
            scan: after,
            extra: Vec::new(),
            notices,
        })
    }

    /// Nested checkouts against what the base records: at another commit, dirty, new or gone.
    fn submodules(
        &self,
        session: &mut Session,
        base: &BaseTree,
        scan: &Scan,
        changes: &mut Vec<Change>,
        watch: &Watch,
    ) -> Result<Vec<FileChange>> {
        let link = |id: Id| {
            Some(Side {
                mode: GITLINK,
                source: Source::Object(id),
            })
        };
        let mut extra = Vec::new();
        for (path, nested) in &scan.nested {
            let recorded = base
                .get(path)
                .filter(|(mode, _)| *mode == GITLINK)
                .map(|(_, id)| *id);
            match (recorded, nested.head) {
                (Some(recorded), Some(head)) if recorded != head => changes.push(Change {
                    path: path.clone(),
                    old: link(recorded),
                    new: link(head),
                }),
                (Some(recorded), Some(head)) => {
                    if self.is_dirty(session, path, nested.git_dir.as_deref(), head, watch) {
                        let why = "a submodule at the recorded commit whose files differ from it";
                        extra.push(submodule_change(
                            path.clone(),
                            Status::Submodule,
                            Some(recorded),
                            why,
                        ));
                    }
                }
                // Not checked out: nothing differs.
                (Some(_), None) => {}
                (None, Some(head)) => changes.push(Change {
                    path: path.clone(),
                    old: base.get(path).map(|(mode, id)| Side {
                        mode: *mode,
                        source: Source::Object(*id),
                    }),
                    new: link(head),
                }),
                (None, None) => {
                    let shown = [&path[..], b"/"].concat();
                    extra.push(submodule_change(
                        shown,
                        Status::Untracked,
                        None,
                        "a checkout of its own without a commit",
                    ));
                }
            }
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(extra)
    }

    /// Whether a nested checkout's files differ from its own HEAD; what cannot be told is dirty.
    fn is_dirty(
        &self,
        session: &mut Session,
        path: &[u8],
        git_dir: Option<&[u8]>,
        head: Id,
        watch: &Watch,
    ) -> bool {
        let mut look = || -> Result<bool> {
            let tree = self.checkout.tree.below(path);
            if let (Some(objects), Some(git_dir)) = (&session.objects, git_dir) {
                objects.add(&self.checkout.tree, git_dir, &mut Vec::new(), watch)?;
            }
            let Some(worker) = session.worker.as_mut() else {
                return Ok(true);
            };
            worker.allow(TREE_TIME, watch);
            let base = base::list(worker, head)?;
            worker.rest();
            let mut tracked = Tracked::default();
            for (path, (mode, _)) in &base {
                tracked.add(path, *mode, true);
            }
            let own_dir = (git_dir == Some(&join(path, DOT_GIT)[..])).then_some(DOT_GIT);
            let scan = scan(&tree, own_dir, None, &tracked, watch)?;
            let (changes, _) =
                against_tree(&tree, own_dir, &base, &scan, &mut |_| Ok(false), watch)?;
            Ok(!changes.is_empty())
        };
        look().unwrap_or(true)
    }

    /// Changes that the index's flags would have kept off git's screen.
    fn hidden_by_index(&self, files: &[FileChange]) -> Vec<Notice> {
        let Some(index) = self.index() else {
            return Vec::new();
        };
        let changed: HashSet<&[u8]> = files.iter().map(|file| &file.path[..]).collect();
        index
            .entries
            .iter()
            .filter(|entry| changed.contains(&entry.path[..]))
            .filter_map(|entry| {
                let flag = match (entry.assume_unchanged, entry.skip_worktree) {
                    (true, _) => "assume-unchanged",
                    (_, true) => "skip-worktree",
                    _ => return None,
                };
                Some(Notice::at(
                    "index-flags",
                    &entry.path,
                    format!("the index hides this change from git ({flag})"),
                ))
            })
            .collect()
    }

    fn commits(
        &self,
        session: &mut Session,
        notices: &mut Vec<Notice>,
        watch: &Watch,
    ) -> Result<Vec<super::model::Commit>> {
        let pin = self
            .checkout
            .pin
            .as_ref()
            .and_then(|pin| parse_id(pin.commit.as_bytes()));
        let head = self
            .head
            .as_ref()
            .and_then(|head| parse_id(head.as_bytes()));
        let (Some(pin), Some(head)) = (pin, head) else {
            return Ok(Vec::new());
        };
        if pin == head {
            return Ok(Vec::new());
        }
        self.start(session, notices, watch)?;
        let Some(worker) = session.worker.as_mut() else {
            return Ok(Vec::new());
        };
        worker.allow(LOG_TIME, watch);
        match base::log(worker, head, pin, MAX_COMMITS) {
            Ok(commits) => {
                worker.rest();
                Ok(commits)
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            Err(error) => {
                session.worker = None;
                session.held = None;
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
        self.each_delta(diff, file, watch, |worker, delta| {
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
        self.each_delta(diff, file, watch, |worker, delta| {
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

    /// Asks a worker that holds the diff's comparison about each delta of one file.
    fn each_delta(
        &self,
        diff: &Diff,
        file: usize,
        watch: &Watch,
        mut ask: impl FnMut(&mut Worker, u32) -> Result<()>,
    ) -> Result<()> {
        let Some(file) = diff.files.get(file) else {
            return fail(ErrorKind::Usage, "There is no such file in the diff");
        };
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = &mut *session;
        let held = session
            .held
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(held, &diff.comparison));
        if !held || session.worker.is_none() {
            session.worker = None;
            self.start(session, &mut Vec::new(), watch)?;
            let Some(worker) = session.worker.as_mut() else {
                return fail(ErrorKind::UnsafeContent, "The review worker is gone");
            };
            worker.allow(PATCH_TIME * 2, watch);
            diff::send_changes(worker, &diff.comparison, watch)?;
            match worker.receive()? {
                Response::Opaque(_) => {}
                other => return Err(unexpected(&other)),
            }
            diff::receive_deltas(worker, &diff.comparison)?;
            diff::receive_counts(worker, &mut Default::default())?;
            session.held = Some(Arc::clone(&diff.comparison));
        }
        let Some(worker) = session.worker.as_mut() else {
            return fail(ErrorKind::UnsafeContent, "The review worker is gone");
        };
        worker.allow(PATCH_TIME, watch);
        let answer = file.deltas.iter().try_for_each(|delta| ask(worker, *delta));
        match answer {
            Ok(()) => worker.rest(),
            Err(_) => {
                session.worker = None;
                session.held = None;
            }
        }
        answer
    }
}

/// A comparison before the worker has seen it.
struct Made {
    comparison: Comparison,
    scan: Scan,
    extra: Vec<FileChange>,
    notices: Vec<Notice>,
}

fn no_checkout<T>() -> Result<T> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "This run left no checkout, only plain files",
    )
    .hint("--base previous or empty"))
}
