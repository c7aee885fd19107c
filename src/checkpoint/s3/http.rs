//! HTTP clients: which certificates count, which proxy is used, and what a failure says.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, NoProxy, Proxy};
use rustls::{CertificateError, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::environment::AwsEnvironment;
use super::profile::Profiles;
use crate::error::{Error, ErrorKind, Result, reason};
use crate::text::{visible, visible_path};

const CONNECT: Duration = Duration::from_secs(10);

/// A client for the bucket and for what credentials come from.
///
/// # Errors
/// Certificates that cannot be read; a proxy that is none.
pub(super) fn client(environment: &AwsEnvironment, profiles: &Profiles) -> Result<Client> {
    // HTTP/1.1 alone, as with boto3: one object is one connection, and its end is the object's.
    let mut builder = base(environment, profiles)?.connect_timeout(CONNECT);
    let except = environment.first(&["NO_PROXY", "no_proxy"]);
    for (names, secure) in [
        (["HTTPS_PROXY", "https_proxy"], true),
        (["HTTP_PROXY", "http_proxy"], false),
    ] {
        let Some(url) = environment.first(&names) else {
            continue;
        };
        let proxy = match secure {
            true => Proxy::https(url),
            false => Proxy::http(url),
        };
        // Not the URL itself: there may be a password in it.
        let proxy = proxy.map_err(|_| {
            Error::new(
                ErrorKind::Usage,
                format!("{} is no URL of a proxy", names[0]),
            )
        })?;
        builder = builder.proxy(proxy.no_proxy(except.and_then(NoProxy::from_string)));
    }
    built(builder)
}

/// A client for the metadata of container and instance: never by a proxy, and soon at its end where
/// nobody is, as on most machines.
///
/// # Errors
/// As [`client`].
pub(super) fn metadata(environment: &AwsEnvironment, profiles: &Profiles) -> Result<Client> {
    built(base(environment, profiles)?.connect_timeout(Duration::from_secs(1)))
}

fn base(environment: &AwsEnvironment, profiles: &Profiles) -> Result<reqwest::ClientBuilder> {
    let bundle = environment
        .get("AWS_CA_BUNDLE")
        .or_else(|| profiles.get("ca_bundle"))
        .map(|path| environment.expanded(path));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))?
        .with_root_certificates(roots(bundle)?)
        .with_no_client_auth();
    Ok(Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(concat!("afterrun/", env!("CARGO_PKG_VERSION"))))
}

fn built(builder: reqwest::ClientBuilder) -> Result<Client> {
    let failed = |error| Error::new(ErrorKind::Store, "cannot make an HTTP client").source(error);
    builder.build().map_err(failed)
}

/// The authorities of `bundle` alone, else the system's.
fn roots(bundle: Option<PathBuf>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(path) = bundle else {
        // What is unusable among them is left out; a server's certificate tells when it mattered.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let wrong = |what: String| {
        let shown = visible_path(&path);
        Error::new(ErrorKind::Usage, format!("the CA bundle {shown} {what}"))
    };
    let certificates = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| wrong(format!("cannot be read: {}", visible(&error.to_string()))))?;
    if roots.add_parsable_certificates(certificates).0 == 0 {
        return Err(wrong("has no certificate in it".into()));
    }
    Ok(roots)
}

/// What `error` says about `host`, in one line; never with the URL, which reqwest would add.
pub(super) fn failure(host: &str, error: &reqwest::Error) -> Error {
    let mut deepest: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = below(deepest) {
        deepest = source;
    }
    let host = visible(host);
    if let Some(rustls::Error::InvalidCertificate(wrong)) = deepest.downcast_ref() {
        let told = format!("The certificate of {host} is not trusted: {}", of(wrong));
        return Error::new(ErrorKind::Store, told)
            .hint("AWS_CA_BUNDLE=FILE names the authorities to trust");
    }
    let why = match deepest.downcast_ref::<std::io::Error>() {
        Some(error) => reason(error),
        None if error.is_timeout() => "it did not answer in time".into(),
        None => visible(&deepest.to_string()).into_owned(),
    };
    let verb = if error.is_connect() {
        "reach"
    } else {
        "read from"
    };
    let kind = match error.is_timeout() {
        true => ErrorKind::Timeout,
        false => ErrorKind::Store,
    };
    Error::new(kind, format!("cannot {verb} {host}: {why}"))
        .hint("look at the endpoint, and at the network between here and there")
}

/// What caused `error`; an error of the operating system hides its own cause one step deeper.
fn below<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a (dyn std::error::Error + 'static)> {
    let hidden = error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
        .map(|inner| inner as &(dyn std::error::Error + 'static));
    hidden.or_else(|| error.source())
}

fn of(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::UnknownIssuer => "its authority is not known here".into(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name".into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired".into()
        }
        other => visible(&other.to_string()).into_owned(),
    }
}
