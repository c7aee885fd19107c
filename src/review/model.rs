//! What a comparison finds: bases, changed files, hunks, commits, stashes and notices.

use std::sync::Arc;

use super::change::Comparison;

/// What to compare a run's working tree with, as asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BaseChoice {
    /// The pin when there is one, else HEAD, else the previous turn, else nothing.
    #[default]
    Default,
    /// The commit the session started from.
    Pin,
    /// The checkout's HEAD.
    Head,
    /// The session's previous completed turn whose checkpoint is still there.
    Previous,
    /// Another run, by id.
    Run(String),
    /// Nothing: everything is added.
    Empty,
}

impl std::str::FromStr for BaseChoice {
    type Err = std::convert::Infallible;

    /// `pin`, `head`, `previous`, `empty`; anything else is a run.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "default" => Self::Default,
            "pin" => Self::Pin,
            "head" => Self::Head,
            "previous" => Self::Previous,
            "empty" => Self::Empty,
            run => Self::Run(run.to_owned()),
        })
    }
}

/// The base a diff was made against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// The pin's commit, 40 hex digits.
    Pin(String),
    /// HEAD's commit, 40 hex digits.
    Head(String),
    /// The previous turn's run id.
    Previous(String),
    /// Another run's id.
    Run(String),
    /// Nothing.
    Empty,
}

impl Base {
    /// Its kind in JSON: `pin`, `head`, `previous`, `run`, `empty`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pin(_) => "pin",
            Self::Head(_) => "head",
            Self::Previous(_) => "previous",
            Self::Run(_) => "run",
            Self::Empty => "empty",
        }
    }

    /// The commit, of a commit.
    #[must_use]
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Pin(commit) | Self::Head(commit) => Some(commit),
            _ => None,
        }
    }

    /// The run, of a run.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::Previous(run) | Self::Run(run) => Some(run),
            _ => None,
        }
    }

    /// In a few words, e.g. `pin 7fd1a60`.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Pin(commit) | Self::Head(commit) => {
                format!("{} {}", self.kind(), &commit[..commit.len().min(7)])
            }
            Self::Previous(run) | Self::Run(run) => {
                let short: String = crate::text::visible(run).chars().take(12).collect();
                format!("{} {short}", self.kind())
            }
            Self::Empty => "empty".into(),
        }
    }
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// New, and known to the checkout's index or HEAD.
    Added,
    /// Other content.
    Modified,
    /// Gone.
    Deleted,
    /// Moved, with or without an edit.
    Renamed,
    /// A file became a link, or the other way round.
    Typechange,
    /// Only the executable bit.
    Mode,
    /// New, and not known to the index.
    Untracked,
    /// A nested checkout that is at another commit, dirty, new or gone.
    Submodule,
    /// Unmerged in the index.
    Conflicted,
}

impl Status {
    /// The word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Typechange => "typechange",
            Self::Mode => "mode",
            Self::Untracked => "untracked",
            Self::Submodule => "submodule",
            Self::Conflicted => "conflicted",
        }
    }

    /// The letter of `--name-status` and the Files pane.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::Renamed => 'R',
            Self::Typechange => 'T',
            Self::Mode => 'm',
            Self::Untracked => '?',
            Self::Submodule => 'S',
            Self::Conflicted => 'U',
        }
    }
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// How it differs.
    pub status: Status,
    /// Path below the compared root; a nested checkout that is new ends in a slash.
    pub path: Vec<u8>,
    /// Where it was, of a renamed one.
    pub old_path: Option<Vec<u8>>,
    /// Git's mode before, e.g. `0o100644`; 0 when there was none.
    pub old_mode: u32,
    /// Git's mode now; 0 when it is gone.
    pub new_mode: u32,
    /// Lines added; `None` when not known (binary, too large, or the worker was stopped).
    pub additions: Option<u32>,
    /// Lines deleted; `None` when not known.
    pub deletions: Option<u32>,
    /// Whether the content is binary.
    pub binary: bool,
    /// Why its content cannot be compared, when it cannot.
    pub opaque: Option<String>,
    /// The worker's deltas that make up this change: two for a type change.
    pub(crate) deltas: Vec<u32>,
}

/// Something a person triaging the run should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// Machine word, e.g. `index-hides`.
    pub tag: &'static str,
    /// The path it is about, where it is about one.
    pub path: Option<Vec<u8>>,
    /// One line.
    pub message: String,
}

