//! The three panes.

pub mod content;
pub mod files;
pub mod runs;
