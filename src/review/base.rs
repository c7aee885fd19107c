//! The other side of a comparison: a commit's tree as the worker lists it, or another run's files.

use std::collections::HashMap;

use super::id::Id;
use super::model::Commit;
use super::process::{Worker, unexpected};
use super::protocol::{MAX_TREE_ENTRIES, MAX_TREE_PATHS, Request, Response};
use crate::error::{Error, ErrorKind, Result};

/// A commit's files: path to canonical mode and id.
pub(crate) type BaseTree = HashMap<Vec<u8>, (u32, Id)>;

/// The tree of `commit`, checked once more: the worker is not trusted either.
pub(crate) fn list(worker: &mut Worker, commit: Id) -> Result<BaseTree> {
    worker.send(&Request::Tree { commit })?;
    entries(worker)
}

/// What is below one tree of the checkout's objects.
pub(crate) fn folder(worker: &mut Worker, tree: Id) -> Result<BaseTree> {
    worker.send(&Request::Folder { tree })?;
    entries(worker)
}

fn entries(worker: &mut Worker) -> Result<BaseTree> {
    let (mut tree, mut bytes) = (BaseTree::new(), 0);
    loop {
        match worker.receive()? {
            Response::TreeEntries(entries) => {
                for (path, mode, id) in entries {
                    let canonical = matches!(mode, 0o100_644 | 0o100_755 | 0o120_000 | 0o160_000);
                    if !canonical || !super::id::is_path(&path) {
                        return Err(Error::new(
                            ErrorKind::UnsafeContent,
                            "The review worker listed what no tree may hold",
                        ));
                    }
                    bytes += path.len();
                    tree.insert(path, (mode, id));
                }
                if tree.len() > MAX_TREE_ENTRIES || bytes > MAX_TREE_PATHS {
                    return Err(Error::new(
                        ErrorKind::Limit,
                        "Too much to compare: the base has too many files",
                    ));
                }
            }
            Response::Done => return Ok(tree),
            other => return Err(unexpected(&other)),
        }
    }
}

/// Commits reachable from `from` and not from `hide`, newest first.
pub(crate) fn log(worker: &mut Worker, from: Id, hide: Id, limit: u32) -> Result<Vec<Commit>> {
    worker.send(&Request::Log { from, hide, limit })?;
    let mut all = Vec::new();
    loop {
        match worker.receive()? {
            Response::Commits(commits) => all.extend(commits),
            Response::Done => return Ok(all),
            other => return Err(unexpected(&other)),
        }
        if all.len() > limit as usize {
            return Err(Error::new(
                ErrorKind::UnsafeContent,
                "The review worker listed more commits than it was asked for",
            ));
        }
    }
}
