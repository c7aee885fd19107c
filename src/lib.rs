//! Reads what a sandboxed coding agent's run left behind after its container is gone.

pub mod archive;
pub mod checkpoint;
#[cfg(feature = "app")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "app")]
pub mod config;
#[cfg(feature = "app")]
pub mod demo;
mod error;
pub mod json;
pub mod progress;
pub mod review;
pub mod runs;
pub mod text;
#[cfg(feature = "app")]
pub mod tui;

pub use error::{Error, ErrorKind, Result};
