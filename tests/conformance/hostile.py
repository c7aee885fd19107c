"""Checkpoint archives that are malformed, hostile or merely unusual, written block by block.

No tar library has a hand in them: each case says which bytes it holds. What agno answers is asked, not noted.
"""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any, Union

Number = Union[int, bytes]  # a value to write as tar does, or the field's own bytes
WHEN = 1_780_000_000
USTAR, GNU = b"ustar\x0000", b"ustar  \0"


@dataclass(frozen=True)
class Case:
    data: bytes
    limits: dict[str, int] = field(default_factory=dict)
    # The answer depends on the Python that runs agno, so any verdict will do, as long as it is a clean one.
    either: bool = False


# --------------------------------------------------------------------- writing


def head(
    name: bytes,
    kind: bytes = b"0",
    size: Number = 0,
    *,
    mode: Number = 0o644,
    mtime: Number = WHEN,
    uid: Number = 0,
    device: Number = 0,
    link: bytes = b"",
    prefix: bytes = b"",
    magic: bytes = USTAR,
    checksum: bytes | None = None,
    signed: bool = False,
) -> bytes:
    """One header block. ``signed`` sums its bytes the way old tars did."""

    def octal(value: Number, width: int) -> bytes:
        return value if isinstance(value, bytes) else b"%0*o\0" % (width - 1, value)

    layout = "100s 8s 8s 8s 12s 12s 8s c 100s 8s 32s 32s 8s 8s 155s 12x"
    numbers = [octal(mode, 8), octal(uid, 8), octal(0, 8), octal(size, 12), octal(mtime, 12)]
    rest = [kind, link, magic, b"", b"", octal(device, 8), octal(0, 8), prefix]
    block = struct.pack(layout, name, *numbers, b" " * 8, *rest)
    total = sum(struct.unpack("512b" if signed else "512B", block))
    return block[:148] + (checksum or b"%06o\0 " % (total & 0o777777)) + block[156:]


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def reg(name: bytes, data: bytes = b"x", kind: bytes = b"0", **fields: Any) -> bytes:
    return head(name, kind, fields.pop("size", len(data)), **fields) + padded(data)


def folder(name: bytes, **fields: Any) -> bytes:
    return head(name, b"5", **{"mode": 0o755, **fields})


def sym(name: bytes, target: bytes, **fields: Any) -> bytes:
    return head(name, b"2", link=target, **{"mode": 0o777, **fields})


def binary(value: int, width: int = 12) -> bytes:
    """A number in base 256, marked by its first byte."""
    return (value + ((0x80 if value >= 0 else 0x100) << (8 * width - 8))).to_bytes(width, "big")


def records(**pairs: bytes) -> bytes:
    """Pax records; a double underscore in a key stands for a dot."""
    text = b""
    for key, value in pairs.items():
        body = b" " + key.replace("__", ".").encode() + b"=" + value + b"\n"
        length = next(n for n in range(len(body), len(body) + 9) if n == len(body) + len(str(n)))
        text += b"%d" % length + body
    return text


def ext(payload: bytes = b"", kind: bytes = b"x", **pairs: bytes) -> bytes:
    """An extension header: records, or any payload, for the member that follows."""
    payload = payload or records(**pairs)
    return head(b"ext", kind, len(payload)) + padded(payload)


def long(text: bytes, kind: bytes = b"L") -> bytes:
    """A GNU long name, or a long target with kind K."""
    return head(b"././@LongLink", kind, len(text) + 1, magic=GNU) + padded(text + b"\0")


STATE = {"version": 1, "state": {"binding": {"run_id": "hostile"}}, "excluded": []}
MANIFEST = reg(b"manifest.json", json.dumps(STATE).encode(), mode=0o600, mtime=0)
ROOTS = folder(b"native", mode=0o700) + folder(b"workspace", mode=0o700)
END = bytes(1024)
HELLO = reg(b"workspace/hello", b"hello\n")
SPARSE = ext(GNU__sparse__major=b"1", GNU__sparse__minor=b"0")
DIRS = folder(b"workspace/a") + folder(b"workspace/a/b")


def tar(*members: bytes, first: bytes = MANIFEST, roots: bytes = ROOTS, end: bytes = END) -> bytes:
    return first + roots + b"".join(members) + end


