//! Headers of pack entries, read by hand and within bounds before libgit2 reads an object. It would
//! allocate whatever a header claims, build every delta on the way however much that is, and follow a
//! ring of deltas for ever.

mod index;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::{Decompress, FlushDecompress};

use crate::review::id::Id;
use crate::review::protocol::{Failure, MAX_CONTENT};
use index::PackIndex;

/// What all objects on the way to one may make together.
const MAX_WORK: u64 = 4 << 30;
/// Deltas on the way to one object; git itself writes no more than 4,095.
const MAX_CHAIN: usize = 100_000;
/// An entry's header, its base, and as much of a delta as tells how long it is.
const HEAD: usize = 512;
/// A pack begins with its signature, version and count.
const FIRST: u64 = 12;

/// Why an entry is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It, or what it is made from, claims this many bytes.
    Large(u64),
    /// It is made in too many steps, or out of too much.
    Costly,
    /// It is made from itself.
    Ring,
    /// It, or what it is made from, is not where the pack's index says.
    Nowhere,
    /// Its header cannot be read.
    Malformed,
    /// The pack's index names ids out of order or twice.
    Disordered,
    /// There is a pack whose index names too many.
    Unread,
}

impl Fault {
    pub(crate) fn failure(self) -> Failure {
        match self {
            Self::Large(_) | Self::Costly | Self::Unread => Failure::Limit,
            _ => Failure::Damaged,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Large(size) => {
                let size = crate::text::human_bytes(*size);
                write!(out, "is too large to read: its pack claims {size} for it")
            }
            Self::Costly => out.write_str("is made from too much: its pack holds too many deltas"),
            Self::Ring => out.write_str("is damaged: its pack makes it from itself"),
            Self::Nowhere => {
                out.write_str("is damaged: its pack does not hold what the pack's index says")
            }
            Self::Malformed => out.write_str("is damaged: its pack cannot be read there"),
            Self::Unread => out.write_str("is not read: a pack's index is too large"),
            Self::Disordered => out.write_str("is damaged: its pack's index is out of order"),
        }
    }
}

/// The packs of the private folder.
pub(crate) struct Packs {
    packs: RefCell<Vec<Pack>>,
    /// The one that was looked at last, by its path: a worker may not hold many files open.
    file: RefCell<Option<(PathBuf, File)>>,
}

struct Pack {
    path: PathBuf,
    index: PackIndex,
    /// What an entry costs, by its offset: nothing is looked at twice.
    known: HashMap<u64, Result<u64, Fault>>,
}

/// A pack while it is looked at.
struct Look<'a> {
    pack: &'a mut Pack,
    file: &'a File,
    length: u64,
    inflate: Decompress,
}

/// What an entry's header says.
struct Header {
    size: u64,
    base: Option<u64>,
}

impl Packs {
    /// The packs below `folder`, without those that libgit2 does not take for packs either.
    pub(crate) fn open(folder: &Path) -> Self {
        let mut packs = Vec::new();
        let folder = folder.join("objects/pack");
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let index = entry.path();
            let path = index.with_extension("pack");
            if index.extension().is_some_and(|kind| kind == "idx")
                && path.exists()
                && let Some(index) = PackIndex::read(&index)
            {
                packs.push(Pack {
                    path,
                    index,
                    known: HashMap::new(),
                });
            }
        }
        Self {
            packs: RefCell::new(packs),
            file: RefCell::new(None),
        }
    }

    /// Whether `id` may be read, from whichever pack libgit2 takes it.
    pub(crate) fn check(&self, id: &Id) -> Result<(), Fault> {
        let mut packs = self.packs.borrow_mut();
        packs
            .iter_mut()
            .try_for_each(|pack| self.check_in(pack, id))
    }

    fn check_in(&self, pack: &mut Pack, id: &Id) -> Result<(), Fault> {
        let Some(offset) = pack.index.offset(id)? else {
            return Ok(());
        };
        if let Some(known) = pack.known.get(&offset) {
            return known.map(drop);
        }
        let mut open = self.file.borrow_mut();
        if open.as_ref().is_none_or(|(path, _)| *path != pack.path) {
            // The other one is closed first.
            *open = None;
            let file = File::open(&pack.path).map_err(|_| Fault::Malformed)?;
            *open = Some((pack.path.clone(), file));
        }
        let Some((_, file)) = &*open else {
            return Err(Fault::Malformed);
        };
        let look = Look {
            pack,
            file,
            length: file.metadata().map_or(0, |metadata| metadata.len()),
            inflate: Decompress::new(true),
        };
        look.cost(offset).map(drop)
    }
}

