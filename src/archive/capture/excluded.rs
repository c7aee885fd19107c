//! What a capture leaves out, under every name its bytes have.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{children, lstat};
use crate::archive::links::ROOTS;
use crate::error::{ErrorKind, Result, fail};

/// Exclusions, and the inodes behind them: a hard link is a second name for the same bytes.
pub(super) struct ExcludedFiles {
    paths: Vec<Vec<u8>>,
    inodes: HashMap<(u64, u64), Vec<u8>>,
}

impl ExcludedFiles {
    pub(super) fn collect(roots: &[PathBuf; 2], exclude: &[Vec<u8>]) -> Result<Self> {
        let mut found = Self {
            paths: exclude.to_vec(),
            inodes: HashMap::new(),
        };
        found.paths.sort();
        for item in found.paths.clone() {
            let cut = item.iter().position(|b| *b == b'/').unwrap_or(item.len());
            let root = &roots[usize::from(&item[..cut] == ROOTS[1])];
            let rest = std::ffi::OsStr::from_bytes(item.get(cut + 1..).unwrap_or_default());
            let path = root.join(rest);
            match std::fs::canonicalize(&path) {
                Ok(real) if real.starts_with(root) => found.walk(&path, &item)?,
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) =>
                {
                    return fail(
                        ErrorKind::UnsafeContent,
                        "Checkpoint contains a symlink cycle or an unfollowable chain",
                    );
                }
                // A path that leads outside, or to nothing, excludes no bytes inside.
                _ => {}
            }
        }
        Ok(found)
    }

    fn walk(&mut self, path: &Path, name: &[u8]) -> Result<()> {
        let entry = lstat(path)?;
        if entry.is_dir() {
            for child in children(path)? {
                self.walk(&path.join(&child), &[name, b"/", child.as_bytes()].concat())?;
            }
        } else if entry.is_file() && entry.nlink() > 1 {
            self.inodes
                .entry((entry.dev(), entry.ino()))
                .or_insert_with(|| name.to_vec());
        }
        Ok(())
    }

    /// The excluded path that a file of this inode is another name of.
    pub(super) fn alias(&self, entry: &Metadata) -> Option<&[u8]> {
        let alias = self.inodes.get(&(entry.dev(), entry.ino()));
        alias.map(|alias| &alias[..])
    }

    pub(super) fn covers(&self, name: &[u8]) -> bool {
        self.paths.iter().any(|item| {
            name.strip_prefix(&item[..])
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        })
    }
}
