//! Checkpoints in a real PostgreSQL: what can go wrong on the way, and that each is one line of the
//! right kind, with nothing left here or at the server.

mod common;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use afterrun::checkpoint::{CheckpointRef, CheckpointStore, PostgresCheckpointStore};
use afterrun::postgres::Server;
use afterrun::progress::{CancellationToken, Watch};
use afterrun::{Error, ErrorKind};
use common::postgres::{Cluster, PASSWORD, USER};
use common::proxy::{Proxy, Way};
use common::pty::until;
use common::{Place, Ran, id, world};
use tokio::runtime::Runtime;

const HEADERS: &str = "ai.agno_sandbox_checkpoints";
/// Its object has 25 kB.
const RUN: &str = id::PANTRY5;
const CHUNKS: &str = "ai.agno_sandbox_checkpoints_chunks";

/// A database with one object, reached through a proxy.
struct Scene {
    cluster: Cluster,
    proxy: Proxy,
    runtime: Runtime,
    object: CheckpointRef,
    bytes: Vec<u8>,
}

impl Scene {
    /// With `bytes` stored in rows of `chunk_bytes`.
    fn of(bytes: Vec<u8>, chunk_bytes: usize) -> Self {
        let cluster = Cluster::start(&[]);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let source = tempfile::NamedTempFile::new().expect("a file");
        fs::write(source.path(), &bytes).expect("written");
        let store = store(&cluster.url("postgres"))
            .with_chunk_bytes(chunk_bytes)
            .expect("a size");
        let object = runtime.block_on(store.put(source.path())).expect("put");
        drop(store);
        Self {
            proxy: Proxy::to(cluster.port()),
            cluster,
            runtime,
            object,
            bytes,
        }
    }

    /// With noise of `length` bytes.
    fn noise(length: usize) -> Self {
        let mut bytes = vec![0; length];
        fastrand::Rng::with_seed(7).fill(&mut bytes);
        Self::of(bytes, 1_000_000)
    }

    /// With the object of a run of the demo's, in rows of 4 kB.
    fn demo() -> Self {
        let object = world().object(RUN);
        Self::of(fs::read(object).expect("read"), 4096)
    }

    fn url(&self) -> String {
        let direct = self.cluster.url("postgres");
        let [from, to] = [self.cluster.port(), self.proxy.port()].map(|port| format!(":{port}/"));
        direct.replace(&from, &to)
    }

    /// The store behind the proxy.
    fn store(&self) -> PostgresCheckpointStore {
        store(&self.url())
    }

    fn sql(&self, script: &str) -> String {
        self.cluster.sql("postgres", script)
    }

    fn open(
        &self,
        store: &PostgresCheckpointStore,
        watch: &Watch,
    ) -> Result<Vec<u8>, (ErrorKind, String)> {
        let opened = self
            .runtime
            .block_on(store.open_archive(&self.object, watch));
        let lease = opened.map_err(told)?;
        let mut bytes = Vec::new();
        lease.reader().read_to_end(&mut bytes).expect("readable");
        Ok(bytes)
    }

    /// `afterrun fetch RUN FILE` with this store, and the demo's database of runs.
    fn fetch(&self, place: &Place, url: &str) -> Ran {
        let database = world().database.as_os_str();
        let words = ["--store", url, "--json", "fetch", RUN, "object"];
        let mut command = place.afterrun(&["--db".as_ref(), database]);
        command.args(words);
        let ran = place.finish(command);
        for said in [&ran.err, ran.text()] {
            assert!(!said.contains(PASSWORD), "{said}");
        }
        ran
    }

    #[track_caller]
    fn fails(&self, what: &str, code: i32, kind: &str, message: &str) {
        self.fails_at(&self.url(), what, code, kind, message);
    }

    #[track_caller]
    fn fails_at(&self, url: &str, what: &str, code: i32, kind: &str, message: &str) {
        let place = Place::new();
        let (said_kind, said) = self.fetch(&place, url).exits(code).error();
        assert_eq!(said_kind, kind, "{what}: {said}");
        assert!(said.contains(message), "{what}: {said}");
        assert!(!place.path("object").exists(), "{what}");
        self.assert_nobody_left(what);
    }

    /// None of our connections is left at the server.
    #[track_caller]
    fn assert_nobody_left(&self, what: &str) {
        let gone = until(|| (self.connections("true") == 0).then_some(()));
        assert!(gone.is_some(), "{what}: a connection is left");
    }

