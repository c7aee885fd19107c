//! One comparison in the worker: two trees of what differs, libgit2's diff of them, and its patches.

use std::io::Write;

use git2::{Diff, DiffFindOptions, DiffLineType, DiffOptions, ObjectType, Oid, Repository};

use super::batch::Batch;
use super::folder::Folder;
use super::hidden::hidden;
use super::objects::{Objects, oid};
use super::{Answer, Stop, failed};
use crate::review::id::GITLINK;
use crate::review::model::{FilePatch, Hunk, Line, LineKind, PatchOptions};
use crate::review::protocol::{
    Failure, MAX_CONTENT, Response, WireBlob, WireChange, WireDelta, send,
};
use crate::text::cut_line;

/// Text over this is counted only when it is asked for.
const MAX_COUNTED: usize = 8 << 20;
/// Nor are more lines: a million on each side took 270 MB to compare, three million over 560 MB.
const MAX_LINES: usize = 1_000_000;
/// Counts that are made are sent before a file of this size is begun, which may take long.
const LARGE: usize = 64 << 10;
/// Lines of one file's hunks that go to a pane.
const MAX_PATCH_LINES: usize = 20_000;
/// Bytes of one line that go to a pane, and of all lines of a file: a line may be the whole file.
const MAX_PATCH_LINE: usize = 64 << 10;
const MAX_PATCH_BYTES: usize = 4 << 20;
/// Renames are searched among this many files; more and only exact ones are found.
const RENAME_LIMIT: usize = 1000;

/// The last comparison, kept for its patches.
pub(super) struct Compared<'repo> {
    old: git2::Tree<'repo>,
    new: git2::Tree<'repo>,
    exact: bool,
    diff: Diff<'repo>,
    options: PatchOptions,
}

pub(super) fn compare<'repo>(
    repository: &'repo Repository,
    objects: &Objects<'_>,
    changes: &[WireChange],
    contents: &[Oid],
    output: &mut impl Write,
) -> Answer<Compared<'repo>> {
    let (mut old, mut new) = (Folder::default(), Folder::default());
    let mut opaque = Batch::new(Response::Opaque);
    for (number, change) in changes.iter().enumerate() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let (mut sides, mut readable) = (Vec::with_capacity(2), true);
        for (side, is_old) in [(&change.old, true), (&change.new, false)] {
            let Some(side) = side else { continue };
            let which = if is_old { "old" } else { "new" };
            let id = match &side.blob {
                WireBlob::Content(index) => match contents.get(*index as usize) {
                    Some(id) => *id,
                    None => return failed(Failure::Protocol, "a content was not sent"),
                },
                WireBlob::Object(id) if side.mode == GITLINK => oid(id)?,
                WireBlob::Object(id) => {
                    let id = oid(id)?;
                    if let Some((failure, why)) = unread(objects, id) {
                        let why = format!("its {which} content {id} {why}");
                        let bytes = why.len();
                        opaque.push((number, failure, why), bytes, output)?;
                        readable = false;
                    }
                    id
                }
            };
            sides.push((is_old, side.mode, id));
        }
        if readable {
            for (is_old, mode, id) in sides {
                let folder = if is_old { &mut old } else { &mut new };
                folder.insert(&change.path, mode, id)?;
            }
        }
    }
    opaque.send(output)?;
    send(output, &Response::Done)?;
    let old = repository.find_tree(old.write(objects.odb())?)?;
    let new = repository.find_tree(new.write(objects.odb())?)?;
    let exact = changes.len() > 2 * RENAME_LIMIT;
    let options = PatchOptions::default();
    let diff = make_diff(repository, &old, &new, options, exact)?;
    send_deltas(&diff, output)?;
    send_counts(&diff, objects, output)?;
    Ok(Compared {
        old,
        new,
        exact,
        diff,
        options,
    })
}

/// Why a blob cannot be read, when it cannot, after its id.
fn unread(objects: &Objects<'_>, id: Oid) -> Option<(Failure, String)> {
    let (size, kind) = match objects.header(id) {
        Ok(header) => header,
        Err(Stop::Failed(failure, why)) => return Some((failure, why)),
        Err(Stop::Gone) => return None,
    };
    if kind != ObjectType::Blob {
        return Some((Failure::Damaged, format!("is a {}", kind.str())));
    }
    if size as u64 > MAX_CONTENT {
        let size = crate::text::human_bytes(size as u64);
        let why = format!("is too large to compare ({size})");
        return Some((Failure::Limit, why));
    }
    let error = objects.odb().read(id).err()?;
    Some((Failure::Damaged, format!("is damaged: {}", error.message())))
}

