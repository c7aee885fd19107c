//! Disks that are full, read-only or gone, and a process that may open no more files.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{id, names};
use crate::scene::{Scene, Tally, What};

/// Where the small disk is mounted.
#[derive(Clone, Copy, Debug)]
pub enum On {
    Destination,
    Private,
}

impl On {
    fn folder(self, what: What) -> &'static str {
        match (self, what) {
            (Self::Private, _) => "../tmp",
            (Self::Destination, What::Capture) => "store",
            (Self::Destination, _) => "out",
        }
    }
}

/// The command where a small disk with these options is mounted, in a namespace of its own. What is on
/// that disk when it has ended is copied to `kept`.
fn with_disk(scene: &Scene, on: On, options: &str, more: &str) -> Command {
    let folder = on.folder(scene.what);
    let script = format!(
        "mkdir -p {folder} && mount -t tmpfs -o {options} none {folder} {more} || exit 99; \
         \"$0\" \"$@\"; code=$?; mkdir ../kept; cp -a {folder}/. ../kept/; exit $code"
    );
    let words = ["--mount", "--map-root-user", "sh", "-c", &script];
    scene.below("unshare", &words)
}

/// Whether a disk can be mounted here.
fn can_mount() -> bool {
    let scene = Scene::new(What::Diff);
    let output = with_disk(&scene, On::Private, "size=4m", "").output();
    let can = output.as_ref().is_ok_and(|output| output.status.success());
    if !can {
        println!("skipped: no small disk can be mounted here: {output:?}");
    }
    can
}

/// What is on the disk takes the place of what would be there without one.
fn put_back(scene: &Scene, on: On) {
    let (kept, there) = (
        scene.place.path("../kept"),
        scene.place.path(on.folder(scene.what)),
    );
    let _ = std::fs::remove_dir_all(&there);
    std::fs::rename(kept, there).expect("moved");
}

/// Larger and larger disks, until one is large enough: too small is said, and leaves nothing.
pub fn full(what: What, on: On) {
    if !can_mount() {
        return;
    }
    // As little as makes a disk full.
    let run = match what {
        What::Patch | What::Fetch => id::PANTRY5,
        _ => id::STORY2,
    };
    let scene = Scene::of(what, run);
    let mut tally = Tally::default();
    let bytes: Vec<_> = (1..40)
        .map(|step| format!("size={}k", step * step * 4))
        .collect();
    let files: Vec<_> = (1..60)
        .map(|step| format!("size=16m,nr_inodes={}", step * 2 - 1))
        .collect();
    for sizes in [bytes, files] {
        let enough = sizes.iter().any(|options| {
            let when = format!("{on:?} on a disk of {options}");
            let output = with_disk(&scene, on, options, "")
                .output()
                .expect("started");
            put_back(&scene, on);
            let ran = scene.said(&when, output);
            let whole = scene.whole(true, &when);
            tally.add(whole, ran.code);
            if ran.code == Some(0) {
                assert!(whole || what == What::Diff, "{when}");
                scene.undo();
                return true;
            }
            let message = scene.failed(&when, &ran);
            ran.exits(1);
            assert!(
                !whole && message.contains("no space left on device"),
                "{when}: {message}"
            );
            false
        });
        assert!(enough, "{what:?} on {on:?}: no disk is large enough");
    }
    println!("{what:?}, {on:?} on small disks: {tally}");
}

/// A disk that may only be read.
pub fn read_only(what: What, on: On) {
    if !can_mount() {
        return;
    }
    let scene = Scene::new(what);
    let when = format!("{on:?} read-only");
    let folder = on.folder(what);
    let more = format!("&& mount -o remount,bind,ro {folder}");
    let output = with_disk(&scene, on, "size=16m", &more)
        .output()
        .expect("started");
    put_back(&scene, on);
    let ran = scene.said(&when, output).exits(1);
    let message = scene.failed(&when, &ran);
    assert!(
        message.contains("read-only file system"),
        "{what:?} {when}: {message}"
    );
    assert!(!scene.whole(true, &when));
}

/// A folder that somebody removes at any time, or moves away: then all of it is in the moved one, or
/// nothing.
pub fn vanishing(what: What, on: On, random: &mut fastrand::Rng) {
    let scene = Scene::of(what, id::PANTRY5);
    let folder = scene.place.path(on.folder(what));
    let moved = scene.place.path("../moved");
    let mut tally = Tally::default();
    for round in 0..16 {
        std::fs::create_dir_all(&folder).expect("made");
        let moves = round % 2 == 0;
        let delay = Duration::from_millis(random.u64(..150));
        let over = AtomicBool::new(false);
        let output: Output = std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(delay);
                if moves {
                    std::fs::rename(&folder, &moved).expect("moved");
                }
                while !moves && !over.load(Ordering::SeqCst) {
                    let _ = std::fs::remove_dir_all(&folder);
                }
            });
            let output = scene.command().output();
            over.store(true, Ordering::SeqCst);
            output.expect("started")
        });
        let when = format!("{on:?} vanishes after {delay:?}");
        let _ = std::fs::remove_dir_all(&folder);
        match moves {
            true => std::fs::rename(&moved, &folder).expect("moved back"),
            false => std::fs::create_dir_all(&folder).expect("made"),
        }
        // A private folder that is moved away cannot be removed; it is swept where it is found again.
        let whole = scene.whole(matches!(on, On::Destination), &when);
        for name in names(&scene.place.tmp()) {
            std::fs::remove_dir_all(scene.place.tmp().join(name)).expect("removed");
        }
        let ran = scene.said(&when, output);
        if ran.code != Some(0) {
            scene.failed(&when, &ran);
        }
        // A store that is not there is made anew.
        let elsewhere = !moves || matches!(what, What::Diff | What::Capture);
        assert!(whole || elsewhere || ran.code != Some(0), "{what:?} {when}");
        tally.add(whole, ran.code);
        scene.undo();
    }
    scene.nobody_left("without its folder");
    println!("{what:?}, {on:?} vanishes: {tally}");
}

/// Fewer files than it needs to open, down to none: it says so or does its work.
pub fn few_files(what: What) {
    let scene = Scene::new(what);
    let mut tally = Tally::default();
    for most in (3..28).chain([32, 40, 64, 128]) {
        let when = format!("with {most} files");
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        let output = scene
            .below("timeout", &["20", "sh", "-c", &script])
            .output();
        let ran = scene.said(&when, output.expect("started"));
        assert_ne!(ran.code, Some(124), "{what:?} {when}: it does not end");
        let whole = scene.whole(true, &when);
        tally.add(whole, ran.code);
        match ran.code {
            Some(0) => assert!(whole || what == What::Diff, "{what:?} {when}"),
            // The system cannot even load it.
            Some(127) => assert!(ran.err.contains("shared libraries"), "{when}: {}", ran.err),
            _ => assert!(!ran.message().is_empty() && !whole, "{what:?} {when}"),
        }
        scene.nobody_left(&when);
        scene.undo();
    }
    println!("{what:?}, with few files: {tally}");
}
