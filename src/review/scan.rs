//! One walk over a virtual working tree: which files a comparison is about, which are ignored, and
//! which folders are checkouts of their own.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::checkout::DOT_GIT;
use super::id::{GITLINK, Id};
use super::ignore::{IgnoreStack, Ignored};
use super::index::{Index, IndexEntry};
use super::model::Notice;
use super::refs::{Head, Refs};
use super::tree::{WorkTree, join, resolve};
use crate::archive::{Entry, EntryKind};
use crate::error::Result;
use crate::progress::Watch;

/// Ignored paths that are kept for showing; all are counted.
const MAX_IGNORED_PATHS: usize = 10_000;
const MAX_GITFILE: u64 = 4096;

/// Where a file's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// In the archive's spool.
    Spool { offset: u64, size: u64 },
    /// A link's target.
    Link(Vec<u8>),
    /// Left out by a sparse checkout: what the index says.
    Index(Id),
}

/// One file of the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Git's mode.
    pub mode: u32,
    pub body: Body,
}

/// A folder that is a checkout of its own.
#[derive(Clone, Debug)]
pub(crate) struct Nested {
    /// Its git directory below the scanned tree.
    pub git_dir: Option<Vec<u8>>,
    /// Its HEAD's commit.
    pub head: Option<Id>,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub files: BTreeMap<Vec<u8>, Found>,
    pub nested: BTreeMap<Vec<u8>, Nested>,
    pub ignored: u64,
    pub ignored_paths: Vec<Vec<u8>>,
    /// How many of them each rule file leaves out, Agno's own rule apart.
    pub ignored_by: BTreeMap<Vec<u8>, u64>,
    pub sparse: u64,
    /// `.git` folders that are no repository: how many files, at most so many, lie in each.
    pub fakes: Vec<(Vec<u8>, usize)>,
    /// Entries that nobody but root may read, once restored: how many, and the first.
    pub unreadable: Option<(u64, Vec<u8>)>,
    pub notices: Vec<Notice>,
}

/// Paths that are in scope whatever ignore rules say.
#[derive(Debug, Default)]
pub(crate) struct Tracked<'a> {
    files: HashSet<&'a [u8]>,
    folders: HashSet<&'a [u8]>,
    /// Submodules of the base; those of the index alone are staged.
    submodules: HashMap<&'a [u8], bool>,
}

impl<'a> Tracked<'a> {
    pub(crate) fn add(&mut self, path: &'a [u8], mode: u32, of_base: bool) {
        if mode == GITLINK {
            *self.submodules.entry(path).or_default() |= of_base;
            return;
        }
        self.files.insert(path);
        let mut end = path.len();
        while let Some(cut) = path[..end].iter().rposition(|b| *b == b'/') {
            if !self.folders.insert(&path[..cut]) {
                break;
            }
            end = cut;
        }
    }

    pub(crate) fn add_index(&mut self, index: &'a Index) {
        for entry in &index.entries {
            self.add(&entry.path, entry.mode, false);
        }
    }
}

