//! The list of runs: what was read, and what is asked of it. What is loaded stays as it was read while
//! a filter narrows what is shown; `run_rows.rs` makes the rows of it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::counted::Counts;
use super::run_rows::{Item, Node, Row};
use super::wishes::{Marked, Order, Search, Searched, Since};
use super::{Failure, needle};
use crate::checkpoint::CheckpointRef;
use crate::runs::{AgentSummary, Cursor, Retention, RunFilter, RunPage, RunRow, SessionInfo};
use crate::text::visible_text;

/// Agno's statuses.
const KNOWN: [&str; 7] = [
    "COMPLETED",
    "ERROR",
    "RUNNING",
    "PENDING",
    "PAUSED",
    "CANCELLED",
    "REGENERATED",
];

/// The pane.
#[derive(Debug, Default)]
pub struct RunsPane {
    /// Runs whose checkpoint was found to be no good, and what is wrong in a word.
    pub broken: HashMap<String, &'static str>,
    /// What was read, in the order it was read.
    pub runs: Vec<RunRow>,
    /// The sessions they belong to.
    pub sessions: HashMap<String, SessionInfo>,
    /// What retention does to them next.
    pub retention: HashMap<String, Retention>,
    /// Every agent with its counts; `None` until they are there.
    pub agents: Option<Vec<AgentSummary>>,
    /// Where reading goes on.
    pub next: Option<Cursor>,
    /// Whether a first page has come.
    pub loaded: bool,
    /// Whether more than that was read.
    pub paged: bool,
    /// Why the list cannot be read.
    pub failure: Option<Failure>,
    /// Why it could not be read on.
    pub more_failure: Option<Failure>,
    /// What to know about how it was read.
    pub notices: Vec<String>,
    /// Only runs that this text is found in.
    pub text: String,
    /// What the database knows of it.
    pub search: Search,
    /// Only runs of this status.
    pub status: Option<String>,
    /// Only runs made since.
    pub since: Option<Since>,
    /// Which come first.
    pub order: Order,
    /// Without agents and sessions above them.
    pub flat: bool,
    /// What is folded.
    pub folded: HashSet<Node>,
    /// Marked runs, in the order they were marked.
    pub marks: Vec<Marked>,
    /// The newer and the older of two runs that are to be compared once the newer is open.
    pub comparing: Option<(String, String)>,
    /// What the runs compared so far changed.
    pub counts: Counts,
    /// The rows.
    pub rows: Vec<Row>,
    /// Runs that the filter lets through.
    pub shown: usize,
    /// Those of them that are beyond what is loaded.
    pub shown_beyond: usize,
    /// Columns that a turn's number takes.
    pub turn_digits: usize,
    /// The row under the cursor.
    pub cursor: usize,
    /// The first row on the screen.
    pub top: usize,
    /// What the cursor was on when reading on began by itself: it does so once for each place.
    pub read_for: Option<Node>,
    /// Whether the rows are to be made anew.
    pub stale: bool,
    /// Whether the next list begins at its top: another filter made it.
    pub anew: bool,
    /// Whether the next rows are to stand on the screen where they stood.
    pub holds: bool,
    /// Whether the cursor was put on a first run.
    pub(super) settled: bool,
    /// What the cursor was on before the runs changed under the rows.
    pub(super) kept: Option<Node>,
    /// Whether the cursor goes to the first run where that is gone.
    pub(super) first_else: bool,
    /// The width and the refusal that the rows were made for.
    pub(super) made_for: (usize, Option<(String, String)>),
}

impl RunsPane {
    /// The filter of what is loaded, for the database.
    #[must_use]
    pub fn filter(&self) -> RunFilter {
        RunFilter {
            statuses: self.status.iter().cloned().collect(),
            since: self.since.as_ref().map(|since| since.at),
            order: self.order.read(),
            ..RunFilter::default()
        }
    }

    /// The same with the text, for the search of the whole database.
    #[must_use]
    pub fn search_filter(&self) -> RunFilter {
        RunFilter {
            text: Some(self.text.clone()),
            ..self.filter()
        }
    }

