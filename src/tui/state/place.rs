//! A place in a run that is not open yet: what `afterrun open RUN PATH:LINE` names.

use super::View;

/// Where to go once a run is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// As it was written: in the restored layout or below the checkout, with a line at its end
    /// unless there is a file of that whole name.
    pub path: Option<Vec<u8>>,
    /// The line, where it was said apart from the path.
    pub line: Option<u32>,
    /// What to show.
    pub view: Option<View>,
}

/// A line to stand on as soon as what holds it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seek {
    /// The file's path in the archive.
    pub path: Vec<u8>,
    /// The line, from 1, on the new side.
    pub line: u32,
    /// The view that was asked for by name.
    pub view: Option<View>,
}

/// `path:12` as a path and a line.
#[must_use]
pub fn split_line(path: &[u8]) -> Option<(&[u8], u32)> {
    let at = path.iter().rposition(|byte| *byte == b':')?;
    let digits = &path[at + 1..];
    if at == 0 || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let line = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (line > 0).then_some((&path[..at], line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_stands_after_the_last_colon() {
        assert_eq!(split_line(b"a/b.rs:12"), Some((&b"a/b.rs"[..], 12)));
        assert_eq!(split_line(b"a:1:2"), Some((&b"a:1"[..], 2)));
        for word in [&b"a.rs"[..], b"a:", b"a:b", b":7", b"a:0", b"a:99999999999"] {
            assert_eq!(split_line(word), None);
        }
    }
}
