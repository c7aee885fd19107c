//! `config`: what is in force, and where it was said.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::ConfigArgs;
use super::context::Context;
use super::output::{Output, Style};
use crate::config::file::DEFAULT;
use crate::config::in_force::InForce;
use crate::config::key::KEYS;
use crate::config::layer::Source;
use crate::error::Result;
use crate::text::{visible, visible_path};
use crate::tui::action::action;
use crate::tui::keymap::Rebound;

/// The longest value that the sources are lined up behind.
const LONG: usize = 48;

/// What stands behind the name of a file that nobody has written.
const MISSING: &str = "not there";

/// `afterrun config`.
pub(super) fn config(context: &Context, args: &ConfigArgs) -> Result<()> {
    let output = context.output();
    if args.default {
        return output.bytes(DEFAULT.as_bytes());
    }
    let file = context.file()?;
    let (in_force, place) = (context.in_force(), context.file_place());
    let profiles: Vec<&str> = file.profiles.iter().map(|one| one.name.as_str()).collect();
    if output.json {
        return output.document(&document(in_force, place, file.path.is_some(), &profiles));
    }
    let mut rows = heading(in_force, place, file.path.is_some(), &profiles);
    for entry in &KEYS {
        let value = in_force.shown(entry.key).unwrap_or_else(|| "-".into());
        let source = told(in_force.values.source(entry.key), place);
        rows.push((entry.name.to_owned(), value, source));
    }
    for change in &in_force.rebound {
        let keys = match keys(change) {
            keys if keys.is_empty() => "no key".into(),
            keys => keys.join(" "),
        };
        rows.push((
            rebound(change),
            keys,
            told(Source::File(change.line), place),
        ));
    }
    print(output, &rows)
}

/// A name, its value, and where that was said.
type Row = (String, String, String);

fn heading(in_force: &InForce, place: Option<&Path>, there: bool, profiles: &[&str]) -> Vec<Row> {
    let file = match place {
        Some(path) => visible_path(path),
        None => "no place: neither XDG_CONFIG_HOME nor HOME is set".into(),
    };
    let missing = if there { "" } else { MISSING };
    let (name, source) = match &in_force.profile {
        Some((name, source)) => (visible(name).into_owned(), told(*source, place)),
        None => ("-".into(), String::new()),
    };
    let names: Vec<_> = profiles.iter().map(|name| visible(name)).collect();
    let names = if names.is_empty() {
        "-".into()
    } else {
        names.join(", ")
    };
    vec![
        ("file".into(), file, missing.into()),
        ("profile".into(), name, source),
        ("profiles".into(), names, String::new()),
    ]
}

fn print(output: &Output, rows: &[Row]) -> Result<()> {
    let width = |text: &str| text.chars().count();
    let names = rows.iter().map(|(name, ..)| width(name)).max();
    let values = rows.iter().map(|(_, value, _)| width(value));
    // One long URL does not push every source off the screen: its own stands below it.
    let values = values.filter(|width| *width <= LONG).max();
    let (names, values) = (names.unwrap_or(0), values.unwrap_or(0));
    for (name, value, source) in rows {
        let long = width(value) > values && !source.is_empty() && source != MISSING;
        let gap = match source.is_empty() || long {
            true => 0,
            false => values.saturating_sub(width(value)) + 2,
        };
        let beside = if long { "" } else { source };
        output.styled(&[
            (Style::Strong, name),
            (Style::Plain, &" ".repeat(names - width(name) + 2)),
            (Style::Plain, value),
            (Style::Dim, &format!("{:gap$}{beside}", "")),
        ])?;
        if long {
            let gap = names + values + 4;
            output.styled(&[(Style::Dim, &format!("{:gap$}{source}", ""))])?;
        }
    }
    Ok(())
}

/// Where a value was said, in a few words.
fn told(source: Source, place: Option<&Path>) -> String {
    match source {
        Source::Default => "default".into(),
        Source::File(line) => {
            let name = place.and_then(Path::file_name).map(Path::new);
            format!("{}:{line}", name.map(visible_path).unwrap_or_default())
        }
        Source::Environment(name) => format!("env {name}"),
        Source::Flag(flag) => format!("flag {flag}"),
    }
}

fn rebound(change: &Rebound) -> String {
    let action = action(change.id);
    format!("keys.{}.{}", action.scope.key(), action.key())
}

fn keys(change: &Rebound) -> Vec<String> {
    change.keys.iter().map(ToString::to_string).collect()
}

fn source_json(source: Source) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    match source {
        Source::Default => put("source", "default".into()),
        Source::File(line) => {
            put("source", "file".into());
            put("line", line.into())
        }
        Source::Environment(name) => {
            put("source", "environment".into());
            put("name", name.into())
        }
        Source::Flag(flag) => {
            put("source", "flag".into());
            put("name", flag.into())
        }
    };
    object
}

fn document(in_force: &InForce, place: Option<&Path>, there: bool, profiles: &[&str]) -> Value {
    let with = |value: Value, source| {
        let mut object = Map::from_iter([("value".to_owned(), value)]);
        object.extend(source_json(source));
        Value::Object(object)
    };
    let values: Map<String, Value> = KEYS
        .iter()
        .map(|entry| {
            let value = in_force.plain(entry.key);
            let source = in_force.values.source(entry.key);
            (entry.name.to_owned(), with(value, source))
        })
        .collect();
    let bound: Map<String, Value> = in_force
        .rebound
        .iter()
        .map(|change| {
            let keys = with(json!(keys(change)), Source::File(change.line));
            (rebound(change), keys)
        })
        .collect();
    let profile = in_force.profile.as_ref();
    json!({
        "file": place.map(visible_path),
        "exists": there,
        "profile": profile.map(|(name, source)| with(json!(name), *source)),
        "profiles": profiles,
        "values": values,
        "keys": bound,
        "warnings": in_force.warnings,
    })
}
