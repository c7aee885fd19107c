//! An object's bytes out of its chunk rows, a slice at a time.
//!
//! A chunk may be a GiB, or a byte, and a row comes whole or not at all; so what is asked for is a
//! piece of a chunk, or a few of them together, whose length is known beforehand.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio_postgres::types::Type;

use super::pipeline::Pipeline;
use super::tables::column;
use super::{PostgresCheckpointStore, failure};
use crate::checkpoint::CheckpointRef;
use crate::checkpoint::pump::{Pump, unless_stalled_for};
use crate::error::{ErrorKind, Result, fail};
use crate::postgres::{Transaction, Value};

/// Chunks whose lengths are asked for at once.
const PLANNED: i64 = 1024;
/// Slices asked for before the first of them is there: the way to the server and back costs nothing
/// then.
const AHEAD: usize = 3;
const SMALLEST: u64 = 64 << 10;
const LARGEST: u64 = 1 << 20;
/// A slice that comes in less is followed by larger ones.
const QUICK: Duration = Duration::from_secs(1);
/// A slice that takes more is followed by smaller ones, so that a thin line does not look dead.
const SLOW: Duration = Duration::from_secs(4);

/// Puts the object's bytes into `pump`, then ends the transaction.
///
/// # Errors
/// `Checkpoint size mismatch` as soon as the chunks' lengths cannot add up to the reference's size;
/// [`ErrorKind::Timeout`] when the database has stalled; what it answers.
pub(super) async fn fill(
    store: &PostgresCheckpointStore,
    transaction: Transaction,
    reference: &CheckpointRef,
    pump: &Pump,
) -> Result<()> {
    let download = Download {
        store,
        transaction: &transaction,
        reference,
    };
    let wanted = download.run(pump).await;
    match wanted.map_err(|error| failure::of_store(error, &store.tables))? {
        // Every byte has been handed over: how the transaction ends changes nothing.
        true => drop(unless_stalled_for(store.stalled, transaction.end()).await),
        false => drop(transaction),
    }
    Ok(())
}

struct Download<'a> {
    store: &'a PostgresCheckpointStore,
    transaction: &'a Transaction,
    reference: &'a CheckpointRef,
}

/// A chunk, or what is left of one to be asked for.
struct Chunk {
    seq: i32,
    from: u64,
    length: u64,
}

