//! Writing an archive's two roots to a new directory: all of it, or nothing.
//!
//! Everything is written into a hidden 0700 sibling of the destination (`staging.rs`) and renamed
//! last. Links come after every file, and no path is followed through one (`beneath.rs`), whoever
//! puts it there; directory times and modes come last, deepest first. Modes ignore the umask, as
//! Agno's do.

mod beneath;
mod staging;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustix::fs::{Mode, Timespec, Timestamps};

use self::beneath::Beneath;
use self::staging::Staging;
#[cfg(feature = "app")]
pub(crate) use self::staging::sweep_left;
use super::inspect::graph;
use super::links::check_restorable;
use super::{Archive, Entry, EntryKind};
use crate::checkpoint::blocking;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Json;
use crate::progress::{Stage, Watch};
use crate::text::{visible_bytes, visible_path};

const WRITERS: usize = 2;
const PIECE: usize = 256 * 1024;
/// Longest path and longest name that Linux takes.
const PATH_MAX: usize = 4095;
const NAME_MAX: usize = 255;

/// What to restore, and how.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// Recreate links to absolute paths, which lead to this machine's own files.
    pub absolute_links: bool,
    /// Only these paths (in the archive's terms, e.g. `workspace/repository/src`), what is below
    /// them and the directories above them; empty for everything.
    pub only: Vec<Vec<u8>>,
}

/// What a restore would do; made once, shown, and consumed by [`RestorePlan::carry_out`].
#[derive(Debug)]
pub struct RestorePlan<'a> {
    archive: &'a Archive,
    destination: PathBuf,
    entries: Vec<&'a Entry>,
    skipped_links: Vec<&'a Entry>,
    bytes: u64,
}

/// What a restore did.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// The directory that now holds `workspace` and `native`.
    pub destination: PathBuf,
    /// Entries written.
    pub entries: u64,
    /// Bytes of file content written.
    pub bytes: u64,
    /// Paths of the links to absolute paths that were left out.
    pub skipped_links: Vec<Vec<u8>>,
    /// The captured state.
    pub state: Json,
}

/// Why Agno's restore would stop though the archive is valid.
pub(super) fn obstacle(entries: &[Entry], spool_length: u64) -> Option<Error> {
    let refuse = |message: String| Some(Error::new(ErrorKind::InvalidArchive, message));
    for entry in entries {
        let long_name = entry
            .path
            .split(|b| *b == b'/')
            .any(|part| part.len() > NAME_MAX);
        let target = entry.target().unwrap_or_default();
        if long_name || entry.path.len() > PATH_MAX || target.len() > PATH_MAX {
            let mut shown = visible_bytes(&entry.path);
            if shown.chars().count() > 60 {
                shown = shown.chars().take(57).chain("...".chars()).collect();
            }
            return refuse(format!("File name too long: {shown}"));
        }
        if let EntryKind::File { offset, size } = entry.kind
            && offset
                .checked_add(size)
                .is_none_or(|end| end > spool_length)
        {
            return refuse("Invalid checkpoint archive".into());
        }
    }
    if let Err(error) = check_restorable(&graph(entries)) {
        return Some(error);
    }
    entries
        .iter()
        .filter(|entry| !entry.is_absolute_link())
        .find(|entry| entry.mtime.timespec().is_none())
        .and_then(|_| refuse("Invalid checkpoint timestamp".into()))
}

/// Refuses a destination that is there, even as a dangling link.
pub(super) fn refuse_existing(destination: &Path) -> Result<()> {
    let shown = visible_path(destination);
    if std::fs::symlink_metadata(destination).is_ok() {
        return Err(
            Error::new(ErrorKind::Exists, format!("{shown} already exists"))
                .hint("a restore only writes to a new directory; name one that does not exist"),
        );
    }
    match std::fs::metadata(parent_of(destination)) {
        Ok(parent) if parent.is_dir() => Ok(()),
        Ok(_) => Err(Error::new(
            ErrorKind::Io,
            format!("cannot restore to {shown}: its parent is not a directory"),
        )),
        Err(error) => Err(Error::new(
            ErrorKind::Io,
            format!(
                "cannot restore to {shown}: its parent {}: {}",
                visible_path(&parent_of(destination)),
                crate::error::reason(&error)
            ),
        )
        .hint("make the parent directory first")),
    }
}

