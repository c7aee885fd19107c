//! `capture`: two directories into the store.

use std::os::unix::ffi::OsStrExt;

use super::args::CaptureArgs;
use super::context::Context;
use crate::archive::{CaptureRoots, CheckpointArchive, DEFAULT_NATIVE_EXCLUSIONS};
use crate::error::{Error, ErrorKind, Result};
use crate::json::Json;
use crate::private::PrivateFolder;

/// `afterrun capture`.
pub(super) async fn capture(context: &Context, args: &CaptureArgs) -> Result<()> {
    let watch = context.watch();
    let state = Json::parse(&args.state)
        .map_err(|error| Error::new(ErrorKind::Usage, format!("--state is no JSON: {error}")))?;
    let store = context.settings().create_store()?;
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
