//! The three panes.

pub mod content;
pub mod files;
mod marker;
mod run_row;
pub mod runs;
