//! How the list keeps up with the database: when it looks next, what it saw last, what came in since
//! a person looked, and that the database is lost.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::tally::Tally;
use super::{Failure, State, View};
use crate::runs::{Binding, Cursor, RunRow};
use crate::tui::fit;

/// Between two looks, where nobody says otherwise.
pub const EVERY: Duration = Duration::from_secs(2);
/// The longest time between two tries at a lost database.
const LONGEST: Duration = Duration::from_secs(60);
/// A look may take this part of the time at most.
const SHARE: u32 = 5;
/// How long what came in is marked.
const FRESH_MS: i64 = 60_000;
/// Runs that are marked at most.
const FRESH: usize = 10_000;
/// How long a word about the database stands.
const SAID_MS: i64 = 8_000;
/// Runs that are not listed and still followed, at most.
const FOLLOWED: usize = 1_000;
/// Runs that are remembered for having come in, beyond those of the last seconds.
const MET: usize = 50_000;
/// Those seconds.
const JUST: i64 = 5;

/// A database that does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Why.
    pub why: Failure,
    /// How often it was tried in vain.
    pub tries: u32,
    /// Which look tried it last: one try may fail in more than one read.
    pub look: u64,
}

/// A run that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// When it came, in milliseconds since the epoch.
    pub came: i64,
    /// Its agent.
    pub agent: Option<String>,
    /// Its session.
    pub session: String,
}

/// What is known of the database's changes.
#[derive(Debug, Default)]
pub struct Live {
    /// Between two looks; `None` where the list stands until it is read again.
    pub every: Option<Duration>,
    /// Whether the next look is planned.
    pub planned: bool,
    /// Looks so far.
    pub looks: u64,
    /// The version that was seen last.
    pub version: Option<u64>,
    /// Rows that were read by their ids at that version.
    pub read: HashSet<String>,
    /// When the newest run that was seen was made, in epoch seconds.
    pub newest: Option<i64>,
    /// How far the agents' counts can be relied on.
    pub tally: Tally,
    /// Where reading goes on, when more came in than was read at once.
    pub on: Option<Cursor>,
    /// When the database answered last, in milliseconds since the epoch.
    pub seen: Option<i64>,
    /// That it does not answer.
    pub lost: Option<Lost>,
    /// Whether a look takes longer than anybody would wait.
    pub slow: bool,
    /// Runs that came in and were not looked at.
    pub fresh: HashMap<String, Fresh>,
    /// Runs that have not finished and are not listed: another filter may come to list them.
    pub followed: HashMap<String, RunRow>,
    /// Runs that came in, listed or not, and when they were made: each counts once.
    pub met: HashMap<String, i64>,
    /// Runs of which it was said that they are gone.
    pub gone: HashSet<String>,
    /// What was said of the database, and when.
    pub said: Option<(String, i64)>,
    /// Whether the store is to be asked whether it still has the open run's object.
    pub object: bool,
    /// What Info's session is bound to.
    pub bound: Bound,
}

/// What a session is bound to, as it was read last.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// The session.
    pub session: Option<String>,
    /// Its binding, where it has one.
    pub binding: Option<Binding>,
    /// Whether it is to be read, again or at first.
    pub stale: bool,
}

impl Live {
    /// How long to wait for the next look, after one that took `took`: a database that takes its time
    /// is asked less often, and one that is lost less and less.
    #[must_use]
    pub fn pause(&self, took: Duration) -> Option<Duration> {
        let every = self.every?;
        Some(match &self.lost {
            Some(lost) => Duration::from_secs(1 << lost.tries.clamp(1, 6)).min(LONGEST),
            None => every.max((took * SHARE).min(LONGEST)),
        })
    }

    /// Notes a run that was seen. One from the future is no measure of what is new.
    pub fn saw(&mut self, made: Option<i64>, now: i64) {
        self.newest = self.newest.max(made.filter(|made| *made <= now));
    }

    /// Notes a run that came in; whether it is the first time.
    pub fn meet(&mut self, run: &RunRow) -> bool {
        if self.met.len() >= MET {
            let last = self.newest.unwrap_or(0).saturating_sub(JUST);
            self.met.retain(|_, made| *made >= last);
        }
        let made = run.created_at.unwrap_or(0);
        self.met.insert(run.run_id.clone(), made).is_none()
    }

    /// Marks a run that came in.
    pub fn came_in(&mut self, run: &RunRow, now_ms: i64) {
        if self.fresh.len() < FRESH {
            let fresh = Fresh {
                came: now_ms,
                agent: run.agent_id.clone(),
                session: run.session_id.clone(),
            };
            self.fresh.insert(run.run_id.clone(), fresh);
        }
    }

    /// Follows a run that is not listed, while it has not finished.
    pub fn follow(&mut self, run: RunRow) {
        if !is_unfinished(&run) {
            self.followed.remove(&run.run_id);
        } else if self.followed.len() < FOLLOWED || self.followed.contains_key(&run.run_id) {
            self.followed.insert(run.run_id.clone(), run);
        }
    }

    /// Takes marks away whose time is over.
    pub fn expire(&mut self, now_ms: i64) {
        self.fresh.retain(|_, fresh| now_ms - fresh.came < FRESH_MS);
    }

    /// Whether what was said of the database stood long enough.
    #[must_use]
    pub fn has_said(&self, now_ms: i64) -> bool {
        let said = self.said.as_ref();
        said.is_some_and(|(_, at)| now_ms - *at >= SAID_MS)
    }

    /// Whether the title counts seconds.
    #[must_use]
    pub fn counts_seconds(&self) -> bool {
        self.lost.is_some() || self.slow
    }
}

/// Whether a run goes on.
#[must_use]
pub fn is_unfinished(run: &RunRow) -> bool {
    matches!(
        run.effective_status().as_str(),
        "PENDING" | "RUNNING" | "PAUSED"
    )
}

/// `live`, `paused`, or when the database was seen last; nothing where the list stands.
#[must_use]
pub fn word(state: &State) -> Option<String> {
    let live = &state.live;
    if live.counts_seconds() {
        return Some(match live.seen {
            // Somebody who listens is told what changed, not that time passes.
            Some(_) if state.linear => "database not seen".into(),
            Some(seen) => format!("seen {} ago", fit::age(state.now(), Some(seen / 1000))),
            None => "not seen yet".into(),
        });
    }
    live.every?;
    Some(if state.focused { "live" } else { "paused" }.into())
}

/// The session that Info shows, where it is on the screen.
#[must_use]
pub fn shown_session(state: &State) -> Option<&str> {
    let shown = state.content.view == View::Info && state.areas().content.is_some();
    let row = super::info::row(state).filter(|_| shown)?;
    Some(&row.session_id)
}
