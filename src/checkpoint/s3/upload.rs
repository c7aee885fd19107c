//! Storing: one PUT, or parts above the part size.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::ETAG;
use sha2::{Digest as _, Sha256};

use super::bucket::{Bucket, Failure, Request};
use super::payload::{Part, Payload};
use super::xml::{Document, LONGEST};
use crate::checkpoint::pump::{STALLED, unless_stalled_for};
use crate::checkpoint::{CheckpointRef, hex, open_regular};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::progress::Watch;

const PIECE: u64 = 256 << 10;
const WRITE: &str = "s3:PutObject";
/// What is left behind costs money, but nobody waits for ever to clear it away.
const ABORTING: Duration = Duration::from_secs(10);

/// A file to be stored, hashed once: as a whole, and part by part.
#[derive(Debug)]
pub(super) struct Source {
    pub reference: CheckpointRef,
    parts: Vec<Part>,
}

impl Source {
    /// Hashes the regular file `path`; blocks.
    ///
    /// # Errors
    /// In Agno's words: over `max_bytes`, empty, no regular file.
    pub(super) fn read(path: &Path, max_bytes: u64, part_size: u64, watch: &Watch) -> Result<Self> {
        let file = Arc::new(open_regular(path)?);
        let (mut whole, mut size, mut parts) = (Sha256::new(), 0_u64, Vec::new());
        let mut piece = Vec::new();
        loop {
            let (mut digest, from) = (Sha256::new(), size);
            while size - from < part_size {
                watch.check()?;
                piece.clear();
                let most = PIECE.min(part_size - (size - from));
                let mut input: &File = &file;
                let count = input.by_ref().take(most).read_to_end(&mut piece);
                if count.map_err(|error| Error::io("read", path, error))? == 0 {
                    break;
                }
                size += piece.len() as u64;
                if size > max_bytes {
                    return fail(ErrorKind::Limit, "Checkpoint object exceeds its limit");
                }
                digest.update(&piece);
                whole.update(&piece);
            }
            if size == from {
                break;
            }
            parts.push(Part {
                file: Arc::clone(&file),
                length: size - from,
                sha256: hex(&digest.finalize()),
                from,
            });
        }
        if size == 0 {
            return fail(ErrorKind::BadReference, "Checkpoint object is empty");
        }
        let reference = CheckpointRef::new(hex(&whole.finalize()), size)?;
        Ok(Self { reference, parts })
    }
}

/// Stores `source` under `key`, with Agno's labels.
///
/// # Errors
/// What the bucket answers; [`ErrorKind::Cancelled`]. Either way nothing is left behind.
pub(super) async fn upload(
    bucket: &Arc<Bucket>,
    key: &str,
    source: &Source,
    watch: &Watch,
) -> Result<()> {
    if let [whole] = &source.parts[..] {
        let request = labelled(Request::new(Method::PUT, key, WRITE), &source.reference);
        let request = request.payload(Payload::Part(whole.clone()));
        return watch
            .unless_cancelled(async { answered(bucket, &request).await.map(drop) })
            .await;
    }
    let upload = Upload::begin(bucket, key, &source.reference).await?;
    match watch.unless_cancelled(upload.parts(&source.parts)).await {
        Ok(()) => {
            upload.settled();
            Ok(())
        }
        Err(error) => {
            upload.abort().await;
            Err(error)
        }
    }
}

async fn answered(bucket: &Bucket, request: &Request<'_>) -> Result<reqwest::Response> {
    let answer = bucket.send(request).await;
    answer.map_err(|failure| bucket.error(failure, request))
}

fn labelled<'a>(request: Request<'a>, reference: &CheckpointRef) -> Request<'a> {
    request
        .header("x-amz-meta-sha256", reference.sha256())
        .header("x-amz-meta-size", &reference.size().to_string())
}

/// A multipart upload that was begun. Nothing can be read under its key before it is completed;
/// one that is dropped is aborted, so that its parts do not stay.
struct Upload {
    bucket: Arc<Bucket>,
    key: String,
    id: String,
    open: bool,
}

