//! What a commit of the agent's changed against its first parent. The worker that holds a comparison
//! makes it too, beside that comparison; what it answers is checked like any other input.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::diff::{self, Known};
use super::id::{GITLINK, Id, is_path, parse_id, show_id};
use super::model::{CommitDiff, Diff, FileChange, FilePatch, Parent, Status};
use super::open::Review;
use super::process::{Worker, unexpected};
use super::protocol::{MAX_COMMIT_HUNKS, MAX_COMMIT_PATHS, Request, Response, WireParent};
use super::received;
use super::session::PATCH_TIME;
use crate::checkpoint::blocking;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::Watch;

/// Files of a commit that are listed.
const MAX_FILES: usize = 500;

impl Review {
    /// What the commit or stash `id`, one that `diff` lists, changed against its first parent.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for another id, [`ErrorKind::Timeout`], [`ErrorKind::UnsafeContent`] when
    /// its objects cannot be read or the worker stops.
    pub fn blocking_commit_diff(&self, diff: &Diff, id: &str, watch: &Watch) -> Result<CommitDiff> {
        let commits = diff.commits.iter().map(|commit| &commit.id);
        let stashes = diff.stashes.iter().map(|stash| &stash.id);
        let listed = commits.chain(stashes).any(|known| known == id);
        let Some(commit) = parse_id(id.as_bytes()).filter(|_| listed) else {
            return fail(ErrorKind::Usage, "There is no such commit in the diff");
        };
        self.in_session(|session, checkout| {
            let worker = session.worker(checkout, &mut Vec::new(), watch)?;
            worker.allow(PATCH_TIME, watch);
            let made = ask(worker, commit)?;
            worker.rest();
            Ok(made)
        })
    }

    /// Async [`Review::blocking_commit_diff`].
    ///
    /// # Errors
    /// The same.
    pub async fn commit_diff(
        self: &Arc<Self>,
        diff: &Arc<Diff>,
        id: &str,
        watch: &Watch,
    ) -> Result<CommitDiff> {
        let (this, diff, watch) = (Arc::clone(self), Arc::clone(diff), watch.clone());
        let id = id.to_owned();
        blocking(move || this.blocking_commit_diff(&diff, &id, &watch)).await
    }
}

fn lied() -> Error {
    Error::new(
        ErrorKind::UnsafeContent,
        "The review worker answered about a commit what cannot be",
    )
}

fn ask(worker: &mut Worker, commit: Id) -> Result<CommitDiff> {
    worker.send(&Request::Commit { commit })?;
    let parent = match worker.receive()? {
        Response::Parent(WireParent::Commit(id)) => Parent::Commit(show_id(&id)),
        Response::Parent(WireParent::Root) => Parent::None,
        Response::Parent(WireParent::Missing(id)) => Parent::Missing(show_id(&id)),
        other => return Err(unexpected(&other)),
    };
    let mut made = CommitDiff {
        parent,
        files: Vec::new(),
        more: 0,
        cut: None,
    };
    if let Parent::Missing(_) = made.parent {
        return match worker.receive()? {
            Response::Done => Ok(made),
            other => Err(unexpected(&other)),
        };
    }
    let mut paths = Vec::new();
    made.more = loop {
        match worker.receive()? {
            Response::Differing(more) => paths.extend(more),
            Response::More(more) => break more,
            other => return Err(unexpected(&other)),
        }
        if paths.len() > MAX_COMMIT_PATHS {
            return Err(lied());
        }
    };
    let honest = |(path, old, new): &(Vec<u8>, u32, u32)| {
        let canonical = |mode: u32| matches!(mode, 0 | 0o100_644 | 0o100_755 | 0o120_000 | GITLINK);
        is_path(path) && canonical(*old) && canonical(*new)
    };
    if !paths.iter().all(honest) {
        return Err(lied());
    }
    let opaque = received::receive_opaque(worker, paths.len())?;
    let known: HashSet<&[u8]> = paths.iter().map(|(path, ..)| &path[..]).collect();
    let deltas = received::receive_deltas(worker, &known)?;
    let mut counted = received::Counted::default();
    received::receive_counts(worker, deltas.len(), &mut counted)?;
    let mut files = diff::list(&deltas, &counted.counts, &Known { index: None });
    for file in &mut files {
        // An index is what tells untracked files from added ones, and a commit has none.
        if file.status == Status::Untracked {
            file.status = Status::Added;
            if file.new_mode == GITLINK {
                file.status = Status::Submodule;
                file.path.pop();
            }
        }
    }
    for (number, _, why) in opaque {
        let (path, old, new) = &paths[number];
        files.push(unread(path, *old, *new, why));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut patches = match hunks(worker, deltas.len()) {
        Ok(patches) => patches,
        Err(error) => {
            if error.kind() == ErrorKind::Cancelled {
                return Err(error);
            }
            made.cut = Some(format!("the hunks are not shown: {error}"));
            HashMap::new()
        }
    };
    let (listed, left) = (files.len().min(MAX_FILES), files.len());
    // The worker says how many more there are, whatever it says.
    made.more = made.more.saturating_add((left - listed) as u64);
    let mut without = 0;
    for file in files.into_iter().take(MAX_FILES) {
        let mut whole = FilePatch::default();
        for delta in &file.deltas {
            match patches.remove(delta) {
                Some(part) => {
                    whole.hunks.extend(part.hunks);
                    whole.binary |= part.binary;
                    whole.truncated = whole.truncated.take().or(part.truncated);
                }
                None => {
                    without += 1;
                    whole.truncated = Some("its lines are not shown".into());
                }
            }
        }
        made.files.push((file, whole));
    }
    if without > 0 && made.cut.is_none() {
        made.cut = Some(format!(
            "lines of {without} more files are not shown: there are over {}",
            crate::text::human_bytes(MAX_COMMIT_HUNKS as u64)
        ));
    }
    Ok(made)
}

/// The hunks of the first deltas, as far as the worker gives them.
fn hunks(worker: &mut Worker, deltas: usize) -> Result<HashMap<u32, FilePatch>> {
    let mut patches = HashMap::new();
    let mut bytes = 0_usize;
    loop {
        match worker.receive()? {
            Response::Patch(patch) => {
                let lines = patch.hunks.iter().flat_map(|hunk| &hunk.lines);
                bytes += lines.map(|line| line.text.len() + 1).sum::<usize>();
                if bytes > MAX_COMMIT_HUNKS || patches.len() >= deltas {
                    return Err(lied());
                }
                let number = u32::try_from(patches.len()).unwrap_or(u32::MAX);
                patches.insert(number, patch);
            }
            Response::Done => return Ok(patches),
            other => return Err(unexpected(&other)),
        }
    }
}

/// A change whose content cannot be read.
fn unread(path: &[u8], old_mode: u32, new_mode: u32, why: String) -> FileChange {
    let status = match (old_mode, new_mode) {
        (0, _) => Status::Added,
        (_, 0) => Status::Deleted,
        _ => Status::Modified,
    };
    FileChange {
        status,
        path: path.to_vec(),
        old_path: None,
        old_mode,
        new_mode,
        additions: None,
        deletions: None,
        binary: false,
        opaque: Some(why),
        deltas: Vec::new(),
    }
}
