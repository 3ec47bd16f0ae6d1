"""``@card`` holds on every path for every source whose edges a write adds, moves or removes, vacated ones included."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import MergeConflicts, ViolationError
from tests.features.bulk.loading import through_disk
from tests.promises.protocol.cardinality import BASE, CASES, SCHEMA, UNBOUNDED, Case
from tests.promises.protocol.graphs import contents, create, edge, person, run

Write = Callable[[omnigraph.Graph, str, Case], object]
Rows = Callable[[Case], list[dict[str, Any]]]

BRANCHES = count(1)
YAN = [
    person("yan"),
    edge("Owns", "yan", "g", "y1"),
    edge("Needs", "yan", "f", "y2"),
    edge("Needs", "yan", "g", "y3"),
]
"""A concurrent write, so that both sides of a merge changed every table but one."""


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
        with through_disk(graph):
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


@pytest.fixture(scope="module")
def unbounded(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    """The same graph without the bounds, and the branch ``empty``."""
    graph = create(tmp_path_factory.mktemp("unbounded"), UNBOUNDED)
    graph.create_branch("empty")
    graph.load(BASE.rows_after(), "append")
    return graph


def _bounded(graph: omnigraph.Graph, branch: str, is_busy: bool) -> list[dict[str, Any]]:
    """Declare the bounds on a branch, beside what another writer adds; the rows of that."""
    graph.apply_schema(SCHEMA, branch=branch)
    if is_busy:
        graph.load(YAN, "append", branch=branch)
    return YAN if is_busy else []


def _check(
    graph: omnigraph.Graph, branch: str, case: Case, more: list[dict[str, Any]], write: Callable[[], object]
) -> None:
    if case.broken:
        with pytest.raises(MergeConflicts) as refused:
            write()
        assert tuple(conflict.message for conflict in refused.value.conflicts) == case.broken
    else:
        write()
    assert contents(graph.snapshot(branch)) == after(BASE if case.broken else case, *more)


DISTINCT = [case for case in CASES if "twice" not in case.name]
"""A merge and a revert take states, in which every id is once."""


@pytest.mark.parametrize("is_busy", [False, True], ids=["target at rest", "target changed"])
@pytest.mark.parametrize("case", DISTINCT, ids=[case.name for case in DISTINCT])
def test_a_merge_of_a_branch_without_the_bounds_is_judged_as_one_write(
    unbounded: omnigraph.Graph, case: Case, is_busy: bool
) -> None:
    number = next(BRANCHES)
    source, target = f"source{number}", f"target{number}"
    for branch in (source, target):
        unbounded.create_branch(branch)
    unbounded.load(case.rows_after(), "overwrite", branch=source)
    more = _bounded(unbounded, target, is_busy)
    _check(unbounded, target, case, more, lambda: unbounded.merge(source, target))


@pytest.mark.parametrize("is_busy", [False, True], ids=["head at rest", "head changed"])
@pytest.mark.parametrize("case", DISTINCT, ids=[case.name for case in DISTINCT])
def test_a_revert_is_judged_as_one_write(unbounded: omnigraph.Graph, case: Case, is_busy: bool) -> None:
    branch = f"b{next(BRANCHES)}"
    unbounded.create_branch(branch, "empty")
    unbounded.load(case.rows_after(), "append", branch=branch)
    undone = unbounded.load(BASE.rows_after(), "overwrite", branch=branch).commit.id
    more = _bounded(unbounded, branch, is_busy)
    _check(unbounded, branch, case, more, lambda: unbounded.revert(undone, branch=branch))


VACATED = [("@card violation on edge Owns: source 'dan' has 0 edges (min 1)", "dan")]


def _conflicts(write: Callable[[], object]) -> list[tuple[str, str | None]]:
    with pytest.raises(MergeConflicts) as refused:
        write()
    return [(conflict.message, conflict.id) for conflict in refused.value.conflicts]


def _two_things_of_dan(graph: omnigraph.Graph) -> tuple[str, str]:
    """Two branches on which ``dan`` has two edges; each branch removes another one."""
    number = next(BRANCHES)
    source, target = f"source{number}", f"target{number}"
    graph.create_branch(target)
    graph.load([edge("Owns", "dan", "d", "p1"), edge("Owns", "dan", "e", "p2")], branch=target)
    graph.create_branch(source, target)
    run(graph, 'delete Owns where to = "d"', branch=source)
    run(graph, 'delete Owns where to = "e"', branch=target)
    return source, target


def test_two_sides_that_each_remove_one_of_two_edges_are_in_conflict(populated: omnigraph.Graph) -> None:
    source, target = _two_things_of_dan(populated)
    assert _conflicts(lambda: populated.merge(source, target)) == VACATED


@pytest.mark.parametrize(("take", "left"), [("source", "e"), ("target", "d")])
def test_edges_of_a_vacated_source_come_back_as_one_side_has_them(
    populated: omnigraph.Graph, take: str, left: str
) -> None:
    source, target = _two_things_of_dan(populated)
    populated.merge(source, target, resolutions=[{"kind": "cardinality_violation", "take": take}])
    assert {"from": "dan", "to": left} in contents(populated.snapshot(target))["Owns"]


@pytest.mark.parametrize("is_busy", [False, True], ids=["target at rest", "target changed"])
def test_what_the_writes_of_a_branch_left_was_judged_there(populated: omnigraph.Graph, is_busy: bool) -> None:
    number = next(BRANCHES)
    source, target = f"source{number}", f"target{number}"
    for branch in (source, target):
        populated.create_branch(branch)
    run(populated, 'delete Person where name = "ann"', branch=source)
    run(populated, 'insert Person {name: "ann"}', branch=source)
    more = YAN if is_busy else []
    if is_busy:
        populated.load(YAN, "append", branch=target)
    populated.merge(source, target)
    assert contents(populated.snapshot(target)) == after(Case("vacated", removed=("o1",)), *more)


@pytest.fixture
def late(populated: omnigraph.Graph) -> tuple[str, str, str]:
    """A branch with a node that a commit added, the commit that gave it an edge, and another one between the two."""
    branch = f"b{next(BRANCHES)}"
    populated.create_branch(branch)
    node = populated.load([person("eve")], branch=branch, actor="bot").commit.id
    populated.load(YAN, branch=branch)
    first = populated.load([edge("Owns", "eve", "a", "e1")], branch=branch, actor="bot").commit.id
    return branch, node, first


def test_undoing_the_first_edge_of_a_node_is_refused_or_settled(
    populated: omnigraph.Graph, late: tuple[str, str, str]
) -> None:
    branch, _, first = late
    before = contents(populated.snapshot(branch))
    [(message, id_)] = _conflicts(lambda: populated.revert(first, branch=branch))
    assert (message, id_) == ("@card violation on edge Owns: source 'eve' has 0 edges (min 1)", "eve")
    rule = {"kind": "cardinality_violation", "take": "target"}
    assert populated.revert(first, branch=branch, resolutions=[rule]).commit is None
    assert contents(populated.snapshot(branch)) == before


def test_undoing_a_node_and_its_first_edge_in_several_steps_is_judged_at_the_end(
    populated: omnigraph.Graph, late: tuple[str, str, str]
) -> None:
    branch, node, first = late
    assert populated.revert(actor="bot", branch=branch).reverted == (first, node)
    assert contents(populated.snapshot(branch)) == after(BASE, *YAN)
