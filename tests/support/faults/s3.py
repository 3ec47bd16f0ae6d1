"""An S3 server on loopback for tests: moto in a process of its own behind a counting, fault-injecting proxy.

`Server.proxy` is for what the test process does itself; `Server.run` gives a program its own proxy, the counterpart of
`tracer.run`. Buckets are made and looked at past the proxies, so that preparing a test is never counted.
"""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import boto3

from tests.support.faults.child import environment
from tests.support.faults.fault import RequestFault
from tests.support.faults.proxy import Proxy
from tests.support.faults.request_log import Request
from tests.support.faults.warm import Turn, warm_interpreter
from tests.support.faults.window import CONTROL_VARIABLE

TIMEOUT_S = 60.0
_SHUTDOWN_TIMEOUT_S = 10.0
_KEYS_PER_DELETE_MAX = 1_000

_ACCESS_KEY = "test"
_SECRET_KEY = "test"
_REGION = "us-east-1"


class S3Error(Exception):
    """The server did not start, or a run says nothing about the program: it never armed or did not end."""


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """Outcome of a run: the requests inside its window; `hit` is the one that went wrong."""

    requests: tuple[Request, ...]
    returncode: int
    stdout: str
    stderr: str
    hit: Request | None

    @property
    def killed(self) -> bool:
        return self.returncode == -signal.SIGKILL


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket that only one test uses."""

    name: str
    client: Any

    def uri(self, path: str) -> str:
        return f"s3://{self.name}/{path}"

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def read(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return content

    def clear(self, prefix: str) -> None:
        """Delete everything below a path."""
        keys = [{"Key": key} for key in self.keys(prefix)]
        for start in range(0, len(keys), _KEYS_PER_DELETE_MAX):
            page = keys[start : start + _KEYS_PER_DELETE_MAX]
            self.client.delete_objects(Bucket=self.name, Delete={"Objects": page})

    def copy(self, source: str, target: str) -> None:
        """Copy everything below one path to another: a fresh start for each position of a sweep."""
        for key in self.keys(source + "/"):
            origin = {"Bucket": self.name, "Key": key}
            self.client.copy_object(Bucket=self.name, Key=target + key.removeprefix(source), CopySource=origin)


class Server:
    """A running S3 server. Start it with `Server.start()` and end it with `close()`."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self._upstream = ("127.0.0.1", port)
        self.proxy = Proxy(self._upstream)
        self._client = boto3.client("s3", **_boto3_options(f"http://127.0.0.1:{port}"))

    @classmethod
    def start(cls) -> "Server":
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("moto_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # A session of its own: an interrupt at the terminal reaches us first, and we close it in order.
            start_new_session=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.strip().isdigit():
            process.kill()
            process.communicate()
            raise S3Error(f"moto did not start (exit code {process.returncode})")
        return cls(process, int(line))

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._client.close()
        self.proxy.close()
        try:
            self._process.communicate(timeout=_SHUTDOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def bucket(self) -> Bucket:
        """A new, empty bucket."""
        name = f"test-{uuid.uuid4().hex}"
        self._client.create_bucket(Bucket=name)
        return Bucket(name, self._client)

    def another_proxy(self) -> Proxy:
        """A proxy that only its caller uses, who closes it."""
        return Proxy(self._upstream)

    def storage_options(self) -> dict[str, str]:
        """For Lance, in this process: through the counting proxy."""
        return storage_options(self.proxy)

    def boto3_options(self) -> dict[str, Any]:
        """For `boto3.client("s3", **options)`, in this process: through the counting proxy."""
        return boto3_options(self.proxy)

    def run(
        self,
        argv: Sequence[str],
        *,
        fault: RequestFault | None = None,
        env: Mapping[str, str] | None = None,
        window: bool = True,
        warm: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> RequestTrace:
        """Run a program that finds the store by its AWS_* environment, with one fault or none.

        Requests count while it is armed, or all of them with `window=False`. They are let through one at a time. When
        this returns, the program is dead and nothing it sent is still on its way. With `warm` a Python script starts in
        a copy of an interpreter that has imported everything (see `warm`).
        """
        proxy = Proxy(self._upstream, serial=True, armed=not window)
        try:
            with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
                variables = environment(env) | _child_variables(proxy)
                with (
                    proxy.inject_killing(fault, lambda: _kill_group(process)) as injection,
                    _started(list(argv), variables, stdout, stderr, warm) as process,
                ):
                    overdue = _wait(process, timeout_s)
                stdout.seek(0)
                stderr.seek(0)
                texts = (stdout.read(), stderr.read())
        finally:
            proxy.close()
        if overdue:
            raise S3Error(f"{argv} did not end within {timeout_s} s\n" + "\n".join(texts))
        if process.returncode == 0 and not proxy.ever_armed:
            raise S3Error(f"{argv} never armed: call tests.support.faults.arm(), or count everything with window=False")
        assert process.returncode is not None
        return RequestTrace(proxy.requests(), process.returncode, *texts, injection.hit)


@contextmanager
def _started(
    argv: list[str], env: dict[str, str], stdout: IO[str], stderr: IO[str], warm: bool
) -> Iterator[subprocess.Popen[bytes] | Turn]:
    if warm:
        with warm_interpreter().turn() as turn:
            turn.launch(argv, env, stdout, stderr)
            yield turn
    else:
        yield subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
        )


def _wait(process: subprocess.Popen[bytes] | Turn, timeout_s: float) -> bool:
    """Wait for the end of a program; True if it had to be ended."""
    try:
        process.wait(timeout_s)
        return False
    except (subprocess.TimeoutExpired, TimeoutError):
        return True
    finally:
        if process.returncode is None:
            _kill_group(process)
            process.wait()


def _kill_group(process: subprocess.Popen[bytes] | Turn) -> None:
    """SIGKILL to a program and its children."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def storage_options(proxy: Proxy) -> dict[str, str]:
    """For Lance, through a proxy."""
    return {
        "aws_endpoint": proxy.endpoint,
        "aws_access_key_id": _ACCESS_KEY,
        "aws_secret_access_key": _SECRET_KEY,
        "aws_region": _REGION,
        "allow_http": "true",
    }


def boto3_options(proxy: Proxy) -> dict[str, Any]:
    """For boto3, through a proxy."""
    return _boto3_options(proxy.endpoint)


def _boto3_options(endpoint: str) -> dict[str, Any]:
    return {
        "endpoint_url": endpoint,
        "aws_access_key_id": _ACCESS_KEY,
        "aws_secret_access_key": _SECRET_KEY,
        "region_name": _REGION,
    }


def _child_variables(proxy: Proxy) -> dict[str, str]:
    """Environment variables of Lance, boto3 and `faults.window`, with any web proxy of the machine disabled."""
    return {
        "AWS_ACCESS_KEY_ID": _ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": _SECRET_KEY,
        "AWS_REGION": _REGION,
        "AWS_DEFAULT_REGION": _REGION,
        "AWS_ENDPOINT": proxy.endpoint,
        "AWS_ENDPOINT_URL": proxy.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        CONTROL_VARIABLE: proxy.address,
    }