fn send_deltas(diff: &Diff<'_>, output: &mut impl Write) -> Answer {
    let mut deltas = Batch::new(Response::Deltas);
    for delta in diff.deltas() {
        let path = |file: &git2::DiffFile<'_>| file.path_bytes().map(<[u8]>::to_vec);
        let (old, new) = (delta.old_file(), delta.new_file());
        let there = |file: &git2::DiffFile<'_>| {
            if file.exists() {
                u32::from(file.mode())
            } else {
                0
            }
        };
        let delta = WireDelta {
            old_path: path(&old).filter(|_| old.exists()),
            new_path: path(&new).filter(|_| new.exists()),
            old_mode: there(&old),
            new_mode: there(&new),
            same_content: old.id() == new.id(),
        };
        let length = |path: &Option<Vec<u8>>| path.as_ref().map_or(0, Vec::len);
        let bytes = length(&delta.old_path) + length(&delta.new_path);
        deltas.push(delta, bytes, output)?;
    }
    deltas.send(output)?;
    Ok(send(output, &Response::Done)?)
}

/// Line counts after the list, so that a count that hangs takes only counts along; and what hides in
/// the lines that are added.
fn send_counts(diff: &Diff<'_>, objects: &Objects<'_>, output: &mut impl Write) -> Answer {
    let (mut counts, mut found) = (Vec::new(), Vec::new());
    let count = diff.deltas().len();
    for index in 0..count {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let Some(delta) = diff.get_delta(index) else {
            continue;
        };
        let sizes = [delta.old_file(), delta.new_file()].map(|file| size(objects, &file));
        let largest = sizes[0].max(sizes[1]);
        if largest > MAX_COUNTED || has_many_lines(objects, &delta) {
            found.extend(hidden(objects, number, &delta, None));
            continue;
        }
        if largest > LARGE {
            send(output, &Response::Counts(std::mem::take(&mut counts)))?;
            send(output, &Response::Hidden(std::mem::take(&mut found)))?;
        }
        let Ok(patch) = git2::Patch::from_diff(diff, index) else {
            continue;
        };
        let binary = diff
            .get_delta(index)
            .is_some_and(|delta| delta.flags().is_binary());
        let (added, deleted) = match &patch {
            Some(patch) if !binary => match patch.line_stats() {
                Ok((_, added, deleted)) => (added, deleted),
                Err(_) => continue,
            },
            _ => (0, 0),
        };
        let lines = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
        counts.push((number, lines(added), lines(deleted), binary));
        if let (Some(patch), false) = (&patch, binary) {
            found.extend(hidden(objects, number, &delta, Some(patch)));
        }
        if counts.len() == 64 {
            send(output, &Response::Counts(std::mem::take(&mut counts)))?;
        }
    }
    send(output, &Response::Counts(counts))?;
    for batch in found.chunks(4096) {
        send(output, &Response::Hidden(batch.to_vec()))?;
    }
    Ok(send(output, &Response::Done)?)
}

/// Bytes of one side; a tree's entry does not tell them.
fn size(objects: &Objects<'_>, file: &git2::DiffFile<'_>) -> usize {
    let is_blob = file.exists() && !matches!(file.mode(), git2::FileMode::Commit);
    let header = is_blob.then(|| objects.odb().read_header(file.id()).ok());
    header.flatten().map_or(0, |(size, _)| size)
}

/// Whether comparing the lines of either side would take too much memory.
fn has_many_lines(objects: &Objects<'_>, delta: &git2::DiffDelta<'_>) -> bool {
    [delta.old_file(), delta.new_file()].iter().any(|file| {
        size(objects, file) > MAX_LINES
            && objects.odb().read(file.id()).is_ok_and(|blob| {
                blob.data().iter().filter(|byte| **byte == b'\n').count() > MAX_LINES
            })
    })
}

