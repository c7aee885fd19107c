"""The servers that production has: a private PostgreSQL and an S3 endpoint, on the loopback, gone with us."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

USER, PASSWORD, DATABASE = "app", "a password / with: @signs", "agno"
BUCKET, REGION = "checkpoints", "eu-west-1"


def program(name: str) -> str:
    """A program of PostgreSQL's: the newest version's, else the one on the path."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda path: float(Path(path).parts[-3]))
    path = found[-1] if found else shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} is not installed; Debian's package is postgresql")
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def account() -> dict[str, Any]:
    """Who PostgreSQL runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise SystemExit("neither postgres nor nobody is an account here")


def ended(server: subprocess.Popen[bytes], how: signal.Signals) -> None:
    if server.poll() is None:
        server.send_signal(how)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def until(ready: Any, server: subprocess.Popen[bytes], log: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{server.args[0]} did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.05)


@contextmanager
def postgres() -> Iterator[str]:
    """A cluster of our own, and the URL of an empty database in it."""
    import psycopg
    from urllib.parse import quote

    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="afterrun-pg-", dir="/tmp"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        secret, log, port, who = home / "password", home / "log", free_port(), account()
        secret.write_text(PASSWORD)
        for path in (home, secret):
            if who:
                os.chown(path, who["user"], who["group"])
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
        common: dict[str, Any] = {"cwd": home, "env": environment, "stdin": subprocess.DEVNULL, **who}
        data = str(home / "data")
        made = [program("initdb"), "-D", data, "-U", USER, "--pwfile", str(secret), "--auth=scram-sha-256"]
        made += ["--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, **common)
        settings = {
            "port": port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": home,
            "fsync": "off",
            "autovacuum": "off",
        }
        command = [program("postgres"), "-D", data]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with log.open("wb") as out:
            server = subprocess.Popen(command, stdout=out, stderr=out, **common)
        stack.callback(ended, server, signal.SIGINT)
        base = f"postgresql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{port}"

        def ready() -> bool:
            with suppress(psycopg.OperationalError):
                with psycopg.connect(f"{base}/postgres", autocommit=True, connect_timeout=5) as connection:
                    connection.execute(f"CREATE DATABASE {DATABASE}")
                return True
            return False

        until(ready, server, log)
        yield f"{base}/{DATABASE}"


@contextmanager
def s3() -> Iterator[Mapping[str, str]]:
    """moto's S3 with an empty bucket, and the variables that its clients read. It believes any signature."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="afterrun-s3-"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        port, log = free_port(), home / "log"
        code = "import moto.server, sys; moto.server.main(sys.argv[1:])"
        with log.open("wb") as out:
            command = [sys.executable, "-c", code, "-H", "127.0.0.1", "-p", str(port)]
            server = subprocess.Popen(command, cwd=home, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        stack.callback(ended, server, signal.SIGTERM)

        def ready() -> bool:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return True
            return False

        until(ready, server, log)
        variables = {
            "AWS_ACCESS_KEY_ID": "AFTERRUN",
            "AWS_SECRET_ACCESS_KEY": "a/secret+key",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        client = s3_client(variables)
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        yield variables


def s3_session(variables: Mapping[str, str]) -> Any:
    import boto3

    return boto3.session.Session(
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        region_name=variables["AWS_REGION"],
    )


def s3_client(variables: Mapping[str, str]) -> Any:
    from botocore.config import Config

    config = Config(signature_version="s3v4", s3={"addressing_style": "path"}, proxies={})
    return s3_session(variables).client("s3", endpoint_url=variables["AWS_ENDPOINT_URL"], config=config)
