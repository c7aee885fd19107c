//! Work for jobs, and the slots in which they replace each other.

use std::path::PathBuf;

use super::look::LookFor;
use crate::checkpoint::CheckpointRef;
use crate::review::{BaseChoice, PatchOptions};
use crate::runs::{Cursor, RunFilter};
use crate::tui::action::Id;
use crate::tui::jobs::{DiffHandle, Handle};

/// Jobs of one slot replace each other: the newest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The counts of the agents.
    Agents,
    /// Pages of the list.
    Page,
    /// The runs of an agent of which none was read.
    Unfolded,
    /// Pages of what the database finds for the list's filter.
    Search,
    /// What changed in the database.
    Look,
    /// What a session is bound to.
    Binding,
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
            Self::Replace | Self::Append => Slot::Page,
            Self::Merge => Slot::Unfolded,
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
    /// Look what changed in the database.
    Look(Box<LookFor>),
    /// What a session is bound to.
    Binding {
        /// The session.
        session: String,
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
    /// Plan a restore, show the plan, and carry that same plan out on [`Effect::Go`](super::Effect::Go).
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
            Self::Look(_) => Slot::Look,
            Self::Binding { .. } => Slot::Binding,
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
