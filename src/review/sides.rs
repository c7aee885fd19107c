//! The two sides of a comparison brought together: a run's working tree and what it is held against.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::base::{self, BaseTree};
use super::change::{Change, Comparison, Side, Source};
use super::checkout::{Checkout, DOT_GIT};
use super::compare::{against_scan, against_tree};
use super::diff::submodule_change;
use super::id::{GITLINK, Id};
use super::index::Index;
use super::model::{FileChange, Notice, Status};
use super::process::unexpected;
use super::protocol::{Request, Response};
use super::remarks;
use super::scan::{Scan, Tracked, scan};
use super::session::{PATCH_TIME, Session};
use super::sparse;
use super::tree::{WorkTree, join};
use crate::archive::Archive;
use crate::error::Result;
use crate::progress::Watch;

/// What listing a base's tree may take.
pub(crate) const TREE_TIME: Duration = Duration::from_secs(20);

/// A comparison before the worker has seen it.
pub(crate) struct Made {
    pub comparison: Comparison,
    pub scan: Scan,
    pub extra: Vec<FileChange>,
    pub notices: Vec<Notice>,
}

/// The agent's index, of a checkout.
pub(crate) fn index(checkout: &Checkout) -> Option<&Index> {
    checkout.git.as_ref().map(|git| &git.index)
}

fn git_dir(checkout: &Checkout) -> Option<&'static [u8]> {
    checkout.git.as_ref().map(|_| DOT_GIT)
}

/// The working tree against a commit's tree.
pub(crate) fn with_tree(
    checkout: &Checkout,
    session: &mut Session,
    base: &BaseTree,
    watch: &Watch,
) -> Result<Made> {
    let tree = &checkout.tree;
    let mut tracked = Tracked::default();
    for (path, (mode, _)) in base {
        tracked.add(path, *mode, true);
    }
    if let Some(index) = index(checkout) {
        tracked.add_index(index);
    }
    let mut scan = scan(tree, git_dir(checkout), index(checkout), &tracked, watch)?;
    let left_out = sparse::folders(checkout, session, &mut scan.notices, watch)?;
    scan.add_sparse(tree, &left_out);
    let (mut changes, mut notices) = {
        let mut base_has_crlf = |id: Id| {
            let worker = session.worker(checkout, &mut Vec::new(), watch)?;
            worker.allow(PATCH_TIME, watch);
            worker.send(&Request::HasCrlf { blob: id })?;
            match worker.receive()? {
                Response::Truth(truth) => Ok(truth),
                other => Err(unexpected(&other)),
            }
        };
        against_tree(
            tree,
            git_dir(checkout),
            base,
            &scan,
            &mut base_has_crlf,
            watch,
        )?
    };
    let mut extra = submodules(checkout, session, base, &scan, &mut changes, watch)?;
    extra.extend(fakes(&scan, &[]));
    notices.append(&mut scan.notices);
    notices.extend(remarks::of_scan(&scan));
    // Held against nothing, every rule would be new.
    let new_rules = if base.is_empty() { &[] } else { &changes[..] };
    notices.extend(remarks::of_ignored(&scan, new_rules));
    Ok(Made {
        comparison: Comparison {
            changes,
            old_archive: None,
            new_archive: Arc::clone(checkout.tree.archive()),
        },
        scan,
        extra,
        notices,
    })
}

