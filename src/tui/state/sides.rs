//! A patch with old and new beside each other: what replaced what within a hunk stands in one row.

use super::content::PatchRow;
use crate::review::LineKind;

/// Columns that two sides need to be worth it.
pub const WIDTH: usize = 76;

/// A row of two sides, by indexes of the patch's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideRow {
    /// A row over both sides: a hunk's header, a gap, words.
    Whole(usize),
    /// The old and the new one.
    Pair(Option<usize>, Option<usize>),
}

/// The rows beside each other: the first deleted line beside the first added one that follows, and so on.
#[must_use]
pub fn beside(rows: &[PatchRow]) -> Vec<SideRow> {
    let mut out = Vec::with_capacity(rows.len());
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let pair = |old: &mut Vec<usize>, new: &mut Vec<usize>, out: &mut Vec<SideRow>| {
        for row in 0..old.len().max(new.len()) {
            out.push(SideRow::Pair(old.get(row).copied(), new.get(row).copied()));
        }
        old.clear();
        new.clear();
    };
    for (index, row) in rows.iter().enumerate() {
        match row {
            PatchRow::Line { kind, .. } => match kind {
                LineKind::Deleted => {
                    if !new.is_empty() {
                        pair(&mut old, &mut new, &mut out);
                    }
                    old.push(index);
                }
                LineKind::Added => new.push(index),
                LineKind::Context => {
                    pair(&mut old, &mut new, &mut out);
                    out.push(SideRow::Pair(Some(index), Some(index)));
                }
            },
            // What is said of a line stays below it on its side.
            PatchRow::Words(_) if !new.is_empty() => new.push(index),
            PatchRow::Words(_) if !old.is_empty() => old.push(index),
            PatchRow::Hunk(_) | PatchRow::Gap(_) | PatchRow::Words(_) => {
                pair(&mut old, &mut new, &mut out);
                out.push(SideRow::Whole(index));
            }
        }
    }
    pair(&mut old, &mut new, &mut out);
    out
}
