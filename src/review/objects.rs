//! An agent's git objects on their way to the worker: packs with their indexes are written to a
//! private repository of our own, loose objects are inflated here and handed over as they are.
//! Nothing else of `.git` goes there.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};

use super::id::{Id, parse_id};
use super::model::Notice;
use super::process::Worker;
use super::protocol::{MAX_CONTENT, ObjectKind, Request};
use super::tree::{WorkTree, join};
use crate::archive::{Archive, Entry, EntryKind};
use crate::error::{Error, Result};
use crate::private::PrivateFolder;
use crate::progress::Watch;
use crate::scratch::Scratch;

/// Our own repository's configuration, all of it.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfilemode = true\n";

/// Loose objects are handed over up to this much, inflated: the worker keeps them in memory.
const MAX_LOOSE: u64 = 512 << 20;

/// A private bare repository that holds an agent's packs, removed on drop, and the loose objects
/// that go with them.
#[derive(Debug)]
pub(crate) struct PrivateObjects {
    folder: PrivateFolder,
    loose: Vec<Loose>,
    loose_bytes: u64,
    rejected: Rejected,
    /// How many of them the present worker has.
    sent: usize,
}

/// Loose objects that are not read, and why.
pub(crate) type Rejected = Arc<HashMap<Id, Unfit>>;

/// Why an object file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unfit {
    TooLarge(&'static str),
    Bad(&'static str),
}

impl Unfit {
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::TooLarge(_) => "too-large",
            Self::Bad(_) => "bad-object",
        }
    }

    /// What the file does, e.g. `is cut short`.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::TooLarge(why) | Self::Bad(why) => why,
        }
    }
}

/// A loose object's file in the archive.
#[derive(Debug)]
struct Loose {
    archive: Arc<Archive>,
    offset: u64,
    size: u64,
}

