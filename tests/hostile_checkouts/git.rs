//! Checkouts as an agent may leave them, written file by file without git: loose objects, packs,
//! indexes and refs may say whatever a test wants.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Place, names};
use crate::interface;

/// What lies outside and must be seen nowhere.
pub const MARKER: &str = "marker-4c1d: this is not the agent's";

pub type Id = [u8; 20];

pub fn hex(id: &Id) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn id_of(kind: &str, bytes: &[u8]) -> Id {
    let whole = [format!("{kind} {}\0", bytes.len()).as_bytes(), bytes].concat();
    sha1dc::digest(&whole).expect("no collision").into()
}

pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).expect("to memory");
    out.finish().expect("to memory")
}

/// A place with a checkout, a folder outside and one where commands would leave a trace.
pub struct Checkout {
    pub place: Place,
    /// What HEAD's tree holds: path to mode and id.
    base: BTreeMap<String, (u32, Id)>,
}

impl Checkout {
    /// HEAD holds three files and ignores logs; one is edited, one is new, one is ignored.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// The same, with these files in HEAD too, as they are on disk.
    pub fn with(more: &[(&str, &[u8])]) -> Self {
        let mut this = Self {
            place: Place::new(),
            base: BTreeMap::new(),
        };
        for folder in ["objects/pack", "objects/info", "refs/heads", "info"] {
            std::fs::create_dir_all(this.git(folder)).expect("made");
        }
        for folder in ["home", "canary", "outside"] {
            std::fs::create_dir(this.place.path(folder)).expect("made");
        }
        this.git_file("config", "[core]\n\trepositoryformatversion = 0\n");
        let files: [(&str, &[u8]); 4] = [
            (".gitignore", b"*.log\n"),
            ("README.md", b"# Shop\n"),
            ("docs/guide.txt", b"one\ntwo\n"),
            ("src/app.py", b"print(1)\n"),
        ];
        for (path, bytes) in files.iter().chain(more) {
            this.file(path, bytes);
            let id = this.object("blob", bytes);
            this.base.insert((*path).to_owned(), (0o100_644, id));
        }
        this.commit();
        this.file("src/app.py", b"print(2)\n");
        this.file("notes.txt", b"a note\n");
        this.file("debug.log", b"noise\n");
        this
    }

    pub fn outside(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.place.path("outside").join(name);
        put(&path, bytes.as_ref());
        path
    }

    /// A command that leaves `name` where traces are looked for.
    pub fn trap(&self, name: &str) -> String {
        let trace = self.place.path("canary").join(name);
        format!("touch {}", trace.display())
    }

    pub fn repository(&self) -> PathBuf {
        self.place.path("workspace/repository")
    }

    pub fn git(&self, path: &str) -> PathBuf {
        self.repository().join(".git").join(path)
    }

    pub fn file(&self, path: &str, bytes: &[u8]) {
        put(&self.repository().join(path), bytes);
    }

    pub fn git_file(&self, path: &str, bytes: impl AsRef<[u8]>) {
        put(&self.git(path), bytes.as_ref());
    }

    pub fn link(&self, target: &str, path: &str) {
        let path = self.repository().join(path);
        std::os::unix::fs::symlink(target, path).expect("made");
    }

    /// Adds lines to `.git/config`.
    pub fn config(&self, lines: &str) {
        let old = std::fs::read_to_string(self.git("config")).expect("read");
        self.git_file("config", old + lines);
    }

    /// A loose object under its own name.
    pub fn object(&self, kind: &str, bytes: &[u8]) -> Id {
        let id = id_of(kind, bytes);
        let whole = [format!("{kind} {}\0", bytes.len()).as_bytes(), bytes].concat();
        self.loose(&id, &deflate(&whole));
        id
    }

    /// A loose object's file, whatever is in it.
    pub fn loose(&self, id: &Id, stored: &[u8]) {
        self.git_file(&Self::object_file(id), stored);
    }

    pub fn remove(&self, id: &Id) {
        std::fs::remove_file(self.git(&Self::object_file(id))).expect("removed");
    }

