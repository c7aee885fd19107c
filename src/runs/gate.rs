//! The gate: who may open which run. Agno's refusals, in its order and in its words
//! (`_run_checkpoint_ref`); where Python would stop with a raw error, one line says what is wrong.

use std::borrow::Cow;

use super::SHORTEST_PREFIX;
use super::model::{RunData, RunRow, status_in};
use crate::checkpoint::CheckpointRef;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::json::Json;

/// On whose behalf a run is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening<'a> {
    /// As this agent; every other agent's run is foreign.
    As(&'a str),
    /// As the agent that ran it.
    Own,
}

/// The reference that `row` commits to, for `opening`; `run_id` is what was asked for.
///
/// # Errors
/// In this order: [`ErrorKind::NotFound`], [`ErrorKind::BadRow`] for data that is no JSON,
/// [`ErrorKind::Foreign`], [`ErrorKind::NotCompleted`], [`ErrorKind::NoCheckpoint`],
/// [`ErrorKind::BadReference`].
pub fn gate(run_id: &str, row: Option<&RunRow>, opening: &Opening<'_>) -> Result<CheckpointRef> {
    let Some(row) = row else {
        return Err(no_run(run_id));
    };
    let data = match &row.data {
        RunData::Value(value) => value,
        RunData::Unreadable(why) => {
            return fail(
                ErrorKind::BadRow,
                format!("Run {run_id} cannot be read: {why}"),
            );
        }
    };
    let own = match opening {
        Opening::As(agent) => row.agent_id.as_deref() == Some(agent),
        // A run of a team or a workflow has no agent, so it is foreign to every agent.
        Opening::Own => row.agent_id.is_some(),
    };
    if !own {
        let foreign = Error::new(
            ErrorKind::Foreign,
            format!("Run {run_id} belongs to another agent"),
        );
        return Err(match (&row.agent_id, &row.run_type) {
            (Some(agent), _) => foreign.hint(format!(
                "open it as its own agent: --as {}",
                crate::text::visible(agent)
            )),
            (None, kind) => foreign.hint(format!(
                "it is a {} run, which no agent opens",
                crate::text::visible(kind.as_deref().unwrap_or("nameless"))
            )),
        });
    }
    let column = row
        .status
        .as_deref()
        .is_some_and(|status| !status.is_empty());
    let data = decoded(run_id, data)?;
    if !column {
        // Agno looks into the data for the status, and needs an object for it.
        object_or_falsy(run_id, "run_data", data.as_deref())?;
    }
    let status = match data.as_deref() {
        Some(data) if !column => status_in(Some(data)),
        _ => row.effective_status(),
    };
    if status != "COMPLETED" {
        let shown = if status.is_empty() {
            "unknown"
        } else {
            &status
        };
        return fail(
            ErrorKind::NotCompleted,
            format!(
                "Run {run_id} is {shown}, not COMPLETED; only a completed turn commits a checkpoint"
            ),
        );
    }
    let mut at = data.as_deref();
    object_or_falsy(run_id, "run_data", at)?;
    for key in ["metadata", "sandbox"] {
        at = at.and_then(|value| value.get(key));
        at = at.filter(|value| !value.is_falsy());
        object_or_falsy(run_id, key, at)?;
    }
    match at.and_then(|sandbox| sandbox.get("checkpoint")) {
        Some(checkpoint @ Json::Object(_)) => CheckpointRef::from_row(checkpoint),
        _ => fail(
            ErrorKind::NoCheckpoint,
            format!("Run {run_id} committed no sandbox checkpoint"),
        ),
    }
}

/// Says that there is no such run, and why the start of an id may not have been taken for one.
pub(super) fn no_run(run_id: &str) -> Error {
    let letters = run_id.chars().count();
    let short = (1..SHORTEST_PREFIX).contains(&letters)
        && run_id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let error = Error::new(ErrorKind::NotFound, format!("Run {run_id} does not exist"));
    if short {
        return error.hint(format!(
            "the start of an id stands for it from {SHORTEST_PREFIX} characters on; `afterrun runs` lists the runs there are"
        ));
    }
    error.hint("`afterrun runs` lists the runs there are")
}

