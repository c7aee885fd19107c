//! A command that writes, and what has to hold whenever and however it ends: what it writes is there
//! whole or not at all, and what else it left goes with the next start.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::pty::until;
use crate::common::{Place, Ran, id, names, sha256, tree, world};

/// What a process that is killed may leave for the next start, by how its name begins.
const LEFT: [&str; 4] = [
    ".afterrun-restore-",
    ".restore-",
    ".afterrun-part-",
    "afterrun-private-",
];

/// A preloaded library under which the clock says what a test wants.
pub fn faketime() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let folders = std::fs::read_dir("/usr/lib").ok()?.flatten();
        let mut there = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
        let found = there.find(|library| library.is_file());
        if found.is_none() {
            println!("skipped: no faketime, so that no clock can be moved");
        }
        found
    });
    found.as_deref()
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Opens a run and compares, with a worker; writes nothing.
    Diff,
    Restore,
    Patch,
    Fetch,
    /// Captures, and puts into a store of files.
    Capture,
}

pub const ALL: [What; 5] = [
    What::Diff,
    What::Restore,
    What::Patch,
    What::Fetch,
    What::Capture,
];

/// A place of its own for one command. Its binary has a name of its own, by which its processes are
/// told from others'.
pub struct Scene {
    pub what: What,
    pub place: Place,
    pub binary: PathBuf,
    run: &'static str,
}

impl Scene {
    pub fn new(what: What) -> Self {
        Self::of(what, id::STORY2)
    }

    /// The same with another run.
    pub fn of(what: What, run: &'static str) -> Self {
        let place = Place::new();
        let binary = place.path("../afterrun");
        let built = Path::new(env!("CARGO_BIN_EXE_afterrun"));
        if std::fs::hard_link(built, &binary).is_err() {
            std::fs::copy(built, &binary).expect("copied");
        }
        std::fs::create_dir(place.path("out")).expect("made");
        for root in ["w/folder", "h"] {
            std::fs::create_dir_all(place.path(root)).expect("made");
        }
        let noise = (0..4_000_u32).flat_map(|n| sha256(&n.to_le_bytes()).into_bytes());
        std::fs::write(place.path("w/noise"), noise.collect::<Vec<_>>()).expect("written");
        std::fs::write(place.path("w/folder/text"), "text\n").expect("written");
        std::fs::write(place.path("h/history"), "home\n").expect("written");
        for path in [
            "w/noise",
            "w/folder/text",
            "h/history",
            "w/folder",
            "w",
            "h",
        ] {
            // So that the archive is the same wherever it is captured.
            let file = std::fs::File::open(place.path(path)).expect("there");
            file.set_modified(std::time::UNIX_EPOCH).expect("set");
        }
        let binary = std::fs::canonicalize(&binary).expect("there");
        Self {
            what,
            place,
            binary,
            run,
        }
    }

    /// Its words, with `out/new` for what is written.
    pub fn words(&self) -> Vec<String> {
        let words = match self.what {
            What::Diff => vec!["diff", self.run, "--stat"],
            What::Restore => vec!["restore", self.run, "out/new"],
            What::Patch => vec!["patch", self.run, "-o", "out/new"],
            What::Fetch => vec!["fetch", self.run, "out/new"],
            What::Capture => {
                let words = "capture --workspace w --native h --store store";
                return words.split(' ').map(str::to_owned).collect();
            }
        };
        let options = world().options().map(|word| word.to_str().expect("UTF-8"));
        words
            .into_iter()
            .chain(options)
            .map(str::to_owned)
            .collect()
    }

    /// The command.
    pub fn command(&self) -> Command {
        let mut command = self.place.command(&self.binary);
        command.args(self.words());
        command
    }

    /// The command below another program, which starts it: `strace`, a shell.
    pub fn below(&self, program: &str, words: &[&str]) -> Command {
        let mut command = self.place.command(program);
        command.args(words).arg(&self.binary).args(self.words());
        command
    }

    /// Where what it writes would be, when it is whole.
    pub fn destination(&self) -> Option<PathBuf> {
        match self.what {
            What::Diff => None,
            What::Capture => {
                let name = good(self.what, self.run).first()?;
                Some(self.place.path("store").join(name))
            }
            _ => Some(self.place.path("out/new")),
        }
    }

    /// Whether it is there; whole, then. All else that lies about is what the next start removes, and
    /// where `clean` is asked for there is nothing else.
    #[track_caller]
    pub fn whole(&self, clean: bool, when: &str) -> bool {
        let what = self.what;
        let stray = |folder: &Path, known: &str| {
            let there = if folder.is_dir() {
                names(folder)
            } else {
                Vec::new()
            };
            for name in there.iter().filter(|name| *name != known) {
                let ours = !clean && LEFT.iter().any(|start| name.starts_with(start));
                assert!(
                    ours,
                    "{what:?} {when}: {name} is left in {}",
                    folder.display()
                );
            }
        };
        stray(&self.place.tmp(), "");
        stray(&self.place.path("out"), "new");
        let all = ["h", "out", "store", "w"];
        let around = names(&self.place.path(""));
        assert!(
            around.iter().all(|name| all.contains(&&name[..])),
            "{what:?} {when}: {around:?}"
        );
        let Some(destination) = self.destination() else {
            return false;
        };
        if what == What::Capture {
            let name = destination.file_name().and_then(|name| name.to_str());
            stray(&self.place.path("store"), name.unwrap_or_default());
        }
        let there = destination.symlink_metadata().is_ok();
        if there {
            assert_eq!(look(&destination), *good(what, self.run), "{what:?} {when}");
        }
        there
    }

