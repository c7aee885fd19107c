//! The interface on the hostile world: through every view at every width, in every manner of drawing.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use super::common::names;
use super::common::pty::{Ended, Terminal, until};
use super::hostile_world::Hostile;
use super::payloads::{PAYLOADS, all, evil, is_name, read, seen};
use super::strict;

/// The interface, and every screen that stood there when it came to rest.
struct Walk<'a> {
    world: &'a Hostile,
    terminal: Terminal,
    screens: Vec<String>,
    framed: bool,
}

impl<'a> Walk<'a> {
    fn start(world: &'a Hostile, size: (u16, u16), more: &[&str], env: &[(&str, &str)]) -> Self {
        let words = [
            env!("CARGO_BIN_EXE_afterrun"),
            "--db",
            "evil.sqlite",
            "--store",
            "store",
            "-vvv",
        ];
        let terminal = Terminal::start(&world.place, size, &[&words, more].concat(), env);
        let framed = !more
            .iter()
            .any(|word| ["--linear", "--ascii"].contains(word));
        Self {
            world,
            terminal,
            screens: Vec::new(),
            framed,
        }
    }

    /// Types, and looks at what stands there once nothing more comes.
    #[track_caller]
    fn keys(&mut self, keys: &str) -> &mut Self {
        self.terminal.keys(keys);
        self.look()
    }

    #[track_caller]
    fn look(&mut self) -> &mut Self {
        // What is asserted does not hang on it: this only waits for more to look at.
        let (mut length, mut since) = (0, Instant::now());
        let began = Instant::now();
        until(|| {
            let now = self.terminal.raw().len();
            if now != length {
                (length, since) = (now, Instant::now());
            }
            let rests = since.elapsed() > Duration::from_millis(40);
            (rests || began.elapsed() > Duration::from_secs(3)).then_some(())
        });
        let text = self.terminal.text();
        if self.framed {
            assert_framed(&self.terminal);
        }
        self.screens.push(text);
        self
    }

    /// Whether this was read on one of the screens.
    fn saw(&self, text: &str) -> bool {
        self.screens.iter().any(|screen| screen.contains(text))
    }

    #[track_caller]
    fn end(mut self) -> (Ended, Vec<String>) {
        for _ in 0..6 {
            self.terminal.keys("\x1b");
            self.look();
        }
        self.terminal.keys("q");
        let ended = self.terminal.end();
        assert_eq!((ended.code, &ended.signal), (0, &None), "{}", ended.text);
        strict::text(&ended.raw).unwrap_or_else(|why| panic!("{why}"));
        // What a terminal without a clipboard could not take, as the bottom line says.
        for name in names(&self.world.place.tmp()) {
            if name.starts_with("afterrun-copy-") {
                std::fs::remove_file(self.world.place.tmp().join(name)).expect("removed");
            }
        }
        self.world.place.assert_clean("the interface");
        (ended, self.screens)
    }
}

/// The lines of the frame stand in the same columns from top to bottom, whatever is between them.
#[track_caller]
fn assert_framed(terminal: &Terminal) {
    let (rows, columns) = terminal.screen(vt100::Screen::size);
    let (rows, columns) = (rows.get(), columns.get());
    let cell = |row: u16, column: u16| {
        terminal.screen(|screen| {
            let cell = screen.cell(row, column);
            cell.map(|cell| cell.contents().to_owned())
                .unwrap_or_default()
        })
    };
    if cell(0, 0) != "╭" {
        return;
    }
    for row in 0..rows {
        let right = cell(row, columns - 1);
        assert!(
            ["╮", "│", "┤", "╯"].contains(&right.as_str()),
            "row {row} ends in {right:?}:\n{}",
            terminal.text()
        );
    }
    let bottom = (0..rows).find(|row| cell(*row, 0) == "├").expect("an edge");
    let edges = (1..columns - 1).filter(|column| cell(bottom, *column) == "┴");
    // A box may lie over the middle; the first row and the last are the panes' own.
    for column in edges {
        for row in [1, 2, bottom - 1] {
            let edge = cell(row, column);
            assert!(
                edge == "│" || is_over(terminal),
                "row {row}, column {column} is {edge:?}:\n{}",
                terminal.text()
            );
        }
    }
}

/// Whether a box lies over the panes.
fn is_over(terminal: &Terminal) -> bool {
    terminal
        .text()
        .lines()
        .skip(1)
        .any(|line| line.contains('╭'))
}

/// An editor that keeps how it was started.
fn editor(world: &Hostile) -> String {
    let script = world.path("recorder");
    std::fs::write(
        &script,
        "#!/bin/sh\nfor file; do :; done\ncat \"$file\" >> contents\nprintf '%s\\n' \"$@\" >> words\n",
    )
    .expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made");
    script.to_str().expect("UTF-8").to_owned()
}

/// Goes through everything that can be seen of a run.
fn through(walk: &mut Walk<'_>) {
    walk.terminal
        .wait("the list", |terminal| terminal.text().contains("PWN"));
    walk.keys("g")
        .keys("G")
        .keys("T")
        .keys("G")
        .keys("g")
        .keys("T")
        .keys("o")
        .keys("o")
        .keys("o");
    walk.keys("/PWN").keys("\r").keys("\x1b");
    walk.keys(":")
        .keys("PWN")
        .keys("\x1b")
        .keys("?")
        .keys("\x1b");
    let paste = format!("\x1b[200~{}\x1b[201~", all().replace('\x1b', "^"));
    for prompt in [":", "A", "/", "S"] {
        walk.keys(prompt)
            .keys(&paste)
            .keys("\r")
            .keys("\x1b")
            .keys("\x1b");
    }
}

