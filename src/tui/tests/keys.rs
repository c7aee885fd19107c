//! Scripts of keys through `update`, and what they ask for.

use super::world::{App, OPENED, compared, entries};
use crate::ErrorKind;
use crate::review::BaseChoice;
use crate::tui::action::{Scope, TABLE};
use crate::tui::message::{Answer, Effect, Message, PageUse, Request, Resolved, Slot, Written};
use crate::tui::state::{Failure, FileTree, Item, Marks, Overlay};

fn refuse(app: &mut App, kind: ErrorKind, message: &str) {
    let failure = Failure::new(kind, message);
    app.answer(Slot::Open, Answer::Opened(Err(failure), None));
}

#[test]
fn starts_by_reading_the_list() {
    let mut app = App::empty(160, 45);
    let requests = app.requests();
    assert!(matches!(requests[0], Request::Agents));
    assert!(matches!(
        requests[1],
        Request::Page {
            how: PageUse::Replace,
            ..
        }
    ));
    assert!(
        App::listed(160, 45)
            .state
            .runs
            .selected()
            .is_some_and(|run| run.run_id == OPENED)
    );
}

#[test]
fn enter_opens_and_the_comparison_follows() {
    let mut app = App::listed(160, 45);
    app.requests();
    app.keys("enter");
    assert!(
        matches!(&app.requests()[..], [Request::Open { run_id, opening_as: None }] if run_id == OPENED)
    );
    app.verify();
    assert!(matches!(
        &app.requests()[..],
        [Request::Diff {
            choice: BaseChoice::Default,
            ..
        }]
    ));
    assert!(app.screen().contains("✔ archive 11 entries"));
    assert!(
        app.screen().contains("▾ workspace"),
        "the tree shows before the diff is there"
    );
    app.compare();
    assert!(matches!(
        &app.requests()[..],
        [Request::Patch { file: 0, .. }]
    ));
    assert_eq!(
        app.state.content.path.as_deref(),
        Some(&b"workspace/repository/README.md"[..])
    );
}

#[test]
fn the_newest_open_wins_and_late_answers_are_dropped() {
    let mut app = App::listed(160, 45);
    app.keys("enter");
    let first = app.number(Slot::Open);
    app.keys("j enter");
    assert_ne!(app.number(Slot::Open), first);
    let late = Failure::new(ErrorKind::ObjectMissing, "Checkpoint object is missing");
    app.send(Message::Answer(first, Answer::Opened(Err(late), None)));
    assert!(app.state.refusal.is_none());
    assert_eq!(
        app.state.opening.as_ref().map(|run| run.run_id.as_str()),
        Some("run-refunds-3")
    );
}

#[test]
fn old_panes_stay_while_another_run_opens() {
    let mut app = App::opened(160, 45);
    app.keys("j enter");
    assert!(app.screen().contains("+ Edited by the engineer"));
    app.keys("esc");
    assert!(app.state.opening.is_none());
    assert!(
        app.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Cancel(Slot::Open)))
    );
    assert!(app.screen().contains("+ Edited by the engineer"));
}

#[test]
fn a_refusal_stands_under_its_run_and_esc_goes_back() {
    let mut app = App::opened(160, 45);
    app.keys("j j enter");
    refuse(
        &mut app,
        ErrorKind::NotCompleted,
        "Run run-refunds-2 is ERROR, not COMPLETED",
    );
    let rows = &app.state.runs.rows;
    let note = rows
        .iter()
        .position(|row| matches!(row.item, Item::Note(_)))
        .expect("a note");
    assert_eq!(note, app.state.runs.cursor + 1);
    let screen = app.screen();
    assert!(screen.contains("└ Run run-refunds-2 is ERROR"), "{screen}");
    assert!(
        !screen.contains("Edited by the engineer"),
        "not under a refusal: {screen}"
    );
    app.keys("j");
    assert!(
        matches!(
            app.state.runs.rows[app.state.runs.cursor].item,
            Item::Run(_)
        ),
        "passes notes over"
    );
    app.keys("r");
    assert!(app.state.overlay.is_none(), "a refused run is not restored");
    assert!(
        app.screen().contains("restore: Run run-refunds-2 is ERROR"),
        "{}",
        app.screen()
    );
    app.keys("esc");
    assert!(app.state.refusal.is_none());
    assert!(app.screen().contains("Edited by the engineer"));
}

