//! Patches and files made ready to be drawn: lines of safe text, and in words what lines cannot say.

use crate::Result;
use crate::archive::{Archive, EntryKind};
use crate::review::{Diff, FileChange, FilePatch, PatchOptions};
use crate::text::{human_bytes, visible, visible_bytes, visible_line};
use crate::tui::state::{FileContent, Patch, PatchRow, change_title};

/// How much of a file is shown.
const SHOWN: u64 = 1 << 20;

/// A file's hunks as lines, and in words what hunks cannot say.
pub(super) fn rows(diff: &Diff, file: usize, patch: &FilePatch, options: PatchOptions) -> Patch {
    let change = &diff.files[file];
    let mut rows = Vec::new();
    without_hunks(change, patch, Some(options), &mut rows);
    let digits = hunks(patch, &mut rows);
    Patch {
        file,
        title: change_title(change),
        rows,
        digits,
    }
}

/// In words what hunks cannot say; without options of a commit's, which has no file to show.
pub(super) fn without_hunks(
    change: &FileChange,
    patch: &FilePatch,
    options: Option<PatchOptions>,
    rows: &mut Vec<PatchRow>,
) {
    let mut say = |words: String| rows.push(PatchRow::Words(words));
    if change.old_mode != change.new_mode && change.old_mode != 0 && change.new_mode != 0 {
        say(format!(
            "mode {:o} → {:o}",
            change.old_mode, change.new_mode
        ));
    }
    if let Some(why) = &change.opaque {
        say(visible(why).into_owned());
    } else if change.binary || patch.binary {
        say(match options {
            Some(_) => "Binary: the file view shows its bytes.".into(),
            None => "Binary.".into(),
        });
    } else if patch.hunks.is_empty() && patch.truncated.is_none() {
        say(
            if options.is_some_and(|options| options.ignore_whitespace) {
                "Nothing but white space changed, which is left out.".into()
            } else if change.old_path.is_some() {
                "Moved; its content did not change.".into()
            } else if change.old_mode != change.new_mode && change.old_mode != 0 {
                "Its content did not change.".into()
            } else {
                "No lines to show.".into()
            },
        );
    }
}

/// Hunks as lines, with what is left out between them; the digits of the highest line number.
pub(super) fn hunks(patch: &FilePatch, rows: &mut Vec<PatchRow>) -> usize {
    let mut highest = 0;
    let mut ended = None;
    for hunk in &patch.hunks {
        let begins = old_range(&hunk.header);
        if let (Some(before), Some((start, _))) = (ended, begins)
            && start > before
        {
            rows.push(PatchRow::Gap(start - before));
        }
        ended = begins.map(|(start, count)| start + count);
        rows.push(PatchRow::Hunk(visible_line(&hunk.header)));
        for line in &hunk.lines {
            highest = highest
                .max(line.old.unwrap_or(0))
                .max(line.new.unwrap_or(0));
            rows.push(PatchRow::Line {
                kind: line.kind,
                old: line.old,
                new: line.new,
                text: visible_line(&line.text),
            });
            if line.no_newline {
                rows.push(PatchRow::Words("\\ no line feed at the end".into()));
            }
        }
    }
    if let Some(why) = &patch.truncated {
        rows.push(PatchRow::Words(format!("… {}", visible(why))));
    }
    highest.max(1).to_string().len()
}

/// The first old line of `@@ -1,2 +1,3 @@`, and how many; a hunk without any stands after its line.
fn old_range(header: &[u8]) -> Option<(u64, u64)> {
    let header = std::str::from_utf8(header.get(..header.len().min(60))?).ok();
    let range = header?.strip_prefix("@@ -")?.split(' ').next()?;
    let (start, count) = match range.split_once(',') {
        Some((start, count)) => (start.parse().ok()?, count.parse().ok()?),
        None => (range.parse().ok()?, 1),
    };
    let start: u64 = start;
    Some((
        if count == 0 {
            start.checked_add(1)?
        } else {
            start
        },
        count,
    ))
}

/// A file's content, or what it is instead; and of text the bytes, to be coloured.
pub(super) fn content(archive: &Archive, path: &[u8]) -> Result<(FileContent, Vec<u8>)> {
    let words = |words| Ok((FileContent::Words(words), Vec::new()));
    let Some(entry) = archive.entry(path) else {
        return words(vec![
            "Not in the archive: it is gone.".into(),
            "The diff shows what it held.".into(),
        ]);
    };
    let facts = format!("mode {:04o}", entry.mode);
    let (size, target) = match &entry.kind {
        EntryKind::Directory => {
            return words(vec![format!("A folder, {facts}.")]);
        }
        EntryKind::Symlink { target } => (0, Some(target)),
        EntryKind::File { size, .. } => (*size, None),
    };
    if let Some(target) = target {
        let mut said = vec![format!("A link to {}", visible_bytes(target))];
        if entry.is_absolute_link() {
            said.push("A restore leaves it out: it leads to an absolute path.".into());
        }
        return words(said);
    }
    if size == 0 {
        return words(vec![format!("Empty, {facts}.")]);
    }
    let bytes = archive.content(entry, SHOWN)?;
    let more = size > SHOWN;
    if bytes.contains(&0) {
        return Ok((FileContent::Binary(bytes, more), Vec::new()));
    }
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let lines = text
        .split(|byte| *byte == b'\n')
        .map(visible_line)
        .collect();
    Ok((FileContent::Text(lines, more), bytes))
}

/// The start of `text`, and how long all of it is.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(limit) {
        Some((end, _)) => format!(
            "{}… ({} in all)",
            &shown[..end],
            human_bytes(text.len() as u64)
        ),
        None => shown.into_owned(),
    }
}
