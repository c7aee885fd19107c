//! A reading on a thread of its own. It stops, in the middle of a query too, when nobody waits for it
//! any more; and none begins while one that was given up has not stopped, so that a filter that
//! changes with every letter never has two scans at work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::SqliteRuns;
use crate::checkpoint::blocking;
use crate::error::{Error, Result};

/// The readings of one database.
#[derive(Debug, Default)]
pub(super) struct Readings {
    count: Mutex<Count>,
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct Count {
    at_work: usize,
    /// Those of them that nobody waits for any more.
    given_up: usize,
}

impl Readings {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are at work.
    #[cfg(test)]
    pub(super) fn at_work(&self) -> usize {
        self.count().at_work
    }
}

/// What the thread and whoever waits for it know of a reading; changed only under the count's lock.
#[derive(Debug, Default)]
pub(super) struct Reading {
    begun: AtomicBool,
    ended: AtomicBool,
    given_up: AtomicBool,
}

impl Reading {
    /// Whether nobody waits for it any more.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }
}

/// Held by whoever waits: dropping it gives the reading up.
struct Waiting(Arc<Readings>, Arc<Reading>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let Self(all, reading) = self;
        let mut count = all.count();
        reading.given_up.store(true, Ordering::Relaxed);
        if reading.begun.load(Ordering::Relaxed) && !reading.ended.load(Ordering::Relaxed) {
            count.given_up += 1;
        }
        drop(count);
        // One that has not begun waits to be told, too.
        all.fewer.notify_all();
    }
}

/// Held by the thread while it reads.
struct AtWork(Arc<Readings>, Arc<Reading>);

impl AtWork {
    /// Waits until every reading that was given up has stopped; nothing when this one is given up.
    fn begin(all: Arc<Readings>, reading: Arc<Reading>) -> Option<Self> {
        let count = all.count();
        let waits = |count: &mut Count| count.given_up > 0 && !reading.is_given_up();
        let mut count = all
            .fewer
            .wait_while(count, waits)
            .unwrap_or_else(PoisonError::into_inner);
        if reading.is_given_up() {
            return None;
        }
        count.at_work += 1;
        reading.begun.store(true, Ordering::Relaxed);
        drop(count);
        Some(Self(all, reading))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let Self(all, reading) = self;
        let mut count = all.count();
        count.at_work -= 1;
        count.given_up -= usize::from(reading.is_given_up());
        reading.ended.store(true, Ordering::Relaxed);
        drop(count);
        all.fewer.notify_all();
    }
}

impl SqliteRuns {
    /// What `work` reads on a thread of its own, for as long as this is waited for.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (all, reading) = (Arc::clone(&self.readings), Arc::new(Reading::default()));
        let _waiting = Waiting(Arc::clone(&all), Arc::clone(&reading));
        let this = Self {
            reading: Some(Arc::clone(&reading)),
            ..self.clone()
        };
        blocking(move || {
            let _at_work = AtWork::begin(all, reading).ok_or_else(Error::cancelled)?;
            work(&this)
        })
        .await
    }

    /// Fails once nobody waits for this reading any more.
    pub(super) fn check_wanted(&self) -> Result<()> {
        match &self.reading {
            Some(reading) if reading.is_given_up() => Err(Error::cancelled()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    /// A database in which a filter by text never comes to an end.
    fn endless(folder: &Path) -> SqliteRuns {
        let path = folder.join("agno.sqlite");
        Connection::open(&path)
            .and_then(|connection| {
                connection.execute_batch(
                    "CREATE TABLE agno_runs (run_id VARCHAR PRIMARY KEY, session_id VARCHAR, agent_id VARCHAR,
                         user_id VARCHAR, run_type VARCHAR, status VARCHAR, run_index BIGINT, run_data JSON,
                         created_at BIGINT, updated_at BIGINT);
                     INSERT INTO agno_runs (run_id, session_id, created_at, run_data) VALUES ('run', 's', 9, '{}');
                     CREATE VIEW agno_sessions AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                         SELECT 'no ' || i AS session_id, '{\"session_name\": ' || i || '}' AS session_data FROM n;",
                )
            })
            .expect("tables");
        SqliteRuns::open(path, Tables::default()).expect("opened")
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_scan_that_nobody_waits_for_stops_before_the_next_begins() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = endless(folder.path());
        let (mut most, mut begun) = (0, 0);
        for letter in 'a'..='j' {
            let filter = RunFilter {
                text: Some(letter.into()),
                ..RunFilter::default()
            };
            let page = runs.page(&filter, 10, None);
            let looked = async {
                // Some are given up before they begin, the others in the middle of their query.
                while letter > 'b' && runs.readings.at_work() == 0 {
                    tokio::task::yield_now().await;
                }
                runs.readings.at_work()
            };
            let at_work = tokio::select! {
                biased;
                page = page => panic!("an endless query has ended: {page:?}"),
                at_work = looked => at_work,
            };
            most = most.max(at_work);
            begun += at_work;
        }
        assert_eq!(most, 1, "one at a time");
        assert!(begun >= 8, "{begun} of them were at work");
        // This one waits until the last of them has stopped.
        assert!(runs.run("run").await.expect("read").is_some());
        assert_eq!(runs.readings.at_work(), 0);
    }
}
