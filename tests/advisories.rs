//! What went wrong in other programs that read what strangers wrote, advisory by advisory: each is tried
//! on the binary, beside a canary that nothing may touch.
//!
//! Where an advisory is about more than an archive, its test stands elsewhere: RUSTSEC-2024-0013 (memory
//! corruption in libgit2) in `confinement.rs`, tig #1432 (a name in the editor's command line) in
//! `acting.rs`, btop #1846, htop GHSA-q64m and procs #950 (one field that was not made safe) in
//! `hostile_text.rs`, a checkpoint that spoils all before it in `faults.rs`.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use common::tar::{Member, archive, extension, file, folder, link, member, pax};
use common::{Place, names};

/// A place with an archive and something beside the destination that must stay as it is.
struct Scene {
    place: Place,
    before: Vec<String>,
}

impl Scene {
    fn new(members: &[Member]) -> Self {
        let place = Place::new();
        common::tar::write(&place.path("archive"), members);
        fs::create_dir(place.path("parent")).expect("made");
        fs::create_dir(place.path("parent/canary")).expect("made");
        fs::write(place.path("parent/canary/file"), "not yours\n").expect("written");
        fs::write(place.path("parent/file"), "nor this\n").expect("written");
        symlink("canary", place.path("parent/link")).expect("made");
        let mut scene = Self {
            place,
            before: Vec::new(),
        };
        scene.before = scene.canary();
        scene
    }

    /// Bytes, modes, owners and times of what stands beside the destination.
    fn canary(&self) -> Vec<String> {
        let all = ["canary", "canary/file", "file", "link"];
        let told = all.map(|name| {
            let path = self.place.path("parent").join(name);
            let entry = fs::symlink_metadata(&path).expect("there");
            let content = fs::read(&path).unwrap_or_default();
            let owner = (entry.mode(), entry.uid(), entry.gid(), entry.nlink());
            let times = (
                entry.mtime(),
                entry.mtime_nsec(),
                entry.ctime(),
                entry.ctime_nsec(),
            );
            format!("{name} {owner:?} {times:?} {content:?}")
        });
        told.to_vec()
    }

    fn destination(&self) -> PathBuf {
        self.place.path("parent/out")
    }

    /// Restores, with absolute links and without. What it says where it refuses; else what is there.
    fn restore(&self) -> Result<Vec<String>, String> {
        let mut answer = Ok(Vec::new());
        for absolute in [&["--absolute-links"][..], &[]] {
            let args = ["restore", "--archive", "archive", "parent/out"];
            let ran = self.place.run(&[&args[..], absolute].concat());
            assert_eq!(self.canary(), self.before, "{}", ran.err);
            answer = if ran.code == Some(0) {
                let tree = common::tree(&self.destination());
                fs::remove_dir_all(self.destination()).expect("removed");
                Ok(tree)
            } else {
                Err(ran.refuses(5))
            };
            assert_eq!(
                names(&self.place.path("parent")),
                ["canary", "file", "link"]
            );
        }
        answer
    }
}

#[track_caller]
fn refused(members: &[Member], why: &str) {
    let said = Scene::new(members).restore().expect_err("it restores");
    assert!(said.contains(why), "{said}");
}

#[track_caller]
fn restores(members: &[Member]) -> Vec<String> {
    Scene::new(members).restore().expect("it is refused")
}

/// CVE-2025-62518, CVE-2026-33055, RUSTSEC-2026-0112 and -0145: the stream went on by one size, the
/// content by another, so that a tar in the tar became members. Agno reads such an archive by the pax
/// header, and so it is read here: its rules hold for what is in there, and it is said to be ambiguous.
#[test]
fn sizes_that_disagree_are_told() {
    let up = archive(&[
        file(b"workspace/smuggled", b"x"),
        link(b"workspace/up", b"../.."),
    ]);
    let inner = archive(&[file(b"workspace/smuggled", b"x")]);
    let length = inner.len().to_string();
    let says = [("size", length.as_bytes())];
    let global = |size: &[u8]| extension(b'g', &common::tar::record("size", size));
    for (what, members) in [
        (
            "pax none",
            vec![pax(&[("size", b"0")]), file(b"workspace/f", &inner)],
        ),
        (
            "header none",
            vec![pax(&says), file(b"workspace/f", &inner).says(0)],
        ),
        (
            "pax less",
            vec![pax(&[("size", b"512")]), file(b"workspace/f", &inner)],
        ),
        (
            "header less",
            vec![pax(&says), file(b"workspace/f", &inner).says(512)],
        ),
        (
            "two",
            vec![
                pax(&[("size", b"0"), ("size", length.as_bytes())]),
                file(b"workspace/f", &inner).says(0),
            ],
        ),
        ("global", vec![global(b"0"), file(b"workspace/f", &inner)]),
        (
            "garbage",
            vec![pax(&[("size", b"many")]), file(b"workspace/f", &inner)],
        ),
    ] {
        let scene = Scene::new(&members);
        let verified = scene
            .place
            .run(&["verify", "--archive", "archive", "--json"]);
        let told = &verified.json()["results"][0]["ambiguous"];
        match scene.restore() {
            Ok(tree) => {
                assert!(told[0]["why"].is_string(), "{what} says nothing: {tree:?}");
                let words = [
                    "restore",
                    "--archive",
                    "archive",
                    "plan",
                    "--dry-run",
                    "--json",
                ];
                let planned = scene.place.run(&words).ok().json();
                assert_eq!(&planned["ambiguous"], told, "{what}");
            }
            Err(said) => assert!(
                said.contains("nvalid")
                    || said.contains("framing")
                    || said.contains("end-of-archive"),
                "{what}: {said}"
            ),
        }
    }
    refused(
        &[pax(&[("size", b"0")]), file(b"workspace/f", &up)],
        "escapes",
    );
    let honest = restores(&[pax(&says), file(b"workspace/f", &inner)]);
    assert_eq!(honest.len(), 3, "{honest:?}");
}

