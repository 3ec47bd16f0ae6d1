"""Executors die and tasks fail: every row is there once, or none is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark import faulty_cluster

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the executor of a task in /proc")
def test_disturbed_loads_bring_every_row_once_or_none(tmp_path: Path) -> None:
    program = [sys.executable, "-m", faulty_cluster.__name__, str(tmp_path)]
    run = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    [line] = [line for line in run.stdout.splitlines() if line.startswith("told ")]
    told = json.loads(line.removeprefix("told "))
    rows = faulty_cluster.ROWS
    for name in ("fails_twice", "killed"):
        found = told[name]
        assert (found["rows"], found["different"], found["commits"]) == (rows, rows, 2), name
        assert found["failed"] is None
        assert found["clean"]
        # Six parts; what disturbed attempts wrote lies beside them and belongs to nobody.
        assert found["fragments"] > 6, name
    failed = told["fails_always"]
    assert failed["failed"] == ["StorageError", "the disk is away"]
    assert (failed["rows"], failed["commits"], failed["clean"]) == (0, 1, True)
