//! `doctor`: what is configured, reachable and readable, and what to do if not. Each part is looked
//! at, whatever the others say.

mod data;
mod machine;
mod rights;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::context::Context;
use super::exit;
use super::output::{Output, Style};
use crate::error::{Error, Result};

/// What is found of one part.
enum Found {
    /// It is well; more that is worth knowing, a line each.
    Well(String, Vec<String>),
    /// It could not be looked at, and why.
    Skipped(String),
}

impl Found {
    fn well(what: impl Into<String>) -> Result<Self> {
        Ok(Self::Well(what.into(), Vec::new()))
    }

    fn skipped(why: impl Into<String>) -> Result<Self> {
        Ok(Self::Skipped(why.into()))
    }
}

struct Check {
    name: &'static str,
    took: Duration,
    found: Result<Found>,
}

impl Check {
    fn failed_as(&self, error: &Error) -> bool {
        let failure = self.found.as_ref().err();
        failure.is_some_and(|mine| mine.message() == error.message())
    }
}

/// The parts that were looked at.
#[derive(Default)]
struct Checks(Vec<Check>);

impl Checks {
    async fn look(&mut self, name: &'static str, look: impl Future<Output = Result<Found>>) {
        let begun = Instant::now();
        let found = look.await;
        let took = begun.elapsed();
        let found = match found {
            // What is wrong for one reason is told once.
            Err(error) => match self.0.iter().find(|one| one.failed_as(&error)) {
                Some(first) => Found::skipped(told_above(&format!("the {}", first.name))),
                None => Err(error),
            },
            found => found,
        };
        self.0.push(Check { name, took, found });
    }

    /// What the last part failed with.
    fn failure(&self) -> Option<Error> {
        let failure = self.0.last()?.found.as_ref().err();
        failure.map(Error::copy)
    }
}

/// `afterrun doctor`; exits with the first failure's code.
pub(super) async fn doctor(context: &Context) -> Result<ExitCode> {
    let mut checks = Checks::default();
    data::look(context, &mut checks).await;
    machine::look(context, &mut checks).await;
    let Checks(checks) = checks;
    let output = context.output();
    if output.json {
        let list: Vec<Value> = checks.iter().map(document).collect();
        output.document(&json!({"checks": list}))?;
    } else {
        for check in &checks {
            line(output, check)?;
        }
    }
    let failure = checks.iter().find_map(|check| check.found.as_ref().err());
    Ok(failure.map_or(ExitCode::SUCCESS, |error| exit::code(error.kind())))
}

fn line(output: &Output, check: &Check) -> Result<()> {
    let (sign, style, message) = match &check.found {
        Ok(Found::Well(message, _)) => ('✔', Style::Good, message.as_str()),
        Ok(Found::Skipped(why)) => ('–', Style::Dim, why.as_str()),
        Err(error) => ('✖', Style::Bad, error.message()),
    };
    let took = match &check.found {
        Ok(Found::Skipped(_)) => String::new(),
        _ => format!("  {}", time(check.took)),
    };
    output.styled(&[
        (style, &format!("{sign} {:<14}", check.name)),
        (Style::Plain, message),
        (Style::Dim, &took),
    ])?;
    let below = |text: &str| output.styled(&[(Style::Dim, &format!("  {:<14}{text}", ""))]);
    match &check.found {
        Ok(Found::Well(_, notes)) => notes.iter().try_for_each(|note| below(note)),
        Ok(Found::Skipped(_)) => Ok(()),
        Err(error) => error.next_step().map_or(Ok(()), below),
    }
}

fn time(took: Duration) -> String {
    match took.as_millis() {
        0 => format!("{:.1} ms", took.as_secs_f64() * 1000.0),
        1..1000 => format!("{} ms", took.as_millis()),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}

fn document(check: &Check) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("name", check.name.into());
    put("ok", check.found.is_ok().into());
    let status = match &check.found {
        Ok(Found::Well(..)) => "ok",
        Ok(Found::Skipped(_)) => "skipped",
        Err(_) => "problem",
    };
    put("status", status.into());
    put("ms", (check.took.as_micros() as f64 / 1000.0).into());
    match &check.found {
        Ok(Found::Well(message, notes)) => {
            put("message", message.as_str().into());
            put("notes", json!(notes));
        }
        Ok(Found::Skipped(why)) => {
            put("message", why.as_str().into());
        }
        Err(error) => {
            put("kind", error.kind().as_str().into());
            put("message", error.message().into());
            put("hint", json!(error.next_step()));
        }
    }
    Value::Object(object)
}

/// Why a part is not looked at that needs `what`.
fn told_above(what: &str) -> String {
    format!("not looked at: what is wrong with {what} is told above")
}