fn parent_of(destination: &Path) -> PathBuf {
    match destination.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        Some(_) => PathBuf::from("."),
        None => PathBuf::from("/"),
    }
}

impl Archive {
    /// Plans a restore into the new directory `destination`.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`], a missing parent, a path in `only` that the archive does not hold,
    /// or the reason why this archive cannot be restored.
    pub fn plan_restore(
        &self,
        destination: &Path,
        options: &RestoreOptions,
    ) -> Result<RestorePlan<'_>> {
        refuse_existing(destination)?;
        if let Some(obstacle) = self.unrestorable() {
            return Err(obstacle.copy());
        }
        for path in &options.only {
            if self.entry(path).is_none() {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("The checkpoint holds no {}", visible_bytes(path)),
                )
                .hint("paths start with workspace/ or native/, as `afterrun tree` lists them"));
            }
        }
        let wanted = |entry: &Entry| {
            options.only.is_empty()
                || options.only.iter().any(|path| {
                    within(&entry.path, path) || entry.is_directory() && within(path, &entry.path)
                })
        };
        let (mut entries, mut skipped_links) = (Vec::new(), Vec::new());
        for entry in self.entries().iter().filter(|entry| wanted(entry)) {
            if !entry.is_absolute_link() {
                entries.push(entry);
            } else if options.absolute_links {
                if entry.mtime.timespec().is_none() {
                    return Err(Error::new(
                        ErrorKind::InvalidArchive,
                        "Invalid checkpoint timestamp",
                    ));
                }
                entries.push(entry);
            } else {
                skipped_links.push(entry);
            }
        }
        let bytes = entries.iter().map(|entry| entry.size()).sum();
        Ok(RestorePlan {
            archive: self,
            destination: destination.to_path_buf(),
            entries,
            skipped_links,
            bytes,
        })
    }

    /// Plans and carries out a restore on a blocking thread.
    ///
    /// # Errors
    /// As [`Archive::plan_restore`] and [`RestorePlan::carry_out`].
    pub async fn restore(
        self: &std::sync::Arc<Self>,
        destination: &Path,
        options: &RestoreOptions,
        watch: &Watch,
    ) -> Result<RestoreReport> {
        let (archive, destination) = (std::sync::Arc::clone(self), destination.to_path_buf());
        let (options, watch) = (options.clone(), watch.clone());
        blocking(move || {
            archive
                .plan_restore(&destination, &options)?
                .carry_out(&watch)
        })
        .await
    }
}

