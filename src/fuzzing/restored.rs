//! A restore from any bytes, beside files that must stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::limits;
use crate::archive::{Archive, CheckpointArchive, EntryKind, RestoreOptions};
use crate::discard::discard;
use crate::progress::Watch;

/// Stored bytes: they are refused and nothing is left, or what they say stands below the
/// destination and nowhere else.
pub fn restore(data: &[u8]) {
    is_restored(data);
}

/// The same; whether anything was restored.
pub(super) fn is_restored(data: &[u8]) -> bool {
    let Ok(folder) = tempfile::tempdir() else {
        return false;
    };
    let top = folder.path();
    if canaries(top, data).is_err() {
        return false;
    }
    let before = snapshot(top);
    let opened = CheckpointArchive::new(limits());
    let opened = opened.blocking_open(&top.join("stored"), &Watch::default());
    let mut restored = false;
    if let Ok(archive) = &opened {
        for absolute_links in [false, true] {
            restored |= restore_once(archive, top, absolute_links);
        }
    }
    assert_eq!(snapshot(top), before, "something beside it has changed");
    restored
}

fn restore_once(archive: &Archive, top: &Path, absolute_links: bool) -> bool {
    let destination = top.join("a/b/out");
    let options = RestoreOptions {
        absolute_links,
        only: Vec::new(),
    };
    let restored = archive
        .plan_restore(&destination, &options)
        .and_then(|plan| plan.carry_out(&Watch::default()));
    match restored {
        Ok(report) => {
            let written = compare(archive, &destination, absolute_links);
            assert_eq!(report.entries, written as u64);
            let parent = fs::File::open(top.join("a/b"));
            let removed = parent.and_then(|parent| Ok(discard(parent.as_fd(), OsStr::new("out"))?));
            assert!(removed.is_ok(), "{removed:?}");
        }
        Err(_) => {
            assert!(fs::symlink_metadata(&destination).is_err());
            return false;
        }
    }
    true
}

/// Files, a folder and a link around the destination `a/b/out`, and the stored bytes.
fn canaries(top: &Path, stored: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(top.join("a/b/beside"))?;
    fs::write(top.join("stored"), stored)?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_007);
    for (name, mode) in [
        ("canary", 0o640),
        ("a/canary", 0o604),
        ("a/b/canary", 0o400),
    ] {
        let path = top.join(name);
        fs::write(&path, name)?;
        fs::File::open(&path)?.set_modified(time)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    fs::write(top.join("a/b/beside/inner"), "inner")?;
    symlink("canary", top.join("a/b/link"))
}

/// What stands for one file: all that a restore could change of it.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    inode: u64,
    links: u64,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    content: Vec<u8>,
}

/// Everything below `top`.
fn snapshot(top: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    let mut pending = vec![top.to_path_buf()];
    while let Some(path) = pending.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            panic!("{path:?} is gone");
        };
        let mut modified = (metadata.mtime(), metadata.mtime_nsec());
        let content = if metadata.is_dir() {
            let children = fs::read_dir(&path).into_iter().flatten().flatten();
            pending.extend(children.map(|child| child.path()));
            if path.ends_with("a/b") {
                // The destination comes and goes there.
                modified = (0, 0);
            }
            Vec::new()
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap_or_default();
            target.as_os_str().as_bytes().to_vec()
        } else {
            fs::read(&path).unwrap_or_default()
        };
        let one = Seen {
            inode: metadata.ino(),
            links: metadata.nlink(),
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            modified,
            content,
        };
        seen.insert(path, one);
    }
    seen
}

/// Holds what was written against the archive's entries; answers how many there are.
fn compare(archive: &Archive, destination: &Path, absolute_links: bool) -> usize {
    let mut expected: BTreeSet<&[u8]> = archive
        .entries()
        .iter()
        .filter(|entry| absolute_links || !entry.is_absolute_link())
        .map(|entry| &entry.path[..])
        .collect();
    let count = expected.len();
    let mut pending = vec![destination.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let children = fs::read_dir(&folder).into_iter().flatten().flatten();
        for child in children.map(|child| child.path()) {
            let name = child.strip_prefix(destination).unwrap_or(&child);
            let name = name.as_os_str().as_bytes();
            assert!(expected.remove(name), "{child:?} is not in the archive");
            is_as_told(archive, name, &child);
            let is_link = fs::symlink_metadata(&child).is_ok_and(|found| found.is_symlink());
            if is_link && !absolute_links {
                stays(&child, destination, name);
            } else if !is_link && child.is_dir() {
                // What may not be read otherwise is looked into all the same.
                let _ = fs::set_permissions(&child, fs::Permissions::from_mode(0o700));
                pending.push(child);
            }
        }
    }
    assert!(expected.is_empty(), "{expected:?} were not written");
    count
}

fn is_as_told(archive: &Archive, name: &[u8], path: &Path) {
    let (Some(entry), Ok(found)) = (archive.entry(name), fs::symlink_metadata(path)) else {
        panic!("{path:?} cannot be looked at");
    };
    match &entry.kind {
        EntryKind::Directory => assert!(found.is_dir()),
        EntryKind::Symlink { target } => {
            let written = fs::read_link(path).unwrap_or_default();
            assert_eq!(written.as_os_str().as_bytes(), &target[..]);
        }
        EntryKind::File { size, .. } => {
            assert!(found.is_file());
            assert_eq!((found.len(), found.nlink()), (*size, 1));
        }
    }
    if !found.is_symlink() {
        assert_eq!(found.mode() & 0o7777, entry.mode);
    }
    // Other times may be more than the file system holds.
    if let Some((seconds @ 0..0x7fff_ffff, nanos)) = entry.mtime.timespec() {
        assert_eq!((found.mtime(), found.mtime_nsec()), (seconds, nanos.into()));
    }
    if let EntryKind::File { size, .. } = entry.kind {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
        let (Ok(written), Ok(told)) = (fs::read(path), archive.content(entry, size)) else {
            panic!("{path:?} cannot be read");
        };
        assert_eq!(written, told);
    }
}

/// A link that leads anywhere leads below its own root.
fn stays(link: &Path, destination: &Path, name: &[u8]) {
    let root = if name.starts_with(b"native") {
        "native"
    } else {
        "workspace"
    };
    if let (Ok(real), Ok(root)) = (
        fs::canonicalize(link),
        fs::canonicalize(destination.join(root)),
    ) {
        assert!(real.starts_with(root), "{link:?} leads to {real:?}");
    }
}
