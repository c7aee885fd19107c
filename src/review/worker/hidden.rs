//! Lines that a change adds and that hide something. The bytes are looked at once; where nothing is found,
//! and that is nearly always, no line of a patch is.

use git2::{DiffDelta, DiffLineType, FileMode, Patch};

use super::objects::Objects;
use crate::review::protocol::WireHidden;
use crate::text::hidden_in_line;

/// Git takes what has a NUL in its first bytes for binary.
const LOOKED_AT: usize = 8000;

/// What the lines added by `delta` hide; those of the whole new content where there is no patch to tell.
pub(super) fn hidden(
    objects: &Objects<'_>,
    number: u32,
    delta: &DiffDelta<'_>,
    patch: Option<&Patch<'_>>,
) -> Option<WireHidden> {
    let new = delta.new_file();
    if !new.exists() || matches!(new.mode(), FileMode::Commit) {
        return None;
    }
    let blob = objects.odb().read(new.id()).ok()?;
    let bytes = blob.data();
    if bytes[..bytes.len().min(LOOKED_AT)].contains(&0) {
        return None;
    }
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let mut found = lines.filter_map(|(index, line)| {
        let letter = hidden_in_line(line, index == 0)?;
        Some((u32::try_from(index + 1).unwrap_or(u32::MAX), letter))
    });
    let first = found.next()?;
    let (added, lines) = match patch.filter(|_| delta.old_file().exists()) {
        Some(patch) => added(patch)?,
        None => (first, found.count() + 1),
    };
    Some(WireHidden {
        delta: number,
        line: added.0,
        letter: added.1,
        lines: u32::try_from(lines).unwrap_or(u32::MAX),
        whole: patch.is_none() && delta.old_file().exists(),
    })
}

/// The first added line that hides something, what it does with, and how many such lines there are.
fn added(patch: &Patch<'_>) -> Option<((u32, char), usize)> {
    let (mut first, mut count) = (None, 0);
    for hunk in 0..patch.num_hunks() {
        let Ok(lines) = patch.num_lines_in_hunk(hunk) else {
            continue;
        };
        for index in 0..lines {
            let Ok(line) = patch.line_in_hunk(hunk, index) else {
                continue;
            };
            let number = line.new_lineno().unwrap_or_default();
            if line.origin_value() == DiffLineType::Addition
                && let Some(letter) = hidden_in_line(line.content(), number == 1)
            {
                first.get_or_insert((number, letter));
                count += 1;
            }
        }
    }
    first.map(|first| (first, count))
}
