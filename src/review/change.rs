//! Paths that differ, with what is needed to send them to a worker, and to another one after that.

use std::collections::HashSet;
use std::sync::Arc;

use super::id::Id;
use crate::archive::Archive;

/// Where one side's content is.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// In the checkout's objects.
    Object(Id),
    /// In the spool of the side's archive.
    Spool { offset: u64, size: u64 },
    /// Here: a link's target, or a file as git would store it.
    Bytes(Vec<u8>),
}

impl Source {
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Object(_) => 0,
            Self::Spool { size, .. } => *size,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

/// One side of a change.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub mode: u32,
    pub source: Source,
}

/// A path that differs.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub path: Vec<u8>,
    pub old: Option<Side>,
    pub new: Option<Side>,
}

/// All paths that differ, with what is needed to send them to a worker again.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub changes: Vec<Change>,
    pub old_archive: Option<Arc<Archive>>,
    pub new_archive: Arc<Archive>,
}

impl Comparison {
    /// The paths that were sent.
    pub(crate) fn paths(&self) -> HashSet<&[u8]> {
        self.changes.iter().map(|change| &change.path[..]).collect()
    }
}
