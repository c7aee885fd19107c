//! Terminals of every kind, and every way of leaving them: what is sent, byte by byte, and what is left.
//! Everything is waited for on the screen; nothing sleeps.

mod common;

use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::pty::{Ended, Terminal, colours};
use common::{Place, id, names, world};
use rustix::process::Signal;

const WIDE: (u16, u16) = (160, 45);
const EDIT: &str = "+ Edited by the engineer";

/// Modes that are on while the interface has the terminal, and how each is undone.
const ALTERNATE: (&str, &str) = ("\x1b[?1049h", "\x1b[?1049l");
const MODES: [(&str, &str); 5] = [
    ("\x1b[?25l", "\x1b[?25h"),
    ("\x1b[?2004h", "\x1b[?2004l"),
    ("\x1b[?1004h", "\x1b[?1004l"),
    ("\x1b[?1000h", "\x1b[?1000l"),
    ("\x1b[?1006h", "\x1b[?1006l"),
];

/// The shared world in a terminal with this environment, its list there.
fn on_world(place: &Place, size: (u16, u16), more: &[&str], env: &[(&str, &str)]) -> Terminal {
    let (database, store) = (world().database.to_str(), world().store.to_str());
    let words = [
        env!("CARGO_BIN_EXE_afterrun"),
        "--db",
        database.expect("UTF-8"),
        "--store",
        store.expect("UTF-8"),
    ];
    let terminal = Terminal::start(place, size, &[&words, more].concat(), env);
    terminal.wait_for("24 runs");
    terminal.wait_for("Look around");
    terminal
}

/// Opens the run that the cursor is on.
fn open(terminal: &mut Terminal) {
    terminal.keys("\r");
    terminal.wait_for(EDIT);
}

#[track_caller]
fn quit(mut terminal: Terminal, place: &Place) -> Ended {
    terminal.keys("q");
    let ended = terminal.end();
    assert_eq!((ended.code, &ended.signal), (0, &None));
    place.assert_clean("the interface");
    ended
}

/// Each of `modes` was taken, and the last word on it is what it was before.
#[track_caller]
fn assert_undone(raw: &[u8], modes: &[(&str, &str)]) {
    let raw = String::from_utf8_lossy(raw);
    for (taken, given) in modes {
        let at = raw.rfind(taken).unwrap_or_else(|| panic!("no {taken:?}"));
        let undone = raw.rfind(given).is_some_and(|given| at < given);
        assert!(undone, "{taken:?} is not undone");
    }
}

fn has(raw: &[u8], what: &str) -> bool {
    String::from_utf8_lossy(raw).contains(what)
}

#[test]
fn nothing_is_asked_of_the_terminal() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[], &[]);
    open(&mut terminal);
    terminal.resize((80, 24));
    terminal.wait_gone("3 Diff");
    let raw = quit(terminal, &place).raw;
    // Where the cursor is, what the terminal is, its colours, its clipboard.
    for question in [
        "\x1b[6n", "\x1b[5n", "\x1b[c", "\x1b[0c", "\x1b[>", "\x1b[?u", "\x1b]", "\x1bP", "$p",
    ] {
        assert!(!has(&raw, question), "{question:?}");
    }
}

#[test]
fn every_mode_is_undone_whatever_ends_it() {
    let signals = [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT];
    for signal in signals.map(Some).into_iter().chain([None]) {
        let place = Place::new();
        let mut terminal = on_world(&place, WIDE, &[], &[]);
        open(&mut terminal);
        match signal {
            None => terminal.keys("\x03"),
            Some(signal) => terminal.signal(signal),
        }
        let ended = terminal.end();
        assert_eq!(ended.signal, None, "it ends by itself");
        assert_undone(&ended.raw, &[&[ALTERNATE][..], &MODES].concat());
        assert_undone(&ended.raw, &[("\x1b[?2026h", "\x1b[?2026l")]);
        place.assert_clean("the interface");
    }
}

