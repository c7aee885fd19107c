//! Text that means harm, in everything that an agent, a row or a caller can name: no byte of it reaches a
//! terminal as it came, it is seen all the same, and columns stay where they are.

mod common;
#[path = "hostile_text/hostile_world.rs"]
mod hostile_world;
#[path = "hostile_text/interface.rs"]
mod interface;
#[path = "hostile_text/long_line.rs"]
mod long_line;
#[path = "hostile_text/payloads.rs"]
mod payloads;
#[path = "hostile_text/strict.rs"]
mod strict;

use common::Place;
use common::pty::Terminal;
use hostile_world::{Hostile, longest_name};
use payloads::{BYTES, PAYLOADS, all, all_seen, evil, is_name, read, seen};

/// `text` without what a terminal's width does to it.
#[track_caller]
fn assert_seen(text: &str, wanted: &str, by: &[&str]) {
    assert!(
        text.contains(wanted),
        "{by:?} does not show {wanted:?}:\n{text}"
    );
}

#[test]
fn lists_of_rows() {
    let world = Hostile::new();
    for words in [
        &["agents"][..],
        &["agents", "-vvv"],
        &["agents", "--color", "always"],
    ] {
        let text = world.asks(words);
        for number in 0..PAYLOADS.len() {
            assert_seen(&text, &seen(number, "agent"), words);
            // A row that cannot be read names nobody.
            if number % 9 != 8 {
                assert_seen(&text, &seen(number, "name"), words);
            }
        }
        assert_seen(&text, &all_seen(), words);
    }
    for words in [
        &["runs"][..],
        &["runs", "-vvv", "--color", "always"],
        &["runs", "--search", "PWN"],
    ] {
        let text = world.asks(words);
        for number in 0..PAYLOADS.len() {
            assert_seen(&text, &seen(number, "run"), words);
            assert_seen(&text, &seen(number, "title"), words);
            if number % 4 == 1 {
                let status = evil(number, "odd").to_uppercase();
                let shown = afterrun::text::visible(&status).into_owned();
                assert_seen(&text, &shown, words);
            }
        }
    }
    for words in [&["agents", "--json"], &["runs", "--json"]] {
        let text = world.asks(words);
        let document: serde_json::Value = serde_json::from_str(&text).expect("one document");
        assert!(document.to_string().contains("PWN00"), "{text}");
        let ids: Vec<&str> = document[words[0]]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["run_id"].as_str().or(one["agent_id"].as_str()))
            .collect();
        for number in 0..PAYLOADS.len() {
            let whole = [evil(number, "run"), evil(number, "agent")];
            assert!(
                ids.iter().any(|id| whole.contains(&(*id).to_owned())),
                "{number}: as it is"
            );
        }
    }
}

#[test]
fn columns_of_lists_stand_under_each_other() {
    let world = Hostile::new();
    let terminal = Terminal::start(
        &world.place,
        (2_000, 90),
        &[
            env!("CARGO_BIN_EXE_afterrun"),
            "agents",
            "--db",
            "evil.sqlite",
            "--store",
            "store",
        ],
        &[],
    );
    terminal.wait("the list", |terminal| {
        terminal.text().contains(&all_seen()[..40])
    });
    terminal.wait("all of it", |terminal| {
        terminal.text().matches("1 session · ").count() == PAYLOADS.len() + 1
    });
    let starts = |what: &str| -> Vec<u16> {
        terminal.screen(|screen| {
            let row = |row: u16| {
                let cells = (0..2_000).map(|column| {
                    screen
                        .cell(row, column)
                        .map_or("", vt100::Cell::contents)
                        .chars()
                        .next()
                });
                let cells: Vec<Option<char>> = cells.collect();
                let wanted: Vec<Option<char>> = what.chars().map(Some).collect();
                cells
                    .windows(wanted.len())
                    .position(|some| {
                        some.iter()
                            .zip(&wanted)
                            .all(|(a, b)| a.unwrap_or(' ') == b.unwrap_or(' '))
                    })
                    .and_then(|at| u16::try_from(at).ok())
            };
            (0..90).filter_map(row).collect()
        })
    };
    let found = starts("1 session · ");
    assert_eq!(found.len(), PAYLOADS.len() + 1, "{}", terminal.text());
    // The first row's are too long for any column, and move no other.
    assert!(found[1..].iter().all(|at| *at == found[1]), "{found:?}");
    assert!(found[1] < found[0] && found[1] < 150, "{found:?}");
}

/// Names of files as the checkout has them, and as they are seen.
fn names() -> Vec<(String, String)> {
    let names = (0..PAYLOADS.len()).filter(|number| is_name(*number));
    names
        .map(|number| (evil(number, "f"), seen(number, "f")))
        .collect()
}