impl Download<'_> {
    /// Answers whether the reader wanted all of it.
    async fn run(&self, pump: &Pump) -> Result<bool> {
        let (mut next_seq, mut planned) = (Some(0), 0);
        let mut pace = Pace::new();
        while let Some(first) = next_seq {
            let (chunks, next) = self.plan(first).await?;
            next_seq = next;
            planned = chunks
                .iter()
                .fold(planned, |sum: u64, chunk| sum.saturating_add(chunk.length));
            if planned > self.reference.size() {
                return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
            }
            if next_seq.is_none() && planned != self.reference.size() {
                return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
            }
            if !self.take(chunks, &mut pace, pump).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The chunks from number `first` on, and the number that follows where there may be more. As in
    /// Agno the object ends before the first number that is not there.
    async fn plan(&self, first: i32) -> Result<(VecDeque<Chunk>, Option<i32>)> {
        let sha256 = self.reference.sha256();
        let values: [Value<'_>; 3] = [
            (&sha256, Type::TEXT),
            (&first, Type::INT4),
            (&PLANNED, Type::INT8),
        ];
        let rows = self.transaction.rows(&self.store.tables.plan, &values);
        let rows = unless_stalled_for(self.store.stalled, rows).await?;
        let (mut chunks, mut next) = (VecDeque::new(), Some(first));
        for row in &rows {
            let length = column::<i64>(row, 1)?.and_then(|length| u64::try_from(length).ok());
            match (next, column::<i64>(row, 0)?, length) {
                (Some(seq), Some(there), Some(length)) if i64::from(seq) == there => {
                    chunks.push_back(Chunk {
                        seq,
                        from: 0,
                        length,
                    });
                    next = seq.checked_add(1);
                }
                _ => return Ok((chunks, None)),
            }
        }
        let more = rows.len() as i64 == PLANNED;
        Ok((chunks, next.filter(|_| more)))
    }

    async fn take(
        &self,
        mut chunks: VecDeque<Chunk>,
        pace: &mut Pace,
        pump: &Pump,
    ) -> Result<bool> {
        let mut under_way = Pipeline::new();
        loop {
            while under_way.len() < AHEAD
                && let Some(slice) = cut(&mut chunks, pace.length)
            {
                under_way.push(self.slice(slice));
            }
            let began = Instant::now();
            let answer = async { under_way.next().await.transpose() };
            let Some(slice) = unless_stalled_for(self.store.stalled, answer).await? else {
                return Ok(true);
            };
            pace.took(began.elapsed());
            if !pump.send(slice).await {
                return Ok(false);
            }
        }
    }

    async fn slice(&self, slice: Slice) -> Result<Bytes> {
        // A chunk is a GiB at most, so its positions fit.
        let (Ok(from), Ok(length)) = (i32::try_from(slice.from + 1), i32::try_from(slice.length))
        else {
            return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
        };
        let tables = &self.store.tables;
        let (sql, second) = match slice.first == slice.last {
            true => (&tables.part, from),
            false => (&tables.several, slice.last),
        };
        let sha256 = self.reference.sha256();
        let values: [Value<'_>; 4] = [
            (&sha256, Type::TEXT),
            (&slice.first, Type::INT4),
            (&second, Type::INT4),
            (&length, Type::INT4),
        ];
        let bytes = match self.transaction.row(sql, &values).await? {
            Some(row) => column::<Vec<u8>>(&row, 0)?.unwrap_or_default(),
            None => Vec::new(),
        };
        // In one snapshot a table stays as it is; what answers otherwise is none.
        if bytes.len() as u64 != slice.length {
            return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
        }
        Ok(bytes.into())
    }
}

/// `length` bytes of chunk `first`, after `from` others; or all of the chunks from `first` to `last`.
#[derive(Debug, PartialEq, Eq)]
struct Slice {
    first: i32,
    last: i32,
    from: u64,
    length: u64,
}

/// The next bytes of `chunks`, `most` at most: whole chunks as long as they fit, else a part of one.
fn cut(chunks: &mut VecDeque<Chunk>, most: u64) -> Option<Slice> {
    while chunks.front().is_some_and(|chunk| chunk.length == 0) {
        chunks.pop_front();
    }
    let chunk = chunks.front_mut()?;
    let mut slice = Slice {
        first: chunk.seq,
        last: chunk.seq,
        from: chunk.from,
        length: chunk.length.min(most),
    };
    chunk.from += slice.length;
    chunk.length -= slice.length;
    while slice.from == 0
        && let Some(next) = chunks.get(1)
        && chunks[0].length == 0
        && slice.length + next.length <= most
    {
        slice.last = next.seq;
        slice.length += next.length;
        chunks.pop_front();
        chunks[0].length = 0;
    }
    Some(slice)
}

/// How long the next slice is.
struct Pace {
    length: u64,
}

impl Pace {
    fn new() -> Self {
        Self { length: SMALLEST }
    }

    fn took(&mut self, time: Duration) {
        if time < QUICK {
            self.length = (self.length * 2).min(LARGEST);
        } else if time > SLOW {
            self.length = (self.length / 2).max(SMALLEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(lengths: &[u64], most: u64) -> Vec<(i32, i32, u64, u64)> {
        let mut chunks: VecDeque<Chunk> = (0..)
            .zip(lengths)
            .map(|(seq, length)| Chunk {
                seq,
                from: 0,
                length: *length,
            })
            .collect();
        let slices = std::iter::from_fn(|| cut(&mut chunks, most));
        slices
            .map(|slice| (slice.first, slice.last, slice.from, slice.length))
            .collect()
    }

    #[test]
    fn slices_are_every_byte_once_and_never_long() {
        let large = [(0, 0, 0, 10), (0, 0, 10, 10), (0, 0, 20, 5), (1, 1, 0, 3)];
        assert_eq!(cuts(&[25, 3], 10), large);
        let small = [(1, 4, 0, 10), (5, 7, 0, 9), (8, 9, 0, 8)];
        assert_eq!(cuts(&[0, 2, 3, 0, 5, 4, 4, 1, 8, 0], 10), small);
        assert_eq!(cuts(&[0, 0], 10), []);
        assert_eq!(cuts(&[10, 0, 10], 10), [(0, 1, 0, 10), (2, 2, 0, 10)]);
    }

    #[test]
    fn slices_grow_on_a_quick_line_and_shrink_on_a_thin_one() {
        let mut pace = Pace::new();
        for _ in 0..10 {
            pace.took(Duration::from_millis(3));
        }
        assert_eq!(pace.length, LARGEST);
        pace.took(Duration::from_secs(2));
        assert_eq!(pace.length, LARGEST);
        for _ in 0..10 {
            pace.took(Duration::from_secs(9));
        }
        assert_eq!(pace.length, SMALLEST);
    }
}
