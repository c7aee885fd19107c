//! What lies over the panes and takes the keys: prompts, the palette, the help, the list of jobs.

use tui_input::Input;

use super::Failure;
use crate::tui::action::Id;
use crate::tui::jobs::{DiffHandle, Handle};
use crate::tui::message::{Completion, Written};

/// What a prompt is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// Open as another agent.
    OpenAs,
    /// Where to restore to.
    Restore,
    /// Where to write the patch.
    Patch,
    /// Where to write the stored bytes of this run.
    Fetch(String),
    /// Filter the runs as one types.
    FilterRuns,
    /// Only runs made since.
    Since,
    /// Filter the files as one types.
    FilterFiles,
    /// Search the content.
    Search,
}

/// The run that a prompt was opened for: what it writes is that run's, whichever is open by then.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Which run, in a few words.
    pub what: String,
    /// The start of its id, for names of files.
    pub name: String,
    /// Its archive.
    pub handle: Handle,
    /// Its comparison.
    pub diff: Option<DiffHandle>,
}

/// A line to type, and what stands below it.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What it is for.
    pub kind: PromptKind,
    /// The run it is about, of a restore or a patch.
    pub subject: Option<Subject>,
    /// What is typed.
    pub input: Input,
    /// The plan of a restore, with its job's number and the text it was made for.
    pub plan: Option<(u64, String, Written)>,
    /// The text that a plan is being made for.
    pub planning: Option<String>,
    /// Why what was asked for cannot be.
    pub failure: Option<Failure>,
    /// What a restore is limited to; everything where there is none.
    pub only: Vec<Vec<u8>>,
    /// How what is typed may go on.
    pub completion: Option<Completion>,
}

impl Prompt {
    /// A prompt that begins with `text`.
    #[must_use]
    pub fn new(kind: PromptKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            input: Input::new(text.into()),
            plan: None,
            planning: None,
            subject: None,
            failure: None,
            only: Vec::new(),
            completion: None,
        }
    }
}

/// What the palette offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaletteItem {
    /// Open this run.
    Run(String),
    /// Go to this changed file of the open run.
    File(Vec<u8>),
    /// Do this; why it cannot be done now, where it cannot.
    Action(Id, Option<String>),
}

/// The palette.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    /// What is typed.
    pub input: Input,
    /// Ids that begin with it.
    pub found: Vec<String>,
    /// What is offered.
    pub items: Vec<PaletteItem>,
    /// What was looked up last.
    pub asked: String,
    /// Why what is typed is no run's id, once that is known.
    pub refusal: Option<String>,
    /// The entry that was moved to; `None` while `enter` takes what was typed.
    pub chosen: Option<usize>,
}

/// The list of keys.
#[derive(Clone, Debug, Default)]
pub struct Help {
    /// The first line that is shown.
    pub top: usize,
    /// What narrows the list.
    pub filter: Input,
    /// Whether that is being typed.
    pub typing: bool,
}

/// What takes the keys before the panes do.
#[allow(clippy::large_enum_variant)] // There is one at a time.
#[derive(Clone, Debug)]
pub enum Overlay {
    /// A line to type.
    Prompt(Prompt),
    /// Actions and runs by name.
    Palette(Palette),
    /// All keys.
    Help(Help),
    /// What was started, from this line on.
    Jobs(usize),
}
