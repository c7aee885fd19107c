//! One key with its modifiers, read from and written in the notation of the table (`ctrl-d`, `G`,
//! `alt-enter`), which people write in their configuration too.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Keys that have names; the first of several for one key is how it is shown.
const NAMED: [(&str, KeyCode); 19] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("shift-tab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("f1", KeyCode::F(1)),
    ("f12", KeyCode::F(12)),
];

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    control: bool,
    alt: bool,
}

impl Key {
    /// Reads the notation.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mut control, mut alt, mut name) = (false, false, text);
        loop {
            if let Some(rest) = name.strip_prefix("ctrl-").filter(|rest| !rest.is_empty()) {
                (control, name) = (true, rest);
            } else if let Some(rest) = name.strip_prefix("alt-").filter(|rest| !rest.is_empty()) {
                (alt, name) = (true, rest);
            } else {
                break;
            }
        }
        let mut letters = name.chars();
        let code = match (letters.next(), letters.next()) {
            (Some(only), None) if control => KeyCode::Char(only.to_ascii_lowercase()),
            (Some(only), None) if !only.is_control() && only != ' ' => KeyCode::Char(only),
            _ => match NAMED.iter().find(|(known, _)| *known == name) {
                Some((_, code)) => *code,
                None => KeyCode::F(name.strip_prefix('f')?.parse().ok().filter(|number| {
                    (1..=12).contains(number) && !name.starts_with("f0") && !name.contains('+')
                })?),
            },
        };
        Some(Self { code, control, alt })
    }

    /// Whether it types a character where text is typed.
    #[must_use]
    pub fn is_typed(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && !self.control && !self.alt
    }

    /// The key that terminals send in its place, where they cannot tell the two apart.
    #[must_use]
    pub fn sent_as(self) -> Option<&'static str> {
        match self.code {
            KeyCode::Char('i') if self.control => Some("tab"),
            KeyCode::Char('m') if self.control => Some("enter"),
            KeyCode::Char('[') if self.control => Some("esc"),
            _ => None,
        }
    }

    /// What may have been meant by `text`, which is no key.
    #[must_use]
    pub fn meant(text: &str) -> Option<String> {
        let lower = text.trim().to_lowercase().replace(['+', '_', ' '], "-");
        let other = lower
            .replace("control-", "ctrl-")
            .replace("c-", "ctrl-")
            .replace("m-", "alt-")
            .replace("ctrl-trl-", "ctrl-");
        if let Some(letter) = other.strip_prefix("shift-")
            && letter.chars().count() == 1
        {
            return Some(letter.to_uppercase());
        }
        let (modifiers, name) = match other.rsplit_once('-') {
            Some((modifiers, name)) => (format!("{modifiers}-"), name),
            None => (String::new(), other.as_str()),
        };
        let name = match name {
            "escape" => "esc",
            "return" | "cr" => "enter",
            "del" => "delete",
            "ins" => "insert",
            "pgup" => "pageup",
            "pgdn" | "pgdown" => "pagedown",
            name if Self::parse(name).is_some() => name,
            name => crate::near::nearest(name, NAMED.iter().map(|(name, _)| *name))?,
        };
        let meant = format!("{modifiers}{name}");
        Self::parse(&meant).map(|_| meant)
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
        let alt = event.modifiers.contains(KeyModifiers::ALT);
        Self { code, control, alt }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.control {
            out.write_str("ctrl-")?;
        }
        if self.alt {
            out.write_str("alt-")?;
        }
        match NAMED.iter().find(|(_, code)| *code == self.code) {
            Some((name, _)) => out.write_str(name),
            None => match self.code {
                KeyCode::Char(letter) => {
                    write!(out, "{}", crate::text::visible(&letter.to_string()))
                }
                KeyCode::F(number) => write!(out, "f{number}"),
                other => write!(out, "{other:?}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_shown() {
        for text in [
            "j",
            "G",
            "ctrl-d",
            "alt-enter",
            "ctrl-alt-x",
            "f12",
            "f7",
            "space",
            "-",
            "ctrl--",
            "delete",
            "ż",
        ] {
            let key = Key::parse(text).unwrap_or_else(|| panic!("{text} is a key"));
            assert_eq!(key.to_string(), text);
        }
        assert_eq!(Key::parse("shift-tab"), Key::parse("backtab"));
        assert_eq!(Key::parse("ctrl-G"), Key::parse("ctrl-g"));
        for text in [
            "", "f0", "f13", "f+1", "f01", "ctrl-", "alt-", "meta-x", "escape", " ",
        ] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_was_meant_is_found() {
        for (text, meant) in [
            ("ctrl+n", "ctrl-n"),
            ("Ctrl-N", "ctrl-n"),
            ("C-n", "ctrl-n"),
            ("M-x", "alt-x"),
            ("Escape", "esc"),
            ("pgdn", "pagedown"),
            ("entr", "enter"),
            ("shift-a", "A"),
            ("F5", "f5"),
        ] {
            assert_eq!(Key::meant(text).as_deref(), Some(meant), "{text}");
        }
        assert_eq!(Key::meant("hyperspace"), None);
    }
}