impl Upload {
    async fn begin(bucket: &Arc<Bucket>, key: &str, reference: &CheckpointRef) -> Result<Self> {
        let request = Request::new(Method::POST, key, WRITE)
            .query("uploads", "")
            .begins();
        let request = labelled(request, reference);
        let told = document(answered(bucket, &request).await?).await?;
        let id = told.get("UploadId");
        if id.is_empty() {
            return fail(
                ErrorKind::Store,
                "The bucket began an upload without naming it",
            );
        }
        Ok(Self {
            bucket: Arc::clone(bucket),
            key: key.to_owned(),
            id: id.to_owned(),
            open: true,
        })
    }

    fn request(&self, method: Method, right: &'static str) -> Request<'_> {
        Request::new(method, &self.key, right)
    }

    async fn parts(&self, parts: &[Part]) -> Result<()> {
        let mut list = String::new();
        for (part, number) in parts.iter().zip(1..) {
            let request = self
                .request(Method::PUT, WRITE)
                .query("partNumber", number.to_string())
                .query("uploadId", &self.id)
                .payload(Payload::Part(part.clone()));
            let answer = answered(&self.bucket, &request).await?;
            let tag = answer.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
            let tag = quick_xml::escape::escape(tag.unwrap_or_default());
            list.push_str(&format!(
                "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
            ));
        }
        let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
        let list = format!(
            "<CompleteMultipartUpload xmlns=\"{namespace}\">{list}</CompleteMultipartUpload>"
        );
        self.complete(list).await
    }

    async fn complete(&self, list: String) -> Result<()> {
        let request = self
            .request(Method::POST, WRITE)
            .query("uploadId", &self.id)
            .payload(Payload::Text(list));
        let response = match self.bucket.send(&request).await {
            Ok(response) => response,
            // An answer that was lost, and asked for again: the HEAD that follows settles it.
            Err(Failure::Refused(refusal)) if refusal.code == "NoSuchUpload" => return Ok(()),
            Err(failure) => return Err(self.bucket.error(failure, &request)),
        };
        // S3 begins its answer before it knows: an error may come with 200.
        let status = response.status();
        let told = document(response).await?;
        if told.root == "Error" {
            let refusal = super::refusal::Refusal::new(status, &http::HeaderMap::new(), &told);
            return Err(self.bucket.error(Failure::Refused(refusal), &request));
        }
        Ok(())
    }

    fn settled(mut self) {
        self.open = false;
    }

    async fn abort(mut self) {
        self.open = false;
        abort(&self.bucket, &self.key, &self.id).await;
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.open, tokio::runtime::Handle::try_current()) {
            let bucket = Arc::clone(&self.bucket);
            let (key, id) = (self.key.clone(), self.id.clone());
            runtime.spawn(async move { abort(&bucket, &key, &id).await });
        }
    }
}

async fn abort(bucket: &Bucket, key: &str, id: &str) {
    let right = "s3:AbortMultipartUpload";
    let request = Request::new(Method::DELETE, key, right).query("uploadId", id);
    match tokio::time::timeout(ABORTING, bucket.send(&request)).await {
        Ok(Ok(_)) => tracing::info!("the upload was aborted"),
        Ok(Err(Failure::Refused(refusal))) if refusal.code == "NoSuchUpload" => {
            tracing::info!("the upload is gone already");
        }
        _ => tracing::warn!("the upload could not be aborted: its parts stay in the bucket"),
    }
}

/// The document that `response` carries.
async fn document(mut response: reqwest::Response) -> Result<Document> {
    let mut body = Vec::new();
    while let Some(piece) = unless_stalled_for(STALLED, async {
        response
            .chunk()
            .await
            .map_err(|error| super::http::failure("the bucket", &error))
    })
    .await?
    {
        body.extend_from_slice(&piece);
        if body.len() > LONGEST {
            return fail(ErrorKind::Store, "The bucket's answer is too long");
        }
    }
    Ok(Document::read(&body))
}
