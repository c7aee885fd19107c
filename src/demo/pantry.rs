//! Five turns in a checkout that show what a diff has to cope with: edits, a rename, a deletion, a
//! mode, pictures, names of all kinds, a commit and a stash by the agent, ignored files, links that
//! lead outside, and a change that the index hides.

use super::pantry_seed::{CLI, origin, picture};
use super::session::Script;
use super::steps::{Step, edit, look, shell};
use super::transcript::Home;
use super::turn::{Turn, turn};
use super::{DAY, ENGINEER, HOUR};

pub(super) fn script() -> Script {
    Script {
        key: "pantry",
        runner: ENGINEER,
        user: Some("jonas@tidewater.example"),
        name: Some("Pantry: amounts with units"),
        began: DAY + 13 * HOUR,
        fixture: false,
        home: Some(Home::Claude),
        origin: Some(origin()),
        plain: false,
        turns: vec![units(), tidy(), publish(), translate(), try_out()],
    }
}

/// Edits only.
fn units() -> Turn {
    turn(
        "Totals ignore the unit: 1 kg and 500 g add up to 501. Fix that and test it",
        "Totals are in grams now, whatever the label says, and there is a test for it.",
        vec![
            Step::Say("I look at how amounts are parsed first."),
            Step::Read("src/pantry/units.py"),
            edit(
                "src/pantry/units.py",
                "    return float(number), unit\n",
                "    return float(number), unit\n\n\ndef to_grams(text):\n    number, unit = parse(text)\n    return number * GRAMS[unit]\n",
            ),
            edit(
                "src/pantry/shelf.py",
                "        return sum(float(jar.amount.split()[0]) for jar in self.jars if jar.name == name)",
                "        return sum(to_grams(jar.amount) for jar in self.jars if jar.name == name)",
            ),
            edit(
                "src/pantry/shelf.py",
                "from pathlib import Path\n",
                "from pathlib import Path\n\nfrom pantry.units import to_grams\n",
            ),
            edit(
                "tests/test_shelf.py",
                "    assert Shelf().total(\"plums\") == 0\n",
                "    assert Shelf().total(\"plums\") == 0\n\n\ndef test_units_add_up():\n    shelf = Shelf()\n    shelf.put(\"flour\", \"1 kg\")\n    shelf.put(\"flour\", \"500 g\")\n    assert shelf.total(\"flour\") == 1500\n",
            ),
            look("python -m pytest -q", "3 passed in 0.04s"),
        ],
    )
}

/// A rename with a small edit and a deletion, both staged.
fn tidy() -> Turn {
    turn(
        "Call the report a summary, and drop the notes about the spreadsheet",
        "report.py is summary.py now, and the old notes are gone. Both are staged, not committed.",
        vec![
            shell(
                "git mv src/pantry/report.py src/pantry/summary.py && git rm -q 'docs/legacy notes.txt'",
                "",
                |computer| {
                    let from = computer.at("src/pantry/report.py");
                    let to = computer.at("src/pantry/summary.py");
                    computer.files.rename(&from, &to)?;
                    let notes = computer.at("docs/legacy notes.txt");
                    computer.files.remove(&notes);
                    computer.stage(&[
                        "src/pantry/report.py",
                        "src/pantry/summary.py",
                        "docs/legacy notes.txt",
                    ])
                },
            ),
            edit(
                "src/pantry/summary.py",
                "def report(shelf):",
                "def summary(shelf):",
            ),
            edit(
                "src/pantry/cli.py",
                "from pantry.report import report\n",
                "",
            ),
            edit(
                "src/pantry/cli.py",
                "from pantry.shelf import Shelf\n",
                "from pantry.shelf import Shelf\nfrom pantry.summary import summary\n",
            ),
            edit(
                "src/pantry/cli.py",
                "print(report(shelf))",
                "print(summary(shelf))",
            ),
            shell(
                "git add src/pantry && git status --short",
                TIDY_STATUS,
                |computer| {
                    computer.stage(&["src/pantry/summary.py", "src/pantry/cli.py"])?;
                    computer.stage(&["src/pantry/shelf.py", "src/pantry/units.py"])
                },
            ),
        ],
    )
}

const TIDY_STATUS: &str = "D  \"docs/legacy notes.txt\"\nM  src/pantry/cli.py\n\
M  src/pantry/shelf.py\nR  src/pantry/report.py -> src/pantry/summary.py\n\
M  src/pantry/units.py\n M tests/test_shelf.py";

/// A commit, then pictures.
fn publish() -> Turn {
    turn(
        "Commit what you have. Then give us a warmer logo and a label for the shelf",
        "The work is committed on the detached HEAD. The logo is changed and the label is new; neither is committed.",
        vec![
            shell(
                "git commit -qam 'Add amounts in grams, call the report a summary'",
                "",
                |computer| {
                    computer.stage(&["tests/test_shelf.py"])?;
                    if let Some(checkout) = &mut computer.checkout {
                        let subject = "Add amounts in grams, call the report a summary";
                        checkout.commit(&mut computer.files, subject)?;
                    }
                    Ok(())
                },
            ),
            shell(
                "python tools/paint.py assets/logo.png assets/shelf\\ label.png",
                "painted 2 pictures",
                |computer| {
                    computer.write("assets/logo.png", picture(0xc7, 0x5b, 0x39));
                    computer.write("assets/shelf label.png", picture(0xf2, 0xe8, 0xcf));
                    Ok(())
                },
            ),
        ],
    )
}

