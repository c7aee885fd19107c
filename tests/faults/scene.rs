//! A small world: one session of an agent, a few runs, and a checkout with one commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::{Place, sha256};

pub const SESSION: &str = "session-of-faults";
/// Of the runs' rows.
const BEGAN: i64 = 1_780_300_000;

/// Objects and rows, and what they were captured from.
pub struct Scene {
    pub place: Place,
}

/// The id of run number `index`.
pub fn run_id(index: usize) -> String {
    format!("run-of-faults-{index}")
}

impl Scene {
    /// With `runs` runs.
    pub fn new(runs: usize) -> Self {
        let place = Place::new();
        for folder in ["workspace/repository", "native"] {
            std::fs::create_dir_all(place.path(folder)).expect("made");
        }
        let this = Self { place };
        this.file("repository/README.md", b"one\ntwo\n");
        std::os::unix::fs::symlink("README.md", this.repository().join("link")).expect("made");
        this.commit();
        let database = Connection::open(this.database()).expect("made");
        database.execute_batch(TABLES).expect("tables");
        database
            .execute(
                "INSERT INTO agno_sessions VALUES (?1, 'agent', 'engineer', '{}', ?2, ?2)",
                (SESSION, BEGAN),
            )
            .expect("a session");
        drop(database);
        (0..runs).for_each(|run| this.another_run(run));
        this
    }

    /// Adds run number `index`, which edits the one file and adds another.
    pub fn another_run(&self, index: usize) {
        let edited = format!("one\nedited {index}\n");
        self.file("repository/README.md", edited.as_bytes());
        let note = format!("a note\n{index}\n");
        self.file(&format!("note-{index}.txt"), note.as_bytes());
        let reference = self.capture("checkpoints");
        self.row(&run_id(index), index, &row_data(&reference).to_string());
    }

    pub fn database(&self) -> PathBuf {
        self.place.path("agno.sqlite")
    }

    pub fn store(&self) -> PathBuf {
        self.place.path("checkpoints")
    }

    fn repository(&self) -> PathBuf {
        self.place.path("workspace/repository")
    }

    /// Writes a file of the workspace.
    pub fn file(&self, path: &str, bytes: &[u8]) {
        std::fs::write(self.place.path("workspace").join(path), bytes).expect("written");
    }

    /// Captures what lies there into the store `name`.
    pub fn capture(&self, name: &str) -> Value {
        let words = format!("capture --workspace workspace --native native --store {name} --json");
        let words: Vec<&str> = words.split(' ').collect();
        self.place.run(&words).ok().json()
    }

    /// Puts `bytes` into the store, whatever they are, and answers their reference.
    pub fn object(&self, bytes: &[u8]) -> Value {
        let digest = sha256(bytes);
        std::fs::write(self.store().join(&digest), bytes).expect("written");
        json!({"sha256": digest, "size": bytes.len()})
    }

    /// Adds a row.
    pub fn row(&self, run_id: &str, index: usize, data: &str) {
        let database = Connection::open(self.database()).expect("opened");
        Self::row_by(&database, run_id, index, data);
    }

    /// The same, by a writer that stays.
    pub fn row_by(writer: &Connection, run_id: &str, index: usize, data: &str) {
        let index = i64::try_from(index).expect("small");
        writer
            .execute(
                "INSERT INTO agno_runs VALUES (?1, ?2, 'engineer', NULL, 'agent', 'COMPLETED', ?3, ?4, ?5, ?5)",
                (run_id, SESSION, index, data, BEGAN + index),
            )
            .expect("a row");
    }

    /// The path of the object of run number `index`.
    pub fn stored(&self, index: usize) -> PathBuf {
        let database = Connection::open(self.database()).expect("opened");
        let data: String = database
            .query_row(
                "SELECT run_data FROM agno_runs WHERE run_id = ?1",
                [run_id(index)],
                |row| row.get(0),
            )
            .expect("a row");
        let data: Value = serde_json::from_str(&data).expect("JSON");
        let digest = &data["metadata"]["sandbox"]["checkpoint"]["sha256"];
        self.store().join(digest.as_str().expect("a digest"))
    }

    /// `--db` and `--store` of this world, then `words`.
    pub fn words(&self, words: &[&str]) -> Vec<String> {
        let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        let options = [
            "--db".into(),
            path(&self.database()),
            "--store".into(),
            path(&self.store()),
        ];
        options
            .into_iter()
            .chain(words.iter().map(|word| (*word).to_owned()))
            .collect()
    }

    /// One commit in one pack, and nothing that a diff does not need.
    fn commit(&self) {
        let script = "git init -q -b main . && git add README.md link && git commit -q -m base \
            && git repack -adq && git update-ref --no-deref HEAD HEAD && git checkout -q --detach \
            && cd .git && rm -rf hooks info logs branches description index COMMIT_EDITMSG ORIG_HEAD refs/* \
            objects/info objects/pack/*.rev packed-refs && mkdir -p refs";
        let mut git: Command = self.place.command("sh");
        git.args(["-c", script]).current_dir(self.repository());
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "Agent");
            git.env(format!("GIT_{role}_EMAIL"), "agent@example.invalid");
            git.env(format!("GIT_{role}_DATE"), "1780000000 +0000");
        }
        let done = git.output().expect("sh runs");
        assert!(done.status.success(), "{done:?}");
    }
}

/// A row's data with this reference.
pub fn row_data(reference: &Value) -> Value {
    json!({"agent_name": "Engineer", "metadata": {"sandbox": {"checkpoint": reference}}})
}

const TABLES: &str = "
CREATE TABLE agno_sessions (session_id VARCHAR PRIMARY KEY, session_type VARCHAR, agent_id VARCHAR,
    session_data JSON, created_at BIGINT, updated_at BIGINT);
CREATE TABLE agno_runs (run_id VARCHAR PRIMARY KEY, session_id VARCHAR, agent_id VARCHAR, user_id VARCHAR,
    run_type VARCHAR, status VARCHAR, run_index BIGINT, run_data JSON, created_at BIGINT, updated_at BIGINT);
";
