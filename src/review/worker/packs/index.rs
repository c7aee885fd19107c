//! A pack's index: which object begins where. It is checked as libgit2 checks it, and for order.

use std::collections::HashSet;
use std::path::Path;

use super::Fault;
use crate::review::id::Id;

/// A larger index is not read: it would name over ten million objects.
const MAX_INDEX: u64 = 320 << 20;
const MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
const FANOUT: usize = 1024;

/// One index, of version 1 or 2; 0 stands for one that is not read.
pub(super) struct PackIndex {
    bytes: Vec<u8>,
    version: u8,
    count: usize,
    /// All its ids, when they are not in order: which of two libgit2 would find is not known then.
    disordered: Option<HashSet<Id>>,
}

impl PackIndex {
    /// `None` for what libgit2 does not take for an index.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let length = std::fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
        let read = (length <= MAX_INDEX).then(|| std::fs::read(path).ok());
        match read.flatten() {
            Some(bytes) => Self::parse(bytes),
            None => Some(Self {
                bytes: Vec::new(),
                version: 0,
                count: 0,
                disordered: None,
            }),
        }
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let version = if bytes.starts_with(MAGIC) { 2 } else { 1 };
        let mut this = Self {
            bytes,
            version,
            count: 0,
            disordered: None,
        };
        let counts: Vec<usize> = (0..256).map_while(|slot| this.fan(slot)).collect();
        this.count = *counts.get(255)?;
        if !counts.is_sorted() {
            return None;
        }
        let (count, length) = (this.count as u64, this.bytes.len() as u64);
        let fits = match version {
            1 => length == FANOUT as u64 + count * 24 + 40,
            _ => {
                let least = 8 + FANOUT as u64 + count * 28 + 40;
                (least..=least + count.saturating_sub(1) * 8).contains(&length)
            }
        };
        if !fits {
            return None;
        }
        let ordered = (1..this.count).all(|at| this.id(at - 1) < this.id(at))
            && (0..256).all(|slot| this.is_under(slot, &counts));
        if !ordered {
            this.disordered = Some((0..this.count).filter_map(|at| this.id(at)).collect());
        }
        Some(this)
    }

    /// Where `id` begins, when the pack holds it.
    pub(super) fn offset(&self, id: &Id) -> Result<Option<u64>, Fault> {
        if let Some(ids) = &self.disordered {
            return match ids.contains(id) {
                true => Err(Fault::Disordered),
                false => Ok(None),
            };
        }
        if self.version == 0 {
            return Err(Fault::Unread);
        }
        let slot = usize::from(id[0]);
        let before = slot.checked_sub(1).and_then(|before| self.fan(before));
        let mut start = before.unwrap_or(0);
        let mut end = self.fan(slot).unwrap_or(0);
        while start < end {
            let middle = start.midpoint(end);
            match self.id(middle).map(|found| found.cmp(id)) {
                Some(std::cmp::Ordering::Less) => start = middle + 1,
                Some(std::cmp::Ordering::Greater) => end = middle,
                Some(std::cmp::Ordering::Equal) => return self.begins(middle).map(Some),
                None => return Err(Fault::Nowhere),
            }
        }
        Ok(None)
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*bytes))
    }

    /// How many ids begin with a byte of at most `slot`.
    fn fan(&self, slot: usize) -> Option<usize> {
        let start = if self.version == 1 { 0 } else { MAGIC.len() };
        usize::try_from(self.word(start + slot * 4)?).ok()
    }

    /// Whether the ids of a slot are those that begin with its byte.
    fn is_under(&self, slot: usize, counts: &[usize]) -> bool {
        let start = slot.checked_sub(1).map_or(0, |before| counts[before]);
        let begins = |at: usize| self.id(at).map(|id| usize::from(id[0]));
        start == counts[slot]
            || begins(start) == Some(slot) && begins(counts[slot] - 1) == Some(slot)
    }

    fn id(&self, at: usize) -> Option<Id> {
        let start = match self.version {
            1 => FANOUT + at * 24 + 4,
            _ => MAGIC.len() + FANOUT + at * 20,
        };
        self.bytes.get(start..)?.first_chunk::<20>().copied()
    }

    fn begins(&self, at: usize) -> Result<u64, Fault> {
        if self.version == 1 {
            let begins = self.word(FANOUT + at * 24);
            return begins.map(u64::from).ok_or(Fault::Nowhere);
        }
        let words = MAGIC.len() + FANOUT + self.count * 24;
        let begins = self.word(words + at * 4).ok_or(Fault::Nowhere)?;
        if begins & 0x8000_0000 == 0 {
            return Ok(u64::from(begins));
        }
        // Behind 2 GiB the offset stands in a table of its own, which ends before the two digests.
        let long = words + self.count * 4 + (begins & 0x7fff_ffff) as usize * 8;
        let end = self.bytes.len().saturating_sub(40);
        let bytes = self.bytes.get(long..end).and_then(<[u8]>::first_chunk::<8>);
        bytes
            .map(|bytes| u64::from_be_bytes(*bytes))
            .ok_or(Fault::Nowhere)
    }
}