/// `run_data or {}`, and once more `json.loads` when it is still text. Borrowed where it can be: a list
/// asks for every row that it shows, and a row may hold megabytes.
fn decoded<'a>(run_id: &str, data: &'a Json) -> Result<Option<Cow<'a, Json>>> {
    if data.is_falsy() {
        return Ok(None);
    }
    match data {
        Json::Text(text) => match Json::parse(text) {
            Ok(value) => Ok(Some(Cow::Owned(value))),
            Err(error) => fail(
                ErrorKind::BadRow,
                format!("Run {run_id} cannot be read: its run_data is no JSON ({error})"),
            ),
        },
        other => Ok(Some(Cow::Borrowed(other))),
    }
}

fn object_or_falsy(run_id: &str, name: &str, value: Option<&Json>) -> Result<()> {
    match value {
        None | Some(Json::Object(_)) => Ok(()),
        Some(other) => fail(
            ErrorKind::BadRow,
            format!(
                "Run {run_id} cannot be read: its {name} is {}, not an object",
                other.kind()
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(status: Option<&str>, data: &str) -> RunRow {
        RunRow {
            run_id: "r".into(),
            session_id: "s".into(),
            agent_id: Some("engineer".into()),
            user_id: None,
            run_type: Some("agent".into()),
            status: status.map(str::to_owned),
            run_index: Some(0),
            created_at: Some(1),
            updated_at: None,
            data: Json::parse(data).map_or_else(
                |error| RunData::Unreadable(error.to_string()),
                RunData::Value,
            ),
        }
    }

    fn answer(row: &RunRow, agent: &str) -> String {
        match gate("r", Some(row), &Opening::As(agent)) {
            Ok(reference) => format!("ok {}", reference.size()),
            Err(error) => format!("{}: {error}", error.kind()),
        }
    }

    #[test]
    fn refuses_in_agnos_order_and_words() {
        let digest = "0f".repeat(32);
        let good = format!(
            r#"{{"metadata":{{"sandbox":{{"checkpoint":{{"sha256":"{digest}","size":7}}}}}}}}"#
        );
        let with = |extra: &str| good.replacen('{', &format!("{{{extra},"), 1);
        assert_eq!(answer(&row(Some("COMPLETED"), &good), "engineer"), "ok 7");
        assert_eq!(answer(&row(Some("completed"), &good), "engineer"), "ok 7");
        assert_eq!(
            answer(&row(None, &with(r#""status":"Completed""#)), "engineer"),
            "ok 7"
        );
        assert_eq!(
            answer(
                &row(Some("COMPLETED"), &with(r#""status":"ERROR""#)),
                "engineer"
            ),
            "ok 7"
        );
        assert_eq!(
            answer(&row(Some("ERROR"), &good), "reviewer"),
            "foreign: Run r belongs to another agent"
        );
        for (status, data, shown) in [
            (Some("ERROR"), good.clone(), "ERROR"),
            (None, good.clone(), "unknown"),
            (Some(" completed "), good.clone(), " COMPLETED "),
            (None, with(r#""status":7"#), "7"),
            (Some("ERROR"), "[1]".into(), "ERROR"),
        ] {
            assert_eq!(
                answer(&row(status, &data), "engineer"),
                format!(
                    "not_completed: Run r is {shown}, not COMPLETED; only a completed turn commits a checkpoint"
                )
            );
        }
        for data in [
            "{}",
            "[]",
            "null",
            r#"{"metadata":""}"#,
            r#"{"metadata":{"sandbox":{"checkpoint":"x"}}}"#,
        ] {
            assert_eq!(
                answer(&row(Some("COMPLETED"), data), "engineer"),
                "no_checkpoint: Run r committed no sandbox checkpoint"
            );
        }
        assert_eq!(
            answer(&row(Some("COMPLETED"), r#"{"metadata":[1]}"#), "engineer"),
            "bad_row: Run r cannot be read: its metadata is a list, not an object"
        );
        assert!(answer(&row(Some("COMPLETED"), "{"), "engineer").starts_with("bad_row: "));
        let team = RunRow {
            agent_id: None,
            ..row(Some("COMPLETED"), &good)
        };
        assert_eq!(
            gate("r", Some(&team), &Opening::Own)
                .expect_err("foreign")
                .kind(),
            ErrorKind::Foreign
        );
        assert_eq!(
            gate("", None, &Opening::Own).expect_err("absent").message(),
            "Run  does not exist"
        );
    }
}
