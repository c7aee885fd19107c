//! The one table of what a key can do. It feeds key lookup, the footer, the help overlay and the
//! palette, so none of them can disagree with what a press really does.

/// What a person can ask for, whichever key is bound to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is documented where it counts: in `TABLE`, for people to read.
pub enum Id {
    Down,
    Up,
    Fold,
    Unfold,
    Top,
    Bottom,
    HalfDown,
    HalfUp,
    NextPane,
    LastPane,
    PaneRuns,
    PaneFiles,
    PaneContent,
    Zoom,
    Back,
    Quit,
    Stop,
    Suspend,
    Palette,
    Help,
    Find,
    FindNext,
    FindPrevious,
    Refresh,
    ViewDiff,
    ViewFile,
    ViewTranscript,
    ViewInfo,
    Base,
    Restore,
    Patch,
    Apply,
    Copy,
    Editor,
    OpenAs,
    Fetch,
    CopyPatch,
    Jobs,
    Mouse,
    PreviousTurn,
    NextTurn,
    NextSignal,
    OpenRun,
    StatusFilter,
    Since,
    Order,
    Flat,
    MarkRun,
    Compare,
    ToContent,
    MarkFile,
    ShowFiles,
    Viewed,
    NextHunk,
    PreviousHunk,
    NextFile,
    PreviousFile,
    Whitespace,
    SideBySide,
    MoreContext,
    LessContext,
    Leftwards,
    Rightwards,
    Wrap,
    Follow,
    Note,
    Accept,
    Cancel,
    Clear,
    Complete,
    ListDown,
    ListUp,
}

/// Where an action's keys count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In every pane.
    Everywhere,
    /// While the Runs pane has the focus.
    Runs,
    /// While the Files pane has the focus.
    Files,
    /// While the content pane has the focus.
    Content,
    /// While a prompt or the palette takes the keys.
    Prompt,
}

impl Scope {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 5] = [
        Self::Everywhere,
        Self::Runs,
        Self::Files,
        Self::Content,
        Self::Prompt,
    ];

    /// Its heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Everywhere => "Everywhere",
            Self::Runs => "Runs",
            Self::Files => "Files",
            Self::Content => "Content",
            Self::Prompt => "Prompts",
        }
    }

    /// Its name in a configuration: `[keys.files]`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere",
            Self::Runs => "runs",
            Self::Files => "files",
            Self::Content => "content",
            Self::Prompt => "prompt",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// What it does, for the program.
    pub id: Id,
    /// Its short name: footer and palette.
    pub name: &'static str,
    /// One line for the help.
    pub doc: &'static str,
    /// Where its keys count.
    pub scope: Scope,
    /// Keys, the one to show first.
    pub keys: &'static [&'static str],
    /// Whether it comes with a later version: its key says so.
    pub later: bool,
}

const fn row(
    id: Id,
    scope: Scope,
    keys: &'static [&'static str],
    name: &'static str,
    doc: &'static str,
) -> Action {
    Action {
        id,
        name,
        doc,
        scope,
        keys,
        later: false,
    }
}

const fn later(mut action: Action) -> Action {
    action.later = true;
    action
}

use Scope::{Content, Everywhere, Files, Prompt, Runs};

