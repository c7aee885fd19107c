//! The keys of a configuration: what each is called in the file, the environment and on the command
//! line, what it holds, and what it is where nobody says.

use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::page::{Page, meant};
use crate::error::{Error, ErrorKind, Result};
use crate::text::visible;
use crate::tui::theme::Choice;

/// One key, at the top of the file or in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The database.
    Db,
    /// The checkpoint store.
    Store,
    /// The agent that runs are opened as.
    As,
    /// The schema of Agno's tables.
    Schema,
    /// The sessions table.
    SessionsTable,
    /// The runs table.
    RunsTable,
    /// Whether a durable queue serves the agents.
    DurableQueue,
    /// What prints the database's password.
    PasswordCommand,
    /// The folder for private files.
    Spool,
    /// The most bytes in it at a time.
    SpoolSize,
    /// The folder where downloaded objects are kept.
    Cache,
    /// The most bytes in it.
    CacheSize,
    /// How often the list refreshes itself.
    Refresh,
    /// The colours.
    Theme,
    /// Whether ASCII alone is drawn.
    Ascii,
    /// Whether it is drawn for a screen reader.
    Linear,
    /// Whether the mouse is reported.
    Mouse,
    /// The editor.
    Editor,
}

/// What a key is called, and what it holds.
#[derive(Debug)]
pub struct Entry {
    /// Which key.
    pub key: Key,
    /// Its name in the file.
    pub name: &'static str,
    /// The variable that says it, too.
    pub environment: Option<&'static str>,
    /// The option that says it, too.
    pub flag: Option<&'static str>,
    kind: Kind,
    default: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A URL or a path.
    Place,
    Text,
    /// A text that cannot be empty.
    Name,
    Words,
    Truth,
    Bytes,
    Seconds,
    Theme,
}

/// Every key, in the order in which they are shown.
pub const KEYS: [Entry; 18] = [
    key(Key::Db, "db", Kind::Place, "").said("AFTERRUN_DB", "--db"),
    key(Key::Store, "store", Kind::Place, "").said("AFTERRUN_STORE", "--store"),
    key(Key::As, "as", Kind::Text, "").said("AFTERRUN_AS", "--as"),
    key(Key::Schema, "schema", Kind::Name, "ai").said("AFTERRUN_SCHEMA", "--schema"),
    key(
        Key::SessionsTable,
        "sessions_table",
        Kind::Name,
        "agno_sessions",
    )
    .said("AFTERRUN_SESSIONS_TABLE", "--sessions-table"),
    key(Key::RunsTable, "runs_table", Kind::Name, "agno_runs")
        .said("AFTERRUN_RUNS_TABLE", "--runs-table"),
    key(Key::DurableQueue, "durable_queue", Kind::Truth, "false"),
    key(Key::PasswordCommand, "password_command", Kind::Words, ""),
    key(Key::Spool, "spool", Kind::Place, "").said("AFTERRUN_SPOOL", "--spool"),
    key(Key::SpoolSize, "spool_size", Kind::Bytes, "0").said("AFTERRUN_SPOOL_SIZE", "--spool-size"),
    key(Key::Cache, "cache", Kind::Place, ""),
    key(Key::CacheSize, "cache_size", Kind::Bytes, "4 GiB"),
    key(Key::Refresh, "refresh", Kind::Seconds, "2").said("AFTERRUN_REFRESH", "--refresh"),
    key(Key::Theme, "theme", Kind::Theme, "auto").said("AFTERRUN_THEME", "--theme"),
    key(Key::Ascii, "ascii", Kind::Truth, "false").said("AFTERRUN_ASCII", "--ascii"),
    key(Key::Linear, "linear", Kind::Truth, "false").said("AFTERRUN_LINEAR", "--linear"),
    key(Key::Mouse, "mouse", Kind::Truth, "true"),
    key(Key::Editor, "editor", Kind::Words, ""),
];

