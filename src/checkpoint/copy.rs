//! A private copy of an object whose store is far away: hashed on its way, and a hold on it exists
//! only when size and digest were right.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{CheckpointRef, Lease, StoredObject, blocking, hex, some};
use crate::error::{Error, ErrorKind, Result, fail, of_read};
use crate::progress::{Stage, Watch};
use crate::scratch::Scratch;

const PIECE: usize = 256 * 1024;

/// Copies `object` into a file of `scratch` without a name and verifies it.
///
/// # Errors
/// [`ErrorKind::SizeMismatch`], [`ErrorKind::ChecksumMismatch`]; what the store answers; when the
/// copy cannot be written.
pub(crate) async fn leased(
    object: StoredObject,
    scratch: &Scratch,
    watch: &Watch,
) -> Result<Lease> {
    let (scratch, watch) = (scratch.clone(), watch.clone());
    blocking(move || copy(object, &scratch, &watch)).await
}

fn copy(object: StoredObject, scratch: &Scratch, watch: &Watch) -> Result<Lease> {
    let (mut file, mut share) = (scratch.file()?, scratch.share());
    let reference = pour(object, watch, |piece| {
        share.grow(piece.len() as u64)?;
        file.write_all(piece).map_err(|error| scratch.failed(error))
    })?;
    Ok(Lease::new(reference, file).counted(share))
}

/// Copies `object` into `file`, which is in `folder`; blocks.
///
/// # Errors
/// As [`leased`]. The file then holds bytes that were not verified.
pub(crate) fn verified(
    object: StoredObject,
    mut file: &File,
    folder: &Path,
    watch: &Watch,
) -> Result<CheckpointRef> {
    pour(object, watch, |piece| {
        file.write_all(piece)
            .map_err(|error| Error::io("write in", folder, error))
    })
}

/// Hands the bytes over piece by piece; what was handed over counts only when this answers.
fn pour(
    object: StoredObject,
    watch: &Watch,
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<CheckpointRef> {
    let StoredObject {
        reference,
        mut bytes,
    } = object;
    let (mut digest, mut size) = (Sha256::new(), 0_u64);
    let mut piece = vec![0; PIECE];
    loop {
        watch.check()?;
        let count = some(&mut *bytes, &mut piece).map_err(of_read)?;
        if count == 0 {
            break;
        }
        size += count as u64;
        if size > reference.size() {
            return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
        }
        digest.update(&piece[..count]);
        write(&piece[..count])?;
        watch.at(Stage::Digest, size, reference.size());
    }
    if size != reference.size() {
        return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
    }
    if hex(&digest.finalize()) != reference.sha256() {
        return fail(ErrorKind::ChecksumMismatch, "Checkpoint checksum mismatch");
    }
    watch.passed(Stage::Digest, size);
    Ok(reference)
}
