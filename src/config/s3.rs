//! `--store s3://bucket/prefix?…`.

use super::Settings;
use crate::checkpoint::{S3CheckpointStore, S3Settings};
use crate::error::Result;

/// The bucket, when that is what is named as the store. What its URL says of a cache comes before
/// what is configured.
pub(super) fn store(settings: &Settings) -> Result<Option<S3CheckpointStore>> {
    let Some(url) = settings
        .store
        .as_deref()
        .filter(|url| url.starts_with("s3://"))
    else {
        return Ok(None);
    };
    let store = S3CheckpointStore::open(named(settings, url)?, &settings.aws)?;
    Ok(Some(store.with_scratch(settings.scratch()?)))
}

fn named(settings: &Settings, url: &str) -> Result<S3Settings> {
    let mut configured = S3Settings::new("");
    configured.cache.clone_from(&settings.cache);
    if let Some(bytes) = settings.cache_size {
        configured.cache_bytes = bytes;
    }
    configured.with_url(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_configured_and_the_urls_own_comes_first() {
        let settings = Settings {
            cache: Some("/configured".into()),
            cache_size: Some(7),
            ..Settings::default()
        };
        let cache = |url: &str| {
            let named = named(&settings, url).expect(url);
            assert_eq!((named.bucket.as_str(), named.part_size), ("b", 64 << 20));
            (named.cache, named.cache_bytes)
        };
        assert_eq!(cache("s3://b"), (Some("/configured".into()), 7));
        assert_eq!(cache("s3://b?cache=/own"), (Some("/own".into()), 7));
        assert_eq!(
            cache("s3://b?cache_bytes=9"),
            (Some("/configured".into()), 9)
        );
        let plain = named(&Settings::default(), "s3://b").expect("a bucket");
        assert_eq!((plain.cache, plain.cache_bytes), (None, 4 << 30));
    }
}
