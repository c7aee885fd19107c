//! What a checkout says besides its files: HEAD and refs, the index, ignore rules and attributes.

use std::sync::Arc;

use super::halves;
use super::tarball::Tarball;
use crate::archive::Archive;
use crate::review::attributes::AttributeRules;
use crate::review::id::{is_path, show_id};
use crate::review::ignore::IgnoreStack;
use crate::review::index::{Index, IndexEntry};
use crate::review::refs::{Head, Refs};
use crate::review::tree::WorkTree;

/// The files of refs, one behind the other with a zero byte between; `-> TARGET` makes a link of
/// one, `/` a folder, and nothing leaves it out.
const REFS: [&str; 7] = [
    "HEAD",
    "packed-refs",
    "refs/heads/main",
    "refs/heads/a",
    "refs/stash",
    "logs/refs/stash",
    "refs/heads/dir/b",
];

/// Refs: what HEAD leads to stands in one of the files, and names stay inside `refs/`.
pub fn refs(data: &[u8]) {
    let mut tarball = Tarball::new();
    for folder in [
        "",
        "/refs",
        "/refs/heads",
        "/refs/heads/dir",
        "/logs",
        "/logs/refs",
    ] {
        tarball.folder(format!("workspace{folder}").as_bytes());
    }
    for (name, text) in REFS.iter().zip(data.split(|byte| *byte == 0)) {
        let name = format!("workspace/{name}");
        match text {
            b"" => {}
            b"/" => tarball.folder(name.as_bytes()),
            text => match text.strip_prefix(b"-> ") {
                Some(target) => tarball.link(name.as_bytes(), target),
                None => tarball.file(name.as_bytes(), text),
            },
        }
    }
    let Some(tree) = tree(tarball) else {
        return;
    };
    let refs = Refs::new(&tree, b"");
    let told = data.to_ascii_lowercase();
    let stands = |id: &str| told.windows(40).any(|word| word == id.as_bytes());
    match refs.head() {
        Ok(Head::At { id, branch }) => {
            assert!(stands(&show_id(&id)), "an id from nowhere");
            branch.iter().for_each(|branch| is_inside(branch));
        }
        Ok(Head::Unborn { branch }) => is_inside(&branch),
        Ok(Head::Broken(why)) => assert!(!why.is_empty()),
        Err(error) => panic!("{error}"),
    }
    match refs.stashes() {
        Ok(stashes) => assert!(stashes.iter().all(|stash| stands(&stash.id))),
        Err(error) => panic!("{error}"),
    }
}

fn is_inside(branch: &str) {
    assert!(!branch.starts_with('/') && !branch.contains(".."));
    assert!(!branch.contains(|c: char| c.is_ascii_control()));
}

/// An index: its entries are in order, each once and inside the checkout, and written anew they are
/// read as the same.
pub fn index(data: &[u8]) {
    let index = Index::parse(data);
    let place = |entry: &IndexEntry| (entry.path.clone(), entry.stage);
    assert!(index.entries.is_sorted_by(|a, b| place(a) < place(b)));
    for entry in &index.entries {
        assert!(is_path(&entry.path) && entry.stage < 4);
        assert!(matches!(
            entry.mode,
            0o100_644 | 0o100_755 | 0o120_000 | 0o160_000
        ));
    }
    assert!(index.clashing <= index.entries.len());
    assert!(index.entries.len() + index.bad_entries <= data.len() / 62);
    let again = Index::parse(&written(&index.entries));
    assert_eq!((again.broken, again.bad_entries), (None, 0));
    assert_eq!(again.entries, index.entries);
    assert_eq!(again.clashing, index.clashing);
}

/// An index of version 3, without a checksum as git can leave it out.
fn written(entries: &[IndexEntry]) -> Vec<u8> {
    let mut out = [b"DIRC\0\0\0\x03", &(entries.len() as u32).to_be_bytes()[..]].concat();
    for entry in entries {
        let start = out.len();
        let flags = u16::from(entry.stage) << 12 | 0x4000;
        let flags = flags | u16::from(entry.assume_unchanged) << 15;
        let more = u16::from(entry.skip_worktree) << 14 | u16::from(entry.intent_to_add) << 13;
        out.extend([0; 24]);
        out.extend(entry.mode.to_be_bytes());
        out.extend([0; 12]);
        out.extend(entry.id);
        out.extend(flags.to_be_bytes());
        out.extend(more.to_be_bytes());
        out.extend(&entry.path);
        out.resize(start + (out.len() - start + 8) / 8 * 8, 0);
    }
    out.extend([0; 20]);
    out
}

/// Ignore rules, a zero byte, and paths, a line each: a last rule wins, and no rule is as good as a
/// comment.
pub fn ignore(data: &[u8]) {
    let (rules, paths) = halves(data, 0);
    let with = |last: &[u8]| -> Option<WorkTree> {
        let mut tarball = Tarball::new();
        tarball.file(b"workspace/.gitignore", &[rules, b"\n", last].concat());
        tree(tarball)
    };
    let (Some(given), Some(all), Some(none)) = (with(b""), with(b"*\n"), with(b"!*\n")) else {
        return;
    };
    let stack = |tree: &WorkTree| {
        let stack = IgnoreStack::new(tree, None).and_then(|mut stack| {
            stack.enter(tree, b"")?;
            Ok(stack)
        });
        match stack {
            Ok(stack) => stack,
            Err(error) => panic!("{error}"),
        }
    };
    let (given, all, none) = (stack(&given), stack(&all), stack(&none));
    let idle = |line: &[u8]| line.trim_ascii().is_empty() || line.starts_with(b"#");
    let idle = rules.split(|byte| *byte == b'\n').all(idle);
    for path in paths.split(|byte| *byte == b'\n').take(16) {
        if !is_path(path) || path.contains(&b'\r') {
            continue;
        }
        for is_folder in [false, true] {
            let ignored = given.ignores(path, is_folder);
            assert_eq!(ignored, given.ignores(path, is_folder));
            assert!(!(idle && ignored.is_some()), "no rule leaves it out");
            if all.skipped.is_empty() && none.skipped.is_empty() {
                assert!(all.ignores(path, is_folder).is_some(), "the last rule");
                assert!(none.ignores(path, is_folder).is_none(), "the last rule");
            }
        }
    }
}

/// Attributes, a zero byte, a path, a zero byte, and content: nothing is made up when it is
/// normalised.
pub fn attributes(data: &[u8]) {
    let (rules, rest) = halves(data, 0);
    let (path, content) = halves(rest, 0);
    let mut tarball = Tarball::new();
    tarball.file(b"workspace/.gitattributes", rules);
    let Some(tree) = tree(tarball).filter(|_| is_path(path)) else {
        return;
    };
    let found = AttributeRules::new(&tree, None).and_then(|mut rules| rules.of(&tree, path));
    let Ok(found) = found else {
        panic!("rules of a readable file are not read");
    };
    for base_has_crlf in [false, true] {
        let Some(changed) = found.normalised(content, base_has_crlf) else {
            continue;
        };
        assert!(found.normalises() && changed.len() < content.len());
        let mut rest = content.iter();
        let taken = |byte: &u8| rest.any(|other| other == byte);
        assert!(changed.iter().all(taken), "bytes that were not there");
    }
}

fn tree(tarball: Tarball) -> Option<WorkTree> {
    let archive: Arc<Archive> = tarball.open()?;
    Some(WorkTree::new(archive).below(b"workspace"))
}
