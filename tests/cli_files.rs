//! What the commands bring out of an archive: its tree and files, what changed, patches, restored
//! directories and the stored bytes; and what `capture` puts in. Held against git where git can judge.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use common::{Place, assert_same, id, mask, names, sha256, tree, world};
use serde_json::{Value, json};

const README: &str = "workspace/repository/README.md";
const STORY: &str = "Hello World!\nEdited by the engineer\n";

fn world_json(args: &[&str]) -> Value {
    Place::new()
        .world(&[args, &["--json"]].concat())
        .ok()
        .json()
}

fn list<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document[key].as_array().expect("a list")
}

fn paths(document: &Value, key: &str) -> Vec<String> {
    let path = |entry: &Value| entry["path"].as_str().expect("a path").to_owned();
    list(document, key).iter().map(path).collect()
}

#[test]
fn tree_lists_entries() {
    let text = Place::new().world(&["tree", id::NOTES2]).ok();
    insta::assert_snapshot!(text.text());
    let below = Place::new()
        .world(&["tree", id::NOTES2, "workspace/notes/"])
        .ok();
    assert_eq!(
        below.text(),
        "d0755          0  workspace/notes/\n-0644        114  workspace/notes/release-0.3.md\n"
    );
}

#[test]
fn tree_knows_what_a_restore_leaves_out() {
    let text = Place::new()
        .world(&["tree", id::PANTRY5, "data/latest.csv"])
        .ok();
    let link = "workspace/repository/data/latest.csv -> /srv/pantry/exports/latest.csv";
    assert_eq!(
        text.text(),
        format!("l0777          0  {link}  (left out by a restore)\n")
    );
    let entry = &world_json(&["tree", id::PANTRY5, "data/latest.csv"])["entries"][0];
    let told = (
        &entry["type"],
        &entry["target"],
        &entry["size"],
        &entry["sha256"],
    );
    let target = json!("/srv/pantry/exports/latest.csv");
    assert_eq!(
        told,
        (&json!("symlink"), &target, &Value::Null, &Value::Null)
    );
}

#[test]
fn a_path_is_the_archives_or_the_repositorys() {
    let digest = sha256(STORY.as_bytes());
    for path in ["README.md", "./README.md", "repository/README.md", README] {
        let document = world_json(&["tree", id::STORY2, path]);
        let entry = &list(&document, "entries")[0];
        assert_eq!(entry["path"], README);
        assert_eq!(
            (&entry["mode"], &entry["size"]),
            (&json!("0644"), &json!(36))
        );
        assert_eq!(entry["mtime_ns"], 1_780_334_114_000_000_000_u64);
        assert_eq!(entry["sha256"], digest);
        let ran = Place::new().world(&["cat", id::STORY2, path]).ok();
        assert_eq!((ran.text(), &ran.err[..]), (STORY, ""));
    }
}

#[test]
fn cat_brings_any_bytes() {
    let place = Place::new();
    let entries = world_json(&["tree", id::PANTRY5]);
    for name in [
        "assets/logo.png",
        "docs/使い方 ガイド.md",
        ".git/index",
        "build/log.txt",
    ] {
        let path = format!("workspace/repository/{name}");
        let entry = list(&entries, "entries")
            .iter()
            .find(|entry| entry["path"] == path);
        let ran = place.world(&["cat", id::PANTRY5, &path]).ok();
        assert_eq!(sha256(&ran.out), entry.expect("listed")["sha256"], "{name}");
    }
    let document = world_json(&["cat", id::STORY2, "README.md"]);
    let told = (
        &document["content"],
        &document["size"],
        &document["truncated"],
    );
    assert_eq!(told, (&json!(STORY), &json!(36), &json!(false)));
    // What is not UTF-8 stands whole beside it.
    use base64::Engine;
    let document = world_json(&["cat", id::PANTRY5, "assets/logo.png"]);
    let whole = document["content_b64"].as_str().expect("base64");
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(whole)
        .expect("base64");
    assert_eq!(
        bytes,
        place
            .world(&["cat", id::PANTRY5, "assets/logo.png"])
            .ok()
            .out
    );
}

