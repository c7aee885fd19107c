//! Reads what a sandboxed coding agent's run left behind after its container is gone.
//!
//! [Agno](https://docs.agno.com) commits a checkpoint when a sandboxed turn completes: an archive of
//! the agent's workspace and harness home in a store, and a reference to it on the run's row. This
//! library goes from the row to the files, and to what changed in them:
//!
//! 1. [`runs`]: one run's row, read-only, and the *gate*, which refuses a run in Agno's order and
//!    words. Nothing past it happens for a refused run.
//! 2. [`checkpoint`]: the reference (digest and size of the stored bytes) and the store. A
//!    [`Lease`](checkpoint::Lease) exists only for bytes that match their reference.
//! 3. [`archive`]: one pass inflates, checks and spools those bytes. An
//!    [`Archive`](archive::Archive) exists only once every rule has passed, and only an archive can
//!    be restored: a [`RestorePlan`](archive::RestorePlan) is made, shown, and consumed.
//! 4. [`review`]: the checkout in the archive, compared with where it started. Looking never
//!    restores, and libgit2 works in a child process: call [`review::init`] first in `main`.
//!
//! What waits is async and runs on tokio; its twin that starts with `blocking_` needs no runtime of
//! yours. Long work takes a [`Watch`](progress::Watch), which hears of progress and can cancel.
//! Errors carry a [kind](ErrorKind) and Agno's own message. The library prints nothing.
//!
//! # Example
//!
//! Two directories become a checkpoint and are restored from its verified bytes, as Agno does it:
//!
//! ```
//! use std::fs;
//!
//! use afterrun::archive::{CaptureRoots, CheckpointArchive};
//! use afterrun::checkpoint::FileCheckpointStore;
//! use afterrun::json::Json;
//! use afterrun::progress::Watch;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let at = |name: &str| folder.path().join(name);
//! fs::create_dir(at("work"))?;
//! fs::create_dir(at("home"))?;
//! fs::write(at("work/README.md"), "Hello World!\n")?;
//!
//! // Capture and store: what comes back is the reference that a run's row would carry.
//! let (archive, watch) = (CheckpointArchive::default(), Watch::default());
//! let roots = CaptureRoots { workspace: at("work"), native: at("home") };
//! let state = Json::parse(r#"{"run_id": "first"}"#)?;
//! archive.blocking_capture(&roots, &at("captured"), &state, &[], &watch)?;
//! let store = FileCheckpointStore::create(at("checkpoints"))?;
//! let reference = store.blocking_put(&at("captured"))?;
//!
//! // Open: size and digest are checked, and the bytes stay readable whatever retention deletes.
//! let mut lease = store.blocking_open_archive(&reference, &watch)?;
//! store.blocking_delete(&reference)?;
//!
//! // Restore to a new directory; the state comes back with it.
//! let stored = lease.path(folder.path())?;
//! let restored = archive.blocking_restore(&stored, &at("restored"), false, &watch)?;
//! assert_eq!(fs::read_to_string(at("restored/workspace/README.md"))?, "Hello World!\n");
//! assert_eq!(restored.get("run_id").and_then(Json::as_str), Some("first"));
//! # Ok(())
//! # }
//! ```
//!
//! `examples/open_checkpoint.rs` starts from a run's id instead, and prints what the run edited:
//!
//! ```text
//! cargo run -- demo --dir demo --no-tui
//! cargo run --example open_checkpoint -- demo/agno.sqlite demo/checkpoints \
//!     bee43833-e29e-40ba-ae85-59abd5f626b3 engineer restored
//! ```

mod abandoned;
pub mod archive;
pub mod checkpoint;
#[cfg(feature = "app")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "app")]
pub mod config;
#[cfg(feature = "app")]
pub mod demo;
mod discard;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
pub mod json;
mod near;
mod new_file;
pub mod postgres;
mod private;
pub mod progress;
pub mod review;
pub mod runs;
pub mod scratch;
pub mod text;
mod threads;
#[cfg(feature = "app")]
pub mod tui;

pub use error::{Error, ErrorKind, Result};
