//! A process that works against a restore while it runs: directories of what is being written are
//! exchanged for links that lead outside, again and again. Whatever the restore makes of it, nothing
//! outside changes.

mod common;

use std::fs::{create_dir, create_dir_all, read_dir, set_permissions, symlink_metadata, write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::Place;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Directories were exchanged for links at least so often, all restores together.
const RACES: u64 = 20_000;
/// More restores than this are not waited for.
const RESTORES: usize = 400;
const FOLDERS: usize = 12;
const FILES: usize = 25;

/// An archive with many files in few directories: `workspace/d*/e/f*`, and a link in each.
fn archive(place: &Place) -> String {
    for folder in 0..FOLDERS {
        let folder = place.path(&format!("roots/workspace/d{folder}/e"));
        create_dir_all(&folder).expect("made");
        for file in 0..FILES {
            write(folder.join(format!("f{file}")), format!("{file}\n")).expect("written");
        }
        symlink("f0", folder.join("link")).expect("made");
        set_permissions(&folder, PermissionsExt::from_mode(0o751)).expect("set");
    }
    create_dir(place.path("roots/native")).expect("made");
    let roots = ["--workspace", "roots/workspace", "--native", "roots/native"];
    let captured = place.run(&[&["capture", "--store", "store", "--json"], &roots[..]].concat());
    let digest = captured.ok().json()["sha256"]
        .as_str()
        .expect("a digest")
        .to_owned();
    format!("store/{digest}")
}

/// A directory that nothing may touch, and how to tell.
struct Canary(PathBuf);

impl Canary {
    fn new(place: &Place) -> Self {
        let folder = place.path("outside");
        create_dir_all(folder.join("e")).expect("made");
        write(folder.join("file"), "not yours\n").expect("written");
        Self(folder)
    }

    fn state(&self) -> Vec<String> {
        let mut state = common::tree(&self.0);
        for path in [self.0.clone(), self.0.join("e"), self.0.join("file")] {
            let entry = symlink_metadata(&path).expect("there");
            let times = (
                entry.mtime(),
                entry.mtime_nsec(),
                entry.ctime(),
                entry.ctime_nsec(),
            );
            state.push(format!(
                "{:o} {} {} {times:?}",
                entry.mode(),
                entry.uid(),
                entry.nlink()
            ));
        }
        state
    }
}

/// Exchanges directories below the restore's hidden one in `parent` for links to `outside`, and back.
fn attack(parent: &Path, outside: &Path, done: &AtomicBool, races: &AtomicU64) {
    let mut random = fastrand::Rng::with_seed(races.load(Ordering::Relaxed));
    while !done.load(Ordering::Relaxed) {
        let hidden = read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .find(|entry| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .starts_with(".afterrun-restore-")
            });
        let Some(hidden) = hidden.map(|entry| entry.path()) else {
            continue;
        };
        // The link that is exchanged stands in the hidden directory itself, where we may write, too.
        let link = parent.join(format!("link-{}", random.u64(..)));
        symlink(outside, &link).expect("made");
        for _ in 0..40 {
            let folder = random.usize(..FOLDERS);
            let victim = match random.u8(..4) {
                0 => hidden.join("workspace"),
                1 => hidden.join(format!("workspace/d{folder}")),
                _ => hidden.join(format!("workspace/d{folder}/e")),
            };
            let exchange = || renameat_with(CWD, &victim, CWD, &link, RenameFlags::EXCHANGE);
            if exchange().is_ok() {
                races.fetch_add(1, Ordering::Relaxed);
                for _ in 0..random.u32(..2000) {
                    std::hint::spin_loop();
                }
                // Back, so that the restore goes on; it may be over by now.
                let _ = exchange();
            }
        }
        match symlink_metadata(&link) {
            Ok(entry) if entry.is_dir() => std::fs::remove_dir_all(&link).expect("removed"),
            Ok(_) => std::fs::remove_file(&link).expect("removed"),
            Err(_) => {}
        }
    }
}

#[test]
fn a_restore_is_never_led_outside() {
    let place = Place::new();
    let archive = archive(&place);
    let canary = Canary::new(&place);
    let before = canary.state();
    create_dir(place.path("parent")).expect("made");
    let parent = place.path("parent");
    let (done, races) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut whole, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| attack(&parent, &canary.0, &done, &races));
        }
        while races.load(Ordering::Relaxed) < RACES && whole + refused < RESTORES {
            let mut restore = place.afterrun(&["restore", "--archive", &archive, "parent/out"]);
            let status = restore.stdout(Stdio::null()).stderr(Stdio::null()).status();
            match status.expect("started").code() {
                Some(0) => whole += 1,
                Some(1) => refused += 1,
                code => panic!("a restore ended with {code:?}"),
            }
            assert_eq!(
                canary.state(),
                before,
                "after {} races",
                races.load(Ordering::Relaxed)
            );
            let _ = std::fs::remove_dir_all(parent.join("out"));
        }
        done.store(true, Ordering::Relaxed);
    });
    let races = races.into_inner();
    println!(
        "{races} races against {} restores: {whole} whole, {refused} refused",
        whole + refused
    );
    assert!(races >= RACES, "only {races} races in {RESTORES} restores");
    assert!(refused > 0, "no race was ever noticed");
    assert_eq!(canary.state(), before);
}
