//! What counts in the end: defaults, below the file's top, below its profile, below the environment,
//! below options.

use std::path::{Path, PathBuf};

use super::file::ConfigFile;
use super::key::{KEYS, Key, Value};
use super::layer::{Layer, Source};
use super::{Settings, holds_secret, masked};
use crate::error::{Error, ErrorKind, Result};
use crate::runs::Tables;
use crate::text::{grouped, visible, visible_path};
use crate::tui::keymap::{Keymap, Rebound};

/// What options and environment say.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Of each key.
    pub layer: Layer,
    /// Which profile; an empty name is none, whatever the file says.
    pub profile: Option<(String, Source)>,
}

/// The configuration in force.
#[derive(Clone, Debug, Default)]
pub struct InForce {
    /// Every key's value, and where it comes from.
    pub values: Layer,
    /// The profile's name, and where it was named.
    pub profile: Option<(String, Source)>,
    /// Which actions have other keys.
    pub rebound: Vec<Rebound>,
    /// Which keys do what.
    pub keymap: Keymap,
    /// What is not as safe as it should be.
    pub warnings: Vec<String>,
    /// Whether somebody else may have written the file, so that no command in it is run.
    pub written_by_others: bool,
    /// Whether the database in force is named by the part of the file that names the password's
    /// command.
    pub command_is_of_database: bool,
}

impl InForce {
    /// What `said` and `file` come to; `home` is what `~/` means in the file.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when there is no such profile.
    pub fn new(file: &ConfigFile, said: &Said, home: Option<&Path>) -> Result<Self> {
        let default = file.default_profile.as_ref();
        let default = default.map(|(name, line)| (name.clone(), Source::File(*line)));
        let profile = said.profile.clone().or(default);
        let profile = profile.filter(|(name, _)| !name.is_empty());
        let part = match &profile {
            Some((name, source)) => Some(find(file, name, *source)?),
            None => None,
        };
        let mut lower = Layer::defaults().below(&file.top.layer);
        if let Some(part) = part {
            lower = lower.below(&part.layer);
        }
        lower.expand(home);
        let keys = part.unwrap_or(&file.top);
        let in_part = |key| part.is_some_and(|part| part.layer.get(key).is_some());
        let same_part = in_part(Key::Db) == in_part(Key::PasswordCommand);
        let values = lower.below(&said.layer);
        let of_file = matches!(values.source(Key::Db), Source::File(_));
        Ok(Self {
            warnings: warnings(file, &values),
            values,
            command_is_of_database: same_part && of_file,
            profile,
            rebound: keys.rebound.clone(),
            keymap: keys.keymap.clone(),
            written_by_others: file.written_by_others.is_some(),
        })
    }

    /// The names of things, for opening them.
    #[must_use]
    pub fn settings(&self, home: Option<PathBuf>) -> Settings {
        let values = &self.values;
        let text = |key| values.text(key).map(str::to_owned);
        let table = |key| text(key).unwrap_or_default();
        Settings {
            database: text(Key::Db),
            store: text(Key::Store),
            tables: Tables {
                schema: table(Key::Schema),
                sessions: table(Key::SessionsTable),
                runs: table(Key::RunsTable),
            },
            home,
            durable_queue: values.truth(Key::DurableQueue),
            spool: text(Key::Spool).map(PathBuf::from),
            spool_size: values.bytes(Key::SpoolSize),
            cache: text(Key::Cache).map(PathBuf::from),
            cache_size: values.bytes(Key::CacheSize),
            ..Settings::default()
        }
    }

    /// What `key` is set to, safe to show, with every secret masked; `None` for nothing.
    #[must_use]
    pub fn shown(&self, key: Key) -> Option<String> {
        match &self.values.get(key)?.value {
            Value::Nothing => None,
            Value::Text(url) if key.entry().is_place() => Some(masked(url)),
            Value::Text(text) => Some(visible(text).into_owned()),
            // What follows the program may be a secret.
            Value::Words(words) if key == Key::PasswordCommand => {
                let program = words.first().map_or("", String::as_str);
                let rest = if words.len() > 1 { " …" } else { "" };
                Some(format!("{}{rest}", visible(program)))
            }
            Value::Words(words) => Some(visible(&shell_words::join(words)).into_owned()),
            Value::Truth(truth) => Some(truth.to_string()),
            Value::Bytes(0) => Some("0, no limit".into()),
            Value::Bytes(bytes) => Some(in_units(*bytes)),
            Value::Time(time) if time.is_zero() => Some("0, never".into()),
            Value::Time(time) => Some(format!("{} s", time.as_secs_f64())),
        }
    }

    /// The same for JSON: numbers of bytes and seconds, truth, text; null for nothing.
    #[must_use]
    pub fn plain(&self, key: Key) -> serde_json::Value {
        match self.values.get(key).map(|given| &given.value) {
            Some(Value::Truth(truth)) => (*truth).into(),
            Some(Value::Bytes(bytes)) => (*bytes).into(),
            Some(Value::Time(time)) => time.as_secs_f64().into(),
            _ => self.shown(key).into(),
        }
    }
}

fn find<'f>(file: &'f ConfigFile, name: &str, source: Source) -> Result<&'f super::file::Part> {
    file.profile(name)
        .map(|profile| &profile.part)
        .ok_or_else(|| {
            let said = match source {
                Source::Flag(flag) => flag,
                Source::Environment(name) => name,
                Source::Default | Source::File(_) => "default_profile",
            };
            let message = format!("{said}: there is no profile `{}`", visible(name));
            Error::new(ErrorKind::Usage, message).hint(file.meant(name))
        })
}

/// Bytes as they are written in the file, exactly.
fn in_units(bytes: u64) -> String {
    let units = [
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
    ];
    let fits = units.iter().find(|(_, unit)| bytes.is_multiple_of(*unit));
    match fits {
        Some((name, unit)) => format!("{} {name}", bytes / unit),
        None => format!("{} B", grouped(bytes)),
    }
}

/// What others may do to the file, or read in it.
fn warnings(file: &ConfigFile, values: &Layer) -> Vec<String> {
    let Some(path) = file.path.as_deref().map(visible_path) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if let Some(why) = file.written_by_others {
        warnings.push(format!(
            "{path} is not safe: {why}, and it may name commands; chmod go-w, and chown it to yourself"
        ));
    }
    for key in [Key::Db, Key::Store] {
        if let (Source::File(line), Some(url)) = (values.source(key), values.text(key))
            && holds_secret(url)
        {
            warnings.push(format!(
                "{path}:{line} holds a password in a URL; use password_command, ~/.pgpass or PGPASSWORD instead"
            ));
        }
    }
    warnings
}

impl Layer {
    /// Makes paths of what begins with `~/`.
    fn expand(&mut self, home: Option<&Path>) {
        let Some(home) = home.and_then(Path::to_str) else {
            return;
        };
        for entry in KEYS.iter().filter(|entry| entry.is_place()) {
            let below = self
                .text(entry.key)
                .and_then(|text| text.strip_prefix("~/"));
            if let Some(below) = below {
                let path = Value::Text(format!("{}/{below}", home.trim_end_matches('/')));
                let source = self.source(entry.key);
                self.set(entry.key, path, source);
            }
        }
    }
}
