//! `--store s3://bucket/prefix?…`.

use super::{Settings, masked};
use crate::checkpoint::{S3CheckpointStore, S3Settings};
use crate::error::Result;

/// The bucket, when that is what is named as the store.
pub(super) fn store(settings: &Settings) -> Result<Option<S3CheckpointStore>> {
    let Some(url) = settings
        .store
        .as_deref()
        .filter(|url| url.starts_with("s3://"))
    else {
        return Ok(None);
    };
    let store = S3CheckpointStore::open(S3Settings::from_url(url)?, &settings.aws)?;
    tracing::info!("the store {} is open, a bucket", masked(url));
    Ok(Some(store))
}
