//! What Agno's retention does next: when a turn completes, a session keeps its newest checkpoints,
//! the new one included, and the rest is deleted from the store.

use std::collections::HashSet;

use crate::checkpoint::CheckpointRef;
use crate::json::Json;

/// Agno's `retain_checkpoints` where nobody says otherwise.
pub const DEFAULT_RETAINED: usize = 3;

/// Runs of a session that are looked at, newest first, until enough of them completed.
pub(super) const LOOKED_AT: usize = 32;
/// A kept list longer than this is not followed.
const LONGEST: usize = 64;

/// What a session's next completed turn costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How many checkpoints the session keeps.
    pub keeps: usize,
    /// Whether that is Agno's default, taken since the database does not show another number.
    pub by_default: bool,
    /// Runs whose checkpoint the next completed turn deletes.
    pub at_risk: HashSet<String>,
}

/// The checkpoints that a session's binding keeps and has given up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    /// Oldest first.
    kept: Vec<CheckpointRef>,
    /// Whether some are queued for deletion.
    retiring: bool,
}

impl Kept {
    /// Out of a binding's record; `None` where it says nothing that can be read.
    pub(crate) fn of(record: &Json) -> Option<Self> {
        let list = |key: &str| match record.get(key) {
            Some(Json::List(items)) => Some(items.as_slice()),
            _ => None,
        };
        let kept = match list("retained_checkpoints") {
            Some(items) => items
                .iter()
                .map(|item| CheckpointRef::from_row(item).ok())
                .collect::<Option<Vec<_>>>()?,
            // From before retention: how many it will keep does not show yet.
            None => {
                record.get("checkpoint")?;
                Vec::new()
            }
        };
        let retiring = list("retired_checkpoints").is_some_and(|items| !items.is_empty());
        Some(Self { kept, retiring })
    }

    /// What is kept, oldest first; a binding from before retention keeps its current checkpoint.
    pub(crate) fn into_list(self, record: &Json) -> Vec<CheckpointRef> {
        let current = record.get("checkpoint");
        if self.kept.is_empty() && record.get("retained_checkpoints").is_none() {
            return current
                .and_then(|one| CheckpointRef::from_row(one).ok())
                .into_iter()
                .collect();
        }
        self.kept
    }

    /// How many are kept now.
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }
}

/// How many of the newest completed runs of a session with `runs` of them have to be known to say what
/// retention does next; `None` where it is known without them that it deletes nothing.
pub(crate) fn wanted(kept: Option<&Kept>, runs: u64) -> Option<usize> {
    // What a session's only turn left is never the one to go.
    if runs < 2 {
        return None;
    }
    match kept {
        Some(kept) if kept.len() > LONGEST => None,
        Some(kept) => Some(kept.len() + 1),
        None if runs < DEFAULT_RETAINED as u64 => None,
        None => Some(DEFAULT_RETAINED),
    }
}

/// What retention does next to a session whose completed runs are `runs`, newest first, as far as
/// they were read; `None` where it is not known to delete anything.
pub(crate) fn next(kept: Option<&Kept>, runs: &[(String, CheckpointRef)]) -> Option<Retention> {
    let (kept, keeps, by_default) = match kept {
        Some(binding) => {
            let kept = binding.kept.clone();
            let dropped = binding.retiring || runs.iter().any(|(_, one)| !kept.contains(one));
            match (dropped, kept.len()) {
                (_, 0) => return None,
                // Older ones were given up, so the list is as long as it may get.
                (true, full) => (kept, full, false),
                (false, full) if full == DEFAULT_RETAINED => (kept, full, true),
                // It holds more than the default would, or has room left.
                (false, _) => return None,
            }
        }
        None => {
            let newest = runs.iter().take(DEFAULT_RETAINED).rev();
            let newest: Vec<_> = newest.map(|(_, reference)| reference.clone()).collect();
            if newest.len() < DEFAULT_RETAINED {
                return None;
            }
            (newest, DEFAULT_RETAINED, true)
        }
    };
    // One more comes in; the oldest goes, unless a newer turn left the same bytes.
    let (oldest, rest) = kept.split_first()?;
    if rest.contains(oldest) {
        return None;
    }
    let at_risk: HashSet<String> = runs
        .iter()
        .filter(|(_, reference)| reference == oldest)
        .map(|(run_id, _)| run_id.clone())
        .collect();
    (!at_risk.is_empty()).then_some(Retention {
        keeps,
        by_default,
        at_risk,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(n: u64) -> CheckpointRef {
        CheckpointRef::new(format!("{n:064x}"), n + 1).expect("a reference")
    }

    fn runs(newest_first: &[u64]) -> Vec<(String, CheckpointRef)> {
        newest_first
            .iter()
            .map(|n| (format!("run-{n}"), reference(*n)))
            .collect()
    }

    fn kept(oldest_first: &[u64], retiring: bool) -> Kept {
        Kept {
            kept: oldest_first.iter().map(|n| reference(*n)).collect(),
            retiring,
        }
    }

    fn risk(retention: Option<Retention>) -> Option<(usize, bool, Vec<String>)> {
        let retention = retention?;
        let mut at_risk: Vec<String> = retention.at_risk.into_iter().collect();
        at_risk.sort();
        Some((retention.keeps, retention.by_default, at_risk))
    }

    #[test]
    fn the_rows_alone_go_by_the_default() {
        assert_eq!(risk(next(None, &runs(&[2, 1]))), None);
        let third = Some((3, true, vec!["run-2".to_owned()]));
        assert_eq!(risk(next(None, &runs(&[4, 3, 2, 1]))), third);
        // Two turns that left the same bytes go together, or not at all.
        assert_eq!(risk(next(None, &runs(&[4, 2, 2]))), None);
    }

    #[test]
    fn a_binding_says_what_is_kept() {
        let all = runs(&[4, 3, 2, 1]);
        let two = Some((2, false, vec!["run-3".to_owned()]));
        assert_eq!(risk(next(Some(&kept(&[3, 4], false)), &all)), two);
        assert_eq!(risk(next(Some(&kept(&[3, 4], true)), &runs(&[4, 3]))), two);
        // Nothing was given up yet: it may keep any number, so nothing is claimed but the default.
        assert_eq!(risk(next(Some(&kept(&[1, 2, 3, 4], false)), &all)), None);
        assert_eq!(
            risk(next(Some(&kept(&[3, 4], false)), &runs(&[4, 3]))),
            None
        );
        assert_eq!(
            risk(next(Some(&kept(&[2, 3, 4], false)), &runs(&[4, 3, 2]))),
            Some((3, true, vec!["run-2".to_owned()]))
        );
    }

    #[test]
    fn odd_records_say_nothing() {
        let record = |text: &str| Kept::of(&Json::parse(text).expect("JSON"));
        assert_eq!(record("null"), None);
        assert_eq!(record(r#"{"retained_checkpoints": [7]}"#), None);
        assert_eq!(
            record(r#"{"retained_checkpoints": []}"#).map(|k| k.len()),
            Some(0)
        );
        let one = format!(r#"{{"checkpoint": {{"sha256": "{:064x}", "size": 9}}}}"#, 7);
        assert_eq!(record(&one).map(|kept| kept.len()), Some(0));
    }
}