#[test]
fn a_late_comparison_leaves_the_bottom_line_to_a_refusal() {
    let mut app = App::listed(160, 45);
    app.keys("enter");
    app.requests();
    app.verify();
    app.keys("j j enter");
    let message = "Run run-refunds-2 is ERROR, not COMPLETED";
    refuse(&mut app, ErrorKind::NotCompleted, message);
    app.compare();
    let screen = app.screen();
    let last = screen.lines().rev().nth(1).unwrap_or_default();
    assert!(last.contains(message), "{screen}");
}

#[test]
fn an_unknown_id_is_refused_like_any_other() {
    let mut app = App::listed(160, 45);
    app.keys(":");
    app.text("no-such-run");
    app.requests();
    app.keys("enter");
    let requests = app.requests();
    assert!(matches!(&requests[..], [Request::Resolve { text, .. }] if text == "no-such-run"));
    app.answer(
        Slot::Find,
        Answer::Resolved(Ok(Resolved::Run("no-such-run".into()))),
    );
    refuse(
        &mut app,
        ErrorKind::NotFound,
        "Run no-such-run does not exist",
    );
    let screen = app.screen();
    assert!(
        screen.contains("└ Run no-such-run does not exist"),
        "{screen}"
    );
    assert!(
        screen.contains("✖ no row · Run no-such-run does not exist"),
        "{screen}"
    );
}

#[test]
fn the_palette_opens_exact_ids_and_runs_actions() {
    let mut app = App::listed(160, 45);
    app.keys(":");
    app.text("run-look");
    app.requests();
    app.keys("enter");
    assert!(matches!(&app.requests()[..], [Request::Open { run_id, .. }] if run_id == "run-look"));
    app.keys("esc :");
    app.text("zoom");
    app.keys("enter");
    app.answer(
        Slot::Find,
        Answer::Resolved(Ok(Resolved::Action(crate::tui::action::Id::Zoom))),
    );
    assert!(app.state.zoom);
    app.keys(":");
    app.text("run-refu");
    app.answer(
        Slot::Lookup,
        Answer::Found(Ok(vec!["run-refunds-9".into()])),
    );
    assert!(
        app.screen().contains("open run-refunds-9"),
        "{}",
        app.screen()
    );
    app.keys("esc");
    assert!(app.state.overlay.is_none());
}

#[test]
fn another_agent_closes_what_it_may_not_see() {
    let mut app = App::opened(160, 45);
    app.keys("A");
    app.text("reviewer");
    app.requests();
    app.keys("enter");
    assert!(
        app.state.opened.is_none(),
        "a foreign run does not stay on the screen"
    );
    assert!(matches!(
        &app.requests()[..],
        [Request::Open { opening_as: Some(agent), .. }] if agent == "reviewer"
    ));
    let failure = Failure::new(
        ErrorKind::Foreign,
        "Run run-refunds-4 belongs to another agent",
    );
    let row = app.state.runs.run(OPENED).cloned().map(Box::new);
    app.answer(Slot::Open, Answer::Opened(Err(failure), row));
    assert!(app.screen().contains("as reviewer"));
    assert!(
        app.screen().contains("it is a run of engineer: press A"),
        "{}",
        app.screen()
    );
    app.keys("A ctrl-u enter");
    assert_eq!(app.state.opening_as, None);
}

#[test]
fn restore_plans_first_and_carries_out_that_plan() {
    let mut app = App::opened(160, 45);
    app.requests();
    app.keys("r ctrl-u");
    app.text("/tmp/out");
    app.keys("enter enter");
    let requests = app.requests();
    assert_eq!(requests.len(), 1, "an impatient enter does not plan twice");
    assert!(
        matches!(&requests[0], Request::Restore { destination, .. } if destination.as_os_str() == "/tmp/out")
    );
    let plan = Written {
        destination: "/tmp/out".into(),
        entries: 10,
        bytes: 2_313,
        left_out: vec!["workspace/repository/etc".into()],
    };
    let number = app.number(Slot::Restore);
    app.answer(Slot::Restore, Answer::Plan(Ok(plan.clone())));
    app.keys("enter");
    assert!(matches!(app.effects[..], [Effect::Go(agreed)] if agreed == number));
    assert!(app.state.overlay.is_none());
    app.answer(Slot::Restore, Answer::Restored(Ok(plan)));
    let screen = app.screen();
    assert!(
        screen.contains("✔ restored to /tmp/out: 10 entries, 2.3 kB; left out the link"),
        "{screen}"
    );
    app.keys("j");
    assert!(
        app.screen().contains("✔ restored to /tmp/out"),
        "the result stays"
    );
}

