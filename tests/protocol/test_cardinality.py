"""``@card`` holds on every path for every source whose edges a write adds, moves or removes, vacated ones included."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts, ViolationError
from tests.bulk.loading import through_disk
from tests.protocol.cardinality import BASE, CASES, SCHEMA, UNBOUNDED, Case
from tests.protocol.graphs import contents, create, edge, person, run

Write = Callable[[omnigraph.Graph, str, Case], object]
Rows = Callable[[Case], list[dict[str, Any]]]

BRANCHES = count(1)
YAN = [
    person("yan"),
    edge("Owns", "yan", "g", "y1"),
    edge("Needs", "yan", "f", "y2"),
    edge("Needs", "yan", "g", "y3"),
]
"""What another writer adds meanwhile, so that both sides of a merge changed every table but one."""


def after(case: Case, *more: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What the graph holds after the change, in the form of ``contents``."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in [*case.rows_after(), *more]:
        ends = {key: row[key] for key in ("from", "to") if key in row}
        data = {key: value for key, value in row["data"].items() if key != "id"}
        found.setdefault(row.get("type") or row["edge"], []).append({**ends, **data})
    return {name: sorted(rows, key=lambda row: json.dumps(row, sort_keys=True)) for name, rows in found.items()}


# --- writes on one branch ------------------------------------------------------------------------------


def _load(mode: str, rows: Rows) -> Write:
    return lambda graph, branch, case: graph.load(rows(case), mode, branch=branch)


def _load_through_disk(mode: str, rows: Rows) -> Write:
    def load(graph: omnigraph.Graph, branch: str, case: Case) -> object:
        with through_disk():
            return graph.load(rows(case), mode, branch=branch)

    return load


def _mutate(graph: omnigraph.Graph, branch: str, case: Case) -> object:
    return run(graph, case.statements(), branch=branch)


LOADS: dict[str, tuple[str, Rows, Callable[[Case], bool]]] = {
    "append": ("append", Case.rows_put, lambda case: case.only_adds),
    "merge": ("merge", Case.rows_put, lambda case: case.only_puts),
    "overwrite": ("overwrite", Case.rows_after, lambda case: True),
    "overwrite of edges": ("overwrite", Case.edge_rows_after, lambda case: case.only_edges),
}


def _walk() -> Iterator[Any]:
    """Every path with every change that it can make."""
    for case in CASES:
        yield pytest.param(_mutate, case, id=f"mutation: {case.name}")
        for path, (mode, rows, fits) in LOADS.items():
            if fits(case):
                yield pytest.param(_load(mode, rows), case, id=f"{path}: {case.name}")
                yield pytest.param(_load_through_disk(mode, rows), case, id=f"{path} through disk: {case.name}")


@pytest.fixture(scope="module")
def populated(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    graph = create(tmp_path_factory.mktemp("cardinality"), SCHEMA)
    graph.load(BASE.rows_after(), "append")
    return graph


@pytest.mark.parametrize(("write", "case"), list(_walk()))
def test_every_source_that_a_write_touches_satisfies_its_bounds(
    populated: omnigraph.Graph, write: Write, case: Case
) -> None:
    branch = f"b{next(BRANCHES)}"
    populated.create_branch(branch)
    if case.broken:
        with pytest.raises(ViolationError) as refused:
            write(populated, branch, case)
        assert tuple(violation.message for violation in refused.value.samples) == case.broken
    else:
        write(populated, branch, case)
    assert contents(populated.snapshot(branch)) == after(BASE if case.broken else case)


# --- merges and reverts --------------------------------------------------------------------------------


def _bounded(graph: omnigraph.Graph, is_busy: bool) -> list[dict[str, Any]]:
    """Declare the bounds on main, beside what somebody else writes; the rows of that."""
    graph.apply_schema(SCHEMA)
    if is_busy:
        graph.load(YAN, "append")
    return YAN if is_busy else []


def _check(graph: omnigraph.Graph, case: Case, more: list[dict[str, Any]], write: Callable[[], object]) -> None:
    if case.broken:
        with pytest.raises(MergeConflicts) as refused:
            write()
        assert tuple(conflict.message for conflict in refused.value.conflicts) == case.broken
    else:
        write()
    assert contents(graph) == after(BASE if case.broken else case, *more)
    assert graph.verify(deep=True).is_clean


DISTINCT = [case for case in CASES if "twice" not in case.name]
"""A merge and a revert take states, in which every id is once."""


@pytest.mark.parametrize("is_busy", [False, True], ids=["target at rest", "target changed"])
@pytest.mark.parametrize("case", DISTINCT, ids=[case.name for case in DISTINCT])
def test_a_merge_is_judged_as_one_write_of_a_branch_without_the_bounds(
    tmp_path: Path, case: Case, is_busy: bool
) -> None:
    graph = create(tmp_path, UNBOUNDED)
    graph.load(BASE.rows_after(), "append")
    graph.create_branch("change")
    graph.load(case.rows_after(), "overwrite", branch="change")
    more = _bounded(graph, is_busy)
    _check(graph, case, more, lambda: graph.merge("change"))


@pytest.mark.parametrize("is_busy", [False, True], ids=["head at rest", "head changed"])
@pytest.mark.parametrize("case", DISTINCT, ids=[case.name for case in DISTINCT])
def test_a_revert_is_judged_as_one_write(tmp_path: Path, case: Case, is_busy: bool) -> None:
    graph = create(tmp_path, UNBOUNDED)
    graph.load(case.rows_after(), "append")
    undone = graph.load(BASE.rows_after(), "overwrite").commit.id
    more = _bounded(graph, is_busy)
    _check(graph, case, more, lambda: graph.revert(undone))
