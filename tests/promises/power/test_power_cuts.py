"""Real power cuts of a real file system while two processes commit. Needs root: see `disk`.

Run it with `pytest -m long -s tests/promises/power`; counts are printed at the end of each test.
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.promises.power.disk import Disk, new_disk, why_unavailable
from tests.promises.power.judge import Acknowledged, violations
from tests.promises.power.workload import SCHEMA
from tests.support.faults import python
from tests.support.faults.child import environment

HERE = Path(__file__).parent
CUTS_OF_ONE_DISK = 12
RANDOM_SECONDS_MAX = 0.6
"""Longest time from the first acknowledgement to a cut at a random moment."""
AIMED_CALLS_MAX = 160
"""Calls among which an aimed cut is drawn: some ten commits."""

MOUNTS = {
    "default": "defaults",
    "short journal": "commit=1",
    "no early allocation": "commit=1,noauto_da_alloc",
    "unordered data": "commit=1,data=writeback",
}


@pytest.fixture
def disk() -> Iterator[Disk]:
    reason = why_unavailable()
    if reason is not None:
        pytest.skip(reason)
    with new_disk() as disk:
        yield disk


def test_a_cut_loses_what_was_not_synced_and_keeps_what_was(disk: Disk) -> None:
    """The instrument itself: without this, no test here could fail."""
    disk.mount()
    for name in ("synced", "named", "lost"):
        with (disk.mounted_at / name).open("wb") as file:
            file.write(b"content")
            file.flush()
            if name == "synced":
                os.fsync(file.fileno())
        if name == "named":
            # Writes the journal, and with it the name of a file whose content is still in memory.
            descriptor = os.open(disk.mounted_at, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
    disk.cut()
    disk.unmount()
    disk.mount()
    found = {path.name: path.read_bytes() for path in disk.mounted_at.iterdir() if path.is_file()}
    assert found == {"synced": b"content", "named": b""}


@dataclass
class Trial:
    """One disk with a graph, and what its workers were promised."""

    disk: Disk
    options: str
    draw: random.Random
    promised: dict[str, Acknowledged] = field(default_factory=lambda: {"a": Acknowledged(), "b": Acknowledged()})
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def graph(self) -> str:
        return str(self.disk.mounted_at / "graph")

    def create(self) -> None:
        self.disk.mount(self.options)
        program = "import omnigraph, sys; omnigraph.create(*sys.argv[1:])"
        subprocess.run([sys.executable, "-c", program, self.graph, SCHEMA], check=True, env=environment(None))

    def cut_once(self, aimed: bool) -> None:
        """Write, cut, mount again, and hold what is found against what was promised."""
        at = self.draw.randint(1, AIMED_CALLS_MAX) if aimed else 0
        flush = "flush" if self.draw.random() < 0.7 else "plain"
        said = self._write_until_cut(at, flush)
        self.disk.unmount()
        self.disk.mount(self.options)
        found = self._inspect()
        wrong = [str(problem) for problem in found["problems"]]
        self.counts["cuts"] += 1
        self.counts["set aside"] = found["aside"]
        open_writes = 0
        for worker, steps in said.items():
            wrong += [f"{worker}: no typed error: {steps[-1]}"] if steps[-1]["kind"] != "failed" else []
            self.counts["acknowledged"] += sum(step["kind"] == "done" for step in steps)
            self.promised[worker].take(steps)
            outcome = self.promised[worker].settle(found["branches"])
            open_writes += outcome is not None
            self.counts["unacknowledged but complete"] += outcome is True
            wrong += violations(self.promised[worker], worker, found["branches"])
        self.counts["during a write"] += open_writes > 0
        self.counts["with scratch left"] += found["scratch"] > 0
        last = {worker: steps[-2:] for worker, steps in said.items()}
        assert not wrong, f"{wrong}\ncut {self.counts['cuts']}, aimed at {at} {flush}, {self.options}: {last}"

    def _write_until_cut(self, at: int, flush: str) -> dict[str, list[dict[str, Any]]]:
        programs = {worker: self._start(worker, at if worker == "a" else 0, flush) for worker in self.promised}
        try:
            for program in programs.values():
                _await_ready(program)
            for program in programs.values():
                _begin(program)
            if not at:
                select.select([], [], [], self.draw.uniform(0, RANDOM_SECONDS_MAX))
                self.disk.cut()
            # With the disk every worker fails, and ends.
            outputs = {worker: program.communicate(timeout=60)[0] for worker, program in programs.items()}
        finally:
            for program in programs.values():
                program.kill()
                program.wait()
        return {worker: [json.loads(line) for line in said.splitlines()] for worker, said in outputs.items()}

    def _start(self, worker: str, at: int, flush: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            python(HERE / "write_on.py", self.graph, worker, self.draw.random(), at, flush),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(None),
        )

    def _inspect(self) -> dict[str, Any]:
        done = subprocess.run(
            python(HERE / "inspect_graph.py", self.graph),
            capture_output=True,
            text=True,
            check=False,
            env=environment(None),
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _await_ready(program: subprocess.Popen[str]) -> None:
    assert program.stdout is not None
    assert json.loads(program.stdout.readline())["kind"] == "ready"


def _begin(program: subprocess.Popen[str]) -> None:
    assert program.stdin is not None
    program.stdin.write("begin\n")
    program.stdin.flush()


@pytest.mark.long
@pytest.mark.parametrize("aimed", [True, False], ids=["aimed", "random"])
@pytest.mark.parametrize("options", MOUNTS.values(), ids=MOUNTS)
def test_no_power_cut_loses_an_acknowledged_write_or_stops_the_next_one(disk: Disk, options: str, aimed: bool) -> None:
    trial = Trial(disk, options, random.Random(f"{options} {aimed}"))
    trial.create()
    for _ in range(CUTS_OF_ONE_DISK):
        trial.cut_once(aimed)
    print("\n" + json.dumps({"mount": options, "aimed": aimed, **trial.counts}))
