//! Runs that were open a moment ago: going back to one is at once, since its verified bytes are
//! still held. The gate is asked again all the same, and the store whether it has the object.

use std::collections::VecDeque;

use super::Opened;

/// Runs that are kept beside the open one.
const KEPT: usize = 4;
/// Bytes of content that they may come to; their spools are on disk.
const BYTES: u64 = 256 << 20;

/// The runs, the newest last.
#[derive(Debug, Default)]
pub struct Recent {
    runs: VecDeque<Opened>,
}

impl Recent {
    /// Keeps `run`, and lets go of the oldest where that is too much.
    pub fn keep(&mut self, run: Opened) {
        self.forget(&run.row.run_id);
        self.runs.push_back(run);
        let bytes = |runs: &VecDeque<Opened>| runs.iter().map(|run| run.tree.bytes).sum::<u64>();
        while self.runs.len() > KEPT || bytes(&self.runs) > BYTES {
            self.runs.pop_front();
        }
    }

    /// The run, where it is kept.
    #[must_use]
    pub fn get(&self, run_id: &str) -> Option<&Opened> {
        self.runs.iter().find(|run| run.row.run_id == run_id)
    }

    /// Takes the run out.
    pub fn take(&mut self, run_id: &str) -> Option<Opened> {
        let at = self.runs.iter().position(|run| run.row.run_id == run_id)?;
        self.runs.remove(at)
    }

    /// Lets go of the run: what is known of it holds no more.
    pub fn forget(&mut self, run_id: &str) {
        self.runs.retain(|run| run.row.run_id != run_id);
    }
}