    fn connections(&self, which: &str) -> u32 {
        let asked = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'afterrun' AND ({which})"
        );
        self.sql(&asked).parse().expect("a number")
    }

    #[track_caller]
    fn wait_for_connection(&self, which: &str) {
        let there = until(|| (self.connections(which) > 0).then_some(()));
        assert!(there.is_some(), "no connection with {which}");
    }
}

fn store(url: &str) -> PostgresCheckpointStore {
    let server = Server::new(url).expect("a URL");
    PostgresCheckpointStore::new(server, "ai", PostgresCheckpointStore::DEFAULT_TABLE)
        .expect("names")
}

#[allow(clippy::needless_pass_by_value)] // it is an argument of map_err
fn told(error: Error) -> (ErrorKind, String) {
    let said = error.message().to_owned();
    assert!(!said.contains(['\n', '\r']), "{said}");
    assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
    (error.kind(), said)
}

#[test]
fn what_the_tables_hold_is_held_against_the_reference() {
    let scene = Scene::demo();
    let place = Place::new();
    scene.fetch(&place, &scene.url()).ok();
    let fetched = fs::read(place.path("object")).expect("read");
    assert!(fetched == scene.bytes);

    let keep = format!(
        "CREATE SCHEMA kept; CREATE TABLE kept.h AS TABLE {HEADERS}; CREATE TABLE kept.c AS TABLE {CHUNKS};"
    );
    scene.sql(&keep);
    let again = format!(
        "DELETE FROM {HEADERS}; INSERT INTO {HEADERS} TABLE kept.h; INSERT INTO {CHUNKS} TABLE kept.c;"
    );
    let changed = |script: &str| {
        scene.sql(&again);
        scene.sql(script);
    };
    let mismatch = "Checkpoint size mismatch";
    for (what, script) in [
        ("a chunk is missing", "DELETE FROM {C} WHERE seq = 1"),
        ("no first chunk", "DELETE FROM {C} WHERE seq = 0"),
        ("no chunks", "DELETE FROM {C}"),
        ("a header that says more", "UPDATE {H} SET size = size + 1"),
        ("a header that says less", "UPDATE {H} SET size = 1"),
        (
            "a header that lies big",
            "UPDATE {H} SET size = 9223372036854775807",
        ),
        ("a negative header", "UPDATE {H} SET size = -size"),
        (
            "a chunk more",
            r"INSERT INTO {C} SELECT sha256, max(seq) + 1, '\x00' FROM {C} GROUP BY 1",
        ),
    ] {
        changed(&script.replace("{H}", HEADERS).replace("{C}", CHUNKS));
        scene.fails(what, 5, "size_mismatch", mismatch);
    }
    changed(&format!(
        "UPDATE {CHUNKS} SET data = set_byte(data, 9, get_byte(data, 9) # 1) WHERE seq = 2"
    ));
    let checksum = "Checkpoint checksum mismatch";
    scene.fails("other bytes", 5, "checksum_mismatch", checksum);
    changed(&format!("DELETE FROM {HEADERS}"));
    scene.fails(
        "deleted",
        4,
        "object_missing",
        "Checkpoint object is missing",
    );

    // Odd, but whole in Agno's eyes: it reads from 0 up to the first number that is not there.
    changed(&format!(
        r"UPDATE {CHUNKS} SET seq = seq + 100 WHERE seq > 1;
          UPDATE {CHUNKS} SET seq = seq - 99 WHERE seq > 100;
          INSERT INTO {CHUNKS} SELECT sha256, 2, '' FROM {HEADERS};
          INSERT INTO {CHUNKS} SELECT sha256, -1, '\x00' FROM {HEADERS};
          INSERT INTO {CHUNKS} SELECT sha256, 99, '\x00' FROM {HEADERS}"
    ));
    let place = Place::new();
    scene.fetch(&place, &scene.url()).ok();
    let fetched = fs::read(place.path("object")).expect("read");
    assert!(fetched == scene.bytes);
}

