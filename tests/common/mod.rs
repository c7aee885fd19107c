//! What the end-to-end tests share: the demo world, made once by the binary itself, and a place of
//! one's own to run that binary in. Each file of tests uses a part of it.
#![allow(dead_code)]

pub mod agno;
pub mod answers;
pub mod fake;
pub mod headless;
pub mod postgres;
pub mod proxy;
pub mod pty;
pub mod s3;
pub mod tar;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The runs of the demo world; they are the same wherever it is built.
pub mod id {
    pub const STORY1: &str = "4af5f6d6-72b5-4118-ad61-19d1f1583073";
    pub const STORY2: &str = "bee43833-e29e-40ba-ae85-59abd5f626b3";
    pub const PANTRY1: &str = "55efb6b1-d779-42be-a106-8b72d182aca1";
    pub const PANTRY4: &str = "bf266f60-15ad-431a-a87b-d2bc20ca80fb";
    pub const PANTRY5: &str = "ca7c120e-2d7e-4285-aa9e-38b96c3f41bd";
    pub const RUNNING: &str = "e1c38238-f23c-4e3e-a291-6b0782625785";
    pub const NOTES2: &str = "4772548a-586e-4eea-a740-6eaf8836223a";
    /// Completed on the host, without a checkpoint.
    pub const HOST: &str = "4a14e50b-fbb1-40fb-a0ac-85b00232b357";
    pub const PRUNED: &str = "f8df4e2f-ea02-44a5-a741-a8d997e68f1c";
    pub const CORRUPTED: &str = "a96a5b18-a7df-41f0-a0ea-6bed32d0b31d";
    pub const PLAIN: &str = "86f94086-0c1d-41b7-a8e4-96683fcd1e87";
    pub const DAMAGED: &str = "a768559c-dd59-4a5c-af07-07c86bddbe04";
    pub const TEAM: &str = "ced2f63e-f98d-47d2-a329-16db4d8271e5";
}

/// The demo world.
pub struct World {
    pub database: PathBuf,
    pub store: PathBuf,
}

impl World {
    /// `--db` and `--store` of this world.
    pub fn options(&self) -> [&OsStr; 4] {
        let (database, store) = (self.database.as_os_str(), self.store.as_os_str());
        ["--db".as_ref(), database, "--store".as_ref(), store]
    }

    /// The object that `run` committed.
    pub fn object(&self, run: &str) -> PathBuf {
        let shown = Place::new().world(&["show", run, "--json"]).ok().json();
        let digest = &shown["run"]["checkpoint"]["sha256"];
        self.store.join(digest.as_str().expect("a digest"))
    }
}

/// The world, made on first use; nothing in it may be changed. It stays in the target directory, where
/// the next process removes it.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for entry in std::fs::read_dir(all).expect("listed").flatten() {
            let name = entry.file_name();
            let of = name.to_str().and_then(|name| name.strip_prefix("world-"));
            if of.is_some_and(|of| !Path::new("/proc").join(of).exists()) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let dir = all.join(format!("world-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let shown = dir.to_str().expect("UTF-8");
        let place = Place::new();
        let built = place.run(&["demo", "--dir", shown, "--no-tui", "--json"]);
        let built = built.ok().json();
        assert_eq!(built["run_id"], id::STORY2);
        World {
            database: dir.join("agno.sqlite"),
            store: dir.join("checkpoints"),
        }
    })
}

