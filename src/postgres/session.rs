//! One connection, from the first host that will have us to the end it meets.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Handle;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, SimpleQueryMessage};

use super::dial::{self, Address, Undone, Way, in_time};
use super::encryption::Mode;
use super::failure::{self, Statement};
use super::hosts::{Host, Place};
use super::password::Password;
use super::target::{Attributes, Target};
use super::wire::{Borrowed, Made, Wire};
use crate::error::{Error, ErrorKind, Result};

/// The oldest server that is read; PostgreSQL itself looks after none older.
const OLDEST: u32 = 12;
/// How long telling the server to stop may take.
const CANCEL: Duration = Duration::from_secs(5);

/// A connection that is ready for statements.
pub(super) struct Session {
    pub(super) client: Client,
    /// Why the connection ended.
    fate: Arc<OnceLock<Error>>,
    target: Arc<Target>,
    host: Host,
    address: Address,
    way: Way,
    /// The runtime that the connection lives on.
    pub(super) runtime: Handle,
    /// The version of TLS; none when it is not encrypted.
    pub(super) encryption: Option<&'static str>,
    /// The server's version, in its own words.
    pub(super) version: Option<String>,
}

/// What a connection needs beside its target.
pub(super) struct Keys<'a> {
    /// Supplied later than the target was named, for hosts that have none of their own.
    pub(super) password: Option<&'a Password>,
    /// What a host has of its own was refused: the supplied one is in its place.
    pub(super) instead: bool,
    /// None when nothing is encrypted.
    pub(super) client: Option<&'a Arc<ClientConfig>>,
}

impl Session {
    /// Tries the hosts in their order, and the addresses of each.
    ///
    /// # Errors
    /// What the last of them answered.
    pub(super) async fn open(target: &Arc<Target>, keys: &Keys<'_>) -> Result<Self> {
        let rounds: &[Attributes] = match target.attributes {
            Attributes::PreferStandby => &[Attributes::Standby, Attributes::Any],
            ref wanted => std::slice::from_ref(wanted),
        };
        let mut failed: Vec<Error> = Vec::new();
        for wanted in rounds {
            failed.clear();
            for at in order(target) {
                match Self::at_host(target, at, *wanted, keys).await {
                    Ok(session) => return Ok(session),
                    Err(end) => {
                        let last = !end.next;
                        failed.push(end.error);
                        if last {
                            return Err(together(target, failed));
                        }
                    }
                }
            }
        }
        Err(together(target, failed))
    }

    async fn at_host(
        target: &Arc<Target>,
        at: usize,
        wanted: Attributes,
        keys: &Keys<'_>,
    ) -> std::result::Result<Self, End> {
        let host = &target.hosts[at];
        let addresses = dial::addresses(target, host).await.map_err(End::next)?;
        let found = target.passwords.get(at).and_then(Option::as_ref);
        let password = match keys.instead {
            true => keys.password.or(found),
            false => found.or(keys.password),
        };
        let mut last = None;
        for address in &addresses {
            let ways = ways(target, host, keys.client);
            for (turn, way) in ways.iter().enumerate() {
                let opened = Self::at_address(target, host, address, way, password);
                match in_time(target, host, target.connect, opened).await {
                    Ok(session) => return session.fitting(wanted).await,
                    Err(undone) if undone.encryption && turn + 1 < ways.len() => {
                        tracing::debug!("{}: {}; tried another way", target.shown, undone.error);
                    }
                    // What this server has said, another address of it would say again.
                    Err(undone) if !undone.error.is_lost() => {
                        return Err(End::stop(undone.error));
                    }
                    Err(undone) => {
                        last = Some(undone.error);
                        break;
                    }
                }
            }
        }
        Err(End::next(last.unwrap_or_else(|| failure::lost(target))))
    }

