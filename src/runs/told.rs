//! What a session is bound to, in words.

use std::fmt::Write as _;

use super::binding::Binding;
use super::model::RunRow;
use crate::checkpoint::CheckpointRef;

/// Checkpoints that are named; a hostile record may list any number.
const NAMED: usize = 20;
/// Digits of a digest that tell it apart.
const DIGITS: usize = 12;

/// What `binding` says, as names and values that are not yet safe to show. `rows` are the session's
/// runs as far as they are known: checkpoints go by their turns, and by their digests where no turn is
/// known. `now` is the present epoch second.
#[must_use]
pub fn told(binding: &Binding, rows: &[&RunRow], now: i64) -> Vec<(&'static str, String)> {
    let mut said = vec![("held by", holder(binding, rows, now))];
    if let Some(phase) = &binding.phase {
        said.push(("phase", phase.clone()));
    }
    let keeps = match binding.kept.as_slice() {
        [] => "no checkpoint".into(),
        kept => checkpoints(kept, rows),
    };
    said.push(("keeps", keeps));
    if !binding.retired.is_empty() {
        let queued = checkpoints(&binding.retired, rows);
        said.push(("deletes", format!("{queued} (queued)")));
    }
    said.push(("computer", computer(binding, now)));
    said
}

fn holder(binding: &Binding, rows: &[&RunRow], now: i64) -> String {
    let Some(run_id) = &binding.run_id else {
        return "no turn".into();
    };
    let row = rows.iter().find(|row| row.run_id == *run_id);
    let mut said = match row.and_then(|row| row.turn()) {
        Some(turn) => format!("turn {turn}, run {run_id}"),
        None => format!("run {run_id}"),
    };
    match binding.held_until {
        Some(until) if until < now => {
            let _ = write!(said, ", whose lease ran out at {}", time(until));
        }
        Some(until) => {
            let _ = write!(said, ", until {}", time(until));
        }
        None => {}
    }
    said
}

fn computer(binding: &Binding, now: i64) -> String {
    match binding.warm_until {
        Some(until) if until >= now => format!("warm until {}", time(until)),
        Some(until) => format!("was kept warm until {}", time(until)),
        None if binding.run_id.is_some() => match binding.held_until {
            Some(until) if until < now => format!("in use until {}", time(until)),
            _ => "in use by the turn".into(),
        },
        None => "gone".into(),
    }
}

fn checkpoints(all: &[CheckpointRef], rows: &[&RunRow]) -> String {
    let name = |one: &CheckpointRef| {
        let of = |row: &&&RunRow| {
            let reference = row.checkpoint().map(CheckpointRef::from_row);
            matches!(reference, Some(Ok(reference)) if reference == *one)
        };
        let mut turns: Vec<i64> = rows
            .iter()
            .filter(of)
            .filter_map(|row| row.turn())
            .collect();
        turns.sort_unstable();
        if turns.is_empty() {
            let digest = one.sha256();
            return format!("sha256 {}", digest.get(..DIGITS).unwrap_or(digest));
        }
        let turns: Vec<String> = turns.iter().map(|turn| format!("turn {turn}")).collect();
        // Turns that left the same bytes.
        turns.join(" = ")
    };
    let mut named: Vec<String> = all.iter().take(NAMED).map(name).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more", all.len() - NAMED));
    }
    named.join(", ")
}

fn time(at: i64) -> String {
    jiff::Timestamp::from_second(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::runs::RunData;

    fn reference(n: u64) -> CheckpointRef {
        CheckpointRef::new(format!("{n:064x}"), 9).expect("a reference")
    }

    fn row(turn: i64, n: u64) -> RunRow {
        let data = format!(
            r#"{{"metadata":{{"sandbox":{{"checkpoint":{{"sha256":"{n:064x}","size":9}}}}}}}}"#
        );
        RunRow {
            run_id: format!("run-{turn}"),
            session_id: "s".into(),
            agent_id: None,
            user_id: None,
            run_type: None,
            status: Some("COMPLETED".into()),
            run_index: Some(turn - 1),
            created_at: None,
            updated_at: None,
            data: RunData::Value(Json::parse(&data).expect("JSON")),
        }
    }

    #[test]
    fn says_who_holds_what_is_kept_and_whether_it_is_warm() {
        let rows = [row(2, 2), row(3, 3), row(4, 3)];
        let rows: Vec<&RunRow> = rows.iter().collect();
        let mut binding = Binding {
            agent_id: None,
            run_id: Some("run-4".into()),
            held_until: Some(170),
            phase: Some("executing".into()),
            warm_until: None,
            kept: vec![reference(2), reference(3)],
            retired: vec![reference(1)],
        };
        let lines = |binding: &Binding, now| -> Vec<String> {
            let said = told(binding, &rows, now).into_iter();
            said.map(|(name, value)| format!("{name}: {value}"))
                .collect()
        };
        assert_eq!(
            lines(&binding, 100),
            [
                "held by: turn 4, run run-4, until 1970-01-01T00:02:50Z",
                "phase: executing",
                "keeps: turn 2, turn 3 = turn 4",
                "deletes: sha256 000000000000 (queued)",
                "computer: in use by the turn",
            ]
        );
        assert!(lines(&binding, 171)[0].ends_with("whose lease ran out at 1970-01-01T00:02:50Z"));
        assert_eq!(
            lines(&binding, 171)[4],
            "computer: in use until 1970-01-01T00:02:50Z"
        );
        binding.run_id = None;
        binding.retired.clear();
        binding.warm_until = Some(170);
        let idle = lines(&binding, 100);
        assert_eq!(idle[0], "held by: no turn");
        assert_eq!(idle[3], "computer: warm until 1970-01-01T00:02:50Z");
        assert!(lines(&binding, 171)[3].starts_with("computer: was kept warm"));
        binding.warm_until = None;
        assert_eq!(lines(&binding, 100)[3], "computer: gone");
        binding.kept = (0..25).map(reference).collect();
        assert!(lines(&binding, 100)[2].ends_with("and 5 more"));
    }
}
