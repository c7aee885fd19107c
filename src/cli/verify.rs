//! `verify`: gate, store and archive, for every run whatever the others say.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::VerifyArgs;
use super::context::Context;
use super::output::{Style, error_json, put_bytes};
use super::{exit, target};
use crate::archive::{Ambiguity, Archive, CheckpointArchive};
use crate::checkpoint::CheckpointRef;
use crate::error::{Error, ErrorKind, Result};
use crate::text::{grouped, human_bytes};

/// `afterrun verify`; exits with the first failure's code.
pub(super) async fn verify(context: &Context, args: &VerifyArgs) -> Result<ExitCode> {
    args.archive.refuse_limits_without_archive()?;
    let watch = context.watch();
    let mut results: Vec<(Option<String>, Result<Verified>)> = Vec::new();
    if let Some(file) = &args.archive.archive {
        let (archive, file, inner) = (
            CheckpointArchive::new(args.archive.limits()?),
            file.clone(),
            watch.clone(),
        );
        let scratch = context.settings().scratch()?;
        let opened =
            crate::checkpoint::blocking(move || archive.blocking_open_in(&file, &scratch, &inner))
                .await;
        if let Err(error) = &opened
            && matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Io)
        {
            return Err(error.copy());
        }
        results.push((None, opened.map(|archive| Verified::of(&archive))));
    } else {
        let runs = context.runs().await?;
        // What refuses every run alike is no answer about a run.
        runs.checkpoint_store().await?;
        for word in &args.runs {
            let (id, answer) = match target::run_id(&runs, word, &watch).await {
                Ok(id) => {
                    let opened = runs.open_run(&id, &context.opening(), &watch).await;
                    (id, opened.map(|opened| Verified::of(&opened.archive)))
                }
                Err(error) => (word.clone(), Err(error)),
            };
            if let Err(error) = &answer
                && error.kind() == ErrorKind::Cancelled
            {
                return Err(Error::cancelled());
            }
            results.push((Some(id), answer));
        }
    }
    let output = context.output();
    let code = results
        .iter()
        .find_map(|(_, answer)| answer.as_ref().err())
        .map_or(ExitCode::SUCCESS, |error| exit::code(error.kind()));
    if output.json {
        let results: Vec<Value> = results
            .iter()
            .map(|(id, answer)| result_json(id.as_deref(), answer))
            .collect();
        output.document(&json!({"results": results}))?;
        return Ok(code);
    }
    for (id, answer) in &results {
        if let Ok(archive) = answer {
            output.ambiguities(&archive.ambiguities);
        }
        let name = id.as_deref().unwrap_or("archive");
        match answer {
            Ok(archive) => output.styled(&[
                (Style::Good, "✔ "),
                (Style::Strong, name),
                (
                    Style::Plain,
                    &format!(
                        "  {} entries, {}, sha256 {}",
                        grouped(archive.entries),
                        human_bytes(archive.bytes),
                        archive.reference.sha256()
                    ),
                ),
                (
                    Style::Bad,
                    &archive.obstacle.as_ref().map_or(String::new(), |error| {
                        format!("  but it cannot be restored: {error}")
                    }),
                ),
            ])?,
            Err(error) => {
                output.styled(&[
                    (Style::Bad, "✖ "),
                    (Style::Strong, name),
                    (Style::Plain, &format!("  {error}")),
                ])?;
                if let Some(hint) = error.next_step() {
                    output.styled(&[(Style::Dim, &format!("  hint: {hint}"))])?;
                }
            }
        }
    }
    Ok(code)
}

/// What is told of a valid archive. The archive itself is let go at once: each holds a spool on disk,
/// and any number of runs may be asked for.
struct Verified {
    reference: CheckpointRef,
    entries: u64,
    bytes: u64,
    state: Value,
    obstacle: Option<Error>,
    ambiguities: Vec<Ambiguity>,
}

impl Verified {
    fn of(archive: &Archive) -> Self {
        Self {
            reference: archive.reference().clone(),
            entries: archive.entries().len() as u64,
            bytes: archive.content_bytes(),
            state: archive.state().to_serde(),
            obstacle: archive.unrestorable().map(Error::copy),
            ambiguities: archive.ambiguities().to_vec(),
        }
    }
}

fn result_json(id: Option<&str>, answer: &Result<Verified>) -> Value {
    match answer {
        Ok(archive) => {
            let mut result = json!({
                "run_id": id,
                "ok": true,
                "integrity": "intact",
                "checkpoint": archive.reference,
                "entries": archive.entries,
                "bytes": archive.bytes,
                "state": archive.state,
            });
            if let (Some(obstacle), Some(object)) = (&archive.obstacle, result.as_object_mut()) {
                object.insert("restorable".into(), false.into());
                object.insert("obstacle".into(), error_json(obstacle));
            }
            if let ([_, ..], Some(object)) = (&archive.ambiguities[..], result.as_object_mut()) {
                let told = archive.ambiguities.iter().map(ambiguity_json).collect();
                object.insert("ambiguous".into(), Value::Array(told));
            }
            result
        }
        Err(error) => {
            // Bytes that match their digest are intact even when they are no valid archive; a bare
            // archive has no digest to hold them against.
            let integrity = match error.kind() {
                ErrorKind::InvalidArchive if id.is_some() => "intact",
                ErrorKind::SizeMismatch | ErrorKind::ChecksumMismatch => "damaged",
                ErrorKind::ObjectMissing | ErrorKind::Store | ErrorKind::Io => "unreachable",
                _ => "unverified",
            };
            json!({"run_id": id, "ok": false, "integrity": integrity, "error": error_json(error)})
        }
    }
}

fn ambiguity_json(ambiguity: &Ambiguity) -> Value {
    let mut object = serde_json::Map::new();
    put_bytes(&mut object, "path", &ambiguity.path);
    object.insert("why".into(), ambiguity.why.into());
    Value::Object(object)
}
