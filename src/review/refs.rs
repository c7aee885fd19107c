//! HEAD, refs and the stash, resolved by us from the checkout's own files: at most five hops, names
//! checked, an id of 40 hex digits at the end.

use super::id::{Id, parse_id, show_id};
use super::model::Stash;
use super::tree::{WorkTree, join, resolve};
use crate::archive::Entry;
use crate::error::Result;

const MAX_HOPS: usize = 5;
const MAX_REF: u64 = 4096;
const MAX_PACKED_REFS: u64 = 16 << 20;
const MAX_LOG: u64 = 1 << 20;

/// Where HEAD leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// To this commit, with the branch when it is on one.
    At { id: Id, branch: Option<String> },
    /// To a branch without a commit.
    Unborn { branch: String },
    /// Nowhere, and why.
    Broken(String),
}

/// What one ref's file holds.
enum Loose {
    Holds(Vec<u8>),
    None,
    /// It is there, and why it is not read.
    Refused(String),
}

/// The refs of one git directory, given by its path below `tree`.
pub(crate) struct Refs<'a> {
    tree: &'a WorkTree,
    git_dir: Vec<u8>,
}

impl<'a> Refs<'a> {
    pub(crate) fn new(tree: &'a WorkTree, git_dir: &[u8]) -> Self {
        Self {
            tree,
            git_dir: git_dir.to_vec(),
        }
    }

    fn read(&self, name: &[u8], limit: u64) -> Result<Option<Vec<u8>>> {
        self.tree.file(&join(&self.git_dir, name), limit)
    }

    /// Follows HEAD.
    pub(crate) fn head(&self) -> Result<Head> {
        let mut text = match self.loose(b"HEAD")? {
            Loose::Holds(text) => text,
            Loose::None => return Ok(Head::Broken("there is no HEAD file".into())),
            Loose::Refused(why) => return Ok(Head::Broken(why)),
        };
        let mut branch = None;
        for _ in 0..MAX_HOPS {
            let line = text.trim_ascii_end();
            let Some(name) = line.strip_prefix(b"ref:") else {
                return Ok(match parse_id(line) {
                    Some(id) => Head::At { id, branch },
                    None if line.len() == 64 && line.iter().all(u8::is_ascii_hexdigit) => {
                        Head::Broken("its ids are SHA-256, which cannot be read yet".into())
                    }
                    None => Head::Broken("HEAD holds neither a ref nor a commit id".into()),
                });
            };
            let name = name.trim_ascii().to_vec();
            if !is_ref_name(&name) {
                return Ok(Head::Broken(format!(
                    "HEAD names {}, which is no ref",
                    crate::text::visible_bytes(&name)
                )));
            }
            let shown = String::from_utf8_lossy(&name);
            let short = shown.strip_prefix("refs/heads/").unwrap_or(&shown);
            branch = Some(short.to_owned());
            if name == b"refs/heads/.invalid" {
                return Ok(Head::Broken(
                    "its refs are in a reftable, which cannot be read yet".into(),
                ));
            }
            let short = short.to_owned();
            match self.lookup(&name)? {
                Loose::Holds(next) => text = next,
                Loose::None => return Ok(Head::Unborn { branch: short }),
                Loose::Refused(why) => return Ok(Head::Broken(why)),
            }
        }
        Ok(Head::Broken("its refs lead on and on".into()))
    }

    /// What a loose or packed ref holds.
    fn lookup(&self, name: &[u8]) -> Result<Loose> {
        let loose = self.loose(name)?;
        if !matches!(loose, Loose::None) {
            return Ok(loose);
        }
        let Some(packed) = self.read(b"packed-refs", MAX_PACKED_REFS)? else {
            let there = self.entry(b"packed-refs").is_some();
            let why = || "packed-refs is no file that can be read".into();
            return Ok(if there {
                Loose::Refused(why())
            } else {
                Loose::None
            });
        };
        for line in packed.split(|b| *b == b'\n') {
            if line.len() > 41 && line[40] == b' ' && &line[41..] == name {
                return Ok(Loose::Holds(line[..40].to_vec()));
            }
        }
        Ok(Loose::None)
    }

    fn entry(&self, name: &[u8]) -> Option<&Entry> {
        self.tree.entry(&join(&self.git_dir, name))
    }

    /// What the file of a ref holds. One that is a link to another ref means that one, as in git; no
    /// other link is followed, and none is taken for a ref that is not there.
    fn loose(&self, name: &[u8]) -> Result<Loose> {
        let cuts = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (cut, _) in cuts {
            if self.entry(&name[..cut]).and_then(Entry::target).is_some() {
                let folder = crate::text::visible_bytes(&name[..cut]);
                return Ok(Loose::Refused(format!(
                    "{folder} is a link, which is not followed"
                )));
            }
        }
        let Some(entry) = self.entry(name).filter(|entry| !entry.is_directory()) else {
            return Ok(Loose::None);
        };
        let shown = crate::text::visible_bytes(name);
        let Some(target) = entry.target() else {
            return Ok(match self.read(name, MAX_REF)? {
                Some(text) => Loose::Holds(text),
                None => Loose::Refused(format!("{shown} is too large for a ref")),
            });
        };
        let folder = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Ok(
            match resolve(&name[..folder], target).filter(|name| is_ref_name(name)) {
                Some(name) => Loose::Holds([b"ref: ", &name[..]].concat()),
                None => Loose::Refused(format!("{shown} is a link to what is no ref")),
            },
        )
    }

    /// The stash, newest first, as its reflog tells it.
    pub(crate) fn stashes(&self) -> Result<Vec<Stash>> {
        if !matches!(self.lookup(b"refs/stash")?, Loose::Holds(_)) {
            return Ok(Vec::new());
        }
        let log = self.read(b"logs/refs/stash", MAX_LOG)?.unwrap_or_default();
        let mut stashes = Vec::new();
        for line in log.split(|b| *b == b'\n').filter(|line| line.len() > 81) {
            let Some(id) = parse_id(&line[41..81]) else {
                continue;
            };
            let subject = line
                .iter()
                .position(|b| *b == b'\t')
                .map_or(&b""[..], |at| &line[at + 1..]);
            stashes.push(Stash {
                id: show_id(&id),
                subject: String::from_utf8_lossy(subject).into_owned(),
            });
        }
        stashes.reverse();
        Ok(stashes)
    }
}

/// Git's rules for ref names, as far as they keep a name inside `refs/`.
fn is_ref_name(name: &[u8]) -> bool {
    name.starts_with(b"refs/")
        && name.len() < 1024
        && !name.ends_with(b"/")
        && !name
            .iter()
            .any(|b| *b < 0x20 || *b == 0x7f || b" ~^:?*[\\".contains(b))
        && name
            .split(|b| *b == b'/')
            .all(|part| !part.is_empty() && !part.starts_with(b".") || part == b".invalid")
        && !name.windows(2).any(|pair| pair == b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_checked() {
        assert_eq!(
            parse_id(b"0123456789abcdef0123456789ABCDEF01234567").map(|id| id[1]),
            Some(0x23)
        );
        assert_eq!(parse_id(b"0123456789abcdef0123456789abcdef0123456"), None);
        assert_eq!(parse_id(b"g123456789abcdef0123456789abcdef01234567"), None);
        assert!(is_ref_name(b"refs/heads/fix/refunds"));
        for bad in [
            &b"HEAD"[..],
            b"refs/../../etc/passwd",
            b"refs/heads/",
            b"refs//x",
            b"refs/heads/.x",
            b"refs/a b",
        ] {
            assert!(!is_ref_name(bad));
        }
    }
}
