//! Databases, stores and destinations that cannot be used: one line says what is wrong and what was
//! expected, the exit code is right, and nothing is left where something was to be written.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use common::{Place, id, names, world};
use rusqlite::Connection;

/// `afterrun runs` on that database: what it refuses with, in text and as JSON.
#[track_caller]
fn refused(place: &Place, database: &str) -> String {
    let message = place.run(&["runs", "--db", database]).refuses(1);
    let ran = place.run(&["runs", "--db", database, "--json"]).exits(1);
    assert_eq!(ran.error(), ("database".into(), message.clone()));
    message
}

fn sql(place: &Place, name: &str, script: &str) {
    let database = Connection::open(place.path(name)).expect("opened");
    database.execute_batch(script).expect("done");
    database.close().expect("closed");
}

fn copy(place: &Place) -> Connection {
    std::fs::copy(&world().database, place.path("copy.sqlite")).expect("copied");
    Connection::open(place.path("copy.sqlite")).expect("opened")
}

#[test]
fn a_database_that_is_none() {
    let place = Place::new();
    std::fs::write(place.path("text"), "text ".repeat(1000)).expect("written");
    assert_eq!(refused(&place, "text"), "text is not an SQLite database");
    std::fs::create_dir(place.path("folder")).expect("made");
    let message = refused(&place, "folder");
    assert_eq!(
        message,
        "folder is not a file; expected an SQLite database of Agno's"
    );
    let message = refused(&place, "nowhere.sqlite");
    assert_eq!(
        message,
        "nowhere.sqlite cannot be read: no such file or directory"
    );
    assert_eq!(
        names(&place.path("")),
        ["folder", "text"],
        "reading makes no database"
    );
}

#[test]
fn a_database_that_is_cut_off() {
    let place = Place::new();
    let bytes = std::fs::read(&world().database).expect("read");
    std::fs::write(place.path("half.sqlite"), &bytes[..bytes.len() / 2]).expect("written");
    let message = refused(&place, "half.sqlite");
    assert!(message.starts_with("half.sqlite "), "{message}");
    assert_eq!(names(&place.path("")), ["half.sqlite"]);
}

#[test]
fn a_database_without_the_tables() {
    let place = Place::new();
    std::fs::write(place.path("empty"), "").expect("written");
    let expected = "has no table agno_runs; expected Agno's agno_sessions and agno_runs";
    assert_eq!(
        refused(&place, "empty"),
        format!("empty {expected}, found no tables at all")
    );
    sql(
        &place,
        "shop",
        "CREATE TABLE orders (id); CREATE TABLE customers (id);",
    );
    assert_eq!(
        refused(&place, "shop"),
        format!("shop {expected}, found customers, orders")
    );
    let ran = place.run(&["runs", "--db", "shop"]);
    assert!(ran.hint().contains("--runs-table"), "{}", ran.hint());
    // A name is shown, never obeyed.
    sql(&place, "evil", "CREATE TABLE \"a\x1b[2J\" (id);");
    assert!(refused(&place, "evil").ends_with("found a\\x1b[2J"));
}

#[test]
fn a_database_with_renamed_tables() {
    let place = Place::new();
    let database = copy(&place);
    let rename = "ALTER TABLE agno_runs RENAME TO runs; ALTER TABLE agno_sessions RENAME TO talks;";
    database.execute_batch(rename).expect("renamed");
    database.close().expect("closed");
    refused(&place, "copy.sqlite");
    let tables = [
        "--runs-table",
        "runs",
        "--sessions-table",
        "talks",
        "--json",
    ];
    let args = [&["runs", "--db", "copy.sqlite"][..], &tables].concat();
    let runs = place.run(&args).ok().json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(24));
}

