//! What is unfolded in Info, what was loaded for it, and where its cursor is.

use std::collections::{HashMap, HashSet};

use super::content::{Load, PatchRow};
use super::fold::Fold;
use crate::tui::theme::{Tone, Toned};

/// A changed file of a commit, ready to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFile {
    /// Its status letter and its tone.
    pub letter: (Tone, char),
    /// Its path, safe to show.
    pub title: String,
    /// Lines added and deleted.
    pub counts: Toned,
    /// Its hunks, and what they cannot say.
    pub rows: Vec<PatchRow>,
    /// Columns that a line number takes.
    pub digits: usize,
}

/// A commit's own diff, ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitRows {
    /// Against what, or why there is nothing to show.
    pub heading: String,
    /// What it changed.
    pub files: Vec<CommitFile>,
    /// What was left out.
    pub cut: Option<String>,
}

/// What a line of Info unfolds to once it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A commit's diff against its first parent.
    Commit(CommitRows),
    /// A row's JSON.
    Json(Vec<Toned>),
}

/// The state of Info.
#[derive(Debug, Default)]
pub struct Unfolding {
    /// The run that the details are of.
    pub run_id: Option<String>,
    /// Names of what is not as it is at first.
    pub turned: HashSet<String>,
    /// What was asked for, by name.
    pub details: HashMap<String, Load<Detail>>,
    /// The line under the cursor.
    pub cursor: usize,
    /// What that line holds. Kept, since the layout asks through the footer, and lines need a layout.
    pub under: Option<Fold>,
    /// The nearest header at or above the cursor, and its line when it was last looked at: what is
    /// loaded above it moves both.
    pub anchor: Option<(String, usize)>,
}

impl Unfolding {
    /// Whether what `name` holds is shown, when it is or is not at first.
    #[must_use]
    pub fn is_open(&self, name: &str, at_first: bool) -> bool {
        self.turned.contains(name) != at_first
    }

    /// Unfolds what is folded, folds what is not.
    pub fn turn(&mut self, name: &str) {
        if !self.turned.remove(name) {
            self.turned.insert(name.to_owned());
        }
    }
}
