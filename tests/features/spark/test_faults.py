"""Every kind of job on a real cluster while an executor is killed, a task is slow, or a task fails: the long run.

The ordinary suite has a few of these cells, in ``test_cluster.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.features.spark import on_cluster
from tests.features.spark.fault_cells import JOBS, SETTINGS, broken_promises
from tests.features.spark.standalone import standalone
from tests.features.spark.submitting import HOSTS, build_package, submit

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc, and has many loopbacks"),
]


def ran(directory: Path, cells: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
    package = build_package(directory / "wheel")
    request = {"directory": str(directory), "cells": cells}
    with standalone(directory, HOSTS) as cluster:
        report = submit(cluster, on_cluster, request, "--py-files", str(package), settings=SETTINGS)
    found: list[dict[str, Any]] = report["cells"]
    return found


@pytest.mark.part("spark-kills")
def test_a_killed_executor_changes_no_result_and_leaves_nothing_behind(tmp_path: Path) -> None:
    found = ran(tmp_path, [(name, "kill", position) for name, job in JOBS.items() for position in job.positions])
    assert broken_promises(found) == []
    assert [cell["job"] for cell in found if not cell["struck"] and cell["position"] == 0] == []


@pytest.mark.part("spark-slow")
def test_a_slow_task_has_a_second_copy_and_a_failed_one_another_attempt(tmp_path: Path) -> None:
    found = ran(tmp_path, [(name, fault, position) for fault, position in (("fail", 0), ("slow", 1)) for name in JOBS])
    assert broken_promises(found) == []
    assert [cell["job"] for cell in found if cell["fault"] == "fail" and not cell["struck"]] == []
    # Spark starts no copy of a task that is alone in its stage; the slow one then fails and runs again.
    assert [cell["job"] for cell in found if cell["copies"] == ["copy-0", "copy-1"]] != []
