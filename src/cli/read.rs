//! `tree` and `cat`: what an archive holds.

use std::os::unix::ffi::OsStrExt;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::args::ReadArgs;
use super::context::Context;
use super::output::{Style, put_bytes};
use super::target::Target;
use crate::archive::{Entry, EntryKind};
use crate::error::{Error, ErrorKind, Result};
use crate::text::visible_bytes;

/// A terminal shows no more of a file than this.
const MAX_SHOWN: u64 = 8 << 20;

/// `afterrun tree`.
pub(super) async fn tree(context: &Context, args: &ReadArgs) -> Result<()> {
    let watch = context.watch();
    let (target, rest) = Target::open(context, &args.archive, &args.words, &watch).await?;
    let below = match rest.first() {
        // The whole archive, by whatever name.
        None => None,
        Some(path) if matches!(path.as_bytes(), b"." | b"./" | b"/") => None,
        Some(path) => Some(target.entry(path)?.path.clone()),
    };
    let wanted = |entry: &&Entry| {
        below.as_ref().is_none_or(|below| {
            entry
                .path
                .strip_prefix(&below[..])
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        })
    };
    let mut entries: Vec<&Entry> = target.archive.entries().iter().filter(wanted).collect();
    entries.sort_by(|a, b| {
        a.path
            .split(|b| *b == b'/')
            .cmp(b.path.split(|b| *b == b'/'))
    });
    let output = context.output();
    if output.json {
        let mut list = Vec::with_capacity(entries.len());
        for entry in entries {
            watch.check()?;
            list.push(entry_json(&target, entry)?);
        }
        return output.document(&json!({"entries": list}));
    }
    for entry in entries {
        let name = visible_bytes(&entry.path);
        let (style, end) = match &entry.kind {
            EntryKind::Directory => (Style::Strong, "/".to_owned()),
            EntryKind::Symlink { target } => {
                (Style::Hunk, format!(" -> {}", visible_bytes(target)))
            }
            EntryKind::File { .. } => (Style::Plain, String::new()),
        };
        let left_out = if entry.is_absolute_link() {
            "  (left out by a restore)"
        } else {
            ""
        };
        output.styled(&[
            (
                Style::Dim,
                &format!(
                    "{}{:04o} {:>10}  ",
                    kind_letter(entry),
                    entry.mode,
                    entry.size()
                ),
            ),
            (style, &name),
            (Style::Plain, &end),
            (Style::Dim, left_out),
        ])?;
    }
    Ok(())
}

fn kind_letter(entry: &Entry) -> char {
    match entry.kind {
        EntryKind::Directory => 'd',
        EntryKind::Symlink { .. } => 'l',
        EntryKind::File { .. } => '-',
    }
}

fn entry_json(target: &Target, entry: &Entry) -> Result<Value> {
    let mut object = Map::new();
    put_bytes(&mut object, "path", &entry.path);
    object.insert("type".into(), entry.type_name().into());
    object.insert("mode".into(), format!("{:04o}", entry.mode).into());
    let size = matches!(entry.kind, EntryKind::File { .. }).then(|| entry.size());
    object.insert("size".into(), json!(size));
    let mtime = entry.mtime.nanoseconds();
    object.insert(
        "mtime_ns".into(),
        mtime.map_or(Value::Null, |time| {
            serde_json::from_str(&time.to_string()).unwrap_or(Value::Null)
        }),
    );
    match entry.target() {
        Some(link) => put_bytes(&mut object, "target", link),
        None => {
            object.insert("target".into(), Value::Null);
        }
    }
    let digest = match entry.kind {
        EntryKind::File { .. } => {
            let mut hasher = Hashing(Sha256::new());
            target.archive.copy_content(entry, &mut hasher)?;
            Value::from(crate::checkpoint::hex(&hasher.0.finalize()))
        }
        _ => Value::Null,
    };
    object.insert("sha256".into(), digest);
    Ok(Value::Object(object))
}

struct Hashing(Sha256);

impl std::io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// `afterrun cat`.
pub(super) async fn cat(context: &Context, args: &ReadArgs) -> Result<()> {
    let watch = context.watch();
    let (target, rest) = Target::open(context, &args.archive, &args.words, &watch).await?;
    let Some(path) = rest.first() else {
        return Err(Error::new(ErrorKind::Usage, "No path is named")
            .hint("`afterrun tree` lists what the checkpoint holds"));
    };
    let entry = target.entry(path)?;
    let shown = visible_bytes(&entry.path);
    match &entry.kind {
        EntryKind::Directory => {
            return Err(
                Error::new(ErrorKind::Usage, format!("{shown} is a directory"))
                    .hint("`afterrun tree` lists it"),
            );
        }
        EntryKind::Symlink { target } => {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("{shown} is a link to {}", visible_bytes(target)),
            ));
        }
        EntryKind::File { .. } => {}
    }
    let output = context.output();
    if output.json {
        let bytes = target.archive.content(entry, MAX_SHOWN)?;
        let mut object = Map::new();
        put_bytes(&mut object, "path", &entry.path);
        object.insert("size".into(), entry.size().into());
        put_bytes(&mut object, "content", &bytes);
        object.insert("truncated".into(), (entry.size() > MAX_SHOWN).into());
        return output.document(&Value::Object(object));
    }
    if let Some(mut out) = output.raw() {
        return target.archive.copy_content(entry, &mut *out);
    }
    let bytes = target.archive.content(entry, MAX_SHOWN)?;
    output.bytes(&bytes)?;
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        output.line("")?;
    }
    if entry.size() > MAX_SHOWN {
        output.note("only its beginning is shown; pipe it to see it whole");
    }
    Ok(())
}
