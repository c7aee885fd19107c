//! The real binary in a real terminal, on the demo world: what a person sees, types and is left with.
//! Everything is waited for on the screen; nothing sleeps.

mod common;

use common::pty::{Terminal, colours};
use common::{Place, assert_same, id, names, world};
use rustix::process::Signal;

const SIZES: [(u16, u16); 2] = [(160, 45), (80, 24)];
const WIDE: (u16, u16) = SIZES[0];
const RUNS: &str = "1 Runs";
const EDIT: &str = "+ Edited by the engineer";

/// The demo of its own, and its story open.
fn demo(place: &Place, size: (u16, u16)) -> Terminal {
    let terminal = Terminal::afterrun(place, size, &["demo"]);
    terminal.wait_for("✔ archive");
    terminal.wait_for("M README.md");
    terminal
}

/// The shared world, with the list there and nothing open.
fn on_world(place: &Place, size: (u16, u16), more: &[&str]) -> Terminal {
    let (database, store) = (world().database.to_str(), world().store.to_str());
    let options = [
        "--db",
        database.expect("UTF-8"),
        "--store",
        store.expect("UTF-8"),
    ];
    let terminal = Terminal::afterrun(place, size, &[&options, more].concat());
    terminal.wait_for("24 runs");
    terminal.wait_for("Look around");
    terminal
}

/// Waits until the run is open: the chain is through a moment before its files are there.
#[track_caller]
fn wait_open(terminal: &Terminal) {
    terminal.wait_for("✔ archive");
    terminal.wait_for("▾ workspace");
}

/// Opens a run by its id.
fn open(terminal: &mut Terminal, run: &str) {
    terminal.keys(":");
    terminal.wait_for("An action, or the id of a run");
    terminal.keys(run);
    terminal.wait(run, |terminal| terminal.text().contains(run));
    terminal.keys("\r");
    terminal.wait_gone("An action, or the id of a run");
}

/// Leaves, and is left with a terminal as it was.
#[track_caller]
fn quit(mut terminal: Terminal, place: &Place) {
    terminal.keys("q");
    let ended = terminal.end();
    assert_eq!((ended.code, &ended.signal), (0, &None));
    ended.assert_given_back();
    place.assert_clean("the interface");
}

#[test]
fn the_demo_opens_the_story() {
    for size in SIZES {
        let place = Place::new();
        let mut terminal = demo(&place, size);
        for agent in ["engineer  Engineer", "reviewer  Reviewer"] {
            terminal.wait_for(agent);
        }
        terminal.wait_for("3 agents · 24 runs");
        let object = world().object(id::STORY2);
        let digest = object
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a digest");
        terminal.wait_for(&format!("sha256 {}", &digest[..4]));
        assert!(
            terminal.bottom_has("✔ row ✔ COMPLETED ✔ object"),
            "{}",
            terminal.text()
        );
        if size == WIDE {
            assert!(
                terminal.text().contains("migrator  Migrator"),
                "{}",
                terminal.text()
            );
        } else {
            terminal.keys("3");
        }
        terminal.wait_for(EDIT);
        terminal.wait_for("3 Diff  pin 39cb69b");
        quit(terminal, &place);
    }
}

#[test]
fn a_run_that_does_not_exist() {
    for size in SIZES {
        let place = Place::new();
        let mut terminal = on_world(&place, size, &[]);
        open(&mut terminal, "nobody-ran-this");
        terminal.wait("the refusal", |terminal| {
            terminal.bottom_has("Run nobody-ran-this does not exist")
        });
        quit(terminal, &place);
    }
}

#[test]
fn a_run_of_another_agent_is_refused_inline() {
    for size in SIZES {
        let place = Place::new();
        let mut terminal = demo(&place, size);
        terminal.keys("A");
        terminal.wait_for("Open runs as agent");
        terminal.keys("reviewer\r");
        let refusal = format!("Run {} belongs to another agent", id::STORY2);
        terminal.wait("the refusal inline", |terminal| {
            terminal.pane_has(RUNS, &refusal)
        });
        terminal.wait("the refusal below", |terminal| {
            terminal.bottom_has(&refusal)
        });
        terminal.wait_for("as reviewer");
        // Nothing of it is shown any more.
        assert!(
            !terminal.text().contains("M README.md"),
            "{}",
            terminal.text()
        );
        assert!(!terminal.text().contains(EDIT), "{}", terminal.text());
        // What to do instead is said beside it, and works.
        if size == WIDE {
            terminal.wait("the way out", |terminal| terminal.pane_has("3", "press A"));
        }
        terminal.keys("A");
        terminal.wait_for("Open runs as agent");
        terminal.keys("\x15\r");
        terminal.wait_for("M README.md");
        quit(terminal, &place);
    }
}

