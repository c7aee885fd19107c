"""What every part of the suite uses: running programs, describing trees, removing them."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

# git as a stranger would run it: nobody's settings, one identity, one date, replaced objects not followed.
GIT_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": os.devnull,
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.invalid",
    "GIT_AUTHOR_DATE": "2026-03-01T12:00:00Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.invalid",
    "GIT_COMMITTER_DATE": "2026-03-01T12:00:00Z",
}


def git(
    where: Path, *arguments: str, stdin: bytes = b"", index: Path | None = None, extra: Mapping[str, str] = {}
) -> bytes:
    """The output of one git command that runs no hook; RuntimeError when it fails."""
    environment = {**GIT_ENVIRONMENT, **extra, **({"GIT_INDEX_FILE": str(index)} if index else {})}
    command = ["git", "-c", f"core.hooksPath={os.devnull}", "-C", str(where), *arguments]
    done = subprocess.run(command, env=environment, input=stdin, capture_output=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def split(listing: bytes) -> list[bytes]:
    """The fields of a NUL-terminated listing."""
    return listing.split(b"\0")[:-1]


def joined(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


class Entry(NamedTuple):
    kind: str
    mode: str | None
    mtime_ns: int | None
    size: int | None = None
    content: str | None = None  # the sha256 of a file, the target of a link


def tree(root: Path) -> dict[bytes, Entry]:
    """Everything below ``root`` by name; ``.`` is ``root`` itself, whose time nobody promises.

    What its owner may not read is opened up once it is noted, so take the tree once and then remove it.
    """
    top = os.fsencode(root)
    found = {b".": Entry("dir", f"{stat.S_IMODE(os.lstat(top).st_mode):04o}", None)}

    def visit(folder: bytes, prefix: bytes) -> None:
        for name in sorted(os.listdir(folder)):
            path, entry = os.path.join(folder, name), os.lstat(os.path.join(folder, name))
            mode = f"{stat.S_IMODE(entry.st_mode):04o}"
            if stat.S_ISLNK(entry.st_mode):
                target = os.readlink(path).decode(errors="backslashreplace")
                found[prefix + name] = Entry("symlink", None, entry.st_mtime_ns, content=target)
            elif stat.S_ISDIR(entry.st_mode):
                found[prefix + name] = Entry("dir", mode, entry.st_mtime_ns)
                if not os.access(path, os.R_OK | os.X_OK):
                    os.chmod(path, 0o700)
                visit(path, prefix + name + b"/")
            else:
                if not os.access(path, os.R_OK):
                    os.chmod(path, 0o600)
                with open(path, "rb") as stream:
                    digest = hashlib.sha256(stream.read()).hexdigest()
                found[prefix + name] = Entry("file", mode, entry.st_mtime_ns, entry.st_size, digest)

    visit(top, b"")
    return found


def difference(expected: Mapping[bytes, Any], got: Mapping[bytes, Any], most: int = 3) -> str | None:
    """What tells two mappings apart, or None when nothing does."""
    lines = []
    for name in sorted({*expected, *got}):
        if expected.get(name) != got.get(name):
            lines.append(f"{name!r}: expected {expected.get(name)}, got {got.get(name)}")
    rest = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return "; ".join(lines[:most] + rest) or None


def remove(path: Path) -> None:
    """Remove a tree, closed directories and all."""
    for parent, folders, _ in os.walk(path):
        for name in folders:
            child = os.path.join(parent, name)
            if not os.path.islink(child) and not os.access(child, os.R_OK | os.W_OK | os.X_OK):
                os.chmod(child, 0o700)
    shutil.rmtree(path)


def script(text: str, where: Path, variables: Mapping[str, str]) -> None:
    """Run a bash script that must succeed."""
    environment = {**GIT_ENVIRONMENT, "GIT_LITERAL_PATHSPECS": "0", **variables}
    del environment["GIT_NO_REPLACE_OBJECTS"]
    command = ["bash", "-euc", "umask 022\n" + text]
    done = subprocess.run(command, cwd=where, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"script failed: {done.stderr.decode(errors='replace').strip()}\n{text}")


def names(paths: Iterable[bytes]) -> str:
    return ", ".join(repr(path) for path in sorted(paths)) or "nothing"
