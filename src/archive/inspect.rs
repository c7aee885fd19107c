//! Agno's rules over all members: names, types, limits, parents, manifest and links, in its order.

use std::collections::HashMap;

use bytes::Bytes;

use super::ambiguous::{Ambiguities, Ambiguity};
use super::links::{self, Graph, MANIFEST, Node, ROOTS};
use super::manifest::read_state;
use super::member::Members;
use super::{Entry, EntryKind, Spool};
use crate::checkpoint::CheckpointLimits;
use crate::error::{ErrorKind, Result, fail};
use crate::json::Json;
use crate::progress::{Stage, Watch};

/// All link targets together, in manifests' limits: 64 MiB unless limits are set.
const MAX_TARGETS: u64 = 64;

/// What a valid archive holds.
pub(super) struct Inspected {
    pub entries: Vec<Entry>,
    pub state: Json,
    pub ambiguities: Vec<Ambiguity>,
}

/// Agno's `_inspect`: every rule that makes members a checkpoint, in its order.
pub(super) fn inspect(
    spool: &Spool,
    limits: &CheckpointLimits,
    watch: &Watch,
) -> Result<Inspected> {
    let refuse = |message: &str| fail(ErrorKind::InvalidArchive, message);
    let mut members = Members::new(spool, limits);
    let mut entries: Vec<Entry> = Vec::new();
    let mut known: HashMap<Bytes, bool> = HashMap::new();
    let mut manifest = None;
    let mut ambiguities = Ambiguities::default();
    let (mut total, mut targets) = (0_u64, 0_u64);
    while let Some(found) = members.next()? {
        if known.len().is_multiple_of(1024) {
            watch.check()?;
            watch.at(Stage::Archive, known.len() as u64, 0);
        }
        links::check_name(&found.name)?;
        if known.contains_key(&found.name) {
            return refuse("Duplicate checkpoint path");
        }
        let supported = found.is_directory() || found.is_regular() || found.is_symlink();
        if !supported || found.sparse {
            return refuse(&format!(
                "Checkpoint contains an unsupported file type at {}; exclude it before capture",
                crate::text::python_repr(&found.name)
            ));
        }
        if found.size < 0 || !found.is_regular() && found.size != 0 {
            return refuse("Invalid checkpoint member size");
        }
        if found.is_symlink() {
            links::check_link(&found.name, &found.link)?;
        }
        let size = u64::try_from(found.size).unwrap_or(u64::MAX);
        total = total.saturating_add(size);
        known.insert(found.name.clone(), found.is_directory());
        if found.is_symlink() {
            // A global header gives one target to any number of links: Agno has no limit here.
            targets += found.link.len() as u64;
            if targets > limits.max_manifest_bytes.saturating_mul(MAX_TARGETS) {
                return refuse("Checkpoint extension metadata exceeds its limit");
            }
        }
        if total > limits.max_bytes || known.len() as u64 > limits.max_entries {
            return refuse("Checkpoint exceeds restore limits");
        }
        if let Some(why) = found.doubt {
            ambiguities.add(&found.name, why);
        }
        let kind = if found.is_directory() {
            EntryKind::Directory
        } else if found.is_symlink() {
            EntryKind::Symlink {
                target: found.link.to_vec(),
            }
        } else {
            EntryKind::File {
                offset: found.offset,
                size,
            }
        };
        if found.name[..] == *MANIFEST {
            manifest = Some(kind);
        } else {
            entries.push(Entry {
                path: found.name.to_vec(),
                kind,
                mode: (found.mode & 0o777) as u32,
                mtime: found.mtime,
            });
        }
    }
    if ROOTS.iter().any(|root| known.get(*root) != Some(&true)) {
        return refuse("Checkpoint is missing durable roots");
    }
    for entry in &entries {
        let parent = entry.path.iter().rposition(|b| *b == b'/');
        if parent.is_some_and(|cut| known.get(&entry.path[..cut]) != Some(&true)) {
            return refuse("Checkpoint parent is not a declared directory");
        }
    }
    let (offset, size) = match manifest {
        Some(EntryKind::File { offset, size }) if size <= limits.max_manifest_bytes => {
            (offset, size)
        }
        _ => return refuse("Invalid checkpoint manifest"),
    };
    if offset.checked_add(size).is_none_or(|end| end > spool.len()) {
        return refuse("Invalid checkpoint archive");
    }
    let state = read_state(&spool.bytes(offset, size)?)?;
    links::check_graph(&graph(&entries))?;
    let ambiguities = ambiguities.with_end(spool, members.end(), watch)?;
    Ok(Inspected {
        entries,
        state,
        ambiguities,
    })
}

/// The entries as nodes for following links.
pub(super) fn graph(entries: &[Entry]) -> Graph<'_> {
    let mut graph = Graph::default();
    for entry in entries {
        let node = match &entry.kind {
            EntryKind::File { .. } => Node::File,
            EntryKind::Directory => Node::Directory,
            EntryKind::Symlink { target } => Node::Link(target),
        };
        graph.insert(&entry.path, node);
    }
    graph
}
