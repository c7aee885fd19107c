//! One commit against its first parent. Both trees are walked by hand, with caps, and only what differs
//! goes to libgit2: as two trees of ours, in the way of any comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use git2::{ObjectType, Repository};

use super::batch::Batch;
use super::compared::compare;
use super::objects::{Objects, oid};
use super::walk::{MAX_COMMIT, MAX_DEPTH, TREE, join, read_tree};
use super::{Answer, failed};
use crate::review::id::{Id, parse_id};
use crate::review::model::{FilePatch, PatchOptions};
use crate::review::protocol::{
    Failure, MAX_COMMIT_HUNKS, MAX_COMMIT_PATHS, MAX_TREE_ENTRIES, Response, WireBlob, WireChange,
    WireParent, WireSide, send,
};

/// Answers the parent, the paths that differ, their deltas and counts, then hunks as far as they go.
pub(super) fn commit(
    repository: &Repository,
    objects: &Objects<'_>,
    commit: Id,
    output: &mut impl Write,
) -> Answer {
    let bytes = objects.read(oid(&commit)?, ObjectType::Commit, MAX_COMMIT)?;
    let Some((tree, parent)) = tree_and_parent(&bytes) else {
        return failed(Failure::Damaged, "the commit names no tree");
    };
    let old = match parent {
        None => None,
        Some(id) => match objects.read(oid(&id)?, ObjectType::Commit, MAX_COMMIT) {
            Ok(bytes) => match tree_and_parent(&bytes) {
                Some((tree, _)) => Some(tree),
                None => return failed(Failure::Damaged, "the commit's parent names no tree"),
            },
            Err(super::Stop::Failed(Failure::Missing, _)) => {
                send(output, &Response::Parent(WireParent::Missing(id)))?;
                return Ok(send(output, &Response::Done)?);
            }
            Err(stop) => return Err(stop),
        },
    };
    let (changes, more) = differing(objects, old, tree)?;
    let parent = parent.map_or(WireParent::Root, WireParent::Commit);
    send(output, &Response::Parent(parent))?;
    let mode = |side: &Option<WireSide>| side.as_ref().map_or(0, |side| side.mode);
    let mut batch = Batch::new(Response::Differing);
    for change in &changes {
        let path = change.path.clone();
        let item = (path, mode(&change.old), mode(&change.new));
        batch.push(item, change.path.len(), output)?;
    }
    batch.send(output)?;
    send(output, &Response::More(more))?;
    let mut made = compare(repository, objects, &changes, &[], output)?;
    let mut left = MAX_COMMIT_HUNKS;
    for delta in 0..made.deltas() {
        if left == 0 {
            break;
        }
        let mut patch = made.patch(repository, objects, delta, PatchOptions::default())?;
        cut(&mut patch, &mut left);
        send(output, &Response::Patch(patch))?;
    }
    Ok(send(output, &Response::Done)?)
}

/// The ids that a commit's header names.
fn tree_and_parent(bytes: &[u8]) -> Option<(Id, Option<Id>)> {
    let rest = bytes.strip_prefix(b"tree ")?;
    let tree = parse_id(rest.get(..40)?)?;
    let parent = match rest[40..].strip_prefix(b"\nparent ") {
        Some(rest) => Some(parse_id(rest.get(..40)?)?),
        None => None,
    };
    Some((tree, parent))
}

/// The paths that differ between two trees, at most so many, and how many more there are.
fn differing(objects: &Objects<'_>, old: Option<Id>, new: Id) -> Answer<(Vec<WireChange>, u64)> {
    let (mut changes, mut more, mut entries) = (Vec::new(), 0_u64, 0_usize);
    let mut pending = vec![(Vec::new(), old, Some(new), 0_usize)];
    while let Some((folder, old, new, depth)) = pending.pop() {
        if old == new {
            continue;
        }
        if depth > MAX_DEPTH {
            return failed(
                Failure::Limit,
                format!("a tree is nested over {MAX_DEPTH} deep"),
            );
        }
        let mut side = |id: Option<Id>| -> Answer<BTreeMap<Vec<u8>, (u32, Id)>> {
            let Some(id) = id else {
                return Ok(BTreeMap::new());
            };
            let tree = read_tree(objects, id)?;
            entries += tree.len();
            if entries > MAX_TREE_ENTRIES {
                return failed(
                    Failure::Limit,
                    format!("its trees hold over {MAX_TREE_ENTRIES} entries"),
                );
            }
            Ok(tree
                .into_iter()
                .map(|(name, mode, id)| (name, (mode, id)))
                .collect())
        };
        let (old, new) = (side(old)?, side(new)?);
        let names: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
        let mut folders = Vec::new();
        for name in names {
            let (before, after) = (old.get(name), new.get(name));
            if before == after {
                continue;
            }
            let path = join(&folder, name)?;
            let file = |entry: Option<&(u32, Id)>| {
                let (mode, id) = entry.filter(|(mode, _)| *mode != TREE)?;
                Some(WireSide {
                    mode: *mode,
                    blob: WireBlob::Object(*id),
                })
            };
            let tree = |entry: Option<&(u32, Id)>| {
                entry.filter(|(mode, _)| *mode == TREE).map(|(_, id)| *id)
            };
            let (old, new) = (file(before), file(after));
            if old.is_some() || new.is_some() {
                if changes.len() < MAX_COMMIT_PATHS {
                    let path = path.clone();
                    changes.push(WireChange { path, old, new });
                } else {
                    more += 1;
                }
            }
            let (old, new) = (tree(before), tree(after));
            if old.is_some() || new.is_some() {
                folders.push((path, old, new, depth + 1));
            }
        }
        pending.extend(folders.into_iter().rev());
    }
    Ok((changes, more))
}