const fn key(key: Key, name: &'static str, kind: Kind, default: &'static str) -> Entry {
    Entry {
        key,
        name,
        environment: None,
        flag: None,
        kind,
        default,
    }
}

impl Entry {
    const fn said(mut self, environment: &'static str, flag: &'static str) -> Self {
        self.environment = Some(environment);
        self.flag = Some(flag);
        self
    }

    /// What it is where nobody says.
    #[must_use]
    pub fn default(&self) -> Value {
        self.kind.read(self.default).unwrap_or_default()
    }

    /// What `text` of an option or a variable means, which `said` names.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it means nothing here.
    pub fn read(&self, text: &str, said: &str) -> Result<Value> {
        self.kind.read(text).map_err(|wrong| {
            let what = match self.kind {
                Kind::Theme => format!("{said}: {}", wrong.what),
                _ => format!("{said} {}", wrong.what),
            };
            wrong.hint(Error::new(ErrorKind::Usage, what))
        })
    }

    /// What the file says of it.
    pub(super) fn written<'a>(
        &self,
        page: &Page<'a>,
        value: &Spanned<DeValue<'a>>,
    ) -> Result<Value> {
        let at = value.span().start;
        let text = match (value.get_ref(), self.kind) {
            (DeValue::Boolean(truth), Kind::Truth) => return Ok(Value::Truth(*truth)),
            (DeValue::Integer(number), Kind::Bytes | Kind::Seconds) => number.as_str(),
            (DeValue::Float(number), Kind::Seconds) => number.as_str(),
            (DeValue::String(text), kind) if !matches!(kind, Kind::Truth | Kind::Seconds) => text,
            _ => return Err(page.wrong(at, &format!("`{}` {}", self.name, self.holds()))),
        };
        self.kind.read(text).map_err(|wrong| {
            let what = match self.kind {
                Kind::Theme => wrong.what.clone(),
                _ => format!("`{}` {}", self.name, wrong.what),
            };
            wrong.hint(page.wrong(at, &what))
        })
    }

    fn holds(&self) -> String {
        let name = self.name;
        match self.kind {
            Kind::Place | Kind::Text | Kind::Name => format!("is text, such as {name} = \"…\""),
            Kind::Words => format!("is a command as text, such as {name} = \"…\""),
            Kind::Truth => "is true or false".into(),
            Kind::Bytes => format!("is a size, such as {name} = \"2 GiB\""),
            Kind::Seconds => format!("is a number of seconds, such as {name} = 2"),
            Kind::Theme => format!("is text, such as {name} = \"dark\""),
        }
    }

    /// Whether `~/` at its beginning is the home directory.
    pub(super) fn is_place(&self) -> bool {
        matches!(self.kind, Kind::Place)
    }
}

impl Key {
    /// What it is called.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        // Every key has one, which a test holds true.
        KEYS.iter()
            .find(|entry| entry.key == self)
            .unwrap_or(&KEYS[0])
    }
}

/// What a key is set to. Empty text sets it to nothing, also where something else said more.
#[derive(Clone, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Nothing,
    /// A text.
    Text(String),
    /// A command in words, as a shell would part them; no shell ever sees it.
    Words(Vec<String>),
    /// Yes or no.
    Truth(bool),
    /// A number of bytes.
    Bytes(u64),
    /// A time.
    Time(Duration),
}

/// A URL may hold a password, and a command anything.
impl std::fmt::Debug for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => out.write_str("Nothing"),
            Self::Text(text) => write!(out, "Text({:?})", super::masked(text)),
            Self::Words(words) => write!(out, "Words({})", words.len()),
            Self::Truth(truth) => write!(out, "Truth({truth})"),
            Self::Bytes(bytes) => write!(out, "Bytes({bytes})"),
            Self::Time(time) => write!(out, "Time({time:?})"),
        }
    }
}

