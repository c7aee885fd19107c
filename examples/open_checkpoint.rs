//! What Agno's cookbook does in Python, in Rust: open a run by its id, restore it, print the edit.
//!
//! ```text
//! cargo run -- demo --dir demo --no-tui
//! cargo run --example open_checkpoint -- demo/agno.sqlite demo/checkpoints \
//!     bee43833-e29e-40ba-ae85-59abd5f626b3 engineer restored
//! ```

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use afterrun::archive::{Archive, RestoreOptions};
use afterrun::checkpoint::{CheckpointLimits, FileCheckpointStore};
use afterrun::progress::Watch;
use afterrun::review::{BaseChoice, PatchOptions, Review};
use afterrun::runs::{Opening, Runs, SqliteRuns, Tables};

fn main() -> ExitCode {
    // First of all: libgit2 works in a child process, which is this executable started again.
    afterrun::review::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [database, store, run_id, agent, destination] = words.as_slice() else {
        eprintln!("usage: open_checkpoint DB STORE RUN AGENT DEST");
        return ExitCode::from(2);
    };
    match open(database, store, run_id, agent, destination.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The message is Agno's where Agno has one; the kind is for programs.
            eprintln!("{}: {error}", error.kind());
            ExitCode::FAILURE
        }
    }
}

fn open(
    database: &str,
    store: &str,
    run_id: &str,
    agent: &str,
    destination: &Path,
) -> afterrun::Result<()> {
    // The default watch hears no progress and cancels nothing.
    let watch = Watch::default();
    let limits = CheckpointLimits::default();
    let runs = Runs::new(
        Arc::new(SqliteRuns::open(database, Tables::default())?),
        Some(Arc::new(FileCheckpointStore::open(store)?)),
        None,
    );

    // Row, gate, store: what comes back are bytes whose size and digest were right.
    let lease = runs.blocking_open_run_checkpoint(run_id, &Opening::As(agent), &watch)?;

    // Only bytes that also are a valid archive can be restored or compared.
    let archive = Arc::new(Archive::blocking_from_lease(&lease, &limits, &watch)?);
    let plan = archive.plan_restore(destination, &RestoreOptions::default())?;
    let report = plan.carry_out(&watch)?;
    println!("restored {} entries", report.entries);

    // The diff comes from the archive, not from what was just written, and needs no restore.
    let review = Review::blocking_open(archive, None, &watch)?;
    let diff = review.blocking_diff_archive(&BaseChoice::Default, &watch)?;
    println!("against {}", diff.base.label());
    for file in 0..diff.files.len() {
        let patch = review.blocking_patch_text(&diff, file, PatchOptions::default(), &watch)?;
        // A patch is bytes, as files are.
        let written = std::io::stdout().write_all(&patch);
        written.map_err(|error| afterrun::Error::io("write", Path::new("stdout"), error))?;
    }
    Ok(())
}
