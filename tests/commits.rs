//! What the agent's commits changed, each against its first parent: as git says it, on the demo world.

mod common;

use std::sync::Arc;

use afterrun::ErrorKind;
use afterrun::archive::Archive;
use afterrun::checkpoint::{CheckpointLimits, FileCheckpointStore};
use afterrun::progress::{CancellationToken, Watch};
use afterrun::review::{BaseChoice, Commit, Diff, Parent, PatchOptions, Review, Status};
use afterrun::runs::{Opening, Runs, SqliteRuns, Tables};
use common::{Place, id, world};

/// The fifth turn of the pantry, compared with its pin.
fn pantry() -> (Review, Diff) {
    afterrun::review::use_worker(env!("CARGO_BIN_EXE_afterrun"));
    let world = world();
    let (watch, limits) = (Watch::default(), CheckpointLimits::default());
    let database = SqliteRuns::open(&world.database, Tables::default()).expect("a database");
    let row = database.blocking_run(id::PANTRY5).expect("read");
    let pin = row.expect("a row").repository();
    let store = FileCheckpointStore::open(&world.store).expect("a store");
    let runs = Runs::new(Arc::new(database), Some(Arc::new(store)), None);
    let lease = runs.blocking_open_run_checkpoint(id::PANTRY5, &Opening::Own, &watch);
    let archive = Archive::blocking_from_lease(&lease.expect("a lease"), &limits, &watch);
    let review = Review::blocking_open(Arc::new(archive.expect("valid")), pin, &watch);
    let review = review.expect("a review");
    let diff = review.blocking_diff_archive(&BaseChoice::Pin, &watch);
    (review, diff.expect("a diff"))
}

/// `git` in the restored checkout.
fn git(place: &Place, args: &[&str]) -> String {
    let mut command = place.command("git");
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ] {
        command.env(name, value);
    }
    let checkout = place.path("out/workspace/repository");
    command.arg("-C").arg(checkout).args(args);
    let output = command.output().expect("git is there");
    assert!(output.status.success(), "git {args:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_commit_and_a_stash_changed_what_git_says() {
    let (review, diff) = pantry();
    let place = Place::new();
    place.world(&["restore", id::PANTRY5, "out"]).ok();
    let ids = diff.commits.iter().map(|commit| &commit.id);
    let ids: Vec<&String> = ids.chain(diff.stashes.iter().map(|one| &one.id)).collect();
    assert_eq!(ids.len(), 2);
    for id in ids {
        let made = review.blocking_commit_diff(&diff, id, &Watch::default());
        let made = made.expect("a diff");
        let counted: Vec<String> = made
            .files
            .iter()
            .map(|(file, _)| {
                let path = String::from_utf8_lossy(&file.path);
                let count =
                    |lines: Option<u32>| lines.map_or("-".into(), |count| count.to_string());
                format!(
                    "{}\t{}\t{path}",
                    count(file.additions),
                    count(file.deletions)
                )
            })
            .collect();
        let numbers = ["-c", "core.quotePath=off", "diff", "--numstat", "-M", "-z"];
        let parent = format!("{id}^1");
        let said = git(&place, &[&numbers[..], &[&parent, id]].concat());
        // A rename is `added deleted NUL old NUL new NUL` with -z.
        let mut words = said.split('\0');
        let mut expected = Vec::new();
        while let Some(word) = words.next().filter(|word| !word.is_empty()) {
            match word.strip_suffix('\t') {
                Some(counts) => {
                    words.next();
                    let new = words.next().expect("a new name");
                    expected.push(format!("{counts}\t{new}"));
                }
                None => expected.push(word.to_owned()),
            }
        }
        expected.sort_by(|a, b| a.split('\t').nth(2).cmp(&b.split('\t').nth(2)));
        assert_eq!(counted, expected, "{id}");
        assert!(matches!(&made.parent, Parent::Commit(parent) if parent.len() == 40));
        assert_eq!((made.more, &made.cut), (0, &None));
        // Every line that is counted is there.
        for (file, patch) in &made.files {
            let lines = patch.hunks.iter().flat_map(|hunk| &hunk.lines);
            let changed = lines.filter(|line| line.old.is_none() || line.new.is_none());
            let counted = file.additions.zip(file.deletions).map(|(a, d)| a + d);
            assert_eq!(changed.count() as u32, counted.unwrap_or(0));
        }
        assert!(
            made.files
                .iter()
                .all(|(file, _)| file.status != Status::Untracked)
        );
    }
}

#[test]
fn the_comparison_that_is_held_stays() {
    let (review, mut diff) = pantry();
    let watch = Watch::default();
    let patch = |review: &Review, diff: &Diff, file| {
        let options = PatchOptions::default();
        review.blocking_patch(diff, file, options, &watch)
    };
    let before: Vec<_> = (0..diff.files.len())
        .map(|file| patch(&review, &diff, file).expect("a patch"))
        .collect();
    let id = diff.commits[0].id.clone();
    let one = review
        .blocking_commit_diff(&diff, &id, &watch)
        .expect("made");
    for (file, before) in before.iter().enumerate() {
        assert_eq!(&patch(&review, &diff, file).expect("a patch"), before);
    }
    // What cannot be made takes nothing along either.
    let commit = |id: &str| Commit {
        id: id.to_owned(),
        author: String::new(),
        time: 0,
        subject: String::new(),
    };
    diff.commits.push(commit(&"0".repeat(40)));
    diff.commits.push(commit("no id"));
    let missing = review.blocking_commit_diff(&diff, &"0".repeat(40), &watch);
    let error = missing.expect_err("no such object");
    assert_eq!(error.kind(), ErrorKind::UnsafeContent);
    assert!(!error.message().contains('\n'), "{error}");
    for unknown in ["no id", &"1".repeat(40)] {
        let refused = review.blocking_commit_diff(&diff, unknown, &watch);
        assert_eq!(refused.expect_err("not listed").kind(), ErrorKind::Usage);
    }
    let token = CancellationToken::new();
    token.cancel();
    let stopped = review.blocking_commit_diff(&diff, &id, &Watch::new(token));
    if let Err(error) = stopped {
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    assert_eq!(&patch(&review, &diff, 1).expect("a patch"), &before[1]);
    let again = review
        .blocking_commit_diff(&diff, &id, &watch)
        .expect("made");
    assert_eq!(again, one);
}

#[test]
fn a_parent_that_a_shallow_clone_left_out_hides_nothing_and_adds_nothing() {
    let (review, mut diff) = pantry();
    let pin = diff.pin.clone().expect("a pin");
    diff.commits[0].id.clone_from(&pin);
    let made = review.blocking_commit_diff(&diff, &pin, &Watch::default());
    let made = made.expect("an answer");
    assert_eq!(
        made.parent,
        Parent::Missing("cb4ecebc2a8bf01055754db56236466e37506b76".into())
    );
    assert!(made.files.is_empty() && made.more == 0);
}
