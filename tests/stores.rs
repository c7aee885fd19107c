//! What every store of checkpoints does, as one list of rules that each kind has to keep.
//!
//! A store joins with a function that makes a [`Subject`] and one test that names it.

mod common;

use std::fs;
use std::future::Future;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use afterrun::archive::Archive;
use afterrun::checkpoint::{
    CheckpointLimits, CheckpointRef, FileCheckpointStore, PostgresCheckpointStore,
    S3CheckpointStore, S3Settings, SharedStore,
};
use afterrun::postgres::Server;
use afterrun::progress::{CancellationToken, Progress, Stage, Watch};
use afterrun::{ErrorKind, Result};
use common::postgres::{Cluster, PASSWORD};
use common::s3;
use tokio::runtime::Runtime;

/// Over a MiB, so that it comes in several pieces whatever the store.
const LARGE: usize = 3_333_333;

/// How an object is made wrong behind the store's back.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// Its last byte is gone.
    Shorter,
    /// A byte is appended.
    Longer,
    /// Its first byte is another, its length and its labels are not.
    Flipped,
}

impl Damage {
    fn to(self, path: &Path) {
        let mut bytes = fs::read(path).expect("read");
        match self {
            Self::Shorter => drop(bytes.pop()),
            Self::Longer => bytes.push(0),
            Self::Flipped => bytes[0] ^= 1,
        }
        fs::write(path, bytes).expect("written");
    }
}

/// Does something to an object without asking its store.
type Around<How> = Box<dyn Fn(&CheckpointRef, How)>;

/// A store with nothing in it, and ways around it.
struct Subject {
    store: SharedStore,
    damage: Around<Damage>,
    /// Removes the object.
    remove: Around<()>,
    ways: Ways,
    runtime: Arc<Runtime>,
    /// What has to stay as long as the store is used, and a place for sources.
    folder: tempfile::TempDir,
}

/// Where Agno's own stores differ from each other.
#[derive(Clone, Copy)]
struct Ways {
    /// Opening an object that is not there and over the limit says that it is missing.
    missing_before_limit: bool,
    /// Verifying reads every byte.
    verify_reads: bool,
    /// What is said of an empty source.
    empty: &'static str,
}

impl Subject {
    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    fn source(&self, bytes: &[u8]) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let path = self.folder.path().join(format!("source-{number}"));
        fs::write(&path, bytes).expect("written");
        path
    }

    fn put(&self, bytes: &[u8]) -> CheckpointRef {
        let source = self.source(bytes);
        self.run(self.store.put(&source)).expect("put")
    }

    fn verify(&self, reference: &CheckpointRef) -> Result<()> {
        self.run(self.store.verify(reference, &Watch::default()))
    }

    fn open(&self, reference: &CheckpointRef, watch: &Watch) -> Result<Vec<u8>> {
        let lease = self.run(self.store.open_archive(reference, watch))?;
        let mut bytes = Vec::new();
        lease.reader().read_to_end(&mut bytes).expect("readable");
        Ok(bytes)
    }

    /// All that a fetch gives; what it gives it has not verified.
    fn fetch(&self, reference: &CheckpointRef) -> Result<std::io::Result<Vec<u8>>> {
        let mut object = self.run(self.store.fetch(reference, &Watch::default()))?;
        assert_eq!(&object.reference, reference);
        let mut bytes = Vec::new();
        Ok(object.bytes.read_to_end(&mut bytes).map(|_| bytes))
    }

    /// Fetches and verifies as opening a run does.
    fn read(&self, reference: &CheckpointRef) -> Result<Archive> {
        let watch = Watch::default();
        let limits = CheckpointLimits::default();
        self.run(async {
            let object = self.store.fetch(reference, &watch).await?;
            Archive::read(object, &limits, &watch).await
        })
    }

    fn contains(&self, reference: &CheckpointRef) -> bool {
        self.run(self.store.contains(reference)).expect("an answer")
    }

    fn delete(&self, reference: &CheckpointRef) {
        self.run(self.store.delete(reference)).expect("deleted");
    }
}

/// Bytes that no two seeds share.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

