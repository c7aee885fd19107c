//! Rows of a tree through `tui-tree-widget`. The widget flattens everything it is given on every
//! frame, so it is given the window that is on the screen and nothing else; folders above the window
//! are stood in for by items without height, which only carry the depth.

use std::iter::Peekable;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Text};
use ratatui::widgets::StatefulWidget;
use tui_tree_widget::{Tree, TreeItem, TreeState};

/// Deeper rows are drawn at this depth: their indent would leave no room for a name.
const DEEPEST: usize = 24;

/// One row of the window.
#[derive(Debug)]
pub struct TreeRow {
    /// How deep.
    pub depth: usize,
    /// What it says, its fold sign included.
    pub line: Line<'static>,
}

/// Draws the window `rows` with `cursor` (an index in it) highlighted.
pub fn draw(
    rows: Vec<TreeRow>,
    cursor: Option<usize>,
    highlight: Style,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut state = TreeState::default();
    let mut path = Vec::new();
    let mut chosen = Vec::new();
    let mut rows = rows.into_iter().enumerate().peekable();
    let items = nest(&mut rows, 0, &mut path, &mut state, cursor, &mut chosen);
    state.select(chosen);
    // Identifiers are indices, so they cannot be the same twice.
    let Ok(tree) = Tree::new(&items) else { return };
    let tree = tree
        .highlight_style(highlight)
        .node_open_symbol("")
        .node_closed_symbol("")
        .node_no_children_symbol("");
    tree.render(area, buffer, &mut state);
}

fn nest(
    rows: &mut Peekable<impl Iterator<Item = (usize, TreeRow)>>,
    depth: usize,
    path: &mut Vec<usize>,
    state: &mut TreeState<usize>,
    cursor: Option<usize>,
    chosen: &mut Vec<usize>,
) -> Vec<TreeItem<'static, usize>> {
    let mut items = Vec::new();
    while let Some((_, next)) = rows.peek() {
        let at = next.depth.min(DEEPEST);
        if at < depth {
            break;
        }
        let (id, text) = if at > depth {
            (usize::MAX - depth, Text::default())
        } else if let Some((index, row)) = rows.next() {
            (index, Text::from(row.line))
        } else {
            break;
        };
        path.push(id);
        if cursor == Some(id) {
            chosen.clone_from(path);
        }
        let children = nest(rows, depth + 1, path, state, cursor, chosen);
        if !children.is_empty() {
            state.open(path.clone());
        }
        path.pop();
        if let Ok(item) = TreeItem::new(id, text, children) {
            items.push(item);
        }
    }
    items
}