    async fn at_address(
        target: &Arc<Target>,
        host: &Host,
        address: &Address,
        way: &Way,
        password: Option<&Password>,
    ) -> std::result::Result<Self, Undone> {
        let wire = dial::stream(target, host, address, way).await?;
        let encryption = wire.version();
        let opened = config(target, password).connect_raw(wire, Made).await;
        let (client, mut connection) = opened.map_err(|error| {
            // libpq tries the other way, too, when the server's rules have none for this one.
            let rules = error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
            Undone {
                error: failure::session(
                    target,
                    host,
                    encryption.is_some(),
                    password.is_some(),
                    error,
                ),
                encryption: rules,
            }
        })?;
        let version = connection.parameter("server_version").map(str::to_owned);
        let fate = Arc::new(OnceLock::new());
        let (told, whose) = (Arc::clone(&fate), Arc::clone(target));
        let runtime = Handle::current();
        runtime.spawn(async move {
            if let Err(error) = (&mut connection).await {
                // Told before the connection goes, so that whoever hears of its end finds out why.
                let _ = told.set(failure::statement(&whose, Statement::default(), error));
            }
        });
        tracing::debug!(
            "connected to {} at {host}, {}",
            target.shown,
            encryption.unwrap_or("not encrypted")
        );
        Ok(Self {
            client,
            fate,
            target: Arc::clone(target),
            host: host.clone(),
            address: address.clone(),
            way: match encryption {
                // A cancellation goes the way that the connection went.
                None => Way::Plain,
                Some(_) => way.clone(),
            },
            runtime,
            encryption,
            version,
        })
    }

    /// Itself, when it is new enough and what is wanted.
    async fn fitting(self, wanted: Attributes) -> std::result::Result<Self, End> {
        if let Some(version) = &self.version
            && major(version).is_some_and(|major| major < OLDEST)
        {
            let version = crate::text::visible(version);
            return Err(End::stop(
                Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "Cannot open {}: the server is PostgreSQL {version}",
                        self.target.shown
                    ),
                )
                .hint(format!("PostgreSQL {OLDEST} and later can be read")),
            ));
        }
        if wanted == Attributes::Any {
            return Ok(self);
        }
        let (standby, read_only) = match in_time(
            &self.target,
            &self.host,
            self.target.connect,
            self.attributes(),
        )
        .await
        {
            Ok(are) => are,
            Err(undone) => return Err(End::next(undone.error)),
        };
        let fits = match wanted {
            Attributes::Any | Attributes::PreferStandby => true,
            Attributes::ReadWrite => !read_only,
            Attributes::ReadOnly => read_only,
            Attributes::Primary => !standby,
            Attributes::Standby => standby,
        };
        if fits {
            return Ok(self);
        }
        let is = match (standby, read_only) {
            (true, _) => "a standby",
            (false, true) => "read-only",
            (false, false) => "a primary that can be written to",
        };
        Err(End::next(
            Error::new(
                ErrorKind::Database,
                format!("Cannot open {}: {} is {is}", self.target.shown, self.host),
            )
            .hint("target_session_attrs asks for another kind of server")
            .lost(),
        ))
    }

    /// Whether the server is a standby, and whether it takes no writes.
    async fn attributes(&self) -> std::result::Result<(bool, bool), Undone> {
        let sql = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only')";
        let answer = self.client.simple_query(sql).await;
        let rows = answer.map_err(|error| {
            Undone::here(failure::statement(
                &self.target,
                Statement::default(),
                error,
            ))
        })?;
        let row = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((row.get(0), row.get(1))),
            _ => None,
        });
        let (recovers, read_only) = row.unwrap_or_default();
        let standby = recovers == Some("t");
        Ok((standby, standby || read_only == Some("on")))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// What `error` means; the connection's own end goes before what was heard of it.
    pub(super) fn failed(&self, statement: Statement<'_>, error: tokio_postgres::Error) -> Error {
        match self.fate.get() {
            Some(fate) if error.is_closed() => fate.copy(),
            _ => failure::statement(&self.target, statement, error),
        }
    }

    /// Tells the server to stop what it does for us, and waits until it has heard.
    pub(super) async fn cancel(&self) {
        let cancel = async {
            let mut wire = dial::stream(&self.target, &self.host, &self.address, &self.way)
                .await
                .ok()?;
            let token = self.client.cancel_token();
            token
                .cancel_query_raw(Borrowed(&mut wire), Made)
                .await
                .ok()?;
            // The end is the answer. A pooler forgets what it was to cancel when we go before that.
            self.heard(&mut wire).await;
            Some(())
        };
        if tokio::time::timeout(CANCEL, cancel).await.is_err() {
            tracing::debug!(
                "{}: the server does not hear of a cancellation",
                self.target.shown
            );
        }
    }

    async fn heard(&self, wire: &mut Wire) {
        let mut rest = [0; 64];
        while wire.read(&mut rest).await.is_ok_and(|read| read > 0) {}
    }
}

