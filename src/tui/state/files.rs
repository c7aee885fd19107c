//! The Files pane: which folders are unfolded, which files are shown, and the rows that makes. Only
//! what is unfolded becomes rows, and only what is on the screen is drawn.

use std::collections::{HashMap, HashSet};

use super::tree::{FileNode, FileTree, ROOT};
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
    /// Whether `node` is one of them, or a folder above one.
    fn holds(self, node: &FileNode) -> bool {
        match self {
            Self::All => true,
            Self::Changed => node.changed > 0,
            Self::Ignored => node.ignored,
        }
    }

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
    /// Files that the filter found, of how many it was asked about.
    pub found: Option<(usize, usize)>,
    /// The filter that the rows were made for.
    sought: String,
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
        self.found = None;
        let typed = self.sought != self.text;
        self.sought.clone_from(&self.text);
        let Some(tree) = tree else {
            self.cursor = 0;
            return;
        };
        let hits = self.hits(tree);
        let matching = hits.as_ref().map(|hits| with_folders(tree, hits));
        let shown = |node: usize| {
            let found = matching.as_ref().is_none_or(|matching| matching[node]);
            found && self.show.holds(&tree.nodes[node])
        };
        if let Some(hits) = &hits {
            let files = (1..tree.nodes.len()).filter(|node| {
                let node = &tree.nodes[*node];
                !node.is_folder() && self.show.holds(node)
            });
            let (mut found, mut all) = (0, 0);
            for node in files {
                all += 1;
                found += usize::from(hits[node]);
            }
            self.found = Some((found, all));
        }
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
        let place = before.and_then(|path| self.place_of(tree, path));
        if let Some(hits) = &hits {
            let node = place.map(|at| self.rows[at].node);
            let kept = node.is_some_and(|node| {
                // A folder stays under the cursor only while nothing else is typed.
                !typed || (hits[node] && !tree.nodes[node].is_folder())
            });
            if !kept {
                self.cursor = self.first_hit(tree, hits);
                return;
            }
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

    /// Which nodes match the filter themselves; `None` without one.
    fn hits(&self, tree: &FileTree) -> Option<Vec<bool>> {
        if self.text.is_empty() {
            return None;
        }
        let mut fuzzy = Fuzzy::new(&self.text);
        let nodes = tree.nodes.iter().enumerate();
        let hits = nodes.map(|(index, node)| index != ROOT && fuzzy.is_in_bytes(&node.path));
        Some(hits.collect())
    }

    /// The row of what is most likely meant: a file sooner than the folders above it, a changed one
    /// first, what rules leave out late, and what git keeps for itself last.
    fn first_hit(&self, tree: &FileTree, hits: &[bool]) -> usize {
        let inside_git = |path: &[u8]| path.split(|byte| *byte == b'/').any(|part| part == b".git");
        let rank = |row: &FileRow| {
            let node = &tree.nodes[row.node];
            match (hits[row.node], node.is_folder()) {
                (false, _) => 5,
                (true, true) => 4,
                (true, false) if node.change.is_some() => 0,
                (true, false) if inside_git(&node.path) => 3,
                (true, false) => 1 + usize::from(node.ignored),
            }
        };
        let rows = self.rows.iter().enumerate();
        rows.min_by_key(|(_, row)| rank(row))
            .map_or(0, |best| best.0)
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

/// `hits` and the folders above them.
fn with_folders(tree: &FileTree, hits: &[bool]) -> Vec<bool> {
    let mut matching = vec![false; hits.len()];
    for (index, _) in hits.iter().enumerate().filter(|(_, hit)| **hit) {
        let mut at = index;
        while at != ROOT && !matching[at] {
            matching[at] = true;
            at = tree.nodes[at].parent;
        }
    }
    matching
}
