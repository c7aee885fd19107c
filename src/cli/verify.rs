//! `verify`: gate, store and archive, for every run whatever the others say.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::VerifyArgs;
use super::context::Context;
use super::output::{Output, Style, error_json, put_ambiguities};
use super::{exit, target};
use crate::archive::{Ambiguity, Archive, CheckpointArchive};
use crate::checkpoint::{CheckpointRef, SharedStore};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Watch;
use crate::runs::Runs;
use crate::text::{grouped, human_bytes};

/// `afterrun verify`; exits with the first failure's code.
pub(super) async fn verify(context: &Context, args: &VerifyArgs) -> Result<ExitCode> {
    args.archive.refuse_limits_without_archive()?;
    let watch = context.watch();
    let mut results: Vec<Answer> = Vec::new();
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
        results.push(Answer::of_file(opened));
    } else {
        let runs = context.runs().await?;
        // What refuses every run alike is no answer about a run.
        let store = runs.checkpoint_store().await?;
        for word in &args.runs {
            let answer = of_run(context, &runs, &store, word, &watch).await;
            if let Err(error) = &answer.archive
                && error.kind() == ErrorKind::Cancelled
            {
                return Err(Error::cancelled());
            }
            results.push(answer);
        }
    }
    let output = context.output();
    let code = results
        .iter()
        .find_map(|answer| answer.archive.as_ref().err())
        .map_or(ExitCode::SUCCESS, |error| exit::code(error.kind()));
    if output.json {
        let results: Vec<Value> = results.iter().map(Answer::json).collect();
        output.document(&json!({"results": results}))?;
        return Ok(code);
    }
    for answer in &results {
        answer.print(output)?;
    }
    Ok(code)
}

/// Gate, store and archive of the run that `word` stands for.
async fn of_run(
    context: &Context,
    runs: &Runs,
    store: &SharedStore,
    word: &str,
    watch: &Watch,
) -> Answer {
    let id = match target::run_id(runs, word, watch).await {
        Ok(id) => id,
        Err(error) => return Answer::unasked(word.to_owned(), error),
    };
    let passed = runs.pass_gate_watched(&id, &context.opening(), watch).await;
    let reference = match passed {
        Ok((_, reference)) => reference,
        Err(error) => return Answer::unasked(id, error),
    };
    Answer::of_object(id, runs.open_reference(store, &reference, watch).await)
}

/// What became of a run's stored bytes.
#[derive(Clone, Copy)]
enum Integrity {
    /// Size and digest are the reference's.
    Intact,
    /// They are not.
    Damaged,
    /// The store does not hold the object, or does not give it.
    Unreachable,
    /// Nobody compared them: the row names none to compare, or what went wrong was elsewhere.
    Unverified,
}

impl Integrity {
    const fn word(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Damaged => "damaged",
            Self::Unreachable => "unreachable",
            Self::Unverified => "unverified",
        }
    }

    /// Of an object that the gate let pass, whose opening failed with `error`.
    fn after(error: &Error) -> Self {
        use ErrorKind as Kind;
        match error.kind() {
            // Told only once size and digest are right.
            Kind::InvalidArchive => Self::Intact,
            Kind::SizeMismatch | Kind::ChecksumMismatch => Self::Damaged,
            Kind::ObjectMissing | Kind::Store | Kind::Timeout => Self::Unreachable,
            _ => Self::Unverified,
        }
    }
}

/// What is answered for one run, or for a bare archive.
struct Answer {
    run_id: Option<String>,
    integrity: Integrity,
    archive: Result<Verified>,
}

impl Answer {
    /// The store was not asked: what refused the run, or failed before it could be, is `error`.
    fn unasked(run_id: String, error: Error) -> Self {
        Self {
            run_id: Some(run_id),
            integrity: Integrity::Unverified,
            archive: Err(error),
        }
    }

    fn of_object(run_id: String, opened: Result<Archive>) -> Self {
        Self {
            run_id: Some(run_id),
            integrity: opened
                .as_ref()
                .map_or_else(Integrity::after, |_| Integrity::Intact),
            archive: opened.map(|archive| Verified::of(&archive)),
        }
    }

    /// A bare archive has no digest to hold its bytes against.
    fn of_file(opened: Result<Archive>) -> Self {
        Self {
            run_id: None,
            integrity: Integrity::Unverified,
            archive: opened.map(|archive| Verified::of(&archive)),
        }
    }

    fn json(&self) -> Value {
        let mut result = json!({
            "run_id": self.run_id,
            "ok": self.archive.is_ok(),
            "integrity": self.integrity.word(),
        });
        let Some(object) = result.as_object_mut() else {
            return result;
        };
        match &self.archive {
            Ok(archive) => {
                object.insert("checkpoint".into(), json!(archive.reference));
                object.insert("entries".into(), archive.entries.into());
                object.insert("bytes".into(), archive.bytes.into());
                object.insert("state".into(), archive.state.clone());
                if let Some(obstacle) = &archive.obstacle {
                    object.insert("restorable".into(), false.into());
                    object.insert("obstacle".into(), error_json(obstacle));
                }
                put_ambiguities(object, &archive.ambiguities);
            }
            Err(error) => {
                object.insert("error".into(), error_json(error));
            }
        }
        result
    }

    fn print(&self, output: &Output) -> Result<()> {
        let name = self.run_id.as_deref().unwrap_or("archive");
        let word = match (&self.run_id, &self.archive) {
            // By its own rules: there was nothing to compare its bytes with.
            (None, Ok(_)) => "valid",
            _ => self.integrity.word(),
        };
        if let Ok(archive) = &self.archive {
            output.ambiguities(&archive.ambiguities);
        }
        match &self.archive {
            Ok(archive) => output.styled(&[
                (Style::Good, "✔ "),
                (Style::Strong, name),
                (Style::Good, &format!("  {word}")),
                (
                    Style::Plain,
                    &format!(
                        ": {} entries, {}, sha256 {}",
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
            ]),
            Err(error) => {
                let but = match self.integrity {
                    Integrity::Intact => ", but no valid archive",
                    _ => "",
                };
                output.styled(&[
                    (Style::Bad, "✖ "),
                    (Style::Strong, name),
                    (Style::Bad, &format!("  {word}{but}")),
                    (Style::Plain, &format!(": {error}")),
                ])?;
                match error.next_step() {
                    Some(hint) => output.styled(&[(Style::Dim, &format!("  hint: {hint}"))]),
                    None => Ok(()),
                }
            }
        }
    }
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
