//! Trees under construction, written as git writes them.

use std::collections::HashMap;

use git2::{ObjectType, Odb, Oid};

use super::{Answer, failed};
use crate::review::protocol::{Failure, MAX_FOLDERS};

/// A tree under construction; only what differs is in it.
#[derive(Default)]
pub(super) struct Folder {
    folders: HashMap<Vec<u8>, Folder>,
    files: HashMap<Vec<u8>, (u32, Oid)>,
}

impl Folder {
    pub(super) fn insert(&mut self, path: &[u8], mode: u32, id: Oid) -> Answer {
        let mut at = self;
        let mut parts = path.split(|b| *b == b'/').peekable();
        let mut depth = 0;
        while let Some(part) = parts.next() {
            depth += 1;
            if depth > MAX_FOLDERS || part.is_empty() {
                return failed(Failure::Limit, "a path is nested too deep");
            }
            if parts.peek().is_none() {
                at.files.insert(part.to_vec(), (mode, id));
            } else {
                at = at.folders.entry(part.to_vec()).or_default();
            }
        }
        Ok(())
    }

    /// Writes the tree into memory, in git's order: a folder sorts as if it ended in a slash.
    pub(super) fn write(&self, odb: &Odb<'_>) -> Answer<Oid> {
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (name, folder) in &self.folders {
            if self.files.contains_key(name) {
                return failed(Failure::Protocol, "a path is both a file and a folder");
            }
            let id = folder.write(odb)?;
            entries.push((
                [name, &b"/"[..]].concat(),
                [b"40000 ", &name[..], b"\0", id.as_bytes()].concat(),
            ));
        }
        for (name, (mode, id)) in &self.files {
            let mode = format!("{mode:o} ");
            entries.push((
                name.clone(),
                [mode.as_bytes(), &name[..], b"\0", id.as_bytes()].concat(),
            ));
        }
        entries.sort();
        let bytes: Vec<u8> = entries.into_iter().flat_map(|(_, entry)| entry).collect();
        Ok(odb.write(ObjectType::Tree, &bytes)?)
    }
}
