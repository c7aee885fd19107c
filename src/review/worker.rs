//! The review worker: libgit2 over an agent's objects, in a process that has nothing else and may
//! be killed at any time. It reads requests from its input and answers on its output.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStringExt;

use git2::{Diff, DiffFindOptions, DiffLineType, DiffOptions, ObjectType, Odb, Oid, Repository};
use rustix::process::{Resource, Rlimit};

use super::model::{Commit, FilePatch, Hunk, Line, LineKind, PatchOptions};
use super::protocol::{
    Failure, MAX_CONTENT, MAX_TREE_ENTRIES, Request, Response, WireBlob, WireChange, WireDelta,
    receive, send,
};
use super::refs::Id;

const MAX_TREE: usize = 16 << 20;
const MAX_COMMIT: usize = 1 << 20;
const MAX_DEPTH: usize = 90;
/// Commits looked at to find those since the pin.
const MAX_WALK: usize = 20_000;
/// Text over this is counted only when it is asked for.
const MAX_COUNTED: u64 = 8 << 20;
/// Lines of one file's hunks that go to a pane.
const MAX_PATCH_LINES: usize = 20_000;
/// Address space: packs are mapped in windows, contents are kept in memory.
const MAX_MEMORY: u64 = 2 << 30;
const MAX_CPU_SECONDS: u64 = 120;
/// Renames are searched among this many files; more and only exact ones are found.
const RENAME_LIMIT: usize = 1000;

type Answer<T = ()> = Result<T, Stop>;

/// Why a request ends early.
enum Stop {
    Failed(Failure, String),
    /// The parent is gone.
    Gone,
}

impl From<git2::Error> for Stop {
    fn from(error: git2::Error) -> Self {
        let why = match error.code() {
            git2::ErrorCode::NotFound => Failure::Missing,
            _ => Failure::Damaged,
        };
        Self::Failed(why, error.message().to_owned())
    }
}

impl From<std::io::Error> for Stop {
    fn from(_: std::io::Error) -> Self {
        Self::Gone
    }
}

fn failed<T>(why: Failure, message: impl Into<String>) -> Answer<T> {
    Err(Stop::Failed(why, message.into()))
}

/// Serves requests until the input ends.
pub(super) fn serve() {
    confine();
    let input = BufReader::new(std::io::stdin().lock());
    let output = BufWriter::new(std::io::stdout().lock());
    let _ = requests(input, output);
}

