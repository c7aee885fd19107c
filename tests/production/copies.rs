//! Private copies of what is far away: they lie in the spool and count against its limit, and a cache
//! that is configured keeps what comes from a bucket.

use afterrun::ErrorKind;
use afterrun::checkpoint::{CheckpointStore, PostgresCheckpointStore};
use afterrun::postgres::Server;
use afterrun::progress::Watch;
use afterrun::scratch::Scratch;

use crate::common::{Place, names, s3};
use crate::scene::{RUN, Scene, assert_no_secret};

/// A hold counts as long as it is there.
pub fn count(scene: &Scene) {
    let (_, on) = scene.tables();
    let folder = tempfile::tempdir().expect("a folder");
    let scratch = Scratch::new(folder.path()).expect("a place");
    let scratch = scratch.with_limit(scene.object.size());
    let server = Server::new(&on.database).expect("a URL");
    let table = PostgresCheckpointStore::DEFAULT_TABLE;
    let tables = PostgresCheckpointStore::new(server, "ai", table).expect("a store");
    let bucket = s3::open(&scene.prefix().1, &s3::Server::variables());
    let stores: [Box<dyn CheckpointStore>; 2] = [
        Box::new(tables.with_scratch(scratch.clone())),
        Box::new(bucket.with_scratch(scratch.clone())),
    ];
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let open = |store: &dyn CheckpointStore| {
        runtime.block_on(store.open_archive(&scene.object, &Watch::default()))
    };
    for (one, other) in [(&stores[0], &stores[1]), (&stores[1], &stores[0])] {
        let lease = open(&**one).expect("it fits");
        assert_eq!(scratch.used(), scene.object.size());
        let full = open(&**other).expect_err("there is no room beside it");
        assert_eq!(full.kind(), ErrorKind::Io, "{full}");
        assert_eq!(scratch.used(), scene.object.size());
        let read = std::io::copy(&mut lease.reader(), &mut std::io::sink()).expect("read");
        assert_eq!(read, scene.object.size());
        drop(lease);
        assert_eq!(scratch.used(), 0);
    }
}

/// So does the archive that a capture makes before it is stored.
pub fn captured(scene: &Scene) {
    let (_, on) = scene.tables();
    for (what, store) in [
        ("tables", "postgres".to_owned()),
        ("bucket", scene.prefix().1),
    ] {
        let on = on.stored(store);
        let place = Place::new();
        for folder in ["work", "home"] {
            std::fs::create_dir(place.path(folder)).expect("made");
        }
        let mut noise = vec![0; 400_000];
        fastrand::Rng::with_seed(5).fill(&mut noise);
        std::fs::write(place.path("work/noise"), noise).expect("written");
        let capture = |size: &str| {
            let words = [
                "capture",
                "--workspace",
                "work",
                "--native",
                "home",
                "--json",
                "--spool-size",
                size,
            ];
            let ran = place.finish(on.command(&place, &words));
            assert_no_secret(what, &ran);
            ran
        };
        let (kind, said) = capture("100 kB").exits(1).error();
        println!("capture over the limit, {what}: {kind}\n  {said}");
        assert_eq!(kind, "io");
        assert!(
            said.starts_with("The private files do not fit in "),
            "{said}"
        );
        let stored = capture("1 MB").ok().json();
        assert!(stored["size"].as_u64() > Some(400_000), "{stored}");
    }
}

/// Cache and size of the configuration are the bucket's.
pub fn cached(scene: &Scene) {
    let (_, on) = scene.tables();
    let on = on.stored(scene.prefix().1);
    let place = Place::new();
    let cache = place.path("cache");
    let config = place.path("config.toml");
    let written = format!("cache = {cache:?}\ncache_size = \"1 MiB\"\n");
    std::fs::write(&config, written).expect("written");
    let config = config.to_str().expect("UTF-8");
    let before = scene.bucket.count("GET");
    for _ in 0..3 {
        let words = ["--config", config, "verify", RUN];
        place.finish(on.command(&place, &words)).ok();
        assert_eq!(scene.bucket.count("GET"), before + 1);
        assert_eq!(names(&cache), [scene.object.sha256()]);
    }
    // The URL's own comes first.
    let own = place.path("own");
    let on = on.stored(format!("{}&cache={}", on.store, own.display()));
    place
        .finish(on.command(&place, &["--config", config, "verify", RUN]))
        .ok();
    assert_eq!(names(&own), [scene.object.sha256()]);
}
