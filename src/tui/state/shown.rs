//! A line of the content pane: what stays at its left, and text in tones. Search, scrolling and drawing
//! all mean the same lines, which are borrowed where they are long.

use std::borrow::Cow;

use super::content::{Patch, PatchRow, Runs};
use super::fold::{Block, Info};
use super::lines::{change_title, counts, said, status_tone};
use super::rows::Piece;
use super::sides::SideRow;
use crate::review::{FileChange, LineKind};
use crate::text::grouped;
use crate::tui::message::Compared;
use crate::tui::theme::{Tone, Toned};

/// Bytes in a line of hex.
const HEX_WIDTH: usize = 16;

/// One line.
#[derive(Debug, Default)]
pub struct Line<'a> {
    /// Numbers and signs, which stay where they are when the rest goes sideways.
    pub gutter: Toned,
    /// What it says.
    pub body: Vec<Piece<'a>>,
    /// The new side, where it stands beside the old one.
    pub beside: Option<Box<Line<'a>>>,
}

impl<'a> Line<'a> {
    fn of(tone: Tone, text: impl Into<Cow<'a, str>>) -> Self {
        Self::made(vec![(tone, text.into())])
    }

    fn made(body: Vec<Piece<'a>>) -> Self {
        Self {
            body,
            ..Self::default()
        }
    }

    fn toned(line: Toned) -> Self {
        let pieces = line.into_iter();
        Self::made(pieces.map(|(tone, text)| (tone, text.into())).collect())
    }

    fn borrowed(line: &'a Toned) -> Self {
        let pieces = line.iter();
        Self::made(
            pieces
                .map(|(tone, text)| (*tone, text.as_str().into()))
                .collect(),
        )
    }
}