impl PrivateObjects {
    /// An empty repository of mode 0700 in `scratch`.
    pub(crate) fn new(scratch: &Scratch) -> Result<Self> {
        let folder = PrivateFolder::new(scratch)?;
        let path = folder.path();
        let made = std::fs::create_dir_all(path.join("objects/pack"))
            .and_then(|()| std::fs::create_dir(path.join("refs")))
            .and_then(|()| std::fs::write(path.join("HEAD"), "ref: refs/heads/none\n"))
            .and_then(|()| std::fs::write(path.join("config"), CONFIG));
        made.map_err(|error| Error::io("write in", path, error))?;
        Ok(Self {
            folder,
            loose: Vec::new(),
            loose_bytes: 0,
            rejected: Rejected::default(),
            sent: 0,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds the object files below `git_dir`.
    pub(crate) fn add(
        &mut self,
        tree: &WorkTree,
        git_dir: &[u8],
        notices: &mut Vec<Notice>,
        watch: &Watch,
    ) -> Result<()> {
        let objects = join(git_dir, b"objects");
        if tree
            .entry(&objects)
            .is_some_and(|entry| !entry.is_directory())
        {
            notices.push(Notice::at(
                "git-symlink",
                &objects,
                "its objects are not a folder of the archive and are not read",
            ));
        }
        let mut unfit = BTreeMap::new();
        for fan in tree.children(&objects) {
            watch.check()?;
            let name = fan.name();
            let folder = join(&objects, name);
            if name == b"pack" {
                self.packs(tree, &folder, notices)?;
            } else if name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit) {
                self.loose(tree, &folder, &mut unfit)?;
            }
        }
        for (reason, (count, first)) in unfit {
            let files = match count {
                1 => "an object file".to_owned(),
                _ => format!("each of {count} object files"),
            };
            let message = format!("{files} {} and is not read", reason.why());
            notices.push(Notice::at(reason.tag(), &first, message));
        }
        Ok(())
    }

    fn packs(&mut self, tree: &WorkTree, folder: &[u8], notices: &mut Vec<Notice>) -> Result<()> {
        for entry in tree.children(folder) {
            let Ok(name) = std::str::from_utf8(entry.name()) else {
                continue;
            };
            let Some((stem, kind)) = name.rsplit_once('.') else {
                continue;
            };
            let plain = stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if !stem.starts_with("pack-") || !plain {
                continue;
            }
            match kind {
                "pack" | "idx" => self.copy(tree, entry, &Path::new("objects/pack").join(name))?,
                "promisor" => notices.push(Notice::at(
                    "promisor",
                    &join(folder, entry.name()),
                    "a partial clone: objects it left on its server are missing",
                )),
                _ => {}
            }
        }
        Ok(())
    }

    /// Why an object is not among them though there is a file for it.
    pub(crate) fn rejected(&self) -> Rejected {
        Arc::clone(&self.rejected)
    }

    fn loose(
        &mut self,
        tree: &WorkTree,
        folder: &[u8],
        unfit: &mut BTreeMap<Unfit, (u64, Vec<u8>)>,
    ) -> Result<()> {
        for entry in tree.children(folder) {
            let name = entry.name();
            let EntryKind::File { offset, size } = entry.kind else {
                continue;
            };
            let Some(id) = parse_id(&[&folder[folder.len() - 2..], name].concat()) else {
                continue;
            };
            let object = if size > MAX_CONTENT {
                Err(Unfit::TooLarge("is too large"))
            } else {
                inflate(&tree.archive().spool().bytes(offset, size)?)
            };
            let sound = object.and_then(|(kind, bytes)| {
                let all = self.loose_bytes + bytes.len() as u64;
                if object_id(kind, &bytes) != Some(id) {
                    Err(Unfit::Bad("does not hold what its name says"))
                } else if all > MAX_LOOSE {
                    Err(Unfit::TooLarge(
                        "is one too many: loose objects are too large in all",
                    ))
                } else {
                    Ok(all)
                }
            });
            match sound {
                Ok(all) => {
                    self.loose_bytes = all;
                    let archive = Arc::clone(tree.archive());
                    self.loose.push(Loose {
                        archive,
                        offset,
                        size,
                    });
                }
                Err(reason) => {
                    Arc::make_mut(&mut self.rejected).insert(id, reason);
                    let path = || join(folder, name);
                    unfit.entry(reason).or_insert_with(|| (0, path())).0 += 1;
                }
            }
        }
        Ok(())
    }

    /// A new worker has none of the loose objects yet.
    pub(crate) fn forget_sent(&mut self) {
        self.sent = 0;
    }

    /// Hands the worker the loose objects that it does not have.
    pub(crate) fn send_loose(&mut self, worker: &mut Worker) -> Result<()> {
        for loose in &self.loose[self.sent..] {
            let stored = loose.archive.spool().bytes(loose.offset, loose.size)?;
            // It was sound when it was listed, and the spool is ours.
            if let Ok((kind, bytes)) = inflate(&stored) {
                worker.send(&Request::Loose { kind, bytes })?;
            }
        }
        self.sent = self.loose.len();
        Ok(())
    }

    fn copy(&mut self, tree: &WorkTree, entry: &Entry, name: &Path) -> Result<()> {
        let EntryKind::File { size, .. } = entry.kind else {
            return Ok(());
        };
        self.folder.grow(size)?;
        let path = self.path().join(name);
        let mut file = create(&path)?;
        tree.archive().copy_content(entry, &mut file)
    }
}

fn create(path: &Path) -> Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| Error::io("write", path, error))
}

/// Deflate makes at most this many bytes of one.
const MOST_OF_ONE: u64 = 1032;

