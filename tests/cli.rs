//! What the commands say about rows: agents, runs, one run, the answers of gate and store, and what
//! stands for RUN. Each in text and as JSON, on the demo world.

mod common;

use std::collections::HashSet;

use common::{Place, id, mask, masked, world};
use serde_json::{Value, json};

fn world_json(args: &[&str]) -> Value {
    Place::new()
        .world(&[args, &["--json"]].concat())
        .ok()
        .json()
}

fn run_ids(document: &Value) -> Vec<String> {
    let runs = document["runs"].as_array().expect("a list");
    let run_id = |run: &Value| run["run_id"].as_str().expect("an id").to_owned();
    runs.iter().map(run_id).collect()
}

fn listed(args: &[&str]) -> Vec<String> {
    run_ids(&world_json(&[&["runs"], args].concat()))
}

#[test]
fn agents() {
    let text = Place::new().world(&["agents"]).ok();
    insta::assert_snapshot!(text.text());
    let agents = world_json(&["agents"]);
    assert_eq!(
        agents["agents"][0],
        json!({
            "agent_id": "engineer", "name": "Engineer", "sessions": 4,
            "runs": {"COMPLETED": 8, "PAUSED": 1, "RUNNING": 1}, "last_run_at": 1_780_334_100,
        })
    );
    let last = &agents["agents"][3];
    assert_eq!(
        (&last["agent_id"], &last["name"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn runs() {
    let text = Place::new().world(&["runs"]).ok();
    assert_eq!(text.err, "");
    let lines: Vec<&str> = text.text().lines().collect();
    let rows = lines.iter().filter(|line| !line.starts_with("  "));
    let columns: Vec<_> = rows
        .map(|line| [line.find("turn "), line.find(" ago")])
        .collect();
    assert!(
        columns.len() > 20
            && columns
                .iter()
                .all(|at| at[0] == columns[0][0] && at[1].is_some())
    );
    // How wide a column is follows from ages and sizes.
    let squeezed = |line: &&str| {
        let cells = line.trim_start().split("  ").map(str::trim);
        let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        cells.join("  ")
    };
    let squeezed: Vec<String> = lines.iter().map(squeezed).collect();
    insta::assert_snapshot!(mask(&squeezed.join("\n")));
    let all = world_json(&["runs"]);
    insta::assert_snapshot!(masked(json!([all["runs"][0], all["runs"][2], all["next"]])));
    assert_eq!(run_ids(&all).len(), 24);
}

#[test]
fn runs_are_filtered() {
    assert_eq!(listed(&["--agent", "migrator"]).len(), 6);
    let session = world_json(&["show", id::PANTRY1])["run"]["session_id"].clone();
    let session = session.as_str().expect("an id");
    let pantry = listed(&["--session", session]);
    assert_eq!((pantry.len(), &pantry[0][..]), (5, id::PANTRY5));
    assert_eq!(listed(&["--status", "running"]), [id::RUNNING]);
    assert_eq!(
        listed(&["--status", "RUNNING", "--status", "error"]).len(),
        2
    );
    // By title: a name that was given, a session's first input, a part of an id, an agent's name.
    assert_eq!(listed(&["--search", "amounts WITH units"]), pantry);
    assert_eq!(
        listed(&["--search", "look around"]),
        [id::STORY2, id::STORY1]
    );
    assert_eq!(listed(&["--search", &id::RUNNING[..13]]), [id::RUNNING]);
    assert_eq!(listed(&["--search", "Migrator"]).len(), 6);
    assert_eq!(
        listed(&["--since", "2026-06-01T17:00:00Z"]),
        [id::STORY2, id::STORY1]
    );
    assert_eq!(
        listed(&["--agent", "migrator", "--search", "look around"]),
        [""; 0]
    );
    let none = Place::new().world(&["runs", "--search", "nowhere"]).ok();
    assert_eq!(none.text(), "no run fits\n");
}

#[test]
fn pages_cover_the_list() {
    let all = listed(&[]);
    for limit in ["1", "7", "24", "100"] {
        let (mut paged, mut page) = (Vec::new(), world_json(&["runs", "--limit", limit]));
        loop {
            let ids = run_ids(&page);
            assert!(!ids.is_empty() && ids.len() <= limit.parse().expect("a number"));
            paged.extend(ids);
            let Some(next) = page["next"].as_str() else {
                break;
            };
            page = world_json(&["runs", "--limit", limit, "--after", next]);
        }
        assert_eq!(paged, all, "by {limit}");
    }
    // The text says how to go on, in the words of the option.
    let place = Place::new();
    let text = place.world(&["runs", "--limit", "23"]).ok();
    let more = text
        .text()
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("more: --after "));
    let last = listed(&["--after", more.expect("more")]);
    assert_eq!(last, all[23..]);
}

#[test]
fn refusals_in_the_list_follow_as() {
    let refusal = |args: &[&str], run: &str| {
        let document = world_json(&[&["runs"], args].concat());
        let at = run_ids(&document).iter().position(|id| id == run);
        let row = &document["runs"][at.expect("listed")];
        (row["refusal"].clone(), row["checkpoint"].clone())
    };
    let (own, checkpoint) = refusal(&[], id::STORY2);
    let (foreign, same) = refusal(&["--as", "reviewer"], id::STORY2);
    assert_eq!(own, Value::Null);
    let message = format!("Run {} belongs to another agent", id::STORY2);
    assert_eq!(foreign, json!({"kind": "foreign", "message": message}));
    assert_eq!(checkpoint, same);
    assert_eq!(checkpoint["sha256"].as_str().map(str::len), Some(64));
    // The store is not asked: what is pruned or corrupted is no matter of the row.
    assert_eq!(refusal(&[], id::PRUNED).0, Value::Null);
    // `--as` is no filter, wherever it stands, and `--agent` opens as nobody.
    let ran = Place::new()
        .world(&["--as", "reviewer", "runs", "--json"])
        .ok()
        .json();
    assert_eq!(run_ids(&ran).len(), 24);
    assert_eq!(
        refusal(&["--as", "reviewer", "--agent", "engineer"], id::STORY2).0["kind"],
        "foreign"
    );
    assert_eq!(refusal(&[], id::TEAM).0["kind"], "foreign");
    assert_eq!(refusal(&[], id::HOST).0["kind"], "no_checkpoint");
    assert_eq!(refusal(&[], id::DAMAGED).0["kind"], "bad_row");
}

#[test]
fn show() {
    for (name, run) in [
        ("completed", id::STORY2),
        ("running", id::RUNNING),
        ("damaged", id::DAMAGED),
        ("pruned", id::PRUNED),
        ("corrupted", id::CORRUPTED),
    ] {
        let text = Place::new().world(&["show", run]).ok();
        assert_eq!(text.err, "");
        insta::assert_snapshot!(format!("show_{name}"), mask(text.text()));
        let document = masked(world_json(&["show", run]));
        insta::assert_snapshot!(format!("show_{name}_json"), document);
    }
}

/// What `verify` says of one run: its code, its kind, and what it makes of the bytes.
fn verified(args: &[&str]) -> (Option<i32>, String, String) {
    let place = Place::new();
    let ran = place.world(&[&["verify", "--json"], args].concat());
    let result = ran.json()["results"][0].clone();
    let text = |value: &Value| value.as_str().unwrap_or("ok").to_owned();
    assert_eq!(result["ok"], result["error"].is_null());
    (
        ran.code,
        text(&result["error"]["kind"]),
        text(&result["integrity"]),
    )
}

#[test]
fn verify_answers_for_gate_and_store() {
    for (args, code, kind, integrity) in [
        (&[id::STORY2][..], 0, "ok", "intact"),
        (&[id::PLAIN], 0, "ok", "intact"),
        (&[id::STORY2, "--as", "engineer"], 0, "ok", "intact"),
        (
            &[id::STORY2, "--as", "reviewer"],
            3,
            "foreign",
            "unverified",
        ),
        (&[id::TEAM], 3, "foreign", "unverified"),
        (&[id::RUNNING], 3, "not_completed", "unverified"),
        (&[id::HOST], 3, "no_checkpoint", "unverified"),
        (&[id::DAMAGED], 3, "bad_row", "unverified"),
        (&["nobody-ran-this"], 3, "not_found", "unverified"),
        (&[id::PRUNED], 4, "object_missing", "unreachable"),
        (&[id::CORRUPTED], 5, "checksum_mismatch", "damaged"),
    ] {
        let answer = (Some(code), kind.to_owned(), integrity.to_owned());
        assert_eq!(verified(args), answer, "{args:?}");
    }
}

#[test]
fn verify_goes_on_and_exits_with_the_first_failure() {
    let place = Place::new();
    let all = [
        "verify",
        id::STORY2,
        id::PRUNED,
        "nobody",
        id::CORRUPTED,
        id::NOTES2,
    ];
    let text = place.world(&all).exits(4);
    insta::assert_snapshot!(mask(text.text()));
    place
        .world(&["verify", id::STORY2, id::CORRUPTED, id::PRUNED])
        .exits(5);
    place.world(&["verify", "nobody", id::CORRUPTED]).exits(3);
    let document = place
        .world(&[&all[..], &["--json"]].concat())
        .exits(4)
        .json();
    let ok = document["results"].as_array().expect("a list").iter();
    let ok: Vec<_> = ok
        .map(|result| result["ok"].as_bool().expect("an answer"))
        .collect();
    assert_eq!(ok, [true, false, false, false, true]);
}

#[test]
fn verify_tells_what_is_in_it() {
    let result = &world_json(&["verify", id::STORY2])["results"][0];
    assert_eq!(result["state"]["binding"]["run_id"], id::STORY2);
    let entries = world_json(&["tree", id::STORY2])["entries"]
        .as_array()
        .map(Vec::len);
    assert_eq!(
        result["entries"].as_u64(),
        entries.and_then(|count| count.try_into().ok())
    );
    let object = std::fs::read(world().object(id::STORY2)).expect("the object");
    assert_eq!(result["checkpoint"]["size"], object.len());
    assert_eq!(result["checkpoint"]["sha256"], common::sha256(&object));
    assert_eq!(result.get("restorable"), None, "only where restoring fails");
}

/// A valid archive that only a restore refuses: its one file has a name of 256 characters.
fn unrestorable() -> Vec<u8> {
    fn member(
        name: &str,
        kind: tar::EntryType,
        mode: u32,
        content: &[u8],
        tar: &mut tar::Builder<Vec<u8>>,
    ) {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(1_780_272_000);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, content)
            .expect("appended");
    }
    let long = format!("workspace/{}", "n".repeat(256));
    let mut tar = tar::Builder::new(Vec::new());
    let manifest = br#"{"state": {}, "version": 1}"#;
    member(
        "manifest.json",
        tar::EntryType::Regular,
        0o600,
        manifest,
        &mut tar,
    );
    member("native", tar::EntryType::Directory, 0o700, b"", &mut tar);
    member("workspace", tar::EntryType::Directory, 0o700, b"", &mut tar);
    member(&long, tar::EntryType::Regular, 0o644, b"text", &mut tar);
    tar.into_inner().expect("whole")
}

#[test]
fn verify_says_when_only_restoring_fails() {
    let place = Place::new();
    std::fs::write(place.path("long.tar"), unrestorable()).expect("written");
    let result = place
        .run(&["verify", "--archive", "long.tar", "--json"])
        .ok();
    let result = &result.json()["results"][0];
    assert_eq!(
        (&result["ok"], &result["restorable"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(result["obstacle"]["kind"], "invalid_archive");
    let message = place
        .run(&["restore", "--archive", "long.tar", "out"])
        .refuses(5);
    assert!(message.starts_with("File name too long: "), "{message}");
    assert_eq!(common::names(&place.path("")), ["long.tar"]);
}

#[test]
fn a_run_is_named_in_many_ways() {
    let shown = |word: &str| world_json(&["show", word])["run"]["run_id"].clone();
    assert_eq!(shown(id::STORY2), id::STORY2);
    assert_eq!(shown(&id::STORY2[..8]), id::STORY2);
    assert_eq!(shown("engineer@latest"), id::STORY2);
    // The newest run with a checkpoint: the fourth turn was cancelled.
    let latest = world_json(&["show", "migrator@latest"]);
    assert_eq!(latest["run"]["run_index"], 2);
    let checkpoint = &world_json(&["show", id::PANTRY4])["run"]["checkpoint"];
    let digest = checkpoint["sha256"].as_str().expect("a digest");
    assert_eq!(shown(&format!("sha256:{digest}")), id::PANTRY4);
}

#[test]
fn a_run_that_is_not_there() {
    let place = Place::new();
    for word in ["nobody-ran-this", "", &id::STORY2[..7], "4AF5F6D6"] {
        let message = place.world(&["show", word]).refuses(3);
        assert_eq!(message, format!("Run {word} does not exist"));
    }
    let ran = place.world(&["show", "nobody@latest", "--json"]).exits(3);
    assert_eq!(ran.error().0, "not_found");
    let digest = format!("sha256:{}", "0".repeat(64));
    let ran = place.world(&["show", &digest, "--json"]).exits(3);
    assert_eq!(ran.error().0, "not_found");
}

#[test]
fn the_start_of_an_id_or_a_digest_may_be_too_short() {
    let place = Place::new();
    let short = place.world(&["show", &id::STORY2[..6]]).exits(3);
    assert!(
        short.hint().contains("from 8 characters on"),
        "{}",
        short.err
    );
    let other = place.world(&["show", "nobody"]).exits(3);
    assert!(!other.hint().contains("characters"), "{}", other.err);
    for half in ["f5e45593af02", "", &"F".repeat(64)] {
        let ran = place.world(&["show", &format!("sha256:{half}")]).exits(2);
        assert!(ran.message().contains("64 hex digits"), "{}", ran.err);
        assert!(ran.hint().contains("the whole digest"), "{}", ran.err);
    }
}

#[test]
fn an_ambiguous_prefix_is_refused_and_an_exact_id_wins() {
    let place = Place::new();
    std::fs::copy(&world().database, place.path("copy.sqlite")).expect("copied");
    let database = rusqlite::Connection::open(place.path("copy.sqlite")).expect("opened");
    let insert = "INSERT INTO agno_runs SELECT ?1, session_id, run_type, agent_id, team_id, \
                  workflow_id, user_id, parent_run_id, status, run_index, run_data, created_at, \
                  updated_at FROM agno_runs WHERE run_id = ?2";
    for run in ["prefix-of-two", "prefix-of-two-1", "prefix-of-two-2"] {
        database
            .execute(insert, [run, id::STORY2])
            .expect("inserted");
    }
    database.close().expect("closed");
    let store = world().store.to_str().expect("UTF-8");
    let found = place.run(&[
        "show",
        "prefix-of-two",
        "--db",
        "copy.sqlite",
        "--store",
        store,
        "--json",
    ]);
    assert_eq!(found.ok().json()["run"]["run_id"], "prefix-of-two");
    let ran = place.run(&["show", "prefix-of", "--db", "copy.sqlite", "--store", store]);
    let hint = ran.hint().to_owned();
    assert_eq!(ran.refuses(2), "prefix-of begins the ids of several runs");
    assert_eq!(hint, "write more of it: prefix-of-two or prefix-of-two-1");
}

#[test]
fn doctor() {
    let place = Place::new();
    let text = place.world(&["doctor"]).ok();
    let text = text.text();
    for part in [
        "✔ database",
        "3 agents, 24 runs",
        "✔ store",
        "✔ private files",
        "✔ review worker",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let checks = world_json(&["doctor"]);
    let names = checks["checks"].as_array().expect("a list").iter();
    let names: Vec<_> = names
        .map(|check| check["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "configuration",
            "database",
            "tables",
            "rights",
            "store",
            "object",
            "terminal",
            "private files",
            "review worker"
        ]
    );

    let nothing = place.run(&["doctor"]).exits(2);
    assert!(nothing.text().contains("--db"), "{}", nothing.text());
    let database = world().database.to_str().expect("UTF-8");
    let wrong = ["doctor", "--db", database, "--store", "nowhere", "--json"];
    let wrong = place.run(&wrong).exits(1).json();
    assert_eq!(wrong["checks"][1]["ok"], true);
    assert_eq!(wrong["checks"][4]["kind"], "store");
}

/// A place with a copy of the database, and the store where Agno has it when none is configured.
fn with_default_store() -> Place {
    let place = Place::new();
    std::fs::copy(&world().database, place.path("copy.sqlite")).expect("copied");
    let home = place.path("../home/.agno/sandbox");
    std::fs::create_dir_all(&home).expect("made");
    let mut copy = place.command("cp");
    copy.arg("-r")
        .arg(&world().store)
        .arg(home.join("checkpoints"));
    assert!(copy.status().expect("started").success());
    place
}

#[test]
fn the_default_store_is_used_with_a_remark() {
    let place = with_default_store();
    let ran = place
        .run(&["verify", id::STORY2, "--db", "copy.sqlite"])
        .ok();
    let note = ran.err.lines().next().unwrap_or_default();
    assert!(
        note.starts_with("note: ") && note.contains(".agno/sandbox/checkpoints"),
        "{note}"
    );
}

#[test]
fn the_default_store_is_refused_beside_a_queue_worker() {
    let place = with_default_store();
    let database = rusqlite::Connection::open(place.path("copy.sqlite")).expect("opened");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = i64::try_from(now.expect("later").as_secs()).expect("a time");
    database
        .execute_batch("CREATE TABLE agno_jobs (status TEXT, locked_at BIGINT)")
        .expect("made");
    let verify = |more: &[&str]| {
        // A run that does not exist: the store is refused before the row is looked at.
        place.run(&[&["verify", "nobody", "--db", "copy.sqlite"], more].concat())
    };
    let job = |status: &str, locked_at: i64| {
        database
            .execute("DELETE FROM agno_jobs", [])
            .expect("deleted");
        let insert = "INSERT INTO agno_jobs VALUES (?1, ?2)";
        database
            .execute(insert, (status, locked_at))
            .expect("inserted");
    };
    job("running", now);
    let refused = verify(&[]).exits(1);
    assert!(
        refused
            .err
            .contains("which other queue replicas cannot read"),
        "{}",
        refused.err
    );
    assert_eq!(refused.text(), "");
    verify(&["--store", world().store.to_str().expect("UTF-8")]).exits(3);
    // One that was given up, and one that is done.
    for (status, locked_at) in [("running", now - 3600), ("completed", now)] {
        job(status, locked_at);
        verify(&[]).exits(3);
    }
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let place = Place::new();
    let help = place.run(&["--help"]).ok();
    let section = help.text().split("Commands:").nth(1).expect("commands");
    let section = section.split("\n\n").next().expect("a section").to_owned();
    let commands = section
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let commands: HashSet<&str> = commands.filter(|word| *word != "help").collect();
    assert!(commands.len() >= 15, "{commands:?}");
    let mut pages = vec![place.run(&["man"]).ok()];
    for shell in ["bash", "zsh", "fish"] {
        pages.push(place.run(&["completions", shell]).ok());
    }
    for page in &pages {
        for command in &commands {
            assert!(page.text().contains(command), "{command}");
        }
    }
    assert!(pages[0].text().starts_with(".ie") || pages[0].text().contains(".TH afterrun"));
    // Where the configuration is, and how the interface may look, in words.
    for part in [
        "config.toml",
        "AFTERRUN_CONFIG",
        "ASCII alone",
        "main screen",
        "screen reader",
    ] {
        assert!(help.text().contains(part), "{part}");
        assert!(pages[0].text().contains(part), "{part}");
    }
    let syntax = place.path("completions.bash");
    std::fs::write(&syntax, &pages[1].out).expect("written");
    let bash = place.command("bash").arg("-n").arg(&syntax).status();
    assert!(bash.expect("started").success());
}

#[test]
fn help_is_short_and_long() {
    let place = Place::new();
    for command in ["runs", "verify", "diff", "restore", "capture"] {
        let (short, long) = (
            place.run(&[command, "-h"]).ok(),
            place.run(&[command, "--help"]).ok(),
        );
        assert!(!short.text().contains("Example"), "{}", short.text());
        assert!(long.text().contains("Example"), "{}", long.text());
        assert!(long.text().lines().count() > short.text().lines().count());
    }
}

#[test]
fn demo_keeps_out_of_folders_in_use() {
    let place = Place::new();
    std::fs::create_dir(place.path("used")).expect("made");
    std::fs::write(place.path("used/mine"), "text").expect("written");
    let message = place.run(&["demo", "--dir", "used", "--no-tui"]).refuses(6);
    assert_eq!(message, "used is not empty");
    let ran = place
        .run(&["demo", "--dir", "used", "--no-tui", "--json"])
        .exits(6);
    assert_eq!(ran.error().0, "exists");
    assert_eq!(common::names(&place.path("used")), ["mine"]);
}

#[test]
fn demo_says_how_the_world_that_is_there_is_opened() {
    let place = Place::new();
    let build = ["demo", "--dir", "a world", "--no-tui"];
    place.run(&build).ok();
    let ran = place.run(&build).exits(6);
    assert_eq!(ran.message(), "a world is not empty");
    assert!(
        ran.hint()
            .contains("`afterrun --db 'a world/agno.sqlite' --store 'a world/checkpoints'`"),
        "{}",
        ran.err
    );
}

#[test]
fn demo_prints_the_command_that_opens_it() {
    let place = Place::new();
    let built = place.run(&["demo", "--dir", "new", "--no-tui"]).ok();
    let words: Vec<&str> = built.text().split_whitespace().collect();
    assert_eq!(
        words,
        [
            "afterrun",
            "--db",
            "new/agno.sqlite",
            "--store",
            "new/checkpoints"
        ]
    );
    place
        .run(&[&words[1..], &["verify", id::STORY2]].concat())
        .ok();
    assert_eq!(
        common::names(&place.path("new")),
        ["agno.sqlite", "checkpoints"]
    );
}
