//! The columns at the right edge of the Files pane: decided once for all rows that are seen, so that
//! numbers stand under numbers and only names give way.

use crate::review::FileChange;
use crate::text::human_bytes;
use crate::tui::fit;
use crate::tui::message::Compared;
use crate::tui::state::{FileNode, NodeKind, toned_width};
use crate::tui::theme::{Tone, Toned};

/// Columns that a name keeps at the deepest row before mode or size get any.
const NAME: usize = 14;
/// Columns of a sign or letter, and of the gap before the columns.
const AROUND: usize = 3;
/// A narrower pane has no room for counts beside any name.
const NARROWEST: usize = 20;
/// Columns of a number of lines where room is short, and where it is not.
const SHORT: usize = 4;
const LONG: usize = 7;
/// Columns that what was noticed and links keep beside a name before modes are shown.
const BESIDE: usize = 2;
/// Columns of a size and of a mode, with the gap before them.
const SIZE: usize = 9;
const MODE: usize = 6;

/// Which columns there are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Columns {
    /// Columns of each number of lines; none where nothing is counted.
    number: usize,
    mode: bool,
    size: bool,
}

impl Columns {
    /// What a pane of `width` columns has room for, when its deepest row is at `deepest`.
    pub(super) fn of(compared: Option<&Compared>, width: usize, deepest: usize) -> Self {
        let mut columns = Self::default();
        if width < NARROWEST {
            return columns;
        }
        let counted = compared.is_some_and(|compared| !compared.files.is_empty());
        let mut room = width.saturating_sub(deepest * 2 + AROUND + NAME);
        if counted {
            columns.number = SHORT;
            room = room.saturating_sub(2 * SHORT + 1);
        }
        let mut takes = |wanted: usize, left: usize| {
            let fits = room >= wanted + left;
            room -= if fits { wanted } else { 0 };
            fits
        };
        columns.size = takes(SIZE, 0);
        columns.mode = columns.size && takes(MODE, BESIDE);
        if counted && columns.mode && takes(2 * (LONG - SHORT), BESIDE) {
            columns.number = LONG;
        }
        columns
    }

    /// What stands there for a file, from the first column on that says something, in at most `width`
    /// columns.
    pub(super) fn file(&self, node: &FileNode, change: Option<&FileChange>, width: usize) -> Toned {
        let mut cells = Vec::new();
        if self.number > 0 {
            cells.push(self.counts(change));
        }
        let (mode, size) = match node.kind {
            NodeKind::File(size) => (format!("{:04o}", node.mode & 0o7777), human_bytes(size)),
            _ => (String::new(), String::new()),
        };
        if self.mode {
            cells.push(cell(Tone::Dim, &mode, MODE));
        }
        if self.size {
            cells.push(cell(Tone::Dim, &size, SIZE));
        }
        while cells.iter().map(toned_width).sum::<usize>() > width {
            cells.pop();
        }
        let says = |cell: &Toned| cell.iter().any(|(_, text)| !text.trim().is_empty());
        let line = cells.into_iter().skip_while(|cell| !says(cell)).flatten();
        // What is blank before the first number is room for the name.
        line.skip_while(|(_, text)| text.trim().is_empty())
            .collect()
    }

    fn counts(&self, change: Option<&FileChange>) -> Toned {
        let (one, both) = (self.number, self.number * 2 + 1);
        let Some(change) = change else {
            return cell(Tone::Dim, "", both);
        };
        if change.binary {
            return cell(Tone::Dim, "binary", both);
        }
        let (added, deleted) = (change.additions, change.deletions);
        if added.is_none() && deleted.is_none() {
            return cell(Tone::Dim, "not known", both);
        }
        let number = |sign: char, count: Option<u32>| match count {
            None | Some(0) => String::new(),
            Some(count) => format!("{sign}{}", short(count.into(), one - 1)),
        };
        let mut line = cell(Tone::Added, &number('+', added), one);
        line.extend(cell(Tone::Removed, &number('−', deleted), one + 1));
        line
    }
}

/// `text` at the right of `width` columns.
fn cell(tone: Tone, text: &str, width: usize) -> Toned {
    let gap = width.saturating_sub(fit::columns(text));
    vec![(Tone::Plain, " ".repeat(gap)), (tone, text.to_owned())]
}

/// `count` in at most `width` columns, three at the least.
fn short(count: u64, width: usize) -> String {
    let units = [
        (1, ""),
        (1_000, "k"),
        (1_000_000, "M"),
        (1_000_000_000, "G"),
    ];
    let forms = units.iter().map(|(unit, letter)| match count / unit {
        0 if count > 0 => format!(".{}{letter}", count * 10 / unit),
        whole => format!("{whole}{letter}"),
    });
    fit::first_form(forms, width)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_number_keeps_to_its_column() {
        let three = |count| short(count, 3);
        assert_eq!(
            [
                7,
                999,
                1_000,
                99_999,
                100_000,
                12_345_678,
                u64::from(u32::MAX)
            ]
            .map(three),
            ["7", "999", "1k", "99k", ".1M", "12M", "4G"]
        );
        assert_eq!(short(99_999, 6), "99999");
    }
}
