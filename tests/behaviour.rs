//! How the binary behaves in a shell: without a terminal, in a pipe whose reader has gone, when it is
//! interrupted, in colour or not, and in front of names that are meant to do harm.

mod common;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use common::pty::{Terminal, until};
use common::{Place, id, names, world};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn without_a_terminal_the_interface_says_what_to_do() {
    let place = Place::new();
    let ran = place.world(&[""; 0]);
    assert!(ran.hint().contains("`afterrun runs`"), "{}", ran.err);
    assert!(ran.refuses(2).contains("needs a terminal"));
    for args in [&["demo"][..], &["demo", "--dir", "new"]] {
        let ran = place.run(args);
        assert!(
            ran.hint().contains("`afterrun demo --no-tui`"),
            "{}",
            ran.err
        );
        assert!(ran.refuses(2).contains("needs a terminal"));
    }
    let ran = place.world(&["--json"]).exits(2);
    assert_eq!(ran.error().0, "usage");
    assert_eq!(names(&place.path("")), [""; 0]);
}

#[test]
fn a_pipe_without_a_reader_ends_quietly() {
    for args in [
        &["runs"][..],
        &["runs", "--json"],
        &["tree", id::PANTRY5],
        &["cat", id::PANTRY5, ".git/index"],
        &["diff", id::PANTRY5, "--color", "always"],
        &["patch", id::PANTRY5],
        &["man"],
        &["--help"],
    ] {
        let place = Place::new();
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = place.on_world(args);
        command.stdout(writer);
        let ran = place.finish(command).ok();
        let notes = ran.err.lines().filter(|line| !line.starts_with("note: "));
        assert_eq!(notes.count(), 0, "{args:?}: {}", ran.err);
    }
}

/// Two roots, of which one file has this many bytes; no disk is used for them.
fn roots(place: &Place, length: u64) {
    for root in ["work", "home"] {
        std::fs::create_dir(place.path(root)).expect("made");
    }
    let file = std::fs::File::create(place.path("work/large")).expect("made");
    file.set_len(length).expect("set");
}

const CAPTURE: [&str; 7] = [
    "capture",
    "--workspace",
    "work",
    "--native",
    "home",
    "--store",
    "store",
];

/// The path of the archive in `store`.
fn captured(place: &Place, more: &[&str]) -> String {
    let reference = place
        .run(&[&CAPTURE[..], more, &["--json"]].concat())
        .ok()
        .json();
    format!("store/{}", reference["sha256"].as_str().expect("a digest"))
}

#[test]
fn a_reader_that_leaves_in_the_middle() {
    use std::io::Read;
    let place = Place::new();
    roots(&place, 8 << 20);
    let archive = captured(&place, &[]);
    let mut command = place.afterrun(&["cat", "--archive", &archive, "large"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut first = [0; 1000];
    let mut reader = child.stdout.take().expect("a pipe");
    reader.read_exact(&mut first).expect("the beginning");
    drop(reader);
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    place.assert_clean("cat");
}

/// Whether a name in `folder` begins with `start`.
fn begun(folder: &Path, start: &str) -> bool {
    std::fs::read_dir(folder).is_ok_and(|entries| {
        let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries
            .flatten()
            .map(name)
            .any(|name| name.starts_with(start))
    })
}

/// Starts the command, sends `signal` as soon as `now` says so, and answers its code and what it said;
/// `None` when it was through before.
fn interrupted(
    place: &Place,
    args: &[&str],
    signal: Signal,
    now: impl Fn() -> bool,
) -> Option<(Option<i32>, String)> {
    let mut command = place.afterrun(args);
    let mut child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process");
    let in_time = until(|| match child.try_wait().expect("a status") {
        Some(_) => Some(false),
        None => now().then_some(true),
    });
    if in_time == Some(true) {
        kill_process(pid, signal).expect("sent");
    }
    let ended = until(|| child.try_wait().expect("a status"));
    if ended.is_none() {
        let _ = child.kill();
        panic!("it does not end");
    }
    let output = child.wait_with_output().expect("ended");
    place.assert_clean("what was interrupted");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code() != Some(0)).then(|| (output.status.code(), said))
}

#[test]
fn an_interrupted_capture_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        // As much as an archive may hold, so that the end is the signal's.
        roots(&place, 1000 << 20);
        let ended = interrupted(&place, &CAPTURE, signal, || {
            begun(&place.tmp(), "afterrun-")
        });
        assert_eq!(ended.map(|(code, _)| code), Some(Some(130)));
        assert_eq!(names(&place.path("store")), [""; 0]);
        assert_eq!(names(&place.path("")), ["home", "store", "work"]);
    }
}

