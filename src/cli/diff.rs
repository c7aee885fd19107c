//! `diff` and `patch`.

use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::{DiffArgs, PatchArgs};
use super::context::Context;
use super::output::{Style, put_bytes};
use super::show::{notice_json, notice_line};
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::new_file::{NewFile, SHARED};
use crate::review::{Diff, FileChange, PatchOptions, Status};
use crate::text::{visible_bytes, visible_path};

/// `afterrun diff`.
pub(super) async fn diff(context: &Context, args: &DiffArgs) -> Result<()> {
    let watch = context.watch();
    let (target, rest) = Target::open(context, &args.archive, &args.words, &watch).await?;
    let review = target.review(&watch).await?;
    let mut diff = target.diff(&review, &args.base.base, &watch).await?;
    if !rest.is_empty() {
        let root = [&diff.root[..], b"/"].concat();
        let paths: Vec<Vec<u8>> = rest
            .iter()
            .map(|path| {
                let bytes = path.as_bytes();
                let bytes = bytes.strip_prefix(b"./").unwrap_or(bytes);
                let bytes = bytes.strip_prefix(&root[..]).unwrap_or(bytes);
                let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
                // The folder compared, by whatever name.
                if bytes == b"." || bytes == diff.root {
                    Vec::new()
                } else {
                    bytes.to_vec()
                }
            })
            .collect();
        let named = |name: &[u8]| {
            paths.iter().any(|path| {
                path.is_empty()
                    || name
                        .strip_prefix(&path[..])
                        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
            })
        };
        diff.files
            .retain(|file| named(&file.path) || file.old_path.as_deref().is_some_and(named));
    }
    let output = context.output();
    if output.json {
        return output.document(&diff_json(&diff));
    }
    output.note(&format!("compared with {}", diff.base.label()));
    for notice in &diff.notices {
        output.note(&notice_line(notice));
    }
    if diff.ignored > 0 {
        output.note(&format!("{} ignored files are left out", diff.ignored));
    }
    if args.name_status {
        for file in &diff.files {
            output.tabbed(style(file), &file.status.letter().to_string(), &name(file))?;
        }
        return Ok(());
    }
    if args.stat {
        return stat(context, &diff);
    }
    for index in 0..diff.files.len() {
        let file = &diff.files[index];
        if let Some(why) = &file.opaque {
            output.styled(&[
                (
                    Style::Strong,
                    &format!("{} {}", file.status.as_str(), name(file)),
                ),
                (Style::Plain, &format!(": {why}")),
            ])?;
            continue;
        }
        output.patch(&review.blocking_patch_text(
            &diff,
            index,
            PatchOptions::default(),
            &watch,
        )?)?;
    }
    Ok(())
}

fn style(file: &FileChange) -> Style {
    match file.status {
        Status::Added | Status::Untracked => Style::Added,
        Status::Deleted => Style::Deleted,
        _ => Style::Hunk,
    }
}

fn name(file: &FileChange) -> String {
    match &file.old_path {
        Some(old) => format!("{} -> {}", visible_bytes(old), visible_bytes(&file.path)),
        None => visible_bytes(&file.path),
    }
}

fn stat(context: &Context, diff: &Diff) -> Result<()> {
    let output = context.output();
    let count = |lines: Option<u32>| lines.map_or("?".to_owned(), |lines| lines.to_string());
    for file in &diff.files {
        if file.binary {
            output.line(&format!("  binary        {}", name(file)))?;
            continue;
        }
        output.styled(&[
            (Style::Added, &format!("{:>6}+ ", count(file.additions))),
            (Style::Deleted, &format!("{:>6}- ", count(file.deletions))),
            (Style::Plain, &name(file)),
        ])?;
    }
    let total = |lines: Option<u64>| lines.map_or("?".to_owned(), |lines| lines.to_string());
    output.line(&format!(
        "{}, {} added, {} deleted, against {}",
        files(diff.files.len()),
        total(diff.additions()),
        total(diff.deletions()),
        diff.base.label()
    ))
}

