//! The whole interface by scripted keys, on a database and a store in memory that fail and hold back
//! when the script says so: the real loop, the real jobs, the real review worker.

mod common;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use afterrun::tui::driver::Asked;
use afterrun::tui::state::Labels;
use common::fake::Fake;
use common::headless::{Person, with};
use common::{Place, id};

const EDIT: &str = "+ Edited by the engineer";

fn labels() -> Labels {
    Labels {
        database: "rows in memory".into(),
        store: "objects in memory".into(),
        ..Labels::default()
    }
}

/// Runs `script` before the interface; whether the script left it.
fn play<F: Future<Output = ()>>(script: impl FnOnce(Fake, Person) -> F) -> bool {
    afterrun::review::use_worker(env!("CARGO_BIN_EXE_afterrun"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let left = runtime.block_on(async {
        let fake = Fake::of_the_demo().await;
        let runs = fake.runs();
        with(runs, labels(), (160, 45), async |person| {
            script(fake, person).await;
        })
        .await
    });
    // What a failed script holds back would hold this up too.
    runtime.shutdown_background();
    left
}

/// Opens a run by its id.
async fn open(person: &mut Person, run: &str) {
    person.keys(":");
    person.text(run);
    person.keys("enter");
    person.wait_gone("An action, or the id of a run").await;
}

#[test]
fn from_the_list_to_a_diff_and_on_to_the_turn_before() {
    play(async |_, mut person| {
        person.wait_for("3 agents · 24 runs").await;
        person.keys("enter");
        person.wait_for(EDIT).await;
        person.wait_for("✔ row ✔ COMPLETED ✔ object").await;
        person.keys("<");
        person.wait_for("→ turn 1").await;
        person.wait_gone(EDIT).await;
        person.keys(">");
        person.wait_for(EDIT).await;
    });
}

#[test]
fn a_held_back_object_shows_progress_and_can_be_given_up() {
    play(async |fake, mut person| {
        person.wait_for("24 runs").await;
        fake.store.hold(true);
        open(&mut person, id::STORY2).await;
        person.wait_for("✔ object").await;
        // Nothing of it is shown before its digest is right, and every key works meanwhile.
        assert!(!person.frame().text.contains(EDIT));
        person.keys("i");
        person.wait_for("3 Info").await;
        person.keys("d esc");
        person.wait_for("stopped opening").await;
        fake.store.hold(false);
        open(&mut person, id::STORY2).await;
        person.wait_for(EDIT).await;
    });
}

#[test]
fn the_newest_of_several_opens_wins() {
    play(async |fake, mut person| {
        person.wait_for("24 runs").await;
        fake.store.hold(true);
        for run in [id::STORY2, id::PANTRY4, id::PANTRY5] {
            open(&mut person, run).await;
        }
        fake.store.hold(false);
        person.wait_for("→ turn 5").await;
        person.settled().await;
        assert!(person.frame().text.contains("3 Diff  pin 296718a → turn 5"));
        person.keys("J");
        person.wait_for("given up for a newer one").await;
    });
}

#[test]
fn going_back_reads_no_object_again_and_hears_of_one_that_is_gone() {
    play(async |fake, mut person| {
        person.wait_for("24 runs").await;
        open(&mut person, id::PANTRY5).await;
        person.wait_for("16 changed").await;
        open(&mut person, id::STORY2).await;
        person.wait_for(EDIT).await;
        let before = fake.store.fetched.load(Ordering::SeqCst);
        open(&mut person, id::PANTRY5).await;
        person.wait_for("→ turn 5").await;
        person.wait_for("16 changed").await;
        person.settled().await;
        assert_eq!(fake.store.fetched.load(Ordering::SeqCst), before);
        // The hunks come from a worker that was started anew.
        person.keys("3 } } } } } }");
        person.settled().await;
        person.wait_for("@@ ").await;
        fake.store.empty();
        open(&mut person, id::STORY2).await;
        person.wait_for("Checkpoint object is missing").await;
        assert!(!person.frame().text.contains(EDIT));
    });
}

#[test]
fn a_database_that_is_lost_is_said_and_comes_back() {
    play(async |fake, mut person| {
        person.wait_for("24 runs").await;
        fake.database.fail(true);
        person.keys("R");
        person.wait_for("The database does not answer").await;
        // What was read stays.
        assert!(person.frame().text.contains("Look around"));
        open(&mut person, id::STORY2).await;
        person.wait_for("✖ database").await;
        fake.database.fail(false);
        person.keys("esc R");
        person.settled().await;
        open(&mut person, id::STORY2).await;
        person.wait_for(EDIT).await;
    });
}

#[test]
fn a_run_that_changes_under_the_hand_is_refused() {
    play(async |fake, mut person| {
        person.wait_for("24 runs").await;
        open(&mut person, id::STORY2).await;
        person.wait_for(EDIT).await;
        open(&mut person, id::PANTRY5).await;
        person.wait_for("→ turn 5").await;
        fake.database.change(|runs| {
            let run = runs.iter_mut().find(|run| run.run_id == id::STORY2);
            run.expect("there").status = Some("REGENERATED".into());
        });
        open(&mut person, id::STORY2).await;
        person.wait_for("is REGENERATED, not COMPLETED").await;
        fake.database
            .change(|runs| runs.retain(|run| run.run_id != id::STORY2));
        open(&mut person, id::STORY2).await;
        person.wait_for("does not exist").await;
    });
}

#[test]
fn a_restore_is_planned_done_and_kept_in_the_jobs() {
    let place = Place::new();
    let out = place
        .path("out")
        .into_os_string()
        .into_string()
        .expect("UTF-8");
    play(async |_, mut person| {
        person.wait_for("24 runs").await;
        open(&mut person, id::PANTRY5).await;
        person.wait_for("16 changed").await;
        person.keys("r ctrl-u");
        person.text(&out);
        person.keys("enter");
        person.wait_for("2 links to absolute paths").await;
        assert!(!PathBuf::from(&out).exists(), "a plan writes nothing");
        person.keys("enter");
        person.wait_for("✔ restored to").await;
        assert!(PathBuf::from(&out).join("workspace/repository").is_dir());
        person.keys("J");
        person.wait_for("restore to").await;
    });
}

#[test]
fn a_fetch_says_that_it_is_stopped_when_it_is() {
    let place = Place::new();
    let out = place.path("kept");
    let text = out.to_str().expect("UTF-8").to_owned();
    play(async |fake, mut person| {
        person.wait_for("24 runs").await;
        fake.store.hold(true);
        person.keys("F ctrl-u");
        person.text(&text);
        person.keys("enter");
        person.wait_for("fetching to").await;
        person.keys("esc");
        person.wait_for("stopping the fetch").await;
        // The file is still being written: nothing is claimed.
        person.keys("J");
        person.wait_for("fetch to").await;
        assert!(!person.frame().text.contains("nothing was left behind"));
        fake.store.hold(false);
        person.wait_for("nothing was left behind").await;
    });
    assert_eq!(common::names(&place.path("")), [""; 0]);
}

#[test]
fn leaving_while_everything_is_at_work() {
    let left = play(async |fake, mut person| {
        person.wait_for("24 runs").await;
        open(&mut person, id::PANTRY5).await;
        person.wait_for("16 changed").await;
        fake.store.hold(true);
        open(&mut person, id::STORY2).await;
        person.wait_for("✔ object").await;
        person.ask(Asked::Leave);
        // What holds it back lets go when it is gone: a job is waited for.
        fake.store.hold(false);
        std::future::pending::<()>().await;
    });
    assert!(left);
}
