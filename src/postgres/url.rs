//! Parameters out of a URL: libpq's, and SQLAlchemy's with the driver in its scheme.

use super::parameter::wrong;
use crate::error::Result;
use crate::near::nearest;

/// Drivers that SQLAlchemy knows for PostgreSQL; only the way a URL is written is theirs.
const DRIVERS: [&str; 6] = [
    "psycopg",
    "psycopg2",
    "psycopg_async",
    "psycopg2cffi",
    "asyncpg",
    "pg8000",
];

/// A parameter's name and value.
pub(crate) type Pair = (String, String);

/// What a URL says, in its order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) pairs: Vec<Pair>,
    /// It is SQLAlchemy's, whose drivers take parameters that libpq does not.
    pub(crate) sqlalchemy: bool,
}

/// Whether `text` is a URL of PostgreSQL's.
pub(crate) fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let base = scheme.map(|scheme| scheme.split('+').next().unwrap_or(scheme));
    matches!(base, Some("postgresql" | "postgres"))
}

/// Takes `text` apart as libpq does. No message quotes more of it than the name of a parameter: what
/// is misread may be a password.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) when it cannot be understood.
pub(crate) fn parse(text: &str) -> Result<Url> {
    let (scheme, rest) = text
        .split_once("://")
        .ok_or_else(|| wrong("The database URL has no scheme"))?;
    let sqlalchemy = match scheme.split_once('+') {
        None => false,
        Some((_, driver)) if DRIVERS.contains(&driver) => true,
        Some((_, driver)) => {
            let error = wrong("The database URL names a driver that is not known");
            return Err(match nearest(driver, DRIVERS) {
                Some(near) => error.hint(format!("did you mean postgresql+{near}://?")),
                None => error.hint("postgresql:// goes with any server"),
            });
        }
    };
    let mut url = Url {
        sqlalchemy,
        ..Url::default()
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (authority, dbname) = match rest.split_once('/') {
        Some((authority, dbname)) => (authority, Some(dbname)),
        None => (rest, None),
    };
    // A password with a slash or a question mark in it is cut there.
    let cut = query.is_some_and(|query| query.contains('@'))
        && dbname.is_none()
        && authority.contains(':')
        && !authority.contains('@');
    if cut || dbname.is_some_and(|dbname| dbname.contains('@')) {
        return Err(unencoded());
    }
    let hosts = match authority.rsplit_once('@') {
        Some((who, hosts)) => {
            let (user, password) = match who.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => (who, None),
            };
            url.push("user", decoded(user, "user")?);
            if let Some(password) = password {
                url.push("password", decoded(password, "password")?);
            }
            hosts
        }
        None => authority,
    };
    url.hosts(hosts)?;
    if let Some(dbname) = dbname {
        url.push("dbname", decoded(dbname, "database name")?);
    }
    if let Some(query) = query {
        url.query(query)?;
    }
    Ok(url)
}

/// The mistake that is most often behind a URL that makes no sense.
fn unencoded() -> crate::Error {
    wrong("The database URL cannot be understood: \"@\" stands behind the host").hint(
        "write special characters of a password percent-encoded: %40 for @, %2F for /, %3A for :, %3F for ?",
    )
}

impl Url {
    fn push(&mut self, name: &str, value: String) {
        if !value.is_empty() {
            self.pairs.push((name.to_owned(), value));
        }
    }

    /// `host:port,[::1]:port,…`
    fn hosts(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let (mut hosts, mut ports) = (Vec::new(), Vec::new());
        for one in text.split(',') {
            let (host, port) = split_port(one)?;
            hosts.push(decoded(host, "host")?);
            ports.push(decoded(port, "port")?);
        }
        self.pairs.push(("host".into(), hosts.join(",")));
        if ports.iter().any(|port| !port.is_empty()) {
            self.pairs.push(("port".into(), ports.join(",")));
        }
        Ok(())
    }

