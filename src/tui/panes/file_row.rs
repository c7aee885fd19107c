//! One row of the Files pane: status letter, name, what a link leads to, notices; at its right edge
//! what changed, the mode and the size, as far as there is room.

use super::files::Shown;
use crate::review::FileChange;
use crate::text::{grouped, human_bytes, visible_bytes};
use crate::tui::fit;
use crate::tui::state::{FileNode, FileRow, NodeKind, counts, status_tone, toned_width};
use crate::tui::theme::{Tone, Toned};

/// Columns that a name keeps before anything at the right edge is left out.
const NAME: usize = 14;

/// The row in `width` columns.
pub(super) fn line(shown: &mut Shown<'_>, row: &FileRow, width: usize) -> Toned {
    let node = &shown.tree.nodes[row.node];
    let change = node
        .change
        .and_then(|index| shown.compared?.files.get(index));
    let viewed = change.is_some() && shown.viewed(&node.path);
    let mut left = sign(node, row, change, shown.marked(&node.path));
    name(&mut left, shown, node, change, viewed);
    if viewed {
        left.push((Tone::Good, " ✓".into()));
    }
    beside(&mut left, node, change, row.open);
    let rights = at_edge(node, change, row.open);
    // The name and what is said beside it come before mode and size; counts before a long name.
    let left_width = toned_width(&left);
    let room = |right: &Toned| width.saturating_sub(toned_width(right) + 1);
    let whole = rights
        .iter()
        .position(|right| right.is_empty() || left_width <= room(right));
    let counts = rights
        .iter()
        .rposition(|right| !right.is_empty() && room(right) >= NAME);
    let at = match (whole, counts) {
        (Some(whole), Some(counts)) => whole.min(counts),
        (whole, counts) => whole.or(counts).unwrap_or(0),
    };
    let right = rights.into_iter().nth(at).unwrap_or_default();
    if right.is_empty() {
        return clipped(left, width);
    }
    let room = width - toned_width(&right) - 1;
    let mut line = clipped(left, room);
    let gap = width.saturating_sub(toned_width(&line) + toned_width(&right));
    line.push((Tone::Plain, " ".repeat(gap)));
    line.extend(right);
    line
}

/// Fold sign or status letter, and whether the row is marked: always two columns.
fn sign(node: &FileNode, row: &FileRow, change: Option<&FileChange>, marked: bool) -> Toned {
    let (tone, letter) = match change {
        _ if node.is_folder() => (Tone::Plain, if row.open { '▾' } else { '▸' }),
        Some(change) => (status_tone(change.status), change.status.letter()),
        None => (Tone::Plain, ' '),
    };
    if marked {
        vec![(tone, letter.to_string()), (Tone::Accent, "*".into())]
    } else {
        vec![(tone, format!("{letter} "))]
    }
}

/// The name, with the letters that a filter found.
fn name(
    left: &mut Toned,
    shown: &mut Shown<'_>,
    node: &FileNode,
    change: Option<&FileChange>,
    viewed: bool,
) {
    if node.is_folder() {
        if let Some(change) = change {
            left.push((
                status_tone(change.status),
                format!("{} ", change.status.letter()),
            ));
        }
        let end = if change.is_some() { "/" } else { "" };
        return found(left, shown, node, Tone::Strong, end);
    }
    let tone = match change {
        Some(_) if viewed => Tone::Dim,
        Some(change) => status_tone(change.status),
        None if node.ignored => Tone::Dim,
        None => Tone::Plain,
    };
    found(left, shown, node, tone, "");
}

fn found(left: &mut Toned, shown: &mut Shown<'_>, node: &FileNode, tone: Tone, end: &str) {
    let text = visible_bytes(node.name());
    let letters = shown.letters(&node.path);
    for (at, letter) in text.chars().enumerate() {
        let tone = if letters.contains(&at) {
            Tone::Match
        } else {
            tone
        };
        match left.last_mut() {
            // The first part is the sign's own.
            Some((last, text)) if *last == tone && at > 0 => text.push(letter),
            _ => left.push((tone, letter.to_string())),
        }
    }
    left.push((tone, end.to_owned()));
}

