//! What a request sends along; it can be sent again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::stream::try_unfold;

use crate::checkpoint::blocking;
use crate::error::{Error, carried};

/// `x-amz-content-sha256` of nothing.
const NOTHING: &str = reqsign_aws_v4::EMPTY_STRING_SHA256;
/// Bytes that are in memory at a time.
const PIECE: u64 = 256 << 10;

/// A request's body.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    Nothing,
    Text(String),
    Part(Part),
}

/// Some bytes of a file, and their digest.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub file: Arc<File>,
    pub from: u64,
    pub length: u64,
    pub sha256: String,
}

impl Payload {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Text(text) => text.len() as u64,
            Self::Part(part) => part.length,
        }
    }

    pub(super) fn sha256(&self) -> String {
        use sha2::Digest as _;
        match self {
            Self::Nothing => NOTHING.to_owned(),
            Self::Text(text) => crate::checkpoint::hex(&sha2::Sha256::digest(text)),
            Self::Part(part) => part.sha256.clone(),
        }
    }

    /// The body; `sent` counts the bytes that were asked for.
    pub(super) fn body(&self, sent: &Arc<AtomicU64>) -> reqwest::Body {
        match self {
            Self::Nothing => Bytes::new().into(),
            Self::Text(text) => text.clone().into(),
            Self::Part(part) => part.clone().body(Arc::clone(sent)),
        }
    }
}

impl Part {
    fn body(self, sent: Arc<AtomicU64>) -> reqwest::Body {
        let end = self.from + self.length;
        let pieces = try_unfold((self.file, self.from), move |(file, at)| {
            let sent = Arc::clone(&sent);
            async move {
                if at >= end {
                    return Ok::<_, std::io::Error>(None);
                }
                let length = usize::try_from(PIECE.min(end - at)).unwrap_or(0);
                let read = move || {
                    let mut piece = vec![0; length];
                    file.read_exact_at(&mut piece, at)
                        .map_err(|error| Error::io("read", Path::new("the capture"), error))?;
                    Ok((file, piece))
                };
                let (file, piece) = blocking(read).await.map_err(carried)?;
                sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
                let next = at + piece.len() as u64;
                Ok(Some((Bytes::from(piece), (file, next))))
            }
        });
        reqwest::Body::wrap_stream(pieces)
    }
}