/// The lines of the pane, borrowed where they are long.
#[derive(Debug)]
pub enum Lines<'a> {
    /// A patch.
    Patch(&'a Patch),
    /// A patch, old and new beside each other.
    Sides(&'a Patch, &'a [SideRow]),
    /// Text, whether there is more of it, and its tones.
    Text(&'a [String], bool, &'a [Runs]),
    /// Bytes.
    Hex(&'a [u8], bool),
    /// The whole diff as a list of files, under a heading and above a hint.
    Summary(&'a Compared, String, Vec<String>),
    /// What is known of the run.
    Info(Info<'a>),
    /// Made for this once.
    Made(Vec<Toned>),
}

impl<'a> Lines<'a> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Patch(patch) => patch.rows.len() + 1,
            Self::Sides(_, rows) => rows.len() + 1,
            Self::Text(lines, more, _) => lines.len() + usize::from(*more),
            Self::Hex(bytes, more) => bytes.len().div_ceil(HEX_WIDTH) + usize::from(*more),
            Self::Summary(compared, _, hint) => compared.files.len() + 2 + hint.len(),
            Self::Info(info) => info.len(),
            Self::Made(lines) => lines.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether its long lines can be wrapped: those that are not cut to columns of their own.
    #[must_use]
    pub fn can_wrap(&self) -> bool {
        !matches!(self, Self::Sides(..) | Self::Hex(..))
    }

    /// The line at `index`.
    #[must_use]
    pub fn line(&self, index: usize) -> Line<'_> {
        const CUT: &str = "… cut at 1 MiB; `afterrun cat` prints it all";
        match self {
            Self::Patch(patch) => match index.checked_sub(1) {
                None => Line::of(Tone::Strong, &patch.title[..]),
                Some(row) => patch
                    .rows
                    .get(row)
                    .map_or_else(Line::default, |row| patch_line(row, patch.digits)),
            },
            Self::Sides(patch, rows) => match index.checked_sub(1) {
                None => Line::of(Tone::Strong, &patch.title[..]),
                Some(row) => rows
                    .get(row)
                    .map_or_else(Line::default, |row| side_line(patch, *row)),
            },
            Self::Text(lines, more, colours) => match lines.get(index) {
                Some(line) => {
                    let digits = lines.len().to_string().len();
                    let runs = colours.get(index).map_or(&[][..], |runs| runs);
                    Line {
                        gutter: vec![(Tone::Dim, format!("{:>digits$} ", index + 1))],
                        body: coloured(line, runs),
                        beside: None,
                    }
                }
                None if *more => Line::of(Tone::Dim, CUT),
                None => Line::default(),
            },
            Self::Hex(bytes, more) => match bytes.chunks(HEX_WIDTH).nth(index) {
                Some(chunk) => hex_line(index * HEX_WIDTH, chunk),
                None if *more => Line::of(Tone::Dim, CUT),
                None => Line::default(),
            },
            Self::Summary(compared, heading, hint) => match index.checked_sub(1) {
                None => Line::of(Tone::Strong, &heading[..]),
                Some(file) => match compared.files.get(file) {
                    Some(file) => Line::toned(summary_line(file)),
                    // After an empty line.
                    None => (file - compared.files.len())
                        .checked_sub(1)
                        .and_then(|line| hint.get(line))
                        .map_or_else(Line::default, |hint| Line::toned(said(hint))),
                },
            },
            Self::Info(info) => match info.at(index) {
                Some((Block::Said(lines), at)) => Line::borrowed(&lines[at].line),
                Some((Block::Rows(rows, digits), at)) => {
                    let mut line = patch_line(&rows[at], *digits);
                    line.gutter.insert(0, (Tone::Plain, "      ".into()));
                    line
                }
                Some((Block::Made(lines), at)) => {
                    let mut line = Line::borrowed(&lines[at]);
                    line.gutter.push((Tone::Plain, "  ".into()));
                    line
                }
                None => Line::default(),
            },
            Self::Made(lines) => lines.get(index).map_or_else(Line::default, Line::borrowed),
        }
    }

    /// What a search looks at in the line: the old side's text, or the only one, and the new side's.
    /// `made` holds what is not there as one text.
    pub fn texts<'s>(&'s self, index: usize, made: &'s mut String) -> [Option<&'s str>; 2] {
        let row = |row: &'s PatchRow| match row {
            PatchRow::Hunk(text) | PatchRow::Words(text) | PatchRow::Line { text, .. } => {
                Some(text.as_str())
            }
            PatchRow::Gap(_) => None,
        };
        match self {
            Self::Patch(patch) if index > 0 => {
                return [patch.rows.get(index - 1).and_then(row), None];
            }
            Self::Sides(patch, rows) if index > 0 => {
                let at = |index: usize| patch.rows.get(index).and_then(row);
                return match rows.get(index - 1) {
                    Some(SideRow::Whole(index)) => [at(*index), None],
                    // The same text on both sides is found once.
                    Some(SideRow::Pair(Some(old), Some(new))) if old == new => [None, at(*new)],
                    Some(SideRow::Pair(old, new)) => [old.and_then(at), new.and_then(at)],
                    None => [None, None],
                };
            }
            Self::Text(lines, ..) => {
                if let Some(line) = lines.get(index) {
                    return [Some(line), None];
                }
            }
            Self::Hex(bytes, _) => {
                if let Some(chunk) = bytes.chunks(HEX_WIDTH).nth(index) {
                    made.clear();
                    hex_text(chunk, made);
                    return [Some(made), None];
                }
            }
            _ => {}
        }
        made.clear();
        made.extend(self.line(index).body.iter().map(|(_, text)| &**text));
        [Some(made), None]
    }

    /// Whether it names what is below it: such a line stays where it is when the others go sideways.
    #[must_use]
    pub fn is_heading(&self, index: usize) -> bool {
        let of_file = index == 0 && matches!(self, Self::Patch(..) | Self::Sides(..));
        of_file || self.is_hunk(index)
    }

    /// Whether a hunk begins here.
    #[must_use]
    pub fn is_hunk(&self, index: usize) -> bool {
        let Some(index) = index.checked_sub(1) else {
            return false;
        };
        let row = match self {
            Self::Patch(patch) => patch.rows.get(index),
            Self::Sides(patch, rows) => match rows.get(index) {
                Some(SideRow::Whole(row)) => patch.rows.get(*row),
                _ => None,
            },
            _ => None,
        };
        matches!(row, Some(PatchRow::Hunk(_)))
    }

    /// The line's numbers on the old and on the new side of a patch.
    #[must_use]
    pub fn numbers(&self, index: usize) -> Option<(Option<u32>, Option<u32>)> {
        let numbers = |row: usize| match self.rows()?.get(row)? {
            PatchRow::Line { old, new, .. } => Some((*old, *new)),
            _ => None,
        };
        let index = index.checked_sub(1)?;
        match self {
            Self::Patch(_) => numbers(index),
            Self::Sides(_, rows) => match rows.get(index)? {
                SideRow::Whole(_) => None,
                SideRow::Pair(old, new) => {
                    let old = old.and_then(numbers).and_then(|numbers| numbers.0);
                    let new = new.and_then(numbers).and_then(|numbers| numbers.1);
                    (old.is_some() || new.is_some()).then_some((old, new))
                }
            },
            _ => None,
        }
    }

    fn rows(&self) -> Option<&'a [PatchRow]> {
        match self {
            Self::Patch(patch) | Self::Sides(patch, _) => Some(&patch.rows),
            _ => None,
        }
    }
}

