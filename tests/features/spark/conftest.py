"""The one session of all Spark tests: starting a JVM costs seconds, so it is started once per process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.spark.cluster.session import session
from tests.support.faults.fixtures import s3_bucket, s3_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["s3_bucket", "s3_server", "spark"]

HERE = Path(__file__).parent

# Quick to start, slow when hot: right for jobs that last less than a second.
TEST_SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs Spark."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    started = session(cores=2, memory="1g", config={**TEST_SETTINGS, **warehouse})
    yield started
    started.stop()