fn refused<T>(answer: Result<T>) -> (ErrorKind, String) {
    match answer {
        Ok(_) => panic!("not refused"),
        Err(error) => {
            assert!(!error.message().contains(['\n', '\r']), "{error}");
            (error.kind(), error.message().to_owned())
        }
    }
}

fn missing() -> (ErrorKind, String) {
    let said = "Checkpoint object is missing";
    (ErrorKind::ObjectMissing, said.into())
}

fn over_the_limit() -> (ErrorKind, String) {
    let said = "Checkpoint object exceeds its limit";
    (ErrorKind::Limit, said.into())
}

fn of_other_size() -> (ErrorKind, String) {
    let said = "Checkpoint size mismatch";
    (ErrorKind::SizeMismatch, said.into())
}

fn of_other_digest() -> (ErrorKind, String) {
    let said = "Checkpoint checksum mismatch";
    (ErrorKind::ChecksumMismatch, said.into())
}

/// The limit of each subject's store.
const LIMIT: u64 = 4 << 20;

type Rule = fn(&Subject);

const RULES: &[(&str, Rule)] = &[
    ("what is put is there", what_is_put_is_there),
    ("a reference is digest and size", a_reference),
    ("the same bytes are put once", the_same_bytes),
    ("puts at once agree", puts_at_once),
    ("an object that is not there", not_there),
    ("a deleted object", deleted),
    ("deleted between list and open", deleted_in_between),
    ("a hold survives deletion", a_hold_survives),
    ("the limit for references", the_limit_of_references),
    ("the limit for sources", the_limit_of_sources),
    ("a reference of another size", another_size),
    ("an object of another size", another_length),
    ("an object with other bytes", other_bytes),
    ("an empty source", an_empty_source),
    ("a source that is no file", no_file),
    ("a cancelled open leaves nothing", cancelled),
    ("progress is told", progress),
    ("no secret is told", no_secret),
];

fn what_is_put_is_there(subject: &Subject) {
    for length in [1, 999, 65_536, 1_500_000, LARGE] {
        let bytes = bytes(length as u64, length);
        let reference = subject.put(&bytes);
        subject.verify(&reference).expect("verified");
        assert!(subject.contains(&reference));
        let opened = subject.open(&reference, &Watch::default()).expect("opened");
        assert!(opened == bytes, "{length} bytes opened");
        let fetched = subject.fetch(&reference).expect("fetched").expect("read");
        assert!(fetched == bytes, "{length} bytes fetched");
    }
}

fn a_reference(subject: &Subject) {
    let bytes = bytes(2, 4711);
    let reference = subject.put(&bytes);
    assert_eq!(reference.sha256(), common::sha256(&bytes));
    assert_eq!(reference.size(), 4711);
}

fn the_same_bytes(subject: &Subject) {
    let bytes = bytes(3, 100_000);
    let first = subject.put(&bytes);
    assert_eq!(subject.put(&bytes), first);
    let opened = subject.open(&first, &Watch::default()).expect("opened");
    assert!(opened == bytes);
}

fn puts_at_once(subject: &Subject) {
    let bytes = bytes(4, LARGE);
    let source = subject.source(&bytes);
    let four = subject.run(async {
        let put = || subject.store.put(&source);
        tokio::join!(put(), put(), put(), put())
    });
    let first = four.0.expect("put");
    for other in [four.1, four.2, four.3] {
        assert_eq!(other.expect("put"), first);
    }
    let opened = subject.open(&first, &Watch::default()).expect("opened");
    assert!(opened == bytes);
}

fn not_there(subject: &Subject) {
    subject.put(b"another");
    let reference = CheckpointRef::new("0".repeat(64), 7).expect("a reference");
    assert_eq!(refused(subject.verify(&reference)), missing());
    let opened = subject.open(&reference, &Watch::default());
    assert_eq!(refused(opened), missing());
    assert_eq!(refused(subject.fetch(&reference)), missing());
    assert!(!subject.contains(&reference));
    subject.delete(&reference);
}

