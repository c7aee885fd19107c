//! Acting from the real interface in a real terminal: a place that is opened, an editor that gets the
//! keyboard, paths that are completed, bytes that are kept, keys that are configured.

mod common;

use std::os::unix::fs::PermissionsExt;

use common::pty::Terminal;
use common::{Place, id, names, sha256, world};

const WIDE: (u16, u16) = (160, 45);
const SMALL: (u16, u16) = (100, 16);
const BINARY: &str = env!("CARGO_BIN_EXE_afterrun");

/// The words of `afterrun WORDS` on the shared world.
fn on_world<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let (database, store) = (world().database.to_str(), world().store.to_str());
    let options = [
        BINARY,
        "--db",
        database.expect("UTF-8"),
        "--store",
        store.expect("UTF-8"),
    ];
    [&options[..], words].concat()
}

fn start(place: &Place, size: (u16, u16), words: &[&str]) -> Terminal {
    Terminal::start(place, size, &on_world(words), &[])
}

#[track_caller]
fn quit(mut terminal: Terminal, place: &Place) {
    terminal.keys("q");
    let ended = terminal.end();
    assert_eq!((ended.code, &ended.signal), (0, &None), "{}", ended.text);
    place.assert_clean("the interface");
}

fn config(place: &Place, text: &str) -> String {
    std::fs::write(place.path("config.toml"), text).expect("written");
    place
        .path("config.toml")
        .to_str()
        .expect("UTF-8")
        .to_owned()
}

#[test]
fn open_stands_at_a_line() {
    let place = Place::new();
    // Turn 4 of the pantry: line 33 of the shelf is in a hunk, line 20 is not.
    let terminal = start(
        &place,
        SMALL,
        &["open", "bf266f60", "src/pantry/shelf.py:33"],
    );
    terminal.wait_for("3 Diff");
    terminal.wait("the hunk", |terminal| {
        terminal.text().contains("@@ -30,4 +32,4 @@")
    });
    quit(terminal, &place);
    let terminal = start(
        &place,
        SMALL,
        &["open", id::PANTRY4, "src/pantry/shelf.py:20"],
    );
    terminal.wait_for("3 File");
    let text = Place::new()
        .world(&["cat", id::PANTRY4, "src/pantry/shelf.py"])
        .ok();
    let line = text
        .text()
        .lines()
        .nth(19)
        .expect("20 lines")
        .trim()
        .to_owned();
    terminal.wait("its line at the top", |terminal| {
        let screen = terminal.text();
        screen.lines().nth(2).is_some_and(|top| top.contains(&line))
    });
    quit(terminal, &place);
}

#[test]
fn open_says_what_is_not_there() {
    let place = Place::new();
    let words = [
        "open",
        "engineer@latest",
        "no/such file.rs:7",
        "--base",
        "head",
    ];
    let terminal = start(&place, WIDE, &words);
    terminal.wait_for("✔ archive");
    terminal.wait("the answer", |terminal| {
        terminal.bottom_has("there is no no/such file.rs:7 in this run")
    });
    quit(terminal, &place);
}

#[test]
fn open_needs_a_terminal_and_good_words() {
    let place = Place::new();
    let refused = place.world(&["open", id::STORY2]);
    assert!(
        refused.hint().contains("`afterrun show RUN`"),
        "{}",
        refused.hint()
    );
    refused.refuses(2);
    for words in [
        &["open"][..],
        &["open", id::STORY2, "README.md", "--line", "0"],
        &["open", id::STORY2, "--line", "3"],
        &["open", id::STORY2, "README.md", "--view", "hex"],
    ] {
        place.world(words).refuses(2);
    }
}

/// An editor that says how it was started, and reads lines until one is `done`.
fn editor(place: &Place) -> String {
    let script = place.path("my editor");
    std::fs::write(
        &script,
        "#!/bin/sh\ntrap 'echo caught >> trapped' INT\nfor file; do :; done\n\
         ls -l \"$file\" | cut -c1-10 > mode\nprintf '%s\\n' \"$@\" > words\ncp \"$file\" content\n\
         echo READY\nwhile :; do\n  read -r line || continue\n  printf '%s\\n' \"$line\" >> typed\n\
         \x20 [ \"$line\" != done ] || exit 0\ndone\n",
    )
    .expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made");
    script.to_str().expect("UTF-8").to_owned()
}

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap_or_default()
}

