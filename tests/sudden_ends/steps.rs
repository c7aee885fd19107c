//! A signal at each step: before the first, the second, the third call of every kind that changes
//! something, until a run has no more of them. `strace` counts, in each thread. (With its `--seccomp-bpf`
//! it would be faster, and miss most of them.)

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};
use std::sync::OnceLock;

use rustix::process::Signal;

use crate::common::names;
use crate::scene::{Scene, Tally, What};

/// Calls that make, change or remove something. `?` for those that not every
/// processor has.
const CALLS: &str = "openat,?mkdir,mkdirat,write,pwrite64,?link,linkat,?rename,?renameat,renameat2,\
                     symlinkat,fchmod,?chmod,fchmodat,utimensat,?unlink,unlinkat,?rmdir,fsync,flock";
/// Steps of one kind that are tried; of more, so many are spread over all.
const MOST: usize = 28;

/// Whether processes can be traced here.
fn can_trace() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let traced = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "true"])
            .status();
        let can = traced.is_ok_and(|status| status.success());
        if !can {
            println!("skipped: no strace, or nothing may be traced here");
        }
        can
    })
}

/// Each call that changes something, and how many of it one thread makes at most: 1, 2, 3…
fn census(scene: &Scene) -> BTreeMap<String, Vec<usize>> {
    let log = scene.place.path("../log");
    let trace = format!("trace={CALLS}");
    let mut words = vec!["-f", "-qq", "-o", log.to_str().expect("UTF-8")];
    words.extend(["-e", &trace, "--"]);
    let output = scene.below("strace", &words).output().expect("started");
    scene.said("traced", output).ok();
    scene.undo();
    let text = std::fs::read_to_string(log).expect("read");
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut steps: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((call, rest)) = rest.trim_start().split_once('(') else {
            continue;
        };
        if call.contains(' ') {
            continue;
        }
        let count = counts.entry((thread, call)).or_default();
        *count += 1;
        // What is opened for reading changes nothing.
        let reads = call == "openat" && !rest.contains("O_CREAT") && !rest.contains("O_TMPFILE");
        if !reads {
            let of_call = steps.entry(call.to_owned()).or_default();
            if !of_call.contains(count) {
                of_call.push(*count);
            }
        }
    }
    for of_call in steps.values_mut() {
        of_call.sort_unstable();
    }
    steps
}

/// At most `most` of `steps`, the first and the last among them.
fn spread(steps: &[usize], most: usize) -> Vec<usize> {
    let count = steps.len().min(most);
    let at = |index: usize| steps[index * (steps.len() - 1) / count.max(2).saturating_sub(1)];
    match count {
        0 | 1 => steps.to_vec(),
        _ => (0..count).map(at).collect(),
    }
}

/// The command with `signal` sent when a thread makes its `step`th `call`, and how often that was.
fn struck(scene: &Scene, call: &str, step: usize, signal: &str) -> (Output, usize) {
    let log = scene.place.path("../log");
    let (trace, inject) = (
        format!("trace={call}"),
        format!("inject={call}:signal={signal}:when={step}"),
    );
    let strace = [
        "20",
        "strace",
        "-f",
        "-qq",
        "-o",
        log.to_str().expect("UTF-8"),
    ];
    let words = [&strace[..], &["-e", &trace, "-e", &inject, "--"]].concat();
    let output = scene.below("timeout", &words).output().expect("started");
    let text = std::fs::read_to_string(log).expect("read");
    let sent = text.matches(&format!("--- SIG{signal} ")).count();
    (output, sent)
}

/// Killed at each step: nothing is there or all of it, and the next start removes the rest.
pub fn killed(what: What) {
    if !can_trace() {
        return;
    }
    let scene = Scene::new(what);
    let (mut tally, mut killed) = (Tally::default(), 0);
    for (call, steps) in census(&scene) {
        for step in spread(&steps, MOST) {
            let when = format!("killed at {call} {step}");
            let (output, _) = struck(&scene, &call, step, "KILL");
            let code = output.status.code();
            assert_ne!(code, Some(124), "{what:?} {when}: it does not end");
            killed += usize::from(code.is_none());
            tally.add(scene.whole(false, &when), code);
            scene.nobody_left(&when);
            scene.undo();
        }
        scene.next_start(&format!("being killed at {call}"));
    }
    println!("{what:?}, killed at each step: {killed} of {tally}");
    // A step that only its worker has, or that another thread made this time, kills nobody.
    assert!(killed * 2 > tally.ends, "{what:?}: most were not killed");
}

/// The same where no file is without a name: its hidden one is left, and goes with the next file
/// that is made there.
pub fn killed_with_hidden_names(what: What) {
    if !can_trace() {
        return;
    }
    let scene = Scene::new(what);
    let steps = census(&scene);
    // The last file that is opened: no other thread opens so many.
    let last = steps["openat"].last().copied().unwrap_or_default();
    let refused = format!("inject=openat:error=EOPNOTSUPP:when={last}");
    let run = |more: &[&str]| {
        let words = [
            "20",
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &refused,
        ];
        let words = [&words[..], more, &["--"]].concat();
        scene.below("timeout", &words).output().expect("started")
    };
    let (mut left, mut ends) = (0, 0);
    for (call, steps) in [
        ("fsync", 1..2),
        ("linkat", 1..2),
        ("unlinkat", 1..2),
        ("write", 6..14),
    ] {
        for step in steps {
            let inject = format!("inject={call}:signal=KILL:when={step}");
            let output = run(&["-e", &inject]);
            let when = format!("killed at {call} {step} with a hidden name");
            scene.whole(false, &when);
            scene.nobody_left(&when);
            scene.undo();
            ends += usize::from(output.status.code().is_none());
        }
        for name in names(&scene.place.path("out")) {
            let file = std::fs::File::open(scene.place.path("out").join(&name)).expect("there");
            assert!(name.starts_with(".afterrun-part-"), "{name}");
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(120))
                .expect("set");
            left += 1;
        }
    }
    assert!(left > 0 && ends > 2, "{left} of {ends}");
    let output = run(&[]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(names(&scene.place.path("out")), ["new"]);
    scene.undo();
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
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let (mut tally, name) = (Tally::default(), name(signal));
        for (call, steps) in &steps {
            for step in spread(steps, most) {
                let when = format!("{name} at {call} {step}");
                let (output, sent) = struck(&scene, call, step, name);
                let (code, by) = (output.status.code(), output.status.signal());
                let err = String::from_utf8_lossy(&output.stderr);
                assert!(!err.contains("panicked"), "{what:?} {when}: {err}");
                // Its worker, which has nothing to remove, is struck too; and before a signal is
                // listened for there is nothing yet.
                let worker = err.contains("review worker");
                let ended = matches!(code, Some(0 | 130)) || by == Some(signal.as_raw()) || worker;
                assert!(ended, "{what:?} {when}: {code:?} {by:?} {err}");
                // More than one, in several threads, ends it at once.
                let whole = scene.whole(sent < 2, &when);
                assert!(
                    what == What::Diff || whole || code != Some(0),
                    "{what:?} {when}"
                );
                tally.add(whole, code);
                scene.nobody_left(&when);
                scene.undo();
            }
        }
        scene.next_start(&format!("being asked to end by {name}"));
        println!("{what:?}, {name} at each step: {tally}");
    }
}

fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::TERM => "TERM",
        Signal::HUP => "HUP",
        _ => "INT",
    }
}
