//! An object of almost a GiB, as large as a store takes: opened from each store by the binary, which
//! needs little memory for it, says how far it is, and leaves nothing when it is stopped.

mod common;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use afterrun::checkpoint::{
    CheckpointRef, CheckpointStore, FileCheckpointStore, PostgresCheckpointStore,
};
use afterrun::postgres::Server;
use common::postgres::Cluster;
use common::pty::{Terminal, until};
use common::{Place, id, s3, world};

/// Content of the one file: with gzip's framing and tar's the object stays below a GiB.
const CONTENT: u64 = (1 << 30) - (1 << 20);
/// The most that the process may hold, in bytes.
const PEAK: u64 = 150_000_000;

#[test]
fn an_object_of_a_gib_needs_little_memory_from_every_store() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let object = folder.path().join("object.tar.gz");
    write_archive(&object).expect("written");

    let root = folder.path().join("store");
    let directory = FileCheckpointStore::create(&root).expect("a store");
    let reference = put("a directory", &directory, &object);
    opens("a directory", root.to_str().expect("UTF-8"), &reference);
    drop(fs::remove_dir_all(&root));

    // As multipart puts leave it; the server here would hold a whole part in memory for each.
    let server = s3::Server::start();
    let key = server.store("large").key(&reference);
    let size = reference.size().to_string();
    let labels = [("sha256", reference.sha256()), ("size", &*size)];
    server.plant_file(&key, &object, &labels);
    opens("a bucket", &server.url("large"), &reference);
    drop(server);

    let cluster = Cluster::start(&["full_page_writes=off"]);
    let url = cluster.url("postgres");
    // Chunks far over Agno's 8 MiB: what one row holds is no measure of what is held here.
    let tables = PostgresCheckpointStore::new(Server::new(&url).expect("a URL"), "ai", "large")
        .and_then(|store| store.with_chunk_bytes(100 << 20))
        .expect("a store");
    assert_eq!(put("tables", &tables, &object), reference);
    opens("tables", &format!("{url}?table=large"), &reference);
}

fn put(what: &str, store: &dyn CheckpointStore, object: &Path) -> CheckpointRef {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let begun = Instant::now();
    let reference = runtime.block_on(store.put(object)).expect("put");
    drop(runtime);
    eprintln!("{what}: put in {:?}", begun.elapsed());
    assert!(CONTENT < reference.size() && reference.size() < 1 << 30);
    reference
}

/// What `reference` names, from the store that the binary knows as `named`.
fn opens(what: &str, named: &str, reference: &CheckpointRef) {
    let place = Place::new();
    let database = database(&place, reference);
    let options = ["--db", &database, "--store", named, "verify", id::STORY2];
    verifies_in_little_memory(what, &place, &options, reference);
    tells_how_far_it_is_and_stops(&place, &options);
}

fn verifies_in_little_memory(
    what: &str,
    place: &Place,
    options: &[&str],
    reference: &CheckpointRef,
) {
    let begun = Instant::now();
    let mut command = place.afterrun(&[options, &["--json"]].concat());
    let mut child = command
        .envs(s3::Server::variables())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("waited for").is_none() {
        peak = peak.max(high_water_mark(&status).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["results"][0]["bytes"], CONTENT);
    assert_eq!(
        answer["results"][0]["checkpoint"]["sha256"],
        reference.sha256()
    );
    place.assert_clean(what);
    let took = begun.elapsed();
    eprintln!(
        "{what}: opened in {took:?}, {} MB at most",
        peak / 1_000_000
    );
    assert!(0 < peak && peak < PEAK, "{what}: {peak} bytes");
}

fn tells_how_far_it_is_and_stops(place: &Place, options: &[&str]) {
    let words = [&[env!("CARGO_BIN_EXE_afterrun")], options].concat();
    let mut terminal = Terminal::start(place, (100, 10), &words, &s3::Server::variables());
    let told = until(|| {
        let text = terminal.text();
        (text.contains("sha256 ") && text.contains("GB (")).then_some(text)
    });
    assert!(told.is_some(), "{}", terminal.text());
    terminal.keys("\x03");
    let ended = terminal.end();
    assert_eq!(ended.code, 130, "{}", ended.text);
    place.assert_clean("a verify that was stopped");
}

/// The most that the process has had in memory so far, in bytes.
fn high_water_mark(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// The demo's database, where one run commits to `reference`.
fn database(place: &Place, reference: &CheckpointRef) -> String {
    let path = place.path("agno.sqlite");
    fs::copy(&world().database, &path).expect("copied");
    let database = rusqlite::Connection::open(&path).expect("opened");
    let changed = database.execute(
        "UPDATE agno_runs SET run_data = json_set(run_data, '$.metadata.sandbox.checkpoint', json(?)) \
         WHERE run_id = ?",
        [
            serde_json::to_string(reference).expect("JSON"),
            id::STORY2.to_owned(),
        ],
    );
    assert_eq!(changed.expect("updated"), 1);
    path.to_str().expect("UTF-8").to_owned()
}

/// A valid checkpoint with one file of bytes that no gzip makes fewer.
fn write_archive(path: &PathBuf) -> io::Result<()> {
    let out = io::BufWriter::with_capacity(1 << 20, File::create(path)?);
    // Stored blocks: compressing noise would only take time.
    let gzip = flate2::write::GzEncoder::new(out, flate2::Compression::none());
    let mut archive = tar::Builder::new(gzip);
    let manifest = br#"{"version": 1, "state": {}}"#;
    let mut member = |name: &str, kind: tar::EntryType, size: u64, content: &mut dyn Read| {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o755);
        header.set_mtime(1_780_000_000);
        archive.append_data(&mut header, name, content)
    };
    let (file, folder) = (tar::EntryType::Regular, tar::EntryType::Directory);
    let length = manifest.len() as u64;
    member("manifest.json", file, length, &mut &manifest[..])?;
    member("native/", folder, 0, &mut io::empty())?;
    member("workspace/", folder, 0, &mut io::empty())?;
    let mut noise = Noise(fastrand::Rng::with_seed(1)).take(CONTENT);
    member("workspace/noise", file, CONTENT, &mut noise)?;
    archive.into_inner()?.finish()?.flush()
}

struct Noise(fastrand::Rng);

impl Read for Noise {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.fill(into);
        Ok(into.len())
    }
}
