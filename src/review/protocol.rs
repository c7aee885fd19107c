//! What parent and review worker say to each other: frames of a length and a message, each bounded.
//! The worker is not trusted either: whatever it answers is checked like any other input.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::confinement::{Confinement, Escape};
use super::id::Id;
use super::model::{Commit, FilePatch, PatchOptions};
use crate::error::{Error, ErrorKind, Result};

/// What goes over the pipe, one way or the other.
pub(crate) trait Message: Serialize + DeserializeOwned {
    /// No frame of it is larger. Small things take less on the wire than in memory: a bound on what
    /// the worker answers is one on what its answers cost.
    const MAX_FRAME: usize;
}

impl Message for Request {
    /// A content of the largest size, and what surrounds it.
    const MAX_FRAME: usize = MAX_CONTENT as usize + (1 << 20);
}

impl Message for Response {
    /// Lists come in pieces of about a megabyte; the largest answers are one file's hunks, 4 MiB of text
    /// in at most 20,000 lines.
    const MAX_FRAME: usize = 17 << 20;
}

/// No blob of either side is larger.
pub(crate) const MAX_CONTENT: u64 = 64 << 20;
/// Folders above a file that is compared.
pub(crate) const MAX_FOLDERS: usize = 360;
/// Paths of one commit that are compared with its parent's.
pub(crate) const MAX_COMMIT_PATHS: usize = 2_000;
/// Bytes of one commit's hunks that are sent.
pub(crate) const MAX_COMMIT_HUNKS: usize = 1 << 20;
/// Base trees hold no more entries.
pub(crate) const MAX_TREE_ENTRIES: usize = 300_000;
/// Bytes of all paths of a base tree: one long name may stand in many folders.
pub(crate) const MAX_TREE_PATHS: usize = 64 << 20;
/// Bytes of a path in a commit's tree.
pub(crate) const MAX_PATH: usize = 64 << 10;

/// What the parent asks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Open the private repository in this folder, and give up everything else.
    Open { folder: Vec<u8> },
    /// Try what the worker must not be able to do, with this file that its parent can read.
    Probe { outside: Vec<u8> },
    /// List the tree of a commit.
    Tree { commit: Id },
    /// List one tree.
    Folder { tree: Id },
    /// List commits reachable from one but not from the other, newest first.
    Log { from: Id, hide: Id, limit: u32 },
    /// What a commit changed against its first parent; the comparison that is held stays.
    Commit { commit: Id },
    /// Whether the blob holds CR LF.
    HasCrlf { blob: Id },
    /// Know this object of the checkout.
    Loose {
        kind: ObjectKind,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Keep this content for the comparison, under the next number from 0.
    Content {
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Compare; a worker does it once.
    Compare { changes: Vec<WireChange> },
    /// The hunks of one delta of the last comparison.
    Patch { delta: u32, options: PatchOptions },
    /// The text of one delta's patch, binary included.
    PatchText { delta: u32, options: PatchOptions },
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

/// What the worker answers; lists come in any number of pieces and end with [`Response::Done`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    /// Done, or the end of a list.
    Done,
    /// Open; what the kernel holds the worker to.
    Opened(Confinement),
    /// What it could do though it must not.
    Escapes(Vec<Escape>),
    /// It did not work.
    Failed { why: Failure, message: String },
    /// Entries of a tree: path, canonical mode, id.
    TreeEntries(Vec<(Vec<u8>, u32, Id)>),
    /// Commits, newest first.
    Commits(Vec<Commit>),
    /// A commit's first parent.
    Parent(WireParent),
    /// Paths that a commit changed, with the modes before and after.
    Differing(Vec<(Vec<u8>, u32, u32)>),
    /// How many more there are, at the end of that list.
    More(u64),
    /// A yes or no.
    Truth(bool),
    /// Changes whose old content cannot be read: index, of what kind the reason is, and the reason.
    Opaque(Vec<(u32, Failure, String)>),
    /// Deltas, in the order of their numbers.
    Deltas(Vec<WireDelta>),
    /// Line counts: delta, added, deleted, binary.
    Counts(Vec<(u32, u32, u32, bool)>),
    /// Lines that hide something, of what has been counted so far; at most one for each delta.
    Hidden(Vec<WireHidden>),
    /// One file's hunks.
    Patch(FilePatch),
    /// A piece of text.
    Text(#[serde(with = "serde_bytes")] Vec<u8>),
}

/// Why the worker could not do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    /// An object is not there.
    Missing,
    /// An object is not what it should be.
    Damaged,
    /// Something is over its limit.
    Limit,
    /// The request makes no sense now.
    Protocol,
}

/// A commit's first parent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum WireParent {
    Commit(Id),
    Root,
    /// Named, but not there.
    Missing(Id),
}

