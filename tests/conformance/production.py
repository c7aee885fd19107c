"""The world once more as production has it: rows in PostgreSQL, objects in each of the three stores."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from agno.db.postgres import PostgresDb
from agno.sandbox.checkpoint import CheckpointStore
from agno.sandbox.fixture import FixtureAgent
from agno.sandbox.postgres_checkpoints import PostgresCheckpointStore
from agno.sandbox.s3 import S3CheckpointStore
from psycopg import sql

import services
from world import AGENTS, NoComputer, World

SCHEMA = "ai"
PREFIX = "team a/checkpoints"
# Small, so that most objects have several.
CHUNK = 4096
COLUMNS = ["run_id", "session_id", "run_type", "agent_id", "team_id", "workflow_id", "user_id", "parent_run_id"]
COLUMNS += ["status", "run_index", "run_data", "created_at", "updated_at"]


@dataclass
class Place:
    """Rows and a store, as agno has them and as afterrun's options name them."""

    name: str
    world: World
    store: CheckpointStore
    options: tuple[str, ...]
    variables: Mapping[str, str]


@contextmanager
def places(world: World) -> Iterator[list[Place]]:
    """The world's rows in PostgreSQL with its objects in a directory, in PostgreSQL and in S3."""
    with ExitStack() as stack:
        url = stack.enter_context(services.postgres())
        variables = stack.enter_context(services.s3())
        db = PostgresDb(db_url=url.replace("postgresql:", "postgresql+psycopg:"), db_schema=SCHEMA)
        stack.callback(db.db_engine.dispose)
        runs = mirrored(world, db, url)
        in_postgres = PostgresCheckpointStore(db, chunk_bytes=CHUNK)
        in_postgres._ensure_tables()
        in_s3 = S3CheckpointStore(
            services.BUCKET,
            prefix=PREFIX,
            region=services.REGION,
            endpoint_url=variables["AWS_ENDPOINT_URL"],
            boto_session=services.s3_session(variables),
        )
        with psycopg.connect(url) as connection:
            for path in sorted(world.store.root.iterdir()):
                put_in_postgres(connection, path.name, path.read_bytes())
        for path in sorted(world.store.root.iterdir()):
            put_in_s3(in_s3, path.name, path.read_bytes())
        stores: list[tuple[str, CheckpointStore, str, Mapping[str, str]]] = [
            ("file", world.store, str(world.store.root), {}),
            ("postgres", in_postgres, "postgres", {}),
            ("s3", in_s3, f"s3://{services.BUCKET}/{PREFIX}", variables),
        ]
        yield [
            Place(name, of(world, db, store, runs), store, ("--db", url, "--store", option), given)
            for name, store, option, given in stores
        ]


def of(world: World, db: PostgresDb, store: CheckpointStore, runs: dict[str, str | None]) -> World:
    agents = {}
    for name, title in AGENTS.items():
        agents[name] = FixtureAgent(id=name, name=title, sandbox=NoComputer(store), db=db)
    return replace(world, db=db, store=store, agents=agents, runs=runs)


def mirrored(world: World, db: PostgresDb, url: str) -> dict[str, str | None]:
    """Copies every row that PostgreSQL can hold, and answers the runs to ask about, unknown ones included."""
    for kind in ("sessions", "runs"):
        db._get_table(kind, create_table_if_not_found=True)
    with sqlite3.connect(world.database) as source:
        source.text_factory = bytes
        found = source.execute(f"SELECT {', '.join(COLUMNS)} FROM agno_runs ORDER BY rowid").fetchall()
    source.close()
    insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(SCHEMA, "agno_runs"),
        sql.SQL(", ").join(map(sql.Identifier, COLUMNS)),
        sql.SQL(", ").join(sql.SQL("%s::text::jsonb" if name == "run_data" else "%s") for name in COLUMNS),
    )
    session = sql.SQL(
        "INSERT INTO {} (session_id, session_type, created_at) VALUES (%s, 'agent', %s) ON CONFLICT DO NOTHING"
    ).format(sql.Identifier(SCHEMA, "agno_sessions"))
    kept = set()
    with psycopg.connect(url) as connection:
        for row in found:
            try:
                values = [value.decode() if isinstance(value, bytes) else value for value in row]
                with connection.transaction():
                    connection.execute(session, (values[1], int(time.time())))
                    connection.execute(insert, values)
                    kept.add(values[0])
            except (UnicodeDecodeError, psycopg.DataError, psycopg.IntegrityError):
                continue  # no JSON, or no text, as PostgreSQL has it
    written = {row[0] if isinstance(row[0], str) else row[0].decode() for row in found}
    return {run_id: owner for run_id, owner in world.runs.items() if run_id in kept or run_id not in written}