#[test]
fn a_database_of_an_older_agno() {
    let place = Place::new();
    sql(
        &place,
        "old.sqlite",
        "CREATE TABLE agno_sessions (session_id, session_type, runs JSON);",
    );
    let message = refused(&place, "old.sqlite");
    let expected = "keeps runs inside agno_sessions, as Agno 2.x did; expected a table agno_runs";
    assert_eq!(message, format!("old.sqlite {expected}"));
    let ran = place.run(&["runs", "--db", "old.sqlite"]);
    assert!(ran.hint().contains("3.1.5"), "{}", ran.hint());
}

#[test]
fn a_database_that_is_locked() {
    let place = Place::new();
    let writer = copy(&place);
    writer
        .pragma_update(None, "journal_mode", "DELETE")
        .expect("set");
    writer.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    assert_eq!(
        refused(&place, "copy.sqlite"),
        "copy.sqlite is locked by another process"
    );
    let ran = place.run(&["runs", "--db", "copy.sqlite"]);
    assert!(ran.hint().contains("again"), "{}", ran.hint());
    writer.execute_batch("ROLLBACK").expect("unlocked");
    place.run(&["runs", "--db", "copy.sqlite"]).ok();
}

#[test]
fn a_writer_at_work_disturbs_nobody() {
    let place = Place::new();
    let writer = copy(&place);
    let listed = || {
        let runs = place
            .run(&["runs", "--db", "copy.sqlite", "--json"])
            .ok()
            .json();
        runs["runs"].as_array().map(Vec::len)
    };
    let delete = |run: &str| {
        writer
            .execute("DELETE FROM agno_runs WHERE run_id = ?1", [run])
            .expect("deleted");
    };
    // What is committed but still in the journal is seen, what is not committed is not.
    delete(id::RUNNING);
    assert!(
        place
            .path("copy.sqlite-wal")
            .metadata()
            .is_ok_and(|wal| wal.len() > 0)
    );
    assert_eq!(listed(), Some(23));
    writer.execute_batch("BEGIN IMMEDIATE").expect("begun");
    delete(id::HOST);
    assert_eq!(listed(), Some(23));
    writer.execute_batch("COMMIT").expect("committed");
    assert_eq!(listed(), Some(22));
    writer.close().expect("closed");
    assert_eq!(names(&place.path("")), ["copy.sqlite"]);
    assert_eq!(listed(), Some(22));
}

#[test]
fn reading_leaves_no_trace_beside_the_database() {
    let place = Place::new();
    copy(&place).close().expect("closed");
    let database = place.path("copy.sqlite");
    let before = std::fs::read(&database).expect("read");
    assert_eq!(before[18..20], [2, 2], "journal mode WAL");
    let folder = place.path("");
    let closed = || std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o555));
    closed().expect("set");
    let store = world().store.to_str().expect("UTF-8");
    for command in [
        &["runs"][..],
        &["agents"],
        &["show", id::STORY2],
        &["verify", id::STORY2],
        &["doctor"],
    ] {
        let options = ["--db", "copy.sqlite", "--store", store];
        place.run(&[command, &options].concat()).ok();
        assert_eq!(names(&folder), ["copy.sqlite"], "{command:?}");
    }
    assert!(
        std::fs::read(&database).expect("read") == before,
        "the database changed"
    );
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("set");
}

#[test]
fn a_read_only_disk_is_read_with_a_notice() {
    let place = Place::new();
    // With a journal that cannot be read without its index, as a copy of the files may be.
    let writer = copy(&place);
    let delete = "DELETE FROM agno_runs WHERE run_id = ?1";
    writer.execute(delete, [id::RUNNING]).expect("deleted");
    let script = "cp copy.sqlite copy.sqlite-wal disk && mount -o remount,ro disk && \"$0\" \"$@\"";
    let Some(mut inside) = with_disk(&place, "4m", script) else {
        return;
    };
    let command = place.afterrun(&["runs", "--db", "disk/copy.sqlite"]);
    inside.arg(command.get_program()).args(command.get_args());
    let ran = place.finish(inside).ok();
    assert!(ran.text().contains(id::STORY2), "{}", ran.text());
    let note = "note: disk/copy.sqlite is on a read-only file system: opened as immutable";
    assert!(ran.err.starts_with(note), "{}", ran.err);
}