#[test]
fn a_path_that_is_no_file() {
    let place = Place::new();
    let cat = |path: &str| place.world(&["cat", id::PANTRY5, path]).refuses(2);
    assert_eq!(cat("nothing.txt"), "The checkpoint holds no nothing.txt");
    assert_eq!(cat("../README.md"), "The checkpoint holds no ../README.md");
    assert_eq!(cat("workspace"), "workspace is a directory");
    assert!(cat("data/latest.csv").ends_with(" is a link to /srv/pantry/exports/latest.csv"));
    let none = place.world(&["tree", id::PANTRY5, "nothing"]).refuses(2);
    assert_eq!(none, "The checkpoint holds no nothing");
}

#[test]
fn diff_shows_the_story() {
    let ran = Place::new().world(&["diff", id::STORY2]).ok();
    insta::assert_snapshot!(ran.text());
    assert_eq!(ran.err, "note: compared with pin 39cb69b\n");
    let pin = "39cb69b22c24c757455215137ee651775078ccbd";
    assert_eq!(
        world_json(&["diff", id::STORY2]),
        json!({
            "base": {"kind": "pin", "commit": pin}, "head": pin, "pin": pin,
            "files": [{"status": "modified", "path": "README.md", "old_path": null,
                "additions": 1, "deletions": 0, "binary": false}],
            "additions": 1, "deletions": 0, "ignored": 0,
            "commits": [], "stashes": [], "notices": [],
        })
    );
}

#[test]
fn diff_of_the_long_session() {
    let place = Place::new();
    let whole = place.world(&["diff", id::PANTRY5]).ok();
    let text = whole.text();
    assert!(text.contains("rename from src/pantry/report.py\nrename to src/pantry/summary.py\n"));
    assert!(text.contains("old mode 100644\nnew mode 100755\n"));
    let stat = place.world(&["diff", id::PANTRY5, "--stat"]).ok();
    insta::assert_snapshot!("diff_stat", stat.text());
    for base in ["pin", "head", "previous", "empty"] {
        let ran = place
            .world(&["diff", id::PANTRY5, "--base", base, "--name-status"])
            .ok();
        let both = format!("{}{}", ran.err, ran.text());
        insta::assert_snapshot!(format!("diff_{base}"), both);
    }
    // The default is the pin: the agent's commit hides nothing.
    assert_eq!(
        world_json(&["diff", id::PANTRY5]),
        world_json(&["diff", id::PANTRY5, "--base", "pin"])
    );
}

#[test]
fn diff_lists_what_the_index_hides() {
    let document = world_json(&["diff", id::PANTRY5, "--base", "head"]);
    assert!(paths(&document, "files").contains(&"config/settings.toml".into()));
    let notice = list(&document, "notices")
        .iter()
        .find(|n| n["path"] == "config/settings.toml");
    assert_eq!(notice.expect("a notice")["tag"], "index-flags");
    assert_eq!(document["ignored"], 7);
    let subject = "Add amounts in grams, call the report a summary";
    assert_eq!(document["commits"][0]["subject"], subject);
    assert_eq!(
        document["stashes"][0]["subject"],
        "On (no branch): pantry expired, half done"
    );
    let text = Place::new()
        .world(&["diff", id::PANTRY5, "--name-status"])
        .ok();
    assert!(
        text.err
            .contains("config/settings.toml: the index hides this change"),
        "{}",
        text.err
    );
    assert!(
        text.err.contains("7 ignored files are left out"),
        "{}",
        text.err
    );
}

#[test]
fn diff_against_another_run() {
    let other = world_json(&["diff", id::PANTRY5, "--base", id::PANTRY4]);
    let previous = world_json(&["diff", id::PANTRY5, "--base", "previous"]);
    assert_eq!(other["files"], previous["files"]);
    assert_eq!(other["base"]["run_id"], id::PANTRY4);
    let short = world_json(&["diff", id::PANTRY5, "--base", &id::PANTRY4[..8]]);
    assert_eq!(short, other);
    // Itself, and one that is not there.
    assert_eq!(
        world_json(&["diff", id::PANTRY5, "--base", id::PANTRY5])["files"],
        json!([])
    );
    let ran = Place::new()
        .world(&["diff", id::PANTRY5, "--base", "nobody", "--json"])
        .exits(3);
    assert_eq!(ran.error().1, "Run nobody does not exist");
}

