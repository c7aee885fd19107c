//! Patches and files made ready to be drawn: lines of safe text, and in words what lines cannot say.

use crate::Result;
use crate::archive::{Archive, EntryKind};
use crate::review::{Diff, FilePatch, PatchOptions};
use crate::text::{human_bytes, visible, visible_bytes, visible_line};
use crate::tui::state::{FileContent, Patch, PatchRow, change_title};

/// How much of a file is shown.
const SHOWN: u64 = 1 << 20;

/// A file's hunks as lines, and in words what hunks cannot say.
pub(super) fn rows(diff: &Diff, file: usize, patch: &FilePatch, options: PatchOptions) -> Patch {
    let change = &diff.files[file];
    let mut rows = Vec::new();
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
        say("Binary: f shows its bytes.".into());
    } else if patch.hunks.is_empty() {
        say(if options.ignore_whitespace {
            "Nothing but white space changed; w shows it.".into()
        } else if change.old_path.is_some() {
            "Moved; its content did not change.".into()
        } else if change.old_mode != change.new_mode && change.old_mode != 0 {
            "Its content did not change.".into()
        } else {
            "No lines to show.".into()
        });
    }
    let mut highest = 0;
    for hunk in &patch.hunks {
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
    Patch {
        file,
        title: change_title(change),
        rows,
        digits: highest.max(1).to_string().len(),
    }
}

/// A file's content, or what it is instead.
pub(super) fn content(archive: &Archive, path: &[u8]) -> Result<FileContent> {
    let Some(entry) = archive.entry(path) else {
        return Ok(FileContent::Words(vec![
            "Not in the archive: it is gone.".into(),
            "d shows what it held.".into(),
        ]));
    };
    let facts = format!("mode {:04o}", entry.mode);
    let (size, target) = match &entry.kind {
        EntryKind::Directory => {
            return Ok(FileContent::Words(vec![format!("A folder, {facts}.")]));
        }
        EntryKind::Symlink { target } => (0, Some(target)),
        EntryKind::File { size, .. } => (*size, None),
    };
    if let Some(target) = target {
        let mut words = vec![format!("A link to {}", visible_bytes(target))];
        if entry.is_absolute_link() {
            words.push("A restore leaves it out: it leads to an absolute path.".into());
        }
        return Ok(FileContent::Words(words));
    }
    if size == 0 {
        return Ok(FileContent::Words(vec![format!("Empty, {facts}.")]));
    }
    let bytes = archive.content(entry, SHOWN)?;
    let more = size > SHOWN;
    if bytes.contains(&0) {
        return Ok(FileContent::Binary(bytes, more));
    }
    let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let lines = text
        .split(|byte| *byte == b'\n')
        .map(visible_line)
        .collect();
    Ok(FileContent::Text(lines, more))
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