/// CVE-2026-32766: a malformed pax header was skipped in silence, and with it the name it gave.
#[test]
fn a_malformed_pax_header_is_an_error() {
    for payload in [
        &b"x path=workspace/f\n"[..],
        b"-5 path=workspace/f\n",
        b"99999999999999999999 path=workspace/f\n",
        b"19 path=workspace/f\n12 atime=x",
        b"\xff\xff\xff\xff",
        b"12 path\n",
    ] {
        refused(
            &[extension(b'x', payload), file(b"workspace/plain", b"x")],
            "nvalid",
        );
    }
    // A record of length zero ends the archive for Agno; that is followed, and not in silence.
    let scene = Scene::new(&[
        extension(b'x', b"0 path=workspace/f\n"),
        file(b"workspace/plain", b"x"),
    ]);
    let restored = scene
        .place
        .run(&["restore", "--archive", "archive", "parent/out"])
        .ok();
    assert!(
        restored
            .err
            .contains("may read this archive otherwise than Agno"),
        "{}",
        restored.err
    );
}

/// CVE-2026-33056, CVE-2025-29787, CVE-2026-44471, CVE-2026-46703: a mode was set, or a file written,
/// through a link that came earlier.
#[test]
fn a_link_and_what_takes_its_name_in_both_orders() {
    for mode in [0, 0o555, 0o755, 0o777, 0o4777] {
        for target in [&b"../../canary"[..], b"/tmp", b"hello", b"."] {
            let [why, below_why] = if target.starts_with(b"..") {
                ["escapes"; 2]
            } else {
                ["Duplicate", "parent"]
            };
            let way = link(b"workspace/way", target);
            for other in [
                folder(b"workspace/way").mode(mode),
                file(b"workspace/way", b"x").mode(mode),
            ] {
                refused(&[way.clone(), other.clone()], why);
                refused(&[other, way.clone()], "Duplicate");
            }
            let below = file(b"workspace/way/f", b"x").mode(mode);
            refused(&[way.clone(), below.clone()], below_why);
            refused(&[below, way], below_why);
        }
    }
}

/// CVE-2026-5223: a link led one level above the destination.
#[test]
fn a_link_one_level_above_is_refused() {
    for target in [
        &b".."[..],
        b"../",
        b"../..",
        b"./..",
        b"../../parent/canary",
        b"../native",
        b"a/../..",
    ] {
        refused(
            &[folder(b"workspace/a"), link(b"workspace/up", target)],
            "link",
        );
    }
}

