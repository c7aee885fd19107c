//! What the world promises: the same bytes every time, the story in its second turn, and one run
//! for every answer of the gate and of the store.

use std::collections::BTreeMap;
use std::path::Path;

use git2::Status;

use super::*;
use crate::archive::{Archive, CheckpointArchive};
use crate::checkpoint::{CheckpointLimits, CheckpointRef};
use crate::progress::Watch;
use crate::runs::{Opening, RunFilter, RunRow, SqliteRuns, Tables, gate};

struct Demo {
    _folder: tempfile::TempDir,
    world: World,
    runs: SqliteRuns,
    store: FileCheckpointStore,
}

fn demo() -> Demo {
    let folder = tempfile::tempdir().expect("a folder");
    let world = build(&folder.path().join("world")).expect("a world");
    Demo {
        runs: SqliteRuns::open(&world.database, Tables::default()).expect("its database"),
        store: FileCheckpointStore::open(&world.store).expect("its store"),
        _folder: folder,
        world,
    }
}

impl Demo {
    fn rows(&self) -> Vec<RunRow> {
        let page = self.runs.blocking_page(&RunFilter::default(), 100, None);
        page.expect("a page").runs
    }

    fn script(key: &str) -> Script {
        let mut all = scripts().into_iter();
        all.find(|script| script.key == key).expect("a session")
    }

    /// What opening the turn says: `ok`, or the refusal.
    fn open(&self, key: &str, number: usize, agent: &str) -> String {
        let run = Self::script(key).run_id(number);
        let row = self.runs.blocking_run(&run).expect("the database answers");
        let answer = gate(&run, row.as_ref(), &Opening::As(agent))
            .and_then(|reference| self.store.blocking_verify(&reference, &Watch::default()));
        match answer {
            Ok(()) => "ok".into(),
            Err(error) => error.to_string().replace(&run, "ID"),
        }
    }

    fn reference(&self, key: &str, number: usize) -> CheckpointRef {
        let run = Self::script(key).run_id(number);
        let row = self.runs.blocking_run(&run).expect("the database answers");
        gate(&run, row.as_ref(), &Opening::Own).expect("a reference")
    }

    fn archive(&self, key: &str, number: usize) -> Archive {
        let object = self.store.blocking_fetch(&self.reference(key, number));
        let limits = CheckpointLimits::default();
        Archive::blocking_read(object.expect("stored"), &limits, &Watch::default()).expect("valid")
    }

