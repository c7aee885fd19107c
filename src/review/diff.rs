//! From paths that differ to a diff: contents go to the worker, libgit2 pairs renames and counts
//! lines, and what comes back is checked and put in git's words.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::change::{Change, Comparison, Side, Source};
use super::id::GITLINK;
use super::id::Id;
use super::index::Index;
use super::model::{FileChange, Notice, Status};
use super::objects::{Rejected, Unfit};
use super::process::Worker;
use super::protocol::{Failure, WireDelta, WireHidden};
use super::received::{Counted, Counts, receive_counts, receive_deltas, receive_opaque};
use super::remarks::{self, TOO_DEEP};
use super::sent::{Sent, send_changes};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Stage, Watch};

const COMPARE_TIME: Duration = Duration::from_secs(10);
/// Line counts get this long; then the list stands without the rest of them.
const COUNT_TIME: Duration = Duration::from_secs(8);

/// What the worker made of a comparison.
pub(crate) struct Compared {
    pub files: Vec<FileChange>,
    pub notices: Vec<Notice>,
    /// Whether the worker still holds the comparison.
    pub alive: bool,
}

/// What the list of files needs to know besides the changes.
pub(crate) struct Known<'a> {
    pub index: Option<&'a Index>,
}

/// Sends the comparison and reads the file list, then the counts.
pub(crate) fn compare(
    worker: &mut Worker,
    comparison: &Comparison,
    known: &Known<'_>,
    rejected: &Rejected,
    watch: &Watch,
) -> Result<Compared> {
    worker.allow(COMPARE_TIME, watch);
    let (deltas, sent) = match ask(worker, comparison, watch) {
        Ok(answer) => answer,
        // The archive could not be read back: that says nothing about the checkout.
        Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Io) => {
            return Err(error);
        }
        Err(error) => return Ok(without_worker(comparison, known, &error)),
    };
    let mut notices = Vec::new();
    let mut counted = Counted::default();
    worker.allow(COUNT_TIME, watch);
    let told = receive_counts(worker, deltas.len(), &mut counted);
    let alive = heard(told, &counted.hidden, &deltas, &mut notices)?;
    if alive {
        worker.rest();
    }
    let mut files = list(&deltas, &counted.counts, known);
    for (index, tag, why) in sent.opaque {
        let change = &comparison.changes[index];
        let (tag, why) = match unfit(change, rejected) {
            Some(unfit) => (
                unfit.tag(),
                format!("the object file of its old content {}", unfit.why()),
            ),
            None => (tag, why),
        };
        files.push(opaque_change(change, known, &why));
        // How many lie too deep is said once.
        if tag != TOO_DEEP {
            notices.push(Notice::at(tag, &change.path, why));
        }
    }
    if alive {
        let long = sent
            .long
            .iter()
            .map(|index| &comparison.changes[*index].path[..]);
        notices.extend(remarks::of_contents(&files, &long.collect::<Vec<_>>()));
    }
    notices.extend(add_conflicts(&mut files, known));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    watch.passed(Stage::Diff, files.len() as u64);
    Ok(Compared {
        files,
        notices,
        alive,
    })
}

/// Says what lines hide, and of a worker that stopped or lied before all was told; whether it did neither.
fn heard(
    told: Result<()>,
    hidden: &[WireHidden],
    deltas: &[WireDelta],
    notices: &mut Vec<Notice>,
) -> Result<bool> {
    let told = match remarks::of_hidden(hidden, deltas) {
        Ok(hidden) => {
            notices.extend(hidden);
            told
        }
        Err(lie) => told.and(Err(lie)),
    };
    match told {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        Err(error) => {
            notices.push(Notice::new(
                "worker-stopped",
                format!("some line counts are missing: {error}"),
            ));
            Ok(false)
        }
    }
}

/// Sends the comparison; answers deltas, and what could not be compared.
fn ask(
    worker: &mut Worker,
    comparison: &Comparison,
    watch: &Watch,
) -> Result<(Vec<WireDelta>, Sent)> {
    let mut sent = send_changes(worker, comparison, watch)?;
    for (number, failure, why) in receive_opaque(worker, sent.changes.len())? {
        let index = sent.changes[number];
        sent.opaque.push((index, opaque_tag(failure), why));
    }
    Ok((receive_deltas(worker, &comparison.paths())?, sent))
}

