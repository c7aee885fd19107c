//! Runs out of a real PostgreSQL: the same answers as out of SQLite for the same rows, by the indexes
//! that Agno creates, with no more rights than reading, and with a word for every other layout.

#[path = "common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

#[path = "common/agno.rs"]
#[allow(dead_code)]
mod agno;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use afterrun::postgres::Server;
use afterrun::runs::{
    Cursor, Opening, PostgresRuns, RunFilter, RunOrder, RunPage, RunRow, Runs, RunsDatabase,
    SqliteRuns, Tables, gate,
};
use afterrun::{Error, ErrorKind};
use agno::{BINDINGS, literal};
use postgres::{Cluster, USER};

const JOBS: &str = "
CREATE TABLE ai.agno_jobs (id varchar PRIMARY KEY, status varchar NOT NULL, locked_at bigint);
";

fn open(url: &str, tables: Tables) -> PostgresRuns {
    PostgresRuns::new(Server::new(url).expect("a URL"), tables)
}

fn optional(text: Option<&str>) -> String {
    text.map_or("NULL".into(), literal)
}

/// One row, for either database.
struct Given {
    id: String,
    session: &'static str,
    agent: Option<&'static str>,
    status: Option<&'static str>,
    index: Option<i64>,
    data: String,
    at: i64,
}

impl Given {
    fn sql(&self, table: &str) -> String {
        format!(
            "INSERT INTO {table} (run_id, session_id, run_type, agent_id, status, run_index, run_data, created_at)
             VALUES ({}, {}, 'agent', {}, {}, {}, {}, {});",
            literal(&self.id),
            literal(self.session),
            optional(self.agent),
            optional(self.status),
            self.index.map_or("NULL".into(), |index| index.to_string()),
            literal(&self.data),
            self.at
        )
    }
}

fn checkpoint(n: usize) -> String {
    format!(r#"{{"sha256":"{n:064x}","size":{}}}"#, n + 9)
}

fn completed(n: usize, input: &str) -> String {
    format!(
        r#"{{"agent_name":"Engineer","input":{{"input_content":"{input}"}},"messages":["{}"],
        "metadata":{{"ticket":1,"sandbox":{{"checkpoint":{},"repository":{{"url":"u","branch":null,"commit":"c"}}}}}}}}"#,
        "x".repeat(3_000),
        checkpoint(n)
    )
}

