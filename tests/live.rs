//! The list that keeps up with its database, by scripted keys on a database in memory, and in a real
//! terminal beside a live writer on a real SQLite file.

mod common;

use std::sync::atomic::Ordering;
use std::time::Duration;

use afterrun::json::Json;
use afterrun::runs::{Binding, RunData, RunRow};
use afterrun::tui::state::Labels;
use common::fake::Fake;
use common::headless::{Person, live};
use common::pty::Terminal;
use common::{Place, id, world};
use crossterm::event::Event;
use rusqlite::Connection;

const EVERY: Duration = Duration::from_millis(30);
/// A frame, in the loop's own time; code that is not optimised takes many times as long.
const FRAME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_500 } else { 100 });
/// The demo's last second but some, before the clock of these tests.
const MADE: i64 = 1_780_400_000;

fn play<F: Future<Output = ()>>(script: impl FnOnce(Fake, Person) -> F) {
    afterrun::review::use_worker(env!("CARGO_BIN_EXE_afterrun"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let left = runtime.block_on(async {
        let fake = Fake::of_the_demo().await;
        let labels = Labels {
            database: "rows in memory".into(),
            store: "objects in memory".into(),
            ..Labels::default()
        };
        let runs = fake.runs();
        live(runs, labels, (160, 45), Some(EVERY), async |person| {
            script(fake, person).await;
        })
        .await
    });
    runtime.shutdown_background();
    assert!(!left);
}

fn row(run_id: &str, session: &str, status: &str, turn: i64, made: i64) -> RunRow {
    RunRow {
        run_id: run_id.into(),
        session_id: session.into(),
        agent_id: Some("engineer".into()),
        user_id: None,
        run_type: Some("agent".into()),
        status: Some(status.into()),
        run_index: Some(turn - 1),
        created_at: Some(made),
        updated_at: None,
        data: RunData::Value(Json::parse("{}").expect("JSON")),
    }
}

async fn open(person: &mut Person, run: &str) {
    person.keys(":");
    person.text(run);
    person.keys("enter");
    person.wait_gone("An action, or the id of a run").await;
}

#[test]
fn a_run_completes_while_one_looks_and_is_opened_in_place() {
    play(async |fake, mut person| {
        person.wait_for("24 runs · live").await;
        let mut whole = None;
        fake.database.change(|runs| {
            let run = runs.iter_mut().find(|run| run.run_id == id::STORY2);
            let run = run.expect("there");
            whole = Some(run.clone());
            run.status = Some("RUNNING".into());
        });
        person.wait_for("▶").await;
        open(&mut person, id::STORY2).await;
        person.wait_for("is RUNNING, not COMPLETED").await;
        fake.database.change(|runs| {
            let run = runs.iter_mut().find(|run| run.run_id == id::STORY2);
            *run.expect("there") = whole.take().expect("a row");
        });
        person.wait_for("is COMPLETED now").await;
        assert!(!person.frame().text.contains("is RUNNING"));
        person.keys("1 enter");
        person.wait_for("+ Edited by the engineer").await;
    });
}

#[test]
fn the_database_goes_and_comes_back() {
    play(async |fake, mut person| {
        person.wait_for("24 runs · live").await;
        open(&mut person, id::STORY2).await;
        person.wait_for("+ Edited by the engineer").await;
        fake.database.fail(true);
        person
            .wait_for("The database does not answer (R tries again)")
            .await;
        person.wait_for("seen 0s ago").await;
        // The list and the open run stay usable.
        person.keys("3 f d 2 G g 1 G g");
        person.settled().await;
        assert!(person.frame().text.contains("Look around"));
        fake.database.fail(false);
        person.keys("R");
        person.wait_for("the database answers again").await;
        person.wait_for("24 runs · live").await;
    });
}

#[test]
fn nothing_is_read_while_nobody_looks() {
    play(async |fake, mut person| {
        person.wait_for("24 runs · live").await;
        person.settled().await;
        person.send(Event::FocusLost);
        person.wait_for("24 runs · paused").await;
        tokio::time::sleep(EVERY * 3).await;
        let before = fake.database.reads.load(Ordering::SeqCst);
        fake.database
            .change(|runs| runs.insert(0, row("new", "s-new", "RUNNING", 1, MADE)));
        tokio::time::sleep(EVERY * 5).await;
        assert_eq!(fake.database.reads.load(Ordering::SeqCst), before);
        person.send(Event::FocusGained);
        person.wait_for("25 runs · live").await;
        person.wait_for("1 new").await;
    });
}

#[test]
fn a_version_that_stays_has_nothing_read() {
    play(async |fake, mut person| {
        person.wait_for("24 runs · live").await;
        tokio::time::sleep(EVERY * 5).await;
        let before = fake.database.reads.load(Ordering::SeqCst);
        tokio::time::sleep(EVERY * 10).await;
        assert_eq!(fake.database.reads.load(Ordering::SeqCst), before);
        // Neither does anything move for it.
        fake.database
            .change(|runs| runs.insert(0, row("new", "s-new", "RUNNING", 1, MADE)));
        person.wait_for("25 runs").await;
    });
}

#[test]
fn info_follows_the_binding() {
    play(async |fake, mut person| {
        person.wait_for("24 runs · live").await;
        open(&mut person, id::STORY2).await;
        person.wait_for("+ Edited by the engineer").await;
        person.keys("3 i");
        person.wait_for("3 Info").await;
        let mut session = String::new();
        fake.database.change(|runs| {
            let run = runs.iter().find(|run| run.run_id == id::STORY2);
            session.clone_from(&run.expect("there").session_id);
        });
        let binding = Binding {
            agent_id: Some("engineer".into()),
            run_id: Some("run-of-tomorrow".into()),
            held_until: Some(MADE),
            phase: Some("executing".into()),
            warm_until: None,
            kept: Vec::new(),
            retired: Vec::new(),
        };
        fake.database.bind(&session, binding.clone());
        person.wait_for("run run-of-tomorrow").await;
        let idle = Binding {
            run_id: None,
            held_until: None,
            phase: Some("idle".into()),
            ..binding
        };
        fake.database.bind(&session, idle);
        person.wait_for("no turn").await;
        person.wait_for("gone").await;
    });
}

#[test]
fn five_hundred_come_into_twenty_thousand() {
    play(async |fake, mut person| {
        person.wait_for("24 runs · live").await;
        let many = |from: i64, count: i64, made: i64| {
            (from..from + count).map(move |n| {
                row(
                    &format!("run-{n}"),
                    &format!("s-{}", n / 4),
                    "ERROR",
                    n % 4 + 1,
                    made + n,
                )
            })
        };
        let made = MADE - 21_000;
        fake.database.change(|runs| {
            let mut all: Vec<_> = many(0, 20_000, made).collect();
            all.reverse();
            *runs = all;
        });
        person.keys("R");
        person.wait_for("20,000").await;
        person.keys("j j j");
        person.settled().await;
        let before = person.cost().longest;
        fake.database.change(|runs| {
            let mut new: Vec<_> = many(20_000, 500, made).collect();
            new.reverse();
            runs.splice(0..0, new);
        });
        person.wait_for("500 new").await;
        println!(
            "the longest frame before {before:?}, then {:?}",
            person.cost().longest
        );
        assert!(
            person.cost().longest < FRAME.max(before * 2),
            "{:?}",
            person.cost().longest
        );
    });
}

/// A copy of the demo world's database, whose writer uses a `-wal` file.
fn copied(place: &Place) -> (String, Connection) {
    let path = place.path("live.sqlite");
    std::fs::copy(&world().database, &path).expect("copied");
    let writer = Connection::open(&path).expect("opened");
    writer
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF")
        .expect("a wal");
    (path.into_os_string().into_string().expect("UTF-8"), writer)
}

#[test]
fn a_live_writer_is_followed_in_a_real_terminal() {
    let place = Place::new();
    let (path, writer) = copied(&place);
    let store = world().store.to_str().expect("UTF-8").to_owned();
    let mut terminal = Terminal::afterrun(&place, (160, 45), &["--db", &path, "--store", &store]);
    terminal.wait_for("24 runs · live");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a time");
    let insert = "INSERT INTO agno_runs (run_id, session_id, agent_id, run_type, status, run_index, run_data, created_at)
        VALUES (?1, 'live', 'engineer', 'agent', 'RUNNING', ?2, '{}', ?3)";
    for n in 0..3 {
        writer
            .execute(insert, (format!("live-{n}"), n, now.as_secs() as i64))
            .expect("written");
    }
    terminal.wait_for("27 runs · live");
    terminal.wait_for("3 new");
    // A checkpoint, and the same file again from its start.
    writer
        .query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))
        .expect("a checkpoint");
    writer
        .execute(
            "UPDATE agno_runs SET status = 'ERROR' WHERE run_id = 'live-0'",
            [],
        )
        .expect("written");
    terminal.keys("s");
    terminal.keys("s");
    terminal.wait_for("found");
    terminal.wait_gone("▶");
    terminal.keys("\x1b");
    terminal.wait_for("▶");
    writer
        .execute("DELETE FROM agno_runs WHERE session_id = 'live'", [])
        .expect("written");
    // They go by themselves; counts of what another filter listed are read again by hand.
    terminal.wait_gone(" new ");
    terminal.keys("R");
    terminal.wait_for("24 runs · live");
    terminal.keys("q");
    let ended = terminal.end();
    assert_eq!(ended.code, 0);
    ended.assert_given_back();
    drop(writer);
    let left = |suffix: &str| std::path::Path::new(&format!("{path}{suffix}")).exists();
    assert!(!left("-wal") && !left("-shm"), "its writer removed them");
    place.assert_clean("the interface");
}