#[test]
fn a_database_that_is_not_read_yet() {
    let place = Place::new();
    let url = "postgresql://app:hunter2@db/agno";
    let ran = place.run(&["runs", "--db", url, "--json"]);
    assert!(
        !format!("{}{}", ran.text(), ran.err).contains("hunter2"),
        "{}",
        ran.err
    );
    assert_ne!(ran.code, Some(0));
    ran.error();
    place
        .run(&["runs", "--db", "mysql://app:hunter2@db/agno"])
        .refuses(2);
}

/// `afterrun verify` of the story with that store.
#[track_caller]
fn store_refused(place: &Place, store: &str) -> String {
    let database = world().database.to_str().expect("UTF-8");
    let args = ["verify", id::STORY2, "--db", database, "--store", store];
    let message = place.run(&args).refuses(1);
    let ran = place.run(&[&args[..], &["--json"]].concat()).exits(1);
    assert_eq!(ran.error(), ("store".into(), message.clone()));
    message
}

#[test]
fn a_store_that_cannot_be_used() {
    let place = Place::new();
    let message = store_refused(&place, "nowhere");
    assert_eq!(message, "Checkpoint store nowhere does not exist");
    std::fs::write(place.path("file"), "").expect("written");
    let message = store_refused(&place, "file");
    assert_eq!(message, "Checkpoint store file is a file, not a directory");
    symlink(&world().store, place.path("link")).expect("made");
    let message = store_refused(&place, "link");
    assert_eq!(message, "Checkpoint store root cannot be a symlink: link");
    assert_eq!(
        names(&place.path("")),
        ["file", "link"],
        "reading makes no store"
    );
}

#[test]
fn an_object_that_is_none() {
    let place = Place::new();
    let (database, object) = (
        world().database.to_str().expect("UTF-8"),
        world().object(id::STORY2),
    );
    let digest = object.file_name().expect("a name");
    let verify = |store: &str| {
        let args = [
            "verify",
            id::STORY2,
            "--db",
            database,
            "--store",
            store,
            "--json",
        ];
        let ran = place.run(&args);
        let result = ran.json()["results"][0].clone();
        (
            ran.code,
            result["error"]["kind"].as_str().unwrap_or("ok").to_owned(),
        )
    };
    // A folder, a link to the object itself, and half of it.
    for name in ["folder", "link", "half"] {
        std::fs::create_dir(place.path(name)).expect("made");
    }
    std::fs::create_dir(place.path("folder").join(digest)).expect("made");
    symlink(&object, place.path("link").join(digest)).expect("made");
    let bytes = std::fs::read(&object).expect("read");
    std::fs::write(place.path("half").join(digest), &bytes[..bytes.len() / 2]).expect("written");
    for name in ["folder", "link"] {
        let (code, kind) = verify(name);
        assert!(matches!(code, Some(1 | 4 | 5)), "{name}: {code:?} {kind}");
        assert_ne!(kind, "ok", "{name}");
    }
    assert_eq!(verify("half"), (Some(5), "size_mismatch".into()));
}

