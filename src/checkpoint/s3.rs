//! Objects in a bucket: `<prefix><sha256>.tar.gz`, labelled with their digest and size.

mod bucket;
mod cache;
mod credentials;
mod environment;
mod http;
mod object;
mod outside;
mod payload;
mod process;
mod profile;
mod refusal;
mod role;
mod settings;
mod upload;
pub(crate) mod xml;

use std::future::Future;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::runtime::Runtime;

use self::bucket::{Bucket, Failure, Request};
use self::cache::Cache;
use self::object::Head;
use self::upload::Source;
use super::copy::leased;
use super::pump::pumped;
use super::{CheckpointRef, CheckpointStore, Lease, StoredObject, blocking};
use crate::error::{ErrorKind, Result, fail};
use crate::progress::Watch;
use crate::scratch::Scratch;
use crate::text::visible;

pub use self::environment::AwsEnvironment;
#[cfg(feature = "app")]
pub(crate) use self::refusal::may_be_missing;
pub use self::settings::S3Settings;

/// Immutable objects in an S3-compatible bucket (Agno's `S3CheckpointStore`).
///
/// Labels are checked before a byte is downloaded. Reading needs `s3:GetObject`, storing
/// `s3:PutObject` and above the part size `s3:AbortMultipartUpload`, deleting `s3:DeleteObject`.
/// Without `s3:ListBucket` a missing object answers 403: storing takes that as unknown and uploads,
/// reading reports it. Requests are signed with what boto3 would find in the [`AwsEnvironment`].
#[derive(Clone, Debug)]
pub struct S3CheckpointStore {
    bucket: Arc<Bucket>,
    settings: Arc<S3Settings>,
    cache: Option<Cache>,
    scratch: Scratch,
}

impl S3CheckpointStore {
    /// The store that `settings` name. Files of profiles are read, and the cache's directory is
    /// made; nothing is asked of the bucket yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when settings, environment or files are wrong; what the cache's
    /// directory answers.
    pub fn open(settings: S3Settings, environment: &AwsEnvironment) -> Result<Self> {
        let settings = settings.checked()?;
        let bucket = Bucket::new(&settings, environment)?;
        let cache = settings.cache.as_ref().map(|root| {
            let root = match root.to_str() {
                Some(root) => environment.expanded(root),
                None => root.clone(),
            };
            Cache::create(root, settings.cache_bytes, settings.max_bytes)
        });
        Ok(Self {
            bucket: Arc::new(bucket),
            cache: cache.transpose()?,
            settings: Arc::new(settings),
            scratch: Scratch::default(),
        })
    }

    /// Puts the private copies of opened objects into `scratch`, not into the system's folder for
    /// temporary files. What a cache keeps lies in the cache's own directory.
    #[must_use]
    pub fn with_scratch(mut self, scratch: Scratch) -> Self {
        self.scratch = scratch;
        self
    }

    /// The object's key.
    #[must_use]
    pub fn key(&self, reference: &CheckpointRef) -> String {
        format!("{}{}.tar.gz", self.settings.prefix, reference.sha256())
    }

    /// Blocking [`CheckpointStore::put`].
    ///
    /// # Errors
    /// The same.
    pub fn blocking_put(&self, source: &Path) -> Result<CheckpointRef> {
        alone(self.put(source))
    }

    /// Blocking [`CheckpointStore::verify`].
    ///
    /// # Errors
    /// The same.
    pub fn blocking_verify(&self, reference: &CheckpointRef, watch: &Watch) -> Result<()> {
        alone(self.verify(reference, watch))
    }