/// Gives up what the worker does not need before a byte of the agent's is read.
fn confine() {
    let limit = |resource, value| {
        let limit = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        let _ = rustix::process::setrlimit(resource, limit);
    };
    limit(Resource::As, MAX_MEMORY);
    limit(Resource::Cpu, MAX_CPU_SECONDS);
    limit(Resource::Fsize, 0);
    limit(Resource::Core, 0);
    limit(Resource::Nofile, 128);
    #[cfg(target_os = "linux")]
    {
        // Should the parent die without a word, so do we.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
    git2::opts::strict_hash_verification(true);
    git2::opts::strict_object_creation(false);
    quiet_libgit2();
}

/// libgit2's process-wide settings: no configuration of the system or the user, small windows.
#[allow(unsafe_code)]
fn quiet_libgit2() {
    use git2::ConfigLevel::{Global, ProgramData, System, XDG};
    // SAFETY: these set globals of libgit2 and race with its other uses; the worker has one thread
    // and has not called libgit2 yet.
    unsafe {
        for level in [System, Global, XDG, ProgramData] {
            let _ = git2::opts::set_search_path(level, "");
        }
        let _ = git2::opts::set_mwindow_size(32 << 20);
        let _ = git2::opts::set_mwindow_mapped_limit(512 << 20);
        let _ = git2::opts::set_cache_max_size(64 << 20);
    }
}

fn requests(mut input: impl Read, mut output: impl Write) -> Answer {
    let Ok(Some(Request::Open { folder })) = receive(&mut input) else {
        return Err(Stop::Gone);
    };
    let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(folder));
    let repository = match Repository::open_bare(path) {
        Ok(repository) => repository,
        Err(error) => {
            send(&mut output, &refusal(Failure::Protocol, error.message()))?;
            return Err(Stop::Gone);
        }
    };
    let odb = repository.odb()?;
    let mempack = odb.add_new_mempack_backend(1000)?;
    send(&mut output, &Response::Done)?;
    let mut contents: Vec<Oid> = Vec::new();
    let mut compared: Option<Compared<'_>> = None;
    loop {
        let request = match receive(&mut input) {
            Ok(Some(request)) => request,
            _ => return Ok(()),
        };
        let answer = match request {
            Request::Open { .. } => failed(Failure::Protocol, "already open"),
            Request::Tree { commit } => tree(&odb, commit, &mut output),
            Request::Log { from, hide, limit } => log(&repository, from, hide, limit, &mut output),
            Request::HasCrlf { blob } => has_crlf(&odb, blob)
                .and_then(|truth| Ok(send(&mut output, &Response::Truth(truth))?)),
            Request::Content { bytes } => {
                if compared.take().is_some() {
                    contents.clear();
                    let _ = mempack.reset();
                }
                contents.push(odb.write(ObjectType::Blob, &bytes)?);
                continue;
            }
            Request::Compare { changes } => {
                compared = None;
                compare(&repository, &odb, &changes, &contents, &mut output)
                    .map(|made| compared = Some(made))
            }
            Request::Patch { delta, options } => match &mut compared {
                Some(compared) => compared
                    .patch(&repository, delta, options)
                    .and_then(|patch| Ok(send(&mut output, &Response::Patch(patch))?)),
                None => failed(Failure::Protocol, "nothing was compared"),
            },
            Request::PatchText { delta, options } => match &mut compared {
                Some(compared) => compared.text(&repository, delta, options, &mut output),
                None => failed(Failure::Protocol, "nothing was compared"),
            },
        };
        match answer {
            Ok(()) => {}
            Err(Stop::Failed(why, message)) => send(&mut output, &refusal(why, &message))?,
            Err(Stop::Gone) => return Ok(()),
        }
    }
}

fn refusal(why: Failure, message: &str) -> Response {
    Response::Failed {
        why,
        message: message.to_owned(),
    }
}

fn oid(id: &Id) -> Answer<Oid> {
    Ok(Oid::from_bytes(id)?)
}

/// An object's bytes, its header read first.
fn object(odb: &Odb<'_>, id: Oid, kind: ObjectType, limit: usize) -> Answer<Vec<u8>> {
    let (size, found) = odb.read_header(id)?;
    if found != kind {
        return failed(
            Failure::Damaged,
            format!("{id} is a {}, not a {}", found.str(), kind.str()),
        );
    }
    if size > limit {
        return failed(
            Failure::Limit,
            format!("{} {id} is over its limit", kind.str()),
        );
    }
    let object = odb.read(id)?;
    if object.len() != size {
        return failed(
            Failure::Damaged,
            format!("{id} is not as long as its header says"),
        );
    }
    Ok(object.data().to_vec())
}

