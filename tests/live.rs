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
use common::postgres::Cluster;
use common::pty::Terminal;
use common::{Place, id, world};
use crossterm::event::Event;
use rusqlite::Connection;

const EVERY: Duration = Duration::from_millis(30);
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
        let longest = person.cost().longest;
        let reads = fake.database.reads.load(Ordering::SeqCst);
        fake.database.change(|runs| {
            let mut new: Vec<_> = many(20_000, 500, made).collect();
            new.reverse();
            runs.splice(0..0, new);
        });
        person.wait_for("500 new").await;
        println!(
            "the longest frame before {longest:?}, then {:?}",
            person.cost().longest
        );
        // They came in pages, not one by one; what the reading by hand began may end meanwhile.
        let seen = fake.database.reads.load(Ordering::SeqCst);
        assert!(seen - reads <= 8, "{} reads", seen - reads);
        // Ten looks later nothing was read again but what was under way.
        tokio::time::sleep(EVERY * 10).await;
        let after = fake.database.reads.load(Ordering::SeqCst);
        assert!(after - seen <= 3, "{} reads", after - seen);
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
    // They go by themselves, and so do their counts, though another filter was there in between.
    terminal.wait_gone(" new ");
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

/// The binding of the story's session while its next turn runs.
fn binding() -> (String, String, String) {
    let database = Connection::open(&world().database).expect("opened");
    let (session, checkpoint) = database
        .query_row(
            "SELECT session_id, json_extract(run_data, '$.metadata.sandbox.checkpoint') FROM agno_runs WHERE run_id = ?1",
            [id::STORY2],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
        )
        .expect("the run");
    let gone = format!("{{\"sha256\":\"{}\",\"size\":9}}", "ab".repeat(32));
    let record = format!(
        r#"{{"phase":"executing","computer":{{"id":"c"}},"checkpoint":{checkpoint},"retained_checkpoints":[{checkpoint}],"retired_checkpoints":[{gone}]}}"#
    );
    (session, "run-of-tomorrow".into(), record)
}

/// What `show` says of that binding, from whichever database.
fn assert_shown(place: &Place, database: &str, held: bool) {
    let store = world().store.to_str().expect("UTF-8");
    let args = ["show", id::STORY2, "--db", database, "--store", store];
    let text = place.run(&args).ok();
    let text = text.text();
    assert!(text.contains("run run-of-tomorrow"), "{text}");
    assert!(text.contains("executing"), "{text}");
    assert!(text.contains("turn 2"), "{text}");
    assert!(text.contains("sha256 abababababab (queued)"), "{text}");
    assert_eq!(
        text.contains("whose lease ran out at 1970-01-01T00:28:20Z"),
        held,
        "{text}"
    );
    let json = place.run(&[&args[..], &["--json"]].concat()).ok().json();
    let binding = &json["binding"];
    assert_eq!(binding["run_id"], "run-of-tomorrow", "{json}");
    assert_eq!(binding["agent_id"], "engineer");
    assert_eq!(binding["held_until"].as_i64(), held.then_some(1700));
    assert_eq!(binding["kept"].as_array().map(Vec::len), Some(1));
    assert_eq!(binding["retired"][0]["size"], 9);
}

#[test]
fn show_tells_what_the_session_is_bound_to() {
    let place = Place::new();
    let (path, writer) = copied(&place);
    let (session, run, record) = binding();
    writer
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS agno_sessions_sandbox_bindings (namespace VARCHAR, session_id VARCHAR,
               agent_id VARCHAR, run_id VARCHAR, record JSON, PRIMARY KEY (namespace, session_id));
             DELETE FROM agno_sessions_sandbox_bindings",
        )
        .expect("a table");
    let insert = "INSERT INTO agno_sessions_sandbox_bindings VALUES ('ai.agno_sessions', ?1, 'engineer', ?2, ?3)";
    writer
        .execute(insert, (&session, &run, &record))
        .expect("bound");
    assert_shown(&place, &path, false);
}

#[test]
fn show_tells_it_from_postgres_too() {
    let place = Place::new();
    let cluster = Cluster::start(&[]);
    let url = cluster.create("agno");
    let (session, run, record) = binding();
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let database = Connection::open(&world().database).expect("opened");
    let mut rows = database
        .prepare("SELECT run_id, agent_id, status, run_index, run_data, created_at FROM agno_runs WHERE session_id = ?1")
        .expect("rows");
    let rows = rows
        .query_map([&session], |row| {
            let text = |at| row.get::<_, String>(at).map(|text| quoted(&text));
            let number = |at| row.get::<_, i64>(at);
            Ok(format!(
                "INSERT INTO ai.agno_runs (run_id, session_id, run_type, agent_id, status, run_index, run_data, created_at)
                 VALUES ({}, {}, 'agent', {}, {}, {}, {}, {});",
                text(0)?, quoted(&session), text(1)?, text(2)?, number(3)?, text(4)?, number(5)?
            ))
        })
        .and_then(Iterator::collect::<rusqlite::Result<String>>)
        .expect("rows");
    let script = format!(
        "CREATE SCHEMA ai;
         CREATE TABLE ai.agno_sessions (session_id varchar PRIMARY KEY, session_type varchar NOT NULL,
           agent_id varchar, team_id varchar, workflow_id varchar, user_id varchar, session_data jsonb,
           agent_data jsonb, team_data jsonb, workflow_data jsonb, metadata jsonb, summary jsonb,
           created_at bigint NOT NULL, updated_at bigint);
         CREATE TABLE ai.agno_runs (run_id varchar PRIMARY KEY, session_id varchar NOT NULL,
           run_type varchar NOT NULL, agent_id varchar, team_id varchar, workflow_id varchar, user_id varchar,
           parent_run_id varchar, status varchar, run_index bigint, run_data jsonb NOT NULL,
           created_at bigint NOT NULL, updated_at bigint);
         CREATE TABLE ai.agno_sessions_sandbox_bindings (namespace varchar, session_id varchar,
           agent_id varchar NOT NULL, user_id varchar, epoch bigint NOT NULL, owner varchar, run_id varchar,
           queue_attempt bigint, expires_at timestamptz, record jsonb NOT NULL, PRIMARY KEY (namespace, session_id));
         {rows}
         INSERT INTO ai.agno_sessions_sandbox_bindings (namespace, session_id, agent_id, run_id, record, epoch, expires_at)
         VALUES ('ai.agno_sessions', {}, 'engineer', {}, {}, 1, to_timestamp(1700));",
        quoted(&session), quoted(&run), quoted(&record)
    );
    cluster.sql("agno", &script);
    assert_shown(&place, &url, true);
}
