"""Diffs and patches say what git says with a fresh index, and looking at a checkout runs none of its programs."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any

from agno.sandbox.checkpoint import FileCheckpointStore

from expect import Change, Comparison
from suite import Check, Disagreement, Suite, expect, expect_in
from support import GIT_ENVIRONMENT, git, names


def diffs(suite: Suite) -> Iterator[Check]:
    for comparison in suite.comparisons.all:
        yield f"diff/{comparison.label}", partial(diff, suite, comparison)
    yield "diff/pin whose objects are gone", partial(gone_pin, suite)
    yield "diff/pin that the archive's copy contradicts", partial(contradicted_pin, suite)


def patches(suite: Suite) -> Iterator[Check]:
    for comparison in suite.comparisons.all:
        if comparison.base == "pin":
            yield f"patch/{comparison.label}", partial(patch, suite, comparison)


# ------------------------------------------------------------------------- diff


def diff(suite: Suite, comparison: Comparison) -> None:
    told = suite.on_world("diff", comparison.run_id, options=("--base", comparison.base)).done()
    expect("commit of the base", comparison.commit, told["base"].get("commit"))
    listed: dict[bytes, dict[str, Any]] = {}
    renamed_away: set[bytes] = set()
    for item in told["files"]:
        path, old_path = name_in(item, "path"), name_in(item, "old_path")
        if path is None or path in listed:
            raise Disagreement(f"expected every path once, got {item}")
        listed[path] = item
        if old_path not in (None, path):
            renamed_away.add(old_path)
    missing = set(comparison.changes) - set(listed) - renamed_away
    extra = (set(listed) | renamed_away) - set(comparison.changes) - comparison.in_index
    if missing or extra:
        raise Disagreement(f"changed but not listed: {names(missing)}; listed but not changed: {names(extra)}")
    for path, change in comparison.changes.items():
        if path in listed:
            agree_on_change(comparison, path, change, listed[path], told["notices"])
        else:
            expect(f"git's letter for {path!r}, said to be renamed away", "D", change.letter)


def name_in(item: dict[str, Any], key: str) -> bytes | None:
    """A name as bytes, without the slash that marks an untracked checkout."""
    if item.get(f"{key}_b64") is not None:
        return base64.b64decode(item[f"{key}_b64"]).rstrip(b"/")
    return None if item.get(key) is None else item[key].encode().rstrip(b"/")


def agree_on_change(
    comparison: Comparison, path: bytes, change: Change, item: dict[str, Any], notices: list[dict[str, Any]]
) -> None:
    # An index that cannot be read whole costs what it adds, and a notice.
    partial_index = any(notice["tag"] == "bad-index" for notice in notices)
    # Text that an attribute keeps off git's screen is shown, with a notice.
    shown_anyway = any(notice["tag"] == "attribute-hides" and name_in(notice, "path") == path for notice in notices)
    known = {"added", "untracked"} if partial_index else {"added"}
    statuses = {
        "A": known if path in comparison.in_index else {"untracked"},
        "D": {"deleted"},
        "M": {"mode"} if change.same_content else {"modified"},
        "T": {"typechange"},
    }[change.letter]
    if change.gitlink:
        statuses = {"submodule", "untracked"} if change.letter == "A" else {"submodule"}
    elif change.letter == "A":
        statuses |= {"renamed"}
    if path in comparison.unmerged:
        statuses = {"conflicted"}
    expect_in(f"status of {path!r}", statuses, item["status"])
    # A renamed file is counted against another one than git's --no-renames did; conflicts against what, is open.
    counted = item["status"] in ("added", "untracked", "modified", "deleted")
    if counted and not change.gitlink and not shown_anyway:
        expect(f"binary, of {path!r}", change.counts is None, bool(item.get("binary")))
        if change.counts is not None:
            expect(f"lines of {path!r}", change.counts, (item.get("additions"), item.get("deletions")))


def gone_pin(suite: Suite) -> None:
    """Refused or said aloud; HEAD never takes its place without a word."""
    answer = suite.on_world("diff", "pin/gone")
    if answer.code == 0 and not answer.document["notices"]:
        raise Disagreement(f"expected a notice from {answer}")
    if answer.code != 0:
        expect("an error", str, type(answer.error.get("message")))


def contradicted_pin(suite: Suite) -> None:
    told = suite.on_world("diff", "pin/older").done()
    expect("base", "pin", told["base"]["kind"])
    if not told["notices"]:
        raise Disagreement("expected a notice about the archive's own pin, got none")


# ------------------------------------------------------------------------ patch


def patch(suite: Suite, comparison: Comparison) -> None:
    with suite.scratch() as parent:
        written, clone = parent / "patch", parent / "clone"
        suite.on_world("patch", comparison.run_id, options=("--base", "pin", "-o", written)).done()
        git(parent, "clone", "--quiet", "--no-checkout", str(suite.world.origin), "clone")
        git(clone, "checkout", "--quiet", "--detach", comparison.commit)
        if written.stat().st_size:  # git refuses an empty one
            try:
                git(clone, "apply", "--binary", "--index", "--whitespace=nowarn", str(written))
            except RuntimeError as error:
                raise Disagreement(str(error)) from None
        if git(clone, "write-tree").decode().strip() not in comparison.trees:
            made = git(clone, "diff-index", "--cached", "--raw", "-z", comparison.commit)
            raise Disagreement(f"expected git's tree, but the patch made {made!r}")


# ---------------------------------------------------------------------- planted


def planted(suite: Suite) -> Iterator[Check]:
    yield "planted/nothing runs", partial(nothing_runs, suite)
    yield "planted/no private file is left", partial(nothing_left, suite)


def nothing_runs(suite: Suite) -> None:
    """This check comes after all the others, so it speaks for them too."""
    run_id, checkpoint = "checkout/planted", suite.world.checkpoints["planted"]
    with suite.scratch() as parent:
        for base in ("pin", "head"):
            suite.on_world("diff", run_id, options=("--base", base)).done()
            suite.on_world("patch", run_id, options=("--base", base, "-o", parent / base)).done()
        suite.on_world("restore", run_id, parent / "out").done()
        store = FileCheckpointStore(parent / "store").root
        roots = ("--workspace", checkpoint.workspace, "--native", checkpoint.native)
        suite.run("capture", *roots, "--state", "{}", "--store", store).done()
        expect("programs that ran", [], sorted(os.listdir(suite.world.canaries)))
        # The traps are live: git itself walks into them.
        command = ["git", "-C", str(parent / "out" / "workspace" / "repository"), "diff", "HEAD"]
        subprocess.run(command, env=GIT_ENVIRONMENT, capture_output=True)
        if not os.listdir(suite.world.canaries):
            raise AssertionError("git ran no planted program, so this check proves nothing")


def nothing_left(suite: Suite) -> None:
    found = [str(path.relative_to(suite.private)) for path in suite.private.rglob("*") if not path.is_dir()]
    expect("files left in TMPDIR", [], found)
