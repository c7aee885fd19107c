//! What an archive holds to compare: `workspace/repository` when it is a checkout whose `.git` is
//! a folder of the archive, else the plain files of the workspace.

use std::sync::Arc;

use super::index::Index;
use super::model::{Notice, Stash};
use super::notices;
use super::refs::{Head, Refs};
use super::tree::WorkTree;
use crate::archive::{Archive, Entry};
use crate::error::Result;
use crate::json::Json;
use crate::runs::Repository;

/// The agent's working directory in the archive.
pub(crate) const WORKSPACE: &[u8] = b"workspace";
/// The checkout below it.
pub(crate) const REPOSITORY: &[u8] = b"workspace/repository";
/// Git's folder in a checkout.
pub(crate) const DOT_GIT: &[u8] = b".git";

const MAX_INDEX: u64 = 64 << 20;
const MAX_REPOSITORY_JSON: u64 = 64 << 10;

/// The checkout of one archive.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    /// The files compared, rooted where the diff's paths begin.
    pub tree: WorkTree,
    /// Git's side of it; `None` for plain files.
    pub git: Option<GitState>,
    /// The row's pin, else the archive's own word of it.
    pub pin: Option<Repository>,
    pub notices: Vec<Notice>,
}

/// What `.git` says.
#[derive(Clone, Debug)]
pub(crate) struct GitState {
    pub head: Head,
    pub index: Index,
    pub stashes: Vec<Stash>,
}

impl Checkout {
    /// Reads the checkout; `pin` is the row's.
    pub(crate) fn read(archive: &Arc<Archive>, pin: Option<Repository>) -> Result<Self> {
        let all = WorkTree::new(Arc::clone(archive));
        let mut notices = notices::of_archive(archive);
        notices.extend(notices::of_native(&all));
        let pin = settle_pin(&all, pin, &mut notices)?;
        let repository = all.below(REPOSITORY);
        let state = match repository.entry(DOT_GIT) {
            Some(entry) if entry.is_directory() => git_state(&repository, &mut notices)?,
            Some(entry) => {
                notices.push(not_a_folder(entry));
                None
            }
            None => None,
        };
        let tree = match (&state, all.is_folder(REPOSITORY)) {
            (Some(_), _) => repository,
            // A pinned run's folder is what its diff is about even when its .git is gone.
            (None, true) if pin.is_some() => repository,
            _ => all.below(WORKSPACE),
        };
        Ok(Self {
            tree,
            git: state,
            pin,
            notices,
        })
    }

    /// HEAD's commit, where there is one.
    pub(crate) fn head(&self) -> Option<String> {
        match &self.git.as_ref()?.head {
            Head::At { id, .. } => Some(super::id::show_id(id)),
            _ => None,
        }
    }
}

fn not_a_folder(entry: &Entry) -> Notice {
    let (tag, what) = if entry.target().is_some() {
        ("git-symlink", "a link")
    } else {
        ("gitfile", "a file")
    };
    Notice::at(
        tag,
        &entry.path,
        format!("its .git is {what}, not a folder: the checkout is shown as plain files"),
    )
}

fn git_state(tree: &WorkTree, notices: &mut Vec<Notice>) -> Result<Option<GitState>> {
    let refs = Refs::new(tree, DOT_GIT);
    let head = refs.head()?;
    match &head {
        Head::Broken(why) => {
            let tag = match why {
                why if why.contains("reftable") => "reftable",
                why if why.contains("SHA-256") => "sha256",
                _ => "head",
            };
            notices.push(Notice::new(tag, format!("HEAD cannot be followed: {why}")));
        }
        Head::Unborn { branch } => notices.push(Notice::new(
            "unborn",
            format!(
                "HEAD is on {}, which has no commit yet",
                crate::text::visible(branch)
            ),
        )),
        Head::At { .. } => {}
    }
    let index = match tree.file(b".git/index", MAX_INDEX)? {
        Some(bytes) => Index::parse(&bytes),
        None => Index::default(),
    };
    notices::of_git(tree, &index, notices)?;
    Ok(Some(GitState {
        head,
        index,
        stashes: refs.stashes()?,
    }))
}

/// The row's pin wins; an archive that says otherwise is told loudly.
fn settle_pin(
    all: &WorkTree,
    row: Option<Repository>,
    notices: &mut Vec<Notice>,
) -> Result<Option<Repository>> {
    let copy = all
        .file(b"native/repository.json", MAX_REPOSITORY_JSON)?
        .and_then(|bytes| Json::parse_bytes(&bytes).ok())
        .and_then(|json| Repository::from_json(&json));
    if let (Some(row), Some(copy)) = (&row, &copy)
        && (row.url != copy.url || !row.commit.eq_ignore_ascii_case(&copy.commit))
    {
        notices.push(Notice::at(
            "pin-differs",
            b"native/repository.json",
            format!(
                "the archive says it started from {} of {}, the row says {} of {}: the row's pin is used",
                crate::text::visible(&copy.commit),
                crate::text::visible(&copy.url),
                crate::text::visible(&row.commit),
                crate::text::visible(&row.url)
            ),
        ));
    }
    Ok(row.or(copy))
}
