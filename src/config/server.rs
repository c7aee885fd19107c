//! The PostgreSQL databases that are named: each is reached once, so that whatever is read of it goes
//! over the same connections and a password is asked for once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Settings;
use super::store::Named;
use crate::error::Result;
use crate::postgres::{Server, is_named_by};

/// The databases that were named so far, by their URLs.
#[derive(Clone, Debug, Default)]
pub struct Servers(Arc<Mutex<HashMap<String, Arc<Server>>>>);

impl Settings {
    /// The PostgreSQL database that `url` names; nothing is connected yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) when the URL cannot be understood.
    pub fn server(&self, url: &str) -> Result<Arc<Server>> {
        let mut servers = self
            .servers
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = servers.get(url) {
            return Ok(Arc::clone(server));
        }
        let server = Server::with_surroundings(url, &self.surroundings)?;
        servers.insert(url.to_owned(), Arc::clone(&server));
        Ok(server)
    }

    /// The PostgreSQL database of the runs; none where it is another kind of database.
    ///
    /// # Errors
    /// As [`Settings::server`].
    pub fn database_server(&self) -> Result<Option<Arc<Server>>> {
        let url = self.database.as_deref().filter(|url| is_named_by(url));
        url.map(|url| self.server(url)).transpose()
    }

    /// The PostgreSQL database of the store, where that has one of its own.
    ///
    /// # Errors
    /// As [`Settings::server`].
    pub fn store_server(&self) -> Result<Option<Arc<Server>>> {
        let url = self.store.as_deref().filter(|url| is_named_by(url));
        url.map(|url| self.server(&Named::in_url(url)?.server))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_one_however_it_is_named() {
        let url = "postgresql://app@db/agno?sslmode=require";
        let settings = Settings {
            database: Some(url.into()),
            store: Some("postgresql://app@db/agno?schema=x&sslmode=require&table=y".into()),
            ..Settings::default()
        };
        let database = settings
            .database_server()
            .expect("a URL")
            .expect("PostgreSQL");
        let store = settings.store_server().expect("a URL").expect("PostgreSQL");
        assert!(Arc::ptr_eq(&database, &store));
        let copy = settings.clone();
        for settings in [&settings, &copy] {
            let again = settings.server(url).expect("a URL");
            assert!(Arc::ptr_eq(&database, &again));
        }
        let plain = Settings {
            database: Some("agno.sqlite".into()),
            store: Some("postgres".into()),
            ..Settings::default()
        };
        assert!(plain.database_server().expect("none").is_none());
        assert!(plain.store_server().expect("none").is_none());
    }
}
