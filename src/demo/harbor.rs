//! The migrator's sessions, told in Codex's words: a checkpoint that retention deleted, a failed
//! and a cancelled turn, an object whose bytes changed, and an archive stored uncompressed.

use super::git::Origin;
use super::session::Script;
use super::steps::{Step, edit, look, shell};
use super::transcript::Home;
use super::turn::{End, ending, turn};
use super::{DAY, HOUR, MIGRATOR};

pub(super) fn scripts() -> Vec<Script> {
    vec![split(), rehearsal(), exports()]
}

fn split() -> Script {
    Script {
        key: "split",
        runner: MIGRATOR,
        user: Some("aiko@harbor.example"),
        name: None,
        began: DAY + 9 * HOUR,
        fixture: false,
        home: Some(Home::Codex),
        origin: Some(Origin {
            url: "https://git.example/harbor/manifests",
            subject: "Keep one row per shipment",
            files: vec![
                ("README.md", 0o644, README.into()),
                ("migrate.sh", 0o755, MIGRATE.into()),
                ("schema/001_init.sql", 0o644, INIT.into()),
                ("schema/002_ports.sql", 0o644, PORTS.into()),
            ],
            committed: DAY - 12 * 24 * HOUR,
        }),
        plain: false,
        turns: vec![
            ending(
                End::Pruned,
                "Split shipments into shipments and crates",
                "schema/003_crates.sql moves the crates into a table of their own.",
                vec![
                    Step::Read("schema/001_init.sql"),
                    Step::Write {
                        path: "schema/003_crates.sql",
                        text: UP,
                    },
                ],
            ),
            ending(
                End::Error,
                "Run it against a copy of production",
                "Sandbox computer was lost during the turn",
                vec![],
            ),
            turn(
                "Write the way back first, and say in the README how to take it",
                "schema/003_crates.down.sql puts the crates back, and the README has a section on it.",
                vec![
                    Step::Say("The down script has to fold the crates back into one column."),
                    Step::Write {
                        path: "schema/003_crates.down.sql",
                        text: DOWN,
                    },
                    edit(
                        "README.md",
                        "Scripts run in the order of their numbers.\n",
                        "Scripts run in the order of their numbers.\n\n## Back\n\n    ./migrate.sh --down 003\n",
                    ),
                    look(
                        "git status --short",
                        " M README.md\n?? schema/003_crates.down.sql\n?? schema/003_crates.sql",
                    ),
                ],
            ),
            ending(
                End::Cancelled,
                "Now run it on production",
                "Run cancelled",
                vec![],
            ),
        ],
    }
}

fn rehearsal() -> Script {
    Script {
        key: "rehearsal",
        runner: MIGRATOR,
        user: Some("aiko@harbor.example"),
        name: None,
        began: DAY + 8 * HOUR,
        fixture: false,
        home: Some(Home::Codex),
        origin: None,
        plain: false,
        turns: vec![ending(
            End::Corrupted,
            "Rehearse the cut-over and time it",
            "The rehearsal took four minutes; timings.csv has each step.",
            vec![shell("./rehearse.sh > timings.csv", "", |computer| {
                let rows = "step,seconds\nlock,2\ncopy crates,171\nswap tables,1\nverify,66\n";
                computer.write("timings.csv", rows);
                Ok(())
            })],
        )],
    }
}

fn exports() -> Script {
    Script {
        key: "exports",
        runner: MIGRATOR,
        user: None,
        name: Some("Exports (microVM)"),
        began: DAY + 7 * HOUR,
        fixture: true,
        home: None,
        origin: None,
        plain: true,
        turns: vec![turn(
            "Pack May's manifests for the auditors",
            "exports/ has one file per week.",
            vec![shell("./export.sh 2026-05", "4 files", |computer| {
                for week in ["18", "19", "20", "21"] {
                    let text = format!("week,shipments,crates\n2026-W{week},41,1{week}\n");
                    computer.write(&format!("exports/2026-W{week}.csv"), text);
                }
                Ok(())
            })],
        )],
    }
}

const README: &str = "\
# manifests

What is on which ship.

Scripts run in the order of their numbers.
";

const MIGRATE: &str = "\
#!/bin/sh
set -eu
for script in schema/*.sql; do
    psql -q \"$DATABASE_URL\" -f \"$script\"
done
";

const INIT: &str = "\
CREATE TABLE shipments (
    id bigint PRIMARY KEY,
    ship text NOT NULL,
    crates text NOT NULL
);
";

const PORTS: &str = "\
ALTER TABLE shipments ADD COLUMN port text;
";

const UP: &str = "\
CREATE TABLE crates (
    shipment bigint NOT NULL REFERENCES shipments,
    number integer NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (shipment, number)
);
INSERT INTO crates
SELECT id, n, content
FROM shipments, unnest(string_to_array(crates, ';')) WITH ORDINALITY AS c (content, n);
ALTER TABLE shipments DROP COLUMN crates;
";

const DOWN: &str = "\
ALTER TABLE shipments ADD COLUMN crates text NOT NULL DEFAULT '';
UPDATE shipments SET crates = c.all_of_them
FROM (SELECT shipment, string_agg(content, ';' ORDER BY number) AS all_of_them
      FROM crates GROUP BY shipment) AS c
WHERE c.shipment = shipments.id;
DROP TABLE crates;
";
