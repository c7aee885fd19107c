//! A captured turn on its way into the store. Capturing and publishing are apart: a store waits for
//! the disk with each object, and a disk that has a thousand little files to write makes it wait long.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::rows::state;
use super::steps::Computer;
use super::turn::End;
use crate::archive::{CaptureRoots, CheckpointArchive};
use crate::checkpoint::{CheckpointRef, FileCheckpointStore, hex};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::Watch;

/// What Agno never captures.
const CREDENTIALS: [&[u8]; 2] = [
    b"native/.claude/.credentials.json",
    b"native/codex/auth.json",
];

/// A captured archive, not yet in the store.
pub(super) struct Object {
    archive: PathBuf,
    pub(super) reference: CheckpointRef,
    end: End,
}

impl Object {
    /// Captures the computer into the new file `archive`, beside which its files are made real.
    pub(super) fn capture(
        computer: &mut Computer,
        binding: &Value,
        plain: bool,
        end: End,
        archive: PathBuf,
    ) -> Result<Self> {
        let work = archive.parent().unwrap_or(&archive);
        computer.files.materialise(work)?;
        let roots = CaptureRoots {
            workspace: work.join("workspace"),
            native: work.join("native"),
        };
        let capture = CheckpointArchive {
            compress: !plain,
            ..CheckpointArchive::default()
        };
        let exclude: Vec<Vec<u8>> = CREDENTIALS.iter().map(|path| path.to_vec()).collect();
        let binding = state(binding)?;
        capture.blocking_capture(&roots, &archive, &binding, &exclude, &Watch::default())?;
        let bytes = std::fs::read(&archive).map_err(|error| Error::io("read", &archive, error))?;
        let reference = CheckpointRef::new(hex(&Sha256::digest(&bytes)), bytes.len() as u64)?;
        Ok(Self {
            archive,
            reference,
            end,
        })
    }

    /// Puts it into the store, and does to it what happened to it there since.
    pub(super) fn publish(&self, store: &FileCheckpointStore) -> Result<()> {
        let reference = store.blocking_put(&self.archive)?;
        if reference != self.reference {
            return fail(
                ErrorKind::ChecksumMismatch,
                "the demo's archive changed before it was published",
            );
        }
        match self.end {
            End::Pruned => store.blocking_delete(&reference),
            End::Corrupted => corrupt(&store.root().join(reference.sha256())),
            _ => Ok(()),
        }
    }
}

/// Turns one bit over in the middle of an object, which stays read-only.
fn corrupt(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |error| Error::io("write", path, error);
    let mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).map_err(failed)
    };
    let mut bytes = std::fs::read(path).map_err(failed)?;
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 0x01;
    }
    mode(0o600)?;
    std::fs::write(path, bytes).map_err(failed)?;
    mode(0o400)
}
