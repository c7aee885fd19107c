//! What a database says: JSON, rows at the gate, and records of bindings.

use crate::checkpoint::CheckpointRef;
use crate::json::Json;
use crate::runs::retention::{Kept, next, wanted};
use crate::runs::{Binding, Opening, RunData, RunRow};

/// Any bytes as JSON: what is read is written and read again as the same, and what another reader
/// reads is read.
pub fn json(data: &[u8]) {
    let read = Json::parse_bytes(data);
    let theirs: Result<serde_json::Value, _> = serde_json::from_slice(data);
    if let (Ok(theirs), Err(error)) = (&theirs, &read) {
        let long = theirs.to_string().len() > 4300;
        assert!(long, "it is JSON, but not for us: {error}");
    }
    let Ok(value) = read else {
        return;
    };
    let _ = (value.to_serde(), value.is_falsy(), value.kind());
    if let Some(text) = value.to_python() {
        assert!(text.is_ascii());
        let again = Json::parse(&text);
        assert_eq!(again.as_ref(), Ok(&value), "{text}");
        assert_eq!(again.ok().and_then(|again| again.to_python()), Some(text));
    }
}

/// A row: on a line each its status, its agent, as whom it is opened and its id (`-` for none), then
/// `run_data`. No run passes the gate that is not completed, its agent's own, and committed.
pub fn gate(data: &[u8]) {
    let mut lines = data.splitn(5, |byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let mut word = || {
        let text = String::from_utf8_lossy(line()).into_owned();
        Some(text).filter(|text| text != "-")
    };
    let (status, agent_id, opening) = (word(), word(), word());
    let run_id = word().unwrap_or_default();
    let row = row(run_id, status, agent_id, line());
    let opening = opening.as_deref().map_or(Opening::Own, Opening::As);
    let told = crate::runs::gate(&row.run_id, Some(&row), &opening);
    let _ = (row.turn(), row.repository(), row.input(), row.agent_name());
    let reference = match told {
        Ok(reference) => reference,
        Err(error) => {
            assert!(!error.message().is_empty());
            return;
        }
    };
    assert!(row.agent_id.is_some());
    if let Opening::As(agent) = opening {
        assert_eq!(row.agent_id.as_deref(), Some(agent));
    }
    let data = match &row.data {
        RunData::Value(Json::Text(text)) => Json::parse(text).unwrap_or(Json::Null),
        RunData::Value(value) => value.clone(),
        RunData::Unreadable(_) => panic!("a row that cannot be read is opened"),
    };
    let column = row.status.filter(|status| !status.is_empty());
    let status = column.or_else(|| Some(data.get("status")?.as_str()?.to_owned()));
    let status = status.map(|status| status.to_uppercase());
    assert_eq!(status.as_deref(), Some("COMPLETED"));
    let committed = data.get("metadata").and_then(|data| data.get("sandbox"));
    let committed = committed.and_then(|sandbox| sandbox.get("checkpoint"));
    let digest = committed.and_then(|one| one.get("sha256")?.as_str());
    assert_eq!(digest, Some(reference.sha256()));
    is_sound(&reference);
}

/// JSON with a binding's `record`, the `runs` of its session, and the present second `now`: what
/// is told of it is bounded, and only runs that are there are at risk.
pub fn told(data: &[u8]) {
    let Ok(all) = Json::parse_bytes(data) else {
        return;
    };
    let number = |key| match all.get(key) {
        Some(Json::Int(digits)) => digits.parse().ok(),
        _ => None,
    };
    let record = all.get("record").unwrap_or(&Json::Null);
    let holder = all.get("run_id").and_then(Json::as_str);
    let binding = Binding::of(record, holder.map(str::to_owned), number("held_until"));
    binding
        .kept
        .iter()
        .chain(&binding.retired)
        .for_each(is_sound);
    let runs = match all.get("runs") {
        Some(Json::List(runs)) => &runs[..],
        _ => &[],
    };
    let rows: Vec<RunRow> = runs
        .iter()
        .enumerate()
        .map(|(index, data)| {
            let data = data.to_python().unwrap_or_default();
            let mut row = row(index.to_string(), None, None, data.as_bytes());
            row.run_index = number("now");
            row
        })
        .collect();
    let committed = |row: &RunRow| CheckpointRef::from_row(row.checkpoint()?).ok();
    let pairs: Vec<(String, CheckpointRef)> = rows
        .iter()
        .filter_map(|row| Some((row.run_id.clone(), committed(row)?)))
        .collect();
    let kept = Kept::of(record);
    let _ = wanted(kept.as_ref(), pairs.len() as u64);
    if let Some(retention) = next(kept.as_ref(), &pairs) {
        assert!(retention.keeps > 0 && !retention.at_risk.is_empty());
        let known = |id: &String| pairs.iter().any(|(run_id, _)| run_id == id);
        assert!(retention.at_risk.iter().all(known));
    }
    #[cfg(feature = "app")]
    {
        let rows: Vec<&RunRow> = rows.iter().collect();
        let said = crate::runs::told(&binding, &rows, number("now").unwrap_or(0));
        assert!((3..=5).contains(&said.len()));
        assert!(said.iter().all(|(_, words)| !words.is_empty()));
    }
}

fn row(run_id: String, status: Option<String>, agent_id: Option<String>, data: &[u8]) -> RunRow {
    RunRow {
        run_id,
        session_id: "s".into(),
        agent_id,
        user_id: None,
        run_type: None,
        status,
        run_index: None,
        created_at: None,
        updated_at: None,
        data: match Json::parse_bytes(data) {
            Ok(value) => RunData::Value(value),
            Err(error) => RunData::Unreadable(error.to_string()),
        },
    }
}

fn is_sound(reference: &CheckpointRef) {
    let digest = reference.sha256().as_bytes();
    assert!(
        digest.len() == 64
            && digest
                .iter()
                .all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    );
    assert!(reference.size() > 0);
}