#[test]
fn tables_that_are_not_agnos_cost_little() {
    let scene = Scene::demo();
    let mut number = 0;
    let mut instead = |what: &str, chunks: &str, code: i32, kind: &str, message: &str| {
        number += 1;
        let schema = format!("odd{number}");
        let (sha256, size) = (scene.object.sha256(), scene.object.size().to_string());
        let chunks = chunks
            .replace("{C}", &CHUNKS.replace("ai.", &format!("{schema}.")))
            .replace("{sha}", sha256)
            .replace("{size}", &size);
        let headers = HEADERS.replace("ai.", &format!("{schema}."));
        scene.sql(&format!(
            "CREATE SCHEMA {schema}; CREATE TABLE {headers} AS TABLE {HEADERS}; {chunks}"
        ));
        let url = format!("{}?schema={schema}", scene.url());
        scene.fails_at(&url, what, code, kind, message);
    };
    let mut mismatch =
        |what, chunks| instead(what, chunks, 5, "size_mismatch", "Checkpoint size mismatch");
    let before = scene.proxy.passed();
    mismatch(
        "a chunk of 100 MB",
        "CREATE TABLE {C} AS SELECT '{sha}' AS sha256, 0 AS seq, decode(repeat('00', 100000000), 'hex') AS data",
    );
    mismatch(
        "endless chunks",
        r"CREATE TABLE {C} AS SELECT '{sha}' AS sha256, seq, '\x00'::bytea AS data FROM generate_series(0, 100000) AS seq",
    );
    mismatch(
        "a chunk of NULL",
        "CREATE TABLE {C} AS SELECT '{sha}' AS sha256, 0 AS seq, NULL::bytea AS data",
    );
    // Its length is as it should be when it is asked for, and its bytes are others.
    mismatch(
        "chunks that change",
        "CREATE FUNCTION public.more() RETURNS bytea VOLATILE LANGUAGE sql AS $$ SELECT decode(repeat('00', \
         CASE WHEN current_query() LIKE '%octet_length%' THEN {size} ELSE 5 END), 'hex') $$; \
         CREATE VIEW {C} AS SELECT '{sha}' AS sha256, 0 AS seq, public.more() AS data",
    );
    mismatch(
        "text that is too short",
        "CREATE TABLE {C} AS SELECT '{sha}' AS sha256, 0 AS seq, 'short' AS data",
    );
    let taken = scene.proxy.passed() - before;
    assert!(taken < 2_000_000, "{taken} bytes were taken");
    instead(
        "text for bytes",
        "CREATE TABLE {C} AS SELECT '{sha}' AS sha256, 0 AS seq, repeat('x', {size}) AS data",
        1,
        "store",
        "The checkpoint tables hold other types than Agno's",
    );
    instead(
        "text for the bytes of several chunks",
        "CREATE TABLE {C} AS SELECT '{sha}' AS sha256, seq, repeat('x', {size} / 5) AS data FROM generate_series(0, 4) AS seq; \
         UPDATE {C} SET data = data || repeat('x', {size} % 5) WHERE seq = 4",
        1,
        "store",
        "are no checkpoint store: ",
    );
    instead(
        "other columns",
        "CREATE TABLE {C} (sha256 text, number int)",
        1,
        "store",
        "are no checkpoint store: ",
    );
}

#[test]
fn what_the_server_refuses_is_one_line() {
    let scene = Scene::demo();
    scene.cluster.create("empty");
    let empty = scene.url().replace("/postgres", "/empty");
    let place = Place::new();
    let ran = scene.fetch(&place, &empty).exits(1);
    let (kind, said) = ran.error();
    assert_eq!(
        (kind.as_str(), said.as_str()),
        (
            "store",
            "There is no checkpoint store here: the tables ai.agno_sandbox_checkpoints and \
             ai.agno_sandbox_checkpoints_chunks are not both there"
        )
    );
    assert!(ran.hint().contains("?schema=SCHEMA&table=TABLE"));
    let url = format!("{}?schema=ai&table=\"\x1b[31mred", scene.url());
    let (kind, said) = scene.fetch(&place, &url).exits(1).error();
    assert_eq!(kind, "store");
    assert!(!said.contains('\x1b'), "{said:?}");
    // Reading has made nothing.
    let made = "SELECT count(*) FROM pg_namespace WHERE nspname = 'ai'";
    assert_eq!(scene.cluster.sql("empty", made), "0");

    scene.sql(&format!(
        "CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; GRANT USAGE ON SCHEMA ai TO reader; \
         GRANT SELECT ON {HEADERS} TO reader;"
    ));
    let reader = scene.url().replace(USER, "reader");
    let ran = scene.fetch(&place, &reader).exits(1);
    let (kind, said) = ran.error();
    assert_eq!(kind, "store");
    assert!(
        said.contains("agno_sandbox_checkpoints_chunks"),
        "the table without rights is named: {said}"
    );
    assert!(ran.hint().contains("SELECT on "), "{}", ran.err);
    scene.sql(&format!("GRANT SELECT ON {CHUNKS} TO reader"));
    scene.fetch(&place, &reader).ok();

    // A header that sets a time-out and chunks that sleep: the server stops the second statement.
    scene.sql(&format!(
        "ALTER TABLE {HEADERS} RENAME TO h; ALTER TABLE {CHUNKS} RENAME TO c; \
         CREATE VIEW {HEADERS} AS SELECT sha256, size FROM ai.h \
           WHERE set_config('statement_timeout', '200', true) IS NOT NULL; \
         CREATE VIEW {CHUNKS} AS SELECT sha256, seq, data FROM ai.c WHERE pg_sleep(30) IS NOT NULL"
    ));
    scene.fails("a statement time-out", 1, "timeout", "");
}

