//! Jobs that write where a person said: a restore, and the patch of a whole diff.

use std::path::{Path, PathBuf};

use tokio::sync::oneshot;

use super::work::{blocking, diff_of, live};
use super::{Context, DiffHandle, Handle, paths};
use crate::archive::{RestoreOptions, RestoreReport};
use crate::new_file::{NewFile, PRIVATE};
use crate::text::{visible_bytes, visible_path};
use crate::tui::message::{Answer, Written};
use crate::{Error, ErrorKind, Result};

/// Plans, waits for the answer, and carries out the plan that was shown: never another one.
pub(super) async fn restore(
    context: &Context,
    handle: &Handle,
    destination: &Path,
    only: Vec<Vec<u8>>,
    agreed: oneshot::Receiver<()>,
) -> Answer {
    let context = context.clone();
    let live = match live(handle) {
        Ok(live) => live,
        Err(error) => return Answer::Plan(Err(error.into())),
    };
    let destination = paths::expand(destination.as_os_str(), paths::home().as_deref());
    let options = RestoreOptions {
        only,
        ..RestoreOptions::default()
    };
    let done = blocking(move || {
        let plan = match live.archive.plan_restore(&destination, &options) {
            Ok(plan) => plan,
            Err(error) => return Ok(Answer::Plan(Err(error.into()))),
        };
        context.answer(Answer::Plan(Ok(written(&plan.report()))));
        if agreed.blocking_recv().is_err() {
            return Ok(Answer::Restored(Err(Error::cancelled().into())));
        }
        let report = plan.carry_out(&context.watch);
        Ok(Answer::Restored(
            report.map(|report| written(&report)).map_err(Into::into),
        ))
    });
    done.await
        .unwrap_or_else(|error| Answer::Restored(Err(error.into())))
}

fn written(report: &RestoreReport) -> Written {
    Written {
        destination: visible_path(&report.destination),
        entries: report.entries,
        bytes: report.bytes,
        left_out: report
            .skipped_links
            .iter()
            .map(|path| visible_bytes(path))
            .collect(),
    }
}

pub(super) async fn write_patch(
    context: &Context,
    handle: &Handle,
    diff: &DiffHandle,
    path: PathBuf,
) -> Result<(String, u64, u64)> {
    let (live, diff) = (live(handle)?, diff_of(diff)?);
    let review = live.review(&context.watch).await?;
    let watch = context.watch.clone();
    let path = paths::expand(path.as_os_str(), paths::home().as_deref());
    blocking(move || {
        let shown = visible_path(&path);
        let exists = Error::new(ErrorKind::Exists, format!("{shown} already exists"))
            .hint("name a file that does not exist");
        if path.symlink_metadata().is_ok() {
            return Err(exists);
        }
        let failed = |error| Error::io("write", &path, error);
        let mut out = NewFile::beside(&path, PRIVATE).map_err(failed)?;
        let mut bytes = 0;
        review.blocking_whole_patch(&diff, None, &watch, &mut |text| {
            std::io::Write::write_all(&mut out, text).map_err(failed)?;
            bytes += text.len() as u64;
            Ok(())
        })?;
        out.file().sync_all().map_err(failed)?;
        watch.check()?;
        match out.publish(&path) {
            Ok(()) => Ok((shown, diff.files.len() as u64, bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists),
            Err(error) => Err(failed(error)),
        }
    })
    .await
}
