//! Being told to leave while an editor has the terminal.

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use common::pty::{Terminal, until};
use common::{Place, id, world};
use rustix::process::{Pid, Signal, kill_process};

/// An editor that says where its copy is and what it is sent, and ends by nothing else.
fn editor(place: &Place) -> String {
    let script = place.path("editor");
    std::fs::write(
        &script,
        "#!/bin/sh\ntrap 'echo ended >> told; exit 0' HUP TERM\ntrap 'echo drawn' WINCH\nprintf '%s' \"$1\" > copy\n\
         echo READY\nwhile :; do read -r line || :; done\n",
    )
    .expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made");
    script.to_str().expect("UTF-8").to_owned()
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap_or_default()
}

/// The interface with a file in that editor.
fn lent(place: &Place) -> Terminal {
    let (database, store) = (world().database.to_str(), world().store.to_str());
    let words = [
        env!("CARGO_BIN_EXE_afterrun"),
        "--db",
        database.expect("UTF-8"),
        "--store",
        store.expect("UTF-8"),
        "open",
        id::STORY2,
        "README.md",
    ];
    let editor = editor(place);
    let mut terminal = Terminal::start(place, (160, 45), &words, &[("VISUAL", &editor)]);
    terminal.wait_for("+ Edited by the engineer");
    terminal.keys("e");
    terminal.wait_for("READY");
    assert!(Path::new(&read(place, "copy")).exists());
    terminal
}

/// The editor was told, and its copy is gone.
#[track_caller]
fn assert_gone(place: &Place) {
    let told = until(|| (read(place, "told").starts_with("ended\n")).then_some(()));
    assert!(told.is_some(), "the editor was told");
    assert!(!Path::new(&read(place, "copy")).exists());
    place.assert_clean("the interface");
}

#[test]
fn a_signal_ends_the_editor_and_the_interface() {
    for signal in [Signal::TERM, Signal::HUP] {
        let place = Place::new();
        let terminal = lent(&place);
        terminal.signal(signal);
        let ended = terminal.end();
        assert_eq!((ended.code, &ended.signal), (0, &None), "{}", ended.text);
        ended.assert_given_back();
        assert_gone(&place);
    }
}

#[test]
fn the_shell_can_be_typed_into_after_an_editor_that_was_ended() {
    let place = Place::new();
    let script = place.path("rude");
    std::fs::write(
        &script,
        "#!/bin/sh\nstty raw -echo\nprintf $PPID > parent\necho READY\nwhile :; do read -r line || :; done\n",
    )
    .expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made");
    let all = format!("{} demo; stty -a > modes", env!("CARGO_BIN_EXE_afterrun"));
    let rude = script.to_str().expect("UTF-8");
    let words = ["sh", "-c", &all];
    let mut terminal = Terminal::start(&place, (160, 45), &words, &[("VISUAL", rude)]);
    terminal.wait_for("+ Edited by the engineer");
    terminal.keys("2e");
    terminal.wait_for("READY");
    let parent = read(&place, "parent").parse().expect("an id");
    kill_process(Pid::from_raw(parent).expect("a process"), Signal::TERM).expect("sent");
    let ended = terminal.end();
    assert_eq!(ended.code, 0, "{}", ended.text);
    let modes = read(&place, "modes");
    for mode in [" icanon", " echo ", " onlcr"] {
        assert!(modes.contains(mode), "{mode}: {modes}");
    }
    place.assert_clean("the interface");
}

#[test]
fn a_line_that_drops_takes_the_copy_along() {
    let place = Place::new();
    lent(&place).hang_up();
    assert_gone(&place);
}
