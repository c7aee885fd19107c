//! Which lines the content pane comes to, for each of its views and for what stands in their place.
//! Words are wrapped to the pane here; lines that somebody wrote are left as they are.

use std::fmt::Write as _;

use super::{
    ContentPane, Failure, FileContent, FileNode, FileTree, Lines, NodeKind, Pane, State, View,
    info, toned_width,
};
use crate::review::{FileChange, Status};
use crate::text::{grouped, human_bytes, visible_bytes};
use crate::tui::action::Id;
use crate::tui::fit;
use crate::tui::message::Compared;
use crate::tui::theme::{Tone, Toned};

/// Something said in words.
pub(super) fn said(words: impl Into<String>) -> Toned {
    vec![(Tone::Dim, words.into())]
}

/// What a failure says, and what to do about it.
#[must_use]
pub fn failure_lines(failure: &Failure) -> Vec<Toned> {
    let mut lines = vec![vec![
        (Tone::Bad, "✖ ".into()),
        (Tone::Plain, failure.message.clone()),
    ]];
    if let Some(hint) = &failure.hint {
        lines.push(Vec::new());
        lines.push(vec![
            (Tone::Accent, "→ ".into()),
            (Tone::Plain, hint.clone()),
        ]);
    }
    lines
}

/// The lines that the content pane shows now.
#[must_use]
pub fn lines(state: &State) -> Lines<'_> {
    match unwrapped(state) {
        Lines::Made(lines) => {
            let width = usize::from(state.areas().body(Pane::Content).width);
            Lines::Made(
                lines
                    .into_iter()
                    .flat_map(|line| wrapped(line, width))
                    .collect(),
            )
        }
        lines => lines,
    }
}

/// A line of words in as many lines as it takes, indented below what comes after its first part.
pub(super) fn wrapped(line: Toned, width: usize) -> Vec<Toned> {
    if toned_width(&line) <= width {
        return vec![line];
    }
    let (first, rest) = line.split_at(usize::from(line.len() > 1));
    let indent = toned_width(&first.to_vec());
    let words: String = rest.iter().map(|(_, text)| text.as_str()).collect();
    // Where the tones change inside it the longest part's tone stands for all.
    let tone = rest
        .iter()
        .max_by_key(|(_, text)| text.len())
        .map_or(Tone::Plain, |part| part.0);
    let pieces = fit::wrap(&words, width.saturating_sub(indent).max(8)).into_iter();
    pieces
        .enumerate()
        .map(|(index, piece)| {
            let mut line = match index {
                0 => first.to_vec(),
                _ => vec![(Tone::Plain, " ".repeat(indent))],
            };
            line.push((tone, piece));
            line
        })
        .collect()
}

fn unwrapped(state: &State) -> Lines<'_> {
    let pane = &state.content;
    if pane.view == View::Info {
        return Lines::Info(info(state));
    }
    if pane.view == View::Transcript {
        return Lines::Made(vec![
            said("The transcript is not in this version yet."),
            Vec::new(),
            said(format!(
                "Its file is below native/ in the Files pane: {} shows it.",
                state.keymap.how(Id::ViewFile)
            )),
        ]);
    }
    if let Some(refusal) = &state.refusal {
        return Lines::Made(refusal_lines(state, &refusal.failure));
    }
    let Some(run) = &state.opened else {
        return Lines::Made(nothing_open(state));
    };
    match pane.view {
        View::Diff => diff_lines(state, &run.tree),
        _ => file_lines(pane),
    }
}

fn refusal_lines(state: &State, failure: &Failure) -> Vec<Toned> {
    let mut lines = failure_lines(failure);
    lines.push(Vec::new());
    let how = |id| state.keymap.how(id);
    lines.push(said(format!(
        "{} shows the run's row and how far its proof came.",
        how(Id::ViewInfo)
    )));
    if state.opened.is_some() {
        let back = how(Id::Back);
        lines.push(said(format!("{back} goes back to the run that is open.")));
    }
    lines
}

fn nothing_open(state: &State) -> Vec<Toned> {
    if state.opening.is_some() {
        return vec![said("Opening…")];
    }
    vec![
        vec![
            (Tone::Accent, state.keymap.how(Id::OpenRun)),
            (Tone::Plain, " opens the run under the cursor.".into()),
        ],
        Vec::new(),
        said("Its checkpoint is fetched, hashed and validated; nothing of it is written anywhere."),
    ]
}

fn file_lines(pane: &ContentPane) -> Lines<'_> {
    if let Some(failure) = &pane.file.failure {
        return Lines::Made(failure_lines(failure));
    }
    match &pane.file.value {
        Some(FileContent::Text(lines, more)) => Lines::Text(lines, *more, &pane.colours),
        Some(FileContent::Binary(bytes, more)) => Lines::Hex(bytes, *more),
        Some(FileContent::Words(words)) => Lines::Made(words.iter().map(said).collect()),
        None if pane.file.waiting => Lines::Made(vec![said("Reading…")]),
        None => Lines::Made(vec![said("Choose a file in the Files pane.")]),
    }
}

