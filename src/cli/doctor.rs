//! `doctor`: what is configured, reachable and readable, and what to do if not.

use std::process::ExitCode;

use serde_json::json;

use super::context::Context;
use super::exit;
use super::output::Style;
use crate::config::masked;
use crate::error::{Error, ErrorKind, Result};
use crate::runs::Runs;

struct Check {
    name: &'static str,
    answer: Result<String>,
}

/// `afterrun doctor`; exits with the first failure's code.
pub(super) async fn doctor(context: &Context) -> Result<ExitCode> {
    let settings = context.settings();
    let mut checks = Vec::new();
    let database = settings.open_database();
    let answer = match &database {
        Ok(database) => database.agents().await.map(|agents| {
            let runs: u64 = agents.iter().flat_map(|agent| agent.runs.values()).sum();
            let named = agents
                .iter()
                .filter(|agent| agent.agent_id.is_some())
                .count();
            format!("{}: {named} agents, {runs} runs", database.describe())
        }),
        Err(error) => Err(error.copy()),
    };
    checks.push(Check {
        name: "database",
        answer,
    });
    if let Ok(database) = database {
        let store = settings.store.as_ref().map(|_| settings.open_store());
        let store = match store.transpose() {
            Ok(store) => {
                Runs::new(database, store, settings.home.clone())
                    .checkpoint_store()
                    .await
            }
            Err(error) => Err(error),
        };
        let named = settings.store.as_deref().map(masked);
        let answer = store.map(|store| match named {
            Some(_) => store.describe(),
            None => format!("{} (Agno's default, since none is named)", store.describe()),
        });
        checks.push(Check {
            name: "store",
            answer,
        });
    }
    let private = tempfile::tempfile().map(|_| crate::text::visible_path(&std::env::temp_dir()));
    checks.push(Check {
        name: "private files",
        answer: private.map_err(|error| {
            Error::io("write in", &std::env::temp_dir(), error)
                .hint("set TMPDIR to a folder with room for an expanded archive (1 GiB at most)")
        }),
    });
    checks.push(Check {
        name: "review worker",
        answer: crate::review::check_worker().map(|()| {
            "starts and answers; capped in time and memory, but not yet confined by Landlock".into()
        }),
    });
    let output = context.output();
    if output.json {
        let list: Vec<_> = checks
            .iter()
            .map(|check| match &check.answer {
                Ok(message) => json!({"name": check.name, "ok": true, "message": message}),
                Err(error) => json!({
                    "name": check.name, "ok": false, "kind": error.kind().as_str(),
                    "message": error.message(), "hint": error.next_step(),
                }),
            })
            .collect();
        output.document(&json!({"checks": list}))?;
    } else {
        for check in &checks {
            match &check.answer {
                Ok(message) => output.styled(&[
                    (Style::Good, &format!("✔ {:<14}", check.name)),
                    (Style::Plain, message),
                ])?,
                Err(error) => {
                    output.styled(&[
                        (Style::Bad, &format!("✖ {:<14}", check.name)),
                        (Style::Plain, error.message()),
                    ])?;
                    if let Some(hint) = error.next_step() {
                        output.styled(&[(Style::Dim, &format!("  {:<14}{hint}", ""))])?;
                    }
                }
            }
        }
    }
    let failure = checks
        .iter()
        .find_map(|check| check.answer.as_ref().err())
        .map(Error::kind);
    Ok(failure.map_or(ExitCode::SUCCESS, |kind| {
        exit::code(if kind == ErrorKind::Usage {
            ErrorKind::Usage
        } else {
            kind
        })
    }))
}
