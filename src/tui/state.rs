//! Everything the screen shows, as plain data. Only `update` changes it, and the view is a function
//! of it, so a test is keys in and screen out. What outlives a frame elsewhere (an archive, a diff)
//! is held by an opaque handle.

mod chain;
mod content;
mod counted;
mod files;
mod fold;
mod info;
mod lines;
mod live;
pub mod needle;
mod newcomers;
mod overlay;
mod place;
mod recent;
mod retention;
mod rows;
mod run_rows;
mod runs;
mod search;
mod shown;
mod sides;
mod sift;
mod spot;
mod tally;
mod tree;
mod unfold;
mod wishes;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use chain::{Chain, STAGES, Step, time_left, toned_clip, toned_width};
pub use content::{ContentPane, FileContent, Load, Patch, PatchRow, Runs, View, Wanted};
pub use counted::{Counted, Counts};
pub use files::{FileRow, FilesPane, Show};
pub use fold::{Block, Fold, Info, InfoLine};
pub use info::{JSON, about, commit_name, info};
pub use lines::{change_title, counts, lines, side_by_side, status_tone};
pub use live::{Bound, EVERY, Fresh, Live, Lost, is_unfinished, shown_session, word as live_word};
pub use newcomers::{Change, counts_alike};
pub use overlay::{Help, Overlay, Palette, PaletteItem, Prompt, PromptKind, Subject};
pub use place::{Destination, Seek, split_line};
pub use recent::Recent;
pub use retention::warning;
pub use rows::{Piece, Place, Rows, row_end, slice};
pub use run_rows::{Inline, Item, Node, Row};
pub use runs::RunsPane;
pub use search::{Hit, Search, Stamp};
pub use shown::{Line, Lines};
pub use sides::{SideRow, WIDTH as SIDES_WIDTH, beside};
pub use spot::{Kept, Spot};
pub use tree::{FileNode, FileTree, Marks, NodeKind, ROOT};
pub use unfold::{CommitFile, CommitRows, Detail, Unfolding};
pub use wishes::{Marked, Order, Search as RunSearch, Searched, Since};

use super::fit;
use super::keymap::Keymap;
use super::layout::Areas;
use super::message::{Compared, Slot};
use super::theme::Tone;
use crate::checkpoint::CheckpointRef;
use crate::progress::Progress;
use crate::review::BaseChoice;
use crate::runs::{Opening, RunRow, Tables};
use crate::text::visible;
use crate::{Error, ErrorKind};

/// A failure as it is shown: safe text, and no source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub kind: ErrorKind,
    /// One line.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure of `kind` that says `message`.
    #[must_use]
    pub fn new(kind: ErrorKind, message: &str) -> Self {
        Self {
            kind,
            message: visible(message).into_owned(),
            hint: None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            kind: error.kind(),
            message: visible(error.message()).into_owned(),
            hint: error.next_step().map(|hint| visible(hint).into_owned()),
        }
    }
}

/// The three panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pane {
    /// Agents, sessions, runs.
    Runs,
    /// What a restore would write.
    Files,
    /// Diff, file, transcript, info.
    Content,
}

impl Pane {
    /// From left to right.
    pub const ALL: [Self; 3] = [Self::Runs, Self::Files, Self::Content];
}

/// What the title line says of where the rows come from.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The profile's name.
    pub profile: Option<String>,
    /// The database, its password masked.
    pub database: String,
    /// The store, its secrets masked.
    pub store: String,
    /// Whether that is Agno's default, which no flag named.
    pub default_store: bool,
    /// The tables' names.
    pub tables: Tables,
}

/// A run that is being opened.
#[derive(Clone, Debug)]
pub struct OpeningRun {
    /// Its id.
    pub run_id: String,
    /// How far it is.
    pub chain: Chain,
}

/// How the comparison of the open run stands.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The base that is asked for.
    pub asked: BaseChoice,
    /// The base that `done` was asked for with.
    pub choice: BaseChoice,
    /// The last one that succeeded: it stays until a newer one is there.
    pub done: Option<Arc<Compared>>,
    /// How far the one at work is.
    pub working: Option<Progress>,
    /// Why the last one asked for failed.
    pub failure: Option<Failure>,
}

