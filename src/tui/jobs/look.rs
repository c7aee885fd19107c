//! Looks at what changed in the database: its version, what was made since, and rows by their ids.
//! Each read is bounded and goes by an index.

use std::time::{Duration, Instant};

use super::Context;
use super::work::{listed, while_wanted};
use crate::runs::{Cursor, RunFilter, RunOrder, RunPage, RunsDatabase};
use crate::tui::message::{Look, LookFor};
use crate::{Error, ErrorKind, Result};

/// Runs to a page.
const PAGE: u32 = 200;
/// Pages of what came in that are read at once; the next look goes on.
const PAGES: usize = 5;
/// How far back a run may have been made that comes in only now: Agno may write a row when its run
/// ends, with the time that it began.
const LATE: i64 = 3_600;
/// Runs that are looked at for having come in late.
const LATE_RUNS: u32 = 20;
/// How long the store is asked about the open run's object.
const STORE: Duration = Duration::from_secs(5);
/// A database that does not answer in this time is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// What there is to see.
pub(super) async fn look(context: &Context, wanted: LookFor) -> Result<Look> {
    let looked = tokio::time::timeout(PATIENCE, seen(context, wanted));
    match while_wanted(context, async { Ok(looked.await) }).await? {
        Ok(look) => look,
        Err(_) => Err(Error::new(
            ErrorKind::Timeout,
            format!("the database did not answer in {} s", PATIENCE.as_secs()),
        )),
    }
}

async fn seen(context: &Context, wanted: LookFor) -> Result<Look> {
    let begun = Instant::now();
    let database = context.runs.database();
    // Before anything is read: what is written meanwhile is another version.
    let version = database.version().await?;
    let goes_on = wanted.after.is_some();
    let written = version.is_none() || version != wanted.known || goes_on;
    let asked = if written { wanted.rows } else { wanted.unread };
    let mut look = Look {
        version,
        written,
        ..Look::default()
    };
    if !asked.is_empty() {
        look.rows = listed(database.rows(&asked).await?);
    }
    look.asked = asked;
    if written {
        look.new = came_in(&**database, wanted.since, wanted.after).await?;
        if let Some(since) = wanted.since.filter(|_| wanted.late) {
            let filter = RunFilter {
                since: Some(since.saturating_sub(LATE)),
                ..RunFilter::default()
            };
            look.late = listed(database.page(&filter, LATE_RUNS, None).await?);
        }
    }
    if let Some(object) = wanted.object {
        let gone = async {
            let store = context.runs.checkpoint_store().await?;
            Ok::<_, Error>(!store.contains(&object).await?)
        };
        // A store that does not answer, or not soon, has lost nothing.
        look.object_gone = matches!(tokio::time::timeout(STORE, gone).await, Ok(Ok(true)));
    }
    look.took = begun.elapsed();
    Ok(look)
}

/// What was made since, oldest first, so that nothing is passed over when it is more than is read.
async fn came_in(
    database: &dyn RunsDatabase,
    since: Option<i64>,
    after: Option<Cursor>,
) -> Result<RunPage> {
    let filter = RunFilter {
        since,
        order: RunOrder::OldestFirst,
        ..RunFilter::default()
    };
    let mut all = RunPage {
        next: after,
        ..RunPage::default()
    };
    for _ in 0..PAGES {
        let page = listed(database.page(&filter, PAGE, all.next.take()).await?);
        all.runs.extend(page.runs);
        all.sessions.extend(page.sessions);
        all.retention.extend(page.retention);
        all.next = page.next;
        if all.next.is_none() {
            break;
        }
    }
    Ok(all)
}
