"""Executors die, tasks fail, and slow ones run twice: every row is there once, or none is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from tests.spark import faulty_cluster
from tests.spark.standalone import LOOPBACK, standalone

REPOSITORY = Path(__file__).parents[2]
PACKAGES = Path(omnigraph.__file__).parents[1]
HOSTS = (LOOPBACK, "127.0.0.2")
"""Two hosts to Spark, which starts no second copy of a task on the host of the first."""


@pytest.mark.skipif(sys.platform != "linux", reason="finds the executor of a task in /proc, and has many loopbacks")
def test_disturbed_loads_bring_every_row_once_or_none(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(PACKAGES), str(REPOSITORY)])
    with standalone(tmp_path, HOSTS) as cluster:
        program = [sys.executable, "-m", faulty_cluster.__name__, str(tmp_path), cluster.url, str(PACKAGES)]
        environment = {**cluster.environment, "PYTHONPATH": paths}
        run = subprocess.run(
            program, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
    assert run.returncode == 0, run.stderr[-5_000:]
    [line] = [line for line in run.stdout.splitlines() if line.startswith("told ")]
    told = json.loads(line.removeprefix("told "))
    rows = faulty_cluster.ROWS
    for name in ("fails_twice", "killed", "slow"):
        found = told[name]
        assert (found["rows"], found["different"], found["commits"]) == (rows, rows, 2), name
        assert found["failed"] is None
        assert found["clean"]
        # Six parts; what disturbed attempts wrote lies beside them and belongs to nobody.
        assert found["fragments"] > 6, name
    failed = told["fails_always"]
    assert failed["failed"] == ["StorageError", "the disk is away"]
    assert (failed["rows"], failed["commits"], failed["clean"]) == (0, 1, True)
    # Both copies of the slow task wrote their rows, and the first never came back.
    assert told["copies"] == ["slow-0", "slow-1"]
