//! A comparison on its way to the worker: contents first, then what is to be compared.

use super::change::{Comparison, Side, Source};
use super::process::Worker;
use super::protocol::{MAX_CONTENT, MAX_FOLDERS, Request, WireBlob, WireChange, WireSide};
use super::remarks::{self, TOO_DEEP};
use crate::archive::Archive;
use crate::error::Result;
use crate::progress::{Stage, Watch};
use crate::text::human_bytes;

/// Contents of one comparison that are sent in all: the worker keeps them in memory.
const MAX_CONTENTS: u64 = 256 << 20;

/// What was sent of a comparison, by the changes' places in it.
#[derive(Default)]
pub(crate) struct Sent {
    pub changes: Vec<usize>,
    /// What was not, or cannot be read: its notice's tag, and why.
    pub opaque: Vec<(usize, &'static str, String)>,
    /// Those with very long lines.
    pub long: Vec<usize>,
}

/// Sends contents and changes; answers which were sent.
pub(crate) fn send_changes(
    worker: &mut Worker,
    comparison: &Comparison,
    watch: &Watch,
) -> Result<Sent> {
    let (mut sent, mut wire) = (Sent::default(), Vec::new());
    let (mut contents, mut total) = (0_u32, 0_u64);
    for (index, change) in comparison.changes.iter().enumerate() {
        watch.check()?;
        let size = |side: &Option<Side>| side.as_ref().map_or(0, |side| side.source.size());
        let (old, new) = (size(&change.old), size(&change.new));
        let folders = change.path.iter().filter(|byte| **byte == b'/').count();
        let too_much = if old.max(new) > MAX_CONTENT {
            let size = human_bytes(old.max(new));
            Some((
                "too-large",
                format!("its content is too large to compare ({size})"),
            ))
        } else if total + old + new > MAX_CONTENTS {
            let size = human_bytes(MAX_CONTENTS);
            Some((
                "too-large",
                format!("too much differs to compare it all (over {size})"),
            ))
        } else if folders >= MAX_FOLDERS {
            Some((TOO_DEEP, "it lies too deep to compare".to_owned()))
        } else {
            None
        };
        if let Some((tag, why)) = too_much {
            sent.opaque.push((index, tag, why));
            continue;
        }
        total += old + new;
        let mut has_long_line = false;
        let mut side =
            |side: &Option<Side>, archive: Option<&Archive>| -> Result<Option<WireSide>> {
                let Some(side) = side else { return Ok(None) };
                let blob = match (&side.source, archive) {
                    (Source::Object(id), _) => WireBlob::Object(*id),
                    (Source::Bytes(bytes), _) => {
                        worker.send(&Request::Content {
                            bytes: bytes.clone(),
                        })?;
                        contents += 1;
                        WireBlob::Content(contents - 1)
                    }
                    (Source::Spool { offset, size }, Some(archive)) => {
                        let bytes = archive.spool().bytes(*offset, *size)?;
                        has_long_line |= remarks::has_long_line(&bytes);
                        worker.send(&Request::Content { bytes })?;
                        contents += 1;
                        WireBlob::Content(contents - 1)
                    }
                    (Source::Spool { .. }, None) => return Ok(None),
                };
                Ok(Some(WireSide {
                    mode: side.mode,
                    blob,
                }))
            };
        let old = side(&change.old, comparison.old_archive.as_deref())?;
        let new = side(&change.new, Some(&comparison.new_archive))?;
        wire.push(WireChange {
            path: change.path.clone(),
            old,
            new,
        });
        if has_long_line {
            sent.long.push(index);
        }
        sent.changes.push(index);
        watch.at(Stage::Diff, index as u64, comparison.changes.len() as u64);
    }
    worker.send(&Request::Compare { changes: wire })?;
    Ok(sent)
}
