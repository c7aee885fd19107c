//! Stored bytes in, once: the same pieces feed the SHA-256 and the inflater, and what they expand
//! to lands in a [`Spool`]. Nothing read here counts until size and digest are right.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use sha2::{Digest, Sha256};

use super::gunzip::{Gunzip, MAGIC};
use super::spool::Spool;
use crate::checkpoint::{CheckpointLimits, CheckpointRef, fill};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::{Stage, Watch};
use crate::scratch::Scratch;
use crate::threads;

const PIECE: usize = 256 * 1024;
/// Pieces under way between reader and hasher: 2 MiB at most.
const QUEUE: usize = 8;

/// What one pass over the stored bytes found.
pub(crate) struct Intake {
    pub spool: Spool,
    pub stored: CheckpointRef,
    pub compressed: bool,
}

/// Reads `stored` to its end. With a `reference`, size and digest must match it: a mismatch is
/// reported before whatever else was wrong with the bytes, since it explains the rest.
pub(crate) fn take_in(
    mut stored: Box<dyn Read + Send>,
    reference: Option<&CheckpointRef>,
    limits: &CheckpointLimits,
    scratch: &Scratch,
    watch: &Watch,
) -> Result<Intake> {
    let total = reference.map_or(0, CheckpointRef::size);
    let mut hasher = Hasher::default();
    let mut pool = Pool::default();
    let mut expander = Expander::new(limits, scratch)?;
    let mut trouble: Option<Error> = None;
    let mut read = 0_u64;
    loop {
        watch.check()?;
        let mut buffer = pool.take();
        let count = match Arc::get_mut(&mut buffer) {
            Some(buffer) => fill(&mut *stored, buffer).map_err(crate::error::of_read)?,
            None => 0,
        };
        if count == 0 {
            break;
        }
        read += count as u64;
        if reference.is_some_and(|reference| read > reference.size()) {
            return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
        }
        if reference.is_none() && read > limits.max_bytes {
            return fail(
                ErrorKind::InvalidArchive,
                "Checkpoint archive exceeds its limit",
            );
        }
        hasher.update(&buffer, count);
        if trouble.is_none()
            && let Err(error) = expander.feed(&buffer[..count])
        {
            trouble = Some(error);
        }
        pool.give(buffer);
        watch.at(Stage::Digest, read, total);
    }
    let digest = hasher.finish();
    if let Some(reference) = reference {
        if read != reference.size() {
            return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
        }
        if digest != reference.sha256() {
            return fail(ErrorKind::ChecksumMismatch, "Checkpoint checksum mismatch");
        }
    }
    watch.passed(Stage::Digest, read);
    if let Some(error) = trouble {
        return Err(error);
    }
    let compressed = expander.compressed();
    let spool = expander.finish()?;
    let stored = match reference {
        Some(reference) => reference.clone(),
        // An empty file is no object, but still a file whose bytes can be asked about.
        None => CheckpointRef::new(digest, read.max(1))?,
    };
    Ok(Intake {
        spool,
        stored,
        compressed,
    })
}

/// Buffers in use by reader and hasher; one is free again when nobody else holds it.
#[derive(Default)]
struct Pool(Vec<Arc<Vec<u8>>>);

impl Pool {
    fn take(&mut self) -> Arc<Vec<u8>> {
        match self
            .0
            .iter()
            .position(|buffer| Arc::strong_count(buffer) == 1)
        {
            Some(free) => self.0.swap_remove(free),
            None => Arc::new(vec![0; PIECE]),
        }
    }

    fn give(&mut self, buffer: Arc<Vec<u8>>) {
        self.0.push(buffer);
    }
}

type Piece = (Arc<Vec<u8>>, usize);

/// SHA-256, on a thread of its own once there is more than one piece.
#[derive(Default)]
struct Hasher {
    first: Option<Piece>,
    beside: Option<(SyncSender<Piece>, JoinHandle<Sha256>)>,
    /// Where the system gives no thread.
    here: Option<Sha256>,
}

impl Hasher {
    fn update(&mut self, buffer: &Arc<Vec<u8>>, count: usize) {
        let piece = (Arc::clone(buffer), count);
        if self.beside.is_none() && self.here.is_none() {
            let Some(first) = self.first.take() else {
                self.first = Some(piece);
                return;
            };
            let (pieces, incoming) = sync_channel::<Piece>(QUEUE);
            let beside = move || {
                let mut digest = Sha256::new();
                for (buffer, count) in incoming {
                    digest.update(&buffer[..count]);
                }
                digest
            };
            match threads::start(beside) {
                Ok(thread) => {
                    let _ = pieces.send(first);
                    self.beside = Some((pieces, thread));
                }
                Err(_) => self.here = Some(Sha256::new_with_prefix(&first.0[..first.1])),
            }
        }
        if let Some((pieces, _)) = &self.beside {
            let _ = pieces.send(piece);
        } else if let Some(digest) = &mut self.here {
            digest.update(&buffer[..count]);
        }
    }

    fn finish(mut self) -> String {
        let digest = match self.beside.take() {
            Some((pieces, thread)) => {
                drop(pieces);
                // A hasher that died has no digest; the empty one matches no reference.
                thread.join().unwrap_or_default()
            }
            None => self.here.take().unwrap_or_else(|| {
                let mut digest = Sha256::new();
                if let Some((buffer, count)) = &self.first {
                    digest.update(&buffer[..*count]);
                }
                digest
            }),
        };
        crate::checkpoint::hex(&digest.finalize())
    }
}

/// Plain or gzipped bytes to the spool, told apart by the first two bytes.
struct Expander {
    spool: Spool,
    gunzip: Option<Gunzip>,
    begun: bool,
    limit: u64,
}

impl Expander {
    fn new(limits: &CheckpointLimits, scratch: &Scratch) -> Result<Self> {
        Ok(Self {
            spool: Spool::new(scratch)?,
            gunzip: None,
            begun: false,
            limit: limits.max_bytes,
        })
    }

    fn compressed(&self) -> bool {
        self.gunzip.is_some()
    }

    fn feed(&mut self, piece: &[u8]) -> Result<()> {
        if !self.begun {
            self.begun = true;
            if piece.starts_with(&MAGIC) {
                self.gunzip = Some(Gunzip::new());
            }
        }
        let (spool, limit) = (&mut self.spool, self.limit);
        let mut keep = |bytes: &[u8]| {
            if spool.len() + bytes.len() as u64 > limit {
                return fail(
                    ErrorKind::InvalidArchive,
                    "Checkpoint archive exceeds its limit",
                );
            }
            spool.append(bytes)
        };
        match &mut self.gunzip {
            Some(gunzip) => gunzip.feed(piece, keep),
            None => keep(piece),
        }
    }

    fn finish(self) -> Result<Spool> {
        if let Some(gunzip) = self.gunzip {
            gunzip.finish()?;
        }
        Ok(self.spool)
    }
}
