#!/usr/bin/env python3
"""Compare afterrun with the real framework and with git.

    check.py --afterrun BIN [--work DIR] [--only PREFIX]

Builds a world with agno, asks agno and git what is right, and holds afterrun to it. One line for each
disagreement; the last line counts. DIR must be new or empty, and is left for a look; without it a folder of
our own is made and removed. ``--only gate/engineer/`` runs the checks whose names start so.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import check_capture
import check_gate
import check_hostile
import check_production
import check_readers
import check_restore
import check_review
from production import places
from suite import Check, Disagreement, Suite
from support import remove
from world import build

SECTIONS = {
    "gate": check_gate.checks,
    "restore": check_restore.checks,
    "hostile": check_hostile.checks,
    "readers": check_readers.checks,
    "diff": check_review.diffs,
    "patch": check_review.patches,
    "capture": check_capture.checks,
    "planted": check_review.planted,
    "production": check_production.checks,
}


def outcome(check: Check) -> str | None:
    """What is wrong, in one line."""
    try:
        check[1]()
    except Disagreement as told:
        return str(told).replace("\n", "\\n")[:1500]
    except Exception:
        return traceback.format_exc(limit=-3).strip().replace("\n", " | ")
    return None


def wanted(section: str, only: str) -> bool:
    """Whether names of the section can begin with ``only``."""
    return f"{section}/".startswith(only) or only.startswith(f"{section}/")


def run_checks(suite: Suite, only: str) -> tuple[int, int]:
    total = failed = 0
    with ThreadPoolExecutor(4) as pool:
        for section, checks in SECTIONS.items():
            if not wanted(section, only):
                continue
            begun = time.monotonic()
            chosen = [check for check in checks(suite) if check[0].startswith(only)]
            wrong = 0
            for (name, _), told in zip(chosen, pool.map(outcome, chosen), strict=True):
                if told is not None:
                    wrong += 1
                    print(f"FAIL {name!r}: {told}", flush=True)
            print(f"{section}: {len(chosen)} checks, {wrong} failed, {time.monotonic() - begun:.1f} s", flush=True)
            total, failed = total + len(chosen), failed + wrong
    return total - failed, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--afterrun", type=Path, required=True, help="the binary to check")
    parser.add_argument("--work", type=Path, help="a new or empty folder, left for a look")
    parser.add_argument("--only", default="", metavar="PREFIX", help="only the checks whose names start so")
    options = parser.parse_args()
    logging.getLogger("agno").setLevel(logging.CRITICAL)
    os.umask(0o022)
    work = (options.work or Path(tempfile.mkdtemp(prefix="afterrun-conformance-"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    if any(work.iterdir()):
        parser.error(f"{work} is not empty")
    try:
        begun = time.monotonic()
        world = build(work / "world")
        counts = f"{len(world.runs)} runs, {len(world.checkpoints)} checkpoints"
        print(f"world: {counts}, {time.monotonic() - begun:.1f} s", flush=True)
        with ExitStack() as stack:
            stack.callback(world.db.db_engine.dispose)
            production = stack.enter_context(places(world)) if wanted("production", options.only) else []
            suite = Suite(options.afterrun.resolve(), world, work, production)
            passed, failed = run_checks(suite, options.only)
    finally:
        if options.work is None:
            remove(work)
    print(f"{passed} passed, {failed} failed")
    if not passed + failed:
        print(f"no check's name starts with {options.only!r}", file=sys.stderr)
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
