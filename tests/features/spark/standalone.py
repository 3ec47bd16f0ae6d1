"""A standalone cluster on loopback, from the classes that pyspark brings: one master, and workers of one core each.

Every process of it is in a session of its own, by which ``leftovers`` finds what outlived its parent: Python workers
leave the process group of their executor, but not its session.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.spark.cluster.java import java_home

LOOPBACK = "127.0.0.1"
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
STARTED_SECONDS_MAX = 60.0
STOPPED_SECONDS_MAX = 15.0

_MASTER = "org.apache.spark.deploy.master.Master"
_MASTER_READY = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER = "org.apache.spark.deploy.worker.Worker"
_WORKER_READY = re.compile(r"Successfully registered with master (\S+)")


@dataclass
class Cluster:
    """A running cluster. ``environment`` is for a driver that shall use it."""

    directory: Path
    environment: Mapping[str, str]
    url: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, class_name: str, *arguments: str, host: str = LOOPBACK) -> None:
        """Start a process of the cluster."""
        ports = ("--host", host, "--port", "0", "--webui-port", "0")
        with self._log(name).open("wb") as out:
            self.processes[name] = subprocess.Popen(
                [str(_spark_class()), class_name, *ports, *arguments],
                cwd=self.directory,
                env={**self.environment, "SPARK_LOCAL_IP": host},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_ready(self, name: str, ready: re.Pattern[str]) -> str:
        """Wait for the line that a process logs when it is ready, and return the match."""
        log = self._log(name)
        deadline = time.monotonic() + STARTED_SECONDS_MAX
        while time.monotonic() < deadline and self.processes[name].poll() is None:
            found = ready.search(log.read_text(errors="replace"))
            if found is not None:
                return found.group(1)
            time.sleep(0.05)
        raise AssertionError(f"{name} did not start:\n{log.read_text(errors='replace')[-3_000:]}")

    def _log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def stop(self) -> None:
        """End everything."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(STOPPED_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def leftovers(self) -> list[int]:
        """Processes that live on after ``stop``, once the last ones had time to notice that they are alone."""
        return survivors({process.pid for process in self.processes.values()})


def _spark_class() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent / "bin" / "spark-class"


def survivors(sessions: set[int]) -> list[int]:
    """Processes of sessions that should be over, and do not end by themselves; they are ended here."""
    deadline = time.monotonic() + STOPPED_SECONDS_MAX
    while (left := _members(sessions)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def _members(sessions: set[int]) -> list[int]:
    """Living processes of some sessions."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                # After the name in parentheses: state, parent, group, session.
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(session) in sessions and state != "Z":
                    found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@contextmanager
def spark_environment() -> Iterator[dict[str, str]]:
    """What processes of Spark find in their environment. Java is there while the block runs."""
    with java_home() as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        # What executors can import is the driver's to say, as it is on a cluster of somebody else.
        environment.pop("PYTHONPATH", None)
        yield environment | {
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            "JAVA_HOME": home,
        }


@contextmanager
def standalone(directory: Path, hosts: Sequence[str] = (LOOPBACK, LOOPBACK)) -> Iterator[Cluster]:
    """A cluster with a worker on each of the hosts while the block runs. Fails if it leaves a process behind."""
    with spark_environment() as environment:
        # What is killed tidies nothing up: its temporary files belong to the cluster.
        cluster = Cluster(directory, environment | {"SPARK_LOCAL_DIRS": str(directory)})
        try:
            cluster.start("master", _MASTER)
            cluster.url = cluster.wait_until_ready("master", _MASTER_READY)
            names = {f"worker-{number}": host for number, host in enumerate(hosts)}
            for name, host in names.items():
                size = ("--cores", "1", "--memory", "768m", "--work-dir", str(directory / name))
                cluster.start(name, _WORKER, *size, cluster.url, host=host)
            for name in names:
                cluster.wait_until_ready(name, _WORKER_READY)
            yield cluster
        finally:
            cluster.stop()
            left = cluster.leftovers()
        assert left == [], "processes outlived the cluster"