#[test]
fn an_editor_has_the_keyboard_to_itself() {
    let place = Place::new();
    let command = format!("'{}' --flag", editor(&place));
    let words = on_world(&["open", id::STORY2, "README.md"]);
    let mut terminal = Terminal::start(&place, WIDE, &words, &[("VISUAL", &command)]);
    terminal.wait_for("+ Edited by the engineer");
    terminal.keys("e");
    terminal.wait_for("READY");
    // Were they still read by the interface, `q` would leave it and letters would be missing.
    let lines: Vec<String> = (0..40).map(|line| format!("q line {line} qqq")).collect();
    for line in &lines {
        terminal.keys(line);
        terminal.keys("\r");
        terminal.wait("the line", |_| {
            read(&place, "typed").contains(&format!("{line}\n"))
        });
    }
    // The terminal sends this to everybody in front of it, and it is the editor's.
    terminal.keys("\x03");
    terminal.wait("the signal", |_| read(&place, "trapped") == "caught\n");
    terminal.keys("done\r");
    terminal.wait_for("1 Runs");
    terminal.wait("what it was", |terminal| {
        terminal.bottom_has("that was a copy of workspace/repository/README.md")
    });
    assert_eq!(
        read(&place, "typed"),
        format!("{}\ndone\n", lines.join("\n"))
    );
    assert_eq!(read(&place, "mode"), "-r--------\n");
    let words = read(&place, "words");
    let (flag, file) = words.trim_end().split_once('\n').expect("two words");
    assert_eq!(flag, "--flag");
    assert!(file.ends_with("/README.md") && !std::path::Path::new(file).exists());
    let whole = Place::new().world(&["cat", id::STORY2, "README.md"]).ok();
    assert_eq!(read(&place, "content"), whole.text());
    // And the keyboard is the interface's again.
    terminal.keys("?");
    terminal.wait_for("one line down");
    terminal.keys("\x1b");
    terminal.wait_gone("one line down");
    quit(terminal, &place);
}

#[test]
fn an_editor_that_is_not_there_is_said() {
    let place = Place::new();
    let config = config(&place, "editor = \"/no/such/editor --wait\"\n");
    let words = ["--config", &config, "open", id::PANTRY4, "assets/logo.png"];
    let mut terminal = start(&place, WIDE, &words);
    terminal.wait_for("logo.png");
    terminal.wait_for("Binary");
    terminal.keys("e");
    terminal.wait("the way out", |terminal| {
        terminal.bottom_has("is binary, which no text editor shows")
            && terminal.bottom_has("afterrun cat")
    });
    terminal.keys(":");
    terminal.wait_for("or sha256:DIGEST");
    terminal.keys("shelf.py");
    terminal.wait_for("go to workspace/repository/src/pantry/shelf.py");
    terminal.keys("\r");
    terminal.wait_for("@@ -4,6 +4,8 @@");
    terminal.keys("e");
    terminal.wait("the answer", |terminal| {
        terminal.bottom_has("/no/such/editor does not start: no such file or directory")
    });
    quit(terminal, &place);
}

#[test]
fn paths_are_completed() {
    let place = Place::new();
    for name in ["restored-1", "restored-2", ".restored"] {
        std::fs::create_dir(place.path(name)).expect("made");
    }
    std::fs::write(place.path("result.txt"), "x").expect("written");
    let mut terminal = start(&place, WIDE, &["open", id::STORY2]);
    terminal.wait_for("M README.md");
    terminal.keys("r");
    terminal.wait_for("./afterrun-bee43833");
    terminal.keys("\x15./r\t");
    terminal.wait_for("./restored-▏");
    terminal.wait_for("restored-1/  restored-2/");
    terminal.keys("2\t");
    terminal.wait_for("./restored-2/▏");
    terminal.keys("new\r");
    terminal.wait_for("Plan");
    terminal.keys("\r");
    terminal.wait("the restore", |_| {
        place.path("restored-2/new/workspace").exists()
    });
    quit(terminal, &place);
}