/// Leaves as much of a patch as there is room for.
fn cut(patch: &mut FilePatch, left: &mut usize) {
    for hunk in 0..patch.hunks.len() {
        for line in 0..patch.hunks[hunk].lines.len() {
            let length = patch.hunks[hunk].lines[line].text.len() + 1;
            if length > *left {
                *left = 0;
                patch.hunks[hunk].lines.truncate(line);
                patch.hunks.truncate(hunk + 1);
                patch.truncated = Some("the rest of its lines is not shown".into());
                return;
            }
            *left -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::protocol::{WireDelta, receive};

    struct Made {
        repository: Repository,
        _folder: tempfile::TempDir,
    }

    impl Made {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let repository = Repository::init_bare(folder.path()).expect("a repository");
            git2::opts::strict_object_creation(false);
            Self {
                repository,
                _folder: folder,
            }
        }

        fn write(&self, kind: ObjectType, bytes: &[u8]) -> Id {
            let odb = self.repository.odb().expect("its objects");
            let id = odb.write(kind, bytes).expect("written");
            id.as_bytes().try_into().expect("20 bytes")
        }

        fn blob(&self, text: &str) -> Id {
            self.write(ObjectType::Blob, text.as_bytes())
        }

        fn tree(&self, entries: &[(&str, &str, Id)]) -> Id {
            let bytes = entries.iter().flat_map(|(mode, name, id)| {
                [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &id[..]].concat()
            });
            self.write(ObjectType::Tree, &bytes.collect::<Vec<u8>>())
        }

        fn commit(&self, tree: Id, parent: Option<Id>) -> Id {
            let hex = crate::review::id::show_id;
            let parent = parent.map_or(String::new(), |id| format!("parent {}\n", hex(&id)));
            let who = "a <a@b> 1 +0000";
            let text = format!(
                "tree {}\n{parent}author {who}\ncommitter {who}\n\nx\n",
                hex(&tree)
            );
            self.write(ObjectType::Commit, text.as_bytes())
        }

        /// What the worker answers, or why it does not.
        fn ask(&self, id: Id) -> Result<Vec<Response>, String> {
            let Ok(objects) = Objects::new(&self.repository) else {
                panic!("its objects");
            };
            let mut bytes = Vec::new();
            match commit(&self.repository, &objects, id, &mut bytes) {
                Ok(()) => {}
                Err(super::super::Stop::Failed(_, why)) => return Err(why),
                Err(super::super::Stop::Gone) => panic!("a Vec takes it all"),
            }
            let mut input = &bytes[..];
            let answers = std::iter::from_fn(|| receive(&mut input).expect("an answer"));
            Ok(answers.collect())
        }

        fn deltas(&self, id: Id) -> Vec<(String, u32, u32)> {
            let answers = self.ask(id).expect("an answer");
            let shown = |delta: &WireDelta| {
                let path = delta.new_path.as_ref().or(delta.old_path.as_ref());
                let path = String::from_utf8_lossy(path.expect("a path")).into_owned();
                (path, delta.old_mode, delta.new_mode)
            };
            let lists = answers.iter().filter_map(|answer| match answer {
                Response::Deltas(deltas) => Some(deltas.iter().map(shown)),
                _ => None,
            });
            let mut all: Vec<_> = lists.flatten().collect();
            all.sort();
            all
        }
    }

    #[test]
    fn the_first_commit_adds_all_it_holds() {
        let objects = Made::new();
        let (a, b) = (objects.blob("a\n"), objects.blob("b\n"));
        let inner = objects.tree(&[("100755", "b", b)]);
        let root = objects.tree(&[("100644", "a", a), ("40000", "in", inner)]);
        let first = objects.commit(root, None);
        assert_eq!(
            objects.deltas(first),
            [
                ("a".to_owned(), 0, 0o100_644),
                ("in/b".to_owned(), 0, 0o100_755)
            ]
        );
    }

    #[test]
    fn odd_modes_and_changed_kinds_are_survived() {
        let objects = Made::new();
        let (one, two) = (objects.blob("1\n"), objects.blob("2\n"));
        let inner = objects.tree(&[("100644", "x", two)]);
        let old = objects.tree(&[
            ("100664", "same", one),
            ("100644", "to-folder", one),
            ("100644", "to-link", one),
            ("160000", "vendor", [7; 20]),
        ]);
        let new = objects.tree(&[
            ("100640", "same", one),
            ("40000", "to-folder", inner),
            ("120000", "to-link", two),
            ("160000", "vendor", [8; 20]),
        ]);
        let first = objects.commit(old, None);
        let found = objects.deltas(objects.commit(new, Some(first)));
        let paths: Vec<&str> = found.iter().map(|(path, ..)| path.as_str()).collect();
        // A file that became a link is two deltas, which the parent puts together.
        assert_eq!(
            paths,
            ["to-folder", "to-folder/x", "to-link", "to-link", "vendor"]
        );
    }

    #[test]
    fn what_is_missing_or_malformed_is_said() {
        let objects = Made::new();
        let blob = objects.blob("1\n");
        let tree = objects.tree(&[("100644", "a", blob)]);
        let shallow = objects.commit(tree, Some([9; 20]));
        assert!(matches!(
            objects.ask(shallow).expect("an answer")[..],
            [
                Response::Parent(WireParent::Missing(id)),
                Response::Done
            ] if id == [9; 20]
        ));
        let twice = objects.tree(&[("100644", "a", blob), ("100755", "a", blob)]);
        let why = objects
            .ask(objects.commit(twice, None))
            .expect_err("refused");
        assert!(why.contains("illegal name"), "{why}");
        let outside = objects.tree(&[("100644", "..", blob)]);
        let why = objects
            .ask(objects.commit(outside, None))
            .expect_err("refused");
        assert!(why.contains("illegal name"), "{why}");
        let long = "x".repeat(1 << 20);
        let long = objects.tree(&[("100644", &long, blob)]);
        let why = objects.ask(objects.commit(long, None));
        let why = why.expect_err("refused");
        assert!(why.contains("longer than"), "{why}");
        let gone = objects.tree(&[("100644", "a", [5; 20]), ("100644", "b", blob)]);
        let answers = objects.ask(objects.commit(gone, None)).expect("an answer");
        let opaque = answers.iter().find_map(|answer| match answer {
            Response::Opaque(opaque) => Some(opaque),
            _ => None,
        });
        assert!(opaque.expect("a list")[0].2.contains("its new content"));
        assert!(objects.ask(blob).is_err(), "no commit");
    }

    #[test]
    fn much_is_cut() {
        let objects = Made::new();
        let names: Vec<String> = (0..MAX_COMMIT_PATHS + 10)
            .map(|n| format!("f{n:05}"))
            .collect();
        let line = "x".repeat(1_000);
        let blobs: Vec<Id> = (0..names.len())
            .map(|n| objects.blob(&format!("{n}{line}\n")))
            .collect();
        let entries = names.iter().zip(&blobs);
        let entries: Vec<_> = entries
            .map(|(name, id)| ("100644", name.as_str(), *id))
            .collect();
        let answers = objects.ask(objects.commit(objects.tree(&entries), None));
        let answers = answers.expect("an answer");
        let paths = answers.iter().map(|answer| match answer {
            Response::Differing(paths) => paths.len(),
            _ => 0,
        });
        assert_eq!(paths.sum::<usize>(), MAX_COMMIT_PATHS);
        let more = |answer: &Response| matches!(answer, Response::More(10));
        assert!(answers.iter().any(more));
        let patches = answers.iter().filter_map(|answer| match answer {
            Response::Patch(patch) => Some(patch),
            _ => None,
        });
        let lines = patches
            .flat_map(|patch| &patch.hunks)
            .flat_map(|hunk| &hunk.lines);
        let bytes: usize = lines.map(|line| line.text.len() + 1).sum();
        assert!(
            bytes > MAX_COMMIT_HUNKS / 2 && bytes <= MAX_COMMIT_HUNKS,
            "{bytes}"
        );
    }
}
