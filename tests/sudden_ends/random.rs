//! The real process, killed at random: the delays are spread over what the command takes when it is
//! left alone, and a little beyond.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::id;
use crate::common::pty::Terminal;
use crate::scene::{Scene, Tally, What};

/// Kills between two starts that are left alone.
const BETWEEN: usize = 8;

/// The seed of this run: given by `AFTERRUN_SEED`, so that what failed can be tried again.
pub fn seed() -> u64 {
    let given = std::env::var("AFTERRUN_SEED").ok();
    let seed = given.and_then(|seed| seed.parse().ok());
    seed.unwrap_or_else(|| fastrand::u64(..1_000_000))
}

/// How long the command takes, the median of three.
fn takes(scene: &Scene) -> Duration {
    let mut times: Vec<Duration> = (0..3)
        .map(|_| {
            let begun = Instant::now();
            scene.place.finish(scene.command()).ok();
            let time = begun.elapsed();
            scene.undo();
            time
        })
        .collect();
    times.sort_unstable();
    times[1]
}

/// Kills the command until it was killed `count` times before it had ended by itself.
pub fn killed(what: What, count: usize, mut random: fastrand::Rng) -> usize {
    let scene = Scene::of(what, id::PANTRY5);
    let mut time = takes(&scene);
    let mut tally = Tally::default();
    let (mut killed, mut started) = (0, 0);
    while killed < count {
        started += 1;
        if started % count == 0 {
            // It ends before it is killed too often: the machine has less to do than before.
            scene.next_start("kills, before it is measured anew");
            time = takes(&scene);
        }
        assert!(started < 10 * count, "{what:?} ends before it is killed");
        let delay = time.mul_f64(random.f64() * 1.2);
        let mut command = scene.command();
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        std::thread::sleep(delay);
        let _ = child.kill();
        let status = child.wait().expect("ended");
        let when = format!("killed after {delay:?} of {time:?}");
        killed += usize::from(status.code().is_none());
        tally.add(scene.whole(false, &when), status.code());
        scene.nobody_left(&when);
        scene.undo();
        if started.is_multiple_of(BETWEEN) || killed == count {
            scene.next_start(&when);
        }
    }
    println!("{what:?}, killed {killed} times at random in {time:?}: {tally}");
    killed
}

/// Kills the interface `count` times: while it opens a run, shows it, and restores it.
pub fn interface_killed(count: usize, mut random: fastrand::Rng) -> usize {
    let scene = Scene::of(What::Restore, id::PANTRY5);
    let binary = scene.binary.to_str().expect("UTF-8");
    let words = scene.words();
    let words = [
        &[binary, "open", id::PANTRY5][..],
        &[&words[3], &words[4], &words[5], &words[6]],
    ];
    let mut tally = Tally::default();
    for index in 1..=count {
        let mut terminal = Terminal::start(&scene.place, (160, 45), &words.concat(), &[]);
        let restores = index.is_multiple_of(2);
        if restores {
            terminal.wait_for("✔ archive");
            terminal.wait_for("▾ workspace");
            terminal.keys("r");
            terminal.wait_for("Restore to a new directory");
            terminal.keys("\x15out/new\r");
            terminal.wait_for("Plan");
            terminal.keys("\r");
        }
        let most = if restores { 60 } else { 400 };
        let delay = Duration::from_millis(most).mul_f64(random.f64());
        std::thread::sleep(delay);
        terminal.signal(Signal::KILL);
        terminal.end();
        let when = format!("killed after {delay:?} in the interface");
        tally.add(scene.whole(false, &when), None);
        scene.nobody_left(&when);
        scene.undo();
        if index.is_multiple_of(BETWEEN) || index == count {
            scene.next_start(&when);
        }
    }
    println!("the interface, killed at random: {tally}");
    tally.ends
}
