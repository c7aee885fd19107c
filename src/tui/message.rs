//! What comes in (keys, answers of jobs) and what `update` wants done about it. Each request carries
//! a number and each answer the number it answers, so that a late one is known for what it is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use super::action::Id;
use super::jobs::{DiffHandle, Handle};
use super::state::{Detail, Failure, FileContent, FileTree, Patch, Runs};
use crate::checkpoint::CheckpointRef;
use crate::private::PrivateFolder;
use crate::progress::Progress;
use crate::review::{BaseChoice, Commit, Diff, FileChange, Notice, PatchOptions, Stash};
use crate::runs::{AgentSummary, Cursor, RunFilter, RunPage, RunRow};

/// What `update` is told.
#[derive(Debug)]
pub enum Message {
    /// The interface starts.
    Start,
    /// A key press.
    Key(KeyEvent),
    /// Pasted text.
    Paste(String),
    /// The mouse.
    Mouse(MouseEvent),
    /// The terminal's size.
    Resize(u16, u16),
    /// Whether the terminal has the focus of its window, where it says so.
    Focus(bool),
    /// Time passed while something is at work.
    Tick,
    /// The terminal took no copy of this text, and why.
    NotCopied(String, Failure),
    /// What a job answers.
    Answer(u64, Answer),
}

/// What `update` wants done outside the state.
#[derive(Debug)]
pub enum Effect {
    /// Start a job under this number; an older one in its slot is cancelled.
    Start(u64, Request),
    /// Stop what runs in the slot.
    Cancel(Slot),
    /// The plan with this number was agreed to: carry it out.
    Go(u64),
    /// End the worker of a run that is set aside; it starts again when it is needed.
    Rest(Handle),
    /// Put this text on the terminal's clipboard.
    Copy(String),
    /// Say it outside the terminal, where somebody may look elsewhere.
    Notify(String),
    /// Give the terminal to an editor on this copy, and wait for it.
    Edit(CopyToEdit),
    /// Mouse reports on or off.
    Mouse(bool),
    /// Give the terminal back and stop, until the shell goes on.
    Suspend,
    /// Leave.
    Quit,
}

/// Jobs of one slot replace each other: the newest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The counts of the agents.
    Agents,
    /// Pages of the list.
    Page,
    /// Pages of what the database finds for the list's filter.
    Search,
    /// Opening a run.
    Open,
    /// Comparing it with a base.
    Diff,
    /// The file under the cursor.
    Content,
    /// What a line of Info unfolds to.
    Unfold,
    /// Planning and carrying out a restore.
    Restore,
    /// Writing a patch.
    Write,
    /// Writing stored bytes.
    Fetch,
    /// Making a patch to copy.
    Clip,
    /// Completing a path.
    Complete,
    /// Making a copy for an editor.
    Edit,
    /// Ids for the palette.
    Lookup,
    /// From a typed id, or `<` and `>`, to a run.
    Find,
    /// Writing a copy to a file.
    Keep,
}

/// How a page of runs joins the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageUse {
    /// It is the list, from its start.
    Replace,
    /// It goes on where the list ended.
    Append,
    /// Its runs are put where they belong; the list's end stays where it was.
    Merge,
    /// It is what the database finds for the text that is typed.
    Found,
    /// It goes on where that ended.
    FoundMore,
}

impl PageUse {
    /// Where such a page is read.
    #[must_use]
    pub fn slot(self) -> Slot {
        match self {
            Self::Replace | Self::Append | Self::Merge => Slot::Page,
            Self::Found | Self::FoundMore => Slot::Search,
        }
    }
}

