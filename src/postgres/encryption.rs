//! Whether a connection is encrypted, and what is asked of the server's certificate: libpq's `ssl…`
//! parameters and their meanings.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use super::given::Given;
use super::parameter::wrong;
use super::surroundings::Surroundings;
use super::verifier::{Any, Checked};
use crate::error::{Error, ErrorKind, Result, reason};
use crate::text::visible_path;

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

const MODES: [(&str, Mode); 6] = [
    ("disable", Mode::Disable),
    ("allow", Mode::Allow),
    ("prefer", Mode::Prefer),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];

const VERSIONS: [(&str, u8); 4] = [("TLSv1", 0), ("TLSv1.1", 1), ("TLSv1.2", 2), ("TLSv1.3", 3)];

/// Whose certificates are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Roots {
    /// Those of a file, which may be absent unless it was named or the mode needs it.
    File { path: PathBuf, named: bool },
    /// The system's.
    System,
    /// Nobody is named, and there is no home to look in.
    Nowhere,
}

/// A client's own certificate and key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Own {
    certificate: PathBuf,
    key: PathBuf,
    named: bool,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Encryption {
    pub(super) mode: Mode,
    /// TLS is begun at once, without asking in PostgreSQL's own way.
    pub(super) direct: bool,
    roots: Roots,
    own: Option<Own>,
    revoked: Option<(PathBuf, bool)>,
    named_to_server: bool,
    lowest: u8,
    highest: u8,
}

impl Encryption {
    /// # Errors
    /// [`ErrorKind::Usage`] for values that are none, or that libpq refuses together.
    pub(super) fn new(given: &Given, around: &Surroundings) -> Result<Self> {
        let system = given.text("sslrootcert") == Some("system");
        let mode = match given.choice("sslmode", &MODES)? {
            Some(mode) => mode,
            None if system => Mode::VerifyFull,
            None if given.text("requiressl") == Some("1") => Mode::Require,
            None => Mode::Prefer,
        };
        if system && mode != Mode::VerifyFull {
            return Err(given
                .refused("sslmode", "is too weak for sslrootcert=system: anybody has a certificate of the system's authorities")
                .hint("write sslmode=verify-full"));
        }
        let direct = given
            .choice("sslnegotiation", &[("postgres", false), ("direct", true)])?
            .unwrap_or(false);
        if direct && mode < Mode::Require {
            return Err(given
                .refused("sslmode", "is too weak for sslnegotiation=direct")
                .hint("write sslmode=require, or better verify-full"));
        }
        if given.choice(
            "gssencmode",
            &[("disable", false), ("prefer", false), ("require", true)],
        )? == Some(true)
        {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "gssencmode=require cannot be kept: encryption here is TLS",
            )
            .hint("write gssencmode=disable and sslmode=verify-full"));
        }
        let file = |parameter: &str, usual: &str| match given.text(parameter) {
            Some(path) => Some((PathBuf::from(path), true)),
            None => around
                .at_home(".postgresql")
                .map(|home| (home.join(usual), false)),
        };
        let version =
            |name: &str, usual| Ok::<_, Error>(given.choice(name, &VERSIONS)?.unwrap_or(usual));
        let (lowest, highest) = (
            version("ssl_min_protocol_version", 2)?,
            version("ssl_max_protocol_version", 3)?,
        );
        if lowest > highest || highest < 2 {
            return Err(wrong(
                "ssl_min_protocol_version and ssl_max_protocol_version leave no version of TLS that is spoken here",
            )
            .hint("TLSv1.2 and TLSv1.3 are"));
        }
        Ok(Self {
            mode,
            direct,
            roots: match file("sslrootcert", "root.crt") {
                _ if system => Roots::System,
                Some((path, named)) => Roots::File { path, named },
                None => Roots::Nowhere,
            },
            own: own(
                given,
                file("sslcert", "postgresql.crt"),
                file("sslkey", "postgresql.key"),
            )?,
            revoked: file("sslcrl", "root.crl"),
            named_to_server: given.text("sslsni") != Some("0"),
            lowest,
            highest,
        })
    }

    /// What rustls needs of it; reads the files that are named.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when a file that is needed is missing or is not what it should be.
    pub(super) fn client(&self) -> Result<Arc<ClientConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let broken = |error: &dyn std::fmt::Display| {
            Error::new(
                ErrorKind::Unsupported,
                format!("TLS cannot be set up: {error}"),
            )
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&self.versions())
            .map_err(|error| broken(&error))?
            .dangerous();
        // Which verifier it is follows from the mode alone, in `Encryption::roots`.
        let builder = match self.roots()? {
            Some(roots) => {
                builder.with_custom_certificate_verifier(self.checked(roots, &provider)?)
            }
            None => builder.with_custom_certificate_verifier(Arc::new(Any::new(&provider))),
        };
        let mut client = match self.own_certificate()? {
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| wrong(format!("sslcert and sslkey cannot be used: {error}")))?,
            None => builder.with_no_client_auth(),
        };
        client.enable_sni = self.named_to_server;
        if self.direct {
            client.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        Ok(Arc::new(client))
    }

    fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        let mut versions = Vec::new();
        if self.highest >= 3 {
            versions.push(&rustls::version::TLS13);
        }
        if self.lowest <= 2 {
            versions.push(&rustls::version::TLS12);
        }
        versions
    }

    /// The certificates that a server's has to come from; none when it is not checked. As in libpq, a
    /// file that is there is used whatever the mode, and only the `verify` modes need one.
    fn roots(&self) -> Result<Option<Vec<CertificateDer<'static>>>> {
        let needed = self.mode >= Mode::VerifyCa;
        match &self.roots {
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                if found.certs.is_empty() {
                    return Err(wrong(
                        "The system has no trusted certificates for sslrootcert=system",
                    )
                    .hint("install ca-certificates, or name a file with sslrootcert"));
                }
                Ok(Some(found.certs))
            }
            Roots::File { path, named } if path.exists() => {
                let certificates = certificates(path, "sslrootcert")?;
                tracing::debug!(
                    "{} trusted certificates from {}, {}",
                    certificates.len(),
                    visible_path(path),
                    if *named { "as named" } else { "the default" }
                );
                Ok(Some(certificates))
            }
            Roots::File { path, named } if *named || needed => Err(wrong(format!(
                "The root certificate file {} does not exist",
                visible_path(path)
            ))
            .hint("name one with sslrootcert, or the system's with sslrootcert=system")),
            Roots::Nowhere if needed => Err(wrong("No root certificate file is named")
                .hint("name one with sslrootcert, or the system's with sslrootcert=system")),
            Roots::File { .. } | Roots::Nowhere => Ok(None),
        }
    }

    fn checked(
        &self,
        trusted: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<Checked>> {
        let mut roots = RootCertStore::empty();
        let (taken, left) = roots.add_parsable_certificates(trusted.iter().cloned());
        if taken == 0 {
            return Err(wrong(format!(
                "None of the {left} trusted certificates can be used"
            )));
        }
        let mut verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let crls = self.revocations()?;
        let lists = !crls.is_empty();
        verifier = verifier.with_crls(crls);
        let verifier = verifier
            .build()
            .map_err(|error| wrong(format!("The trusted certificates cannot be used: {error}")))?;
        // A file that is looked at anyway has its name checked only where that is asked for.
        Ok(Arc::new(Checked::new(
            verifier,
            // A list of what is revoked goes before a certificate's being listed as trusted.
            if lists { Vec::new() } else { trusted },
            self.mode == Mode::VerifyFull,
        )))
    }

    fn revocations(&self) -> Result<Vec<CertificateRevocationListDer<'static>>> {
        let path = match &self.revoked {
            Some((path, named)) if *named || path.exists() => path,
            _ => return Ok(Vec::new()),
        };
        let bytes = read(path, "sslcrl")?;
        let lists: std::result::Result<Vec<_>, _> =
            CertificateRevocationListDer::pem_slice_iter(&bytes).collect();
        match lists {
            Ok(lists) if !lists.is_empty() => Ok(lists),
            _ => Err(wrong(format!(
                "sslcrl {} is no list of revoked certificates in PEM form",
                visible_path(path)
            ))),
        }
    }

    fn own_certificate(
        &self,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>> {
        let Some(own) = &self.own else {
            return Ok(None);
        };
        if !own.named && !own.certificate.exists() {
            return Ok(None);
        }
        let chain = certificates(&own.certificate, "sslcert")?;
        let bytes = private(&own.key)?;
        let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
            wrong(format!(
                "sslkey {} is no private key in PEM form that can be used",
                visible_path(&own.key)
            ))
            .hint("a key with a passphrase has to be stored without one")
        })?;
        Ok(Some((chain, key)))
    }
}

