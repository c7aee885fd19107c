//! The store in a bucket, against a server that checks signatures: what is stored and read, what is
//! refused, and what becomes of connections that fail.

mod common;

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use afterrun::checkpoint::{CheckpointRef, CheckpointStore, S3CheckpointStore, StoredObject};
use afterrun::progress::{CancellationToken, Watch};
use afterrun::{Error, ErrorKind};
use common::proxy::{Proxy, Way};
use common::s3::{Answer, BUCKET, SECRET, Server, open};
use common::sha256;
use tempfile::TempDir;

const PREFIX: &str = "team a/checkpoints";
const MIB: usize = 1 << 20;

/// A file of bytes that do not repeat, and what refers to it.
struct Source {
    folder: TempDir,
    bytes: Vec<u8>,
}

impl Source {
    fn of(size: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(size as u64);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..))
            .take(size)
            .collect();
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("source"), &bytes).expect("written");
        Self { folder, bytes }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("source")
    }

    fn reference(&self) -> CheckpointRef {
        CheckpointRef::new(sha256(&self.bytes), self.bytes.len() as u64).expect("a reference")
    }

    fn key(&self) -> String {
        format!("{PREFIX}/{}.tar.gz", sha256(&self.bytes))
    }

    /// In the bucket, as Agno would have put it there.
    fn planted(self, server: &Server) -> Self {
        self.plant(server, &self.bytes);
        self
    }

    /// Other bytes under its key, with its labels.
    fn plant(&self, server: &Server, bytes: &[u8]) {
        let (digest, size) = (sha256(&self.bytes), self.bytes.len().to_string());
        server.plant(&self.key(), bytes, &[("sha256", &digest), ("size", &size)]);
    }
}

async fn all(mut object: StoredObject) -> Result<Vec<u8>, Error> {
    let read = move || {
        let mut bytes = Vec::new();
        let read = object.bytes.read_to_end(&mut bytes);
        read.map(|_| bytes)
            .map_err(|error| error.downcast().expect("ours"))
    };
    tokio::task::spawn_blocking(read).await.expect("read")
}

async fn opened(store: &S3CheckpointStore, source: &Source) -> Result<Vec<u8>, Error> {
    let lease = store
        .open_archive(&source.reference(), &Watch::default())
        .await?;
    let mut bytes = Vec::new();
    lease.reader().read_to_end(&mut bytes).expect("read");
    Ok(bytes)
}

