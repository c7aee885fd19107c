//! What a committed turn leaves on its row: digest and size of the stored bytes.

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result, fail};
use crate::json::Json;

/// Digest and size of a checkpoint's *stored* bytes (Agno's `CheckpointRef`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CheckpointRef {
    sha256: String,
    size: u64,
}

impl CheckpointRef {
    /// A reference to `size` bytes (over 0) with the digest `sha256` (64 lower-case hex digits).
    ///
    /// # Errors
    /// `Invalid checkpoint digest`, `Checkpoint size must be positive`: Agno's own checks.
    pub fn new(sha256: impl Into<String>, size: u64) -> Result<Self> {
        let sha256 = sha256.into();
        if !is_digest(&sha256) {
            return fail(ErrorKind::BadReference, "Invalid checkpoint digest");
        }
        if size < 1 {
            return fail(ErrorKind::BadReference, "Checkpoint size must be positive");
        }
        Ok(Self { sha256, size })
    }

    /// The reference that stands on a row, checked in Agno's order.
    ///
    /// Agno calls `CheckpointRef(**value)`: exactly the two keys, then digest, then size. Where
    /// Python would stop with a raw error, the message says what is wrong instead. A size past 64
    /// bits stays a size no object has, so that the store's limit answers, as in Agno.
    ///
    /// # Errors
    /// [`ErrorKind::BadReference`].
    pub fn from_row(value: &Json) -> Result<Self> {
        let Json::Object(items) = value else {
            return fail(
                ErrorKind::BadReference,
                format!("The row's checkpoint is {}, not an object", value.kind()),
            );
        };
        if let Some((key, _)) = items
            .iter()
            .find(|(key, _)| key != "sha256" && key != "size")
        {
            return fail(
                ErrorKind::BadReference,
                format!(
                    "The row's checkpoint has an unexpected key {}",
                    crate::text::python_repr(key.as_bytes())
                ),
            );
        }
        for key in ["sha256", "size"] {
            if value.get(key).is_none() {
                return fail(
                    ErrorKind::BadReference,
                    format!("The row's checkpoint has no {key}"),
                );
            }
        }
        let digest = match value.get("sha256") {
            Some(Json::Text(text)) => text,
            other => {
                let kind = other.map_or("missing", Json::kind);
                return fail(
                    ErrorKind::BadReference,
                    format!("The row's checkpoint digest is {kind}, not text"),
                );
            }
        };
        if !is_digest(digest) {
            return fail(ErrorKind::BadReference, "Invalid checkpoint digest");
        }
        let size = match value.get("size") {
            Some(Json::Int(digits)) if !digits.starts_with('-') => {
                digits.parse().unwrap_or(u64::MAX)
            }
            _ => 0,
        };
        Self::new(digest.clone(), size)
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Stored bytes, over 0.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// Whether `text` is a digest: 64 lower-case hex digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// How much an archive may hold (Agno's `CheckpointLimits`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointLimits {
    /// Stored bytes, expanded bytes, and the sum of file sizes: 1 GiB.
    pub max_bytes: u64,
    /// Members: 100,000.
    pub max_entries: u64,
    /// The manifest, and one extension header: 1 MiB.
    pub max_manifest_bytes: u64,
}

impl Default for CheckpointLimits {
    fn default() -> Self {
        Self {
            max_bytes: 1 << 30,
            max_entries: 100_000,
            max_manifest_bytes: 1 << 20,
        }
    }
}

impl CheckpointLimits {
    /// Refuses a limit of zero, in Agno's words.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`].
    pub fn checked(self) -> Result<Self> {
        if self.max_bytes < 1 || self.max_entries < 1 || self.max_manifest_bytes < 1 {
            return Err(Error::new(
                ErrorKind::Usage,
                "Checkpoint limits must be positive integers",
            ));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> String {
        let value = Json::parse(text).expect("test JSON");
        match CheckpointRef::from_row(&value) {
            Ok(reference) => format!("{}", reference.size()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn answers_as_agno_does() {
        let digest = "0f".repeat(32);
        assert_eq!(answer(&format!(r#"{{"sha256":"{digest}","size":7}}"#)), "7");
        assert_eq!(
            answer(&format!(
                r#"{{"sha256":"{digest}","size":1180591620717411303424}}"#
            )),
            u64::MAX.to_string()
        );
        for size in ["0", "-1", "\"7\"", "7.5", "true", "null"] {
            assert_eq!(
                answer(&format!(r#"{{"sha256":"{digest}","size":{size}}}"#)),
                "Checkpoint size must be positive"
            );
        }
        for bad in [digest.to_uppercase(), digest[1..].to_owned(), String::new()] {
            assert_eq!(
                answer(&format!(r#"{{"sha256":"{bad}","size":0}}"#)),
                "Invalid checkpoint digest"
            );
        }
        assert_eq!(answer("{}"), "The row's checkpoint has no sha256");
        assert_eq!(
            answer(&format!(r#"{{"sha256":"{digest}","size":7,"key":"x"}}"#)),
            "The row's checkpoint has an unexpected key 'key'"
        );
    }
}