/// Walks a commit's tree by hand, since libgit2 panics on odd modes and has no caps.
fn tree(odb: &Odb<'_>, commit: Id, output: &mut impl Write) -> Answer {
    const BATCH: usize = 4096;
    let commit = object(odb, oid(&commit)?, ObjectType::Commit, MAX_COMMIT)?;
    let root = commit
        .strip_prefix(b"tree ")
        .and_then(|rest| rest.get(..40))
        .and_then(super::refs::parse_id);
    let Some(root) = root else {
        return failed(Failure::Damaged, "the commit names no tree");
    };
    let mut pending = vec![(Vec::new(), root, 0_usize)];
    let (mut batch, mut count) = (Vec::with_capacity(BATCH), 0_usize);
    while let Some((folder, id, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return failed(
                Failure::Limit,
                format!("a tree is nested over {MAX_DEPTH} deep"),
            );
        }
        let bytes = object(odb, oid(&id)?, ObjectType::Tree, MAX_TREE)?;
        let mut names: HashSet<&[u8]> = HashSet::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let parsed = tree_entry(rest);
            let Some((mode, name, id, left)) = parsed else {
                return failed(
                    Failure::Damaged,
                    format!("tree {} is malformed", super::refs::show_id(&id)),
                );
            };
            rest = left;
            if !super::index::is_path(name) || name.contains(&b'/') || !names.insert(name) {
                return failed(
                    Failure::Damaged,
                    format!(
                        "a tree holds the illegal name {}",
                        crate::text::visible_bytes(name)
                    ),
                );
            }
            count += 1;
            if count > MAX_TREE_ENTRIES {
                return failed(
                    Failure::Limit,
                    format!("a tree holds over {MAX_TREE_ENTRIES} entries"),
                );
            }
            let path = super::tree::join(&folder, name);
            match mode & 0o170_000 {
                0o040_000 => pending.push((path, id, depth + 1)),
                0o120_000 => batch.push((path, 0o120_000, id)),
                0o160_000 => batch.push((path, 0o160_000, id)),
                _ => {
                    let mode = if mode & 0o100 == 0 {
                        0o100_644
                    } else {
                        0o100_755
                    };
                    batch.push((path, mode, id));
                }
            }
            if batch.len() == BATCH {
                let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                send(output, &Response::TreeEntries(full))?;
            }
        }
    }
    send(output, &Response::TreeEntries(batch))?;
    Ok(send(output, &Response::Done)?)
}

/// `MODE NAME\0ID`: the first entry of a tree's bytes, and the rest.
fn tree_entry(bytes: &[u8]) -> Option<(u32, &[u8], Id, &[u8])> {
    let space = bytes.iter().take(8).position(|b| *b == b' ')?;
    let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
    let rest = &bytes[space + 1..];
    let end = rest.iter().position(|b| *b == 0)?;
    let id = rest.get(end + 1..end + 21)?.try_into().ok()?;
    Some((mode, &rest[..end], id, &rest[end + 21..]))
}

/// What `git log hide..from` lists. A shallow clone's missing parents end the walk.
fn log(repository: &Repository, from: Id, hide: Id, limit: u32, output: &mut impl Write) -> Answer {
    let odb = repository.odb()?;
    let parents = |id: Oid| -> Vec<Oid> {
        let readable = object(&odb, id, ObjectType::Commit, MAX_COMMIT).is_ok();
        let commit = readable.then(|| repository.find_commit(id).ok()).flatten();
        commit.map_or_else(Vec::new, |commit| commit.parent_ids().collect())
    };
    let mut hidden = HashSet::new();
    let mut pending = vec![oid(&hide)?];
    while let Some(id) = pending.pop() {
        if hidden.len() < MAX_WALK && hidden.insert(id) {
            pending.extend(parents(id));
        }
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut newest: BinaryHeap<(i64, Oid)> = BinaryHeap::new();
    let push = |id: Oid, newest: &mut BinaryHeap<(i64, Oid)>, seen: &mut HashSet<Oid>| {
        if !hidden.contains(&id) && seen.len() < MAX_WALK && seen.insert(id) {
            let time = repository
                .find_commit(id)
                .map_or(0, |commit| commit.time().seconds());
            newest.push((time, id));
        }
    };
    object(&odb, oid(&from)?, ObjectType::Commit, MAX_COMMIT)
        .map(drop)
        .or_else(|stop| {
            if hidden.contains(&oid(&from)?) {
                Ok(())
            } else {
                Err(stop)
            }
        })?;
    push(oid(&from)?, &mut newest, &mut seen);
    while let Some((_, id)) = newest.pop() {
        if found.len() >= limit as usize {
            break;
        }
        if object(&odb, id, ObjectType::Commit, MAX_COMMIT).is_err() {
            continue;
        }
        let commit = repository.find_commit(id)?;
        let author = commit.author();
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        found.push(Commit {
            id: id.to_string(),
            author: format!(
                "{} <{}>",
                lossy(author.name_bytes()),
                lossy(author.email_bytes())
            ),
            time: commit.time().seconds(),
            subject: lossy(commit.summary_bytes().unwrap_or_default()),
        });
        for parent in commit.parent_ids() {
            push(parent, &mut newest, &mut seen);
        }
    }
    Ok(send(output, &Response::Commits(found))?)
}

fn has_crlf(odb: &Odb<'_>, blob: Id) -> Answer<bool> {
    let bytes = object(odb, oid(&blob)?, ObjectType::Blob, MAX_CONTENT as usize)?;
    Ok(bytes.windows(2).any(|pair| pair == b"\r\n"))
}

/// The last comparison, kept for its patches.
struct Compared<'repo> {
    old: git2::Tree<'repo>,
    new: git2::Tree<'repo>,
    exact: bool,
    diff: Diff<'repo>,
    options: PatchOptions,
}