#[test]
fn a_defect_gives_everything_back_and_leaves_a_report() {
    let place = Place::new();
    let state = place.path("state");
    let reports = state.join("afterrun");
    std::fs::create_dir_all(&reports).expect("made");
    for day in 10..25 {
        let name = format!("crash-202001{day}T000000Z-1.txt");
        std::fs::write(reports.join(name), "old").expect("written");
    }
    let env = [
        ("AFTERRUN_PANIC_KEY", "X"),
        ("XDG_STATE_HOME", state.to_str().expect("UTF-8")),
        ("SECRET", "hunter2"),
    ];
    let mut terminal = on_world(&place, WIDE, &[], &env);
    open(&mut terminal);
    terminal.keys("X");
    let ended = terminal.end();
    assert_eq!((ended.code, &ended.signal), (1, &None), "{}", ended.text);
    assert_undone(&ended.raw, &[&[ALTERNATE][..], &MODES].concat());
    place.assert_clean("the interface");
    let mut files = names(&reports);
    assert_eq!(files.len(), 10, "{files:?}");
    let newest = files.pop().expect("a report");
    assert_eq!(files[0], "crash-20200116T000000Z-1.txt");
    let path = reports.join(&newest);
    let said: String = ended.text.lines().collect();
    assert!(
        said.contains("afterrun: the interface stopped by a defect"),
        "{}",
        ended.text
    );
    assert!(
        said.contains(path.to_str().expect("UTF-8")),
        "{}",
        ended.text
    );
    let mode = |path: &std::path::Path| {
        let entry = path.metadata().expect("there");
        entry.permissions().mode() & 0o777
    };
    assert_eq!(mode(&path), 0o600);
    let report = std::fs::read_to_string(&path).expect("read");
    let version = format!("afterrun {}\n", env!("CARGO_PKG_VERSION"));
    assert!(report.starts_with(&version), "{report}");
    for part in [
        "place     src/tui/crash.rs:",
        "terminal  160x45 xterm-256color",
        "rehearse",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let database = world().database.to_str().expect("UTF-8");
    for secret in [
        "hunter2",
        id::STORY2,
        database,
        "engineer",
        "Look around",
        "looked at",
        "\x1b",
    ] {
        assert!(!report.contains(secret), "{secret}: {report}");
    }
}

#[test]
fn a_defect_in_a_job_ends_the_job_and_nothing_else() {
    let place = Place::new();
    for slot in ["Write", "Open"] {
        let env = [("AFTERRUN_PANIC_JOB", slot)];
        let mut terminal = on_world(&place, WIDE, &[], &env);
        if slot == "Write" {
            open(&mut terminal);
            terminal.keys("p");
            terminal.wait_for("Write the diff as a patch to");
        }
        terminal.keys("\r");
        terminal.wait("what happened", |terminal| {
            terminal.bottom_has("this job stopped by a defect of afterrun")
        });
        terminal.keys("?");
        terminal.wait_for("one line down");
        terminal.keys("\x1b");
        terminal.wait_gone("one line down");
        let ended = quit(terminal, &place);
        assert!(
            !has(&ended.raw, "panicked"),
            "nothing is printed over the screen"
        );
        assert_eq!(names(&place.path("")), [""; 0]);
    }
}

#[test]
fn the_folder_of_reports_is_private() {
    let place = Place::new();
    let home = place.path("home");
    std::fs::create_dir(&home).expect("made");
    let env = [
        ("AFTERRUN_PANIC_KEY", "X"),
        ("HOME", home.to_str().expect("UTF-8")),
    ];
    let words = [env!("CARGO_BIN_EXE_afterrun"), "demo"];
    let mut terminal = Terminal::start(&place, WIDE, &words, &env);
    terminal.wait_for(EDIT);
    terminal.keys("X");
    assert_eq!(terminal.end().code, 1);
    // The demo's own folder is gone with everything else.
    place.assert_clean("the interface");
    let folder = home.join(".local/state/afterrun");
    let entry = folder.metadata().expect("there");
    assert_eq!(entry.permissions().mode() & 0o777, 0o700);
    assert_eq!(names(&folder).len(), 1);
}

#[test]
fn a_report_without_a_home_is_in_the_temporary_folder() {
    let place = Place::new();
    let env = [("AFTERRUN_PANIC_KEY", "X"), ("HOME", "/dev/null/nowhere")];
    let mut terminal = on_world(&place, WIDE, &[], &env);
    terminal.keys("X");
    let ended = terminal.end();
    assert_eq!(ended.code, 1);
    let left = names(&place.tmp());
    assert!(
        matches!(&left[..], [name] if name.starts_with("crash-")),
        "{left:?}"
    );
    let said: String = ended.text.lines().collect();
    assert!(said.contains(&left[0]), "{}", ended.text);
}

#[test]
fn on_the_main_screen_nothing_is_left() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &["--no-alt-screen"], &[]);
    open(&mut terminal);
    let ended = quit(terminal, &place);
    assert!(!has(&ended.raw, "\x1b[?1049"));
    assert_undone(&ended.raw, &MODES);
    assert_eq!(ended.text.trim(), "", "left on the screen");
    // The cursor stands below what was drawn.
    assert!(has(&ended.raw, "\x1b[2J\x1b[45;1H\x1b[?25h"));
}

