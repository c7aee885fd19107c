//! Tars by hand: small valid archives around a target's bytes, and checksums for mutated ones.

use std::io::Cursor;
use std::sync::Arc;

use super::limits;
use crate::archive::framing::blocks;
use crate::archive::number::header_number;
use crate::archive::{Archive, intake};
use crate::progress::Watch;
use crate::scratch::Scratch;

const BLOCK: usize = 512;
const MANIFEST: &[u8] = br#"{"version": 1, "state": {}}"#;

/// An archive while it is written.
pub(crate) struct Tarball(Vec<u8>);

impl Tarball {
    /// One with a manifest and both roots.
    pub(crate) fn new() -> Self {
        let mut this = Self(Vec::new());
        this.file(b"manifest.json", MANIFEST);
        this.folder(b"native");
        this.folder(b"workspace");
        this
    }

    /// One with nothing in it.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn folder(&mut self, name: &[u8]) {
        self.member(name, b'5', b"", b"", 0o755, &[]);
    }

    pub(crate) fn file(&mut self, name: &[u8], content: &[u8]) {
        self.member(name, b'0', b"", content, 0o644, &[]);
    }

    pub(crate) fn link(&mut self, name: &[u8], target: &[u8]) {
        self.member(name, b'2', target, b"", 0o777, &[]);
    }

    /// A member with all that a header says, and `records` in a pax header before it.
    pub(crate) fn member(
        &mut self,
        name: &[u8],
        kind: u8,
        link: &[u8],
        content: &[u8],
        mode: u32,
        records: &[(&[u8], &[u8])],
    ) {
        let mut payload = Vec::new();
        for (key, value) in [(&b"path"[..], name), (b"linkpath", link)] {
            if value.len() > 100 {
                payload.extend(record(key, value));
            }
        }
        for (key, value) in records {
            payload.extend(record(key, value));
        }
        if !payload.is_empty() {
            self.header(b"pax", b'x', b"", payload.len(), 0o644);
            self.content(&payload);
        }
        self.header(name, kind, link, content.len(), mode);
        self.content(content);
    }

    fn header(&mut self, name: &[u8], kind: u8, link: &[u8], size: usize, mode: u32) {
        let mut block = [0; BLOCK];
        let mut put = |at: usize, value: &[u8]| {
            block[at..at + value.len()].copy_from_slice(value);
        };
        put(0, &name[..name.len().min(100)]);
        put(100, format!("{mode:07o}\0").as_bytes());
        put(108, b"0000000\x000000000\0");
        put(124, format!("{size:011o}\0").as_bytes());
        put(136, b"14520010400\0");
        put(156, &[kind]);
        put(157, &link[..link.len().min(100)]);
        put(257, b"ustar\x0000");
        sum(&mut block);
        self.0.extend(block);
    }

    fn content(&mut self, content: &[u8]) {
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(BLOCK), 0);
    }

    /// The archive with its end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 2 * BLOCK, 0);
        self.0
    }

    /// The archive, opened; `None` when it is none.
    pub(crate) fn open(self) -> Option<Arc<Archive>> {
        open(&self.finish()).map(Arc::new)
    }
}

/// Opens stored bytes.
pub(crate) fn open(stored: &[u8]) -> Option<Archive> {
    let (limits, watch) = (limits(), Watch::default());
    let stored = Box::new(Cursor::new(stored.to_vec()));
    let intake = intake::take_in(stored, None, &limits, &Scratch::default(), &watch).ok()?;
    Archive::validated(intake, &limits, &watch).ok()
}

/// A pax record: its length counts itself.
pub(crate) fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while rest + length.to_string().len() > length {
        length += 1;
    }
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}

/// Makes the checksum of every header right that a reader comes by, so that mutations reach what
/// is behind the checksum.
pub fn repair(archive: &mut [u8]) {
    let mut at = 0;
    while let Some(block) = archive
        .get_mut(at..)
        .and_then(<[u8]>::first_chunk_mut::<BLOCK>)
    {
        if block.iter().all(|byte| *byte == 0) {
            return;
        }
        sum(block);
        let size = header_number(&block[124..136]).ok();
        let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        let size = usize::try_from(blocks(size.min(1 << 40))).unwrap_or(0);
        at = at.saturating_add(BLOCK).saturating_add(size);
    }
}

fn sum(block: &mut [u8; BLOCK]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}