fn own(
    given: &Given,
    certificate: Option<(PathBuf, bool)>,
    key: Option<(PathBuf, bool)>,
) -> Result<Option<Own>> {
    let modes = [("disable", 0), ("allow", 1), ("require", 2)];
    match given.choice("sslcertmode", &modes)? {
        Some(0) => return Ok(None),
        Some(2) => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "sslcertmode=require cannot be kept here",
            )
            .hint("write sslcertmode=allow: a certificate is sent when the server asks"));
        }
        _ => {}
    }
    Ok(match (certificate, key) {
        (Some((certificate, named)), Some((key, _))) => Some(Own {
            certificate,
            key,
            named,
        }),
        (Some((_, true)), None) => {
            return Err(given
                .refused("sslcert", "needs its key")
                .hint("name it with sslkey"));
        }
        _ => None,
    })
}

fn read(path: &Path, parameter: &str) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| {
        wrong(format!(
            "cannot read {parameter} {}: {}",
            visible_path(path),
            reason(&error)
        ))
    })
}

fn certificates(path: &Path, parameter: &str) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read(path, parameter)?;
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(wrong(format!(
            "{parameter} {} holds no certificate in PEM form",
            visible_path(path)
        ))),
    }
}

/// The bytes of a key that nobody else may read; as in libpq, root's may be readable for its group.
fn private(path: &Path) -> Result<Vec<u8>> {
    let about = fs::metadata(path).map_err(|error| {
        wrong(format!(
            "cannot read sslkey {}: {}",
            visible_path(path),
            reason(&error)
        ))
    })?;
    let others = if about.uid() == 0 { 0o037 } else { 0o077 };
    if !about.is_file() || about.mode() & others != 0 {
        return Err(wrong(format!(
            "sslkey {} can be read by others, and is not used",
            visible_path(path)
        ))
        .hint("chmod 600 makes it private"));
    }
    read(path, "sslkey")
}
