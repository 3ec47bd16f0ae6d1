"""The engine and the naive evaluator agree on generated schemas, graphs and queries.

Every graph is asked at four places: after its first load, after changes and many small commits, on a branch, and at
its first commit when all of that has happened.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import CompileError, ParameterError
from omnigraph.exec.graph_view import Derived, Traversal
from omnigraph.exec.shape import row_groups
from omnigraph.exec.walk import reach
from omnigraph.rows.write.results import python_rows
from omnigraph.storage.tables.array_cache import ArrayCache
from tests.features.exec.anchored import AnchoredWriter, compiled_result
from tests.features.exec.compare import assert_same, expected, read_data
from tests.features.exec.generate import (
    Query,
    Schema,
    Writer,
    given,
    key_id,
    key_value,
    make_edges,
    make_records,
    make_schema,
    make_wide_edges,
    property_value,
)
from tests.features.exec.generate_exact import EXACT
from tests.features.exec.naive import TooLarge
from tests.features.exec.naive_values import Data
from tests.features.exec.people import NOW_MS, FixedClock
from tests.features.exec.whole_tables import WholeWriter
from tests.support.long_progress import Progress
from tests.support.sampling import sampled
from tests.support.tuning import retuned

QUERIES = int(os.environ.get("OMNIGRAPH_DIFFERENTIAL_QUERIES", "20000"))
COMPARED = ("rows", "no rows", "compiled, rows", "compiled, no rows")
"""Outcomes with two answers that were compared."""


@dataclass
class Place:
    """Somewhere to ask: how, and what is there."""

    where: dict[str, str]
    data: Data


THROUGH_STORAGE = {
    "pushed_rows_min": 0,
    "compared_rows_max": 0,
    "indexed_values_min": 0,
    "selected_share": 1,
    "selected_rows_min": 0,
    "collapsed_rows_min": 0,
}
"""Fields of a tuning with which nothing is too small for storage, an index or a selection."""


WHOLE = 16
"""The way in which no table is too small to be filtered and grouped by whole columns."""


@contextmanager
def read_differently(graph: Graph, way: int) -> Iterator[None]:
    """Rows found through storage instead of in memory, single rows instead of whole columns, nothing remembered.

    Neighbour lists are those of whatever was walked first and all changes since, mapped from disk, unless they are made
    anew. Groups are found and walks are counted by arrays over all nodes, or one by one. Predicates and aggregates read
    whole columns, or the values of single rows. Sorting and comparing are done at once, or a few rows at a time.
    """
    with ExitStack() as stack:
        stack.enter_context(retuned(graph, changed_share=1e-9))
        stack.enter_context(patch.object(graph._derived.topologies, "_persisted_edges_min", 0))
        if way & 1:
            stack.enter_context(retuned(graph, **THROUGH_STORAGE))
        if way & 2:
            stack.enter_context(patch.object(row_groups, "DENSE_SHARE", 0))
            stack.enter_context(patch.object(row_groups, "DENSE_MIN", 0))
            stack.enter_context(patch.object(row_groups, "SPAN_MAX", 100))
            stack.enter_context(retuned(graph, whole_column_share=0))
        if way & 3:
            stack.enter_context(patch.object(graph, "_derived", Derived.kept_in(ArrayCache(None))))
        if way & 8:
            stack.enter_context(retuned(graph, mapped_rows_min=3))
            stack.enter_context(patch.object(graph._derived, "traversal", Traversal.INDEXED))
        if way & WHOLE:
            stack.enter_context(retuned(graph, whole_rows_min=0))
        if way & 4:
            stack.enter_context(retuned(graph, counted_share=0, rows_at_once_max=3, result_rows_max=2))
        if way & 6:
            stack.enter_context(patch.object(reach, "DENSE_SHARE", 2**40 if way & 4 else 0))
        yield


def change(rng: Random, graph: Graph, schema: Schema, branch: str) -> None:
    """Upserts, deletions that take edges along, new edges, and many commits of one row."""
    for node in schema.nodes.values():
        ids = sorted(read_ids(graph, f"node:{node.name}", branch))
        for id_ in rng.sample(ids, min(len(ids), 3)):
            data: dict[str, Any] = {prop.name: property_value(rng, prop) for prop in node.properties}
            if node.key is None:
                data["id"] = id_
            else:
                keys = [key_value(node.key.scalar, number) for number in range(12)]
                key = next(key for key in keys if key_id(node.key.scalar, key) == id_)
                data["key"] = given(node.key.scalar, key) if node.key.scalar in EXACT else key
            graph.load([{"type": node.name, "data": data}], "merge", branch=branch)
        if rng.random() < 0.4:
            prop = rng.choice(node.every)
            if not prop.is_list:
                value = Writer(rng, schema).constant(prop.scalar)
                graph.mutate(f"query d() {{ delete {node.name} where {prop.name} = {value} }}", branch=branch)
    for edge in schema.wide.values():
        ids = {name: sorted(read_ids(graph, f"node:{name}", branch)) for name in schema.nodes}
        graph.load(make_wide_edges(rng, edge, ids, rng.randrange(6), f"{branch}-"), "merge", branch=branch)
    for edge in schema.edges.values():
        sources, targets = (sorted(read_ids(graph, f"node:{name}", branch)) for name in (edge.source, edge.target))
        for record in make_edges(rng, edge, sources, targets, rng.randrange(5), f"{branch}-"):
            graph.load([record], "merge", branch=branch)


def read_ids(graph: Graph, table_key: str, branch: str) -> list[str]:
    ids: list[str] = graph.snapshot(branch).to_arrow(table_key).column("id").to_pylist()
    return ids


def places(rng: Random, graph: Graph, schema: Schema) -> Iterator[Place]:
    graph.load(make_records(rng, schema), "append")
    first = Place({"branch": "main"}, read_data(graph.snapshot()))
    yield first
    commit = graph.snapshot().commit_id
    graph.create_branch("side")
    change(rng, graph, schema, "main")
    yield Place({"branch": "main"}, read_data(graph.snapshot()))
    change(rng, graph, schema, "side")
    yield Place({"branch": "side"}, read_data(graph.snapshot("side")))
    yield Place({"at": commit}, first.data)
    # Compacted and indexed, whatever the size; vectors excepted, whose index gives other neighbours.
    with retuned(graph, index_rows_min=0, ngram_index_rows_min=0):
        made = graph.optimize("side")
    changed = Place({"branch": "side"}, read_data(graph.snapshot("side")))
    assert any(table.indexes_built for table in made.tables) or not any(changed.data.nodes.values())
    yield changed
    change(rng, graph, schema, "side")
    yield Place({"branch": "side"}, read_data(graph.snapshot("side")))


def check(graph: Graph, place: Place, query: Query, way: int) -> str:
    """Ask both; what came of it."""
    try:
        answer, naive = expected(graph.catalog(), place.data, query.text, query.values, NOW_MS)
    except TooLarge:
        return "too large"
    except (KeyError, AssertionError, ValueError, TypeError, AttributeError) as error:
        # What does not compile has no meaning to compute.
        try:
            graph.query(query.text, query.params, **place.where)
        except CompileError:
            return "refused"
        raise AssertionError("the naive evaluator fails on a valid query") from error
    try:
        with read_differently(graph, way):
            result = graph.query(query.text, query.params, **place.where)
    except (CompileError, ParameterError):
        # A parameter may be an integer that no float of its list is.
        return "refused"
    assert_same(result, answer, naive)
    return "rows" if answer.rows else "no rows"


def check_compiled(graph: Graph, place: Place, query: Query) -> str:
    """The same for the compiled form, which the engine uses from the second run on."""
    try:
        result = compiled_result(graph, place.where, query)
    except (CompileError, ParameterError):
        return "refused"
    if result is None:
        return "not compiled"
    try:
        answer, naive = expected(graph.catalog(), place.data, query.text, query.values, NOW_MS)
    except TooLarge:
        return "too large"
    assert_same(result, answer, naive)
    for _ in range(3):
        again = graph.query(query.text, query.params, **place.where)
        assert_same(again, answer, naive)
        assert again.to_dicts() == python_rows(again.arrow())
    return "compiled, rows" if answer.rows else "compiled, no rows"


DIFFERENCES_MAX = 20
"""Differences after which a long run ends."""


def sweep(seed: int, queries: int, path: Path, progress: Progress | None = None) -> Counter[str]:
    """One schema and graph, and a number of queries at each place. A difference is raised, or shown as progress."""
    rng = Random(seed)
    schema = make_schema(rng, has_wide=True)
    graph = create(path / f"g{seed}", schema.text, durability="os", clock=FixedClock())
    tally: Counter[str] = Counter()

    def differs(error: Exception, query: Query, note: str) -> None:
        error.add_note(f"seed {seed}, {note}")
        error.add_note(f"{schema.text}\n{query.text}\n{query.params}")
        if progress is None or progress.differences >= DIFFERENCES_MAX:
            raise error
        progress.differs(error)

    for number, place in enumerate(places(rng, graph, schema)):
        for index in range(queries):
            query = Writer(Random(f"{seed}/{number}/{index}"), schema).query()
            way = index % 16 + WHOLE * ((index + number) % 2)
            try:
                outcome = check(graph, place, query, way)
                tally[outcome] += 1
                if outcome == "rows" and re.search(r"\bw\d\b", query.text):
                    tally["rows over several ends"] += 1
            except Exception as error:
                differs(error, query, f"place {number} {place.where}, query {index}, way {way}")
        for index in range(queries):
            query = WholeWriter(Random(f"{seed}/{number}/{index}/whole"), schema).query()
            try:
                for way in (WHOLE, WHOLE + index % 8, index % 8):
                    tally[f"whole, {check(graph, place, query, way)}"] += 1
            except Exception as error:
                differs(error, query, f"place {number} {place.where}, query {index} of a whole table, way {way}")
        for index in range(queries):
            query = AnchoredWriter(Random(f"{seed}/{number}/{index}/anchored"), schema).query()
            try:
                tally[check_compiled(graph, place, query)] += 1
            except Exception as error:
                differs(error, query, f"place {number} {place.where}, anchored query {index}")
    return tally


@pytest.mark.parametrize("seed", sampled(range(10), 2))
def test_the_engine_agrees_with_the_naive_evaluator(seed: int, tmp_path: Path) -> None:
    tally = sweep(seed, 14, tmp_path)
    assert tally["rows"] + tally["no rows"] > 30, tally
    assert tally["compiled, rows"] + tally["compiled, no rows"] >= 6, tally
    assert tally["whole, rows"] >= 60, tally


@pytest.mark.long
@pytest.mark.part("differential")
def test_the_engine_agrees_with_the_naive_evaluator_on_thousands_of_queries(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seed, total = int(os.environ.get("OMNIGRAPH_DIFFERENTIAL_SEED", "1000")), Counter[str]()
    progress = Progress(capfd, "queries compared", 200)
    while (done := sum(total[outcome] for outcome in COMPARED)) < QUERIES:
        progress.at(done, f", seeds up to {seed}: {dict(total)}")
        total += sweep(seed, 20, tmp_path, progress)
        shutil.rmtree(tmp_path / f"g{seed}")
        seed += 1
    progress.line(f"{done:,} queries compared, {progress.differences} differences, seeds up to {seed}: {dict(total)}")
    assert progress.differences == 0
    assert total["rows"] > total["refused"]
    assert total["rows over several ends"] > QUERIES / 100