/// Kind and line; whatever was said, it holds no secret.
#[track_caller]
fn said<T>(answer: Result<T, Error>) -> (ErrorKind, String) {
    let Err(error) = answer else {
        panic!("it worked");
    };
    let whole = format!("{error:?} {error} {:?}", error.next_step());
    assert!(!whole.contains(SECRET), "{whole}");
    assert!(!error.message().contains('\n'), "{error}");
    (error.kind(), error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_goes_there_and_back_as_agnos() {
    let server = Server::start();
    let (store, source) = (server.store(PREFIX), Source::of(100_000));
    let (reference, watch) = (source.reference(), Watch::default());
    assert_eq!(store.describe(), format!("s3://{BUCKET}/{PREFIX}/"));
    assert!(!store.contains(&reference).await.expect("asked"));
    assert_eq!(store.put(&source.path()).await.expect("stored"), reference);
    let stored = std::fs::read(server.object(&source.key())).expect("there");
    assert_eq!(stored, source.bytes);
    let labels = std::fs::read(server.labels(&source.key())).expect("labels");
    let labels: serde_json::Value = serde_json::from_slice(&labels).expect("JSON");
    let wanted = serde_json::json!({"sha256": reference.sha256(), "size": "100000"});
    assert_eq!(labels, wanted);
    // Stored again, nothing is sent.
    let puts = server.count("PUT");
    assert_eq!(store.put(&source.path()).await.expect("again"), reference);
    assert_eq!(server.count("PUT"), puts);

    assert!(store.contains(&reference).await.expect("asked"));
    store.verify(&reference, &watch).await.expect("verified");
    assert_eq!(opened(&store, &source).await.expect("opened"), source.bytes);
    let fetched = store.fetch(&reference, &watch).await.expect("fetched");
    assert_eq!(all(fetched).await.expect("read"), source.bytes);
    let lease = store
        .open_archive(&reference, &watch)
        .await
        .expect("opened");
    store.delete(&reference).await.expect("deleted");
    store
        .delete(&reference)
        .await
        .expect("deleting again is no error");
    let mut held = Vec::new();
    lease
        .reader()
        .read_to_end(&mut held)
        .expect("still readable");
    assert_eq!(held, source.bytes);
    for gone in [
        store.verify(&reference, &watch).await,
        store.fetch(&reference, &watch).await.map(drop),
        store.open_archive(&reference, &watch).await.map(drop),
    ] {
        let missing = "Checkpoint object is missing".to_owned();
        assert_eq!(said(gone), (ErrorKind::ObjectMissing, missing));
    }
}

#[test]
fn every_call_has_a_twin_that_blocks() {
    let server = Server::start();
    let (store, source) = (server.store(""), Source::of(MIB));
    let watch = Watch::default();
    let reference = store.blocking_put(&source.path()).expect("stored");
    assert!(
        server
            .object(&format!("{}.tar.gz", reference.sha256()))
            .exists()
    );
    store.blocking_verify(&reference, &watch).expect("verified");
    assert!(store.blocking_contains(&reference).expect("asked"));
    let mut bytes = Vec::new();
    let mut object = store.blocking_fetch(&reference, &watch).expect("fetched");
    object.bytes.read_to_end(&mut bytes).expect("read");
    assert_eq!(bytes, source.bytes);
    let lease = store
        .blocking_open_archive(&reference, &watch)
        .expect("opened");
    assert_eq!(lease.reference(), &reference);
    store.blocking_delete(&reference).expect("deleted");
    assert!(!store.blocking_contains(&reference).expect("asked"));
}

fn in_parts(server: &Server) -> S3CheckpointStore {
    let url = format!("{}&part_size={}", server.url(PREFIX), 5 * MIB);
    open(&url, &Server::variables())
}

#[tokio::test(flavor = "multi_thread")]
async fn above_the_part_size_there_are_parts() {
    let server = Server::start();
    let (store, source) = (in_parts(&server), Source::of(12 * MIB));
    // A part that is refused for the moment is sent again.
    server.says(
        Answer::error("PUT", 503, "SlowDown", "")
            .at("partNumber=2")
            .times(1),
    );
    let reference = store.put(&source.path()).await.expect("stored");
    assert_eq!(server.count("PUT"), 4);
    assert_eq!((server.parts(), server.count("DELETE")), (0, 0));
    assert_eq!(opened(&store, &source).await.expect("opened"), source.bytes);
    let exactly = Source::of(5 * MIB);
    store.put(&exactly.path()).await.expect("stored");
    assert_eq!(server.count("PUT"), 5);
    assert!(store.contains(&reference).await.expect("asked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_fails_or_is_cancelled_leaves_no_part() {
    let server = Server::start();
    let (store, source) = (in_parts(&server), Source::of(12 * MIB));
    server.says(
        Answer::error("PUT", 403, "AccessDenied", "")
            .at("partNumber=2")
            .times(1),
    );
    let (kind, line) = said(store.put(&source.path()).await);
    assert_eq!(kind, ErrorKind::Store);
    assert!(
        line.starts_with("These credentials lack s3:PutObject on "),
        "{line}"
    );
    assert_eq!((server.parts(), server.count("DELETE")), (0, 1));

    // 200, and an error in it.
    let late = Answer::error("POST", 200, "InternalError", "<Message>no</Message>");
    server.says(late.at("uploadId=").times(1));
    let (_, line) = said(store.put(&source.path()).await);
    assert_eq!(
        line,
        format!("The bucket {BUCKET} answers 200 InternalError: no")
    );
    assert_eq!((server.parts(), server.count("DELETE")), (0, 2));

    server.says(Answer::error("PUT", 0, "", "").at("partNumber=2"));
    let begun = server.count("PUT");
    let cancel = CancellationToken::new();
    let watch = Watch::new(cancel.clone());
    let (path, cancelled) = (source.path(), store.clone());
    let storing = tokio::spawn(async move { cancelled.put_watched(&path, &watch).await });
    until(|| server.count("PUT") == begun + 2).await;
    cancel.cancel();
    let (kind, _) = said(storing.await.expect("ended"));
    assert_eq!(kind, ErrorKind::Cancelled);
    assert_eq!((server.parts(), server.count("DELETE")), (0, 3));

    // Nobody waits for it any more.
    let begun = server.count("PUT");
    let path = source.path();
    let storing = tokio::spawn(async move { store.put(&path).await });
    until(|| server.count("PUT") == begun + 2).await;
    storing.abort();
    until(|| server.count("DELETE") == 4 && server.parts() == 0).await;
}

/// A POST that began an upload and whose answer is lost would leave it behind if it were made again.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_begun_once() {
    let server = Server::start();
    let (store, source) = (in_parts(&server), Source::of(6 * MIB));
    server.says(
        Answer::error("POST", 500, "InternalError", "")
            .at("uploads=")
            .times(1),
    );
    let (kind, _) = said(store.put(&source.path()).await);
    assert_eq!((kind, server.count("POST")), (ErrorKind::Store, 1));
    // Turned away, nothing was begun.
    server.says(
        Answer::error("POST", 503, "SlowDown", "")
            .at("uploads=")
            .times(1),
    );
    store.put(&source.path()).await.expect("stored");
    assert_eq!((server.count("POST"), server.parts()), (4, 0));
}

async fn until(done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "never");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_compared_before_a_byte_is_read() {
    let server = Server::start();
    let (store, source) = (server.store(PREFIX), Source::of(1000));
    let (digest, other) = (sha256(&source.bytes), sha256(b"other"));
    let size = "Checkpoint size mismatch".to_owned();
    let checksum = "Checkpoint checksum mismatch".to_owned();
    for (bytes, labels, told) in [
        (
            &source.bytes[..999],
            vec![("sha256", digest.as_str())],
            (ErrorKind::SizeMismatch, size),
        ),
        (
            &source.bytes,
            vec![("sha256", other.as_str())],
            (ErrorKind::ChecksumMismatch, checksum.clone()),
        ),
        (
            &source.bytes,
            vec![],
            (ErrorKind::ChecksumMismatch, checksum),
        ),
    ] {
        server.plant(&source.key(), bytes, &labels);
        assert_eq!(said(opened(&store, &source).await), told);
        assert_eq!(said(store.put(&source.path()).await), told);
    }
    assert_eq!(server.count("GET"), 0);
    let large = CheckpointRef::new(digest, (1 << 30) + 1).expect("a reference");
    let limit = "Checkpoint object exceeds its limit".to_owned();
    let told = said(store.verify(&large, &Watch::default()).await);
    assert_eq!(told, (ErrorKind::Limit, limit));
    let empty = Source::of(0);
    assert_eq!(
        said(store.put(&empty.path()).await).1,
        "Checkpoint object is empty"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_lie_are_found_out() {
    let server = Server::start();
    let (store, source) = (server.store(PREFIX), Source::of(300_000));
    let mut other = source.bytes.clone();
    other[200_000] ^= 1;
    source.plant(&server, &other);
    let (kind, line) = said(opened(&store, &source).await);
    assert_eq!(
        (kind, line.as_str()),
        (ErrorKind::ChecksumMismatch, "Checkpoint checksum mismatch")
    );
    for wrong in [
        &source.bytes[..299_999],
        &[&source.bytes[..], b"x"].concat(),
    ] {
        source.plant(&server, wrong);
        let honest = Answer::error("HEAD", 200, "", "")
            .header("content-length", "300000")
            .header("x-amz-meta-sha256", sha256(&source.bytes));
        server.says(honest.times(1));
        let (kind, line) = said(opened(&store, &source).await);
        assert_eq!(
            (kind, line.as_str()),
            (ErrorKind::SizeMismatch, "Checkpoint size mismatch")
        );
    }
    // Gone between the labels and the bytes.
    source.plant(&server, &source.bytes);
    server.says(Answer::error("GET", 404, "NoSuchKey", "").times(1));
    assert_eq!(
        said(opened(&store, &source).await).0,
        ErrorKind::ObjectMissing
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_is_one_line() {
    let skewed = "<ServerTime>2031-01-01T00:00:00Z</ServerTime>";
    for (status, code, more, line) in [
        (403, "AccessDenied", "", "The bucket answers 403 for "),
        (
            404,
            "NoSuchBucket",
            "",
            "The bucket checkpoints does not exist",
        ),
        (
            403,
            "RequestTimeTooSkewed",
            skewed,
            "The clock here differs from the bucket's by more than 15 minutes; there it is 2031-01-01T00:00:00Z",
        ),
        (400, "ExpiredToken", "", "The credentials have expired"),
        (
            403,
            "InvalidAccessKeyId",
            "",
            "The bucket does not know the access key",
        ),
        (
            301,
            "PermanentRedirect",
            "<Region>eu-west-1</Region>",
            "The bucket checkpoints is in region eu-west-1, not in us-east-1",
        ),
        (
            400,
            "AuthorizationHeaderMalformed",
            "<Region>eu-west-1</Region>",
            "The bucket checkpoints is in region eu-west-1, not in us-east-1",
        ),
        (405, "", "", "The bucket checkpoints answers 405"),
    ] {
        let server = Server::start();
        let source = Source::of(10).planted(&server);
        for method in ["HEAD", "GET"] {
            server.says(Answer::error(method, status, code, more));
        }
        let (kind, told) = said(opened(&server.store(PREFIX), &source).await);
        assert_eq!(kind, ErrorKind::Store, "{told}");
        assert!(told.starts_with(line), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_list_storing_works_and_reading_says_so() {
    let server = Server::start();
    let (store, source) = (server.store(PREFIX), Source::of(10));
    // The key is not there, and S3 does not say so.
    server.says(Answer::error("HEAD", 403, "", "").times(1));
    store.put(&source.path()).await.expect("stored");
    store.delete(&source.reference()).await.expect("deleted");
    server.says(Answer::error("HEAD", 403, "", ""));
    server.says(Answer::error("GET", 403, "AccessDenied", ""));
    let answer = store.verify(&source.reference(), &Watch::default()).await;
    let hint = answer
        .as_ref()
        .err()
        .and_then(Error::next_step)
        .map(str::to_owned);
    let (kind, line) = said(answer);
    assert_eq!(kind, ErrorKind::Store);
    assert!(
        line.contains("it is missing, or these credentials may not read it"),
        "{line}"
    );
    assert!(
        hint.expect("a hint")
            .contains("s3:ListBucket on checkpoints")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_signature_is_checked_and_a_wrong_secret_named() {
    let server = Server::start();
    let source = Source::of(10).planted(&server);
    let mut variables = Server::variables();
    variables[1].1 = "hunter2-but-wrong";
    let store = open(&server.url(PREFIX), &variables);
    let (_, line) = said(opened(&store, &source).await);
    assert_eq!(
        line,
        "The bucket refuses the signature: the secret access key is not this key's"
    );
    let (_, line) = said(store.put(&Source::of(20).path()).await);
    assert_eq!(
        line,
        "The bucket refuses the signature: the secret access key is not this key's"
    );
    variables[0].1 = "AKIANOBODY";
    let store = open(&server.url(PREFIX), &variables);
    let (_, line) = said(opened(&store, &source).await);
    assert_eq!(line, "The bucket does not know the access key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_busy_is_asked_three_times() {
    let server = Server::start();
    let (store, source) = (server.store(PREFIX), Source::of(10).planted(&server));
    let watch = Watch::default();
    server.says(Answer::error("HEAD", 503, "", "").times(2));
    store
        .verify(&source.reference(), &watch)
        .await
        .expect("verified");
    assert_eq!(server.count("HEAD"), 3);
    server.says(Answer::error("PUT", 503, "SlowDown", "").times(3));
    let (_, line) = said(store.put(&Source::of(20).path()).await);
    assert_eq!(line, "The bucket checkpoints answers 503 SlowDown");
    assert_eq!(server.count("PUT"), 3);
}

/// A store behind a proxy, and an object in it.
fn behind(server: &Server, size: usize) -> (Proxy, S3CheckpointStore, Source) {
    let proxy = Proxy::to(server.port());
    let url = format!(
        "s3://{BUCKET}/{PREFIX}?endpoint_url=http://127.0.0.1:{}",
        proxy.port()
    );
    let store = open(&url, &Server::variables());
    (proxy, store, Source::of(size).planted(server))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_taken_up_where_it_ended() {
    let server = Server::start();
    let (proxy, store, source) = behind(&server, 3 * MIB);
    proxy.set(Way::CutAfter(MIB as u64));
    assert_eq!(opened(&store, &source).await.expect("opened"), source.bytes);
    let ranges: Vec<_> = server
        .asked()
        .into_iter()
        .filter(|one| one.contains("bytes="))
        .collect();
    assert_eq!(ranges.len(), 3, "{ranges:?}");

    let (proxy, store, source) = behind(&server, 8 * MIB);
    proxy.set(Way::CutAfter(MIB as u64));
    let (kind, line) = said(opened(&store, &source).await);
    assert_eq!(kind, ErrorKind::Store);
    assert!(
        line.starts_with("The connection to the bucket was lost 4 times, the last time after 4."),
        "{line}"
    );
    assert!(line.ends_with(" of 8.4 MB"), "{line}");

    // What it was is there no more.
    let (proxy, store, source) = behind(&server, 2 * MIB);
    proxy.set(Way::CutAfter(MIB as u64));
    let object = store
        .fetch(&source.reference(), &Watch::default())
        .await
        .expect("begun");
    until(|| proxy.passed() >= MIB as u64).await;
    server.says(Answer::error("GET", 412, "PreconditionFailed", ""));
    let (_, line) = said(all(object).await);
    assert_eq!(line, "The object was replaced while it was downloaded");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_is_waited_for_and_stalled_is_cancelled_or_told() {
    let server = Server::start();
    let (proxy, store, source) = behind(&server, 200_000);
    proxy.set(Way::Drip(4_000));
    assert_eq!(opened(&store, &source).await.expect("opened"), source.bytes);

    let (proxy, store, source) = behind(&server, 2 * MIB);
    proxy.set(Way::StalledAfter(MIB as u64));
    let cancel = CancellationToken::new();
    let (watch, stopped) = (Watch::new(cancel.clone()), store.clone());
    let reference = source.reference();
    let opening = tokio::spawn(async move { stopped.open_archive(&reference, &watch).await });
    until(|| proxy.passed() >= MIB as u64).await;
    cancel.cancel();
    let begun = Instant::now();
    assert_eq!(said(opening.await.expect("ended")).0, ErrorKind::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(2));

    let (kind, line) = said(opened(&store, &source).await);
    assert_eq!(kind, ErrorKind::Timeout);
    assert_eq!(line, "The checkpoint store has sent nothing for 30 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_and_nobody_trusted() {
    let source = Source::of(10);
    let port = common::postgres::free_port();
    let url = format!("s3://{BUCKET}?endpoint_url=http://127.0.0.1:{port}");
    let (_, line) = said(opened(&open(&url, &Server::variables()), &source).await);
    assert_eq!(line, "cannot reach 127.0.0.1: connection refused");

    let (server, certificate) = Server::start_tls();
    let source = source.planted(&server);
    let (_, line) = said(opened(&server.store(PREFIX), &source).await);
    assert_eq!(
        line,
        "The certificate of 127.0.0.1 is not trusted: its authority is not known here"
    );
    let bundle = source.folder.path().join("ca.pem");
    std::fs::write(&bundle, certificate).expect("written");
    let mut variables = Server::variables().to_vec();
    variables.push(("AWS_CA_BUNDLE", bundle.to_str().expect("UTF-8")));
    let store = open(&server.url(PREFIX), &variables);
    assert_eq!(opened(&store, &source).await.expect("opened"), source.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_saves_the_download_and_never_outlives_the_object() {
    let server = Server::start();
    let source = Source::of(100_000).planted(&server);
    let cache = source.folder.path().join("cache");
    let url = format!(
        "{}&cache={}&cache_bytes=150000",
        server.url(PREFIX),
        cache.display()
    );
    let store = open(&url, &Server::variables());
    let kept = cache.join(sha256(&source.bytes));
    for times in 1..4 {
        assert_eq!(opened(&store, &source).await.expect("opened"), source.bytes);
        assert_eq!((server.count("GET"), server.count("HEAD")), (1, times));
    }
    let fetched = store
        .fetch(&source.reference(), &Watch::default())
        .await
        .expect("fetched");
    assert_eq!(all(fetched).await.expect("read"), source.bytes);
    // Damaged, it is fetched anew.
    std::fs::remove_file(&kept).expect("removed");
    std::fs::write(&kept, vec![0; 100_000]).expect("damaged");
    assert_eq!(opened(&store, &source).await.expect("opened"), source.bytes);
    assert_eq!(server.count("GET"), 2);
    assert_eq!(std::fs::read(&kept).expect("kept"), source.bytes);
    // A second one takes its place.
    let second = Source::of(100_001).planted(&server);
    assert_eq!(opened(&store, &second).await.expect("opened"), second.bytes);
    assert_eq!(common::names(&cache), [sha256(&second.bytes)]);
    std::fs::remove_file(server.object(&second.key())).expect("removed");
    assert_eq!(
        said(opened(&store, &second).await).0,
        ErrorKind::ObjectMissing
    );
}