#[test]
fn an_edited_destination_drops_the_plan() {
    let mut app = App::opened(160, 45);
    app.keys("r enter");
    let plan = Written {
        destination: "x".into(),
        entries: 1,
        bytes: 1,
        left_out: Vec::new(),
    };
    app.answer(Slot::Restore, Answer::Plan(Ok(plan)));
    app.effects.clear();
    app.text("2");
    assert!(matches!(app.effects[..], [Effect::Cancel(Slot::Restore)]));
    assert!(matches!(&app.state.overlay, Some(Overlay::Prompt(prompt)) if prompt.plan.is_none()));
    app.keys("enter");
    let failure = Failure::new(ErrorKind::Exists, "x2 already exists");
    app.answer(Slot::Restore, Answer::Plan(Err(failure)));
    assert!(app.screen().contains("✖ x2 already exists"));
    app.keys("esc");
    assert!(app.state.overlay.is_none() && app.state.restoring.is_none());
}

#[test]
fn bases_go_round_and_failures_stand_in_the_pane() {
    let mut app = App::opened(160, 45);
    app.requests();
    app.keys("b");
    assert!(matches!(
        &app.requests()[..],
        [Request::Diff {
            choice: BaseChoice::Head,
            ..
        }]
    ));
    assert!(
        app.screen().contains("+ Edited by the engineer"),
        "the old one stays meanwhile"
    );
    app.keys("b");
    assert!(matches!(
        &app.requests()[..],
        [Request::Diff {
            choice: BaseChoice::Previous,
            ..
        }]
    ));
    let failure = Failure::new(
        ErrorKind::NotFound,
        "no turn before this one completed with a checkpoint",
    );
    app.answer(Slot::Diff, Answer::Diff(Err(failure)));
    let screen = app.screen();
    assert!(
        screen.contains("3 Diff  pin 7fd1a60 → turn 4"),
        "what is shown stays true of the base that is named: {screen}"
    );
    assert!(
        screen.contains("✖ no turn before this one completed with a checkpoint; still against pin"),
        "{screen}"
    );
    app.keys("b");
    assert!(matches!(
        &app.requests()[..],
        [Request::Diff {
            choice: BaseChoice::Empty,
            ..
        }]
    ));
    let diff = compared();
    let marks = Marks {
        root: &diff.root,
        files: &diff.files,
        ignored: &[],
        notices: &[],
    };
    let tree = FileTree::build(&entries(), Some(marks));
    app.answer(Slot::Diff, Answer::Diff(Ok((Box::new(diff), tree.into()))));
    assert_eq!(
        app.state.content.path.as_deref(),
        Some(&b"workspace/repository/README.md"[..]),
        "the place is kept when the base changes"
    );
}

#[test]
fn no_key_is_dead_without_saying_why() {
    for action in TABLE.iter().filter(|action| action.later) {
        let mut app = App::opened(160, 45);
        match action.scope {
            Scope::Files => app.keys("2"),
            Scope::Content => app.keys("3"),
            _ => {}
        }
        app.keys(action.keys[0]);
        assert!(
            app.screen().contains("not in this version yet"),
            "{}",
            action.name
        );
    }
}

#[test]
fn a_crashed_job_does_not_hang_the_screen() {
    let mut app = App::listed(160, 45);
    app.keys("enter");
    app.answer(Slot::Open, Answer::Crashed(Slot::Open));
    assert!(app.state.opening.is_none());
    assert!(
        app.screen().contains("a defect of afterrun"),
        "{}",
        app.screen()
    );
}

#[test]
fn leaving() {
    let mut app = App::opened(160, 45);
    app.effects.clear();
    app.keys("q");
    assert!(matches!(app.effects[..], [Effect::Quit]));
    let mut app = App::listed(160, 45);
    app.keys("enter");
    app.effects.clear();
    app.keys("ctrl-c");
    assert!(
        matches!(app.effects[..], [Effect::Cancel(Slot::Open)]),
        "first the job"
    );
    app.effects.clear();
    app.keys("ctrl-c");
    assert!(matches!(app.effects[..], [Effect::Quit]));
}

#[test]
fn no_press_on_a_whole_keyboard_breaks_anything() {
    let keys: Vec<&str> = TABLE
        .iter()
        .flat_map(|action| action.keys.iter().copied())
        .collect();
    for (width, height) in [(160, 45), (80, 24), (60, 16), (20, 5)] {
        let mut app = App::opened(160, 45);
        app.send(Message::Resize(width, height));
        // A fixed walk over all keys, each after many others.
        let mut at = 7_usize;
        for _ in 0..3_000 {
            at = at
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let key = keys[(at >> 33) % keys.len()];
            app.keys(key);
            if at >> 60 == 0 {
                app.screen();
            }
        }
        app.screen();
    }
}
