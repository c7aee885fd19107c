//! Where readers of tar differ: what Agno reads is what a restore writes, but another program may see
//! other members, names or sizes in the same bytes, and a person should know.

use super::framing::BLOCK;
use super::spool::Spool;
use crate::error::Result;
use crate::progress::Watch;

/// A member that other readers may take for something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// Its path as Agno reads it; empty where it is the end of the archive.
    pub path: Vec<u8>,
    /// What is read in more than one way, as the end of a sentence about it.
    pub why: &'static str,
}

pub(super) const SIZE: &str = "its pax header gives another size than its own header";
pub(super) const NAMES: &str = "more than one extension header gives it a name or target";
pub(super) const REPEATED: &str = "its pax header gives one key two values";
pub(super) const NUMBER: &str = "a number is not written as tar writes it";
pub(super) const PREFIX: &str = "it has a prefix, which GNU's form of a header has not";
pub(super) const SLASH: &str = "its name ends in a slash, and it is a file";
pub(super) const OLD: &str = "it is a folder of the oldest form, which some take for a file";
pub(super) const SOLARIS: &str = "its extension header is of Sun's own kind";
pub(super) const GLOBAL: &str = "a global pax header gives its name, target or size";
const NO_HEADER: &str = "what follows the last member is neither a header nor the end";
const AFTER: &str = "something follows the end of the archive";

/// The most that are told; one says enough.
const MOST: usize = 20;
/// What lies behind the end is looked at in pieces of this size.
const PIECE: u64 = 1 << 20;

/// The first ones of an archive.
#[derive(Debug, Default)]
pub(super) struct Ambiguities(Vec<Ambiguity>);

impl Ambiguities {
    pub(super) fn add(&mut self, path: &[u8], why: &'static str) {
        if self.0.len() < MOST {
            let path = path.to_vec();
            self.0.push(Ambiguity { path, why });
        }
    }

    /// With what stands at and behind `end`, where reading ended.
    pub(super) fn with_end(
        mut self,
        spool: &Spool,
        end: u64,
        watch: &Watch,
    ) -> Result<Vec<Ambiguity>> {
        let zeros = vec![0; PIECE as usize];
        let mut at = end;
        while at < spool.len() {
            watch.check()?;
            let length = if at == end { BLOCK } else { PIECE };
            let piece = spool.bytes(at, length.min(spool.len() - at))?;
            if piece != zeros[..piece.len()] {
                self.add(b"", if at == end { NO_HEADER } else { AFTER });
                break;
            }
            at += piece.len() as u64;
        }
        Ok(self.0)
    }
}

/// Whether a header's number is written as programs write it: octal digits with spaces and NULs
/// around, or in base 256.
pub(super) fn is_plain_octal(field: &[u8]) -> bool {
    if matches!(field.first(), Some(0x80 | 0xff)) {
        return true;
    }
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    let rest_is_empty = field[end..].iter().all(|b| matches!(b, 0 | b' '));
    let digits = |byte: &u8| matches!(byte, b'0'..=b'7');
    let after_spaces = field[..end].iter().skip_while(|byte| **byte == b' ');
    rest_is_empty
        && after_spaces
            .skip_while(|byte| digits(byte))
            .all(|byte| *byte == b' ')
}

/// Whether a record's number is one to every reader: digits, perhaps a sign, and a fraction.
pub(super) fn is_plain_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    let whole = parts.next().unwrap_or_default();
    let all = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    // More digits than a clock or a disk has are read in more than one way, too.
    (1..19).contains(&whole.len()) && all(whole) && parts.next().is_none_or(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_programs_write_them() {
        for plain in [
            &b"0000644\0"[..],
            b"   644 \0",
            b"00000000000",
            b"",
            b"\0\0\0\0",
            b"644 \0   ",
            b"\x80\0\0\0\0\0\0\x01",
        ] {
            assert!(is_plain_octal(plain), "{plain:?}");
        }
        for odd in [
            &b"1_0"[..],
            b"0o10",
            b"+10",
            b"-10",
            b"1\x00777",
            b"\t1",
            b"1 1",
        ] {
            assert!(!is_plain_octal(odd), "{odd:?}");
        }
        for plain in [&b"0"[..], b"1780000000.123456789", b"-1.5", b"12."] {
            assert!(is_plain_decimal(plain), "{plain:?}");
        }
        for odd in [
            &b""[..],
            b"six",
            b" 1",
            b"1_0",
            b"1e9",
            b"nan",
            b".5",
            b"--1",
            b"1.2.3",
            b"0x10",
            b"9223372036854775808",
        ] {
            assert!(!is_plain_decimal(odd), "{odd:?}");
        }
    }
}
