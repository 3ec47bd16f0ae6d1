"""Measurements of the engine benchmark that need a fresh process, and the child process that takes them.

`python -m benchmarks.engine_fresh SYSTEM PLACE QUESTION PARAMETERS` is the child: it imports a system, opens the data,
runs one query, and prints the time of each step. Only the standard library is imported before the clock runs.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

IMPORTED = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


class Fresh(NamedTuple):
    """Seconds of one process: all of it, and the steps it measured."""

    wall: float
    importing: float
    opening: float
    asking: float
    processor: float
    answer: list[list[Any]]
    own_imports: float = 0.0
    """Seconds spent importing our own modules; measured only with ``importtime``."""


def ask(system: str, place: Path, question: str, parameters: dict[str, Any], *, importtime: bool = False) -> Fresh:
    """One question in a new process."""
    options = ["-X", "importtime"] if importtime else []
    command = [sys.executable, *options, "-m", "benchmarks.engine_fresh", system, str(place), question]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    start = time.perf_counter()
    run = subprocess.run(
        [*command, json.dumps(parameters)], capture_output=True, text=True, check=False, env=environment
    )
    wall = time.perf_counter() - start
    if run.returncode:
        raise RuntimeError(f"{system} in a new process: {run.stderr[-500:]}")
    own = sum(int(micros) for micros, name in IMPORTED.findall(run.stderr) if name.startswith("omnigraph"))
    return Fresh(wall, **json.loads(run.stdout.splitlines()[-1]), own_imports=own / 1e6)


def middle(runs: list[Fresh]) -> Fresh:
    """The median of every number; the answer of the first."""
    numbers = {
        name: statistics.median(getattr(run, name) for run in runs) for name in Fresh._fields if name != "answer"
    }
    return Fresh(**numbers, answer=runs[0].answer)


def child(system: str, place: str, question: str, parameters: str) -> None:
    """Import, open and query; print the time of each step."""
    from benchmarks.engine_queries import BY_NAME

    values = json.loads(parameters)
    text = BY_NAME[question].texts[system]
    start = time.perf_counter()
    if system == "omnigraph":
        import omnigraph

        omnigraph.Graph  # noqa: B018 # the package loads its parts when they are named
        imported = time.perf_counter()
        graph = omnigraph.open(place)
        opened = time.perf_counter()
        table = graph.query(text, values).to_arrow()
        answered = time.perf_counter()
        answer = [list(row.values()) for row in table.to_pylist()]
    else:
        import ladybug

        imported = time.perf_counter()
        connection = ladybug.Connection(ladybug.Database(place))
        opened = time.perf_counter()
        answer = connection.execute(text, values).get_all()
        answered = time.perf_counter()
    steps = {"importing": imported - start, "opening": opened - imported, "asking": answered - opened}
    print(json.dumps({**steps, "processor": time.process_time(), "answer": answer}))


if __name__ == "__main__":
    child(*sys.argv[1:])