    fn object_file(id: &Id) -> String {
        let name = hex(id);
        format!("objects/{}/{}", &name[..2], &name[2..])
    }

    pub fn blob(&self, path: &str) -> Id {
        self.base[path].1
    }

    /// HEAD's tree holds `path` under an id that need not exist.
    pub fn hold(&mut self, path: &str, mode: u32, id: Id) {
        self.base.insert(path.to_owned(), (mode, id));
        self.commit();
    }

    /// Commits what HEAD is to hold, and answers the commit.
    pub fn commit(&mut self) -> Id {
        let root = self.tree("");
        let commit = self.commit_of(&root);
        self.git_file("HEAD", hex(&commit) + "\n");
        commit
    }

    pub fn commit_of(&self, tree: &Id) -> Id {
        let who = "Agent <agent@example.invalid> 1700000000 +0000";
        let tree = hex(tree);
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nbase\n");
        self.object("commit", text.as_bytes())
    }

    /// Writes the tree of what HEAD is to hold below `folder`, which ends in a slash.
    pub fn tree(&self, folder: &str) -> Id {
        let mut entries: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let below = self.base.iter();
        let below = below.filter_map(|(path, entry)| Some((path.strip_prefix(folder)?, entry)));
        for (path, (mode, id)) in below {
            let (key, mode, name, id) = match path.split_once('/') {
                None => (path.to_owned(), format!("{mode:o}"), path, *id),
                Some((name, _)) => {
                    let inner = self.tree(&format!("{folder}{name}/"));
                    (format!("{name}/"), "40000".to_owned(), name, inner)
                }
            };
            let entry = [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &id].concat();
            entries.insert(key.into_bytes(), entry);
        }
        let bytes: Vec<u8> = entries.into_values().flatten().collect();
        self.object("tree", &bytes)
    }

    /// HEAD's files as an index has them.
    pub fn staged(&self) -> Vec<Staged> {
        let entries = self.base.iter();
        let staged = entries.map(|(path, (mode, id))| Staged::new(path, *mode, *id));
        staged.collect()
    }

    /// Writes `.git/index` with these entries and extensions.
    pub fn index(&self, entries: &[Staged], extensions: &[u8]) {
        let mut bytes = b"DIRC\0\0\0\x03".to_vec();
        bytes.extend((entries.len() as u32).to_be_bytes());
        for entry in entries {
            entry.write(&mut bytes);
        }
        bytes.extend(extensions);
        let digest: Id = sha1dc::digest(&bytes).expect("no collision").into();
        bytes.extend(digest);
        self.git_file("index", bytes);
    }

    /// What `afterrun diff --base head` and the interface show, after nothing ran and nothing outside was
    /// read.
    pub fn diff(&self) -> Seen {
        let seen = self.diff_alone();
        let guard = Outside::of(&self.place.path("outside"));
        let frames = interface::walk(&self.place, &self.capture().to_string());
        self.assert_untouched(&frames.concat(), &guard);
        for file in seen.files() {
            let name = file.rsplit(['/', ' ']).next().expect("a name");
            let plain = file.len() < 60 && name.chars().all(|c| c.is_ascii_graphic());
            let shown = frames.iter().any(|frame| frame.contains(name));
            assert!(
                shown || !plain || seen.files().len() > 30,
                "{file} is not shown: {}",
                frames[0]
            );
        }
        seen
    }

    /// The same without the interface.
    pub fn diff_alone(&self) -> Seen {
        let ran = self.ask(&["diff", "--base", "head", "--json"]).ok();
        Seen { json: ran.json() }
    }

    /// Why the same is refused.
    pub fn refusal(&self) -> String {
        let ran = self.ask(&["diff", "--base", "head", "--json"]);
        assert!(ran.code.is_some_and(|code| code != 0), "{}", ran.text());
        ran.error().1
    }

    /// Captures the place; the reference.
    fn capture(&self) -> Value {
        let capture = "capture --workspace workspace --native home --store store --json";
        let words: Vec<&str> = capture.split(' ').collect();
        self.place.run(&words).ok().json()
    }