impl Notice {
    pub(crate) fn new(tag: &'static str, message: impl Into<String>) -> Self {
        Self {
            tag,
            path: None,
            message: message.into(),
        }
    }

    pub(crate) fn at(tag: &'static str, path: &[u8], message: impl Into<String>) -> Self {
        Self {
            tag,
            path: Some(path.to_vec()),
            message: message.into(),
        }
    }
}

/// One commit made since the pin.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Commit {
    /// 40 hex digits.
    pub id: String,
    /// Author's name and address.
    pub author: String,
    /// Epoch seconds of the commit.
    pub time: i64,
    /// First line of the message.
    pub subject: String,
}

/// One entry of the stash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stash {
    /// 40 hex digits.
    pub id: String,
    /// What the reflog says of it.
    pub subject: String,
}

/// A commit's first parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parent {
    /// 40 hex digits.
    Commit(String),
    /// It is the first commit.
    None,
    /// Its objects are not in the checkout, which is shallow.
    Missing(String),
}

/// What a commit changed against its first parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitDiff {
    /// That parent; nothing is listed when it is missing.
    pub parent: Parent,
    /// Changed files in path order, with their hunks.
    pub files: Vec<(FileChange, FilePatch)>,
    /// Files that are not listed.
    pub more: u64,
    /// Why hunks are missing, when some are.
    pub cut: Option<String>,
}

/// A comparison's result.
#[derive(Clone, Debug)]
pub struct Diff {
    /// What it was made against.
    pub base: Base,
    /// The checkout's HEAD, 40 hex digits.
    pub head: Option<String>,
    /// The pin's commit.
    pub pin: Option<String>,
    /// Changed files in path order.
    pub files: Vec<FileChange>,
    /// Files that ignore rules leave out.
    pub ignored: u64,
    /// Their paths, at most 10,000.
    pub ignored_paths: Vec<Vec<u8>>,
    /// Commits between pin and HEAD, newest first.
    pub commits: Vec<Commit>,
    /// Stashed work, newest first.
    pub stashes: Vec<Stash>,
    /// What was noticed, about the checkout and this comparison.
    pub notices: Vec<Notice>,
    /// The folder compared, in the archive's terms: `workspace/repository` or `workspace`.
    pub root: Vec<u8>,
    pub(crate) comparison: Arc<Comparison>,
}

impl Diff {
    /// Lines added in all; `None` when some file's are not known though it is text.
    #[must_use]
    pub fn additions(&self) -> Option<u64> {
        self.total(|file| file.additions)
    }

    /// Lines deleted in all; `None` when some file's are not known though it is text.
    #[must_use]
    pub fn deletions(&self) -> Option<u64> {
        self.total(|file| file.deletions)
    }

    fn total(&self, lines: impl Fn(&FileChange) -> Option<u32>) -> Option<u64> {
        self.files
            .iter()
            .filter(|file| !file.binary)
            .map(|file| lines(file).map(u64::from))
            .sum()
    }
}

/// How a patch is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PatchOptions {
    /// Lines of context around a change.
    pub context: u32,
    /// Whether changes of white space alone are left out.
    pub ignore_whitespace: bool,
}

impl Default for PatchOptions {
    fn default() -> Self {
        Self {
            context: 3,
            ignore_whitespace: false,
        }
    }
}

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum LineKind {
    /// On both sides.
    Context,
    /// Only on the new side.
    Added,
    /// Only on the old side.
    Deleted,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Line {
    /// Which side it is on.
    pub kind: LineKind,
    /// Its number on the old side, from 1.
    pub old: Option<u32>,
    /// Its number on the new side, from 1.
    pub new: Option<u32>,
    /// The bytes without the line feed.
    pub text: Vec<u8>,
    /// Whether the file ends here without a line feed.
    pub no_newline: bool,
}

/// One hunk.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Hunk {
    /// `@@ -1 +1,2 @@` and what follows it on that line.
    pub header: Vec<u8>,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One file's hunks for a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FilePatch {
    /// Hunks in order; none for binary files and mere mode changes.
    pub hunks: Vec<Hunk>,
    /// Whether libgit2 takes it as binary.
    pub binary: bool,
    /// Why lines are missing, when some are.
    pub truncated: Option<String>,
}