#[test]
fn one_run() {
    let world = Hostile::new();
    let run = world.run.as_str();
    for words in [
        &["show", run][..],
        &["show", run, "-vvv"],
        &["show", run, "--json"],
        &["verify", run],
        &["verify", run, "--json", "-vvv"],
        &[
            "verify",
            &evil(2, "run"),
            &evil(1, "run"),
            &evil(8, "run"),
            &evil(0, "nosuch"),
        ],
        &["show", &evil(8, "run")],
        &["show", run, "--as", &evil(3, "other")],
        &["tree", run, "--json"],
        &["cat", run, "workspace/repository/first.txt", "--json"],
        &["diff", run, "--json"],
        &["diff", run, "--json", "--base", "empty"],
        &["restore", run, &evil(0, "dry"), "--dry-run", "--json"],
    ] {
        let text = world.asks(words);
        assert!(text.contains("PWN"), "{words:?}: {text}");
        let refused = words.contains(&"--as");
        if words[0] == "show" && words[1] == run && !words.contains(&"--json") && !refused {
            for field in ["run", "session", "agent", "name", "input", "url", "branch"] {
                let wanted = all_seen();
                assert_seen(&text, &format!("{}{wanted}", field), words);
            }
        }
    }
    let tree = world.asks(&["tree", run]);
    let status = world.asks(&["diff", run, "--name-status", "-vvv"]);
    let stat = world.asks(&["diff", run, "--stat", "--color", "always"]);
    let diff = world.asks(&["diff", run, "--color", "always"]);
    let patch = world.asks(&["patch", run, "-vvv"]);
    for (_, shown) in names() {
        for text in [&tree, &status, &stat] {
            assert_seen(text, &shown, &["a list of files"]);
        }
    }
    for (_, shown) in BYTES {
        assert_seen(&tree, &format!("bytes {shown}"), &["tree"]);
    }
    for (number, (raw, _)) in PAYLOADS.iter().enumerate() {
        // In a file's text a tab goes to its stop, and a line ends.
        if !raw.contains(['\n', '\t']) {
            for text in [&diff, &patch] {
                assert_seen(text, &read(number, "line "), &["diff"]);
            }
        }
        if is_name(number) && !raw.contains('\n') {
            assert_seen(&tree, &format!(" -> ../{}", seen(number, "")), &["tree"]);
        }
    }
    let long = afterrun::text::visible(&longest_name()).into_owned();
    assert_seen(&tree, &long, &["tree"]);
    for number in (0..PAYLOADS.len()).filter(|number| is_name(*number)) {
        let name = evil(number, "f");
        let words = ["cat", run, &name];
        if name.contains(['1', '7', '9']) {
            let text = world.asks(&words);
            let shown = read(number, "content ");
            let whole = text.replace('\n', "\\n");
            assert!(
                whole.contains(&shown) || name.contains('\t'),
                "{shown:?}: {text}"
            );
        }
    }
    for name in ["code \u{1b}.rs", "binary\u{1b}[2J.bin"] {
        assert!(world.asks(&["cat", run, name]).contains("PWN33"));
    }
}

#[test]
fn what_is_written_and_what_is_in_the_way() {
    let world = Hostile::new();
    let run = world.run.as_str();
    for number in [0, 1, 4, 8, 13, 15, 18, 21] {
        let out = evil(number, "out").replace('/', "_");
        let shown = seen(number, "out").replace('/', "_");
        for words in [
            ["restore", run, &out],
            ["restore", run, &out],
            ["fetch", run, &(out.clone() + ".gz")],
            ["fetch", run, &(out.clone() + ".gz")],
            ["fetch", run, &(out.clone() + "/no/such/folder")],
        ] {
            assert_seen(&world.asks(&words), &shown, &words);
        }
        for words in [
            ["patch", run, "-o", &(out.clone() + ".patch")],
            ["patch", run, "-o", &(out.clone() + ".patch")],
        ] {
            assert_seen(&world.asks(&words), &shown, &words);
        }
        if number > 8 {
            continue;
        }
        let (odd, odd_seen) = (evil(number, "odd"), seen(number, "odd"));
        for words in [
            &["cat", run, &odd][..],
            &["tree", run, &odd],
            &["cat", &odd, "x"],
            &["show", &odd],
            &["diff", run, "--base", &odd],
            &["restore", run, "other", "--only", &odd],
            &["tree", "--archive", &odd],
            &["agents", "--config", &odd],
            &["agents", "--profile", &odd],
            &["agents", "--theme", &odd],
            &["runs", "--since", &odd],
            &["runs", "--after", &odd],
            &["runs", "--limit", &odd],
            &["runs", "--color", &odd],
            &["agents", "--runs-table", &odd],
            &["capture", "--workspace", &odd, "--native", "home"],
            &[
                "capture",
                "--workspace",
                "work",
                "--native",
                "home",
                "--state",
                &odd,
            ],
            &[
                "capture",
                "--workspace",
                "work",
                "--native",
                "home",
                "--exclude",
                &odd,
            ],
            &[&odd],
            &["agents", &odd],
            &["agents", &format!("--{odd}")],
            &["config", "--as", &odd],
            &["config", "--as", &odd, "--json"],
        ] {
            let text = world.asks(words);
            let json = words.contains(&"--json");
            // Not every error quotes what is no name; where one does, it is whole, up to an option's `=`.
            let odd_seen = match words[words.len() - 1].strip_prefix("--odd") {
                Some(_) => odd_seen.split('=').next().unwrap_or_default(),
                None => &odd_seen,
            };
            assert!(
                json || text.contains(odd_seen) || !text.contains("odd"),
                "{words:?}: {text}"
            );
            assert!(!text.is_empty(), "{words:?}");
        }
        for words in [
            &["agents", "--db", &odd][..],
            &["verify", &world.run, "--db", "evil.sqlite", "--store", &odd],
            &["doctor", "--db", &odd, "--store", &odd],
            &["doctor", "--db", "evil.sqlite", "--store", &odd, "--json"],
            &[
                "agents",
                "--db",
                &format!("postgresql://{odd}@127.0.0.1:1/{odd}"),
            ],
            &[
                "agents",
                "--db",
                &format!("postgresql://a@127.0.0.1:1/x?{odd}=1"),
            ],
            &[
                "verify",
                "x",
                "--db",
                "evil.sqlite",
                "--store",
                &format!("s3://{odd}/x"),
            ],
            &["agents", "--db", &format!("host=127.0.0.1 port=1 {odd}=2")],
        ] {
            assert!(!world.said(words).is_empty(), "{words:?}");
        }
    }
    world.asks(&["doctor"]);
    let toml = format!("theme = \"{}\"\n", all().escape_default());
    for text in [
        toml,
        format!("{} = 1\n", all()),
        all(),
        "[profiles.\"\\u001b[2J\"]\ndb = 3\n".into(),
    ] {
        std::fs::write(world.path("bad.toml"), text).expect("written");
        for command in ["agents", "config", "doctor"] {
            let said = world.asks(&[command, "--config", "bad.toml"]);
            assert!(said.contains("bad.toml"), "{said}");
        }
    }
}