/// One side of a change.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireSide {
    pub mode: u32,
    pub blob: WireBlob,
}

/// Where a side's bytes are.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireBlob {
    /// In the checkout's objects (or a submodule's commit, which is nowhere).
    Object(Id),
    /// Among the contents sent.
    Content(u32),
}

/// A path that differs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireChange {
    pub path: Vec<u8>,
    pub old: Option<WireSide>,
    pub new: Option<WireSide>,
}

/// One of libgit2's deltas.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WireDelta {
    pub old_path: Option<Vec<u8>>,
    pub new_path: Option<Vec<u8>>,
    pub old_mode: u32,
    pub new_mode: u32,
    /// Whether both sides have one id.
    pub same_content: bool,
}

/// Lines of one delta that hide something.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WireHidden {
    pub delta: u32,
    /// The first of them, and what hides something there.
    pub line: u32,
    pub letter: char,
    /// How many there are.
    pub lines: u32,
    /// Whether they are those of the whole new content, since what was added is not known.
    pub whole: bool,
}

/// Writes one frame; one that is over its limit is [`std::io::ErrorKind::InvalidInput`], and nothing of it
/// is written.
pub(crate) fn send<T: Message>(out: &mut impl Write, message: &T) -> std::io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(std::io::Error::other)?;
    let length = u32::try_from(bytes.len())
        .ok()
        .filter(|length| *length as usize <= T::MAX_FRAME)
        .ok_or_else(|| {
            let kind = std::io::ErrorKind::InvalidInput;
            std::io::Error::new(kind, "a frame is over its limit")
        })?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&bytes)?;
    out.flush()
}

/// Reads one frame; `None` at the end of the stream.
pub(crate) fn receive<T: Message>(input: &mut impl Read) -> Result<Option<T>> {
    let broken =
        |why: String| Error::new(ErrorKind::UnsafeContent, format!("the review worker {why}"));
    let mut length = [0; 4];
    let mut filled = 0;
    while filled < length.len() {
        match input.read(&mut length[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(broken("stopped in the middle of an answer".into())),
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(broken(format!("cannot be read: {error}"))),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > T::MAX_FRAME {
        return Err(broken("answers with more than it may".into()));
    }
    // Grown as bytes arrive, so that a claimed length alone costs nothing.
    let mut bytes = Vec::with_capacity(length.min(1 << 16));
    let read = input.take(length as u64).read_to_end(&mut bytes);
    if read.ok() != Some(length) {
        return Err(broken("stopped in the middle of an answer".into()));
    }
    postcard::from_bytes(&bytes)
        .map(Some)
        .map_err(|error| broken(format!("answers what cannot be understood ({error})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_goes_there_and_back() {
        let mut bytes = Vec::new();
        send(&mut bytes, &Response::Text(b"patch".to_vec())).expect("sent");
        let mut input = &bytes[..];
        assert!(
            matches!(receive::<Response>(&mut input), Ok(Some(Response::Text(text))) if text == b"patch")
        );
        assert!(matches!(receive::<Response>(&mut input), Ok(None)));
        assert!(receive::<Response>(&mut &bytes[..6]).is_err());
        assert!(receive::<Response>(&mut &[0xff; 8][..]).is_err());
    }

    proptest! {
        #[test]
        fn any_answer_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut input = Vec::from(u32::try_from(bytes.len()).unwrap().to_le_bytes());
            input.extend(bytes);
            let _ = receive::<Response>(&mut &input[..]);
        }
    }
}
