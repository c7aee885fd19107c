//! Lines to the servers that are slow, or on which nothing comes any more.

use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::Place;
use crate::common::proxy::{Proxy, Way};
use crate::common::pty::until;
use crate::scene::{Fault, LIST, On, RESTORE, Scene, assert_holds_no_secret, assert_nothing_made};

/// Each of the ways to a server, through a proxy.
pub fn proxied(scene: &Scene) -> [(&'static str, Proxy, On, &'static [&'static str]); 3] {
    let (_, on) = scene.tables();
    let (rows, tables) = (scene.proxy(), scene.proxy());
    let listing = on.at(scene.through(&on.database, rows.port()));
    let stored = on.stored(scene.through(&on.database, tables.port()));
    let bucket = Proxy::to(scene.bucket.port());
    let url = scene.prefix().1;
    let port = scene.bucket.port().to_string();
    let in_bucket = on.stored(url.replace(&port, &bucket.port().to_string()));
    [
        ("listing", rows, listing, LIST),
        ("tables", tables, stored, RESTORE),
        ("bucket", bucket, in_bucket, RESTORE),
    ]
}

/// It takes its time, and works.
pub fn slow(scene: &Scene) {
    for (what, proxy, on, words) in proxied(scene) {
        proxy.set(Way::Drip(512));
        let place = Place::new();
        let begun = Instant::now();
        place.finish(on.command(&place, words)).ok();
        let (took, passed) = (begun.elapsed(), proxy.passed());
        println!("{what}, 512 B each 10 ms: {passed} B in {took:?}");
        assert!(
            took > Duration::from_millis(passed / 512 * 9),
            "{what}: {took:?}"
        );
    }
}

/// Ctrl-c ends it at once.
pub fn slow_and_left(scene: &Scene) {
    let [(_, rows, database, _), ..] = proxied(scene);
    let row = ("a row", rows, database, RESTORE);
    for (what, proxy, on, words) in proxied(scene).into_iter().chain([row]) {
        proxy.set(Way::Drip(8));
        let place = Place::new();
        let mut command = on.command(&place, &[words, &["--json"]].concat());
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.expect("started");
        let some = until(|| (proxy.passed() > 300).then_some(()));
        some.expect("some of it");
        kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
        let begun = Instant::now();
        let output = child.wait_with_output().expect("ended");
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "{what}: {:?}",
            begun.elapsed()
        );
        let fault = Fault {
            what: &format!("ctrl-c on a slow line, {what}"),
            code: 130,
            kind: "cancelled",
            says: "Cancelled",
        };
        fault.is(&place, place.ended(what.into(), output));
    }
}

/// Nothing comes any more; what waits for that is told of when it has given up.
pub fn stalled(scene: &Scene) -> Vec<(&'static str, JoinHandle<()>)> {
    let mut all = Vec::new();
    for (way, database, store) in [
        (Way::Stalled, 10, [30, 10]),
        (Way::StalledAfter(1_500), 40, [30, 30]),
    ] {
        for (what, proxy, on, words) in proxied(scene) {
            let (kind_of, limit) = match what {
                "listing" => ("stalled, listing", database),
                "tables" => (
                    "stalled, tables",
                    if way == Way::Stalled {
                        store[1]
                    } else {
                        store[0]
                    },
                ),
                _ => ("stalled, bucket", store[0]),
            };
            proxy.set(way);
            all.push((kind_of, given_up(kind_of, Some(proxy), on, words, limit)));
        }
    }
    let (name, on) = scene.tables();
    scene.cluster.sql(
        &name,
        "ALTER TABLE ai.agno_runs RENAME TO r;
         CREATE VIEW ai.agno_runs AS SELECT * FROM ai.r WHERE pg_sleep(60) IS NOT NULL",
    );
    let what = "a statement that takes too long";
    all.push((what, given_up(what, None, on, LIST, 30)));
    all
}

/// It fails by itself, within `limit` seconds.
fn given_up(
    what: &'static str,
    proxy: Option<Proxy>,
    on: On,
    words: &'static [&'static str],
    limit: u64,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        // As programs and as people have it, at once: each waits for its limit.
        let (place, other) = (Place::new(), Place::new());
        let mut logged = on.command(&other, &[words, &["-vvv"]].concat());
        let logged = logged.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let begun = Instant::now();
        let ran = place.finish(on.command(&place, &[words, &["--json"]].concat()));
        let took = begun.elapsed();
        println!("{what}: given up after {took:?}");
        let fault = Fault {
            what,
            code: 1,
            kind: "timeout",
            says: "",
        };
        fault.is(&place, ran);
        assert!(took < Duration::from_secs(limit + 5), "{what}: {took:?}");
        let logged = logged.expect("started").wait_with_output().expect("ended");
        assert_eq!(logged.status.code(), Some(1), "{what}");
        assert_holds_no_secret(what, &String::from_utf8_lossy(&logged.stderr));
        assert_nothing_made(what, &other);
        other.assert_clean(what);
        drop(proxy);
    })
}