fn deleted(subject: &Subject) {
    let (one, other) = (subject.put(b"one"), subject.put(b"other"));
    subject.delete(&one);
    subject.delete(&one);
    assert!(!subject.contains(&one));
    assert_eq!(refused(subject.verify(&one)), missing());
    subject.verify(&other).expect("still there");
    assert_eq!(subject.put(b"one"), one);
    subject.verify(&one).expect("there again");
}

fn deleted_in_between(subject: &Subject) {
    let reference = subject.put(b"here now");
    assert!(subject.contains(&reference));
    (subject.remove)(&reference, ());
    assert!(!subject.contains(&reference));
    let opened = subject.open(&reference, &Watch::default());
    assert_eq!(refused(opened), missing());
    assert_eq!(refused(subject.read(&reference)), missing());
}

fn a_hold_survives(subject: &Subject) {
    let bytes = bytes(5, LARGE);
    let reference = subject.put(&bytes);
    let watch = Watch::default();
    let opened = subject.run(subject.store.open_archive(&reference, &watch));
    let mut lease = opened.expect("opened");
    subject.delete(&reference);
    let mut held = Vec::new();
    lease.reader().read_to_end(&mut held).expect("held");
    assert!(held == bytes);
    let copy = lease.path(subject.folder.path()).expect("a copy");
    assert!(fs::read(&copy).expect("read") == bytes);
    let mode = fs::metadata(&copy).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o400);
    drop(lease);
    assert!(!copy.exists());
}

fn the_limit_of_references(subject: &Subject) {
    let there = subject.put(b"seven b");
    for size in [LIMIT + 1, 1 << 40, i64::MAX as u64, u64::MAX] {
        let large = CheckpointRef::new(there.sha256(), size).expect("a reference");
        assert_eq!(refused(subject.verify(&large)), over_the_limit());
        let opened = subject.open(&large, &Watch::default());
        assert_eq!(refused(opened), over_the_limit());
        assert_eq!(refused(subject.fetch(&large)), over_the_limit());
        let absent = CheckpointRef::new("0".repeat(64), size).expect("a reference");
        assert_eq!(refused(subject.verify(&absent)), over_the_limit());
        let expected = match subject.ways.missing_before_limit {
            true => missing(),
            false => over_the_limit(),
        };
        let opened = subject.open(&absent, &Watch::default());
        assert_eq!(refused(opened), expected);
        assert_eq!(refused(subject.fetch(&absent)), expected);
    }
}

fn the_limit_of_sources(subject: &Subject) {
    let limit = usize::try_from(LIMIT).expect("small");
    let fits = subject.put(&bytes(6, limit));
    subject.verify(&fits).expect("fits");
    let over = bytes(7, limit + 1);
    let source = subject.source(&over);
    let put = subject.run(subject.store.put(&source));
    assert_eq!(refused(put), over_the_limit());
    let reference = CheckpointRef::new(common::sha256(&over), 1).expect("a reference");
    assert!(!subject.contains(&reference));
}

fn another_size(subject: &Subject) {
    let there = subject.put(&bytes(8, 1000));
    for size in [1, 999, 1001] {
        let wrong = CheckpointRef::new(there.sha256(), size).expect("a reference");
        assert_eq!(refused(subject.verify(&wrong)), of_other_size());
        let opened = subject.open(&wrong, &Watch::default());
        assert_eq!(refused(opened), of_other_size());
        assert_eq!(refused(subject.fetch(&wrong)), of_other_size());
    }
}

fn another_length(subject: &Subject) {
    for (seed, damage) in [(9, Damage::Shorter), (10, Damage::Longer)] {
        let reference = subject.put(&bytes(seed, LARGE));
        (subject.damage)(&reference, damage);
        let opened = subject.open(&reference, &Watch::default());
        assert_eq!(refused(opened), of_other_size(), "{damage:?}");
        assert_eq!(
            refused(subject.read(&reference)),
            of_other_size(),
            "{damage:?}"
        );
    }
}

fn other_bytes(subject: &Subject) {
    let reference = subject.put(&bytes(11, LARGE));
    (subject.damage)(&reference, Damage::Flipped);
    let opened = subject.open(&reference, &Watch::default());
    assert_eq!(refused(opened), of_other_digest());
    assert_eq!(refused(subject.read(&reference)), of_other_digest());
    match subject.ways.verify_reads {
        true => assert_eq!(refused(subject.verify(&reference)), of_other_digest()),
        false => subject.verify(&reference).expect("the labels are right"),
    }
}

