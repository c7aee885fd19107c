//! A computer's files in memory: turns change them under a clock of their own, and a capture gets
//! them as real files with exactly these modes and times. Memory rather than a folder that lives
//! through the turns, so that nothing of the machine (umask, git configuration, time) shows.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::error::{Error, ErrorKind, Result, fail};

enum Kind {
    Folder,
    File(Vec<u8>),
    Link(&'static str),
}

struct Node {
    kind: Kind,
    mode: u32,
    mtime: i64,
    /// The real file is as this says, but for its time.
    real: bool,
}

/// Every path below the roots `workspace` and `native`.
pub(super) struct Files {
    nodes: BTreeMap<String, Node>,
    /// Paths that were real and are to go, or to be replaced.
    stale: BTreeSet<String>,
    clock: i64,
}

impl Files {
    /// The two roots, made at `clock`.
    pub(super) fn new(clock: i64) -> Self {
        let mut files = Self {
            nodes: BTreeMap::new(),
            stale: BTreeSet::new(),
            clock,
        };
        for root in ["native", "workspace"] {
            files.add(root, Kind::Folder, 0o700);
        }
        files
    }

    /// Now, in epoch seconds.
    pub(super) fn clock(&self) -> i64 {
        self.clock
    }

    pub(super) fn set_clock(&mut self, clock: i64) {
        self.clock = clock;
    }

    fn add(&mut self, path: &str, kind: Kind, mode: u32) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
            if !self.nodes.contains_key(path) {
                self.touch(parent);
            }
        }
        let node = Node {
            kind,
            mode,
            mtime: self.clock,
            real: false,
        };
        let before = self.nodes.insert(path.to_owned(), node);
        if before.is_some_and(|node| node.real) {
            self.stale.insert(path.to_owned());
        }
    }

    fn touch(&mut self, path: &str) {
        let clock = self.clock;
        if let Some(node) = self.nodes.get_mut(path) {
            node.mtime = clock;
        }
    }

    /// A folder, with those above it, unless it is there.
    pub(super) fn folder(&mut self, path: &str) {
        if !self.nodes.contains_key(path) {
            self.add(path, Kind::Folder, 0o755);
        }
    }

    /// A file with this mode.
    pub(super) fn put(&mut self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) {
        self.add(path, Kind::File(bytes.into()), mode);
    }

    /// A file that keeps the mode it has, 0644 when it is new.
    pub(super) fn write(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        let mode = self.nodes.get(path).map_or(0o644, |node| node.mode);
        self.put(path, bytes, mode);
    }

    /// Adds to the end of a file, which is made when it is not there.
    pub(super) fn append(&mut self, path: &str, text: &str, mode: u32) {
        let mut bytes = self.file(path).map(<[u8]>::to_vec).unwrap_or_default();
        bytes.extend_from_slice(text.as_bytes());
        self.put(path, bytes, mode);
    }

    pub(super) fn link(&mut self, path: &str, target: &'static str) {
        self.add(path, Kind::Link(target), 0o777);
    }

    /// Gives a file another mode; its time stays.
    pub(super) fn chmod(&mut self, path: &str, mode: u32) {
        if let Some(node) = self.nodes.get_mut(path) {
            node.mode = mode;
            if std::mem::take(&mut node.real) {
                self.stale.insert(path.to_owned());
            }
        }
    }

    /// Removes a file or a link.
    pub(super) fn remove(&mut self, path: &str) {
        if self.nodes.remove(path).is_some_and(|node| node.real) {
            self.stale.insert(path.to_owned());
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.touch(parent);
        }
    }

    /// Moves one file; it keeps its mode and time.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let Some(node) = self.nodes.get_mut(from) else {
            return missing(from);
        };
        let (kind, mode, mtime) = match &mut node.kind {
            Kind::File(bytes) => (std::mem::take(bytes), node.mode, node.mtime),
            _ => return missing(from),
        };
        self.remove(from);
        self.put(to, kind, mode);
        if let Some(node) = self.nodes.get_mut(to) {
            node.mtime = mtime;
        }
        Ok(())
    }

    fn file(&self, path: &str) -> Option<&[u8]> {
        match &self.nodes.get(path)?.kind {
            Kind::File(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn text(&self, path: &str) -> Result<String> {
        match self.file(path) {
            Some(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            None => missing(path),
        }
    }

    /// What git would record of a path: mode and bytes; `None` when nothing is there.
    pub(super) fn recorded(&self, path: &str) -> Option<Recorded<'_>> {
        let node = self.nodes.get(path)?;
        let (mode, bytes) = match &node.kind {
            Kind::Folder => return None,
            Kind::File(bytes) if node.mode & 0o100 != 0 => (0o100_755, &bytes[..]),
            Kind::File(bytes) => (0o100_644, &bytes[..]),
            Kind::Link(target) => (0o120_000, target.as_bytes()),
        };
        let mtime = node.mtime;
        Some(Recorded { mode, bytes, mtime })
    }

    /// Makes `root` hold all this; from turn to turn it is the same folder, and only what changed
    /// is written.
    pub(super) fn materialise(&mut self, root: &Path) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("write in", root, error);
        for name in std::mem::take(&mut self.stale) {
            std::fs::remove_file(root.join(name)).map_err(failed)?;
        }
        for (name, node) in self.nodes.iter_mut().filter(|(_, node)| !node.real) {
            let path = root.join(name);
            match &node.kind {
                Kind::Folder => std::fs::create_dir(&path),
                Kind::File(bytes) => std::fs::write(&path, bytes),
                Kind::Link(target) => symlink(target, &path),
            }
            .map_err(failed)?;
            if !matches!(node.kind, Kind::Link(_)) {
                let mode = std::fs::Permissions::from_mode(node.mode);
                std::fs::set_permissions(&path, mode).map_err(failed)?;
            }
            node.real = true;
        }
        // Children first: making one changes its folder's time.
        for (name, node) in self.nodes.iter().rev() {
            let time = Timespec {
                tv_sec: node.mtime,
                tv_nsec: 0,
            };
            let times = Timestamps {
                last_access: time,
                last_modification: time,
            };
            utimensat(CWD, root.join(name), &times, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|error| failed(error.into()))?;
        }
        Ok(())
    }

    /// Removes what [`Files::materialise`] made.
    pub(super) fn unmake(&mut self, root: &Path) -> Result<()> {
        for name in ["native", "workspace"] {
            let path = root.join(name);
            if path.is_dir() {
                std::fs::remove_dir_all(&path)
                    .map_err(|error| Error::io("remove", &path, error))?;
            }
        }
        for node in self.nodes.values_mut() {
            node.real = false;
        }
        self.stale.clear();
        Ok(())
    }
}

/// A path as git's index and trees record it.
pub(super) struct Recorded<'a> {
    pub(super) mode: u32,
    pub(super) bytes: &'a [u8],
    pub(super) mtime: i64,
}

fn missing<T>(path: &str) -> Result<T> {
    fail(
        ErrorKind::NotFound,
        format!("the demo's script names {path}, which is not there"),
    )
}
