//! A sparse index names whole folders that are left out of the working tree: what is in them is looked
//! up, so that it does not count as deleted.

use super::base;
use super::checkout::Checkout;
use super::index::IndexEntry;
use super::model::Notice;
use super::session::Session;
use super::sides::TREE_TIME;
use super::tree::join;
use crate::error::{ErrorKind, Result};
use crate::progress::Watch;

/// Folders that are looked up.
const MAX_FOLDERS: usize = 1_000;
/// Files in all of them.
const MAX_FILES: usize = 300_000;

/// The files below the folders that the index leaves out. What cannot be looked up is said, and counts
/// as deleted.
pub(crate) fn folders(
    checkout: &Checkout,
    session: &mut Session,
    notices: &mut Vec<Notice>,
    watch: &Watch,
) -> Result<Vec<IndexEntry>> {
    let mut entries = Vec::new();
    let folders = checkout.git.as_ref().map(|git| &git.index.sparse_folders);
    for (number, (folder, tree)) in folders.into_iter().flatten().enumerate() {
        let listed = if number < MAX_FOLDERS && entries.len() < MAX_FILES {
            let worker = session.worker(checkout, notices, watch)?;
            worker.allow(TREE_TIME, watch);
            let listed = base::folder(worker, *tree);
            worker.rest();
            listed
        } else {
            crate::error::fail(ErrorKind::Limit, "too much is left out")
        };
        match listed {
            Ok(files) => entries.extend(files.into_iter().map(|(path, (mode, id))| IndexEntry {
                path: join(folder, &path),
                mode,
                id,
                stage: 0,
                assume_unchanged: false,
                skip_worktree: true,
                intent_to_add: false,
            })),
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                // Its worker may be in any state.
                session.end();
                notices.push(Notice::at(
                    "sparse",
                    folder,
                    format!("the index leaves this folder out, and what was in it shows as deleted: {error}"),
                ));
            }
        }
    }
    Ok(entries)
}