fn an_empty_source(subject: &Subject) {
    let source = subject.source(b"");
    let put = subject.run(subject.store.put(&source));
    let expected = (ErrorKind::BadReference, subject.ways.empty.to_owned());
    assert_eq!(refused(put), expected);
}

fn no_file(subject: &Subject) {
    let put = |path| subject.run(subject.store.put(path));
    let (kind, said) = refused(put(subject.folder.path()));
    assert_eq!(
        (kind, said.as_str()),
        (ErrorKind::Store, "Checkpoint object must be a regular file")
    );
    let link = subject.folder.path().join("link");
    std::os::unix::fs::symlink(subject.source(b"linked to"), &link).expect("linked");
    assert_eq!(refused(put(&link)).0, ErrorKind::Io);
    let nowhere = subject.folder.path().join("nowhere");
    assert_eq!(refused(put(&nowhere)).0, ErrorKind::Io);
}

fn cancelled(subject: &Subject) {
    let reference = subject.put(&bytes(12, LARGE));
    let before = nameless_files();
    let cancel = CancellationToken::new();
    let (stop, last) = (cancel.clone(), Arc::new(Mutex::new(0)));
    let told = Arc::clone(&last);
    let watch = Watch::reporting(cancel, move |progress: Progress| {
        *told.lock().expect("whole") = progress.done;
        stop.cancel();
    });
    let opened = subject.open(&reference, &watch);
    assert_eq!(refused(opened).0, ErrorKind::Cancelled);
    let read = *last.lock().expect("whole");
    assert!(0 < read && read < LARGE as u64, "{read} bytes were read");
    // A watch that is cancelled already stops what has not begun.
    let opened = subject.open(&reference, &watch);
    assert_eq!(refused(opened).0, ErrorKind::Cancelled);
    assert_eq!(nameless_files(), before);
    let whole = subject.open(&reference, &Watch::default());
    assert_eq!(whole.expect("opened").len(), LARGE);
}

fn progress(subject: &Subject) {
    let reference = subject.put(&bytes(13, LARGE));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let watch = Watch::reporting(CancellationToken::new(), move |progress: Progress| {
        into.lock().expect("whole").push(progress);
    });
    subject.open(&reference, &watch).expect("opened");
    let seen = seen.lock().expect("whole");
    assert!(seen.iter().all(|one| one.stage == Stage::Digest));
    assert!(seen.iter().all(|one| one.total == reference.size()));
    assert!(seen.iter().map(|one| one.done).is_sorted());
    assert!(seen.len() > 3, "{seen:?}");
    assert_eq!(
        seen.last().map(|last| last.done),
        Some(LARGE as u64),
        "{seen:?}"
    );
}

fn no_secret(subject: &Subject) {
    let said = format!("{} {:?}", subject.store.describe(), subject.store);
    for secret in [PASSWORD, s3::SECRET] {
        assert!(!said.contains(secret), "{said}");
    }
    assert!(!subject.store.describe().contains('\n'));
}

/// Files that this process has open and that have no name any more.
fn nameless_files() -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("listed");
    let targets = open
        .flatten()
        .filter_map(|fd| fs::read_link(fd.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().ends_with("(deleted)"))
        .count()
}

/// Holds every rule against a new subject each, and tells of all that are broken.
fn conforms(make: &dyn Fn(u64) -> Subject) {
    // The open files are counted, so only one store is looked at at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = |rule: Rule| catch_unwind(AssertUnwindSafe(|| rule(&make(LIMIT)))).is_ok();
    let broken = RULES.iter().filter(|(_, rule)| !kept(*rule));
    let broken: Vec<&str> = broken.map(|(name, _)| *name).collect();
    assert_eq!(broken, [""; 0]);
}

fn runtime() -> Arc<Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    Arc::new(runtime.expect("a runtime"))
}

