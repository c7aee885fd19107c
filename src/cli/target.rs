//! From what stands for RUN to an opened archive: an id, a prefix, a digest, an agent's latest, or
//! a bare archive.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::args::ArchiveArgs;
use super::context::Context;
use crate::archive::{Archive, CheckpointArchive, Entry};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::Watch;
use crate::review::{BaseChoice, Diff, Review};
use crate::runs::{Named, RunRow, Runs};

/// The id that `word` stands for; one that stands for nothing is an id that does not exist.
pub(super) async fn run_id(runs: &Runs, word: &str, watch: &Watch) -> Result<String> {
    match watch.unless_cancelled(runs.named(word)).await? {
        Named::Run(run_id) => Ok(run_id),
        Named::Several(found) => Err(Error::new(
            ErrorKind::Usage,
            format!("{word} begins the ids of several runs"),
        )
        .hint(format!("write more of it: {} or {}", found[0], found[1]))),
        Named::Nothing => Ok(word.to_owned()),
    }
}

/// An opened archive, with the run it belongs to when it was opened as one.
pub(super) struct Target {
    pub archive: Arc<Archive>,
    pub run: Option<(Runs, RunRow)>,
}

impl Target {
    /// Opens RUN, the first of `words`, or the bare archive; answers the words that are left.
    pub(super) async fn open<'a>(
        context: &Context,
        bare: &ArchiveArgs,
        words: &'a [OsString],
        watch: &Watch,
    ) -> Result<(Self, &'a [OsString])> {
        if let Some(file) = &bare.archive {
            let (archive, file, inner) = (
                CheckpointArchive::new(bare.limits()?),
                file.clone(),
                watch.clone(),
            );
            let scratch = context.settings().scratch()?;
            let opened = crate::checkpoint::blocking(move || {
                archive.blocking_open_in(&file, &scratch, &inner)
            })
            .await?;
            let target = Self {
                archive: Arc::new(opened),
                run: None,
            };
            return Ok((target, words));
        }
        let Some((word, rest)) = words.split_first() else {
            return Err(Error::new(ErrorKind::Usage, "No run is named")
                .hint("name a RUN, or a stored archive with --archive FILE"));
        };
        let runs = context.runs().await?;
        let id = run_id(&runs, &word.to_string_lossy(), watch).await?;
        let opened = runs.open_run(&id, &context.opening(), watch).await?;
        let target = Self {
            archive: opened.archive,
            run: Some((runs, opened.row)),
        };
        Ok((target, rest))
    }

    /// The run's id, `null` in JSON for a bare archive.
    pub(super) fn run_id(&self) -> Option<&str> {
        self.run.as_ref().map(|(_, row)| row.run_id.as_str())
    }

    /// The entry that `path` names: in the archive's terms, or below the checkout or the workspace.
    pub(super) fn entry(&self, path: &OsStr) -> Result<&Entry> {
        let bytes = path.as_bytes();
        let mut plain = bytes.strip_prefix(b"./").unwrap_or(bytes).to_vec();
        while plain.last() == Some(&b'/') {
            plain.pop();
        }
        let below = |folder: &str| self.archive.entry(&[folder.as_bytes(), &plain].concat());
        let found = below("")
            .or_else(|| below("workspace/repository/"))
            .or_else(|| below("workspace/"));
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::Usage,
                format!(
                    "The checkpoint holds no {}",
                    crate::text::visible_bytes(bytes)
                ),
            )
            .hint("`afterrun tree` lists what it holds")
        })
    }

    /// Reads the checkout.
    pub(super) async fn review(&self, watch: &Watch) -> Result<Arc<Review>> {
        let pin = self.run.as_ref().and_then(|(_, row)| row.repository());
        Review::open(Arc::clone(&self.archive), pin, watch).await
    }

    /// Compares with the base that `word` names.
    pub(super) async fn diff(
        &self,
        review: &Arc<Review>,
        word: &str,
        watch: &Watch,
    ) -> Result<Diff> {
        let choice: BaseChoice = word.parse().unwrap_or_default();
        match (&self.run, choice) {
            (Some((runs, row)), BaseChoice::Run(word)) => {
                let id = run_id(runs, &word, watch).await?;
                review.diff(runs, row, &BaseChoice::Run(id), watch).await
            }
            (Some((runs, row)), choice) => review.diff(runs, row, &choice, watch).await,
            (None, BaseChoice::Previous | BaseChoice::Run(_)) => fail(
                ErrorKind::Usage,
                "A bare archive has no other run to compare with; use --base pin, head or empty",
            ),
            (None, choice) => {
                let (review, watch) = (Arc::clone(review), watch.clone());
                crate::checkpoint::blocking(move || review.blocking_diff_archive(&choice, &watch))
                    .await
            }
        }
    }
}
