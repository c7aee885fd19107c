//! What a person asks of the list: an order, a time range, a text to search for, marks.

use std::collections::HashSet;

use super::Failure;
use super::run_rows::Node;
use crate::runs::{Cursor, RunOrder, RunRow};

/// In which order the list stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
    /// The largest checkpoint of what is loaded first.
    Largest,
}

impl Order {
    /// The next one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Newest => Self::Oldest,
            Self::Oldest => Self::Largest,
            Self::Largest => Self::Newest,
        }
    }

    /// How the database reads for it.
    #[must_use]
    pub fn read(self) -> RunOrder {
        match self {
            Self::Oldest => RunOrder::OldestFirst,
            Self::Newest | Self::Largest => RunOrder::NewestFirst,
        }
    }
}

/// A time range: only runs made since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// As typed.
    pub text: String,
    /// The epoch second that it means now.
    pub at: i64,
}

/// How the search of the whole database stands, for the text that is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Searched {
    /// Nothing is asked.
    #[default]
    No,
    /// It is at work.
    Asked,
    /// Everything was looked at.
    Ended,
    /// It goes on after this place.
    More(Cursor),
    /// It failed.
    Failed(Failure),
}

/// What the text filter found in the database.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// How it stands.
    pub state: Searched,
    /// Runs beyond what is loaded, in the list's order.
    pub found: Vec<RunRow>,
    /// Every run that it found for the text, loaded or not.
    pub(super) ids: HashSet<String>,
    /// What is folded while the filter is on.
    pub(super) folded: HashSet<Node>,
    /// What the cursor was put on by a person.
    pub(super) origin: Option<Node>,
    /// What the filter put the cursor on.
    pub(super) put_on: Option<Node>,
}

/// A run that was marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Its id.
    pub run_id: String,
    /// When it was made, and which turn it was: the later one is the newer of two.
    pub made: (Option<i64>, Option<i64>),
}

impl Marked {
    /// A mark on `run`.
    #[must_use]
    pub fn of(run: &RunRow) -> Self {
        Self {
            run_id: run.run_id.clone(),
            made: (run.created_at, run.run_index),
        }
    }
}
