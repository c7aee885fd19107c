//! What a sandboxed session is bound to: the turn that holds it, the checkpoints retention keeps, and
//! the computer that the last turn left warm (Agno's `agno_sessions_sandbox_bindings`).

use super::retention::Kept;
use crate::checkpoint::CheckpointRef;
use crate::json::Json;

/// One session's binding.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The agent that the session is bound to.
    pub agent_id: Option<String>,
    /// The run that holds the session; `None` between turns.
    pub run_id: Option<String>,
    /// Until when it holds it unless it says so again, in epoch seconds.
    pub held_until: Option<i64>,
    /// `idle`, `executing`, `finalizing` or `stopping`, as it stands.
    pub phase: Option<String>,
    /// Until when the idle session's computer is kept, in epoch seconds; `None` when it is gone.
    pub warm_until: Option<i64>,
    /// What retention keeps, oldest first.
    pub kept: Vec<CheckpointRef>,
    /// What it has queued for deletion from the store.
    pub retired: Vec<CheckpointRef>,
}

impl Binding {
    /// Out of a row's `record`, to which the columns belong; odd records say less.
    pub(crate) fn of(record: &Json, run_id: Option<String>, held_until: Option<i64>) -> Self {
        let text = |key| record.get(key).and_then(Json::as_str).map(str::to_owned);
        let phase = text("phase");
        let computer = record
            .get("computer")
            .is_some_and(|value| !value.is_falsy());
        let stopped = record
            .get("computer_stopped")
            .is_some_and(|value| !value.is_falsy());
        let warm_until = record.get("warm_until").and_then(seconds);
        let kept = Kept::of(record).unwrap_or_default();
        Self {
            agent_id: None,
            run_id,
            held_until,
            warm_until: warm_until.filter(|_| computer && !stopped),
            phase,
            kept: kept.into_list(record),
            retired: references(record.get("retired_checkpoints")),
        }
    }

    /// The same binding, of this agent.
    pub(crate) fn of_agent(mut self, agent_id: Option<String>) -> Self {
        self.agent_id = agent_id;
        self
    }
}

/// References as far as they are any.
pub(super) fn references(list: Option<&Json>) -> Vec<CheckpointRef> {
    match list {
        Some(Json::List(items)) => items
            .iter()
            .filter_map(|item| CheckpointRef::from_row(item).ok())
            .collect(),
        _ => Vec::new(),
    }
}

fn seconds(value: &Json) -> Option<i64> {
    match value {
        Json::Int(text) => text.parse().ok(),
        Json::Float(number) if number.is_finite() => Some(*number as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_who_holds_what_is_kept_and_whether_the_computer_is_warm() {
        let record = |text: &str| Json::parse(text).expect("JSON");
        let one = format!(r#"{{"sha256":"{:064x}","size":9}}"#, 1);
        let two = format!(r#"{{"sha256":"{:064x}","size":9}}"#, 2);
        let idle = record(&format!(
            r#"{{"phase":"idle","computer":{{"id":"c"}},"warm_until":170.5,"checkpoint":{two},
                 "retained_checkpoints":[{one},{two}],"retired_checkpoints":[{one}]}}"#
        ));
        let idle = Binding::of(&idle, None, None);
        assert_eq!((idle.kept.len(), idle.retired.len()), (2, 1));
        assert_eq!(idle.warm_until, Some(170));
        let gone = record(r#"{"phase":"idle","computer":null,"warm_until":170}"#);
        assert_eq!(Binding::of(&gone, None, None).warm_until, None);
        // From before retention: the current one is what it keeps.
        let old = record(&format!(r#"{{"checkpoint":{one}}}"#));
        assert_eq!(Binding::of(&old, None, None).kept.len(), 1);
        let odd = record(r#"[1]"#);
        let odd = Binding::of(&odd, Some("r".into()), Some(7));
        assert_eq!(
            (odd.run_id.as_deref(), odd.held_until),
            (Some("r"), Some(7))
        );
        assert!(odd.kept.is_empty());
    }
}
