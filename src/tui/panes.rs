//! The three panes.

pub mod content;
mod file_columns;
mod file_row;
pub mod files;
mod marker;
mod run_row;
pub mod runs;

use super::action::Id;
use super::state::State;

/// A pane's name with the key that goes there, where one is bound.
fn titled(state: &State, pane: Id, name: &str) -> String {
    match state.keymap.keys(pane).first() {
        Some(key) => format!("{key} {name}"),
        None => name.to_owned(),
    }
}
