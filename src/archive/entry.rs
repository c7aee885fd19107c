//! One validated member of an archive.

use super::pax::Mtime;

/// What an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// A regular file: where its content lies in the spool, and its length.
    File {
        /// Offset of the content in the expanded archive.
        offset: u64,
        /// Bytes of content.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link and its target as written.
    Symlink {
        /// Target bytes; a leading slash means that a restore leaves the link out.
        target: Vec<u8>,
    },
}

/// One entry below `workspace` or `native`, as a restore would write it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Path bytes without leading or trailing slash, e.g. `workspace/README.md`.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: EntryKind,
    /// Permission bits, `0o000` to `0o777`.
    pub mode: u32,
    /// Modification time as the archive tells it.
    pub mtime: Mtime,
}

impl Entry {
    /// `file`, `dir` or `symlink`, as in `tree --json`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            EntryKind::File { .. } => "file",
            EntryKind::Directory => "dir",
            EntryKind::Symlink { .. } => "symlink",
        }
    }

    /// Bytes of content; 0 for what has none.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self.kind {
            EntryKind::File { size, .. } => size,
            _ => 0,
        }
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        matches!(self.kind, EntryKind::Directory)
    }

    /// The link's target, of a link.
    #[must_use]
    pub fn target(&self) -> Option<&[u8]> {
        match &self.kind {
            EntryKind::Symlink { target } => Some(target),
            _ => None,
        }
    }

    /// Whether a restore leaves it out unless absolute links are asked for.
    #[must_use]
    pub fn is_absolute_link(&self) -> bool {
        self.target()
            .is_some_and(|target| target.first() == Some(&b'/'))
    }

    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        let cut = self.path.iter().rposition(|b| *b == b'/');
        cut.map_or(&self.path[..], |cut| &self.path[cut + 1..])
    }
}
