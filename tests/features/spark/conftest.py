"""The one session of all Spark tests: starting a JVM costs seconds, so it is started once per process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


@pytest.fixture
def arriving(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of the results of jobs that reach the driver, job by job."""
    from pyspark.sql.classic.dataframe import DataFrame

    seen: list[int] = []
    to_arrow, collect = DataFrame.toArrow, DataFrame.collect

    def counted_arrow(frame: Any) -> Any:
        table = to_arrow(frame)
        seen.append(table.nbytes)
        return table

    def counted_rows(frame: Any) -> Any:
        rows = collect(frame)
        seen.append(sum(len(value) for row in rows for value in row if isinstance(value, (bytes, bytearray, str))))
        return rows

    monkeypatch.setattr(DataFrame, "toArrow", counted_arrow)
    monkeypatch.setattr(DataFrame, "collect", counted_rows)
    return seen
