//! How fast a checkpoint is on screen, and how fast it is restored: `cargo bench`.
//!
//! Figures are for comparing two builds on one machine; nothing here passes or fails.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use afterrun::archive::{CaptureRoots, CheckpointArchive, RestoreOptions};
use afterrun::checkpoint::{CheckpointRef, FileCheckpointStore};
use afterrun::json::Json;
use afterrun::progress::Watch;
use afterrun::review::{BaseChoice, Review};
use divan::Bencher;

fn main() {
    // The bench is its own review worker.
    afterrun::review::init();
    divan::main();
}

/// Objects of some sizes, made once: files of 2 kB that barely compress.
struct World {
    folder: tempfile::TempDir,
    store: FileCheckpointStore,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FileCheckpointStore::create(folder.path().join("store")).expect("a store");
        World { folder, store }
    })
}

fn object(files: usize) -> CheckpointRef {
    let world = world();
    let roots = CaptureRoots {
        workspace: world.folder.path().join(format!("workspace-{files}")),
        native: world.folder.path().join(format!("native-{files}")),
    };
    std::fs::create_dir_all(&roots.native).expect("made");
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    for file in 0..files {
        let folder = roots.workspace.join(format!("src/{}", file / 50));
        std::fs::create_dir_all(&folder).expect("made");
        let mut text = Vec::with_capacity(2048);
        while text.len() < 2048 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.extend(format!("let v{} = {};\n", word >> 60, word >> 40).into_bytes());
        }
        std::fs::write(folder.join(format!("{file}.rs")), text).expect("written");
    }
    let archive = world.folder.path().join(format!("archive-{files}"));
    CheckpointArchive::default()
        .blocking_capture(
            &roots,
            &archive,
            &Json::Object(vec![]),
            &[],
            &Watch::default(),
        )
        .expect("captured");
    world.store.blocking_put(&archive).expect("stored")
}

fn open(reference: &CheckpointRef) -> Arc<afterrun::archive::Archive> {
    let stored = world().store.blocking_fetch(reference).expect("there");
    let limits = Default::default();
    Arc::new(
        afterrun::archive::Archive::blocking_read(stored, &limits, &Watch::default())
            .expect("valid"),
    )
}

/// Read once, hashed, expanded and validated.
#[divan::bench(args = [20, 5_000])]
fn verify(bencher: Bencher<'_, '_>, files: usize) {
    let reference = object(files);
    bencher.bench_local(|| open(&reference));
}

/// The same, and every file listed with its lines counted by a fresh worker.
#[divan::bench(args = [20, 1_000])]
fn verify_and_diff(bencher: Bencher<'_, '_>, files: usize) {
    let reference = object(files);
    bencher.bench_local(|| {
        let review =
            Review::blocking_open(open(&reference), None, &Watch::default()).expect("read");
        review
            .blocking_diff_archive(&BaseChoice::Empty, &Watch::default())
            .expect("compared")
    });
}

/// Verified and written to a new directory; removing it is not counted.
#[divan::bench(args = [20, 5_000], sample_count = 20)]
fn verify_and_restore(bencher: Bencher<'_, '_>, files: usize) {
    let reference = object(files);
    let destination: PathBuf = world().folder.path().join("restored");
    bencher
        .with_inputs(|| {
            let _ = std::fs::remove_dir_all(&destination);
        })
        .bench_local_values(|()| {
            let archive = open(&reference);
            let plan = archive
                .plan_restore(&destination, &RestoreOptions::default())
                .expect("planned");
            plan.carry_out(&Watch::default()).expect("restored")
        });
}
