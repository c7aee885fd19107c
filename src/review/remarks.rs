//! What is worth saying of a comparison's files: one line for each kind, with a count and the first path.

use std::collections::HashSet;

use super::change::Change;
use super::model::{Base, FileChange, Notice};
use super::protocol::{WireDelta, WireHidden};
use super::received::lied;
use super::scan::Scan;
use crate::error::Result;
use crate::runs::Repository;
use crate::text::{hidden_in_line, human_bytes, is_hidden, name_of_hidden, visible_bytes};

/// Folders above a file that other tools may not follow; a base tree has no more either.
const MAX_FOLDERS: usize = 90;
/// The tag of what lies too deep.
pub(crate) const TOO_DEEP: &str = "too-deep";
/// Notices of one kind that are kept; a flood of them says no more.
const MAX_ALIKE: usize = 20;
/// The tag of lines that hide something.
const HIDDEN: &str = "hidden-text";
/// Files with such lines that are told: in a few decoys the one that matters would not show.
const MAX_HIDDEN: usize = 1000;
/// A line this long hides where in it a change is.
const LONG_LINE: usize = 10_000;

/// `1 file is`, `2 files are`.
fn counted(count: u64, one: &str, is: (&str, &str)) -> String {
    match count {
        1 => format!("1 {one} {}", is.0),
        _ => format!("{count} {one}s {}", is.1),
    }
}

/// About what a walk met.
pub(crate) fn of_scan(scan: &Scan) -> Vec<Notice> {
    let mut notices = Vec::new();
    if scan.sparse > 0 {
        let files = counted(scan.sparse, "file", ("is", "are"));
        notices.push(Notice::at(
            "sparse",
            b".git/index",
            format!(
                "{files} left out of the working tree by the index (skip-worktree), not deleted"
            ),
        ));
    }
    if let Some((count, first)) = &scan.unreadable {
        let entries = counted(
            *count,
            "path",
            (
                "has a mode that lets its owner read nothing",
                "have modes that let their owner read nothing",
            ),
        );
        notices.push(Notice::at(
            "unreadable",
            first,
            format!("{entries}: compared here, locked once restored"),
        ));
    }
    notices
}

/// About a diff from HEAD: it does not show what was committed, and where the run began is not in HEAD.
pub(crate) fn of_head(base: &Base, pin: Option<&Repository>) -> Option<Notice> {
    let Base::Head(head) = base else { return None };
    let short = &head[..head.len().min(12)];
    let message = match pin {
        Some(pin) if pin.commit.eq_ignore_ascii_case(head) => return None,
        Some(_) => format!(
            "HEAD is {short}, not the commit that the run started from: what was committed since is not in this diff"
        ),
        None => format!(
            "HEAD is {short}; whether the run started from it is not known: what was committed is not in this diff"
        ),
    };
    Some(Notice::new("head-id", message))
}

/// About rules that no base holds and that leave files out: those of `info/exclude`, and those that are
/// new or changed themselves.
pub(crate) fn of_ignored(scan: &Scan, changes: &[Change]) -> Option<Notice> {
    let changed = |file: &[u8]| {
        let at = changes.binary_search_by(|change| change.path[..].cmp(file));
        at.is_ok() || file.ends_with(b"info/exclude")
    };
    let (first, _) = scan.ignored_by.iter().find(|(file, _)| changed(file))?;
    let count = scan.ignored_by.values().sum();
    let mut by: Vec<String> = scan
        .ignored_by
        .iter()
        .take(5)
        .map(|(file, count)| format!("{count} by {}", visible_bytes(file)))
        .collect();
    if scan.ignored_by.len() > by.len() {
        by.push("more by others".into());
    }
    let files = counted(count, "path", ("is", "are"));
    let by = by.join(", ");
    let message = format!("{files} left out by rules of which some came with this run: {by}");
    Some(Notice::at("ignored-files", first, message))
}

/// About the files listed: their names, and how deep they lie.
pub(crate) fn of_files(files: &[FileChange]) -> Vec<Notice> {
    let is_odd = |path: &[u8]| {
        let is_text = std::str::from_utf8(path).is_ok_and(|path| !path.contains(char::is_control));
        !is_text || hidden_in_line(path, false).is_some()
    };
    let folders = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
    let mut notices = Vec::new();
    let mut say = |tag, is: &dyn Fn(&FileChange) -> bool, (has, have), what: &str| {
        let mut found = files.iter().filter(|file| is(file));
        if let Some(first) = found.next() {
            let count = counted(1 + found.count() as u64, "changed path", (has, have));
            notices.push(Notice::at(tag, &first.path, format!("{count} {what}")));
        }
    };
    say(
        "odd-names",
        &|file| is_odd(&file.path) || file.old_path.as_deref().is_some_and(is_odd),
        ("has", "have"),
        "control, invisible or reordering characters or no UTF-8 in the name: shown written out",
    );
    say(
        TOO_DEEP,
        &|file| folders(&file.path) > MAX_FOLDERS,
        ("lies", "lie"),
        "over 90 folders deep, where other tools may not follow",
    );
    notices
}

