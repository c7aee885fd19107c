//! `capture`: two directories into the store.

use std::os::unix::ffi::OsStrExt;

use super::args::CaptureArgs;
use super::context::Context;
use crate::archive::{CaptureRoots, CheckpointArchive, DEFAULT_NATIVE_EXCLUSIONS};
use crate::error::{Error, ErrorKind, Result};
use crate::json::Json;
use crate::private::PrivateFolder;
use crate::progress::Watch;

/// `afterrun capture`.
pub(super) async fn capture(context: &Context, args: &CaptureArgs) -> Result<()> {
    let watch = context.watch();
    let state = Json::parse(&args.state)
        .map_err(|error| Error::new(ErrorKind::Usage, format!("--state is no JSON: {error}")))?;
    let store = match context.settings().create_store() {
        Err(error) if context.settings().store.is_none() => {
            return Err(beside_the_runs(context, error, &watch).await);
        }
        made => made?,
    };
    let mut exclude: Vec<Vec<u8>> = DEFAULT_NATIVE_EXCLUSIONS
        .iter()
        .map(|path| path.to_vec())
        .collect();
    exclude.extend(args.exclude.iter().map(|path| path.as_bytes().to_vec()));
    exclude.sort();
    exclude.dedup();
    let archive = CheckpointArchive {
        compress: !args.plain,
        ..CheckpointArchive::default()
    };
    let roots = CaptureRoots {
        workspace: args.workspace.clone(),
        native: args.native.clone(),
    };
    let folder = PrivateFolder::new(&context.settings().scratch()?)?;
    let file = folder.path().join("archive");
    let share = folder.share();
    let _counted = archive
        .capture_counted(roots, &file, state, exclude, &watch, share)
        .await?;
    let reference = store.put_watched(&file, &watch).await?;
    let output = context.output();
    if output.json {
        return output.document(&serde_json::json!(reference));
    }
    output.line(&format!("{} {}", reference.sha256(), reference.size()))
}

/// `error`, that no store is named, with the one that the database of the runs has.
async fn beside_the_runs(context: &Context, error: Error, watch: &Watch) -> Error {
    let Ok(database) = context.settings().open_database() else {
        return error;
    };
    match watch.unless_cancelled(database.checkpoints_table()).await {
        Ok(Some(table)) => error.hint(format!(
            "the database of the runs has a table of checkpoints, {table}: --store postgres writes to it"
        )),
        _ => error,
    }
}
