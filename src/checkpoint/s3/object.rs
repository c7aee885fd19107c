//! One stored object: its labels, and its bytes on their way here.

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG};
use http::{HeaderMap, Method, StatusCode};
use reqwest::Response;

use super::bucket::{Bucket, Failure, Request, pause};
use crate::checkpoint::CheckpointRef;
use crate::checkpoint::pump::{Pump, STALLED, unless_stalled_for};
use crate::error::{Error, ErrorKind, Result, fail};

/// How often a lost connection is taken up again.
const RESUMED: u32 = 3;
const READ: &str = "s3:GetObject";

/// What a HEAD says: the length, and the digest that was recorded with the object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Labels {
    size: Option<u64>,
    sha256: String,
}

/// What became of asking for labels.
#[derive(Debug)]
pub(super) enum Head {
    There(Labels),
    Missing,
    /// 403: S3 does not say, without `s3:ListBucket`, whether the key is there.
    Forbidden,
}

/// Asks for the labels of `key` alone.
///
/// # Errors
/// What else the bucket answers.
pub(super) async fn head(bucket: &Bucket, key: &str) -> Result<Head> {
    let request = Request::new(Method::HEAD, key, READ);
    match bucket.send(&request).await {
        Ok(response) => Ok(Head::There(Labels::of(response.headers()))),
        Err(Failure::Refused(refusal)) if refusal.is_missing() => Ok(Head::Missing),
        Err(Failure::Refused(refusal)) if refusal.is_forbidden() => Ok(Head::Forbidden),
        Err(Failure::Refused(refusal)) => Err(explained(bucket, key, refusal.status).await),
        Err(failure) => Err(bucket.error(failure, &request)),
    }
}

/// The labels of `key`, `None` when the bucket has no such key.
///
/// # Errors
/// One line for each other answer.
pub(super) async fn labels(bucket: &Bucket, key: &str) -> Result<Option<Labels>> {
    let (status, absent) = match head(bucket, key).await? {
        Head::There(labels) => return Ok(Some(labels)),
        Head::Missing => (StatusCode::NOT_FOUND, true),
        Head::Forbidden => (StatusCode::FORBIDDEN, false),
    };
    let error = explained(bucket, key, status).await;
    if absent && error.kind() == ErrorKind::ObjectMissing {
        return Ok(None);
    }
    Err(error)
}

/// Why a HEAD was refused: its own answer has no body, so the same is asked with a GET.
async fn explained(bucket: &Bucket, key: &str, status: StatusCode) -> Error {
    let request = Request::new(Method::GET, key, READ).header("range", "bytes=0-0");
    match bucket.send(&request).await {
        Err(failure) => bucket.error(failure, &request),
        Ok(_) if status == StatusCode::NOT_FOUND => missing(),
        Ok(_) => Error::new(
            ErrorKind::Store,
            format!(
                "The bucket answers {} to a HEAD, though a GET is allowed",
                status.as_u16()
            ),
        ),
    }
}

/// Agno's comparison of what is stored with what was committed.
///
/// # Errors
/// In Agno's order and words: missing, size, checksum.
pub(super) fn check(reference: &CheckpointRef, labels: Option<&Labels>) -> Result<()> {
    let Some(labels) = labels else {
        return Err(missing());
    };
    if labels.size != Some(reference.size()) {
        return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
    }
    if labels.sha256 != reference.sha256() {
        return Err(
            Error::new(ErrorKind::ChecksumMismatch, "Checkpoint checksum mismatch").hint(
                match labels.sha256.is_empty() {
                    true => "the object carries no sha256 label: it was not put there by Agno",
                    false => "the object's sha256 label names another digest",
                },
            ),
        );
    }
    Ok(())
}

fn missing() -> Error {
    Error::new(ErrorKind::ObjectMissing, "Checkpoint object is missing")
        .hint("retention keeps only a session's last checkpoints; open a later turn")
}

