//! The interface while its servers are slow, refuse, or are gone.

use crate::common::Place;
use crate::common::proxy::Way;
use crate::common::pty::Terminal;
use crate::lines::proxied;
use crate::scene::{On, RUN, Scene, assert_holds_no_secret};

const SIZE: (u16, u16) = (160, 45);

fn start(place: &Place, on: &On) -> Terminal {
    let binary = env!("CARGO_BIN_EXE_afterrun");
    let words = [&[binary][..], &on.options(), &["--refresh", "0.3"]].concat();
    Terminal::start(place, SIZE, &words, &on.variables)
}

fn listed(place: &Place, on: &On) -> Terminal {
    let terminal = start(place, on);
    terminal.wait_for("23 runs · live");
    terminal.wait_for("Look around");
    terminal
}

/// The row of the screen that the list's cursor is on.
fn cursor(terminal: &Terminal) -> Option<u16> {
    let lit = |screen: &vt100::Screen, row| {
        let mut cells = (1..30).filter_map(|column| screen.cell(row, column));
        cells.any(vt100::Cell::inverse)
    };
    terminal.screen(|screen| (2..SIZE.1 - 5).find(|row| lit(screen, *row)))
}

/// j and k move the cursor.
#[track_caller]
fn usable(terminal: &mut Terminal) {
    // The list has the focus, and its first line the cursor.
    terminal.keys("1g");
    terminal.wait("the first line", |terminal| cursor(terminal) == Some(2));
    terminal.keys("jj");
    terminal.wait("j to move", |terminal| cursor(terminal) == Some(4));
    terminal.keys("k");
    terminal.wait("k to move back", |terminal| cursor(terminal) == Some(3));
}

/// It ends well, and told nobody a secret.
#[track_caller]
fn quit(mut terminal: Terminal, place: &Place) {
    terminal.keys("q");
    let ended = terminal.end();
    assert_eq!((ended.code, &ended.signal), (0, &None), "{}", ended.text);
    ended.assert_given_back();
    assert_holds_no_secret("the interface", &String::from_utf8_lossy(&ended.raw));
    place.assert_clean("the interface");
}

fn open(terminal: &mut Terminal, run: &str) {
    terminal.keys(":");
    terminal.wait_for("An action, or the id of a run");
    terminal.keys(run);
    terminal.wait_for(run);
    terminal.keys("\r");
    terminal.wait_gone("An action, or the id of a run");
}

fn bottom(terminal: &Terminal) -> String {
    let all = terminal.text();
    let lines = all.lines().skip_while(|line| !line.starts_with('├'));
    lines.collect::<Vec<_>>().join("\n")
}

/// A line that stalls: the header says since when nothing came, and no more when it comes again.
pub fn slow(scene: &Scene) {
    let [(_, proxy, on, _), _, _] = proxied(scene);
    let place = Place::new();
    let mut terminal = listed(&place, &on);
    proxy.set(Way::Stalled);
    terminal.wait_for("23 runs · seen ");
    usable(&mut terminal);
    proxy.set(Way::Open);
    terminal.wait_for("23 runs · live");
    usable(&mut terminal);
    quit(terminal, &place);
}

/// What is refused while one looks is said, and the list stays.
pub fn refused(scene: &Scene) {
    let (name, tables) = scene.tables();
    let (key, url) = scene.prefix();
    scene.label(&key, &[("sha256", "0")], 0);
    for (on, said) in [
        (tables.stored(url), "Checkpoint checksum mismatch"),
        (tables, "Checkpoint object is missing"),
    ] {
        let place = Place::new();
        let mut terminal = listed(&place, &on);
        if on.store == "postgres" {
            scene
                .cluster
                .sql(&name, &format!("DELETE FROM {}", scene.headers()));
        }
        open(&mut terminal, RUN);
        terminal.wait(said, |terminal| terminal.text().contains(said));
        usable(&mut terminal);
        quit(terminal, &place);
    }
    // Rights that are taken away while one looks, and given again.
    let place = Place::new();
    let (name, on) = scene.tables();
    scene.cluster.sql(
        &name,
        &format!(
            "CREATE ROLE looks LOGIN PASSWORD '{}'; GRANT USAGE ON SCHEMA ai TO looks;
             GRANT SELECT ON ALL TABLES IN SCHEMA ai TO looks;",
            crate::common::postgres::PASSWORD
        ),
    );
    let mut terminal = listed(&place, &Scene::as_user(&on, "looks"));
    scene
        .cluster
        .sql(&name, "REVOKE SELECT ON ai.agno_runs FROM looks");
    terminal.wait_for("23 runs · seen ");
    terminal.wait("why", |terminal| {
        terminal.bottom_has("does not let this user read ai.agno_runs")
    });
    println!("{}", bottom(&terminal));
    usable(&mut terminal);
    scene
        .cluster
        .sql(&name, "GRANT SELECT ON ai.agno_runs TO looks");
    // By itself it would wait longer each time.
    terminal.keys("R");
    terminal.wait_for("23 runs · live");
    quit(terminal, &place);
}

/// The server is killed while one looks, and again while a run is opened.
pub fn killed(scene: &mut Scene) {
    let (_, on) = scene.tables();
    let place = Place::new();
    let mut terminal = listed(&place, &on);
    scene.cluster.kill();
    terminal.wait("why", |terminal| terminal.bottom_has("database not seen: "));
    println!("{}", bottom(&terminal));
    terminal.wait_for("23 runs · seen ");
    usable(&mut terminal);
    open(&mut terminal, RUN);
    terminal.wait("a refusal", |terminal| {
        terminal.text().contains("refuses the connection")
    });
    usable(&mut terminal);
    scene.cluster.resume();
    terminal.wait_for("23 runs · live");
    open(&mut terminal, RUN);
    terminal.wait_for("✔ archive");
    quit(terminal, &place);

    let [_, (_, proxy, on, _), _] = proxied(scene);
    let place = Place::new();
    let mut terminal = listed(&place, &on);
    let before = proxy.passed();
    proxy.set(Way::StalledAfter(9_000));
    open(&mut terminal, RUN);
    terminal.wait("a part of it", |_| proxy.passed() >= before + 9_000);
    usable(&mut terminal);
    scene.cluster.kill();
    proxy.set(Way::CutAfter(0));
    terminal.wait_for("23 runs · seen ");
    terminal.wait("the loss", |terminal| {
        terminal.text().contains("the connection is lost")
    });
    usable(&mut terminal);
    scene.cluster.resume();
    proxy.set(Way::Open);
    terminal.wait_for("23 runs · live");
    open(&mut terminal, RUN);
    terminal.wait_for("✔ archive");
    quit(terminal, &place);
}

/// It does not begin on a server that is not there, and says why on a terminal as it was.
pub fn before(scene: &mut Scene) {
    let (_, on) = scene.tables();
    scene.cluster.kill();
    let place = Place::new();
    let ended = start(&place, &on).end();
    scene.cluster.resume();
    let raw = String::from_utf8_lossy(&ended.raw);
    println!("{}", raw.trim());
    assert_eq!((ended.code, &ended.signal), (1, &None), "{raw}");
    assert!(raw.contains("afterrun: Cannot open "), "{raw}");
    assert!(raw.contains("refuses the connection"), "{raw}");
    assert!(!raw.contains("\x1b[?1049h"), "it was not begun: {raw:?}");
    assert_holds_no_secret("the interface", &raw);
    place.assert_clean("the interface");
}