#[test]
fn as_from_the_command_line_refuses_too() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &["--as", "reviewer"]);
    terminal.wait_for("as reviewer");
    open(&mut terminal, id::STORY2);
    let refusal = format!("Run {} belongs to another agent", id::STORY2);
    terminal.wait("the refusal", |terminal| terminal.pane_has(RUNS, &refusal));
    open(&mut terminal, id::NOTES2);
    wait_open(&terminal);
    terminal.wait("the refusal gone", |terminal| {
        !terminal.bottom_has(&refusal)
    });
    quit(terminal, &place);
}

#[test]
fn a_running_run_is_refused_inline() {
    for size in SIZES {
        let place = Place::new();
        let mut terminal = on_world(&place, size, &[]);
        open(&mut terminal, id::RUNNING);
        let refusal = format!(
            "Run {} is RUNNING, not COMPLETED; only a completed turn commits a checkpoint",
            id::RUNNING
        );
        terminal.wait("the refusal inline", |terminal| {
            terminal.pane_has(RUNS, &refusal)
        });
        terminal.wait("the refusal below", |terminal| {
            terminal.bottom_has(&refusal)
        });
        quit(terminal, &place);
    }
}

#[test]
fn enter_opens_what_the_cursor_is_on() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[]);
    terminal.wait_for("no run is open");
    // The newest run is where the cursor starts.
    terminal.keys("\r");
    terminal.wait_for(EDIT);
    // The turn before had not changed anything yet.
    terminal.keys("<");
    terminal.wait_for("→ turn 1");
    terminal.wait_gone(EDIT);
    terminal.keys(">");
    terminal.wait_for(EDIT);
    quit(terminal, &place);
}

#[test]
fn what_store_and_row_refuse_is_said() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[]);
    for (run, message) in [
        (id::PRUNED, "Checkpoint object is missing"),
        (id::CORRUPTED, "Checkpoint checksum mismatch"),
        (id::HOST, "committed no sandbox checkpoint"),
        (id::DAMAGED, "cannot be read: its run_data is no JSON"),
        (id::TEAM, "belongs to another agent"),
    ] {
        open(&mut terminal, run);
        terminal.wait(message, |terminal| terminal.pane_has(RUNS, message));
        terminal.wait(message, |terminal| terminal.bottom_has(message));
    }
    quit(terminal, &place);
}

#[test]
fn a_filter_narrows_the_list_while_one_types() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[]);
    terminal.keys("/");
    terminal.wait_for("filter the runs");
    terminal.keys("amounts with");
    terminal.wait_for("5 of 24");
    terminal.wait_gone("Look around");
    terminal.wait_for("Pantry: amounts with units");
    terminal.keys("\x1b");
    terminal.wait_for("Look around");
    terminal.keys("/nowhere");
    terminal.wait_for("0 of 24");
    terminal.keys("\x1b");
    terminal.wait_for("Look around");
    quit(terminal, &place);
}

#[test]
fn the_base_is_named_and_changed() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[]);
    open(&mut terminal, id::PANTRY5);
    terminal.wait_for("3 Diff  pin 296718a");
    terminal.wait_for("16 changed");
    for (title, count) in [
        ("3 Diff  head 4883b66", "10 changed"),
        ("3 Diff  previous", "4 changed"),
        ("3 Diff  empty", "22 changed"),
        ("3 Diff  pin 296718a", "16 changed"),
    ] {
        terminal.keys("b");
        terminal.wait_for(title);
        terminal.wait_for(count);
    }
    quit(terminal, &place);
}

