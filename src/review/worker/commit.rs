//! One commit against its first parent. Both trees are walked by hand, with caps, and only what differs
//! goes to libgit2: as two trees of ours, in the way of any comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use git2::{ObjectType, Odb, Repository};

use super::compared::compare;
use super::walk::{MAX_COMMIT, MAX_DEPTH, TREE, object, oid, read_tree};
use super::{Answer, failed};
use crate::review::id::{Id, parse_id};
use crate::review::model::{FilePatch, PatchOptions};
use crate::review::protocol::{
    Failure, MAX_COMMIT_HUNKS, MAX_COMMIT_PATHS, MAX_TREE_ENTRIES, Response, WireBlob, WireChange,
    WireParent, WireSide, send,
};
use crate::review::tree::join;

/// Answers the parent, the paths that differ, their deltas and counts, then hunks as far as they go.
pub(super) fn commit(
    repository: &Repository,
    odb: &Odb<'_>,
    commit: Id,
    output: &mut impl Write,
) -> Answer {
    let bytes = object(odb, oid(&commit)?, ObjectType::Commit, MAX_COMMIT)?;
    let Some((tree, parent)) = tree_and_parent(&bytes) else {
        return failed(Failure::Damaged, "the commit names no tree");
    };
    let old = match parent {
        None => None,
        Some(id) => match object(odb, oid(&id)?, ObjectType::Commit, MAX_COMMIT) {
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
    let (changes, more) = differing(odb, old, tree)?;
    let parent = parent.map_or(WireParent::Root, WireParent::Commit);
    send(output, &Response::Parent(parent))?;
    let mode = |side: &Option<WireSide>| side.as_ref().map_or(0, |side| side.mode);
    let paths = changes.iter();
    let paths = paths.map(|change| (change.path.clone(), mode(&change.old), mode(&change.new)));
    send(
        output,
        &Response::Differing {
            paths: paths.collect(),
            more,
        },
    )?;
    let mut made = compare(repository, odb, &changes, &[], output)?;
    let mut left = MAX_COMMIT_HUNKS;
    for delta in 0..made.deltas() {
        if left == 0 {
            break;
        }
        let mut patch = made.patch(repository, delta, PatchOptions::default())?;
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
fn differing(odb: &Odb<'_>, old: Option<Id>, new: Id) -> Answer<(Vec<WireChange>, u64)> {
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
            let tree = read_tree(odb, id)?;
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
            let path = join(&folder, name);
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
