//! Which bucket is meant, and how it is used.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::error::{Error, ErrorKind, Result, fail};
use crate::text::visible;

/// Agno's prefix when none is given.
const PREFIX: &str = "agno/sandbox/checkpoints/";
/// S3 refuses smaller parts, but for the last.
const SMALLEST_PART: u64 = 5 << 20;
/// What a URL can say after `?`.
const PARAMETERS: [&str; 6] = [
    "region",
    "endpoint_url",
    "profile",
    "part_size",
    "cache",
    "cache_bytes",
];

/// The arguments of Agno's `S3CheckpointStore`, with its defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Settings {
    /// The bucket's name.
    pub bucket: String,
    /// What every key begins with; slashes at its ends do not count.
    pub prefix: String,
    /// The bucket's region, else what environment and profile say, else `us-east-1`.
    pub region: Option<String>,
    /// An S3-compatible service, else what environment and profile say, else AWS.
    pub endpoint_url: Option<String>,
    /// The profile of the shared AWS files, else `AWS_PROFILE`, else `default`.
    pub profile: Option<String>,
    /// The largest object in bytes: 1 GiB.
    pub max_bytes: u64,
    /// Bytes of a part, and the size above which there are parts: 64 MiB, at least 5 MiB.
    pub part_size: u64,
    /// A directory that keeps what was downloaded.
    pub cache: Option<PathBuf>,
    /// The most bytes that the cache may hold: 4 GiB.
    pub cache_bytes: u64,
}

impl S3Settings {
    /// Agno's defaults for `bucket`.
    #[must_use]
    pub fn new(bucket: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            prefix: PREFIX.into(),
            region: None,
            endpoint_url: None,
            profile: None,
            max_bytes: 1 << 30,
            part_size: 64 << 20,
            cache: None,
            cache_bytes: 4 << 30,
        }
    }

    /// `s3://bucket/prefix?region=…&endpoint_url=…&profile=…&part_size=…&cache=DIR&cache_bytes=N`,
    /// prefix and values raw or percent-encoded. Without a slash after the bucket the prefix is
    /// Agno's default, with nothing after it there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: what is wrong, a parameter that is not known by its name.
    pub fn from_url(url: &str) -> Result<Self> {
        Self::new("").with_url(url)
    }

    /// The same, but what the URL does not say stays as it is here.
    ///
    /// # Errors
    /// As [`S3Settings::from_url`].
    pub fn with_url(mut self, url: &str) -> Result<Self> {
        let Some(rest) = url.strip_prefix("s3://") else {
            return fail(ErrorKind::Usage, "A bucket's URL begins with s3://");
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = match place.split_once('/') {
            Some((bucket, prefix)) => (bucket, Some(prefix)),
            None => (place, None),
        };
        if bucket.contains('@') {
            return Err(
                Error::new(ErrorKind::Usage, "A bucket's URL carries no credentials")
                    .hint("name a profile with ?profile=NAME, or set AWS_PROFILE"),
            );
        }
        self.bucket = decoded(bucket)?;
        if let Some(prefix) = prefix {
            self.prefix = decoded(prefix)?;
        }
        for item in query.split('&').filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            self.set(&decoded(name)?, decoded(value)?)?;
        }
        self.checked()
    }

    fn set(&mut self, name: &str, value: String) -> Result<()> {
        if value.is_empty() && PARAMETERS.contains(&name) {
            return fail(
                ErrorKind::Usage,
                format!("{name} of the bucket's URL is empty"),
            );
        }
        match name {
            "region" => self.region = Some(value),
            "endpoint_url" => self.endpoint_url = Some(value),
            "profile" => self.profile = Some(value),
            "part_size" => self.part_size = number(name, &value)?,
            "cache" => self.cache = Some(value.into()),
            "cache_bytes" => self.cache_bytes = number(name, &value)?,
            _ => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("A bucket's URL has no parameter {}", visible(name)),
                )
                .hint(format!("it has: {}", PARAMETERS.join(", "))));
            }
        }
        Ok(())
    }

    /// The same with the prefix in Agno's form: no slash in front, one behind.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] in Agno's words where it has them.
    pub fn checked(mut self) -> Result<Self> {
        let usage = |message: String| fail(ErrorKind::Usage, message);
        if self.bucket.is_empty() || self.bucket.contains('/') {
            return usage("Checkpoint bucket must be a nonempty bucket name".into());
        }
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        let dots = self.bucket.starts_with('.') || self.bucket.contains("..");
        if dots || self.bucket.len() > 255 || !self.bucket.bytes().all(letter) {
            return usage(format!("{} is no bucket's name", visible(&self.bucket)));
        }
        if self.max_bytes < 1 {
            return usage("Checkpoint object limit must be positive".into());
        }
        if self.part_size < SMALLEST_PART {
            return usage("Checkpoint upload part size must be at least 5 MiB".into());
        }
        if self.cache_bytes < 1 {
            return usage("Checkpoint cache limit must be positive".into());
        }
        let prefix = self.prefix.trim_matches('/');
        if prefix.split('/').any(|part| matches!(part, "." | "..")) {
            return usage(format!(
                "The prefix {} has a . or .. in it, which URLs do not keep",
                visible(prefix)
            ));
        }
        // S3's own limit of a key is 1024 bytes, and the digest takes 71.
        if prefix.len() > 952 {
            return usage("The prefix is longer than a key may be".into());
        }
        self.prefix = match prefix {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        if let Some(region) = &self.region {
            check_region(region)?;
        }
        Ok(self)
    }
}

