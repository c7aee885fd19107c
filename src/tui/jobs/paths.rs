//! Paths as people type them: `~/` stands for the home, and what is begun is completed from what is
//! there. A folder may be on a slow disk or full of odd names, so it is read in a job, and only names
//! that look like what they are go into the line.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::progress::Watch;
use crate::text::{visible_bytes, visible_path};
use crate::tui::message::Completion;
use crate::{Error, ErrorKind};

/// Entries of a folder that are read.
const READ: usize = 800;
/// Candidates that are kept for the list.
const KEPT: usize = 60;

/// The path that `text` names, `~/` being `home`.
pub(super) fn expand(text: &OsStr, home: Option<&Path>) -> PathBuf {
    let rest = match text.as_bytes() {
        b"~" => Some(&b""[..]),
        bytes => bytes.strip_prefix(b"~/"),
    };
    match (rest, home) {
        (Some(rest), Some(home)) => home.join(OsStr::from_bytes(rest.trim_ascii_start())),
        _ => PathBuf::from(text),
    }
}

/// The home of whoever runs this.
pub(super) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
}

/// Completes `text` as far as what is there agrees, and lists what it may go on with.
pub(super) fn complete(
    text: String,
    folders_only: bool,
    home: Option<&Path>,
    watch: &Watch,
) -> Result<Completion> {
    if text == "~" && home.is_some() {
        return Ok(Completion {
            completed: "~/".into(),
            asked: text,
            names: Vec::new(),
            more: false,
        });
    }
    let (folder, begun) = text.split_at(text.rfind('/').map_or(0, |at| at + 1));
    let place = match folder {
        "" => PathBuf::from("."),
        folder => expand(OsStr::new(folder), home),
    };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(
            ErrorKind::NotFound,
            format!("there is no folder {}", visible_path(&place)),
        ),
        _ => Error::io("read", &place, error),
    };
    let mut found: Vec<(Vec<u8>, bool)> = Vec::new();
    let mut more = false;
    for (read, entry) in std::fs::read_dir(&place).map_err(failed)?.enumerate() {
        watch.check()?;
        if read == READ {
            more = true;
            break;
        }
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let name = name.as_bytes();
        let hidden = name.starts_with(b".") && !begun.starts_with('.');
        if hidden || !name.starts_with(begun.as_bytes()) {
            continue;
        }
        // Through a link: one may complete into the folder it leads to.
        let is_folder = std::fs::metadata(entry.path()).is_ok_and(|entry| entry.is_dir());
        if is_folder || !folders_only {
            found.push((name.to_vec(), is_folder));
        }
    }
    found.sort();
    let shown = |(name, is_folder): &(Vec<u8>, bool)| {
        let end = if *is_folder { "/" } else { "" };
        format!("{}{end}", visible_bytes(name))
    };
    let plain = |name: &[u8]| {
        let name = std::str::from_utf8(name).ok()?;
        (visible_bytes(name.as_bytes()) == name).then(|| name.to_owned())
    };
    let odd = found.iter().any(|(name, _)| plain(name).is_none());
    let mut completed = text.clone();
    // With part of the folder unread, what these agree on may not be what all agree on.
    if !more && !odd {
        let names: Vec<String> = found.iter().filter_map(|(name, _)| plain(name)).collect();
        if let Some((first, rest)) = names.split_first() {
            let common = rest.iter().fold(first.as_str(), |common, name| {
                let same = common.char_indices().zip(name.chars());
                let end = same
                    .take_while(|((_, one), other)| one == other)
                    .map(|((at, letter), _)| at + letter.len_utf8())
                    .last();
                &common[..end.unwrap_or(0)]
            });
            completed = format!("{folder}{common}");
            if rest.is_empty() && found[0].1 {
                completed.push('/');
            }
        }
    }
    more |= found.len() > KEPT;
    let names = match found.as_slice() {
        [_] if completed != text => Vec::new(),
        found => found.iter().take(KEPT).map(shown).collect(),
    };
    Ok(Completion {
        asked: text,
        completed,
        names,
        more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn done(text: &str, folders_only: bool, home: &Path) -> Completion {
        complete(text.into(), folders_only, Some(home), &Watch::default()).expect("read")
    }

    #[test]
    fn completes_what_all_agree_on_and_lists_the_rest() {
        let place = tempfile::tempdir().expect("a folder");
        for folder in ["restore-1", "restore-2", ".hidden", "other"] {
            fs::create_dir(place.path().join(folder)).expect("made");
        }
        fs::write(place.path().join("result.txt"), "x").expect("written");
        let home = place.path();
        let answer = done("~/o", true, home);
        assert_eq!(
            (answer.completed.as_str(), answer.names.len()),
            ("~/other/", 0)
        );
        let answer = done("~/res", true, home);
        assert_eq!(answer.completed, "~/restore-");
        assert_eq!(answer.names, ["restore-1/", "restore-2/"]);
        let answer = done("~/res", false, home);
        assert_eq!(answer.completed, "~/res");
        assert_eq!(answer.names, ["restore-1/", "restore-2/", "result.txt"]);
        assert_eq!(done("~/result", false, home).completed, "~/result.txt");
        assert!(
            !done("~/", true, home)
                .names
                .contains(&".hidden/".to_owned())
        );
        assert_eq!(done("~/.h", true, home).completed, "~/.hidden/");
        assert_eq!(done("~", true, home).completed, "~/");
        let whole = format!("{}/o", home.display());
        assert_eq!(done(&whole, true, home).completed, format!("{whole}ther/"));
        let missing = complete("~/no/x".into(), true, Some(home), &Watch::default());
        assert!(missing.is_err_and(|error| error.message().starts_with("there is no folder")));
    }

    #[test]
    fn an_odd_name_is_shown_and_not_typed() {
        let place = tempfile::tempdir().expect("a folder");
        fs::create_dir(place.path().join("a\u{202e}b\n")).expect("made");
        fs::create_dir(place.path().join(OsStr::from_bytes(b"a\xff"))).expect("made");
        let answer = done("~/a", true, place.path());
        assert_eq!(answer.completed, "~/a");
        assert_eq!(answer.names, ["a\\u{202e}b\\n/", "a\\xff/"]);
    }

    #[test]
    fn a_folder_too_full_to_read_is_said_to_be() {
        let place = tempfile::tempdir().expect("a folder");
        for number in 0..=READ {
            fs::write(place.path().join(format!("name-{number}")), "").expect("written");
        }
        let answer = done("~/na", false, place.path());
        assert!(answer.more && answer.names.len() == KEPT);
        assert_eq!(answer.completed, "~/na");
    }
}
