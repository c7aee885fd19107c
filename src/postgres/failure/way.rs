//! Why no stream to a server could be made.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError};

use crate::error::{Error, ErrorKind, reason};
use crate::postgres::hosts::{Host, Place};
use crate::postgres::target::Target;

fn of(kind: ErrorKind, target: &Target, what: &str) -> Error {
    Error::new(kind, format!("Cannot open {}: {what}", target.shown))
}

/// A name that leads to no address.
pub(in crate::postgres) fn looked_up(target: &Target, name: &str, error: io::Error) -> Error {
    let name = crate::text::visible(name);
    let what = if error.to_string().contains("Temporary failure") {
        format!("the host {name} cannot be looked up now")
    } else {
        format!("there is no host {name}")
    };
    of(ErrorKind::Database, target, &what)
        .hint("check the host's name, and the network")
        .source(error)
        .lost()
}

/// An address that has not answered in time.
pub(in crate::postgres) fn silent(target: &Target, host: &Host, waited: Duration) -> Error {
    let what = format!("{host} has not answered within {} s", waited.as_secs_f32());
    of(ErrorKind::Timeout, target, &what)
        .hint("check host and port, and firewalls between; connect_timeout=SECONDS waits longer")
        .lost()
}

/// A socket that could not be opened.
pub(in crate::postgres) fn socket(target: &Target, host: &Host, error: io::Error) -> Error {
    use io::ErrorKind as Kind;
    let is_folder = matches!(host.place, Place::Folder(_));
    let (kind, what, hint) = match error.kind() {
        Kind::NotFound if is_folder => (
            ErrorKind::Database,
            format!("there is no socket {host}"),
            "name a host, as in postgresql://user@host/database, or the socket's folder; or start the server",
        ),
        Kind::ConnectionRefused => (
            ErrorKind::Database,
            format!("{host} refuses the connection"),
            "check that the server runs and listens there, and the port",
        ),
        Kind::PermissionDenied => (
            ErrorKind::Database,
            format!("{host} may not be connected to from this account"),
            "ask for the right to use the socket",
        ),
        Kind::TimedOut => (
            ErrorKind::Timeout,
            format!("{host} has not answered"),
            "check host and port, and firewalls between",
        ),
        Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::NetworkDown => (
            ErrorKind::Database,
            format!("there is no way to {host}"),
            "check the network, or a VPN that leads there",
        ),
        _ => (
            ErrorKind::Database,
            format!("{host} cannot be reached: {}", reason(&error)),
            "check host and port",
        ),
    };
    of(kind, target, &what).hint(hint).source(error).lost()
}

/// TLS that does not come about.
pub(in crate::postgres) fn tls(target: &Target, host: &Host, error: &rustls::Error) -> Error {
    let (what, hint) = match error {
        rustls::Error::InvalidCertificate(why) => certificate(host, why),
        rustls::Error::AlertReceived(alert) => alerted(host, *alert),
        rustls::Error::InvalidMessage(_) | rustls::Error::InappropriateMessage { .. } => (
            format!("{host} answers TLS with something else"),
            "check host and port",
        ),
        rustls::Error::PeerIncompatible(_) => (
            format!("{host} speaks no version of TLS, or no cipher, that is spoken here"),
            "TLS 1.2 and TLS 1.3 are; look at ssl_min_protocol_version on the server",
        ),
        rustls::Error::NoApplicationProtocol => (
            format!("{host} does not take TLS without being asked first"),
            "sslnegotiation=direct needs PostgreSQL 17; leave it out",
        ),
        other => (
            format!(
                "TLS with {host} fails: {}",
                crate::text::visible(&other.to_string())
            ),
            "look at the server's log",
        ),
    };
    of(ErrorKind::Database, target, &what)
        .hint(hint)
        .source(error.clone())
}

fn certificate(host: &Host, why: &CertificateError) -> (String, &'static str) {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            format!("the certificate of {host} has expired"),
            "renew it on the server",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
            format!("the certificate of {host} is not valid yet"),
            "check the clocks, here and there",
        ),
        CertificateError::UnknownIssuer => (
            format!("the certificate of {host} is not trusted: nobody trusted has signed it"),
            "name the authority's certificate with sslrootcert=FILE, or the system's with sslrootcert=system",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            format!("the certificate of {host} is for another name"),
            "connect by a name that it is for; sslmode=verify-ca does not look at the name",
        ),
        CertificateError::Revoked => (
            format!("the certificate of {host} is revoked"),
            "replace it on the server",
        ),
        CertificateError::UnknownRevocationStatus => (
            format!("sslcrl does not say whether the certificate of {host} is revoked"),
            "name a list by the authority that signed it",
        ),
        // A certificate that signs itself, as PostgreSQL's manual makes it.
        other if other.to_string().contains("CaUsedAsEndEntity") => (
            format!("the certificate of {host} is not trusted: it is an authority's own"),
            "name that certificate with sslrootcert=FILE if you trust it",
        ),
        other => (
            format!(
                "the certificate of {host} is not accepted: {}",
                crate::text::visible(&other.to_string())
            ),
            "replace it on the server",
        ),
    }
}

fn alerted(host: &Host, alert: AlertDescription) -> (String, &'static str) {
    match alert {
        AlertDescription::CertificateRequired => (
            format!("{host} demands a certificate of the client"),
            "name one with sslcert and sslkey",
        ),
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::DecryptError => (
            format!("{host} does not accept the client's certificate"),
            "check sslcert and sslkey, and what the server's ssl_ca_file trusts",
        ),
        AlertDescription::NoApplicationProtocol => (
            format!("{host} does not take TLS without being asked first"),
            "sslnegotiation=direct needs PostgreSQL 17; leave it out",
        ),
        AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => (
            format!("{host} speaks no version of TLS, or no cipher, that is spoken here"),
            "TLS 1.2 and TLS 1.3 are; look at ssl_min_protocol_version on the server",
        ),
        other => (
            format!("{host} refuses TLS: {other:?}"),
            "look at the server's log",
        ),
    }
}
