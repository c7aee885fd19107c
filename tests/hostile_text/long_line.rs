//! A file that is one line of 50 MB: shown cut, and said to be, with memory that does not follow it.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::pty::Terminal;
use super::common::{Place, id, world};
use super::strict;

const LENGTH: usize = 50_000_000;

/// The most memory that our `process` had so far, in bytes; nothing of what it was before it was ours.
fn peak(process: i32) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).ok();
    if read("comm")?.trim() != "afterrun" {
        return Some(0);
    }
    let status = read("status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// A checkpoint of a checkout in which `one.txt` had a short line and has a long one; its reference.
fn long_line(place: &Place) -> Value {
    let folder = place.path("work/repository");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::create_dir_all(place.path("home")).expect("made");
    std::fs::write(folder.join("one.txt"), "short\n").expect("written");
    for words in [
        &["init", "-q"][..],
        &["add", "-A"],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@x",
            "commit",
            "-q",
            "-m",
            "x",
        ],
    ] {
        let mut command = place.command("git");
        let done = command.arg("-C").arg(&folder).args(words).status();
        assert!(done.expect("git is there").success());
    }
    let mut file = std::fs::File::create(folder.join("one.txt")).expect("made");
    let piece = b"PWN\t\x1b[2J \xe2\x80\xae0123456789 abcdefghijkl".repeat(1000);
    let mut written = 0;
    while written < LENGTH {
        let end = piece.len().min(LENGTH - written);
        file.write_all(&piece[..end]).expect("written");
        written += end;
    }
    drop(file);
    let words = "capture --workspace work --native home --store store --plain --json";
    let words: Vec<&str> = words.split(' ').collect();
    place.run(&words).ok().json()
}

/// `afterrun WORDS` on a terminal: what it said, how long it took, and the most memory it had.
fn measured(place: &Place, words: &[&str]) -> (String, Duration, u64) {
    let began = Instant::now();
    let terminal = Terminal::afterrun(place, (120, 30), words);
    let pid = terminal.pid().as_raw_nonzero().get();
    let mut most = 0;
    while let Some(now) = peak(pid) {
        most = most.max(now);
        std::thread::sleep(Duration::from_millis(2));
    }
    let ended = terminal.end();
    assert_eq!(ended.code, 0, "{}", ended.text);
    let text = strict::text(&ended.raw).unwrap_or_else(|why| panic!("{why}"));
    (text, began.elapsed(), most)
}

#[test]
fn a_line_of_fifty_megabytes() {
    let place = Place::new();
    let reference = long_line(&place);
    let archive = format!("store/{}", reference["sha256"].as_str().expect("a digest"));
    for (words, said) in [
        (&["cat", "one.txt"][..], "only its beginning is shown"),
        (&["diff", "--base", "head"], "lines over 65.5 kB are cut"),
        (&["patch", "--base", "head"], "lines over 65.5 kB are cut"),
    ] {
        let words = [words, &["--archive", &archive]].concat();
        let (text, took, most) = measured(&place, &words);
        println!(
            "{:?}: {} bytes shown, {took:?}, {most} bytes of memory",
            words[0],
            text.len()
        );
        assert!(
            text.contains(said),
            "{}",
            &text[text.len().saturating_sub(500)..]
        );
        assert!(text.contains("PWN"), "something of it is shown");
        assert!(text.len() < 1 << 20, "and not all of it");
        assert!(most < 500 << 20, "{most} bytes of memory");
    }
    // Raw, where nobody looks: every byte.
    let whole = place.run(&["cat", "--archive", &archive, "one.txt"]).ok();
    assert_eq!(whole.out.len(), LENGTH);
    in_the_interface(&place, &reference);
}

/// A run that committed it, in every view that shows it.
fn in_the_interface(place: &Place, reference: &Value) {
    std::fs::copy(&world().database, place.path("long.sqlite")).expect("copied");
    let database = rusqlite::Connection::open(place.path("long.sqlite")).expect("opened");
    let data = json!({"metadata": {"sandbox": {"checkpoint": reference}}, "status": "COMPLETED"});
    let changed = database.execute(
        "UPDATE agno_runs SET run_data = ?1 WHERE run_id = ?2",
        [data.to_string().as_str(), id::STORY2],
    );
    assert_eq!(changed, Ok(1));
    database.close().expect("closed");
    let words = [
        "open",
        id::STORY2,
        "one.txt",
        "--view",
        "file",
        "--base",
        "head",
        "--db",
        "long.sqlite",
        "--store",
        "store",
    ];
    let mut terminal = Terminal::afterrun(place, (120, 30), &words);
    let pid = terminal.pid().as_raw_nonzero().get();
    terminal.wait("its beginning", |terminal| {
        terminal.pane_has("3 File", "PWN")
    });
    let mut longest = Duration::ZERO;
    let mut key = |terminal: &mut Terminal, key: &str, what: &str| {
        let began = Instant::now();
        terminal.keys(key);
        terminal.wait(what, |terminal| terminal.text().contains(what));
        longest = longest.max(began.elapsed());
    };
    key(&mut terminal, "?", "one line down");
    terminal.keys("\x1b");
    terminal.wait_gone("one line down");
    // The place that is asked for is looked for again once the files are compared.
    terminal.wait_for("not known");
    key(&mut terminal, "d", "3 Diff");
    key(&mut terminal, "?", "one line down");
    terminal.keys("\x1b");
    terminal.wait_for("lines over 65.5 kB are cut");
    terminal.wait_for("PWN");
    for keys in [
        "LLLLLLLLLL",
        "HHHHH",
        "W",
        "G",
        "g",
        "W",
        "/PWN\r",
        "nnnnnnnn",
        "f",
        "W",
        "G",
        "g",
    ] {
        terminal.keys(keys);
        key(&mut terminal, "?", "one line down");
        terminal.keys("\x1b");
        terminal.wait_gone("one line down");
    }
    terminal.keys("G");
    terminal.wait_for("cut at 1 MiB");
    let most = peak(pid).unwrap_or(u64::MAX);
    println!("the interface: a key within {longest:?}, {most} bytes of memory");
    assert!(most < 500 << 20, "{most} bytes of memory");
    terminal.keys("q");
    let ended = terminal.end();
    strict::text(&ended.raw).unwrap_or_else(|why| panic!("{why}"));
}