fn directory(limit: u64) -> Subject {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("store");
    let store = FileCheckpointStore::create(&root).expect("a store");
    let (objects, gone) = (root.clone(), root);
    Subject {
        store: Arc::new(store.with_limit(limit)),
        damage: Box::new(move |reference, damage| {
            let path = objects.join(reference.sha256());
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
            damage.to(&path);
        }),
        remove: Box::new(move |reference, ()| {
            fs::remove_file(gone.join(reference.sha256())).expect("removed");
        }),
        ways: Ways {
            missing_before_limit: true,
            verify_reads: true,
            empty: "Checkpoint size must be positive",
        },
        runtime: runtime(),
        folder,
    }
}

/// Tables of their own, in chunks that no slice ends with.
fn tables(cluster: &Arc<Cluster>, limit: u64) -> Subject {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let schema = format!("s{}", NUMBER.fetch_add(1, Ordering::SeqCst));
    let server = Server::new(&cluster.url("postgres")).expect("a URL");
    let store = PostgresCheckpointStore::new(server, &schema, "objects")
        .and_then(|store| store.with_chunk_bytes(1_500_000))
        .expect("a store");
    let (damaged, gone) = (Arc::clone(cluster), Arc::clone(cluster));
    let of = schema.clone();
    Subject {
        store: Arc::new(store.with_limit(limit)),
        damage: Box::new(move |reference, damage| {
            let (data, which) = match damage {
                Damage::Shorter => ("substr(data, 1, length(data) - 1)", "max"),
                Damage::Longer => (r"data || '\x00'::bytea", "max"),
                Damage::Flipped => ("set_byte(data, 0, get_byte(data, 0) # 1)", "min"),
            };
            let (chunks, sha256) = (format!("{of}.objects_chunks"), reference.sha256());
            damaged.sql(
                "postgres",
                &format!(
                    "UPDATE {chunks} SET data = {data} WHERE sha256 = '{sha256}' AND seq = \
                     (SELECT {which}(seq) FROM {chunks} WHERE sha256 = '{sha256}')"
                ),
            );
        }),
        remove: Box::new(move |reference, ()| {
            let sha256 = reference.sha256();
            let removed = format!("DELETE FROM {schema}.objects WHERE sha256 = '{sha256}'");
            gone.sql("postgres", &removed);
        }),
        ways: Ways {
            missing_before_limit: false,
            verify_reads: false,
            empty: "Checkpoint object is empty",
        },
        runtime: runtime(),
        folder: tempfile::tempdir().expect("a folder"),
    }
}

/// A prefix of its own.
fn bucket(server: &Arc<s3::Server>, limit: u64) -> Subject {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("team {}", NUMBER.fetch_add(1, Ordering::SeqCst));
    let mut settings = S3Settings::from_url(&server.url(&prefix)).expect("a URL");
    settings.max_bytes = limit;
    let environment = s3::environment(&s3::Server::variables(), None);
    let store = S3CheckpointStore::open(settings, &environment).expect("a store");
    let (damaged, gone) = (Arc::clone(server), Arc::clone(server));
    let (object, key) = (store.clone(), store.clone());
    Subject {
        store: Arc::new(store),
        damage: Box::new(move |reference, damage| {
            let path = damaged.object(&object.key(reference));
            damage.to(&path);
        }),
        remove: Box::new(move |reference, ()| {
            fs::remove_file(gone.object(&key.key(reference))).expect("removed");
        }),
        ways: Ways {
            missing_before_limit: false,
            verify_reads: false,
            empty: "Checkpoint object is empty",
        },
        runtime: runtime(),
        folder: tempfile::tempdir().expect("a folder"),
    }
}

#[test]
fn a_directory_keeps_the_rules() {
    conforms(&directory);
}

#[test]
fn tables_of_a_database_keep_the_rules() {
    let cluster = Arc::new(Cluster::start(&[]));
    conforms(&|limit| tables(&cluster, limit));
}

#[test]
fn a_bucket_keeps_the_rules() {
    let server = Arc::new(s3::Server::start());
    conforms(&|limit| bucket(&server, limit));
}

/// The suite itself notices a store that breaks a rule.
#[test]
#[should_panic(expected = "the limit for sources")]
fn a_store_without_a_limit_breaks_a_rule() {
    conforms(&|_| directory(u64::MAX));
}
