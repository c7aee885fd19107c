//! A database by all that names it: hosts, user, password, and how the connection has to be.

use std::fmt::Write as _;
use std::time::Duration;

use tokio_postgres::config::ChannelBinding;

use super::encryption::Encryption;
use super::given::Given;
use super::hosts::{self, Host};
use super::parameter::wrong;
use super::passfile::Passfile;
use super::password::Password;
use super::surroundings::Surroundings;
use crate::error::Result;

/// How long one address may take to answer, unless `connect_timeout` says otherwise.
const CONNECT: Duration = Duration::from_secs(10);
/// Who we are to the server, unless the URL says otherwise.
const APPLICATION: &str = "afterrun";

/// What a session has to be, libpq's `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attributes {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

const ATTRIBUTES: [(&str, Attributes); 6] = [
    ("any", Attributes::Any),
    ("read-write", Attributes::ReadWrite),
    ("read-only", Attributes::ReadOnly),
    ("primary", Attributes::Primary),
    ("standby", Attributes::Standby),
    ("prefer-standby", Attributes::PreferStandby),
];

const BINDINGS: [(&str, ChannelBinding); 3] = [
    ("disable", ChannelBinding::Disable),
    ("prefer", ChannelBinding::Prefer),
    ("require", ChannelBinding::Require),
];

/// When a peer that is silent is asked whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keepalive {
    pub(super) idle: Duration,
    pub(super) interval: Duration,
    pub(super) count: u32,
}

/// The database.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) hosts: Vec<Host>,
    pub(super) user: String,
    pub(super) dbname: String,
    /// The password of each host, by the URL, the environment or the password file.
    pub(super) passwords: Vec<Option<Password>>,
    /// Why a password file was not used.
    pub(super) remark: Option<String>,
    pub(super) application: String,
    pub(super) options: Option<String>,
    /// How long one address may take; none waits without end.
    pub(super) connect: Option<Duration>,
    pub(super) keepalive: Option<Keepalive>,
    pub(super) unacknowledged: Option<Duration>,
    pub(super) attributes: Attributes,
    pub(super) binding: ChannelBinding,
    pub(super) encryption: Encryption,
    pub(super) shuffled: bool,
    /// The database for titles and messages.
    pub(super) shown: String,
}

impl Target {
    /// What `text` and the surroundings name.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) and what reading the files that are named answers.
    pub(super) fn new(text: &str, around: &Surroundings) -> Result<Self> {
        let given = Given::collect(text, around)?;
        let hosts = hosts::hosts(&given)?;
        let Some(user) = given.text("user").or_else(|| around.account()) else {
            return Err(
                wrong("No database user is named").hint("write postgresql://USER@host/database")
            );
        };
        let dbname = given.text("dbname").unwrap_or(user);
        let passfile = Passfile::read(match given.text("passfile") {
            Some(path) => Some(path.into()),
            None => around.at_home(".pgpass"),
        });
        let explicit = given.text("password").and_then(Password::new);
        let password = |host: &Host| {
            let found = || passfile.password(&host.called, host.port, dbname, user);
            explicit.clone().or_else(found)
        };
        let passwords = hosts.iter().map(password).collect();
        Ok(Self {
            passwords,
            remark: passfile.remark.clone(),
            application: given.text("application_name").unwrap_or(APPLICATION).into(),
            options: given.text("options").map(str::to_owned),
            connect: match given.number("connect_timeout")? {
                None => Some(CONNECT),
                Some(seconds) => seconds_above_zero(seconds),
            },
            keepalive: keepalive(&given)?,
            unacknowledged: given
                .number("tcp_user_timeout")?
                .and_then(|thousandths| u64::try_from(thousandths).ok())
                .filter(|thousandths| *thousandths > 0)
                .map(Duration::from_millis),
            attributes: given
                .choice("target_session_attrs", &ATTRIBUTES)?
                .unwrap_or(Attributes::Any),
            binding: given
                .choice("channel_binding", &BINDINGS)?
                .unwrap_or(ChannelBinding::Prefer),
            encryption: Encryption::new(&given, around)?,
            shuffled: given
                .choice(
                    "load_balance_hosts",
                    &[("disable", false), ("random", true)],
                )?
                .unwrap_or(false),
            shown: shown(&given, user, dbname),
            user: user.to_owned(),
            dbname: dbname.to_owned(),
            hosts,
        })
    }
}

fn seconds_above_zero(seconds: i64) -> Option<Duration> {
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs)
}

fn keepalive(given: &Given) -> Result<Option<Keepalive>> {
    let seconds = |name, usual| -> Result<Duration> {
        let given = given.number(name)?.and_then(seconds_above_zero);
        // The system takes no more than a signed half of 16 bits.
        Ok(given.map_or(Duration::from_secs(usual), |given| {
            given.min(Duration::from_secs(32_767))
        }))
    };
    let keepalive = Keepalive {
        idle: seconds("keepalives_idle", 30)?,
        interval: seconds("keepalives_interval", 10)?,
        count: given
            .number("keepalives_count")?
            .and_then(|count| u32::try_from(count).ok())
            .filter(|count| (1..=127).contains(count))
            .unwrap_or(3),
    };
    Ok((given.number("keepalives")? != Some(0)).then_some(keepalive))
}

/// `postgresql://app@db:5432/agno`, with hosts and ports only where they are named.
fn shown(given: &Given, user: &str, dbname: &str) -> String {
    let mut shown = format!("postgresql://{}@", encoded(user));
    let (mut hosts, mut query) = (String::new(), String::new());
    let names = given.text("host").or_else(|| given.text("hostaddr"));
    let ports: Vec<&str> = given
        .text("port")
        .map_or(Vec::new(), |ports| ports.split(',').collect());
    for (at, name) in names
        .into_iter()
        .flat_map(|names| names.split(','))
        .enumerate()
    {
        let port = ports.get(if ports.len() == 1 { 0 } else { at }).copied();
        if name.starts_with('/') {
            let sign = if query.is_empty() { '?' } else { '&' };
            let _ = write!(query, "{sign}host={}", crate::text::visible(name));
            if let Some(port) = port.filter(|port| !port.is_empty()) {
                let _ = write!(query, "&port={port}");
            }
            continue;
        }
        if !hosts.is_empty() {
            hosts.push(',');
        }
        hosts += &if name.contains(':') {
            format!("[{}]", crate::text::visible(name))
        } else {
            encoded(name)
        };
        if let Some(port) = port.filter(|port| !port.is_empty()) {
            let _ = write!(hosts, ":{port}");
        }
    }
    if let (None, Some(port)) = (names, ports.first()) {
        let _ = write!(query, "?port={port}");
    }
    let _ = write!(shown, "{hosts}/{}{query}", encoded(dbname));
    shown
}

/// `text` with what has a meaning in a URL, or is no plain letter, percent-encoded; letters of other
/// scripts stay.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for letter in crate::text::visible(text).chars() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"-._~\\{}".contains(letter) {
            let _ = write!(out, "%{:02X}", u32::from(letter));
        } else {
            out.push(letter);
        }
    }
    out
}
