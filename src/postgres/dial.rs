//! From a host to a stream: its addresses, a socket to one of them, and encryption as the mode wants
//! it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::failure;
use super::hosts::{Host, Place};
use super::parameter::wrong;
use super::target::Target;
use super::wire::{Socket, Wire, no_postgres};
use crate::error::{Error, ErrorKind, Result};

/// PostgreSQL's request for encryption: a length, and a number that no version has.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// One place that a socket can be opened to.
#[derive(Clone, Debug)]
pub(super) enum Address {
    Internet(SocketAddr),
    File(PathBuf),
}

/// How a stream is to be.
#[derive(Clone)]
pub(super) enum Way {
    Plain,
    /// Encrypted, or plain when the server cannot.
    Preferred(Arc<ClientConfig>),
    Encrypted(Arc<ClientConfig>),
}

/// The addresses of `host`, in the resolver's order.
pub(super) async fn addresses(target: &Target, host: &Host) -> Result<Vec<Address>> {
    match &host.place {
        Place::Folder(folder) => {
            let name = format!(".s.PGSQL.{}", host.port);
            Ok(vec![Address::File(folder.join(name))])
        }
        Place::Address(address) => Ok(vec![internet(*address, host.port)]),
        Place::Name(name) => {
            let looked = tokio::net::lookup_host((name.as_str(), host.port));
            let found = match target.connect {
                Some(most) => tokio::time::timeout(most, looked)
                    .await
                    .map_err(|_| failure::silent(target, host, most))?,
                None => looked.await,
            };
            let found = found.map_err(|error| failure::looked_up(target, name, error))?;
            Ok(found.map(Address::Internet).collect())
        }
    }
}

fn internet(address: IpAddr, port: u16) -> Address {
    Address::Internet(SocketAddr::new(address, port))
}

/// A stream to `address`, before anything of a session.
///
/// # Errors
/// One line of why there is none, and whether it was encryption that failed.
pub(super) async fn stream(
    target: &Target,
    host: &Host,
    address: &Address,
    way: &Way,
) -> std::result::Result<Wire, Undone> {
    let mut socket = socket(target, address)
        .await
        .map_err(|error| Undone::here(failure::socket(target, host, error)))?;
    let (config, demanded) = match way {
        Way::Plain => return Ok(Wire::plain(socket)),
        Way::Preferred(config) => (config, false),
        Way::Encrypted(config) => (config, true),
    };
    if !target.encryption.direct {
        let answer = asked(&mut socket)
            .await
            .map_err(|error| Undone::encryption(failure::socket(target, host, error)))?;
        match answer {
            b'S' => {}
            b'N' if demanded => return Err(Undone::here(no_encryption(target, host))),
            b'N' => return Ok(Wire::plain(socket)),
            // A server of another age answers with an error, and closes.
            b'E' => return Err(Undone::encryption(no_encryption(target, host))),
            _ => {
                let other = no_postgres();
                let what = format!("Cannot open {}: {}", target.shown, other.message());
                let hint = other.next_step().unwrap_or_default().to_owned();
                return Err(Undone::here(Error::new(other.kind(), what).hint(hint)));
            }
        }
    }
    let name = name(host).map_err(Undone::here)?;
    let connector = TlsConnector::from(Arc::clone(config));
    let stream = connector.connect(name, socket).await.map_err(|error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        Undone::encryption(match inner {
            Some(inner) => failure::tls(target, host, inner),
            None => failure::socket(target, host, error),
        })
    })?;
    if target.encryption.direct && stream.get_ref().1.alpn_protocol() != Some(b"postgresql") {
        return Err(Undone::here(failure::tls(
            target,
            host,
            &rustls::Error::NoApplicationProtocol,
        )));
    }
    Ok(Wire::encrypted(stream))
}

/// Why there is no stream.
pub(super) struct Undone {
    pub(super) error: Error,
    /// Without encryption it might do.
    pub(super) encryption: bool,
}

impl Undone {
    pub(super) fn here(error: Error) -> Self {
        Self {
            error,
            encryption: false,
        }
    }

    fn encryption(error: Error) -> Self {
        Self {
            error,
            encryption: true,
        }
    }
}

fn no_encryption(target: &Target, host: &Host) -> Error {
    Error::new(
        ErrorKind::Database,
        format!(
            "Cannot open {}: {host} does not speak TLS, which sslmode demands",
            target.shown
        ),
    )
    .hint("turn ssl on at the server; sslmode=prefer goes without where it must")
}

/// Whom the certificate has to be for. An address without a name has none that could be checked.
fn name(host: &Host) -> Result<ServerName<'static>> {
    let name = match (&host.name, &host.place) {
        (Some(name), _) => name.clone(),
        (None, Place::Address(address)) => address.to_string(),
        (None, Place::Name(name)) => name.clone(),
        (None, Place::Folder(_)) => "localhost".into(),
    };
    ServerName::try_from(name.trim_end_matches('.').to_owned())
        .map_err(|_| wrong("the host's name cannot stand in a certificate").hint("check the host"))
}

async fn asked(socket: &mut Socket) -> io::Result<u8> {
    socket.write_all(&SSL_REQUEST).await?;
    socket.flush().await?;
    // One byte and no more: what a meddler puts behind it must not be taken for encrypted.
    socket.read_u8().await
}

async fn socket(target: &Target, address: &Address) -> io::Result<Socket> {
    match address {
        Address::File(path) => Ok(Box::new(UnixStream::connect(path).await?)),
        Address::Internet(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            if let Some(keepalive) = target.keepalive {
                sockopt::set_socket_keepalive(&stream, true)?;
                #[cfg(not(target_os = "macos"))]
                sockopt::set_tcp_keepidle(&stream, keepalive.idle)?;
                sockopt::set_tcp_keepintvl(&stream, keepalive.interval)?;
                sockopt::set_tcp_keepcnt(&stream, keepalive.count)?;
            }
            #[cfg(target_os = "linux")]
            if let Some(most) = target.unacknowledged {
                let thousandths = u32::try_from(most.as_millis()).unwrap_or(u32::MAX);
                sockopt::set_tcp_user_timeout(&stream, thousandths)?;
            }
            Ok(Box::new(stream))
        }
    }
}

/// Waits for `step`, no longer than an address may take.
pub(super) async fn in_time<T>(
    target: &Target,
    host: &Host,
    most: Option<Duration>,
    step: impl Future<Output = std::result::Result<T, Undone>>,
) -> std::result::Result<T, Undone> {
    match most {
        None => step.await,
        Some(most) => match tokio::time::timeout(most, step).await {
            Ok(answer) => answer,
            Err(_) => Err(Undone::here(failure::silent(target, host, most))),
        },
    }
}