    fn text(&self, key: &str, number: usize, path: &str) -> String {
        let archive = self.archive(key, number);
        let entry = archive.entry(path.as_bytes()).expect(path);
        let bytes = archive.content(entry, u64::MAX).expect("readable");
        String::from_utf8(bytes).expect("text")
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("listed");
    let mut names: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn two_builds_are_the_same() {
    let (one, two) = (demo(), demo());
    assert_eq!(one.world.story, two.world.story);
    assert_eq!(one.rows(), two.rows());
    assert_eq!(names(&one.world.store), names(&two.world.store));
    let read = |demo: &Demo| std::fs::read(&demo.world.database).expect("read");
    assert!(read(&one) == read(&two), "databases differ");
    let root = one.world.database.parent().expect("a folder");
    assert_eq!(names(root), ["agno.sqlite", "checkpoints"]);
    assert_eq!(read(&one)[18..20], [2, 2], "journal mode WAL");
    for name in names(&one.world.store) {
        use std::os::unix::fs::MetadataExt;
        let entry = std::fs::metadata(one.world.store.join(&name)).expect("an object");
        assert_eq!((name.len(), entry.mode() & 0o7777), (64, 0o400));
    }
}

#[test]
fn the_story_is_the_newest_session_and_holds_the_edit() {
    let demo = demo();
    let newest = &demo.rows()[0];
    assert_eq!(newest.run_id, demo.world.story);
    assert_eq!(
        (newest.agent_id.as_deref(), newest.turn()),
        (Some("engineer"), Some(2))
    );
    let archive = demo.archive("story", 2);
    for path in [
        "native/fixture-session",
        "native/repository.json",
        "workspace/fixture-effects.txt",
        "workspace/fixture-env.txt",
        "workspace/repository",
        "workspace/repository/.git/HEAD",
    ] {
        assert!(archive.entry(path.as_bytes()).is_some(), "{path}");
    }
    let readme = "workspace/repository/README.md";
    assert_eq!(demo.text("story", 1, readme), "Hello World!\n");
    assert_eq!(
        demo.text("story", 2, readme),
        "Hello World!\nEdited by the engineer\n"
    );
    let pin = newest.repository().expect("a pin");
    let head = demo.text("story", 2, "workspace/repository/.git/HEAD");
    assert_eq!(head, format!("{}\n", pin.commit));
    let copy = crate::json::Json::parse(&demo.text("story", 2, "native/repository.json"));
    let copy = crate::runs::Repository::from_json(&copy.expect("JSON"));
    assert_eq!(copy.expect("a copy"), pin);
}

#[test]
fn every_answer_of_gate_and_store_has_its_run() {
    let demo = demo();
    let open = |key, number, agent| demo.open(key, number, agent);
    assert_eq!(open("story", 2, "engineer"), "ok");
    assert_eq!(
        open("story", 2, "reviewer"),
        "Run ID belongs to another agent"
    );
    assert_eq!(open("story", 9, "engineer"), "Run ID does not exist");
    assert_eq!(open("notes", 2, "reviewer"), "ok");
    assert_eq!(open("exports", 1, "migrator"), "ok");
    assert_eq!(
        open("release", 1, "engineer"),
        "Run ID belongs to another agent"
    );
    assert_eq!(
        open("nightly", 1, "reviewer"),
        "Run ID belongs to another agent"
    );
    assert_eq!(
        open("question", 1, "engineer"),
        "Run ID committed no sandbox checkpoint"
    );
    assert_eq!(open("split", 1, "migrator"), "Checkpoint object is missing");
    assert_eq!(open("split", 3, "migrator"), "ok");
    assert_eq!(
        open("rehearsal", 1, "migrator"),
        "Checkpoint checksum mismatch"
    );
    let damaged = open("import", 1, "reviewer");
    assert!(damaged.starts_with("Run ID cannot be read: "), "{damaged}");
    for (key, number, agent, status) in [
        ("question", 2, "engineer", "PAUSED"),
        ("linter", 1, "engineer", "RUNNING"),
        ("split", 2, "migrator", "ERROR"),
        ("split", 4, "migrator", "CANCELLED"),
        ("proposal", 1, "reviewer", "REGENERATED"),
        ("proposal", 3, "reviewer", "PENDING"),
    ] {
        let refusal = format!(
            "Run ID is {status}, not COMPLETED; only a completed turn commits a checkpoint"
        );
        assert_eq!(open(key, number, agent), refusal);
    }
    assert!(!demo.archive("exports", 1).is_compressed());
    assert!(
        demo.archive("notes", 1)
            .entry(b"workspace/repository")
            .is_none()
    );
    let agents = demo.runs.blocking_agents().expect("agents");
    let ids: Vec<_> = agents
        .iter()
        .map(|agent| agent.agent_id.as_deref())
        .collect();
    assert_eq!(
        ids,
        [Some("engineer"), Some("reviewer"), Some("migrator"), None]
    );
}

/// libgit2's view of a restored checkout, against what the turns say they did.
#[test]
fn the_last_turn_of_the_long_session_is_as_told() {
    let demo = demo();
    let folder = tempfile::tempdir().expect("a folder");
    let restored = folder.path().join("restored");
    let object = demo.store.root().join(demo.reference("pantry", 5).sha256());
    CheckpointArchive::default()
        .blocking_restore(&object, &restored, true, &Watch::default())
        .expect("restored");
    let repository = git2::Repository::open(restored.join("workspace/repository"));
    let mut repository = repository.expect("a checkout");
    let head = repository
        .head()
        .expect("HEAD")
        .peel_to_commit()
        .expect("a commit");
    let pin = Demo::script("pantry").run_id(5);
    let pin = demo.runs.blocking_run(&pin).expect("asked").expect("a row");
    let pin = pin.repository().expect("a pin").commit;
    assert_eq!(head.parent_id(0).expect("a parent").to_string(), pin);
    let mut options = git2::StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    let statuses = repository.statuses(Some(&mut options)).expect("a status");
    let found: BTreeMap<String, Status> = statuses
        .iter()
        .filter_map(|entry| Some((entry.path().ok()?.to_owned(), entry.status())))
        .collect();
    let told: BTreeMap<String, Status> = [
        ("assets/logo.png", Status::WT_MODIFIED),
        ("assets/shelf label.png", Status::WT_NEW),
        ("data/latest.csv", Status::WT_NEW),
        ("docs/Größen und Maße.md", Status::WT_MODIFIED),
        ("docs/Mode d’emploi – français.md", Status::WT_NEW),
        ("docs/使い方 ガイド.md", Status::WT_NEW),
        ("notes.txt", Status::WT_NEW),
        ("scripts/seed.sh", Status::WT_MODIFIED),
        (
            "src/pantry/expiry.py",
            Status::INDEX_NEW | Status::WT_MODIFIED,
        ),
    ]
    .map(|(path, status)| (path.to_owned(), status))
    .into();
    drop(statuses);
    drop(head);
    assert_eq!(found, told, "config/settings.toml is hidden by the index");
    let settings = demo.text("pantry", 5, "workspace/repository/config/settings.toml");
    assert!(settings.contains("postgresql://staging/pantry"));
    let mut stashes = Vec::new();
    repository
        .stash_foreach(|_, message, _| {
            stashes.push(message.to_owned());
            true
        })
        .expect("stashes");
    assert_eq!(stashes, ["On (no branch): pantry expired, half done"]);
}

#[test]
fn an_occupied_folder_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("mine"), "text").expect("written");
    for dir in [folder.path().to_owned(), folder.path().join("mine")] {
        assert_eq!(build(&dir).expect_err("occupied").kind(), ErrorKind::Exists);
    }
    let below = folder.path().join("mine/new");
    assert!(build(&below).is_err());
    assert_eq!(names(folder.path()), ["mine"]);
    let empty = tempfile::tempdir().expect("a folder");
    build(empty.path()).expect("an empty folder is fine");
}

#[test]
fn what_was_begun_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("a/b");
    drop(Unfinished::begin(&dir).expect("begun"));
    assert_eq!(names(folder.path()), [""; 0]);
}
