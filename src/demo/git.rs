//! Checkouts as Agno's sandbox makes them: a shallow clone with a detached HEAD at the pin. Objects
//! are named by libgit2 and the index is written by it; no repository is opened, so that nobody's
//! git configuration has a say in the demo's bytes.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use git2::{Index, IndexEntry, IndexTime, ObjectType, Oid};

use super::files::Files;
use crate::error::{Error, ErrorKind, Result, fail};

/// Where the checkout is among a computer's files.
pub(super) const CHECKOUT: &str = "workspace/repository";
const ASSUME_UNCHANGED: u16 = 0x8000;
const OWNER: &str = "Mara Lindqvist <mara@tidewater.example>";
const AGENT: &str = "Engineer <engineer@sandbox.example>";
const NOBODY: &str = "0000000000000000000000000000000000000000";

/// What a session's repository is at its pin.
pub(super) struct Origin {
    pub(super) url: &'static str,
    pub(super) subject: &'static str,
    /// Path, mode, content.
    pub(super) files: Vec<(&'static str, u32, Vec<u8>)>,
    /// When the pin was committed.
    pub(super) committed: i64,
}

struct Staged {
    mode: u32,
    id: Oid,
    mtime: i64,
    size: u32,
    hidden: bool,
}

/// What git knows of the checkout, apart from its files.
pub(super) struct Checkout {
    staged: BTreeMap<String, Staged>,
    head: Oid,
    subject: String,
    pub(super) pin: String,
}

fn place(path: &str) -> String {
    format!("{CHECKOUT}/{path}")
}

fn git_failed(error: git2::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("the demo's repository cannot be made: {}", error.message()),
    )
    .source(error)
}

impl Checkout {
    /// Clones `origin` into the computer's workspace.
    pub(super) fn clone(files: &mut Files, origin: &Origin) -> Result<Self> {
        for folder in [
            "branches",
            "hooks",
            "objects/info",
            "objects/pack",
            "refs/heads",
            "refs/tags",
        ] {
            files.folder(&place(&format!(".git/{folder}")));
        }
        let url = origin.url;
        let config = format!(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
             \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = {url}\n\
             \tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        );
        files.write(&place(".git/config"), config);
        let description = "Unnamed repository; edit this file to name the repository.\n";
        files.write(&place(".git/description"), description);
        let exclude = "# git ls-files --others --exclude-from=.git/info/exclude\n/.agno/\n";
        files.write(&place(".git/info/exclude"), exclude);
        let mut checkout = Self {
            staged: BTreeMap::new(),
            head: Oid::from_str(NOBODY).map_err(git_failed)?,
            subject: origin.subject.to_owned(),
            pin: String::new(),
        };
        for (path, mode, bytes) in &origin.files {
            files.put(&place(path), bytes.clone(), *mode);
            checkout.add(files, path)?;
        }
        // The history before the pin is not fetched: its commit is named and absent.
        let empty = Oid::hash_object(ObjectType::Tree, b"").map_err(git_failed)?;
        let before = format!(
            "tree {empty}\nauthor {OWNER} 1767225600 +0100\ncommitter {OWNER} 1767225600 +0100\n\nStart\n"
        );
        let before = Oid::hash_object(ObjectType::Commit, before.as_bytes()).map_err(git_failed)?;
        let tree = checkout.tree(files)?;
        let signed = format!("{OWNER} {} +0200", origin.committed);
        let pin = commit_object(files, tree, &[before], &signed, origin.subject)?;
        checkout.head = pin;
        checkout.pin = pin.to_string();
        files.write(&place(".git/HEAD"), format!("{pin}\n"));
        files.write(&place(".git/shallow"), format!("{pin}\n"));
        let fetched = format!("{pin}\t\t'{pin}' of {url}\n");
        files.write(&place(".git/FETCH_HEAD"), fetched);
        let moved = format!("checkout: moving from master to {pin}");
        log(files, "HEAD", NOBODY, &pin.to_string(), &moved);
        Ok(checkout)
    }

    /// `git add PATH`, or `git rm --cached PATH` where the file is gone.
    pub(super) fn add(&mut self, files: &mut Files, path: &str) -> Result<()> {
        let staged = match files.recorded(&place(path)) {
            None => {
                self.staged.remove(path);
                return Ok(());
            }
            Some(found) => Staged {
                mode: found.mode,
                id: Oid::hash_object(ObjectType::Blob, found.bytes).map_err(git_failed)?,
                mtime: found.mtime,
                size: u32::try_from(found.bytes.len()).unwrap_or(0),
                hidden: false,
            },
        };
        let bytes = files
            .recorded(&place(path))
            .map(|found| found.bytes.to_vec())
            .unwrap_or_default();
        object(files, ObjectType::Blob, &bytes)?;
        self.staged.insert(path.to_owned(), staged);
        Ok(())
    }

    /// `git update-index --assume-unchanged PATH`.
    pub(super) fn hide(&mut self, path: &str) {
        if let Some(staged) = self.staged.get_mut(path) {
            staged.hidden = true;
        }
    }