def gz(data: bytes, flags: int = 0, extra: bytes = b"", method: int = 8, crc: int = 0, length: int = 0) -> bytes:
    """One gzip member; ``crc`` and ``length`` falsify its trailer."""
    packer = zlib.compressobj(4, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    trailer = struct.pack("<II", (zlib.crc32(data) + crc) % 2**32, len(data) + length)
    return b"\x1f\x8b" + struct.pack("<BBIBB", method, flags, 0, 0, 255) + extra + body + trailer


def manifest(raw: bytes | dict[str, Any]) -> bytes:
    return tar(first=reg(b"manifest.json", raw if isinstance(raw, bytes) else json.dumps(raw).encode()))


def nested(depth: int) -> bytes:
    return manifest(b'{"version": 1, "state": {"a": ' + b"[" * depth + b"]" * depth + b"}}")


def chain(hops: int, goal: bytes = b"hello") -> bytes:
    steps = [sym(b"workspace/%d" % n, b"%d" % (n + 1)) for n in range(1, hops)]
    return b"".join(steps) + sym(b"workspace/%d" % hops, goal)


# ----------------------------------------------------------------------- cases

Group = dict[str, bytes | Case]

SHAPES: Group = {
    "plain": tar(),
    "gzip": gz(tar(HELLO)),
    "roots last": tar(HELLO, DIRS, roots=b"", end=ROOTS + END),
    "manifest last": tar(HELLO, first=b"", end=MANIFEST + END),
    "children before parents": tar(reg(b"workspace/a/b/c"), folder(b"workspace/a/b"), folder(b"workspace/a")),
    "slashes after folders": tar(folder(b"workspace/a//"), roots=folder(b"native/") + folder(b"workspace///")),
    "old file": tar(reg(b"workspace/f", kind=b"\0")),
    "old folder": tar(head(b"workspace/d/", b"\0"), reg(b"workspace/d/f")),
    "contiguous file": tar(reg(b"workspace/f", kind=b"7")),
    "no magic": tar(reg(b"workspace/f", magic=b"")),
    "gnu magic": tar(reg(b"workspace/f", magic=GNU)),
    "prefix": tar(DIRS, reg(b"f", prefix=b"workspace/a/b")),
    "prefix under gnu magic": tar(DIRS, reg(b"f", prefix=b"workspace/a/b", magic=GNU)),
    "prefix with a slash": tar(DIRS, reg(b"f", prefix=b"workspace/a/b/")),
    "prefix climbs": tar(reg(b"f", prefix=b"workspace/..")),
    "name fills its field": tar(reg(b"workspace/" + b"n" * 90)),
    "name after NUL": tar(reg(b"workspace/f\0/../../evil")),
    "signed checksum": tar(reg("workspace/é".encode(), signed=True)),
    "file in the native root": tar(reg(b"native/f", mode=0o600)),
    "block-sized file": tar(reg(b"workspace/f", b"x" * 512), reg(b"workspace/g", b"y" * 1024)),
    "empty file": tar(reg(b"workspace/f", b"")),
    "a tar in the tar": tar(reg(b"workspace/inner.tar", tar(HELLO))),
}

NUMBERS: Group = {
    "spaces": tar(reg(b"workspace/f", size=b"          1 ", mode=b"   600 ")),
    "all twelve digits": tar(reg(b"workspace/f", size=b"000000000001")),
    "blank": tar(reg(b"workspace/f", mode=b"", mtime=b"", uid=b"")),
    "cut at NUL": tar(reg(b"workspace/f", size=b"1\x00777")),
    "underscore": tar(reg(b"workspace/f", b"12345678", size=b"1_0")),
    "prefix": tar(reg(b"workspace/f", b"12345678", size=b"0o10")),
    "plus": tar(reg(b"workspace/f", b"12345678", size=b"+10")),
    "minus": tar(reg(b"workspace/f", b"", size=b"-10")),
    "digit eight": tar(reg(b"workspace/f", size=b"00000000008")),
    "letters in size": tar(reg(b"workspace/f", size=b"zz")),
    "letters in uid": tar(reg(b"workspace/f", uid=b"zz")),
    "letters in mode": tar(reg(b"workspace/f", mode=b"rw-r--r")),
    "letters in device": tar(reg(b"workspace/f", device=b"zz")),
    "binary size": tar(reg(b"workspace/f", b"binary", size=binary(6))),
    "binary mode": tar(reg(b"workspace/f", mode=binary(0o4640, 8))),
    "binary negative": tar(reg(b"workspace/f", b"", size=binary(-1))),
    "binary beyond the end": tar(reg(b"workspace/f", b"", size=binary(2**70))),
    "binary mark of 0x81": tar(reg(b"workspace/f", size=b"\x81" + bytes(11))),
    "size beyond the end": tar(reg(b"workspace/f", size=2**30)),
    "checksum in spaces": tar(reg(b"workspace/f", checksum=b"%7o " % int(reg(b"workspace/f")[148:154], 8))),
    "checksum wrong": tar(HELLO, reg(b"workspace/f", checksum=b"000001\0 ")),
    "checksum blank": tar(reg(b"workspace/f", checksum=b" " * 8)),
}

NAMES: Group = {
    "parent": tar(reg(b"../evil")),
    "parent inside": tar(reg(b"workspace/../evil")),
    "parent that stays": tar(DIRS, reg(b"workspace/a/../f")),
    "parent last": tar(folder(b"workspace/..")),
    "absolute": tar(reg(b"/etc/evil")),
    "double slash": tar(reg(b"workspace//f")),
    "dot": tar(reg(b"workspace/./f")),
    "dot first": tar(roots=folder(b"./native") + folder(b"./workspace")),
    "backslash": tar(reg(b"workspace/a\\b")),
    "empty": tar(reg(b"")),
    "only slash": tar(folder(b"/")),
    "only dot": tar(folder(b".")),
    "file with a slash": tar(reg(b"workspace/f/")),
    "third root": tar(folder(b"other")),
    "root in another case": tar(folder(b"WORKSPACE")),
    "root as a prefix": tar(folder(b"workspace2")),
    "below the manifest": tar(reg(b"manifest.json/f")),
    "folder beside the manifest": tar(folder(b"manifest.json/")),
    "controls": tar(reg(b"workspace/\n\t\x1b[31m\x7f\r")),
    "spaces": tar(reg(b"workspace/ "), reg(b"workspace/ f ")),
    "dots": tar(reg(b"workspace/..."), reg(b"workspace/f.")),
    "not UTF-8": tar(reg(b"workspace/caf\xe9")),
    "surrogate": tar(reg(b"workspace/\xed\xa0\x80")),
    "overlong slash": tar(reg(b"workspace/a\xc0\xafb")),
    "two normal forms": tar(reg("workspace/é".encode(), b"1"), reg("workspace/e\u0301".encode(), b"2")),
    "two cases": tar(reg(b"workspace/f", b"1"), reg(b"workspace/F", b"2")),
    "sharp s": tar(reg("workspace/ß".encode(), b"1"), reg(b"workspace/ss", b"2")),
    "bidi": tar(reg("workspace/\u202efdp.exe".encode())),
    "255 bytes": tar(ext(path=b"workspace/" + b"n" * 255), reg(b"f")),
    "256 bytes": tar(ext(path=b"workspace/" + b"n" * 256), reg(b"f")),
    "deep": tar(*(ext(path=b"workspace" + b"/d" * depth) + folder(b"d") for depth in range(1, 300))),
    "twice": tar(HELLO, HELLO),
    "twice, one with a slash": tar(folder(b"workspace/d"), folder(b"workspace/d/")),
    "root twice": tar(folder(b"workspace")),
    "manifest twice": tar(MANIFEST),
    "file then link": tar(HELLO, sym(b"workspace/hello", b"x")),
    "link then folder": tar(sym(b"workspace/d", b"."), folder(b"workspace/d")),
    "folder then link": tar(folder(b"workspace/d"), sym(b"workspace/d", b"/")),
    "parent not listed": tar(reg(b"workspace/d/f")),
    "parent a file": tar(HELLO, reg(b"workspace/hello/f")),
    "parent a link": tar(DIRS, sym(b"workspace/l", b"a"), reg(b"workspace/l/f")),
    "parent an absolute link": tar(sym(b"workspace/l", b"/tmp"), reg(b"workspace/l/f")),
    "no native root": tar(roots=folder(b"workspace")),
    "no workspace root": tar(roots=folder(b"native")),
    "no roots": tar(roots=b""),
    "root a file": tar(roots=folder(b"native") + reg(b"workspace")),
    "root a link": tar(roots=folder(b"native") + sym(b"workspace", b"native")),
}

TYPES: Group = {
    "hard link": tar(HELLO, head(b"workspace/again", b"1", link=b"workspace/hello")),
    "hard link outside": tar(head(b"workspace/passwd", b"1", link=b"/etc/passwd")),
    "hard link, name to quote": tar(head(b"workspace/it's \xe9\"\n\x1b", b"1", link=b"workspace")),
    "hard link, name in two alphabets": tar(head("workspace/żółw\u202e🐢\u00a0\u200b".encode(), b"1")),
    "character device": tar(head(b"workspace/null", b"3")),
    "block device": tar(head(b"workspace/disk", b"4")),
    "pipe": tar(head(b"workspace/pipe", b"6")),
    "unknown, with data": tar(reg(b"workspace/what", b"data", kind=b"Z")),
    "another volume": tar(reg(b"workspace/what", kind=b"M")),
    "volume label": tar(head(b"workspace", b"V")),
    "space": tar(reg(b"workspace/what", kind=b" ")),
    "folder with data": tar(head(b"workspace/d", b"5", 512) + bytes(range(256)) * 2),
    "folder that swallows a member": tar(head(b"workspace/d", b"5", 1024), HELLO),
    "link with data": tar(head(b"workspace/l", b"2", 512, link=b"x") + b"x" * 512),
    "gnu sparse": tar(reg(b"workspace/s", b"data", kind=b"S", magic=GNU)),
    "pax sparse 0.0": tar(ext(GNU__sparse__size=b"9", GNU__sparse__numblocks=b"0"), reg(b"workspace/s")),
    "pax sparse 0.1": tar(ext(GNU__sparse__map=b"0,1", GNU__sparse__size=b"9"), reg(b"workspace/s")),
    "pax sparse 0.1, no numbers": tar(ext(GNU__sparse__map=b"a,b"), reg(b"workspace/s")),
    "pax sparse 1.0": tar(SPARSE, reg(b"workspace/s", padded(b"1\n0\n4\n"))),
    "pax sparse 1.0, no map": tar(SPARSE, reg(b"workspace/s", padded(b"?\n"))),
}

EXTENSIONS: Group = {
    "long name": tar(long(b"workspace/" + b"l" * 150), reg(b"short")),
    "long name of a folder": tar(long(b"workspace/" + b"l" * 150 + b"/"), folder(b"short")),
    "long name of a file, with a slash": tar(long(b"workspace/f/"), reg(b"short")),
    "long name that escapes": tar(long(b"../" * 50 + b"evil"), reg(b"workspace/fine")),
    "long name cut at NUL": tar(long(b"workspace/f\0/../../evil"), reg(b"short")),
    "long name twice": tar(long(b"workspace/one"), long(b"workspace/two"), reg(b"short")),
    "long name last": tar(long(b"workspace/f")),
    "long name, then pax": tar(long(b"workspace/gnu"), ext(path=b"workspace/pax"), reg(b"short")),
    "pax, then long name": tar(ext(path=b"workspace/pax"), long(b"workspace/gnu"), reg(b"short")),
    "long target": tar(long(b"t/" * 80 + b"end", b"K"), sym(b"workspace/l", b"short")),
    "path": tar(ext(path="workspace/żółw".encode()), reg(b"../ignored")),
    "path escapes": tar(ext(path=b"workspace/../../evil"), reg(b"workspace/fine")),
    "path with slashes": tar(ext(path=b"workspace/f///"), reg(b"short")),
    "path empty": tar(ext(path=b""), reg(b"workspace/f")),
    "path with NUL": tar(ext(path=b"workspace/a\0b"), reg(b"short")),
    "path with a newline": tar(ext(path=b"workspace/a\nb"), reg(b"short")),
    "path with an equals sign": tar(ext(path=b"workspace/a=b"), reg(b"short")),
    "path not UTF-8": tar(ext(path=b"workspace/caf\xe9"), reg(b"short")),
    "path said to be binary": tar(ext(hdrcharset=b"BINARY", path=b"workspace/caf\xe9"), reg(b"short")),
    "path in another charset": tar(ext(hdrcharset=b"KOI8-R", path="workspace/é".encode()), reg(b"short")),
    "path of 100 000 bytes": tar(ext(path=b"workspace/" + b"x" * 100_000), reg(b"short")),
    "path on an old folder": tar(ext(path=b"workspace/d"), head(b"x/", b"\0")),
    "two paths": tar(ext(records(path=b"workspace/one") + records(path=b"workspace/two")), reg(b"short")),
    "two headers": tar(ext(path=b"workspace/one"), ext(path=b"workspace/two"), reg(b"short")),
    "target": tar(ext(linkpath=b"a/" * 100 + b"b"), sym(b"workspace/l", b"short")),
    "target with slashes": tar(folder(b"workspace/d"), ext(linkpath=b"d//"), sym(b"workspace/l", b"short")),
    "target with NUL": tar(ext(linkpath=b"a\0b"), sym(b"workspace/l", b"short")),
    "target on a file": tar(ext(linkpath=b"/etc/passwd"), reg(b"workspace/f")),
    "size equal": tar(ext(size=b"6"), reg(b"workspace/f", b"hello\n"), HELLO),
    "size that swallows a member": tar(ext(size=b"1030"), reg(b"workspace/f", b"hello\n"), HELLO),
    "size that smuggles a member": tar(ext(size=b"0"), reg(b"workspace/f", reg(b"workspace/in", b"in")), HELLO),
    "size that smuggles an escape": tar(ext(size=b"0"), reg(b"workspace/f", reg(b"../evil"))),
    "size that makes data a header": tar(ext(size=b"0"), reg(b"workspace/f", padded(b"no header"))),
    "size where the header has none": tar(ext(size=b"6"), head(b"workspace/f"), padded(b"hello\n")),
    "size beyond the end": tar(ext(size=b"999999"), reg(b"workspace/f")),
    "size negative": tar(ext(size=b"-1"), reg(b"workspace/f")),
    "size no number": tar(ext(size=b"six"), reg(b"workspace/f")),
    "size in odd writing": tar(ext(size=b" 0_6 "), reg(b"workspace/f", b"hello\n")),
    "size on a folder": tar(ext(size=b"512"), folder(b"workspace/d"), HELLO),
    "keys nobody knows": tar(ext(comment=b"\xff\0", SCHILY__xattr__user__x=b"y", uid=b"99", uname=b"root"), HELLO),
    "uid no number": tar(ext(uid=b"me"), HELLO),
    "no records": tar(head(b"ext", b"x", 0), HELLO),
    "length zero": tar(ext(b"0 path=workspace/x\n"), HELLO),
    "length short": Case(tar(ext(b"10 path=workspace/x\n"), HELLO), either=True),
    "length long": Case(tar(ext(b"99 path=workspace/x\n"), HELLO), either=True),
    "length of twenty digits": Case(tar(ext(b"9" * 20 + b" path=workspace/x\n"), HELLO), either=True),
    "no newline": Case(tar(ext(b"20 path=workspace/xy"), HELLO), either=True),
    "no equals sign": Case(tar(ext(b"8 path\n\n"), HELLO), either=True),
    "no records, text": Case(tar(ext(b"hello there"), HELLO), either=True),
    "text after a record": Case(tar(ext(records(path=b"workspace/f") + b"junk"), reg(b"g")), either=True),
    "nothing after it": tar(ext(path=b"workspace/f")),
    "bad header after it": tar(ext(path=b"workspace/f"), reg(b"f", checksum=b"000001\0 ")),
    "solaris": tar(ext(kind=b"X", path=b"workspace/solaris"), reg(b"f")),
    "global comment": tar(HELLO, first=ext(kind=b"g", comment=b"0" * 40) + MANIFEST),
    "global mtime": tar(HELLO, first=ext(kind=b"g", mtime=b"1000000000.5") + MANIFEST),
    "global path": tar(HELLO, first=ext(kind=b"g", path=b"workspace/f") + MANIFEST),
    "global path, late": tar(ext(kind=b"g", path=b"workspace/f"), HELLO),
    "global path, own path": tar(ext(kind=b"g", path=b"workspace/g"), ext(path=b"workspace/own"), HELLO),
    "global size": tar(ext(kind=b"g", size=b"3"), HELLO),
    "global last": tar(HELLO, ext(kind=b"g", comment=b"x")),
}

TIMES: Group = {
    f"{name}": tar(ext(mtime=value), reg(b"workspace/f"))
    for name, value in {
        "fraction": b"1780000000.123456789",
        "more digits than a double": b"1780000000.9999999999",
        "one nanosecond": b"0.000000001",
        "half a nanosecond": b"1.0000000005",
        "exponent": b"1.78e9",
        "odd writing": b" 1_780_000_000.5 ",
        "no number": b"yesterday",
        "empty": b"",
        "hexadecimal": b"0x10",
        "nan": b"nan",
        "infinity": b"inf",
        "minus infinity": b"-Infinity",
        "beyond any clock": b"1e30",
        "63 bits": b"9223372036854775808",
        "year 3000": b"32503680000",
        "before the epoch": b"-14182940.25",
        "just before the epoch": b"-0.000000001",
        "long before any clock": b"-1e30",
    }.items()
}
TIMES |= {
    "nan on a folder": tar(ext(mtime=b"nan"), folder(b"workspace/d")),
    "nan on a link": tar(ext(mtime=b"nan"), sym(b"workspace/l", b"x")),
    "nan on an absolute link": tar(ext(mtime=b"nan"), sym(b"workspace/l", b"/x")),
    "nan on the manifest": tar(HELLO, first=ext(mtime=b"nan") + MANIFEST),
    "binary negative": tar(reg(b"workspace/f", mtime=binary(-1))),
    "binary beyond any clock": tar(reg(b"workspace/f", mtime=binary(2**70))),
    "of a folder with children": tar(folder(b"workspace/d", mtime=10**9), reg(b"workspace/d/f", mtime=11 * 10**8)),
    "of a root": tar(HELLO, roots=folder(b"native", mtime=1) + folder(b"workspace", mtime=2)),
}

LINKS: Group = {
    "relative": tar(HELLO, sym(b"workspace/l", b"hello")),
    "dangling": tar(sym(b"workspace/l", b"not/there")),
    "escapes": tar(sym(b"workspace/l", b"../../etc/passwd")),
    "to the top": tar(sym(b"workspace/l", b"..")),
    "to the top from below": tar(DIRS, sym(b"workspace/a/b/l", b"../../..")),
    "to the other root": tar(sym(b"workspace/l", b"../native")),
    "out and back": tar(HELLO, sym(b"workspace/l", b"../workspace/hello")),
    "to its root": tar(DIRS, sym(b"workspace/a/l", b"..")),
    "to its folder": tar(sym(b"workspace/l", b".")),
    "empty": tar(sym(b"workspace/l", b"")),
    "backslash": tar(sym(b"workspace/l", b"a\\b")),
    "not UTF-8": tar(sym(b"workspace/l", b"caf\xe9")),
    "escapes, to quote": tar(sym(b"workspace/l\xe9\n", b"../../'\xe9\"\t\x85")),
    "slashes": tar(DIRS, sym(b"workspace/l", b"a//./b/")),
    "absolute": tar(sym(b"workspace/l", b"/etc/passwd")),
    "absolute with dots": tar(sym(b"workspace/l", b"/../../x")),
    "absolute, doubled slash": tar(sym(b"workspace/l", b"//x")),
    "through an absolute one": tar(sym(b"workspace/abs", b"/etc"), sym(b"workspace/l", b"abs/../../x")),
    "to itself": tar(sym(b"workspace/l", b"l")),
    "cycle": tar(sym(b"workspace/a", b"b"), sym(b"workspace/b", b"a")),
    "below itself": tar(sym(b"workspace/l", b"l/x")),
    "chain of 39": tar(HELLO, chain(39)),
    "chain of 40": tar(HELLO, chain(40)),
    "chain of 41": tar(HELLO, chain(41)),
    "chain of 42": tar(HELLO, chain(42)),
    "dangling chain of 41": tar(chain(41)),
    "chain escapes": tar(DIRS, sym(b"workspace/a/b/up", b".."), sym(b"workspace/l", b"a/b/up/../../x")),
    "chain to the other root": tar(DIRS, sym(b"workspace/a/b/up", b".."), sym(b"workspace/l", b"a/b/up/../../native")),
    "chain stays": tar(HELLO, DIRS, sym(b"workspace/a/b/up", b".."), sym(b"workspace/l", b"a/b/up/../hello")),
    "lexically inside": tar(DIRS, sym(b"workspace/a/b/top", b"../../a"), sym(b"workspace/l", b"a/b/top/../..")),
    "through a file": tar(HELLO, sym(b"workspace/l", b"hello/../hello")),
    "to the manifest": tar(sym(b"workspace/l", b"../manifest.json")),
    "manifest a link": tar(HELLO, first=sym(b"manifest.json", b"workspace/hello")),
    "target of 4095 bytes": tar(ext(linkpath=b"a/" * 2047 + b"b"), sym(b"workspace/l", b"x")),
    "target of 4096 bytes": tar(ext(linkpath=b"a/" * 2047 + b"bb"), sym(b"workspace/l", b"x")),
    "component of 256 bytes": tar(ext(linkpath=b"n" * 256), sym(b"workspace/l", b"x")),
}

MODES: Group = {
    "none": tar(reg(b"workspace/f", b"secret", mode=0)),
    "beyond 0777": tar(reg(b"workspace/f", mode=0o7755), folder(b"workspace/d", mode=0o7777)),
    "with type bits": tar(reg(b"workspace/f", mode=0o100640)),
    "read-only folder": tar(folder(b"workspace/d", mode=0o500), folder(b"workspace/d/e"), reg(b"workspace/d/e/f")),
    "closed folder": tar(folder(b"workspace/d", mode=0), reg(b"workspace/d/f")),
    "wide open": tar(folder(b"workspace/d", mode=0o777), reg(b"workspace/d/f", mode=0o666)),
    "of a link": tar(sym(b"workspace/l", b"x", mode=0)),
    "of the roots": tar(HELLO, roots=folder(b"native", mode=0) + folder(b"workspace", mode=0o500)),
}

ENDS: Group = {
    "no bytes": b"",
    "one byte": b"x",
    "text": b"No archive at all.\n" * 60,
    "511 zeros": bytes(511),
    "one zero block": bytes(512),
    "two zero blocks": bytes(1024),
    "missing": tar(HELLO, end=b""),
    "missing after a full block": tar(reg(b"workspace/f", b"x" * 512), end=b""),
    "half a zero block": tar(HELLO, end=bytes(256)),
    "single": tar(HELLO, end=bytes(512)),
    "bytes after it": tar(HELLO) + b"\xff" * 700,
    "member after it": tar(HELLO) + reg(b"../evil") + END,
    "between members": tar(bytes(512), reg(b"../evil")),
    "cut in a header": tar(HELLO, end=head(b"workspace/f")[:300]),
    "cut in data": tar(HELLO, end=head(b"workspace/f", size=4000) + b"x" * 1000),
    "cut in padding": tar(HELLO, end=head(b"workspace/f", size=100) + b"x" * 300),
    "noise between members": tar(b"\xa5" * 512, HELLO),
}

MANIFESTS: Group = {
    "missing": tar(first=b""),
    "a folder": tar(first=folder(b"manifest.json")),
    "empty": manifest(b""),
    "no JSON": manifest(b"{'version': 1}"),
    "cut": manifest(b'{"version": 1, "state": {'),
    "followed by text": manifest(b'{"version": 1, "state": {}} x'),
    "followed by NUL": manifest(b'{"version": 1, "state": {}}\0'),
    "amid whitespace": manifest(b' \r\n\t{"version": 1, "state": {}}\n\n'),
    "a list": manifest(b"[1]"),
    "null": manifest(b"null"),
    "version 2": manifest({"version": 2, "state": {}}),
    "version text": manifest({"version": "1", "state": {}}),
    "version 1.0": manifest({"version": 1.0, "state": {}}),
    "version 1e0": manifest(b'{"version": 1e0, "state": {}}'),
    "version 0.1e1": manifest(b'{"version": 0.1e1, "state": {}}'),
    "version barely not 1": manifest(b'{"version": 1.0000000000000000001, "state": {}}'),
    "version true": manifest({"version": True, "state": {}}),
    "version missing": manifest({"state": {}}),
    "state missing": manifest({"version": 1}),
    "state null": manifest({"version": 1, "state": None}),
    "state a list": manifest({"version": 1, "state": []}),
    "state rich": manifest({"version": 1, "state": {"a": [1, 2.5, None, True, {"ż": "🐢"}]}, "excluded": 7, "more": 1}),
    "keys repeated": manifest(b'{"version": 2, "version": 1, "state": {"a": 1, "a": 2}}'),
    "not a number": manifest(b'{"version": 1, "state": {"a": [NaN, Infinity, -Infinity]}}'),
    "huge exponent": manifest(b'{"version": 1, "state": {"a": 1e999}}'),
    "long integer": manifest(b'{"version": 1, "state": {"a": 123456789012345678901234567890}}'),
    "4300 digits": manifest(b'{"version": 1, "state": {"a": ' + b"9" * 4300 + b"}}"),
    "4301 digits": manifest(b'{"version": 1, "state": {"a": ' + b"9" * 4301 + b"}}"),
    "byte order mark": manifest(b'\xef\xbb\xbf{"version": 1, "state": {}}'),
    "UTF-16": manifest('{"version": 1, "state": {"é": 1}}'.encode("utf-16")),
    "UTF-16, no mark": manifest('{"version": 1, "state": {}}'.encode("utf-16-be")),
    "UTF-32": manifest('{"version": 1, "state": {}}'.encode("utf-32")),
    "not UTF-8": manifest(b'{"version": 1, "state": {"a": "\xe9"}}'),
    "surrogate escaped": manifest(b'{"version": 1, "state": {"a": "\\ud800"}}'),
    "surrogate in bytes": manifest(b'{"version": 1, "state": {"a": "\xed\xa0\x80"}}'),
    "raw newline": manifest(b'{"version": 1, "state": {"a": "\n"}}'),
    "leading zero": manifest(b'{"version": 01, "state": {}}'),
    "nested 500": nested(500),
    "nested 900": nested(900),
    "nested 5 000": Case(nested(5_000), either=True),
    "nested 200 000": nested(200_000),
    "mode 000": tar(first=reg(b"manifest.json", json.dumps(STATE).encode(), mode=0)),
}

LIMITS: Group = {
    "manifest": Case(manifest(b'{"version": 1, "state": {}}' + b" " * 1000), {"max_manifest_bytes": 1026}),
    "manifest, just": Case(manifest(b'{"version": 1, "state": {}}' + b" " * 999), {"max_manifest_bytes": 1026}),
    "entries": Case(tar(HELLO, sym(b"workspace/l", b"hello")), {"max_entries": 4}),
    "entries, just": Case(tar(HELLO), {"max_entries": 4}),
    "stored bytes": Case(tar(reg(b"workspace/a", b"x" * 9000)), {"max_bytes": 8000}),
    "stored bytes, just": Case(tar(reg(b"workspace/a", b"x" * 512)), {"max_bytes": 4096}),
    "bomb": Case(gz(tar(reg(b"workspace/a", bytes(3_000_000)))), {"max_bytes": 1_000_000}),
    "bomb after the end": Case(gz(tar(HELLO) + bytes(3_000_000)), {"max_bytes": 1_000_000}),
    "bomb of many members": Case(b"".join(gz(bytes(900_000)) for _ in range(3)), {"max_bytes": 1_000_000}),
    "extension": Case(tar(ext(comment=b"c" * 3000), HELLO), {"max_manifest_bytes": 2000}),
    "extension, long name": Case(tar(long(b"workspace/" + b"l" * 3000), reg(b"f")), {"max_manifest_bytes": 2000}),
    "extension, solaris": Case(tar(ext(kind=b"X", comment=b"c" * 3000), HELLO), {"max_manifest_bytes": 2000}),
    "extensions add up": Case(
        tar(*(ext(comment=b"c" * 1900) + reg(b"workspace/%d" % n) for n in range(20))), {"max_manifest_bytes": 2000}
    ),
    "headers": Case(tar(ext(comment=b"c") * 20, HELLO), {"max_entries": 5}),
}

GZIPS: Group = {
    "cut": gz(tar(HELLO))[:-40],
    "no trailer": gz(tar(HELLO))[:-8],
    "half a trailer": gz(tar(HELLO))[:-3],
    "bad checksum": gz(tar(HELLO), crc=1),
    "bad length": gz(tar(HELLO), length=1),
    "bad data": gz(tar(HELLO))[:60] + b"\xff\xff" + gz(tar(HELLO))[62:],
    "bad method": gz(tar(), method=7),
    "only magic": b"\x1f\x8b",
    "only a header": gz(b"")[:10],
    "nothing inside": gz(b""),
    "file name": gz(tar(), flags=8, extra=b"checkpoint.tar\0"),
    "all flags": gz(tar(), flags=2 | 4 | 8 | 16, extra=b"\x03\0abcname\0comment\0\0\0"),
    "file name never ends": gz(tar(), flags=8)[:10] + b"x" * 50,
    "reserved flags": gz(tar(), flags=0xE0),
    "zeros after it": gz(tar(HELLO)) + bytes(100),
    "garbage after it": gz(tar(HELLO)) + b"garbage",
    "zeros and garbage after it": gz(tar(HELLO)) + bytes(10) + b"garbage",
    "magic after it": gz(tar(HELLO)) + b"\x1f\x8b",
    "two members": gz(tar(HELLO)[:700]) + gz(tar(HELLO)[700:]),
    "two members, zeros between": gz(tar(HELLO)[:700]) + bytes(9) + gz(tar(HELLO)[700:]),
    "two members, the second bad": gz(tar(HELLO)) + gz(tar(HELLO), crc=1),
    "empty member first": gz(b"") + gz(tar(HELLO)),
    "two archives": gz(tar(HELLO)) + gz(tar(reg(b"../evil"))),
    "gzip in gzip": gz(gz(tar())),
    "not deflated": gzip.compress(tar(HELLO), compresslevel=0, mtime=0),
}

GROUPS: list[tuple[str, Group]] = [
    ("shape", SHAPES),
    ("number", NUMBERS),
    ("name", NAMES),
    ("type", TYPES),
    ("extension", EXTENSIONS),
    ("mtime", TIMES),
    ("link", LINKS),
    ("mode", MODES),
    ("end", ENDS),
    ("manifest", MANIFESTS),
    ("limit", LIMITS),
    ("gzip", GZIPS),
]
CASES: dict[str, Case] = {
    f"{group}/{name}": case if isinstance(case, Case) else Case(case)
    for group, cases in GROUPS
    for name, case in cases.items()
}
