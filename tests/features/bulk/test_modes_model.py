"""Sequences of loads in all modes against a dictionary, through memory and through disk."""

from __future__ import annotations

import json
from contextlib import nullcontext
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import KeyConflictError, ViolationError
from tests.features.bulk.loading import through_disk

SCHEMA = """
node Item {
    a: I32?
    b: String?
    c: I32
    l: [I32]?
    v: Vector(2)?
    x: Blob?
}
"""
REQUIRED = "c"
NAMES = ("a", "b", "c", "l", "v", "x")
BRANCHES = count(1)
Rows = list[tuple[str, dict[str, Any]]]
Model = dict[str, dict[str, Any]]

VALUES = {
    "a": st.sampled_from([None, 1, 2]),
    "b": st.sampled_from([None, "", "null", 'say "a": null']),
    "c": st.sampled_from([1, 2]),
    "l": st.sampled_from([None, [], [1, 2]]),
    "v": st.sampled_from([None, [0.5, 1.0]]),
    "x": st.sampled_from([None, "base64:", "base64:YWJj"]),
}
ROWS = st.lists(
    st.tuples(st.sampled_from(["i1", "i2", "i3", "i4"]), st.fixed_dictionaries({}, optional=VALUES)),
    min_size=1,
    max_size=5,
)
MODES = st.sampled_from(["upsert", "upsert", "update", "merge", "append", "overwrite"])


def expected(model: Model, mode: str, rows: Rows) -> Model | None:
    """The entities after a load; None if it must be refused."""
    is_partial = mode in ("upsert", "update")
    is_repeated = len({id_ for id_, _ in rows}) < len(rows)
    if is_repeated and mode in ("append", "overwrite"):
        return None
    after: Model = {} if mode == "overwrite" else {id_: dict(data) for id_, data in model.items()}
    for id_, data in rows:
        if (mode == "append" and id_ in model) or (mode == "update" and id_ not in model):
            return None
        if not is_partial and REQUIRED not in data:
            return None
        before = after.get(id_, dict.fromkeys(NAMES)) if is_partial else dict.fromkeys(NAMES)
        after[id_] = {**before, **data}
    return after if all(data[REQUIRED] is not None for data in after.values()) else None


def entities(graph: Graph, branch: str) -> Model:
    lines = b"".join(graph.export(branch)).splitlines()
    found = [json.loads(line)["data"] for line in lines]
    return {data.pop("id"): data for data in found}


def cleared(model: Model, rows: Rows) -> int:
    last = dict(rows)
    return sum(
        model[id_][name] is not None and name not in data
        for id_, data in last.items()
        if id_ in model
        for name in NAMES
    )


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return create(tmp_path_factory.mktemp("model") / "graph", SCHEMA, durability="os")


@settings(
    max_examples=60,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(loads=st.lists(st.tuples(MODES, ROWS), min_size=1, max_size=5), is_large=st.booleans())
def test_every_mode_does_what_a_dictionary_does_and_counts_it(
    graph: Graph, loads: list[tuple[str, Rows]], is_large: bool
) -> None:
    branch, model = f"b{next(BRANCHES)}", Model()
    graph.create_branch(branch)
    with through_disk(graph) if is_large else nullcontext():
        for mode, rows in loads:
            records = [{"type": "Item", "data": {"id": id_, **data}} for id_, data in rows]
            after = expected(model, mode, rows)
            if after is None:
                with pytest.raises((ViolationError, KeyConflictError)):
                    graph.load(records, mode, branch=branch)
            else:
                check_load(graph, branch, mode, records, model, after)
                assert next(graph.commits(branch)).kind.value == "load"
                model = after
            assert entities(graph, branch) == model


def check_load(graph: Graph, branch: str, mode: str, records: Any, before: Model, after: Model) -> None:
    """Load, and compare every count: preview, result, commit, diff."""
    head = graph.snapshot(branch).commit_id
    inserted, deleted = len(after.keys() - before.keys()), len(before.keys() - after.keys())
    updated = sum(before[id_] != after[id_] for id_ in before.keys() & after.keys())
    preview = graph.load_preview(records, mode, branch=branch)
    result = graph.load(records, mode, branch=branch)
    assert (result.inserted, result.updated, result.deleted) == (inserted, updated, deleted)
    assert result.total == result.inserted + result.updated + result.unchanged
    rows = [(record["data"]["id"], {k: v for k, v in record["data"].items() if k != "id"}) for record in records]
    assert result.cleared == (cleared(before, rows) if mode == "merge" else 0)
    changed = [("node:Item", inserted, updated, deleted)] if inserted or updated or deleted else []
    assert [(item.key, item.inserted, item.updated, item.deleted) for item in preview.tables] == changed
    assert [(item.key, item.inserted, item.updated, item.deleted) for item in result.commit.tables] == changed
    found = graph.diff(head, result.commit.id)
    assert [(key, each.inserted, each.updated, each.deleted) for key, each in found.counts.items()] == changed
    assert len(list(graph.commit_changes(result.commit.id))) == inserted + updated + deleted