#[test]
fn only_marked_files_are_restored() {
    let place = Place::new();
    let mut terminal = start(&place, WIDE, &["open", id::STORY2, "README.md"]);
    terminal.wait_for("+ Edited by the engineer");
    terminal.keys("2 ");
    terminal.wait_for("2 Files  * 1");
    terminal.keys("r");
    terminal.wait_for("Restore 1 marked to a new directory");
    terminal.keys("\x15out\r");
    terminal.wait_for("1 marked path");
    terminal.keys("\r");
    terminal.wait("its report", |terminal| terminal.bottom_has("restored to"));
    assert_eq!(
        names(&place.path("out/workspace/repository")),
        ["README.md"]
    );
    quit(terminal, &place);
}

#[test]
fn stored_bytes_are_kept_and_never_written_over() {
    let place = Place::new();
    let mut terminal = start(&place, WIDE, &[]);
    terminal.wait_for("Look around");
    terminal.keys("F");
    terminal.wait_for("Keep the stored bytes of bee43833");
    terminal.keys("\x15kept.tar.gz\r");
    terminal.wait("its report", |terminal| {
        terminal.bottom_has("fetched to kept.tar.gz")
    });
    let kept = std::fs::read(place.path("kept.tar.gz")).expect("written");
    let object = world().object(id::STORY2);
    assert_eq!(kept, std::fs::read(object).expect("stored"));
    terminal.keys("F");
    terminal.wait_for("Keep the stored bytes of");
    terminal.keys("\x15kept.tar.gz\r");
    terminal.wait("the refusal", |terminal| {
        terminal.bottom_has("kept.tar.gz already exists")
    });
    let after = std::fs::read(place.path("kept.tar.gz")).expect("there");
    assert_eq!(sha256(&after), sha256(&kept));
    terminal.keys("J");
    terminal.wait_for("fetch to kept.tar.gz");
    terminal.wait_for("✔ fetched to kept.tar.gz");
    terminal.keys("\x1b");
    terminal.wait_gone("fetch to kept.tar.gz");
    quit(terminal, &place);
}

#[test]
fn configured_keys_are_the_keys() {
    let place = Place::new();
    let home = place.path("xdg/afterrun");
    std::fs::create_dir_all(&home).expect("made");
    let text = "mouse = false\n[keys.everywhere]\nquit = [\"ctrl-q\"]\nhelp = [\"f2\"]\n";
    std::fs::write(home.join("config.toml"), text).expect("written");
    let xdg = place.path("xdg");
    let environment = [("XDG_CONFIG_HOME", xdg.to_str().expect("UTF-8"))];
    let mut terminal = Terminal::start(&place, WIDE, &on_world(&[]), &environment);
    terminal.wait_for("Look around");
    terminal.wait_for("f2 keys");
    terminal.keys("q\x1bOQ");
    terminal.wait_for("one line down");
    terminal.keys("/leave");
    terminal.wait_for("ctrl-q");
    terminal.wait_gone("one line down");
    terminal.keys("\x1b");
    terminal.wait_for("one line down");
    terminal.keys("\x11");
    terminal.wait_gone("one line down");
    terminal.keys("\x11");
    let ended = terminal.end();
    assert_eq!(ended.code, 0);
    let raw = String::from_utf8_lossy(&ended.raw);
    assert!(!raw.contains("\x1b[?1000h"), "the mouse was switched off");
}

#[test]
fn a_wrong_configuration_ends_the_start() {
    let place = Place::new();
    let path = config(&place, "[keys.runs]\nopen-rnu = [\"enter\"]\n");
    let terminal = Terminal::start(&place, WIDE, &on_world(&["--config", &path]), &[]);
    let ended = terminal.end();
    assert_eq!(ended.code, 2);
    let raw = String::from_utf8_lossy(&ended.raw);
    let lines: Vec<&str> = raw.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            &format!(
                "afterrun: {path}, line 2: there is no action of [keys.runs] called `open-rnu`"
            ),
            "hint: did you mean `open-run`?"
        ]
    );
    let printed = place.world(&["runs", "--config", &path]);
    assert!(
        printed.refuses(2).contains("open-rnu"),
        "other commands too"
    );
    let missing = place.world(&["open", id::STORY2, "--config", "no.toml"]);
    assert!(
        missing
            .refuses(2)
            .contains("no.toml cannot be read: no such file or directory")
    );
}
