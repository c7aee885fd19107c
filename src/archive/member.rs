//! The second walk: members with all that extension headers say of them, in the order and with
//! the offsets that Python's `tarfile` gives them, since that is what Agno restores.

use bytes::Bytes;

use super::ambiguous;
use super::framing::{
    BLOCK, DIRECTORY, Extensions, GNU_LINK, GNU_NAME, GNU_SPARSE, Header, NoHeader, PAX,
    PAX_GLOBAL, PAX_SOLARIS, SYMLINK, blocks, has_data, is_regular, without_slashes,
};
use super::pax::{BadRecords, Mtime, Records, record_mtime, record_size};
use super::spool::Spool;
use crate::checkpoint::CheckpointLimits;
use crate::error::{ErrorKind, Result, fail};

/// Python gives up on longer chains of extension headers too (its recursion limit).
const MAX_EXTENSIONS: usize = 300;

/// One member as the archive describes it, not yet validated.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub name: Bytes,
    pub kind: u8,
    pub mode: i128,
    pub size: i128,
    pub mtime: Mtime,
    pub link: Bytes,
    pub sparse: bool,
    /// Where its data begins in the spool.
    pub offset: u64,
    /// What other readers take for something else.
    pub doubt: Option<&'static str>,
    /// Whether an extension header gave it its name, and its target.
    given: Given,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Given {
    name: bool,
    link: bool,
}

impl Member {
    pub(crate) fn is_regular(&self) -> bool {
        is_regular(self.kind)
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == DIRECTORY
    }

    pub(crate) fn is_symlink(&self) -> bool {
        self.kind == SYMLINK
    }

    /// An extension header gives it a name, which counts from here on.
    fn name(&mut self, name: Bytes) {
        if self.given.name && self.name != name {
            self.doubt.get_or_insert(ambiguous::NAMES);
        }
        (self.name, self.given.name) = (name, true);
    }

    fn link(&mut self, link: Bytes) {
        if self.given.link && self.link != link {
            self.doubt.get_or_insert(ambiguous::NAMES);
        }
        (self.link, self.given.link) = (link, true);
    }