#[test]
fn a_dumb_terminal_gets_text_and_no_modes() {
    let place = Place::new();
    let env = [("TERM", "dumb"), ("COLORTERM", "truecolor")];
    let mut terminal = on_world(&place, WIDE, &[], &env);
    open(&mut terminal);
    terminal.keys("M");
    terminal.wait_for("mouse: this terminal reports none");
    let raw = quit(terminal, &place).raw;
    assert!(raw.is_ascii());
    assert_eq!(colours(&raw), [""; 0]);
    let modes = [
        "1049", "2026", "2004", "1004", "1000", "1002", "1003", "1006", "1015",
    ];
    for mode in modes {
        assert!(!has(&raw, &format!("\x1b[?{mode}")), "{mode}");
    }
    assert!(!has(&raw, "\x1b]") && !has(&raw, "\x1bP"));
}

#[test]
fn a_locale_without_utf8_gets_ascii() {
    for env in [
        &[("LANG", "C")][..],
        &[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")],
    ] {
        let place = Place::new();
        let mut terminal = on_world(&place, WIDE, &[], env);
        open(&mut terminal);
        terminal.wait_for("v archive");
        terminal.keys("?");
        terminal.wait_for("one line down");
        terminal.keys("\x1b");
        terminal.wait_gone("one line down");
        terminal.keys("i");
        terminal.wait_for("3 Info");
        let raw = quit(terminal, &place).raw;
        let bad = raw.iter().position(|byte| !byte.is_ascii());
        assert_eq!(bad, None, "{env:?}");
        // No more is taken from it than that.
        assert_undone(&raw, &[&[ALTERNATE][..], &MODES].concat());
        assert!(!colours(&raw).is_empty());
    }
}

#[test]
fn colours_are_those_that_were_chosen() {
    let seen = |args: &[&str], env: &[(&str, &str)]| {
        let place = Place::new();
        let mut terminal = on_world(&place, WIDE, args, env);
        open(&mut terminal);
        colours(&quit(terminal, &place).raw)
    };
    assert_eq!(seen(&[], &[("NO_COLOR", "1")]), [""; 0]);
    assert_eq!(seen(&["--theme", "none"], &[]), [""; 0]);
    // The terminal's own 16, in either notation.
    let own = |found: &str| match found.split_once("38;5;") {
        Some((_, index)) => {
            let index = index.split(';').next().and_then(|index| index.parse().ok());
            index.is_some_and(|index: u8| index < 16)
        }
        None => !found.contains("38;2;"),
    };
    let sixteen = seen(&["--theme", "16"], &[]);
    assert!(
        !sixteen.is_empty() && sixteen.iter().all(|found| own(found)),
        "{sixteen:?}"
    );
    let many = seen(&[], &[("AFTERRUN_THEME", "light")]);
    assert!(
        many.iter().any(|found| found.contains("38;5;28")),
        "{many:?}"
    );
    let whole = [("COLORTERM", "truecolor"), ("COLORFGBG", "15;0")];
    let whole = seen(&[], &whole);
    assert!(
        whole.iter().any(|found| found.contains("38;2;135;215;135")),
        "{whole:?}"
    );
}

/// Presses `y` on the first run and answers what reached the terminal's clipboard, as it was sent.
fn copied(env: &[(&str, &str)], end: &str) -> String {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[], env);
    terminal.keys("y");
    terminal.wait_for("sent to the clipboard: afterrun open");
    let ended = quit(terminal, &place);
    let raw = String::from_utf8(ended.raw).expect("UTF-8");
    let begin = raw.find("\x1b]52;c;").expect("a copy");
    let begin = raw[..begin]
        .rfind("\x1bP")
        .filter(|at| at + 2 == begin)
        .unwrap_or(begin);
    let rest = &raw[begin..];
    let last = rest.rfind(end).expect("its end");
    rest[..last + end.len()].to_owned()
}