/// Why the old content's own file was not read, when there is one.
fn unfit(change: &Change, rejected: &Rejected) -> Option<Unfit> {
    match change.old.as_ref()?.source {
        Source::Object(id) => rejected.get(&id).copied(),
        _ => None,
    }
}

/// The list as far as it is known without libgit2: which paths differ, not how.
fn without_worker(comparison: &Comparison, known: &Known<'_>, error: &Error) -> Compared {
    let why = "how it differs is not known: the review worker was stopped";
    let mut files: Vec<FileChange> = comparison
        .changes
        .iter()
        .map(|change| opaque_change(change, known, why))
        .collect();
    let mut notices = vec![Notice::new(
        "worker-stopped",
        format!("only the names of changed files are known: {error}"),
    )];
    notices.extend(add_conflicts(&mut files, known));
    Compared {
        files,
        notices,
        alive: false,
    }
}

fn opaque_tag(failure: Failure) -> &'static str {
    match failure {
        Failure::Limit => "too-large",
        Failure::Missing => "missing-object",
        Failure::Damaged | Failure::Protocol => "bad-object",
    }
}

/// Deltas in git's words; a deletion and an addition of one path are one type change.
pub(crate) fn list(deltas: &[WireDelta], counts: &Counts, known: &Known<'_>) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = Vec::with_capacity(deltas.len());
    let mut halves: HashMap<&[u8], (Option<usize>, Option<usize>)> = HashMap::new();
    for (number, delta) in deltas.iter().enumerate() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let count = counts.get(&number).copied();
        let mut file = FileChange {
            status: Status::Modified,
            path: delta
                .new_path
                .clone()
                .or_else(|| delta.old_path.clone())
                .unwrap_or_default(),
            old_path: None,
            old_mode: delta.old_mode,
            new_mode: delta.new_mode,
            additions: count
                .filter(|(.., binary)| !binary)
                .map(|(added, ..)| added),
            deletions: count
                .filter(|(.., binary)| !binary)
                .map(|(_, deleted, _)| deleted),
            binary: count.is_some_and(|(.., binary)| binary),
            opaque: None,
            deltas: vec![number],
        };
        match (&delta.old_path, &delta.new_path) {
            (Some(old), Some(new)) if old != new => {
                file.status = Status::Renamed;
                file.old_path = Some(old.clone());
            }
            (Some(_), Some(_)) => {
                file.status = match (delta.old_mode, delta.new_mode) {
                    (GITLINK, _) | (_, GITLINK) => Status::Submodule,
                    (old, new) if old & 0o170_000 != new & 0o170_000 => Status::Typechange,
                    (old, new) if old != new && delta.same_content => Status::Mode,
                    _ => Status::Modified,
                };
            }
            (None, Some(path)) => {
                file.status = known.new_status(path, file.new_mode);
                if file.new_mode == GITLINK && file.status == Status::Untracked {
                    file.path.push(b'/');
                }
                halves.entry(path).or_default().0 = Some(files.len());
            }
            (Some(path), None) => {
                file.status = if file.old_mode == GITLINK {
                    Status::Submodule
                } else {
                    Status::Deleted
                };
                halves.entry(path).or_default().1 = Some(files.len());
            }
            (None, None) => continue,
        }
        files.push(file);
    }
    let mut merged = HashSet::new();
    for (added, deleted) in halves.into_values() {
        let (Some(added), Some(deleted)) = (added, deleted) else {
            continue;
        };
        let added_half = files[added].clone();
        let whole = &mut files[deleted];
        let submodule = whole.old_mode == GITLINK || added_half.new_mode == GITLINK;
        whole.status = if submodule {
            Status::Submodule
        } else {
            Status::Typechange
        };
        whole.new_mode = added_half.new_mode;
        let sum = |a: Option<u32>, b: Option<u32>| a.zip(b).map(|(a, b)| a + b);
        whole.additions = sum(whole.additions, added_half.additions);
        whole.deletions = sum(whole.deletions, added_half.deletions);
        whole.binary |= added_half.binary;
        // The old one goes before the new one comes: a patch is applied in this order.
        whole.deltas.extend(added_half.deltas);
        merged.insert(added);
    }
    let mut index = 0;
    files.retain(|_| {
        index += 1;
        !merged.contains(&(index - 1))
    });
    files
}