fn make_diff<'repo>(
    repository: &'repo Repository,
    old: &git2::Tree<'repo>,
    new: &git2::Tree<'repo>,
    options: PatchOptions,
    exact: bool,
) -> Answer<Diff<'repo>> {
    let mut wanted = DiffOptions::new();
    wanted
        .context_lines(options.context)
        .ignore_whitespace(options.ignore_whitespace)
        .id_abbrev(40)
        .show_binary(true)
        .max_size(i64::try_from(MAX_CONTENT).unwrap_or(i64::MAX));
    let mut diff = repository.diff_tree_to_tree(Some(old), Some(new), Some(&mut wanted))?;
    let mut find = DiffFindOptions::new();
    find.renames(true)
        .copies(false)
        .exact_match_only(exact)
        .rename_threshold(50)
        .rename_limit(RENAME_LIMIT);
    diff.find_similar(Some(&mut find))?;
    Ok(diff)
}

impl<'repo> Compared<'repo> {
    /// How many deltas it has.
    pub(super) fn deltas(&self) -> u32 {
        u32::try_from(self.diff.deltas().len()).unwrap_or(u32::MAX)
    }

    fn with(&mut self, repository: &'repo Repository, options: PatchOptions) -> Answer {
        if options != self.options {
            self.diff = make_diff(repository, &self.old, &self.new, options, self.exact)?;
            self.options = options;
        }
        Ok(())
    }

    pub(super) fn patch(
        &mut self,
        repository: &'repo Repository,
        objects: &Objects<'_>,
        delta: u32,
        options: PatchOptions,
    ) -> Answer<FilePatch> {
        self.with(repository, options)?;
        let mut file = FilePatch::default();
        let large = self.diff.get_delta(delta as usize);
        if large.is_some_and(|delta| has_many_lines(objects, &delta)) {
            file.truncated = Some(format!(
                "it has over {MAX_LINES} lines: too many to compare"
            ));
            return Ok(file);
        }
        let patch = git2::Patch::from_diff(&self.diff, delta as usize)?;
        file.binary = self
            .diff
            .get_delta(delta as usize)
            .is_some_and(|delta| delta.flags().is_binary());
        let Some(patch) = patch.filter(|_| !file.binary) else {
            return Ok(file);
        };
        let (mut lines, mut bytes) = (0, 0);
        for number in 0..patch.num_hunks() {
            let (hunk, count) = patch.hunk(number)?;
            let mut kept = Hunk {
                header: hunk.header().trim_ascii_end().to_vec(),
                lines: Vec::with_capacity(count.min(MAX_PATCH_LINES)),
            };
            for index in 0..count {
                if lines == MAX_PATCH_LINES || bytes > MAX_PATCH_BYTES {
                    let first = format!("only its first {lines} lines are shown");
                    file.truncated = Some(match file.truncated.take() {
                        Some(cut) => format!("{first}, and {cut}"),
                        None => first,
                    });
                    file.hunks.push(kept);
                    return Ok(file);
                }
                let line = patch.line_in_hunk(number, index)?;
                let kind = match line.origin_value() {
                    DiffLineType::Addition => LineKind::Added,
                    DiffLineType::Deletion => LineKind::Deleted,
                    DiffLineType::Context => LineKind::Context,
                    // The mark for a missing line feed follows the line it is about.
                    _ => {
                        if let Some(last) = kept.lines.last_mut() {
                            last.no_newline = true;
                        }
                        continue;
                    }
                };
                lines += 1;
                let text = line.content();
                let text = text.strip_suffix(b"\n").unwrap_or(text);
                let shown = cut_line(text, MAX_PATCH_LINE);
                if shown.len() < text.len() {
                    let most = crate::text::human_bytes(MAX_PATCH_LINE as u64);
                    file.truncated = Some(format!("lines over {most} are cut"));
                }
                bytes += shown.len() + 1;
                kept.lines.push(Line {
                    kind,
                    old: line.old_lineno(),
                    new: line.new_lineno(),
                    text: shown.to_vec(),
                    no_newline: false,
                });
            }
            file.hunks.push(kept);
        }
        Ok(file)
    }

    pub(super) fn text(
        &mut self,
        repository: &'repo Repository,
        delta: u32,
        options: PatchOptions,
        output: &mut impl Write,
    ) -> Answer {
        self.with(repository, options)?;
        if let Some(mut patch) = git2::Patch::from_diff(&self.diff, delta as usize)? {
            let text = patch.to_buf()?;
            for piece in text.chunks(1 << 20) {
                send(output, &Response::Text(piece.to_vec()))?;
            }
        }
        Ok(send(output, &Response::Done)?)
    }
}