/// Walks `tree`, whose git directory is `git_dir` below it when it has one there.
pub(crate) fn scan(
    tree: &WorkTree,
    git_dir: Option<&[u8]>,
    index: Option<&Index>,
    tracked: &Tracked<'_>,
    watch: &Watch,
) -> Result<Scan> {
    let mut found = Scan::default();
    let mut rules = IgnoreStack::new(tree, git_dir)?;
    if rules.exclude_rules > 0 {
        found.notices.push(Notice::at(
            "info-exclude",
            b".git/info/exclude",
            format!(
                "{} rules besides Agno's own leave files out, which no diff shows",
                rules.exclude_rules
            ),
        ));
    }
    enum Step {
        Enter {
            folder: Vec<u8>,
            ignored: Option<Ignored>,
        },
        Leave {
            folder: Vec<u8>,
        },
    }
    let mut steps = vec![Step::Enter {
        folder: Vec::new(),
        ignored: None,
    }];
    let mut left_out_by: HashMap<Ignored, u64> = HashMap::new();
    while let Some(step) = steps.pop() {
        let (folder, ignored) = match step {
            Step::Leave { folder } => {
                rules.leave(&folder);
                continue;
            }
            Step::Enter { folder, ignored } => (folder, ignored),
        };
        watch.check()?;
        rules.enter(tree, &folder)?;
        let mut below = Vec::new();
        for entry in tree.children(&folder) {
            if entry.name() == DOT_GIT {
                continue;
            }
            let path = join(&folder, entry.name());
            let is_folder = entry.is_directory();
            let known = tracked.files.contains(&path[..]) || tracked.folders.contains(&path[..]);
            // A folder that is left out stays so around the files in it that are tracked.
            let asks = ignored.is_none() && (is_folder || !known);
            let left_out = match asks {
                true => rules.ignores(&path, is_folder),
                false => ignored,
            };
            if left_out.is_none() || known {
                found.note_mode(entry, &path);
            }
            if !is_folder {
                match left_out.filter(|_| !known) {
                    None => {
                        found.files.insert(path, file(entry));
                    }
                    Some(by) => {
                        *left_out_by.entry(by).or_default() += 1;
                        found.leave_out(path);
                    }
                }
                continue;
            }
            let own = tree.entry(&join(&path, DOT_GIT)).is_some();
            let submodule = tracked.submodules.get(&path[..]).copied();
            if submodule == Some(false) && known {
                found.notices.push(Notice::at(
                    "bad-index-entry",
                    &path,
                    "the index calls this folder a submodule, but its files are tracked: they are compared",
                ));
            }
            if submodule == Some(true) && tree.children(&path).next().is_none() {
                // An empty folder stands for a submodule that was not checked out.
                found.nested.insert(
                    path,
                    Nested {
                        git_dir: None,
                        head: None,
                    },
                );
            } else if own && (submodule == Some(true) || !known) {
                let nested = nested(tree, &path)?;
                let valid = nested.git_dir.is_some();
                found.notices.extend(gitfile_outside(tree, &path)?);
                if submodule.is_some() || valid && left_out.is_none() {
                    found.notices.push(Notice::at(
                        if submodule == Some(true) { "submodule" } else { "embedded-repository" },
                        &path,
                        "a checkout of its own: shown as one entry, its files are not compared one by one",
                    ));
                    found.nested.insert(path, nested);
                } else if let Some(by) = left_out.filter(|_| valid) {
                    *left_out_by.entry(by).or_default() += 1;
                    found.leave_out([&path[..], b"/"].concat());
                } else {
                    if left_out.is_none() {
                        found.note_fake(tree, &path);
                    }
                    found.notices.push(Notice::at(
                        "embedded-repository",
                        &path,
                        "its .git is no repository: shown as plain files",
                    ));
                    below.push(Step::Enter {
                        folder: path,
                        ignored: left_out,
                    });
                }
            } else {
                if own {
                    let tag = if submodule.is_some() {
                        "submodule"
                    } else {
                        "embedded-repository"
                    };
                    found.notices.push(Notice::at(tag, &path, "a .git lies in a folder that is tracked: its files are compared all the same"));
                }
                below.push(Step::Enter {
                    folder: path,
                    ignored: left_out,
                });
            }
        }
        steps.push(Step::Leave { folder });
        steps.extend(below.into_iter().rev());
    }
    for path in &rules.skipped {
        found.notices.push(Notice::at(
            "ignore-rules",
            path,
            "its rules are too many to apply: what they name is shown",
        ));
    }
    for (by, count) in left_out_by {
        if let Ignored::By(file) = by {
            *found
                .ignored_by
                .entry(rules.files[file].clone())
                .or_default() += count;
        }
    }
    if let Some(index) = index {
        found.add_sparse(tree, &index.entries);
    }
    Ok(found)
}

impl Scan {
    fn leave_out(&mut self, path: Vec<u8>) {
        self.ignored += 1;
        if self.ignored_paths.len() < MAX_IGNORED_PATHS {
            self.ignored_paths.push(path);
        }
    }

    /// A mode that lets the owner read nothing goes with the file when it is restored.
    fn note_mode(&mut self, entry: &Entry, path: &[u8]) {
        let needed = match entry.kind {
            EntryKind::Symlink { .. } => return,
            EntryKind::File { .. } => 0o400,
            EntryKind::Directory => 0o500,
        };
        if entry.mode & needed != needed {
            self.unreadable.get_or_insert((0, path.to_vec())).0 += 1;
        }
    }

