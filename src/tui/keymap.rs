//! From a key press to an action, and from an action to the keys that are shown for it: the table's,
//! or those of the configuration. A pane's own keys come before those that count everywhere; a
//! keymap in which that would matter is refused.

use std::collections::HashMap;

use crossterm::event::KeyEvent;

use super::action::{Id, Scope, TABLE, action};
pub use super::key::Key;

/// An action's keys, in place of the table's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebound {
    /// Which action.
    pub id: Id,
    /// Its keys; none unbinds it.
    pub keys: Vec<Key>,
    /// Where that is written.
    pub line: usize,
}

/// One key that would mean two things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The key.
    pub key: Key,
    /// Both actions, the one written later last, with the line where each got the key; no line where
    /// it is the table's.
    pub both: [(Id, Option<usize>); 2],
}

/// Which keys do what.
#[derive(Clone, Debug)]
pub struct Keymap {
    bound: HashMap<(Scope, Key), Id>,
    keys: HashMap<Id, Vec<String>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let mut map = Self {
            bound: HashMap::new(),
            keys: HashMap::new(),
        };
        for action in TABLE {
            let keys = action.keys.iter().filter_map(|key| Key::parse(key));
            map.bind(action.id, keys);
        }
        map
    }
}

impl Keymap {
    /// The table's keys, but for the actions of `changes`.
    ///
    /// # Errors
    /// A key that would mean two things where both count.
    pub fn changed(changes: &[Rebound]) -> Result<Self, Clash> {
        let mut map = Self {
            bound: HashMap::new(),
            keys: HashMap::new(),
        };
        let mut taken: HashMap<(Scope, Key), (Id, Option<usize>)> = HashMap::new();
        for action in TABLE {
            let change = changes.iter().rfind(|change| change.id == action.id);
            let line = change.map(|change| change.line);
            let keys: Vec<Key> = match change {
                Some(change) => change.keys.clone(),
                None => action
                    .keys
                    .iter()
                    .filter_map(|key| Key::parse(key))
                    .collect(),
            };
            for key in &keys {
                for scope in beside(action.scope) {
                    let other = taken.get(&(*scope, *key));
                    if let Some(other) = other.filter(|other| other.0 != action.id) {
                        let mut both = [*other, (action.id, line)];
                        both.sort_by_key(|(_, line)| *line);
                        return Err(Clash { key: *key, both });
                    }
                }
                taken.insert((action.scope, *key), (action.id, line));
            }
            map.bind(action.id, keys.into_iter());
        }
        Ok(map)
    }

    fn bind(&mut self, id: Id, keys: impl Iterator<Item = Key>) {
        let shown = self.keys.entry(id).or_default();
        for key in keys {
            let name = key.to_string();
            if !shown.contains(&name) {
                shown.push(name);
            }
            self.bound.entry((action(id).scope, key)).or_insert(id);
        }
    }

    /// What `event` does in `scope`. A prompt takes no keys from outside it.
    #[must_use]
    pub fn lookup(&self, scope: Scope, event: &KeyEvent) -> Option<Id> {
        let key = Key::from(event);
        let own = self.bound.get(&(scope, key));
        let everywhere = || self.bound.get(&(Scope::Everywhere, key));
        match scope {
            Scope::Prompt => own.copied(),
            _ => own.or_else(everywhere).copied(),
        }
    }

    /// What `event` does in another pane than that of `scope`, and in which.
    #[must_use]
    pub fn elsewhere(&self, scope: Scope, event: &KeyEvent) -> Option<(Scope, Id)> {
        let key = Key::from(event);
        let panes = [Scope::Runs, Scope::Files, Scope::Content];
        let others = panes.into_iter().filter(|pane| *pane != scope);
        others
            .filter_map(|pane| Some((pane, *self.bound.get(&(pane, key))?)))
            .next()
    }

    /// The keys of `id`, the one to show first; none where it is unbound.
    #[must_use]
    pub fn keys(&self, id: Id) -> &[String] {
        self.keys.get(&id).map_or(&[], Vec::as_slice)
    }

    /// How to do `id`, for a sentence: its first key, else its name for the palette.
    #[must_use]
    pub fn how(&self, id: Id) -> String {
        match self.keys(id).first() {
            Some(key) => key.clone(),
            None => format!(":{}", action(id).name),
        }
    }
}

/// Where a key of `scope` would be taken for another's.
fn beside(scope: Scope) -> &'static [Scope] {
    match scope {
        Scope::Everywhere => &[Scope::Everywhere, Scope::Runs, Scope::Files, Scope::Content],
        Scope::Runs => &[Scope::Runs, Scope::Everywhere],
        Scope::Files => &[Scope::Files, Scope::Everywhere],
        Scope::Content => &[Scope::Content, Scope::Everywhere],
        Scope::Prompt => &[Scope::Prompt],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode, KeyModifiers};

    #[test]
    fn no_key_means_two_things() {
        for action in TABLE {
            assert!(!action.keys.is_empty(), "{:?} has no key", action.id);
            for name in action.keys {
                assert!(Key::parse(name).is_some(), "{name} is no key");
            }
        }
        if let Err(clash) = Keymap::changed(&[]) {
            panic!("{} is both {:?}", clash.key, clash.both);
        }
    }

    #[test]
    fn every_action_stands_in_the_table_once() {
        for (index, action) in TABLE.iter().enumerate() {
            let twin = TABLE[..index].iter().find(|other| other.id == action.id);
            assert!(twin.is_none(), "{:?} stands there twice", action.id);
        }
    }

    #[test]
    fn a_prompt_takes_letters_as_text() {
        let keys = Keymap::default();
        let q = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        assert_eq!(keys.lookup(Scope::Runs, &q), Some(Id::Quit));
        assert_eq!(keys.lookup(Scope::Prompt, &q), None);
    }

    #[test]
    fn an_action_without_keys_is_told_by_its_name() {
        let unbound = Rebound {
            id: Id::Restore,
            keys: Vec::new(),
            line: 1,
        };
        let keys = Keymap::changed(&[unbound]).expect("no clash");
        assert_eq!(keys.how(Id::Restore), ":restore");
        assert_eq!(keys.how(Id::Patch), "p");
    }
}