fn files(count: usize) -> String {
    if count == 1 {
        "1 file".into()
    } else {
        format!("{count} files")
    }
}

fn diff_json(diff: &Diff) -> Value {
    let files: Vec<Value> = diff
        .files
        .iter()
        .map(|file| {
            let mut object = Map::new();
            object.insert("status".into(), file.status.as_str().into());
            put_bytes(&mut object, "path", &file.path);
            match &file.old_path {
                Some(old) => put_bytes(&mut object, "old_path", old),
                None => {
                    object.insert("old_path".into(), Value::Null);
                }
            }
            object.insert("additions".into(), json!(file.additions));
            object.insert("deletions".into(), json!(file.deletions));
            object.insert("binary".into(), file.binary.into());
            Value::Object(object)
        })
        .collect();
    let mut base = Map::new();
    base.insert("kind".into(), diff.base.kind().into());
    if let Some(commit) = diff.base.commit() {
        base.insert("commit".into(), commit.into());
    }
    if let Some(run) = diff.base.run_id() {
        base.insert("run_id".into(), run.into());
    }
    json!({
        "base": base,
        "head": diff.head,
        "pin": diff.pin,
        "files": files,
        "additions": diff.additions(),
        "deletions": diff.deletions(),
        "ignored": diff.ignored,
        "commits": diff.commits.iter().map(|commit| json!({
            "id": commit.id, "author": commit.author, "time": commit.time, "subject": commit.subject,
        })).collect::<Vec<_>>(),
        "stashes": diff.stashes.iter().map(|stash| json!({"id": stash.id, "subject": stash.subject})).collect::<Vec<_>>(),
        "notices": diff.notices.iter().map(notice_json).collect::<Vec<_>>(),
    })
}

/// `afterrun patch`.
pub(super) async fn patch(context: &Context, args: &PatchArgs) -> Result<()> {
    let watch = context.watch();
    if let Some(file) = &args.output
        && std::fs::symlink_metadata(file).is_ok()
    {
        return Err(exists(file));
    }
    let (target, _) = Target::open(context, &args.archive, &args.words, &watch).await?;
    let review = target.review(&watch).await?;
    let diff = target.diff(&review, &args.base.base, &watch).await?;
    let mut patch = Vec::new();
    review.blocking_whole_patch(&diff, None, &watch, &mut |text| {
        patch.extend_from_slice(text);
        Ok(())
    })?;
    let output = context.output();
    for notice in &diff.notices {
        if !output.json {
            output.note(&notice_line(notice));
        }
    }
    match &args.output {
        None => output.bytes(&patch),
        Some(file) => {
            write_new(file, &patch)?;
            if output.json {
                let mut object = Map::new();
                object.insert("run_id".into(), json!(target.run_id()));
                put_bytes(&mut object, "file", file.as_os_str().as_bytes());
                object.insert("bytes".into(), patch.len().into());
                object.insert("files".into(), diff.files.len().into());
                object.insert(
                    "base".into(),
                    json!({"kind": diff.base.kind(), "commit": diff.base.commit()}),
                );
                output.document(&Value::Object(object))
            } else {
                output.line(&format!(
                    "{}: {} against {}",
                    visible_path(file),
                    files(diff.files.len()),
                    diff.base.label()
                ))
            }
        }
    }
}

/// Writes a new file, all of it or none.
fn write_new(file: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut out = NewFile::beside(file, SHARED)?;
        out.write_all(bytes)?;
        out.file().sync_all()?;
        out.publish(file)
    };
    write().map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(file),
        _ => Error::io("write", file, error),
    })
}

fn exists(file: &Path) -> Error {
    let shown = visible_path(file);
    Error::new(ErrorKind::Exists, format!("{shown} already exists"))
        .hint("name a file that does not exist")
}