impl Labels {
    fn of(headers: &HeaderMap) -> Self {
        let text = |value: Option<&http::HeaderValue>| {
            let text = value.and_then(|value| value.to_str().ok());
            text.unwrap_or_default().trim().to_owned()
        };
        Self {
            size: text(headers.get(CONTENT_LENGTH)).parse().ok(),
            sha256: text(headers.get("x-amz-meta-sha256")),
        }
    }
}

/// Sends the object's bytes to `pump`, in memory of a few pieces. A connection that is lost is
/// taken up where it ended, as long as the object is still the same.
///
/// # Errors
/// What the bucket answers; `Checkpoint size mismatch` when it has other bytes than it said.
pub(super) async fn download(
    bucket: Arc<Bucket>,
    key: String,
    reference: CheckpointRef,
    pump: Pump,
) -> Result<()> {
    let size = reference.size();
    let (mut at, mut resumed, mut tag) = (0_u64, 0, None::<String>);
    loop {
        let request = ranged(&key, at, tag.as_deref());
        let mut response = match bucket.send(&request).await {
            Ok(response) => response,
            Err(Failure::Refused(refusal))
                if refusal.status == StatusCode::PRECONDITION_FAILED && at > 0 =>
            {
                return fail(
                    ErrorKind::Store,
                    "The object was replaced while it was downloaded",
                );
            }
            Err(failure) => return Err(bucket.error(failure, &request)),
        };
        let mut known = stretch(&response, at, size)?;
        if tag.is_none() {
            let value = response.headers().get(ETAG);
            tag = value.and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        }
        let lost = loop {
            let next = unless_stalled_for(STALLED, async { Ok(response.chunk().await) }).await?;
            let mut piece = match next {
                Ok(Some(piece)) => piece,
                Ok(None) if at == size => return Ok(()),
                Ok(None) => return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch"),
                Err(error) => break error,
            };
            // A server that takes no ranges begins anew.
            let again = known.min(piece.len() as u64);
            known -= again;
            drop(piece.split_to(usize::try_from(again).unwrap_or(piece.len())));
            at += piece.len() as u64;
            if at > size {
                return fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
            }
            if !piece.is_empty() && !pump.send(piece).await {
                return Ok(());
            }
        };
        if resumed == RESUMED {
            return Err(given_up(at, size, &lost));
        }
        resumed += 1;
        tracing::info!("the connection was lost after {at} of {size} B: taken up again");
        tokio::time::sleep(pause(resumed)).await;
    }
}

fn ranged<'a>(key: &'a str, at: u64, tag: Option<&str>) -> Request<'a> {
    let request = Request::new(Method::GET, key, READ);
    match (at, tag) {
        (0, _) => request,
        (at, None) => request.header("range", &format!("bytes={at}-")),
        (at, Some(tag)) => request
            .header("range", &format!("bytes={at}-"))
            .header("if-match", tag),
    }
}

/// How many bytes of `response` are known already, when it is a stretch of the right object.
fn stretch(response: &Response, at: u64, size: u64) -> Result<u64> {
    let text = |name| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let mismatch = || fail(ErrorKind::SizeMismatch, "Checkpoint size mismatch");
    if response.status() == StatusCode::PARTIAL_CONTENT {
        let end = size.saturating_sub(1);
        return match text(CONTENT_RANGE) {
            Some(range) if range == format!("bytes {at}-{end}/{size}") => Ok(0),
            _ => mismatch(),
        };
    }
    match text(CONTENT_LENGTH).map(str::parse::<u64>) {
        Some(Ok(length)) if length != size => mismatch(),
        _ => Ok(at),
    }
}

fn given_up(at: u64, size: u64, lost: &reqwest::Error) -> Error {
    let (at, size) = (crate::text::human_bytes(at), crate::text::human_bytes(size));
    let why = super::http::failure("the bucket", lost);
    Error::new(
        ErrorKind::Store,
        format!(
            "The connection to the bucket was lost {} times, the last time after {at} of {size}",
            RESUMED + 1
        ),
    )
    .hint("look at the network between here and the bucket, then try again")
    .source(why)
}