#[test]
fn a_lost_connection_is_no_mismatch() {
    let mut scene = Scene::demo();
    for passes in [0, 200, 3000, 9000] {
        scene.proxy.set(Way::CutAfter(passes));
        scene.fails(&format!("cut after {passes} bytes"), 1, "store", "");
    }
    // The server is killed when a part of the bytes is here.
    let (place, before) = (Place::new(), scene.proxy.passed());
    scene.proxy.set(Way::StalledAfter(9000));
    let url = scene.url();
    let ran = std::thread::scope(|threads| {
        let (cluster, proxy) = (&mut scene.cluster, &scene.proxy);
        threads.spawn(move || {
            let there = until(|| (proxy.passed() >= before + 9000).then_some(()));
            there.expect("half of it");
            cluster.kill();
            // What the server had sent before is lost with it.
            proxy.set(Way::CutAfter(0));
        });
        let words = ["--store", &url, "--json", "fetch", RUN, "object"];
        let mut command = place.afterrun(&["--db".as_ref(), world().database.as_os_str()]);
        command.args(words);
        place.finish(command)
    });
    let (kind, said) = ran.exits(1).error();
    assert_eq!(kind, "store", "{said}");
    // Back again, and nothing else is needed.
    scene.proxy.set(Way::Open);
    scene.cluster.resume();
    scene.fetch(&place, &url).ok();
}

#[test]
fn a_killed_server_is_lost_to_a_library_too() {
    let mut scene = Scene::noise(5_000_000);
    let store = scene.store();
    scene.proxy.set(Way::StalledAfter(2_000_000));
    let watch = Watch::default();
    let fetched = scene.runtime.block_on(store.fetch(&scene.object, &watch));
    let mut object = fetched.expect("begun");
    let mut some = vec![0; 500_000];
    object.bytes.read_exact(&mut some).expect("some of it");
    assert!(some == scene.bytes[..500_000]);
    scene.cluster.kill();
    scene.proxy.set(Way::Open);
    let failed = object.bytes.read_to_end(&mut some).expect_err("lost");
    let failed = failed.downcast::<Error>().expect("ours");
    assert_eq!(told(failed).0, ErrorKind::Store);
    scene.cluster.resume();
    // The store stays usable: the dead connections are replaced.
    assert!(scene.open(&store, &watch).expect("opened") == scene.bytes);
}

#[test]
fn a_slow_line_is_waited_for_and_left_when_told() {
    let scene = Scene::noise(400_000);
    let store = scene.store().with_stall_limit(Duration::from_secs(5));
    scene.proxy.set(Way::Drip(8192));
    let opened = scene.open(&store, &Watch::default()).expect("opened");
    assert!(opened == scene.bytes);
    scene.proxy.set(Way::Drip(256));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let begun = Instant::now();
    let watch = Watch::new(cancel);
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        stop.cancel();
        Instant::now()
    });
    let (kind, _) = scene.open(&store, &watch).expect_err("cancelled");
    assert_eq!(kind, ErrorKind::Cancelled);
    let told = waiting.join().expect("told");
    assert!(
        told.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    scene.proxy.set(Way::Open);
    drop(store);
    scene.assert_nobody_left("a cancelled download");
}