#[test]
fn help_comes_and_goes() {
    for size in SIZES {
        let place = Place::new();
        let mut terminal = demo(&place, size);
        terminal.keys("?");
        terminal.wait_for("Everywhere");
        terminal.wait_for("one line down");
        terminal.keys("\x1b");
        terminal.wait_gone("one line down");
        terminal.wait_for("M README.md");
        quit(terminal, &place);
    }
}

#[test]
fn a_restore_is_planned_and_then_done() {
    for size in SIZES {
        let place = Place::new();
        let mut terminal = on_world(&place, size, &[]);
        open(&mut terminal, id::PANTRY5);
        wait_open(&terminal);
        terminal.keys("r");
        terminal.wait_for("Restore to a new directory");
        terminal.wait_for("./afterrun-ca7c120e");
        terminal.keys("\x15./out");
        terminal.wait_gone("./afterrun-ca7c120e");
        terminal.keys("\r");
        terminal.wait_for("Plan");
        terminal.wait_for("2 links to absolute paths");
        assert_eq!(names(&place.path("")), [""; 0], "a plan writes nothing");
        terminal.keys("\r");
        terminal.wait("the restored tree", |_| place.path("out").exists());
        terminal.wait_gone("Restore to a new directory");
        terminal.wait("its report", |terminal| terminal.bottom_has("restored"));
        quit(terminal, &place);
        let command = Place::new();
        command.world(&["restore", id::PANTRY5, "out"]).ok();
        assert_same(&place.path("out"), &command.path("out"));
    }
}

#[test]
fn a_restore_that_cannot_be_is_said_in_the_prompt() {
    let place = Place::new();
    std::fs::write(place.path("mine"), "text").expect("written");
    let mut terminal = demo(&place, WIDE);
    terminal.keys("r");
    terminal.wait_for("./afterrun-bee43833");
    terminal.keys("\x15mine\r");
    terminal.wait_for("mine already exists");
    terminal.keys("\x15nowhere/out\r");
    terminal.wait_for("its parent nowhere");
    terminal.keys("\x1b");
    terminal.wait_gone("Restore to a new directory");
    quit(terminal, &place);
    assert_eq!(names(&place.path("")), ["mine"]);
}

/// A world with a run whose restore takes a while; answers its id.
fn large(place: &Place) -> &'static str {
    for root in ["work", "home"] {
        std::fs::create_dir(place.path(root)).expect("made");
    }
    let file = std::fs::File::create(place.path("work/large")).expect("made");
    file.set_len(300 << 20).expect("set");
    let capture = [
        "capture",
        "--workspace",
        "work",
        "--native",
        "home",
        "--store",
        "store",
    ];
    let reference = place
        .run(&[&capture[..], &["--plain", "--json"]].concat())
        .ok();
    std::fs::copy(&world().database, place.path("copy.sqlite")).expect("copied");
    let database = rusqlite::Connection::open(place.path("copy.sqlite")).expect("opened");
    let script = "UPDATE agno_runs SET run_data = \
                  json_set(run_data, '$.metadata.sandbox.checkpoint', json(?1)) WHERE run_id = ?2";
    let changed = database.execute(script, [reference.text(), id::NOTES2]);
    assert_eq!(changed.expect("set"), 1);
    database.close().expect("closed");
    id::NOTES2
}

/// Begins to restore the large run and types `keys` as soon as something of it is on the disk; `None`
/// when it was through before.
fn stopped_restore(place: &Place, run: &str, keys: &str) -> Option<Terminal> {
    let args = ["--db", "copy.sqlite", "--store", "store"];
    let mut terminal = Terminal::afterrun(place, WIDE, &args);
    terminal.wait_for("Look around");
    open(&mut terminal, run);
    wait_open(&terminal);
    terminal.keys("r");
    terminal.wait_for("Restore to a new directory");
    terminal.keys("\x15out\r");
    terminal.wait_for("Plan");
    terminal.keys("\r");
    let begun = |name: &String| name.starts_with(".afterrun-restore-") || name == "out";
    terminal.wait("the restore", |_| names(&place.path("")).iter().any(begun));
    terminal.keys(keys);
    if place.path("out").exists() {
        std::fs::remove_dir_all(place.path("out")).expect("removed");
        return None;
    }
    Some(terminal)
}

