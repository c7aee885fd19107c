//! Passwords out of libpq's password file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::password::Password;
use crate::error::reason;
use crate::text::visible_path;

/// No password file is larger.
const MAX_BYTES: u64 = 1 << 20;

/// A password file that was read, or why it was not.
#[derive(Default)]
pub(super) struct Passfile {
    text: String,
    /// Why a file that is there is not used, for whoever then lacks a password.
    pub(super) remark: Option<String>,
}

impl Passfile {
    /// Reads `path` when it is a file that only its owner may read, as libpq demands.
    pub(super) fn read(path: Option<PathBuf>) -> Self {
        let Some(path) = path else {
            return Self::default();
        };
        match Self::text(&path) {
            Ok(text) => Self { text, remark: None },
            Err(remark) => Self {
                text: String::new(),
                remark,
            },
        }
    }

    fn text(path: &Path) -> Result<String, Option<String>> {
        let unused = |why: &str| {
            Some(format!(
                "the password file {} is not used: {why}",
                visible_path(path)
            ))
        };
        let about = fs::metadata(path).map_err(|error| {
            let absent = error.kind() == std::io::ErrorKind::NotFound;
            (!absent).then(|| unused(&reason(&error))).flatten()
        })?;
        if !about.is_file() {
            return Err(unused("it is no file"));
        }
        if about.mode() & 0o077 != 0 {
            return Err(unused("others may read it; chmod 600 makes it private"));
        }
        if about.len() > MAX_BYTES {
            return Err(unused("it is larger than 1 MiB"));
        }
        let bytes = fs::read(path).map_err(|error| unused(&reason(&error)))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The password of the first line that fits.
    pub(super) fn password(
        &self,
        host: &str,
        port: u16,
        dbname: &str,
        user: &str,
    ) -> Option<Password> {
        let port = port.to_string();
        let wanted = [host, &port, dbname, user];
        self.text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .find_map(|line| fitting(line, &wanted))
            .and_then(Password::new)
    }
}

/// The password of `line`, if the four fields before it fit.
fn fitting(line: &str, wanted: &[&str; 4]) -> Option<String> {
    let mut rest = line;
    for want in wanted {
        let (field, behind) = field(rest)?;
        if rest.starts_with("*:") || field == *want {
            rest = behind;
        } else {
            return None;
        }
    }
    Some(unescaped(rest))
}

/// What stands before the next colon, unescaped, and what behind it.
fn field(text: &str) -> Option<(String, &str)> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' => return Some((unescaped(&text[..at]), &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// A backslash takes the letter behind it as it is. In the password, the last field, a colon needs
/// none.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn found(text: &str, host: &str, port: u16, dbname: &str, user: &str) -> Option<String> {
        let file = Passfile {
            text: text.to_owned(),
            remark: None,
        };
        let password = file.password(host, port, dbname, user);
        password.map(|password| password.expose().to_owned())
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        let file = "#db:5432:agno:app:comment\n\nshort:line\ndb:5432:agno:app:first\ndb:*:*:app:second\n\
                    *:*:*:*:any\n";
        let cases = [
            (("db", 5432, "agno", "app"), "first"),
            (("db", 5433, "agno", "app"), "second"),
            (("other", 1, "x", "y"), "any"),
        ];
        for ((host, port, dbname, user), password) in cases {
            assert_eq!(
                found(file, host, port, dbname, user).as_deref(),
                Some(password)
            );
        }
        assert_eq!(
            found("db:5432:agno:app:x", "db", 5432, "agno", "root"),
            None
        );
        assert_eq!(found("db:5432:agno:app:", "db", 5432, "agno", "app"), None);
        assert_eq!(found("", "db", 5432, "agno", "app"), None);
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        let file = r"\:\:1:5432:a\\b:u\:v:p\:a:s\\s";
        assert_eq!(
            found(file, "::1", 5432, r"a\b", "u:v").as_deref(),
            Some(r"p:a:s\s")
        );
        // An escaped star is a star.
        assert_eq!(found(r"\*:*:*:*:x", "db", 1, "a", "b"), None);
        assert_eq!(found(r"\*:*:*:*:x", "*", 1, "a", "b").as_deref(), Some("x"));
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used_and_that_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pgpass");
        assert_eq!(Passfile::read(Some(path.clone())).remark, None);
        fs::write(&path, "*:*:*:*:hunter2\n").expect("written");
        for (mode, used) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changed");
            let file = Passfile::read(Some(path.clone()));
            assert_eq!(file.password("a", 1, "b", "c").is_some(), used, "{mode:o}");
            assert_eq!(file.remark.is_none(), used, "{mode:o}");
        }
        let file = Passfile::read(Some(folder.path().into()));
        assert!(
            file.remark
                .is_some_and(|remark| remark.ends_with("it is no file"))
        );
    }
}
