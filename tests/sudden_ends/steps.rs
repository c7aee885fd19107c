//! A signal at each step: before the first, the second, the third call of every kind that changes
//! something, until a run has no more of them.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use crate::common::names;
use crate::scene::{Scene, Tally, What};
use crate::strace::{Steps, can_trace, run, spread};

/// Steps of one kind that are tried; of more, so many are spread over all.
const MOST: usize = 28;

/// What the command does when it is left alone.
fn census(scene: &Scene) -> Steps {
    let traced = run(scene, &[]);
    let steps = traced.steps();
    scene.said("traced", traced.output).ok();
    scene.undo();
    steps
}

/// Kills it at each of `steps` when `before` has happened: nothing is there or all of it, and the
/// next start removes the rest. How often it was killed, and how often that was tried.
fn kill_at(scene: &Scene, before: &[&str], steps: &Steps) -> (usize, Tally) {
    let (mut killed, mut tally) = (0, Tally::default());
    for (call, of_call) in steps {
        for step in spread(of_call, MOST) {
            let when = format!("killed at {call} {step} {before:?}");
            let kill = format!("{call}:signal=KILL:when={step}");
            let traced = run(scene, &[before, &[&kill]].concat());
            killed += usize::from(traced.killed());
            tally.add(scene.whole(false, &when), traced.output.status.code());
            scene.nobody_left(&when);
            scene.undo();
        }
        scene.next_start(&format!("being killed at {call} {before:?}"));
    }
    (killed, tally)
}

/// Killed at each step.
pub fn killed(what: What) {
    if !can_trace() {
        return;
    }
    let scene = Scene::new(what);
    let (killed, tally) = kill_at(&scene, &[], &census(&scene));
    println!("{what:?}, killed at each step: {killed} of {tally}");
    // A step that only its worker has, or that another thread made this time, kills nobody.
    assert!(killed * 2 > tally.ends, "{what:?}: most were not killed");
}

/// Killed while it removes what it had begun, since it was asked to end before.
pub fn killed_on_the_way_out(what: What, asked: &[&str]) {
    if !can_trace() {
        return;
    }
    let scene = Scene::new(what);
    // Nothing is injected at these, but they are traced.
    let removes = ["unlink", "unlinkat", "rmdir", "renameat"];
    let traced = removes.map(|call| format!("{call}:delay_enter=0"));
    let traced: Vec<&str> = traced.iter().map(String::as_str).collect();
    let steps = run(&scene, &[asked, &traced[..]].concat()).steps();
    assert!(
        !scene.whole(true, "asked to end"),
        "{what:?}: it was through before it was asked to end"
    );
    let steps = steps
        .into_iter()
        .filter(|(call, _)| removes.contains(&&call[..]));
    let (killed, tally) = kill_at(&scene, asked, &steps.collect());
    println!("{what:?}, killed on the way out: {killed} of {tally}");
    assert!(killed > 2, "{what:?}: most were not killed");
}

/// Killed where no file is without a name: its hidden one is left, and goes with the next file that
/// is made there.
pub fn killed_with_hidden_names(what: What) {
    if !can_trace() {
        return;
    }
    let scene = Scene::new(what);
    // The last file that is opened: no other thread opens so many.
    let last = census(&scene)["openat"].last().copied().unwrap_or_default();
    let refused = format!("openat:error=EOPNOTSUPP:when={last}");
    let steps = [
        ("fsync", vec![1]),
        ("linkat", vec![1]),
        ("unlinkat", vec![1]),
        ("write", (6..14).collect()),
    ];
    let (mut left, mut ends) = (0, 0);
    for (call, steps) in steps {
        for step in steps {
            let kill = format!("{call}:signal=KILL:when={step}");
            let traced = run(&scene, &[&refused, &kill]);
            let when = format!("killed at {call} {step} with a hidden name");
            scene.whole(false, &when);
            scene.nobody_left(&when);
            scene.undo();
            ends += usize::from(traced.killed());
        }
        for name in names(&scene.place.path("out")) {
            assert!(name.starts_with(".afterrun-part-"), "{name}");
            let part = File::open(scene.place.path("out").join(&name)).expect("there");
            let age = Duration::from_secs(120);
            part.set_modified(SystemTime::now() - age).expect("set");
            left += 1;
        }
    }
    assert!(left > 0 && ends > 2, "{left} of {ends}");
    let output = run(&scene, &[&refused]).output;
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    assert_eq!(names(&scene.place.path("out")), ["new"]);
    scene.next_start("being killed with hidden names");
    println!("{what:?}, killed with hidden names: {ends} ends, {left} left and swept");
}

/// Asked to end at each step: it ends by itself, and leaves nothing for a next start.
pub fn asked(what: What, most: usize) {
    if !can_trace() {
        return;
    }
    let scene = Scene::new(what);
    let steps = census(&scene);
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
    ] {
        let mut tally = Tally::default();
        for (call, steps) in &steps {
            for step in spread(steps, most) {
                let when = format!("{name} at {call} {step}");
                let traced = run(&scene, &[&format!("{call}:signal={name}:when={step}")]);
                let (code, by) = (traced.output.status.code(), traced.output.status.signal());
                let err = String::from_utf8_lossy(&traced.output.stderr);
                assert!(!err.contains("panicked"), "{what:?} {when}: {err}");
                // Its worker, which has nothing to remove, is struck too; and before a signal is
                // listened for there is nothing yet.
                let worker = err.contains("review worker");
                let ended = matches!(code, Some(0 | 130)) || by == Some(signal.as_raw()) || worker;
                assert!(ended, "{what:?} {when}: {code:?} {by:?} {err}");
                // More than one, in several threads, ends it at once.
                let sent = traced.sent(name);
                let when = format!("{when}, sent {sent} times, ended with {code:?} {by:?}");
                let whole = scene.whole(sent < 2, &when);
                let through = whole || what == What::Diff;
                assert!(through || code != Some(0), "{what:?} {when}");
                tally.add(whole, code);
                scene.nobody_left(&when);
                scene.undo();
                if sent > 1 {
                    scene.next_start(&when);
                }
            }
        }
        println!("{what:?}, {name} at each step: {tally}");
    }
}
