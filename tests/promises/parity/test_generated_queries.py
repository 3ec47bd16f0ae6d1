"""Both executors agree on generated schemas, graphs and queries, however the work is divided."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from omnigraph.engine.graph import create
from omnigraph.errors import CompileError, ParameterError
from tests.features.exec.generate import Writer, make_schema
from tests.features.exec.people import FixedClock
from tests.features.exec.test_differential import DIFFERENCES_MAX, places
from tests.promises.parity.both import BothEngines, changed
from tests.support.long_progress import Progress
from tests.support.tuning import retuned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTES = float(os.environ.get("OMNIGRAPH_DIFFERENTIAL_MINUTES", "5"))


@contextmanager
def divided(spark: SparkSession, graph: BothEngines, partitions: int) -> Iterator[None]:
    """Shuffles of so many parts; tables of about as many, as far as they have fragments.

    With several, small tables are shuffled like large ones, and the session has habits of its own.
    """
    settings = {"spark.sql.shuffle.partitions": str(partitions)}
    fields: dict[str, int] = {}
    if partitions > 1:
        fields = {"partition_rows": max(1, 24 // partitions), "broadcast_bytes": 1, "hashed_edges_min": 0}
        settings |= {"spark.sql.session.timeZone": "America/New_York", "spark.sql.ansi.enabled": "false"}
    with retuned(graph, **fields), changed(spark, settings):
        yield


def sweep(
    spark: SparkSession, seed: int, queries: int, path: Path, partitions: int, progress: Progress | None = None
) -> Counter[str]:
    """One schema and graph, and a number of queries at each place. A difference is raised, or shown as progress."""
    rng = Random(seed)
    schema = make_schema(rng, has_wide=True)
    plain = create(path / f"g{seed}", schema.text, durability="os", clock=FixedClock())
    graph = BothEngines(plain._store, clock=FixedClock())
    graph.spark = spark
    tally: Counter[str] = Counter()
    with divided(spark, graph, partitions):
        for number, place in enumerate(places(rng, graph, schema)):
            for index in range(queries):
                query = Writer(Random(f"{seed}/{number}/{index}"), schema).query()
                try:
                    graph.query(query.text, query.params, **place.where)
                    tally["answers"] += 1
                except (CompileError, ParameterError):
                    tally["refused"] += 1
                except Exception as error:
                    error.add_note(f"seed {seed}, place {number} {place.where}, query {index}")
                    error.add_note(f"{schema.text}\n{query.text}\n{query.params}")
                    if progress is None or progress.differences >= DIFFERENCES_MAX:
                        raise
                    progress.differs(error)
    return tally


@pytest.mark.parametrize(
    ("seed", "partitions", "queries"), [(0, 1, 1), pytest.param(1, 3, 1, marks=pytest.mark.long), (2, 16, 1)]
)
def test_both_executors_agree_on_generated_queries(
    spark: SparkSession, seed: int, partitions: int, queries: int, tmp_path: Path
) -> None:
    # Many parts of next to nothing take most of the time, so fewer queries are divided into them.
    tally = sweep(spark, seed, queries, tmp_path, partitions)
    assert tally["answers"] > 2 * queries, tally


@pytest.mark.long
def test_both_executors_agree_on_generated_queries_for_minutes(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(capfd, "queries answered by both", 50)
    seed = int(os.environ.get("OMNIGRAPH_DIFFERENTIAL_SEED", "1000"))
    stop, total = time.monotonic() + MINUTES * 60, Counter[str]()
    while time.monotonic() < stop:
        total += sweep(spark, seed, 10, tmp_path, (1, 3, 16)[seed % 3], progress)
        seed += 1
        progress.at(total["answers"], f", seeds up to {seed}: {dict(total)}")
    progress.line(f"{progress.differences} differences, seeds up to {seed}: {dict(total)}")
    assert progress.differences == 0
    assert total["answers"] > total["refused"]