#[test]
fn a_restore_is_stopped_and_leaves_nothing() {
    let place = Place::new();
    let run = large(&place);
    let before = names(&place.path(""));
    for keys in ["\x1b", "\x03", "q"] {
        // On a fast disk it may be through before the key comes; then once more.
        let stopped = (0..5).find_map(|_| stopped_restore(&place, run, keys));
        let terminal = stopped.expect("every restore was through before its key");
        if keys == "q" {
            let ended = terminal.end();
            assert_eq!(ended.code, 0);
            ended.assert_given_back();
        } else {
            terminal.wait("nothing of it", |_| names(&place.path("")) == before);
            quit(terminal, &place);
        }
        assert_eq!(names(&place.path("")), before, "{keys:?}");
        place.assert_clean("the interface");
    }
}

#[test]
fn a_patch_is_written() {
    let place = Place::new();
    let mut terminal = demo(&place, WIDE);
    terminal.wait_for(EDIT);
    terminal.keys("p");
    terminal.wait_for("Write the diff as a patch to");
    terminal.keys("\x15a.patch\r");
    terminal.wait("the patch", |_| place.path("a.patch").exists());
    terminal.wait("its report", |terminal| terminal.bottom_has("a.patch"));
    quit(terminal, &place);
    let piped = place.world(&["patch", id::STORY2]).ok();
    assert_eq!(
        std::fs::read(place.path("a.patch")).expect("read"),
        piped.out
    );
}

#[test]
fn the_shell_gets_its_terminal_back() {
    let place = Place::new();
    let script = "\"$0\" demo; echo \"code $?\"; stty -a";
    let words = ["sh", "-c", script, env!("CARGO_BIN_EXE_afterrun")];
    let mut terminal = Terminal::start(&place, WIDE, &words, &[]);
    terminal.wait_for("M README.md");
    terminal.keys("q");
    let ended = terminal.end();
    ended.assert_given_back();
    let settings: Vec<&str> = ended.text.split_whitespace().collect();
    assert!(ended.text.contains("code 0"), "{}", ended.text);
    for word in ["icanon", "echo", "isig", "opost"] {
        assert!(settings.contains(&word), "{word}: {}", ended.text);
    }
}

#[test]
fn ctrl_z_goes_to_the_shell_and_fg_comes_back() {
    let place = Place::new();
    let words = ["bash", "--norc", "--noprofile", "-i"];
    let mut terminal = Terminal::start(&place, WIDE, &words, &[("PS1", "prompt> ")]);
    terminal.wait_for("prompt> ");
    terminal.keys(&format!("{} demo\r", env!("CARGO_BIN_EXE_afterrun")));
    terminal.wait_for(EDIT);
    terminal.keys("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait("the shell's screen", |terminal| {
        terminal.screen(|screen| !screen.alternate_screen() && !screen.hide_cursor())
    });
    terminal.keys("echo typed $((6 * 7))\r");
    terminal.wait_for("typed 42");
    terminal.keys("fg\r");
    terminal.wait_for(EDIT);
    terminal.keys("q");
    terminal.wait("the shell's prompt", |terminal| {
        let text = terminal.text();
        text.trim_end().ends_with("\nprompt>") && text.contains("fg")
    });
    terminal.keys("echo code $?; exit\r");
    let ended = terminal.end();
    assert!(ended.text.contains("code 0"), "{}", ended.text);
    ended.assert_given_back();
    place.assert_clean("the interface");
}

#[test]
fn signals_give_the_terminal_back() {
    for signal in [Signal::TERM, Signal::HUP] {
        let place = Place::new();
        let terminal = demo(&place, WIDE);
        terminal.signal(signal);
        let ended = terminal.end();
        assert_eq!(ended.signal, None, "it ends by itself");
        ended.assert_given_back();
        place.assert_clean("the interface");
    }
}

#[test]
fn a_dropped_line_ends_it() {
    // More than once: what it is doing when the line drops is a matter of luck.
    for _ in 0..6 {
        let place = Place::new();
        demo(&place, WIDE).hang_up();
        place.assert_clean("the interface");
    }
}

