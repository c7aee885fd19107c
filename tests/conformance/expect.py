"""What agno and git answer: the side of every comparison that is right by definition."""

from __future__ import annotations

import hashlib
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from agno.sandbox.base import SandboxError
from agno.sandbox.checkpoint import CheckpointArchive, CheckpointLimits

from support import Entry, git, joined, remove, split, tree
from world import Checkpoint, World

# What agno's gate and store say in their own words; our kind and exit code for each.
REFUSALS = [
    (r"Run .* does not exist", "not_found", 3),
    (r"Run .* belongs to another agent", "foreign", 3),
    (r"Run .* is .*, not COMPLETED; only a completed turn commits a checkpoint", "not_completed", 3),
    (r"Run .* committed no sandbox checkpoint", "no_checkpoint", 3),
    (r"Invalid checkpoint digest|Checkpoint size must be positive", "bad_reference", 3),
    (r"Checkpoint object is missing", "object_missing", 4),
    (r"Checkpoint object exceeds its limit", "limit", 5),
    (r"Checkpoint size mismatch", "size_mismatch", 5),
    (r"Checkpoint checksum mismatch", "checksum_mismatch", 5),
]
ARCHIVE_KINDS = {"invalid_archive", "unsafe_content", "limit"}


@dataclass(frozen=True)
class Verdict:
    """agno's answer, as afterrun has to give it."""

    ok: bool
    code: int = 0
    kinds: set[str] = field(default_factory=set)
    message: str | None = None  # None: agno let a raw Python error through, so any plain line will do
    state: Any = None
    reference: Any = None

    @property
    def integrity(self) -> str | None:
        if self.ok:
            return "intact"
        if self.code == 3:
            return "unverified"
        return "damaged" if self.kinds & {"size_mismatch", "checksum_mismatch"} else None


def archive_refusal(error: Exception) -> Verdict:
    """A SandboxError is agno's own; what else escapes it is a raw error of Python or the system."""
    return Verdict(False, 5, ARCHIVE_KINDS, str(error) if isinstance(error, SandboxError) else None)


def open_run(world: World, agent: str, run_id: str) -> Verdict:
    """Ask agno to open a run and validate what it holds."""
    try:
        with world.agents[agent].open_run_checkpoint(run_id) as path:
            reference = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "size": path.stat().st_size}
            try:
                return Verdict(True, state=CheckpointArchive().validate(path), reference=reference)
            except Exception as error:
                return archive_refusal(error)
    except Exception as error:
        own = type(error) is ValueError or isinstance(error, SandboxError)
        for pattern, kind, code in REFUSALS:
            if own and re.fullmatch(pattern, str(error), re.DOTALL):
                return Verdict(False, code, {kind}, str(error))
        # A reader that looks at the agent before it reads the rest of a broken row may say that instead.
        foreign = {"foreign"} if world.runs[run_id] != agent else set()
        return Verdict(False, 3, {"bad_row", "bad_reference"} | foreign)


def validate(archive: Path, limits: dict[str, int]) -> Verdict:
    try:
        return Verdict(True, state=CheckpointArchive(CheckpointLimits(**limits)).validate(archive))
    except Exception as error:
        return archive_refusal(error)


def restore(
    archive: Path, scratch: Path, limits: dict[str, int] | None = None, absolute_links: bool = False
) -> tuple[Verdict, dict[bytes, Entry]]:
    """agno's restore into ``scratch``, which is left empty."""
    target = scratch / "by-agno"
    try:
        state = CheckpointArchive(CheckpointLimits(**limits or {})).restore(
            archive, target, absolute_links=absolute_links
        )
    except Exception as error:
        return archive_refusal(error), {}
    found = tree(target)
    remove(target)
    return Verdict(True, state=state), found


def plain(value: Any) -> bool:
    """Whether any JSON reader carries the value unchanged."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
        return not re.search(r"\d{16}", text) and text.count("[") < 50
    except (ValueError, UnicodeEncodeError):
        return False


# -------------------------------------------------------------------------- git


@dataclass(frozen=True)
class Change:
    letter: str  # A, D, M or T, as git's raw diff has it
    gitlink: bool
    same_content: bool
    counts: tuple[int, int] | None  # added and deleted lines; None for what git calls binary


@dataclass(frozen=True)
class Comparison:
    """One checkout against one base, with a fresh index and nobody's settings."""

    label: str
    run_id: str
    base: str
    commit: str
    checkpoint: Checkpoint
    changes: dict[bytes, Change]
    in_index: set[bytes]  # paths of the checkout's own index
    unmerged: set[bytes]
    trees: set[str]  # the ids a patched clone may have; with or without untracked checkouts