impl Look<'_> {
    /// The bytes that are made on the way to the entry at `offset`.
    fn cost(mut self, offset: u64) -> Result<u64, Fault> {
        let mut chain: Vec<(u64, u64)> = Vec::new();
        let mut met = HashSet::new();
        let mut at = offset;
        let mut cost = loop {
            if let Some(known) = self.pack.known.get(&at) {
                break *known;
            }
            if !met.insert(at) {
                break Err(Fault::Ring);
            }
            if chain.len() > MAX_CHAIN {
                break Err(Fault::Costly);
            }
            match self.header(at) {
                Ok(Header { size, base }) => {
                    chain.push((at, size));
                    match base {
                        Some(base) => at = base,
                        None => break Ok(0),
                    }
                }
                Err(fault) => {
                    self.pack.known.insert(at, Err(fault));
                    break Err(fault);
                }
            }
        };
        for (offset, size) in chain.into_iter().rev() {
            cost = cost.and_then(|cost| match cost + size {
                cost if cost > MAX_WORK => Err(Fault::Costly),
                cost => Ok(cost),
            });
            self.pack.known.insert(offset, cost);
        }
        cost
    }

    /// The header of the entry at `offset`; a delta's size is that of what it makes.
    fn header(&mut self, offset: u64) -> Result<Header, Fault> {
        let left = self.length.saturating_sub(20).saturating_sub(offset);
        if offset < FIRST || left == 0 {
            return Err(Fault::Nowhere);
        }
        let mut head = [0; HEAD];
        let count = left.min(HEAD as u64) as usize;
        let read = self.file.read_exact_at(&mut head[..count], offset);
        read.map_err(|_| Fault::Malformed)?;
        let mut bytes = &head[..count];
        let first = take(&mut bytes)?;
        let mut size = u64::from(first & 0x0f);
        if first & 0x80 != 0 {
            size |= number(&mut bytes, 4)?;
        }
        if size > MAX_CONTENT {
            return Err(Fault::Large(size));
        }
        let base = match first >> 4 & 7 {
            1..=4 => return Ok(Header { size, base: None }),
            6 => {
                let back = distance(&mut bytes)?;
                let base = offset.checked_sub(back).filter(|_| back > 0);
                base.ok_or(Fault::Nowhere)?
            }
            7 => {
                let (id, rest) = bytes.split_first_chunk::<20>().ok_or(Fault::Malformed)?;
                bytes = rest;
                self.pack.index.offset(id)?.ok_or(Fault::Nowhere)?
            }
            _ => return Err(Fault::Malformed),
        };
        let size = self.made(bytes)?;
        if size > MAX_CONTENT {
            return Err(Fault::Large(size));
        }
        let base = Some(base);
        Ok(Header { size, base })
    }

    /// How much a delta makes: the second of the two numbers that it begins with.
    fn made(&mut self, deflated: &[u8]) -> Result<u64, Fault> {
        let mut begins = [0; 20];
        self.inflate.reset(true);
        // What follows is cut off, so that an error may come after what is asked for.
        let _ = self
            .inflate
            .decompress(deflated, &mut begins, FlushDecompress::None);
        let count = usize::try_from(self.inflate.total_out()).unwrap_or(0);
        let mut bytes = begins.get(..count).ok_or(Fault::Malformed)?;
        number(&mut bytes, 0)?;
        number(&mut bytes, 0)
    }
}

fn take(bytes: &mut &[u8]) -> Result<u8, Fault> {
    let (first, rest) = bytes.split_first().ok_or(Fault::Malformed)?;
    *bytes = rest;
    Ok(*first)
}

/// Seven bits a byte, the lowest first, from bit `shift` on.
fn number(bytes: &mut &[u8], mut shift: u32) -> Result<u64, Fault> {
    let mut value = 0_u64;
    loop {
        let byte = take(bytes)?;
        let bits = u64::from(byte & 0x7f);
        if shift > 63 || bits.leading_zeros() < shift {
            return Err(Fault::Malformed);
        }
        value |= bits << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
}

/// How far back an entry's base is: seven bits a byte, the highest first, each but the last one more.
fn distance(bytes: &mut &[u8]) -> Result<u64, Fault> {
    let mut byte = take(bytes)?;
    let mut value = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = take(bytes)?;
        let more = value
            .checked_add(1)
            .and_then(|value| value.checked_mul(128));
        value = more.ok_or(Fault::Malformed)? + u64::from(byte & 0x7f);
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
