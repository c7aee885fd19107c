//! How many colours a terminal has, on which ground, and what a person may say about it. Both are read
//! from an environment, given as a function, so that tests need none of their own.

use std::str::FromStr;

/// How many colours there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// None at all.
    None,
    /// The terminal's own 16.
    #[default]
    Sixteen,
    /// 256.
    Many,
    /// Any.
    True,
}

impl Depth {
    /// What `environment` says: `NO_COLOR`, `CLICOLOR`, then what the terminal is.
    #[must_use]
    pub fn of(environment: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        if set("NO_COLOR").is_some() || set("CLICOLOR").is_some_and(|value| value == "0") {
            return Self::None;
        }
        Self::of_terminal(environment)
    }

    /// What the terminal is able to: `COLORTERM` and `TERM`.
    #[must_use]
    pub fn of_terminal(environment: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        let Some(term) = set("TERM").filter(|term| term != "dumb") else {
            return Self::None;
        };
        if ["vt1", "vt2"].iter().any(|old| term.starts_with(old)) || term.ends_with("-mono") {
            return Self::None;
        }
        if term == "linux" {
            return Self::Sixteen;
        }
        let direct = term.ends_with("-direct")
            || set("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        // GNU screen passes COLORTERM of the terminal around it on, and not its colours.
        if direct && set("STY").is_none() {
            return Self::True;
        }
        if direct || term.contains("256color") {
            return Self::Many;
        }
        Self::Sixteen
    }
}

/// What the colours stand on; the background itself is always the terminal's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// Nobody says.
    #[default]
    Unknown,
    /// Light text on dark.
    Dark,
    /// Dark text on light.
    Light,
}

impl Ground {
    /// What `COLORFGBG` says: the last of its numbers is the background.
    #[must_use]
    pub fn of(environment: impl Fn(&str) -> Option<String>) -> Self {
        let said = environment("COLORFGBG");
        let last = said.as_deref().and_then(|said| said.rsplit(';').next());
        match last.and_then(|last| last.parse::<u8>().ok()) {
            Some(0..=6 | 8) => Self::Dark,
            Some(7 | 9..=15) => Self::Light,
            _ => Self::Unknown,
        }
    }
}

/// Which colours a person wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// What the environment says.
    #[default]
    Auto,
    /// Those for a dark ground.
    Dark,
    /// Those for a light ground.
    Light,
    /// The terminal's own 16.
    Sixteen,
    /// None.
    None,
}

impl Choice {
    /// All of them, by the name that is typed.
    pub const ALL: [(&'static str, Self); 5] = [
        ("auto", Self::Auto),
        ("dark", Self::Dark),
        ("light", Self::Light),
        ("16", Self::Sixteen),
        ("none", Self::None),
    ];

    /// The colours and the ground. What is said wins over `NO_COLOR`, and never over the terminal.
    #[must_use]
    pub fn resolve(self, environment: impl Fn(&str) -> Option<String>) -> (Depth, Ground) {
        let able = Depth::of_terminal(&environment);
        match self {
            Self::Auto => (Depth::of(&environment), Ground::of(&environment)),
            Self::Dark => (able, Ground::Dark),
            Self::Light => (able, Ground::Light),
            Self::Sixteen if able == Depth::None => (Depth::None, Ground::Unknown),
            Self::Sixteen => (Depth::Sixteen, Ground::Unknown),
            Self::None => (Depth::None, Ground::Unknown),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("a theme is one of {}", names.join(", "))
        })
    }
}
