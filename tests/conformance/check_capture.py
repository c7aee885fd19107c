"""Captures: agno verifies and restores ours as its own, and what it will not capture we do not either."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agno.sandbox.base import SandboxError
from agno.sandbox.checkpoint import CheckpointArchive, CheckpointContentError, CheckpointRef, FileCheckpointStore
from agno.sandbox.transfer import DEFAULT_NATIVE_EXCLUSIONS

from expect import restore
from suite import CLEAN_FAILURES, Answer, Check, Suite, expect, expect_in, expect_same

STATE = {"binding": {"run_id": "kept"}, "text": "żółw", "list": [1, 2.5, None, {"deep": True}]}


@dataclass
class Source:
    workspace: Path
    native: Path
    exclude: list[str] = field(default_factory=list)


def checks(suite: Suite) -> Iterator[Check]:
    for name, checkpoint in suite.world.checkpoints.items():
        yield f"capture/{name}", partial(captured, suite, Source(checkpoint.workspace, checkpoint.native))
    edits = suite.world.checkpoints["edits"]
    exclude = ["workspace/repository/.git", "native/fixture-session", "workspace/not/there"]
    yield "capture/with exclusions", partial(captured, suite, Source(edits.workspace, edits.native, exclude))
    for name, change in REFUSED.items():
        yield f"capture/refused/{name}", partial(refused, suite, change)


def capture(suite: Suite, store: FileCheckpointStore, source: Source, state: Any) -> Answer:
    roots = ("--workspace", source.workspace, "--native", source.native)
    exclude = [part for item in source.exclude for part in ("--exclude", item)]
    return suite.run("capture", *roots, "--state", json.dumps(state), "--store", store.root, *exclude)


def agno_captures(source: Source, destination: Path) -> None:
    roots = {"workspace": source.workspace, "native": source.native}
    exclude = [*DEFAULT_NATIVE_EXCLUSIONS, *source.exclude]  # credentials never, as agno's own transfers have it
    CheckpointArchive().capture(roots, destination, state=STATE, exclude=exclude)


def captured(suite: Suite, source: Source) -> None:
    with suite.scratch() as parent:
        store = FileCheckpointStore(parent / "store")
        told = capture(suite, store, source, STATE).done()
        reference = CheckpointRef(told["sha256"], told["size"])
        store.verify(reference)
        stored = store.root / reference.sha256
        expect("objects in the store", [reference.sha256], os.listdir(store.root))
        expect("mode of the object", "0400", f"{stat.S_IMODE(stored.stat().st_mode):04o}")
        agno_captures(source, parent / "archive")
        wanted = restore(parent / "archive", parent, absolute_links=True)[1]
        verdict, got = restore(stored, parent, absolute_links=True)
        expect("agno's complaint", None, verdict.message)
        expect("state", STATE, verdict.state)
        expect_same("restored by agno, its own capture and ours", wanted, got)
        expect("second capture", told, capture(suite, store, source, STATE).done())
        expect("objects after the second", [reference.sha256], os.listdir(store.root))


def refused(suite: Suite, change: Callable[[Source], None]) -> None:
    with suite.scratch() as parent:
        source = Source(parent / "workspace", parent / "native")
        source.workspace.mkdir()
        source.native.mkdir()
        change(source)
        try:
            agno_captures(source, parent / "archive")
        except Exception as error:
            refusal = error
        else:
            raise AssertionError("agno captures this, so it is no case for a refusal")
        store = FileCheckpointStore(parent / "store")
        answer = capture(suite, store, source, STATE)
        told = answer.error
        expect("objects in the store", [], os.listdir(store.root))
        if isinstance(refusal, SandboxError) or type(refusal) is ValueError:
            expect("message", str(refusal), told.get("message"))
        if isinstance(refusal, CheckpointContentError) and not source.exclude:
            expect("kind", "unsafe_content", told.get("kind"))
            expect("exit", 5, answer.code)
        expect_in("exit", CLEAN_FAILURES, answer.code)


# ------------------------------------------------------- what agno does not capture


def special(kind: int) -> Callable[[Source], None]:
    return lambda source: os.mknod(source.workspace / "special", kind | 0o600)


def link(target: str, name: str = "link", *before: tuple[str, str]) -> Callable[[Source], None]:
    """A link in the workspace, and others before it."""

    def change(source: Source) -> None:
        for path, to in (*before, (name, target)):
            (source.workspace / path).parent.mkdir(exist_ok=True)
            (source.workspace / path).symlink_to(to)

    return change


def backslash(source: Source) -> None:
    (source.workspace / "back\\slash").touch()


def alias(excluded: str, *exclude: str) -> Callable[[Source], None]:
    """A second name for a file that is left out."""

    def change(source: Source) -> None:
        secret = source.native / excluded
        secret.parent.mkdir(parents=True)
        secret.write_text("secret")
        os.link(secret, source.workspace / "al\nias")
        source.exclude.extend(exclude)

    return change


def excluding(item: str) -> Callable[[Source], None]:
    return lambda source: source.exclude.append(item)


def linked_root(source: Source) -> None:
    (source.workspace.parent / "linked").symlink_to("workspace")
    source.workspace = source.workspace.parent / "linked"


def missing_root(source: Source) -> None:
    source.native.rmdir()


def same_root(source: Source) -> None:
    source.native = source.workspace


def inner_root(source: Source) -> None:
    source.native = source.workspace / "inner"
    source.native.mkdir()


REFUSED: dict[str, Callable[[Source], None]] = {
    "a pipe": special(stat.S_IFIFO),
    "a socket": special(stat.S_IFSOCK),
    "an escaping link": link("../../etc/passwd"),
    "an escaping link, to quote": link("../../it's\t\"", "li\nnk"),
    "a link to the other root": link("../native/x"),
    "a link to the top": link(".."),
    "a backslash in a target": link("a\\b"),
    "a link to itself": link("link"),
    "a chain that escapes": link("d/up/../../x", "link", ("d/up", "..")),
    "a chain of 42": link("41", "42", *((str(n), str(n - 1)) for n in range(1, 42))),
    "a backslash in a name": backslash,
    "an alias of an excluded file": alias("keys/it's", "native/keys"),
    "an alias of a credential": alias("codex/auth.json"),
    "a root that is a link": linked_root,
    "a root that is missing": missing_root,
    "one root twice": same_root,
    "a root in the other": inner_root,
    "excluding a root": excluding("workspace"),
    "excluding the manifest": excluding("manifest.json"),
    "excluding by dots": excluding("workspace/../native/x"),
    "excluding an absolute path": excluding("/etc/passwd"),
    "excluding outside the roots": excluding("home/x"),
    "excluding nothing": excluding(""),
}
