//! The list keeps up with the database: what comes in, changes and goes, and a database that is lost.

use std::time::Duration;

use super::screens::at_sizes;
use super::world::{App, NOW, OPENED, digest, run, runs};
use crate::ErrorKind;
use crate::checkpoint::CheckpointRef;
use crate::runs::{Binding, Cursor, RunPage, RunRow, SessionInfo};
use crate::tui::message::{Answer, Effect, Look, LookFor, Message, PageUse, Request, Slot};
use crate::tui::state::{EVERY, Failure, Item, Node};

/// A list that keeps up.
fn live(width: u16, height: u16) -> App {
    let mut app = App::listed(width, height);
    app.state.live.every = Some(EVERY);
    app.state.now_ms += 60_000;
    app.state.live.seen = Some(app.state.now_ms);
    app
}

/// The time for a look has come; what it looks for.
fn due(app: &mut App) -> LookFor {
    app.effects.clear();
    app.send(Message::Look);
    let look = app
        .requests()
        .into_iter()
        .find_map(|request| match request {
            Request::Look(wanted) => Some(*wanted),
            _ => None,
        });
    look.expect("a look")
}

/// What a look saw, of all that it was asked for.
fn saw(app: &mut App, wanted: LookFor, version: u64, new: Vec<RunRow>, rows: Vec<RunRow>) {
    let page = |runs| RunPage {
        runs,
        ..RunPage::default()
    };
    let look = Look {
        version: Some(version),
        took: Duration::from_millis(3),
        written: true,
        asked: wanted.rows,
        rows: page(rows),
        new: page(new),
        ..Look::default()
    };
    app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
}

fn looked(app: &mut App, version: u64, new: Vec<RunRow>, rows: Vec<RunRow>) {
    let wanted = due(app);
    saw(app, wanted, version, new, rows);
}

fn pauses(app: &App) -> Vec<u64> {
    let pauses = app.effects.iter().filter_map(|effect| match effect {
        Effect::LookIn(pause) => Some(pause.as_secs()),
        _ => None,
    });
    pauses.collect()
}

fn lose(app: &mut App) {
    app.send(Message::Look);
    app.effects.clear();
    let why = Failure::new(ErrorKind::Database, "the server went away");
    app.answer(Slot::Look, Answer::Look(Err(why)));
}

fn chosen(app: &App) -> Option<&str> {
    app.state.runs.selected().map(|run| run.run_id.as_str())
}

fn newcomer(id: &str, status: &str, turn: i64) -> RunRow {
    run(id, "s-refunds", Some("engineer"), status, turn, -30)
}

#[test]
fn what_comes_in_is_marked_counted_and_moves_nothing() {
    let mut app = live(120, 35);
    app.keys("j j");
    let on = chosen(&app).expect("a run").to_owned();
    looked(&mut app, 2, vec![newcomer("new", "RUNNING", 5)], runs());
    assert_eq!(chosen(&app), Some(on.as_str()));
    let screen = app.screen();
    assert!(screen.contains("1 new"), "{screen}");
    assert!(screen.contains("▶◆"), "{screen}");
    assert!(screen.contains("2 agents · 8 runs · live"), "{screen}");
    // The same again is not counted again.
    looked(&mut app, 3, vec![newcomer("new", "RUNNING", 5)], runs());
    assert!(app.screen().contains("8 runs · live"), "{}", app.screen());
    // Choosing it takes the mark away.
    app.keys("k k k");
    assert_eq!(chosen(&app), Some("new"));
    assert!(!app.screen().contains('◆'), "{}", app.screen());
    assert!(!app.screen().contains(" new"), "{}", app.screen());
}

#[test]
fn a_mark_goes_after_a_while() {
    let mut app = live(120, 35);
    looked(&mut app, 2, vec![newcomer("new", "ERROR", 5)], runs());
    assert!(app.screen().contains('◆'));
    app.state.now_ms += 61_000;
    due(&mut app);
    assert!(!app.screen().contains('◆'), "{}", app.screen());
}