    /// Blocking [`CheckpointStore::open_archive`].
    ///
    /// # Errors
    /// The same.
    pub fn blocking_open_archive(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Lease> {
        alone(self.open_archive(reference, watch))
    }

    /// Blocking [`CheckpointStore::fetch`].
    ///
    /// # Errors
    /// The same.
    pub fn blocking_fetch(&self, reference: &CheckpointRef, watch: &Watch) -> Result<StoredObject> {
        let runtime = runtime()?;
        let StoredObject { reference, bytes } = runtime.block_on(self.fetch(reference, watch))?;
        let bytes = Box::new(Kept {
            bytes,
            runtime: Some(runtime),
        });
        Ok(StoredObject { reference, bytes })
    }

    /// Blocking [`CheckpointStore::contains`].
    ///
    /// # Errors
    /// The same.
    pub fn blocking_contains(&self, reference: &CheckpointRef) -> Result<bool> {
        alone(self.contains(reference))
    }

    /// Blocking [`CheckpointStore::delete`].
    ///
    /// # Errors
    /// The same.
    pub fn blocking_delete(&self, reference: &CheckpointRef) -> Result<()> {
        alone(self.delete(reference))
    }

    /// Starts the download, without asking for labels.
    fn download(&self, reference: &CheckpointRef, watch: &Watch) -> StoredObject {
        let (bucket, key) = (Arc::clone(&self.bucket), self.key(reference));
        let wanted = reference.clone();
        pumped(reference, watch, |pump| {
            object::download(bucket, key, wanted, pump)
        })
    }

    /// The lease on the cache's copy, which is made when there is none. What is in the bucket was
    /// checked by the caller, so a copy is never served for an object that the bucket has no more.
    async fn cached(
        &self,
        cache: &Cache,
        reference: &CheckpointRef,
        watch: &Watch,
    ) -> Result<Lease> {
        // A copy that was dropped as damaged, or that another process evicted, is made once more.
        for _ in 0..2 {
            if let Some(lease) = self.kept(cache, reference, watch).await? {
                return Ok(lease);
            }
            let (cache, object) = (cache.clone(), self.download(reference, watch));
            let watch = watch.clone();
            blocking(move || cache.fill(object, &watch)).await?;
        }
        match self.kept(cache, reference, watch).await? {
            Some(lease) => Ok(lease),
            None => fail(
                ErrorKind::Store,
                "The cache does not keep what is put into it",
            ),
        }
    }

    async fn kept(
        &self,
        cache: &Cache,
        reference: &CheckpointRef,
        watch: &Watch,
    ) -> Result<Option<Lease>> {
        let (cache, reference, watch) = (cache.clone(), reference.clone(), watch.clone());
        blocking(move || cache.lease(&reference, &watch)).await
    }
}

#[async_trait]
impl CheckpointStore for S3CheckpointStore {
    async fn put(&self, source: &Path) -> Result<CheckpointRef> {
        self.put_watched(source, &Watch::default()).await
    }

    async fn put_watched(&self, source: &Path, watch: &Watch) -> Result<CheckpointRef> {
        let (path, settings, hashing) =
            (source.to_owned(), Arc::clone(&self.settings), watch.clone());
        let source =
            blocking(move || Source::read(&path, settings.max_bytes, settings.part_size, &hashing))
                .await?;
        let key = self.key(&source.reference);
        match watch
            .unless_cancelled(object::head(&self.bucket, &key))
            .await?
        {
            // The same bytes are there, or something else is under their name.
            Head::There(labels) => {
                object::check(&source.reference, Some(&labels))?;
                return Ok(source.reference);
            }
            Head::Missing | Head::Forbidden => {}
        }
        upload::upload(&self.bucket, &key, &source, watch).await?;
        // Readable, with the labels it should have, or it was not stored.
        let stored = watch
            .unless_cancelled(object::labels(&self.bucket, &key))
            .await?;
        object::check(&source.reference, stored.as_ref())?;
        Ok(source.reference)
    }

    async fn verify(&self, reference: &CheckpointRef, watch: &Watch) -> Result<()> {
        if reference.size() > self.settings.max_bytes {
            return fail(ErrorKind::Limit, "Checkpoint object exceeds its limit");
        }
        let key = self.key(reference);
        let labels = watch
            .unless_cancelled(object::labels(&self.bucket, &key))
            .await?;
        object::check(reference, labels.as_ref())
    }

    async fn open_archive(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Lease> {
        self.verify(reference, watch).await?;
        match &self.cache {
            Some(cache) => self.cached(cache, reference, watch).await,
            None => {
                let object = self.download(reference, watch);
                leased(object, &self.scratch, watch).await
            }
        }
    }

    async fn fetch(&self, reference: &CheckpointRef, watch: &Watch) -> Result<StoredObject> {
        self.verify(reference, watch).await?;
        let Some(cache) = &self.cache else {
            return Ok(self.download(reference, watch));
        };
        let lease = self.cached(cache, reference, watch).await?;
        Ok(StoredObject {
            reference: reference.clone(),
            bytes: Box::new(lease.into_reader()),
        })
    }

    async fn contains(&self, reference: &CheckpointRef) -> Result<bool> {
        let labels = object::labels(&self.bucket, &self.key(reference)).await?;
        Ok(labels.is_some())
    }

    async fn delete(&self, reference: &CheckpointRef) -> Result<()> {
        let key = self.key(reference);
        let request = Request::new(::http::Method::DELETE, &key, "s3:DeleteObject");
        match self.bucket.send(&request).await {
            Ok(_) => Ok(()),
            // S3 itself answers 204 for a key that is gone; not every service does.
            Err(Failure::Refused(refusal)) if refusal.code == "NoSuchKey" => Ok(()),
            Err(failure) => Err(self.bucket.error(failure, &request)),
        }
    }

    fn describe(&self) -> String {
        let S3Settings { bucket, prefix, .. } = &*self.settings;
        format!("s3://{}/{}", visible(bucket), visible(prefix))
    }
}

/// Waits for `work` on a runtime of its own.
fn alone<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(work)
}

fn runtime() -> Result<Runtime> {
    crate::threads::runtime(1)
}

/// Bytes, and the runtime that downloads them.
struct Kept {
    bytes: Box<dyn Read + Send>,
    runtime: Option<Runtime>,
}

impl Read for Kept {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.bytes.read(into)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