/// The run whose files are shown.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The archive, for jobs.
    pub handle: super::jobs::Handle,
    /// Its row.
    pub row: RunRow,
    /// What the row commits to.
    pub reference: CheckpointRef,
    /// What was checked.
    pub chain: Chain,
    /// What a restore would write.
    pub tree: Arc<FileTree>,
    /// The manifest's state.
    pub state: String,
    /// Why it cannot be restored though it is valid.
    pub unrestorable: Option<String>,
    /// Whether the stored bytes are gzipped.
    pub gzipped: bool,
    /// What changed.
    pub comparison: Comparison,
}

/// A run that could not be opened, and why.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What was asked for.
    pub run_id: String,
    /// The gate's, the store's or the archive's answer.
    pub failure: Failure,
    /// Its row, where there is one.
    pub row: Option<Box<RunRow>>,
    /// How far it came.
    pub chain: Chain,
}

/// A restore or a fetch at work.
#[derive(Clone, Debug)]
pub struct Restoring {
    /// Where to, made visible.
    pub destination: String,
    /// How far.
    pub progress: Option<Progress>,
    /// Since when, in milliseconds since the epoch.
    pub since: i64,
}

/// Below this many columns a remark takes one line, so that the panes keep theirs.
const NARROW: usize = 100;

/// A line below the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How it is meant.
    pub tone: Tone,
    /// What it says, safe to show.
    pub text: String,
    /// Whether it stays until something replaces it, and not just until the next key.
    pub stays: bool,
    /// How it is said where all of it does not fit on a line.
    pub shorter: Option<Shorter>,
}

/// A remark on a path, in the parts that are shortened: the path's start first, then the remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shorter {
    /// The path, safe to show.
    pub path: String,
    /// What is remarked.
    pub remark: String,
    /// What stands at the end whatever the width.
    pub end: String,
}

impl Note {
    /// What it says in `width` columns: on a narrow screen in one line, where it has a shorter form.
    #[must_use]
    pub fn said(&self, width: usize) -> String {
        let Some(Shorter { path, remark, end }) = &self.shorter else {
            return self.text.clone();
        };
        let lines = if width < NARROW { 1 } else { 2 };
        if fit::wrap(&self.text, width).len() <= lines {
            return self.text.clone();
        }
        let room = width.saturating_sub("! ".len() + ": ".len() + fit::columns(end));
        let path = fit::clip_start(
            path,
            room.saturating_sub(fit::columns(remark)).max(room * 2 / 3),
        );
        let rest = room.saturating_sub(fit::columns(&path));
        format!("! {path}: {}{end}", fit::clip_words(remark, rest))
    }
}

/// What was started and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLine {
    /// Its number.
    pub number: u64,
    /// What it does.
    pub what: String,
    /// When it began, in milliseconds since the epoch.
    pub began_ms: i64,
    /// How it ended; `None` while it is at work.
    pub outcome: Option<(Tone, String)>,
    /// When it ended.
    pub ended: Option<i64>,
    /// How far it was when it said so last.
    pub progress: Option<Progress>,
}

/// The whole interface.
#[derive(Debug)]
pub struct State {
    /// Milliseconds since the epoch, set before each message.
    pub now_ms: i64,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Where the rows come from.
    pub labels: Labels,
    /// On whose behalf runs are opened; `None` for each run's own agent.
    pub opening_as: Option<String>,
    /// The pane that takes the keys.
    pub focus: Pane,
    /// Whether it has the screen for itself.
    pub zoom: bool,
    /// The list.
    pub runs: RunsPane,
    /// How the list keeps up with the database.
    pub live: Live,
    /// The tree.
    pub files: FilesPane,
    /// Diff, file, info.
    pub content: ContentPane,
    /// The run whose files are shown.
    pub opened: Option<Opened>,
    /// Runs that were open before it.
    pub recent: Recent,
    /// The run that is being opened.
    pub opening: Option<OpeningRun>,
    /// The run that could not be.
    pub refusal: Option<Refusal>,
    /// The run asked for last, whatever came of it.
    pub current: Option<String>,
    /// The restore at work.
    pub restoring: Option<Restoring>,
    /// The fetch at work.
    pub fetching: Option<Restoring>,
    /// Whose patch is being made to be copied, safe to show.
    pub clip: String,
    /// What takes the keys before the panes do.
    pub overlay: Option<Overlay>,
    /// The line below the chain.
    pub note: Option<Note>,
    /// Jobs, oldest first.
    pub jobs: Vec<JobLine>,
    /// The number that each slot waits for.
    pub awaited: HashMap<Slot, u64>,
    /// The last number given to a request.
    pub last_number: u64,
    /// Whether the mouse is reported.
    pub mouse: bool,
    /// Whether the screen is laid out for a screen reader: one pane, no frame.
    pub linear: bool,
    /// Whether the terminal has the focus of its window; `true` where it does not say.
    pub focused: bool,
    /// Which keys do what.
    pub keymap: Keymap,
    /// A run to open as soon as the interface stands.
    pub open_first: Option<String>,
    /// Where to go in the run that is opened next; gone once it is gone to.
    pub place: Option<Destination>,
    /// The line to stand on in what is on its way.
    pub seek: Option<Seek>,
    /// The editor's command in words, or why there is none.
    pub editor: Result<Vec<String>, String>,
}

