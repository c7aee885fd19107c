//! What is given about a database, by whichever way: the URL goes before the service file, that
//! before `PG*` variables.

use std::collections::BTreeMap;

use super::parameter::{self, Origin, PARAMETERS, Role, misvalued, wrong};
use super::surroundings::Surroundings;
use super::{keywords, service, url};
use crate::error::{Error, Result};

/// Every parameter that has a value, and where that was given. An empty value counts as none.
#[derive(Default)]
pub(super) struct Given {
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Given {
    /// What `text`, a URL or keywords, and the surroundings say.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for what cannot be understood,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for what cannot be kept.
    pub(super) fn collect(text: &str, around: &Surroundings) -> Result<Self> {
        let named = if url::is_url(text) {
            url::parse(text)?
        } else if keywords::is_keywords(text) {
            url::Url {
                pairs: keywords::parse(text)?,
                sqlalchemy: false,
            }
        } else {
            return Err(wrong("This names no PostgreSQL database")
                .hint("write postgresql://user@host:port/database, or host=… dbname=…"));
        };
        let mut given = Self::default();
        // Of a parameter that is named twice the last counts, as in libpq.
        for (name, value) in named.pairs.into_iter().rev() {
            given.add(&name, value, &Origin::Named, named.sqlalchemy)?;
        }
        given.service(around)?;
        for known in PARAMETERS {
            if let Some(variable) = known.variable
                && let Some(value) = around.variable(variable)
            {
                let origin = Origin::Variable(variable);
                given.add(known.name, value.to_owned(), &origin, false)?;
            }
        }
        Ok(given)
    }

    fn service(&mut self, around: &Surroundings) -> Result<()> {
        let either = |name| match self.values.get(name) {
            Some((value, _)) => Some(value.as_str()),
            None => parameter::named(name)
                .and_then(|known| known.variable)
                .and_then(|variable| around.variable(variable)),
        };
        let Some(name) = either("service") else {
            return Ok(());
        };
        let (pairs, path) = service::find(name, either("servicefile"), around)?;
        let origin = Origin::Service(path);
        for (name, value) in pairs {
            self.add(&name, value, &origin, false)?;
        }
        Ok(())
    }

    /// Takes a value in, unless a nearer one is there.
    fn add(&mut self, name: &str, value: String, origin: &Origin, sqlalchemy: bool) -> Result<()> {
        let Some(known) = parameter::named(name) else {
            if sqlalchemy && parameter::is_of_a_driver(name) {
                return Ok(());
            }
            return Err(parameter::unknown(name, origin));
        };
        match known.role {
            Role::Idle => Ok(()),
            Role::Demanding if value.is_empty() => Ok(()),
            Role::Demanding => Err(parameter::demanding(name, origin)),
            Role::Used => {
                if !value.is_empty() {
                    let value = (value, origin.clone());
                    self.values.entry(known.name).or_insert(value);
                }
                Ok(())
            }
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.as_str())
    }

    pub(super) fn with_origin(&self, name: &str) -> Option<(&str, &Origin)> {
        let value = self.values.get(name);
        value.map(|(value, origin)| (value.as_str(), origin))
    }

    /// The whole number that `name` has.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>> {
        let Some((value, origin)) = self.with_origin(name) else {
            return Ok(None);
        };
        parameter::number(name, value, origin).map(Some)
    }

    /// The one of `values` that `name` has.
    pub(super) fn choice<T: Copy>(&self, name: &str, values: &[(&str, T)]) -> Result<Option<T>> {
        let Some((value, origin)) = self.with_origin(name) else {
            return Ok(None);
        };
        match values.iter().find(|(known, _)| *known == value) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let names: Vec<&str> = values.iter().map(|(known, _)| *known).collect();
                Err(misvalued(name, value, origin, &names))
            }
        }
    }

    /// Refuses the value of `name`.
    pub(super) fn refused(&self, name: &str, why: &str) -> Error {
        match self.with_origin(name) {
            Some((_, origin)) => wrong(format!("{name} in {origin} {why}")),
            None => wrong(format!("{name} {why}")),
        }
    }
}