const SESSIONS: &[(&str, Option<&str>)] = &[
    ("s1", Some(r#"{"session_name": "Fix Refunds 100%"}"#)),
    ("s2", Some(r#""{\"session_name\": \"Within a text\"}""#)),
    ("s3", Some("[1]")),
    ("s4", None),
    ("s5", Some(r#"{"session_name": "  "}"#)),
];

fn rows() -> Vec<Given> {
    let mut rows = Vec::new();
    for n in 0..40 {
        rows.push(Given {
            id: format!("run-{n:02}-abcdef"),
            session: ["s1", "s2"][n % 2],
            agent: Some(["engineer", "reviewer"][usize::from(n % 7 == 0)]),
            status: [
                Some("COMPLETED"),
                Some("completed"),
                None,
                Some("ERROR"),
                Some(""),
            ][n % 5],
            index: Some(n as i64 / 2),
            data: completed(n, "Migrate billing"),
            at: 1_000 + n as i64,
        });
    }
    let good = completed(77, "Odd one");
    let odd = [
        "[]".to_owned(),
        "[1]".into(),
        "7".into(),
        "0".into(),
        // Where it has no agent, too, each of Agno's own adapters says something else of it.
        "\"no JSON\"".into(),
        "null".into(),
        serde_json::to_string(&good).expect("JSON"),
        good.replacen('{', r#"{"status":"Completed","#, 1),
        good.replacen('{', r#"{"status":7,"#, 1),
        good.replacen('{', r#"{"status":["A"],"#, 1),
        format!(
            r#"{{"status":"COMPLETED","input":{{"input_content":"{}"}}}}"#,
            "é".repeat(3_000)
        ),
    ];
    for (n, data) in odd.into_iter().enumerate() {
        rows.push(Given {
            id: format!("odd {n} 'é\""),
            session: ["s3", "s4", "s5"][n % 3],
            agent: [Some("odd one"), None][n % 2],
            status: None,
            index: Some(n as i64 / 3),
            data,
            at: 2_000 + n as i64,
        });
    }
    rows
}

/// What a person sees of a row.
fn seen(run: &RunRow) -> String {
    let gate = gate(&run.run_id, Some(run), &Opening::Own);
    format!(
        "{} {} {:?} {} {:?} {:?} {:?} {:?} {:?}",
        run.run_id,
        run.session_id,
        run.agent_id,
        run.effective_status(),
        run.run_index,
        run.created_at,
        run.agent_name(),
        run.input()
            .map(|input| input.chars().take(2_000).collect::<String>()),
        gate.map_err(|error| (error.kind(), error.message().to_owned())),
    )
}

fn seen_page(page: &RunPage) -> (Vec<String>, BTreeMap<String, String>) {
    let sessions = page.sessions.iter().map(|(id, info)| {
        let retention = page.retention.get(id).map(|one| {
            let mut at_risk: Vec<_> = one.at_risk.iter().collect();
            at_risk.sort();
            format!("{} {} {at_risk:?}", one.keeps, one.by_default)
        });
        (
            id.clone(),
            format!("{} {} {retention:?}", info.title, info.runs),
        )
    });
    (page.runs.iter().map(seen).collect(), sessions.collect())
}

async fn pages(database: &dyn RunsDatabase, filter: &RunFilter, limit: u32) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = database.page(filter, limit, after).await.expect("a page");
        assert!(page.runs.len() <= limit as usize);
        let (runs, sessions) = seen_page(&page);
        all.extend(runs);
        all.extend(sessions.into_iter().map(|one| format!("{one:?}")));
        // A cursor goes through a command line.
        after = page
            .next
            .map(|next| next.to_string().parse().expect("a cursor"));
        if after.is_none() {
            return all;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_rows_give_the_same_answers() {
    let cluster = Cluster::start(&[]);
    let url = cluster.create("agno");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agno.sqlite");
    let mut script = agno::tables("ai") + BINDINGS;
    let mut lite = String::from(
        "CREATE TABLE agno_sessions (session_id VARCHAR PRIMARY KEY, session_type VARCHAR, session_data JSON, created_at BIGINT);
         CREATE TABLE agno_runs (run_id VARCHAR PRIMARY KEY, session_id VARCHAR, agent_id VARCHAR, user_id VARCHAR,
           run_type VARCHAR, status VARCHAR, run_index BIGINT, run_data JSON, created_at BIGINT, updated_at BIGINT);
         CREATE INDEX at ON agno_runs (created_at); CREATE INDEX turns ON agno_runs (session_id, run_index);
         CREATE TABLE agno_sessions_sandbox_bindings (namespace VARCHAR, session_id VARCHAR, agent_id VARCHAR,
           run_id VARCHAR, record JSON, PRIMARY KEY (namespace, session_id));",
    );
    for (id, data) in SESSIONS {
        let sql = format!(
            "INSERT INTO #agno_sessions (session_id, session_type, session_data, created_at) VALUES ('{id}', 'agent', {}, 1);",
            optional(*data)
        );
        script.push_str(&sql.replace('#', "ai."));
        lite.push_str(&sql.replace('#', ""));
    }
    for row in rows() {
        script.push_str(&row.sql("ai.agno_runs"));
        lite.push_str(&row.sql("agno_runs"));
    }
    let record = format!(
        r#"{{"phase":"idle","computer":{{"id":"c"}},"warm_until":170,"retained_checkpoints":[{},{}],"retired_checkpoints":[]}}"#,
        checkpoint(36),
        checkpoint(37)
    );
    let bound = format!("('ai.agno_sessions', 's2', 'engineer', 'run-01-abcdef', '{record}'");
    script.push_str(&format!(
        "INSERT INTO ai.agno_sessions_sandbox_bindings (namespace, session_id, agent_id, run_id, record, epoch, expires_at)
         VALUES {bound}, 1, to_timestamp(1700));"
    ));
    lite.push_str(&format!(
        "INSERT INTO agno_sessions_sandbox_bindings (namespace, session_id, agent_id, run_id, record) VALUES {bound});"
    ));
    cluster.sql("agno", &script);
    rusqlite::Connection::open(&path)
        .and_then(|connection| connection.execute_batch(&lite))
        .expect("rows");
    let ours = open(&url, Tables::default());
    let lite = SqliteRuns::open(&path, Tables::default()).expect("opened");

    let filter = RunFilter::default;
    let text = |text: &str| RunFilter {
        text: Some(text.into()),
        ..filter()
    };
    let statuses = |all: &[&str]| RunFilter {
        statuses: all.iter().map(|one| (*one).to_owned()).collect(),
        ..filter()
    };
    let mut filters = vec![
        filter(),
        RunFilter {
            agent: Some("reviewer".into()),
            ..filter()
        },
        RunFilter {
            agent: Some("nobody".into()),
            ..filter()
        },
        RunFilter {
            session: Some("s2".into()),
            ..filter()
        },
        RunFilter {
            since: Some(1_020),
            ..filter()
        },
        statuses(&["ERROR"]),
        statuses(&["COMPLETED"]),
        statuses(&["COMPLETED", "ERROR", "7"]),
        statuses(&[""]),
        RunFilter {
            session: Some("s1".into()),
            since: Some(1_010),
            ..statuses(&["COMPLETED"])
        },
    ];
    filters.extend(
        [
            "refunds", "REFUNDS", "billing", "100%", "run-2", "odd one", "é", "_", "%", "\\",
            "enginee", "s3", "nothing",
        ]
        .map(text),
    );
    for filter in filters {
        for order in [RunOrder::NewestFirst, RunOrder::OldestFirst] {
            let filter = RunFilter {
                order,
                ..filter.clone()
            };
            // A page of one run is asked for once in each order: every page is some trips.
            let smallest = if filter
                == (RunFilter {
                    order,
                    ..RunFilter::default()
                }) {
                1
            } else {
                7
            };
            for limit in [smallest, 1_000] {
                let (one, other) = (
                    pages(&ours, &filter, limit).await,
                    pages(&lite, &filter, limit).await,
                );
                assert_eq!(one, other, "{filter:?}, {limit} a page");
            }
        }
    }
    assert_eq!(
        ours.agents().await.expect("agents"),
        lite.agents().await.expect("agents")
    );
    for row in rows() {
        let (one, other) = (ours.run(&row.id).await, lite.run(&row.id).await);
        let (one, other) = (
            one.expect("read").expect("a row"),
            other.expect("read").expect("a row"),
        );
        assert_eq!(seen(&one), seen(&other));
        assert_eq!(
            one.object().is_some(),
            other.object().is_some(),
            "all of it: {}",
            row.id
        );
    }
    for (session, _) in SESSIONS {
        let of = |runs: Vec<RunRow>| runs.iter().map(seen).collect::<Vec<_>>();
        let (one, other) = (ours.session(session).await, lite.session(session).await);
        assert_eq!(
            of(one.expect("runs")),
            of(other.expect("runs")),
            "{session}"
        );
    }
    for prefix in ["run-1", "run-", "odd 1 'é", "none", "run-39-abcdef", ""] {
        let (one, other) = (
            ours.with_prefix(prefix, 8).await,
            lite.with_prefix(prefix, 8).await,
        );
        assert_eq!(one.expect("ids"), other.expect("ids"), "{prefix}");
    }
    let ids = ["run-03-abcdef", "none", "odd 6 'é\"", "nul\0"].map(str::to_owned);
    assert_eq!(
        seen_page(&ours.rows(&ids).await.expect("rows")),
        seen_page(&lite.rows(&ids).await.expect("rows"))
    );
    let bound = ours.binding("s2").await.expect("read").expect("bound");
    assert_eq!(bound.held_until, Some(1700));
    let same = lite.binding("s2").await.expect("read").expect("bound");
    assert_eq!(
        (bound.kept, bound.run_id, bound.agent_id),
        (same.kept, same.run_id, same.agent_id)
    );
    assert_eq!(ours.binding("s1").await.expect("read"), None);
    assert_eq!(ours.run("nul\0").await.expect("read"), None);
    let nowhere = Cursor {
        created_at: 5,
        row: "\0".into(),
    };
    let page = ours
        .page(&filter(), 5, Some(nowhere))
        .await
        .expect("a page");
    assert!(page.runs.is_empty());
}

/// JSON of no particular kind, with the keys that the gate asks for among others.
fn random(source: &mut fastrand::Rng, depth: usize) -> serde_json::Value {
    use serde_json::{Value, json};
    const KEYS: [&str; 9] = [
        "status",
        "metadata",
        "sandbox",
        "checkpoint",
        "repository",
        "input",
        "input_content",
        "sha256",
        "x",
    ];
    match source.u8(0..if depth == 0 { 8 } else { 12 }) {
        0 => Value::Null,
        1 => json!(source.bool()),
        2 => json!(0),
        3 => serde_json::from_str("123456789012345678901234567890").expect("a number"),
        4 => json!(""),
        5 => json!("COMPLETED"),
        6 => json!("0".repeat(64)),
        7 => json!(1.5),
        8 => Value::Array(
            (0..source.usize(0..3))
                .map(|_| random(source, depth - 1))
                .collect(),
        ),
        _ => Value::Object(
            (0..source.usize(0..5))
                .map(|_| {
                    (
                        KEYS[source.usize(0..9)].to_owned(),
                        random(source, depth - 1),
                    )
                })
                .collect(),
        ),
    }
}

/// `value` under all of `keys`, with other things beside it.
fn under(keys: &[&str], value: serde_json::Value) -> serde_json::Value {
    keys.iter().rev().fold(
        value,
        |value, key| serde_json::json!({ *key: value, "agent_name": "A", "beside": [1, 2] }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_row_passes_the_gate_as_the_whole_row_does() {
    let cluster = Cluster::start(&[]);
    let url = cluster.create("agno");
    let mut source = fastrand::Rng::with_seed(4);
    let mut script = agno::tables("ai");
    script.push_str(
        "INSERT INTO ai.agno_sessions (session_id, session_type, created_at) VALUES ('s', 'agent', 1);",
    );
    let mut ids = Vec::new();
    let mut add = |status: Option<&'static str>, data: String| {
        let id = format!("{:04}", ids.len());
        script.push_str(
            &Given {
                id: id.clone(),
                session: "s",
                agent: Some("a"),
                status,
                index: Some(0),
                data,
                at: 1,
            }
            .sql("ai.agno_runs"),
        );
        ids.push(id);
    };
    let paths: [&[&str]; 6] = [
        &[],
        &["metadata"],
        &["metadata", "sandbox"],
        &["metadata", "sandbox", "checkpoint"],
        &["input"],
        &["status"],
    ];
    for n in 0..600 {
        let value = under(paths[n % paths.len()], random(&mut source, 4));
        let status = [Some("COMPLETED"), None, Some(""), Some("ERROR")][source.usize(0..4)];
        let data = value.to_string();
        add(
            status,
            match n % 5 {
                0 => serde_json::Value::String(data).to_string(),
                _ => data,
            },
        );
    }
    // A text that holds more than comes with a list is read by itself.
    let good: serde_json::Value = serde_json::from_str(&completed(3, "Do")).expect("JSON");
    let long = "x".repeat(100_000);
    add(
        Some("COMPLETED"),
        serde_json::Value::String(format!("{{\"y\":\"{long}\",{}", &completed(3, "Do")[1..]))
            .to_string(),
    );
    add(Some("COMPLETED"), serde_json::json!({"metadata": {"sandbox": good["metadata"]["sandbox"]}, "messages": [long]}).to_string());
    add(
        Some("COMPLETED"),
        serde_json::Value::String(
            r#"{"a": NaN, "b": "\ud800", "metadata": {"sandbox": Infinity}}"#.into(),
        )
        .to_string(),
    );
    let alike = ids.len();
    let mut add = |status: Option<&'static str>, data: serde_json::Value| {
        let id = format!("{:04}", ids.len());
        let row = Given {
            id: id.clone(),
            session: "s",
            agent: Some("a"),
            status,
            index: Some(0),
            data: data.to_string(),
            at: 1,
        };
        script.push_str(&row.sql("ai.agno_runs"));
        ids.push(id);
    };
    let long = "x".repeat(100_000);
    add(None, under(&["status"], serde_json::json!(long)));
    let mut named = good;
    named["agent_name"] = serde_json::json!(long);
    add(Some("COMPLETED"), named);
    add(
        Some("COMPLETED"),
        under(
            &["metadata", "sandbox", "checkpoint"],
            serde_json::json!({"sha256": "0", long.clone(): 1}),
        ),
    );
    // More texts than one list reads, of 11 MB each.
    for _ in 0..7 {
        add(Some("COMPLETED"), serde_json::json!(long.repeat(110)));
    }
    cluster.sql("agno", &script);
    let runs = open(&url, Tables::default());
    let mut listed = runs.rows(&ids).await.expect("rows").runs;
    assert_eq!(listed.len(), ids.len());
    let odd = listed.split_off(alike);
    let said = |at: usize| match gate("r", Some(&odd[at]), &Opening::Own) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.message().to_owned(),
    };
    // Texts are cut; what cannot be is not read for a list, and is whole where it is asked for.
    let status = format!("Run r is {}, not COMPLETED", "X".repeat(2_000));
    assert!(said(0).starts_with(&status), "{}", said(0));
    assert_eq!(said(1), "ok");
    assert_eq!(odd[1].agent_name().map(str::len), Some(2_000));
    let large = "Run r cannot be read: what a list reads of its run_data is";
    assert!(said(2).starts_with(&format!("{large} 100")), "{}", said(2));
    let whole = runs
        .run(&odd[2].run_id)
        .await
        .expect("read")
        .expect("a row");
    let error = gate("r", Some(&whole), &Opening::Own).expect_err("a bad reference");
    assert_eq!(error.kind(), ErrorKind::BadReference);
    assert!(!said(8).starts_with(large), "{}", said(8));
    assert!(said(9).starts_with(large), "{}", said(9));
    let mut kinds = BTreeMap::new();
    for one in listed {
        let whole = runs.run(&one.run_id).await.expect("read").expect("a row");
        assert_eq!(seen(&one), seen(&whole));
        assert_eq!(one.repository(), whole.repository());
        let answer = gate("r", Some(&whole), &Opening::Own);
        *kinds
            .entry(answer.map_or_else(|error| error.kind().as_str(), |_| "ok"))
            .or_insert(0) += 1;
    }
    // The odd values reach every answer of the gate.
    for kind in [
        "ok",
        "bad_row",
        "not_completed",
        "no_checkpoint",
        "bad_reference",
    ] {
        assert!(kinds.contains_key(kind), "{kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_thousand_rows_are_read_by_index_and_in_few_trips() {
    let cluster = Cluster::start(&[
        "session_preload_libraries=auto_explain",
        "auto_explain.log_min_duration=0",
        "auto_explain.log_nested_statements=on",
        "jit=off",
    ]);
    let url = cluster.create("agno");
    let fill = "
        SET auto_explain.log_min_duration = -1;
        INSERT INTO ai.agno_sessions (session_id, session_type, session_data, created_at)
          SELECT 's' || n, 'agent', CASE WHEN n % 2 = 0 THEN jsonb_build_object('session_name', 'Session ' || n) END, n
          FROM generate_series(0, 19999) AS n;
        INSERT INTO ai.agno_runs (run_id, session_id, run_type, agent_id, status, run_index, run_data, created_at)
          SELECT md5(n::text), 's' || n / 10, 'agent', 'agent ' || n % 7,
            (ARRAY['COMPLETED','COMPLETED','COMPLETED','ERROR','RUNNING'])[1 + n % 5], n % 10,
            jsonb_build_object('agent_name', 'Agent ' || n % 7, 'input', jsonb_build_object('input_content', 'Input ' || n),
              'messages', repeat('x', 200), 'metadata', jsonb_build_object('sandbox', jsonb_build_object('checkpoint',
                jsonb_build_object('sha256', md5(n::text) || md5(n::text), 'size', n + 1)))),
            1700000000 + n
          FROM generate_series(0, 199999) AS n;
        ANALYZE;";
    cluster.sql("agno", &(agno::tables("ai") + fill));
    let runs = open(&url, Tables::default());
    let log = cluster.socket().join("log");
    let read = || std::fs::read_to_string(&log).expect("a log");
    let begin = read().len();
    let plans = |from: usize| read()[from..].matches("Query Text:").count();
    let begun = Instant::now();
    let first = runs
        .page(&RunFilter::default(), 500, None)
        .await
        .expect("a page");
    let took = begun.elapsed();
    let trips = plans(begin);
    eprintln!("a page of 500: {took:?}, {trips} statements");
    assert_eq!((first.runs.len(), first.sessions.len()), (500, 50));
    assert!(trips <= 9, "{trips} statements");
    assert_eq!(first.sessions["s19999"].title, "Input 199990");
    // Not all of a session's runs are on the page: its first input is, too, found by index.
    let few = runs
        .page(&RunFilter::default(), 5, None)
        .await
        .expect("a page");
    assert_eq!(few.sessions["s19999"].title, "Input 199990");
    assert_eq!(few.retention.len(), 1);
    let ids: Vec<String> = first.runs.iter().map(|run| run.run_id.clone()).collect();
    let begun = Instant::now();
    let next = runs
        .page(&RunFilter::default(), 500, first.next)
        .await
        .expect("a page");
    eprintln!("the next: {:?}", begun.elapsed());
    assert_eq!(next.runs.len(), 500);
    let oldest = RunFilter {
        order: RunOrder::OldestFirst,
        ..RunFilter::default()
    };
    runs.page(&oldest, 500, None).await.expect("a page");
    let session = RunFilter {
        session: Some("s700".into()),
        ..RunFilter::default()
    };
    assert_eq!(
        runs.page(&session, 500, None)
            .await
            .expect("a page")
            .runs
            .len(),
        10
    );
    let status = RunFilter {
        statuses: vec!["ERROR".into()],
        ..RunFilter::default()
    };
    assert_eq!(
        runs.page(&status, 500, None)
            .await
            .expect("a page")
            .runs
            .len(),
        500
    );
    let none = RunFilter {
        statuses: vec!["PAUSED".into()],
        ..RunFilter::default()
    };
    let begun = Instant::now();
    assert!(
        runs.page(&none, 500, None)
            .await
            .expect("a page")
            .runs
            .is_empty()
    );
    eprintln!("a status that no row has: {:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(runs.rows(&ids).await.expect("rows").runs.len(), 500);
    eprintln!("500 rows by id: {:?}", begun.elapsed());
    assert_eq!(runs.session("s700").await.expect("runs").len(), 10);
    assert!(runs.run(&ids[0]).await.expect("read").is_some());
    assert_eq!(
        runs.with_prefix(&ids[0][..12], 8).await.expect("ids"),
        [ids[0].clone()]
    );
    std::thread::sleep(Duration::from_millis(100));
    let log_of_lists = read()[begin..].to_owned();
    assert!(
        log_of_lists.contains("idx_agno_runs_created_at"),
        "the plans are there"
    );
    for scan in ["Seq Scan on agno_runs", "Seq Scan on agno_sessions"] {
        let at = log_of_lists
            .find(scan)
            .map(|at| &log_of_lists[at.saturating_sub(2_000)..at + 80]);
        assert_eq!(at, None);
    }
    let begun = Instant::now();
    let agents = runs.agents().await.expect("agents");
    eprintln!("agents: {:?}", begun.elapsed());
    assert_eq!(agents.len(), 7);
    assert_eq!(
        agents[0].name.as_deref().map(|name| &name[..5]),
        Some("Agent")
    );
    for (text, found) in [
        ("session 19", true),
        ("input 199990", true),
        ("no such thing", false),
    ] {
        let filter = RunFilter {
            text: Some(text.into()),
            ..RunFilter::default()
        };
        let begun = Instant::now();
        let page = runs.page(&filter, 10, None).await.expect("a page");
        eprintln!("looking for {text:?}: {:?}", begun.elapsed());
        assert_eq!(!page.runs.is_empty(), found, "{text}");
    }
}

async fn refused(url: &str, tables: Tables) -> (String, String) {
    let error: Error = open(url, tables).check().await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Database, "{error}");
    let message = error.message().to_owned();
    let message = message.split_once(' ').expect("a name").1.to_owned();
    assert!(!message.contains('\n'));
    (message, error.next_step().unwrap_or_default().to_owned())
}

fn named(schema: &str, sessions: &str, runs: &str) -> Tables {
    Tables {
        schema: schema.into(),
        sessions: sessions.into(),
        runs: runs.into(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_layouts_and_missing_rights_are_named_and_reading_is_enough() {
    let cluster = Cluster::start(&[]);
    let url = cluster.create("empty");
    let (message, _) = refused(&url, Tables::default()).await;
    assert_eq!(
        message,
        "has no schema ai; expected Agno's ai.agno_sessions and ai.agno_runs, found no tables there; other schemas are public"
    );

    let url = cluster.create("legacy");
    cluster.sql("legacy", "CREATE SCHEMA ai; CREATE TABLE ai.agno_sessions (session_id varchar, session_type varchar, session_data jsonb, runs jsonb)");
    let (message, hint) = refused(&url, Tables::default()).await;
    assert_eq!(
        message,
        "keeps runs inside ai.agno_sessions, as Agno 2.x did; expected a table ai.agno_runs"
    );
    assert_eq!(
        hint,
        "migrate the database with Agno 3.1.5 or later, then open it again"
    );

    let url = cluster.create("renamed");
    // 63 bytes, quotes, spaces, letters of any kind.
    let (schema, runs) = ("Wéird \"schema\"", format!("Läufe '{}", "r".repeat(55)));
    assert_eq!(runs.len(), 63);
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    cluster.sql(
        "renamed",
        &format!(
            "{} ALTER TABLE {s}.agno_runs RENAME TO {}; ALTER TABLE {s}.agno_sessions RENAME TO talks;
             INSERT INTO {s}.talks (session_id, session_type, session_data, created_at) VALUES ('s', 'agent', '{{\"session_name\": \"Talk\"}}', 1);
             {}",
            agno::tables(&quoted(schema)),
            quoted(&runs),
            Given {
                id: "r".into(), session: "s", agent: Some("a"), status: None, index: None, data: "{}".into(), at: 1,
            }
            .sql(&format!("{}.{}", quoted(schema), quoted(&runs))),
            s = quoted(schema),
        ),
    );
    let (message, hint) = refused(&url, Tables::default()).await;
    assert!(
        message.contains(&format!(
            "found {schema}.talks, {schema}.{runs}, which look like them"
        )),
        "{message}"
    );
    assert_eq!(
        hint,
        format!(
            "name them: --schema '{schema}' --sessions-table talks --runs-table '{}'",
            runs.replace('\'', "'\\''")
        )
    );
    let renamed = open(&url, named(schema, "talks", &runs));
    let page = renamed
        .page(&RunFilter::default(), 5, None)
        .await
        .expect("a page");
    assert_eq!(page.sessions["s"].title, "Talk");
    assert_eq!(renamed.agents().await.expect("agents").len(), 1);

    let url = cluster.create("other");
    let script = agno::tables("ai") + BINDINGS + JOBS;
    cluster.sql("other", &script);
    cluster.sql(
        "other",
        "ALTER TABLE ai.agno_runs RENAME COLUMN run_data TO stuff",
    );
    let (message, _) = refused(&url, Tables::default()).await;
    assert_eq!(
        message,
        "has a table ai.agno_runs without run_data, which Agno 3's has"
    );

    // A slip in the name of the sessions is no database without them.
    let url = cluster.create("slip");
    cluster.sql(
        "slip",
        &(agno::tables("ai") + "CREATE TABLE ai.things (a int)"),
    );
    let slip = |sessions: &str| refused(&url, named("ai", sessions, "agno_runs"));
    let (message, hint) = slip("agno_session").await;
    assert_eq!(
        message,
        "has no table ai.agno_session; expected Agno's beside ai.agno_runs, found ai.agno_sessions, which looks like it"
    );
    assert_eq!(hint, "name it: --sessions-table agno_sessions");
    let (message, _) = slip("things").await;
    assert!(
        message.starts_with("has a table ai.things without session_id, session_data, which"),
        "{message}"
    );
    cluster.sql("slip", "DROP TABLE ai.agno_sessions CASCADE");
    let (message, hint) = slip("agno_sessions").await;
    assert_eq!(
        message,
        "has no table ai.agno_sessions; expected Agno's beside ai.agno_runs, found agno_runs, things"
    );
    assert!(hint.contains("--sessions-table"), "{hint}");

    // Rights: only what is needed, one after the other; views do as well as tables.
    let url = cluster.create("rights");
    cluster.sql("rights", &script);
    cluster.sql(
        "rights",
        "CREATE ROLE reader LOGIN PASSWORD 'r'; REVOKE ALL ON SCHEMA public FROM PUBLIC;
         INSERT INTO ai.agno_jobs VALUES ('j', 'running', extract(epoch FROM now())::bigint);",
    );
    let reader = url.replace(&url[13..url.find('@').expect("a user")], "reader:r");
    assert!(!reader.contains(USER), "{reader}");
    let (message, hint) = refused(&reader, Tables::default()).await;
    assert_eq!(message, "does not let this user look into the schema ai");
    assert!(hint.contains("GRANT USAGE ON SCHEMA"), "{hint}");
    for (grant, then) in [
        (
            "USAGE ON SCHEMA ai",
            Some("does not let this user read ai.agno_runs"),
        ),
        (
            "SELECT ON ai.agno_runs",
            Some("does not let this user read ai.agno_sessions"),
        ),
        ("SELECT ON ai.agno_sessions", None),
    ] {
        cluster.sql("rights", &format!("GRANT {grant} TO reader"));
        match then {
            Some(then) => assert_eq!(refused(&reader, Tables::default()).await.0, then),
            None => open(&reader, Tables::default())
                .check()
                .await
                .expect("enough"),
        }
    }
    let reading = open(&reader, Tables::default());
    assert!(reading.agents().await.expect("agents").is_empty());
    assert!(
        reading
            .page(&RunFilter::default(), 5, None)
            .await
            .expect("a page")
            .runs
            .is_empty()
    );
    assert_eq!(reading.binding("s").await.expect("nothing to say"), None);
    // A worker that cannot be seen may be active: the default store is refused.
    let folder = tempfile::tempdir().expect("a folder");
    let unseen = open(&reader, Tables::default());
    let unseen = Runs::new(Arc::new(unseen), None, Some(folder.path().to_path_buf()));
    let refusal = unseen.checkpoint_store().await.expect_err("refused");
    assert_eq!(refusal.kind(), ErrorKind::Store);
    let hint = refusal.next_step().unwrap_or_default();
    assert!(
        hint.contains("GRANT SELECT ON \"ai\".\"agno_jobs\" TO"),
        "{hint}"
    );
    let owner = open(&url, Tables::default());
    assert!(owner.queue_worker_active().await.expect("read"));
    cluster.sql(
        "rights",
        "UPDATE ai.agno_jobs SET locked_at = locked_at - 61",
    );
    assert!(!owner.queue_worker_active().await.expect("read"));
    cluster.sql(
        "rights",
        "CREATE SCHEMA seen; CREATE VIEW seen.agno_runs AS SELECT * FROM ai.agno_runs;
         CREATE VIEW seen.agno_sessions AS SELECT * FROM ai.agno_sessions;",
    );
    let views = open(&url, named("seen", "agno_sessions", "agno_runs"));
    assert!(views.agents().await.expect("agents").is_empty());
    assert_eq!(views.checkpoints_table().await.expect("read"), None);
    cluster.sql(
        "rights",
        "CREATE TABLE seen.kept (sha256 varchar, size bigint, created_at bigint);
         CREATE TABLE seen.kept_chunks (sha256 varchar, seq int, data bytea);",
    );
    assert_eq!(
        views.checkpoints_table().await.expect("read").as_deref(),
        Some("kept")
    );

    // Where the store is not named, the database's own is.
    let home = tempfile::tempdir().expect("a folder");
    let own = |table: &str, database: PostgresRuns| {
        let made = format!(
            "CREATE TABLE {table} (sha256 varchar, size bigint, created_at bigint);
             CREATE TABLE {table}_chunks (sha256 varchar, seq int, data bytea);"
        );
        cluster.sql("rights", &made);
        Runs::new(Arc::new(database), None, Some(home.path().to_path_buf()))
    };
    let runs = own("ai.agno_sandbox_checkpoints", owner);
    let notice = runs.store_notice().await.expect("a notice");
    assert!(notice.ends_with("this database has a table of them, agno_sandbox_checkpoints; read from it with --store postgres"), "{notice}");
    let refusal = runs
        .clone()
        .with_durable_queue(true)
        .checkpoint_store()
        .await
        .expect_err("refused");
    assert_eq!(
        refusal.next_step(),
        Some("read from it with --store postgres")
    );
    let absent = runs.checkpoint_store().await.expect_err("no such folder");
    assert_eq!(
        absent.next_step(),
        Some("read from it with --store postgres")
    );

    // A hostile search path changes nothing.
    cluster.sql(
        "rights",
        "CREATE FUNCTION seen.jsonb_typeof(jsonb) RETURNS text LANGUAGE sql AS 'SELECT (1/0)::text';
         GRANT USAGE ON SCHEMA seen TO reader; ALTER ROLE reader SET search_path = seen, pg_catalog;
         INSERT INTO ai.agno_sessions (session_id, session_type, created_at) VALUES ('s', 'agent', 1);
         INSERT INTO ai.agno_runs (run_id, session_id, run_type, run_data, created_at) VALUES ('r', 's', 'agent', '{}', 1);",
    );
    let hostile = open(&reader, Tables::default());
    let page = hostile.page(&RunFilter::default(), 5, None).await;
    assert_eq!(page.expect("a page").runs.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_nobody_waits_for_stops_at_the_server() {
    let cluster = Cluster::start(&[]);
    let url = cluster.create("agno");
    cluster.sql("agno", &agno::tables("ai"));
    let runs = open(&url, Tables::default());
    runs.check().await.expect("there");
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
        .await
        .expect("connected");
    tokio::spawn(connection);
    client
        .batch_execute("BEGIN; LOCK TABLE ai.agno_sessions, ai.agno_runs IN ACCESS EXCLUSIVE MODE")
        .await
        .expect("locked");
    let waiting = || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'afterrun' AND state = 'active'";
        cluster.sql("postgres", sql) == "1"
    };
    let filter = RunFilter::default();
    let begun = Instant::now();
    let mut read = Box::pin(runs.page(&filter, 5, None));
    while !waiting() {
        let pause = tokio::time::sleep(Duration::from_millis(20));
        tokio::select! {
            page = &mut read => panic!("a locked table was read: {page:?}"),
            () = pause => {}
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it never began");
    }
    let dropped = Instant::now();
    drop(read);
    while waiting() {
        // Well before the lock's own time-out of 5 s would end it.
        assert!(
            dropped.elapsed() < Duration::from_secs(4),
            "it goes on at the server"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Nor is a lock told to be too much to ask for.
    let error = runs.page(&filter, 5, None).await.expect_err("locked");
    assert!(error.message().contains("a lock that somebody"), "{error}");
    client.batch_execute("ROLLBACK").await.expect("unlocked");
    cluster.sql(
        "agno",
        "INSERT INTO ai.agno_sessions (session_id, session_type, created_at) VALUES ('s', 'agent', 1);
         INSERT INTO ai.agno_runs (run_id, session_id, run_type, run_index, run_data, created_at)
           SELECT n::text, 's', 'agent', n, '{}', n FROM generate_series(1, 10001) AS n",
    );
    let error = runs.session("s").await.expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    cluster.sql("agno", "DELETE FROM ai.agno_runs WHERE run_id = '1'");
    assert_eq!(runs.session("s").await.expect("runs").len(), 10_000);
    cluster.sql("agno", "DELETE FROM ai.agno_runs");
    assert!(
        runs.page(&filter, 5, None)
            .await
            .expect("a page")
            .runs
            .is_empty()
    );
}
