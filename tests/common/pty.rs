//! A terminal around the binary: what it writes goes into a screen (vt100) and is kept raw too; what a
//! test waits for is looked for on that screen until it is there.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use super::Place;

/// Nothing here takes this long, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until `there` answers something.
pub fn until<T>(mut there: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        if let Some(answer) = there() {
            return Some(answer);
        }
        if begun.elapsed() > PATIENCE {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

struct Seen {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

/// A program in a terminal.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    seen: Arc<Mutex<Seen>>,
    hung_up: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

/// How the program in the terminal ended.
pub struct Ended {
    pub code: u32,
    pub signal: Option<String>,
    /// Everything that it wrote.
    pub raw: Vec<u8>,
    /// What stands on the screen in the end.
    pub text: String,
}

impl Ended {
    /// The last word on each mode of the terminal is what it was before.
    #[track_caller]
    pub fn assert_given_back(&self) {
        let raw = String::from_utf8_lossy(&self.raw);
        for (taken, given) in [
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?25l", "\x1b[?25h"),
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?1000h", "\x1b[?1000l"),
            ("\x1b[?1006h", "\x1b[?1006l"),
        ] {
            let (taken, given) = (raw.rfind(taken).expect("taken"), raw.rfind(given));
            assert!(
                given.is_some_and(|given| taken < given),
                "{taken:?} is not undone"
            );
        }
        assert!(
            !self.text.contains("afterrun ──"),
            "left on the screen:\n{}",
            self.text
        );
    }
}

fn side(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).expect("a side")
}

fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

impl Terminal {
    /// `afterrun ARGS` in `place`, on a terminal of these columns and rows.
    pub fn afterrun(place: &Place, columns_rows: (u16, u16), args: &[&str]) -> Self {
        let binary = env!("CARGO_BIN_EXE_afterrun");
        Self::start(place, columns_rows, &[&[binary], args].concat(), &[])
    }

    /// Any command, with some environment of its own.
    pub fn start(
        place: &Place,
        columns_rows: (u16, u16),
        words: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns_rows));
        let pair = pair.expect("a terminal");
        let mut command = CommandBuilder::new(words[0]);
        command.env_clear();
        for (name, value) in place.environment() {
            command.env(name, value);
        }
        for (name, value) in environment {
            command.env(name, value);
        }
        command.args(&words[1..]);
        command.cwd(place.path(""));
        let mut bytes = pair.master.try_clone_reader().expect("a reader");
        let writer = pair.master.take_writer().expect("a writer");
        let child = pair.slave.spawn_command(command).expect("started");
        drop(pair.slave);
        let (columns, rows) = columns_rows;
        let seen = Arc::new(Mutex::new(Seen {
            parser: vt100::Parser::new(side(rows), side(columns), 0),
            raw: Vec::new(),
        }));
        let hung_up = Arc::new(AtomicBool::new(false));
        let (into, stop) = (Arc::clone(&seen), Arc::clone(&hung_up));
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end is an error here: nobody holds the other side any more.
            while let Ok(count @ 1..) = bytes.read(&mut piece) {
                let mut seen = into.lock().expect("whole");
                seen.raw.extend(&piece[..count]);
                seen.parser.process(&piece[..count]);
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        Self {
            child,
            master: pair.master,
            writer,
            seen,
            hung_up,
            reader: Some(reader),
        }
    }

    /// Types.
    #[track_caller]
    pub fn keys(&mut self, keys: &str) {
        let typed = self.writer.write_all(keys.as_bytes());
        typed.and_then(|()| self.writer.flush()).expect("typed");
    }

    /// Asks something of the screen.
    pub fn screen<T>(&self, ask: impl FnOnce(&vt100::Screen) -> T) -> T {
        ask(self.seen.lock().expect("whole").parser.screen())
    }

    /// What stands on the screen.
    pub fn text(&self) -> String {
        self.screen(vt100::Screen::contents)
    }

    /// Everything that it wrote so far.
    pub fn raw(&self) -> Vec<u8> {
        self.seen.lock().expect("whole").raw.clone()
    }

    /// Whether `text` stands below the panes, across lines.
    pub fn bottom_has(&self, text: &str) -> bool {
        let all = self.text();
        squeezed(all.lines().skip_while(|line| !line.starts_with('├')))
            .contains(&squeezed(text.lines()))
    }

    /// Whether `text` stands in the pane whose title begins with `title`, across lines.
    pub fn pane_has(&self, title: &str, text: &str) -> bool {
        let all = self.text();
        let pane = all.lines().nth(1).and_then(|line| {
            let cells: Vec<char> = line.chars().collect();
            let edges = cells.iter().enumerate().filter(|(_, c)| **c == '│');
            let edges: Vec<usize> = edges.map(|(at, _)| at).collect();
            let inside = |edge: &&[usize]| {
                let name: String = cells[edge[0] + 1..edge[1]].iter().collect();
                name.trim_start().starts_with(title)
            };
            edges.windows(2).find(inside).map(<[usize]>::to_vec)
        });
        let Some(edges) = pane else { return false };
        let column = |at: usize| u16::try_from(at).expect("on the screen");
        let (start, width) = (column(edges[0] + 1), column(edges[1] - edges[0] - 1));
        let rows: Vec<String> = self.screen(|screen| screen.rows(start, width).collect());
        squeezed(rows.iter().map(String::as_str)).contains(&squeezed(text.lines()))
    }

    /// Waits until `there` is true of the terminal.
    #[track_caller]
    pub fn wait(&self, what: &str, there: impl Fn(&Self) -> bool) {
        if until(|| there(self).then_some(())).is_none() {
            panic!("waited in vain for {what}:\n{}", self.text());
        }
    }

    /// Waits until `text` stands on the screen, on one line.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait(text, |terminal| terminal.text().contains(text));
    }

    /// Waits until `text` is gone from the screen.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) {
        self.wait(&format!("{text} to go"), |terminal| {
            !terminal.text().contains(text)
        });
    }

    /// Makes the terminal larger or smaller.
    pub fn resize(&self, columns_rows: (u16, u16)) {
        let (columns, rows) = columns_rows;
        let mut seen = self.seen.lock().expect("whole");
        seen.parser.set_size(side(rows), side(columns));
        drop(seen);
        self.master.resize(size(columns_rows)).expect("resized");
    }

    /// The program's process.
    pub fn pid(&self) -> Pid {
        let pid = self
            .child
            .process_id()
            .and_then(|pid| i32::try_from(pid).ok());
        pid.and_then(Pid::from_raw).expect("a process")
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("sent");
    }

    /// Waits for the end.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let status = until(|| self.child.try_wait().expect("a status"));
        let Some(status) = status else {
            panic!("it does not end:\n{}", self.text());
        };
        if let Some(reader) = self.reader.take() {
            reader.join().expect("read");
        }
        let seen = self.seen.lock().expect("whole");
        Ended {
            code: status.exit_code(),
            signal: status.signal().map(str::to_owned),
            raw: seen.raw.clone(),
            text: seen.parser.screen().contents(),
        }
    }

    /// Takes the terminal away, as when a line drops, and waits for the program's end.
    #[track_caller]
    pub fn hang_up(mut self) {
        // The reader lets go with the next piece; that is what drawing anew is for.
        self.hung_up.store(true, Ordering::SeqCst);
        self.resize((100, 30));
        if let Some(reader) = self.reader.take() {
            reader.join().expect("read");
        }
        let pid = self.pid();
        // It finds an event, the signal, and nothing more to read, all at once.
        self.signal(Signal::STOP);
        self.resize((90, 25));
        self.writer = Box::new(std::io::sink());
        let (sender, receiver) = std::sync::mpsc::channel();
        // The child is asked beside it: dropping the last descriptor is what hangs up.
        let mut child = std::mem::replace(&mut self.child, Box::new(Gone));
        drop(self);
        let _ = kill_process(pid, Signal::CONT);
        std::thread::spawn(move || sender.send(child.wait().is_ok()));
        if receiver.recv_timeout(PATIENCE).is_err() {
            let _ = kill_process(pid, Signal::KILL);
            panic!("it lives on without a terminal");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A failed test leaves no process behind.
        if self.child.process_id().is_some() && matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Stands for a child that somebody else waits for.
#[derive(Debug)]
struct Gone;

impl portable_pty::ChildKiller for Gone {
    fn kill(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn clone_killer(&self) -> Box<dyn portable_pty::ChildKiller + Send + Sync> {
        Box::new(Self)
    }
}

impl Child for Gone {
    fn try_wait(&mut self) -> std::io::Result<Option<portable_pty::ExitStatus>> {
        Ok(Some(portable_pty::ExitStatus::with_exit_code(0)))
    }

    fn wait(&mut self) -> std::io::Result<portable_pty::ExitStatus> {
        Ok(portable_pty::ExitStatus::with_exit_code(0))
    }

    fn process_id(&self) -> Option<u32> {
        None
    }
}

/// Lines without spaces and frames, so that what is wrapped reads as one.
fn squeezed<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let frame = |c: &char| !c.is_whitespace() && !"│├┤─╰╯└┴".contains(*c);
    lines.flat_map(str::chars).filter(frame).collect()
}

/// The sequences that choose a colour other than the terminal's own.
pub fn colours(raw: &[u8]) -> Vec<String> {
    let raw = String::from_utf8_lossy(raw);
    let sequences = raw.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    let colour = |part: &str| {
        part.parse()
            .is_ok_and(|n: u32| matches!(n, 30..=38 | 40..=48 | 90..=97 | 100..=107))
    };
    sequences.filter(|all| all.split(';').any(colour)).collect()
}
