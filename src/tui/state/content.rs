//! The content pane: its views, what is loaded for them, and the places kept in each.

use super::search::Search;
use super::sides::SideRow;
use super::spot::Kept;
use super::unfold::Unfolding;
use super::{Failure, Place};
use crate::review::{BaseChoice, LineKind, PatchOptions};
use crate::tui::theme::Tone;

/// What the pane shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// What changed.
    #[default]
    Diff,
    /// The file as the run left it.
    File,
    /// What was said.
    Transcript,
    /// Row, chain, commits, notices.
    Info,
}

impl View {
    /// Its name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Diff => "Diff",
            Self::File => "File",
            Self::Transcript => "Transcript",
            Self::Info => "Info",
        }
    }
}

/// One line of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchRow {
    /// A hunk begins.
    Hunk(String),
    /// A line of the old or the new side, or of both.
    Line {
        /// Which.
        kind: LineKind,
        /// Its number on the old side.
        old: Option<u32>,
        /// Its number on the new side.
        new: Option<u32>,
        /// Safe text.
        text: String,
    },
    /// Lines between two hunks that are the same on both sides, and not shown.
    Gap(u64),
    /// Something said in words.
    Words(String),
}

/// The tones of a line: each counts from where the one before ends up to this many bytes.
pub type Runs = Box<[(u32, Tone)]>;

/// One file's changes, ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Index in the diff's files.
    pub file: usize,
    /// Its path, safe to show.
    pub title: String,
    /// Its lines.
    pub rows: Vec<PatchRow>,
    /// Columns that a line number takes.
    pub digits: usize,
}

/// A file's content, ready to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Lines of text, and whether there is more than was read.
    Text(Vec<String>, bool),
    /// Bytes, and whether there are more than were read.
    Binary(Vec<u8>, bool),
    /// Something said in words: a link, a folder, an empty file.
    Words(Vec<String>),
}

/// Something that a job loads; the last good one stays until the next is there.
#[derive(Clone, Debug)]
pub struct Load<T> {
    /// The last good one.
    pub value: Option<T>,
    /// Whether a newer one is on its way.
    pub waiting: bool,
    /// Why the newer one is not there.
    pub failure: Option<Failure>,
}

impl<T> Default for Load<T> {
    fn default() -> Self {
        Self {
            value: None,
            waiting: false,
            failure: None,
        }
    }
}

impl<T> Load<T> {
    /// Takes an answer in.
    pub fn answer(&mut self, answer: Result<T, Failure>) {
        self.waiting = false;
        match answer {
            Ok(value) => {
                self.value = Some(value);
                self.failure = None;
            }
            Err(failure) => self.failure = Some(failure),
        }
    }
}

/// The pane.
#[derive(Debug)]
pub struct ContentPane {
    /// What it shows.
    pub view: View,
    /// The path under the Files cursor, which Diff and File are about.
    pub path: Option<Vec<u8>>,
    /// The base asked for.
    pub base: BaseChoice,
    /// A base that could not be compared with, while the one before stands.
    pub refused_base: Option<BaseChoice>,
    /// The changes of the file.
    pub patch: Load<Patch>,
    /// Its content.
    pub file: Load<FileContent>,
    /// Counts the runs and comparisons shown, so that what was asked of one is not taken for another.
    pub epoch: u64,
    /// The patch asked for last.
    pub asked_patch: Option<Wanted>,
    /// The file asked for last.
    pub asked_file: Option<Wanted>,
    /// The tones of the file's lines, once they are known.
    pub colours: Vec<Runs>,
    /// The patch's rows beside each other.
    pub sides: Vec<SideRow>,
    /// Where the first row on the screen begins, for each view.
    pub tops: [Place; 4],
    /// The hunk gone to last, and the top it was gone to with: near the end of the lines a hunk
    /// cannot stand at the top.
    pub at_hunk: Option<(Place, usize)>,
    /// Which lines of the file stood on the screen last.
    pub kept: Option<Kept>,
    /// The file that a turn of the session was looked at in, what stood on the screen of it, and
    /// the places, for the turn that is opened now.
    pub mark: Option<(Vec<u8>, Option<Kept>, [Place; 4])>,
    /// Whether other lines stand there now, so that the place is to be found anew.
    pub place_anew: bool,
    /// Whether the last lines shown were beside each other.
    pub beside: bool,
    /// Whether long lines are wrapped.
    pub wrap: bool,
    /// Whether old and new are to stand beside each other.
    pub side_by_side: bool,
    /// What is unfolded in Info, and where its cursor is.
    pub info: Unfolding,
    /// Counts what was loaded, so that a search knows when to look anew.
    pub loaded: u64,
    /// Columns scrolled to the right.
    pub left: usize,
    /// Lines of context around a change.
    pub context: u32,
    /// Whether changes of white space are left out.
    pub ignore_whitespace: bool,
    /// The search.
    pub search: Option<Search>,
    /// Where the pane stood, and Info's cursor, before what is being typed was searched for.
    pub search_from: Option<(Place, usize)>,
}

impl Default for ContentPane {
    fn default() -> Self {
        Self {
            view: View::Diff,
            path: None,
            base: BaseChoice::Default,
            refused_base: None,
            patch: Load::default(),
            file: Load::default(),
            epoch: 0,
            asked_patch: None,
            asked_file: None,
            colours: Vec::new(),
            sides: Vec::new(),
            tops: [Place::default(); 4],
            at_hunk: None,
            kept: None,
            mark: None,
            place_anew: false,
            beside: false,
            wrap: false,
            side_by_side: false,
            info: Unfolding::default(),
            loaded: 0,
            left: 0,
            context: 3,
            ignore_whitespace: false,
            search: None,
            search_from: None,
        }
    }
}

impl ContentPane {
    /// Where the first row on the screen begins.
    #[must_use]
    pub fn top(&self) -> Place {
        self.tops[self.view as usize]
    }

    /// Scrolls.
    pub fn set_top(&mut self, top: Place) {
        self.tops[self.view as usize] = top;
    }

    /// The line from which `[` and `]` step.
    #[must_use]
    pub fn hunk_line(&self) -> usize {
        match self.at_hunk {
            Some((top, line)) if top == self.top() => line,
            _ => self.top().line,
        }
    }

    /// Another comparison is there: what it shows of the file is asked for, and stands until then.
    pub fn turn_base(&mut self) {
        self.epoch += 1;
        self.asked_patch = None;
        // The file itself is the same whatever it is compared with.
        if let Some(Wanted::File(epoch, _)) = &mut self.asked_file {
            *epoch = self.epoch;
        }
    }

    /// Forgets what was loaded for another run; places are kept.
    pub fn turn_page(&mut self) {
        self.epoch += 1;
        self.patch = Load::default();
        self.file = Load::default();
        self.asked_patch = None;
        self.asked_file = None;
        self.at_hunk = None;
        self.colours.clear();
        self.sides.clear();
        self.loaded += 1;
    }
}

/// Something asked of a job for this pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A patch: epoch, index of the file, options.
    Patch(u64, usize, PatchOptions),
    /// A file: epoch, path.
    File(u64, Vec<u8>),
}