#[test]
fn a_line_that_stalls_is_given_up() {
    let scene = Scene::noise(3_000_000);
    let limit = Duration::from_secs(1);
    let nothing = "The checkpoint store has sent nothing for 1 s";
    // A server that is not reached is told apart, and has a limit of its own.
    let silent = "has not answered within 2 s";
    for (way, words) in [
        (Way::StalledAfter(1_000_000), nothing),
        (Way::Stalled, silent),
    ] {
        let url = format!("{}?connect_timeout=2", scene.url());
        let store = store(&url).with_stall_limit(limit);
        scene.proxy.set(way);
        let (kind, said) = scene.open(&store, &Watch::default()).expect_err("given up");
        assert!(
            kind == ErrorKind::Timeout && said.ends_with(words),
            "{said}"
        );
        scene.proxy.set(Way::Open);
        drop(store);
        scene.assert_nobody_left("a stalled download");
    }
}

#[test]
fn what_is_deleted_while_it_is_read_is_read_whole() {
    let scene = Scene::noise(9_000_000);
    let (store, watch) = (scene.store(), Watch::default());
    let fetched = scene.runtime.block_on(store.fetch(&scene.object, &watch));
    let mut object = fetched.expect("begun");
    let mut all = vec![0; 1];
    object.bytes.read_exact(&mut all).expect("a byte");
    let deleted = scene.runtime.block_on(async {
        // Waiting for each other would be a deadlock: readers hold nobody up.
        tokio::join!(store.delete(&scene.object), store.delete(&scene.object))
    });
    assert!(deleted.0.is_ok() && deleted.1.is_ok(), "{deleted:?}");
    scene.sql(&format!("VACUUM {HEADERS}, {CHUNKS}"));
    object.bytes.read_to_end(&mut all).expect("the rest");
    assert!(all == scene.bytes);
    let again = scene.open(&store, &watch).expect_err("gone");
    assert_eq!(again.0, ErrorKind::ObjectMissing);
    drop((object, store));
    scene.assert_nobody_left("a whole download");
}

#[test]
fn cancelling_ends_the_query_at_the_server() {
    let scene = Scene::noise(1000);
    scene.sql(&format!(
        "ALTER TABLE {CHUNKS} RENAME TO c; \
         CREATE VIEW {CHUNKS} AS SELECT sha256, seq, data FROM ai.c WHERE pg_sleep(600) IS NOT NULL"
    ));
    let store = scene.store();
    let cancel = CancellationToken::new();
    let watch = Watch::new(cancel.clone());
    let sleeping = "wait_event = 'PgSleep'";
    std::thread::scope(|threads| {
        let opening = threads.spawn(|| scene.open(&store, &watch));
        scene.wait_for_connection(sleeping);
        cancel.cancel();
        let answer = opening.join().expect("ended").expect_err("cancelled");
        assert_eq!(answer.0, ErrorKind::Cancelled);
    });
    let ended = until(|| (scene.connections(sleeping) == 0).then_some(()));
    assert!(ended.is_some(), "the query goes on at the server");
    // A reader that goes away is no different.
    let fetched = scene
        .runtime
        .block_on(store.fetch(&scene.object, &Watch::default()));
    let object = fetched.expect("begun");
    scene.wait_for_connection(sleeping);
    drop(object);
    let ended = until(|| (scene.connections(sleeping) == 0).then_some(()));
    assert!(ended.is_some(), "the query goes on at the server");
}

/// What Agno's own `create_all` leaves, and what `put` makes, are one and the same.
#[test]
fn the_tables_are_those_that_agno_makes() {
    let scene = Scene::noise(10);
    let agnos = "
        CREATE SCHEMA theirs;
        CREATE TABLE theirs.agno_sandbox_checkpoints (sha256 VARCHAR(64) NOT NULL, size BIGINT NOT NULL,
            created_at BIGINT NOT NULL, PRIMARY KEY (sha256));
        CREATE TABLE theirs.agno_sandbox_checkpoints_chunks (sha256 VARCHAR(64) NOT NULL, seq INTEGER NOT NULL,
            data BYTEA NOT NULL, PRIMARY KEY (sha256, seq), FOREIGN KEY(sha256)
            REFERENCES theirs.agno_sandbox_checkpoints (sha256) ON DELETE CASCADE);
        ALTER TABLE theirs.agno_sandbox_checkpoints_chunks ALTER COLUMN data SET STORAGE EXTERNAL;";
    scene.sql(agnos);
    let shape = |schema: &str| {
        let asked = format!(
            "SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attstorage, \
                    pg_get_expr(adbin, adrelid) \
             FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_attribute ON attrelid = pg_class.oid \
             LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum \
             WHERE nspname = '{schema}' AND attnum > 0 ORDER BY relname, attnum; \
             SELECT conname, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_namespace n ON n.oid = connamespace \
             WHERE nspname = '{schema}' ORDER BY conname;"
        );
        scene.sql(&asked).replace(schema, "SCHEMA")
    };
    let ours = shape("ai");
    assert!(ours.contains("ON DELETE CASCADE"), "{ours}");
    assert_eq!(ours, shape("theirs"));
    let row = format!("SELECT size, created_at > 1700000000 FROM {HEADERS}");
    assert_eq!(scene.sql(&row), "10|t");
}

