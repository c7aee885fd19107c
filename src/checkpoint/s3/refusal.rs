//! What a bucket answers when it does not do what was asked, in one line.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use super::xml::{Document, LONGEST};
use crate::error::{Error, ErrorKind};
use crate::text::visible;

/// Nobody waits longer to be told why something was refused.
const READING: Duration = Duration::from_secs(10);

/// An answer that is no success. The body of a HEAD's answer is empty, so its code is, too.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    /// S3's own code, e.g. `NoSuchKey`; empty when it was not said.
    pub code: String,
    message: String,
    region: String,
    server_time: String,
}

impl Refusal {
    /// Reads what the body says, as far as it is worth it.
    pub(super) async fn read(mut response: reqwest::Response) -> Self {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(piece)) = response.chunk().await {
                body.extend_from_slice(&piece[..piece.len().min(LONGEST)]);
                if body.len() >= LONGEST {
                    break;
                }
            }
        };
        // One limit for all of it: a drop now and then would hold us up for ever.
        let _ = tokio::time::timeout(READING, reading).await;
        Self::new(
            response.status(),
            response.headers(),
            &Document::read(&body),
        )
    }

    pub(super) fn new(status: StatusCode, headers: &HeaderMap, told: &Document) -> Self {
        let header = headers.get("x-amz-bucket-region");
        let region = header.and_then(|value| value.to_str().ok());
        let region = region.unwrap_or_else(|| told.get("Region"));
        Self {
            status,
            code: told.get("Code").to_owned(),
            message: told.get("Message").to_owned(),
            region: region.to_owned(),
            server_time: told.get("ServerTime").to_owned(),
        }
    }

    /// No such key, or so it seems: a HEAD does not say whether it is the bucket that is missing.
    pub(super) fn is_missing(&self) -> bool {
        match self.code.as_str() {
            "" => self.status == StatusCode::NOT_FOUND,
            code => matches!(code, "NoSuchKey" | "NotFound" | "404" | "NoSuchVersion"),
        }
    }

    pub(super) fn is_forbidden(&self) -> bool {
        match self.code.as_str() {
            "" => self.status == StatusCode::FORBIDDEN,
            code => matches!(code, "AccessDenied" | "Forbidden" | "403"),
        }
    }

    /// What boto3's standard mode tries again.
    pub(super) fn passes(&self) -> bool {
        let code = matches!(
            self.code.as_str(),
            "SlowDown"
                | "Throttling"
                | "ThrottlingException"
                | "ThrottledException"
                | "RequestThrottled"
                | "RequestThrottledException"
                | "RequestLimitExceeded"
                | "BandwidthLimitExceeded"
                | "TooManyRequestsException"
                | "PriorRequestNotComplete"
                | "RequestTimeout"
                | "RequestTimeoutException"
                | "InternalError"
                | "ServiceUnavailable"
        );
        code || matches!(self.status.as_u16(), 429 | 500 | 502 | 503 | 504)
    }

    /// Too busy even to begin.
    pub(super) fn is_turned_away(&self) -> bool {
        matches!(self.status.as_u16(), 429 | 503)
    }

    /// One line about `what` (an object or a bucket) that was asked in `region`.
    pub(super) fn error(&self, what: &Asked<'_>) -> Error {
        let (bucket, region) = (visible(what.bucket), visible(what.region));
        let store = |message: String| Error::new(ErrorKind::Store, message);
        match self.code.as_str() {
            "NoSuchBucket" => store(format!("The bucket {bucket} does not exist"))
                .hint("look at the name in --store s3://BUCKET/PREFIX, and at the endpoint"),
            "SignatureDoesNotMatch" => store(
                "The bucket refuses the signature: the secret access key is not this key's".into(),
            )
            .hint("look at AWS_SECRET_ACCESS_KEY, or at the profile"),
            "InvalidAccessKeyId" | "NotSignedUp" | "InvalidClientTokenId" => {
                store("The bucket does not know the access key".into())
                    .hint("look at AWS_ACCESS_KEY_ID, or at the profile; a temporary key needs AWS_SESSION_TOKEN, too")
            }
            "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => {
                store("The credentials have expired".into())
                    .hint("get new ones, e.g. with `aws sso login`")
            }
            "InvalidToken" => store("The bucket does not accept the session token".into())
                .hint("look at AWS_SESSION_TOKEN: it goes with one access key only"),
            "RequestTimeTooSkewed" => store(match self.server_time.as_str() {
                "" => "The clock here differs from the bucket's by more than 15 minutes".into(),
                time => format!(
                    "The clock here differs from the bucket's by more than 15 minutes; there it is {}",
                    visible(time)
                ),
            })
            .hint("set the clock of this machine"),
            "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException"
                if self.region.is_empty() =>
            {
                store(format!("The bucket {bucket} is not in region {region}"))
                    .hint("name its region with ?region=REGION in the store's URL")
            }
            _ if self.is_elsewhere() => self.elsewhere(&bucket, &region),
            _ if self.is_missing() => {
                Error::new(ErrorKind::ObjectMissing, "Checkpoint object is missing")
            }
            _ if self.is_forbidden() => self.forbidden(what),
            _ => store(format!("The bucket {bucket} answers {}", self.told())),
        }
    }

    fn is_elsewhere(&self) -> bool {
        let code = matches!(
            self.code.as_str(),
            "PermanentRedirect"
                | "TemporaryRedirect"
                | "AuthorizationHeaderMalformed"
                | "IllegalLocationConstraintException"
        );
        code || self.status.is_redirection()
    }

    fn elsewhere(&self, bucket: &str, region: &str) -> Error {
        if self.region.is_empty() || self.region == region {
            return Error::new(
                ErrorKind::Store,
                format!("The bucket {bucket} is at another endpoint"),
            )
            .hint("name its region with ?region=REGION or its endpoint with ?endpoint_url=URL");
        }
        let right = visible(&self.region);
        Error::new(
            ErrorKind::Store,
            format!("The bucket {bucket} is in region {right}, not in {region}"),
        )
        .hint(format!("add ?region={right} to the store's URL"))
    }

    /// Without `s3:ListBucket`, S3 answers 403 for a key that is not there.
    fn forbidden(&self, what: &Asked<'_>) -> Error {
        let needed = self.needed();
        let object = visible(what.key);
        let bucket = visible(what.bucket);
        if what.right == "s3:GetObject" && needed.is_none_or(|right| right == "s3:ListBucket") {
            return Error::new(
                ErrorKind::Store,
                format!(
                    "The bucket answers 403 for {object}: it is missing, or these credentials may \
                     not read it"
                ),
            )
            .hint(format!(
                "s3:GetObject on the prefix reads it; with s3:ListBucket on {bucket} a missing one \
                 would answer 404"
            ))
            .source(Unlisted);
        }
        let right = needed.unwrap_or(what.right);
        Error::new(
            ErrorKind::Store,
            format!("These credentials lack {} on {object}", visible(right)),
        )
        .hint(format!("allow it on the prefix in the bucket {bucket}"))
    }

    /// The right that AWS names in its message: `… is not authorized to perform: s3:GetObject on …`.
    fn needed(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once("not authorized to perform: ")?;
        rest.split_whitespace().next()
    }

    fn told(&self) -> String {
        let mut told = self.status.as_u16().to_string();
        if !self.code.is_empty() {
            told = format!("{told} {}", cut(&self.code));
        }
        if !self.message.is_empty() {
            told = format!("{told}: {}", cut(&self.message));
        }
        told
    }
}

