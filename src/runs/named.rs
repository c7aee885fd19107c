//! From what a person writes for a run to its id: an id, the start of one, a digest, or an agent's
//! latest.

use super::{Opening, RunFilter, RunRow, Runs, gate};
use crate::checkpoint::is_digest;
use crate::error::{Error, ErrorKind, Result};

/// Starts of ids are taken from this many characters on.
pub const SHORTEST_PREFIX: usize = 8;
const PAGE: u32 = 500;
/// Ids that are named where several begin alike.
const SEVERAL: u32 = 8;

/// What a word stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// This run.
    Run(String),
    /// Some of the runs whose ids begin so.
    Several(Vec<String>),
    /// No run.
    Nothing,
}

impl Runs {
    /// What `word` stands for; a run with exactly that id wins.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a digest or an agent's latest that is not there; what the database
    /// answers.
    pub async fn named(&self, word: &str) -> Result<Named> {
        let database = self.database();
        if database.run(word).await?.is_some() {
            return Ok(Named::Run(word.to_owned()));
        }
        if let Some(digest) = word.strip_prefix("sha256:") {
            if !is_digest(digest) {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("{word} is no digest: one has 64 hex digits"),
                )
                .hint("write the whole digest, with small letters, as `afterrun show RUN` gives it; starts stand for ids only"));
            }
            let all = RunFilter::default();
            let found = self.newest(&all, |run| {
                gate(&run.run_id, Some(run), &Opening::Own)
                    .is_ok_and(|reference| reference.sha256() == digest)
            });
            return found.await?.map(Named::Run).ok_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    format!("No run committed the checkpoint {word}"),
                )
                .hint("`afterrun runs` lists the runs there are")
            });
        }
        if let Some(agent) = word.strip_suffix("@latest") {
            let filter = RunFilter {
                agent: Some(agent.to_owned()),
                statuses: vec!["COMPLETED".into()],
                ..RunFilter::default()
            };
            let found = self.newest(&filter, |run| {
                gate(&run.run_id, Some(run), &Opening::Own).is_ok()
            });
            return found.await?.map(Named::Run).ok_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    format!("Agent {agent} has no completed run with a checkpoint"),
                )
                .hint("`afterrun agents` lists the agents there are")
            });
        }
        if word.chars().count() < SHORTEST_PREFIX {
            return Ok(Named::Nothing);
        }
        let mut found = database.with_prefix(word, SEVERAL).await?;
        Ok(match found.len() {
            0 => Named::Nothing,
            1 => Named::Run(found.remove(0)),
            _ => Named::Several(found),
        })
    }

    /// The newest run of `filter` that `wanted` accepts.
    async fn newest(
        &self,
        filter: &RunFilter,
        wanted: impl Fn(&RunRow) -> bool,
    ) -> Result<Option<String>> {
        let mut after = None;
        loop {
            let page = self.database().page(filter, PAGE, after).await?;
            if let Some(run) = page.runs.into_iter().find(|run| wanted(run)) {
                return Ok(Some(run.run_id));
            }
            after = page.next;
            if after.is_none() {
                return Ok(None);
            }
        }
    }
}
