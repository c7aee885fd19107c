//! A server that is killed while something is read of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::proxy::{Proxy, Way};
use crate::common::pty::until;
use crate::common::s3::Server;
use crate::common::{Place, Ran};
use crate::lines::proxied;
use crate::scene::{Fault, On, Scene};

/// Runs `words` until `passes` bytes have come and nothing more does, then calls `kill`; what was on
/// its way is lost with the server.
fn when(
    proxy: &Proxy,
    passes: u64,
    place: &Place,
    on: &On,
    words: &[&str],
    kill: impl FnOnce() + Send,
) -> Ran {
    let before = proxy.passed();
    proxy.set(Way::StalledAfter(passes));
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let there = until(|| (proxy.passed() >= before + passes).then_some(()));
            kill();
            proxy.set(Way::CutAfter(0));
            there.expect("a part of it");
        });
        place.finish(on.command(place, &[words, &["--json"]].concat()))
    })
}

fn in_the_middle(scene: &mut Scene, which: usize, passes: u64, kind: &str) {
    let lines = proxied(scene);
    let (what, proxy, on, words) = &lines[which];
    let place = Place::new();
    let cluster = &mut scene.cluster;
    let ran = when(proxy, passes, &place, on, words, || cluster.kill());
    let fault = Fault {
        what: &format!("killed while it is read, {what}"),
        code: 1,
        kind,
        says: "",
    };
    let killed = catch_unwind(AssertUnwindSafe(|| fault.is(&place, ran)));
    let fault = Fault {
        what: &format!("the server is not there, {what}"),
        // The runs are asked for first.
        kind: "database",
        ..fault
    };
    proxy.set(Way::Open);
    let absent = catch_unwind(AssertUnwindSafe(|| fault.shows(on, words)));
    // Whatever was found: the next part needs the server.
    scene.cluster.resume();
    assert!(killed.is_ok() && absent.is_ok());
    let place = Place::new();
    place.finish(on.command(&place, words)).ok();
}

pub fn while_listing(scene: &mut Scene) {
    in_the_middle(scene, 0, 1_500, "database");
}

pub fn while_downloading(scene: &mut Scene) {
    in_the_middle(scene, 1, 9_000, "store");
}

pub fn while_downloading_from_a_bucket(scene: &Scene) {
    let (_, on) = scene.tables();
    let server = Server::start();
    let key = scene.plant_in(&server);
    let proxy = Proxy::to(server.port());
    let url = server
        .url("team")
        .replace(&server.port().to_string(), &proxy.port().to_string());
    let on = on.stored(url);
    let place = Place::new();
    let words = crate::scene::RESTORE;
    assert!(server.object(&key).exists());
    let ran = when(&proxy, 9_000, &place, &on, words, || drop(server));
    let fault = Fault {
        what: "killed while it is read, bucket",
        code: 1,
        kind: "store",
        says: "",
    };
    fault.is(&place, ran);
    let fault = Fault {
        what: "the server is not there, bucket",
        ..fault
    };
    fault.shows(&on, words);
}
