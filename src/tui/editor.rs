//! The editor: which one, and how it is told where to stand. Its command is a list of words, and no
//! shell is ever between: a file's name from a checkpoint stays a name.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::config::holds_secret;

/// Longest name of the copy that an editor is given.
const NAME: usize = 80;
/// Editors that leave their window open and end at once, unless told to wait.
const OPENS_A_WINDOW: [&str; 6] = ["code", "codium", "code-insiders", "cursor", "subl", "zed"];
/// What is kept of an extension.
const EXTENSION: usize = 16;

/// The editor that is configured, else the one of the environment, else `vi` where there is one.
///
/// # Errors
/// What to set, where nothing is.
pub fn find(
    configured: Option<Vec<String>>,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<String>, String> {
    if let Some(words) = configured.filter(|words| !words.is_empty()) {
        return Ok(words);
    }
    for name in ["VISUAL", "EDITOR"] {
        let Some(value) = environment(name).filter(|value| !value.is_empty()) else {
            continue;
        };
        let words = value
            .to_str()
            .and_then(|value| shell_words::split(value).ok());
        return match words {
            Some(words) if !words.is_empty() => Ok(words),
            _ => Err(format!("${name} cannot be read as a command")),
        };
    }
    let path = environment("PATH").unwrap_or_default();
    let is_program = |folder: &Path| {
        let file = std::fs::metadata(folder.join("vi"));
        file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if std::env::split_paths(&path).any(|folder| folder.is_absolute() && is_program(&folder)) {
        return Ok(vec!["vi".into()]);
    }
    Err("no editor is known: set $EDITOR, or `editor` in the configuration".into())
}

/// A name for a copy of the file called `name`: letters that neither an editor nor a shell takes for
/// more, with the extension kept, by which editors colour.
#[must_use]
pub fn safe_name(name: &[u8]) -> String {
    let plain = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(*byte),
        _ => '_',
    };
    let whole: String = name.iter().map(plain).collect();
    let whole = match whole.strip_prefix(['-', '.']) {
        Some(rest) => format!("_{rest}"),
        None if whole.is_empty() => "file".into(),
        None => whole,
    };
    if whole.len() <= NAME {
        return whole;
    }
    let extension = whole.rsplit_once('.').map(|(_, extension)| extension);
    match extension.filter(|extension| extension.len() <= EXTENSION) {
        Some(extension) => format!("{}.{extension}", &whole[..NAME - EXTENSION - 1]),
        None => whole[..NAME].to_owned(),
    }
}

/// Variables that hold secrets, and that an editor of an agent's file has no use for.
const SECRETS: [&str; 3] = ["PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
/// URLs, which may hold one.
const PLACES: [&str; 2] = ["AFTERRUN_DB", "AFTERRUN_STORE"];

/// Keeps the secrets of our own environment from `editor`.
pub(super) fn without_secrets(editor: &mut Command, environment: impl Fn(&str) -> Option<String>) {
    for name in SECRETS {
        editor.env_remove(name);
    }
    for name in PLACES {
        if environment(name).is_some_and(|url| holds_secret(&url)) {
            editor.env_remove(name);
        }
    }
}

/// The words to start: the editor on `file`, at `line` where it is known how to say so.
#[must_use]
pub fn command(editor: &[String], file: &Path, line: Option<u32>) -> Vec<OsString> {
    let mut words: Vec<OsString> = editor.iter().map(OsString::from).collect();
    let file = file.as_os_str();
    let program = editor.first().map(Path::new).and_then(Path::file_name);
    let program = program.and_then(OsStr::to_str).unwrap_or_default();
    let waits = editor.iter().any(|word| word == "--wait" || word == "-w");
    if OPENS_A_WINDOW.contains(&program) && !waits {
        // The copy is removed when the command ends.
        words.push("--wait".into());
    }
    let Some(line) = line.filter(|line| *line > 1) else {
        words.push(file.to_owned());
        return words;
    };
    let with_line = || {
        let mut word = file.to_owned();
        word.push(format!(":{line}"));
        word
    };
    match program {
        "vi" | "vim" | "nvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient" | "kak"
        | "mg" | "joe" | "jed" | "ne" | "gedit" | "less" | "micro" => {
            words.extend([format!("+{line}").into(), file.to_owned()]);
        }
        "hx" | "helix" | "subl" | "zed" => words.push(with_line()),
        "code" | "codium" | "code-insiders" | "cursor" => {
            words.extend(["-g".into(), with_line()]);
        }
        _ => words.push(file.to_owned()),
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(editor: &str, line: Option<u32>) -> String {
        let editor = shell_words::split(editor).expect("words");
        let words = command(&editor, Path::new("/p/a.rs"), line);
        let words: Vec<String> = words
            .into_iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        words.join(" ")
    }

    #[test]
    fn editors_are_told_the_line_in_their_own_way() {
        assert_eq!(words("vim -R", Some(7)), "vim -R +7 /p/a.rs");
        assert_eq!(words("/usr/bin/hx", Some(7)), "/usr/bin/hx /p/a.rs:7");
        assert_eq!(words("code --wait", Some(7)), "code --wait -g /p/a.rs:7");
        assert_eq!(words("code", None), "code --wait /p/a.rs");
        assert_eq!(words("my-editor", Some(7)), "my-editor /p/a.rs");
        assert_eq!(words("vim", None), "vim /p/a.rs");
    }

    #[test]
    fn an_editor_gets_no_secret() {
        let mut editor = Command::new("vi");
        let set = |name: &str| match name {
            "AFTERRUN_DB" => Some("postgresql://app:hunter2@db/agno".to_owned()),
            "AFTERRUN_STORE" => Some("s3://bucket/prefix".to_owned()),
            _ => None,
        };
        without_secrets(&mut editor, set);
        let removed: Vec<_> = editor
            .get_envs()
            .map(|(name, value)| (name.to_str(), value))
            .collect();
        assert!(removed.iter().all(|(_, value)| value.is_none()));
        let names: Vec<_> = removed.iter().filter_map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            [
                "AFTERRUN_DB",
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
                "PGPASSWORD"
            ]
        );
    }

    #[test]
    fn a_copy_has_a_harmless_name() {
        assert_eq!(safe_name(b"'; touch x #.rs"), "___touch_x__.rs");
        assert_eq!(safe_name(b"-Rf"), "_Rf");
        assert_eq!(safe_name(b".bashrc"), "_bashrc");
        assert_eq!(safe_name(b"a\n\xff.py"), "a__.py");
        assert_eq!(safe_name(b""), "file");
        let long = safe_name(&[&[b'x'; 300][..], b".json"].concat());
        assert!(long.len() <= NAME && long.ends_with(".json"), "{long}");
    }

    #[test]
    fn the_configuration_wins_over_the_environment() {
        let set = |name: &str| (name == "EDITOR").then(|| OsString::from("nano -w"));
        assert_eq!(find(None, set), Ok(vec!["nano".into(), "-w".into()]));
        assert_eq!(
            find(Some(vec!["hx".into()]), set),
            Ok(vec!["hx".to_owned()])
        );
        let broken = |name: &str| (name == "VISUAL").then(|| OsString::from("vim 'x"));
        assert!(find(None, broken).is_err_and(|why| why.contains("$VISUAL")));
        let nothing = find(None, |_| None);
        assert!(nothing.is_err_and(|why| why.contains("$EDITOR")));
    }
}
