"""Running afterrun and holding its answers against agno's."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from expect import Comparisons, Verdict, plain
from production import Place
from support import Entry, difference, remove, tree
from world import World

# A name, and what raises Disagreement when afterrun is wrong.
Check = tuple[str, Callable[[], None]]
# An error of any kind, but no panic and no signal.
CLEAN_FAILURES = range(1, 7)


class Disagreement(Exception):
    """afterrun answered otherwise than it should."""


def expect(what: str, expected: Any, got: Any) -> None:
    if expected != got:
        raise Disagreement(f"{what}: expected {expected!r}, got {got!r}")


def expect_in(what: str, expected: Collection[Any], got: Any) -> None:
    if got not in expected:
        raise Disagreement(f"{what}: expected one of {sorted(expected)}, got {got!r}")


def expect_same(what: str, expected: dict[bytes, Entry], got: dict[bytes, Entry]) -> None:
    told = difference(expected, got)
    if told:
        raise Disagreement(f"{what}: {told}")


@dataclass
class Answer:
    """What one call of afterrun said and how it ended."""

    command: str
    code: int
    out: bytes
    err: bytes

    def __str__(self) -> str:
        said = (self.out or self.err)[:400].decode(errors="replace").strip()
        return f"`{self.command}`, exit {self.code}, {said!r}"

    @property
    def document(self) -> dict[str, Any]:
        try:
            found = json.loads(self.out)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Disagreement(f"expected one JSON object from {self}")
        return found

    @property
    def error(self) -> dict[str, Any]:
        found = self.document.get("error")
        if not isinstance(found, dict):
            raise Disagreement(f"expected an error from {self}")
        return found

    def done(self) -> dict[str, Any]:
        """The document of a command that went well."""
        if self.code != 0:
            raise Disagreement(f"expected exit 0 from {self}")
        return self.document


class Suite:
    def __init__(self, afterrun: Path, world: World, work: Path, places: Sequence[Place] = ()) -> None:
        self.afterrun, self.world, self.work, self.places = afterrun, world, work, places
        self.private = work / "tmp"  # where afterrun keeps its temporary files
        self.scratches = work / "scratch"
        for path in (self.private, self.scratches):
            path.mkdir()
        self.comparisons = Comparisons(world, self.scratches)
        # None of this machine's configuration, and no variable that afterrun reads.
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(work / "home"), "TMPDIR": str(self.private)}

    def run(
        self,
        command: str,
        *options: Any,
        positional: Collection[Any] = (),
        variables: Mapping[str, str] = {},
    ) -> Answer:
        """``afterrun COMMAND OPTIONS --json -- POSITIONAL``."""
        line = [os.fsencode(part) for part in (self.afterrun, command, *options, "--json", "--", *positional)]
        shown = " ".join(shlex.quote(os.fsdecode(part)) for part in line[1:])
        environment = {**self.environment, **variables}
        done = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        return Answer(shown if len(shown) < 300 else shown[:300] + " …", done.returncode, done.stdout, done.stderr)

    def on_world(self, command: str, *positional: Any, options: Collection[Any] = ()) -> Answer:
        """The same, on the world's database and store."""
        place = ("--db", self.world.database, "--store", self.world.store.root)
        return self.run(command, *place, *options, positional=positional)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        path = Path(tempfile.mkdtemp(dir=self.scratches))
        try:
            yield path
        finally:
            remove(path)


def agree_on_refusal(error: dict[str, Any], verdict: Verdict) -> None:
    message = error.get("message")
    if verdict.message is not None:
        expect("message", verdict.message, message)
    elif not isinstance(message, str) or not message.strip() or "\n" in message:
        raise Disagreement(f"message: expected one plain line, got {message!r}")
    expect_in("kind", verdict.kinds, error.get("kind"))


def agree_on_opening(result: dict[str, Any], verdict: Verdict) -> None:
    """One entry of what ``verify`` prints."""
    expect(f"ok of {str(result)[:300]}", verdict.ok, result.get("ok"))
    if not verdict.ok:
        agree_on_refusal(result.get("error") or {}, verdict)
    elif plain(verdict.state):
        expect("state", verdict.state, result.get("state"))


def agree_on_restore(answer: Answer, verdict: Verdict, wanted: dict[bytes, Entry], parent: Path) -> None:
    """``answer`` comes from a restore to ``parent/out``; nothing else may be there, and nothing at all if refused."""
    if not verdict.ok:
        agree_on_refusal(answer.error, verdict)
        expect("exit", verdict.code, answer.code)
        expect("left behind", [], sorted(os.listdir(parent)))
        return
    told = answer.done()
    expect("restored beside it", ["out"], sorted(os.listdir(parent)))
    expect_same("restored tree", wanted, tree(parent / "out"))
    if plain(verdict.state):
        expect("state", verdict.state, told.get("state"))
