//! `[keys.SCOPE]`: actions by name and the keys that do them. What clashes, and what would leave no
//! way out, is refused with the lines that say so.

use toml::Spanned;
use toml::de::DeValue;

use super::page::Page;
use crate::error::Result;
use crate::text::visible;
use crate::tui::action::{Action, Id, Scope, TABLE, action};
use crate::tui::keymap::{Key, Keymap, Rebound};

/// The actions that `[keys]` gives other keys, above those `below` it.
pub(super) fn rebound<'a>(
    page: &Page<'a>,
    keys: &Spanned<DeValue<'a>>,
    below: &[Rebound],
) -> Result<Vec<Rebound>> {
    let scopes = page.table(keys, "keys", "holds sections such as [keys.content]")?;
    let mut changes = below.to_vec();
    for (name, actions) in scopes {
        let names = Scope::ALL.map(Scope::key);
        let scope = Scope::ALL
            .into_iter()
            .find(|scope| scope.key() == name.get_ref().as_ref());
        let Some(scope) = scope else {
            return Err(page.unknown(name.span().start, "scope", name.get_ref(), names));
        };
        let section = format!("keys.{}", scope.key());
        let actions = page.table(actions, &section, "holds lines such as quit = [\"q\"]")?;
        for (name, keys) in actions {
            let at = name.span().start;
            let action = named(page, at, scope, name.get_ref())?;
            changes.retain(|change| change.id != action.id);
            changes.push(Rebound {
                id: action.id,
                keys: keys_of(page, scope, keys)?,
                line: page.line(at),
            });
        }
    }
    Ok(changes)
}

/// The keymap that `changes` come to.
pub(super) fn keymap(page: &Page<'_>, changes: &[Rebound]) -> Result<Keymap> {
    let map = Keymap::changed(changes).map_err(|clash| {
        let told = |(id, line): (Id, Option<usize>)| {
            let name = action(id).key();
            match line {
                Some(line) => format!("`{name}` (line {line})"),
                None => format!("`{name}` (its own key)"),
            }
        };
        let [first, second] = clash.both;
        let line = second.1.or(first.1).unwrap_or(1);
        let what = format!(
            "`{}` would be both {} and {}",
            clash.key,
            told(first),
            told(second)
        );
        let other = action(first.0);
        page.wrong_at(line, &what).hint(format!(
            "give one of them another key, or none: {} = [] in [keys.{}]",
            other.key(),
            other.scope.key()
        ))
    })?;
    no_dead_end(page, &map, changes)?;
    Ok(map)
}

/// The action called `name`, which has to be one of `scope`.
fn named(page: &Page<'_>, at: usize, scope: Scope, name: &str) -> Result<&'static Action> {
    let found = |wanted: &&Action| wanted.key() == name;
    if let Some(action) = TABLE
        .iter()
        .filter(|action| action.scope == scope)
        .find(found)
    {
        return Ok(action);
    }
    if let Some(other) = TABLE.iter().find(found) {
        let what = format!("`{name}` is no action of [keys.{}]", scope.key());
        return Err(page
            .wrong(at, &what)
            .hint(format!("it belongs in [keys.{}]", other.scope.key())));
    }
    let names: Vec<String> = TABLE
        .iter()
        .filter(|action| action.scope == scope)
        .map(Action::key)
        .collect();
    let what = format!("action of [keys.{}] called", scope.key());
    Err(page.unknown(at, &what, name, names.iter().map(String::as_str)))
}

/// One key, or a list of them.
fn keys_of<'a>(page: &Page<'a>, scope: Scope, value: &Spanned<DeValue<'a>>) -> Result<Vec<Key>> {
    match value.get_ref() {
        DeValue::String(_) => Ok(vec![key(page, scope, value)?]),
        DeValue::Array(list) => list.iter().map(|one| key(page, scope, one)).collect(),
        _ => Err(page.wrong(
            value.span().start,
            "keys are a list, such as [\"]\", \"ctrl-n\"]; [] unbinds",
        )),
    }
}

fn key<'a>(page: &Page<'a>, scope: Scope, value: &Spanned<DeValue<'a>>) -> Result<Key> {
    let at = value.span().start;
    let DeValue::String(text) = value.get_ref() else {
        return Err(page.wrong(at, "a key is text, such as \"ctrl-n\""));
    };
    let shown = visible(text);
    let Some(key) = Key::parse(text) else {
        let error = page.wrong(at, &format!("`{shown}` is no key"));
        return Err(match Key::meant(text) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(
                "a key is a character, or enter, esc, tab, space, up, f1, … with ctrl- or alt- before it",
            ),
        });
    };
    if let Some(sent) = key.sent_as() {
        let what = format!("terminals send `{sent}` for `{shown}`");
        return Err(page.wrong(at, &what).hint(format!("write `{sent}`")));
    }
    if scope == Scope::Prompt && key.is_typed() {
        let what = format!("`{shown}` could not be typed in a prompt any more");
        return Err(page
            .wrong(at, &what)
            .hint("keys of [keys.prompt] need ctrl- or alt-, or a name"));
    }
    Ok(key)
}

/// There is always a way to leave, a prompt too.
fn no_dead_end(page: &Page<'_>, map: &Keymap, changes: &[Rebound]) -> Result<()> {
    for (ids, what) in [
        (&[Id::Quit, Id::Stop][..], "leave"),
        (&[Id::Cancel][..], "leave a prompt"),
        (&[Id::Accept][..], "answer a prompt"),
    ] {
        if ids.iter().any(|id| !map.keys(*id).is_empty()) {
            continue;
        }
        let lines = changes.iter().filter(|change| ids.contains(&change.id));
        let line = lines.map(|change| change.line).max().unwrap_or(1);
        let names: Vec<String> = ids
            .iter()
            .map(|id| format!("`{}`", action(*id).key()))
            .collect();
        let what = format!(
            "without a key for {} there is no way to {what}",
            names.join(" or ")
        );
        return Err(page.wrong_at(line, &what).hint("leave one of them a key"));
    }
    Ok(())
}
