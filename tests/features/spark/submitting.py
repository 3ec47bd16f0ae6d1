"""Jobs by ``spark-submit``: the package as a wheel, as users bring it to a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.features.spark.standalone import LOOPBACK, QUICK, Cluster

REPOSITORY = Path(__file__).parents[3]
TIMEOUT_SECONDS = 1_800
MARK = "report "
HOSTS = (LOOPBACK, "127.0.0.2")
"""Two hosts to Spark, which starts no second copy of a task on the host of the first."""

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.cores.max": "2",
}
"""What a job says about the cluster; the rest is left to Spark and to the package."""


def build_package(directory: Path) -> Path:
    """The wheel of this tree, under a name that executors accept.

    Spark sends every file of ``--py-files`` to executors, but puts only those that end with zip, egg or jar on their
    path.
    """
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    [wheel] = directory.glob("*.whl")
    return wheel.rename(directory / "omnigraph.zip")


def submit(
    cluster: Cluster,
    program: ModuleType,
    request: Mapping[str, Any],
    *arguments: str,
    settings: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Submit a program with a request as its argument, and return its report. ``arguments`` are those of Spark."""
    import pyspark

    assert program.__file__ is not None
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", cluster.url, *arguments]
    for name, value in {**SETTINGS, **(settings or {})}.items():
        command += ["--conf", f"{name}={value}"]
    run = subprocess.run(
        [*command, program.__file__, json.dumps(request)],
        cwd=cluster.directory,
        # Programs of tests import others beside them, on the driver only.
        env={**cluster.environment, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert run.returncode == 0, run.stderr[-5_000:]
    [line] = [line for line in run.stdout.splitlines() if line.startswith(MARK)]
    report: dict[str, Any] = json.loads(line.removeprefix(MARK))
    return report


def report(found: Mapping[str, Any]) -> None:
    """Hand the report of a program to ``submit``."""
    print(MARK + json.dumps(found), flush=True)
