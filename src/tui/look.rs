//! How the interface looks, and what it may send to the terminal: from flags and environment alone.

use super::theme::{Choice, Depth, Theme};

/// What a person said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The colours; `None` where nobody said.
    pub theme: Option<Choice>,
    /// ASCII only.
    pub ascii: bool,
    /// On the main screen, not the alternate one.
    pub main_screen: bool,
    /// One pane, words for signs: for a screen reader.
    pub linear: bool,
}

/// What stands between us and the terminal, and has to be told to pass something on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// Nothing, or something that needs no telling.
    #[default]
    Nothing,
    /// tmux.
    Tmux,
    /// GNU screen.
    Screen,
}

/// What is sent to this terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The colours.
    pub theme: Theme,
    /// Whether what is drawn is reduced to ASCII.
    pub ascii: bool,
    /// Whether the alternate screen is used.
    pub alternate: bool,
    /// Whether the mouse, pastes and the focus are reported.
    pub reports: bool,
    /// Whether a frame is marked as one.
    pub synchronized: bool,
    /// Whether the clipboard and notifications are written to.
    pub commands: bool,
    /// What has to pass those on.
    pub between: Between,
}

impl Manner {
    /// What `look` comes to in `environment`.
    #[must_use]
    pub fn of(look: &Look, environment: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        let term = set("TERM");
        // Without a name it is not known to understand anything.
        let dumb = term.as_deref().is_none_or(|term| term == "dumb");
        let console = term.as_deref() == Some("linux");
        let (depth, ground) = look.theme.unwrap_or_default().resolve(&environment);
        Self {
            theme: Theme {
                depth: if dumb { Depth::None } else { depth },
                ground,
                words: look.linear,
            },
            ascii: look.ascii || dumb || !is_utf8(&environment),
            alternate: !look.main_screen && !dumb,
            reports: !dumb,
            synchronized: !dumb && !console,
            commands: !dumb && !console,
            between: if set("TMUX").is_some() {
                Between::Tmux
            } else if set("STY").is_some() {
                Between::Screen
            } else {
                Between::Nothing
            },
        }
    }
}

/// Whether the locale's characters are UTF-8, as POSIX finds it: the first of these that is not empty.
fn is_utf8(environment: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| environment(name).filter(|value| !value.is_empty()));
    let Some(locale) = locale else { return false };
    // On macOS it may be the name of the characters and no more.
    let charset = locale.split_once('.').map_or(&*locale, |(_, rest)| rest);
    let charset = charset.split('@').next().unwrap_or_default();
    charset.replace('-', "").eq_ignore_ascii_case("utf8")
}