/// Whether the tests run as root, whom no mode keeps out.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn an_object_that_only_its_owner_may_read() {
    let place = Place::new();
    let object = world().object(id::STORY2);
    let copied = place
        .path("store")
        .join(object.file_name().expect("a name"));
    std::fs::create_dir(place.path("store")).expect("made");
    std::fs::copy(&object, &copied).expect("copied");
    std::fs::copy(&world().database, place.path("copy.sqlite")).expect("copied");
    let args = [
        "verify",
        id::STORY2,
        "--db",
        "copy.sqlite",
        "--store",
        "store",
    ];
    let mut command = place.afterrun(&args);
    let mode = if is_root() {
        // Somebody else then, who has to be able to reach the binary and this folder.
        for path in [place.path(""), place.path("store")] {
            for above in path
                .ancestors()
                .take_while(|path| path.starts_with(std::env::temp_dir()))
                .take(3)
            {
                let _ = std::fs::set_permissions(above, PermissionsExt::from_mode(0o1777));
            }
        }
        std::fs::set_permissions(place.tmp(), PermissionsExt::from_mode(0o1777)).expect("set");
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
        let binary = env!("CARGO_BIN_EXE_afterrun");
        let mut reach = place.command("setpriv");
        reach.args(nobody).args([binary, "--version"]);
        if !reach.output().is_ok_and(|output| output.status.success()) {
            eprintln!(
                "skipped: root reads everything, and setpriv cannot start the binary as another"
            );
            return;
        }
        command = place.command("setpriv");
        command.args(nobody).arg(binary).args(args);
        0o400
    } else {
        0o000
    };
    std::fs::set_permissions(&copied, PermissionsExt::from_mode(mode)).expect("set");
    let owner = copied.metadata().expect("there").uid();
    let ran = place.finish(command).exits(1);
    let text = format!("{}{}", ran.text(), ran.err);
    let told = format!("is readable only by its owner, uid {owner} (mode {mode:04o})");
    assert!(text.contains(&told), "{text}");
}

#[test]
fn a_destination_that_is_in_the_way() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).expect("made");
    std::fs::write(place.path("file"), "mine").expect("written");
    symlink("nowhere", place.path("dangling")).expect("made");
    for name in ["folder", "file", "dangling", "folder/"] {
        let message = place.world(&["restore", id::STORY2, name]).refuses(6);
        assert_eq!(message, format!("{name} already exists"));
    }
    for name in ["file", "dangling"] {
        place.world(&["fetch", id::STORY2, name]).refuses(6);
        place.world(&["patch", id::STORY2, "-o", name]).refuses(6);
    }
    let ran = place
        .world(&["restore", id::STORY2, "folder", "--json"])
        .exits(6);
    assert_eq!(ran.error().0, "exists");
    assert_eq!(names(&place.path("")), ["dangling", "file", "folder"]);
    assert_eq!(names(&place.path("folder")), [""; 0]);
    assert_eq!(std::fs::read(place.path("file")).expect("read"), b"mine");
}

#[test]
fn a_destination_without_a_parent() {
    let place = Place::new();
    std::fs::write(place.path("file"), "").expect("written");
    for name in ["nowhere/out", "file/out"] {
        let message = place.world(&["restore", id::STORY2, name]).refuses(1);
        assert!(
            message.starts_with(&format!("cannot restore to {name}: its parent ")),
            "{message}"
        );
        place.world(&["fetch", id::STORY2, name]).refuses(1);
        place.world(&["patch", id::STORY2, "-o", name]).refuses(1);
        let ran = place
            .world(&["restore", id::STORY2, name, "--json"])
            .exits(1);
        assert_eq!(ran.error().0, "io");
    }
    assert_eq!(names(&place.path("")), ["file"]);
}

#[test]
fn a_refused_run_leaves_nothing() {
    let place = Place::new();
    for (run, code) in [
        ("nobody", 3),
        (id::RUNNING, 3),
        (id::PRUNED, 4),
        (id::CORRUPTED, 5),
    ] {
        place.world(&["restore", run, "out"]).refuses(code);
        assert_eq!(names(&place.path("")), [""; 0], "{run}");
    }
}

