//! A directory that keeps what was downloaded, by Agno's rules: it is a file store, bounded, and
//! the bucket is asked before anything of it is used.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use crate::checkpoint::copy::verified;
use crate::checkpoint::{CheckpointRef, FileCheckpointStore, Lease, StoredObject};
use crate::error::{Error, ErrorKind, Result};
use crate::new_file::{NewFile, PRIVATE};
use crate::progress::Watch;

/// What a download of Agno's is called before it is one.
const UNFINISHED: &str = ".download-";
/// A download that is older was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// The cache. Its calls block.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    store: FileCheckpointStore,
    most: u64,
}

impl Cache {
    /// The cache at `root`, made when it is not there, of `most` bytes.
    pub(super) fn create(root: PathBuf, most: u64, max_bytes: u64) -> Result<Self> {
        let store = FileCheckpointStore::create(root)?.with_limit(max_bytes);
        Ok(Self { store, most })
    }

    /// A lease on the copy that is kept, `None` when there is none. A copy that is damaged is
    /// dropped.
    pub(super) fn lease(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Option<Lease>> {
        let lease = match self.store.blocking_open_archive(reference, watch) {
            Ok(lease) => lease,
            Err(error) if error.kind() == ErrorKind::ObjectMissing => return Ok(None),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::SizeMismatch | ErrorKind::ChecksumMismatch
                ) =>
            {
                tracing::warn!("dropped from the cache: {error}");
                self.store.blocking_delete(reference)?;
                return Ok(None);
            }
            // A copy that cannot be read now may well be right.
            Err(error) => return Err(error),
        };
        // What was opened last is evicted last; a copy that went meanwhile needs no time.
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let both = Timestamps {
            last_access: now,
            last_modification: now,
        };
        let _ = rustix::fs::futimens(&lease, &both);
        Ok(Some(lease))
    }

    /// Keeps the bytes of `object`, when they are what they should be, and drops what was opened
    /// longest ago until the cache fits.
    pub(super) fn fill(&self, object: StoredObject, watch: &Watch) -> Result<()> {
        let root = self.store.root();
        let failed = |error: std::io::Error| Error::io("write in", root, error);
        let reference = object.reference.clone();
        let download = NewFile::within(root, PRIVATE).map_err(failed)?;
        verified(object, download.file(), root, watch)?;
        download.file().sync_all().map_err(failed)?;
        rustix::fs::fchmod(download.file(), Mode::from_raw_mode(0o400))
            .map_err(|error| failed(error.into()))?;
        match download.link(reference.sha256().as_ref()) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error.into())),
        }
        self.evict(&reference)
    }

    /// Only names are dropped: a lease keeps its bytes.
    fn evict(&self, keep: &CheckpointRef) -> Result<()> {
        let root = self.store.root();
        let entries = std::fs::read_dir(root).map_err(|error| Error::io("list", root, error))?;
        let (mut objects, mut total) = (Vec::new(), 0_u64);
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let Some(name) = name.to_str() else { continue };
            let Ok(about) = entry.metadata() else {
                continue;
            };
            let opened = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.starts_with('.') {
                let old = opened.elapsed().is_ok_and(|age| age > ABANDONED);
                if name.starts_with(UNFINISHED) && old {
                    let _ = std::fs::remove_file(path);
                }
                continue;
            }
            if !is_object(name) || !about.is_file() {
                continue;
            }
            total += about.len();
            if name != keep.sha256() {
                objects.push((opened, about.len(), path));
            }
        }
        objects.sort();
        for (_, size, path) in objects {
            if total <= self.most {
                break;
            }
            match std::fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("remove", &path, error)),
            }
            total -= size;
        }
        Ok(())
    }
}