/// About contents: lines that are too long to find a change in, and files that nobody counted.
pub(crate) fn of_contents(files: &[FileChange], long: &[&[u8]]) -> Vec<Notice> {
    let mut notices = Vec::new();
    let binary = files.iter().filter(|file| file.binary);
    let binary: HashSet<&[u8]> = binary.map(|file| &file.path[..]).collect();
    let mut long = long.iter().filter(|path| !binary.contains(**path));
    if let Some(first) = long.next() {
        let count = counted(1 + long.count() as u64, "changed file", ("has", "have"));
        let over = human_bytes(LONG_LINE as u64);
        notices.push(Notice::at(
            "long-lines",
            first,
            format!("{count} lines over {over}: where in them a change is does not show"),
        ));
    }
    let uncounted =
        |file: &&FileChange| file.additions.is_none() && !file.binary && file.opaque.is_none();
    let mut uncounted = files.iter().filter(uncounted);
    if let Some(first) = uncounted.next() {
        let count = counted(1 + uncounted.count() as u64, "changed file", ("is", "are"));
        notices.push(Notice::at(
            "too-large",
            &first.path,
            format!("{count} too large to count lines of: compared only when asked for"),
        ));
    }
    notices
}

/// About added lines that hide something: one for each file, since each has to be looked at.
///
/// # Errors
/// When the worker says what cannot be.
pub(crate) fn of_hidden(hidden: &[WireHidden], deltas: &[WireDelta]) -> Result<Vec<Notice>> {
    let mut told = HashSet::new();
    let mut notices = Vec::with_capacity(hidden.len().min(deltas.len()));
    for found in hidden {
        let path = deltas.get(found.delta as usize);
        let path = path.and_then(|delta| delta.new_path.as_deref());
        let (Some(path), true, true) = (path, is_hidden(found.letter), told.insert(found.delta))
        else {
            return Err(lied());
        };
        let line = if found.whole { "line" } else { "added line" };
        let lines = counted(u64::from(found.lines), line, ("holds", "hold"));
        let (name, code) = (name_of_hidden(found.letter), found.letter as u32);
        let first = match found.lines {
            1 => format!("line {}", found.line),
            _ => format!("the first is line {}", found.line),
        };
        let message = format!(
            "{lines} characters that do not show or that reorder text: {first}, {name} (U+{code:04X})"
        );
        notices.push(Notice::at(HIDDEN, path, message));
    }
    Ok(notices)
}

/// Sorted, each once, and no more than so many of a kind.
pub(crate) fn condense(notices: &mut Vec<Notice>) {
    notices.sort();
    notices.dedup();
    let mut kept: Vec<Notice> = Vec::with_capacity(notices.len().min(100));
    for alike in notices.chunk_by(|a, b| a.tag == b.tag) {
        let Some(first) = alike.first() else { continue };
        let most = match first.tag {
            HIDDEN => MAX_HIDDEN,
            _ => MAX_ALIKE,
        };
        kept.extend(alike.iter().take(most).cloned());
        if let more @ 1.. = alike.len().saturating_sub(most) {
            let message = format!("{more} more of this kind are not listed");
            kept.push(Notice::new(first.tag, message));
        }
    }
    kept.sort();
    *notices = kept;
}

/// Whether what looks like text has a line over [`LONG_LINE`].
pub(crate) fn has_long_line(bytes: &[u8]) -> bool {
    // As git tells text from the rest.
    let is_binary = bytes[..bytes.len().min(8000)].contains(&0);
    bytes.len() > LONG_LINE
        && !is_binary
        && bytes
            .split(|byte| *byte == b'\n')
            .any(|line| line.len() > LONG_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoys_hide_no_file_with_hidden_lines() {
        let many = |tag, count| {
            let paths = (0..count).map(|number| format!("{number:05}"));
            let notices = paths.map(|path| Notice::at(tag, path.as_bytes(), "it is odd"));
            let mut notices: Vec<Notice> = notices.collect();
            condense(&mut notices);
            let told = notices.iter().filter(|notice| notice.path.is_some());
            (told.count(), notices.len())
        };
        assert_eq!(many("hook", 21), (20, 21));
        assert_eq!(many(HIDDEN, 21), (21, 21));
        assert_eq!(many(HIDDEN, 1002), (1000, 1001));
    }
}
