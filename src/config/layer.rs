//! What was said where: values that know where they come from, and layers of them of which the upper
//! wins.

use std::collections::BTreeMap;
use std::time::Duration;

use super::key::{Entry, KEYS, Key, Value};
use crate::error::Result;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Nobody said anything.
    #[default]
    Default,
    /// This line of the configuration file, from 1.
    File(usize),
    /// This variable.
    Environment(&'static str),
    /// This option.
    Flag(&'static str),
}

/// A value and where it comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub source: Source,
}

/// What one place says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer(BTreeMap<Key, Given>);

impl Layer {
    /// What every key is where nobody says.
    #[must_use]
    pub fn defaults() -> Self {
        let of = |entry: &Entry| {
            let given = Given {
                value: entry.default(),
                source: Source::Default,
            };
            (entry.key, given)
        };
        Self(KEYS.iter().map(of).collect())
    }

    /// Adds what `text`, an option's or a variable's, says of `key`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) when it means nothing here.
    pub fn say(&mut self, key: Key, text: &str, source: Source) -> Result<()> {
        let name = match source {
            Source::Environment(name) | Source::Flag(name) => name,
            Source::Default | Source::File(_) => key.entry().name,
        };
        let value = key.entry().read(text, name)?;
        self.set(key, value, source);
        Ok(())
    }

    /// Sets `key`.
    pub(super) fn set(&mut self, key: Key, value: Value, source: Source) {
        self.0.insert(key, Given { value, source });
    }

    /// This layer with `upper` above it.
    #[must_use]
    pub fn below(mut self, upper: &Self) -> Self {
        self.0
            .extend(upper.0.iter().map(|(key, given)| (*key, given.clone())));
        self
    }

    /// What is said of `key`, if anything is.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&Given> {
        self.0.get(&key)
    }

    /// The text of `key`, where it has one.
    #[must_use]
    pub fn text(&self, key: Key) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The words of `key`, where it has some.
    #[must_use]
    pub fn words(&self, key: Key) -> Option<&[String]> {
        match &self.get(key)?.value {
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    /// Whether `key` is true.
    #[must_use]
    pub fn truth(&self, key: Key) -> bool {
        matches!(
            self.get(key).map(|given| &given.value),
            Some(Value::Truth(true))
        )
    }

    /// The bytes of `key`; none for 0, which is no limit.
    #[must_use]
    pub fn bytes(&self, key: Key) -> Option<u64> {
        match self.get(key)?.value {
            Value::Bytes(bytes) if bytes > 0 => Some(bytes),
            _ => None,
        }
    }

    /// The time of `key`, zero where there is none.
    #[must_use]
    pub fn time(&self, key: Key) -> Duration {
        match self.get(key).map(|given| &given.value) {
            Some(Value::Time(time)) => *time,
            _ => Duration::ZERO,
        }
    }

    /// Where `key` comes from.
    #[must_use]
    pub fn source(&self, key: Key) -> Source {
        self.get(key).map(|given| given.source).unwrap_or_default()
    }
}