fn through_run(walk: &mut Walk<'_>) {
    walk.keys("2")
        .keys("G")
        .keys("g")
        .keys("x")
        .keys("x")
        .keys("x")
        .keys("jjjjjj");
    walk.keys("/PWN").keys("\r").keys("\x1b");
    walk.keys("3")
        .keys("d")
        .keys("}")
        .keys("}")
        .keys("]")
        .keys("|")
        .keys("w")
        .keys("W");
    walk.keys("LLLL")
        .keys("HH")
        .keys("+")
        .keys("/PWN\r")
        .keys("n")
        .keys("\x1b");
    walk.keys("f")
        .keys("LL")
        .keys("t")
        .keys("i")
        .keys("\x04")
        .keys("\x04")
        .keys("\x04")
        .keys("G");
    walk.keys("g")
        .keys("jjjjj\r")
        .keys("z")
        .keys("\x04")
        .keys("z");
    walk.keys("b").keys("d").keys("b").keys("b");
    walk.keys("y")
        .keys("Y")
        .keys("J")
        .keys("\x1b")
        .keys("<")
        .keys(">");
    for (key, path) in [("r", "restored"), ("p", "out.patch"), ("F", "kept.gz")] {
        let name = evil(0, path).replace('\x1b', "^");
        walk.keys(key)
            .keys("\x15")
            .keys(&format!("\x1b[200~{name}\x1b[201~"));
        walk.keys("\t")
            .keys("\r")
            .keys("\r")
            .keys("\x1b")
            .keys("\x1b");
    }
    walk.keys("J").keys("\x1b").keys("M").keys("R");
}

#[test]
fn every_view_at_every_width() {
    let world = Hostile::new();
    for size in [(200, 60), (120, 35), (80, 24), (60, 16)] {
        let mut walk = Walk::start(&world, size, &[], &[]);
        through(&mut walk);
        walk.end();
        let mut walk = Walk::start(&world, size, &["open", &world.run], &[]);
        walk.terminal
            .wait("the run", |terminal| terminal.text().contains("sha256"));
        walk.look();
        through_run(&mut walk);
        let (_, screens) = walk.end();
        assert!(
            screens.iter().any(|screen| screen.contains("PWN")),
            "{size:?}"
        );
    }
}

#[test]
fn every_manner_of_drawing() {
    let world = Hostile::new();
    for (more, env) in [
        (&["--ascii"][..], &[][..]),
        (&["--linear"], &[]),
        (&["--no-alt-screen"], &[("NO_COLOR", "1")]),
        (&[], &[("TERM", "dumb")]),
    ] {
        let mut walk = Walk::start(&world, (120, 35), more, env);
        through(&mut walk);
        walk.keys("g").keys("1");
        walk.end();
        let more = [&["open", &world.run], more].concat();
        let mut walk = Walk::start(&world, (120, 35), &more, env);
        walk.terminal
            .wait("the run", |terminal| terminal.text().contains("sha256"));
        through_run(&mut walk);
        walk.end();
    }
}

#[test]
fn every_text_is_read_in_the_list_and_in_the_tree() {
    let world = Hostile::new();
    let mut walk = Walk::start(&world, (200, 60), &[], &[]);
    walk.terminal
        .wait("the list", |terminal| terminal.text().contains("PWN"));
    walk.keys("z").keys("g");
    for _ in 0..8 {
        walk.keys("\x04");
    }
    for number in 0..PAYLOADS.len() {
        for field in ["agent", "title"] {
            let wanted = match field {
                "title" => read(number, field),
                _ => seen(number, field),
            };
            // Of a title the first line is shown.
            let is_cut = field == "title" && wanted.contains("\\n");
            assert!(is_cut || walk.saw(&wanted), "{wanted:?} is on no screen");
        }
    }
    walk.end();
    let mut walk = Walk::start(&world, (200, 60), &["open", &world.run], &[]);
    walk.terminal.wait("the diff", |terminal| {
        terminal.text().contains("88 changed")
    });
    walk.keys("2").keys("z").keys("g");
    for _ in 0..8 {
        walk.keys("\x04");
    }
    for number in 0..PAYLOADS.len() {
        let wanted = seen(number, "f");
        assert!(
            !is_name(number) || walk.saw(&wanted),
            "{wanted:?} is on no screen"
        );
    }
    walk.keys("z").keys("3").keys("i").keys("z").keys("g");
    for _ in 0..40 {
        walk.keys("\x04");
    }
    assert!(
        walk.saw("a bidi override (U+202E)"),
        "Info tells what hides"
    );
    walk.end();
}

#[test]
fn an_editor_is_given_a_harmless_name_and_the_content_as_it_is() {
    let world = Hostile::new();
    let editor = editor(&world);
    let mut contents = String::new();
    for (at, number) in [0, 13, 15, 33].into_iter().enumerate() {
        let name = evil(number, "f");
        let words = ["open", &world.run, &name, "--view", "file"];
        let mut walk = Walk::start(&world, (120, 35), &words, &[("VISUAL", &editor)]);
        let shown = format!("PWN{number:02}");
        walk.terminal.wait("the file", |terminal| {
            terminal.text().contains("content ") && terminal.text().contains(&shown)
        });
        walk.keys("e");
        let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap_or_default();
        walk.terminal
            .wait("the editor", |_| read("words").lines().count() > at);
        walk.terminal.wait_for("1 Runs");
        let words = read("words");
        let given = words.lines().last().expect("a word");
        let base = given.rsplit('/').next().expect("a name");
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        assert!(base.starts_with('f') && base.chars().all(plain), "{base:?}");
        contents += &(evil(number, "content ") + "\n");
        assert_eq!(read("contents"), contents, "an editor gets every byte");
        walk.end();
    }
    assert!(!world.path("x").exists(), "a name is no command");
}
