//! The Files pane: which folders are unfolded, which files are shown, and the rows that makes. Only
//! what is unfolded becomes rows, and only what is on the screen is drawn.

use std::collections::{HashMap, HashSet};

use super::tree::{FileTree, ROOT};
use crate::tui::fuzzy::Fuzzy;

/// More changed files than this are not unfolded at once.
const UNFOLD_AT_MOST: usize = 1000;

/// Which files are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// All of them.
    #[default]
    All,
    /// The changed ones.
    Changed,
    /// Those that ignore rules leave out of the diff.
    Ignored,
}

impl Show {
    /// In a word, for the pane's title.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Changed => "changed",
            Self::Ignored => "ignored",
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Its node in the tree.
    pub node: usize,
    /// How deep.
    pub depth: usize,
    /// Whether it is an unfolded folder.
    pub open: bool,
}

/// The pane.
#[derive(Debug, Default)]
pub struct FilesPane {
    /// Which files are shown.
    pub show: Show,
    /// Only files whose path matches this.
    pub text: String,
    /// Unfolded folders.
    pub open: HashSet<Vec<u8>>,
    /// The rows.
    pub rows: Vec<FileRow>,
    /// The row under the cursor.
    pub cursor: usize,
    /// The first row on the screen.
    pub top: usize,
    /// Files and folders marked: a restore writes only them. They are the open run's.
    pub marked: HashSet<Vec<u8>>,
    /// Changed files ticked off, by run.
    pub viewed: HashMap<String, HashSet<Vec<u8>>>,
    /// Whether the cursor was moved since the run was opened.
    pub touched: bool,
}

impl FilesPane {
    /// The node under the cursor.
    #[must_use]
    pub fn selected(&self) -> Option<usize> {
        self.rows.get(self.cursor).map(|row| row.node)
    }

    /// Makes the rows anew and keeps the cursor on `before`, or on the nearest folder above it.
    pub fn rebuild(&mut self, tree: Option<&FileTree>, before: Option<&[u8]>) {
        self.rows.clear();
        let Some(tree) = tree else {
            self.cursor = 0;
            return;
        };
        let matching = self.matching(tree);
        let shown = |node: usize| {
            let found = matching.as_ref().is_none_or(|matching| matching[node]);
            let node = &tree.nodes[node];
            found
                && match self.show {
                    Show::All => true,
                    Show::Changed => node.changed > 0,
                    Show::Ignored => node.ignored,
                }
        };
        let mut stack: Vec<(usize, usize)> = vec![];
        stack.extend(
            tree.nodes[ROOT]
                .children
                .iter()
                .rev()
                .map(|node| (*node, 0)),
        );
        while let Some((node, depth)) = stack.pop() {
            if !shown(node) {
                continue;
            }
            let folder = &tree.nodes[node];
            // A filter unfolds what it finds.
            let open =
                folder.is_folder() && (matching.is_some() || self.open.contains(&folder.path));
            self.rows.push(FileRow { node, depth, open });
            if open {
                stack.extend(
                    folder
                        .children
                        .iter()
                        .rev()
                        .map(|child| (*child, depth + 1)),
                );
            }
        }
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
        let kept = before.is_some_and(|path| self.place_of(tree, path).is_some());
        if matching.is_some() && !kept {
            // What a filter finds is a file sooner than the folders above it.
            let is_file = |row: &FileRow| !tree.nodes[row.node].is_folder();
            self.cursor = self.rows.iter().position(is_file).unwrap_or(0);
            return;
        }
        let mut path = before;
        while let Some(wanted) = path.filter(|path| !path.is_empty()) {
            if let Some(at) = self.place_of(tree, wanted) {
                self.cursor = at;
                break;
            }
            path = wanted
                .iter()
                .rposition(|b| *b == b'/')
                .map(|cut| &wanted[..cut]);
        }
    }

    fn matching(&self, tree: &FileTree) -> Option<Vec<bool>> {
        if self.text.is_empty() {
            return None;
        }
        let mut fuzzy = Fuzzy::new(&self.text);
        let mut matching = vec![false; tree.nodes.len()];
        for (index, node) in tree.nodes.iter().enumerate().skip(1) {
            if !matching[index] && fuzzy.is_in_bytes(&node.path) {
                let mut at = index;
                while at != ROOT && !matching[at] {
                    matching[at] = true;
                    at = tree.nodes[at].parent;
                }
            }
        }
        Some(matching)
    }

    /// Where the row of `path` stands.
    #[must_use]
    pub fn place_of(&self, tree: &FileTree, path: &[u8]) -> Option<usize> {
        let node = tree.find(path)?;
        self.rows.iter().position(|row| row.node == node)
    }

    /// Unfolds the way to every changed file; to both roots when nothing changed.
    pub fn unfold_changed(&mut self, tree: &FileTree) {
        for node in &tree.nodes[ROOT].children {
            if tree.nodes[*node].path == b"workspace" {
                self.open.insert(tree.nodes[*node].path.clone());
            }
        }
        let changed = tree.nodes.iter().filter(|node| node.change.is_some());
        for node in changed.take(UNFOLD_AT_MOST) {
            let mut at = node.parent;
            while at != ROOT && self.open.insert(tree.nodes[at].path.clone()) {
                at = tree.nodes[at].parent;
            }
        }
    }

    /// Unfolds the way to `path`.
    pub fn unfold_to(&mut self, path: &[u8]) {
        for (at, byte) in path.iter().enumerate() {
            if *byte == b'/' {
                self.open.insert(path[..at].to_vec());
            }
        }
    }
}
