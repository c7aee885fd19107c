//! `show`: one run's row, proof chain and gate answer.

use std::process::ExitCode;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::args::RunArg;
use super::context::Context;
use super::output::{Output, Style, error_json, put_bytes};
use super::{exit, runs, target};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Progress, Stage, Watch};
use crate::review::{Notice, Review};
use crate::runs::{Binding, OpenedRun, RunRow, gate, told};
use crate::text::grouped;

/// `afterrun show`.
///
/// What the gate, the object and the archive answer is what was asked for, so that it exits 0; what kept
/// them from being asked exits with its own code.
pub(super) async fn show(context: &Context, args: &RunArg) -> Result<ExitCode> {
    let signals = context.watch();
    let runs = context.runs().await?;
    let id = target::run_id(&runs, &args.run, &signals).await?;
    let database = runs.database();
    let Some(row) = signals.unless_cancelled(database.run(&id)).await? else {
        gate(&id, None, &context.opening())?;
        return Ok(ExitCode::SUCCESS);
    };
    let passed = std::sync::Arc::new(Mutex::new(Vec::new()));
    let heard = std::sync::Arc::clone(&passed);
    let watch = Watch::reporting(signals.token().clone(), move |progress| {
        if let (true, Ok(mut passed)) = (progress.finished, heard.lock()) {
            passed.push(progress);
        }
    });
    let opened = runs.open_run(&id, &context.opening(), &watch).await;
    if let Err(error) = &opened
        && error.kind() == ErrorKind::Cancelled
    {
        return Err(Error::cancelled());
    }
    let review = match &opened {
        Ok(opened) => {
            Some(Review::open(opened.archive.clone(), opened.row.repository(), &watch).await?)
        }
        Err(_) => None,
    };
    let passed = passed
        .lock()
        .map(|passed| passed.clone())
        .unwrap_or_default();
    let proof = Proof::new(&row, &passed, &opened);
    let mut notices = review
        .as_ref()
        .map(|review| review.notices().to_vec())
        .unwrap_or_default();
    let binding = signals.unless_cancelled(database.binding(&row.session_id));
    let binding = noted(binding.await, "the session's binding", &mut notices)?.flatten();
    let code = match &opened {
        Err(error) if is_failure(error.kind()) => exit::code(error.kind()),
        _ => ExitCode::SUCCESS,
    };
    let output = context.output();
    if output.json {
        let refusal = gate(&id, Some(&row), &context.opening()).err();
        output.document(&json!({
            "run": runs::run_json(&row, &context.opening()),
            "gate": refusal.as_ref().map(error_json),
            "proof": proof.json(),
            "error": opened.as_ref().err().map(error_json),
            "head": review.as_ref().and_then(|review| review.head()),
            "state": opened.as_ref().ok().map(|opened| opened.archive.state().to_serde()),
            "notices": notices.iter().map(notice_json).collect::<Vec<_>>(),
            "binding": binding.as_ref().map(binding_json),
        }))?;
        return Ok(code);
    }
    let session = match &binding {
        Some(_) => {
            let session = signals.unless_cancelled(database.session(&row.session_id));
            noted(session.await, "the session's runs", &mut notices)?
        }
        None => None,
    };
    print(output, &row, &proof, &opened, &notices)?;
    let Some(binding) = binding else {
        return Ok(code);
    };
    let session = session.unwrap_or_default();
    let rows: Vec<&RunRow> = session.iter().collect();
    for (name, value) in told(&binding, &rows, runs::now()) {
        let name = format!("{name:<11}");
        output.styled(&[(Style::Dim, &name), (Style::Plain, &value)])?;
    }
    Ok(code)
}

/// What was read, or a notice that it was not: the rest of the answer is worth having all the same.
fn noted<T>(read: Result<T>, what: &str, notices: &mut Vec<Notice>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        Err(error) => {
            let message = format!("{what} could not be read: {error}");
            notices.push(Notice::new("unread", message));
            Ok(None)
        }
    }
}

/// Whether `kind` says that database or store did not serve, and nothing about the run.
fn is_failure(kind: ErrorKind) -> bool {
    use ErrorKind as Kind;
    matches!(
        kind,
        Kind::Store | Kind::Database | Kind::Io | Kind::Timeout | Kind::Unsupported | Kind::Usage
    )
}

/// What a session is bound to, in JSON; times in epoch seconds.
fn binding_json(binding: &Binding) -> Value {
    json!({
        "agent_id": binding.agent_id,
        "run_id": binding.run_id,
        "held_until": binding.held_until,
        "phase": binding.phase,
        "warm_until": binding.warm_until,
        "kept": binding.kept,
        "retired": binding.retired,
    })
}