#[test]
fn a_copy_is_sent_as_each_terminal_takes_it() {
    let (database, store) = (&world().database, &world().store);
    let command = format!(
        "afterrun open {} --db {} --store {}",
        id::STORY2,
        database.display(),
        store.display()
    );
    let plain = format!("\x1b]52;c;{}\x07", STANDARD.encode(command));
    assert_eq!(copied(&[], "\x07"), plain);
    assert_eq!(copied(&[("ZELLIJ", "0")], "\x07"), plain);
    let tmux = [
        ("TMUX", "/tmp/tmux-0/default,1,0"),
        ("TERM", "tmux-256color"),
    ];
    assert_eq!(
        copied(&tmux, "\x1b\\"),
        format!("{plain}\x1bPtmux;\x1b{plain}\x1b\\")
    );
    let screen = [("STY", "1.pts-0.host"), ("TERM", "screen")];
    assert_eq!(copied(&screen, "\x1b\\"), format!("\x1bP{plain}\x1b\\"));
}

#[test]
fn a_copy_that_the_terminal_cannot_take_is_in_a_file() {
    for term in ["linux", "dumb"] {
        let place = Place::new();
        let run = place.path("run");
        std::fs::create_dir(&run).expect("made");
        let env = [
            ("TERM", term),
            ("XDG_RUNTIME_DIR", run.to_str().expect("UTF-8")),
        ];
        let mut terminal = on_world(&place, WIDE, &[], &env);
        terminal.keys("y");
        terminal.wait("where it is", |terminal| {
            let text: String = terminal.text().split_whitespace().collect();
            text.contains("thecopyisin") && text.contains("afterrun-copy-")
        });
        let raw = quit(terminal, &place).raw;
        assert!(!has(&raw, "\x1b]52"));
        let files = names(&run);
        assert!(
            matches!(&files[..], [name] if name.ends_with(".txt")),
            "{files:?}"
        );
        let file = run.join(&files[0]);
        let text = std::fs::read_to_string(&file).expect("read");
        assert!(
            text.starts_with(&format!("afterrun open {}", id::STORY2)),
            "{text}"
        );
        let mode = file.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_paste_goes_into_a_prompt_and_nowhere_else() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[], &[]);
    // Keys that would quit, if they were keys.
    terminal.keys("\x1b[200~q\x03:\x1b[201~");
    terminal.wait_for("pasted text goes into a prompt");
    terminal.keys("/\x1b[200~amounts with\r\x1b[201~");
    terminal.wait_for("5 of 24");
    terminal.wait_for("filter the runs /amounts with");
    terminal.keys("\x1b");
    terminal.wait_for("Look around");
    quit(terminal, &place);
}

/// The row of the screen that shows `text`, from 0, and whether it is the one under the cursor.
fn row(terminal: &Terminal, text: &str) -> Option<(u16, bool)> {
    terminal.screen(|screen| {
        let (rows, columns) = screen.size();
        let (at, line) = (0..rows.get())
            .zip(screen.rows(0, columns.get()))
            .find(|(_, line)| line.contains(text))?;
        let byte = line.find(text)?;
        let column = u16::try_from(line[..byte].chars().count()).ok()?;
        Some((at, screen.cell(at, column)?.inverse()))
    })
}

#[test]
fn the_mouse_chooses_and_turns_until_it_is_off() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[], &[]);
    let click = |terminal: &mut Terminal, text: &str| {
        let (at, _) = row(terminal, text).expect("there");
        terminal.keys(&format!("\x1b[<0;10;{0}M\x1b[<0;10;{0}m", at + 1));
    };
    let chosen = |text: &'static str| {
        move |terminal: &Terminal| row(terminal, text).is_some_and(|(_, chosen)| chosen)
    };
    click(&mut terminal, "Pantry: amounts");
    terminal.wait("the clicked row", chosen("Pantry: amounts"));
    terminal.keys("?");
    terminal.wait_for("only runs of the next status");
    terminal.keys("\x1b[<65;80;20M\x1b[<65;80;20M");
    terminal.wait_gone("only runs of the next status");
    terminal.keys("\x1b[<64;80;20M\x1b[<64;80;20M");
    terminal.wait_for("only runs of the next status");
    terminal.keys("\x1b");
    terminal.wait_gone("only runs of the next status");
    terminal.keys("M");
    terminal.wait_for("mouse off");
    assert_undone(&terminal.raw(), &[("\x1b[?1000h", "\x1b[?1000l")]);
    // A report that was under way is not obeyed any more.
    click(&mut terminal, "Look around");
    terminal.keys("M");
    terminal.wait_for("mouse on");
    terminal.wait("the row as it was", chosen("Pantry: amounts"));
    click(&mut terminal, "Look around");
    terminal.wait("the clicked row", chosen("Look around"));
    assert_undone(&quit(terminal, &place).raw, &MODES);
}