#[test]
fn an_archive_that_is_none() {
    let place = Place::new();
    std::fs::write(place.path("text"), "no archive").expect("written");
    let whole = std::fs::read(world().object(id::STORY2)).expect("read");
    std::fs::write(place.path("half"), &whole[..whole.len() / 2]).expect("written");
    for name in ["text", "half"] {
        for command in [
            &["tree", "--archive", name][..],
            &["restore", "--archive", name, "out"],
        ] {
            place.run(command).refuses(5);
        }
        let ran = place.run(&["verify", "--archive", name, "--json"]).exits(5);
        assert_eq!(ran.json()["results"][0]["error"]["kind"], "invalid_archive");
    }
    place.run(&["tree", "--archive", "nowhere"]).refuses(1);
    place.run(&["verify", "--archive", "nowhere"]).refuses(1);
    assert_eq!(names(&place.path("")), ["half", "text"]);
}

/// A shell that runs `script` where a small disk is mounted on `disk`, in a namespace of its own, so
/// that the disk goes with it. Where none can be mounted, says so.
fn with_disk(place: &Place, size: &str, script: &str) -> Option<Command> {
    let disk = place.path("disk");
    std::fs::create_dir(&disk).expect("made");
    let unshare = |script: &str| {
        let mount = format!("mount -t tmpfs -o size={size} none disk && {script}");
        let mut command = place.command("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", &mount]);
        command
    };
    let possible = unshare("true")
        .output()
        .is_ok_and(|output| output.status.success());
    if !possible {
        eprintln!("skipped: no small disk can be mounted here");
    }
    possible.then(|| unshare(script))
}

/// Runs `command` and then `then` with a disk of 64 kB; the full disk is what it has to name, in one
/// line.
fn on_a_full_disk(place: &Place, command: &Command, then: &str) {
    let script = format!("\"$0\" \"$@\"; code=$?; {then}; exit $code");
    let Some(mut inside) = with_disk(place, "64k", &script) else {
        return;
    };
    inside.arg(command.get_program()).args(command.get_args());
    let message = place.finish(inside).refuses(1);
    assert!(message.contains("no space left on device"), "{message}");
}

#[test]
fn a_restore_to_a_full_disk() {
    let place = Place::new();
    let command = place.on_world(&["restore", id::PANTRY5, "disk/out"]);
    on_a_full_disk(&place, &command, "ls -A disk");
}

#[test]
fn a_fetch_and_a_patch_to_a_full_disk() {
    // Nothing is left of the disk before.
    let fill = "cat /dev/zero > disk/full 2> /dev/null;";
    for args in [
        ["fetch", id::STORY2, "disk/kept"],
        ["patch", id::STORY2, "-odisk/a.patch"],
    ] {
        let place = Place::new();
        let shell = place.on_world(&args);
        let mut command = place.command("sh");
        command.args(["-c", &format!("{fill} \"$0\" \"$@\"")]);
        command.arg(shell.get_program()).args(shell.get_args());
        on_a_full_disk(&place, &command, "rm disk/full; ls -A disk");
    }
}

#[test]
fn a_capture_to_a_full_disk() {
    let place = Place::new();
    for root in ["work", "home"] {
        std::fs::create_dir(place.path(root)).expect("made");
    }
    // 200 kB that do not get smaller.
    let noise = (0..6_000_u32).map(|number| common::sha256(&number.to_le_bytes()));
    let noise: Vec<u8> = noise.flat_map(String::into_bytes).collect();
    std::fs::write(place.path("work/noise"), &noise).expect("written");
    let args = [
        "capture",
        "--workspace",
        "work",
        "--native",
        "home",
        "--store",
        "disk/store",
    ];
    let command = place.afterrun(&args);
    on_a_full_disk(&place, &command, "ls -A disk/store");
}

#[test]
fn stdout_that_is_full() {
    let place = Place::new();
    for args in [
        &["runs"][..],
        &["cat", id::STORY2, "README.md"],
        &["tree", id::STORY2, "--json"],
    ] {
        let mut command = place.on_world(args);
        command.stdout(std::fs::File::create("/dev/full").expect("there"));
        let message = place.finish(command).refuses(1);
        assert_eq!(
            message,
            "cannot write standard output: no space left on device"
        );
    }
}

