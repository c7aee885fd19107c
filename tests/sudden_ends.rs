//! Sudden ends: signals at each step and at random, disks that are full, read-only or gone, too few
//! files to open, a clock that jumps. Whatever ends a command, what it writes is there whole or not at
//! all, nothing private outlives the next start, the store is never damaged, the terminal is given back.

mod common;

#[path = "sudden_ends/clocks.rs"]
mod clocks;
#[path = "sudden_ends/disks.rs"]
mod disks;
#[path = "sudden_ends/random.rs"]
mod random;
#[path = "sudden_ends/scene.rs"]
mod scene;
#[path = "sudden_ends/steps.rs"]
mod steps;
#[path = "sudden_ends/strace.rs"]
mod strace;
#[path = "sudden_ends/terminal.rs"]
mod terminal;

use disks::On;
use scene::{ALL, What};

/// Steps of one kind at which a command is asked to end.
const ASKED: usize = 4;

#[test]
fn a_restore_is_killed_at_each_step() {
    steps::killed(What::Restore);
}

#[test]
fn a_comparison_is_killed_at_each_step() {
    steps::killed(What::Diff);
}

#[test]
fn a_patch_is_killed_at_each_step() {
    steps::killed(What::Patch);
}

#[test]
fn a_fetch_and_a_put_are_killed_at_each_step() {
    steps::killed(What::Fetch);
    steps::killed(What::Capture);
}

#[test]
fn killed_while_it_removes_what_it_began() {
    // A moment later it has heard of it.
    let restore = [
        "mkdirat:signal=TERM:when=2",
        "fchmod:delay_enter=50000:when=1",
    ];
    steps::killed_on_the_way_out(What::Restore, &restore);
    let compare = ["flock:signal=TERM:when=1", "mkdir:delay_enter=50000:when=4"];
    steps::killed_on_the_way_out(What::Patch, &compare);
}

#[test]
fn a_hidden_name_goes_with_the_next_file() {
    steps::killed_with_hidden_names(What::Patch);
}

#[test]
fn each_command_is_asked_to_end_at_each_step() {
    for what in ALL {
        steps::asked(what, ASKED);
    }
}

#[test]
fn killed_at_random_more_than_200_times() {
    let seed = random::seed();
    println!("AFTERRUN_SEED={seed}");
    let random = |more| fastrand::Rng::with_seed(seed + more);
    // Two at a time.
    let ends: usize = std::thread::scope(|threads| {
        let one = threads.spawn(|| {
            let restores = random::killed(What::Restore, 56, random(1));
            let patches = random::killed(What::Patch, 48, random(2));
            restores + patches
        });
        let two = threads.spawn(|| {
            let puts = random::killed(What::Capture, 56, random(3));
            let fetches = random::killed(What::Fetch, 24, random(4));
            puts + fetches + random::interface_killed(20, random(5))
        });
        let ends = [one, two].map(|half| half.join());
        ends.into_iter()
            .map(|ends| ends.expect("no end was bad"))
            .sum()
    });
    assert!(ends >= 200, "{ends}");
}

#[test]
fn the_interface_is_asked_to_end_wherever_it_is() {
    for at in terminal::EVERYWHERE {
        terminal::asked_to_end(at);
    }
}

#[test]
fn a_line_drops_at_a_command() {
    terminal::a_line_drops_at_a_command();
}

#[test]
fn what_is_ignored_stays_ignored() {
    terminal::what_is_ignored_stays_ignored();
}

#[test]
fn the_living_keep_their_folders() {
    terminal::the_living_keep_their_folders();
}

#[test]
fn disks_of_every_size() {
    for what in [What::Restore, What::Patch, What::Fetch, What::Capture] {
        disks::full(what, On::Destination);
    }
    for what in [What::Diff, What::Restore, What::Capture] {
        disks::full(what, On::Private);
    }
}

#[test]
fn disks_that_may_only_be_read() {
    for what in [What::Restore, What::Patch, What::Fetch, What::Capture] {
        disks::read_only(what, On::Destination);
    }
    for what in [What::Diff, What::Restore, What::Capture] {
        disks::read_only(what, On::Private);
    }
}

#[test]
fn folders_that_vanish() {
    let seed = random::seed();
    println!("AFTERRUN_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for what in [What::Restore, What::Patch, What::Fetch, What::Capture] {
        disks::vanishing(what, On::Destination, &mut random);
    }
    for what in [What::Diff, What::Capture] {
        disks::vanishing(what, On::Private, &mut random);
    }
}

#[test]
fn too_few_files_to_open() {
    for what in ALL {
        disks::few_files(what);
    }
}

#[test]
fn a_clock_that_jumps() {
    for what in ALL {
        clocks::while_at_work(what);
    }
    clocks::in_the_interface();
}
