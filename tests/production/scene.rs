//! A production in small: Agno's rows in a real PostgreSQL, and one run's checkpoint in each store.

use std::cell::Cell;
use std::process::{Child, Command, Stdio};

use afterrun::checkpoint::{CheckpointRef, CheckpointStore, PostgresCheckpointStore};
use afterrun::postgres::Server;

use crate::common::postgres::{Cluster, PASSWORD, USER, program};
use crate::common::proxy::Proxy;
use crate::common::pty::until;
use crate::common::{Place, Ran, agno, id, names, s3, world};

/// The run whose object is in every store; it has 25 kB.
pub const RUN: &str = id::PANTRY5;
/// What is given where a password is wrong.
pub const WRONG: &str = "letmein-wrong";
/// Goes with the bucket's key.
pub const TOKEN: &str = "session/token+of/the+test";
/// Bytes of a row of chunks, so that there are seven.
pub const CHUNK: usize = 4096;
pub const LIST: &[&str] = &["runs"];
pub const RESTORE: &[&str] = &["restore", RUN, "out"];

pub struct Scene {
    pub cluster: Cluster,
    pub bucket: s3::Server,
    pub object: CheckpointRef,
    bytes: Vec<u8>,
    copies: Cell<u32>,
}

/// Where a command looks.
#[derive(Clone)]
pub struct On {
    pub database: String,
    pub store: String,
    pub schema: &'static str,
    pub variables: Vec<(&'static str, &'static str)>,
}

impl On {
    pub fn options(&self) -> [&str; 6] {
        let (database, store) = (&*self.database, &*self.store);
        ["--db", database, "--store", store, "--schema", self.schema]
    }

    pub fn stored(&self, store: impl Into<String>) -> Self {
        let store = store.into();
        Self {
            store,
            ..self.clone()
        }
    }

    pub fn at(&self, database: impl Into<String>) -> Self {
        let database = database.into();
        Self {
            database,
            ..self.clone()
        }
    }

    pub fn command(&self, place: &Place, words: &[&str]) -> Command {
        let mut command = place.afterrun(&self.options());
        command.args(words).envs(self.variables.iter().copied());
        command
    }
}

impl Scene {
    pub fn new() -> Self {
        let cluster = Cluster::start(&[]);
        let url = cluster.create("agno");
        let rows = agno::rows_of(&world().database);
        let made = agno::tables("ai") + agno::BINDINGS + &rows + "ANALYZE;";
        cluster.sql("agno", &made);
        let source = world().object(RUN);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let object = runtime.block_on(async {
            let server = Server::new(&url).expect("a URL");
            let table = PostgresCheckpointStore::DEFAULT_TABLE;
            let store = PostgresCheckpointStore::new(server, "ai", table);
            let store = store.and_then(|store| store.with_chunk_bytes(CHUNK));
            store.expect("a store").put(&source).await.expect("put")
        });
        Self {
            cluster,
            bucket: s3::Server::start(),
            object,
            bytes: std::fs::read(source).expect("read"),
            copies: Cell::new(0),
        }
    }

    fn number(&self) -> u32 {
        self.copies.replace(self.copies.get() + 1)
    }

    /// A copy of the database, to be broken, with its checkpoints; its name and where it is.
    pub fn tables(&self) -> (String, On) {
        let name = format!("copy{}", self.number());
        let made = format!("CREATE DATABASE {name} TEMPLATE agno");
        self.cluster.sql("postgres", &made);
        let mut variables = s3::Server::variables().to_vec();
        variables.push(("AWS_SESSION_TOKEN", TOKEN));
        let on = On {
            database: self.cluster.url(&name),
            store: "postgres".into(),
            schema: "ai",
            variables,
        };
        (name, on)
    }

    /// A prefix of the bucket with the run's object as Agno labels it; its key and URL.
    pub fn prefix(&self) -> (String, String) {
        let prefix = format!("team{}", self.number());
        let key = format!("{prefix}/{}.tar.gz", self.object.sha256());
        let size = self.object.size().to_string();
        self.label(
            &key,
            &[("sha256", self.object.sha256()), ("size", &size)],
            0,
        );
        (key, self.bucket.url(&prefix))
    }

    /// Puts the object under `key` with these labels, without its last `without` bytes.
    pub fn label(&self, key: &str, labels: &[(&str, &str)], without: usize) {
        let bytes = &self.bytes[..self.bytes.len() - without];
        self.bucket.plant(key, bytes, labels);
    }

