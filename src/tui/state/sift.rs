//! Which of the runs are shown, and in which order: those in which each typed word is found, those
//! that the database found, by time or by size.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::needle::{self, Field, Needle};
use super::runs::{RunsPane, size};
use super::wishes::Order;
use crate::runs::RunRow;
use crate::text::visible;

impl RunsPane {
    /// The runs that are shown, in order.
    pub(super) fn sift(&self) -> Vec<usize> {
        let mut shown: Vec<usize> = match Needle::new(&self.text) {
            Some(needle) => self.matching(&needle),
            None => (0..self.runs.len()).collect(),
        };
        // What is loaded is in order, and so is what was found: sorting only interleaves them.
        let made = |index: &usize| self.at(*index).and_then(|run| run.created_at);
        match self.order {
            _ if self.search.found.is_empty() => {}
            Order::Oldest => shown.sort_by_key(made),
            Order::Newest | Order::Largest => shown.sort_by_key(|index| Reverse(made(index))),
        }
        if self.order == Order::Largest {
            shown.sort_by_cached_key(|index| Reverse(self.at(*index).and_then(size)));
        }
        shown
    }

    /// The runs in which each word is found, and those that the database found.
    fn matching(&self, needle: &Needle) -> Vec<usize> {
        let mut sieve = Sieve {
            pane: self,
            needle,
            matcher: needle::matcher(),
            of_agents: HashMap::new(),
            of_sessions: HashMap::new(),
            of_statuses: HashMap::new(),
        };
        // Runs that follow each other mostly share both.
        let mut last: Option<(Option<&str>, &str, u32)> = None;
        let mut shown = Vec::new();
        let all = self.runs.iter().chain(&self.search.found);
        for (index, run) in all.enumerate() {
            let (agent, session) = (run.agent_id.as_deref(), run.session_id.as_str());
            let mut hits = match last {
                Some((same, also, hits)) if same == agent && also == session => hits,
                _ => sieve.agent(agent) | sieve.session(session),
            };
            last = Some((agent, session, hits));
            if hits != needle.all() {
                hits |= sieve.status(run);
            }
            if hits != needle.all() {
                hits = needle.more_hits(hits, &mut sieve.matcher, Field::Id, &seen(&run.run_id));
            }
            if hits == needle.all() || self.search.ids.contains(&run.run_id) {
                shown.push(index);
            }
        }
        shown
    }
}

/// What was found in the texts that many runs share.
struct Sieve<'a> {
    pane: &'a RunsPane,
    needle: &'a Needle,
    matcher: nucleo_matcher::Matcher,
    of_agents: HashMap<Option<&'a str>, u32>,
    of_sessions: HashMap<&'a str, u32>,
    of_statuses: HashMap<&'a str, u32>,
}

impl<'a> Sieve<'a> {
    fn words(&mut self, text: &str) -> u32 {
        self.needle.hits(&mut self.matcher, Field::Words, text)
    }

    fn agent(&mut self, agent: Option<&'a str>) -> u32 {
        if let Some(hits) = self.of_agents.get(&agent) {
            return *hits;
        }
        let mut hits = self.words(&seen(agent.unwrap_or("teams and workflows")));
        let summary = self.pane.agent(agent);
        if let Some(name) = summary.and_then(|agent| agent.name.as_deref()) {
            hits |= self.words(&seen(name));
        }
        self.of_agents.insert(agent, hits);
        hits
    }

    fn session(&mut self, session: &'a str) -> u32 {
        if let Some(hits) = self.of_sessions.get(session) {
            return *hits;
        }
        let mut hits = self.words(&self.pane.title(session));
        if hits != self.needle.all() {
            let id = seen(session);
            hits = self
                .needle
                .more_hits(hits, &mut self.matcher, Field::Id, &id);
        }
        self.of_sessions.insert(session, hits);
        hits
    }

    fn status(&mut self, run: &'a RunRow) -> u32 {
        match run.status.as_deref().filter(|status| !status.is_empty()) {
            Some(column) => match self.of_statuses.get(column) {
                Some(hits) => *hits,
                None => {
                    let hits = self.words(&seen(&run.effective_status()));
                    self.of_statuses.insert(column, hits);
                    hits
                }
            },
            None => self.words(&seen(&run.effective_status())),
        }
    }
}

/// The part of an id or a name that is looked at, as it is shown.
fn seen(text: &str) -> std::borrow::Cow<'_, str> {
    visible(needle::looked_at(text))
}