/// What stands after the name: where it came from, where it leads, what was noticed.
fn beside(left: &mut Toned, node: &FileNode, change: Option<&FileChange>, open: bool) {
    match node.notice {
        Some(tag) => left.push((Tone::Warn, format!(" ! {tag}"))),
        None if node.notices > 0 && node.is_folder() && !open => {
            left.push((Tone::Warn, " !".into()));
        }
        None => {}
    }
    if let Some(old) = change.and_then(|change| change.old_path.as_ref()) {
        left.push((Tone::Dim, format!(" ← {}", visible_bytes(old))));
    }
    match &node.kind {
        NodeKind::Link(target) => {
            left.push((Tone::Dim, format!(" → {}", visible_bytes(target))));
        }
        NodeKind::AbsoluteLink(target) => {
            // The mark first: a long target is clipped.
            left.push((Tone::Warn, " (left out)".into()));
            left.push((Tone::Dim, format!(" → {}", visible_bytes(target))));
        }
        _ => {}
    }
    if node.ignored && change.is_none() && !node.is_folder() {
        left.push((Tone::Dim, " (ignored)".into()));
    }
}

/// What may stand at the right edge, the fullest first.
fn at_edge(node: &FileNode, change: Option<&FileChange>, open: bool) -> Vec<Toned> {
    if node.is_folder() {
        let mut changed = Toned::new();
        if node.changed > 0 && change.is_none() {
            let tone = if open { Tone::Dim } else { Tone::Changed };
            changed.push((tone, format!("{} changed", grouped(node.changed as u64))));
        }
        let mut all = changed.clone();
        // What is gone changed too, and is no file any more.
        if node.files >= node.changed {
            let between = if all.is_empty() { "" } else { " of " };
            let files = fit::count(node.files as u64, "file");
            all.push((Tone::Dim, format!("{between}{files}")));
        }
        return vec![all, changed, Toned::new()];
    }
    let counted = change.map(counts).unwrap_or_default();
    let size = match node.kind {
        NodeKind::File(size) => Some(human_bytes(size)),
        _ => None,
    };
    let mode = match node.kind {
        NodeKind::File(_) => Some(format!("{:04o}", node.mode & 0o7777)),
        _ => None,
    };
    let with = |parts: [Option<String>; 2]| {
        let mut line = counted.clone();
        for part in parts.into_iter().flatten() {
            line.push((Tone::Dim, format!(" {part:>8}")));
        }
        line
    };
    let mut forms = vec![
        with([mode, size.clone()]),
        with([size, None]),
        with([None, None]),
    ];
    if !counted.is_empty() {
        // Counts stay whatever else must go.
        forms.push(counted);
    }
    forms.push(Toned::new());
    forms
}

/// Clips what is said beside the name first (targets, old paths), then the name; marks stay.
fn clipped(mut line: Toned, width: usize) -> Toned {
    let over = |line: &Toned| toned_width(line).saturating_sub(width);
    for part in (1..line.len()).rev() {
        let missing = over(&line);
        let (tone, text) = &mut line[part];
        if missing == 0 || !matches!(tone, Tone::Dim | Tone::Warn) || !text.starts_with(' ') {
            continue;
        }
        let room = fit::columns(text).saturating_sub(missing);
        *text = match tone {
            // What was noticed keeps its sign; half a tag says nothing.
            Tone::Warn if text.starts_with(" !") => " !".into(),
            _ if room < 5 => String::new(),
            _ => fit::clip(text, room),
        };
    }
    if over(&line) == 0 {
        return line;
    }
    // The name may be in several parts: as much of it as what is left at its end allows.
    let kept = |part: &(Tone, String)| part.0 == Tone::Warn;
    let end: usize = line
        .iter()
        .skip(1)
        .filter(|part| kept(part))
        .map(columns)
        .sum();
    let room = width.saturating_sub(end + columns(&line[0]));
    let name = line.iter().skip(1).filter(|part| !kept(part));
    let name: String = name.map(|part| part.1.as_str()).collect();
    let clipped = fit::clip(&name, room);
    let mut letters = clipped.chars();
    for part in line.iter_mut().skip(1).filter(|part| !kept(part)) {
        let length = part.1.chars().count();
        part.1 = letters.by_ref().take(length).collect();
    }
    line
}

fn columns(part: &(Tone, String)) -> usize {
    fit::columns(&part.1)
}
