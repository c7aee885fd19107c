//! What the Info view says about the checkpoint that a session's next turn deletes.

use super::State;
use crate::runs::RunRow;
use crate::tui::action::Id;

/// The line for `run`, where its checkpoint is the next to go.
#[must_use]
pub fn warning(state: &State, run: &RunRow) -> Option<String> {
    let retention = state.runs.at_risk(run)?;
    let known = if retention.by_default {
        format!("by Agno's default of {}", retention.keeps)
    } else {
        format!("the session keeps {}", retention.keeps)
    };
    let fetch = state.keymap.how(Id::Fetch);
    Some(format!(
        "the session's next completed turn deletes this checkpoint ({known}); {fetch} keeps its stored bytes"
    ))
}
