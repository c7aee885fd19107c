//! What leaves the interface: the stored bytes into a file, a patch onto the clipboard, a file's
//! content into a copy for an editor.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use super::handle::Live;
use super::{Context, DiffHandle, Handle, paths, work};
use crate::archive::EntryKind;
use crate::private::PrivateFolder;
use crate::runs::Opening;
use crate::text::{human_bytes, visible, visible_bytes, visible_path};
use crate::tui::editor;
use crate::tui::message::{CopyToEdit, Fetched};
use crate::{Error, ErrorKind, Result};

/// The most of a patch that is made to be copied; more is better written to a file.
const COPIED: usize = 1 << 20;
/// The largest file that is copied for an editor.
const EDITED: u64 = 16 << 20;
/// Where a file's content shows whether it is text.
const LOOKED_AT: usize = 8 << 10;

/// Writes the stored bytes of a run to a new file.
pub(super) async fn fetch(
    context: &Context,
    run_id: &str,
    opening_as: Option<&str>,
    path: &Path,
) -> Result<Fetched> {
    let path = paths::expand(path.as_os_str(), paths::home().as_deref());
    let opening = opening_as.map_or(Opening::Own, Opening::As);
    let reference = context
        .runs
        .fetch_checkpoint(run_id, &opening, &path, &context.watch)
        .await?;
    Ok(Fetched {
        path: visible_path(&path),
        size: reference.size(),
        sha256: reference.sha256().to_owned(),
    })
}

/// The patch of one file, or of all, as text for the clipboard.
pub(super) async fn patch_text(
    context: &Context,
    handle: &Handle,
    diff: &DiffHandle,
    file: Option<usize>,
) -> Result<String> {
    let (live, diff) = (work::live(handle)?, work::diff_of(diff)?);
    let review = live.review(&context.watch).await?;
    let watch = context.watch.clone();
    work::blocking(move || {
        let mut patch = Vec::new();
        review.blocking_whole_patch(&diff, file, &watch, &mut |text| {
            patch.extend_from_slice(text);
            if patch.len() > COPIED {
                return Err(Error::new(
                    ErrorKind::Limit,
                    "the patch is over 1 MiB, too much to copy",
                )
                .hint("write it to a file instead"));
            }
            Ok(())
        })?;
        String::from_utf8(patch).map_err(|_| {
            Error::new(
                ErrorKind::Unsupported,
                "the patch is no UTF-8 text, which no clipboard takes",
            )
            .hint("write it to a file instead")
        })
    })
    .await
}

/// A read-only copy of a file's content, of whoever starts the editor on it.
pub(super) async fn copy_to_edit(
    handle: &Handle,
    path: Vec<u8>,
    words: Vec<String>,
    line: Option<u32>,
) -> Result<CopyToEdit> {
    let live = work::live(handle)?;
    work::blocking(move || copy(&live, &path, &words, line)).await
}

/// The command that prints what no editor is given, where its words can be written.
fn prints(run_id: &str, path: &[u8]) -> String {
    let word = |text: &str| (visible(text) == text).then(|| shell_words::quote(text).into_owned());
    let words = (word(run_id), std::str::from_utf8(path).ok().and_then(word));
    match words {
        (Some(run), Some(path)) => format!("`afterrun cat {run} {path}` prints its bytes"),
        _ => "`afterrun cat` prints its bytes".into(),
    }
}

fn copy(live: &Arc<Live>, path: &[u8], words: &[String], line: Option<u32>) -> Result<CopyToEdit> {
    let shown = visible_bytes(path);
    let refuse = |kind, why: &str| Err(Error::new(kind, format!("{shown} {why}")));
    let Some(entry) = live.archive.entry(path) else {
        return refuse(ErrorKind::NotFound, "is gone: the run deleted it");
    };
    let size = match &entry.kind {
        EntryKind::File { size, .. } => *size,
        EntryKind::Directory => return refuse(ErrorKind::Unsupported, "is a folder"),
        EntryKind::Symlink { .. } => return refuse(ErrorKind::Unsupported, "is a link"),
    };
    let way_out = prints(&live.row.run_id, path);
    if size > EDITED {
        let why = format!(
            "is {}, over the 16 MiB that are copied for an editor",
            human_bytes(size)
        );
        return refuse(ErrorKind::Limit, &why).map_err(|error| error.hint(way_out));
    }
    let bytes = live.archive.content(entry, EDITED)?;
    if bytes[..bytes.len().min(LOOKED_AT)].contains(&0) {
        return refuse(
            ErrorKind::Unsupported,
            "is binary, which no text editor shows",
        )
        .map_err(|error| error.hint(way_out));
    }
    let mut folder = PrivateFolder::new(live.archive.spool().scratch())?;
    folder.grow(size)?;
    let file = folder.path().join(editor::safe_name(entry.name()));
    let failed = |error| Error::io("write", &file, error);
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o400)
        .open(&file)
        .map_err(failed)?;
    out.write_all(&bytes).map_err(failed)?;
    let words: Vec<OsString> = editor::command(words, &file, line);
    Ok(CopyToEdit::new(words, shown, folder))
}