/// The steps from row to archive, as far as they went.
struct Proof(Vec<(&'static str, bool, String)>);

impl Proof {
    fn new(row: &RunRow, passed: &[Progress], opened: &Result<OpenedRun>) -> Self {
        let went = |stage: Stage| passed.iter().find(|progress| progress.stage == stage);
        let mut steps = vec![("row", true, String::new())];
        let status = row.effective_status();
        let chain = [
            ("gate", Stage::Gate, status),
            (
                "object",
                Stage::Object,
                went(Stage::Object).map_or(String::new(), |p| format!("{} B", grouped(p.done))),
            ),
            (
                "sha256",
                Stage::Digest,
                opened
                    .as_ref()
                    .map_or(String::new(), |opened| opened.reference.sha256().to_owned()),
            ),
            (
                "archive",
                Stage::Archive,
                went(Stage::Archive)
                    .map_or(String::new(), |p| format!("{} entries", grouped(p.done))),
            ),
        ];
        for (name, stage, detail) in chain {
            if went(stage).is_some() {
                steps.push((name, true, detail));
                continue;
            }
            if let Err(error) = opened {
                steps.push((name, false, error.message().to_owned()));
            }
            break;
        }
        Self(steps)
    }

    fn json(&self) -> Vec<Value> {
        let step = |(name, ok, detail): &(&str, bool, String)| json!({"step": name, "ok": ok, "detail": detail});
        self.0.iter().map(step).collect()
    }
}

/// A notice in JSON.
pub(super) fn notice_json(notice: &Notice) -> Value {
    let mut object = serde_json::Map::new();
    object.insert("tag".into(), notice.tag.into());
    match &notice.path {
        Some(path) => put_bytes(&mut object, "path", path),
        None => {
            object.insert("path".into(), Value::Null);
        }
    }
    object.insert("message".into(), notice.message.clone().into());
    Value::Object(object)
}

/// A notice in one line.
pub(super) fn notice_line(notice: &Notice) -> String {
    match &notice.path {
        Some(path) => format!(
            "{}: {}: {}",
            notice.tag,
            crate::text::visible_bytes(path),
            notice.message
        ),
        None => format!("{}: {}", notice.tag, notice.message),
    }
}

fn print(
    output: &Output,
    row: &RunRow,
    proof: &Proof,
    opened: &Result<OpenedRun>,
    notices: &[Notice],
) -> Result<()> {
    let field = |name: &str, value: &str| {
        output.styled(&[(Style::Dim, &format!("{name:<11}")), (Style::Plain, value)])
    };
    output.styled(&[(Style::Dim, "run        "), (Style::Strong, &row.run_id)])?;
    field("session", &row.session_id)?;
    let name = row
        .agent_name()
        .map_or(String::new(), |name| format!("  {name}"));
    field(
        "agent",
        &format!("{}{name}", row.agent_id.as_deref().unwrap_or("-")),
    )?;
    field("status", &row.effective_status())?;
    if let Some(turn) = row.turn() {
        field("turn", &turn.to_string())?;
    }
    if let Some(at) = row
        .created_at
        .and_then(|at| jiff::Timestamp::from_second(at).ok())
    {
        field("created", &at.to_string())?;
    }
    if let Some(input) = row.input() {
        field("input", input)?;
    }
    if let Some(pin) = row.repository() {
        field(
            "pin",
            &format!(
                "{} {} {}",
                pin.commit,
                pin.branch.as_deref().unwrap_or(""),
                pin.url
            ),
        )?;
    }
    for (step, ok, detail) in &proof.0 {
        let (mark, style) = if *ok {
            ("✔", Style::Good)
        } else {
            ("✖", Style::Bad)
        };
        output.styled(&[
            (style, &format!("{mark} {step}")),
            (
                Style::Plain,
                &if detail.is_empty() {
                    String::new()
                } else {
                    format!(" {detail}")
                },
            ),
        ])?;
    }
    if let Some(hint) = opened.as_ref().err().and_then(Error::next_step) {
        output.styled(&[(Style::Dim, &format!("  hint: {hint}"))])?;
    }
    if let Ok(opened) = opened
        && let Some(obstacle) = opened.archive.unrestorable()
    {
        output.styled(&[(Style::Bad, &format!("  it cannot be restored: {obstacle}"))])?;
    }
    for notice in notices {
        output.styled(&[(Style::Strong, "! "), (Style::Plain, &notice_line(notice))])?;
    }
    Ok(())
}
