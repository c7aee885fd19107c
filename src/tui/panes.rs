//! The three panes.

pub mod content;
mod file_columns;
mod file_row;
pub mod files;
mod marker;
mod run_row;
pub mod runs;
