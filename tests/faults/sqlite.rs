//! SQLite: each call on the database and on the files beside it fails, with and without a writer at work.

use std::path::PathBuf;

use rusqlite::Connection;

use crate::common::names;
use crate::layer::{Fault, Layer, of_a_database};
use crate::scene::{Scene, row_data, run_id};

/// The newest run stands in the `-wal` file alone, as long as this lives.
fn writer(scene: &Scene) -> Connection {
    let writer = Connection::open(scene.database()).expect("opened");
    let begin = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;";
    writer.execute_batch(begin).expect("begun");
    let reference = scene.capture("checkpoints");
    Scene::row_by(&writer, &run_id(1), 1, &row_data(&reference).to_string());
    writer
}

/// Whatever fails, what is answered is all that the database holds, or that it cannot be read.
fn check(scene: &Scene, newest: usize, beside: &[&str]) {
    let Some(layer) = Layer::get() else { return };
    let run = run_id(newest);
    let paths: Vec<PathBuf> = beside
        .iter()
        .map(|suffix| PathBuf::from(scene.database().display().to_string() + suffix))
        .collect();
    let before = names(&scene.place.path(""));
    let (mut wrong, mut told) = (Vec::new(), Vec::new());
    for command in [
        &["--json", "runs"][..],
        &["--json", "show", &run],
        &["--json", "tree", &run],
    ] {
        let words = scene.words(command);
        let whole = scene.place.run(&words).ok();
        for path in &paths {
            let counts = layer.count(&scene.place, &words, &of_a_database(), Some(path));
            for call in of_a_database() {
                let Some(count) = counts.get(call.name).copied() else {
                    continue;
                };
                told.push(format!("{} {}", call.name, count.every().len()));
                // A lock on the index that is never given is waited for by SQLite itself, for 10 s each time.
                let waits = call.name == "fcntl" && path.to_string_lossy().ends_with("-shm");
                let all = count.every().into_iter();
                for when in all.filter(|when| !(waits && when.lasts())) {
                    let fault = Fault {
                        call,
                        error: call.error,
                        count,
                        when,
                        path: Some(path),
                    };
                    let ended = layer.fail(&scene.place, &words, &fault);
                    let lines: Vec<&str> = ended.err.lines().collect();
                    let one_line =
                        matches!(lines[..], [one] | [one, _] if one.starts_with("afterrun: "));
                    let right = match ended.code {
                        Some(0) => ended.out == whole.out,
                        code => code == Some(1) && one_line && !ended.hung,
                    };
                    if !right {
                        let out = String::from_utf8_lossy(&ended.out);
                        let at = path.display();
                        wrong.push(format!(
                            "{} {at}: {} {when:?}: {:?} {} {out}",
                            command[1], call.name, ended.code, ended.err
                        ));
                    }
                }
            }
        }
    }
    println!("{beside:?}: {}", told.join(", "));
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(
        names(&scene.place.path("")),
        before,
        "left beside the database"
    );
}

#[test]
fn a_database_is_read_whole_or_refused() {
    check(&Scene::new(1), 0, &[""]);
}

#[test]
fn what_its_writer_has_closed_is_read_whole_or_refused() {
    let scene = Scene::new(1);
    writer(&scene).close().expect("closed");
    check(&scene, 1, &[""]);
}

#[test]
fn what_a_writer_has_not_moved_yet_is_read_or_refused() {
    let scene = Scene::new(1);
    let writer = writer(&scene);
    check(&scene, 1, &["", "-wal", "-shm"]);
    writer.close().expect("closed");
}
