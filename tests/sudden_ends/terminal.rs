//! The interface in a terminal that is asked to end, or whose line drops: the terminal is given back,
//! and nothing private is left.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::common::pty::{Terminal, until};
use crate::common::{id, names};
use crate::scene::{Scene, What};

/// Where the interface is when it is asked to end.
#[derive(Clone, Copy, Debug)]
pub enum At {
    List,
    Opening,
    Diff,
    Restore,
}

pub const EVERYWHERE: [At; 4] = [At::List, At::Opening, At::Diff, At::Restore];

fn start(scene: &Scene, at: At) -> Terminal {
    let words = scene.words();
    let binary = scene.binary.to_str().expect("UTF-8");
    let options: Vec<&str> = words[words.len() - 4..]
        .iter()
        .map(String::as_str)
        .collect();
    let open = [binary, "open", id::PANTRY5];
    let words = match at {
        At::List => [&open[..1], &options].concat(),
        _ => [&open[..], &options].concat(),
    };
    let mut terminal = Terminal::start(&scene.place, (160, 45), &words, &[]);
    match at {
        At::List => terminal.wait_for("Look around"),
        // Taken, and no more than that: the run is still on its way.
        At::Opening => terminal.wait("a screen", |terminal| {
            String::from_utf8_lossy(&terminal.raw()).contains("\x1b[?25l")
        }),
        At::Diff | At::Restore => {
            terminal.wait_for("✔ archive");
            terminal.wait_for("▾ workspace");
            terminal.wait_for("Binary: the file view");
        }
    }
    if matches!(at, At::Restore) {
        terminal.keys("r");
        terminal.wait_for("Restore to a new directory");
        terminal.keys("\x15out/new\r");
        terminal.wait_for("Plan");
        terminal.keys("\r");
    }
    terminal
}

pub fn asked_to_end(at: At) {
    let scene = Scene::of(What::Restore, id::PANTRY5);
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let when = format!("asked to end by {signal:?} at {at:?}");
        let terminal = start(&scene, at);
        terminal.signal(signal);
        let ended = terminal.end();
        assert_eq!(
            (ended.code, &ended.signal),
            (0, &None),
            "{when}: {}",
            ended.text
        );
        ended.assert_given_back();
        // What was being restored was finished, or is gone.
        scene.whole(true, &when);
        scene.nobody_left(&when);
        scene.undo();
    }
    let when = format!("a dropped line at {at:?}");
    start(&scene, at).hang_up();
    scene.whole(true, &when);
    scene.nobody_left(&when);
}

/// Another start looks for what was left behind, and leaves alone what this one holds.
pub fn the_living_keep_their_folders() {
    let scene = Scene::of(What::Restore, id::PANTRY5);
    let mut terminal = start(&scene, At::Diff);
    let held = names(&scene.place.tmp());
    assert!(!held.is_empty(), "its worker has a private folder");
    let dead = scene.place.tmp().join("afterrun-private-dead");
    std::fs::create_dir(&dead).expect("made");
    std::fs::write(dead.join("lock"), "").expect("written");
    if !scene.later() {
        return;
    }
    assert!(scene.place.path("out/new").exists());
    assert_eq!(names(&scene.place.tmp()), held);
    // What it shows next needs that folder.
    terminal.keys("3}}}");
    terminal.wait_for("@@");
    terminal.keys("q");
    assert_eq!(terminal.end().code, 0);
    scene.place.assert_clean("the interface");
}

/// The line drops while a command in a shell restores.
pub fn a_line_drops_at_a_command() {
    let scene = Scene::of(What::Restore, id::PANTRY5);
    let words = scene.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let binary = scene.binary.to_str().expect("UTF-8");
    for millis in [0, 20, 40, 60, 80, 100, 120, 140] {
        let terminal = Terminal::start(
            &scene.place,
            (80, 24),
            &[&[binary], &words[..]].concat(),
            &[],
        );
        std::thread::sleep(Duration::from_millis(millis));
        terminal.signal(Signal::HUP);
        let ended = terminal.end();
        let when = format!("a dropped line after {millis} ms: {}", ended.text);
        let whole = scene.whole(true, &when);
        assert!(whole || ended.code != 0 || ended.signal.is_some(), "{when}");
        scene.nobody_left(&when);
        scene.undo();
    }
}

/// Whoever has it ignore hangups, as `nohup` does, has it go on.
pub fn what_is_ignored_stays_ignored() {
    let scene = Scene::of(What::Restore, id::PANTRY5);
    let script = "trap '' HUP INT TERM; exec \"$0\" \"$@\"";
    let mut child = scene.below("sh", &["-c", script]).spawn().expect("started");
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process");
    let started = until(|| {
        let exe = std::fs::read_link(format!("/proc/{}/exe", child.id())).ok()?;
        (exe == scene.binary).then_some(())
    });
    started.expect("it is started");
    let status = until(|| {
        for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
            let _ = kill_process(pid, signal);
        }
        child.try_wait().expect("a status")
    });
    assert!(status.expect("it ends").success());
    assert!(scene.whole(true, "with signals ignored"));
}