/// A failure, and whether the next host is worth a try.
struct End {
    error: Error,
    next: bool,
}

impl End {
    fn stop(error: Error) -> Self {
        Self { error, next: false }
    }

    fn next(error: Error) -> Self {
        Self { error, next: true }
    }
}

/// The hosts' places in the order in which they are tried.
fn order(target: &Target) -> Vec<usize> {
    let mut order: Vec<usize> = (0..target.hosts.len()).collect();
    if target.shuffled {
        use std::hash::BuildHasher as _;
        // Random enough to spread load: each process hashes with keys of its own.
        let keys = std::hash::RandomState::new();
        order.sort_by_key(|at| keys.hash_one(at));
    }
    order
}

/// The ways in which a connection to `host` is tried, in libpq's order.
fn ways(target: &Target, host: &Host, client: Option<&Arc<ClientConfig>>) -> Vec<Way> {
    let encrypted = match (client, &host.place) {
        // As in libpq, a socket is never encrypted: nobody stands between.
        (None, _) | (_, Place::Folder(_)) => return vec![Way::Plain],
        (Some(client), _) => Arc::clone(client),
    };
    match target.encryption.mode {
        Mode::Disable => vec![Way::Plain],
        Mode::Allow => vec![Way::Plain, Way::Encrypted(encrypted)],
        Mode::Prefer => vec![Way::Preferred(encrypted), Way::Plain],
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => vec![Way::Encrypted(encrypted)],
    }
}

fn config(target: &Target, password: Option<&Password>) -> Config {
    let mut config = Config::new();
    config
        .user(&target.user)
        .dbname(&target.dbname)
        .application_name(&target.application)
        .channel_binding(target.binding)
        // The stream is encrypted already where it should be: nothing is left to be asked for.
        .ssl_mode(SslMode::Require)
        .ssl_negotiation(SslNegotiation::Direct);
    if let Some(options) = &target.options {
        config.options(options);
    }
    if let Some(password) = password {
        config.password(password.expose());
    }
    config
}

/// The first number of a server's version.
fn major(version: &str) -> Option<u32> {
    let digits = version
        .split(|letter: char| !letter.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}

/// One failure for those of all hosts.
fn together(target: &Target, mut failed: Vec<Error>) -> Error {
    let Some(last) = failed.pop() else {
        return failure::lost(target);
    };
    if failed.is_empty() {
        return last;
    }
    let begin = format!("Cannot open {}: ", target.shown);
    let mut said: Vec<&str> = Vec::new();
    for error in failed.iter().chain([&last]) {
        let what = error.message();
        let what = what.strip_prefix(&begin).unwrap_or(what);
        if !said.contains(&what) {
            said.push(what);
        }
    }
    let whole = Error::new(last.kind(), format!("{begin}{}", said.join("; ")));
    let whole = if last.is_lost() {
        whole.lost()
    } else if last.wants_password() {
        whole.refused_password()
    } else {
        whole
    };
    match last.next_step() {
        Some(hint) => whole.hint(hint),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_the_first_number() {
        for (version, number) in [
            ("16.4 (Debian 16.4-1.pgdg120+1)", Some(16)),
            ("9.6.24", Some(9)),
            ("18beta1", Some(18)),
            ("", None),
            ("devel", None),
        ] {
            assert_eq!(major(version), number, "{version}");
        }
    }
}