#[test]
fn diff_works_without_a_repository() {
    let document = world_json(&["diff", id::NOTES2]);
    assert_eq!(document["base"]["kind"], "previous");
    assert_eq!(
        paths(&document, "files"),
        ["notes/release-0.3.md", "review.md"]
    );
    assert_eq!(
        (&document["head"], &document["pin"]),
        (&Value::Null, &Value::Null)
    );
    // Asked for, a base that is not there is no other base.
    for base in ["pin", "head"] {
        let ran = Place::new().world(&["diff", id::NOTES2, "--base", base, "--json"]);
        assert_ne!(ran.code, Some(0), "{base}: {}", ran.text());
        ran.error();
    }
}

#[test]
fn diff_of_some_paths() {
    let files = |paths: &[&str]| {
        let args = [&["diff", id::PANTRY5, "--json", "--"], paths].concat();
        self::paths(&Place::new().world(&args).ok().json(), "files")
    };
    let src = [
        "src/pantry/cli.py",
        "src/pantry/expiry.py",
        "src/pantry/shelf.py",
        "src/pantry/summary.py",
        "src/pantry/units.py",
    ];
    assert_eq!(files(&["src/pantry"]), src);
    assert_eq!(files(&["workspace/repository/src/"]), src);
    assert_eq!(files(&["./notes.txt"]), ["notes.txt"]);
    // The old name of a rename finds it too; a part of a name finds nothing.
    assert_eq!(files(&["src/pantry/report.py"]), ["src/pantry/summary.py"]);
    assert_eq!(files(&["src/pan"]), [""; 0]);
    for all in [".", "./", "workspace/repository"] {
        assert_eq!(files(&[all]), files(&[]), "{all}");
    }
    let text = Place::new().world(&["diff", id::PANTRY5, "notes.txt"]).ok();
    assert_eq!(text.text().matches("diff --git").count(), 1);
}

/// git as it comes, in `place`.
fn git(place: &Place, checkout: &str, args: &[&str]) -> String {
    let mut command = place.command("git");
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ] {
        command.env(name, value);
    }
    command.arg("-C").arg(place.path(checkout)).args(args);
    let output = command.output().expect("git is there");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {error}");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim_end()
        .to_owned()
}

/// The tree of what the checkout holds, whatever its index says.
fn content(place: &Place, checkout: &str) -> String {
    std::fs::remove_file(place.path(checkout).join(".git/index")).expect("removed");
    git(place, checkout, &["add", "--all"]);
    git(place, checkout, &["write-tree"])
}

fn restore(place: &Place, run: &str, to: &str) {
    place.world(&["restore", run, to, "--absolute-links"]).ok();
}

/// Applies the patch against `base` to the checkout `clean` and answers the tree that comes out.
fn patched(place: &Place, base: &str, clean: &str) -> String {
    place
        .world(&["patch", id::PANTRY5, "--base", base, "-o", "work.patch"])
        .ok();
    let patch = place.path("work.patch");
    let patch = patch.to_str().expect("UTF-8");
    git(place, clean, &["apply", "--binary", "--index", patch]);
    git(place, clean, &["write-tree"])
}

