//! The three panes.

pub mod content;
mod file_row;
pub mod files;
pub mod runs;