    /// Whether a text narrows the list.
    #[must_use]
    pub fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    /// Whether some runs are left out on request.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        self.status.is_some() || self.since.is_some() || !self.text.is_empty()
    }

    /// All runs there are of the status that is chosen, once the agents are counted; nobody counted
    /// those of a time range.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        if self.since.is_some() {
            return None;
        }
        let count = |agent: &AgentSummary| match &self.status {
            Some(status) => agent.runs.get(status).copied().unwrap_or(0),
            None => agent.runs.values().sum(),
        };
        self.agents
            .as_ref()
            .map(|agents| agents.iter().map(count).sum())
    }

    /// Every status there is, in order.
    #[must_use]
    pub fn statuses(&self) -> Vec<String> {
        let mut found: Vec<String> = match &self.agents {
            Some(agents) => agents
                .iter()
                .flat_map(|agent| agent.runs.keys().cloned())
                .collect(),
            None => self.runs.iter().map(RunRow::effective_status).collect(),
        };
        found.retain(|status| !status.is_empty());
        // Agno's own come first, in the order in which they are mostly wanted.
        let rank = |status: &String| KNOWN.iter().position(|known| known == status);
        found.sort_by(|a, b| {
            let order = |status| rank(status).unwrap_or(KNOWN.len());
            order(a).cmp(&order(b)).then_with(|| a.cmp(b))
        });
        found.dedup();
        found
    }

    /// The run that a row's index means: what is loaded, then what the search found beyond it.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&RunRow> {
        match index.checked_sub(self.runs.len()) {
            None => self.runs.get(index),
            Some(beyond) => self.search.found.get(beyond),
        }
    }

    /// The run with this id, loaded or found.
    #[must_use]
    pub fn run(&self, run_id: &str) -> Option<&RunRow> {
        let mut all = self.runs.iter().chain(&self.search.found);
        all.find(|run| run.run_id == run_id)
    }

    /// The run under the cursor.
    #[must_use]
    pub fn selected(&self) -> Option<&RunRow> {
        match self.rows.get(self.cursor)?.item {
            Item::Run(run) => self.at(run),
            _ => None,
        }
    }

    /// A session's title on one line, safe to show, as long as any screen could need.
    #[must_use]
    pub fn title(&self, session: &str) -> String {
        let title = self.sessions.get(session);
        let title = title.map_or(session, |info| info.title.as_str());
        // It may be a whole prompt: its first line says enough.
        let first = title.lines().find(|line| !line.trim().is_empty());
        visible_text(needle::looked_at(first.unwrap_or(session).trim())).into_owned()
    }

    /// What is counted of an agent.
    #[must_use]
    pub fn agent(&self, agent: Option<&str>) -> Option<&AgentSummary> {
        let mut all = self.agents.iter().flatten();
        all.find(|one| one.agent_id.as_deref() == agent)
    }

    /// What retention does next to the run's session, where it takes this run's checkpoint.
    #[must_use]
    pub fn at_risk(&self, run: &RunRow) -> Option<&Retention> {
        let retention = self.retention.get(&run.session_id);
        retention.filter(|retention| retention.at_risk.contains(&run.run_id))
    }

    /// Whether the run is marked.
    #[must_use]
    pub fn is_marked(&self, run_id: &str) -> bool {
        self.marks.iter().any(|mark| mark.run_id == run_id)
    }

    /// What is folded: while a text narrows the list, folds of its own, so that nothing that was found
    /// is hidden.
    #[must_use]
    pub fn folds(&mut self) -> &mut HashSet<Node> {
        if self.has_text() {
            &mut self.search.folded
        } else {
            &mut self.folded
        }
    }

    /// Another text to filter by. The cursor stays on its run while that is shown, and comes back to
    /// it when it is shown again.
    pub fn set_text(&mut self, text: &str) {
        let now = self.node(self.cursor);
        if self.search.put_on != now || self.search.origin.is_none() {
            self.search.origin.clone_from(&now);
        }
        self.text = text.to_owned();
        self.search.ids.clear();
        self.search.folded.clear();
        self.kept = self.search.origin.clone();
        self.first_else = true;
        self.stale = true;
        if self.has_text() {
            return;
        }
        // A run that was chosen stays, though it was not loaded before.
        let chosen = match &self.kept {
            Some(Node::Run(chosen)) => {
                let mut found = self.search.found.iter();
                found.find(|run| run.run_id == *chosen).cloned()
            }
            _ => None,
        };
        self.search = Search::default();
        if let Some(chosen) = chosen {
            let kept = self.kept.take();
            self.merge(vec![chosen]);
            self.kept = kept;
        }
    }

    /// Takes in the sessions of a page and what retention does to them.
    fn learn(&mut self, page: &mut RunPage) {
        for session in page.sessions.keys() {
            self.retention.remove(session);
        }
        self.sessions.extend(page.sessions.drain());
        self.retention.extend(page.retention.drain());
    }

    /// Makes the list this page.
    pub fn replace(&mut self, mut page: RunPage) {
        self.keep_place();
        if std::mem::take(&mut self.anew) {
            self.settled = false;
            self.rows.clear();
            self.kept = None;
        }
        self.next = page.next.take();
        self.notices = std::mem::take(&mut page.notices);
        self.paged = false;
        self.read_for = None;
        if self.search.found.is_empty() {
            self.sessions.clear();
            self.retention.clear();
        }
        self.learn(&mut page);
        self.runs = page.runs;
        self.found_beyond();
    }

    /// Adds a page at the end, without what is there already.
    pub fn append(&mut self, mut page: RunPage) {
        self.keep_place();
        self.stay_above_the_end();
        self.next = page.next.take();
        self.paged = true;
        self.learn(&mut page);
        let mut known = ids(&self.runs);
        let new = page.runs.into_iter();
        self.runs
            .extend(new.filter(|run| known.insert(run.run_id.clone())));
        self.found_beyond();
    }

    /// Takes in a page of which the runs go where they belong.
    pub fn take_in(&mut self, mut page: RunPage) {
        self.learn(&mut page);
        self.merge(page.runs);
    }

    /// Puts runs where they belong by their time, unless they are there already.
    pub fn merge(&mut self, mut runs: Vec<RunRow>) {
        self.keep_place();
        let mut known = ids(&self.runs);
        runs.retain(|run| known.insert(run.run_id.clone()));
        self.put_in(runs, false);
    }

    /// Puts runs, none of them there, where they belong by their time: those that came in later are
    /// the newer ones of their second.
    pub(super) fn put_in(&mut self, mut runs: Vec<RunRow>, later: bool) {
        let oldest_first = self.order == Order::Oldest;
        if oldest_first {
            runs.sort_by_key(|run| run.created_at);
        } else {
            if later {
                runs.reverse();
            }
            runs.sort_by_key(|run| Reverse(run.created_at));
        }
        let before = |old: &RunRow, new: &RunRow| match (oldest_first, later) {
            (true, _) => old.created_at <= new.created_at,
            (false, true) => old.created_at > new.created_at,
            (false, false) => old.created_at >= new.created_at,
        };
        // In one pass: there may be many of both.
        let mut all = Vec::with_capacity(self.runs.len() + runs.len());
        let mut old = std::mem::take(&mut self.runs).into_iter().peekable();
        for run in runs {
            while let Some(first) = old.next_if(|old| before(old, &run)) {
                all.push(first);
            }
            all.push(run);
        }
        all.extend(old);
        self.runs = all;
        self.found_beyond();
    }

    /// Takes in what the search of the database found, from its start or on from its end.
    pub fn search_found(&mut self, mut page: RunPage, on: bool) {
        self.keep_place();
        // Not where another filter puts the cursor anyway.
        self.first_else = true;
        if on {
            self.stay_above_the_end();
        }
        self.search.state = page.next.take().map_or(Searched::Ended, Searched::More);
        self.learn(&mut page);
        if !on {
            self.search.found.clear();
            self.search.ids.clear();
        }
        self.search.ids.extend(ids(&page.runs));
        self.search.found.extend(page.runs);
        self.found_beyond();
    }

    /// Leaves of what was found only what is not loaded.
    fn found_beyond(&mut self) {
        if self.search.found.is_empty() {
            return;
        }
        let mut known = ids(&self.runs);
        let found = &mut self.search.found;
        found.retain(|run| known.insert(run.run_id.clone()));
    }

    /// Puts the cursor on the first run when the rows are made anew.
    pub fn to_top(&mut self) {
        self.kept = None;
        self.rows.clear();
        self.cursor = 0;
        self.first_else = true;
    }

    /// Where the cursor is on the list's end it stays on the row above, and does not go on with it.
    fn stay_above_the_end(&mut self) {
        if self.kept == Some(Node::More) {
            let above = (0..self.cursor).rev();
            self.kept = above.filter_map(|row| self.node(row)).next();
            self.read_for.clone_from(&self.kept);
        }
    }

    pub(super) fn keep_place(&mut self) {
        self.kept = self.kept.take().or_else(|| self.node(self.cursor));
        self.stale = true;
    }
}

fn ids(runs: &[RunRow]) -> HashSet<String> {
    runs.iter().map(|run| run.run_id.clone()).collect()
}

/// The size of the run's checkpoint, for the order.
pub(super) fn size(run: &RunRow) -> Option<u64> {
    let reference = CheckpointRef::from_row(run.checkpoint()?);
    reference.ok().map(|reference| reference.size())
}
