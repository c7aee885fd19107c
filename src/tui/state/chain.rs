//! The proof chain: what was checked, in order, between a run's id and its files. It is what makes
//! the panes above it worth believing, so it stands on the bottom line at every width.

use super::Failure;
use crate::ErrorKind;
use crate::progress::{Progress, Stage};
use crate::text::{grouped, human_bytes};
use crate::tui::fit;
use crate::tui::theme::{Tone, Toned};

/// How far one step is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Not reached.
    #[default]
    Waiting,
    /// At work: done, and all there is (0 when not known).
    Working(u64, u64),
    /// Passed, with what it counts.
    Passed(u64),
    /// Failed, in a word or two.
    Failed(String),
}

/// The five steps, in the order of the flow.
pub const STAGES: [Stage; 5] = [
    Stage::Row,
    Stage::Gate,
    Stage::Object,
    Stage::Digest,
    Stage::Archive,
];

/// The steps of one run's opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Row, gate, object, digest, archive.
    pub steps: [Step; 5],
    /// The verified digest, 64 hex digits; empty until it is verified.
    pub sha256: String,
    /// Milliseconds since the epoch when it began.
    pub began: i64,
    /// Milliseconds since the epoch of the last report.
    pub now: i64,
}

/// How much room a rendering may take; each is shorter than the one before.
const WIDTHS: usize = 5;

impl Chain {
    /// A chain that begins now.
    #[must_use]
    pub fn begun(now: i64) -> Self {
        Self {
            began: now,
            now,
            ..Self::default()
        }
    }

    /// Whether `stage` has begun and is not through.
    #[must_use]
    pub fn is_at_work(&self, stage: Stage) -> bool {
        let index = STAGES.iter().position(|one| *one == stage);
        index.is_some_and(|index| matches!(self.steps[index], Step::Working(..)))
    }

    /// Takes a report in.
    pub fn report(&mut self, progress: Progress, now: i64) {
        self.now = now;
        let Some(index) = STAGES.iter().position(|stage| *stage == progress.stage) else {
            return;
        };
        // What counts entries may report while a step before it still counts bytes.
        if matches!(self.steps[index], Step::Passed(_)) {
            return;
        }
        self.steps[index] = if progress.finished {
            Step::Passed(progress.done)
        } else {
            Step::Working(progress.done, progress.total)
        };
    }

    /// Marks the step that `failure` stopped, and in what word.
    pub fn fail(&mut self, failure: &Failure, status: &str) {
        let first_open = self
            .steps
            .iter()
            .position(|step| !matches!(step, Step::Passed(_)))
            .unwrap_or(4);
        let (index, word) = match failure.kind {
            ErrorKind::NotFound => (0, "no row".into()),
            ErrorKind::BadRow => (0, "row unreadable".into()),
            ErrorKind::Foreign => (1, "another agent's".into()),
            ErrorKind::NotCompleted if status.is_empty() => (1, "unknown".into()),
            ErrorKind::NotCompleted => (1, status.to_owned()),
            ErrorKind::NoCheckpoint => (2, "no checkpoint".into()),
            ErrorKind::BadReference => (2, "reference malformed".into()),
            ErrorKind::ObjectMissing => (2, "object missing".into()),
            ErrorKind::SizeMismatch => (2, "object size".into()),
            ErrorKind::Limit => (first_open.clamp(2, 4), "limit".into()),
            ErrorKind::ChecksumMismatch => (3, "sha256".into()),
            ErrorKind::InvalidArchive | ErrorKind::UnsafeContent => (4, "archive".into()),
            ErrorKind::Store => (first_open.clamp(2, 4), "store".into()),
            ErrorKind::Database => (first_open, "database".into()),
            ErrorKind::Timeout => (first_open, "no answer".into()),
            ErrorKind::Cancelled => (first_open, "cancelled".into()),
            _ => (first_open, "failed".into()),
        };
        for step in &mut self.steps[..index] {
            if matches!(step, Step::Waiting | Step::Working(..)) {
                *step = Step::Passed(0);
            }
        }
        self.steps[index] = Step::Failed(word);
        for step in &mut self.steps[index + 1..] {
            *step = Step::Waiting;
        }
    }

    /// The chain in at most `width` columns.
    #[must_use]
    pub fn line(&self, width: usize) -> Toned {
        for size in 0..WIDTHS {
            let line = self.sized(size);
            if toned_width(&line) <= width || size == WIDTHS - 1 {
                return line;
            }
        }
        Vec::new()
    }

    fn sized(&self, size: usize) -> Toned {
        let mut line = Toned::new();
        for (index, step) in self.steps.iter().enumerate() {
            let (mark, tone, text) = match step {
                Step::Waiting => continue,
                Step::Passed(count) => ("✔", Tone::Good, self.passed(index, *count, size)),
                Step::Working(done, total) => {
                    ("…", Tone::Busy, self.working(index, *done, *total, size))
                }
                Step::Failed(word) => ("✖", Tone::Bad, word.clone()),
            };
            if !line.is_empty() {
                line.push((Tone::Plain, " ".into()));
            }
            line.push((tone, format!("{mark} ")));
            line.push((tone_of_text(tone), text));
        }
        line
    }