/// The same, where the work may be through before the signal comes: then once more, after `undo`.
fn interrupted_in_time(
    place: &Place,
    args: &[&str],
    now: impl Fn() -> bool,
    undo: impl Fn(),
) -> (Option<i32>, String) {
    for _ in 0..5 {
        if let Some(ended) = interrupted(place, args, Signal::INT, &now) {
            return ended;
        }
        undo();
    }
    panic!("it was through before every signal");
}

#[test]
fn an_interrupted_restore_leaves_nothing() {
    let place = Place::new();
    roots(&place, 300 << 20);
    let archive = captured(&place, &["--plain"]);
    let before = names(&place.path(""));
    let args = ["restore", "--archive", &archive, "out"];
    let now = || begun(&place.path(""), ".afterrun-restore-");
    let undo = || std::fs::remove_dir_all(place.path("out")).expect("restored");
    let (code, said) = interrupted_in_time(&place, &args, now, undo);
    assert_eq!((code, &said[..]), (Some(130), "afterrun: Cancelled\n"));
    assert_eq!(names(&place.path("")), before);
}

#[test]
fn an_interrupted_reading_leaves_nothing() {
    let place = Place::new();
    roots(&place, 300 << 20);
    let archive = captured(&place, &["--plain"]);
    for args in [
        &["verify", "--archive", &archive][..],
        &["tree", "--archive", &archive],
    ] {
        let ended = interrupted_in_time(&place, args, || spooling(&place), || ());
        assert_eq!(
            ended,
            (Some(130), "afterrun: Cancelled\n".into()),
            "{args:?}"
        );
    }
}

/// Whether some process has begun to read an archive of `place`: its spool has no name to look for.
fn spooling(place: &Place) -> bool {
    let store = place.path("store");
    let all = std::fs::read_dir("/proc").expect("listed").flatten();
    all.filter_map(|entry| std::fs::read_dir(entry.path().join("fd")).ok())
        .flat_map(|files| files.flatten())
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .any(|open| open.starts_with(&store))
}

