//! How far the agents' counts can be relied on. They are read seldom, for that takes a pass over every
//! run, and follow what the list sees in between; where nobody can tell whether they hold a change
//! already, they are read again.

use std::collections::HashSet;

use crate::runs::AgentSummary;

/// The least time between two counts that nobody asked for.
const AGAIN_MS: i64 = 60_000;
/// Counting may take this part of the time at most.
const SHARE: i64 = 20;

/// What is known of the agents' counts.
#[derive(Debug, Default)]
pub struct Tally {
    /// Runs that were read since the agents were counted: the counts hold nothing newer of them.
    pub read: HashSet<String>,
    /// Whether the database was looked at since.
    pub looked: bool,
    /// When the newest run that is counted was made, in epoch seconds.
    pub newest: Option<i64>,
    /// When they were asked for last, in milliseconds since the epoch.
    pub asked: i64,
    /// Whether a change was seen since they were asked for, which they may not hold.
    pub meanwhile: bool,
    /// Whether they may be off.
    pub doubted: bool,
    /// Before this time they are not asked for again by themselves.
    again: i64,
}

impl Tally {
    /// Notes that the agents were counted.
    pub fn counted(&mut self, agents: &[AgentSummary], now: i64, now_ms: i64) {
        let made = agents.iter().filter_map(|agent| agent.last_run_at);
        // A run from the future is no measure of what is new.
        self.newest = made.filter(|made| *made <= now).max();
        self.read.clear();
        self.looked = false;
        self.doubted = std::mem::take(&mut self.meanwhile);
        self.rest(now_ms);
    }

    /// Notes that they could not be counted.
    pub fn failed(&mut self, now_ms: i64) {
        self.rest(now_ms);
    }

    /// Whether to count them again.
    #[must_use]
    pub fn is_due(&self, now_ms: i64) -> bool {
        self.doubted && now_ms >= self.again
    }

    fn rest(&mut self, now_ms: i64) {
        let took = now_ms.saturating_sub(self.asked).max(0);
        self.again = now_ms.saturating_add(AGAIN_MS.max(took.saturating_mul(SHARE)));
    }
}
