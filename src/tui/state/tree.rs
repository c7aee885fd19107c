//! The tree that a restore would write, with what changed marked on it. Made off the event loop from
//! the archive's entries, once when a run is verified and once more when its diff is there.

use std::collections::HashMap;

use crate::archive::{Entry, EntryKind};
use crate::review::{FileChange, Notice};

/// The node above both roots.
pub const ROOT: usize = 0;

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A directory.
    Directory,
    /// A file of so many bytes.
    File(u64),
    /// A link to somewhere inside.
    Link(Vec<u8>),
    /// A link to an absolute path, which a restore leaves out.
    AbsoluteLink(Vec<u8>),
    /// Not in the archive: the diff says that it is gone.
    Gone,
}

/// One file, folder or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNode {
    /// Path bytes, as the archive has them.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: NodeKind,
    /// Permission bits.
    pub mode: u32,
    /// The folder it is in.
    pub parent: usize,
    /// What is in it, folders first, then by name.
    pub children: Vec<usize>,
    /// Index in the diff's files.
    pub change: Option<usize>,
    /// Changed files at and below it.
    pub changed: usize,
    /// Files and links at and below it.
    pub files: usize,
    /// Notices about it and what is below it.
    pub notices: usize,
    /// Tag of the first notice about it.
    pub notice: Option<&'static str>,
    /// Whether ignore rules leave it out, or something below it.
    pub ignored: bool,
}

impl FileNode {
    /// The last part of its path.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        let cut = self.path.iter().rposition(|b| *b == b'/');
        cut.map_or(&self.path[..], |cut| &self.path[cut + 1..])
    }

    /// Whether it can be unfolded.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        // What a file took the place of can have been a folder.
        self.kind == NodeKind::Directory || !self.children.is_empty()
    }
}

/// The whole tree.
#[derive(Clone, Debug, Default)]
pub struct FileTree {
    /// Nodes; the first is above both roots.
    pub nodes: Vec<FileNode>,
    /// Entries of the archive.
    pub entries: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// Links that a restore leaves out.
    pub left_out: u64,
    by_path: HashMap<Vec<u8>, usize>,
}

/// What a diff marks on the tree.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    /// The compared folder.
    pub root: &'a [u8],
    /// Changed files, below it.
    pub files: &'a [FileChange],
    /// Files left out by ignore rules, below it.
    pub ignored: &'a [Vec<u8>],
    /// What was noticed, with paths below it or in the archive.
    pub notices: &'a [Notice],
}

impl FileTree {
    /// The tree of `entries`, with `marks` where there is a diff.
    #[must_use]
    pub fn build(entries: &[Entry], marks: Option<Marks<'_>>) -> Self {
        let mut tree = Self::default();
        tree.nodes.push(FileNode {
            path: Vec::new(),
            kind: NodeKind::Directory,
            mode: 0,
            parent: ROOT,
            children: Vec::new(),
            change: None,
            changed: 0,
            files: 0,
            notices: 0,
            notice: None,
            ignored: false,
        });
        tree.by_path.insert(Vec::new(), ROOT);
        for entry in entries {
            tree.entries += 1;
            tree.bytes += entry.size();
            let kind = match &entry.kind {
                EntryKind::Directory => NodeKind::Directory,
                EntryKind::File { size, .. } => NodeKind::File(*size),
                EntryKind::Symlink { target } if entry.is_absolute_link() => {
                    tree.left_out += 1;
                    NodeKind::AbsoluteLink(target.clone())
                }
                EntryKind::Symlink { target } => NodeKind::Link(target.clone()),
            };
            let node = tree.node(&entry.path, &kind);
            tree.nodes[node].kind = kind;
            tree.nodes[node].mode = entry.mode;
        }
        if let Some(marks) = marks {
            tree.mark(marks);
        }
        tree.count();
        tree.sort();
        tree
    }

    /// The node at `path`, made as `kind` when it is not there, its folders too.
    fn node(&mut self, path: &[u8], kind: &NodeKind) -> usize {
        if let Some(node) = self.by_path.get(path) {
            return *node;
        }
        // Not by recursion: a hostile path is thousands of levels deep.
        let mut parent = ROOT;
        let mut starts: Vec<usize> = path
            .iter()
            .enumerate()
            .filter_map(|(at, byte)| (*byte == b'/').then_some(at))
            .collect();
        starts.push(path.len());
        for (index, end) in starts.iter().enumerate() {
            let part = &path[..*end];
            if let Some(node) = self.by_path.get(part) {
                parent = *node;
                continue;
            }
            let last = index + 1 == starts.len();
            let node = self.nodes.len();
            self.nodes.push(FileNode {
                path: part.to_vec(),
                kind: if last {
                    kind.clone()
                } else {
                    NodeKind::Directory
                },
                mode: 0,
                parent,
                children: Vec::new(),
                change: None,
                changed: 0,
                files: 0,
                notices: 0,
                notice: None,
                ignored: false,
            });
            self.nodes[parent].children.push(node);
            self.by_path.insert(part.to_vec(), node);
            parent = node;
        }
        parent
    }

    fn mark(&mut self, marks: Marks<'_>) {
        let full = |path: &[u8]| {
            let mut full = marks.root.to_vec();
            full.push(b'/');
            full.extend_from_slice(path.strip_suffix(b"/").unwrap_or(path));
            full
        };
        for (index, file) in marks.files.iter().enumerate() {
            let mut node = self.node(&full(&file.path), &NodeKind::Gone);
            if self.nodes[node].change.is_none() {
                self.nodes[node].change = Some(index);
            }
            while node != ROOT {
                self.nodes[node].changed += 1;
                node = self.nodes[node].parent;
            }
        }
        for path in marks.ignored {
            let Some(mut node) = self.by_path.get(&full(path)).copied() else {
                continue;
            };
            while node != ROOT && !self.nodes[node].ignored {
                self.nodes[node].ignored = true;
                node = self.nodes[node].parent;
            }
        }
        for notice in marks.notices {
            let path = notice.path.as_deref();
            let Some(mut node) = path.and_then(|path| {
                let inside = self.by_path.get(&full(path));
                inside.or_else(|| self.by_path.get(path)).copied()
            }) else {
                continue;
            };
            self.nodes[node].notice.get_or_insert(notice.tag);
            while node != ROOT {
                self.nodes[node].notices += 1;
                node = self.nodes[node].parent;
            }
        }
    }

    /// Files below each folder. A folder is always made before what is in it.
    fn count(&mut self) {
        for node in (1..self.nodes.len()).rev() {
            if !matches!(self.nodes[node].kind, NodeKind::Directory | NodeKind::Gone) {
                self.nodes[node].files += 1;
            }
            let (parent, files) = (self.nodes[node].parent, self.nodes[node].files);
            self.nodes[parent].files += files;
        }
    }

    fn sort(&mut self) {
        for node in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[node].children);
            // `workspace` before `native`: what the agent worked on comes first.
            children.sort_by(|a, b| {
                let (a, b) = (&self.nodes[*a], &self.nodes[*b]);
                if node == ROOT {
                    return b.path.cmp(&a.path);
                }
                (!a.is_folder(), a.name()).cmp(&(!b.is_folder(), b.name()))
            });
            self.nodes[node].children = children;
        }
    }

    /// The node at exactly this path.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<usize> {
        self.by_path.get(path).copied()
    }
}