#[test]
fn only_a_put_writes_and_it_needs_no_more_than_insert() {
    let scene = Scene::noise(2_500_000);
    assert_eq!(
        scene.sql(&format!("SELECT count(*), sum(length(data)) FROM {CHUNKS}")),
        "3|2500000"
    );
    // The schema is there, so the right to make one is not needed; the tables are, too.
    scene.sql(&format!(
        "CREATE ROLE writer LOGIN PASSWORD '{PASSWORD}'; GRANT USAGE ON SCHEMA ai TO writer; \
         GRANT SELECT, INSERT ON {HEADERS}, {CHUNKS} TO writer;"
    ));
    let writer = store(&scene.url().replace(USER, "writer"));
    let source = tempfile::NamedTempFile::new().expect("a file");
    fs::write(source.path(), "of the writer").expect("written");
    let put = |store: &PostgresCheckpointStore| scene.runtime.block_on(store.put(source.path()));
    let reference = put(&writer).expect("put");
    assert_eq!(put(&writer).expect("again"), reference);
    let (kind, said) = told(
        scene
            .runtime
            .block_on(writer.delete(&reference))
            .expect_err("no right"),
    );
    assert_eq!(kind, ErrorKind::Store, "{said}");
    scene.sql(&format!("REVOKE INSERT ON {CHUNKS} FROM writer"));
    fs::write(source.path(), "more of the writer").expect("written");
    assert_eq!(
        told(put(&writer).expect_err("no right")).0,
        ErrorKind::Store
    );
    // The header went with the transaction.
    let headers = format!("SELECT count(*) FROM {HEADERS}");
    assert_eq!(scene.sql(&headers), "2");
}

#[test]
fn a_put_that_waits_for_a_lock_is_cancelled() {
    let scene = Scene::noise(10);
    let source = tempfile::NamedTempFile::new().expect("a file");
    fs::write(source.path(), "more").expect("written");
    let url = scene.cluster.url("postgres");
    let locked = scene.runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
            .await
            .expect("connected");
        tokio::spawn(connection);
        let lock = format!("BEGIN; LOCK TABLE {HEADERS} IN ACCESS EXCLUSIVE MODE");
        client.batch_execute(&lock).await.expect("locked");
        client
    });
    let store = scene.store();
    let cancel = CancellationToken::new();
    let watch = Watch::new(cancel.clone());
    let waiting = "wait_event_type = 'Lock'";
    std::thread::scope(|threads| {
        let putting = threads.spawn(|| {
            scene
                .runtime
                .block_on(store.put_watched(source.path(), &watch))
        });
        scene.wait_for_connection(waiting);
        let begun = Instant::now();
        cancel.cancel();
        let error = putting.join().expect("ended").expect_err("cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(begun.elapsed() < Duration::from_secs(5), "it waits on");
        // The server had heard of it by then.
        let left = until(|| (scene.connections(waiting) == 0).then_some(()));
        assert!(left.is_some(), "it waits on at the server");
    });
    drop(locked);
    let headers = format!("SELECT count(*) FROM {HEADERS}");
    assert_eq!(scene.sql(&headers), "1");
}

