//! A poisoned newest checkpoint: whatever the last turn left, every earlier one is listed, verified, compared
//! and restored, on the command line and in the interface.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use afterrun::checkpoint::FileCheckpointStore;
use afterrun::runs::{Runs, SqliteRuns, Tables};
use afterrun::tui::state::Labels;
use serde_json::{Value, json};

use crate::common::headless::with;
use crate::common::{Place, names, tree};
use crate::scene::{SESSION, Scene, row_data, run_id};

/// How many runs stand before the poisoned one.
const SOUND: usize = 3;

/// What is wrong with the newest turn.
struct Poison {
    name: &'static str,
    /// Makes its row and object.
    make: fn(&Scene),
    /// What `verify` answers: its kind, and what it says of the bytes.
    kind: &'static str,
    integrity: &'static str,
    /// What the interface says when it is opened.
    shown: &'static str,
}

const POISONS: &[Poison] = &[
    Poison {
        name: "a byte is flipped",
        make: |scene| {
            change(scene, |bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x20;
            });
        },
        kind: "checksum_mismatch",
        integrity: "damaged",
        shown: "Checkpoint checksum mismatch",
    },
    Poison {
        name: "its end is cut off",
        make: |scene| change(scene, |bytes| bytes.truncate(bytes.len() - 100)),
        kind: "size_mismatch",
        integrity: "damaged",
        shown: "Checkpoint size mismatch",
    },
    Poison {
        name: "nothing is left of it",
        make: |scene| change(scene, Vec::clear),
        kind: "size_mismatch",
        integrity: "damaged",
        shown: "Checkpoint size mismatch",
    },
    Poison {
        name: "it expands without end",
        make: |scene| newest(scene, &bomb()),
        kind: "invalid_archive",
        integrity: "intact",
        shown: "Checkpoint archive exceeds its limit",
    },
    Poison {
        name: "it is no archive",
        make: |scene| newest(scene, b"this is no archive at all"),
        kind: "invalid_archive",
        integrity: "intact",
        shown: "✖ archive",
    },
    Poison {
        name: "it says to be huge",
        make: |scene| {
            let reference = json!({"sha256": "5a".repeat(32), "size": 4_u64 << 30});
            let path = scene.store().join("5a".repeat(32));
            let file = std::fs::File::create(path).expect("made");
            file.set_len(4 << 30).expect("sparse");
            last_row(scene, &row_data(&reference).to_string());
        },
        kind: "limit",
        integrity: "unverified",
        shown: "Checkpoint object exceeds its limit",
    },
    Poison {
        name: "its links go round",
        make: |scene| {
            newest(
                scene,
                &tar_of(|tar| {
                    link(tar, "workspace/a", "b");
                    link(tar, "workspace/b", "a");
                }),
            );
        },
        kind: "invalid_archive",
        integrity: "intact",
        shown: "✖ archive",
    },
    Poison {
        name: "a link leads out",
        make: |scene| {
            newest(
                scene,
                &tar_of(|tar| link(tar, "workspace/a", "../../../etc")),
            );
        },
        kind: "invalid_archive",
        integrity: "intact",
        shown: "✖ archive",
    },
    Poison {
        name: "its checkout cannot be compared",
        make: |scene| {
            newest(
                scene,
                &tar_of(|tar| {
                    let git = "workspace/repository/.git";
                    for folder in [
                        "workspace/repository",
                        git,
                        &format!("{git}/objects"),
                        &format!("{git}/refs"),
                    ] {
                        member(tar, folder, tar::EntryType::Directory, b"");
                    }
                    let head = format!("{}\n", "ab".repeat(20));
                    member(
                        tar,
                        &format!("{git}/HEAD"),
                        tar::EntryType::Regular,
                        head.as_bytes(),
                    );
                }),
            );
        },
        kind: "ok",
        integrity: "intact",
        shown: "An object is missing",
    },
    Poison {
        name: "its row is no JSON",
        make: |scene| last_row(scene, "{\"metadata\": "),
        kind: "bad_row",
        integrity: "unverified",
        shown: "cannot be read",
    },
    Poison {
        name: "its row is nested without end",
        make: |scene| last_row(scene, &("[".repeat(2_000_000) + &"]".repeat(2_000_000))),
        kind: "bad_row",
        integrity: "unverified",
        shown: "cannot be read",
    },
    Poison {
        name: "its row is a list",
        make: |scene| last_row(scene, "[1, 2]"),
        kind: "bad_row",
        integrity: "unverified",
        shown: "cannot be read",
    },
    Poison {
        name: "its row is large",
        make: |scene| {
            let mut data = row_data(&json!({"sha256": "5a".repeat(32), "size": 7}));
            data["content"] = "x".repeat(24 << 20).into();
            last_row(scene, &data.to_string());
        },
        kind: "object_missing",
        integrity: "unreachable",
        shown: "Checkpoint object is missing",
    },
    Poison {
        name: "its reference is malformed",
        make: |scene| {
            last_row(
                scene,
                &row_data(&json!({"sha256": "../../etc/passwd", "size": 7})).to_string(),
            );
        },
        kind: "bad_reference",
        integrity: "unverified",
        shown: "Invalid checkpoint digest",
    },
    Poison {
        name: "its object is a folder",
        make: |scene| replace(scene, |path| std::fs::create_dir(path)),
        kind: "store",
        integrity: "unreachable",
        shown: "must be a regular file",
    },
    Poison {
        name: "its object is a pipe",
        make: |scene| {
            replace(scene, |path| {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                let kind = rustix::fs::FileType::Fifo;
                Ok(rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0)?)
            });
        },
        kind: "store",
        integrity: "unreachable",
        shown: "must be a regular file",
    },
    Poison {
        name: "its object is a link",
        make: |scene| replace(scene, |path| symlink("/dev/zero", path)),
        kind: "store",
        integrity: "unreachable",
        shown: "cannot read",
    },
];

