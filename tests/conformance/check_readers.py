"""Other programs' reading of each hostile archive, beside ours.

Where one of them sees other members, the archive is refused, or it is read as agno reads it and said to be
ambiguous; what is neither is listed here, with the reason.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from check_hostile import limits
from hostile import CASES, Case
from readers import READERS, Member, Reading, expanded
from suite import Check, Disagreement, Suite, expect

# What one program cannot do, or does in a way of its own, with bytes that say only one thing.
NOT_THEIRS = {
    ("busybox", "shape/no magic"): "wants a magic",
    ("busybox", "shape/signed checksum"): "wants an unsigned checksum",
    ("busybox", "name/controls"): "lists a newline as it is",
    ("busybox", "extension/path with a newline"): "lists a newline as it is",
    ("busybox", "extension/target on a file"): "shows a target of what is no link",
    ("GNU tar", "mtime/binary beyond any clock"): "fails on a time that no clock shows",
}


def checks(suite: Suite) -> Iterator[Check]:
    folder = suite.work / "readings"
    folder.mkdir()
    for name, case in CASES.items():
        archive = folder / re.sub(r"\W+", "-", name)
        archive.write_bytes(case.data)
        yield f"readers/{name}", partial(compared, suite, name, archive, case)


def compared(suite: Suite, name: str, archive: Path, case: Case) -> None:
    data = expanded(case.data)
    listed = suite.run("tree", "--archive", archive, *limits(case))
    if listed.code != 0:
        expect("exit", 5, listed.code)
        return
    if data is None or len(data) > 5_000_000:
        raise Disagreement("opened, and no other program could be asked")
    ours = sorted(member(entry) for entry in listed.document["entries"])
    (verified,) = suite.run("verify", "--archive", archive, *limits(case)).document["results"]
    told = verified.get("ambiguous", [])
    differ = {}
    for program, read in READERS.items():
        reading: Reading = [found for found in read(data) if found is None or found[0] != b"manifest.json"]
        if None in reading or sorted(found for found in reading if found) != ours:
            differ[program] = reading
    if "Python" in differ:
        raise Disagreement(f"Python's tarfile sees {differ['Python']}, we see {ours}")
    for program, reading in differ.items():
        if not told and (program, name) not in NOT_THEIRS:
            raise Disagreement(f"{program} sees {reading}, we see {ours}, and nothing is said")
    if not differ and told and not name.startswith(QUIET):
        raise Disagreement(f"all programs agree, and yet {told}")


# Said to be ambiguous though these programs agree: others, or older ones, do not.
QUIET = ("number/", "extension/", "mtime/", "end/", "gzip/two archives", "shape/")


def member(entry: dict[str, Any]) -> Member:
    def raw(key: str) -> bytes:
        encoded = entry.get(f"{key}_b64")
        return base64.b64decode(encoded) if encoded else entry[key].encode()

    kind = entry["type"]
    last = raw("target") if kind == "symlink" else b"" if kind == "dir" else b"%d" % entry["size"]
    return raw("path"), kind, last
