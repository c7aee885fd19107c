//! What jobs answer, made ready so that taking it in is quick.

use std::ffi::OsString;
use std::sync::Arc;

use super::look::Look;
use super::request::{PageUse, Slot};
use crate::checkpoint::CheckpointRef;
use crate::private::PrivateFolder;
use crate::progress::Progress;
use crate::review::{Commit, Diff, FileChange, Notice, Stash};
use crate::runs::{AgentSummary, Binding, RunPage, RunRow};
use crate::tui::action::Id;
use crate::tui::jobs::{DiffHandle, Handle};
use crate::tui::state::{Detail, Failure, FileContent, FileTree, Patch, Runs};

/// A run that passed gate, store and archive rules.
#[derive(Debug)]
pub struct Verified {
    /// The archive, for further jobs.
    pub handle: Handle,
    /// Its row.
    pub row: RunRow,
    /// What the row commits to.
    pub reference: CheckpointRef,
    /// What a restore would write.
    pub tree: Arc<FileTree>,
    /// The manifest's state, as one line.
    pub state: String,
    /// Why it cannot be restored though it is valid.
    pub unrestorable: Option<String>,
    /// What is written in the archive beside the files.
    pub gzipped: bool,
}

/// A comparison, as far as the screen needs it.
#[derive(Clone, Debug)]
pub struct Compared {
    /// For further jobs.
    pub handle: DiffHandle,
    /// Against what, in a few words.
    pub base: String,
    /// `pin`, `head`, `previous`, `run` or `empty`.
    pub kind: &'static str,
    /// HEAD's commit.
    pub head: Option<String>,
    /// The pin's commit.
    pub pin: Option<String>,
    /// Changed files in path order.
    pub files: Vec<FileChange>,
    /// Lines added in all.
    pub additions: Option<u64>,
    /// Lines deleted in all.
    pub deletions: Option<u64>,
    /// Files left out by ignore rules.
    pub ignored: u64,
    /// Commits between pin and HEAD.
    pub commits: Vec<Commit>,
    /// Stashed work.
    pub stashes: Vec<Stash>,
    /// What was noticed.
    pub notices: Vec<Notice>,
    /// The compared folder.
    pub root: Vec<u8>,
}

impl Compared {
    /// What the screen needs of `diff`.
    #[must_use]
    pub fn of(diff: &Arc<Diff>) -> Self {
        Self {
            handle: DiffHandle::new(Arc::clone(diff)),
            base: diff.base.label(),
            kind: diff.base.kind(),
            head: diff.head.clone(),
            pin: diff.pin.clone(),
            files: diff.files.clone(),
            additions: diff.additions(),
            deletions: diff.deletions(),
            ignored: diff.ignored,
            commits: diff.commits.clone(),
            stashes: diff.stashes.clone(),
            notices: diff.notices.clone(),
            root: diff.root.clone(),
        }
    }
}

/// A restore's plan, or what it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The directory, made visible.
    pub destination: String,
    /// Entries.
    pub entries: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// Links to absolute paths that are left out, made visible.
    pub left_out: Vec<String>,
}

/// Stored bytes that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where, made visible.
    pub path: String,
    /// How many.
    pub size: u64,
    /// Their digest.
    pub sha256: String,
}

/// How typed text may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What was typed.
    pub asked: String,
    /// It, and what all candidates agree on.
    pub completed: String,
    /// The candidates' names, made visible; none where only one was left.
    pub names: Vec<String>,
    /// Whether there are more of them.
    pub more: bool,
}

/// A file's content, copied for an editor; removed when this is dropped.
#[derive(Debug)]
pub struct CopyToEdit {
    /// The command, in words.
    pub words: Vec<OsString>,
    /// The path in the archive, made visible.
    pub shown: String,
    _folder: Arc<PrivateFolder>,
}

impl CopyToEdit {
    /// A copy in `folder`.
    pub(crate) fn new(words: Vec<OsString>, shown: String, folder: PrivateFolder) -> Self {
        Self {
            words,
            shown,
            _folder: Arc::new(folder),
        }
    }
}

/// What typed text turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Resolved {
    /// A run, which may not exist: the gate will say so.
    Run(String),
    /// An action.
    Action(Id),
    /// The start of several ids.
    Several(Vec<String>),
}

/// What a job answers.
#[derive(Debug)]
pub enum Answer {
    /// To [`Request::Agents`](super::Request::Agents).
    Agents(Result<Vec<AgentSummary>, Failure>),
    /// To [`Request::Page`](super::Request::Page).
    Page(PageUse, Result<RunPage, Failure>),
    /// To [`Request::Look`](super::Request::Look).
    Look(Result<Box<Look>, Failure>),
    /// To [`Request::Binding`](super::Request::Binding).
    Bound(Result<Option<Binding>, Failure>),
    /// How far the job is.
    Progress(Progress),
    /// To [`Request::Open`](super::Request::Open).
    Opened(Result<Box<Verified>, Failure>, Option<Box<RunRow>>),
    /// To [`Request::Reopen`](super::Request::Reopen): the row as it is now, and all holds.
    Reopened(Box<RunRow>),
    /// To [`Request::Diff`](super::Request::Diff): the comparison, and the tree with its marks.
    Diff(Result<(Box<Compared>, Arc<FileTree>), Failure>),
    /// To [`Request::Patch`](super::Request::Patch).
    Patch(Result<Patch, Failure>),
    /// To [`Request::File`](super::Request::File); of text, its colours follow.
    File(Result<FileContent, Failure>),
    /// To [`Request::File`](super::Request::File), last: the tones of the text's lines, as far as they are known.
    Coloured(Vec<Runs>),
    /// To [`Request::Unfold`](super::Request::Unfold), with the line's name.
    Unfolded(String, Result<Detail, Failure>),
    /// To [`Request::Restore`](super::Request::Restore), first.
    Plan(Result<Written, Failure>),
    /// To [`Request::Restore`](super::Request::Restore), last.
    Restored(Result<Written, Failure>),
    /// To [`Request::WritePatch`](super::Request::WritePatch): files and bytes.
    PatchWritten(Result<(String, u64, u64), Failure>),
    /// To [`Request::Fetch`](super::Request::Fetch).
    Fetched(Result<Fetched, Failure>),
    /// To [`Request::PatchText`](super::Request::PatchText).
    PatchText(Result<String, Failure>),
    /// To [`Request::Complete`](super::Request::Complete).
    Completed(Result<Completion, Failure>),
    /// To [`Request::CopyToEdit`](super::Request::CopyToEdit).
    ToEdit(Result<CopyToEdit, Failure>),
    /// To [`Request::Resolve`](super::Request::Resolve).
    Resolved(Result<Resolved, Failure>),
    /// To [`Request::Lookup`](super::Request::Lookup).
    Found(Result<Vec<String>, Failure>),
    /// To [`Request::Turn`](super::Request::Turn); why there is none, else.
    Turn(Result<String, Failure>),
    /// To [`Request::Keep`](super::Request::Keep): the file, made visible.
    Kept(Result<String, Failure>),
    /// The job died of a defect of ours.
    Crashed(Slot),
}
