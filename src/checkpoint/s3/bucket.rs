//! One bucket at one endpoint: where its keys are, and requests that are signed, sent, and sent
//! again as boto3's standard mode does.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqsign_aws_v4::{Credential, RequestSigner};
use reqsign_core::Signer;
use reqwest::{Client, Response, Url};

use super::credentials::{Credentials, endpoint};
use super::environment::AwsEnvironment;
use super::http;
use super::outside;
use super::payload::Payload;
use super::profile::Profiles;
use super::refusal::{Asked, Refusal, cut};
use super::settings::{S3Settings, check_region};
use crate::checkpoint::pump;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::text::visible;

/// How often a request is made, at most.
const ATTEMPTS: u32 = 3;
/// Signature version 4 leaves these as they are.
const PLAIN: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const IN_PATH: AsciiSet = PLAIN.remove(b'/');

/// A request for one key.
pub(super) struct Request<'a> {
    pub method: Method,
    pub key: &'a str,
    /// Names and values, both raw.
    pub query: Vec<(&'static str, String)>,
    pub headers: HeaderMap,
    pub payload: Payload,
    /// What it takes, for the message.
    pub right: &'static str,
    /// Each one that gets there begins something new.
    begins: bool,
}

impl<'a> Request<'a> {
    pub(super) fn new(method: Method, key: &'a str, right: &'static str) -> Self {
        Self {
            method,
            key,
            query: Vec::new(),
            headers: HeaderMap::new(),
            payload: Payload::Nothing,
            right,
            begins: false,
        }
    }

    /// Is made once more only where it was turned away: where its answer was lost, what it began
    /// would stay.
    pub(super) fn begins(mut self) -> Self {
        self.begins = true;
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        // A value that no header can hold is left out; ours are digits, digests and tags.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    pub(super) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn payload(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self
    }
}

/// Why there is no answer to use.
#[derive(Debug)]
pub(super) enum Failure {
    /// The bucket said so.
    Refused(Refusal),
    /// The request did not get there, or nothing came back.
    Lost(Error),
    /// It was not even sent.
    Unsent(Error),
}