impl State {
    /// An interface that has read nothing yet.
    #[must_use]
    pub fn new(labels: Labels, opening_as: Option<String>, size: (u16, u16), now_ms: i64) -> Self {
        Self {
            now_ms,
            size,
            labels,
            opening_as,
            focus: Pane::Runs,
            zoom: false,
            runs: RunsPane::default(),
            live: Live::default(),
            files: FilesPane::default(),
            content: ContentPane::default(),
            opened: None,
            recent: Recent::default(),
            opening: None,
            refusal: None,
            current: None,
            restoring: None,
            fetching: None,
            clip: String::new(),
            overlay: None,
            note: None,
            jobs: Vec::new(),
            awaited: HashMap::new(),
            last_number: 0,
            mouse: false,
            linear: false,
            focused: true,
            keymap: Keymap::default(),
            open_first: None,
            place: None,
            seek: None,
            editor: Err("no editor is named".into()),
        }
    }

    /// Seconds since the epoch.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.now_ms.div_euclid(1000)
    }

    /// On whose behalf runs are opened.
    #[must_use]
    pub fn as_opening(&self) -> Opening<'_> {
        self.opening_as.as_deref().map_or(Opening::Own, Opening::As)
    }

    /// Where everything stands on the screen.
    #[must_use]
    pub fn areas(&self) -> Areas {
        Areas::of(self, self.size)
    }

    /// Whether something is at work that shows how far it is.
    #[must_use]
    pub fn at_work(&self) -> bool {
        self.opening.is_some()
            || [&self.restoring, &self.fetching]
                .into_iter()
                .flatten()
                .any(|work| work.progress.is_some())
            || self
                .opened
                .as_ref()
                .is_some_and(|run| run.comparison.working.is_some())
    }

    /// The last good comparison of the open run.
    #[must_use]
    pub fn compared(&self) -> Option<&Arc<Compared>> {
        self.opened.as_ref()?.comparison.done.as_ref()
    }

    /// The open run's tree; none while a refusal stands in its place.
    #[must_use]
    pub fn tree(&self) -> Option<&Arc<FileTree>> {
        match self.refusal {
            Some(_) => None,
            None => self.opened.as_ref().map(|run| &run.tree),
        }
    }

    /// How many of the changed files are ticked off: with another base others are changed.
    #[must_use]
    pub fn viewed_now(&self) -> usize {
        let (Some(tree), Some(viewed)) = (self.tree(), self.viewed()) else {
            return 0;
        };
        let changed = |path: &&Vec<u8>| {
            let node = tree.find(path);
            node.is_some_and(|node| tree.nodes[node].change.is_some())
        };
        viewed.iter().filter(changed).count()
    }

    /// The changed files of the open run that are ticked off.
    #[must_use]
    pub fn viewed(&self) -> Option<&HashSet<Vec<u8>>> {
        let run = self.opened.as_ref()?;
        self.files.viewed.get(&run.row.run_id)
    }

    /// Says something below the chain until the next key.
    pub fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.note = Some(Note {
            tone,
            text: text.into(),
            stays: false,
            shorter: None,
        });
    }

    /// Says how something ended; it stays until something replaces it.
    pub fn report(&mut self, tone: Tone, text: impl Into<String>) {
        self.note = Some(Note {
            tone,
            text: text.into(),
            stays: true,
            shorter: None,
        });
    }

    /// Notes how a job ended, for the list of jobs.
    pub fn job_ended(&mut self, number: u64, tone: Tone, text: impl Into<String>) {
        if let Some(job) = self.jobs.iter_mut().find(|job| job.number == number) {
            job.outcome = Some((tone, text.into()));
            job.ended = Some(self.now_ms);
        }
    }
}
