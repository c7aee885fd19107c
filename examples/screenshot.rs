//! Draws `assets/screen.svg` from the real interface: the `afterrun` binary runs its demo in a
//! pseudo terminal, keys are sent, and the cells on its screen become an SVG.
//!
//! ```text
//! cargo build && cargo run --example screenshot [-- OUT.svg [KEYS…]]
//! ```
//!
//! Each of KEYS is sent as it is once the screen has come to rest (`enter`, `tab` and `esc` by name).

use std::error::Error;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use vt100::{Cell, Color, Parser, Screen};

const COLUMNS: u16 = 120;
const ROWS: u16 = 32;
/// The screen has come to rest when nothing was written for this long.
const REST: Duration = Duration::from_millis(600);
const PATIENCE: Duration = Duration::from_secs(30);
/// What stands there once the first run is open and its files are compared.
const OPENED: [&str; 3] = ["✔ archive", "Hello World!", "+ Edited by the engineer"];
/// To the fifth turn of another session, and through its changed files to one with two hunks.
const KEYS: &str = "j j j j j enter 3 } } } } } } } } }";

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let out = words.next().map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/screen.svg"),
        PathBuf::from,
    );
    let mut keys: Vec<String> = words.collect();
    if keys.is_empty() {
        keys = KEYS.split(' ').map(str::to_owned).collect();
    }
    let svg = draw(photograph(&keys)?.screen());
    std::fs::write(&out, &svg)?;
    println!("{}: {} bytes", out.display(), svg.len());
    Ok(())
}

/// The binary beside this example's folder.
fn binary() -> Result<PathBuf, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let binary = own.ancestors().nth(2).map(|dir| dir.join("afterrun"));
    binary
        .filter(|path| path.is_file())
        .ok_or_else(|| "there is no afterrun binary yet: cargo build".into())
}

/// Runs the demo until its screen rests after the last key; then quits it.
fn photograph(keys: &[String]) -> Result<Parser, Box<dyn Error>> {
    // Built at a relative path, so that the title shows the same names everywhere.
    let folder = tempfile::tempdir()?;
    let mut command = CommandBuilder::new(binary()?);
    command.args(["demo", "--dir", "demo"]);
    command.cwd(folder.path());
    command.env_clear();
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    command.env("TMPDIR", folder.path());
    let pair = native_pty_system().openpty(PtySize {
        rows: ROWS,
        cols: COLUMNS,
        pixel_width: 0,
        pixel_height: 0,
    })?;
    let mut child = pair.slave.spawn_command(command)?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader()?;
    let mut keyboard = pair.master.take_writer()?;
    let (sender, output) = channel();
    std::thread::spawn(move || {
        let mut piece = [0; 8192];
        while let Ok(count @ 1..) = reader.read(&mut piece) {
            if sender.send(piece[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let size = |number| NonZeroU16::new(number).ok_or("a screen has a size");
    let mut parser = Parser::new(size(ROWS)?, size(COLUMNS)?, 0);
    let rested = rest(&mut parser, &output, &OPENED).and_then(|()| {
        keys.iter().try_for_each(|key| {
            let bytes = match key.as_str() {
                "enter" => "\r",
                "tab" => "\t",
                "esc" => "\x1b",
                other => other,
            };
            keyboard.write_all(bytes.as_bytes())?;
            keyboard.flush()?;
            rest(&mut parser, &output, &[])
        })
    });
    if rested.is_err() {
        child.kill()?;
    } else {
        keyboard.write_all(b"q")?;
        keyboard.flush()?;
    }
    let status = child.wait()?;
    rested?;
    if status.success() {
        Ok(parser)
    } else {
        Err(format!("afterrun ended with {status:?}").into())
    }
}

/// Reads until all of `wanted` stands on the screen and nothing more is written for a while.
fn rest(
    parser: &mut Parser,
    output: &Receiver<Vec<u8>>,
    wanted: &[&str],
) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    loop {
        match output.recv_timeout(REST) {
            Ok(piece) => parser.process(&piece),
            Err(RecvTimeoutError::Timeout) => {
                let shown = parser.screen().contents();
                if wanted.iter().all(|text| shown.contains(text)) {
                    return Ok(());
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("it ended early:\n{}", parser.screen().contents()).into());
            }
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("it never came to rest:\n{}", parser.screen().contents()).into());
        }
    }
}

const WIDTH: f32 = 8.4;
const HEIGHT: f32 = 19.0;
const SIZE: f32 = 14.0;
const MARGIN: f32 = 16.0;
const BAR: f32 = 34.0;
const BACKGROUND: &str = "#0d1117";
const FOREGROUND: &str = "#d0d7de";
/// The sixteen colours, as a dark terminal has them.
const PALETTE: [&str; 16] = [
    "#484f58", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#b1bac4",
    "#6e7681", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#9be9f0", "#f0f6fc",
];

fn draw(screen: &Screen) -> String {
    let width = f32::from(COLUMNS) * WIDTH + 2.0 * MARGIN;
    let height = f32::from(ROWS) * HEIGHT + MARGIN + BAR;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" xml:space=\"preserve\" \
         font-family=\"ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace\" \
         font-size=\"{SIZE}\">\n\
         <title>afterrun demo: runs, the files of an open run, and their diff</title>\n\
         <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"10\" fill=\"{BACKGROUND}\" \
         stroke=\"#30363d\"/>\n",
        width - 1.0,
        height - 1.0
    );
    for (x, color) in [(20, "#ff5f57"), (40, "#febc2e"), (60, "#28c840")] {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{color}\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"23\" text-anchor=\"middle\" fill=\"#8b949e\">afterrun demo</text>",
        width / 2.0
    );
    for row in 0..ROWS {
        draw_row(&mut svg, screen, row);
    }
    svg.push_str("</svg>\n");
    svg
}

/// What makes cells part of one piece of text.
#[derive(Clone, Copy, PartialEq)]
struct Look {
    color: &'static str,
    behind: Option<&'static str>,
    bold: bool,
    dim: bool,
    underline: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let named = |color: Color, default| match color {
            Color::Idx(index) => PALETTE.get(usize::from(index)).copied().unwrap_or(default),
            _ => default,
        };
        let color = named(cell.fgcolor(), FOREGROUND);
        let behind = match cell.bgcolor() {
            Color::Default => None,
            other => Some(named(other, BACKGROUND)),
        };
        let (color, behind) = if cell.inverse() {
            (behind.unwrap_or(BACKGROUND), Some(color))
        } else {
            (color, behind)
        };
        Self {
            color,
            behind,
            bold: cell.bold(),
            dim: cell.dim(),
            underline: cell.underline(),
        }
    }
}

fn draw_row(svg: &mut String, screen: &Screen, row: u16) {
    let mut column = 0;
    while let Some(cell) = screen.cell(row, column) {
        let look = Look::of(cell);
        let mut text = String::new();
        let first = column;
        // One look; letters of ASCII together, anything else alone, since its font may be another.
        while let Some(cell) = screen.cell(row, column) {
            let contents = if cell.has_contents() {
                cell.contents()
            } else {
                " "
            };
            if Look::of(cell) != look || !contents.is_ascii() && column > first {
                break;
            }
            text.push_str(contents);
            column += if cell.is_wide() { 2 } else { 1 };
            if !contents.is_ascii() {
                break;
            }
        }
        draw_piece(svg, &text, look, (first, column, row));
    }
}

fn draw_piece(svg: &mut String, text: &str, look: Look, (first, end, row): (u16, u16, u16)) {
    let left = MARGIN + f32::from(first) * WIDTH;
    let top = BAR + f32::from(row) * HEIGHT;
    let wide = f32::from(end - first) * WIDTH;
    if let Some(color) = look.behind {
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{HEIGHT}\" fill=\"{color}\"/>"
        );
    }
    let faint = if look.dim { " opacity=\".6\"" } else { "" };
    if look.underline {
        let _ = writeln!(
            svg,
            "<path d=\"M{left:.1} {}h{wide:.1}\" stroke=\"{}\"{faint}/>",
            top + HEIGHT - 2.5,
            look.color
        );
    }
    if let Some(path) = frame(text, left, top) {
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\"{faint}/>",
            look.color
        );
        return;
    }
    let weight = if look.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    for (at, word) in words(text) {
        let columns = if text.is_ascii() {
            word.len() as f32
        } else {
            f32::from(end - first)
        };
        let escaped = word.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{weight}{faint}>{escaped}</text>",
            left + at as f32 * WIDTH,
            top + 14.0,
            columns * WIDTH,
            look.color
        );
    }
}

