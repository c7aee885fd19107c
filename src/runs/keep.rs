//! Keeping a run's stored bytes in a file, before retention takes them: hashed on their way, and only
//! whole ones get their name.

use std::io::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Opening, Runs};
use crate::checkpoint::{CheckpointRef, StoredObject, blocking, hex, some};
use crate::error::{Error, ErrorKind, Result, fail, of_read};
use crate::new_file::{NewFile, PRIVATE};
use crate::progress::{Stage, Watch};
use crate::text::visible_path;

const PIECE: usize = 256 * 1024;

impl Runs {
    /// Takes the run through the gate and writes its stored bytes to the new file `file`.
    ///
    /// # Errors
    /// The gate's and the store's; [`ErrorKind::Exists`] when the file is there; nothing is left of
    /// one that could not be finished.
    pub async fn fetch_checkpoint(
        &self,
        run_id: &str,
        opening: &Opening<'_>,
        file: &Path,
        watch: &Watch,
    ) -> Result<CheckpointRef> {
        refuse_existing(file)?;
        let find = async {
            let store = self.checkpoint_store().await?;
            let (_, reference) = self.pass_gate(run_id, opening).await?;
            let object = store.fetch(&reference, watch).await?;
            Ok::<_, Error>((reference, object))
        };
        // A database that does not answer is given up; a file that is begun is waited for, so that
        // what is answered is what became of it.
        let (reference, object) = tokio::select! {
            found = find => found?,
            () = watch.token().cancelled() => return Err(Error::cancelled()),
        };
        let (file, watch) = (file.to_path_buf(), watch.clone());
        blocking(move || write(object, &file, &watch)).await?;
        Ok(reference)
    }
}

fn exists(file: &Path) -> Error {
    Error::new(
        ErrorKind::Exists,
        format!("{} already exists", visible_path(file)),
    )
    .hint("name a file that does not exist")
}

fn refuse_existing(file: &Path) -> Result<()> {
    match std::fs::symlink_metadata(file) {
        Ok(_) => Err(exists(file)),
        Err(_) => Ok(()),
    }
}

fn write(object: StoredObject, file: &Path, watch: &Watch) -> Result<()> {
    let failed = |error| Error::io("write", file, error);
    let mut part = NewFile::beside(file, PRIVATE).map_err(failed)?;
    let (mut bytes, mut digest, mut size) = (object.bytes, Sha256::new(), 0_u64);
    let mut piece = vec![0; PIECE];
    loop {
        watch.check()?;
        let count = some(&mut *bytes, &mut piece).map_err(of_read)?;
        if count == 0 {
            break;
        }
        digest.update(&piece[..count]);
        size += count as u64;
        part.write_all(&piece[..count]).map_err(failed)?;
        watch.at(Stage::Digest, size, object.reference.size());
    }
    watch.passed(Stage::Digest, size);
    if size != object.reference.size() {
        return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
    }
    if hex(&digest.finalize()) != object.reference.sha256() {
        return fail(ErrorKind::ChecksumMismatch, "Checkpoint checksum mismatch");
    }
    part.file().sync_all().map_err(failed)?;
    watch.check()?;
    part.publish(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(file),
        _ => failed(error),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::progress::CancellationToken;

    /// An object that is given up when all of it has been read.
    struct Last(std::io::Cursor<&'static [u8]>, CancellationToken);

    impl Read for Last {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.read(into)?;
            if count == 0 {
                self.1.cancel();
            }
            Ok(count)
        }
    }

    #[test]
    fn what_is_given_up_at_the_last_moment_leaves_nothing() {
        const BYTES: &[u8] = b"stored";
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kept");
        let token = CancellationToken::new();
        let digest = hex(&Sha256::digest(BYTES));
        let object = StoredObject {
            reference: CheckpointRef::new(digest, BYTES.len() as u64).expect("a reference"),
            bytes: Box::new(Last(std::io::Cursor::new(BYTES), token.clone())),
        };
        let written = write(object, &file, &Watch::new(token));
        assert_eq!(written.expect_err("given up").kind(), ErrorKind::Cancelled);
        let mut left = std::fs::read_dir(folder.path()).expect("listed");
        assert!(left.next().is_none());
    }
}