/// Whether a file of this name is one of the cache's: the folder may be one that holds other work.
fn is_object(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest as _;

    fn object(byte: u8, size: usize) -> StoredObject {
        let bytes = vec![byte; size];
        let digest = crate::checkpoint::hex(&sha2::Sha256::digest(&bytes));
        StoredObject {
            reference: CheckpointRef::new(digest, size as u64).expect("a reference"),
            bytes: Box::new(std::io::Cursor::new(bytes)),
        }
    }

    #[test]
    fn what_was_opened_longest_ago_goes_first_and_a_lease_keeps_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("cache");
        let cache = Cache::create(root.clone(), 250, 1000).expect("a cache");
        let watch = Watch::default();
        let fill = |byte, size| {
            let object = object(byte, size);
            let reference = object.reference.clone();
            cache.fill(object, &watch).expect("kept");
            reference
        };
        let age = |reference: &CheckpointRef, seconds| {
            let time = SystemTime::now() - Duration::from_secs(seconds);
            let file = std::fs::File::open(root.join(reference.sha256())).expect("there");
            file.set_modified(time).expect("aged");
        };
        let (first, second) = (fill(1, 100), fill(2, 100));
        age(&first, 20);
        age(&second, 10);
        let lease = cache.lease(&first, &watch).expect("asked").expect("there");
        // The first was opened just now, so the second goes.
        let third = fill(3, 100);
        assert!(cache.lease(&second, &watch).expect("asked").is_none());
        assert!(cache.lease(&third, &watch).expect("asked").is_some());
        // One that is larger than the cache is kept all the same, alone.
        let large = fill(4, 300);
        assert!(cache.lease(&large, &watch).expect("asked").is_some());
        assert!(cache.lease(&first, &watch).expect("asked").is_none());
        assert_eq!(std::fs::read_dir(&root).expect("listed").count(), 1);
        let mut held = Vec::new();
        std::io::Read::read_to_end(&mut lease.reader(), &mut held).expect("read");
        assert_eq!(held, vec![1; 100]);
    }

    #[test]
    fn a_strangers_files_are_neither_counted_nor_evicted() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::create(folder.path().into(), 150, 1000).expect("a cache");
        let strangers = ["thesis.txt".to_owned(), "F".repeat(64), "f".repeat(63)];
        for name in &strangers {
            std::fs::write(folder.path().join(name), [0; 400]).expect("written");
        }
        let watch = Watch::default();
        let kept = object(1, 100);
        let reference = kept.reference.clone();
        cache.fill(kept, &watch).expect("kept");
        assert!(cache.lease(&reference, &watch).expect("asked").is_some());
        let small = object(2, 50);
        cache.fill(small, &watch).expect("kept");
        assert!(cache.lease(&reference, &watch).expect("asked").is_some());
        cache.fill(object(3, 150), &watch).expect("kept");
        assert!(cache.lease(&reference, &watch).expect("asked").is_none());
        for name in &strangers {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
    }

    #[test]
    fn a_copy_that_cannot_be_read_now_is_not_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::create(folder.path().into(), 250, 1000).expect("a cache");
        let watch = Watch::default();
        let reference = object(1, 10).reference;
        let path = folder.path().join(reference.sha256());
        std::os::unix::fs::symlink(&path, &path).expect("a link to itself");
        let told = cache.lease(&reference, &watch).expect_err("not to be read");
        assert!(!told.to_string().is_empty());
        assert!(path.symlink_metadata().is_ok());
    }

    #[test]
    fn a_damaged_copy_is_dropped_and_a_wrong_download_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::create(folder.path().into(), 250, 1000).expect("a cache");
        let watch = Watch::default();
        let mut wrong = object(1, 10);
        wrong.reference = object(2, 10).reference;
        let told = cache.fill(wrong, &watch).expect_err("wrong bytes");
        assert_eq!(told.kind(), ErrorKind::ChecksumMismatch);
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
        let reference = object(3, 10).reference;
        let path = folder.path().join(reference.sha256());
        std::fs::write(&path, b"damaged!!!").expect("written");
        assert!(cache.lease(&reference, &watch).expect("asked").is_none());
        assert!(!path.exists());
    }
}
