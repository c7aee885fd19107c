#!/usr/bin/env python3
"""Writes the made seeds, `seeds/TARGET/NAME`: small inputs of the forms that real ones have. The same
bytes each time, where zlib is the same. Seeds named `crash-*` are what fuzzing found and stay as they are."""

import gzip
import hashlib
import io
import json
import struct
import tarfile
import zlib
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"
ID = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "0f" * 32
MTIME = 1_700_000_000


def seed(target, name, data):
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def member(name, kind=tarfile.REGTYPE, link="", mode=0o644, mtime=MTIME, records=None):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = kind, link, mode, mtime
    info.pax_headers = records or {}
    return info


def tar(members, form=tarfile.PAX_FORMAT, manifest=True):
    """A tar of `(TarInfo, content)`, with what every checkpoint has before them."""
    out = io.BytesIO()
    if manifest:
        state = json.dumps({"version": 1, "state": {"run_id": "r"}}).encode()
        roots = [(member(name, tarfile.DIRTYPE, mode=0o755), b"") for name in ("workspace", "native")]
        members = [(member("manifest.json", mode=0o600), state), *roots, *members]
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    data = out.getvalue()
    # Python fills the last record; two blocks of zeros end an archive as well.
    return data.rstrip(b"\0").ljust(-(-len(data.rstrip(b"\0")) // 512) * 512, b"\0") + bytes(1024)


def archives():
    directory, link = tarfile.DIRTYPE, tarfile.SYMTYPE
    plain = [
        (member("workspace/a", directory, mode=0o700), b""),
        (member("workspace/a/x.txt", mtime=MTIME + 0.25), b"hello\n"),
        (member("workspace/run", mode=0o755), b"#!/bin/sh\n"),
        (member("workspace/a/up", link, "../run"), b""),
        (member("workspace/out", link, "/etc/hostname"), b""),
        (member("native/.sealed", mode=0o000), b"secret"),
    ]
    nested = [
        (member("workspace/l", link, "d"), b""),
        (member("workspace/d", directory, mode=0o500), b""),
        (member("workspace/d/f"), b"1"),
        (member("workspace/d/l", link, "../l/f"), b""),
    ]
    long = [
        (member("workspace/" + "d" * 120, directory), b""),
        (member("workspace/" + "d" * 120 + "/\u00e9"), b"x"),
        (member("workspace/link", link, "d" * 120), b""),
    ]
    inner = tar([(member("workspace/inner"), b"in")])
    sizes = [(member("workspace/nested", records={"size": "0"}), inner)]
    odd = [
        (member("workspace/hard", tarfile.LNKTYPE, "manifest.json"), b""),
        (member("workspace/pipe", tarfile.FIFOTYPE), b""),
    ]
    escape = [
        (member("workspace/l", link, "../native"), b""),
        (member("workspace/l/x"), b"through"),
    ]
    claims = [(member("workspace/x", records={"size": str(2**64 - 1)}), b"x")]
    hidden = tar([(member("a", records={"comment": "c" * 5000}), b"")], manifest=False)
    hides = [(member("workspace/x", records={"size": "0"}), hidden)]
    for name, members, form in [
        ("claims", claims, tarfile.PAX_FORMAT),
        ("hides", hides, tarfile.PAX_FORMAT),
        ("empty", [], tarfile.PAX_FORMAT),
        ("plain", plain, tarfile.PAX_FORMAT),
        ("nested", nested, tarfile.PAX_FORMAT),
        ("long", long, tarfile.PAX_FORMAT),
        ("long-gnu", long, tarfile.GNU_FORMAT),
        ("sizes", sizes, tarfile.PAX_FORMAT),
        ("odd", odd, tarfile.PAX_FORMAT),
        ("escape", escape, tarfile.PAX_FORMAT),
    ]:
        seed("restore", name, tar(members, form))
        if name in ("plain", "long", "long-gnu", "sizes", "claims", "hides"):
            seed("framing", name, tar(members, form))
    seed("restore", "plain.gz", gzip.compress(tar(plain), mtime=0))
    seed("restore", "no-end", tar(plain)[:-1024])
    records = [(member("workspace/a", records={"comment": "c"}), b"a")]
    both = tarfile.TarInfo("workspace/x")
    glob = both.create_pax_global_header({"mtime": "7.5"}) + tar(records, manifest=False)
    seed("framing", "global", glob)


def compression():
    one = gzip.compress(b"one " * 40, mtime=0)
    named = b"\x1f\x8b\x08\x1e" + bytes(4) + b"\0\xff" + b"\x03\0abc" + b"name\0words\0" + b"\0\0"
    body = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = body.compress(b"two") + body.flush()
    named += body + struct.pack("<II", zlib.crc32(b"two"), 3)
    seed("gunzip", "one", one)
    seed("gunzip", "fields", named)
    seed("gunzip", "two-padded", one + bytes(9) + named + bytes(3))
    seed("gunzip", "bomb", gzip.compress(bytes(200_000), mtime=0))
    seed("gunzip", "stored", gzip.compress(b"as it is", 0, mtime=0))
    for name, whole in [
        ("blob", b"blob 5\0hello"),
        ("tree", b"tree 33\x00100644 README" + b"\0" + bytes(range(20)) + b""),
        ("commit", b"commit 46\0tree " + ID.encode() + b"\n"),
        ("short", b"blob 9\0hello"),
        ("bomb", b"blob 100000\0" + bytes(100_000)),
    ]:
        seed("loose", name, zlib.compress(whole))
    seed("loose", "cut", zlib.compress(b"blob 5\0hello")[:-5])


def record(key, value):
    rest = len(key) + len(value) + 3
    length = rest + 1
    while rest + len(str(length)) > length:
        length += 1
    return f"{length} {key}={value}\n".encode()


def extensions():
    seed("pax", "usual", record("mtime", "1700000000.123456789") + record("path", "workspace/\u00e9"))
    seed("pax", "all", b"".join(record(key, value) for key, value in [
        ("linkpath", "../x"), ("size", "0_6"), ("size", "18446744073709551615"), ("mtime", "-1e3"),
        ("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.name", "x"),
        ("comment", "a=b\nc"),
    ]) + bytes(20))
    seed("pax", "bad", b"0 path=x\n10 path=workspace/x\n")
    seed("pax", "numbers", b"0000644\0\n00000000017 \n\x80\0\0\0\0\0\0\6\n0o17 \0\0\0\n-1_0\n+ 1\nnan\n1_0.5e-3")
    seed("links", "tree", "d workspace/a\nd workspace/a/b\nf workspace/a/f\nl workspace/a/b/l ../f\nl workspace/m a/b/l\n")
    seed("links", "cycle", "l workspace/a b\nl workspace/b a\n")
    seed("links", "absolute", "l workspace/abs /etc\nd workspace/a\nd workspace/a/b\nl workspace/a/b/top ../..\nl workspace/a/b/out top/abs/../../..\n")
    seed("links", "chain", "".join(f"l workspace/l{n} ./l{n + 1}\n" for n in range(41)))
    seed("links", "out", "l workspace/x ../native\nl native/y ../../x\nl native/n a/../../workspace\n")


def rows():
    reference = {"sha256": DIGEST, "size": 7}
    data = {"status": "COMPLETED", "metadata": {"sandbox": {"checkpoint": reference}}}
    pinned = {"metadata": {"sandbox": {
        "checkpoint": reference,
        "repository": {"url": "https://example.org/x.git", "branch": "main", "commit": ID}}},
        "input": {"input_content": "do it"}, "agent_name": "Engineer"}
    text = json.dumps(data)
    for name, status, data_text in [
        ("completed", "COMPLETED", text), ("in-data", "-", text), ("nested", "completed", json.dumps(text)),
        ("error", "ERROR", text), ("pinned", "COMPLETED", json.dumps(pinned)), ("list", "-", "[1]"),
        ("odd-status", "-", json.dumps({**data, "status": 7})),
        ("extra-key", "COMPLETED", text.replace('"size"', '"key": 1, "size"')),
        ("large", "COMPLETED", text.replace(": 7", ": 118059162071741130342400")),
        ("falsy", "COMPLETED", '{"metadata":{"sandbox":{}}}'),
    ]:
        seed("gate", name, f"{status}\nengineer\nengineer\nrun-1\n{data_text}")
    seed("gate", "foreign", f"COMPLETED\nengineer\nreviewer\nrun-1\n{text}")
    seed("gate", "team", f"COMPLETED\n-\n-\nrun-1\n{text}")
    others = [{"sha256": f"{n:064x}", "size": 9} for n in range(4)]
    runs = [{"metadata": {"sandbox": {"checkpoint": one}}} for one in reversed(others)]
    record = {"phase": "idle", "computer": {"id": "c"}, "warm_until": 170.5, "checkpoint": others[3],
              "retained_checkpoints": others[1:], "retired_checkpoints": others[:1]}
    seed("told", "idle", json.dumps({"record": record, "now": 100, "runs": runs}))
    seed("told", "held", json.dumps({"record": {"checkpoint": others[0]}, "run_id": "2",
                                     "held_until": 170, "now": 200, "runs": runs}))
    seed("told", "far", json.dumps({"record": {**record, "warm_until": 1e300}, "run_id": "0",
                                    "held_until": 2**63 - 1, "now": 2**63 - 1, "runs": runs}))
    seed("json", "values", '{"a": [null, true, -0, 2.5e3, 1e400, "\\ud83e\\uddfe \\ud800x \\u0000"], "a": {}}')
    seed("json", "special", "[NaN, Infinity, -Infinity, 123456789012345678901234567890]")
    seed("json", "deep", "[" * 981 + "]" * 981)
    seed("json", "utf-16", '{"\u0142": "x"}'.encode("utf-16"))
    seed("json", "utf-32", '["x"]'.encode("utf-32-be"))
    seed("json", "surrogate", b'"\xed\xa0\x80 caf\xc3\xa9"')
    seed("json", "floats", "[1e16, 1e-7, 5e-324, 1.7976931348623157e308, 0.1, 100.0, -0.0]")


def checkouts():
    def refs(*files):
        return "\0".join(files)

    packed = f"# pack-refs with: peeled fully-peeled sorted \n{ID} refs/heads/main\n^{ID}\n"
    log = f"{'0' * 40} {ID} A U Thor <a@example.org> 1700000000 +0000\tWIP on main\n"
    seed("refs", "loose", refs("ref: refs/heads/main\n", "", f"{ID}\n"))
    seed("refs", "packed", refs("ref: refs/heads/main\n", packed))
    seed("refs", "detached", refs(f"{ID.upper()}\n"))
    seed("refs", "chain", refs("ref: refs/heads/main\n", "", "ref: refs/heads/a", "ref: refs/heads/main"))
    seed("refs", "link", refs("-> refs/heads/a", "", "", f"{ID}"))
    seed("refs", "stash", refs("ref: refs/heads/x", "", "", "", ID, log))
    seed("refs", "reftable", refs("ref: refs/heads/.invalid\n"))
    seed("refs", "folder", refs("ref: refs/heads/dir", "/", "", "", "", "", f"{ID}\n"))

    def entry(path, mode=0o100644, flags=0, extended=None, version=2, strip=None):
        head = struct.pack(">10I", *[0] * 6, mode, 0, 0, 5) + bytes.fromhex(ID)
        head += struct.pack(">H", flags | min(len(path), 0xFFF))
        head += struct.pack(">H", extended) if extended is not None else b""
        if version == 4:
            return head + bytes([strip]) + path + b"\0"
        return head + path + bytes(8 - (len(head) + len(path)) % 8)

    def index(version, entries, more=b""):
        data = b"DIRC" + struct.pack(">II", version, len(entries)) + b"".join(entries) + more
        return data + hashlib.sha1(data).digest()

    seed("index", "two", index(2, [entry(b"README"), entry(b"src/x", 0o100755), entry(b"sub", 0o160000)]))
    seed("index", "flags", index(3, [entry(b"a", flags=0x8000), entry(b"b", flags=0x4000, extended=0x4000),
                                     entry(b"c", flags=0x4000, extended=0x2000)]))
    seed("index", "four", index(4, [entry(b"dir/a", version=4, strip=0), entry(b"b", version=4, strip=1)]))
    seed("index", "unmerged", index(2, [entry(b"x", flags=n << 12) for n in (1, 2, 3)]))
    seed("index", "sparse", index(3, [entry(b"left/", 0o040000, 0x4000, 0x4000)], b"sdir\0\0\0\0"))
    seed("index", "split", index(2, [], b"link\0\0\0\x14" + bytes(20)))
    seed("index", "tree", index(2, [entry(b"a"), entry(b"a/b"), entry(b"../x")], b"TREE\0\0\0\x02ab"))

    seed("ignore", "usual", "# built\n*.log\n/build/\n!keep.log\n**/x\na/**/b\n\0x.log\nbuild\nkeep.log\na/c/b\n")
    seed("ignore", "classes", "[[:digit:]]x\n[!a]b\n[]]\n[ab\n*.{a,b}\n\\#x\ntrail  \n\\ \n\0" "7x\nbb\n]\nx.{a,b}\n")
    seed("ignore", "heavy", "*a" * 60 + "b\n" + "**/" * 20 + "x\n\0" + "a" * 200 + "\n")
    seed("ignore", "idle", "\n# nothing\n \n\0src/x\n")
    crlf = "line\r\nother\r\n"
    seed("attributes", "text", f"*.c text eol=crlf\n*.bin binary\n\0a/x.c\0{crlf}")
    seed("attributes", "auto", f"* text=auto ident\n\0x\0$Id: abc $ {crlf}")
    seed("attributes", "macro", f'[attr]mine text -diff\n"quo\\"ted" mine\n/x mine !diff\n\0x\0{crlf}')
    seed("attributes", "loop", "[attr]a " + "b " * 30 + "\n[attr]b " + "a " * 30 + "\n* a\n\0x\0\r\n")
    seed("attributes", "filter", "*.psd filter=lfs diff=lfs merge=lfs -text\n* working-tree-encoding=UTF-16\n\0x.psd\0x")


def objects():
    def head(kind, size):
        byte, size, out = kind << 4 | size & 15, size >> 4, b""
        while size:
            out, byte, size = out + bytes([byte | 0x80]), size & 0x7F, size >> 7
        return out + bytes([byte])

    blob = head(3, 5) + zlib.compress(b"hello")
    delta = zlib.compress(bytes([5, 5, 0x90, 5]))
    offset = head(6, 4) + bytes([len(blob)]) + delta
    named = head(7, 4) + bytes([1] * 20) + delta
    ring = head(7, 4) + bytes([2] * 20) + delta
    large = head(3, 1 << 40) + zlib.compress(b"")

    def table(*rows):
        return bytes([len(rows)]) + b"".join(struct.pack(">BH", *row) for row in rows)

    seed("packs", "blob", table((1, 12)) + blob)
    seed("packs", "offset-delta", table((1, 12), (2, 12 + len(blob))) + blob + offset)
    seed("packs", "named-delta", table((1, 12), (9, 12 + len(blob))) + blob + named)
    seed("packs", "ring", table((2, 12), (3, 12)) + ring)
    seed("packs", "large", table((1, 12), (2, 40000), (3, 0)) + large)
    pack = b"PACK\0\0\0\2\0\0\0\1" + blob + bytes(20)
    fan = b"".join(struct.pack(">I", int(slot >= 1)) for slot in range(256))
    second = b"\xfftOc\0\0\0\2" + fan + bytes([1] * 20) + bytes(4) + struct.pack(">I", 12) + bytes(40)
    first = fan + struct.pack(">I", 12) + bytes([1] * 20) + bytes(40)
    far = second[:-44] + struct.pack(">I", 0x80000000) + struct.pack(">Q", 12) + bytes(40)
    for name, one in [("index-2", second), ("index-1", first), ("index-far", far)]:
        seed("packs", name, bytes([8]) + struct.pack(">H", len(pack)) + pack + one)

    def number(value):
        out = b""
        while value > 0x7F:
            out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
        return out + bytes([value])

    def text(value):
        return number(len(value)) + value

    def frame(message):
        return struct.pack("<I", len(message)) + message

    oid = bytes(range(20))
    line = number(1) + b"\0" + b"\1\1" + text(b"new") + b"\0"
    patch = number(12) + number(1) + text(b"@@ -1 +1 @@") + number(1) + line + b"\0" + b"\1" + text(b"cut")
    answers = [
        ("done", number(0)),
        ("failed", number(3) + number(1) + text(b"damaged")),
        ("entries", number(4) + number(1) + text(b"src/x") + number(0o100644) + oid),
        ("commits", number(5) + number(1) + text(ID.encode()) + text(b"A") + number(14) + text(b"s")),
        ("parent", number(6) + number(0) + oid),
        ("differing", number(7) + number(1) + text(b"x") + number(0o100644) + number(0) + number(3)),
        ("opaque", number(9) + number(1) + number(0) + number(2) + text(b"why")),
        ("deltas", number(10) + number(1) + b"\0\1" + text(b"x") + number(0) + number(0o100644) + b"\0"),
        ("counts", number(11) + number(2) + bytes([0, 1, 2, 0, 1, 0, 0, 1])),
        ("patch", patch),
        ("text", number(13) + text(b"diff --git a/x b/x\n")),
        ("claims-much", number(4) + number(1 << 30)),
    ]
    for name, message in answers:
        seed("protocol", name, message)
    seed("protocol", "frames", b"".join(frame(message) for _, message in answers[:5]))
    compare = number(9) + number(1) + text(b"x") + b"\1" + number(0o100644) + b"\0" + oid + b"\1" + number(0o100644) + b"\1\0"
    asked = [number(0) + text(b"/private"), number(7) + number(0) + text(b"hello"),
             number(8) + text(b"content"), compare, number(10) + number(0) + number(3) + b"\1"]
    seed("protocol", "asked", b"".join(frame(message) for message in asked))
    seed("protocol", "too-long", b"\xff\xff\xff\xff" + bytes(4))


def words():
    seed("text", "escapes", b"a\x1b[31mred\x1b]0;title\x07\x9b2J\xc2\x9b1m\tb\r\n\x7f")
    seed("text", "bidi", "abc\u202edef\u2066x\u2069\u200b\u200e\ufeff\u00ad\U000e0041")
    seed("text", "marks", "e" + "\u0301" * 12 + "x" + "\u20dd" * 9 + "\u0e17\u0e35\u0e48")
    seed("text", "wide", "\U0001f469\u200d\U0001f4bb \u2708\ufe0f \u65e5\u672c\t\ud55c \u1112\u1161\u11ab")
    seed("text", "invalid", b"caf\xe9 \xf0\x9f\x98 \xed\xa0\x80 'it\"s\\")
    seed("xml", "error", '<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code><Message>a &amp; b &#39;c&#39;'
         "<![CDATA[<d>]]></Message><Region>eu-west-1</Region></Error>")
    seed("xml", "upload", '<InitiateMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
         "<UploadId>abc</UploadId></InitiateMultipartUploadResult>")
    seed("xml", "bomb", '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><Error><Code>&b;</Code></Error>')
    seed("xml", "deep", "<a>" * 300 + "</a>" * 200)
    seed("postgres", "url", "postgresql+psycopg://app:p%40ss@db1:5433,[::1]:5432/agno?sslmode=verify-full&target_session_attrs=any")
    seed("postgres", "socket", "postgres://%2Fvar%2Frun/agno?user=app&application_name=x")
    seed("postgres", "nameless", "postgres://%2Fvar%2Frun?=app&application_name=x")
    seed("postgres", "keywords", "host=db port = 5432 dbname='a b' user='o\\'x' password=hunter2")


if __name__ == "__main__":
    for part in (archives, compression, extensions, rows, checkouts, objects, words):
        part()