def put_in_postgres(connection: psycopg.Connection[Any], digest: str, data: bytes) -> None:
    """An object under ``digest``, whatever its bytes are."""
    table = sql.Identifier(SCHEMA, "agno_sandbox_checkpoints")
    chunks = sql.Identifier(SCHEMA, "agno_sandbox_checkpoints_chunks")
    header = sql.SQL("INSERT INTO {} (sha256, size, created_at) VALUES (%s, %s, 0)").format(table)
    connection.execute(header, (digest, len(data)))
    insert = sql.SQL("INSERT INTO {} (sha256, seq, data) VALUES (%s, %s, %s)").format(chunks)
    for seq, start in enumerate(range(0, len(data), CHUNK)):
        connection.execute(insert, (digest, seq, data[start : start + CHUNK]))


def put_in_s3(store: S3CheckpointStore, digest: str, data: bytes, **labels: str) -> None:
    metadata = {"sha256": digest, "size": str(len(data)), **labels}
    key = f"{store.prefix}{digest}.tar.gz"
    store.client.put_object(Bucket=store.bucket, Key=key, Body=data, Metadata=metadata)


# Ways in which an object can be wrong that only one store has.


def _sql(statement: str) -> Callable[[Place, str], None]:
    def change(place: Place, digest: str) -> None:
        schema = {"table": sql.Identifier(SCHEMA, "agno_sandbox_checkpoints")}
        schema["chunks"] = sql.Identifier(SCHEMA, "agno_sandbox_checkpoints_chunks")
        with psycopg.connect(place.options[1]) as connection:
            connection.execute(sql.SQL(statement).format(**schema), {"digest": digest})

    return change


def _labels(**labels: str) -> Callable[[Place, str], None]:
    def change(place: Place, digest: str) -> None:
        store: Any = place.store
        key = f"{store.prefix}{digest}.tar.gz"
        data = store.client.get_object(Bucket=store.bucket, Key=key)["Body"].read()
        put_in_s3(store, digest, data, **labels)

    return change


def _bare(place: Place, digest: str) -> None:
    store: Any = place.store
    key = f"{store.prefix}{digest}.tar.gz"
    data = store.client.get_object(Bucket=store.bucket, Key=key)["Body"].read()
    store.client.put_object(Bucket=store.bucket, Key=key, Body=data)


WRONG: dict[str, dict[str, Callable[[Place, str], None]]] = {
    "postgres": {
        "a chunk missing in the middle": _sql("DELETE FROM {chunks} WHERE sha256 = %(digest)s AND seq = 1"),
        "no chunk": _sql("DELETE FROM {chunks} WHERE sha256 = %(digest)s"),
        "the last chunk missing": _sql(
            "DELETE FROM {chunks} WHERE sha256 = %(digest)s AND seq = "
            "(SELECT max(seq) FROM {chunks} WHERE sha256 = %(digest)s)"
        ),
        "a chunk more": _sql("INSERT INTO {chunks} SELECT sha256, max(seq) + 1, '\\x00' FROM {chunks} "
                             "WHERE sha256 = %(digest)s GROUP BY sha256"),
        "two chunks changed over": _sql(
            "UPDATE {chunks} SET data = (SELECT data FROM {chunks} WHERE sha256 = %(digest)s AND seq = 0) "
            "WHERE sha256 = %(digest)s AND seq = 1"
        ),
        "an empty chunk more": _sql(
            "INSERT INTO {chunks} SELECT sha256, max(seq) + 1, '' FROM {chunks} WHERE sha256 = %(digest)s GROUP BY sha256"
        ),
        "another size in the header": _sql("UPDATE {table} SET size = size + 1 WHERE sha256 = %(digest)s"),
        "no header": _sql("DELETE FROM {table} WHERE sha256 = %(digest)s"),
    },
    "s3": {
        "a label of another digest": _labels(sha256="0" * 64),
        "a label of another size": _labels(size="7"),
        "no labels": _bare,
    },
}