/// A folder of the test's own: commands run in `work`, and what they put in TMPDIR has to be gone when
/// they end.
pub struct Place {
    root: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["work", "tmp", "home"] {
            std::fs::create_dir(root.path().join(name)).expect("made");
        }
        Self { root }
    }

    /// A path below the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    /// The commands' home directory.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The commands' TMPDIR.
    pub fn tmp(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// `program` in this place, with nothing of the tester's own environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.environment())
            .current_dir(self.path(""))
            .stdin(Stdio::null());
        command
    }

    pub fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        vec![
            ("PATH", path),
            ("HOME", self.root.path().join("home").into()),
            ("TMPDIR", self.tmp().into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
        ]
    }

    /// The binary in this place.
    pub fn afterrun(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_afterrun"));
        command.args(args);
        command
    }

    /// The binary on the demo world.
    pub fn on_world(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.afterrun(&world().options());
        command.args(args);
        command
    }

    /// Runs `afterrun ARGS` to its end.
    pub fn run(&self, args: &[impl AsRef<OsStr>]) -> Ran {
        self.finish(self.afterrun(args))
    }

    /// Runs `afterrun ARGS` on the demo world.
    pub fn world(&self, args: &[impl AsRef<OsStr>]) -> Ran {
        self.finish(self.on_world(args))
    }

    /// Runs `command` to its end; whatever it is, it leaves nothing in TMPDIR.
    pub fn finish(&self, mut command: Command) -> Ran {
        let output = command.output().expect("started");
        self.ended(format!("{command:?}"), output)
    }

    /// What became of the command `what`, which leaves nothing in TMPDIR.
    pub fn ended(&self, what: String, output: Output) -> Ran {
        self.assert_clean(&what);
        Ran {
            what,
            code: output.status.code(),
            out: output.stdout,
            err: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    pub fn assert_clean(&self, what: &str) {
        assert_eq!(names(&self.tmp()), [""; 0], "left in TMPDIR by {what}");
    }
}

/// A command that has ended.
pub struct Ran {
    what: String,
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        let (what, out) = (&self.what, String::from_utf8_lossy(&self.out));
        assert_eq!(
            self.code,
            Some(code),
            "{what}\nstdout: {out}\nstderr: {}",
            self.err
        );
        self
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    /// It ended with `code`, said nothing on stdout, and one line on stderr with perhaps a hint; that
    /// line without `afterrun: `.
    #[track_caller]
    pub fn refuses(self, code: i32) -> String {
        let ran = self.exits(code);
        assert_eq!(ran.text(), "", "{}", ran.what);
        ran.message()
    }

    /// The one line of the error.
    #[track_caller]
    pub fn message(&self) -> String {
        let mut lines = self.err.lines();
        let first = lines.next().unwrap_or_default();
        let rest: Vec<_> = lines.collect();
        let hint = matches!(&rest[..], [] | [_]) && rest.iter().all(|l| l.starts_with("hint: "));
        match first.strip_prefix("afterrun: ") {
            Some(message) if hint && !message.is_empty() => message.to_owned(),
            _ => panic!("{}: not one line and a hint: {}", self.what, self.err),
        }
    }

    /// What the error says to do.
    #[track_caller]
    pub fn hint(&self) -> &str {
        let hint = self
            .err
            .lines()
            .find_map(|line| line.strip_prefix("hint: "));
        hint.unwrap_or_else(|| panic!("{}: no hint: {}", self.what, self.err))
    }

    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("stdout is UTF-8")
    }

    /// The one document on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.text();
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}: {text}", self.what))
    }

    /// The kind of the error in the one document on stdout, the same message on stderr.
    #[track_caller]
    pub fn error(&self) -> (String, String) {
        let document = self.json();
        let text = |key: &str| document["error"][key].as_str().map(str::to_owned);
        match (text("kind"), text("message")) {
            (Some(kind), Some(message)) if document.as_object().map(|all| all.len()) == Some(1) => {
                assert_eq!(self.message(), message);
                (kind, message)
            }
            _ => panic!("{}: not one error: {document}", self.what),
        }
    }
}

/// The sorted names in a folder.
#[track_caller]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("listed");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.expect("an entry").file_name();
        name.to_string_lossy().into_owned()
    };
    let mut names: Vec<_> = entries.map(name).collect();
    names.sort();
    names
}

/// The two folders hold the same, whatever their own times.
#[track_caller]
pub fn assert_same(one: &Path, two: &Path) {
    let (one, two) = (tree(one), tree(two));
    let only = |these: &[String], others: &[String]| {
        let missing = these.iter().filter(|line| !others.contains(line));
        missing.cloned().collect::<Vec<_>>()
    };
    assert!(
        one == two,
        "{:#?}\nagainst\n{:#?}",
        only(&one, &two),
        only(&two, &one)
    );
}

/// Everything below `folder`: path, kind, mode, time, and content or target.
pub fn tree(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let (mut all, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(path) = left.pop() {
        let entry = std::fs::symlink_metadata(&path).expect("there");
        let content = if entry.is_dir() {
            let inside = std::fs::read_dir(&path).expect("listed");
            left.extend(inside.map(|entry| entry.expect("an entry").path()));
            String::new()
        } else if entry.is_symlink() {
            format!("{:?}", std::fs::read_link(&path).expect("a link"))
        } else {
            sha256(&std::fs::read(&path).expect("read"))
        };
        if path != folder {
            let below = path.strip_prefix(folder).expect("below");
            let (mode, time) = (entry.mode(), (entry.mtime(), entry.mtime_nsec()));
            all.push(format!("{below:?} {mode:o} {time:?} {content}"));
        }
    }
    all.sort();
    all
}

pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text without what differs between builds: digests and sizes of compressed bytes, and ages.
pub fn mask(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let followed = |at: usize, by: &[&str]| {
            let next = words.get(at + 1).map(|next| next.trim_end_matches(','));
            next.is_some_and(|next| by.contains(&next))
        };
        let masked = words.iter().enumerate().map(|(at, word)| {
            let starts = word.starts_with(|c: char| c.is_ascii_digit());
            if word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
                "<sha256>"
            } else if starts && followed(at, &["B", "kB", "MB"]) {
                "<n>"
            } else if starts && followed(at, &["ago"]) {
                "<age>"
            } else {
                word
            }
        });
        masked.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The same for a document, laid out for people.
pub fn masked(mut document: Value) -> String {
    fn walk(value: &mut Value, key: &str) {
        match value {
            Value::String(text) => *text = mask(text),
            Value::Number(_) if matches!(key, "size" | "bytes") => *value = "<n>".into(),
            Value::Array(list) => list.iter_mut().for_each(|value| walk(value, key)),
            Value::Object(map) => map.iter_mut().for_each(|(key, value)| walk(value, key)),
            _ => {}
        }
    }
    walk(&mut document, "");
    serde_json::to_string_pretty(&document).expect("JSON")
}