/// Work for a job.
#[derive(Clone, Debug)]
pub enum Request {
    /// Count the agents' runs.
    Agents,
    /// Read a page of runs.
    Page {
        /// Which runs.
        filter: RunFilter,
        /// After which place.
        after: Option<Cursor>,
        /// What the page is for.
        how: PageUse,
    },
    /// Take a run through gate, store and archive.
    Open {
        /// The run.
        run_id: String,
        /// On whose behalf; `None` for the run's own agent.
        opening_as: Option<String>,
    },
    /// Ask row, gate and store again about a run whose verified archive is held; open it anew
    /// where they say something else.
    Reopen {
        /// The run.
        run_id: String,
        /// On whose behalf; `None` for the run's own agent.
        opening_as: Option<String>,
        /// Its archive.
        handle: Handle,
        /// What that archive was verified against.
        reference: CheckpointRef,
    },
    /// Compare an open run with a base.
    Diff {
        /// The run.
        handle: Handle,
        /// The base.
        choice: BaseChoice,
    },
    /// The hunks of one changed file.
    Patch {
        /// The run.
        handle: Handle,
        /// The comparison.
        diff: DiffHandle,
        /// Index in its files.
        file: usize,
        /// Context and white space.
        options: PatchOptions,
    },
    /// What a line of Info unfolds to.
    Unfold {
        /// The line's name.
        name: String,
        /// What it is.
        what: Unfold,
    },
    /// The content of one file.
    File {
        /// The run.
        handle: Handle,
        /// The entry's path.
        path: Vec<u8>,
    },
    /// Plan a restore, show the plan, and carry that same plan out on [`Effect::Go`].
    Restore {
        /// The run.
        handle: Handle,
        /// The directory to make.
        destination: PathBuf,
        /// Only these paths and what is below them; all where there are none.
        only: Vec<Vec<u8>>,
    },
    /// Write the whole diff as a patch.
    WritePatch {
        /// The run.
        handle: Handle,
        /// The comparison.
        diff: DiffHandle,
        /// The file to make.
        path: PathBuf,
    },
    /// Write a run's verified stored bytes to a file.
    Fetch {
        /// The run.
        run_id: String,
        /// On whose behalf; `None` for the run's own agent.
        opening_as: Option<String>,
        /// The file to make.
        path: PathBuf,
    },
    /// The patch of one file, or of the whole diff, as text.
    PatchText {
        /// The run.
        handle: Handle,
        /// The comparison.
        diff: DiffHandle,
        /// Index in its files; all of them without.
        file: Option<usize>,
    },
    /// Complete a path.
    Complete {
        /// As typed.
        text: String,
        /// Whether only folders are meant.
        folders: bool,
    },
    /// Copy a file's content for an editor.
    CopyToEdit {
        /// The run.
        handle: Handle,
        /// The entry's path.
        path: Vec<u8>,
        /// The editor's command.
        editor: Vec<String>,
        /// The line to stand on.
        line: Option<u32>,
    },
    /// What typed text means: a run, the start of one's id, or else an action.
    Resolve {
        /// As typed.
        text: String,
        /// What it also matches.
        otherwise: Option<Id>,
    },
    /// Ids that begin with what is typed.
    Lookup {
        /// As typed.
        prefix: String,
    },
    /// The session's turn beside a run.
    Turn {
        /// The run to step from.
        run_id: String,
        /// The later one, not the earlier one.
        forward: bool,
    },
    /// Write a text that the terminal did not take to a new file.
    Keep {
        /// The text.
        text: String,
    },
}

/// What a line of Info holds.
#[derive(Clone, Debug)]
pub enum Unfold {
    /// A run's row.
    Row {
        /// The run.
        run_id: String,
    },
    /// What a commit changed.
    Commit {
        /// The run.
        handle: Handle,
        /// The comparison that named it.
        diff: DiffHandle,
        /// 40 hex digits.
        id: String,
    },
}

impl Request {
    /// Where it runs.
    #[must_use]
    pub fn slot(&self) -> Slot {
        match self {
            Self::Agents => Slot::Agents,
            Self::Open { .. } | Self::Reopen { .. } => Slot::Open,
            Self::Page { how, .. } => how.slot(),
            Self::Diff { .. } => Slot::Diff,
            Self::Patch { .. } | Self::File { .. } => Slot::Content,
            Self::Unfold { .. } => Slot::Unfold,
            Self::Restore { .. } => Slot::Restore,
            Self::WritePatch { .. } => Slot::Write,
            Self::Fetch { .. } => Slot::Fetch,
            Self::PatchText { .. } => Slot::Clip,
            Self::Complete { .. } => Slot::Complete,
            Self::CopyToEdit { .. } => Slot::Edit,
            Self::Lookup { .. } => Slot::Lookup,
            Self::Resolve { .. } | Self::Turn { .. } => Slot::Find,
            Self::Keep { .. } => Slot::Keep,
        }
    }
}

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
    /// To [`Request::Agents`].
    Agents(Result<Vec<AgentSummary>, Failure>),
    /// To [`Request::Page`].
    Page(PageUse, Result<RunPage, Failure>),
    /// How far the job is.
    Progress(Progress),
    /// To [`Request::Open`].
    Opened(Result<Box<Verified>, Failure>, Option<Box<RunRow>>),
    /// To [`Request::Reopen`]: the row as it is now, and all holds.
    Reopened(Box<RunRow>),
    /// To [`Request::Diff`]: the comparison, and the tree with its marks.
    Diff(Result<(Box<Compared>, Arc<FileTree>), Failure>),
    /// To [`Request::Patch`].
    Patch(Result<Patch, Failure>),
    /// To [`Request::File`]; of text, its colours follow.
    File(Result<FileContent, Failure>),
    /// To [`Request::File`], last: the tones of the text's lines, as far as they are known.
    Coloured(Vec<Runs>),
    /// To [`Request::Unfold`], with the line's name.
    Unfolded(String, Result<Detail, Failure>),
    /// To [`Request::Restore`], first.
    Plan(Result<Written, Failure>),
    /// To [`Request::Restore`], last.
    Restored(Result<Written, Failure>),
    /// To [`Request::WritePatch`]: files and bytes.
    PatchWritten(Result<(String, u64, u64), Failure>),
    /// To [`Request::Fetch`].
    Fetched(Result<Fetched, Failure>),
    /// To [`Request::PatchText`].
    PatchText(Result<String, Failure>),
    /// To [`Request::Complete`].
    Completed(Result<Completion, Failure>),
    /// To [`Request::CopyToEdit`].
    ToEdit(Result<CopyToEdit, Failure>),
    /// To [`Request::Resolve`].
    Resolved(Result<Resolved, Failure>),
    /// To [`Request::Lookup`].
    Found(Result<Vec<String>, Failure>),
    /// To [`Request::Turn`]; why there is none, else.
    Turn(Result<String, Failure>),
    /// To [`Request::Keep`]: the file, made visible.
    Kept(Result<String, Failure>),
    /// The job died of a defect of ours.
    Crashed(Slot),
}
