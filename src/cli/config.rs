//! `config`: what is in force, and where it was said.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::ConfigArgs;
use super::context::Context;
use super::output::Style;
use crate::config::file::DEFAULT;
use crate::config::in_force::InForce;
use crate::config::key::KEYS;
use crate::config::layer::Source;
use crate::error::Result;
use crate::text::{visible, visible_path};
use crate::tui::action::action;
use crate::tui::keymap::Rebound;

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
    let line = |name: &str, value: &str, source: &str| {
        output.styled(&[
            (Style::Strong, &format!("{name:<17} ")),
            (Style::Plain, value),
            (Style::Dim, &format!("  {source}")),
        ])
    };
    let shown = match place {
        Some(path) => visible_path(path),
        None => "no place: neither XDG_CONFIG_HOME nor HOME is set".into(),
    };
    let there = if file.path.is_some() { "" } else { "not there" };
    line("file", &shown, there)?;
    let (name, source) = match &in_force.profile {
        Some((name, source)) => (visible(name).into_owned(), told(*source, place)),
        None => ("none".into(), String::new()),
    };
    line("profile", &name, &source)?;
    if !profiles.is_empty() {
        let names: Vec<_> = profiles.iter().map(|name| visible(name)).collect();
        line("profiles", &names.join(", "), "")?;
    }
    for entry in &KEYS {
        let value = in_force.shown(entry.key);
        let source = told(in_force.values.source(entry.key), place);
        line(entry.name, value.as_deref().unwrap_or("-"), &source)?;
    }
    for change in &in_force.rebound {
        let keys = keys(change);
        let keys = if keys.is_empty() {
            "no key".into()
        } else {
            keys.join(" ")
        };
        line(
            &rebound(change),
            &keys,
            &told(Source::File(change.line), place),
        )?;
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
        Source::Environment(name) => name.into(),
        Source::Flag(flag) => flag.into(),
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