impl Known<'_> {
    /// New files the index knows are added, others are untracked.
    fn new_status(&self, path: &[u8], mode: u32) -> Status {
        let indexed = self.index.and_then(|index| {
            let at = index
                .entries
                .binary_search_by(|entry| entry.path[..].cmp(path));
            at.ok().map(|at| &index.entries[at])
        });
        match indexed {
            Some(_) if mode == GITLINK => Status::Submodule,
            Some(_) => Status::Added,
            None => Status::Untracked,
        }
    }
}

/// A change whose content nobody compared.
fn opaque_change(change: &Change, known: &Known<'_>, why: &str) -> FileChange {
    let mode = |side: &Option<Side>| side.as_ref().map_or(0, |side| side.mode);
    let (old_mode, new_mode) = (mode(&change.old), mode(&change.new));
    let status = match (&change.old, &change.new) {
        (None, _) => known.new_status(&change.path, new_mode),
        (_, None) => Status::Deleted,
        _ if old_mode & 0o170_000 != new_mode & 0o170_000 => Status::Typechange,
        _ => Status::Modified,
    };
    FileChange {
        status,
        path: change.path.clone(),
        old_path: None,
        old_mode,
        new_mode,
        additions: None,
        deletions: None,
        binary: false,
        opaque: Some(why.to_owned()),
        deltas: Vec::new(),
    }
}

/// Marks what is unmerged in the index, and lists it even when its content is the base's.
fn add_conflicts(files: &mut Vec<FileChange>, known: &Known<'_>) -> Option<Notice> {
    let index = known.index?;
    let unmerged: HashSet<&[u8]> = index
        .entries
        .iter()
        .filter(|entry| entry.stage > 0)
        .map(|entry| &entry.path[..])
        .collect();
    if unmerged.is_empty() {
        return None;
    }
    let mut listed = HashSet::new();
    for file in files.iter_mut() {
        if unmerged.contains(&file.path[..]) {
            file.status = Status::Conflicted;
            listed.insert(file.path.clone());
        }
    }
    let count = unmerged.len();
    for path in unmerged {
        if !listed.contains(path) {
            files.push(FileChange {
                status: Status::Conflicted,
                path: path.to_vec(),
                old_path: None,
                old_mode: 0,
                new_mode: 0,
                additions: Some(0),
                deletions: Some(0),
                binary: false,
                opaque: Some("it is unmerged in the index, and its content is the base's".into()),
                deltas: Vec::new(),
            });
        }
    }
    Some(Notice::new(
        "conflict",
        format!("{count} paths are unmerged in the index"),
    ))
}

/// A submodule or new nested checkout that no delta tells about.
pub(crate) fn submodule_change(
    path: Vec<u8>,
    status: Status,
    id: Option<Id>,
    why: &str,
) -> FileChange {
    let mode = if id.is_some() { GITLINK } else { 0 };
    FileChange {
        status,
        path,
        old_path: None,
        old_mode: mode,
        new_mode: GITLINK,
        additions: Some(0),
        deletions: Some(0),
        binary: false,
        opaque: Some(why.to_owned()),
        deltas: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::received::lied;

    #[test]
    fn a_lie_about_lines_costs_no_more_than_one_about_counts() {
        let delta = |path: &str| WireDelta {
            old_path: None,
            new_path: Some(path.into()),
            old_mode: 0,
            new_mode: 0o100_644,
            same_content: false,
        };
        let hidden = |delta, letter| WireHidden {
            delta,
            line: 3,
            letter,
            lines: 1,
            whole: false,
        };
        let tags = |told, hidden: &[WireHidden]| {
            let mut notices = Vec::new();
            let alive = heard(told, hidden, &[delta("a")], &mut notices).expect("no failure");
            let tags: Vec<_> = notices.iter().map(|notice| notice.tag).collect();
            (alive, tags)
        };
        let honest = [hidden(0, '\u{202e}')];
        assert_eq!(tags(Ok(()), &honest), (true, vec!["hidden-text"]));
        let stopped = (false, vec!["hidden-text", "worker-stopped"]);
        assert_eq!(tags(Err(lied()), &honest), stopped);
        for lie in [
            &[hidden(1, '\u{202e}')][..],
            &[hidden(0, 'a')],
            &[hidden(0, '\u{202e}'), hidden(0, '\u{202e}')],
        ] {
            let lied_about = (false, vec!["worker-stopped"]);
            assert_eq!(tags(Ok(()), lie), lied_about, "{lie:?}");
        }
        let cancelled = heard(Err(Error::cancelled()), &[], &[], &mut Vec::new());
        assert!(cancelled.is_err_and(|error| error.kind() == ErrorKind::Cancelled));
    }
}
