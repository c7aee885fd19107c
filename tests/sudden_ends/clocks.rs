//! A clock that jumps to 1970 and to 2100 and back while a command runs.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::id;
use crate::common::pty::Terminal;
use crate::scene::{Scene, What, faketime};

const TIMES: [&str; 4] = [
    "1970-01-01 00:00:01",
    "2100-01-01 00:00:00",
    "+0",
    "2026-06-02 12:00:00",
];

/// What makes a process believe in the time that stands in the file `time`.
fn believing(time: &Path) -> Option<[(&'static str, String); 5]> {
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    Some([
        ("LD_PRELOAD", text(faketime()?)),
        ("FAKETIME_TIMESTAMP_FILE", text(time)),
        ("FAKETIME_NO_CACHE", "1".into()),
        ("DONT_FAKE_MONOTONIC", "1".into()),
        ("NO_FAKE_STAT", "1".into()),
    ])
}

/// Set at the end, also of a test that fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Does `work` while the time in the file `time` jumps.
fn jumping<T>(time: &Path, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let set = |to: &str| {
        // Whole or not at all, here too.
        let next = time.with_extension("next");
        std::fs::write(&next, format!("{to}\n")).expect("written");
        std::fs::rename(next, time).expect("moved");
    };
    set(TIMES[0]);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for to in TIMES.iter().cycle() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                set(to);
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        let _over = Over(&over);
        work()
    })
}

/// The same answer as ever.
pub fn while_at_work(what: What) {
    let scene = Scene::new(what);
    let time = scene.place.path("../time");
    let Some(environment) = believing(&time) else {
        return;
    };
    let ran = scene.place.finish(scene.command()).ok();
    scene.undo();
    for round in 0..4 {
        let when = format!("while the clock jumps, {round}");
        let mut command: Command = scene.below("timeout", &["20"]);
        command.envs(environment.iter().map(|(name, value)| (*name, value)));
        let output = jumping(&time, || command.output().expect("started"));
        let jumped = scene.said(&when, output).ok();
        assert_eq!(jumped.text(), ran.text(), "{what:?} {when}");
        assert!(scene.whole(true, &when) || what == What::Diff);
        scene.undo();
    }
}

/// The interface opens a run, shows it, and ends.
pub fn in_the_interface() {
    let scene = Scene::of(What::Restore, id::PANTRY5);
    let time = scene.place.path("../time");
    let Some(environment) = believing(&time) else {
        return;
    };
    let words = scene.words();
    let binary = scene.binary.to_str().expect("UTF-8");
    let options: Vec<&str> = words[words.len() - 4..]
        .iter()
        .map(String::as_str)
        .collect();
    let words = [&[binary, "open", id::PANTRY5][..], &options].concat();
    let environment: Vec<(&str, &str)> = environment.iter().map(|(n, v)| (*n, &v[..])).collect();
    jumping(&time, || {
        let mut terminal = Terminal::start(&scene.place, (160, 45), &words, &environment);
        terminal.wait_for("✔ archive");
        terminal.wait_for("Binary: the file view");
        terminal.keys("r");
        terminal.wait_for("Restore to a new directory");
        terminal.keys("\x15out/new\r");
        terminal.wait_for("Plan");
        terminal.keys("\r");
        terminal.wait("its report", |terminal| terminal.bottom_has("restored"));
        terminal.keys("q");
        let ended = terminal.end();
        assert_eq!((ended.code, &ended.signal), (0, &None));
        ended.assert_given_back();
    });
    assert!(scene.whole(true, "while the clock jumps"));
}