#[test]
fn ctrl_c_leaves_when_nothing_is_at_work() {
    let place = Place::new();
    let mut terminal = demo(&place, WIDE);
    terminal.wait_for(EDIT);
    terminal.keys("\x03");
    let ended = terminal.end();
    assert_eq!(ended.signal, None);
    ended.assert_given_back();
    place.assert_clean("the interface");
}

#[test]
fn it_works_at_every_size_or_says_why_not() {
    let place = Place::new();
    let mut terminal = demo(&place, WIDE);
    terminal.wait_for(EDIT);
    terminal.resize((40, 10));
    terminal.wait_for("afterrun needs 60×16");
    terminal.resize((60, 16));
    terminal.wait_gone("afterrun needs");
    for (key, there) in [
        ("1", "engineer  Engineer"),
        ("2", "M README.md"),
        ("3", EDIT),
    ] {
        terminal.keys(key);
        terminal.wait_for(there);
        terminal.wait_for("sha256 ");
    }
    terminal.resize(WIDE);
    terminal.wait("all panes", |terminal| {
        ["engineer  Engineer", "M README.md", EDIT]
            .iter()
            .all(|part| terminal.text().contains(part))
    });
    terminal.resize((40, 10));
    terminal.wait_for("afterrun needs 60×16");
    quit(terminal, &place);
}

#[test]
fn without_colour_there_is_none() {
    let place = Place::new();
    let words = [env!("CARGO_BIN_EXE_afterrun"), "demo"];
    let mut terminal = Terminal::start(&place, WIDE, &words, &[("NO_COLOR", "1")]);
    terminal.wait_for(EDIT);
    terminal.keys("q");
    let raw = terminal.end().raw;
    let coloured = colours(&raw);
    assert_eq!(coloured, [""; 0]);
    let mut terminal = demo(&place, WIDE);
    terminal.wait_for(EDIT);
    terminal.keys("q");
    assert!(
        !colours(&terminal.end().raw).is_empty(),
        "or the test would see none at all"
    );
}

#[test]
fn hostile_rows_do_not_reach_the_terminal() {
    let place = Place::new();
    std::fs::copy(&world().database, place.path("evil.sqlite")).expect("copied");
    let database = rusqlite::Connection::open(place.path("evil.sqlite")).expect("opened");
    let evil = "pwned\x1b]0;obeyed\x07\u{202e}\u{9b}5n";
    let name = r#"{"session_name": "title\u001b]0;obeyed\u0007\n\u202e"}"#;
    let done = database.execute("UPDATE agno_sessions SET session_data = ?1", [name]);
    done.expect("renamed");
    let script = "UPDATE agno_runs SET agent_id = ?1, status = ?1 WHERE run_id = ?2";
    database
        .execute(script, [evil, id::RUNNING])
        .expect("renamed");
    let script = "UPDATE agno_runs SET run_data = replace(run_data, 'https://git', 'obeyed\\u001b[2J') WHERE run_id = ?1";
    database.execute(script, [id::STORY2]).expect("renamed");
    database.close().expect("closed");
    let store = world().store.to_str().expect("UTF-8");
    let args = ["--db", "evil.sqlite", "--store", store];
    let mut terminal = Terminal::afterrun(&place, WIDE, &args);
    terminal.wait_for("title\\x1b]0;obeyed");
    terminal.wait_for("pwned\\x1b");
    open(&mut terminal, id::STORY2);
    wait_open(&terminal);
    terminal.wait("what the row's pin is", |terminal| {
        terminal.bottom_has("the row's pin is used")
    });
    terminal.keys("i");
    terminal.wait_for("obeyed\\x1b[2J");
    open(&mut terminal, id::RUNNING);
    terminal.wait("the refusal", |terminal| {
        terminal.bottom_has("not COMPLETED")
    });
    terminal.keys("q");
    let raw = terminal.end().raw;
    let raw = String::from_utf8(raw).expect("UTF-8");
    for bad in ["\x1b]0;", "\x07", "\u{202e}", "\u{9b}"] {
        assert!(!raw.contains(bad), "{bad:?} reached the terminal");
    }
    place.assert_clean("the interface");
}