/// A region becomes part of a host name.
pub(super) fn check_region(region: &str) -> Result<()> {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    if region.is_empty() || region.len() > 63 || !region.bytes().all(letter) {
        return fail(
            ErrorKind::Usage,
            format!("{} is no AWS region's name", visible(region)),
        );
    }
    Ok(())
}

fn decoded(text: &str) -> Result<String> {
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => fail(ErrorKind::Usage, "The bucket's URL is not UTF-8"),
    }
}

fn number(name: &str, value: &str) -> Result<u64> {
    value.parse().map_err(|_| {
        Error::new(
            ErrorKind::Usage,
            format!("{name} is a number of bytes, not {}", visible(value)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_it_all_raw_or_encoded() {
        for url in [
            "s3://b/team a//?region=eu-west-1&endpoint_url=http://127.0.0.1:9000",
            "s3://b//team%20a?endpoint_url=http%3A%2F%2F127.0.0.1%3A9000&region=eu-west-1",
        ] {
            let settings = S3Settings::from_url(url).expect(url);
            assert_eq!(settings.prefix, "team a/");
            assert_eq!(settings.region.as_deref(), Some("eu-west-1"));
            let endpoint = settings.endpoint_url.as_deref();
            assert_eq!(endpoint, Some("http://127.0.0.1:9000"));
        }
        let prefix = |url: &str| S3Settings::from_url(url).expect(url).prefix;
        assert_eq!(prefix("s3://b"), PREFIX);
        assert_eq!(prefix("s3://b?region=x"), PREFIX);
        assert_eq!(prefix("s3://b/"), "");
        assert_eq!(prefix("s3://b/100%/a+b"), "100%/a+b/");
        let cached = S3Settings::from_url("s3://b?cache=/c&cache_bytes=7").expect("a cache");
        assert_eq!((cached.cache, cached.cache_bytes), (Some("/c".into()), 7));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let told = |url: &str| S3Settings::from_url(url).expect_err(url).to_string();
        assert_eq!(
            told("s3:///x"),
            "Checkpoint bucket must be a nonempty bucket name"
        );
        assert_eq!(
            told("s3://b?regoin=x"),
            "A bucket's URL has no parameter regoin"
        );
        assert_eq!(
            told("s3://b?part_size=5"),
            "Checkpoint upload part size must be at least 5 MiB"
        );
        assert_eq!(
            told("s3://b?cache_bytes=0"),
            "Checkpoint cache limit must be positive"
        );
        assert_eq!(told("s3://b?cache="), "cache of the bucket's URL is empty");
        assert_eq!(
            told("s3://b/a/../c"),
            "The prefix a/../c has a . or .. in it, which URLs do not keep"
        );
        assert_eq!(told("s3://b/%ff"), "The bucket's URL is not UTF-8");
        assert_eq!(told("s3://b?region=x/y"), "x/y is no AWS region's name");
        assert!(!told("s3://KEY:hunter2@b/").contains("hunter2"));
    }
}
