"""PostgreSQL and the three stores: the same gate, the same trees, and objects that pass from one to the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from agno.sandbox.checkpoint import CheckpointArchive, CheckpointRef
from agno.sandbox.transfer import DEFAULT_NATIVE_EXCLUSIONS

from check_gate import among_others, together
from expect import Verdict, open_run, restore
from production import WRONG, Place
from suite import Answer, Check, Suite, agree_on_opening, agree_on_restore, expect, expect_same
from world import Checkpoint

STATE = {"binding": {"run_id": "put by us"}, "text": "żółw"}
REFUSED = ("damaged/", "bad archive/", "status/")
# What is put into a store by one side and opened by the other.
SOURCES = ("edits", "history", "links", "untouched")


def checks(suite: Suite) -> Iterator[Check]:
    for place in suite.places:
        yield from gate(suite, place)
        for name, checkpoint in suite.world.checkpoints.items():
            yield f"production/{place.name}/restore/{name}", partial(restored, suite, place, checkpoint)
        for run_id in place.world.runs:
            if run_id.startswith(REFUSED):
                yield f"production/{place.name}/restore/{run_id}", partial(by_gate, suite, place, run_id)
        for name in SOURCES:
            checkpoint = suite.world.checkpoints[name]
            yield f"production/{place.name}/put by us/{name}", partial(put_by_us, suite, place, checkpoint)
            yield f"production/{place.name}/put by agno/{name}", partial(put_by_agno, suite, place, checkpoint)
        for number, how in enumerate(WRONG.get(place.name, {})):
            yield f"production/{place.name}/wrong/{how}", partial(wrong, suite, place, number, how)


def ours(run_id: str, verdict: Verdict) -> Verdict:
    """A digest that is a list of 64 digits passes agno's own check; two of its stores then find no such object.

    In a directory agno stops there with a raw error. We say everywhere what is wrong with the row.
    """
    if run_id != "odd/sha256 a list" or verdict.code == 3:
        return verdict
    return Verdict(False, 3, {"bad_reference"})


def asked(suite: Suite, place: Place, command: str, *positional: object, options: tuple[object, ...] = ()) -> Answer:
    return suite.run(command, *place.options, *options, positional=positional, variables=place.variables)


def gate(suite: Suite, place: Place) -> Iterator[Check]:
    """Every run as every agent, in one command for each agent."""
    for agent in place.world.agents:
        verdicts = {run_id: ours(run_id, open_run(place.world, agent, run_id)) for run_id in place.world.runs}
        answer = asked(suite, place, "verify", *place.world.runs, options=("--as", agent))
        yield f"production/{place.name}/gate/{agent}/all together", partial(together, answer, verdicts)
        for run_id, verdict in verdicts.items():
            name = f"production/{place.name}/gate/{agent}/{run_id[:80]}"
            yield name, partial(among_others, answer, run_id, verdict)


def restored(suite: Suite, place: Place, checkpoint: Checkpoint) -> None:
    with suite.scratch() as parent:
        verdict, wanted = restore(suite.world.object(checkpoint.reference), parent)
        answer = asked(suite, place, "restore", checkpoint.run_id, parent / "out")
        agree_on_restore(answer, verdict, wanted, parent)


def by_gate(suite: Suite, place: Place, run_id: str) -> None:
    agent = place.world.runs[run_id] or "engineer"
    verdict = open_run(place.world, agent, run_id)
    with suite.scratch() as parent:
        wanted = {}
        if verdict.ok:
            with place.world.agents[agent].open_run_checkpoint(run_id) as archive:
                verdict, wanted = restore(archive, parent)
        answer = asked(suite, place, "restore", run_id, parent / "out", options=("--as", agent))
        agree_on_restore(answer, verdict, wanted, parent)


def put_by_us(suite: Suite, place: Place, checkpoint: Checkpoint) -> None:
    """agno verifies, opens and restores what we captured into its store, and we find it there once more."""
    with suite.scratch() as parent:
        roots = ("--workspace", checkpoint.workspace, "--native", checkpoint.native)
        options = (*roots, "--state", json.dumps(STATE))
        told = asked(suite, place, "capture", options=options).done()
        reference = CheckpointRef(told["sha256"], told["size"])
        place.store.verify(reference)
        with place.store.open_archive(reference) as stored:
            agreed, got = restore(stored, parent, absolute_links=True)
        captured = parent / "by-agno-captured"
        CheckpointArchive().capture(
            {"workspace": checkpoint.workspace, "native": checkpoint.native},
            captured,
            state=STATE,
            exclude=DEFAULT_NATIVE_EXCLUSIONS,
        )
        wanted = restore(captured, parent, absolute_links=True)[1]
        expect("agno's complaint", None, agreed.message)
        expect("state", STATE, agreed.state)
        expect_same("agno's own capture, and ours out of its store", wanted, got)
        expect("put once more", told, asked(suite, place, "capture", options=options).done())


def put_by_agno(suite: Suite, place: Place, checkpoint: Checkpoint) -> None:
    """We verify, open and restore what agno put, by a run that commits to it."""
    with suite.scratch() as parent:
        archive, state = parent / "archive", {"binding": {"run_id": f"by agno {place.name}"}}
        roots = {"workspace": checkpoint.workspace, "native": checkpoint.native}
        CheckpointArchive().capture(roots, archive, state=state, exclude=DEFAULT_NATIVE_EXCLUSIONS)
        reference = place.store.put(archive)
        run_id = f"put by agno/{place.name}/{checkpoint.run_id}"
        committed(place, run_id, reference)
        verdict, wanted = restore(archive, parent)
        archive.unlink()
        answer = asked(suite, place, "restore", run_id, parent / "out")
        agree_on_restore(answer, verdict, wanted, parent)
        (result,) = asked(suite, place, "verify", run_id).done()["results"]
        expect("checkpoint", {"sha256": reference.sha256, "size": reference.size}, result.get("checkpoint"))


def wrong(suite: Suite, place: Place, number: int, how: str) -> None:
    """An object damaged in a way that only this store has: agno's message, and nothing left behind."""
    with suite.scratch() as parent:
        data = suite.world.object(suite.world.checkpoints["edits"].reference).read_bytes() + bytes(number + 1)
        source = parent / "source"
        source.write_bytes(data)
        reference = place.store.put(source)
        source.unlink()
        run_id = f"wrong/{place.name}/{how}"
        committed(place, run_id, reference)
        WRONG[place.name][how](place, reference.sha256)
        verdict = open_run(place.world, "engineer", run_id)
        answer = asked(suite, place, "verify", run_id)
        (result,) = answer.document["results"]
        agree_on_opening(result, verdict)
        expect("exit", verdict.code, answer.code)
        answer = asked(suite, place, "restore", run_id, parent / "out")
        agree_on_restore(answer, verdict, {}, parent) if not verdict.ok else answer.done()


def committed(place: Place, run_id: str, reference: CheckpointRef) -> None:
    """A completed run of the engineer's with this checkpoint, written by agno."""
    place.world.runs[run_id] = "engineer"
    place.world.commit(run_id, "engineer", metadata=place.world.sandbox(reference))