fn last_row(scene: &Scene, data: &str) {
    scene.row(&run_id(SOUND), SOUND, data);
}

/// The newest run's object holds `bytes`, and its row says so.
fn newest(scene: &Scene, bytes: &[u8]) {
    let reference = scene.object(bytes);
    last_row(scene, &row_data(&reference).to_string());
}

/// A sound object that is changed after its row was written.
fn change(scene: &Scene, change: impl Fn(&mut Vec<u8>)) {
    replace(scene, |path| {
        let sound = scene.capture("aside");
        let digest = sound["sha256"].as_str().expect("a digest");
        let mut bytes = std::fs::read(scene.place.path("aside").join(digest))?;
        change(&mut bytes);
        std::fs::write(path, bytes)
    });
}

/// A sound object in whose place `make` puts something else.
fn replace(scene: &Scene, make: impl Fn(&std::path::Path) -> std::io::Result<()>) {
    scene.file("last.txt", b"of the last turn\n");
    let reference = scene.capture("checkpoints");
    let digest = reference["sha256"].as_str().expect("a digest");
    let path = scene.store().join(digest);
    std::fs::remove_file(&path).expect("removed");
    make(&path).expect("made");
    last_row(scene, &row_data(&reference).to_string());
}

/// 1.1 GiB of zeros in about a MiB.
fn bomb() -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&vec![0; 64 << 20]).expect("to memory");
    gzip.finish().expect("to memory").repeat(18)
}

fn tar_of(fill: impl Fn(&mut tar::Builder<Vec<u8>>)) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let manifest = br#"{"version": 1, "state": {}, "excluded": []}"#;
    member(&mut tar, "manifest.json", tar::EntryType::Regular, manifest);
    member(&mut tar, "native", tar::EntryType::Directory, b"");
    member(&mut tar, "workspace", tar::EntryType::Directory, b"");
    fill(&mut tar);
    tar.into_inner().expect("whole")
}

fn member(tar: &mut tar::Builder<Vec<u8>>, name: &str, kind: tar::EntryType, content: &[u8]) {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(0o700);
    header.set_mtime(1_780_000_000);
    header.set_size(content.len() as u64);
    tar.append_data(&mut header, name, content)
        .expect("appended");
}

