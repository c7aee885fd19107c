//! Which paths differ, decided by content: every file that is tracked is hashed as git would store
//! it, and only mismatches go on to libgit2.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::attributes::AttributeRules;
use super::base::BaseTree;
use super::change::{Change, Side, Source};
use super::id::GITLINK;
use super::id::Id;
use super::model::Notice;
use super::scan::{Body, Found, Scan};
use super::tree::WorkTree;
use crate::archive::Archive;
use crate::error::Result;
use crate::progress::{Stage, Watch};

/// Normalising looks at no larger file.
const MAX_NORMALISED: u64 = 64 << 20;
/// Attributes are looked up for at most this many changed files.
const MAX_ATTRIBUTED: usize = 5_000;
const PIECE: u64 = 256 * 1024;
const HASHERS: usize = 2;

/// Asks the base whether a blob holds CR LF.
pub(crate) type AsksBase<'a> = dyn FnMut(Id) -> Result<bool> + 'a;

/// What differs between a commit's tree and a working tree, submodules apart.
pub(crate) fn against_tree(
    tree: &WorkTree,
    git_dir: Option<&[u8]>,
    base: &BaseTree,
    scan: &Scan,
    base_has_crlf: &mut AsksBase<'_>,
    watch: &Watch,
) -> Result<(Vec<Change>, Vec<Notice>)> {
    let mut changes = Vec::new();
    let mut suspects: Vec<(&Vec<u8>, &Found, u32, Id)> = Vec::new();
    for (path, found) in &scan.files {
        match base.get(path) {
            None => changes.push(Change {
                path: path.clone(),
                old: None,
                new: Some(new_side(found)),
            }),
            Some((mode, id)) => suspects.push((path, found, *mode, *id)),
        }
    }
    for (path, (mode, id)) in base {
        if !scan.files.contains_key(path) && !scan.nested.contains_key(path) {
            changes.push(Change {
                path: path.clone(),
                old: Some(Side {
                    mode: *mode,
                    source: Source::Object(*id),
                }),
                new: None,
            });
        }
    }
    let bodies: Vec<&Body> = suspects.iter().map(|(_, found, ..)| &found.body).collect();
    let ids = hash_all(tree.archive(), &bodies, watch)?;
    let mut attributes = Attributed::new(tree, git_dir)?;
    for ((path, found, mode, id), hashed) in suspects.into_iter().zip(ids) {
        if hashed == Some(id) && found.mode == mode {
            continue;
        }
        let mut new = new_side(found);
        if hashed == Some(id) {
            new.source = Source::Object(id);
        } else if mode != GITLINK
            && let Some(bytes) = attributes.normalised(path, found, id, base_has_crlf)?
        {
            let stored = blob_id(&bytes);
            if stored == Some(id) && found.mode == mode {
                continue;
            }
            new.source = Source::Bytes(bytes);
        }
        changes.push(Change {
            path: path.clone(),
            old: Some(Side {
                mode,
                source: Source::Object(id),
            }),
            new: Some(new),
        });
    }
    // New files are stored as git would store them too.
    for change in &mut changes {
        if change.old.is_none()
            && let Some(found) = scan.files.get(&change.path)
            && let Some(bytes) =
                attributes.normalised(&change.path, found, [0; 20], &mut |_| Ok(false))?
            && let Some(new) = &mut change.new
        {
            new.source = Source::Bytes(bytes);
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((changes, attributes.into_notices()))
}

/// What differs between two working trees.
pub(crate) fn against_scan(
    old_archive: &Archive,
    old: &Scan,
    new_archive: &Archive,
    new: &Scan,
    watch: &Watch,
) -> Result<Vec<Change>> {
    let paths: BTreeSet<&Vec<u8>> = old.files.keys().chain(new.files.keys()).collect();
    let mut changes = Vec::new();
    let (mut same, mut old_bodies, mut new_bodies) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let (before, after) = (old.files.get(path), new.files.get(path));
        if let (Some(before), Some(after)) = (before, after) {
            let unsure = match (&before.body, &after.body) {
                (Body::Spool { size: a, .. }, Body::Spool { size: b, .. }) => a == b,
                (before, after) => before == after,
            };
            if unsure {
                same.push((path, before, after));
                old_bodies.push(&before.body);
                new_bodies.push(&after.body);
                continue;
            }
        }
        changes.push(Change {
            path: path.clone(),
            old: before.map(new_side),
            new: after.map(new_side),
        });
    }
    let old_ids = hash_all(old_archive, &old_bodies, watch)?;
    let new_ids = hash_all(new_archive, &new_bodies, watch)?;
    for (((path, before, after), old_id), new_id) in same.into_iter().zip(old_ids).zip(new_ids) {
        if old_id.is_some() && old_id == new_id && before.mode == after.mode {
            continue;
        }
        changes.push(Change {
            path: path.clone(),
            old: Some(new_side(before)),
            new: Some(new_side(after)),
        });
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

fn new_side(found: &Found) -> Side {
    Side {
        mode: found.mode,
        source: match &found.body {
            Body::Spool { offset, size } => Source::Spool {
                offset: *offset,
                size: *size,
            },
            Body::Link(target) => Source::Bytes(target.clone()),
            Body::Index(id) => Source::Object(*id),
        },
    }
}

/// Git's id of a blob; `None` for bytes made to collide, which equal nothing.
pub(crate) fn blob_id(bytes: &[u8]) -> Option<Id> {
    let mut hasher = sha1dc::Hasher::new();
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher.finalize().ok().map(Into::into)
}

fn body_id(archive: &Archive, body: &Body, watch: &Watch) -> Result<Option<Id>> {
    match body {
        Body::Index(id) => Ok(Some(*id)),
        Body::Link(target) => Ok(blob_id(target)),
        Body::Spool { offset, size } => {
            let mut hasher = sha1dc::Hasher::new();
            hasher.update(format!("blob {size}\0").as_bytes());
            let (mut at, end) = (*offset, offset + size);
            let mut piece = vec![0; PIECE.min(*size) as usize];
            while at < end {
                watch.check()?;
                let count = PIECE.min(end - at) as usize;
                archive.spool().read_exact_at(&mut piece[..count], at)?;
                hasher.update(&piece[..count]);
                at += count as u64;
            }
            Ok(hasher.finalize().ok().map(Into::into))
        }
    }
}

/// Ids of many bodies, on both cores.
fn hash_all(archive: &Archive, bodies: &[&Body], watch: &Watch) -> Result<Vec<Option<Id>>> {
    let total = bodies.len() as u64;
    if bodies.len() < 32 {
        return bodies
            .iter()
            .map(|body| body_id(archive, body, watch))
            .collect();
    }
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> Result<Vec<(usize, Option<Id>)>> {
        let mut ids = Vec::new();
        loop {
            // Runs of files, so that the counter is no bottleneck.
            let start = next.fetch_add(16, Ordering::Relaxed);
            if start >= bodies.len() {
                return Ok(ids);
            }
            let end = (start + 16).min(bodies.len());
            for (offset, body) in bodies[start..end].iter().enumerate() {
                ids.push((start + offset, body_id(archive, body, watch)?));
            }
            let count = done.fetch_add(16, Ordering::Relaxed);
            watch.at(Stage::Checkout, count.min(total), total);
        }
    };
    let answers = std::thread::scope(|scope| {
        // Where the system gives no thread for another, this one does it all.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..HASHERS).filter_map(start).collect();
        let mut answers = vec![work()];
        for other in others {
            answers.push(
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        answers
    });
    let mut ids = vec![None; bodies.len()];
    for answer in answers {
        for (index, id) in answer? {
            ids[index] = id;
        }
    }
    Ok(ids)
}

/// Attributes of changed files, and what they are worth saying.
struct Attributed<'a> {
    tree: &'a WorkTree,
    rules: AttributeRules,
    asked: usize,
    notices: Vec<Notice>,
}

impl<'a> Attributed<'a> {
    fn new(tree: &'a WorkTree, git_dir: Option<&[u8]>) -> Result<Self> {
        let rules = AttributeRules::new(tree, git_dir)?;
        let mut notices = Vec::new();
        if rules.has_info() {
            notices.push(Notice::at(
                "info-attributes",
                b".git/info/attributes",
                "attributes that no diff shows are in force",
            ));
        }
        Ok(Self {
            tree,
            rules,
            asked: 0,
            notices,
        })
    }

    /// The bytes git would store for `found`, when they are not the file's own.
    fn normalised(
        &mut self,
        path: &[u8],
        found: &Found,
        base: Id,
        base_has_crlf: &mut AsksBase<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let Body::Spool { offset, size } = found.body else {
            return Ok(None);
        };
        self.asked += 1;
        if self.asked > MAX_ATTRIBUTED || size > MAX_NORMALISED {
            return Ok(None);
        }
        let attributes = self.rules.of(self.tree, path)?;
        if attributes.hides_text {
            self.notices.push(Notice::at(
                "attribute-hides",
                path,
                "an attribute tells git to show no text of it; it is shown all the same",
            ));
        }
        match attributes.filter.as_deref() {
            Some("lfs") => self.notices.push(Notice::at(
                "lfs",
                path,
                "Git LFS: pointers and contents are compared as they are",
            )),
            Some(filter) => self.notices.push(Notice::at(
                "filter",
                path,
                format!(
                    "git would run the filter {} on it; it is compared as it is",
                    crate::text::visible(filter)
                ),
            )),
            None => {}
        }
        if let Some(encoding) = &attributes.encoding {
            self.notices.push(Notice::at(
                "working-tree-encoding",
                path,
                format!(
                    "it is declared as {} and not converted",
                    crate::text::visible(encoding)
                ),
            ));
        }
        if !attributes.normalises() {
            return Ok(None);
        }
        let bytes = self.tree.archive().spool().bytes(offset, size)?;
        let asks = attributes.asks_the_base() && base != [0; 20] && bytes.contains(&b'\r');
        // A base that cannot be read is told where it is compared.
        let has_crlf = asks && base_has_crlf(base).unwrap_or(false);
        Ok(attributes.normalised(&bytes, has_crlf))
    }

    fn into_notices(mut self) -> Vec<Notice> {
        for path in &self.rules.skipped {
            self.notices.push(Notice::at(
                "attribute-rules",
                path,
                "its rules are too many to apply",
            ));
        }
        self.notices
    }
}