#[test]
fn colours_are_asked_for_or_forbidden() {
    let place = Place::new();
    let coloured = |args: &[&str], environment: &[(&str, &str)]| {
        let mut command = place.on_world(&[&["diff", id::STORY2], args].concat());
        command.envs(environment.iter().copied());
        let text = String::from_utf8(place.finish(command).ok().out).expect("UTF-8");
        if text.contains('\x1b') {
            assert!(
                text.contains("\x1b[32m+Edited by the engineer\x1b[0m\n"),
                "{text:?}"
            );
            let plain = text.replace("\x1b[32m", "").replace("\x1b[36m", "");
            let plain = plain.replace("\x1b[1m", "").replace("\x1b[0m", "");
            assert!(!plain.contains('\x1b'), "{plain:?}");
            return true;
        }
        assert!(text.contains("\n+Edited by the engineer\n"), "{text}");
        false
    };
    assert!(!coloured(&[], &[]), "a pipe");
    assert!(coloured(&["--color", "always"], &[]));
    assert!(
        coloured(&["--color", "always"], &[("NO_COLOR", "1")]),
        "the option wins"
    );
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[], &[("CLICOLOR_FORCE", "0")]));
    assert!(!coloured(
        &[],
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
    assert!(!coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

/// What a command writes to a terminal.
fn on_terminal(place: &Place, args: &[&str], environment: &[(&str, &str)]) -> String {
    let binary = env!("CARGO_BIN_EXE_afterrun");
    let words = [&[binary], args].concat();
    let ended = Terminal::start(place, (200, 50), &words, environment).end();
    assert_eq!(ended.code, 0, "{}", ended.text);
    String::from_utf8(ended.raw).expect("UTF-8")
}

#[test]
fn a_terminal_is_coloured_unless_it_should_not_be() {
    let place = Place::new();
    let (database, store) = (world().database.to_str(), world().store.to_str());
    let (database, store) = (database.expect("UTF-8"), store.expect("UTF-8"));
    let args = ["runs", "--db", database, "--store", store];
    assert!(on_terminal(&place, &args, &[]).contains("\x1b[32mCOMPLETED"));
    for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let raw = on_terminal(&place, &args, &[environment]);
        assert!(
            !raw.contains('\x1b') && raw.contains("COMPLETED"),
            "{environment:?}"
        );
    }
    let never = [&args[..], &["--color", "never"]].concat();
    assert!(!on_terminal(&place, &never, &[]).contains('\x1b'));
}

#[test]
fn a_terminal_shows_a_file_line_by_line() {
    let place = Place::new();
    let (database, store) = (world().database.to_str(), world().store.to_str());
    let (database, store) = (database.expect("UTF-8"), store.expect("UTF-8"));
    let args = [
        "cat",
        id::STORY2,
        "README.md",
        "--db",
        database,
        "--store",
        store,
    ];
    let raw = on_terminal(&place, &args, &[]);
    assert_eq!(raw, "Hello World!\r\nEdited by the engineer\r\n");
}

/// Names that a terminal would obey, that turn text around, that end a line, and that are no UTF-8.
const HOSTILE: [&[u8]; 5] = [
    b"title\x1b]0;pwned\x07",
    b"clear\x1b[2J\x9b2J",
    b"two\nlines\r",
    "turned\u{202e}txt.exe".as_bytes(),
    b"caf\xe9",
];

/// A place whose archive, with the path answered, holds these names, each with hostile content.
fn hostile() -> (Place, String) {
    let place = Place::new();
    roots(&place, 0);
    std::fs::remove_file(place.path("work/large")).expect("removed");
    for name in HOSTILE {
        let path = place.path("work").join(OsStr::from_bytes(name));
        std::fs::write(path, [name, b"\n"].concat()).expect("written");
    }
    let target = OsStr::from_bytes(b"/elsewhere\x1b[1m");
    std::os::unix::fs::symlink(target, place.path("work/link")).expect("made");
    let archive = captured(&place, &[]);
    (place, archive)
}

/// No control byte but a line's end and the tab of lists, nothing that turns text around.
#[track_caller]
fn assert_harmless(text: &str) {
    let bad = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202a}'..='\u{202e}')
    };
    assert!(!text.contains(bad), "{text:?}");
}

#[test]
fn hostile_names_are_shown_and_not_obeyed() {
    let (place, archive) = hostile();
    for command in [
        &["tree"][..],
        &["diff", "--base", "empty"],
        &["diff", "--base", "empty", "--stat"],
        &["diff", "--base", "empty", "--name-status"],
        &["patch", "--base", "empty"],
        &["restore", "--dry-run", "out"],
        &[
            "cat",
            OsStr::new("workspace/turned\u{202e}txt.exe")
                .to_str()
                .expect("UTF-8"),
        ],
    ] {
        let args = [command, &["--archive", &archive, "--color", "never"]].concat();
        let raw = on_terminal(&place, &args, &[]).replace("\r\n", "\n");
        assert_harmless(&raw);
        assert!(
            raw.contains("pwned") || raw.contains("turned") || raw.contains("link"),
            "{raw}"
        );
    }
    // Lists that other programs cut at lines are as safe in a pipe.
    for command in [&["tree"][..], &["diff", "--base", "empty", "--name-status"]] {
        let ran = place
            .run(&[command, &["--archive", &archive]].concat())
            .ok();
        assert_harmless(ran.text());
        assert_harmless(&ran.err);
    }
    let tree = place.run(&["tree", "--archive", &archive]).ok();
    for shown in [
        "title\\x1b]0;pwned\\x07",
        "two\\nlines\\r",
        "turned\\u{202e}txt.exe",
        "caf\\xe9",
    ] {
        assert!(tree.text().contains(shown), "{shown}: {}", tree.text());
    }
}