#[test]
fn a_patch_makes_the_same_content_again() {
    let place = Place::new();
    restore(&place, id::PANTRY5, "after");
    let after = content(&place, "after/workspace/repository");
    let pin = world_json(&["show", id::PANTRY5])["run"]["repository"]["commit"].clone();
    for (base, commit) in [("pin", pin.as_str().expect("a commit")), ("head", "HEAD")] {
        let place = Place::new();
        restore(&place, id::PANTRY5, "clean");
        let clean = "clean/workspace/repository";
        std::fs::remove_file(place.path(clean).join(".git/index")).expect("removed");
        git(&place, clean, &["reset", "--quiet", "--hard", commit]);
        git(&place, clean, &["clean", "--quiet", "-fdx"]);
        assert_eq!(git(&place, clean, &["status", "--short", "--ignored"]), "");
        assert_eq!(patched(&place, base, clean), after, "{base}");
    }
    let place = Place::new();
    restore(&place, id::PANTRY4, "clean");
    content(&place, "clean/workspace/repository");
    assert_eq!(
        patched(&place, "previous", "clean/workspace/repository"),
        after
    );
    let place = Place::new();
    std::fs::create_dir(place.path("new")).expect("made");
    git(&place, "new", &["init", "--quiet"]);
    assert_eq!(patched(&place, "empty", "new"), after);
}

#[test]
fn a_patch_to_a_file_or_a_pipe() {
    let place = Place::new();
    let piped = place.world(&["patch", id::STORY2]).ok();
    assert!(
        piped.text().ends_with("+Edited by the engineer\n"),
        "{}",
        piped.text()
    );
    let told = place
        .world(&["patch", id::STORY2, "-o", "a.patch", "--json"])
        .ok()
        .json();
    assert_eq!(
        std::fs::read(place.path("a.patch")).expect("written"),
        piped.out
    );
    let counts = (&told["bytes"], &told["files"], &told["base"]["kind"]);
    assert_eq!(counts, (&json!(piped.out.len()), &json!(1), &json!("pin")));
    let message = place
        .world(&["patch", id::STORY2, "-o", "a.patch"])
        .refuses(6);
    assert_eq!(message, "a.patch already exists");
    // An empty patch is a file too.
    place
        .world(&["patch", id::STORY1, "-o", "empty.patch"])
        .ok();
    assert_eq!(
        std::fs::read(place.path("empty.patch")).expect("written"),
        b""
    );
    let refused = place
        .world(&["patch", id::RUNNING, "-o", "no.patch"])
        .refuses(3);
    assert!(refused.contains("is RUNNING, not COMPLETED"), "{refused}");
    assert_eq!(names(&place.path("")), ["a.patch", "empty.patch"]);
}

#[test]
fn restore_writes_what_the_tree_lists() {
    let place = Place::new();
    let told = place
        .world(&["restore", id::PANTRY5, "out", "--json"])
        .ok()
        .json();
    let entries = world_json(&["tree", id::PANTRY5]);
    let skipped = [
        "workspace/repository/.venv/bin/python3",
        "workspace/repository/data/latest.csv",
    ];
    let (mut count, mut bytes) = (0, 0);
    for entry in list(&entries, "entries") {
        let path = entry["path"].as_str().expect("UTF-8");
        let there = place.path("out").join(path);
        if skipped.contains(&path) {
            assert!(there.symlink_metadata().is_err(), "{path}");
            continue;
        }
        let found = there.symlink_metadata().expect(path);
        count += 1;
        let time = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        assert_eq!(time.to_string(), entry["mtime_ns"].to_string(), "{path}");
        match entry["type"].as_str().expect("a type") {
            "symlink" => {
                let target = std::fs::read_link(&there).expect("a link");
                assert_eq!(target.to_str(), entry["target"].as_str());
                continue;
            }
            "dir" => assert!(found.is_dir(), "{path}"),
            "file" => {
                let content = std::fs::read(&there).expect("read");
                bytes += content.len();
                assert_eq!(sha256(&content), entry["sha256"], "{path}");
            }
            other => panic!("{path} is a {other}"),
        }
        assert_eq!(
            format!("{:04o}", found.mode() & 0o7777),
            entry["mode"],
            "{path}"
        );
    }
    assert_eq!(told["skipped_links"], json!(skipped));
    assert_eq!(
        (&told["entries"], &told["bytes"]),
        (&json!(count), &json!(bytes))
    );
    assert_eq!(told["state"]["binding"]["run_id"], id::PANTRY5);
    assert_eq!(
        (&told["run_id"], &told["destination"]),
        (&json!(id::PANTRY5), &json!("out"))
    );
    // Nothing more is there than what was counted, and nothing beside it.
    assert_eq!(tree(&place.path("out")).len(), count);
    assert_eq!(names(&place.path("")), ["out"]);
}