fn compare<'repo>(
    repository: &'repo Repository,
    odb: &Odb<'_>,
    changes: &[WireChange],
    contents: &[Oid],
    output: &mut impl Write,
) -> Answer<Compared<'repo>> {
    let (mut old, mut new) = (Folder::default(), Folder::default());
    let mut opaque = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut sides = Vec::with_capacity(2);
        for (side, is_old) in [(&change.old, true), (&change.new, false)] {
            let Some(side) = side else { continue };
            let id = match &side.blob {
                WireBlob::Content(index) => match contents.get(*index as usize) {
                    Some(id) => *id,
                    None => return failed(Failure::Protocol, "a content was not sent"),
                },
                WireBlob::Object(id) if side.mode == 0o160_000 => oid(id)?,
                WireBlob::Object(id) => {
                    let id = oid(id)?;
                    match odb.read_header(id) {
                        Ok((_, kind)) if kind != ObjectType::Blob => {
                            opaque.push((
                                number,
                                format!("its old content {id} is a {}", kind.str()),
                            ));
                        }
                        Ok((size, _)) if size as u64 > MAX_CONTENT => {
                            opaque.push((
                                number,
                                format!(
                                    "its old content is too large to compare ({})",
                                    crate::text::human_bytes(size as u64)
                                ),
                            ));
                        }
                        Ok(_) => {
                            if let Err(error) = odb.read(id) {
                                opaque.push((
                                    number,
                                    format!("its old content {id} is damaged: {}", error.message()),
                                ));
                            }
                        }
                        Err(error) if error.code() == git2::ErrorCode::NotFound => {
                            opaque.push((
                                number,
                                format!("its old content {id} is not in the archive"),
                            ));
                        }
                        Err(error) => opaque.push((
                            number,
                            format!("its old content {id} cannot be read: {}", error.message()),
                        )),
                    }
                    id
                }
            };
            sides.push((is_old, side.mode, id));
        }
        if opaque.last().is_none_or(|(last, _)| *last != number) {
            for (is_old, mode, id) in sides {
                let folder = if is_old { &mut old } else { &mut new };
                folder.insert(&change.path, mode, id)?;
            }
        }
    }
    send(output, &Response::Opaque(opaque))?;
    let old = repository.find_tree(old.write(odb)?)?;
    let new = repository.find_tree(new.write(odb)?)?;
    let exact = changes.len() > 2 * RENAME_LIMIT;
    let options = PatchOptions::default();
    let diff = make_diff(repository, &old, &new, options, exact)?;
    send_deltas(&diff, output)?;
    send_counts(&diff, output)?;
    Ok(Compared {
        old,
        new,
        exact,
        diff,
        options,
    })
}

fn send_deltas(diff: &Diff<'_>, output: &mut impl Write) -> Answer {
    let mut deltas = Vec::with_capacity(diff.deltas().len());
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
        deltas.push(WireDelta {
            old_path: path(&old).filter(|_| old.exists()),
            new_path: path(&new).filter(|_| new.exists()),
            old_mode: there(&old),
            new_mode: there(&new),
            same_content: old.id() == new.id(),
        });
    }
    for batch in deltas.chunks(4096) {
        send(output, &Response::Deltas(batch.to_vec()))?;
    }
    Ok(send(output, &Response::Done)?)
}