#[test]
fn reports_of_the_focus_are_no_keys() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[], &[]);
    terminal.keys("\x1b[O");
    open(&mut terminal);
    terminal.keys("\x1b[I/");
    terminal.wait_for("filter the runs");
    terminal.keys("\x1b[O\x1b[Ix");
    terminal.wait_for("filter the runs /x");
    terminal.keys("\x1b");
    terminal.wait_gone("filter the runs");
    let raw = quit(terminal, &place).raw;
    // It was through before anybody could have gone.
    assert!(!has(&raw, "\x1b]9;"));
}

#[test]
fn a_storm_of_resizes_ends_at_the_right_frame() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[], &[]);
    open(&mut terminal);
    terminal.wait_for("✔ archive");
    let calm = terminal.text();
    for step in 0..100 {
        terminal.resize((40 + step * 7 % 140, 8 + step * 5 % 50));
    }
    terminal.resize(WIDE);
    terminal.wait("the frame as it was", |terminal| terminal.text() == calm);
    quit(terminal, &place);
}

#[test]
fn a_key_beside_a_resize_is_heard() {
    let place = Place::new();
    let mut terminal = on_world(&place, WIDE, &[], &[]);
    // Which of the two is seen first is a matter of luck.
    for round in 0..150 {
        terminal.resize((120 + round % 2, 40));
        terminal.keys("?");
        terminal.wait_for("one line down");
        terminal.resize((120 + round % 3, 40));
        terminal.keys("?");
        terminal.wait_gone("one line down");
    }
    quit(terminal, &place);
}

#[test]
fn the_shell_has_its_screen_while_it_is_suspended() {
    // The shell asks for pastes itself.
    let own = MODES
        .into_iter()
        .filter(|(taken, _)| *taken != "\x1b[?2004h");
    let own: Vec<_> = own.collect();
    for (more, modes) in [
        ("", [&[ALTERNATE][..], &own].concat()),
        (" --no-alt-screen", own.clone()),
    ] {
        let place = Place::new();
        let words = ["bash", "--norc", "--noprofile", "-i"];
        let mut terminal = Terminal::start(&place, WIDE, &words, &[("PS1", "prompt> ")]);
        terminal.wait_for("prompt> ");
        let command = env!("CARGO_BIN_EXE_afterrun");
        terminal.keys(&format!("{command} demo{more}\r"));
        terminal.wait_for(EDIT);
        terminal.keys("\x1a");
        terminal.wait_for("Stopped");
        assert_undone(&terminal.raw(), &modes);
        terminal.keys("fg\r");
        terminal.wait_for(EDIT);
        terminal.wait("every mode again", |terminal| {
            let raw = terminal.raw();
            let raw = String::from_utf8_lossy(&raw);
            modes
                .iter()
                .all(|(taken, _)| raw.matches(taken).count() >= 2)
        });
        terminal.keys("q");
        terminal.wait("the shell's prompt", |terminal| {
            terminal.text().trim_end().ends_with("\nprompt>")
        });
        terminal.keys("exit\r");
        assert_undone(&terminal.end().raw, &modes);
        place.assert_clean("the interface");
    }
}

#[test]
fn a_screen_reader_gets_words_and_a_cursor() {
    let place = Place::new();
    let mut terminal = on_world(&place, (80, 24), &["--linear"], &[]);
    terminal.wait_for("unfolded engineer");
    let at = |text: &'static str| {
        move |terminal: &Terminal| {
            terminal.screen(|screen| {
                let (row, column) = screen.cursor_position();
                let line = screen.rows(0, 80).nth(row.into()).unwrap_or_default();
                // In the middle of a frame it may stand beyond what is written.
                let rest = line.get(column.into()..);
                !screen.hide_cursor() && rest.is_some_and(|rest| rest.starts_with(text))
            })
        }
    };
    terminal.wait("the cursor on the first run", at("done  2 "));
    terminal.keys("k");
    terminal.wait("the cursor a row above", at("unfolded Look around"));
    terminal.keys("h");
    terminal.wait("the cursor on a folded row", at("folded Look around"));
    let raw = quit(terminal, &place).raw;
    for sign in ["│", "─", "╭", "✔", "▾", "▸"] {
        assert!(!has(&raw, sign), "{sign}");
    }
    // The mouse is the screen reader's own.
    assert!(!has(&raw, "\x1b[?1000h"));
}
