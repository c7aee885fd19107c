//! The rest of the list: a reviewer who has no repository, and the rows that the gate refuses, one
//! of each kind, among them runs of a team and of a workflow.

use super::rows::Runner;
use super::session::Script;
use super::steps::{Step, edit};
use super::transcript::Home;
use super::turn::{End, Turn, ending, turn};
use super::{DAY, ENGINEER, HOUR, REVIEWER};

pub(super) fn scripts() -> Vec<Script> {
    vec![
        linter(),
        proposal(),
        notes(),
        question(),
        import(),
        release(),
        nightly(),
    ]
}

/// A session of rows alone.
fn rows(key: &'static str, runner: Runner, began: i64, turns: Vec<Turn>) -> Script {
    Script {
        key,
        runner,
        user: None,
        name: None,
        began,
        fixture: false,
        home: None,
        origin: None,
        plain: false,
        turns,
    }
}

fn notes() -> Script {
    Script {
        user: Some("mara@tidewater.example"),
        home: Some(Home::Codex),
        ..rows(
            "notes",
            REVIEWER,
            DAY + 15 * HOUR,
            vec![
                turn(
                    "Here are the release notes for 0.3. Are they ready to go out?",
                    "Not yet: two entries do not say what a user should do. review.md has them.",
                    vec![
                        Step::Write {
                            path: "notes/release-0.3.md",
                            text: "# 0.3\n\n- Totals are in grams.\n- The report is called summary.\n- Settings have moved.\n",
                        },
                        Step::Write {
                            path: "review.md",
                            text: "# Review of 0.3\n\n- [ ] The report is called summary: does `pantry report` still work?\n- [ ] Settings have moved: from where to where?\n",
                        },
                    ],
                ),
                turn(
                    "`pantry report` still works. Write that down and look again",
                    "One question is left: where the settings went.",
                    vec![
                        edit(
                            "notes/release-0.3.md",
                            "- The report is called summary.\n",
                            "- The report is called summary; `pantry report` still works.\n",
                        ),
                        edit(
                            "review.md",
                            "- [ ] The report is called summary: does `pantry report` still work?",
                            "- [x] The report is called summary: `pantry report` still works.",
                        ),
                    ],
                ),
            ],
        )
    }
}

fn proposal() -> Script {
    Script {
        user: Some("jonas@tidewater.example"),
        fixture: true,
        ..rows(
            "proposal",
            REVIEWER,
            DAY + 16 * HOUR,
            vec![
                ending(
                    End::Regenerated,
                    "Review the proposal for expiry dates",
                    "Looks good.",
                    vec![Step::Write {
                        path: "verdict.md",
                        text: "Looks good.\n",
                    }],
                ),
                turn(
                    "Review the proposal for expiry dates",
                    "Dates should be optional: salt does not expire.",
                    vec![Step::Write {
                        path: "verdict.md",
                        text: "Dates should be optional: salt does not expire.\n",
                    }],
                ),
                ending(End::Pending, "And what about opened jars?", "", vec![]),
            ],
        )
    }
}

fn linter() -> Script {
    rows(
        "linter",
        ENGINEER,
        DAY + 16 * HOUR + 3000,
        vec![ending(
            End::Running,
            "Bump the linter and fix what it finds",
            "",
            vec![],
        )],
    )
}

fn question() -> Script {
    rows(
        "question",
        ENGINEER,
        DAY + 11 * HOUR,
        vec![
            ending(
                End::Host,
                "Which Python does pantry need?",
                "3.11 or later.",
                vec![],
            ),
            ending(End::Paused, "Publish 0.3 to the package index", "", vec![]),
        ],
    )
}

fn import() -> Script {
    Script {
        name: Some("Imported from the old server"),
        ..rows(
            "import",
            REVIEWER,
            DAY + 6 * HOUR,
            vec![ending(
                End::Damaged,
                "Compare both exports",
                "They are equal but for the order of the rows.",
                vec![],
            )],
        )
    }
}

fn release() -> Script {
    let crew = Runner {
        kind: "team",
        id: "release-crew",
        name: "Release crew",
    };
    let input = "Prepare the release of 0.3";
    let turns = vec![ending(
        End::Host,
        input,
        "Engineer and Reviewer agree.",
        vec![],
    )];
    rows("release", crew, DAY + 5 * HOUR, turns)
}

fn nightly() -> Script {
    let workflow = Runner {
        kind: "workflow",
        id: "nightly",
        name: "Nightly",
    };
    let turns = vec![ending(End::Host, "Nightly checks", "All steps ran", vec![])];
    rows("nightly", workflow, DAY + 2 * HOUR, turns)
}
