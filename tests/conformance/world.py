"""A small world of agents, sessions, runs and checkpoints, written by agno's own classes.

SqliteDb holds the rows, FileCheckpointStore the objects, CheckpointArchive captures the workspaces and agno's
repository preparation makes the checkouts. Only rows that agno never writes are set through SQL.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from agno.db.sqlite import SqliteDb
from agno.run.agent import RunInput, RunOutput
from agno.run.base import RunStatus
from agno.run.team import TeamRunOutput
from agno.run.workflow import WorkflowRunOutput
from agno.sandbox.base import Sandbox
from agno.sandbox.checkpoint import CheckpointArchive, CheckpointRef, FileCheckpointStore
from agno.sandbox.fixture import FixtureAgent
from agno.sandbox.repository import _prepare, _read_pin
from agno.sandbox.transfer import DEFAULT_NATIVE_EXCLUSIONS
from agno.session.agent import AgentSession
from agno.session.team import TeamSession
from agno.session.workflow import WorkflowSession

import hostile
from checkouts import CHECKOUTS, ORIGIN, PREAMBLE, WORKSPACES
from support import git, script

REPOSITORY = {"url": "https://github.com/acme/shop", "branch": "main"}
AGENTS = {"engineer": "Engineer", "reviewer": "Code Reviewer – przegląd", "migrator": "Migrator"}
CREATED = 1_780_000_000
UNKNOWN_RUNS = ["no such run", "", "y" * 300, "' OR 1=1 --", "%%%%%%%%", "________", "--help", " "]
# Archives with a fault, committed by completed runs all the same.
BAD_ARCHIVES = ["name/parent", "link/escapes", "gzip/cut", "manifest/missing", "end/missing", "mtime/nan"]


class NoComputer(Sandbox):
    """A sandbox whose turns are all over: it only says where their checkpoints are."""

    def __init__(self, checkpoints: FileCheckpointStore) -> None:
        self.checkpoints, self.env = checkpoints, {"AGNO_SANDBOX_TEST_RUNTIME": "1"}

    async def _none(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    acreate = aget = aexec = astop = adestroy = _none


class Undecodable(bytes):
    """Bytes stored as TEXT."""


class Raw(NamedTuple):
    """The run_data cell as it stands in the database, not the JSON of a value."""

    cell: Any


@dataclass
class Checkpoint:
    """A captured workspace, the folders it was captured from, and the run that committed it."""

    run_id: str
    agent: str
    workspace: Path
    native: Path
    reference: CheckpointRef
    pin: dict[str, str] | None


@dataclass
class World:
    root: Path
    database: Path
    db: SqliteDb
    store: FileCheckpointStore
    agents: dict[str, FixtureAgent]
    origin: Path
    canaries: Path
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    # Every run to ask about, and the agent in its row; None when it has no agent or does not exist.
    runs: dict[str, str | None] = field(default_factory=dict)

    def object(self, reference: CheckpointRef) -> Path:
        return self.store.root / reference.sha256

    # ------------------------------------------------------------- writing

    def commit(self, run_id: str, agent: str, status: RunStatus = RunStatus.completed, **more: Any) -> None:
        run = RunOutput(
            run_id=run_id,
            agent_id=agent,
            agent_name=AGENTS[agent],
            session_id=f"session of {agent}",
            input=RunInput(input_content=f"Work on {run_id}"),
            content="done",
            status=status,
            created_at=CREATED,
            **more,
        )
        self.db.upsert_run(run, session_id=f"session of {agent}")
        self.runs[run_id] = agent

    def sandbox(self, reference: CheckpointRef, repository: dict[str, str] | None = None) -> dict[str, Any]:
        """Run metadata as a committed turn has it."""
        checkpoint = {"sha256": reference.sha256, "size": reference.size}
        sandbox: dict[str, Any] = {"native_metadata": {}, "epoch": 1, "generation": 1, "checkpoint": checkpoint}
        return {"sandbox": {**sandbox, **({"repository": repository} if repository else {})}}

    def put(self, data: bytes) -> CheckpointRef:
        source = self.root / "upload"
        source.write_bytes(data)
        return self.store.put(source)

    def by_hand(self, run_id: str, data: Any, **columns: Any) -> None:
        cell = data.cell if isinstance(data, Raw) else json.dumps(data)
        row = {
            "run_id": run_id,
            "session_id": "session of engineer",
            "run_type": "agent",
            "agent_id": "engineer",
            "status": "COMPLETED",
            "run_index": len(self.runs),
            "run_data": cell,
            "created_at": CREATED,
            **columns,
        }
        marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, Undecodable) else "?" for value in row.values())
        with sqlite3.connect(self.database) as connection:
            connection.execute(f"INSERT INTO agno_runs ({', '.join(row)}) VALUES ({marks})", list(row.values()))
        connection.close()
        self.runs[run_id] = row["agent_id"] if row["agent_id"] in AGENTS else None


def build(root: Path) -> World:
    os.environ.pop("GITHUB_TOKEN", None)  # agno refuses to prepare a repository beside one
    root.mkdir(parents=True, exist_ok=True)
    store = FileCheckpointStore(root / "checkpoints")
    database = root / "agno.sqlite"
    db = SqliteDb(db_file=str(database))
    agents = {}
    for name, title in AGENTS.items():
        agents[name] = FixtureAgent(id=name, name=title, sandbox=NoComputer(store))
        agents[name].db = db  # set afterwards: agno runs sandboxed turns on Postgres only, but reads from either
    world = World(root, database, db, store, agents, root / "origin.git", root / "canaries")
    world.canaries.mkdir()
    for name in AGENTS:
        db.upsert_session(AgentSession(f"session of {name}", agent_id=name, session_data={}, created_at=CREATED))
    script(ORIGIN, root, {})
    checkpoints(world)
    statuses(world)
    teams(world)
    odd_rows(world)
    damaged_objects(world)
    for name in BAD_ARCHIVES:
        world.commit(f"bad archive/{name}", "migrator", metadata=world.sandbox(world.put(hostile.CASES[name].data)))
    world.runs.update(dict.fromkeys(UNKNOWN_RUNS))
    for canary in world.canaries.iterdir():
        canary.unlink()
    return world


# ----------------------------------------------------------------- checkpoints


def checkpoints(world: World) -> None:
    """One run for each checkout and each workspace without one; stored gzipped and plain by turns."""
    wrapper = world.root / "bin"
    wrapper.mkdir()
    # agno drops every GIT_* variable, so only a program of git's name can lead its URL to our origin.
    real = git(world.root, "--exec-path").decode().strip()
    instead = f"url.{world.origin}.insteadOf={REPOSITORY['url']}"
    (wrapper / "git").write_text(f'#!/bin/sh\nexec "{real}/git" -c "{instead}" "$@"\n')
    (wrapper / "git").chmod(0o755)
    path = f"{wrapper}:{os.environ['PATH']}"
    variables = {"PATH": path, "PYTHON": sys.executable, "CANARIES": str(world.canaries)}

    def make(item: tuple[int, str]) -> tuple[str, Checkpoint]:
        number, name = item
        workspace, native = (world.root / "sources" / name / part for part in ("workspace", "native"))
        workspace.mkdir(parents=True)
        (native / "codex").mkdir(parents=True)
        (native / "codex" / "auth.json").write_text('{"token": "never captured"}')
        (native / "fixture-session").write_text(name)
        pin = None
        if name in CHECKOUTS:
            checkout = _prepare(REPOSITORY, workspace, native, resume=False)
            script(PREAMBLE + CHECKOUTS[name], checkout, variables)
            pin = _read_pin(native, REPOSITORY)
        else:
            script(WORKSPACES[name], workspace, variables)
        archive = world.root / "sources" / name / "archive"
        CheckpointArchive(compress=number % 2 == 0).capture(
            {"workspace": workspace, "native": native},
            archive,
            state={"binding": {"run_id": name}, "turn": number},
            exclude=DEFAULT_NATIVE_EXCLUSIONS,
        )
        agent = "engineer" if pin else "migrator"
        return name, Checkpoint(f"checkout/{name}", agent, workspace, native, world.store.put(archive), pin)

    outer, os.environ["PATH"] = os.environ["PATH"], path  # agno's own preparation finds git there
    try:
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(make, enumerate([*CHECKOUTS, *WORKSPACES])))
    finally:
        os.environ["PATH"] = outer
    world.checkpoints = dict(made)
    for checkpoint in world.checkpoints.values():
        metadata = world.sandbox(checkpoint.reference, checkpoint.pin)
        world.commit(checkpoint.run_id, checkpoint.agent, metadata=metadata)
    # A row's pin that the archive's copy contradicts, and one whose commit nobody has.
    history = world.checkpoints["history"]
    assert history.pin is not None
    first = git(world.origin, "rev-parse", "main~1").decode().strip()
    for run_id, commit in (("pin/older", first), ("pin/gone", "0123456789" * 4)):
        pin = {**history.pin, "commit": commit}
        world.commit(run_id, "engineer", metadata=world.sandbox(history.reference, pin))


def damaged_objects(world: World) -> None:
    """Completed runs whose object is not what their row says any more."""
    original = world.object(world.checkpoints["untouched"].reference).read_bytes()
    kinds = ["missing", "flipped at the start", "flipped in the middle", "cut", "grown", "emptied"]
    for number, kind in enumerate(kinds, 1):
        data = original + b"\0" * number  # objects of their own, so that nothing else is damaged along
        reference = world.put(data)
        path, flip = world.object(reference), bytearray(data)
        flip[0 if "start" in kind else len(data) // 2] ^= 1
        spoiled = {"missing": None, "cut": data[:-1], "grown": data + b"\0", "emptied": b""}.get(kind, bytes(flip))
        path.unlink()
        if spoiled is not None:
            path.write_bytes(spoiled)
        world.commit(f"damaged/{kind}", "reviewer", metadata=world.sandbox(reference))


# ------------------------------------------------------------------------ rows


def statuses(world: World) -> None:
    good = world.sandbox(world.checkpoints["untouched"].reference)
    for status in RunStatus:
        world.commit(f"status/{status.value}", "reviewer", status, metadata=good)
    world.commit("no sandbox/at all", "reviewer")
    world.commit("no sandbox/never executed", "reviewer", metadata={"sandbox": {"never_executed": True}})
    # Run ids are any text; an exact one wins over every other way to name a run.
    named_alike = ["engineer@latest", "sha256:" + "0" * 64, "-v", "100%_"]
    for run_id in [*named_alike, "x" * 300, "tab\there", "two\nlines", "żółw 🐢"]:
        world.commit(run_id, "engineer", metadata=good)


def teams(world: World) -> None:
    good = world.sandbox(world.checkpoints["untouched"].reference)
    world.db.upsert_session(TeamSession("session of a team", team_id="crew", session_data={}, created_at=CREATED))
    world.db.upsert_session(
        WorkflowSession("session of a workflow", workflow_id="nightly", session_data={}, created_at=CREATED)
    )
    common: Any = {"content": "done", "status": RunStatus.completed, "created_at": CREATED, "metadata": good}
    team = TeamRunOutput(run_id="team/run", team_id="crew", session_id="session of a team", **common)
    flow = WorkflowRunOutput(run_id="workflow/run", workflow_id="nightly", session_id="session of a workflow", **common)
    world.db.upsert_run(team, session_id="session of a team")
    world.db.upsert_run(flow, session_id="session of a workflow")
    world.runs.update({"team/run": None, "workflow/run": None})


def odd_rows(world: World) -> None:
    """Rows set through SQL, to show exactly what agno's reader accepts."""
    reference = world.checkpoints["untouched"].reference
    ref: dict[str, Any] = {"sha256": reference.sha256, "size": reference.size}
    absent = {"sha256": "0" * 64, "size": 10}

    def at(checkpoint: Any, **more: Any) -> dict[str, Any]:
        return {"metadata": {"sandbox": {"checkpoint": checkpoint}}, **more}

    good, text = at(ref), json.dumps(at(ref))
    deep: Any = "bottom"
    for _ in range(300):
        deep = {"next": [deep]}
    rows: list[tuple[str, Any, dict[str, Any]]] = []

    def odd(name: str, data: Any, **columns: Any) -> None:
        rows.append((f"odd/{name}", data, columns))

    odd("status lower case", good, status="completed")
    odd("status mixed case", good, status="Completed")
    odd("status padded", good, status=" COMPLETED ")
    odd("status unknown", good, status="archived")
    odd("status that grows in upper case", good, status="straße ﬁn")
    odd("status empty, data completed", {**good, "status": "completed"}, status="")
    odd("status null, data completed", {**good, "status": "Completed"}, status=None)
    odd("status null, data error", {**good, "status": "error"}, status=None)
    odd("status null, data silent", good, status=None)
    odd("status null, data empty", {**good, "status": ""}, status=None)
    odd("status null, data a number", {**good, "status": 7}, status=None)
    odd("status null, data true", {**good, "status": True}, status=None)
    odd("status null, data false", {**good, "status": False}, status=None)
    odd("status null, data a fraction", {**good, "status": 2.5}, status=None)
    odd("status null, data a list", [good], status=None)
    odd("status completed, data error", {**good, "status": "ERROR"})
    odd("status error, data completed", {**good, "status": "COMPLETED"}, status="ERROR")
    odd("status error, data a list", [1], status="ERROR")
    odd("agent null, data names one", {**good, "agent_id": "engineer"}, agent_id=None)
    odd("agent empty", good, agent_id="")
    odd("agent in another case", good, agent_id="Engineer")
    odd("agent padded", good, agent_id="engineer ")
    odd("agent of the row wins", {**good, "agent_id": "reviewer"})
    odd("agent is foreign, data unreadable", Raw("{"), agent_id="reviewer")
    odd("type team, with an agent", good, run_type="team", team_id="crew")
    odd("type unheard of", good, run_type="dream")
    odd("index null", good, run_index=None)
    odd("time before the epoch", good, created_at=-1)
    odd("session unknown", good, session_id="a session that is not there")

    odd("data in a string", text)
    odd("data in a string in a string", json.dumps(text))
    odd("data in three strings", json.dumps(json.dumps(text)))
    odd("data empty string", "")
    odd("data text in a string", "not json")
    odd("data null in a string", "null")
    odd("data null", None)
    odd("data empty list", [])
    odd("data list", [1])
    odd("data zero", 0)
    odd("data number", 7)
    odd("data true", True)
    odd("data empty cell", Raw(""))
    odd("data broken", Raw("{"))
    odd("data followed by text", Raw(text + " x"))
    odd("data amid whitespace", Raw(" \r\n\t" + text + "\n"))
    odd("data with a byte order mark", Raw("\ufeff" + text))
    odd("data blob", Raw(text.encode()))
    odd("data blob with a byte order mark", Raw(b"\xef\xbb\xbf" + text.encode()))
    odd("data blob in UTF-16", Raw(text.encode("utf-16")))
    odd("data blob not UTF-8", Raw(text.encode()[:-1] + b', "x": "\xe9"}'))
    odd("data text not UTF-8", Raw(Undecodable(text.encode()[:-1] + b', "x": "\xe9"}')))
    odd("data with NaN", {**good, "content": float("nan")})
    odd("data with infinities", {**good, "content": [float("inf"), float("-inf")]})
    odd("data with a huge exponent", Raw(text[:-1] + ', "x": 1e999}'))
    odd("data with a huge integer", {**good, "content": 2**90})
    odd("data with a lone surrogate", {**good, "content": "a\ud800b"})
    odd("data with a lone surrogate key", {**good, "\udc00": 1})
    odd("data with NUL", {**good, "content": "a\0b"})
    odd("data with a raw newline", Raw(text[:-1] + ', "x": "a\nb"}'))
    odd("data with single quotes", Raw(text.replace('"', "'")))
    odd("data with repeated keys", Raw(json.dumps({"metadata": None})[:-1] + ", " + text[1:]))
    odd("data deep", {**good, "content": deep})
    odd("data long", {**good, "content": "x" * 1_000_000})

    for name, value in {
        "missing": ...,
        "null": None,
        "false": False,
        "zero": 0,
        "empty text": "",
        "empty list": [],
        "empty": {},
        "text": "x",
        "true": True,
        "number": 1.5,
        "list": [1],
    }.items():
        odd(f"metadata {name}", {} if value is ... else {"metadata": value})
        odd(f"sandbox {name}", {"metadata": {} if value is ... else {"sandbox": value}})
        odd(f"checkpoint {name}", {"metadata": {"sandbox": {} if value is ... else {"checkpoint": value}}})

    odd("checkpoint without size", at({"sha256": ref["sha256"]}))
    odd("checkpoint without sha256", at({"size": ref["size"]}))
    odd("checkpoint with a key more", at({**ref, "bucket": "x"}))
    odd("checkpoint in a list", at([ref]))
    odd("checkpoint in a string", at(json.dumps(ref)))
    odd("checkpoint with repeated keys", Raw(text.replace('"sha256"', '"sha256": "bad", "sha256"')))
    for name, digest in {
        "upper case": ref["sha256"].upper(),
        "short": ref["sha256"][:-1],
        "long": ref["sha256"] + "0",
        "not hex": "g" + ref["sha256"][1:],
        "padded": " " + ref["sha256"][1:],
        "empty": "",
        "null": None,
        "a number": 12,
        "a list": list(ref["sha256"]),
        "climbing": "../" + ref["sha256"][3:],
        "full-width digits": "\uff11" + ref["sha256"][1:],
        "a lone surrogate": "\ud800" + ref["sha256"][1:],
    }.items():
        odd(f"sha256 {name}", at({**ref, "sha256": digest}))
    limit = world.store.max_bytes
    for name, size in {
        "zero": 0,
        "negative": -1,
        "text": str(ref["size"]),
        "fraction": ref["size"] + 0.5,
        "float": float(ref["size"]),
        "true": True,
        "null": None,
        "list": [ref["size"]],
        "one less": ref["size"] - 1,
        "one more": ref["size"] + 1,
        "at the limit": limit,
        "over the limit": limit + 1,
        "beyond 64 bits": 2**70,
        "below 64 bits": -(2**70),
    }.items():
        odd(f"size {name}", at({**ref, "size": size}))
    odd("size as an exponent", Raw(text.replace(f'"size": {ref["size"]}', '"size": 1e3')))
    odd("both malformed", at({"sha256": "x", "size": 0}))
    odd("object absent", at(absent))
    odd("object absent, over the limit", at({**absent, "size": limit + 1}))
    for name, data, columns in rows:
        world.by_hand(name, data, **columns)