/// The bucket does not say whether an object is there.
#[derive(Debug)]
struct Unlisted;

impl std::fmt::Display for Unlisted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("403, without s3:ListBucket")
    }
}

impl std::error::Error for Unlisted {}

/// Whether a bucket that was reached refused to say if the object is there.
#[cfg(feature = "app")]
pub(crate) fn may_be_missing(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<Unlisted>())
}

/// What was asked for, for the message.
pub(super) struct Asked<'a> {
    pub bucket: &'a str,
    pub key: &'a str,
    pub region: &'a str,
    /// The right it takes.
    pub right: &'static str,
}

/// The first words of `text`, safe to show.
pub(super) fn cut(text: &str) -> String {
    const MOST: usize = 200;
    let mut shown = visible(&text.chars().take(MOST).collect::<String>()).into_owned();
    if text.chars().count() > MOST {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, body: &str) -> (ErrorKind, String, String) {
        let status = StatusCode::from_u16(status).expect("a status");
        let document = Document::read(body.as_bytes());
        let refusal = Refusal::new(status, &HeaderMap::new(), &document);
        let error = refusal.error(&Asked {
            bucket: "b",
            key: "p/x.tar.gz",
            region: "us-east-1",
            right: "s3:GetObject",
        });
        let hint = error.next_step().unwrap_or_default().to_owned();
        (error.kind(), error.to_string(), hint)
    }

    #[test]
    fn each_code_is_one_line() {
        let body = |code: &str, more: &str| format!("<Error><Code>{code}</Code>{more}</Error>");
        for (status, body, line) in [
            (404, body("NoSuchBucket", ""), "The bucket b does not exist"),
            (404, String::new(), "Checkpoint object is missing"),
            (
                403,
                body("InvalidAccessKeyId", ""),
                "The bucket does not know the access key",
            ),
            (
                400,
                body("ExpiredToken", ""),
                "The credentials have expired",
            ),
            (
                301,
                body("PermanentRedirect", "<Region>eu-west-1</Region>"),
                "The bucket b is in region eu-west-1, not in us-east-1",
            ),
            (
                400,
                body(
                    "AuthorizationHeaderMalformed",
                    "<Region>eu-north-1</Region>",
                ),
                "The bucket b is in region eu-north-1, not in us-east-1",
            ),
            (301, String::new(), "The bucket b is at another endpoint"),
            (
                403,
                body(
                    "RequestTimeTooSkewed",
                    "<ServerTime>2026-01-01T00:00:00Z</ServerTime>",
                ),
                "The clock here differs from the bucket's by more than 15 minutes; there it is 2026-01-01T00:00:00Z",
            ),
            (
                418,
                body("Odd\u{1b}[31m", "<Message>x\ny</Message>"),
                "The bucket b answers 418 Odd\\x1b[31m: x\\ny",
            ),
            (500, "<html>".into(), "The bucket b answers 500"),
        ] {
            assert_eq!(told(status, &body).1, line);
        }
    }

    #[test]
    fn forbidden_says_which_right_is_missing() {
        let (kind, line, hint) = told(403, "<Error><Code>AccessDenied</Code></Error>");
        assert_eq!(kind, ErrorKind::Store);
        assert_eq!(
            line,
            "The bucket answers 403 for p/x.tar.gz: it is missing, or these credentials may not read it"
        );
        assert!(hint.contains("s3:ListBucket on b"), "{hint}");
        let named = |right: &str| {
            format!(
                "<Error><Code>AccessDenied</Code><Message>User: arn:aws:iam::1:user/x is not \
                 authorized to perform: {right} on resource: \"arn:aws:s3:::b\"</Message></Error>"
            )
        };
        let (_, line, _) = told(403, &named("kms:Decrypt"));
        assert_eq!(line, "These credentials lack kms:Decrypt on p/x.tar.gz");
        let (_, line, _) = told(403, &named("s3:ListBucket"));
        assert!(line.starts_with("The bucket answers 403"), "{line}");
    }
}
