//! A database and a checkpoint of an agent that wrote harm into everything that it can write: rows, the
//! manifest's state, names, links, contents, commits, and what lies in `.git`.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::common::pty::Terminal;
use super::common::{Place, world};
use super::payloads::{BYTES, PAYLOADS, all, evil, is_name};
use super::strict;

/// The words that the run's main file begins with.
pub const FIRST: &str = "the first line";

pub struct Hostile {
    pub place: Place,
    /// The run all of whose fields hold every payload.
    pub run: String,
}

/// The longest name there is, of lines.
pub fn longest_name() -> String {
    let line = "a line\n\x1b[2J\u{202e}";
    let mut name = String::from("PWN-long ");
    while name.len() + line.len() <= 255 {
        name.push_str(line);
    }
    name.extend(std::iter::repeat_n('\n', 255 - name.len()));
    name
}

fn git(place: &Place, args: &[&str], input: &[u8]) -> String {
    let mut command = place.command("git");
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.invalid"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.invalid"),
    ] {
        command.env(name, value);
    }
    command.arg("-C").arg(place.path("work/repository"));
    command.args(args).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("git is there");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(input).expect("written");
    drop(pipe);
    let output = child.wait_with_output().expect("ended");
    assert!(output.status.success(), "git {args:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn put(folder: &Path, name: &[u8], bytes: impl AsRef<[u8]>) {
    let path = folder.join(OsStr::from_bytes(name));
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, bytes).expect("written");
}

/// A checkout with a base, answered as the pin, and harm in all that came after it.
fn checkout(place: &Place) -> String {
    let folder = place.path("work/repository");
    std::fs::create_dir_all(&folder).expect("made");
    git(place, &["init", "-q", "-b", "main"], b"");
    put(&folder, b"first.txt", format!("{FIRST}\nsame\n"));
    put(&folder, evil(0, "moved").as_bytes(), "kept\n".repeat(20));
    git(place, &["add", "-A"], b"");
    git(place, &["commit", "-q", "-m", "base"], b"");
    let pin = git(place, &["rev-parse", "HEAD"], b"");
    let lines: String = (0..PAYLOADS.len())
        .map(|number| evil(number, "line ") + "\n")
        .collect();
    put(&folder, b"first.txt", format!("{FIRST}\n{lines}same\n"));
    std::fs::rename(folder.join(evil(0, "moved")), folder.join(evil(3, "moved"))).expect("moved");
    git(place, &["add", "-A"], b"");
    let tree = git(place, &["write-tree"], b"");
    let who = all().replace(['\n', '<', '>'], "_");
    let subject = all().replace('\n', "_");
    let commit = format!(
        "tree {tree}\nparent {pin}\nauthor {who} <{who}@x> 1780000000 +0000\n\
         committer {who} <x@x> 1780000000 +0000\n\n{subject}\n"
    );
    let words = [
        "hash-object",
        "-t",
        "commit",
        "-w",
        "--stdin",
        "--literally",
    ];
    let head = git(place, &words, commit.as_bytes());
    put(&folder, b".git/HEAD", format!("{head}\n"));
    put(&folder, b".git/refs/stash", format!("{head}\n"));
    let reflog = format!("{pin} {head} {who} <x@x> 1780000000 +0000\t{subject}\n");
    put(&folder, b".git/logs/refs/stash", reflog);
    let odd = all().replace(['\n', '"', ' ', '\t'], "_");
    let section = format!("[alias]\n\t{odd} = !x\n[filter \"{odd}\"]\n\tclean = {odd}\n");
    let config = std::fs::read_to_string(folder.join(".git/config")).expect("read");
    put(&folder, b".git/config", config + &section);
    put(
        &folder,
        b".gitattributes",
        format!("first.txt filter={odd} working-tree-encoding={odd}\n"),
    );
    put(&folder, b".gitignore", "*.ignored\n");
    for number in (0..PAYLOADS.len()).filter(|number| is_name(*number)) {
        let name = evil(number, "f");
        put(&folder, name.as_bytes(), evil(number, "content ") + "\n");
        let target = evil(number, "../").replace('\n', "n");
        symlink(target, folder.join(evil(number, "link"))).expect("made");
        if number % 5 == 0 {
            symlink(evil(number, "/away"), folder.join(evil(number, "away"))).expect("made");
            put(&folder, (evil(number, "") + ".ignored").as_bytes(), "x\n");
            put(
                &folder,
                (evil(number, "folder") + "/inside").as_bytes(),
                "x\n",
            );
        }
    }
    for (raw, _) in BYTES {
        put(
            &folder,
            &[b"bytes ", *raw].concat(),
            [raw, &b" PWN bytes\n"[..]].concat(),
        );
    }
    put(&folder, longest_name().as_bytes(), "long\n");
    put(
        &folder,
        b"binary\x1b[2J.bin",
        [&b"\0\x1b[2J"[..], all().as_bytes()].concat(),
    );
    put(
        &folder,
        b"code \x1b.rs",
        format!(
            "fn main() {{ // {}\n\t\tlet x = \"{}\";\n}}\n",
            all(),
            all()
        ),
    );
    pin
}