/// Every action, in the order in which the help lists them.
#[rustfmt::skip]
pub const TABLE: &[Action] = &[
    row(Id::Down, Everywhere, &["j", "down"], "down", "one line down"),
    row(Id::Up, Everywhere, &["k", "up"], "up", "one line up"),
    row(Id::Unfold, Everywhere, &["l", "right"], "unfold", "unfold, or into the folder; in a content to the right"),
    row(Id::Fold, Everywhere, &["h", "left"], "fold", "fold, or out to the parent; in a content to the left"),
    row(Id::Top, Everywhere, &["g", "home"], "top", "to the first line"),
    row(Id::Bottom, Everywhere, &["G", "end"], "bottom", "to the last line"),
    row(Id::HalfDown, Everywhere, &["ctrl-d", "pagedown"], "half down", "half a page down"),
    row(Id::HalfUp, Everywhere, &["ctrl-u", "pageup"], "half up", "half a page up"),
    row(Id::NextPane, Everywhere, &["tab"], "next pane", "focus the next pane"),
    row(Id::LastPane, Everywhere, &["backtab"], "last pane", "focus the pane before"),
    row(Id::PaneRuns, Everywhere, &["1"], "runs", "focus the runs"),
    row(Id::PaneFiles, Everywhere, &["2"], "files", "focus the files"),
    row(Id::PaneContent, Everywhere, &["3"], "content", "focus the content"),
    row(Id::Zoom, Everywhere, &["z"], "zoom", "one pane on the whole screen, and back"),
    row(Id::ViewDiff, Everywhere, &["d"], "diff", "what changed against the base"),
    row(Id::ViewFile, Everywhere, &["f"], "file", "the file as the run left it"),
    row(Id::ViewTranscript, Everywhere, &["t"], "transcript", "what the agent and its tools said"),
    row(Id::ViewInfo, Everywhere, &["i"], "info", "row, proof chain, commits, stashes, notices"),
    row(Id::Base, Everywhere, &["b"], "base", "next base of the diff: pin, head, previous turn, empty"),
    row(Id::Restore, Everywhere, &["r"], "restore", "restore to a new directory: plan first, then write"),
    row(Id::Patch, Everywhere, &["p"], "patch", "write the whole diff as a patch for git apply"),
    later(row(Id::Apply, Everywhere, &["a"], "apply", "apply the changes to a checkout of yours")),
    row(Id::Fetch, Everywhere, &["F"], "fetch", "keep the verified stored bytes in a file, before retention deletes them"),
    row(Id::Copy, Everywhere, &["y"], "copy", "copy a command that shows this"),
    row(Id::CopyPatch, Everywhere, &["Y"], "copy patch", "copy the patch of the changed file under the cursor, or of everything above all changes"),
    row(Id::Editor, Everywhere, &["e"], "editor", "open the file in your editor"),
    row(Id::PreviousTurn, Everywhere, &["<"], "previous turn", "open the session's turn before"),
    row(Id::NextTurn, Everywhere, &[">"], "next turn", "open the session's next turn"),
    later(row(Id::NextSignal, Everywhere, &["!"], "next signal", "to the next thing worth a look")),
    row(Id::OpenAs, Everywhere, &["A"], "open as", "open runs as another agent"),
    row(Id::Find, Everywhere, &["/"], "filter", "filter a list, search a content"),
    row(Id::FindNext, Everywhere, &["n"], "next match", "to the next match of the search"),
    row(Id::FindPrevious, Everywhere, &["N"], "match before", "to the match before"),
    row(Id::Palette, Everywhere, &[":"], "palette", "run an action, or open a run by its id"),
    row(Id::Refresh, Everywhere, &["R"], "refresh", "read the list again"),
    row(Id::Jobs, Everywhere, &["J"], "jobs", "what was started and how it ended"),
    row(Id::Mouse, Everywhere, &["M"], "mouse", "mouse on or off; off lets the terminal select text"),
    row(Id::Help, Everywhere, &["?", "f1"], "keys", "this list"),
    row(Id::Back, Everywhere, &["esc"], "back", "back one layer; stops a running job"),
    row(Id::Stop, Everywhere, &["ctrl-c"], "stop", "stop the running job, else quit"),
    row(Id::Suspend, Everywhere, &["ctrl-z"], "suspend", "to the shell; `fg` comes back"),
    row(Id::Quit, Everywhere, &["q"], "quit", "leave"),
    row(Id::OpenRun, Runs, &["enter"], "open", "open the run, or fold and unfold"),
    row(Id::StatusFilter, Runs, &["s"], "status", "only runs of the next status"),
    row(Id::Since, Runs, &["S"], "since", "only runs made since: 90m, 12h, 7d, or a date"),
    row(Id::Flat, Runs, &["T"], "tree/flat", "by agent and session, or newest first"),
    row(Id::Order, Runs, &["o"], "order", "newest first, oldest first, largest of what is loaded"),
    row(Id::MarkRun, Runs, &["space"], "mark", "mark a run to compare"),
    row(Id::Compare, Runs, &["D"], "compare", "compare two marked runs, or the marked one with this one"),
    row(Id::ToContent, Files, &["enter"], "look", "the file's diff, or its content"),
    row(Id::ShowFiles, Files, &["x"], "show", "all files, the changed, the ignored"),
    row(Id::MarkFile, Files, &["space"], "mark file", "mark files and folders: a restore then writes only them"),
    row(Id::Viewed, Files, &["v"], "viewed", "tick a changed file off, on to the next"),
    row(Id::NextHunk, Content, &["]"], "next hunk", "to the next hunk"),
    row(Id::PreviousHunk, Content, &["["], "hunk before", "to the hunk before"),
    row(Id::NextFile, Content, &["}"], "next file", "to the next changed file"),
    row(Id::PreviousFile, Content, &["{"], "file before", "to the changed file before"),
    row(Id::Whitespace, Content, &["w"], "whitespace", "leave changes of white space out, or show them"),
    row(Id::MoreContext, Content, &["+", "="], "more context", "more lines around a change"),
    row(Id::LessContext, Content, &["-"], "less context", "fewer lines around a change"),
    row(Id::Rightwards, Content, &["L"], "rightwards", "long lines: to the right"),
    row(Id::Leftwards, Content, &["H"], "leftwards", "long lines: to the left"),
    row(Id::Wrap, Content, &["W"], "wrap", "long lines: wrapped, or cut at the edge"),
    row(Id::SideBySide, Content, &["|"], "side by side", "old and new beside each other"),
    row(Id::Follow, Content, &["enter"], "follow", "unfold what the line holds: a commit's own diff, the row's JSON"),
    later(row(Id::Note, Content, &["c"], "note", "a note on this line")),
    row(Id::Accept, Prompt, &["enter"], "accept", "do it"),
    row(Id::Cancel, Prompt, &["esc", "ctrl-c"], "cancel", "leave it"),
    row(Id::Clear, Prompt, &["ctrl-u"], "clear", "empty the line"),
    row(Id::Complete, Prompt, &["tab"], "complete", "complete the path"),
    row(Id::ListDown, Prompt, &["down", "ctrl-n"], "next entry", "down in the list"),
    row(Id::ListUp, Prompt, &["up", "ctrl-p"], "entry before", "up in the list"),
];

impl Action {
    /// Its name in a configuration: `next-hunk`.
    #[must_use]
    pub fn key(&self) -> String {
        let mut name = String::new();
        for letter in format!("{:?}", self.id).chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }
}

/// The table's row for `id`.
#[must_use]
pub fn action(id: Id) -> &'static Action {
    TABLE
        .iter()
        .find(|action| action.id == id)
        .unwrap_or(&TABLE[0])
}