#[test]
fn further_down_the_screen_stands_still() {
    let mut app = App::empty(120, 20);
    app.state.live.every = Some(EVERY);
    let all: Vec<_> = (0..60)
        .map(|n| run(&format!("r{n}"), "s", Some("a"), "ERROR", n + 1, 100 + n))
        .collect();
    let page = RunPage {
        runs: all.clone(),
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    app.keys("ctrl-d ctrl-d ctrl-d k k");
    let stands = |app: &App| {
        let runs = &app.state.runs;
        assert!(runs.top > 0);
        let shown = runs.rows.iter().skip(runs.top).take(15);
        let shown: Vec<_> = shown
            .filter_map(|row| match row.item {
                Item::Run(run) => Some(runs.at(run)?.run_id.clone()),
                _ => None,
            })
            .collect();
        (runs.cursor - runs.top, shown)
    };
    let (before, screen) = (stands(&app), app.screen());
    assert_eq!(before.1.len(), 15);
    let new = (0..5).map(|n| run(&format!("n{n}"), "s", Some("a"), "ERROR", 90, 9 - n));
    let new: Vec<_> = new.collect();
    looked(&mut app, 2, new.clone(), all.clone());
    assert_eq!(app.state.runs.runs.len(), 65);
    assert_eq!(stands(&app), before);
    assert_eq!(
        screen.lines().skip(2).take(10).collect::<Vec<_>>(),
        app.screen().lines().skip(2).take(10).collect::<Vec<_>>()
    );
    // Neither does it move when one above is gone.
    let wanted = due(&mut app);
    let mut look = Look {
        version: Some(3),
        written: true,
        asked: wanted.rows,
        ..Look::default()
    };
    assert!(look.asked.contains(&"n3".to_owned()));
    look.rows.runs = all;
    let rest = new.into_iter().filter(|run| run.run_id != "n3");
    look.rows.runs.extend(rest);
    app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
    assert_eq!(app.state.runs.runs.len(), 64);
    assert_eq!(stands(&app), before);
}

#[test]
fn a_run_that_completes_can_be_opened_in_place() {
    let mut app = live(120, 35);
    app.keys("j enter");
    let refused = Failure::new(
        ErrorKind::NotCompleted,
        "Run run-refunds-3 is RUNNING, not COMPLETED; only a completed turn commits a checkpoint",
    );
    let row = app.state.runs.run("run-refunds-3").cloned().map(Box::new);
    app.answer(Slot::Open, Answer::Opened(Err(refused), row));
    assert!(app.screen().contains("is RUNNING, not COMPLETED"));
    let mut rows = runs();
    rows[1] = run(
        "run-refunds-3",
        "s-refunds",
        Some("engineer"),
        "COMPLETED",
        3,
        540,
    );
    looked(&mut app, 2, Vec::new(), rows);
    let screen = app.screen();
    assert!(!screen.contains("is RUNNING"), "{screen}");
    assert!(
        screen.contains("turn 3 is COMPLETED now; enter opens it"),
        "{screen}"
    );
    let engineer = app.state.runs.agent(Some("engineer")).expect("counted");
    assert_eq!(engineer.runs.get("RUNNING"), None);
    assert_eq!(engineer.runs["COMPLETED"], 4);
    app.requests();
    app.keys("enter");
    assert!(
        app.requests()
            .iter()
            .any(|request| matches!(request, Request::Open { .. }))
    );
}

#[test]
fn a_run_that_fails_is_refused_in_other_words() {
    let mut app = live(120, 35);
    app.keys("j enter");
    let refused = Failure::new(ErrorKind::NotCompleted, "Run run-refunds-3 is RUNNING, not");
    let row = app.state.runs.run("run-refunds-3").cloned().map(Box::new);
    app.answer(Slot::Open, Answer::Opened(Err(refused), row));
    let mut rows = runs();
    rows[1] = run(
        "run-refunds-3",
        "s-refunds",
        Some("engineer"),
        "ERROR",
        3,
        540,
    );
    looked(&mut app, 2, Vec::new(), rows);
    assert!(
        app.screen().contains("is ERROR, not COMPLETED"),
        "{}",
        app.screen()
    );
}

#[test]
fn a_run_that_is_gone_says_so_and_what_is_open_stays() {
    let mut app = App::opened(120, 35);
    app.state.live.every = Some(EVERY);
    let rows = runs()
        .into_iter()
        .filter(|run| run.run_id != OPENED)
        .collect();
    looked(&mut app, 2, Vec::new(), rows);
    let screen = app.screen();
    assert!(
        screen.contains("the open run's row is gone from the database"),
        "{screen}"
    );
    assert!(screen.contains("README.md"), "{screen}");
    assert_eq!(app.state.runs.runs.len(), 6);
    // Once.
    app.keys("esc");
    let rows = runs()
        .into_iter()
        .filter(|run| run.run_id != OPENED)
        .collect();
    looked(&mut app, 3, Vec::new(), rows);
    assert!(!app.screen().contains("is gone"), "{}", app.screen());
}

#[test]
fn nothing_is_made_anew_where_nothing_changed() {
    let mut app = live(120, 35);
    looked(&mut app, 2, Vec::new(), runs());
    let rows = app.state.runs.rows.as_ptr();
    let wanted = due(&mut app);
    assert_eq!((wanted.known, wanted.unread.len()), (Some(2), 0));
    saw(&mut app, wanted, 2, Vec::new(), runs());
    assert!(!app.state.runs.stale);
    assert_eq!(app.state.runs.rows.as_ptr(), rows, "the same rows");
}

#[test]
fn looks_one_at_a_time_and_less_often_where_they_take_long() {
    let mut app = live(120, 35);
    due(&mut app);
    app.send(Message::Look);
    assert!(
        !app.requests()
            .iter()
            .any(|one| matches!(one, Request::Look(_)))
    );
    assert!(app.state.live.slow);
    app.state.now_ms += 12_000;
    assert!(app.screen().contains("seen 12s ago"), "{}", app.screen());
    let look = Look {
        took: Duration::from_secs(4),
        ..Look::default()
    };
    app.effects.clear();
    app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
    assert_eq!(pauses(&app), [20]);
    assert!(app.screen().contains("· live"), "{}", app.screen());
}

#[test]
fn rests_while_nobody_looks_and_looks_at_once_after() {
    let mut app = live(120, 35);
    app.send(Message::Focus(false));
    app.effects.clear();
    app.send(Message::Look);
    assert!(app.effects.is_empty(), "{:?}", app.effects);
    assert!(app.screen().contains("· paused"), "{}", app.screen());
    app.send(Message::Focus(true));
    let asked = app.requests();
    let looks = asked.iter().filter(|one| matches!(one, Request::Look(_)));
    assert_eq!(looks.count(), 1);
    app.send(Message::Focus(true));
    assert!(app.requests().is_empty(), "once");
}

#[test]
fn off_is_off() {
    let mut app = App::listed(120, 35);
    app.effects.clear();
    app.send(Message::Look);
    app.send(Message::Focus(false));
    app.send(Message::Focus(true));
    assert!(app.effects.is_empty(), "{:?}", app.effects);
    assert!(!app.screen().contains("live"));
}

#[test]
fn a_lost_database_is_tried_less_and_less_and_is_said_once() {
    let mut app = live(120, 35);
    for pause in [2, 4, 8, 16, 32, 60, 60] {
        lose(&mut app);
        assert_eq!(pauses(&app), [pause]);
    }
    app.state.now_ms += 12_000;
    let screen = app.screen();
    assert!(screen.contains("seen 12s ago"), "{screen}");
    assert!(screen.contains("database not seen: the server went away (R tries again)"));
    assert!(screen.contains("Fix refunds"), "the list stays");
    // For a moment.
    app.send(Message::Tick);
    assert!(!app.screen().contains("went away"), "{}", app.screen());
    lose(&mut app);
    assert!(!app.screen().contains("went away"), "{}", app.screen());
    // R tries at once.
    app.keys("R");
    assert!(
        app.requests()
            .iter()
            .any(|one| matches!(one, Request::Page { .. }))
    );
    let page = RunPage {
        runs: runs(),
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    let screen = app.screen();
    assert!(screen.contains("the database answers again"), "{screen}");
    assert!(screen.contains("· live"), "{screen}");
    assert!(pauses(&app).ends_with(&[2]));
}

#[test]
fn a_list_that_could_not_be_read_is_read_when_the_database_is_there() {
    let mut app = App::empty(120, 35);
    app.state.live.every = Some(EVERY);
    let why = || Failure::new(ErrorKind::Database, "the server went away");
    app.answer(Slot::Agents, Answer::Agents(Err(why())));
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Err(why())));
    assert!(app.screen().contains("✖ the server went away"));
    assert!(app.screen().contains("not seen yet"), "{}", app.screen());
    app.effects.clear();
    app.send(Message::Look);
    let page = RunPage {
        runs: runs(),
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    assert!(app.screen().contains("s-refunds"), "{}", app.screen());
    assert!(app.screen().contains("answers again"), "{}", app.screen());
}

#[test]
fn a_filter_by_status_lists_what_comes_to_match() {
    let mut app = live(120, 35);
    app.keys("s s");
    assert_eq!(app.state.runs.status.as_deref(), Some("ERROR"));
    let page = RunPage {
        runs: vec![runs()[2].clone()],
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    looked(&mut app, 2, vec![newcomer("new", "RUNNING", 5)], runs());
    assert_eq!(app.state.runs.runs.len(), 1, "it does not match yet");
    assert!(
        app.screen().contains("8 runs"),
        "but counts: {}",
        app.screen()
    );
    let wanted = due(&mut app);
    assert!(wanted.rows.contains(&"new".to_owned()), "and is followed");
    let mut rows = runs();
    rows.push(newcomer("new", "ERROR", 5));
    saw(&mut app, wanted, 3, Vec::new(), rows);
    assert_eq!(app.state.runs.runs.len(), 2);
    assert_eq!(app.state.runs.runs[0].run_id, "new");
    let engineer = app.state.runs.agent(Some("engineer")).expect("counted");
    assert_eq!(engineer.runs["ERROR"], 2);
}

#[test]
fn oldest_first_waits_for_the_end_of_the_list() {
    let mut app = live(120, 35);
    app.keys("o");
    let mut old = runs();
    old.reverse();
    let next = Some(Cursor {
        created_at: NOW,
        row: "9".into(),
    });
    let page = RunPage {
        runs: old[..4].to_vec(),
        next,
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
    app.state.awaited.clear();
    looked(
        &mut app,
        2,
        vec![newcomer("new", "ERROR", 5)],
        old[..4].to_vec(),
    );
    assert_eq!(app.state.runs.runs.len(), 4, "its place is not read yet");
    assert!(app.screen().contains("1 new"), "{}", app.screen());
    let page = RunPage {
        runs: old[4..].to_vec(),
        ..RunPage::default()
    };
    app.keys("G");
    app.answer(Slot::Page, Answer::Page(PageUse::Append, Ok(page)));
    looked(&mut app, 3, vec![newcomer("last", "ERROR", 6)], old);
    let last = app.state.runs.runs.last().map(|run| run.run_id.as_str());
    assert_eq!(last, Some("last"));
}

#[test]
fn a_folded_session_counts_what_comes_in() {
    let mut app = live(120, 35);
    app.keys("h h");
    assert!(matches!(
        app.state.runs.node(app.state.runs.cursor),
        Some(Node::Session(..))
    ));
    let wanted = due(&mut app);
    let mut look = Look {
        version: Some(2),
        written: true,
        asked: wanted.rows,
        ..Look::default()
    };
    look.rows.runs = runs();
    look.new.runs = vec![newcomer("new", "ERROR", 5)];
    let info = SessionInfo {
        title: "Fix refunds".into(),
        runs: 5,
    };
    look.new.sessions.insert("s-refunds".into(), info);
    app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
    assert!(app.screen().contains("5 turns"), "{}", app.screen());
    let folded = app
        .state
        .runs
        .rows
        .iter()
        .any(|row| matches!(&row.item, Item::Session(_, id, true) if id == "s-refunds"));
    assert!(folded);
    // It has the mark of what came into it, and so has a folded agent.
    let line = |app: &App, text: &str| {
        let screen = app.screen();
        let line = screen.lines().find(|line| line.contains(text));
        line.unwrap_or_default().to_owned()
    };
    assert!(line(&app, "Fix refunds").contains("◆ 5 turns"));
    assert!(!line(&app, "Migrate billing").contains('◆'));
    app.keys("h h");
    assert!(
        line(&app, "engineer").contains("◆ 6 runs"),
        "{}",
        app.screen()
    );
    app.keys("l");
    assert!(!line(&app, "engineer").contains('◆'), "{}", app.screen());
    app.state.now_ms += 61_000;
    due(&mut app);
    assert!(!app.screen().contains('◆'), "{}", app.screen());
}

/// What the first page of a list now says.
fn page_of(app: &mut App, runs: Vec<RunRow>) {
    let page = RunPage {
        runs,
        ..RunPage::default()
    };
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Ok(page)));
}

fn counts(app: &App, status: &str) -> u64 {
    let engineer = app.state.runs.agent(Some("engineer")).expect("counted");
    engineer.runs.get(status).copied().unwrap_or(0)
}

/// The world's runs, the third turn of which is another by now.
fn third_is(status: &str) -> Vec<RunRow> {
    let mut rows = runs();
    rows[1] = run(
        "run-refunds-3",
        "s-refunds",
        Some("engineer"),
        status,
        3,
        540,
    );
    rows
}

#[test]
fn a_list_that_is_read_again_counts_what_changed() {
    let mut app = live(120, 35);
    app.keys("s s");
    page_of(&mut app, third_is("ERROR")[1..3].to_vec());
    assert_eq!((counts(&app, "ERROR"), counts(&app, "RUNNING")), (2, 0));
    // A run that another filter leaves out is followed, and counted when it is listed again.
    let mut app = live(120, 35);
    app.keys("s s");
    page_of(&mut app, vec![runs()[2].clone()]);
    assert!(app.state.live.followed.contains_key("run-refunds-3"));
    app.keys("esc");
    page_of(&mut app, third_is("CANCELLED"));
    assert_eq!((counts(&app, "CANCELLED"), counts(&app, "RUNNING")), (1, 0));
    assert!(app.state.live.followed.is_empty());
    // One that was made since, and no look saw, counts too; once.
    app.keys("R");
    let mut rows = third_is("CANCELLED");
    rows.insert(0, newcomer("new", "RUNNING", 5));
    page_of(&mut app, rows.clone());
    assert_eq!(counts(&app, "RUNNING"), 1);
    looked(&mut app, 2, vec![rows[0].clone()], rows);
    assert_eq!(counts(&app, "RUNNING"), 1);
}

#[test]
fn what_newer_counts_hold_is_not_counted_again() {
    let mut app = live(120, 35);
    app.keys("R");
    let mut agents = app.state.runs.agents.clone().expect("counted");
    agents[0].runs = [("COMPLETED", 3), ("ERROR", 2)]
        .map(|(status, count)| (status.to_owned(), count))
        .into();
    app.answer(Slot::Agents, Answer::Agents(Ok(agents)));
    page_of(&mut app, third_is("ERROR"));
    assert_eq!((counts(&app, "ERROR"), counts(&app, "RUNNING")), (2, 0));
    // From here on what is read is newer than the counts.
    looked(&mut app, 2, Vec::new(), third_is("COMPLETED"));
    assert_eq!((counts(&app, "ERROR"), counts(&app, "COMPLETED")), (1, 4));
}

#[test]
fn counts_that_may_be_off_are_read_again_but_not_often() {
    let mut app = live(120, 35);
    let asks = |app: &mut App| {
        let asked = app.requests();
        asked.iter().any(|one| matches!(one, Request::Agents))
    };
    // Whatever changes while they are counted may be in them, or not.
    app.keys("R");
    page_of(&mut app, third_is("ERROR"));
    app.state.now_ms += 5_000;
    let agents = app.state.runs.agents.clone().expect("counted");
    app.answer(Slot::Agents, Answer::Agents(Ok(agents.clone())));
    app.requests();
    for _ in 0..9 {
        app.state.now_ms += 10_000;
        looked(&mut app, 2, Vec::new(), third_is("ERROR"));
        app.send(Message::Look);
        assert!(!asks(&mut app), "they took 5 s: not in the next 100");
        app.state.awaited.remove(&Slot::Look);
    }
    app.state.now_ms += 10_000;
    app.send(Message::Look);
    assert!(asks(&mut app));
    app.answer(Slot::Agents, Answer::Agents(Ok(agents)));
    app.state.awaited.remove(&Slot::Look);
    // Where nothing was unclear they stand.
    app.state.now_ms += 1_000_000;
    app.send(Message::Look);
    assert!(!asks(&mut app));
}

#[test]
fn why_it_is_lost_has_room_in_a_narrow_line() {
    let mut app = live(60, 16);
    app.state.labels.database = "postgresql://afterrun@db.example.org:5432/production".into();
    let message = format!(
        "Cannot open {}: 10.0.0.7:5432 refuses it",
        app.state.labels.database
    );
    app.send(Message::Look);
    let why = Failure::new(ErrorKind::Database, &message);
    app.answer(Slot::Look, Answer::Look(Err(why)));
    let screen = app.screen();
    assert!(
        screen.contains("not seen: 10.0.0.7:5432 refuses it"),
        "{screen}"
    );
}

#[test]
fn reading_again_is_said_until_it_was_read() {
    let mut app = live(120, 35);
    app.keys("R");
    assert!(app.screen().contains("reading the list again"));
    page_of(&mut app, runs());
    assert!(
        !app.screen().contains("reading the list again"),
        "{}",
        app.screen()
    );
}

#[test]
fn what_is_new_is_followed_until_it_is_gone() {
    let mut app = live(120, 35);
    looked(&mut app, 2, vec![newcomer("new", "ERROR", 5)], runs());
    // Another list does not hold it; the title still counts it.
    app.keys("s");
    page_of(&mut app, vec![runs()[0].clone()]);
    assert!(app.screen().contains("1 new"), "{}", app.screen());
    let wanted = due(&mut app);
    assert!(wanted.rows.contains(&"new".to_owned()));
    saw(&mut app, wanted, 3, Vec::new(), runs());
    assert!(!app.screen().contains("1 new"), "{}", app.screen());
    assert!(app.state.live.tally.doubted, "and it is counted again");
}

#[test]
fn an_agent_goes_with_its_last_run() {
    let mut app = live(120, 35);
    let rows = runs().into_iter().filter(|run| run.run_id != "run-look");
    looked(&mut app, 2, Vec::new(), rows.collect());
    let screen = app.screen();
    assert!(screen.contains("1 agent · 6 runs"), "{screen}");
    assert!(!screen.contains("reviewer"), "{screen}");
}

#[test]
fn counting_that_takes_too_long_is_no_lost_database() {
    let mut app = live(120, 35);
    app.keys("R");
    page_of(&mut app, runs());
    let why = Failure::new(ErrorKind::Timeout, "Counting every run took longer");
    app.answer(Slot::Agents, Answer::Agents(Err(why)));
    let screen = app.screen();
    assert!(
        screen.contains("8 runs") || screen.contains("7 runs"),
        "{screen}"
    );
    assert!(screen.contains("· live"), "{screen}");
    assert!(
        screen.contains("Counting every run took longer"),
        "{screen}"
    );
    assert_eq!(app.state.live.lost, None);
}

#[test]
fn the_page_is_shown_before_the_agents_are_counted() {
    let mut app = App::empty(120, 35);
    app.send(Message::Start);
    page_of(&mut app, runs());
    let screen = app.screen();
    assert!(
        screen.contains("Fix it") || screen.contains("s-refunds"),
        "{screen}"
    );
    assert!(!screen.contains("agents ·"), "{screen}");
    assert!(app.state.awaited.contains_key(&Slot::Agents));
}

#[test]
fn a_time_range_and_a_text_hold_for_what_comes_in() {
    let mut app = live(120, 35);
    app.keys("S");
    app.keys("1 h enter");
    let since = app.state.runs.since.clone().expect("a time range");
    page_of(&mut app, runs()[..4].to_vec());
    let new = newcomer("new", "RUNNING", 5);
    let late = run("late", "s-look", Some("reviewer"), "ERROR", 2, 7_200);
    assert!(late.created_at < Some(since.at));
    looked(&mut app, 2, vec![new.clone(), late], runs());
    let ids = |app: &App| -> Vec<String> {
        let runs = app.state.runs.runs.iter();
        runs.map(|run| run.run_id.clone()).collect()
    };
    assert_eq!(ids(&app)[0], "new");
    assert_eq!(ids(&app).len(), 5, "{:?}", ids(&app));
    // A text shows of what comes in what it is found in; the rest is loaded and not shown.
    let mut app = live(120, 35);
    app.keys("/ r e v i e w e r enter");
    let shown = app.state.runs.shown;
    let other = run("other", "s-look", Some("reviewer"), "RUNNING", 2, -30);
    looked(&mut app, 2, vec![new, other], runs());
    assert_eq!(app.state.runs.shown, shown + 1, "{}", app.screen());
    assert_eq!(app.state.runs.runs.len(), 9);
    assert!(app.screen().contains("2 new"), "{}", app.screen());
    app.keys("esc esc");
    assert_eq!(app.state.runs.shown, 9, "{}", app.screen());
}

#[test]
fn an_object_that_is_gone_is_said_once_and_what_is_open_stays() {
    let mut app = App::opened(120, 35);
    app.state.live.every = Some(EVERY);
    // Another turn in the session may be what has it deleted: then the store is asked.
    assert!(due(&mut app).object.is_none());
    app.state.awaited.remove(&Slot::Look);
    let wanted = due(&mut app);
    let mut look = Look {
        version: Some(2),
        written: true,
        asked: wanted.rows,
        ..Look::default()
    };
    look.rows.runs = runs();
    look.new.runs = vec![newcomer("new", "COMPLETED", 5)];
    let info = SessionInfo {
        title: "Fix refunds".into(),
        runs: 5,
    };
    look.new.sessions.insert("s-refunds".into(), info);
    app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
    let wanted = due(&mut app);
    assert_eq!(
        wanted.object.as_ref().map(CheckpointRef::sha256),
        Some(digest().as_str())
    );
    for said in [true, false] {
        let look = Look {
            version: Some(2),
            object_gone: true,
            ..Look::default()
        };
        app.state.note = None;
        if !said {
            due(&mut app);
        }
        app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
        let screen = app.screen();
        let text = "the store has the open run's checkpoint no more";
        assert_eq!(screen.contains(text), said, "{screen}");
        assert!(screen.contains("README.md"), "{screen}");
        assert!(screen.contains("missing"), "{screen}");
    }
}

#[test]
fn without_looks_a_lost_database_is_told_all_the_same() {
    let mut app = App::listed(120, 35);
    let why = || Failure::new(ErrorKind::Database, "the server went away");
    app.state.live.seen = Some(app.state.now_ms);
    app.keys("R");
    app.answer(Slot::Agents, Answer::Agents(Err(why())));
    app.answer(Slot::Page, Answer::Page(PageUse::Replace, Err(why())));
    app.state.now_ms += 12_000;
    let screen = app.screen();
    assert!(screen.contains("seen 12s ago"), "{screen}");
    assert!(screen.contains("the server went away"), "{screen}");
    assert!(screen.contains("Fix refunds"), "the list stays: {screen}");
    assert_eq!(
        pauses(&app),
        Vec::<u64>::new(),
        "nothing is tried by itself"
    );
    app.keys("R");
    page_of(&mut app, runs());
    let screen = app.screen();
    assert!(screen.contains("the database answers again"), "{screen}");
    assert!(!screen.contains("seen "), "{screen}");
    assert!(!screen.contains("live"), "{screen}");
}

#[test]
fn five_hundred_that_come_in_are_one_new_list_and_few_rows_are_drawn() {
    let mut app = App::empty(160, 45);
    app.state.live.every = Some(EVERY);
    let many = |from: i64, count: i64| -> Vec<RunRow> {
        let row = |n| {
            let session = format!("s{}", n / 4);
            run(
                &format!("r{n}"),
                &session,
                Some("a"),
                "ERROR",
                n % 4 + 1,
                90_000 - n,
            )
        };
        (from..from + count).rev().map(row).collect()
    };
    page_of(&mut app, many(0, 20_000));
    app.keys("j j j");
    // A look that saw nothing makes no row; one that saw five hundred makes them once.
    let made = |app: &App| (app.state.runs.rows.as_ptr(), app.state.runs.rows.len());
    let before = made(&app);
    let wanted = due(&mut app);
    let rows = app.state.runs.runs.iter();
    let asked = wanted.rows.clone();
    let rows: Vec<_> = rows
        .filter(|run| asked.contains(&run.run_id))
        .cloned()
        .collect();
    assert!(asked.len() <= 200, "{}", asked.len());
    saw(&mut app, wanted, 2, Vec::new(), rows.clone());
    assert_eq!(made(&app), before);
    let wanted = due(&mut app);
    saw(&mut app, wanted, 3, many(20_000, 500), rows);
    assert_eq!(app.state.runs.runs.len(), 20_500);
    let after = made(&app);
    app.keys("j");
    app.send(Message::Tick);
    assert_eq!(made(&app), after, "not again for a key, nor as time passes");
    assert!(app.screen().contains("500 new"), "{}", app.screen());
}

#[test]
fn more_than_one_look_reads_is_read_on_at_once() {
    let mut app = live(120, 35);
    let wanted = due(&mut app);
    let next = Some(Cursor {
        created_at: NOW - 5,
        row: "77".into(),
    });
    let mut look = Look {
        version: Some(2),
        written: true,
        asked: wanted.rows,
        ..Look::default()
    };
    look.rows.runs = runs();
    look.new.runs = vec![newcomer("new", "ERROR", 5)];
    look.new.next.clone_from(&next);
    app.effects.clear();
    app.answer(Slot::Look, Answer::Look(Ok(Box::new(look))));
    assert_eq!(pauses(&app), [0]);
    assert_eq!(due(&mut app).after, next);
}

#[test]
fn info_says_what_the_session_is_bound_to() {
    let mut app = live(200, 60);
    app.requests();
    app.keys("i");
    let asked = app.requests();
    assert!(
        matches!(&asked[..], [Request::Binding { session }] if session == "s-refunds"),
        "{asked:?}"
    );
    let binding = Binding {
        agent_id: Some("engineer".into()),
        run_id: Some("run-refunds-3".into()),
        held_until: Some(NOW + 60),
        phase: Some("executing".into()),
        warm_until: None,
        kept: vec![CheckpointRef::new(digest(), 12_156).expect("a reference")],
        retired: Vec::new(),
    };
    app.answer(Slot::Binding, Answer::Bound(Ok(Some(binding))));
    let screen = app.screen();
    assert!(
        screen.contains("turn 3, run run-refunds-3, until 2025-"),
        "{screen}"
    );
    assert!(
        screen.contains("executing") && screen.contains("turn 1 = turn 4"),
        "{screen}"
    );
    // Another session is asked for anew, and nothing of the first is shown meanwhile.
    app.keys("G");
    assert!(
        app.requests()
            .iter()
            .any(|one| matches!(one, Request::Binding { .. }))
    );
    assert!(!app.screen().contains("executing"), "{}", app.screen());
    app.answer(Slot::Binding, Answer::Bound(Ok(None)));
    assert!(!app.screen().contains("held by"), "{}", app.screen());
}

#[test]
fn header_and_sign_at_each_size() {
    at_sizes("live", |width, height| {
        let mut app = live(width, height);
        looked(&mut app, 2, vec![newcomer("new", "RUNNING", 5)], runs());
        app
    });
    at_sizes("live_lost", |width, height| {
        let mut app = live(width, height);
        lose(&mut app);
        app.state.now_ms += 12_000;
        app
    });
}
