//! From a key press to an action, and from an action to the keys that are shown for it. A pane's own
//! keys come before those that count everywhere; the tests refuse tables in which that ever matters.

use std::collections::HashMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Id, Scope, TABLE};

/// A key with its modifiers, as the table writes it (`ctrl-d`, `G`, `enter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    control: bool,
}

impl Key {
    /// Reads the table's notation.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (control, name) = match text.strip_prefix("ctrl-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut letters = name.chars();
        let code = match (letters.next(), letters.next()) {
            (Some(only), None) => KeyCode::Char(only),
            _ => match name {
                "enter" => KeyCode::Enter,
                "esc" => KeyCode::Esc,
                "tab" => KeyCode::Tab,
                "backtab" => KeyCode::BackTab,
                "space" => KeyCode::Char(' '),
                "up" => KeyCode::Up,
                "down" => KeyCode::Down,
                "left" => KeyCode::Left,
                "right" => KeyCode::Right,
                "home" => KeyCode::Home,
                "end" => KeyCode::End,
                "pageup" => KeyCode::PageUp,
                "pagedown" => KeyCode::PageDown,
                "f1" => KeyCode::F(1),
                _ => return None,
            },
        };
        Some(Self { code, control })
    }
}

impl From<&KeyEvent> for Key {
    fn from(event: &KeyEvent) -> Self {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        let code = match event.code {
            // Terminals differ in whether they send the letter of a control key in upper case.
            KeyCode::Char(letter) if control => KeyCode::Char(letter.to_ascii_lowercase()),
            code => code,
        };
        Self { code, control }
    }
}

/// Which keys do what.
#[derive(Clone, Debug)]
pub struct Keymap {
    bound: HashMap<(Scope, Key), Id>,
}

impl Default for Keymap {
    fn default() -> Self {
        let mut bound = HashMap::new();
        for action in TABLE {
            for key in action.keys.iter().filter_map(|key| Key::parse(key)) {
                bound.entry((action.scope, key)).or_insert(action.id);
            }
        }
        Self { bound }
    }
}

impl Keymap {
    /// What `event` does in `scope`. A prompt takes no keys from outside it.
    #[must_use]
    pub fn lookup(&self, scope: Scope, event: &KeyEvent) -> Option<Id> {
        if event.modifiers.contains(KeyModifiers::ALT) {
            return None;
        }
        let key = Key::from(event);
        let own = self.bound.get(&(scope, key));
        let everywhere = || self.bound.get(&(Scope::Everywhere, key));
        match scope {
            Scope::Prompt => own.copied(),
            _ => own.or_else(everywhere).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        let mut seen: HashMap<(Scope, Key), Id> = HashMap::new();
        for action in TABLE {
            assert!(!action.keys.is_empty(), "{:?} has no key", action.id);
            for name in action.keys {
                let key = Key::parse(name).unwrap_or_else(|| panic!("{name} is no key"));
                let mut taken_in = vec![action.scope];
                match action.scope {
                    Scope::Prompt => {}
                    Scope::Everywhere => {
                        taken_in.extend([Scope::Runs, Scope::Files, Scope::Content]);
                    }
                    _ => taken_in.push(Scope::Everywhere),
                }
                for scope in taken_in {
                    if let Some(other) = seen.get(&(scope, key)) {
                        panic!("{name} is both {other:?} and {:?} in {scope:?}", action.id);
                    }
                }
                seen.insert((action.scope, key), action.id);
            }
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
}