/// Inflates a loose object, which must be as long as its header says. libgit2 would loop forever on
/// one that is cut short.
pub(crate) fn inflate(stored: &[u8]) -> Result<(ObjectKind, Vec<u8>), Unfit> {
    let mut inflate = Decompress::new(true);
    let mut piece = vec![0; 64 * 1024];
    let mut bytes: Vec<u8> = Vec::new();
    let mut header: Option<(ObjectKind, usize, u64)> = None;
    loop {
        let (before, consumed) = (inflate.total_out(), inflate.total_in());
        let rest = &stored[usize::try_from(consumed)
            .unwrap_or(stored.len())
            .min(stored.len())..];
        let status = inflate
            .decompress(rest, &mut piece, FlushDecompress::None)
            .map_err(|_| Unfit::Bad("is not compressed as it should be"))?;
        let made = usize::try_from(inflate.total_out() - before).unwrap_or(0);
        bytes.extend_from_slice(&piece[..made]);
        if header.is_none() {
            header = object_header(&bytes).map_err(Unfit::Bad)?;
        }
        if let Some((_, start, size)) = header {
            if size > (stored.len() as u64).saturating_mul(MOST_OF_ONE) {
                return Err(Unfit::Bad("claims more bytes than it can hold"));
            }
            if size > MAX_CONTENT {
                return Err(Unfit::TooLarge("is too large"));
            }
            if inflate.total_out() > start as u64 + size {
                return Err(Unfit::Bad("holds more than its header says"));
            }
        }
        match status {
            Status::StreamEnd => break,
            _ if made == 0 => return Err(Unfit::Bad("is cut short")),
            _ => {}
        }
    }
    match header {
        Some((kind, start, size)) if bytes.len() as u64 == start as u64 + size => {
            bytes.drain(..start);
            Ok((kind, bytes))
        }
        Some(_) => Err(Unfit::Bad("holds less than its header says")),
        None => Err(Unfit::Bad("has no header")),
    }
}

/// The id that an object's content gives it; `None` for bytes made to collide.
pub(crate) fn object_id(kind: ObjectKind, bytes: &[u8]) -> Option<Id> {
    let kind = match kind {
        ObjectKind::Blob => "blob",
        ObjectKind::Tree => "tree",
        ObjectKind::Commit => "commit",
        ObjectKind::Tag => "tag",
    };
    let mut hasher = sha1dc::Hasher::new();
    hasher.update(format!("{kind} {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher.finalize().ok().map(Into::into)
}

/// `KIND SIZE\0`: the kind, where the content starts, and its size; `None` when more is needed.
fn object_header(bytes: &[u8]) -> Result<Option<(ObjectKind, usize, u64)>, &'static str> {
    let Some(end) = bytes.iter().take(64).position(|b| *b == 0) else {
        return if bytes.len() < 64 {
            Ok(None)
        } else {
            Err("has no header")
        };
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "has no header")?;
    let (kind, size) = head.split_once(' ').ok_or("has no header")?;
    let kind = match kind {
        "blob" => ObjectKind::Blob,
        "tree" => ObjectKind::Tree,
        "commit" => ObjectKind::Commit,
        "tag" => ObjectKind::Tag,
        _ => return Err("has no header"),
    };
    let size: u64 = size.parse().map_err(|_| "has no header")?;
    Ok(Some((kind, end + 1, size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn loose(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("to memory");
        encoder.finish().expect("to memory")
    }

    #[test]
    fn loose_objects_must_end_as_they_should() {
        let good = loose(b"blob 5\0hello");
        assert_eq!(inflate(&good), Ok((ObjectKind::Blob, b"hello".to_vec())));
        assert!(inflate(&good[..good.len() - 6]).is_err());
        for bad in [
            &b"blob 4\0hello"[..],
            b"blob 6\0hello",
            b"thing 5\0hello",
            b"no header at all, just a long line of text that goes on and on",
        ] {
            assert!(inflate(&loose(bad)).is_err());
        }
        let bomb = [&b"blob 9\0"[..], &vec![0; 1 << 20]].concat();
        assert!(inflate(&loose(&bomb)).is_err());
        assert!(inflate(b"garbage").is_err());
    }
}