#[test]
fn what_hides_in_a_diff_is_told() {
    let world = Hostile::new();
    let run = world.run.as_str();
    let document = world.asks(&["diff", run, "--json"]);
    let document: serde_json::Value = serde_json::from_str(&document).expect("one document");
    let notices = document["notices"].as_array().expect("a list");
    let about = |path: &str| {
        let found = notices
            .iter()
            .find(|notice| notice["tag"] == "hidden-text" && notice["path"].as_str() == Some(path));
        found.map(|notice| notice["message"].as_str().expect("words").to_owned())
    };
    let first = about("first.txt").expect("told");
    assert!(first.contains("added lines hold"), "{first}");
    // Line 1 is as it was, two of the texts are lines of their own, and the sixteenth turns text around.
    assert!(
        first.contains("the first is line 18, a bidi override (U+202E)"),
        "{first}"
    );
    assert_eq!(about(&evil(0, "f")), None, "controls alone");
    let text = world.asks(&["diff", run, "--stat"]);
    assert_seen(&text, "note: hidden-text: ", &["diff"]);
}

/// What each line of a file hides, by the notice that a diff makes of it.
fn notice_of(base: &str, now: &str) -> Option<String> {
    let place = Place::new();
    for (run, text) in [("before", base), ("after", now)] {
        let folder = place.path(run);
        std::fs::create_dir_all(folder.join("home")).expect("made");
        std::fs::create_dir_all(folder.join("work/repository")).expect("made");
        std::fs::write(folder.join("work/repository/a.txt"), text).expect("written");
    }
    // A commit holds what was before.
    let folder = place.path("before/work/repository");
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
    std::fs::rename(
        folder.join(".git"),
        place.path("after/work/repository/.git"),
    )
    .expect("moved");
    let words = "capture --workspace after/work --native after/home --store store --json";
    let words: Vec<&str> = words.split(' ').collect();
    let reference = place.run(&words).ok().json();
    let archive = format!("store/{}", reference["sha256"].as_str().expect("a digest"));
    let words = ["diff", "--archive", &archive, "--base", "head", "--json"];
    let document = place.run(&words).ok().json();
    let notices = document["notices"].as_array().expect("a list");
    let found = notices.iter().find(|notice| notice["tag"] == "hidden-text");
    found.map(|notice| notice["message"].as_str().expect("words").to_owned())
}

#[test]
fn only_lines_that_are_added_are_told() {
    let told = |base: &str, now: &str| notice_of(base, now);
    assert_eq!(told("a\nb\u{200b}b\nc\n", "a\nb\u{200b}b\nd\n"), None);
    assert_eq!(told("b\u{200b}b\nc\n", "c\n"), None, "a line that went");
    assert_eq!(told("a\n", "\u{feff}a\nb\n"), None, "a byte order mark");
    assert_eq!(told("a\n", "a\nمی\u{200c}خواهم 👩\u{200d}🔬\n"), None);
    assert_eq!(
        told("a\nb\u{200b}b\n", "a\nx\nb\u{200b}b\nif a\u{202e} b\n").as_deref(),
        Some(
            "1 added line holds characters that do not show or that reorder text: line 4, a bidi \
             override (U+202E)"
        )
    );
}