    /// `TarInfo._apply_pax_info`.
    fn apply(&mut self, records: &Records) -> Result<()> {
        for (key, value) in records.iter() {
            match key {
                b"path" => {
                    let mut name = value.clone();
                    without_slashes(&mut name);
                    if name != *value && self.is_regular() {
                        self.doubt.get_or_insert(ambiguous::SLASH);
                    }
                    self.name(name);
                }
                b"GNU.sparse.name" => self.name(value.clone()),
                b"linkpath" => self.link(value.clone()),
                b"size" | b"GNU.sparse.size" | b"GNU.sparse.realsize" => {
                    let size = record_size(value).map_or_else(invalid, Ok)?;
                    if size != self.size {
                        self.doubt.get_or_insert(ambiguous::SIZE);
                    }
                    self.size = size;
                }
                b"mtime" => self.mtime = record_mtime(value).map_or_else(invalid, Ok)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn invalid<T>() -> Result<T> {
    fail(ErrorKind::InvalidArchive, "Invalid checkpoint archive")
}

/// Why there is no next member.
enum Stop {
    /// A block of zeros ends the archive.
    End,
    /// What follows is no header: Python stops reading in silence, unless it is the very first.
    Quiet,
    Failed(crate::error::Error),
}

impl From<crate::error::Error> for Stop {
    fn from(error: crate::error::Error) -> Self {
        Self::Failed(error)
    }
}

/// Yields the members one after another (Python's `for member in archive`).
pub(crate) struct Members<'a> {
    spool: &'a Spool,
    limits: &'a CheckpointLimits,
    extensions: Extensions,
    global: Records,
    /// Where the next member's header is.
    offset: u64,
    /// Where the last read ended.
    position: u64,
}

impl<'a> Members<'a> {
    pub(crate) fn new(spool: &'a Spool, limits: &'a CheckpointLimits) -> Self {
        Self {
            spool,
            limits,
            extensions: Extensions::default(),
            global: Records::default(),
            offset: 0,
            position: 0,
        }
    }

    /// Where reading stands: after [`Members::next`] answered `None`, at what ended it.
    pub(crate) fn end(&self) -> u64 {
        self.offset
    }

    /// The next member, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Member>> {
        if self.offset != self.position {
            // Python seeks to the byte before and reads it: data past the end is noticed here.
            if self.offset > self.spool.len() {
                return invalid();
            }
            self.position = self.offset;
        }
        let first = self.offset == 0;
        match self.read(0) {
            Ok(member) => Ok(Some(member)),
            Err(Stop::Quiet) if first => invalid(),
            Err(Stop::Quiet | Stop::End) => Ok(None),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    fn block(&mut self) -> Result<Header, Stop> {
        let mut block = [0; 512];
        if self.position + BLOCK > self.spool.len() {
            return Err(Stop::Quiet);
        }
        self.spool.read_exact_at(&mut block, self.position)?;
        self.position += BLOCK;
        match Header::parse(&block) {
            Ok(header) => Ok(header),
            Err(NoHeader::End) => Err(Stop::End),
            Err(NoHeader::Invalid) => Err(Stop::Quiet),
        }
    }

    fn payload(&mut self, size: i128) -> Result<Vec<u8>, Stop> {
        // The first walk does not count Sun's kind, and a record's size may lead this one to headers
        // that it took for content.
        let size = u64::try_from(size).unwrap_or(0);
        self.extensions.add_to_all(size, self.limits)?;
        let size = blocks(size).min(self.spool.len() - self.position);
        let bytes = self.spool.bytes(self.position, size)?;
        self.position += size;
        Ok(bytes)
    }

    fn read(&mut self, depth: usize) -> Result<Member, Stop> {
        if depth > MAX_EXTENSIONS {
            return Err(Stop::Failed(no_archive()));
        }
        let header = self.block()?;
        match header.kind {
            GNU_NAME | GNU_LINK => {
                let payload = self.payload(header.size)?;
                let mut member = self.following(depth)?;
                let end = payload
                    .iter()
                    .position(|b| *b == 0)
                    .unwrap_or(payload.len());
                let text = Bytes::copy_from_slice(&payload[..end]);
                if header.kind == GNU_NAME {
                    member.name(text);
                } else {
                    member.link(text);
                }
                if member.is_directory() && member.name.last() == Some(&b'/') {
                    member.name.truncate(member.name.len() - 1);
                }
                Ok(member)
            }
            PAX | PAX_SOLARIS | PAX_GLOBAL => {
                let payload = self.payload(header.size)?;
                let mut records = self.global.clone();
                match records.add(&payload) {
                    Ok(()) => {}
                    // An invalid header, at the front or behind another one, is an error; else it
                    // ends the archive.
                    Err(BadRecords::ZeroLength) => return Err(Stop::Quiet),
                    Err(BadRecords::Malformed) => invalid()?,
                }
                if header.kind == PAX_GLOBAL {
                    self.global = records.clone();
                }
                let mut member = self.following(depth)?;
                member.sparse |= records.sparse();
                member.doubt = member.doubt.or(records.doubt());
                if header.kind == PAX_SOLARIS {
                    member.doubt.get_or_insert(ambiguous::SOLARIS);
                }
                if header.kind != PAX_GLOBAL {
                    member.apply(&records)?;
                    if records.get(b"size").is_some() {
                        self.offset = member.offset;
                        if has_data(member.kind) {
                            let size = u64::try_from(member.size).unwrap_or(0);
                            self.offset = self.offset.saturating_add(blocks(size));
                        }
                    }
                }
                Ok(member)
            }
            _ => {
                let offset = self.position;
                let size = u64::try_from(header.size).unwrap_or(0);
                self.offset = offset;
                if has_data(header.kind) {
                    self.offset = offset.saturating_add(blocks(size));
                }
                let mut member = Member {
                    name: header.name,
                    kind: header.kind,
                    mode: header.mode,
                    size: header.size,
                    mtime: Mtime::Whole(header.mtime),
                    link: header.link,
                    sparse: header.kind == GNU_SPARSE,
                    offset,
                    doubt: header.doubt,
                    given: Given::default(),
                };
                if header.kind != GNU_SPARSE {
                    let global = std::mem::take(&mut self.global);
                    let applied = member.apply(&global);
                    self.global = global;
                    applied?;
                    if member.given != Given::default() || member.size != header.size {
                        member.doubt = Some(ambiguous::GLOBAL);
                        // What its own headers give counts for every reader.
                        member.given = Given::default();
                    }
                    if member.is_directory() {
                        without_slashes(&mut member.name);
                    }
                }
                Ok(member)
            }
        }
    }

    /// The member an extension header speaks of; there must be one.
    fn following(&mut self, depth: usize) -> Result<Member, Stop> {
        match self.read(depth + 1) {
            Err(Stop::Quiet | Stop::End) => Err(Stop::Failed(no_archive())),
            other => other,
        }
    }
}

fn no_archive() -> crate::error::Error {
    crate::error::Error::new(ErrorKind::InvalidArchive, "Invalid checkpoint archive")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::framing::preflight;
    use crate::fuzzing::tarball::Tarball;
    use crate::progress::Watch;
    use crate::scratch::Scratch;

    /// What the second walk answers to an archive that the first one lets pass.
    fn walked(archive: &[u8], limits: &CheckpointLimits) -> Result<Vec<i128>> {
        let mut spool = Spool::new(&Scratch::default())?;
        spool.append(archive)?;
        preflight(&spool, limits, &Watch::default())?;
        let mut members = Members::new(&spool, limits);
        let mut sizes = Vec::new();
        while let Some(member) = members.next()? {
            sizes.push(member.size);
        }
        Ok(sizes)
    }

    #[test]
    fn a_record_may_claim_any_size() {
        for size in [u64::MAX, u64::MAX - 511, u64::MAX / 2] {
            let claim = size.to_string();
            let mut tarball = Tarball::empty();
            let records = [(&b"size"[..], claim.as_bytes())];
            tarball.member(b"workspace", b'0', b"", b"content", 0o644, &records);
            assert!(walked(&tarball.finish(), &CheckpointLimits::default()).is_err());
        }
    }

    #[test]
    fn extension_headers_in_what_was_taken_for_content_are_bounded_too() {
        let limits = CheckpointLimits {
            max_manifest_bytes: 1024,
            ..CheckpointLimits::default()
        };
        for kind in *b"xgXLK" {
            let walk = |length: usize| {
                let mut hidden = Tarball::empty();
                hidden.member(b"hidden", kind, b"", &vec![0; length], 0o644, &[]);
                hidden.member(b"behind", b'0', b"", b"", 0o644, &[]);
                let mut tarball = Tarball::empty();
                let records = [(&b"size"[..], &b"0"[..])];
                tarball.member(b"a", b'0', b"", &hidden.finish(), 0o644, &records);
                walked(&tarball.finish(), &limits)
            };
            // The record that leads there counts, too.
            assert_eq!(walk(15 * 1024).map(|sizes| sizes.len()).ok(), Some(2));
            let error = walk(16 * 1024 + 1).expect_err("too long");
            assert_eq!(
                error.message(),
                "Checkpoint extension metadata exceeds its limit"
            );
        }
    }
}
