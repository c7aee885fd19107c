//! The virtual working tree: an archive's entries below one folder, looked up by path and by
//! folder, with contents read from the spool.

use std::collections::HashMap;
use std::sync::Arc;

use crate::archive::{Archive, Entry, EntryKind};
use crate::error::Result;

/// Entries of an archive below `root`; all paths here are relative to it.
#[derive(Clone, Debug)]
pub(crate) struct WorkTree {
    archive: Arc<Archive>,
    root: Vec<u8>,
    folders: Arc<HashMap<Vec<u8>, Vec<u32>>>,
}

impl WorkTree {
    /// The tree of all entries, in name order within each folder.
    pub(crate) fn new(archive: Arc<Archive>) -> Self {
        let mut folders: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        for (index, entry) in archive.entries().iter().enumerate() {
            let cut = entry.path.iter().rposition(|b| *b == b'/').unwrap_or(0);
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            match folders.get_mut(&entry.path[..cut]) {
                Some(children) => children.push(index),
                None => {
                    folders.insert(entry.path[..cut].to_vec(), vec![index]);
                }
            }
        }
        for children in folders.values_mut() {
            children.sort_by(|a, b| {
                let name = |index: u32| archive.entries()[index as usize].name();
                name(*a).cmp(name(*b))
            });
        }
        Self {
            archive,
            root: Vec::new(),
            folders: Arc::new(folders),
        }
    }

    /// The same entries seen from the folder `path` below this root.
    pub(crate) fn below(&self, path: &[u8]) -> Self {
        Self {
            root: self.full(path),
            ..self.clone()
        }
    }

    pub(crate) fn archive(&self) -> &Arc<Archive> {
        &self.archive
    }

    /// The root in the archive's terms.
    pub(crate) fn root(&self) -> &[u8] {
        &self.root
    }

    fn full(&self, path: &[u8]) -> Vec<u8> {
        join(&self.root, path)
    }

    pub(crate) fn entry(&self, path: &[u8]) -> Option<&Entry> {
        self.archive.entry(&self.full(path))
    }

    pub(crate) fn is_folder(&self, path: &[u8]) -> bool {
        self.entry(path).is_some_and(Entry::is_directory)
    }

    /// What lies directly in the folder `path`, in name order.
    pub(crate) fn children(&self, path: &[u8]) -> impl Iterator<Item = &Entry> {
        let children = self.folders.get(&self.full(path));
        children
            .into_iter()
            .flatten()
            .map(|index| &self.archive.entries()[*index as usize])
    }

    /// The content of the regular file at `path`, when it is one of at most `limit` bytes.
    pub(crate) fn file(&self, path: &[u8], limit: u64) -> Result<Option<Vec<u8>>> {
        match self.entry(path) {
            Some(entry) if matches!(entry.kind, EntryKind::File { size, .. } if size <= limit) => {
                self.archive.content(entry, limit).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// `folder/name`, or just `name` at the top.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        name.to_vec()
    } else if name.is_empty() {
        folder.to_vec()
    } else {
        [folder, b"/", name].concat()
    }
}

/// `target` as a link or a file in `folder` means it, when it stays below the root.
pub(crate) fn resolve(folder: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    if target.starts_with(b"/") {
        return None;
    }
    let mut parts: Vec<&[u8]> = folder.split(|byte| *byte == b'/').collect();
    parts.retain(|part| !part.is_empty());
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join(&b'/'))
}
