"""Malformed and unusual archives: accepted, restored and refused exactly where agno does so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from expect import restore, validate
from hostile import CASES, Case
from suite import Check, Suite, agree_on_opening, agree_on_restore, expect, expect_in


def checks(suite: Suite) -> Iterator[Check]:
    folder = suite.work / "archives"
    folder.mkdir()
    for name, case in CASES.items():
        archive = folder / re.sub(r"\W+", "-", name)
        archive.write_bytes(case.data)
        yield f"hostile/verify/{name}", partial(verified, suite, archive, case)
        yield f"hostile/restore/{name}", partial(restored, suite, archive, case, False)
        if "absolute" in name:
            yield f"hostile/restore with absolute links/{name}", partial(restored, suite, archive, case, True)


def limits(case: Case) -> list[str]:
    return [part for key, value in case.limits.items() for part in ("--" + key.replace("_", "-"), str(value))]


def verified(suite: Suite, archive: Path, case: Case) -> None:
    verdict = validate(archive, case.limits)
    answer = suite.run("verify", "--archive", archive, *limits(case))
    (result,) = answer.document["results"]
    if case.either:
        expect("exit", 0 if result.get("ok") else 5, answer.code)
        return
    agree_on_opening(result, verdict)
    expect("exit", verdict.code, answer.code)
    if verdict.ok:
        with suite.scratch() as parent:
            restorable = restore(archive, parent, case.limits)[0].ok
        expect("restorable", restorable, result.get("restorable", True))


def restored(suite: Suite, archive: Path, case: Case, absolute_links: bool) -> None:
    with suite.scratch() as parent:
        verdict, wanted = restore(archive, parent, case.limits, absolute_links)
        options = [*limits(case), "--absolute-links"] if absolute_links else limits(case)
        answer = suite.run("restore", "--archive", archive, *options, positional=(parent / "out",))
        if case.either:
            expect_in("exit", {0, 5}, answer.code)
            expect("left there", ["out"] if answer.code == 0 else [], os.listdir(parent))
            return
        agree_on_restore(answer, verdict, wanted, parent)
