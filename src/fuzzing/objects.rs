//! What goes to the review worker and comes from it: packs, loose objects, frames.

use std::fmt::Debug;
use std::fs;
use std::io::Write;

use crate::review::id::Id;
use crate::review::objects::inflate;
use crate::review::protocol::{MAX_CONTENT, Message, Request, Response, receive, send};
use crate::review::worker::packs::Packs;

/// Frames in either direction, and one frame's message: what is understood is sent and understood as
/// the same.
pub fn protocol(data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(0).to_le_bytes();
    let framed = [&length, data].concat();
    for mut input in [data, &framed] {
        there_and_back::<Request>(&mut input);
    }
    for mut input in [data, &framed] {
        there_and_back::<Response>(&mut input);
    }
}

fn there_and_back<T: Message + Debug>(input: &mut &[u8]) {
    while let Ok(Some(message)) = receive::<T>(input) {
        let mut sent = Vec::new();
        assert!(send(&mut sent, &message).is_ok());
        match receive::<T>(&mut &sent[..]) {
            Ok(Some(again)) => assert_eq!(format!("{again:?}"), format!("{message:?}")),
            other => panic!("{other:?} for {message:?}"),
        }
    }
}

/// A stored loose object: it is as long as it says, and stored anew it is the same.
pub fn loose(data: &[u8]) {
    let Ok((kind, bytes)) = inflate(data) else {
        return;
    };
    assert!(bytes.len() as u64 <= MAX_CONTENT);
    let word = format!("{kind:?}").to_lowercase();
    let whole = [format!("{word} {}\0", bytes.len()).as_bytes(), &bytes].concat();
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let stored = out.write_all(&whole).and_then(|()| out.finish());
    match stored {
        Ok(stored) => assert_eq!(inflate(&stored), Ok((kind, bytes))),
        Err(error) => panic!("{error}"),
    }
}

/// A pack and its index. The first byte says how: below 8, so many objects follow, each of a byte
/// that is its id and two that are its offset, and then the pack behind its head; from 8 on, two
/// bytes that are the pack's length, the pack, and an index as it stands. What one object costs does
/// not hang on which was asked about before.
pub fn packs(data: &[u8]) {
    let (pack, index, ids) = match data.split_first() {
        None => return,
        Some((&count @ 0..8, rest)) => table(usize::from(count), rest),
        Some((_, rest)) => {
            let (length, rest) = rest.split_at(rest.len().min(2));
            let length = length
                .iter()
                .fold(0, |all, byte| all << 8 | usize::from(*byte));
            let (pack, index) = rest.split_at(length.min(rest.len()));
            (pack.to_vec(), index.to_vec(), named(index))
        }
    };
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let under = folder.path().join("objects/pack");
    let made = fs::create_dir_all(&under)
        .and_then(|()| fs::write(under.join("pack-1.pack"), pack))
        .and_then(|()| fs::write(under.join("pack-1.idx"), index));
    if made.is_err() {
        return;
    }
    let forward = Packs::open(folder.path());
    let first: Vec<_> = ids.iter().map(|id| forward.check(id)).collect();
    let again: Vec<_> = ids.iter().map(|id| forward.check(id)).collect();
    assert_eq!(again, first);
    let backward = Packs::open(folder.path());
    let mut last: Vec<_> = ids.iter().rev().map(|id| backward.check(id)).collect();
    last.reverse();
    assert_eq!(last, first, "what was asked about first changes the answer");
}

/// A pack and a version 2 index of it, out of a table of ids and offsets.
fn table(count: usize, data: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<Id>) {
    let (table, body) = data.split_at((count * 3).min(data.len()));
    let (rows, _) = table.as_chunks::<3>();
    let mut rows: Vec<(u8, u16)> = rows
        .iter()
        .map(|[id, high, low]| (*id, u16::from_be_bytes([*high, *low])))
        .collect();
    rows.sort_by_key(|(id, _)| *id);
    rows.dedup_by_key(|(id, _)| *id);
    let ids: Vec<Id> = rows.iter().map(|(id, _)| [*id; 20]).collect();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for slot in 0..=255 {
        let under = rows.iter().filter(|(id, _)| *id <= slot).count();
        index.extend((under as u32).to_be_bytes());
    }
    index.extend(ids.concat());
    index.extend(vec![0; 4 * rows.len()]);
    for (_, offset) in &rows {
        index.extend(u32::from(*offset).to_be_bytes());
    }
    index.extend([0; 40]);
    let head = b"PACK\0\0\0\x02\0\0\0\x09";
    ([&head[..], body, &[0; 20]].concat(), index, ids)
}

/// What an index could name, wherever it stands in it.
fn named(index: &[u8]) -> Vec<Id> {
    let behind = index.get(1032..).unwrap_or_default();
    behind
        .as_chunks::<20>()
        .0
        .iter()
        .take(64)
        .copied()
        .collect()
}
