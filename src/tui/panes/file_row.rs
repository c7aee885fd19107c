//! One row of the Files pane: status letter, name, what a link leads to, notices; at its right edge
//! what the [`Columns`] hold, or what is below a folder.

use super::file_columns::Columns;
use super::files::Shown;
use crate::review::FileChange;
use crate::text::{grouped, visible_bytes};
use crate::tui::fit;
use crate::tui::state::{FileNode, FileRow, NodeKind, status_tone, toned_width};
use crate::tui::theme::{Tone, Toned};

/// Columns that sign, name and gap keep in a row that is deeper than the columns were made for.
const LEAST: usize = 9;

/// The row in `width` columns.
pub(super) fn line(shown: &mut Shown<'_>, row: &FileRow, columns: &Columns, width: usize) -> Toned {
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
    let right = if node.is_folder() {
        let room = width.saturating_sub(toned_width(&left) + 1);
        let forms = folder(node, change, row.open);
        let fits = |form: &Toned| toned_width(form) <= room;
        forms.into_iter().find(fits).unwrap_or_default()
    } else {
        columns.file(node, change, width.saturating_sub(LEAST))
    };
    if right.is_empty() {
        return clipped(left, width);
    }
    let room = width.saturating_sub(toned_width(&right) + 1);
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

/// What is below a folder, the fullest form first.
fn folder(node: &FileNode, change: Option<&FileChange>, open: bool) -> Vec<Toned> {
    let mut forms = Vec::new();
    let tone = if open { Tone::Dim } else { Tone::Changed };
    let changed = (node.changed > 0 && change.is_none()).then(|| grouped(node.changed as u64));
    // What is gone changed too, and is no file any more.
    if node.files >= node.changed {
        let files = fit::count(node.files as u64, "file");
        forms.push(match &changed {
            Some(changed) => vec![
                (tone, format!("{changed} changed")),
                (Tone::Dim, format!(" of {files}")),
            ],
            None => vec![(Tone::Dim, files)],
        });
    }
    if let Some(changed) = changed {
        forms.push(vec![(tone, format!("{changed} changed"))]);
        forms.push(vec![(tone, format!("{changed} ch."))]);
    }
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
            Tone::Warn => " !".into(),
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
        .map(part_columns)
        .sum();
    let room = width.saturating_sub(end + part_columns(&line[0]));
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

fn part_columns(part: &(Tone, String)) -> usize {
    fit::columns(&part.1)
}