/// A bucket that can be asked.
pub(super) struct Bucket {
    name: String,
    region: String,
    /// Up to and including the slash before the key.
    base: String,
    host: String,
    http: Client,
    signer: Signer<Credential>,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Bucket")
            .field("name", &self.name)
            .field("region", &self.region)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Bucket {
    /// The bucket that `settings` mean in these surroundings. Nothing is asked yet.
    pub(super) fn new(settings: &S3Settings, environment: &AwsEnvironment) -> Result<Self> {
        let profiles = Profiles::read(environment, settings.profile.as_deref())?;
        let region = [settings.region.as_deref()]
            .into_iter()
            .flatten()
            // boto3, which Agno uses, reads the first alone; other tools set the second.
            .chain(environment.first(&["AWS_DEFAULT_REGION", "AWS_REGION"]))
            .chain(profiles.get("region"))
            .next()
            .unwrap_or("us-east-1")
            .to_owned();
        check_region(&region)?;
        let custom = settings.endpoint_url.clone();
        let custom = custom.or_else(|| endpoint(environment, &profiles, "s3"));
        let base = base(&settings.bucket, &region, custom.as_deref())?;
        let http = http::client(environment, &profiles)?;
        let metadata = http::metadata(environment, &profiles)?;
        let sts = endpoint(environment, &profiles, "sts");
        let services = outside::context(environment, http.clone(), sts, Duration::from_secs(20));
        let credentials = Credentials {
            environment: environment.clone(),
            metadata: outside::context(environment, metadata, None, Duration::from_secs(2)),
            services: services.clone(),
            profiles: Arc::new(profiles),
            region: region.clone(),
        };
        let signer = RequestSigner::new("s3", &region);
        Ok(Self {
            name: settings.bucket.clone(),
            host: base.host_str().unwrap_or_default().to_owned(),
            base: base.into(),
            signer: Signer::new(services, credentials, signer),
            region,
            http,
        })
    }

    /// Makes `request` until it is answered, at most three times.
    pub(super) async fn send(
        &self,
        request: &Request<'_>,
    ) -> std::result::Result<Response, Failure> {
        let mut attempt = 1;
        loop {
            let failure = match self.once(request).await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => Failure::Refused(Refusal::read(response).await),
                Err(failure) => failure,
            };
            let passes = match &failure {
                Failure::Refused(refusal) if request.begins => refusal.is_turned_away(),
                Failure::Refused(refusal) => refusal.passes(),
                Failure::Lost(_) if request.begins => false,
                // What stalled has been waited for long enough.
                Failure::Lost(error) => error.kind() != ErrorKind::Timeout,
                Failure::Unsent(_) => false,
            };
            if attempt == ATTEMPTS || !passes {
                return Err(failure);
            }
            let pause = pause(attempt);
            tracing::info!("the bucket did not answer as it should: once more in {pause:.1?}");
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// The line for what became of `request`.
    pub(super) fn error(&self, failure: Failure, request: &Request<'_>) -> Error {
        match failure {
            Failure::Lost(error) | Failure::Unsent(error) => error,
            Failure::Refused(refusal) => refusal.error(&Asked {
                bucket: &self.name,
                key: request.key,
                region: &self.region,
                right: request.right,
            }),
        }
    }

    async fn once(&self, request: &Request<'_>) -> std::result::Result<Response, Failure> {
        let (signed, url) = self.signed(request).await.map_err(Failure::Unsent)?;
        let sent = Arc::new(AtomicU64::new(0));
        let begun = std::time::Instant::now();
        let mut sending = self
            .http
            .request(request.method.clone(), url)
            .headers(signed);
        if matches!(request.method, Method::PUT | Method::POST) {
            let length = request.payload.length();
            sending = sending
                .header(::http::header::CONTENT_LENGTH, length)
                .body(request.payload.body(&sent));
        }
        let sending = sending.send();
        let mut sending = std::pin::pin!(sending);
        let mut before = 0;
        // An upload may take long, as long as it goes on.
        let answer = loop {
            match tokio::time::timeout(pump::STALLED, &mut sending).await {
                Ok(answer) => break answer,
                Err(_) if sent.load(Ordering::Relaxed) != before => {
                    before = sent.load(Ordering::Relaxed);
                }
                Err(_) => return Err(Failure::Lost(pump::stalled(pump::STALLED))),
            }
        };
        let answer = answer.map_err(|error| Failure::Lost(http::failure(&self.host, &error)))?;
        tracing::debug!(
            "{} {} answers {} after {:.0?}",
            request.method,
            visible(request.key),
            answer.status().as_u16(),
            begun.elapsed()
        );
        Ok(answer)
    }

    async fn signed(&self, request: &Request<'_>) -> Result<(HeaderMap, Url)> {
        let unusable = |why: String| Error::new(ErrorKind::Store, format!("cannot sign: {why}"));
        let mut url = format!(
            "{}{}",
            self.base,
            utf8_percent_encode(request.key, &IN_PATH)
        );
        for (number, (name, value)) in request.query.iter().enumerate() {
            url.push(if number == 0 { '?' } else { '&' });
            url.push_str(name);
            url.push('=');
            url.extend(utf8_percent_encode(value, &PLAIN));
        }
        let made = ::http::Request::builder()
            .method(request.method.clone())
            .uri(&url)
            .header("x-amz-content-sha256", request.payload.sha256())
            .body(());
        let (mut parts, ()) = made
            .map_err(|error| unusable(error.to_string()))?
            .into_parts();
        parts.headers.extend(request.headers.clone());
        self.signer.sign(&mut parts, None).await.map_err(|error| {
            let ours = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
            match ours {
                Some(ours) => Error::copy(ours),
                None => unusable(cut(&error.to_string())),
            }
        })?;
        let url = Url::parse(&url).map_err(|error| unusable(error.to_string()))?;
        Ok((parts.headers, url))
    }
}

/// Where the bucket's keys begin: by its own host at AWS, by its path anywhere else, and where the
/// name cannot be a host's under one certificate.
fn base(bucket: &str, region: &str, endpoint: Option<&str>) -> Result<Url> {
    let url = match endpoint {
        Some(endpoint) => format!("{}/{bucket}/", checked(endpoint)?),
        None => {
            let suffix = suffix(region);
            match is_host(bucket) {
                true => format!("https://{bucket}.s3.{region}.{suffix}/"),
                false => format!("https://s3.{region}.{suffix}/{bucket}/"),
            }
        }
    };
    Url::parse(&url).map_err(|_| Error::new(ErrorKind::Usage, "The endpoint is no URL"))
}

fn checked(endpoint: &str) -> Result<String> {
    let usage = |message: &str| fail(ErrorKind::Usage, message);
    let Ok(url) = Url::parse(endpoint) else {
        return usage("The endpoint is no URL: it looks like https://HOST:PORT");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return usage("The endpoint is neither http:// nor https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return usage("The endpoint's URL carries no credentials");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return usage("The endpoint's URL ends after its path");
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn is_host(bucket: &str) -> bool {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (3..=63).contains(&bucket.len())
        && bucket.bytes().all(|b| letter(b) || b == b'-')
        && bucket.starts_with(|c: char| c != '-')
        && !bucket.ends_with('-')
}

/// The domain of the partition that `region` is in.
fn suffix(region: &str) -> &'static str {
    let partitions = [
        ("cn-", "amazonaws.com.cn"),
        ("us-iso-", "c2s.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov"),
        ("us-isof-", "csp.hci.ic.gov"),
        ("eu-isoe-", "cloud.adc-e.uk"),
        ("eusc-", "amazonaws.eu"),
    ];
    let mine = partitions
        .iter()
        .find(|(start, _)| region.starts_with(start));
    mine.map_or("amazonaws.com", |(_, suffix)| suffix)
}

/// A random part of 1 s, 2 s, …: many that were told to slow down come back at different times.
pub(super) fn pause(attempt: u32) -> Duration {
    let random = RandomState::new().hash_one(attempt) % 1000;
    Duration::from_millis(random << (attempt - 1).min(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_addressed_as_its_name_and_endpoint_allow() {
        let at = |bucket: &str, region: &str, endpoint: Option<&str>| {
            base(bucket, region, endpoint).expect("a URL").to_string()
        };
        assert_eq!(
            at("abc", "eu-west-1", None),
            "https://abc.s3.eu-west-1.amazonaws.com/"
        );
        assert_eq!(
            at("a.b", "cn-north-1", None),
            "https://s3.cn-north-1.amazonaws.com.cn/a.b/"
        );
        assert_eq!(
            at("A_b", "us-east-1", None),
            "https://s3.us-east-1.amazonaws.com/A_b/"
        );
        let custom = Some("http://127.0.0.1:9000/base/");
        assert_eq!(at("abc", "x", custom), "http://127.0.0.1:9000/base/abc/");
        for wrong in ["ftp://x", "x", "http://a:hunter2@x", "http://x/?a=b"] {
            let told = base("abc", "x", Some(wrong))
                .expect_err("no endpoint")
                .to_string();
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}
