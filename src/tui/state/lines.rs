//! The lines that the content pane comes to. A line is text in tones, so that search, scrolling and
//! drawing all mean the same lines. Words are wrapped to the pane; lines that somebody wrote are not.

use std::fmt::Write as _;

use super::{
    ContentPane, Failure, FileContent, FileTree, NodeKind, Pane, Patch, PatchRow, State, View,
    info, toned_width,
};
use crate::review::{FileChange, LineKind, Status};
use crate::text::{grouped, human_bytes, visible_bytes};
use crate::tui::fit;
use crate::tui::message::Compared;
use crate::tui::theme::{Tone, Toned};

/// The lines of the pane, borrowed where they are long.
pub enum Lines<'a> {
    /// A patch.
    Patch(&'a Patch),
    /// Text.
    Text(&'a [String], bool),
    /// Bytes.
    Hex(&'a [u8], bool),
    /// The whole diff as a list of files, under a heading and above a hint.
    Summary(&'a Compared, String, Vec<String>),
    /// Made for this once.
    Made(Vec<Toned>),
}

const HEX_WIDTH: usize = 16;

impl Lines<'_> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Patch(patch) => patch.rows.len() + 1,
            Self::Text(lines, more) => lines.len() + usize::from(*more),
            Self::Hex(bytes, more) => bytes.len().div_ceil(HEX_WIDTH) + usize::from(*more),
            Self::Summary(compared, _, hint) => compared.files.len() + 2 + hint.len(),
            Self::Made(lines) => lines.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The line at `index`.
    #[must_use]
    pub fn line(&self, index: usize) -> Toned {
        const CUT: &str = "… only the first 1 MiB is shown; `afterrun cat` prints all of it";
        let cut = || vec![(Tone::Dim, CUT.to_owned())];
        match self {
            Self::Patch(patch) => match index.checked_sub(1) {
                None => vec![(Tone::Strong, patch.title.clone())],
                Some(row) => patch
                    .rows
                    .get(row)
                    .map_or_else(Vec::new, |row| patch_line(row, patch.digits)),
            },
            Self::Text(lines, more) => match lines.get(index) {
                Some(line) => {
                    let digits = lines.len().to_string().len();
                    vec![
                        (Tone::Dim, format!("{:>digits$} ", index + 1)),
                        (Tone::Plain, line.clone()),
                    ]
                }
                None if *more => cut(),
                None => Vec::new(),
            },
            Self::Hex(bytes, more) => match bytes.chunks(HEX_WIDTH).nth(index) {
                Some(chunk) => hex_line(index * HEX_WIDTH, chunk),
                None if *more => cut(),
                None => Vec::new(),
            },
            Self::Summary(compared, heading, hint) => match index.checked_sub(1) {
                None => vec![(Tone::Strong, heading.clone())],
                Some(file) => match compared.files.get(file) {
                    Some(file) => summary_line(file),
                    // After an empty line.
                    None => (file - compared.files.len())
                        .checked_sub(1)
                        .and_then(|line| hint.get(line))
                        .map_or_else(Toned::new, said),
                },
            },
            Self::Made(lines) => lines.get(index).cloned().unwrap_or_default(),
        }
    }

    /// The line at `index` as plain text.
    #[must_use]
    pub fn text(&self, index: usize) -> String {
        self.line(index).into_iter().map(|(_, text)| text).collect()
    }
}

fn patch_line(row: &PatchRow, digits: usize) -> Toned {
    match row {
        PatchRow::Hunk(header) => vec![(Tone::Hunk, header.clone())],
        PatchRow::Words(words) => vec![(Tone::Dim, words.clone())],
        PatchRow::Line {
            kind,
            old,
            new,
            text,
        } => {
            let number = |number: &Option<u32>| match number {
                Some(number) => format!("{number:>digits$}"),
                None => " ".repeat(digits),
            };
            let (tone, sign) = match kind {
                LineKind::Context => (Tone::Plain, ' '),
                LineKind::Added => (Tone::Added, '+'),
                LineKind::Deleted => (Tone::Removed, '-'),
            };
            vec![
                (Tone::Dim, format!("{} {} ", number(old), number(new))),
                (tone, format!("{sign} {text}")),
            ]
        }
    }
}

fn hex_line(offset: usize, chunk: &[u8]) -> Toned {
    let mut hex = String::new();
    for (index, byte) in chunk.iter().enumerate() {
        let _ = write!(hex, "{byte:02x}{}", if index == 7 { "  " } else { " " });
    }
    let text: String = chunk
        .iter()
        .map(|byte| {
            if (0x20..0x7f).contains(byte) {
                char::from(*byte)
            } else {
                '.'
            }
        })
        .collect();
    vec![
        (Tone::Dim, format!("{offset:08x}  ")),
        (Tone::Plain, format!("{hex:<50}")),
        (Tone::Dim, format!(" {text}")),
    ]
}

fn said(words: impl Into<String>) -> Toned {
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
fn wrapped(line: Toned, width: usize) -> Vec<Toned> {
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
        return Lines::Made(info(state));
    }
    if pane.view == View::Transcript {
        return Lines::Made(vec![
            said("The transcript is not in this version yet."),
            Vec::new(),
            said("Its file is below native/ in the Files pane: f shows it."),
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
    lines.push(said("i shows the run's row and how far its proof came."));
    if state.opened.is_some() {
        lines.push(said("esc goes back to the run that is open."));
    }
    lines
}

fn nothing_open(state: &State) -> Vec<Toned> {
    if state.opening.is_some() {
        return vec![said("Opening…")];
    }
    vec![
        vec![
            (Tone::Accent, "enter".into()),
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
        Some(FileContent::Text(lines, more)) => Lines::Text(lines, *more),
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
        lines.push(said(
            "b goes on to the next base; f shows files without a comparison.",
        ));
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
            (None, Some(patch)) => Lines::Patch(patch),
            (None, None) => Lines::Made(vec![said("Reading the hunks…")]),
        },
        (Some(node), None) if !node.is_folder() => {
            let mut lines = vec![
                vec![(Tone::Strong, visible_bytes(&node.path))],
                said(unchanged(&node.path, &compared.root, &compared.base)),
            ];
            if let NodeKind::AbsoluteLink(_) = node.kind {
                lines.push(said(
                    "A restore leaves it out: it leads to an absolute path.",
                ));
            }
            lines.push(said("f shows its content."));
            Lines::Made(lines)
        }
        _ => summary(
            compared,
            usize::from(state.areas().body(Pane::Content).width),
        ),
    }
}

fn unchanged(path: &[u8], root: &[u8], base: &str) -> String {
    let inside = path
        .strip_prefix(root)
        .is_some_and(|rest| rest.first() == Some(&b'/'));
    if inside {
        format!("No change against {base}.")
    } else {
        format!(
            "Outside {}, which is what is compared.",
            visible_bytes(root)
        )
    }
}

/// The whole diff as a list of files.
fn summary(compared: &Compared, width: usize) -> Lines<'_> {
    if compared.files.is_empty() {
        let nothing = format!("Nothing changed against {}.", compared.base);
        let mut lines = vec![vec![(Tone::Strong, nothing)]];
        if compared.ignored > 0 {
            lines.push(said(format!(
                "{} left out by ignore rules: x shows them.",
                fit::count(compared.ignored, "file")
            )));
        }
        return Lines::Made(lines);
    }
    let mut heading = fit::count(compared.files.len() as u64, "changed file");
    if compared.ignored > 0 {
        let _ = write!(heading, " · {} ignored", grouped(compared.ignored));
    }
    let hint = "} goes to the first of them, enter in Files to the one under the cursor.";
    Lines::Summary(compared, heading, fit::wrap(hint, width))
}

fn summary_line(file: &FileChange) -> Toned {
    let mut line = vec![
        (
            status_tone(file.status),
            format!("{} ", file.status.letter()),
        ),
        (Tone::Plain, change_title(file)),
    ];
    line.extend(counts(file));
    line
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
