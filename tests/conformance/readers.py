"""What other programs see in an archive: Python's tarfile, GNU tar and busybox tar.

A reading is the list of its members in order, as (name, kind, size or target); None stands for an error, after
the members that were seen before it.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable

Member = tuple[bytes, str, bytes]
Reading = list[Member | None]

KINDS = {b"d": "dir", b"l": "symlink", b"-": "file", b"h": "hard link", b"C": "file"}
ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def expanded(data: bytes) -> bytes | None:
    """The archive without its gzip, or None where that cannot be read."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error):
        return None


def by_python(data: bytes) -> Reading:
    seen: Reading = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
            for member in archive:
                seen.append(python_member(member))
    except (tarfile.TarError, ValueError, ArithmeticError, OSError, MemoryError):
        seen.append(None)
    return seen


def python_member(member: tarfile.TarInfo) -> Member:
    name = member.name.encode("utf-8", "surrogateescape")
    target = member.linkname.encode("utf-8", "surrogateescape")
    if member.issym():
        return name, "symlink", target
    if member.islnk():
        return name, "hard link", target
    if member.isdir():
        return name, "dir", b""
    return name, "file" if member.isreg() else "other", b"%d" % member.size


def by_gnu(data: bytes) -> Reading:
    command = ["tar", "--list", "--verbose", "--numeric-owner", "--quoting-style=escape", "--file=-"]
    return listed(command, data, unescaped)


def by_busybox(data: bytes) -> Reading:
    return listed(["busybox", "tar", "-t", "-v", "-f", "-"], data, lambda name: name)


READERS: dict[str, Callable[[bytes], Reading]] = {"Python": by_python, "GNU tar": by_gnu}
if shutil.which("busybox"):
    READERS["busybox"] = by_busybox


def listed(command: list[str], data: bytes, plain: Callable[[bytes], bytes]) -> Reading:
    """The reading of a program that prints lines as ``ls -l`` does."""
    environment = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, input=data, capture_output=True, env=environment, timeout=60)
    line = re.compile(rb"(.)[rwxsStT-]{9} \S+ +(\S+) \d+-\d\d-\d\d \d\d:\d\d(?::\d\d)? ?(.*)", re.DOTALL)
    seen: Reading = []
    for text in done.stdout.split(b"\n")[:-1]:
        found = line.fullmatch(text)
        if not found:
            seen.append((text, "no line of a listing", b""))
            continue
        kind = KINDS.get(found[1], "other")
        name, size = found[3], found[2]
        for sign, linked in ((b" -> ", "symlink"), (b" link to ", "hard link")):
            if kind == linked or (kind != "symlink" and sign == b" link to " and sign in name):
                kind, (name, _, size) = linked, name.partition(sign)
        if kind == "dir":
            name, size = name.rstrip(b"/"), b""
        seen.append((plain(name), kind, plain(size)))
    return seen if done.returncode == 0 else [*seen, None]


def unescaped(name: bytes) -> bytes:
    """GNU's escapes undone."""

    def undone(found: re.Match[bytes]) -> bytes:
        text = found[1]
        return bytes([int(text, 8) % 256]) if text.isdigit() else ESCAPES.get(text, text)

    return re.sub(rb"\\([0-7]{3}|.)", undone, name, flags=re.DOTALL)