    /// A `.git` folder in the folder `path` that is no repository, and that git never looks into.
    fn note_fake(&mut self, tree: &WorkTree, path: &[u8]) {
        let dot_git = join(path, DOT_GIT);
        if !tree.is_folder(&dot_git) {
            return;
        }
        let mut pending = vec![dot_git.clone()];
        let mut count = 0;
        while let Some(folder) = pending.pop() {
            for entry in tree.children(&folder) {
                if entry.is_directory() {
                    pending.push(join(&folder, entry.name()));
                } else {
                    count += 1;
                }
            }
        }
        self.fakes.push((dot_git, count));
    }

    /// What skip-worktree leaves out of the working tree is not deleted.
    pub(crate) fn add_sparse(&mut self, tree: &WorkTree, entries: &[IndexEntry]) {
        for entry in entries {
            if !entry.skip_worktree || entry.stage != 0 || tree.entry(&entry.path).is_some() {
                continue;
            }
            let blocked = entry
                .path
                .iter()
                .enumerate()
                .filter(|(_, b)| **b == b'/')
                .any(|(at, _)| {
                    tree.entry(&entry.path[..at])
                        .is_some_and(|parent| !parent.is_directory())
                });
            if !blocked {
                self.sparse += 1;
                let found = Found {
                    mode: entry.mode,
                    body: Body::Index(entry.id),
                };
                self.files.insert(entry.path.clone(), found);
            }
        }
    }
}

/// Git's view of one entry that is no folder.
fn file(entry: &Entry) -> Found {
    match &entry.kind {
        EntryKind::Symlink { target } => Found {
            mode: 0o120_000,
            body: Body::Link(target.clone()),
        },
        EntryKind::File { offset, size } => Found {
            // Content, type and the owner's executable bit count, whatever core.fileMode says.
            mode: if entry.mode & 0o100 == 0 {
                0o100_644
            } else {
                0o100_755
            },
            body: Body::Spool {
                offset: *offset,
                size: *size,
            },
        },
        EntryKind::Directory => Found {
            mode: 0o040_000,
            body: Body::Link(Vec::new()),
        },
    }
}

/// Said where a nested checkout's `.git` is a file that leads out of the tree, or to nothing in it.
fn gitfile_outside(tree: &WorkTree, path: &[u8]) -> Result<Option<Notice>> {
    let dot_git = join(path, DOT_GIT);
    let Some(text) = tree.file(&dot_git, MAX_GITFILE)? else {
        return Ok(None);
    };
    let target = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii);
    let inside = target.and_then(|target| resolve(path, target));
    Ok(match inside.filter(|dir| tree.is_folder(dir)) {
        Some(_) => None,
        None => Some(Notice::at(
            "gitfile",
            &dot_git,
            "its .git is a file that leads to no folder of the checkout: it is not followed",
        )),
    })
}

/// The checkout in the folder `path`: its `.git` folder, or the one that its `.git` file names
/// inside the archive.
fn nested(tree: &WorkTree, path: &[u8]) -> Result<Nested> {
    let dot_git = join(path, DOT_GIT);
    let git_dir = if tree.is_folder(&dot_git) {
        Some(dot_git)
    } else {
        let text = tree.file(&dot_git, MAX_GITFILE)?.unwrap_or_default();
        text.strip_prefix(b"gitdir:")
            .map(<[u8]>::trim_ascii)
            .and_then(|target| resolve(path, target))
    };
    let valid = git_dir.filter(|dir| {
        tree.entry(&join(dir, b"HEAD")).is_some()
            && tree.is_folder(&join(dir, b"objects"))
            && tree.is_folder(&join(dir, b"refs"))
    });
    let Some(git_dir) = valid else {
        return Ok(Nested {
            git_dir: None,
            head: None,
        });
    };
    let head = match Refs::new(tree, &git_dir).head()? {
        Head::At { id, .. } => Some(id),
        _ => None,
    };
    Ok(Nested {
        git_dir: Some(git_dir),
        head,
    })
}
