//! The parameters that libpq and SQLAlchemy's drivers know, and what becomes of each here.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};
use crate::text::visible;

/// What a parameter is for here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It says how the database is reached.
    Used,
    /// It changes nothing about what is read.
    Idle,
    /// It demands what cannot be kept here; leaving it out would be less safe than what was asked for.
    Demanding,
}

/// One of libpq's parameters.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// The variable that gives it when nothing nearer does.
    pub(super) variable: Option<&'static str>,
    pub(super) role: Role,
}

const fn of(name: &'static str, variable: &'static str, role: Role) -> Parameter {
    Parameter {
        name,
        variable: Some(variable),
        role,
    }
}

const fn bare(name: &'static str, role: Role) -> Parameter {
    Parameter {
        name,
        variable: None,
        role,
    }
}

/// All of libpq's, in the order of its manual.
pub(super) const PARAMETERS: &[Parameter] = &[
    of("host", "PGHOST", Role::Used),
    of("hostaddr", "PGHOSTADDR", Role::Used),
    of("port", "PGPORT", Role::Used),
    of("dbname", "PGDATABASE", Role::Used),
    of("user", "PGUSER", Role::Used),
    of("password", "PGPASSWORD", Role::Used),
    of("passfile", "PGPASSFILE", Role::Used),
    of("require_auth", "PGREQUIREAUTH", Role::Demanding),
    of("channel_binding", "PGCHANNELBINDING", Role::Used),
    of("connect_timeout", "PGCONNECT_TIMEOUT", Role::Used),
    of("client_encoding", "PGCLIENTENCODING", Role::Idle),
    of("options", "PGOPTIONS", Role::Used),
    of("application_name", "PGAPPNAME", Role::Used),
    bare("fallback_application_name", Role::Idle),
    bare("keepalives", Role::Used),
    bare("keepalives_idle", Role::Used),
    bare("keepalives_interval", Role::Used),
    bare("keepalives_count", Role::Used),
    bare("tcp_user_timeout", Role::Used),
    bare("replication", Role::Demanding),
    of("gssencmode", "PGGSSENCMODE", Role::Used),
    of("sslmode", "PGSSLMODE", Role::Used),
    of("requiressl", "PGREQUIRESSL", Role::Used),
    of("sslnegotiation", "PGSSLNEGOTIATION", Role::Used),
    of("sslcompression", "PGSSLCOMPRESSION", Role::Idle),
    of("sslcert", "PGSSLCERT", Role::Used),
    of("sslkey", "PGSSLKEY", Role::Used),
    bare("sslpassword", Role::Demanding),
    of("sslcertmode", "PGSSLCERTMODE", Role::Used),
    of("sslrootcert", "PGSSLROOTCERT", Role::Used),
    of("sslcrl", "PGSSLCRL", Role::Used),
    of("sslcrldir", "PGSSLCRLDIR", Role::Demanding),
    of("sslsni", "PGSSLSNI", Role::Used),
    of("requirepeer", "PGREQUIREPEER", Role::Demanding),
    of(
        "ssl_min_protocol_version",
        "PGSSLMINPROTOCOLVERSION",
        Role::Used,
    ),
    of(
        "ssl_max_protocol_version",
        "PGSSLMAXPROTOCOLVERSION",
        Role::Used,
    ),
    of("min_protocol_version", "PGMINPROTOCOLVERSION", Role::Idle),
    of("max_protocol_version", "PGMAXPROTOCOLVERSION", Role::Idle),
    of("krbsrvname", "PGKRBSRVNAME", Role::Idle),
    of("gsslib", "PGGSSLIB", Role::Idle),
    of("gssdelegation", "PGGSSDELEGATION", Role::Idle),
    bare("scram_client_key", Role::Demanding),
    bare("scram_server_key", Role::Demanding),
    bare("sslkeylogfile", Role::Idle),
    of("service", "PGSERVICE", Role::Used),
    of("servicefile", "PGSERVICEFILE", Role::Used),
    of("target_session_attrs", "PGTARGETSESSIONATTRS", Role::Used),
    of("load_balance_hosts", "PGLOADBALANCEHOSTS", Role::Used),
];

/// What psycopg, psycopg2 and asyncpg take in an SQLAlchemy URL, about their own ways.
const OF_DRIVERS: &[&str] = &[
    "async_fallback",
    "autocommit",
    "command_timeout",
    "cursor_factory",
    "direct_tls",
    "executemany_mode",
    "max_cacheable_statement_size",
    "max_cached_statement_lifetime",
    "prepare_threshold",
    "prepared_statement_cache_size",
    "prepared_statement_name_func",
    "server_settings",
    "statement_cache_size",
];

/// The parameter of that name.
pub(super) fn named(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|known| known.name == name)
}

/// Whether SQLAlchemy's drivers take `name`, and it is of no matter here.
pub(super) fn is_of_a_driver(name: &str) -> bool {
    OF_DRIVERS.contains(&name)
}

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The URL or keywords themselves.
    Named,
    /// That file's section.
    Service(PathBuf),
    /// That variable.
    Variable(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => out.write_str("the database URL"),
            Self::Service(path) => {
                write!(out, "the service file {}", crate::text::visible_path(path))
            }
            Self::Variable(name) => out.write_str(name),
        }
    }
}

/// A mistake in what names the database; `what` holds no secret.
pub(super) fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, what)
}

/// Refuses a parameter that nobody knows, with the one that was meant.
pub(super) fn unknown(name: &str, origin: &Origin) -> Error {
    // Without a separator in the right place, what should be a name can be a piece of a password.
    let shown = if name.len() <= 40 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    {
        format!(" {name}")
    } else {
        String::new()
    };
    let error = wrong(format!("Unknown parameter{shown} in {origin}"));
    match crate::near::nearest(name, PARAMETERS.iter().map(|known| known.name)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("libpq's parameters are known, such as host, port, sslmode"),
    }
}

/// Refuses what a parameter that has a few values was given, with the one that was meant.
pub(super) fn misvalued(name: &str, value: &str, origin: &Origin, values: &[&str]) -> Error {
    let error = wrong(format!(
        "{name} is \"{}\" in {origin}: it can be {}",
        shown(value),
        values.join(", ")
    ));
    match crate::near::nearest(value, values.iter().copied()) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    }
}

/// A wrong value; not one that can be the rest of a URL that was cut at the wrong place.
fn shown(value: &str) -> std::borrow::Cow<'_, str> {
    if value.contains('@') || value.len() > 60 {
        "…".into()
    } else {
        visible(value)
    }
}

/// Refuses a parameter that demands what is not done here.
pub(super) fn demanding(name: &str, origin: &Origin) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{name} in {origin} cannot be kept here"),
    )
    .hint(format!(
        "leave {name} out, if what it demands is not needed"
    ))
}

/// The whole number that `value` is.
///
/// # Errors
/// [`ErrorKind::Usage`], which names `name`.
pub(super) fn number(name: &str, value: &str, origin: &Origin) -> Result<i64> {
    value.trim().parse().map_err(|_| {
        wrong(format!(
            "{name} is \"{}\" in {origin}: it is a whole number",
            shown(value)
        ))
    })
}