#[test]
fn a_name_that_is_no_utf8_stands_whole_beside_it() {
    use base64::Engine;
    let (place, archive) = hostile();
    let decode = |text: &serde_json::Value| {
        let text = text.as_str().expect("base64");
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .expect("base64")
    };
    for (command, key, folder) in [
        (&["tree"][..], "entries", &b"workspace/"[..]),
        (&["diff", "--base", "empty"], "files", b""),
    ] {
        let args = [command, &["--archive", &archive, "--json"]].concat();
        let document = place.run(&args).ok().json();
        let list = document[key].as_array().expect("a list");
        let names: Vec<Vec<u8>> = list
            .iter()
            .map(|entry| match entry.get("path_b64") {
                Some(whole) => decode(whole),
                None => entry["path"].as_str().expect("a path").as_bytes().to_vec(),
            })
            .collect();
        for name in HOSTILE {
            assert!(names.contains(&[folder, name].concat()), "{key}: {name:?}");
        }
        let odd = list
            .iter()
            .filter(|entry| entry.get("path_b64").is_some())
            .count();
        assert_eq!(odd, 2, "only where it is needed");
    }
}

#[test]
fn hostile_names_are_restored_as_they_were() {
    let (place, archive) = hostile();
    place
        .run(&["restore", "--archive", &archive, "out", "--absolute-links"])
        .ok();
    assert_eq!(
        names(&place.path("out/workspace")),
        names(&place.path("work"))
    );
    for name in HOSTILE {
        let path = [b"workspace/", name].concat();
        let args: [&OsStr; 4] = [
            "cat".as_ref(),
            "--archive".as_ref(),
            archive.as_ref(),
            OsStr::from_bytes(&path),
        ];
        assert_eq!(
            place.run(&args).ok().out,
            [name, b"\n"].concat(),
            "a pipe gets every byte"
        );
    }
}

/// A world whose rows mean harm; answers the id of one of its runs.
fn hostile_rows(place: &Place) -> String {
    std::fs::copy(&world().database, place.path("evil.sqlite")).expect("copied");
    let database = rusqlite::Connection::open(place.path("evil.sqlite")).expect("opened");
    let evil = "evil-run\x1b]0;pwned\x07\u{202e}";
    let name = r#"{"session_name": "title\u001b]0;pwned\u0007\n\u202e"}"#;
    let script = "UPDATE agno_sessions SET session_data = ?1";
    database.execute(script, [name]).expect("renamed");
    let script =
        "UPDATE agno_runs SET run_id = ?1, agent_id = ?1, status = 'ODD\x1b[2J' WHERE run_id = ?2";
    database
        .execute(script, [evil, id::NOTES2])
        .expect("renamed");
    database.close().expect("closed");
    evil.into()
}

#[test]
fn hostile_rows_are_shown_and_not_obeyed() {
    let place = Place::new();
    let evil = hostile_rows(&place);
    let store = world().store.to_str().expect("UTF-8");
    let options = ["--db", "evil.sqlite", "--store", store, "--color", "never"];
    for command in [
        &["runs"][..],
        &["agents"],
        &["show", &evil],
        &["runs", "--search", "pwned"],
    ] {
        let args = [command, &options].concat();
        let raw = on_terminal(&place, &args, &[]).replace("\r\n", "\n");
        assert_harmless(&raw);
        assert!(raw.contains("\\x1b]0;pwned"), "{command:?}: {raw}");
        assert_harmless(place.run(&args).ok().text());
    }
    let ran = place
        .run(&[&["verify", &evil][..], &options].concat())
        .exits(3);
    assert_harmless(ran.text());
    let ran = place.run(&[&["cat", &evil, "x"][..], &options].concat());
    assert_harmless(&ran.err);
    ran.refuses(3);
}