NEUTRAL = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"


class Comparisons:
    """Every checkout of a world against its HEAD and its pin."""

    def __init__(self, world: World, scratch: Path) -> None:
        self.world, self.scratch = world, scratch

    @cached_property
    def all(self) -> list[Comparison]:
        checkouts = [name for name, checkpoint in self.world.checkpoints.items() if checkpoint.pin]
        with ThreadPoolExecutor(4) as pool:
            return [found for made in pool.map(self.of, checkouts) for found in made]

    def of(self, name: str) -> list[Comparison]:
        checkpoint = self.world.checkpoints[name]
        assert checkpoint.pin is not None
        restored = self.scratch / name
        CheckpointArchive().restore(self.world.object(checkpoint.reference), restored, absolute_links=True)
        checkout = restored / "workspace" / "repository"
        (checkout / ".git" / "config").write_text(NEUTRAL)
        pin = checkpoint.pin["commit"]
        bases = [("pin", checkpoint.run_id, pin)]
        with suppress(RuntimeError):  # HEAD may name a branch without a commit
            bases.append(("head", checkpoint.run_id, resolve(checkout, "HEAD")))
        if name == "history":
            bases.append(("pin", "pin/older", resolve(checkout, pin + "~1")))
        made = [compare(checkout, checkpoint, *base) for base in bases]
        remove(restored)
        return made


def resolve(checkout: Path, name: str) -> str:
    return git(checkout, "rev-parse", "--verify", name + "^{commit}").decode().strip()


def compare(checkout: Path, checkpoint: Checkpoint, base: str, run_id: str, commit: str) -> Comparison:
    index = checkout.parent / f"index-of-{base}"

    def run(*arguments: str, stdin: bytes = b"") -> bytes:
        return git(checkout, *arguments, stdin=stdin, index=index)

    def present(path: bytes) -> bool:
        return os.path.lexists(os.path.join(os.fsencode(checkout), path))

    try:
        tagged = [(line[:1], line[2:]) for line in split(git(checkout, "ls-files", "-t", "-z"))]
        unmerged = {line.split(b"\t", 1)[1] for line in split(git(checkout, "ls-files", "-u", "-z"))}
    except RuntimeError:
        tagged, unmerged = [], set()  # no index, or a broken one
    in_index = {path for _, path in tagged}

    run("read-tree", commit)
    known = set(split(run("ls-files", "-z")))
    # What a sparse checkout leaves out is not deleted.
    left_out = [path for tag, path in tagged if tag == b"S" and path in known and not present(path)]
    run("update-index", "-z", "--skip-worktree", "--stdin", stdin=joined(left_out))
    run("-c", "advice.addEmbeddedRepo=false", "add", "--all")
    # What was staged though ignored counts as in.
    seen = set(split(run("ls-files", "-z")))
    forced = [path for path in in_index - seen if is_leaf(checkout, path)]
    run("add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=joined(forced))

    numbers = split(run("diff-index", "--cached", "--numstat", "--no-renames", "-z", commit))
    counts: dict[bytes, tuple[int, int] | None] = {}
    for added, deleted, path in (line.split(b"\t", 2) for line in numbers):
        counts[path] = None if added == b"-" else (int(added), int(deleted))
    changes: dict[bytes, Change] = {}
    # Against the base first; what is left to say is which recorded submodules are dirty.
    for command in (["diff-index", "--cached", commit], ["diff-files", "--ignore-submodules=none"]):
        lines = split(run(*command[:1], "--raw", "--abbrev=40", "--no-renames", "-z", *command[1:]))
        for raw, path in zip(lines[::2], lines[1::2], strict=True):
            old_mode, new_mode, old, new, letter = raw.decode().lstrip(":").split(" ")
            change = Change(letter, "160000" in (old_mode, new_mode), old == new, counts.get(path))
            changes.setdefault(path, change)

    trees = {run("write-tree").decode().strip()}
    nested = [path for path, change in changes.items() if change.gitlink and path not in in_index | known]
    run("update-index", "-z", "--force-remove", "--stdin", stdin=joined(nested))
    trees.add(run("write-tree").decode().strip())
    label = f"{run_id.removeprefix('checkout/')}/{base}"
    return Comparison(label, run_id, base, commit, checkpoint, changes, in_index, unmerged, trees)


def is_leaf(checkout: Path, path: bytes) -> bool:
    """Whether a file or link stands there, and not behind a link."""
    whole = os.path.join(os.fsencode(os.path.realpath(checkout)), path)
    behind = os.path.realpath(os.path.dirname(whole)) != os.path.dirname(whole)
    return not behind and (os.path.islink(whole) or os.path.isfile(whole))
