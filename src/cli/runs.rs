//! `agents` and `runs`.

use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::args::RunsArgs;
use super::context::Context;
use super::output::{Style, error_json};
use crate::error::{Error, ErrorKind, Result};
use crate::runs::{AgentSummary, Opening, RunFilter, RunOrder, RunRow, gate};
use crate::text::{columns, human_bytes, visible};

/// `afterrun agents`.
pub(super) async fn agents(context: &Context) -> Result<()> {
    let watch = context.watch();
    let runs = context.settings().open_database()?;
    let agents = watch.unless_cancelled(runs.agents()).await?;
    let output = context.output();
    if output.json {
        let agents: Vec<Value> = agents
            .iter()
            .map(|agent| {
                json!({
                    "agent_id": agent.agent_id,
                    "name": agent.name,
                    "sessions": agent.sessions,
                    "runs": agent.runs,
                    "last_run_at": agent.last_run_at,
                })
            })
            .collect();
        return output.document(&json!({"agents": agents}));
    }
    if agents.is_empty() {
        return output.line("no runs yet");
    }
    let id = |agent: &AgentSummary| match &agent.agent_id {
        Some(id) => visible(id).into_owned(),
        None => "(teams and workflows)".into(),
    };
    let name = |agent: &AgentSummary| visible(agent.name.as_deref().unwrap_or("")).into_owned();
    let ids = widest(agents.iter().map(id));
    let names = widest(agents.iter().map(name));
    for agent in agents {
        let counts: Vec<String> = agent
            .runs
            .iter()
            .map(|(status, count)| format!("{count} {status}"))
            .collect();
        output.styled(&[
            (Style::Strong, &padded(&id(&agent), ids)),
            (Style::Plain, &padded(&name(&agent), names)),
            (
                Style::Dim,
                &match agent.sessions {
                    1 => format!("1 session · {}", counts.join(" · ")),
                    more => format!("{more} sessions · {}", counts.join(" · ")),
                },
            ),
        ])?;
    }
    Ok(())
}

/// `afterrun runs`.
pub(super) async fn runs(context: &Context, args: &RunsArgs) -> Result<()> {
    let filter = RunFilter {
        agent: args.agent.clone(),
        session: args.session.clone(),
        statuses: args
            .status
            .iter()
            .map(|status| status.to_uppercase())
            .collect(),
        since: args.since.as_deref().map(since).transpose()?,
        text: args.search.clone(),
        order: if args.oldest_first {
            RunOrder::OldestFirst
        } else {
            RunOrder::NewestFirst
        },
    };
    let after = args.after.as_deref().map(str::parse).transpose()?;
    let watch = context.watch();
    let database = context.settings().open_database()?;
    let reading = database.page(&filter, args.limit, after);
    let page = watch.unless_cancelled(reading).await?;
    let output = context.output();
    if output.json {
        let runs: Vec<Value> = page
            .runs
            .iter()
            .map(|run| run_json(run, &context.opening()))
            .collect();
        let next = page.next.map(|cursor| cursor.to_string());
        return output.document(&json!({"runs": runs, "next": next}));
    }
    for notice in &page.notices {
        output.note(notice);
    }
    let now = now();
    let status = |run: &RunRow| match run.effective_status() {
        status if status.is_empty() => "unknown".into(),
        status => visible(&status).into_owned(),
    };
    let agent = |run: &RunRow| visible(run.agent_id.as_deref().unwrap_or("-")).into_owned();
    let turn = |run: &RunRow| {
        run.turn()
            .map_or(String::new(), |turn| format!("turn {turn}"))
    };
    let since = |run: &RunRow| {
        let at = run.created_at;
        at.map_or(String::new(), |at| {
            format!("{} ago", age(now.saturating_sub(at)))
        })
    };
    let size = |run: &RunRow| {
        let reference = gate(&run.run_id, Some(run), &context.opening()).ok();
        reference.map_or(String::new(), |reference| human_bytes(reference.size()))
    };
    let rows = || page.runs.iter();
    let ids = widest(rows().map(|run| visible(&run.run_id).into_owned()));
    let (statuses, agents) = (widest(rows().map(status)), widest(rows().map(agent)));
    let (turns, ages) = (widest(rows().map(turn)), widest(rows().map(since)));
    let sizes = widest(rows().map(size));
    for run in &page.runs {
        let title = page
            .sessions
            .get(&run.session_id)
            .map_or(run.session_id.as_str(), |session| &session.title);
        let answer = gate(&run.run_id, Some(run), &context.opening());
        let style = match status(run).as_str() {
            "COMPLETED" => Style::Good,
            "ERROR" | "CANCELLED" => Style::Bad,
            _ => Style::Plain,
        };
        output.styled(&[
            (Style::Strong, &padded(&visible(&run.run_id), ids)),
            (style, &padded(&status(run), statuses)),
            (Style::Plain, &padded(&agent(run), agents)),
            (Style::Plain, &padded(&turn(run), turns)),
            (Style::Dim, &padded(&since(run), ages)),
            (Style::Plain, &padded(&size(run), sizes)),
            (Style::Plain, title),
        ])?;
        if let Err(error) = answer {
            output.styled(&[(Style::Dim, &format!("  └ {error}"))])?;
        }
    }
    match page.next {
        Some(next) => output.line(&format!("more: --after {next}")),
        None if page.runs.is_empty() => output.line("no run fits"),
        None => Ok(()),
    }
}