/// Whether `path` is `folder` or below it.
fn within(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

impl RestorePlan<'_> {
    /// The directory that would be made.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Entries that would be written.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Bytes of file content that would be written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Paths of links to absolute paths that would be left out.
    #[must_use]
    pub fn skipped_links(&self) -> Vec<Vec<u8>> {
        self.skipped_links
            .iter()
            .map(|entry| entry.path.clone())
            .collect()
    }

    /// The report of what would happen, for `--dry-run`.
    #[must_use]
    pub fn report(&self) -> RestoreReport {
        RestoreReport {
            destination: self.destination.clone(),
            entries: self.entries(),
            bytes: self.bytes,
            skipped_links: self.skipped_links(),
            state: self.archive.state().clone(),
        }
    }

    /// Writes everything. On failure or cancellation nothing is left, in the destination's folder
    /// either.
    ///
    /// # Errors
    /// What the file system refuses; [`ErrorKind::Cancelled`]; [`ErrorKind::Exists`] when the
    /// destination appeared meanwhile.
    pub fn carry_out(self, watch: &Watch) -> Result<RestoreReport> {
        let staging = Staging::beside(&self.destination, self.archive.spool().scratch())?;
        self.directories(&staging)?;
        self.files(&staging, watch)?;
        self.links(&staging)?;
        self.settle(&staging, watch)?;
        staging.publish()?;
        watch.passed(Stage::Restore, self.bytes);
        Ok(self.report())
    }

    fn directories(&self, staging: &Staging) -> Result<()> {
        let mut directories: Vec<_> = self.entries.iter().filter(|e| e.is_directory()).collect();
        // A parent may stand after its child in the archive; shorter paths come first.
        directories.sort_by_key(|entry| entry.path.split(|b| *b == b'/').count());
        let mut beneath = staging.beneath();
        for entry in directories {
            let made = beneath.make_directory(&entry.path);
            made.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn files(&self, staging: &Staging, watch: &Watch) -> Result<()> {
        let files: Vec<&Entry> = self
            .entries
            .iter()
            .copied()
            .filter(|entry| matches!(entry.kind, EntryKind::File { .. }))
            .collect();
        let (next, written) = (AtomicUsize::new(0), AtomicU64::new(0));
        let work = || -> Result<()> {
            let (mut piece, mut beneath) = (Vec::new(), staging.beneath());
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(entry) = files.get(index) else {
                    return Ok(());
                };
                watch.check()?;
                self.file(&mut beneath, entry, &mut piece, watch, &written)
                    // The other writer need not go on.
                    .inspect_err(|_| next.store(files.len(), Ordering::Relaxed))?;
                if index.is_multiple_of(64) {
                    watch.at(Stage::Restore, written.load(Ordering::Relaxed), self.bytes);
                }
            }
        };
        if files.len() < 64 {
            return work();
        }
        std::thread::scope(|scope| {
            // Where the system gives no thread for another, this one does it all.
            let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..WRITERS).filter_map(start).collect();
            let mut answer = work();
            for other in others {
                match other.join() {
                    Ok(theirs) => answer = answer.and(theirs),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            answer
        })
    }

    fn file(
        &self,
        beneath: &mut Beneath<'_>,
        entry: &Entry,
        piece: &mut Vec<u8>,
        watch: &Watch,
        written: &AtomicU64,
    ) -> Result<()> {
        let EntryKind::File { offset, size } = entry.kind else {
            return Ok(());
        };
        let made = beneath.make_file(&entry.path);
        let mut file = made.map_err(|error| self.failed(error))?;
        let mut done = 0;
        while done < size {
            if done > 0 {
                watch.check()?;
                watch.at(Stage::Restore, written.load(Ordering::Relaxed), self.bytes);
            }
            let count = (size - done).min(PIECE as u64) as usize;
            piece.resize(count, 0);
            self.archive.spool().read_exact_at(piece, offset + done)?;
            file.write_all(piece).map_err(|error| self.failed(error))?;
            done += count as u64;
            written.fetch_add(count as u64, Ordering::Relaxed);
        }
        rustix::fs::futimens(&file, &timestamps(entry)).map_err(|error| self.failed(error))?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(entry.mode))
            .map_err(|error| self.failed(error))
    }

    fn links(&self, staging: &Staging) -> Result<()> {
        let mut beneath = staging.beneath();
        for entry in &self.entries {
            if let Some(target) = entry.target() {
                let made = beneath.make_link(&entry.path, target, &timestamps(entry));
                made.map_err(|error| self.failed(error))?;
            }
        }
        Ok(())
    }

    fn settle(&self, staging: &Staging, watch: &Watch) -> Result<()> {
        watch.check()?;
        let mut directories: Vec<_> = self.entries.iter().filter(|e| e.is_directory()).collect();
        directories.sort_by(|a, b| b.path.cmp(&a.path));
        let mut beneath = staging.beneath();
        for entry in directories {
            let mode = Mode::from_raw_mode(entry.mode);
            let settled = beneath.settle_directory(&entry.path, mode, &timestamps(entry));
            settled.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn failed(&self, error: impl Into<std::io::Error>) -> Error {
        Error::io("restore to", &self.destination, error.into())
    }
}

fn timestamps(entry: &Entry) -> Timestamps {
    // A plan holds no entry without a time; the epoch stands in for what cannot happen.
    let (seconds, nanos) = entry.mtime.timespec().unwrap_or_default();
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: nanos.into(),
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}
