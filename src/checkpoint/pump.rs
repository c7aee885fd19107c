//! From a store that is waited for to a reader that blocks: pieces go through a short queue, and
//! whichever end goes away first ends the other.

use std::future::Future;
use std::io::{self, Read};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

use super::{CheckpointRef, StoredObject};
use crate::error::{Error, ErrorKind, Result, carried};
use crate::progress::Watch;

/// Pieces on their way; with pieces of a MiB, that many MiB.
const QUEUE: usize = 4;
/// A store that sends nothing for so long has stalled, unless it is told otherwise.
pub(crate) const STALLED: Duration = Duration::from_secs(30);

/// Where a store puts the pieces of an object, from the first.
#[derive(Debug)]
pub(crate) struct Pump {
    pieces: mpsc::Sender<Result<Bytes>>,
}

impl Pump {
    /// Hands over the next piece; `false` when nobody wants any more.
    pub(crate) async fn send(&self, piece: Bytes) -> bool {
        self.pieces.send(Ok(piece)).await.is_ok()
    }
}

/// The object whose pieces `fill` puts into a [`Pump`]. `fill` runs beside its reader, and is
/// dropped when the reader is, or when `watch` is cancelled.
pub(crate) fn pumped<F>(
    reference: &CheckpointRef,
    watch: &Watch,
    fill: impl FnOnce(Pump) -> F,
) -> StoredObject
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (pieces, queue) = mpsc::channel(QUEUE);
    let end = pieces.clone();
    let filling = fill(Pump { pieces });
    let cancel = watch.token().clone();
    tokio::spawn(async move {
        let failed = tokio::select! {
            filled = filling => filled.err(),
            () = cancel.cancelled() => Some(Error::cancelled()),
            () = end.closed() => None,
        };
        if let Some(error) = failed {
            let _ = end.send(Err(error)).await;
        }
    });
    StoredObject {
        reference: reference.clone(),
        bytes: Box::new(Pieces {
            queue,
            piece: Bytes::new(),
        }),
    }
}

/// Waits for `step` of a download, which has stalled when it takes longer than `limit`.
///
/// # Errors
/// [`ErrorKind::Timeout`], and what `step` answers.
pub(crate) async fn unless_stalled_for<T>(
    limit: Duration,
    step: impl Future<Output = Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, step).await {
        Ok(answer) => answer,
        Err(_) => Err(stalled(limit)),
    }
}

/// What a store is told apart by that sends nothing any more.
pub(crate) fn stalled(limit: Duration) -> Error {
    Error::new(
        ErrorKind::Timeout,
        format!(
            "The checkpoint store has sent nothing for {} s",
            limit.as_secs()
        ),
    )
    .hint("look at the network between here and the store, then try again")
}

/// Reads the pieces in their order; blocks, so never on a runtime's own thread.
struct Pieces {
    queue: mpsc::Receiver<Result<Bytes>>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.queue.blocking_recv() {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => return Err(carried(error)),
                None => return Ok(0),
            }
        }
        let count = into.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut into[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::of_read;
    use crate::progress::CancellationToken;

    fn reference() -> CheckpointRef {
        CheckpointRef::new(format!("{:064x}", 7), 9).expect("a reference")
    }

    async fn read(mut object: StoredObject) -> (Vec<u8>, Option<Error>) {
        let read = move || {
            let mut bytes = Vec::new();
            let failed = object.bytes.read_to_end(&mut bytes).err();
            (bytes, failed.map(of_read))
        };
        tokio::task::spawn_blocking(read).await.expect("read")
    }

    #[tokio::test]
    async fn pieces_arrive_in_order_and_a_failure_keeps_its_kind() {
        let whole = pumped(&reference(), &Watch::default(), |pump| async move {
            for piece in 0..20_u8 {
                assert!(pump.send(vec![piece; 3].into()).await);
            }
            Ok(())
        });
        let (bytes, failed) = read(whole).await;
        assert_eq!(bytes.len(), 60);
        assert!(bytes.is_sorted() && failed.is_none());
        let broken = pumped(&reference(), &Watch::default(), |pump| async move {
            pump.send(Bytes::from_static(b"half")).await;
            Err(Error::new(
                ErrorKind::SizeMismatch,
                "Checkpoint size mismatch",
            ))
        });
        let (bytes, failed) = read(broken).await;
        let failed = failed.expect("a failure");
        assert_eq!(
            (bytes.as_slice(), failed.kind(), failed.message()),
            (
                &b"half"[..],
                ErrorKind::SizeMismatch,
                "Checkpoint size mismatch"
            )
        );
    }

    #[tokio::test]
    async fn whoever_goes_first_ends_the_other() {
        let (told, mut dropped) = mpsc::channel::<()>(1);
        let never = |pump: Pump| async move {
            pump.send(Bytes::from_static(b"first")).await;
            let _told = told;
            std::future::pending().await
        };
        let cancel = CancellationToken::new();
        let object = pumped(&reference(), &Watch::new(cancel.clone()), never);
        let reading = tokio::spawn(read(object));
        cancel.cancel();
        let (_, failed) = reading.await.expect("read");
        assert_eq!(failed.map(|error| error.kind()), Some(ErrorKind::Cancelled));
        assert_eq!(dropped.recv().await, None);

        let (told, mut dropped) = mpsc::channel::<()>(1);
        let object = pumped(&reference(), &Watch::default(), |pump| async move {
            let _told = told;
            while pump.send(Bytes::from_static(b"more")).await {}
            std::future::pending().await
        });
        drop(object);
        assert_eq!(dropped.recv().await, None);
    }
}