#[test]
fn a_source_that_changes_publishes_nothing() {
    let scene = Scene::noise(10);
    let store = scene.store();
    let source = tempfile::NamedTempFile::new().expect("a file");
    for (before, after) in [
        ("first", "other"),
        ("first", "fir"),
        ("first", "first and more"),
    ] {
        fs::write(source.path(), before).expect("written");
        let said = std::thread::scope(|threads| {
            let holding = threads.spawn(|| {
                let script = format!("BEGIN; LOCK TABLE {HEADERS}; SELECT pg_sleep(60)");
                scene.sql_until_ended(&script);
            });
            let holds = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            until(|| (scene.sql(holds) == "1").then_some(())).expect("locked");
            let putting = threads.spawn(|| scene.runtime.block_on(store.put(source.path())));
            // The digest has been taken, the header waits.
            scene.wait_for_connection("wait_event_type = 'Lock'");
            fs::write(source.path(), after).expect("written");
            scene.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
            holding.join().expect("ended");
            told(putting.join().expect("ended").expect_err("changed"))
        });
        let expected = "Checkpoint source changed while it was stored".to_owned();
        assert_eq!(said, (ErrorKind::UnsafeContent, expected));
        assert_eq!(scene.sql(&format!("SELECT count(*) FROM {HEADERS}")), "1");
    }
}

impl Scene {
    /// Runs a script whose connection is ended by others.
    fn sql_until_ended(&self, script: &str) {
        let ended = std::process::Command::new(common::postgres::program("psql"))
            .args(["-X", "-q", "-c", script])
            .arg(self.cluster.url("postgres"))
            .output()
            .expect("psql runs");
        assert!(!ended.status.success());
    }
}

#[test]
fn callers_without_a_runtime_have_twins() {
    let scene = Scene::noise(2_000_000);
    let (store, watch) = (scene.store(), Watch::default());
    let source = tempfile::NamedTempFile::new().expect("a file");
    fs::write(source.path(), &scene.bytes).expect("written");
    assert_eq!(
        store.blocking_put(source.path()).expect("put"),
        scene.object
    );
    store.blocking_verify(&scene.object, &watch).expect("there");
    assert!(store.blocking_contains(&scene.object).expect("an answer"));
    let lease = store.blocking_open_archive(&scene.object, &watch);
    let mut bytes = Vec::new();
    let mut fetched = store.blocking_fetch(&scene.object, &watch).expect("begun");
    store.blocking_delete(&scene.object).expect("deleted");
    fetched.bytes.read_to_end(&mut bytes).expect("read");
    assert!(bytes == scene.bytes);
    bytes.clear();
    let lease = lease.expect("opened");
    lease.reader().read_to_end(&mut bytes).expect("read");
    assert!(bytes == scene.bytes);
    let gone = store.blocking_verify(&scene.object, &watch);
    assert_eq!(told(gone.expect_err("gone")).0, ErrorKind::ObjectMissing);
    drop(fetched);
    drop(store);
    scene.assert_nobody_left("blocking calls");
}

#[test]
fn capture_writes_into_tables_and_the_words_are_checked() {
    let scene = Scene::noise(10);
    let place = Place::new();
    for folder in ["w", "n"] {
        fs::create_dir(place.path(folder)).expect("made");
    }
    fs::write(place.path("w/file"), "captured").expect("written");
    let url = format!("{}?table=mine&schema=our%20own", scene.url());
    let words = [
        "--store",
        &url,
        "capture",
        "--workspace",
        "w",
        "--native",
        "n",
    ];
    let first = place.run(&words).ok();
    let printed: Vec<&str> = first.text().split_whitespace().collect();
    let [sha256, size] = printed[..] else {
        panic!("{printed:?}");
    };
    assert_eq!(place.run(&words).ok().text(), first.text());
    let headers = r#"SELECT sha256, size FROM "our own".mine"#;
    assert_eq!(scene.sql(headers), format!("{sha256}|{size}"));
    let server: Arc<Server> = Server::new(&scene.url()).expect("a URL");
    let store = PostgresCheckpointStore::new(server, "our own", "mine").expect("names");
    assert!(store.describe().ends_with(", table our own.mine"));
    let reference = CheckpointRef::new(sha256, size.parse().expect("a size")).expect("valid");
    let lease = store.blocking_open_archive(&reference, &Watch::default());
    let stored: PathBuf = lease
        .expect("opened")
        .path(&place.path(""))
        .expect("a copy");
    assert!(!Path::new(&stored).exists());

    let database = world().database.to_str().expect("UTF-8");
    for (db, store, said) in [
        (database, "postgres", "is not PostgreSQL"),
        (
            database,
            "postgresql://h/d?table=",
            "must be a nonempty string",
        ),
        (
            database,
            "postgresql://h/d?table=a&table=b",
            "names table twice",
        ),
    ] {
        let message = place
            .run(&["--db", db, "--store", store, "verify", RUN])
            .refuses(2);
        assert!(message.contains(said), "{message}");
    }
}
