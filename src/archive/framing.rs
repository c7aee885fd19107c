//! Header blocks, and the first walk over them: before a single extension header is believed, the
//! whole chain of headers must lead to the end-of-archive marker within the limits.

use bytes::Bytes;

use super::ambiguous;
use super::number::{BadNumber, header_number};
use super::spool::Spool;
use crate::checkpoint::CheckpointLimits;
use crate::error::{ErrorKind, Result, fail};
use crate::progress::Watch;

/// Tar counts in blocks of 512 bytes.
pub(crate) const BLOCK: u64 = 512;

/// A regular file.
pub(crate) const REGULAR: u8 = b'0';
/// A symbolic link.
pub(crate) const SYMLINK: u8 = b'2';
/// A directory.
pub(crate) const DIRECTORY: u8 = b'5';
/// A pax header for the next member.
pub(crate) const PAX: u8 = b'x';
/// A pax header for all members after it.
pub(crate) const PAX_GLOBAL: u8 = b'g';
/// Sun's spelling of [`PAX`].
pub(crate) const PAX_SOLARIS: u8 = b'X';
/// GNU's long name for the next member.
pub(crate) const GNU_NAME: u8 = b'L';
/// GNU's long link target for the next member.
pub(crate) const GNU_LINK: u8 = b'K';
/// GNU's old sparse file.
pub(crate) const GNU_SPARSE: u8 = b'S';

/// Types whose data follows the header; Python also skips data after every type it does not know.
pub(crate) fn has_data(kind: u8) -> bool {
    !matches!(kind, b'1'..=b'6')
}

/// Python's `isreg`.
pub(crate) fn is_regular(kind: u8) -> bool {
    matches!(kind, REGULAR | 0 | b'7' | GNU_SPARSE)
}

/// The fields of one header block that matter here, as Python's `TarInfo.frombuf` reads them.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub name: Bytes,
    pub kind: u8,
    pub mode: i128,
    pub size: i128,
    pub mtime: i128,
    pub link: Bytes,
    /// What other readers take for something else.
    pub doubt: Option<&'static str>,
}

/// Why a block is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoHeader {
    /// The block is all zeros, or the archive ends before it.
    End,
    /// A wrong checksum or number.
    Invalid,
}

impl From<BadNumber> for NoHeader {
    fn from(_: BadNumber) -> Self {
        Self::Invalid
    }
}

fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    &field[..end]
}

/// Drops every trailing slash.
pub(crate) fn without_slashes(name: &mut Bytes) {
    let kept = name.iter().rposition(|byte| *byte != b'/');
    name.truncate(kept.map_or(0, |last| last + 1));
}

impl Header {
    pub(crate) fn parse(block: &[u8; 512]) -> Result<Self, NoHeader> {
        if block.iter().all(|b| *b == 0) {
            return Err(NoHeader::End);
        }
        let checksum = header_number(&block[148..156])?;
        let counted = || block[..148].iter().chain(&block[156..]);
        let unsigned = 256 + counted().map(|b| i128::from(*b)).sum::<i128>();
        let signed = 256 + counted().map(|b| i128::from(*b as i8)).sum::<i128>();
        if checksum != unsigned && checksum != signed {
            return Err(NoHeader::Invalid);
        }
        let mut header = Self {
            name: Bytes::copy_from_slice(text(&block[..100])),
            kind: block[156],
            mode: header_number(&block[100..108])?,
            size: header_number(&block[124..136])?,
            mtime: header_number(&block[136..148])?,
            link: Bytes::copy_from_slice(text(&block[157..257])),
            doubt: None,
        };
        let numbers = [&block[100..108], &block[124..136], &block[136..148]];
        if !numbers.iter().all(|field| ambiguous::is_plain_octal(field)) {
            header.doubt = Some(ambiguous::NUMBER);
        }
        // Owner and device are not used, but a reader that skipped them would accept more.
        for field in [
            &block[108..116],
            &block[116..124],
            &block[329..337],
            &block[337..345],
        ] {
            header_number(field)?;
        }
        if header.kind == 0 && header.name.last() == Some(&b'/') {
            header.kind = DIRECTORY;
            header.doubt.get_or_insert(ambiguous::OLD);
        }
        if header.kind == GNU_SPARSE {
            for field in block[386..482].chunks_exact(12) {
                header_number(field)?;
            }
            header_number(&block[483..495])?;
        }
        if header.kind == DIRECTORY {
            without_slashes(&mut header.name);
        }
        let prefix = text(&block[345..500]);
        if !prefix.is_empty() && !matches!(header.kind, GNU_NAME | GNU_LINK | GNU_SPARSE) {
            header.name = [prefix, b"/", &header.name].concat().into();
            if block[257..265] != *b"ustar\x0000" {
                header.doubt.get_or_insert(ambiguous::PREFIX);
            }
        }
        Ok(header)
    }
}

fn too_much() -> Result<()> {
    fail(
        ErrorKind::InvalidArchive,
        "Checkpoint extension metadata exceeds its limit",
    )
}

/// `size` rounded up to whole blocks; a record may claim any size.
pub(crate) fn blocks(size: u64) -> u64 {
    size.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Bytes of extension headers so far.
#[derive(Debug, Default)]
pub(crate) struct Extensions(u64);

impl Extensions {
    /// Counts one more, of which Agno bounds each and all together.
    fn add(&mut self, size: u64, limits: &CheckpointLimits) -> Result<()> {
        if size > limits.max_manifest_bytes {
            return too_much();
        }
        self.add_to_all(size, limits)
    }

    /// Counts one more of those that Agno does not look at: only all together are bounded, so that no
    /// archive of ordinary size is refused here alone.
    pub(crate) fn add_to_all(&mut self, size: u64, limits: &CheckpointLimits) -> Result<()> {
        self.0 = self.0.saturating_add(size);
        if self.0 > limits.max_manifest_bytes.saturating_mul(16) {
            return too_much();
        }
        Ok(())
    }
}

/// Agno's `_preflight`: bounds the headers, and requires the end-of-archive marker.
pub(crate) fn preflight(spool: &Spool, limits: &CheckpointLimits, watch: &Watch) -> Result<()> {
    let framing = || {
        fail(
            ErrorKind::InvalidArchive,
            "Invalid checkpoint archive framing",
        )
    };
    let length = spool.len();
    let (mut offset, mut headers) = (0_u64, 0_u64);
    let mut extensions = Extensions::default();
    let mut block = [0; 512];
    while offset + BLOCK <= length {
        if headers.is_multiple_of(1024) {
            watch.check()?;
        }
        spool.read_exact_at(&mut block, offset)?;
        let header = match Header::parse(&block) {
            Ok(header) => header,
            Err(NoHeader::End) => return Ok(()),
            Err(NoHeader::Invalid) => return framing(),
        };
        headers += 1;
        let Ok(size) = u64::try_from(header.size) else {
            return framing();
        };
        let fits = (offset + BLOCK)
            .checked_add(size)
            .is_some_and(|end| end <= length);
        if !fits || headers > limits.max_entries.saturating_mul(3) {
            return framing();
        }
        if matches!(header.kind, PAX | PAX_GLOBAL | GNU_NAME | GNU_LINK) {
            extensions.add(size, limits)?;
        }
        offset += BLOCK + blocks(size);
    }
    fail(
        ErrorKind::InvalidArchive,
        "Checkpoint archive ends without its end-of-archive marker",
    )
}