#[test]
fn restore_says_what_it_leaves_out() {
    let place = Place::new();
    let ran = place.world(&["restore", id::PANTRY5, "out"]).ok();
    insta::assert_snapshot!(mask(ran.text()));
    let told = place
        .world(&[
            "restore",
            id::PANTRY5,
            "links",
            "--absolute-links",
            "--json",
        ])
        .ok();
    assert_eq!(told.json()["skipped_links"], json!([]));
    let link = std::fs::read_link(place.path("links/workspace/repository/data/latest.csv"));
    assert_eq!(
        link.expect("a link"),
        Path::new("/srv/pantry/exports/latest.csv")
    );
}

#[test]
fn a_dry_run_tells_the_same_and_writes_nothing() {
    let place = Place::new();
    let mut plan = place
        .world(&["restore", id::PANTRY5, "out", "--dry-run", "--json"])
        .ok()
        .json();
    assert_eq!(names(&place.path("")), [""; 0]);
    let done = place
        .world(&["restore", id::PANTRY5, "out", "--json"])
        .ok()
        .json();
    assert_eq!(
        plan.as_object_mut().and_then(|plan| plan.remove("dry_run")),
        Some(json!(true))
    );
    assert_eq!(plan, done);
    let text = place
        .world(&["restore", id::PANTRY5, "two", "--dry-run"])
        .ok();
    assert!(
        text.text().starts_with("would restore to two: "),
        "{}",
        text.text()
    );
    assert_eq!(names(&place.path("")), ["out"]);
    place
        .world(&["restore", id::PANTRY5, "out", "--dry-run"])
        .refuses(6);
}

#[test]
fn restore_of_some_paths() {
    let place = Place::new();
    let only = [
        "--only",
        "src/pantry/cli.py",
        "--only",
        "workspace/repository/docs",
    ];
    let told = place.world(&[&["restore", id::PANTRY5, "out", "--json"][..], &only].concat());
    let told = told.ok().json();
    let found = tree(&place.path("out"));
    let files = found.iter().filter(|line| line.contains(" 100")).count();
    assert_eq!(files, 1 + 4, "{found:#?}");
    assert_eq!(names(&place.path("out")), ["workspace"]);
    assert_eq!(told["entries"], found.len());
    assert_eq!(
        told["skipped_links"],
        json!([]),
        "none of them was asked for"
    );
    let message = place
        .world(&["restore", id::PANTRY5, "none", "--only", "nothing"])
        .refuses(2);
    assert_eq!(message, "The checkpoint holds no nothing");
    assert_eq!(names(&place.path("")), ["out"]);
}

#[test]
fn fetch_brings_the_stored_bytes() {
    let place = Place::new();
    let object = std::fs::read(world().object(id::STORY2)).expect("the object");
    let told = place
        .world(&["fetch", id::STORY2, "kept", "--json"])
        .ok()
        .json();
    assert_eq!(std::fs::read(place.path("kept")).expect("written"), object);
    let reference = json!({"sha256": sha256(&object), "size": object.len()});
    assert_eq!(
        told,
        json!({"run_id": id::STORY2, "file": "kept", "checkpoint": reference})
    );
    let ran = place.world(&["fetch", id::STORY2, "kept"]).exits(6);
    assert_eq!(ran.hint(), "name a file that does not exist");
    let message = ran.message();
    assert_eq!(message, "kept already exists");
    for (run, code) in [(id::CORRUPTED, 5), (id::PRUNED, 4), (id::RUNNING, 3)] {
        place.world(&["fetch", run, "no"]).refuses(code);
    }
    place
        .world(&["fetch", id::STORY2, "nowhere/kept"])
        .refuses(1);
    assert_eq!(names(&place.path("")), ["kept"]);
}

