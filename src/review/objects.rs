//! Git's object files, written to a private repository of our own for libgit2 to read: packs with
//! their indexes, and loose objects that end as they should. Nothing else of `.git` goes there.

use std::io::Write;
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};
use tempfile::TempDir;

use super::model::Notice;
use super::protocol::MAX_CONTENT;
use super::tree::{WorkTree, join};
use crate::archive::{Entry, EntryKind};
use crate::error::{Error, Result};
use crate::progress::Watch;

/// Our own repository's configuration, all of it.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfilemode = true\n";

/// A private bare repository that holds an agent's objects; removed on drop.
#[derive(Debug)]
pub(crate) struct PrivateObjects {
    folder: TempDir,
}

impl PrivateObjects {
    /// An empty repository of mode 0700 in the folder for temporary files.
    pub(crate) fn new() -> Result<Self> {
        let parent = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("afterrun-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .tempdir()
            .map_err(|error| Error::io("write in", &parent, error))?;
        let path = folder.path();
        let made = std::fs::create_dir_all(path.join("objects/pack"))
            .and_then(|()| std::fs::create_dir(path.join("refs")))
            .and_then(|()| std::fs::write(path.join("HEAD"), "ref: refs/heads/none\n"))
            .and_then(|()| std::fs::write(path.join("config"), CONFIG));
        made.map_err(|error| Error::io("write in", path, error))?;
        Ok(Self { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds the object files below `git_dir`.
    pub(crate) fn add(
        &self,
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
        for fan in tree.children(&objects) {
            watch.check()?;
            let name = fan.name();
            let folder = join(&objects, name);
            if name == b"pack" {
                self.packs(tree, &folder, notices)?;
            } else if name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit) {
                self.loose(tree, &folder, notices)?;
            }
        }
        Ok(())
    }

    fn packs(&self, tree: &WorkTree, folder: &[u8], notices: &mut Vec<Notice>) -> Result<()> {
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

    fn loose(&self, tree: &WorkTree, folder: &[u8], notices: &mut Vec<Notice>) -> Result<()> {
        let fan = folder[folder.len() - 2..].to_ascii_lowercase();
        for entry in tree.children(folder) {
            let name = entry.name();
            if name.len() != 38 || !name.iter().all(u8::is_ascii_hexdigit) {
                continue;
            }
            let EntryKind::File { size, .. } = entry.kind else {
                continue;
            };
            let path = join(folder, name);
            if size > MAX_CONTENT {
                notices.push(Notice::at(
                    "too-large",
                    &path,
                    "an object file is too large to read",
                ));
                continue;
            }
            // libgit2 loops forever on a loose object that is cut short.
            let stored = tree.archive().content(entry, MAX_CONTENT)?;
            if let Err(why) = check_loose(&stored) {
                let tag = if why.contains("large") {
                    "too-large"
                } else {
                    "bad-object"
                };
                notices.push(Notice::at(
                    tag,
                    &path,
                    format!("an object file {why} and is not read"),
                ));
                continue;
            }
            let name = [&b"objects/"[..], &fan, b"/", &name.to_ascii_lowercase()].concat();
            let name = String::from_utf8(name).unwrap_or_default();
            self.write(Path::new(&name), &stored)?;
        }
        Ok(())
    }

    fn copy(&self, tree: &WorkTree, entry: &Entry, name: &Path) -> Result<()> {
        if !matches!(entry.kind, EntryKind::File { .. }) {
            return Ok(());
        }
        let path = self.path().join(name);
        let mut file = create(&path)?;
        tree.archive().copy_content(entry, &mut file)
    }

    fn write(&self, name: &Path, bytes: &[u8]) -> Result<()> {
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|error| Error::io("write in", parent, error))?;
        }
        // Two git directories of one checkout may hold the same object: the first stays.
        if path.exists() {
            return Ok(());
        }
        create(&path)?
            .write_all(bytes)
            .map_err(|error| Error::io("write", &path, error))
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

/// Inflates a loose object and checks that it is as long as its header says.
fn check_loose(stored: &[u8]) -> Result<(), &'static str> {
    let mut inflate = Decompress::new(true);
    let mut out = vec![0; 64 * 1024];
    let mut head: Vec<u8> = Vec::new();
    let mut expected: Option<u64> = None;
    loop {
        let before = inflate.total_out();
        let consumed = usize::try_from(inflate.total_in()).unwrap_or(usize::MAX);
        let status = inflate
            .decompress(
                &stored[consumed.min(stored.len())..],
                &mut out,
                FlushDecompress::None,
            )
            .map_err(|_| "is not compressed as it should be")?;
        let made = usize::try_from(inflate.total_out() - before).unwrap_or(0);
        if expected.is_none() {
            head.extend_from_slice(&out[..made.min(64)]);
            if let Some(end) = head.iter().position(|b| *b == 0) {
                let size = std::str::from_utf8(&head[..end])
                    .ok()
                    .and_then(|head| head.split_once(' '))
                    .filter(|(kind, _)| matches!(*kind, "blob" | "tree" | "commit" | "tag"))
                    .and_then(|(_, size)| size.parse::<u64>().ok())
                    .ok_or("has no header")?;
                if size > MAX_CONTENT {
                    return Err("is too large");
                }
                expected = Some(size + end as u64 + 1);
            } else if head.len() >= 64 {
                return Err("has no header");
            }
        }
        if expected.is_some_and(|expected| inflate.total_out() > expected) {
            return Err("holds more than its header says");
        }
        match status {
            Status::StreamEnd => break,
            _ if made == 0 => return Err("is cut short"),
            _ => {}
        }
    }
    if expected != Some(inflate.total_out()) {
        return Err("holds less than its header says");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loose(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("to memory");
        encoder.finish().expect("to memory")
    }

    #[test]
    fn loose_objects_must_end_as_they_should() {
        let good = loose(b"blob 5\0hello");
        assert_eq!(check_loose(&good), Ok(()));
        assert!(check_loose(&good[..good.len() - 6]).is_err());
        for bad in [
            &b"blob 4\0hello"[..],
            b"blob 6\0hello",
            b"thing 5\0hello",
            b"no header at all, just a long line of text that goes on and on",
        ] {
            assert!(check_loose(&loose(bad)).is_err());
        }
        let bomb = [&b"blob 9\0"[..], &vec![0; 1 << 20]].concat();
        assert!(check_loose(&loose(&bomb)).is_err());
        assert!(check_loose(b"garbage").is_err());
    }
}
