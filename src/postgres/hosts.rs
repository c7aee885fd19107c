//! The hosts that a database may be at, in the order in which they are tried.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use super::given::Given;
use super::parameter::{Origin, wrong};
use crate::error::Result;
use crate::text::{visible, visible_path};

pub(super) const PORT: u16 = 5432;
/// Where servers put their sockets: Debian's and Red Hat's folder, then PostgreSQL's own.
pub(super) const FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// Where a host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A name that is looked up.
    Name(String),
    /// An address.
    Address(IpAddr),
    /// The folder of a socket.
    Folder(PathBuf),
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) place: Place,
    pub(super) port: u16,
    /// The name that a certificate has to be for; none for a socket, or when only an address is given.
    pub(super) name: Option<String>,
    /// Whom the password file calls it.
    pub(super) called: String,
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, &self.name) {
            (Place::Folder(path), _) => {
                write!(out, "{}/.s.PGSQL.{}", visible_path(path), self.port)
            }
            (_, Some(name)) if name.contains(':') => {
                write!(out, "[{}]:{}", visible(name), self.port)
            }
            (Place::Name(name), _) | (_, Some(name)) => {
                write!(out, "{}:{}", visible(name), self.port)
            }
            (Place::Address(IpAddr::V6(address)), None) => write!(out, "[{address}]:{}", self.port),
            (Place::Address(address), None) => write!(out, "{address}:{}", self.port),
        }
    }
}

/// The hosts of `given`; the usual sockets when it names none.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for lists that do not go together, and ports that are none.
pub(super) fn hosts(given: &Given) -> Result<Vec<Host>> {
    let list = |name: &str| -> Vec<String> {
        let text = given.text(name).unwrap_or_default();
        text.split(',').map(|one| one.trim().to_owned()).collect()
    };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let (has_names, has_addresses) = (
        given.text("host").is_some(),
        given.text("hostaddr").is_some(),
    );
    if has_names && has_addresses && names.len() != addresses.len() {
        return Err(wrong(format!(
            "{} hosts do not go with {} addresses of hostaddr",
            names.len(),
            addresses.len()
        )));
    }
    let count = if has_addresses {
        addresses.len()
    } else {
        names.len()
    };
    if ports.len() != 1 && ports.len() != count {
        return Err(wrong(format!(
            "{} ports do not go with {count} hosts",
            ports.len()
        )));
    }
    let mut hosts = Vec::new();
    for at in 0..count {
        let text = if ports.len() == 1 {
            &ports[0]
        } else {
            &ports[at]
        };
        let port = port(text, given)?;
        let of = |list: &[String]| list.get(at).cloned().unwrap_or_default();
        let address = of(&addresses);
        let name = of(&names);
        hosts.extend(host(&name, &address, port)?);
    }
    Ok(hosts)
}

fn port(text: &str, given: &Given) -> Result<u16> {
    if text.is_empty() {
        return Ok(PORT);
    }
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        // In a URL that is misread, what stands for the port can be a password.
        _ => Err(match given.with_origin("port") {
            Some((_, Origin::Named)) | None => {
                wrong("The database URL's port is no number from 1 to 65535")
                    .hint("a password with special characters has to be percent-encoded")
            }
            Some((_, origin)) => wrong(format!(
                "port is \"{}\" in {origin}: it is a number from 1 to 65535",
                visible(text)
            )),
        }),
    }
}

/// The host, or the usual sockets when nothing is named.
fn host(name: &str, address: &str, port: u16) -> Result<Vec<Host>> {
    let folder = |folder: &str, called: &str| Host {
        place: Place::Folder(folder.into()),
        port,
        name: None,
        called: called.to_owned(),
    };
    if !address.is_empty() {
        let place = address
            .parse()
            .map(Place::Address)
            .map_err(|_| wrong("hostaddr is no IP address").hint("a name goes into host"))?;
        let called = if name.is_empty() { address } else { name };
        return Ok(vec![Host {
            place,
            port,
            name: (!name.is_empty() && !name.starts_with('/')).then(|| name.to_owned()),
            called: called.to_owned(),
        }]);
    }
    if name.is_empty() {
        return Ok(FOLDERS.map(|path| folder(path, "localhost")).into());
    }
    if name.starts_with('/') {
        let usual = FOLDERS.contains(&name.trim_end_matches('/'));
        return Ok(vec![folder(name, if usual { "localhost" } else { name })]);
    }
    if name.starts_with('@') {
        return Err(wrong("host is an abstract socket, which is not supported")
            .hint("name the folder of the server's socket"));
    }
    Ok(vec![Host {
        place: match name.parse() {
            Ok(address) => Place::Address(address),
            Err(_) => Place::Name(name.to_owned()),
        },
        port,
        name: Some(name.to_owned()),
        called: name.to_owned(),
    }])
}