/// What is wrong with a value.
struct Wrong {
    what: String,
    hint: Option<String>,
}

impl Wrong {
    fn hint(self, error: Error) -> Error {
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

fn wrong<T>(what: impl Into<String>) -> std::result::Result<T, Wrong> {
    Err(Wrong {
        what: what.into(),
        hint: None,
    })
}

impl Kind {
    fn read(self, text: &str) -> std::result::Result<Value, Wrong> {
        if text.is_empty() {
            return match self {
                Self::Name => wrong("is empty"),
                _ => Ok(Value::Nothing),
            };
        }
        if text.contains('\0') {
            return wrong("holds a zero byte");
        }
        match self {
            Self::Place | Self::Text | Self::Name => Ok(Value::Text(text.to_owned())),
            Self::Words => match shell_words::split(text) {
                Ok(words) if !words.is_empty() => Ok(Value::Words(words)),
                Ok(_) => wrong("is empty"),
                Err(_) => wrong("has a quote that is not closed"),
            },
            Self::Truth => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" | "y" | "t" => Ok(Value::Truth(true)),
                "false" | "no" | "off" | "0" | "n" | "f" => Ok(Value::Truth(false)),
                _ => wrong("is true or false"),
            },
            Self::Bytes => match bytes(text) {
                Some(bytes) => Ok(Value::Bytes(bytes)),
                None => wrong("is a size, such as 2 GiB, or 0 for no limit"),
            },
            Self::Seconds => match text.parse::<f64>().map(Duration::try_from_secs_f64) {
                Ok(Ok(time)) if time <= LONGEST && (time.is_zero() || time >= SHORTEST) => {
                    Ok(Value::Time(time))
                }
                _ => wrong("is a number of seconds from 0.1 to 86400, or 0 for never"),
            },
            Self::Theme => theme(text),
        }
    }
}

/// More often would be at the cost of the database.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(86_400);

fn theme(name: &str) -> std::result::Result<Value, Wrong> {
    let names = Choice::ALL.map(|(name, _)| name);
    if names.contains(&name) {
        return Ok(Value::Text(name.to_owned()));
    }
    Err(Wrong {
        what: format!("there is no theme `{}`", visible(name)),
        hint: Some(meant(name, names)),
    })
}

/// `2 GiB`, `500MB`, `1048576`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1000_u64.pow(2),
        "GB" => 1000_u64.pow(3),
        "TB" => 1000_u64.pow(4),
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_entry() {
        for entry in &KEYS {
            assert_eq!(entry.key.entry().name, entry.name);
            assert_eq!(entry.kind.read(entry.default).ok(), Some(entry.default()));
            let flag = entry.flag.map(|flag| flag[2..].replace('-', "_"));
            assert!(flag.is_none_or(|flag| flag == entry.name));
            let variable = format!("AFTERRUN_{}", entry.name.to_uppercase());
            assert!(entry.environment.is_none_or(|name| name == variable));
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, size) in [
            ("0", Some(0)),
            ("1048576", Some(1 << 20)),
            ("2 GiB", Some(2 << 30)),
            ("500MB", Some(500_000_000)),
            ("3 kB", Some(3000)),
            ("-1", None),
            ("1.5 GiB", None),
            ("GiB", None),
            ("99999999999 TiB", None),
            ("1 gigabyte", None),
        ] {
            assert_eq!(bytes(text), size, "{text}");
        }
    }

    #[test]
    fn times_are_bounded() {
        let read = |text: &str| Key::Refresh.entry().read(text, "--refresh");
        let time = |text: &str| read(text).expect("a time");
        assert_eq!(time("0"), Value::Time(Duration::ZERO));
        assert_eq!(time("0.5"), Value::Time(Duration::from_millis(500)));
        for text in ["-1", "nan", "inf", "1e300", "0.001", "soon", "90000"] {
            let error = read(text).expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.message().starts_with("--refresh is a number"));
        }
    }
}