/// Columns that are kept for a cell: one row with a name of kilobytes must not push all others apart.
const WIDEST: usize = 64;

/// The columns that the widest of `cells` takes; one that is wider than may be moves its own row alone.
fn widest(cells: impl Iterator<Item = String>) -> usize {
    let all = cells.map(|cell| columns(&cell));
    all.filter(|columns| *columns <= WIDEST).max().unwrap_or(0)
}

/// `cell` filled up to `width` columns and the gap behind it; nothing where every cell is empty.
fn padded(cell: &str, width: usize) -> String {
    let gap = if width == 0 && cell.is_empty() {
        0
    } else {
        width.saturating_sub(columns(cell)) + 2
    };
    format!("{cell}{:gap$}", "")
}

/// One run as `runs --json` and `show --json` tell it.
pub(super) fn run_json(run: &RunRow, opening: &Opening<'_>) -> Value {
    let answer = gate(&run.run_id, Some(run), opening);
    // The reference as it is for its own agent, whoever asks.
    let checkpoint = gate(&run.run_id, Some(run), &Opening::Own).ok();
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("run_id", json!(run.run_id));
    put("session_id", json!(run.session_id));
    put("agent_id", json!(run.agent_id));
    put("agent_name", json!(run.agent_name()));
    put("user_id", json!(run.user_id));
    put("run_type", json!(run.run_type));
    put("status", json!(run.effective_status()));
    put("run_index", json!(run.run_index));
    put("created_at", json!(run.created_at));
    put("updated_at", json!(run.updated_at));
    put("checkpoint", json!(checkpoint));
    put("repository", json!(run.repository()));
    put(
        "refusal",
        answer.err().map_or(Value::Null, |error| error_json(&error)),
    );
    Value::Object(object)
}

/// Epoch seconds.
pub(super) fn now() -> i64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}

/// Seconds as `5s`, `12m`, `3h`, `4d`.
pub(super) fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}m", s / 60),
        s @ 3600..86_400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

/// The epoch second that `--since` means.
fn since(text: &str) -> Result<i64> {
    crate::runs::since(text, now()).map_err(|error| {
        let message = format!("--since {}", error.message());
        match error.next_step() {
            Some(hint) => Error::new(ErrorKind::Usage, message).hint(hint),
            None => Error::new(ErrorKind::Usage, message),
        }
    })
}