#[test]
fn tmpdir_that_is_not_there() {
    let place = Place::new();
    let mut command = place.on_world(&["restore", id::STORY2, "out"]);
    command.env("TMPDIR", place.path("nowhere"));
    let message = place.finish(command).refuses(1);
    assert!(message.contains("nowhere"), "{message}");
    let mut command = place.on_world(&["doctor"]);
    command.env("TMPDIR", place.path("nowhere"));
    let told = place.finish(command).exits(1);
    assert!(told.text().contains("✖ private files"), "{}", told.text());
    assert_eq!(names(&place.path("")), [""; 0]);
}

#[test]
fn usage_errors() {
    let place = Place::new();
    for args in [
        &["nonsense"][..],
        &["runs", "--nonsense"],
        &["runs", "--limit", "0"],
        &["runs", "--limit", "many"],
        &["runs", "--since", "yesterday"],
        &["runs", "--after", "nonsense"],
        &["show"],
        &["verify"],
        &["verify", id::STORY2, "--archive", "x"],
        &["cat", id::STORY2],
        &["tree"],
        &["diff", id::STORY2, "--stat", "--name-status"],
        &["diff", "--archive", "x", "--base"],
        &["restore", "out"],
        &["restore"],
        &["fetch", id::STORY2],
        &["capture", "--workspace", "."],
        &["completions", "nonsense"],
        &["agents", "--color", "sometimes"],
        &["verify", id::STORY2, "--max-bytes", "5"],
    ] {
        let text = place.world(args).exits(2);
        assert_eq!(text.text(), "", "{args:?}");
        assert!(!text.err.trim().is_empty(), "{args:?} says nothing");
        let ran = place.world(&[args, &["--json"]].concat()).exits(2);
        assert_eq!(ran.error().0, "usage", "{args:?}");
    }
}

/// The contract of every error holds for these too: one line, `afterrun: MESSAGE`, perhaps a hint.
#[test]
fn a_usage_error_is_one_line() {
    let place = Place::new();
    for args in [
        &["nonsense"][..],
        &["runs", "--limit", "0"],
        &["show"],
        &["runs", "--nonsense"],
    ] {
        place.world(args).refuses(2);
    }
    // What is missing is named, in a document too.
    let ran = place.world(&["fetch", "--json"]).exits(2);
    let (_, message) = ran.error();
    assert!(
        message.contains("<RUN>") && message.contains("<FILE>"),
        "{message}"
    );
}

#[test]
fn nothing_is_configured() {
    let place = Place::new();
    for args in [
        &[][..],
        &["agents"],
        &["runs"],
        &["show", "x"],
        &["verify", "x"],
        &["tree", "x"],
    ] {
        let ran = place.run(args);
        assert!(
            ran.hint().contains("--db") && ran.hint().contains("afterrun demo"),
            "{}",
            ran.err
        );
        assert_eq!(ran.refuses(2), "No database is configured");
    }
    let mut command = place.afterrun(&["agents"]);
    command.env("AFTERRUN_DB", "");
    assert_eq!(
        place.finish(command).refuses(2),
        "No database is configured"
    );
    let capture = place.run(&["capture", "--workspace", ".", "--native", "."]);
    assert_eq!(capture.refuses(2), "No checkpoint store is named");
}

#[test]
fn the_environment_configures_and_options_win() {
    let place = Place::new();
    let database = world().database.as_path();
    let url = format!("sqlite:///{}", database.display());
    for name in [database, Path::new(&url)] {
        let mut command = place.afterrun(&["verify", id::STORY2]);
        command
            .env("AFTERRUN_DB", name)
            .env("AFTERRUN_STORE", &world().store);
        place.finish(command).ok();
    }
    let mut command = place.on_world(&["verify", id::STORY2]);
    command
        .env("AFTERRUN_DB", "nowhere")
        .env("AFTERRUN_STORE", "nowhere");
    place.finish(command).ok();
}
