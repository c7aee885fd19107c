//! Checkouts that an agent made to run a command, to read what is outside, to hide a change or to use up
//! the machine: what a diff from HEAD shows of each. After every one no trap has gone off and nothing
//! outside was read.

mod common;
#[path = "hostile_checkouts/git.rs"]
mod git;
#[path = "hostile_checkouts/interface.rs"]
mod interface;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use git::{Checkout, Id, MARKER, Pack, Staged, deflate, hex, id_of, varint};

/// A checkout whose `src/app.py` is held by a pack alone, under the id answered.
fn packed() -> (Checkout, Id) {
    let checkout = Checkout::new();
    let id = checkout.blob("src/app.py");
    checkout.remove(&id);
    (checkout, id)
}

#[test]
fn an_ordinary_checkout_has_nothing_to_tell() {
    let seen = Checkout::new().diff();
    seen.lists(&[]).tells(&[]);
    assert_eq!(seen.json["ignored"], 1);
    assert_eq!(
        (&seen.json["additions"], &seen.json["deletions"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn commands_that_git_would_run_do_not_run() {
    let checkout = Checkout::new();
    let trap = |name: &str| checkout.trap(name);
    checkout.config(&format!(
        "\tfsmonitor = {}\n\tsshCommand = {}\n\tpager = {}\n\thooksPath = .git/hooks\n",
        trap("fsmonitor"),
        trap("ssh"),
        trap("pager")
    ));
    checkout.config(&format!("[diff]\n\texternal = {}\n", trap("external")));
    checkout.config(&format!(
        "[diff \"d\"]\n\ttextconv = {}\n",
        trap("textconv")
    ));
    checkout.config(&format!("\tcommand = {}\n", trap("driver")));
    checkout.config(&format!("[filter \"f\"]\n\tclean = {}\n", trap("clean")));
    checkout.config(&format!("\tsmudge = {}\n\trequired\n", trap("smudge")));
    checkout.config(&format!(
        "[filter \"p\"]\n\tprocess = {}\n",
        trap("process")
    ));
    checkout.file(".gitattributes", b"*.py filter=f diff=d\n*.txt filter=p\n");
    for hook in ["post-index-change", "fsmonitor-watchman", "pre-commit"] {
        checkout.git_file(
            &format!("hooks/{hook}"),
            format!("#!/bin/sh\n{}\n", trap(hook)),
        );
        let path = checkout.git(&format!("hooks/{hook}"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("set");
    }
    let seen = checkout.diff();
    seen.lists(&["untracked .gitattributes"]);
    seen.tells(&["config-runs", "filter", "hook"]);
    // The patch is made in the worker and runs nothing either.
    let patch = checkout.ask(&["patch", "--base", "head"]).ok();
    assert!(
        patch.text().contains("\n-print(1)\n+print(2)\n"),
        "{}",
        patch.text()
    );
}

#[test]
fn filters_that_no_diff_shows_are_told() {
    let checkout = Checkout::new();
    checkout.config(&format!(
        "[filter \"f\"]\n\tclean = {}\n",
        checkout.trap("clean")
    ));
    checkout.git_file("info/attributes", "*.py filter=f\n");
    let seen = checkout.diff();
    seen.lists(&[])
        .tells(&["config-runs", "filter", "info-attributes"]);
}

#[test]
fn includes_and_settings_lead_nowhere() {
    let checkout = Checkout::new();
    let evil = format!(
        "[core]\n\tfsmonitor = {}\n# {MARKER}\n",
        checkout.trap("include")
    );
    let included = checkout.outside("config", evil);
    let excludes = checkout.outside("excludes", format!("*.txt\n# {MARKER}\n"));
    checkout.config(&format!(
        "\tworktree = {}\n\texcludesFile = {}\n[include]\n\tpath = {}\n",
        checkout.place.path("outside").display(),
        excludes.display(),
        included.display()
    ));
    checkout.diff().lists(&[]).tells(&["config-leads"]);
}

#[test]
fn a_partial_clone_asks_nobody() {
    let (checkout, id) = packed();
    let upload = checkout.trap("upload-pack");
    checkout.config(&format!(
        "[remote \"origin\"]\n\turl = ../../../outside\n\tpromisor = true\n\tuploadpack = {upload}\n"
    ));
    let seen = checkout.diff();
    seen.lists(&[]).tells(&["missing-object", "promisor"]);
    let gone = format!("its old content {} is not in the archive", hex(&id));
    assert_eq!(seen.notice("missing-object"), gone);
}

#[test]
fn objects_of_another_folder_are_not_borrowed() {
    let checkout = Checkout::new();
    // All that HEAD needs lies outside.
    let objects = checkout.git("objects");
    let store = checkout.place.path("outside/objects");
    std::fs::rename(&objects, &store).expect("moved");
    checkout.git_file("objects/info/alternates", format!("{}\n", store.display()));
    std::fs::create_dir(checkout.git("objects/pack")).expect("made");
    let head = std::fs::read_to_string(checkout.git("HEAD")).expect("read");
    let why = checkout.refusal();
    assert!(
        why.contains(head.trim()) && why.contains("not in the archive"),
        "{why}"
    );
    // Where everything is there, it is only told.
    let checkout = Checkout::new();
    checkout.git_file("objects/info/alternates", "/nowhere/objects\n");
    checkout.git_file("commondir", "../../../outside\n");
    checkout
        .diff()
        .lists(&[])
        .tells(&["alternates", "commondir"]);
}

#[test]
fn a_git_folder_elsewhere_is_not_followed() {
    for inside in [false, true] {
        let checkout = Checkout::new();
        let to = if inside {
            "workspace/git"
        } else {
            "outside/git"
        };
        let to = checkout.place.path(to);
        std::fs::rename(checkout.git(""), &to).expect("moved");
        let target = if inside {
            "../git".to_owned()
        } else {
            to.display().to_string()
        };
        checkout.file(".git", format!("gitdir: {target}\n").as_bytes());
        assert_eq!(
            checkout.refusal(),
            "This run's .git is a file, which leads elsewhere"
        );
        let plain = checkout.ask(&["diff", "--base", "empty", "--json"]).ok();
        let plain = git::Seen { json: plain.json() };
        plain.tells(&["embedded-repository", "gitfile"]);
        if inside {
            std::fs::remove_file(checkout.repository().join(".git")).expect("removed");
            checkout.link("../git", ".git");
            let plain = checkout.ask(&["diff", "--base", "empty", "--json"]).ok();
            git::Seen { json: plain.json() }.tells(&["embedded-repository", "git-symlink"]);
        }
    }
}

#[test]
fn parts_of_git_that_are_links_are_not_followed() {
    let checkout = Checkout::new();
    std::fs::rename(checkout.git("HEAD"), checkout.place.path("workspace/head")).expect("moved");
    checkout.link("../../head", ".git/HEAD");
    let why = checkout.refusal();
    assert_eq!(
        why,
        "HEAD cannot be followed: HEAD is a link to what is no ref"
    );
}

#[test]
fn a_ref_that_is_a_link_means_the_ref_it_names() {
    let mut checkout = Checkout::new();
    let head = hex(&checkout.commit()) + "\n";
    checkout.git_file("refs/heads/real", &head);
    checkout.link("real", ".git/refs/heads/main");
    checkout.git_file("HEAD", "ref: refs/heads/main\n");
    checkout.diff().lists(&[]).tells(&[]);
    std::fs::remove_file(checkout.git("HEAD")).expect("removed");
    checkout.link("refs/heads/main", ".git/HEAD");
    checkout.diff().lists(&[]).tells(&[]);
    // One that leads elsewhere is no branch without a commit, on which all would be new.
    std::fs::remove_file(checkout.git("refs/heads/main")).expect("removed");
    checkout.link("../../../README.md", ".git/refs/heads/main");
    let why = checkout.refusal();
    assert!(
        why.ends_with("refs/heads/main is a link to what is no ref"),
        "{why}"
    );
    // A ring of refs ends; one of links cannot be captured.
    std::fs::remove_file(checkout.git("refs/heads/main")).expect("removed");
    checkout.git_file("refs/heads/real", "ref: refs/heads/main\n");
    checkout.git_file("refs/heads/main", "ref: refs/heads/real\n");
    assert!(checkout.refusal().contains("lead on and on"));
}

#[test]
fn a_head_that_moved_is_told() {
    let mut checkout = Checkout::new();
    let id = checkout.object("blob", b"print(2)\n");
    checkout.hold("src/app.py", 0o100_644, id);
    let id = checkout.object("blob", b"a note\n");
    checkout.hold("notes.txt", 0o100_644, id);
    let head = hex(&checkout.commit());
    let seen = checkout.diff();
    assert_eq!(seen.files(), [""; 0]);
    let message = seen.notice("head-id");
    assert!(
        message.contains(&head[..12]) && message.contains("not known"),
        "{message}"
    );
    let pin = "1234567890".repeat(4);
    let binding = format!(
        "{{\"url\":\"https://example.invalid/x\",\"branch\":\"main\",\"commit\":\"{pin}\"}}"
    );
    std::fs::write(checkout.place.path("home/repository.json"), binding).expect("written");
    let message = checkout.diff().notice("head-id");
    assert!(
        message.contains("not the commit that the run started from"),
        "{message}"
    );
}

#[test]
fn rules_that_came_with_the_run_are_told() {
    let checkout = Checkout::new();
    checkout.git_file("info/exclude", "/.agno/\n*.sneaky\n");
    checkout.file(".gitignore", b"*.log\n/payload/\n");
    checkout.file("x.sneaky", b"x\n");
    checkout.file("payload/run.sh", b"x\n");
    checkout.file("payload/more.sh", b"x\n");
    checkout.file(".agno/state.json", b"{}\n");
    let seen = checkout.diff();
    seen.lists(&["modified .gitignore"])
        .tells(&["ignored-files", "info-exclude"]);
    let message = seen.notice("ignored-files");
    assert!(message.starts_with("4 paths are left out"), "{message}");
    assert!(
        message.ends_with("1 by .git/info/exclude, 3 by .gitignore"),
        "{message}"
    );
}

#[test]
fn an_index_that_lies_hides_nothing() {
    let checkout = Checkout::new();
    checkout.file("src/payload.py", b"payload\n");
    checkout.git_file("../src/.git/HEAD", "ref: refs/heads/main\n");
    let planted = checkout.object("blob", b"planted\n");
    let mut staged = checkout.staged();
    staged.retain(|entry| !entry.path.starts_with(b"src/"));
    staged.push(Staged::new("src", 0o160_000, [7; 20]));
    checkout.index(&staged, b"");
    let seen = checkout.diff();
    seen.lists(&["untracked src/payload.py"])
        .tells(&["bad-index-entry", "submodule"]);

    let checkout = Checkout::new();
    let mut staged = checkout.staged();
    staged.push(Staged::new("src", 0o100_644, planted));
    staged.push(Staged::new("README.md/inner", 0o100_644, planted));
    staged.sort_by(|a, b| a.path.cmp(&b.path));
    checkout.index(&staged, b"");
    let seen = checkout.diff();
    seen.lists(&[]).tells(&["bad-index-entry"]);
    assert!(seen.notice("bad-index-entry").starts_with("2 entries"));

    let checkout = Checkout::new();
    let mut staged = checkout.staged();
    for bad in [
        "../../../outside/secret.txt",
        "/etc/passwd",
        ".git/config",
        "a//b",
    ] {
        staged.push(Staged::new(bad, 0o100_644, planted));
    }
    staged.push(Staged::new("odd-mode", 0o140_000, planted));
    checkout.index(&staged, b"");
    checkout.outside("secret.txt", MARKER);
    let seen = checkout.diff();
    seen.lists(&[]).tells(&["bad-index-entry"]);
    assert!(seen.notice("bad-index-entry").starts_with("5 entries"));
}

#[test]
fn flags_of_the_index_hide_nothing() {
    let checkout = Checkout::new();
    let mut staged = checkout.staged();
    for entry in &mut staged {
        entry.assume_unchanged = entry.path == b"src/app.py";
        entry.skip_worktree = entry.path == b"README.md";
    }
    checkout.file("README.md", b"# Another\n");
    checkout.index(&staged, b"");
    checkout
        .diff()
        .lists(&["modified README.md"])
        .tells(&["index-flags"]);
}

#[test]
fn an_index_that_is_no_index_is_told() {
    let checkout = Checkout::new();
    let staged = checkout.staged();
    let tells = |why: &str| {
        let seen = checkout.diff();
        seen.lists(&[]).tells(&["bad-index"]);
        let message = seen.notice("bad-index");
        assert!(message.contains(why), "{message}");
    };
    checkout.index(&staged, b"zzzz\0\0\0\x01?");
    tells("an extension that must be known");
    let mut twice: Vec<Staged> = staged.iter().rev().cloned().collect();
    twice.extend(staged.clone());
    checkout.index(&twice, b"");
    tells("repeated or out of order");
    checkout.index(&staged, b"");
    let mut bytes = std::fs::read(checkout.git("index")).expect("read");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    checkout.git_file("index", &bytes);
    tells("checksum");
    checkout.git_file("index", &bytes[..100]);
    tells("cut short");
    checkout.git_file("index", [b"DIRC\0\0\0\x02".as_slice(), &[0xff; 4]].concat());
    tells("too many");
    // An optional one may be passed over.
    checkout.index(&staged, b"ZZZZ\0\0\0\x01?");
    checkout.diff().lists(&[]).tells(&[]);
}

#[test]
fn a_sparse_index_deletes_nothing() {
    let checkout = Checkout::new();
    let docs = checkout.tree("docs/");
    std::fs::remove_dir_all(checkout.repository().join("docs")).expect("removed");
    let sparse = |tree: Id| {
        let mut staged = checkout.staged();
        staged.retain(|entry| !entry.path.starts_with(b"docs/"));
        let mut folder = Staged::new("docs/", 0o040_000, tree);
        folder.skip_worktree = true;
        staged.push(folder);
        staged.sort_by(|a, b| a.path.cmp(&b.path));
        checkout.index(&staged, b"sdir\0\0\0\0");
        checkout.diff()
    };
    let seen = sparse(docs);
    seen.lists(&[]).tells(&["sparse"]);
    assert!(seen.notice("sparse").starts_with("1 file is left out"));
    // Nothing is believed of a tree that is not there.
    let seen = sparse([7; 20]);
    seen.lists(&["deleted docs/guide.txt"]).tells(&["sparse"]);
    assert!(seen.notice("sparse").contains("shows as deleted"));
}

#[test]
fn what_is_unmerged_is_conflicted() {
    let checkout = Checkout::new();
    let mut staged = checkout.staged();
    let at = staged
        .iter()
        .position(|entry| entry.path == b"README.md")
        .expect("there");
    let one = staged.remove(at);
    for stage in 1..=3 {
        let mut entry = one.clone();
        entry.stage = stage;
        staged.insert(at + usize::from(stage) - 1, entry);
    }
    checkout.index(&staged, b"");
    checkout
        .diff()
        .lists(&["conflicted README.md"])
        .tells(&["conflict"]);
}

#[test]
fn loose_objects_that_lie_are_told_apart() {
    let (checkout, id) = packed();
    let claims = |text: &[u8], tag: &str, why: &str| {
        checkout.loose(&id, &deflate(text));
        let seen = checkout.diff();
        seen.lists(&[]).tells(&[tag]);
        assert_eq!(
            seen.file("src/app.py")["additions"],
            serde_json::Value::Null
        );
        let notices = seen.json["notices"].to_string();
        assert!(notices.contains(why), "{notices}");
    };
    let huge = [format!("blob {}\0", 1_u64 << 62).as_bytes(), &[b'x'; 100]].concat();
    claims(&huge, "bad-object", "claims more bytes than it can hold");
    let bomb = [
        format!("blob {}\0", 65 << 20).as_bytes(),
        &vec![0; 65 << 20],
    ]
    .concat();
    claims(&bomb, "too-large", "is too large");
    claims(
        b"blob 4\0fake",
        "bad-object",
        "does not hold what its name says",
    );
    checkout.loose(&id, b"no zlib at all");
    checkout.diff().lists(&[]).tells(&["bad-object"]);
    // A tree that lies leaves nothing to compare with, and is named.
    let mut checkout = Checkout::new();
    let tree: Id = [0x51; 20];
    let lie = format!("tree {}\0", 6_u64 << 30);
    checkout.loose(&tree, &deflate(lie.as_bytes()));
    let commit = checkout.commit_of(&tree);
    checkout.git_file("HEAD", hex(&commit));
    let why = checkout.refusal();
    assert!(
        why.contains(&hex(&tree)) && why.contains("claims more bytes"),
        "{why}"
    );
    checkout.commit();
    checkout.diff().lists(&[]);
}

#[test]
fn packs_that_lie_cost_nothing() {
    type Lie = fn(&mut Pack, Id);
    let lies: [(&str, &str, Lie); 4] = [
        ("too-large", "6.4 GB", |pack, id| {
            pack.add([1; 20], Pack::BLOB, 6 << 30, b"", &[0; 1000]);
            pack.delta(id, [1; 20], 6 << 30, 100);
        }),
        ("too-large", "2.1 GB", |pack, id| {
            let step = 0xff_fff0;
            pack.add([1; 20], Pack::BLOB, step, b"", &vec![0; step as usize]);
            pack.delta([2; 20], [1; 20], step, 128 * step);
            pack.delta(id, [2; 20], 128 * step, 100);
        }),
        ("bad-object", "makes it from itself", |pack, id| {
            pack.delta(id, [3; 20], 100, 100);
            pack.delta([3; 20], id, 100, 100);
        }),
        ("bad-object", "does not hold", |pack, id| {
            let bytes = [varint(9), varint(1), vec![0x90, 1]].concat();
            pack.add(id, Pack::DELTA, bytes.len() as u64, &[9; 20], &bytes);
        }),
    ];
    for (tag, why, lie) in lies {
        let (checkout, id) = packed();
        let mut pack = Pack::default();
        lie(&mut pack, id);
        pack.write(&checkout, 0);
        // A worker that had to be stopped would be told instead.
        let seen = checkout.diff();
        seen.lists(&[]).tells(&[tag]);
        let message = seen.notice(tag);
        assert!(message.contains(why), "{message}");
        assert_eq!(
            seen.file("src/app.py")["additions"],
            serde_json::Value::Null
        );
    }
}

#[test]
fn a_sound_pack_is_read() {
    let (checkout, id) = packed();
    let mut pack = Pack::default();
    let base = b"print(1)\nmore\n";
    let base_id = id_of("blob", base);
    pack.add(base_id, Pack::BLOB, base.len() as u64, b"", base);
    pack.delta(id, base_id, base.len() as u64, 9);
    pack.write(&checkout, 0);
    let seen = checkout.diff();
    seen.lists(&[]).tells(&[]);
    assert_eq!(seen.file("src/app.py")["additions"], 1);
}

#[test]
fn offsets_behind_the_end_are_refused() {
    let mut checkout = Checkout::new();
    let tree = checkout.tree("");
    checkout.commit();
    checkout.remove(&tree);
    let mut pack = Pack::default();
    pack.add(tree, 2, 10, b"", b"0123456789");
    pack.write(&checkout, 0x7000_0000);
    let why = checkout.refusal();
    assert!(
        why.contains(&hex(&tree)) && why.contains("damaged"),
        "{why}"
    );
}

#[test]
fn trees_that_no_one_could_check_out_are_refused() {
    let checkout = Checkout::new();
    let blob = checkout.object("blob", b"x\n");
    let (mut id, mut mode) = (blob, "100644");
    for _ in 0..200 {
        let entry = [mode.as_bytes(), b" d\0", &id].concat();
        (id, mode) = (checkout.object("tree", &entry), "40000");
    }
    checkout.git_file("HEAD", hex(&checkout.commit_of(&id)));
    assert!(checkout.refusal().contains("nested over 90 deep"));
    for bad in [&b".."[..], b".git", b"a/b"] {
        let entry = [&b"100644 "[..], bad, b"\0", &blob].concat();
        let tree = checkout.object("tree", &entry);
        checkout.git_file("HEAD", hex(&checkout.commit_of(&tree)));
        assert!(checkout.refusal().contains("illegal name"));
    }
    // Ten to the tenth paths in eleven objects.
    let mut tree = checkout.object("tree", &[b"100644 f\0".as_slice(), &blob].concat());
    for _ in 0..10 {
        let entries = (0..10).flat_map(|n| [format!("40000 {n}\0").as_bytes(), &tree].concat());
        tree = checkout.object("tree", &entries.collect::<Vec<u8>>());
    }
    checkout.git_file("HEAD", hex(&checkout.commit_of(&tree)));
    assert!(checkout.refusal().contains("over 300000 entries"));
    // Few objects, and names that fill the memory.
    let name = |n: usize| format!("100644 {n:0>60000}\0").into_bytes();
    let names = (0..60).flat_map(|n| [name(n), blob.to_vec()].concat());
    let tree = checkout.object("tree", &names.collect::<Vec<u8>>());
    let folders = (0..20).flat_map(|n| [format!("40000 {n:0>2}\0").as_bytes(), &tree].concat());
    let tree = checkout.object("tree", &folders.collect::<Vec<u8>>());
    checkout.git_file("HEAD", hex(&checkout.commit_of(&tree)));
    let said = checkout.refusal();
    // Whichever bound is met first.
    let bounds = ["paths of a tree take over", "took too long"];
    assert!(bounds.iter().any(|bound| said.contains(bound)), "{said}");
}

#[test]
fn checkouts_in_the_checkout_are_listed() {
    let mut checkout = Checkout::new();
    checkout.hold("sub", 0o160_000, [7; 20]);
    checkout.outside("sub.git/HEAD", format!("{MARKER}\n"));
    checkout.file("sub/.git", b"gitdir: ../../../outside/sub.git\n");
    checkout.file("fake/.git/marker", b"no repository\n");
    checkout.file("fake/payload.py", b"x\n");
    for part in ["HEAD", "objects/x", "refs/x"] {
        let bytes: &[u8] = if part == "HEAD" {
            b"ref: refs/heads/main\n"
        } else {
            b""
        };
        checkout.file(&format!("nested/.git/{part}"), bytes);
    }
    let trap = format!("[core]\n\tfsmonitor = {}\n", checkout.trap("nested"));
    checkout.file("nested/.git/config", trap.as_bytes());
    checkout.file("nested/payload.py", b"x\n");
    let seen = checkout.diff();
    seen.lists(&[
        "untracked fake/.git/",
        "untracked fake/payload.py",
        "untracked nested/",
    ]);
    seen.tells(&["embedded-repository", "gitfile", "submodule"]);
}

#[test]
fn odd_names_are_counted_and_deep_ones_too() {
    let checkout = Checkout::new();
    let names: [&[u8]; 5] = [
        b"new\nline",
        b"esc\x1b[2J",
        "bidi\u{202e}gnp".as_bytes(),
        "zero\u{200b}width".as_bytes(),
        b"bad\xff\xfe",
    ];
    for name in names {
        std::fs::write(checkout.repository().join(git::name(name)), "x\n").expect("written");
    }
    checkout.file("it's \"quoted\"", b"x\n");
    let seen = checkout.diff();
    seen.tells(&["odd-names"]);
    assert_eq!(seen.files().len(), 2 + names.len() + 1);
    assert!(seen.notice("odd-names").starts_with("5 changed paths have"));

    let checkout = Checkout::new();
    let deep = format!("{}bottom.txt", "d/".repeat(150));
    let deeper = format!("{}bottom.txt", "e/".repeat(400));
    checkout.file(&deep, b"x\n");
    checkout.file(&deeper, b"x\n");
    let (deep_line, deeper_line) = (format!("untracked {deep}"), format!("untracked {deeper}"));
    let seen = checkout.diff();
    seen.lists(&[&deep_line, &deeper_line]);
    seen.tells(&["too-deep"]);
    assert!(seen.notice("too-deep").starts_with("2 changed paths lie"));
    assert_eq!(seen.file(&deep)["additions"], 1);
    assert_eq!(seen.file(&deeper)["additions"], serde_json::Value::Null);
}

#[test]
fn contents_that_are_too_much_are_told() {
    let minified = |change: &str| format!("{}{change}\n", "var a=1;".repeat(5_000));
    let lines = |first: &str| format!("{first}\n{}", "\n".repeat(1_100_000));
    let one_line = |last: &str| "x".repeat(9 << 20) + last;
    let checkout = Checkout::with(&[
        ("app.min.js", minified("1").as_bytes()),
        ("lines.txt", lines("1").as_bytes()),
        ("one-line.txt", one_line("1").as_bytes()),
    ]);
    checkout.file("app.min.js", minified("2").as_bytes());
    checkout.file("lines.txt", lines("2").as_bytes());
    checkout.file("one-line.txt", one_line("2").as_bytes());
    let seen = checkout.diff();
    seen.lists(&[
        "modified app.min.js",
        "modified lines.txt",
        "modified one-line.txt",
    ]);
    seen.tells(&["long-lines", "too-large"]);
    assert!(
        seen.notice("long-lines")
            .starts_with("2 changed files have")
    );
    assert!(
        seen.notice("too-large")
            .starts_with("2 changed files are too large")
    );
    assert_eq!(seen.file("app.min.js")["additions"], 1);
    for path in ["lines.txt", "one-line.txt"] {
        assert_eq!(seen.file(path)["additions"], serde_json::Value::Null);
    }
    assert_eq!(
        seen.json["additions"],
        serde_json::Value::Null,
        "not all are known"
    );
}

/// A capture by root holds what nobody may read; who is not root cannot capture it.
#[test]
fn modes_that_lock_are_told() {
    let checkout = Checkout::new();
    let locked = checkout.repository().join("docs/guide.txt");
    std::fs::write(&locked, "one\nTWO\n").expect("written");
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).expect("set");
    if std::fs::read(&locked).is_err() {
        return;
    }
    let seen = checkout.diff();
    seen.lists(&["modified docs/guide.txt"])
        .tells(&["unreadable"]);
    assert_eq!(seen.file("docs/guide.txt")["additions"], 1);
}

#[test]
fn a_flood_of_notices_is_dammed() {
    let checkout = Checkout::new();
    for number in 0..50 {
        checkout.file(&format!("n{number:02}/.git"), b"gitdir: /nowhere\n");
        let id = id_of("blob", format!("{number}").as_bytes());
        checkout.loose(&id, b"no zlib at all");
    }
    let seen = checkout.diff();
    seen.tells(&["bad-object", "embedded-repository", "gitfile"]);
    assert!(
        seen.notice("bad-object")
            .starts_with("each of 50 object files")
    );
    let notices = seen.json["notices"].as_array().expect("notices");
    let of = |tag: &str| notices.iter().filter(|notice| notice["tag"] == tag).count();
    assert_eq!(of("gitfile"), 21);
    assert!(
        seen.json["notices"]
            .to_string()
            .contains("30 more of this kind are not listed")
    );
}

#[test]
fn what_a_worker_sent_stays_when_it_is_stopped() {
    // Few distinct lines in another order, which take a comparison very long; the small file comes first.
    let shuffled = |seed: u64| -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(seed);
        let lines = (0..330_000).flat_map(|_| {
            let number = random.u8(0..40);
            [b'0' + number / 10, b'0' + number % 10, b'\n']
        });
        lines.collect()
    };
    let slow = ["x1.txt", "x2.txt", "x3.txt", "x4.txt", "x5.txt", "x6.txt"];
    let old: Vec<Vec<u8>> = (0..6).map(shuffled).collect();
    let files: Vec<(&str, &[u8])> = slow
        .iter()
        .copied()
        .zip(old.iter().map(|old| &old[..]))
        .collect();
    let checkout = Checkout::with(&files);
    for (seed, path) in slow.iter().enumerate() {
        checkout.file(path, &shuffled(100 + seed as u64));
    }
    let begun = Instant::now();
    let seen = checkout.diff_alone();
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    let lines: Vec<String> = slow.iter().map(|path| format!("modified {path}")).collect();
    seen.lists(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    seen.tells(&["worker-stopped"]);
    let message = seen.notice("worker-stopped");
    assert!(message.contains("took too long"), "{message}");
    assert_eq!(
        seen.file("src/app.py")["additions"],
        1,
        "it was counted before"
    );
    assert_eq!(seen.file("x6.txt")["additions"], serde_json::Value::Null);
    assert_eq!(seen.json["additions"], serde_json::Value::Null);
}
