"""The fixtures of the named query tests, with graphs that ask both executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.features.exec.people import RECORDS, SCHEMA, People
from tests.features.spark.conftest import spark as started
from tests.promises.parity.both import BothEngines, changed, made_both

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["started"]

HERE = Path(__file__).parent

# The frames are tiny: compiling and planning again would take most of the time.
SETTINGS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": "false"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs Spark."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(started: SparkSession) -> SparkSession:
    """The session of all Spark tests."""
    return started


@pytest.fixture(autouse=True)
def hasty(started: SparkSession) -> Iterator[None]:
    with changed(started, SETTINGS):
        yield


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> People:
    return People(made_both(tmp_path_factory.mktemp("graph") / "g", SCHEMA, RECORDS, spark))


@pytest.fixture
def made(tmp_path: Path, spark: SparkSession) -> Callable[[str, list[dict[str, Any]]], BothEngines]:
    """Makes graphs: ``made(schema, records)``."""
    return lambda schema, records: made_both(tmp_path / "g", schema, records, spark)