/// Text in the tones of its runs; what they do not reach is plain.
fn coloured<'a>(text: &'a str, runs: &[(u32, Tone)]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(runs.len() + 1);
    let mut at = 0;
    for (end, tone) in runs {
        let Some(piece) = text.get(at..*end as usize) else {
            break;
        };
        pieces.push((*tone, piece.into()));
        at = *end as usize;
    }
    if at < text.len() {
        pieces.push((Tone::Plain, text[at..].into()));
    }
    pieces
}

fn number(number: Option<u32>, digits: usize) -> String {
    match number {
        Some(number) => format!("{number:>digits$}"),
        None => " ".repeat(digits),
    }
}

fn sign(kind: LineKind) -> (Tone, &'static str) {
    match kind {
        LineKind::Context => (Tone::Plain, "  "),
        LineKind::Added => (Tone::Added, "+ "),
        LineKind::Deleted => (Tone::Removed, "- "),
    }
}

fn patch_line(row: &PatchRow, digits: usize) -> Line<'_> {
    match row {
        PatchRow::Hunk(header) => Line::of(Tone::Hunk, &header[..]),
        PatchRow::Words(words) => Line::of(Tone::Dim, &words[..]),
        PatchRow::Gap(lines) => {
            let plural = if *lines == 1 { "" } else { "s" };
            Line::of(Tone::Dim, format!("⋯ {} line{plural}", grouped(*lines)))
        }
        PatchRow::Line {
            kind,
            old,
            new,
            text,
        } => {
            let (tone, sign) = sign(*kind);
            let numbers = format!("{} {} ", number(*old, digits), number(*new, digits));
            Line {
                gutter: vec![(Tone::Dim, numbers), (tone, sign.into())],
                body: vec![(tone, text.as_str().into())],
                beside: None,
            }
        }
    }
}

fn side_line(patch: &Patch, row: SideRow) -> Line<'_> {
    let (old, new) = match row {
        SideRow::Whole(row) => {
            return patch
                .rows
                .get(row)
                .map_or_else(Line::default, |row| patch_line(row, patch.digits));
        }
        SideRow::Pair(old, new) => (old, new),
    };
    let half = |row: Option<usize>, is_old: bool| match row.and_then(|row| patch.rows.get(row)) {
        Some(PatchRow::Line {
            kind,
            old,
            new,
            text,
        }) => {
            let (tone, sign) = sign(*kind);
            let shown = number(if is_old { *old } else { *new }, patch.digits);
            Line {
                gutter: vec![(Tone::Dim, format!("{shown} ")), (tone, sign.into())],
                body: vec![(tone, text.as_str().into())],
                beside: None,
            }
        }
        Some(row) => patch_line(row, patch.digits),
        None => Line::default(),
    };
    let mut line = half(old, true);
    line.beside = Some(Box::new(half(new, false)));
    line
}

fn hex_line(offset: usize, chunk: &[u8]) -> Line<'static> {
    let mut hex = String::with_capacity(72);
    hex_text(chunk, &mut hex);
    let text = hex.split_off(50);
    Line {
        gutter: vec![(Tone::Dim, format!("{offset:08x}  "))],
        body: vec![(Tone::Plain, hex.into()), (Tone::Dim, text.into())],
        beside: None,
    }
}

/// Two digits for each byte in 50 columns, then a space and what can be read.
fn hex_text(chunk: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (index, byte) in chunk.iter().enumerate() {
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(DIGITS[usize::from(digit)]));
        }
        out.push_str(if index == 7 { "  " } else { " " });
    }
    while out.len() < 50 {
        out.push(' ');
    }
    out.push(' ');
    out.extend(chunk.iter().map(|byte| match byte {
        0x20..0x7f => char::from(*byte),
        _ => '.',
    }));
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