    fn query(&mut self, query: &str) -> Result<()> {
        let mut hosts = Vec::new();
        for item in query.split('&').filter(|item| !item.is_empty()) {
            let Some((name, value)) = item.split_once('=') else {
                return Err(wrong("The database URL has a parameter without a value")
                    .hint("write parameters as ?name=value&name=value"));
            };
            let name = decoded(name, "parameter's name")?;
            if name.is_empty() {
                return Err(wrong("The database URL has a parameter without a name")
                    .hint("write parameters as ?name=value&name=value"));
            }
            // A form's plus sign is a space to SQLAlchemy, and itself to libpq.
            let value = if self.sqlalchemy {
                decoded(&value.replace('+', " "), &name)?
            } else {
                decoded(value, &name)?
            };
            match name.as_str() {
                // What JDBC and asyncpg call it.
                "ssl" => self.push("sslmode", asyncpg_mode(&value)),
                "host" if self.sqlalchemy => hosts.push(value),
                "timeout" if self.sqlalchemy => self.push("connect_timeout", value),
                "database" if self.sqlalchemy => self.push("dbname", value),
                _ => self.push(&name, value),
            }
        }
        self.queried_hosts(&hosts)
    }

    /// SQLAlchemy's several hosts: `host=one:5432&host=two:5432`.
    fn queried_hosts(&mut self, given: &[String]) -> Result<()> {
        if given.is_empty() {
            return Ok(());
        }
        let all = given.join(",");
        if all.starts_with('/') && !all.contains(',') {
            self.push("host", all);
            return Ok(());
        }
        let (mut hosts, mut ports) = (Vec::new(), Vec::new());
        for one in all.split(',') {
            let (host, port) = if one.starts_with('/') {
                (one, "")
            } else {
                split_port(one)?
            };
            hosts.push(host);
            ports.push(port);
        }
        self.push("host", hosts.join(","));
        if ports.iter().any(|port| !port.is_empty()) {
            self.push("port", ports.join(","));
        }
        Ok(())
    }
}

/// A host and what stands behind its colon.
fn split_port(text: &str) -> Result<(&str, &str)> {
    if let Some(inside) = text.strip_prefix('[') {
        let end = inside
            .split_once(']')
            .ok_or_else(|| wrong("The database URL has a \"[\" without its \"]\""))?;
        return match end {
            (host, "") => Ok((host, "")),
            (host, port) => match port.strip_prefix(':') {
                Some(port) => Ok((host, port)),
                None => Err(wrong(
                    "The database URL has letters between \"]\" and \":\"",
                )),
            },
        };
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => Err(wrong(
            "The database URL has more than one \":\" in a host",
        )
        .hint(
            "write an IPv6 address in brackets, [::1], and a password percent-encoded before the @",
        )),
        Some((host, port)) => Ok((host, port)),
        None => Ok((text, "")),
    }
}

/// asyncpg's `ssl` is a mode or a truth.
fn asyncpg_mode(value: &str) -> String {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" | "yes" => "require".into(),
        "false" | "0" | "off" | "no" => "disable".into(),
        _ => value.to_owned(),
    }
}

/// `text` with `%41` as `A`.
fn decoded(text: &str, what: &str) -> Result<String> {
    let what = if what.len() <= 40 && what.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
        what
    } else {
        "parameter"
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |at: usize| {
            let letter = behind.get(at).copied().map(char::from);
            letter.and_then(|letter| letter.to_digit(16))
        };
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err(wrong(format!(
                "The database URL has a \"%\" without two hexadecimal digits in its {what}"
            ))
            .hint("write a % itself as %25"));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
        rest = behind.get(2..).unwrap_or_default();
    }
    if bytes.contains(&0) {
        return Err(wrong(format!(
            "The database URL has a zero byte in its {what}"
        )));
    }
    String::from_utf8(bytes).map_err(|_| wrong(format!("The database URL's {what} is not UTF-8")))
}
