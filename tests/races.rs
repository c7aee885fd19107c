//! A process that works against a restore while it runs: directories of what is being written are
//! exchanged for links that lead outside, again and again. Whatever the restore makes of it, nothing
//! outside changes.

mod common;

use std::fs::{create_dir, create_dir_all, read_dir, set_permissions, symlink_metadata, write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use afterrun::ErrorKind;
use afterrun::archive::{CheckpointArchive, RestoreOptions};
use afterrun::progress::Watch;
use common::Place;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tokio_util::sync::CancellationToken;

/// Names the folder that the attackers work in, to themselves.
const ATTACK: &str = "AFTERRUN_RACE_IN";
/// Directories were exchanged for links at least so often, all restores together.
const RACES: u64 = 20_000;
const FOLDERS: usize = 12;
const FILES: usize = 100;

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
        // No name of what is restored: the attackers themselves walk through their links.
        create_dir_all(folder.join("inner")).expect("made");
        write(folder.join("file"), "not yours\n").expect("written");
        Self(folder)
    }

    fn state(&self) -> Vec<String> {
        let mut state = common::tree(&self.0);
        for path in [self.0.clone(), self.0.join("inner"), self.0.join("file")] {
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

/// Exchanges directories below the restore's hidden one in `parent` for links to `outside`, and back,
/// until `done` is there. Answers how often a link took a directory's place.
fn attack(parent: &Path, outside: &Path, done: &Path, random: &mut fastrand::Rng) -> u64 {
    let mut races = 0;
    while !done.exists() {
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
                races += 1;
                for _ in 0..random.u32(..500) {
                    std::hint::spin_loop();
                }
                // Back, so that the restore goes on; it may be over by now.
                let _ = exchange();
            }
        }
        let _ = match symlink_metadata(&link) {
            Ok(entry) if entry.is_dir() => std::fs::remove_dir_all(&link),
            Ok(_) => std::fs::remove_file(&link),
            Err(_) => Ok(()),
        };
    }
    races
}

/// No test: what the other processes run.
#[test]
fn attacker() {
    let Some(root) = std::env::var_os(ATTACK).map(PathBuf::from) else {
        return;
    };
    let mut random = fastrand::Rng::with_seed(u64::from(std::process::id()));
    let (parent, outside, done) = (root.join("parent"), root.join("outside"), root.join("done"));
    let races = attack(&parent, &outside, &done, &mut random);
    write(
        root.join(format!("races-{}", std::process::id())),
        races.to_string(),
    )
    .expect("written");
}

/// One of them, which goes with whoever holds it.
struct Attacker(Child);

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Another process that attacks what is restored in `root`.
fn start_attacker(root: &Path) -> Attacker {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command
        .args(["--exact", "attacker"])
        .env(ATTACK, root)
        .stdout(Stdio::null());
    Attacker(command.spawn().expect("started"))
}

#[test]
fn a_restore_is_never_led_outside() {
    let place = Place::new();
    let archive = archive(&place);
    let canary = Canary::new(&place);
    let before = canary.state();
    let parent = place.path("parent");
    create_dir(&parent).expect("made");
    if !can_exchange(&place) {
        println!("skipped: names cannot be exchanged on this file system");
        return;
    }
    let mut attackers: Vec<_> = (0..2).map(|_| start_attacker(&place.path(""))).collect();
    let archive = CheckpointArchive::default()
        .blocking_open(&place.path(&archive), &Watch::default())
        .expect("an archive");
    let (mut whole, mut refused) = (0_u64, 0_u64);
    let begun = Instant::now();
    let mut races = 0;
    // On a busy machine the attackers would else hardly ever run while a restore does.
    let pause = |_| std::thread::sleep(Duration::from_millis(1));
    let watch = Watch::reporting(CancellationToken::new(), pause);
    while races < RACES {
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            let plan = archive.plan_restore(&parent.join("out"), &RestoreOptions::default());
            match plan.and_then(|plan| plan.carry_out(&watch)) {
                Ok(_) => whole += 1,
                Err(error) if error.kind() == ErrorKind::Io => refused += 1,
                Err(error) => panic!("{error}"),
            }
            assert_eq!(canary.state(), before, "after {} restores", whole + refused);
            let _ = std::fs::remove_dir_all(parent.join("out"));
        }
        write(place.path("done"), "").expect("written");
        for mut attacker in attackers.drain(..) {
            assert!(attacker.0.wait().expect("ended").success());
        }
        races = told(&place.path(""));
        assert!(
            begun.elapsed() < Duration::from_secs(600),
            "only {races} races"
        );
        if races < RACES {
            std::fs::remove_file(place.path("done")).expect("removed");
            attackers.extend((0..2).map(|_| start_attacker(&place.path(""))));
        }
    }
    println!(
        "{races} races against {} restores: {whole} whole, {refused} refused",
        whole + refused
    );
    assert!(refused > 0, "no race was ever noticed");
    assert_eq!(canary.state(), before);
}

fn can_exchange(place: &Place) -> bool {
    let [one, two] = ["one", "two"].map(|name| place.path(name));
    create_dir(&one).expect("made");
    symlink("nowhere", &two).expect("made");
    renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).is_ok()
}

/// All races that attackers have counted.
fn told(root: &Path) -> u64 {
    let names = common::names(root)
        .into_iter()
        .filter(|name| name.starts_with("races-"));
    let counts = names.map(|name| std::fs::read_to_string(root.join(name)).expect("read"));
    counts
        .map(|count| count.parse::<u64>().expect("a number"))
        .sum()
}