fn diff_lines<'a>(state: &'a State, tree: &FileTree) -> Lines<'a> {
    let pane = &state.content;
    let Some(run) = &state.opened else {
        return Lines::Made(Vec::new());
    };
    let comparison = &run.comparison;
    if let Some(failure) = &comparison.failure {
        let mut lines = failure_lines(failure);
        lines.push(Vec::new());
        lines.push(said(format!(
            "{} goes on to the next base; {} shows files without a comparison.",
            state.keymap.how(Id::Base),
            state.keymap.how(Id::ViewFile)
        )));
        return Lines::Made(lines);
    }
    let Some(compared) = &comparison.done else {
        return Lines::Made(vec![said("Comparing…")]);
    };
    let node = pane
        .path
        .as_deref()
        .and_then(|path| tree.find(path))
        .map(|node| &tree.nodes[node]);
    let change = node
        .and_then(|node| node.change)
        .and_then(|index| compared.files.get(index));
    match (node, change) {
        (Some(_), Some(_)) => match (&pane.patch.failure, &pane.patch.value) {
            (Some(failure), _) => Lines::Made(failure_lines(failure)),
            (None, Some(patch)) if side_by_side(state) => Lines::Sides(patch, &pane.sides),
            (None, Some(patch)) => Lines::Patch(patch),
            (None, None) => Lines::Made(vec![said("Reading the hunks…")]),
        },
        (Some(node), None) if !node.is_folder() => {
            let mut lines = vec![
                vec![(Tone::Strong, visible_bytes(&node.path))],
                said(unchanged(node, &compared.root, &compared.base)),
            ];
            if let NodeKind::AbsoluteLink(_) = node.kind {
                lines.push(said(
                    "A restore leaves it out: it leads to an absolute path.",
                ));
            }
            let file = state.keymap.how(Id::ViewFile);
            lines.push(said(format!("{file} shows its content.")));
            Lines::Made(lines)
        }
        _ => summary(state, compared),
    }
}

/// Why there is nothing to show of a file: it did not change, or it is not compared at all.
fn unchanged(node: &FileNode, root: &[u8], base: &str) -> String {
    let inside = node.path.strip_prefix(root);
    let inside = inside.and_then(|rest| rest.strip_prefix(b"/"));
    if node.ignored {
        "Left out by the checkout's ignore rules, so it is not compared.".into()
    } else if inside.is_some_and(|inside| {
        inside
            .split(|byte| *byte == b'/')
            .any(|part| part == b".git")
    }) {
        "One of git's own files, which are not compared.".into()
    } else if inside.is_some() {
        format!("No change against {base}.")
    } else {
        format!(
            "Outside {}, which is what is compared.",
            visible_bytes(root)
        )
    }
}

/// The whole diff as a list of files.
fn summary<'a>(state: &State, compared: &'a Compared) -> Lines<'a> {
    let width = usize::from(state.areas().body(Pane::Content).width);
    let how = |id| state.keymap.how(id);
    if compared.files.is_empty() {
        let nothing = format!("Nothing changed against {}.", compared.base);
        let mut lines = vec![vec![(Tone::Strong, nothing)]];
        if compared.ignored > 0 {
            lines.push(said(format!(
                "{} left out by ignore rules: {} shows them.",
                fit::count(compared.ignored, "file"),
                how(Id::ShowFiles)
            )));
        }
        return Lines::Made(lines);
    }
    let mut heading = fit::count(compared.files.len() as u64, "changed file");
    if compared.ignored > 0 {
        let _ = write!(heading, " · {} ignored", grouped(compared.ignored));
    }
    let hint = format!(
        "{} goes to the first of them, {} in Files to the one under the cursor.",
        how(Id::NextFile),
        how(Id::ToContent)
    );
    Lines::Summary(compared, heading, fit::wrap(&hint, width))
}

/// Whether old and new stand beside each other: asked for, and the pane is wide enough.
#[must_use]
pub fn side_by_side(state: &State) -> bool {
    let width = usize::from(state.areas().body(Pane::Content).width);
    state.content.side_by_side && width >= super::sides::WIDTH
}

/// A changed file's path, with the old one where it moved.
#[must_use]
pub fn change_title(file: &FileChange) -> String {
    let path = visible_bytes(&file.path);
    match &file.old_path {
        Some(old) if *old != file.path => format!("{} → {path}", visible_bytes(old)),
        _ => path,
    }
}

/// `+1 −3` of a changed file, or why there are no counts.
#[must_use]
pub fn counts(file: &FileChange) -> Toned {
    let mut line = Toned::new();
    if file.binary {
        line.push((Tone::Dim, "  binary".into()));
        return line;
    }
    match (file.additions, file.deletions) {
        (None, None) => line.push((Tone::Dim, "  lines not known".into())),
        (added, deleted) => {
            if let Some(added) = added.filter(|count| *count > 0) {
                line.push((Tone::Added, format!("  +{added}")));
            }
            if let Some(deleted) = deleted.filter(|count| *count > 0) {
                line.push((Tone::Removed, format!("  −{deleted}")));
            }
        }
    }
    line
}

/// The tone of a status letter; the letter itself carries the meaning.
#[must_use]
pub fn status_tone(status: Status) -> Tone {
    match status {
        Status::Added | Status::Untracked => Tone::Added,
        Status::Deleted => Tone::Removed,
        Status::Conflicted => Tone::Bad,
        _ => Tone::Changed,
    }
}

/// A size in both forms: `12.2 kB (12,156 B)`.
#[must_use]
pub fn both_sizes(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    format!("{} ({} B)", human_bytes(bytes), grouped(bytes))
}