    /// `git commit -m SUBJECT` by the agent.
    pub(super) fn commit(&mut self, files: &mut Files, subject: &str) -> Result<()> {
        let tree = self.tree(files)?;
        let signed = format!("{AGENT} {} +0000", files.clock());
        let commit = commit_object(files, tree, &[self.head], &signed, subject)?;
        files.write(&place(".git/HEAD"), format!("{commit}\n"));
        files.write(&place(".git/COMMIT_EDITMSG"), format!("{subject}\n"));
        let why = format!("commit: {subject}");
        let (old, new) = (self.head.to_string(), commit.to_string());
        log(files, "HEAD", &old, &new, &why);
        self.head = commit;
        self.subject = subject.to_owned();
        Ok(())
    }

    /// `git stash push -m MESSAGE PATH`: the file's change goes into a stash, the file back to what
    /// the index says.
    pub(super) fn stash(
        &mut self,
        files: &mut Files,
        path: &str,
        before: &str,
        message: &str,
    ) -> Result<()> {
        let signed = format!("{AGENT} {} +0000", files.clock());
        let short = self.head.to_string()[..7].to_owned();
        let note = format!("index on (no branch): {short} {}", self.subject);
        let tree = self.tree(files)?;
        let index = commit_object(files, tree, &[self.head], &signed, &note)?;
        self.add(files, path)?;
        let tree = self.tree(files)?;
        let note = format!("On (no branch): {message}");
        let stash = commit_object(files, tree, &[self.head, index], &signed, &note)?;
        files.write(&place(path), before);
        self.add(files, path)?;
        files.write(&place(".git/refs/stash"), format!("{stash}\n"));
        log(files, "refs/stash", NOBODY, &stash.to_string(), &note);
        Ok(())
    }

    /// Writes `.git/index`; libgit2 wants a folder of ours for it.
    pub(super) fn save_index(&self, files: &mut Files, folder: &Path) -> Result<()> {
        let path = folder.join("index");
        let mut index = Index::open(&path).map_err(git_failed)?;
        for (name, staged) in &self.staged {
            let time = |seconds: i64| IndexTime::new(i32::try_from(seconds).unwrap_or(0), 0);
            index
                .add(&IndexEntry {
                    ctime: time(0),
                    mtime: time(staged.mtime),
                    dev: 0,
                    ino: 0,
                    mode: staged.mode,
                    uid: 0,
                    gid: 0,
                    file_size: staged.size,
                    id: staged.id,
                    flags: if staged.hidden { ASSUME_UNCHANGED } else { 0 },
                    flags_extended: 0,
                    path: name.clone().into_bytes(),
                })
                .map_err(git_failed)?;
        }
        index.write().map_err(git_failed)?;
        let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        files.put(&place(".git/index"), bytes, 0o644);
        Ok(())
    }

    fn tree(&self, files: &mut Files) -> Result<Oid> {
        let entries: Vec<_> = self
            .staged
            .iter()
            .map(|(path, staged)| (&path[..], staged.mode, staged.id))
            .collect();
        tree_object(files, &entries)
    }
}

/// Paths in the index's order are in a tree's order too, folder by folder.
fn tree_object(files: &mut Files, entries: &[(&str, u32, Oid)]) -> Result<Oid> {
    let mut tree = Vec::new();
    let mut rest = entries;
    while let Some((path, mode, id)) = rest.first().copied() {
        let (name, mode, id, count) = match path.split_once('/') {
            None => (path, mode, id, 1),
            Some((folder, _)) => {
                let below = |entry: &&(&str, u32, Oid)| {
                    let tail = entry.0.strip_prefix(folder);
                    tail.is_some_and(|tail| tail.starts_with('/'))
                };
                let inside: Vec<_> = rest
                    .iter()
                    .take_while(below)
                    .map(|(path, mode, id)| (&path[folder.len() + 1..], *mode, *id))
                    .collect();
                (folder, 0o40_000, tree_object(files, &inside)?, inside.len())
            }
        };
        tree.extend_from_slice(format!("{mode:o} {name}\0").as_bytes());
        tree.extend_from_slice(id.as_bytes());
        rest = &rest[count..];
    }
    object(files, ObjectType::Tree, &tree)
}

fn commit_object(
    files: &mut Files,
    tree: Oid,
    parents: &[Oid],
    signed: &str,
    message: &str,
) -> Result<Oid> {
    let parents: String = parents.iter().map(|id| format!("parent {id}\n")).collect();
    let text = format!("tree {tree}\n{parents}author {signed}\ncommitter {signed}\n\n{message}\n");
    object(files, ObjectType::Commit, text.as_bytes())
}

/// A loose object among the checkout's files.
fn object(files: &mut Files, kind: ObjectType, data: &[u8]) -> Result<Oid> {
    let id = Oid::hash_object(kind, data).map_err(git_failed)?;
    let name = id.to_string();
    let path = place(&format!(".git/objects/{}/{}", &name[..2], &name[2..]));
    if files.recorded(&path).is_none() {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        let header = format!("{} {}\0", kind.str(), data.len());
        let packed = zlib
            .write_all(header.as_bytes())
            .and_then(|()| zlib.write_all(data))
            .and_then(|()| zlib.finish());
        match packed {
            Ok(packed) => files.put(&path, packed, 0o444),
            Err(_) => return fail(ErrorKind::Io, "the demo's objects cannot be deflated"),
        }
    }
    Ok(id)
}

fn log(files: &mut Files, name: &str, old: &str, new: &str, why: &str) {
    let line = format!("{old} {new} {AGENT} {} +0000\t{why}\n", files.clock());
    files.append(&place(&format!(".git/logs/{name}")), &line, 0o644);
}
