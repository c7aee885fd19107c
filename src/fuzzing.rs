//! What holds for any bytes at all, one function for each kind of input: the entry points of `cargo
//! fuzz` (see `fuzz/README.md`), which the tests replay from the seeds with mutations of their own.
//! Each function panics when what it promises does not hold.

mod checkout;
mod expanded;
mod objects;
#[cfg(test)]
mod replay;
mod restored;
mod rows;
#[cfg(test)]
mod structured;
pub(crate) mod tarball;
mod words;

pub use checkout::{attributes, ignore, index, refs};
pub use expanded::{framing, gunzip, links, pax};
pub use objects::{loose, packs, protocol};
pub use restored::restore;
pub use rows::{gate, json, told};
pub use tarball::repair;
pub use words::{postgres, text, xml};

use crate::checkpoint::CheckpointLimits;

/// Takes any bytes.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its seeds' folder.
pub const TARGETS: [(&str, Target); 18] = [
    ("attributes", attributes),
    ("framing", framing),
    ("gate", gate),
    ("gunzip", gunzip),
    ("ignore", ignore),
    ("index", index),
    ("json", json),
    ("links", links),
    ("loose", loose),
    ("packs", packs),
    ("pax", pax),
    ("postgres", postgres),
    ("protocol", protocol),
    ("refs", refs),
    ("restore", restore),
    ("text", text),
    ("told", told),
    ("xml", xml),
];

/// Limits that small inputs reach.
fn limits() -> CheckpointLimits {
    CheckpointLimits {
        max_bytes: 1 << 20,
        max_entries: 200,
        max_manifest_bytes: 4096,
    }
}

/// The input before and behind the first `mark`; all of it and nothing when there is none.
fn halves(data: &[u8], mark: u8) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == mark) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, b""),
    }
}