/// CVE-2025-4517, CVE-2025-4330, CVE-2026-11940, CVE-2026-7774: overlong paths, chains of links, links
/// checked at another depth than they are made at, empty targets.
#[test]
fn links_lead_nowhere_at_any_length_or_depth() {
    // A path that grows past what the kernel takes, so that realpath gives up, and then a way up.
    let mut members = Vec::new();
    let mut path = b"workspace".to_vec();
    for letter in b'a'..=b'p' {
        let long = link(&[b"workspace/", &[letter][..]].concat(), &b"d".repeat(90));
        path = [&path[..], b"/", &[b'd'; 247]].concat();
        members.extend([pax(&[("path", &path)]), folder(b"workspace/d"), long]);
    }
    let target = [&b"a/b/".repeat(1100)[..], &b"../".repeat(2202), b"x"].concat();
    members.extend([
        pax(&[("linkpath", &target)]),
        link(b"workspace/escape", b"x"),
    ]);
    refused(&members, "escapes");
    members.truncate(members.len() - 2);
    let target = [&b"a/b/".repeat(1100)[..], &b"../".repeat(2200), b"x"].concat();
    members.extend([
        pax(&[("linkpath", &target)]),
        link(b"workspace/escape", b"x"),
    ]);
    refused(&members, "too long");

    let hop = |name: &str, target: &str| link(name.as_bytes(), target.as_bytes());
    let deep = folder(b"workspace/a");
    let deeper = folder(b"workspace/a/b");
    refused(
        &[
            deep.clone(),
            deeper,
            hop("workspace/a/b/up", ".."),
            hop("workspace/out", "a/b/up/../../x"),
        ],
        "link",
    );
    refused(
        &[
            deep,
            hop("workspace/here", "."),
            hop("workspace/a/out", "../here/../.."),
        ],
        "link",
    );
    refused(
        &[hop("workspace/one", "two"), hop("workspace/two", "one")],
        "link",
    );
    let chain: Vec<_> = (0..60)
        .map(|n| hop(&format!("workspace/{n}"), &format!("{}", n + 1)))
        .collect();
    refused(
        &[&chain[..], &[file(b"workspace/60", b"x")]].concat(),
        "link",
    );
    refused(&[hop("workspace/empty", "")], "");
    refused(
        &[member(b'1', b"workspace/hard", b"../../canary/file", b"")],
        "",
    );
    refused(
        &[
            member(b'1', b"workspace/hard", b"workspace/f", b""),
            file(b"workspace/f", b"x"),
        ],
        "",
    );
}

/// CVE-2026-23950: names that a file system takes for one were checked as two. Here they are two files,
/// or, where the disk takes them for one, a refusal that leaves nothing.
#[test]
fn names_that_some_disks_take_for_one() {
    for (one, two) in [
        ("Readme", "README"),
        ("stra\u{df}e", "strasse"),
        ("caf\u{e9}", "cafe\u{301}"),
        ("\u{212a}elvin", "kelvin"),
        ("fi", "\u{fb01}"),
    ] {
        let at = |name: &str| format!("workspace/{name}").into_bytes();
        let scene = Scene::new(&[link(&at(one), b"../native"), file(&at(two), b"x")]);
        scene.restore().expect_err("a link to the other root");
        let scene = Scene::new(&[folder(&at(one)), file(&at(two), b"x")]);
        match scene.restore() {
            Ok(tree) => assert_eq!(tree.len(), 4, "{tree:?}"),
            Err(said) => assert!(said.contains("exists"), "{said}"),
        }
    }
}

/// CVE-2025-48384: the last character of a name was lost, and with it what was checked.
#[test]
fn names_keep_their_last_character() {
    for last in ["\r", " ", ".", "\n", "\t", "\u{a0}"] {
        let name = format!("workspace/name{last}");
        let scene = Scene::new(&[file(name.as_bytes(), b"x"), file(b"workspace/name", b"y")]);
        scene.restore().expect("restored");
        let args = ["restore", "--archive", "archive", "parent/out"];
        scene.place.run(&args).ok();
        let workspace = scene.destination().join("workspace");
        assert_eq!(
            fs::read(workspace.join(&name["workspace/".len()..])).expect("there"),
            b"x"
        );
        assert_eq!(fs::read(workspace.join("name")).expect("there"), b"y");
    }
}

/// CVE-2024-41178 and CVE-2025-58160: a secret in the log, and escape sequences in it.
#[test]
fn the_log_tells_no_secret_and_holds_no_escape() {
    let place = Place::new();
    let secret = "hunter2-Zx";
    let url = format!("postgresql://agno:{secret}@127.0.0.1:1/agno?sslmode=disable");
    for args in [
        &["--db", &url, "--store", "store", "runs", "-vvv"][..],
        &[
            "--db",
            &url,
            "--store",
            "store",
            "show",
            "evil\x1b]0;title\x07\x1b[31m\u{9b}2J",
            "-vvv",
        ],
        &["--db", &url, "config", "-vvv"],
        &["--db", &url, "doctor", "-vvv"],
    ] {
        let ran = place.run(args);
        for text in [&ran.err, &String::from_utf8_lossy(&ran.out).into_owned()] {
            assert!(!text.contains(secret), "{args:?}: {text}");
            let raw = text
                .chars()
                .find(|letter| letter.is_control() && *letter != '\n' && *letter != '\t');
            assert_eq!(raw, None, "{args:?}: {text:?}");
        }
        assert!(!ran.err.is_empty() || !ran.out.is_empty());
    }
}
