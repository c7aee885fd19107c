//! Commits and trees of an agent, walked by hand: libgit2 panics on odd modes and has no caps.

use std::collections::{BinaryHeap, HashSet};
use std::io::Write;

use git2::{ObjectType, Oid, Repository};

use super::batch::Batch;
use super::objects::{Objects, oid};
use super::{Answer, failed};
use crate::review::id::{Id, is_path, parse_id, show_id};
use crate::review::model::Commit;
use crate::review::protocol::{
    Failure, MAX_CONTENT, MAX_PATH, MAX_TREE_ENTRIES, MAX_TREE_PATHS, Response, send,
};
use crate::review::tree;
use crate::text::{cut_line, human_bytes, visible_bytes};

const MAX_TREE: usize = 16 << 20;
pub(super) const MAX_COMMIT: usize = 1 << 20;
/// The mode of a folder.
pub(super) const TREE: u32 = 0o040_000;
/// Trees nested deeper are refused.
pub(super) const MAX_DEPTH: usize = 90;
/// Commits looked at to find those since the pin.
const MAX_WALK: usize = 20_000;
/// Bytes of an author's name, of the address and of a subject that are sent: a commit may be one line.
const MAX_WORDS: usize = 2 << 10;

/// Lists the tree of a commit with canonical modes.
pub(super) fn tree(objects: &Objects<'_>, commit: Id, output: &mut impl Write) -> Answer {
    let commit = objects.read(oid(&commit)?, ObjectType::Commit, MAX_COMMIT)?;
    let root = commit
        .strip_prefix(b"tree ")
        .and_then(|rest| rest.get(..40))
        .and_then(parse_id);
    let Some(root) = root else {
        return failed(Failure::Damaged, "the commit names no tree");
    };
    below(objects, root, output)
}

/// Lists what is below a tree, with canonical modes.
pub(super) fn below(objects: &Objects<'_>, root: Id, output: &mut impl Write) -> Answer {
    let mut pending = vec![(Vec::new(), root, 0_usize)];
    let mut batch = Batch::new(Response::TreeEntries);
    let (mut count, mut paths) = (0_usize, 0_usize);
    while let Some((folder, id, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return failed(
                Failure::Limit,
                format!("a tree is nested over {MAX_DEPTH} deep"),
            );
        }
        for (name, mode, id) in read_tree(objects, id)? {
            count += 1;
            if count > MAX_TREE_ENTRIES {
                return failed(
                    Failure::Limit,
                    format!("a tree holds over {MAX_TREE_ENTRIES} entries"),
                );
            }
            let path = join(&folder, &name)?;
            paths += path.len();
            if paths > MAX_TREE_PATHS {
                let most = human_bytes(MAX_TREE_PATHS as u64);
                return failed(
                    Failure::Limit,
                    format!("the paths of a tree take over {most}"),
                );
            }
            match mode {
                TREE => pending.push((path, id, depth + 1)),
                _ => {
                    let bytes = path.len();
                    batch.push((path, mode, id), bytes, output)?;
                }
            }
        }
    }
    batch.send(output)?;
    Ok(send(output, &Response::Done)?)
}

/// The path of an entry of a tree.
pub(super) fn join(folder: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
    if folder.len() + name.len() >= MAX_PATH {
        let most = human_bytes(MAX_PATH as u64);
        return failed(
            Failure::Limit,
            format!("a path of a tree is longer than {most}"),
        );
    }
    Ok(tree::join(folder, name))
}

/// The entries of one tree: names that git allows, canonical modes, ids.
pub(super) fn read_tree(objects: &Objects<'_>, id: Id) -> Answer<Vec<(Vec<u8>, u32, Id)>> {
    let bytes = objects.read(oid(&id)?, ObjectType::Tree, MAX_TREE)?;
    let mut names: HashSet<&[u8]> = HashSet::new();
    let mut entries = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let Some((mode, name, entry, left)) = tree_entry(rest) else {
            return failed(
                Failure::Damaged,
                format!("tree {} is malformed", show_id(&id)),
            );
        };
        rest = left;
        if !is_path(name) || name.contains(&b'/') || !names.insert(name) {
            return failed(
                Failure::Damaged,
                format!(
                    "a tree holds the illegal name {}",
                    visible_bytes(cut_line(name, MAX_WORDS))
                ),
            );
        }
        let mode = match mode & 0o170_000 {
            TREE => TREE,
            0o120_000 => 0o120_000,
            0o160_000 => 0o160_000,
            _ if mode & 0o100 == 0 => 0o100_644,
            _ => 0o100_755,
        };
        entries.push((name.to_vec(), mode, entry));
    }
    Ok(entries)
}

