//! The agent's index, read by us and only for what it *adds*: paths that are staged, left out by a
//! sparse checkout, or unmerged, and flags that would have hidden a change.

use super::id::{GITLINK, Id, is_path};

/// An index of more entries is not read.
const MAX_ENTRIES: u32 = 300_000;
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
/// The mode of a folder that stands for all that is in it.
const SPARSE_FOLDER: u32 = 0o040_000;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub path: Vec<u8>,
    pub mode: u32,
    pub id: Id,
    pub stage: u8,
    pub assume_unchanged: bool,
    pub skip_worktree: bool,
    pub intent_to_add: bool,
}

/// What could be read of an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pub entries: Vec<IndexEntry>,
    /// Entries whose paths or modes no index may hold, which were dropped.
    pub bad_entries: usize,
    /// Paths that are a file and a folder at once.
    pub clashing: usize,
    /// Folders that a sparse index names in place of what is in them, and their trees.
    pub sparse_folders: Vec<(Vec<u8>, Id)>,
    /// Why the rest could not be read, when it could not.
    pub broken: Option<&'static str>,
    /// Why it does not tell everything, when it is split or more than is known here.
    pub partial: Option<&'static str>,
}

impl Index {
    /// Reads versions 2 to 4; whatever is wrong costs the rest of the entries, never the diff.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut index = Self::default();
        if let Err(why) = index.read(bytes) {
            index.broken = Some(why);
        } else if !checksum_holds(bytes) {
            index.broken = Some("its checksum is wrong");
        }
        index.put_in_order();
        index.clashing = index.clashes();
        index
    }

    /// Lookups rely on the order that git keeps and an agent need not; nor must a path come twice.
    fn put_in_order(&mut self) {
        let place = |entry: &IndexEntry| (entry.path.clone(), entry.stage);
        if self
            .entries
            .is_sorted_by(|a, b| (&a.path, a.stage) < (&b.path, b.stage))
        {
            return;
        }
        self.entries.sort_by_cached_key(place);
        self.entries.dedup_by(|again, first| {
            let same = (&again.path, again.stage) == (&first.path, first.stage);
            if same {
                // What either says of hiding a change is told.
                first.assume_unchanged |= again.assume_unchanged;
                first.skip_worktree |= again.skip_worktree;
            }
            same
        });
        self.broken
            .get_or_insert("its entries are repeated or out of order");
    }

    /// How many paths lie below another entry; what is unmerged may.
    fn clashes(&self) -> usize {
        let is_file = |path: &[u8]| {
            let at = self
                .entries
                .binary_search_by(|entry| entry.path[..].cmp(path));
            at.is_ok_and(|at| self.entries[at].stage == 0)
        };
        let is_below_file = |path: &[u8]| {
            let mut cuts = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            cuts.any(|(cut, _)| is_file(&path[..cut]))
        };
        let mut last: (&[u8], bool) = (b"", false);
        let mut count = 0;
        for entry in self.entries.iter().filter(|entry| entry.stage == 0) {
            let folder = entry.path.iter().rposition(|byte| *byte == b'/');
            let folder = &entry.path[..folder.map_or(0, |cut| cut + 1)];
            if folder != last.0 {
                last = (folder, is_below_file(folder));
            }
            count += usize::from(last.1);
        }
        count
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let word = |at: usize| -> Option<u32> {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        if bytes.get(..4) != Some(b"DIRC") {
            return Err("it has no index signature");
        }
        let version = word(4).filter(|version| (2..=4).contains(version));
        let version = version.ok_or("its version is unknown")?;
        let count = word(8).ok_or("it is cut short")?;
        if count > MAX_ENTRIES {
            return Err("it claims too many entries");
        }
        let mut at = 12;
        let mut last: Vec<u8> = Vec::new();
        for _ in 0..count {
            let start = at;
            let mode = word(at + 24).ok_or("it is cut short")?;
            let id: Id = bytes
                .get(at + 40..at + 60)
                .and_then(|id| id.try_into().ok())
                .ok_or("it is cut short")?;
            let half = |at: usize| -> Option<u16> {
                let bytes = bytes.get(at..at + 2)?;
                Some(u16::from_be_bytes([bytes[0], bytes[1]]))
            };
            let flags = half(at + 60).ok_or("it is cut short")?;
            let mut extended = 0;
            at += 62;
            if flags & EXTENDED != 0 && version >= 3 {
                extended = half(at).ok_or("it is cut short")?;
                at += 2;
            }
            if version == 4 {
                let strip = varint(bytes, &mut at).ok_or("it is cut short")?;
                let keep = last
                    .len()
                    .checked_sub(strip)
                    .ok_or("its paths do not add up")?;
                last.truncate(keep);
            } else {
                last.clear();
            }
            let rest = bytes.get(at..).ok_or("it is cut short")?;
            let length = rest.iter().position(|b| *b == 0).ok_or("it is cut short")?;
            if last.len() + length > 4096 {
                return Err("it holds a path that is too long");
            }
            last.extend_from_slice(&rest[..length]);
            at += length + 1;
            if version < 4 {
                // Entries are padded to eight bytes, with at least one zero.
                at = start + (at - 1 - start + 8) / 8 * 8;
            }
            if mode == SPARSE_FOLDER
                && let Some(folder) = last.strip_suffix(b"/").filter(|path| is_path(path))
            {
                self.sparse_folders.push((folder.to_vec(), id));
                continue;
            }
            if !is_path(&last) || !matches!(mode, 0o100_644 | 0o100_755 | 0o120_000 | GITLINK) {
                self.bad_entries += 1;
                continue;
            }
            self.entries.push(IndexEntry {
                path: last.clone(),
                mode,
                id,
                stage: (flags >> 12 & 3) as u8,
                assume_unchanged: flags & ASSUME_VALID != 0,
                skip_worktree: extended & SKIP_WORKTREE != 0,
                intent_to_add: extended & INTENT_TO_ADD != 0,
            });
        }
        // Extensions follow, then the checksum.
        while at + 8 + 20 <= bytes.len() {
            let size = word(at + 4).unwrap_or(u32::MAX) as usize;
            match &bytes[at..at + 4] {
                b"link" => self.partial = Some("it is a split index"),
                b"sdir" => {}
                // Git, too, passes over those that begin with a capital.
                [first, ..] if !first.is_ascii_uppercase() => {
                    self.partial = Some("it has an extension that must be known and is not");
                }
                _ => {}
            }
            at = at.saturating_add(8).saturating_add(size);
        }
        Ok(())
    }
}

/// Whether the last 20 bytes are the digest of all before; all zero means that git left it out.
fn checksum_holds(bytes: &[u8]) -> bool {
    let Some((body, told)) = bytes.split_last_chunk::<20>() else {
        return false;
    };
    let digest: Option<Id> = sha1dc::digest(body).ok().map(Into::into);
    *told == [0; 20] || digest.as_ref() == Some(told)
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut byte = *bytes.get(*at)?;
    *at += 1;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn garbage_costs_entries_not_more(version in 0_u32..6, count in 0_u32..4, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let index = [b"DIRC", &version.to_be_bytes()[..], &count.to_be_bytes(), &bytes].concat();
            let _ = Index::parse(&index);
        }
    }

    #[test]
    fn paths_that_leave_the_checkout_are_dropped() {
        for bad in [
            &b"../x"[..],
            b"/etc/passwd",
            b"a//b",
            b".git/config",
            b"sub/.GIT/x",
            b"",
        ] {
            assert!(!is_path(bad));
        }
        assert!(is_path(b"src/.gitignore"));
    }
}
