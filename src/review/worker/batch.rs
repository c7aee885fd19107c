//! Lists that go to the parent in pieces, each far below what one frame may hold.

use std::io::{Result, Write};

use crate::review::protocol::{Response, send};

/// Bytes of a list that are sent at a time.
const BYTES: usize = 1 << 20;
/// Items of it, however small.
const ITEMS: usize = 4096;

/// The items that are not sent yet.
pub(super) struct Batch<T> {
    items: Vec<T>,
    bytes: usize,
    answer: fn(Vec<T>) -> Response,
}

impl<T> Batch<T> {
    /// A list whose pieces are the answer that `answer` makes of them.
    pub(super) fn new(answer: fn(Vec<T>) -> Response) -> Self {
        Self {
            items: Vec::new(),
            bytes: 0,
            answer,
        }
    }

    /// Adds an item that has so many bytes of text; sends what there is when it is enough.
    pub(super) fn push(&mut self, item: T, bytes: usize, output: &mut impl Write) -> Result<()> {
        self.items.push(item);
        self.bytes += bytes + size_of::<T>();
        if self.bytes >= BYTES || self.items.len() >= ITEMS {
            self.send(output)?;
        }
        Ok(())
    }

    /// Sends what is left.
    pub(super) fn send(&mut self, output: &mut impl Write) -> Result<()> {
        self.bytes = 0;
        match std::mem::take(&mut self.items) {
            items if items.is_empty() => Ok(()),
            items => send(output, &(self.answer)(items)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::model::Commit;
    use crate::review::protocol::{Failure, MAX_TREE_ENTRIES, Message as _, receive};

    /// How many items each frame of a list holds, and the largest frame.
    fn pieces(bytes: &[u8], count: impl Fn(&Response) -> usize) -> (Vec<usize>, usize) {
        let (mut input, mut counts, mut largest) = (bytes, Vec::new(), 0);
        let mut before = input.len();
        while let Ok(Some(answer)) = receive::<Response>(&mut input) {
            counts.push(count(&answer));
            largest = largest.max(before - input.len());
            before = input.len();
        }
        assert!(input.is_empty(), "a frame cannot be read");
        (counts, largest)
    }

    #[test]
    fn no_list_comes_near_the_limit_of_a_frame() {
        let (mut bytes, why) = (Vec::new(), "its old content is not there".repeat(4));
        let mut batch = Batch::new(Response::Opaque);
        for number in 0..u32::try_from(MAX_TREE_ENTRIES).expect("a number") {
            let item = (number, Failure::Missing, why.clone());
            batch.push(item, why.len(), &mut bytes).expect("sent");
        }
        batch.send(&mut bytes).expect("sent");
        let (counts, largest) = pieces(&bytes, |answer| match answer {
            Response::Opaque(items) => items.len(),
            _ => 0,
        });
        assert_eq!(counts.iter().sum::<usize>(), MAX_TREE_ENTRIES);
        assert!(largest < Response::MAX_FRAME / 8, "{largest}");

        let (mut bytes, mut batch) = (Vec::new(), Batch::new(Response::Commits));
        for _ in 0..40 {
            let subject = "x".repeat(100_000);
            let commit = Commit {
                id: String::new(),
                author: String::new(),
                time: 0,
                subject,
            };
            batch.push(commit, 100_000, &mut bytes).expect("sent");
        }
        batch.send(&mut bytes).expect("sent");
        let (counts, _) = pieces(&bytes, |answer| match answer {
            Response::Commits(items) => items.len(),
            _ => 0,
        });
        assert_eq!(counts, [11, 11, 11, 7]);
    }
}
