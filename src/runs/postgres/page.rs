//! One page of runs.

use std::time::Instant;

use super::PostgresRuns;
use super::key::Keys;
use super::search::{NARROWER, Search};
use crate::error::Result;
use crate::runs::model::{Cursor, RunFilter, RunPage};

/// Keys that are asked for at once, at least, where rows are then told apart one by one.
const AT_ONCE: usize = 200;

impl PostgresRuns {
    pub(super) async fn read_page(
        &self,
        filter: &RunFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<RunPage> {
        let text = filter.text.as_deref().filter(|text| !text.is_empty());
        let found = match text {
            None => self.gather(filter, limit, after, None).await,
            Some(text) => {
                let agents = match super::cannot_be(text) {
                    true => Vec::new(),
                    false => self.agents_called(text).await?,
                };
                let search = Search::new(text, agents);
                self.gather(filter, limit, after, Some(search)).await
            }
        };
        found.map_err(|error| match text {
            Some(text) => self.or_too_much(
                error,
                &format!("Looking for \"{}\"", crate::text::visible(text)),
                NARROWER,
            ),
            None => self.or_too_much(
                error,
                "Listing these runs",
                "narrow them down by session or time: --session, --since",
            ),
        })
    }

    async fn gather(
        &self,
        filter: &RunFilter,
        limit: u32,
        after: Option<Cursor>,
        mut search: Option<Search>,
    ) -> Result<RunPage> {
        let read = self.begin().await?;
        let wanted = limit as usize;
        let mut keys = Keys::of(&read, filter, after).await?;
        let mut page = RunPage::default();
        let begun = Instant::now();
        while !keys.exhausted && page.runs.len() <= wanted {
            let missing = wanted + 1 - page.runs.len();
            let ids = match &mut search {
                Some(search) => search.next(&read, &mut keys, missing, begun).await?,
                None => {
                    let want = match filter.statuses.is_empty() {
                        true => missing,
                        false => missing.max(AT_ONCE.min(wanted * 2)),
                    };
                    let want = i64::try_from(want).unwrap_or(i64::MAX);
                    keys.next(&read, want).await?
                }
            };
            let runs = read.listed(&ids).await?;
            page.runs.extend(runs.into_iter().filter(|run| {
                filter.statuses.is_empty() || filter.statuses.contains(&run.effective_status())
            }));
        }
        if page.runs.len() > wanted {
            page.runs.truncate(wanted);
            page.next = page.runs.last().map(|run| Cursor {
                created_at: run.created_at.unwrap_or_default(),
                row: run.run_id.clone(),
            });
        }
        page.sessions = read.sessions_of(&page.runs).await?;
        page.retention = read.retention_of(&page, &self.tables).await?;
        read.end().await?;
        Ok(page)
    }
}
