//! The folder for private files: all that is put there counts against one limit.

use std::sync::{Arc, OnceLock};

use super::Settings;
use crate::error::Result;
use crate::scratch::Scratch;

/// The folder as it was looked at first; clones mean the same one.
#[derive(Clone, Debug, Default)]
pub struct Private(Arc<OnceLock<Scratch>>);

impl Settings {
    /// Where private files go, the same place each time.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) when the folder that is named is no place for them.
    pub fn scratch(&self) -> Result<Scratch> {
        let known = &self.private.0;
        if let Some(scratch) = known.get() {
            return Ok(scratch.clone());
        }
        let scratch = match &self.spool {
            Some(folder) => Scratch::new(folder)?,
            None => Scratch::default(),
        };
        let scratch = match self.spool_size {
            Some(bytes) => scratch.with_limit(bytes),
            None => scratch,
        };
        Ok(known.get_or_init(|| scratch).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_shares_one_limit() {
        let settings = Settings {
            spool_size: Some(100),
            ..Settings::default()
        };
        let copy = settings.clone();
        let mut share = settings.scratch().expect("a place").share();
        share.grow(60).expect("it fits");
        let other = copy.scratch().expect("the same place");
        assert_eq!((other.used(), other.limit()), (60, Some(100)));
        other.share().grow(41).expect_err("it is full");
    }
}