fn row(number: Option<usize>, field: &str) -> String {
    match number {
        Some(number) => evil(number, field),
        None => format!("{field}{}", all()),
    }
}

impl Hostile {
    /// Builds it.
    pub fn new() -> Self {
        let place = Place::new();
        let pin = checkout(&place);
        let native = place.path("home/.claude/projects/x");
        std::fs::create_dir_all(&native).expect("made");
        std::fs::write(native.join("s.jsonl"), json!({"text": all()}).to_string())
            .expect("written");
        let mut state = json!({all(): all(), "list": [all()]}).to_string();
        state.insert_str(
            1,
            "\"half\":\"\\ud800 PWN half\",\"nul\":\"a\\u0000PWN nul\",",
        );
        let words = [
            "capture",
            "--workspace",
            "work",
            "--native",
            "home",
            "--store",
            "store",
        ];
        let captured = place.run(&[&words[..], &["--state", &state, "--json"]].concat());
        let reference = captured.ok().json();
        let this = Self {
            run: row(None, "run"),
            place,
        };
        this.rows(&reference, &pin);
        this
    }

    fn rows(&self, reference: &Value, pin: &str) {
        let path = self.place.path("evil.sqlite");
        std::fs::copy(&world().database, &path).expect("copied");
        let database = Connection::open(&path).expect("opened");
        database
            .execute_batch("DELETE FROM agno_runs; DELETE FROM agno_sessions;")
            .expect("emptied");
        let numbers = (0..PAYLOADS.len()).map(Some).chain([None]);
        for (at, number) in numbers.enumerate() {
            let at = i64::try_from(at).expect("few");
            let field = |name: &str| row(number, name);
            let session = field("session");
            // A NUL is possible in a row, and in no argument.
            let title = field("title") + if number.is_some() { "\0" } else { "" };
            database
                .execute(
                    "INSERT INTO agno_sessions VALUES (?, 'agent', ?, NULL, NULL, ?, ?, ?, NULL, NULL, 'null', 'null', ?, ?)",
                    params![
                        session,
                        field("agent"),
                        field("user"),
                        json!({"session_name": title}).to_string(),
                        json!({"name": field("name"), "agent_id": field("agent")}).to_string(),
                        1_780_000_000 + at,
                        1_780_000_000 + at
                    ],
                )
                .expect("a session");
            let status = match number {
                Some(number) if number % 4 == 1 => field("odd").to_uppercase(),
                Some(number) if number % 4 == 2 => "ERROR".into(),
                _ => "COMPLETED".into(),
            };
            let data = json!({
                "run_id": field("run"),
                "agent_id": field("agent"),
                "agent_name": field("name"),
                "session_id": session,
                "status": status,
                "input": {"input_content": field("input")},
                "content": field("content"),
                "messages": [{"role": field("role"), "content": field("message")}],
                "metadata": {"sandbox": {
                    "checkpoint": reference,
                    "repository": {"url": field("url"), "branch": field("branch"), "commit": pin},
                }},
            });
            let mut data = data.to_string();
            data.insert_str(1, "\"half\":\"\\ud800PWN\",");
            if number.is_some_and(|number| number % 9 == 8) {
                data = field("{\"broken");
            }
            database
                .execute(
                    "INSERT INTO agno_runs VALUES (?, ?, 'agent', ?, NULL, NULL, ?, NULL, ?, 0, ?, ?, ?)",
                    params![
                        field("run"),
                        session,
                        field("agent"),
                        field("user"),
                        status,
                        data,
                        1_780_000_000 + at,
                        1_780_000_000 + at
                    ],
                )
                .expect("a run");
        }
        database.close().expect("closed");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    /// `afterrun WORDS` on a terminal, to its end: what it said.
    #[track_caller]
    pub fn said(&self, words: &[&str]) -> String {
        let binary = [env!("CARGO_BIN_EXE_afterrun")];
        let ended = Terminal::start(&self.place, (200, 50), &[&binary, words].concat(), &[]).end();
        let text = strict::text(&ended.raw).unwrap_or_else(|why| panic!("{words:?}: {why}"));
        assert!(ended.signal.is_none(), "{words:?}: {text}");
        text.replace("\r\n", "\n")
    }

    /// The same on the hostile database and store.
    #[track_caller]
    pub fn asks(&self, words: &[&str]) -> String {
        self.said(&[words, &["--db", "evil.sqlite", "--store", "store"]].concat())
    }
}
