//! The invented project of the five-turn session as it is at its pin: small enough to read, with a
//! text, a script, a picture and a name that is not ASCII.

use std::io::Write;

use super::git::Origin;
use super::{DAY, HOUR};

pub(super) fn origin() -> Origin {
    let text = |text: &str| text.as_bytes().to_vec();
    Origin {
        url: "https://git.example/tidewater/pantry",
        subject: "Count jars by name",
        committed: DAY - 5 * 24 * HOUR,
        files: vec![
            (
                ".gitignore",
                0o644,
                text("build/\n.venv/\n__pycache__/\n*.pyc\n"),
            ),
            ("README.md", 0o644, text(README)),
            ("assets/logo.png", 0o644, picture(0x2e, 0x6f, 0x95)),
            ("config/settings.toml", 0o644, text(SETTINGS)),
            ("data/prices.csv", 0o644, text(PRICES)),
            ("docs/Größen und Maße.md", 0o644, text(MEASURES)),
            ("docs/guide.md", 0o644, text(GUIDE)),
            ("docs/legacy notes.txt", 0o644, text(LEGACY)),
            ("pyproject.toml", 0o644, text(PROJECT)),
            ("scripts/seed.sh", 0o644, text(SEED)),
            ("src/pantry/__init__.py", 0o644, text(INIT)),
            ("src/pantry/cli.py", 0o644, text(CLI)),
            ("src/pantry/report.py", 0o644, text(REPORT)),
            ("src/pantry/shelf.py", 0o644, text(SHELF)),
            ("src/pantry/units.py", 0o644, text(UNITS)),
            ("tests/test_shelf.py", 0o644, text(TEST_SHELF)),
            ("tests/test_units.py", 0o644, text(TEST_UNITS)),
        ],
    }
}

/// A 16 by 16 picture of one colour.
pub(super) fn picture(red: u8, green: u8, blue: u8) -> Vec<u8> {
    let row: Vec<u8> = std::iter::once(0)
        .chain([red, green, blue].into_iter().cycle().take(48))
        .collect();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory does not fail.
    let _ = zlib.write_all(&row.repeat(16));
    let pixels = zlib.finish().unwrap_or_default();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = [0, 0, 0, 16, 0, 0, 0, 16, 8, 2, 0, 0, 0];
    for (kind, data) in [(b"IHDR", &header[..]), (b"IDAT", &pixels), (b"IEND", b"")] {
        let length = u32::try_from(data.len()).unwrap_or(0);
        let body = [&kind[..], data].concat();
        png.extend(length.to_be_bytes());
        png.extend(&body);
        png.extend(crc32fast::hash(&body).to_be_bytes());
    }
    png
}

const README: &str = "\
# pantry

Knows what stands on the shelf and when it should be eaten.

    pantry add plums '500 g'
    pantry report

Amounts are written as on the label. Totals are per name.
";

const SETTINGS: &str = "\
[store]
url = \"sqlite:///pantry.db\"
backup = true

[report]
currency = \"EUR\"
";

const PRICES: &str = "\
name,unit,price
beans,kg,3.40
flour,kg,1.15
plums,kg,2.80
rice,kg,2.20
";

const MEASURES: &str = "\
# Größen und Maße

| Kürzel | Bedeutung |
| ------ | --------- |
| g      | Gramm     |
| kg     | Kilogramm |
";

const GUIDE: &str = "\
# Guide

1. Put a jar on the shelf.
2. Ask for the report.
3. Eat what is oldest.
";

const LEGACY: &str = "\
The first pantry was a spreadsheet.
Column C was the amount, always in grams, except for eggs.
Nobody remembers what column F was.
";

const PROJECT: &str = "\
[project]
name = \"pantry\"
version = \"0.2.0\"
requires-python = \">=3.11\"

[project.scripts]
pantry = \"pantry.cli:main\"
";

const SEED: &str = "\
#!/bin/sh
set -e
pantry add plums '500 g'
pantry add flour '1 kg'
";

const INIT: &str = "\"\"\"What stands on the shelf.\"\"\"\n";

pub(super) const CLI: &str = "\
\"\"\"The command line.\"\"\"

import sys

from pantry.report import report
from pantry.shelf import Shelf


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    shelf = Shelf.load()
    if arguments[:1] == [\"add\"]:
        shelf.put(*arguments[1:3])
        shelf.save()
    else:
        print(report(shelf))
";

const REPORT: &str = "\
\"\"\"A shelf as text.\"\"\"


def heading(title):
    return [title, \"-\" * len(title)]


def line(name, amount, width):
    return f\"{name:<{width}}  {amount:>8}\"


def report(shelf):
    names = sorted({jar.name for jar in shelf.jars})
    if not names:
        return \"The shelf is empty.\"
    width = max(len(name) for name in names)
    lines = heading(\"On the shelf\")
    for name in names:
        lines.append(line(name, shelf.total(name), width))
    return \"\\n\".join(lines)
";

const SHELF: &str = "\
\"\"\"Jars, and how much is in them.\"\"\"

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = Path(\"pantry.json\")


@dataclass
class Jar:
    name: str
    amount: str


@dataclass
class Shelf:
    jars: list = field(default_factory=list)

    @classmethod
    def load(cls):
        if not FILE.exists():
            return cls()
        return cls([Jar(**jar) for jar in json.loads(FILE.read_text())])

    def save(self):
        FILE.write_text(json.dumps([asdict(jar) for jar in self.jars]))

    def put(self, name, amount):
        self.jars.append(Jar(name, amount))

    def total(self, name):
        return sum(float(jar.amount.split()[0]) for jar in self.jars if jar.name == name)
";

const UNITS: &str = "\
\"\"\"Amounts as they stand on a label.\"\"\"

GRAMS = {\"g\": 1, \"kg\": 1000}


def parse(text):
    number, unit = text.split()
    return float(number), unit
";

const TEST_SHELF: &str = "\
from pantry.shelf import Shelf


def test_an_empty_shelf_has_nothing():
    assert Shelf().total(\"plums\") == 0
";

const TEST_UNITS: &str = "\
from pantry.units import parse


def test_a_label_is_a_number_and_a_unit():
    assert parse(\"500 g\") == (500.0, \"g\")
";