    pub fn ask(&self, words: &[&str]) -> crate::common::Ran {
        let reference = self.capture();
        let digest = reference["sha256"].as_str().expect("a digest");
        let archive = format!("store/{digest}");
        let guard = Outside::of(&self.place.path("outside"));
        let ran = self.place.run(&[words, &["--archive", &archive]].concat());
        let said = String::from_utf8_lossy(&ran.out).into_owned() + &ran.err;
        self.assert_untouched(&said, &guard);
        ran
    }

    /// No command ran, and nothing outside was read or shown.
    fn assert_untouched(&self, shown: &str, guard: &Outside) {
        let canary = names(&self.place.path("canary"));
        assert_eq!(canary, [""; 0], "a command of the checkout ran");
        assert!(!shown.contains(MARKER), "{shown}");
        guard.assert_unread();
    }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, bytes).expect("written");
}

/// Files outside with access times that a read would move on.
struct Outside {
    times: Vec<(PathBuf, std::time::SystemTime)>,
}

impl Outside {
    fn of(folder: &Path) -> Self {
        let (mut times, mut left) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(&folder).expect("listed").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    left.push(path);
                    continue;
                }
                // Older than the file itself, so that one read is noted under relatime too.
                let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
                let times_of = std::fs::FileTimes::new().set_accessed(long_ago);
                let file = std::fs::File::options().write(true).open(&path);
                file.and_then(|file| file.set_times(times_of)).expect("set");
                times.push((path, long_ago));
            }
        }
        Self { times }
    }

    fn assert_unread(&self) {
        for (path, time) in &self.times {
            let accessed = path.metadata().and_then(|metadata| metadata.accessed());
            assert_eq!(accessed.expect("a time"), *time, "{path:?} was read");
        }
    }
}

/// One entry of an index.
#[derive(Clone)]
pub struct Staged {
    pub path: Vec<u8>,
    pub mode: u32,
    pub id: Id,
    pub stage: u16,
    pub assume_unchanged: bool,
    pub skip_worktree: bool,
}

impl Staged {
    pub fn new(path: &str, mode: u32, id: Id) -> Self {
        Self {
            path: path.as_bytes().to_vec(),
            mode,
            id,
            stage: 0,
            assume_unchanged: false,
            skip_worktree: false,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; 24]);
        out.extend(self.mode.to_be_bytes());
        out.extend([0; 12]);
        out.extend(self.id);
        let length = self.path.len().min(0xfff) as u16;
        let valid = u16::from(self.assume_unchanged) << 15;
        let extended = u16::from(self.skip_worktree) << 14;
        out.extend((valid | extended | self.stage << 12 | length).to_be_bytes());
        if self.skip_worktree {
            out.extend(0x4000_u16.to_be_bytes());
        }
        out.extend(&self.path);
        out.push(0);
        while !(out.len() - start).is_multiple_of(8) {
            out.push(0);
        }
    }
}

/// What a diff said.
pub struct Seen {
    pub json: Value,
}

impl Seen {
    /// `STATUS PATH` of every file, in order.
    pub fn files(&self) -> Vec<String> {
        let files = self.json["files"].as_array().expect("files");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let line = |file: &Value| format!("{} {}", text(&file["status"]), text(&file["path"]));
        files.iter().map(line).collect()
    }

    /// The files are those of every checkout here, and these.
    #[track_caller]
    pub fn lists(&self, more: &[&str]) -> &Self {
        let usual = ["modified src/app.py", "untracked notes.txt"];
        let expected: BTreeSet<&str> = usual.iter().chain(more).copied().collect();
        let files = self.files();
        let found: BTreeSet<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(found, expected);
        assert_eq!(found.len(), files.len(), "each once: {files:?}");
        self
    }

