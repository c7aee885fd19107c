"""Restores: what agno restores comes out the same to the nanosecond, what it refuses leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from expect import open_run, restore
from suite import CLEAN_FAILURES, Check, Suite, agree_on_restore, expect, expect_in, expect_same
from support import Entry, tree
from world import Checkpoint

WITH_ABSOLUTE_LINKS = ("links", "ignored", "scratch")
REFUSED = ("damaged/", "bad archive/", "status/", "team/", "workflow/")


def checks(suite: Suite) -> Iterator[Check]:
    world = suite.world
    for name, checkpoint in world.checkpoints.items():
        yield f"restore/run/{name}", partial(by_run, suite, checkpoint)
        yield f"restore/archive/{name}", partial(by_archive, suite, checkpoint)
    for name in WITH_ABSOLUTE_LINKS:
        yield f"restore/absolute links/{name}", partial(absolute_links, suite, world.checkpoints[name])
        yield f"restore/skipped links/{name}", partial(skipped_links, suite, world.checkpoints[name])
    for run_id in world.runs:
        if run_id.startswith(REFUSED):
            yield f"restore/gate/{run_id}", partial(through_the_gate, suite, run_id)
    for what, make in OCCUPIED.items():
        yield f"restore/over {what}", partial(over, suite, make)
    yield "restore/into a folder that is not there", partial(without_parent, suite)
    yield "restore/fetched bytes", partial(fetched, suite)


def by_run(suite: Suite, checkpoint: Checkpoint) -> None:
    with suite.scratch() as parent:
        verdict, wanted = restore(suite.world.object(checkpoint.reference), parent)
        agree_on_restore(suite.on_world("restore", checkpoint.run_id, parent / "out"), verdict, wanted, parent)


def by_archive(suite: Suite, checkpoint: Checkpoint) -> None:
    with suite.scratch() as parent:
        archive = suite.world.object(checkpoint.reference)
        verdict, wanted = restore(archive, parent)
        answer = suite.run("restore", "--archive", archive, positional=(parent / "out",))
        agree_on_restore(answer, verdict, wanted, parent)


def absolute_links(suite: Suite, checkpoint: Checkpoint) -> None:
    with suite.scratch() as parent:
        verdict, wanted = restore(suite.world.object(checkpoint.reference), parent, absolute_links=True)
        answer = suite.on_world("restore", checkpoint.run_id, parent / "out", options=("--absolute-links",))
        agree_on_restore(answer, verdict, wanted, parent)
        expect("links left out", [], answer.document["skipped_links"])


def skipped_links(suite: Suite, checkpoint: Checkpoint) -> None:
    with suite.scratch() as parent:
        archive = suite.world.object(checkpoint.reference)
        left_out = set(restore(archive, parent, absolute_links=True)[1]) - set(restore(archive, parent)[1])
        told = suite.on_world("restore", checkpoint.run_id, parent / "out").done()
        expect("number of links left out", len(left_out), len(told["skipped_links"]))


def through_the_gate(suite: Suite, run_id: str) -> None:
    agent = suite.world.runs[run_id] or "engineer"
    verdict = open_run(suite.world, agent, run_id)
    with suite.scratch() as parent:
        wanted: dict[bytes, Entry] = {}
        if verdict.ok:  # a valid archive may still be one that cannot be restored
            with suite.world.agents[agent].open_run_checkpoint(run_id) as archive:
                verdict, wanted = restore(archive, parent)
        answer = suite.on_world("restore", run_id, parent / "out", options=("--as", agent))
        agree_on_restore(answer, verdict, wanted, parent)


def _file(path: Path) -> None:
    path.write_text("mine")


OCCUPIED: dict[str, Callable[[Path], None]] = {
    "a file": _file,
    "an empty folder": lambda path: path.mkdir(),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
}


def over(suite: Suite, make: Callable[[Path], None]) -> None:
    with suite.scratch() as parent:
        make(parent / "out")
        before = tree(parent)
        answer = suite.on_world("restore", "checkout/untouched", parent / "out")
        expect("kind", "exists", answer.error.get("kind"))
        expect("exit", 6, answer.code)
        expect_same("what was there", before, tree(parent))


def without_parent(suite: Suite) -> None:
    with suite.scratch() as parent:
        answer = suite.on_world("restore", "checkout/untouched", parent / "not" / "there")
        expect_in("exit", CLEAN_FAILURES, answer.code)
        expect("left behind", [], os.listdir(parent))


def fetched(suite: Suite) -> None:
    checkpoint = suite.world.checkpoints["edits"]
    with suite.scratch() as parent:
        suite.on_world("fetch", checkpoint.run_id, parent / "out").done()
        same = (parent / "out").read_bytes() == suite.world.object(checkpoint.reference).read_bytes()
        expect("the stored bytes", True, same)