    /// Puts the object below `team` of another bucket; answers its key.
    pub fn plant_in(&self, bucket: &s3::Server) -> String {
        let (digest, size) = (self.object.sha256(), self.object.size().to_string());
        let key = format!("team/{digest}.tar.gz");
        bucket.plant(&key, &self.bytes, &[("sha256", digest), ("size", &size)]);
        key
    }

    /// A proxy to the cluster.
    pub fn proxy(&self) -> Proxy {
        Proxy::to(self.cluster.port())
    }

    /// Another session in `database` that has run `sql` and keeps its transaction open.
    pub fn held(&self, database: &str, sql: &str) -> Held<'_> {
        let url = self.cluster.url(database) + "?application_name=held";
        let session = Command::new(program("psql"))
            .args([
                "-X",
                "-q",
                "-c",
                &format!("BEGIN; {sql}; SELECT pg_sleep(60)"),
            ])
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql runs");
        let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'
                      AND application_name = 'held'";
        let begun = until(|| (self.cluster.sql("postgres", sleeps) == "1").then_some(()));
        begun.expect("it holds");
        Held {
            scene: self,
            session,
        }
    }

    /// The store's tables, for SQL.
    pub fn chunks(&self) -> String {
        format!("ai.{}_chunks", PostgresCheckpointStore::DEFAULT_TABLE)
    }

    pub fn headers(&self) -> String {
        format!("ai.{}", PostgresCheckpointStore::DEFAULT_TABLE)
    }

    /// The database of `on` for another user.
    pub fn as_user(on: &On, user: &str) -> On {
        on.at(on
            .database
            .replace(&format!("//{USER}:"), &format!("//{user}:")))
    }

    /// `to` in place of the cluster's port.
    pub fn through(&self, url: &str, to: u16) -> String {
        let from = format!(":{}/", self.cluster.port());
        assert!(url.contains(&from), "{url}");
        url.replace(&from, &format!(":{to}/"))
    }
}

/// A transaction that is open until this is dropped.
pub struct Held<'a> {
    scene: &'a Scene,
    session: Child,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE application_name = 'held'";
        self.scene.cluster.sql("postgres", end);
        let _ = self.session.wait();
    }
}

/// What a fault has to look like.
pub struct Fault<'a> {
    pub what: &'a str,
    pub code: i32,
    pub kind: &'a str,
    /// A part of the message.
    pub says: &'a str,
}

impl Fault<'_> {
    /// Runs `words` for programs, and once more for people with every word of the log.
    #[track_caller]
    pub fn shows(&self, on: &On, words: &[&str]) {
        let place = Place::new();
        let ran = place.finish(on.command(&place, &[words, &["--json"]].concat()));
        self.is(&place, ran);
        let place = Place::new();
        let ran = place.finish(on.command(&place, &[words, &["-vvv"]].concat()));
        assert_no_secret(self.what, &ran);
        let ran = ran.exits(self.code);
        assert_eq!(ran.text(), "", "{}", self.what);
        assert!(ran.err.contains("INFO"), "{}", ran.err);
        assert_nothing_made(self.what, &place);
    }

    /// `ran`, which printed JSON in `place`, is this fault.
    #[track_caller]
    pub fn is(&self, place: &Place, ran: Ran) {
        assert_no_secret(self.what, &ran);
        assert_nothing_made(self.what, place);
        let ran = ran.exits(self.code);
        let (kind, message) = ran.error();
        // What each fault prints is worth reading: `cargo test -- --nocapture`.
        println!(
            "{}: {} {kind}\n  {}",
            self.what,
            self.code,
            ran.err.trim_end().replace('\n', "\n  ")
        );
        assert_eq!(kind, self.kind, "{}: {message}", self.what);
        assert!(message.contains(self.says), "{}: {message}", self.what);
    }
}

/// Neither a destination nor a part of one.
#[track_caller]
pub fn assert_nothing_made(what: &str, place: &Place) {
    assert_eq!(names(&place.path("")), [""; 0], "{what}");
}

#[track_caller]
pub fn assert_no_secret(what: &str, ran: &Ran) {
    for said in [&*String::from_utf8_lossy(&ran.out), &ran.err] {
        assert_holds_no_secret(what, said);
    }
}

#[track_caller]
pub fn assert_holds_no_secret(what: &str, said: &str) {
    let whole = [PASSWORD, WRONG, s3::SECRET, TOKEN];
    let encoded = whole.map(|secret| secret.replace('/', "%2F").replace('+', "%2B"));
    for secret in whole
        .iter()
        .copied()
        .chain(encoded.iter().map(|one| &**one))
    {
        assert!(!said.contains(secret), "{what}: {secret} in {said}");
    }
}