    /// Removes what was written, so that it can be written again.
    pub fn undo(&self) {
        match self.destination() {
            Some(path) if path.is_dir() => std::fs::remove_dir_all(path).expect("removed"),
            Some(path) if path.exists() => std::fs::remove_file(path).expect("removed"),
            _ => {}
        }
    }

    /// The command once more, two minutes later: it does its work, and all that was left is gone.
    #[track_caller]
    pub fn next_start(&self, when: &str) {
        self.undo();
        if !self.later() {
            return;
        }
        let when = format!("at the start after {when}");
        let whole = self.whole(true, &when);
        assert!(whole || self.what == What::Diff, "{:?} {when}", self.what);
        self.undo();
    }

    /// Runs the command two minutes later, where time can be moved.
    #[track_caller]
    pub fn later(&self) -> bool {
        let Some(library) = faketime() else {
            return false;
        };
        let mut command = self.command();
        command.env("LD_PRELOAD", library).envs([
            ("FAKETIME", "+120s"),
            ("NO_FAKE_STAT", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
        ]);
        let output = command.output().expect("started");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{:?}: {err}", self.what);
        true
    }

    /// Waits until no process of this place is left.
    #[track_caller]
    pub fn nobody_left(&self, when: &str) {
        let left = || {
            let all = std::fs::read_dir("/proc").expect("listed").flatten();
            let exe = |entry: std::fs::DirEntry| std::fs::read_link(entry.path().join("exe")).ok();
            all.filter_map(exe).any(|exe| exe == self.binary)
        };
        let gone = until(|| (!left()).then_some(()));
        assert!(gone.is_some(), "{:?} {when}: a process lives on", self.what);
    }

    /// What became of it, by `output`: it said in one line why it failed, or did its work.
    #[track_caller]
    pub fn said(&self, when: &str, output: std::process::Output) -> Ran {
        let what = format!("{:?} {when}", self.what);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!err.contains("panicked"), "{what}: {err}");
        self.place.ended(what, output)
    }

    /// The one line in which `ran` says why it failed; there are notes before it where the files have
    /// some.
    #[track_caller]
    pub fn failed(&self, when: &str, ran: &Ran) -> String {
        let told = ran
            .err
            .lines()
            .filter_map(|line| line.strip_prefix("afterrun: "));
        match &told.collect::<Vec<_>>()[..] {
            [message] => (*message).to_owned(),
            _ => panic!("{:?} {when}: not one line: {}", self.what, ran.err),
        }
    }
}

/// What `path` is, to the last bit that has to be right.
fn look(path: &Path) -> Vec<String> {
    if path.is_dir() {
        return tree(path);
    }
    let entry = path.symlink_metadata().expect("there");
    assert!(entry.is_file());
    let digest = sha256(&std::fs::read(path).expect("read"));
    vec![digest, format!("{:o}", entry.mode())]
}

/// What the command writes when nothing happens to it.
fn good(what: What, run: &'static str) -> &'static Vec<String> {
    type Known = std::sync::Mutex<Vec<((What, &'static str), &'static Vec<String>)>>;
    static KNOWN: Known = Known::new(Vec::new());
    let mut known = KNOWN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, looks)) = known.iter().find(|(case, _)| *case == (what, run)) {
        return looks;
    }
    let scene = Scene::of(what, run);
    let ran = scene.place.finish(scene.command()).ok();
    let path = match what {
        What::Capture => {
            let stored = names(&scene.place.path("store"));
            assert_eq!(stored.len(), 1, "{}", ran.err);
            scene.place.path("store").join(&stored[0])
        }
        _ => scene.place.path("out/new"),
    };
    let looks = if what == What::Diff {
        Vec::new()
    } else {
        look(&path)
    };
    if what == What::Capture {
        assert!(path.ends_with(&looks[0]), "named by its digest");
        assert_eq!(looks[1], "100400");
    }
    known.push(((what, run), Box::leak(Box::new(looks))));
    known[known.len() - 1].1
}

/// How many ends of each kind there were.
#[derive(Default)]
pub struct Tally {
    pub ends: usize,
    pub whole: usize,
    pub codes: BTreeSet<Option<i32>>,
}

impl Tally {
    pub fn add(&mut self, whole: bool, code: Option<i32>) {
        self.ends += 1;
        self.whole += usize::from(whole);
        self.codes.insert(code);
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ends, whole, codes } = self;
        write!(
            out,
            "{ends} ends, {whole} whole, the rest nothing; codes {codes:?}"
        )
    }
}
