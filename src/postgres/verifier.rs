//! How a server's certificate is checked, for each mode.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_cert::Certificate;
use x509_cert::der::oid::AssociatedOid as _;
use x509_cert::der::{Decode as _, Tagged as _};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// The chain leads to a trusted certificate, and where asked for, the name is the host's.
#[derive(Debug)]
pub(super) struct Checked {
    verifier: Arc<WebPkiServerVerifier>,
    /// Certificates that are trusted when they are a server's own.
    trusted: Vec<CertificateDer<'static>>,
    name: bool,
}

impl Checked {
    pub(super) fn new(
        verifier: Arc<WebPkiServerVerifier>,
        trusted: Vec<CertificateDer<'static>>,
        name: bool,
    ) -> Self {
        Self {
            verifier,
            trusted,
            name,
        }
    }

    /// PostgreSQL's manual makes a certificate that signs itself and names its host as the common name
    /// alone. OpenSSL takes both; webpki, made for the web, takes neither.
    fn is_own_root(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> Result<bool, Error> {
        if !self
            .trusted
            .iter()
            .any(|root| root.as_ref() == certificate.as_ref())
        {
            return Ok(false);
        }
        let validity = parsed(certificate)?.tbs_certificate.validity;
        let now = now.as_secs();
        if now > validity.not_after.to_unix_duration().as_secs() {
            return Err(CertificateError::Expired.into());
        }
        if now < validity.not_before.to_unix_duration().as_secs() {
            return Err(CertificateError::NotValidYet.into());
        }
        Ok(true)
    }
}

impl ServerCertVerifier for Checked {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = if self.is_own_root(certificate, now)? {
            let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
            rustls::client::verify_server_name(&parsed, name)
        } else {
            let answer = self
                .verifier
                .verify_server_cert(certificate, between, name, ocsp, now);
            answer.map(|_| ())
        };
        // The name is what webpki looks at last: with that answer, all the rest is right.
        match chain {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name || is_common_name(certificate, name) => {}
            answer => answer?,
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Any certificate, for the modes that only encrypt; the server still proves to have its key.
#[derive(Debug)]
pub(super) struct Any(WebPkiSupportedAlgorithms);

impl Any {
    pub(super) fn new(provider: &CryptoProvider) -> Self {
        Self(provider.signature_verification_algorithms)
    }
}

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

fn parsed(certificate: &CertificateDer<'_>) -> Result<Certificate, Error> {
    Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding.into())
}

/// Whether the certificate names the host as libpq's last resort: by its common name, when it has no
/// names of hosts otherwise.
fn is_common_name(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> bool {
    let ServerName::DnsName(host) = host else {
        return false;
    };
    let Ok(parsed) = parsed(certificate) else {
        return false;
    };
    let extensions = parsed.tbs_certificate.extensions.iter().flatten();
    for extension in extensions.filter(|one| one.extn_id == SubjectAltName::OID) {
        let names = SubjectAltName::from_der(extension.extn_value.as_bytes());
        let of_hosts = |name: &GeneralName| {
            matches!(name, GeneralName::DnsName(_) | GeneralName::IpAddress(_))
        };
        if names.map_or(true, |names| names.0.iter().any(of_hosts)) {
            return false;
        }
    }
    let subject = parsed.tbs_certificate.subject.0.iter();
    let mut common = subject
        .flat_map(|relative| relative.0.iter())
        .filter(|attribute| attribute.oid == x509_cert::der::oid::db::rfc4519::CN);
    // Of several, which one counts were a matter of the reader.
    let (Some(name), None) = (common.next(), common.next()) else {
        return false;
    };
    let text = match name.value.tag() {
        x509_cert::der::Tag::Utf8String
        | x509_cert::der::Tag::PrintableString
        | x509_cert::der::Tag::Ia5String => std::str::from_utf8(name.value.value()),
        _ => return false,
    };
    text.is_ok_and(|pattern| covers(pattern, host.as_ref()))
}

/// Whether `pattern` is `host`, or covers its first label with a star.
fn covers(pattern: &str, host: &str) -> bool {
    if pattern.is_empty() || pattern.contains('\0') {
        return false;
    }
    if let Some(domain) = pattern.strip_prefix("*.") {
        let behind = host.split_once('.').map(|(_, behind)| behind);
        return domain.contains('.')
            && behind.is_some_and(|behind| behind.eq_ignore_ascii_case(domain));
    }
    pattern.eq_ignore_ascii_case(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_covers_one_label_of_a_domain() {
        for (pattern, host, is) in [
            ("db.example.org", "DB.example.org", true),
            ("*.example.org", "db.example.org", true),
            ("*.example.org", "a.db.example.org", false),
            ("*.example.org", "example.org", false),
            ("*.org", "example.org", false),
            ("*", "db", false),
            ("", "", false),
            ("db\0.evil", "db\0.evil", false),
        ] {
            assert_eq!(covers(pattern, host), is, "{pattern} {host}");
        }
    }
}
