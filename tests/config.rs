//! The configuration: layers and where each value was said, profiles, what is refused, and where
//! private files go.

mod common;

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use common::pty::Terminal;
use common::{Place, Ran, id, names, world};
use serde_json::Value;

const TWO: &str = "\
default_profile = \"dev\"
theme = \"dark\"
as = \"reviewer\"
[keys.runs]
order = [\"ctrl-o\"]
[profiles.dev]
db = \"~/agno.sqlite\"
[profiles.prod]
db = \"postgresql://app@db/agno?password=hunter2\"
store = \"s3://bucket/agno/sandbox/checkpoints/\"
as = \"engineer\"
password_command = \"echo hunter2\"
durable_queue = true
refresh = 0.5
spool_size = \"2 GiB\"
[profiles.prod.keys.runs]
order = [\"ctrl-g\", \"f5\"]
";

fn write(place: &Place, text: &str) {
    let path = place.path("config.toml");
    std::fs::write(&path, text).expect("written");
    set_permissions(&path, Permissions::from_mode(0o600)).expect("set");
}

fn with(text: &str) -> Place {
    let place = Place::new();
    write(&place, text);
    place
}

/// The demo world as a profile.
fn on_world(more: &str) -> String {
    let (database, store) = (world().database.display(), world().store.display());
    format!("[profiles.world]\ndb = \"{database}\"\nstore = \"{store}\"\n{more}")
}

fn run(place: &Place, args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = place.afterrun(&[&["--config", "config.toml"], args].concat());
    command.envs(environment.iter().copied());
    place.finish(command)
}

fn values(place: &Place, args: &[&str], environment: &[(&str, &str)]) -> Value {
    run(place, &[&["config", "--json"], args].concat(), environment)
        .ok()
        .json()
}

#[test]
fn what_is_in_force_is_printed_with_where_it_was_said() {
    let place = with(TWO);
    let options = ["config", "--profile", "prod", "--schema", "other"];
    let ran = run(&place, &options, &[("AFTERRUN_THEME", "light")]).ok();
    insta::assert_snapshot!("in_force", ran.text());
    assert_eq!(
        ran.err,
        "note: config.toml:9 holds a password in a URL; use password_command, ~/.pgpass or PGPASSWORD instead\n"
    );
    let document = values(&place, &options[1..], &[("AFTERRUN_THEME", "light")]);
    insta::assert_snapshot!(
        "in_force_json",
        serde_json::to_string_pretty(&document).expect("JSON")
    );
    let nothing = Place::new().run(&["config"]).ok();
    assert!(
        nothing
            .text()
            .contains("home/.config/afterrun/config.toml  not there\n")
    );
    let home = nothing.text().lines().next().unwrap_or_default().to_owned();
    insta::assert_snapshot!(
        "nothing_in_force",
        nothing.text().replace(&home, "file <home>")
    );
}

#[test]
fn the_upper_layer_wins() {
    let place = with(TWO);
    let of = |args: &[&str], environment: &[(&str, &str)]| {
        let value = values(&place, args, environment)["values"]["as"].take();
        let source = value["source"].as_str().map(str::to_owned);
        (value["value"].as_str().map(str::to_owned), source)
    };
    let said = |value: &str, source: &str| (Some(value.to_owned()), Some(source.to_owned()));
    assert_eq!(of(&[], &[]), said("reviewer", "file"));
    let prod = ["--profile", "prod"];
    assert_eq!(of(&prod, &[]), said("engineer", "file"));
    let environment = [("AFTERRUN_AS", "migrator"), ("AFTERRUN_PROFILE", "prod")];
    assert_eq!(of(&[], &environment), said("migrator", "environment"));
    assert_eq!(of(&["--as", "me"], &environment), said("me", "flag"));
    // An empty option takes away what was said, an empty variable says nothing.
    assert_eq!(of(&["--as", ""], &environment), (None, Some("flag".into())));
    assert_eq!(of(&prod, &[("AFTERRUN_AS", "")]), said("engineer", "file"));
    let profile = |args: &[&str], environment: &[(&str, &str)]| {
        values(&place, args, environment)["profile"]["value"].take()
    };
    assert_eq!(profile(&[], &[]), "dev");
    assert_eq!(profile(&[], &environment), "prod");
    assert_eq!(profile(&["--profile", "dev"], &environment), "dev");
    assert_eq!(profile(&["--profile", ""], &environment), Value::Null);
    let database = values(&place, &[], &[])["values"]["db"]["value"].take();
    let home = place.home().join("agno.sqlite");
    let home = home.to_str().expect("UTF-8");
    assert_eq!(database, home, "~/ is the home directory");
}

#[test]
fn every_option_has_its_variable() {
    let place = with("");
    for (name, key, text, value) in [
        ("AFTERRUN_DB", "db", "x", Value::from("x")),
        ("AFTERRUN_STORE", "store", "x", "x".into()),
        ("AFTERRUN_AS", "as", "x", "x".into()),
        ("AFTERRUN_SCHEMA", "schema", "x", "x".into()),
        ("AFTERRUN_SESSIONS_TABLE", "sessions_table", "x", "x".into()),
        ("AFTERRUN_RUNS_TABLE", "runs_table", "x", "x".into()),
        ("AFTERRUN_SPOOL", "spool", "/x", "/x".into()),
        ("AFTERRUN_SPOOL_SIZE", "spool_size", "1 kB", 1000.into()),
        ("AFTERRUN_REFRESH", "refresh", "7", 7.0.into()),
        ("AFTERRUN_THEME", "theme", "16", "16".into()),
        ("AFTERRUN_ASCII", "ascii", "1", true.into()),
        ("AFTERRUN_LINEAR", "linear", "please", true.into()),
    ] {
        let said = values(&place, &[], &[(name, text)])["values"][key].take();
        assert_eq!(said["value"], value, "{name}");
        assert_eq!(said["name"], name);
        let said = values(&place, &[], &[(name, "")])["values"][key].take();
        assert_eq!(said["source"], "default", "{name}");
    }
}

#[test]
fn what_is_not_known_is_named() {
    let refused = |text: &str, args: &[&str], message: &str, hint: &str| {
        let place = with(text);
        let ran = run(&place, args, &[]);
        assert_eq!(ran.hint(), hint);
        assert_eq!(ran.refuses(2), message);
        let ran = run(&place, &[args, &["--json"]].concat(), &[]).exits(2);
        assert_eq!(ran.error(), ("usage".into(), message.into()));
    };
    let runs = ["runs"];
    refused(
        TWO,
        &["runs", "--profile", "prd"],
        "--profile: there is no profile `prd`",
        "did you mean `prod`? There are: dev, prod",
    );
    refused(
        "default_profile = \"prod\"\n",
        &runs,
        "config.toml, line 1: there is no profile `prod`",
        "there is none: a section [profiles.NAME] of the configuration makes one",
    );
    refused(
        "[profiles.prod]\n\nstroe = \"x\"\n",
        &runs,
        "config.toml, line 3: there is no key or section `stroe`",
        "did you mean `store`?",
    );
    for (text, message) in [
        ("db = 5", "`db` is text, such as db = \"…\""),
        ("schema = \"\"", "`schema` is empty"),
        (
            "durable_queue = \"yes\"",
            "`durable_queue` is true or false",
        ),
        (
            "refresh = \"2\"",
            "`refresh` is a number of seconds, such as refresh = 2",
        ),
        (
            "refresh = -1",
            "`refresh` is a number of seconds from 0.1 to 86400, or 0 for never",
        ),
        (
            "spool_size = \"much\"",
            "`spool_size` is a size, such as 2 GiB, or 0 for no limit",
        ),
        (
            "password_command = \"pass 'x\"",
            "`password_command` has a quote that is not closed",
        ),
        (
            "profiles = 1",
            "`profiles` holds sections such as [profiles.prod]",
        ),
        (
            "profiles.x = 1",
            "`profiles.x` holds lines such as db = \"…\"",
        ),
    ] {
        let refusal = run(&with(text), &runs, &[]).refuses(2);
        assert_eq!(refusal, format!("config.toml, line 1: {message}"));
    }
    let place = with(TWO);
    let named = run(&place, &runs, &[("AFTERRUN_PROFILE", "nothing-like-it")]);
    assert_eq!(named.hint(), "there are: dev, prod");
    assert_eq!(
        named.refuses(2),
        "AFTERRUN_PROFILE: there is no profile `nothing-like-it`"
    );
    let size = run(&place, &["runs", "--spool-size", "x"], &[]).refuses(2);
    assert!(size.starts_with("--spool-size is a size"), "{size}");
}

#[test]
fn a_wrong_file_is_no_matter_where_nothing_of_it_is_needed() {
    let place = with("nonsense = 1\n");
    for args in [
        &["man"][..],
        &["completions", "bash"],
        &["config", "--default"],
    ] {
        run(&place, args, &[]).ok();
    }
    for args in [&["config"][..], &["demo", "--no-tui"], &[]] {
        run(&place, args, &[]).refuses(2);
    }
}

#[test]
fn no_secret_is_printed() {
    let place = with(TWO);
    for args in [
        &["config", "--profile", "prod"][..],
        &["config", "--profile", "prod", "--json"],
        &["runs", "--profile", "prod", "--db", "x.sqlite", "-vvv"],
        &["doctor", "--profile", "prod", "--db", "x.sqlite", "-vvv"],
    ] {
        let ran = run(&place, args, &[]);
        assert!(!ran.text().contains("hunter2"), "{}", ran.text());
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
}

#[test]
fn a_file_that_others_write_is_warned_of() {
    let place = with("");
    set_permissions(place.path("config.toml"), Permissions::from_mode(0o646)).expect("set");
    let ran = run(&place, &["config"], &[]).ok();
    assert!(
        ran.err
            .starts_with("note: config.toml is not safe: every user can write it"),
        "{}",
        ran.err
    );
    let told = values(&place, &[], &[])["warnings"].take();
    assert_eq!(told.as_array().map(Vec::len), Some(1));
}

#[test]
fn a_profile_names_what_is_opened() {
    let place = with(&on_world("as = \"reviewer\"\n"));
    let profile = ["--profile", "world"];
    let runs = run(&place, &[&["runs"][..], &profile].concat(), &[]).ok();
    assert!(runs.text().contains(id::STORY2), "{}", runs.text());
    let shown = run(
        &place,
        &[&["verify", id::STORY2][..], &profile].concat(),
        &[],
    )
    .exits(3);
    assert!(shown.text().contains("belongs to"), "{}", shown.text());
    let own = [&["verify", id::STORY2, "--as", "engineer"][..], &profile].concat();
    run(&place, &own, &[]).ok();
}

#[test]
fn a_durable_queue_refuses_the_default_store() {
    let database = world().database.display();
    for (queue, code) in [(true, 1), (false, 0)] {
        let place = with(&format!("db = \"{database}\"\ndurable_queue = {queue}\n"));
        let home = place.path("../home/.agno/sandbox");
        std::fs::create_dir_all(&home).expect("made");
        let mut copy = place.command("cp");
        copy.arg("-r")
            .arg(&world().store)
            .arg(home.join("checkpoints"));
        assert!(copy.status().expect("started").success());
        let ran = run(&place, &["verify", id::STORY2], &[]).exits(code);
        assert_eq!(
            ran.err.contains("which other queue replicas cannot read"),
            queue
        );
    }
}

#[test]
fn the_title_names_the_profile() {
    let place = with(&on_world("refresh = 0\n"));
    let words = ["--config", "config.toml", "--profile", "world"];
    let mut terminal = Terminal::afterrun(&place, (160, 45), &words);
    terminal.wait_for("24 runs");
    let title = terminal
        .text()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    assert!(title.contains("── world: "), "{title}");
    terminal.keys("q");
    assert_eq!(terminal.end().code, 0);
}

/// A folder for private files inside the place.
fn spool(place: &Place, mode: u32) -> String {
    let folder = place.path("../spool");
    std::fs::create_dir_all(&folder).expect("made");
    set_permissions(&folder, Permissions::from_mode(mode)).expect("set");
    let folder = folder.canonicalize().expect("there");
    folder.to_str().expect("UTF-8").to_owned()
}

#[test]
fn private_files_go_where_they_are_told() {
    let place = with(&on_world(""));
    let folder = spool(&place, 0o700);
    let here = ["--profile", "world", "--spool", &folder];
    for words in [&["verify", id::STORY2][..], &["diff", id::STORY2]] {
        // With nowhere else to go it can only have been this folder.
        let nowhere = [("TMPDIR", "/nowhere")];
        run(&place, &[words, &here].concat(), &nowhere).ok();
        assert_eq!(names(folder.as_ref()), [""; 0]);
    }
    let wrong = |spool: &str, why: &str| {
        let words = ["verify", id::STORY2, "--profile", "world", "--spool", spool];
        let ran = run(&place, &words, &[]);
        assert!(ran.hint().contains("--spool DIR"));
        let message = ran.refuses(1);
        let what = format!("{spool} is no place for private files: {why}");
        assert_eq!(message, what);
    };
    wrong("/nowhere/at/all", "no such file or directory");
    wrong("relative", "no such file or directory");
    spool_is_open(&place);
    wrong(&folder, "others can write there, and replace what is yours");
}

fn spool_is_open(place: &Place) {
    spool(place, 0o777);
}

#[test]
fn what_does_not_fit_the_spool_is_one_line() {
    let place = with(&on_world("spool_size = \"4 kB\"\n"));
    let words = ["tree", id::STORY2, "--profile", "world"];
    let ran = run(&place, &words, &[]);
    assert!(ran.hint().contains("--spool-size"));
    let message = ran.refuses(1);
    assert!(
        message.starts_with("The private files do not fit in ") && message.ends_with("4.0 kB"),
        "{message}"
    );
    let more = [&words[..], &["--spool-size", "1GiB"]].concat();
    run(&place, &more, &[]).ok();
    let verified = run(
        &place,
        &["verify", id::STORY2, "--profile", "world", "--json"],
        &[],
    );
    assert_eq!(
        verified.exits(1).json()["results"][0]["error"]["kind"],
        "io"
    );
}

#[test]
fn doctor_goes_on_and_says_where_it_stands() {
    let place = with(&on_world(""));
    let ran = run(&place, &["doctor", "--profile", "world"], &[]).ok();
    for part in [
        "✔ configuration config.toml, profile world",
        "✔ database",
        "✔ tables",
        "3 agents, 24 runs",
        "✔ rights",
        "✔ store",
        "✔ object",
        "size and digest are right",
        "– terminal      stdout is no terminal",
        "✔ private files",
        " free",
        "✔ review worker starts and answers; held to ",
    ] {
        assert!(ran.text().contains(part), "{part}: {}", ran.text());
    }
    // A wrong file is one part of many.
    write(&place, "nonsense = 1\n");
    let (database, store) = (world().database.to_str(), world().store.to_str());
    let named = [
        "--db",
        database.expect("UTF-8"),
        "--store",
        store.expect("UTF-8"),
    ];
    let ran = run(&place, &[&["doctor", "--json"][..], &named].concat(), &[]).exits(2);
    let checks = ran.json()["checks"].take();
    let checks = checks.as_array().expect("a list");
    let status = |name: &str| {
        let check = checks.iter().find(|check| check["name"] == name);
        let check = check.unwrap_or_else(|| panic!("no {name}"));
        assert!(check["ms"].as_f64().is_some_and(|ms| ms >= 0.0));
        check["status"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(status("configuration"), "problem");
    for name in [
        "database",
        "tables",
        "rights",
        "store",
        "object",
        "review worker",
    ] {
        assert_eq!(status(name), "ok", "{name}");
    }
}

#[test]
fn doctor_names_the_first_of_what_is_wrong() {
    let place = with("");
    let database = world().database.to_str().expect("UTF-8");
    // Its store has lost an object, which is what the newest run committed.
    std::fs::create_dir(place.path("empty")).expect("made");
    let words = ["doctor", "--json", "--db", database, "--store", "empty"];
    let checks = run(&place, &words, &[]).exits(4).json();
    let object = &checks["checks"][5];
    assert_eq!(
        (&object["name"], &object["kind"]),
        (&"object".into(), &"object_missing".into())
    );
    assert_eq!(checks["checks"][8]["status"], "ok", "it goes on");
    let words = [
        "doctor",
        "--json",
        "--db",
        "nowhere.sqlite",
        "--spool",
        "/nowhere",
    ];
    let checks = run(&place, &words, &[]).exits(1).json();
    let status: Vec<_> = checks["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|check| check["status"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(
        status,
        [
            "ok", "problem", "skipped", "skipped", "skipped", "skipped", "skipped", "problem",
            "skipped"
        ]
    );
}

/// A database whose owner has a password, and what may be said about it on a command line.
mod passwords {
    use super::*;
    use common::postgres::{Cluster, PASSWORD, USER};

    /// The database's URL without its password.
    fn url(cluster: &Cluster) -> String {
        format!("postgresql://{USER}@127.0.0.1:{}/postgres", cluster.port())
    }

    fn refused(text: &str) -> bool {
        text.contains("the password for afterrun is wrong")
            || text.contains("the server asks for a password, and none is given")
    }

    #[test]
    fn a_password_is_found_or_asked_for_and_never_shown() {
        let cluster = Cluster::start(&[]);
        let url = url(&cluster);
        let command = |words: &str| format!("db = \"{url}\"\npassword_command = \"{words}\"\n");

        // A command of the configuration prints it.
        let place = with(&command(&format!("printf '{PASSWORD}\\\\nuser: x'")));
        let ran = run(&place, &["runs", "-vvv"], &[]);
        assert!(!refused(&ran.err), "{}", ran.err);
        assert!(!ran.err.contains(PASSWORD), "{}", ran.err);
        // Another database than the one it stands beside is not told it.
        for (words, environment) in [
            (vec!["runs", "--db", &url], vec![]),
            (vec!["runs"], vec![("AFTERRUN_DB", url.as_str())]),
        ] {
            let ran = run(&place, &words, &environment).exits(1);
            assert!(refused(&ran.err), "{}", ran.err);
            assert!(
                ran.err.contains("password_command is not run"),
                "{}",
                ran.err
            );
        }
        // The environment comes before it, so a wrong one is what is refused.
        let ran = run(&place, &["runs"], &[("PGPASSWORD", "wrong")]);
        assert!(refused(&ran.exits(1).err));

        let place = with(&command(
            "sh -c 'echo hunter2; echo no key for it >&2; exit 4'",
        ));
        let message = run(&place, &["runs"], &[]).refuses(1);
        assert_eq!(message, "password_command (sh) failed: no key for it");
        set_permissions(place.path("config.toml"), Permissions::from_mode(0o602)).expect("set");
        let ran = run(&place, &["runs", "--json"], &[]).exits(2);
        assert_eq!(
            ran.error().1,
            "password_command is not run: others can write config.toml"
        );

        // Nobody is there to be asked.
        let place = with(&format!("db = \"{url}\"\n"));
        let ran = run(&place, &["runs"], &[]).exits(1);
        assert!(refused(&ran.err), "{}", ran.err);

        let words = ["--config", "config.toml", "runs"];
        let asked = |typed: &str| {
            let mut terminal = Terminal::afterrun(&place, (400, 45), &words);
            terminal.wait_for("Password for postgresql");
            terminal.keys(typed);
            terminal.end()
        };
        let right = asked(&format!("{PASSWORD}\r"));
        assert!(!refused(&right.text), "{}", right.text);
        let wrong = asked("hunter3\r");
        assert!(refused(&wrong.text) && wrong.code == 1, "{}", wrong.text);
        for (ended, typed) in [(right, PASSWORD), (wrong, "hunter3")] {
            assert!(
                !String::from_utf8_lossy(&ended.raw).contains(typed),
                "an echo"
            );
        }
        let left = asked("\x03");
        assert_eq!(left.code, 130, "{:?} {}", left.signal, left.text);
        // The terminal has its echo back, whichever way it is left.
        let binary = env!("CARGO_BIN_EXE_afterrun");
        let script =
            format!("trap : INT; {binary} --config config.toml runs; echo ended $?; stty -a");
        let start = || {
            let terminal = Terminal::start(&place, (160, 45), &["sh", "-c", &script], &[]);
            terminal.wait_for("Password for postgresql");
            terminal
        };
        let mut terminal = start();
        terminal.keys("\x03");
        let left = terminal.end().text;
        assert!(
            left.contains("ended 130") && left.contains(" echo "),
            "{left}"
        );
        let terminal = start();
        let killed = place
            .command("sh")
            .arg("-c")
            .arg(format!(
                "kill -TERM $(pgrep -f '^{binary} --config config.toml runs$' -P {})",
                terminal.pid().as_raw_nonzero()
            ))
            .status();
        assert!(killed.expect("started").success());
        let left = terminal.end().text;
        assert!(
            left.contains("ended 130") && left.contains(" echo "),
            "{left}"
        );

        // Doctor tells what it is connected to, of a database that has no tables of Agno's.
        let ran = run(&place, &["doctor"], &[("PGPASSWORD", PASSWORD)]).exits(1);
        for part in [
            "✔ database",
            "PostgreSQL ",
            "no encryption",
            "✖ tables",
            "✔ review worker",
        ] {
            assert!(ran.text().contains(part), "{part}: {}", ran.text());
        }
        assert!(!ran.text().contains(PASSWORD));
    }
}
