//! A small world to explore: agents, sessions and runs in a database of Agno's, and checkpoints in
//! a file store, made by this crate's own capture and store in a fraction of a second.
//!
//! Built twice it is the same to the byte: ids, commits, times and contents are fixed, and nothing
//! of the machine it is built on gets in.

mod files;
mod git;
mod harbor;
mod object;
mod others;
mod pantry;
mod pantry_seed;
mod rows;
mod session;
mod steps;
mod story;
#[cfg(test)]
mod tests;
mod transcript;
mod turn;

use std::path::{Path, PathBuf};

use rows::Runner;
use session::Script;

use crate::checkpoint::FileCheckpointStore;
use crate::error::{Error, ErrorKind, Result};
use crate::text::visible_path;

/// 2026-06-01 00:00 UTC, the day on which everything happens.
const DAY: i64 = 1_780_272_000;
const HOUR: i64 = 3600;

const ENGINEER: Runner = Runner {
    kind: "agent",
    id: "engineer",
    name: "Engineer",
};
const REVIEWER: Runner = Runner {
    kind: "agent",
    id: "reviewer",
    name: "Reviewer",
};
const MIGRATOR: Runner = Runner {
    kind: "agent",
    id: "migrator",
    name: "Migrator",
};

/// Where a demo world is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The database, `agno.sqlite`.
    pub database: PathBuf,
    /// The store of its checkpoints.
    pub store: PathBuf,
    /// The run to begin with: turn 2 of the first session.
    pub story: String,
}

/// Builds the demo world in `dir`, which is made when it is not there.
///
/// # Errors
/// [`ErrorKind::Exists`] when `dir` is there and not an empty folder; what the file system refuses.
/// Then nothing is left of the attempt.
pub fn build(dir: &Path) -> Result<World> {
    let unfinished = Unfinished::begin(dir)?;
    let world = World {
        database: dir.join("agno.sqlite"),
        store: dir.join("checkpoints"),
        story: story::script().run_id(story::TURN),
    };
    let store = FileCheckpointStore::create(&world.store)?;
    let work = dir.join(".building");
    std::fs::create_dir(&work).map_err(|error| Error::io("make", &work, error))?;
    let (mut sessions, mut runs, mut objects) = (Vec::new(), Vec::new(), Vec::new());
    let play = |script: &Script| {
        let work = work.join(script.key);
        std::fs::create_dir(&work).map_err(|error| Error::io("make", &work, error))?;
        script.play(&work)
    };
    for played in side_by_side(&scripts(), play)? {
        sessions.push(played.session);
        runs.extend(played.runs);
        objects.extend(played.objects);
    }
    side_by_side(&objects, |object| object.publish(&store))?;
    sessions.sort_by_key(|row| row.created_at);
    runs.sort_by_key(|row| row.created_at);
    rows::write(&world.database, &sessions, &runs)?;
    std::fs::remove_dir_all(&work).map_err(|error| Error::io("remove", &work, error))?;
    unfinished.keep();
    Ok(world)
}

fn scripts() -> Vec<Script> {
    let mut scripts = vec![story::script(), pantry::script()];
    scripts.extend(harbor::scripts());
    scripts.extend(others::scripts());
    scripts
}

/// Sessions and objects know nothing of each other, and most of their time is spent waiting for the
/// disk.
fn side_by_side<A: Sync, B: Send>(
    all: &[A],
    work: impl Fn(&A) -> Result<B> + Sync,
) -> Result<Vec<B>> {
    let stopped = |_| Error::new(ErrorKind::Io, "the demo stopped on its way");
    let refused = |error| Error::io("start a thread for", Path::new("the demo"), error);
    let work = &work;
    std::thread::scope(|scope| {
        let workers: Vec<_> = all
            .iter()
            .map(|one| std::thread::Builder::new().spawn_scoped(scope, move || work(one)))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.map_err(refused)?.join().map_err(stopped)?)
            .collect()
    })
}

/// Removes what was begun, unless it is kept.
struct Unfinished {
    dir: PathBuf,
    /// The topmost folder we made; `None` when `dir` was there.
    made: Option<PathBuf>,
    kept: bool,
}

impl Unfinished {
    fn begin(dir: &Path) -> Result<Self> {
        let absent =
            |path: &&Path| !path.as_os_str().is_empty() && std::fs::symlink_metadata(path).is_err();
        let made = dir.ancestors().take_while(absent).last();
        if made.is_none() {
            let mut inside = std::fs::read_dir(dir).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotADirectory => occupied(dir, "is not a folder"),
                _ => Error::io("read", dir, error),
            })?;
            if inside.next().is_some() {
                return Err(occupied(dir, "is not empty"));
            }
        }
        let unfinished = Self {
            dir: dir.to_owned(),
            made: made.map(Path::to_owned),
            kept: false,
        };
        std::fs::create_dir_all(dir).map_err(|error| Error::io("make", dir, error))?;
        Ok(unfinished)
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Some(made) = &self.made {
            let _ = std::fs::remove_dir_all(made);
            return;
        }
        for name in ["agno.sqlite", "agno.sqlite-wal", "agno.sqlite-shm"] {
            let _ = std::fs::remove_file(self.dir.join(name));
        }
        for name in ["checkpoints", ".building"] {
            let _ = std::fs::remove_dir_all(self.dir.join(name));
        }
    }
}

fn occupied(dir: &Path, why: &str) -> Error {
    let error = Error::new(ErrorKind::Exists, format!("{} {why}", visible_path(dir)));
    let (database, store) = (dir.join("agno.sqlite"), dir.join("checkpoints"));
    if database.is_file() && store.is_dir() {
        let word = |path: &Path| shell_words::quote(&visible_path(path)).into_owned();
        return error.hint(format!(
            "the world that is there is opened with `afterrun --db {} --store {}`; --dir names a folder that is new or empty",
            word(&database),
            word(&store)
        ));
    }
    error.hint("--dir names a folder that is new or empty")
}