    fn passed(&self, index: usize, count: u64, size: usize) -> String {
        match STAGES[index] {
            Stage::Row => "row".into(),
            Stage::Gate if size < 3 => "COMPLETED".into(),
            Stage::Gate => "gate".into(),
            Stage::Object => match size {
                0 | 1 => format!("object {} B", grouped(count)),
                2 | 3 => format!("object {}", human_bytes(count)),
                _ => human_bytes(count),
            },
            Stage::Digest => {
                let sha = &self.sha256;
                match (sha.get(..12), sha.get(..4), sha.get(62..)) {
                    (Some(long), _, Some(end)) if size == 0 => format!("sha256 {long}…{end}"),
                    (_, Some(short), Some(end)) => format!("sha256 {short}…{end}"),
                    _ => "sha256".into(),
                }
            }
            _ if size < 4 => format!("archive {}", entries(count)),
            _ => entries(count),
        }
    }

    fn working(&self, index: usize, done: u64, total: u64, size: usize) -> String {
        match STAGES[index] {
            Stage::Archive if total == 0 => format!("archive {}", entries(done)),
            Stage::Object | Stage::Digest | Stage::Archive => {
                let name = match STAGES[index] {
                    Stage::Object => "object",
                    Stage::Digest => "sha256",
                    _ => "archive",
                };
                let mut text = format!("{name} {}", human_bytes(done));
                if let Some(percent) = (done.saturating_mul(100)).checked_div(total) {
                    text = format!("{name} {percent}%");
                    if size < 3 {
                        text.push_str(&format!(" of {}", human_bytes(total)));
                    }
                }
                let elapsed = u64::try_from(self.now - self.began).unwrap_or(0);
                if size < 2 && elapsed >= 500 {
                    let rate = done.saturating_mul(1000) / elapsed;
                    text.push_str(&format!(", {}/s", human_bytes(rate)));
                    if let Some(left) = time_left(done, total, elapsed) {
                        text.push_str(&format!(", {left} left"));
                    }
                }
                text
            }
            Stage::Row => "row".into(),
            _ => "gate".into(),
        }
    }
}

/// How long the rest will take at the rate so far, e.g. `3s`; `None` while there is nothing to go by.
#[must_use]
pub fn time_left(done: u64, total: u64, elapsed_ms: u64) -> Option<String> {
    let rest = total.checked_sub(done).filter(|_| done > 0)?;
    let left = u128::from(rest) * u128::from(elapsed_ms) / u128::from(done) / 1000;
    let left = i64::try_from(left).unwrap_or(i64::MAX);
    // A part of a second is still something to wait for.
    Some(fit::age(left.max(1), Some(0)))
}

fn entries(count: u64) -> String {
    match count {
        1 => "1 entry".into(),
        count => format!("{} entries", grouped(count)),
    }
}

fn tone_of_text(mark: Tone) -> Tone {
    match mark {
        Tone::Good => Tone::Plain,
        other => other,
    }
}

/// `line` in at most `width` columns, `…` where something is missing.
#[must_use]
pub fn toned_clip(mut line: Toned, width: usize) -> Toned {
    if toned_width(&line) <= width {
        return line;
    }
    let mut room = width.saturating_sub(1);
    for (_, text) in &mut line {
        *text = fit::take(text, room).to_owned();
        room -= fit::columns(text);
    }
    line.retain(|(_, text)| !text.is_empty());
    line.push((Tone::Dim, "…".into()));
    line
}

/// Columns that a toned line takes.
#[must_use]
pub fn toned_width(line: &Toned) -> usize {
    line.iter().map(|(_, text)| fit::columns(text)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(chain: &Chain, width: usize) -> String {
        chain
            .line(width)
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    }

    #[test]
    fn stands_at_every_width() {
        let mut chain = Chain::begun(0);
        for (stage, count) in [
            (Stage::Row, 1),
            (Stage::Gate, 1),
            (Stage::Object, 12_156),
            (Stage::Digest, 12_156),
            (Stage::Archive, 41),
        ] {
            let finished = Progress {
                stage,
                done: count,
                total: count,
                finished: true,
            };
            chain.report(finished, 0);
        }
        chain.sha256 = format!("4be1c0ffee00{}9c", "0".repeat(50));
        assert_eq!(
            text(&chain, 76),
            "✔ row ✔ COMPLETED ✔ object 12,156 B ✔ sha256 4be1…9c ✔ archive 41 entries"
        );
        assert!(text(&chain, 90).contains("sha256 4be1c0ffee00…9c"));
        assert!(text(&chain, 56).contains("sha256 4be1…9c"));
        assert!(toned_width(&chain.line(56)) <= 56);
    }

    #[test]
    fn names_what_failed() {
        let mut chain = Chain::begun(0);
        let failure = Failure::new(ErrorKind::NotCompleted, "Run x is ERROR, not COMPLETED");
        chain.fail(&failure, "ERROR");
        assert_eq!(text(&chain, 76), "✔ row ✖ ERROR");
        let at = |done, finished| Progress {
            stage: Stage::Digest,
            done,
            total: 200,
            finished,
        };
        let mut chain = Chain::begun(0);
        chain.report(at(50, false), 1000);
        assert_eq!(text(&chain, 76), "… sha256 25% of 200 B, 50 B/s, 3s left");
        chain.report(at(200, true), 1000);
        chain.report(at(100, false), 1000);
        assert_eq!(chain.steps[3], Step::Passed(200));
    }
}