    /// The tags of its notices are these, besides what is said of every HEAD and every old kernel.
    #[track_caller]
    pub fn tells(&self, tags: &[&str]) -> &Self {
        let notices = self.json["notices"].as_array().expect("notices");
        let found = notices
            .iter()
            .map(|notice| notice["tag"].as_str().expect("a tag"));
        let found: BTreeSet<&str> = found
            .filter(|tag| !matches!(*tag, "head-id" | "sandbox"))
            .collect();
        let expected: BTreeSet<&str> = tags.iter().copied().collect();
        assert_eq!(found, expected, "{notices:#?}");
        self
    }

    /// The message of the one notice with this tag.
    #[track_caller]
    pub fn notice(&self, tag: &str) -> String {
        let notices = self.json["notices"].as_array().expect("notices");
        let found: Vec<&Value> = notices
            .iter()
            .filter(|notice| notice["tag"] == tag)
            .collect();
        assert_eq!(found.len(), 1, "{tag}: {notices:#?}");
        found[0]["message"].as_str().expect("a message").to_owned()
    }

    pub fn file(&self, path: &str) -> &Value {
        let files = self.json["files"].as_array().expect("files");
        let found = files.iter().find(|file| file["path"] == path);
        found.unwrap_or_else(|| panic!("{path} is not listed"))
    }
}

/// A pack under construction.
#[derive(Default)]
pub struct Pack {
    bytes: Vec<u8>,
    ids: Vec<(Id, u32)>,
}

pub fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

impl Pack {
    pub const BLOB: u8 = 3;
    pub const DELTA: u8 = 7;

    /// An entry whose header claims `size`; `base` stands between that and the bytes.
    pub fn add(&mut self, id: Id, kind: u8, size: u64, base: &[u8], bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes = b"PACK\0\0\0\x02\0\0\0\0".to_vec();
        }
        self.ids.push((id, self.bytes.len() as u32));
        let mut left = size >> 4;
        let mut byte = kind << 4 | (size & 0x0f) as u8;
        while left > 0 {
            self.bytes.push(byte | 0x80);
            byte = (left & 0x7f) as u8;
            left >>= 7;
        }
        self.bytes.push(byte);
        self.bytes.extend(base);
        self.bytes.extend(deflate(bytes));
    }

    /// A delta that makes `makes` bytes out of `from`, each time by copying all of it.
    pub fn delta(&mut self, id: Id, base: Id, from: u64, makes: u64) {
        let size = (from.min(makes) as u32).to_le_bytes();
        let copy = [0xf0, size[0], size[1], size[2]];
        let copies = makes.div_ceil(from.max(1)).max(1) as usize;
        let delta = [varint(from), varint(makes), copy.repeat(copies)].concat();
        self.add(id, Self::DELTA, delta.len() as u64, &base, &delta);
    }

    /// Writes pack and index; every offset is moved by `off`.
    pub fn write(mut self, checkout: &Checkout, off: u32) {
        self.bytes[8..12].copy_from_slice(&(self.ids.len() as u32).to_be_bytes());
        let digest: Id = sha1dc::digest(&self.bytes).expect("no collision").into();
        self.bytes.extend(digest);
        self.ids.sort();
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        for slot in 0..=255 {
            let count = self.ids.iter().filter(|(id, _)| id[0] <= slot).count();
            index.extend((count as u32).to_be_bytes());
        }
        index.extend(self.ids.iter().flat_map(|(id, _)| *id));
        index.extend(vec![0; 4 * self.ids.len()]);
        let offsets = self.ids.iter().map(|(_, offset)| offset + off);
        index.extend(offsets.flat_map(u32::to_be_bytes));
        index.extend(digest);
        let own: Id = sha1dc::digest(&index).expect("no collision").into();
        index.extend(own);
        let name = format!("objects/pack/pack-{}", hex(&digest));
        checkout.git_file(&format!("{name}.pack"), &self.bytes);
        checkout.git_file(&format!("{name}.idx"), &index);
    }
}

/// A name that need not be UTF-8.
pub fn name(bytes: &[u8]) -> &std::ffi::OsStr {
    std::ffi::OsStr::from_bytes(bytes)
}