/// Line counts after the list, so that a count that hangs takes only counts along.
fn send_counts(diff: &Diff<'_>, output: &mut impl Write) -> Answer {
    let mut counts = Vec::new();
    let count = diff.deltas().len();
    for index in 0..count {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let Some(delta) = diff.get_delta(index) else {
            continue;
        };
        if delta.old_file().size().max(delta.new_file().size()) > MAX_COUNTED {
            continue;
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
        if counts.len() == 64 {
            send(output, &Response::Counts(std::mem::take(&mut counts)))?;
        }
    }
    send(output, &Response::Counts(counts))?;
    Ok(send(output, &Response::Done)?)
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
    fn with(&mut self, repository: &'repo Repository, options: PatchOptions) -> Answer {
        if options != self.options {
            self.diff = make_diff(repository, &self.old, &self.new, options, self.exact)?;
            self.options = options;
        }
        Ok(())
    }

    fn patch(
        &mut self,
        repository: &'repo Repository,
        delta: u32,
        options: PatchOptions,
    ) -> Answer<FilePatch> {
        self.with(repository, options)?;
        let mut file = FilePatch::default();
        let patch = git2::Patch::from_diff(&self.diff, delta as usize)?;
        file.binary = self
            .diff
            .get_delta(delta as usize)
            .is_some_and(|delta| delta.flags().is_binary());
        let Some(patch) = patch.filter(|_| !file.binary) else {
            return Ok(file);
        };
        let mut lines = 0;
        for number in 0..patch.num_hunks() {
            let (hunk, count) = patch.hunk(number)?;
            let mut kept = Hunk {
                header: hunk.header().trim_ascii_end().to_vec(),
                lines: Vec::with_capacity(count.min(MAX_PATCH_LINES)),
            };
            for index in 0..count {
                if lines == MAX_PATCH_LINES {
                    file.truncated =
                        Some(format!("only its first {MAX_PATCH_LINES} lines are shown"));
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
                kept.lines.push(Line {
                    kind,
                    old: line.old_lineno(),
                    new: line.new_lineno(),
                    text: text.strip_suffix(b"\n").unwrap_or(text).to_vec(),
                    no_newline: false,
                });
            }
            file.hunks.push(kept);
        }
        Ok(file)
    }

    fn text(
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

/// A tree under construction; only what differs is in it.
#[derive(Default)]
struct Folder {
    folders: HashMap<Vec<u8>, Folder>,
    files: HashMap<Vec<u8>, (u32, Oid)>,
}

impl Folder {
    fn insert(&mut self, path: &[u8], mode: u32, id: Oid) -> Answer {
        let mut at = self;
        let mut parts = path.split(|b| *b == b'/').peekable();
        let mut depth = 0;
        while let Some(part) = parts.next() {
            depth += 1;
            if depth > 4 * MAX_DEPTH || part.is_empty() {
                return failed(Failure::Limit, "a path is nested too deep");
            }
            if parts.peek().is_none() {
                at.files.insert(part.to_vec(), (mode, id));
            } else {
                at = at.folders.entry(part.to_vec()).or_default();
            }
        }
        Ok(())
    }

    /// Writes the tree into memory, in git's order: a folder sorts as if it ended in a slash.
    fn write(&self, odb: &Odb<'_>) -> Answer<Oid> {
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (name, folder) in &self.folders {
            if self.files.contains_key(name) {
                return failed(Failure::Protocol, "a path is both a file and a folder");
            }
            let id = folder.write(odb)?;
            entries.push((
                [name, &b"/"[..]].concat(),
                [b"40000 ", &name[..], b"\0", id.as_bytes()].concat(),
            ));
        }
        for (name, (mode, id)) in &self.files {
            let mode = format!("{mode:o} ");
            entries.push((
                name.clone(),
                [mode.as_bytes(), &name[..], b"\0", id.as_bytes()].concat(),
            ));
        }
        entries.sort();
        let bytes: Vec<u8> = entries.into_iter().flat_map(|(_, entry)| entry).collect();
        Ok(odb.write(ObjectType::Tree, &bytes)?)
    }
}