/// The pieces of `text` between two or more spaces, with their places.
fn words(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at) = (Vec::new(), 0);
    for piece in text.split("  ") {
        let word = piece.trim_start();
        if !word.trim_end().is_empty() {
            found.push((at + piece.len() - word.len(), word.trim_end()));
        }
        at += piece.len() + 2;
    }
    found
}

/// Frames are drawn as lines, so that they join whatever the font.
fn frame(text: &str, left: f32, top: f32) -> Option<String> {
    let (x, y) = (left + WIDTH / 2.0, top + HEIGHT / 2.0);
    let (right, bottom, radius) = (left + WIDTH, top + HEIGHT, 4.0);
    let across = format!("M{left:.1} {y:.1}H{right:.1}");
    let down = format!("M{x:.1} {top:.1}V{bottom:.1}");
    Some(match text {
        "─" => across,
        "│" => down,
        "┼" => across + &down,
        "├" => format!("{down}M{x:.1} {y:.1}H{right:.1}"),
        "┤" => format!("{down}M{left:.1} {y:.1}H{x:.1}"),
        "┬" => format!("{across}M{x:.1} {y:.1}V{bottom:.1}"),
        "┴" => format!("{across}M{x:.1} {top:.1}V{y:.1}"),
        "└" => format!("M{x:.1} {top:.1}V{y:.1}H{right:.1}"),
        "╭" => format!(
            "M{x:.1} {bottom:.1}V{:.1}Q{x:.1} {y:.1} {:.1} {y:.1}H{right:.1}",
            y + radius,
            x + radius
        ),
        "╮" => format!(
            "M{left:.1} {y:.1}H{:.1}Q{x:.1} {y:.1} {x:.1} {:.1}V{bottom:.1}",
            x - radius,
            y + radius
        ),
        "╰" => format!(
            "M{x:.1} {top:.1}V{:.1}Q{x:.1} {y:.1} {:.1} {y:.1}H{right:.1}",
            y - radius,
            x + radius
        ),
        "╯" => format!(
            "M{left:.1} {y:.1}H{:.1}Q{x:.1} {y:.1} {x:.1} {:.1}V{top:.1}",
            x - radius,
            y - radius
        ),
        _ => return None,
    })
}