/// `MODE NAME\0ID`: the first entry of a tree's bytes, and the rest.
fn tree_entry(bytes: &[u8]) -> Option<(u32, &[u8], Id, &[u8])> {
    let space = bytes.iter().take(8).position(|b| *b == b' ')?;
    let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
    let rest = &bytes[space + 1..];
    let end = rest.iter().position(|b| *b == 0)?;
    let id = rest.get(end + 1..end + 21)?.try_into().ok()?;
    Some((mode, &rest[..end], id, &rest[end + 21..]))
}

/// What `git log hide..from` lists. A shallow clone's missing parents end the walk.
pub(super) fn log(
    repository: &Repository,
    objects: &Objects<'_>,
    from: Id,
    hide: Id,
    limit: u32,
    output: &mut impl Write,
) -> Answer {
    let find = |id: Oid| -> Answer<git2::Commit<'_>> {
        objects.read(id, ObjectType::Commit, MAX_COMMIT)?;
        Ok(repository.find_commit(id)?)
    };
    let mut hidden = HashSet::new();
    let mut pending = vec![oid(&hide)?];
    while let Some(id) = pending.pop() {
        if hidden.len() < MAX_WALK && hidden.insert(id) {
            let parents = |commit: git2::Commit<'_>| commit.parent_ids().collect();
            pending.extend(find(id).map_or_else(|_| Vec::new(), parents));
        }
    }
    let (mut batch, mut found) = (Batch::new(Response::Commits), 0);
    let mut seen = HashSet::new();
    let mut newest: BinaryHeap<(i64, Oid)> = BinaryHeap::new();
    let push = |id: Oid, newest: &mut BinaryHeap<(i64, Oid)>, seen: &mut HashSet<Oid>| {
        if !hidden.contains(&id) && seen.len() < MAX_WALK && seen.insert(id) {
            let time = find(id).map_or(0, |commit| commit.time().seconds());
            newest.push((time, id));
        }
    };
    objects
        .read(oid(&from)?, ObjectType::Commit, MAX_COMMIT)
        .map(drop)
        .or_else(|stop| {
            if hidden.contains(&oid(&from)?) {
                Ok(())
            } else {
                Err(stop)
            }
        })?;
    push(oid(&from)?, &mut newest, &mut seen);
    while let Some((_, id)) = newest.pop() {
        if found >= limit {
            break;
        }
        let Ok(commit) = find(id) else { continue };
        let author = commit.author();
        let (name, address) = (words(author.name_bytes()), words(author.email_bytes()));
        let line = Commit {
            id: id.to_string(),
            author: format!("{name} <{address}>"),
            time: commit.time().seconds(),
            subject: words(commit.summary_bytes().unwrap_or_default()),
        };
        let bytes = line.author.len() + line.subject.len();
        batch.push(line, bytes, output)?;
        found += 1;
        for parent in commit.parent_ids() {
            push(parent, &mut newest, &mut seen);
        }
    }
    batch.send(output)?;
    Ok(send(output, &Response::Done)?)
}

/// What a commit says of itself, and a mark where it goes on.
fn words(bytes: &[u8]) -> String {
    let start = cut_line(bytes, MAX_WORDS);
    let mut words = String::from_utf8_lossy(start).into_owned();
    if start.len() < bytes.len() {
        words.push('…');
    }
    words
}

pub(super) fn has_crlf(objects: &Objects<'_>, blob: Id) -> Answer<bool> {
    let bytes = objects.read(oid(&blob)?, ObjectType::Blob, MAX_CONTENT as usize)?;
    Ok(bytes.windows(2).any(|pair| pair == b"\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_length_are_cut_between_characters() {
        assert_eq!(words("żółw".as_bytes()), "żółw");
        let long = format!("x{}", "ż".repeat(1 << 20));
        let cut = words(long.as_bytes());
        assert!(cut.len() <= MAX_WORDS + 3 && cut.ends_with("ż…"), "{cut}");
    }

    #[test]
    fn a_path_of_any_length_is_refused() {
        let joined = |folder: usize, name: usize| {
            join(&vec![b'a'; folder], &vec![b'b'; name])
                .map(|path| path.len())
                .ok()
        };
        assert_eq!(joined(MAX_PATH - 11, 10), Some(MAX_PATH));
        assert_eq!(joined(MAX_PATH - 10, 10), None);
    }
}
