//! gzip as Python's `gzip` module reads it: members may follow each other, zeros may pad them,
//! anything else after a member is an error; header fields are skipped, trailers are checked.

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{ErrorKind, Result, fail};

/// The two bytes that tell a gzipped archive from a plain one.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

const HEADER: usize = 10;
const TRAILER: usize = 8;

enum State {
    /// Between members; the flag says that one has ended, so that zeros and the end are fine.
    Between {
        some: bool,
        magic: usize,
    },
    /// Collecting the fixed header.
    Header(Vec<u8>),
    /// Skipping the optional fields that the remaining flags name.
    Fields {
        flags: u8,
        extra: Extra,
    },
    Data,
    Trailer(Vec<u8>),
}

#[derive(Clone, Copy)]
enum Extra {
    Start,
    Low(u8),
    Skip(u16),
}

const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;
const FHCRC: u8 = 2;

/// A push decoder: feed it stored bytes in pieces, it hands over expanded ones.
pub(crate) struct Gunzip {
    state: State,
    inflate: Decompress,
    crc: crc32fast::Hasher,
    member: u64,
    out: Vec<u8>,
}

impl Gunzip {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Between {
                some: false,
                magic: 0,
            },
            inflate: Decompress::new(false),
            crc: crc32fast::Hasher::new(),
            member: 0,
            out: vec![0; 256 * 1024],
        }
    }

    /// Decodes `input`, giving every expanded piece to `sink`.
    pub(crate) fn feed(
        &mut self,
        mut input: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        while let Some(&byte) = input.first() {
            match &mut self.state {
                State::Between { some, magic } => {
                    input = &input[1..];
                    if *magic == 0 && *some && byte == 0 {
                        continue;
                    }
                    if byte != MAGIC[*magic] {
                        return invalid();
                    }
                    *magic += 1;
                    if *magic == MAGIC.len() {
                        self.state = State::Header(MAGIC.to_vec());
                    }
                }
                State::Header(bytes) => {
                    input = &input[1..];
                    bytes.push(byte);
                    if bytes.len() == HEADER {
                        if bytes[2] != 8 {
                            return invalid();
                        }
                        let flags = bytes[3] & (FEXTRA | FNAME | FCOMMENT | FHCRC);
                        self.begin(flags);
                    }
                }
                State::Fields { flags, extra } => {
                    input = &input[1..];
                    let mut left = *flags;
                    let mut next = *extra;
                    skip_field(byte, &mut left, &mut next);
                    self.state = State::Fields {
                        flags: left,
                        extra: next,
                    };
                    if left == 0 {
                        self.begin(0);
                    }
                }
                State::Data => {
                    let (before_in, before_out) =
                        (self.inflate.total_in(), self.inflate.total_out());
                    let status =
                        self.inflate
                            .decompress(input, &mut self.out, FlushDecompress::None);
                    let Ok(status) = status else {
                        return invalid();
                    };
                    let used = (self.inflate.total_in() - before_in) as usize;
                    let made = (self.inflate.total_out() - before_out) as usize;
                    input = &input[used..];
                    if made > 0 {
                        self.crc.update(&self.out[..made]);
                        self.member += made as u64;
                        sink(&self.out[..made])?;
                    }
                    match status {
                        Status::StreamEnd => self.state = State::Trailer(Vec::new()),
                        Status::BufError if used == 0 && made == 0 => return invalid(),
                        _ => {}
                    }
                }
                State::Trailer(bytes) => {
                    input = &input[1..];
                    bytes.push(byte);
                    if bytes.len() == TRAILER {
                        let word = |at: usize| {
                            u32::from_le_bytes([
                                bytes[at],
                                bytes[at + 1],
                                bytes[at + 2],
                                bytes[at + 3],
                            ])
                        };
                        let crc = std::mem::take(&mut self.crc).finalize();
                        if word(0) != crc || word(4) != self.member as u32 {
                            return invalid();
                        }
                        self.state = State::Between {
                            some: true,
                            magic: 0,
                        };
                    }
                }
            }
        }
        // Output that the decoder still holds back comes without further input.
        if matches!(self.state, State::Data) {
            self.drain(sink)?;
        }
        Ok(())
    }

    fn drain(&mut self, mut sink: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        loop {
            let before = self.inflate.total_out();
            let status = self
                .inflate
                .decompress(&[], &mut self.out, FlushDecompress::None);
            let made = (self.inflate.total_out() - before) as usize;
            if made > 0 {
                self.crc.update(&self.out[..made]);
                self.member += made as u64;
                sink(&self.out[..made])?;
            }
            match status {
                Ok(Status::StreamEnd) => {
                    self.state = State::Trailer(Vec::new());
                    return Ok(());
                }
                Ok(_) if made == self.out.len() => {}
                Ok(_) => return Ok(()),
                Err(_) => return invalid(),
            }
        }
    }

    /// Starts the fields that `flags` still names, else the data.
    fn begin(&mut self, flags: u8) {
        if flags == 0 {
            self.inflate.reset(false);
            self.crc = crc32fast::Hasher::new();
            self.member = 0;
            self.state = State::Data;
        } else {
            self.state = State::Fields {
                flags,
                extra: Extra::Start,
            };
        }
    }

    /// The end of the stored bytes: fine only between members.
    pub(crate) fn finish(self) -> Result<()> {
        match self.state {
            State::Between {
                some: true,
                magic: 0,
            } => Ok(()),
            _ => invalid(),
        }
    }
}