/// Names, a mode, and files that git ignores.
fn translate() -> Turn {
    turn(
        "Translate the guide, make the seed script executable, and build a wheel",
        "The guide is there in French and Japanese, scripts/seed.sh is executable, and the wheel is in build/.",
        vec![
            Step::Read("docs/guide.md"),
            Step::Write {
                path: "docs/Mode d’emploi – français.md",
                text: "# Mode d’emploi\n\n1. Posez un bocal sur l’étagère.\n2. Demandez le résumé.\n3. Mangez le plus ancien.\n",
            },
            Step::Write {
                path: "docs/使い方 ガイド.md",
                text: "# 使い方\n\n1. 瓶を棚に置きます。\n2. まとめを見ます。\n3. いちばん古いものから食べます。\n",
            },
            edit(
                "docs/Größen und Maße.md",
                "| kg     | Kilogramm |\n",
                "| kg     | Kilogramm |\n| l      | Liter     |\n",
            ),
            shell("chmod +x scripts/seed.sh", "", |computer| {
                let path = computer.at("scripts/seed.sh");
                computer.files.chmod(&path, 0o755);
                Ok(())
            }),
            shell(
                "python -m build --wheel -o build 2>&1 | tee build/log.txt",
                "Successfully built pantry-0.2.0-py3-none-any.whl",
                |computer| {
                    // An empty zip: the end record alone.
                    let wheel = [b"PK\x05\x06".as_slice(), &[0; 18]].concat();
                    computer.write("build/pantry-0.2.0-py3-none-any.whl", wheel);
                    let log =
                        "* Building wheel...\nSuccessfully built pantry-0.2.0-py3-none-any.whl\n";
                    computer.write("build/log.txt", log);
                    Ok(())
                },
            ),
        ],
    )
}

/// Half of it staged, some of it hidden, one of it set aside.
fn try_out() -> Turn {
    turn(
        "Try it against staging, and start on expiry dates. Leave my settings out of the diff",
        "It runs against staging. config/settings.toml points there and git no longer shows it. Expiry dates are begun; the change to the command line is in a stash.",
        vec![
            shell(
                "python -m venv .venv && .venv/bin/pip install -qe .",
                "",
                |computer| {
                    let link = |path: &str| format!("workspace/repository/{path}");
                    computer.write(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n");
                    let path = ".venv/lib/python3.12/site-packages/pantry.pth";
                    computer.write(path, "/workspace/repository/src\n");
                    let files = &mut computer.files;
                    files.link(&link(".venv/bin/python"), "python3");
                    files.link(&link(".venv/bin/python3"), "/usr/bin/python3");
                    files.link(&link(".venv/lib64"), "lib");
                    Ok(())
                },
            ),
            shell(
                "git update-index --assume-unchanged config/settings.toml && sed -i 's,sqlite:///pantry.db,postgresql://staging/pantry,' config/settings.toml",
                "",
                |computer| {
                    if let Some(checkout) = &mut computer.checkout {
                        checkout.hide("config/settings.toml");
                    }
                    let staging = "postgresql://staging/pantry";
                    computer.replace("config/settings.toml", "sqlite:///pantry.db", staging)
                },
            ),
            shell(
                "ln -s /srv/pantry/exports/latest.csv data/latest.csv",
                "",
                |computer| {
                    let path = computer.at("data/latest.csv");
                    computer.files.link(&path, "/srv/pantry/exports/latest.csv");
                    Ok(())
                },
            ),
            edit(
                "src/pantry/cli.py",
                "    else:\n        print(summary(shelf))\n",
                "    elif arguments[:1] == [\"expired\"]:\n        print(summary(shelf.expired()))\n    else:\n        print(summary(shelf))\n",
            ),
            shell(
                "git stash push -qm 'pantry expired, half done' src/pantry/cli.py",
                "",
                |computer| {
                    let before = CLI
                        .replace("from pantry.report import report\n", "")
                        .replace(
                            "import Shelf\n",
                            "import Shelf\nfrom pantry.summary import summary\n",
                        )
                        .replace("print(report(", "print(summary(");
                    match &mut computer.checkout {
                        Some(checkout) => checkout.stash(
                            &mut computer.files,
                            "src/pantry/cli.py",
                            &before,
                            "pantry expired, half done",
                        ),
                        None => Ok(()),
                    }
                },
            ),
            Step::Write {
                path: "src/pantry/expiry.py",
                text: "\"\"\"When a jar should be eaten.\"\"\"\n\nfrom datetime import timedelta\n\nKEEPS = {\"plums\": timedelta(days=365)}\n",
            },
            shell("git add src/pantry/expiry.py", "", |computer| {
                computer.stage(&["src/pantry/expiry.py"])
            }),
            edit(
                "src/pantry/expiry.py",
                "KEEPS = {\"plums\": timedelta(days=365)}\n",
                "KEEPS = {\n    \"beans\": timedelta(days=730),\n    \"plums\": timedelta(days=365),\n}\n",
            ),
            shell("cat > notes.txt", "", |computer| {
                computer.write("notes.txt", "Ask Jonas: do opened jars keep a week?\n");
                Ok(())
            }),
        ],
    )
}