#[test]
fn a_destination_that_is_no_utf8_stands_whole_beside_it() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = OsStr::from_bytes(b"caf\xe9");
    for (command, key) in [
        (&["restore", id::STORY2][..], "destination"),
        (&["fetch", id::STORY2], "file"),
        (&["patch", id::STORY2, "-o"], "file"),
    ] {
        let mut ran = place.on_world(command);
        ran.arg(name).arg("--json");
        let told = place.finish(ran).ok().json();
        assert!(place.path("").join(name).exists(), "{command:?}");
        let gone = place.command("rm").arg("-r").arg(name).status();
        assert!(gone.expect("started").success());
        assert_eq!(told[key], "caf\u{fffd}", "{command:?}");
        assert_eq!(told[format!("{key}_b64")], "Y2Fm6Q==", "{command:?}");
    }
}

#[test]
fn a_bare_archive_stands_for_a_run() {
    let place = Place::new();
    place.world(&["fetch", id::PANTRY5, "kept.tar.gz"]).ok();
    let bare = |args: &[&str]| {
        let args = [&args[..1], &["--archive", "kept.tar.gz"], &args[1..]].concat();
        place.run(&args).ok()
    };
    let tree = |ran: common::Ran| ran.json()["entries"].clone();
    assert_eq!(
        tree(bare(&["tree", "--json"])),
        world_json(&["tree", id::PANTRY5])["entries"]
    );
    let cat = bare(&["cat", "notes.txt"]);
    assert_eq!(
        cat.out,
        place.world(&["cat", id::PANTRY5, "notes.txt"]).ok().out
    );
    let head = bare(&["diff", "--base", "head", "--json"]).json();
    let files = &world_json(&["diff", id::PANTRY5, "--base", "head"])["files"];
    assert_eq!(&head["files"], files);
    let patch = bare(&["patch", "--base", "head"]);
    assert_eq!(
        patch.out,
        place
            .world(&["patch", id::PANTRY5, "--base", "head"])
            .ok()
            .out
    );
    let verified = bare(&["verify", "--json"]).json();
    assert_eq!(
        (
            &verified["results"][0]["run_id"],
            &verified["results"][0]["ok"]
        ),
        (&Value::Null, &json!(true))
    );
    bare(&["restore", "out"]);
    place.world(&["restore", id::PANTRY5, "same"]).ok();
    assert_same(&place.path("out"), &place.path("same"));
    // Agno's limits.
    for (limit, few) in [
        ("--max-entries", "5"),
        ("--max-bytes", "5000"),
        ("--max-manifest-bytes", "5"),
    ] {
        let ran = place
            .run(&["verify", "--archive", "kept.tar.gz", limit, few])
            .exits(5);
        assert!(ran.text().starts_with("✖ "), "{limit}: {}", ran.text());
    }
}

/// Two roots with something of every kind.
fn roots(place: &Place) {
    for folder in ["work/empty", "work/deep/er", "home/codex", "home/.claude"] {
        std::fs::create_dir_all(place.path(folder)).expect("made");
    }
    for (name, content, mode) in [
        ("work/a.txt", &b"text\n"[..], 0o644),
        ("work/deep/er/run.sh", b"#!/bin/sh\n", 0o755),
        ("work/nothing", b"", 0o600),
        ("work/zwölf 十二", b"\x00\xff", 0o444),
        ("home/codex/auth.json", b"secret", 0o600),
        ("home/.claude/.credentials.json", b"secret", 0o600),
        ("home/.claude/settings.json", b"{}", 0o644),
    ] {
        let path = place.path(name);
        std::fs::write(&path, content).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("set");
    }
    symlink("a.txt", place.path("work/link")).expect("made");
    let mut left = vec![place.path("work"), place.path("home")];
    while let Some(path) = left.pop() {
        set_time(&path);
        if path.symlink_metadata().expect("there").is_dir() {
            let inside = std::fs::read_dir(&path).expect("listed");
            left.extend(inside.map(|entry| entry.expect("an entry").path()));
        }
    }
}