/// Takes one byte of the optional header fields, in their fixed order.
fn skip_field(byte: u8, flags: &mut u8, extra: &mut Extra) {
    if *flags & FEXTRA != 0 {
        *extra = match *extra {
            Extra::Start => Extra::Low(byte),
            Extra::Low(low) => Extra::Skip(u16::from_le_bytes([low, byte])),
            Extra::Skip(left) => Extra::Skip(left - 1),
        };
        if matches!(*extra, Extra::Skip(0)) {
            *flags &= !FEXTRA;
            *extra = Extra::Start;
        }
    } else if *flags & FNAME != 0 {
        if byte == 0 {
            *flags &= !FNAME;
        }
    } else if *flags & FCOMMENT != 0 {
        if byte == 0 {
            *flags &= !FCOMMENT;
        }
    } else if let Extra::Low(_) = *extra {
        *flags &= !FHCRC;
    } else {
        *extra = Extra::Low(byte);
    }
}

fn invalid<T>() -> Result<T> {
    fail(
        ErrorKind::InvalidArchive,
        "Invalid compressed checkpoint archive",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn expand(stored: &[u8], step: usize) -> Result<Vec<u8>> {
        let (mut gunzip, mut expanded) = (Gunzip::new(), Vec::new());
        for piece in stored.chunks(step.max(1)) {
            gunzip.feed(piece, |bytes| {
                expanded.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        gunzip.finish()?;
        Ok(expanded)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::GzBuilder::new()
            .filename("name")
            .comment("words")
            .extra(vec![1, 2, 3])
            .write(Vec::new(), flate2::Compression::new(4));
        encoder.write_all(bytes).expect("to memory");
        encoder.finish().expect("to memory")
    }

    #[test]
    fn members_and_zeros_are_fine_other_bytes_are_not() {
        let one = gzip(b"one");
        let padded = [&one[..], &[0; 700], &gzip(b"two"), &[0; 3]].concat();
        assert_eq!(expand(&padded, 7).expect("two members"), b"onetwo");
        for bad in [
            [&one[..], b"x"].concat(),
            [&one[..], &[0, 0], b"x"].concat(),
            [&one[..], &MAGIC].concat(),
            one[..one.len() - 1].to_vec(),
            MAGIC.to_vec(),
        ] {
            assert!(expand(&bad, 5).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..5000), step in 1_usize..600) {
            prop_assert_eq!(expand(&gzip(&bytes), step).unwrap(), bytes);
        }

        #[test]
        fn a_flipped_bit_never_passes_as_other_bytes(flip in 0_usize..400) {
            let bytes: Vec<u8> = (0..300_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
            let mut stored = gzip(&bytes);
            let at = 40 + flip % (stored.len() - 40);
            stored[at] ^= 1;
            if let Ok(expanded) = expand(&stored, 64) {
                prop_assert_eq!(expanded, bytes);
            }
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let stored = [&MAGIC[..], &[8, 0], &bytes].concat();
            let _ = expand(&stored, 9);
        }
    }
}