fn link(tar: &mut tar::Builder<Vec<u8>>, name: &str, target: &str) {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_mode(0o777);
    header.set_size(0);
    header.set_mtime(1_780_000_000);
    tar.append_link(&mut header, name, target)
        .expect("appended");
}

/// What every earlier run is, in the order of turns: its files, its entries, and how it differs from the
/// turn before.
fn earlier(scene: &Scene) -> Vec<(Vec<String>, Value, Value)> {
    let ask = |words: &[&str]| Place::new().run(&scene.words(words)).ok().json();
    (0..SOUND)
        .map(|index| {
            let (run, place) = (run_id(index), Place::new());
            place.run(&scene.words(&["restore", &run, "out"])).ok();
            let restored = tree(&place.path("out"));
            let base = if index == 0 { "head" } else { "previous" };
            let listed = ask(&["--json", "tree", &run]);
            (
                restored,
                listed,
                ask(&["--json", "diff", &run, "--base", base]),
            )
        })
        .collect()
}

#[test]
fn every_earlier_checkpoint_stays_what_it_is() {
    for poison in POISONS {
        let (scene, name) = (Scene::new(SOUND), poison.name);
        let before = earlier(&scene);
        (poison.make)(&scene);
        let place = Place::new();
        // The poisoned one first: it costs the others nothing.
        let ids: Vec<String> = (0..=SOUND).rev().map(run_id).collect();
        let list = place
            .run(&scene.words(&["--json", "runs", "--session", SESSION]))
            .ok()
            .json();
        let listed = list["runs"].as_array().expect("a list").iter();
        let listed: Vec<_> = listed
            .map(|run| run["run_id"].as_str().expect("an id"))
            .collect();
        assert_eq!(listed, ids, "{name}");
        let mut words = vec!["--json", "verify"];
        words.extend(ids.iter().map(String::as_str));
        let verified = place.run(&scene.words(&words)).json();
        let results = verified["results"].as_array().expect("a list");
        let kind = results[0]["error"]["kind"].as_str().unwrap_or("ok");
        let answer = (kind, results[0]["integrity"].as_str());
        assert_eq!(
            answer,
            (poison.kind, Some(poison.integrity)),
            "{name}: {}",
            results[0]
        );
        for result in &results[1..] {
            let answer = (result["ok"].as_bool(), result["integrity"].as_str());
            assert_eq!(answer, (Some(true), Some("intact")), "{name}: {result}");
        }
        assert_eq!(earlier(&scene), before, "{name}");
        assert_eq!(names(&place.path("")), [""; 0], "{name}");
    }
}

#[test]
fn the_interface_refuses_it_and_opens_an_earlier_one() {
    afterrun::review::use_worker(env!("CARGO_BIN_EXE_afterrun"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for poison in POISONS {
        let scene = Scene::new(SOUND);
        (poison.make)(&scene);
        let database = SqliteRuns::open(scene.database(), Tables::default()).expect("opened");
        let store = FileCheckpointStore::open(scene.store()).expect("opened");
        let runs = Runs::new(Arc::new(database), Some(Arc::new(store)), None);
        runtime.block_on(with(
            runs,
            Labels::default(),
            (160, 45),
            async |mut person| {
                person.wait_for(&format!("{} runs", SOUND + 1)).await;
                for run in [SOUND, SOUND - 1, SOUND, 0] {
                    person.keys(":");
                    person.text(&run_id(run));
                    person.keys("enter");
                    person.wait_gone("An action, or the id of a run").await;
                    let sound = [format!("→ turn {}", run + 1), "M README.md +1 −1".into()];
                    let shown = match run {
                        SOUND => vec![poison.shown.to_owned()],
                        _ => sound.to_vec(),
                    };
                    let squeezed = |text: &str| text.replace([' ', '\n', '│'], "");
                    let there = |text: &str| {
                        let text = squeezed(text);
                        shown.iter().all(|line| text.contains(&squeezed(line)))
                    };
                    person
                        .wait(&shown.join(", "), |frame| there(&frame.text))
                        .await;
                }
            },
        ));
    }
}
