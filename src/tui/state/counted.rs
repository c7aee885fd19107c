//! Lines added and deleted by the runs that were compared, and against what, for their rows.

use std::collections::{HashMap, VecDeque};

use crate::review::BaseChoice;
use crate::tui::message::Compared;

/// Runs that are remembered.
const KEPT: usize = 4_096;

/// What one comparison counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Lines added, where they could be counted.
    pub additions: Option<u64>,
    /// Lines deleted, likewise.
    pub deletions: Option<u64>,
    /// `pin`, `head`, `previous`, `run` or `empty`.
    pub kind: &'static str,
    /// What was asked for.
    choice: BaseChoice,
}

impl Counted {
    /// Whether that is the base that the panes ask for now, as far as it can be told.
    #[must_use]
    pub fn is_against(&self, now: &BaseChoice) -> bool {
        if self.choice == *now {
            return true;
        }
        match now {
            // The default of a run that has a pin.
            BaseChoice::Default | BaseChoice::Pin => self.kind == "pin",
            BaseChoice::Head => self.kind == "head",
            BaseChoice::Previous => self.kind == "previous",
            BaseChoice::Empty => self.kind == "empty",
            BaseChoice::Run(_) => false,
        }
    }

    /// The base in a word of at most five letters.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.kind {
            "previous" => "prev",
            kind => kind,
        }
    }
}

/// The newest comparison of each run.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    by_run: HashMap<String, Counted>,
    order: VecDeque<String>,
}

impl Counts {
    /// Remembers what a comparison counted.
    pub fn note(&mut self, run_id: &str, compared: &Compared, choice: &BaseChoice) {
        let counted = Counted {
            additions: compared.additions,
            deletions: compared.deletions,
            kind: compared.kind,
            choice: choice.clone(),
        };
        if self.by_run.insert(run_id.to_owned(), counted).is_none() {
            self.order.push_back(run_id.to_owned());
        }
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_run.remove(&oldest);
        }
    }

    /// What is remembered of a run.
    #[must_use]
    pub fn of(&self, run_id: &str) -> Option<&Counted> {
        self.by_run.get(run_id)
    }
}
