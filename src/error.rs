//! One error for the whole library: what kind it is, what happened in one line, what to do next.
//!
//! Policy: a refusal that Agno has words for keeps Agno's words, letter for letter. The library
//! never prints and never exits; `cli` alone turns a kind into an exit code.

use std::fmt;
use std::path::Path;

/// The result of everything in this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in the words that `--json` uses (`{"error":{"kind": …}}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such run.
    NotFound,
    /// The run belongs to another agent.
    Foreign,
    /// The run's status is not COMPLETED.
    NotCompleted,
    /// The run committed no checkpoint.
    NoCheckpoint,
    /// The reference on the row is malformed.
    BadReference,
    /// The store no longer holds the object.
    ObjectMissing,
    /// The object's length is not the reference's.
    SizeMismatch,
    /// The object's digest is not the reference's.
    ChecksumMismatch,
    /// Something is larger than its limit.
    Limit,
    /// A row that cannot be read.
    BadRow,
    /// The bytes are no valid checkpoint archive.
    InvalidArchive,
    /// The files cannot be captured, restored or compared safely.
    UnsafeContent,
    /// The destination is already there.
    Exists,
    /// The destination holds other work.
    Conflict,
    /// The checkpoint store cannot be used.
    Store,
    /// The database cannot be used.
    Database,
    /// The operating system refused.
    Io,
    /// It took longer than it may.
    Timeout,
    /// Not possible here.
    Unsupported,
    /// The request itself is wrong.
    Usage,
    /// Stopped on request.
    Cancelled,
}

impl ErrorKind {
    /// The kind's name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Foreign => "foreign",
            Self::NotCompleted => "not_completed",
            Self::NoCheckpoint => "no_checkpoint",
            Self::BadReference => "bad_reference",
            Self::ObjectMissing => "object_missing",
            Self::SizeMismatch => "size_mismatch",
            Self::ChecksumMismatch => "checksum_mismatch",
            Self::Limit => "limit",
            Self::BadRow => "bad_row",
            Self::InvalidArchive => "invalid_archive",
            Self::UnsafeContent => "unsafe_content",
            Self::Exists => "exists",
            Self::Conflict => "conflict",
            Self::Store => "store",
            Self::Database => "database",
            Self::Io => "io",
            Self::Timeout => "timeout",
            Self::Unsupported => "unsupported",
            Self::Usage => "usage",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// What may help against a failure, for whoever can do it without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    Again,
    Password,
}

/// A failure: its kind, one line of what and why, and where one helps, what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    remedy: Option<Remedy>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            remedy: None,
            source: None,
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the failure underneath.
    #[must_use]
    pub fn source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same failure, of another kind: where it happened says more than what it is.
    #[must_use]
    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Says that the same may succeed a little later.
    #[must_use]
    pub(crate) fn lost(mut self) -> Self {
        self.remedy = Some(Remedy::Again);
        self
    }

    /// Says that another password may help.
    #[must_use]
    pub(crate) fn refused_password(mut self) -> Self {
        self.remedy = Some(Remedy::Password);
        self
    }

    /// The connection was lost or could not be made, for a reason that may pass: trying again later
    /// can help, and asking for something else now cannot.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.remedy == Some(Remedy::Again)
    }

    /// A password is missing, or the one that was given is wrong.
    #[must_use]
    pub fn wants_password(&self) -> bool {
        self.remedy == Some(Remedy::Password)
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next, where one helps.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The work was stopped on request.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "Cancelled")
    }

    /// An operating system failure on `path`, as `cannot {verb} {path}: {reason}`.
    pub fn io(verb: &str, path: &Path, error: std::io::Error) -> Self {
        let reason = reason(&error);
        let name = crate::text::visible_path(path);
        Self::new(ErrorKind::Io, format!("cannot {verb} {name}: {reason}")).source(error)
    }

    /// The same failure once more, for a second listener; the source is not carried along.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self {
            kind: self.kind,
            message: self.message.clone(),
            hint: self.hint.clone(),
            remedy: self.remedy,
            source: None,
        }
    }
}

/// A failure of this library inside the `Read` of bytes that come from elsewhere.
pub(crate) fn carried(error: Error) -> std::io::Error {
    std::io::Error::other(error)
}

/// What reading a stored object failed with: our own failure where one was [carried], else the
/// operating system's.
pub(crate) fn of_read(error: std::io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => ours,
        Err(error) => Error::new(
            ErrorKind::Store,
            format!("cannot read the stored object: {}", reason(&error)),
        )
        .source(error),
    }
}

/// The operating system's reason without Rust's `(os error N)`.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// Shorthand used where Agno's own words are the message.
pub(crate) fn fail<T>(kind: ErrorKind, message: impl Into<String>) -> Result<T> {
    Err(Error::new(kind, message))
}
