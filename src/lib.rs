//! Reads what a sandboxed coding agent's run left behind after its container is gone.

pub mod archive;
pub mod checkpoint;
mod error;
pub mod json;
pub mod progress;
pub mod review;
pub mod runs;
pub mod text;

pub use error::{Error, ErrorKind, Result};
