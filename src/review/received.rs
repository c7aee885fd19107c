//! What the worker answers to a comparison, checked on its way in: it is not trusted, either.

use std::collections::{HashMap, HashSet};

use super::process::{Worker, unexpected};
use super::protocol::{Failure, Response, WireDelta, WireHidden};
use crate::error::{Error, ErrorKind, Result};

/// Characters of a reason that are kept.
const MAX_REASON: usize = 300;

pub(crate) fn lied() -> Error {
    Error::new(
        ErrorKind::UnsafeContent,
        "The review worker answered about files it was not asked about",
    )
}

/// Which of so many changes have contents that cannot be read, and why; one that has two of them is
/// told twice.
pub(crate) fn receive_opaque(
    worker: &mut Worker,
    changes: usize,
) -> Result<Vec<(usize, Failure, String)>> {
    let mut opaque = Vec::new();
    loop {
        let batch = match worker.receive()? {
            Response::Opaque(batch) => batch,
            Response::Done => return Ok(opaque),
            other => return Err(unexpected(&other)),
        };
        for (number, failure, why) in batch {
            let number = number as usize;
            if number >= changes || opaque.len() >= 2 * changes {
                return Err(lied());
            }
            let why = crate::text::visible(&why);
            opaque.push((number, failure, why.chars().take(MAX_REASON).collect()));
        }
    }
}

/// The deltas, each about paths that were sent.
pub(crate) fn receive_deltas(
    worker: &mut Worker,
    paths: &HashSet<&[u8]>,
) -> Result<Vec<WireDelta>> {
    let known = |path: &Option<Vec<u8>>| path.as_deref().is_none_or(|path| paths.contains(path));
    let mut deltas: Vec<WireDelta> = Vec::new();
    loop {
        match worker.receive()? {
            Response::Deltas(batch) => deltas.extend(batch),
            Response::Done => break,
            other => return Err(unexpected(&other)),
        }
        if deltas.len() > 2 * paths.len() {
            return Err(lied());
        }
    }
    let honest = |delta: &WireDelta| {
        known(&delta.old_path)
            && known(&delta.new_path)
            && (delta.old_path.is_some() || delta.new_path.is_some())
    };
    if deltas.iter().all(honest) {
        Ok(deltas)
    } else {
        Err(lied())
    }
}

pub(crate) type Counts = HashMap<u32, (u32, u32, bool)>;

/// What the worker says about lines, as far as it came.
#[derive(Default)]
pub(crate) struct Counted {
    pub counts: Counts,
    pub hidden: Vec<WireHidden>,
}

pub(crate) fn receive_counts(
    worker: &mut Worker,
    deltas: usize,
    counted: &mut Counted,
) -> Result<()> {
    loop {
        match worker.receive()? {
            Response::Hidden(batch) => counted.hidden.extend(batch),
            Response::Counts(batch) => {
                let counts = batch.into_iter();
                counted
                    .counts
                    .extend(counts.map(|(delta, a, d, binary)| (delta, (a, d, binary))));
            }
            Response::Done => return Ok(()),
            other => return Err(unexpected(&other)),
        }
        // One of each for a delta there is, so that a worker that talks on fills no memory.
        let beyond = |delta: &u32| *delta as usize >= deltas;
        if counted.hidden.len() > deltas || counted.counts.keys().any(beyond) {
            return Err(lied());
        }
    }
}