/// The working tree against another run's.
pub(crate) fn with_run(checkout: &Checkout, archive: &Arc<Archive>, watch: &Watch) -> Result<Made> {
    let other = Checkout::read(archive, checkout.pin.clone())?;
    // Both sides are looked at from the same folder.
    let all = WorkTree::new(Arc::clone(archive));
    let other_tree = all.below(checkout.tree.root());
    let same_root = other.tree.root() == checkout.tree.root();
    let other_git = other.git.as_ref().filter(|_| same_root);
    let mut tracked = Tracked::default();
    if let Some(git) = other_git {
        tracked.add_index(&git.index);
    }
    let other_dir = other_git.map(|_| DOT_GIT);
    let before = scan(
        &other_tree,
        other_dir,
        other_git.map(|git| &git.index),
        &tracked,
        watch,
    )?;
    let mut tracked = Tracked::default();
    for (path, found) in &before.files {
        tracked.add(path, found.mode, true);
    }
    if let Some(index) = index(checkout) {
        tracked.add_index(index);
    }
    let mut after = scan(
        &checkout.tree,
        git_dir(checkout),
        index(checkout),
        &tracked,
        watch,
    )?;
    let mut changes = against_scan(archive, &before, checkout.tree.archive(), &after, watch)?;
    let links: BTreeSet<_> = before.nested.keys().chain(after.nested.keys()).collect();
    for path in links {
        let side = |scan: &Scan| {
            let head = scan.nested.get(path)?.head?;
            Some(Side {
                mode: GITLINK,
                source: Source::Object(head),
            })
        };
        let (old, new) = (side(&before), side(&after));
        let id = |side: &Option<Side>| match side {
            Some(Side {
                source: Source::Object(id),
                ..
            }) => Some(*id),
            _ => None,
        };
        if id(&old) != id(&new) {
            changes.push(Change {
                path: path.clone(),
                old,
                new,
            });
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let mut notices = std::mem::take(&mut after.notices);
    notices.extend(remarks::of_scan(&after));
    notices.extend(remarks::of_ignored(&after, &changes));
    let extra = fakes(&after, &before.fakes);
    Ok(Made {
        comparison: Comparison {
            changes,
            old_archive: Some(Arc::clone(archive)),
            new_archive: Arc::clone(checkout.tree.archive()),
        },
        scan: after,
        extra,
        notices,
    })
}

/// `.git` folders that are no repository: git never looks into them, so they are named.
fn fakes(scan: &Scan, before: &[(Vec<u8>, usize)]) -> Vec<FileChange> {
    let new = scan.fakes.iter().filter(|fake| !before.contains(fake));
    new.map(|(path, files)| {
        let why =
            format!("a .git that is no repository: the files in it ({files}) are not compared");
        let shown = [&path[..], b"/"].concat();
        submodule_change(shown, Status::Untracked, None, &why)
    })
    .collect()
}

/// Nested checkouts against what the base records: at another commit, dirty, new or gone.
fn submodules(
    checkout: &Checkout,
    session: &mut Session,
    base: &BaseTree,
    scan: &Scan,
    changes: &mut Vec<Change>,
    watch: &Watch,
) -> Result<Vec<FileChange>> {
    let link = |id: Id| {
        Some(Side {
            mode: GITLINK,
            source: Source::Object(id),
        })
    };
    let mut extra = Vec::new();
    for (path, nested) in &scan.nested {
        let recorded = base
            .get(path)
            .filter(|(mode, _)| *mode == GITLINK)
            .map(|(_, id)| *id);
        match (recorded, nested.head) {
            (Some(recorded), Some(head)) if recorded != head => changes.push(Change {
                path: path.clone(),
                old: link(recorded),
                new: link(head),
            }),
            (Some(recorded), Some(head)) => {
                if is_dirty(
                    checkout,
                    session,
                    path,
                    nested.git_dir.as_deref(),
                    head,
                    watch,
                ) {
                    let why = "a submodule at the recorded commit whose files differ from it";
                    extra.push(submodule_change(
                        path.clone(),
                        Status::Submodule,
                        Some(recorded),
                        why,
                    ));
                }
            }
            // Not checked out: nothing differs.
            (Some(_), None) => {}
            (None, Some(head)) => changes.push(Change {
                path: path.clone(),
                old: base.get(path).map(|(mode, id)| Side {
                    mode: *mode,
                    source: Source::Object(*id),
                }),
                new: link(head),
            }),
            (None, None) => {
                let shown = [&path[..], b"/"].concat();
                extra.push(submodule_change(
                    shown,
                    Status::Untracked,
                    None,
                    "a checkout of its own without a commit",
                ));
            }
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(extra)
}

/// Whether a nested checkout's files differ from its own HEAD; what cannot be told is dirty.
fn is_dirty(
    checkout: &Checkout,
    session: &mut Session,
    path: &[u8],
    git_dir: Option<&[u8]>,
    head: Id,
    watch: &Watch,
) -> bool {
    let look = |session: &mut Session| -> Result<bool> {
        let tree = checkout.tree.below(path);
        if let Some(git_dir) = git_dir {
            let objects = session.objects(checkout, &mut Vec::new(), watch)?;
            objects.add(&checkout.tree, git_dir, &mut Vec::new(), watch)?;
        }
        let worker = session.worker(checkout, &mut Vec::new(), watch)?;
        worker.allow(TREE_TIME, watch);
        let base = base::list(worker, head)?;
        worker.rest();
        let mut tracked = Tracked::default();
        for (path, (mode, _)) in &base {
            tracked.add(path, *mode, true);
        }
        let own_dir = (git_dir == Some(&join(path, DOT_GIT)[..])).then_some(DOT_GIT);
        let scan = scan(&tree, own_dir, None, &tracked, watch)?;
        let (changes, _) = against_tree(&tree, own_dir, &base, &scan, &mut |_| Ok(false), watch)?;
        Ok(!changes.is_empty())
    };
    look(session).unwrap_or_else(|_| {
        session.end();
        true
    })
}

/// Changes that the index's flags would have kept off git's screen.
pub(crate) fn hidden_by_index(checkout: &Checkout, files: &[FileChange]) -> Vec<Notice> {
    let Some(index) = index(checkout) else {
        return Vec::new();
    };
    let changed: HashSet<&[u8]> = files.iter().map(|file| &file.path[..]).collect();
    index
        .entries
        .iter()
        .filter(|entry| changed.contains(&entry.path[..]))
        .filter_map(|entry| {
            let flag = match (entry.assume_unchanged, entry.skip_worktree) {
                (true, _) => "assume-unchanged",
                (_, true) => "skip-worktree",
                _ => return None,
            };
            Some(Notice::at(
                "index-flags",
                &entry.path,
                format!("the index hides this change from git ({flag})"),
            ))
        })
        .collect()
}