/// A time that an archive keeps exactly: it has them as Agno does, as binary fractions of seconds.
fn set_time(path: &Path) {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
    let time = Timespec {
        tv_sec: 1_780_272_000,
        tv_nsec: 250_000_000,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("set");
}

fn capture(place: &Place, more: &[&str]) -> Value {
    let args = [
        "capture",
        "--workspace",
        "work",
        "--native",
        "home",
        "--store",
        "store",
        "--json",
    ];
    place.run(&[&args, more].concat()).ok().json()
}

#[test]
fn what_is_captured_verifies_and_restores() {
    let place = Place::new();
    roots(&place);
    let state = r#"{"run_id": "x", "numbers": [1.5, 12345678901234567890]}"#;
    let reference = capture(&place, &["--state", state]);
    let object = place
        .path("store")
        .join(reference["sha256"].as_str().expect("a digest"));
    let bytes = std::fs::read(&object).expect("stored");
    assert_eq!(
        reference,
        json!({"sha256": sha256(&bytes), "size": bytes.len()})
    );
    assert_eq!(object.metadata().expect("there").mode() & 0o7777, 0o400);
    let archive = object.to_str().expect("UTF-8");
    let verified = place
        .run(&["verify", "--archive", archive, "--json"])
        .ok()
        .json();
    let told: Value = serde_json::from_str(state).expect("JSON");
    assert_eq!(verified["results"][0]["state"], told);
    place.run(&["restore", "--archive", archive, "out"]).ok();
    assert_same(&place.path("out/workspace"), &place.path("work"));
    // Credentials stay where they were; all else of the home is there.
    let kept = |line: &String| !line.contains("auth.json") && !line.contains(".credentials.json");
    let home: Vec<_> = tree(&place.path("home")).into_iter().filter(kept).collect();
    assert_eq!(tree(&place.path("out/native")), home);
}

#[test]
fn captures_are_reproducible_and_stored_once() {
    let place = Place::new();
    roots(&place);
    let first = capture(&place, &[]);
    assert_eq!(capture(&place, &[]), first);
    assert_eq!(names(&place.path("store")).len(), 1);
    let plain = capture(&place, &["--plain"]);
    assert_ne!(plain, first);
    let digest = plain["sha256"].as_str().expect("a digest");
    let bytes = std::fs::read(place.path("store").join(digest)).expect("stored");
    assert_eq!(&bytes[257..262], b"ustar", "uncompressed");
    let text = [
        "capture",
        "--workspace",
        "work",
        "--native",
        "home",
        "--store",
        "store",
    ];
    let text = place.run(&text).ok();
    let size = &first["size"];
    assert_eq!(
        text.text(),
        format!("{} {size}\n", first["sha256"].as_str().expect("a digest"))
    );
}

#[test]
fn a_capture_leaves_out_what_it_is_told() {
    let place = Place::new();
    roots(&place);
    let reference = capture(
        &place,
        &["--exclude", "workspace/deep", "--exclude", "native/.claude"],
    );
    let archive = place
        .path("store")
        .join(reference["sha256"].as_str().expect("a digest"));
    let archive = archive.to_str().expect("UTF-8");
    let listed = paths(
        &place
            .run(&["tree", "--archive", archive, "--json"])
            .ok()
            .json(),
        "entries",
    );
    assert!(listed.contains(&"workspace/a.txt".into()));
    let gone = |path: &String| !path.starts_with("workspace/deep") && !path.contains(".claude");
    assert!(listed.iter().all(gone), "{listed:?}");
}

#[test]
fn a_capture_that_cannot_be() {
    let place = Place::new();
    roots(&place);
    let capture = |workspace: &str, more: &[&str]| {
        let args = [
            "capture",
            "--workspace",
            workspace,
            "--native",
            "home",
            "--store",
            "store",
        ];
        place.run(&[&args, more].concat())
    };
    capture("work", &["--state", "{"]).refuses(2);
    let missing = capture("nowhere", &[]);
    assert_ne!(missing.code, Some(0));
    missing.message();
    let fifo = Command::new("mkfifo").arg(place.path("work/fifo")).status();
    assert!(fifo.expect("started").success());
    let special = capture("work", &[]).refuses(5);
    assert!(special.contains("fifo"), "{special}");
    let stored = if place.path("store").exists() {
        names(&place.path("store"))
    } else {
        Vec::new()
    };
    assert_eq!(stored, [""; 0]);
}
