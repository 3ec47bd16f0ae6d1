"""Two branches that change schema and entities at random and merge both ways, against a model of plain dictionaries."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import omnigraph
from omnigraph.errors import MergeConflicts, SchemaConflict
from tests.promises.protocol.graphs import create, run

Life = tuple[str, int]
"""A property: the name it was declared with, and which one of that name it is."""

BRANCHES = ["main", "trial"]
NAMES = ["p", "q"]
IDS = ["a", "b", "c"]
branch = st.sampled_from(BRANCHES)
name = st.sampled_from(NAMES)
entity = st.sampled_from(IDS)


class Clash(Exception):
    """The model says that both sides cannot stand."""


@dataclass
class Side:
    """A branch: its properties with their names, the lives that ended, and the entities."""

    properties: dict[Life, str] = field(default_factory=dict)
    ended: set[Life] = field(default_factory=set)
    rows: dict[str, dict[Life, int]] = field(default_factory=dict)

    def life_of(self, shown: str) -> Life | None:
        return next((life for life, called in self.properties.items() if called == shown), None)

    def declare(self, shown: str) -> None:
        life = 0
        while (shown, life) in self.ended or (shown, life) in self.properties:
            life += 1
        self.properties[shown, life] = shown

    def drop(self, life: Life) -> None:
        del self.properties[life]
        self.ended.add(life)
        for row in self.rows.values():
            row.pop(life, None)

    def text(self) -> str:
        members = "".join(f" {called}: I64?" for called in self.properties.values())
        return f"node A {{ k: String @key{members} }}"

    def shown(self) -> list[dict[str, Any]]:
        rows = [
            {"k": id_, **{self.properties[life]: value for life, value in row.items()}}
            for id_, row in self.rows.items()
        ]
        return sorted(rows, key=lambda row: row["k"])


def pick(base: Any, source: Any, target: Any) -> Any:
    if source in (base, target):
        return target
    if target == base:
        return source
    raise Clash


def merged(base: Side, source: Side, target: Side) -> Side:
    """What the design says, written down plainly."""
    result = Side(ended=source.ended | target.ended)
    sides = (base, source, target)
    for life in {life for side in sides for life in side.properties}:
        called = pick(*(side.properties.get(life) for side in sides))
        if called is not None:
            result.properties[life] = called
    if len(set(result.properties.values())) < len(result.properties):
        raise Clash
    for id_ in {id_ for side in sides for id_ in side.rows}:
        rows = [_row(side, id_, result) for side in sides]
        if None in rows[1:] or rows[0] is None:
            row = pick(*rows)
        else:
            row = {life: pick(*(item[life] for item in rows if item is not None)) for life in result.properties}
        if row is not None:
            result.rows[id_] = {life: value for life, value in row.items() if value is not None}
    return result


def _row(side: Side, id_: str, result: Side) -> dict[Life, int | None] | None:
    """An entity with the properties that there are after the merge."""
    row = side.rows.get(id_)
    return None if row is None else {life: row.get(life) for life in result.properties}


class SchemaMachine(RuleBasedStateMachine):
    """Both sides at once: the graph, and the model of it."""

    @initialize()
    def start(self) -> None:
        self.place = Path(tempfile.mkdtemp())
        first = Side()
        first.declare("p")
        first.rows = {"a": {("p", 0): 1}, "b": {}}
        self.graph = create(self.place, first.text())
        self.graph.load([{"type": "A", "data": row} for row in first.shown()], "append")
        self.graph.create_branch("trial")
        self.sides = {name: copy.deepcopy(first) for name in BRANCHES}
        self.base = copy.deepcopy(first)

    @rule(on=branch, shown=name)
    def declare_or_drop(self, on: str, shown: str) -> None:
        side = self.sides[on]
        life = side.life_of(shown)
        if life is None:
            side.declare(shown)
        else:
            side.drop(life)
        self.graph.apply_schema(side.text(), branch=on)

    @rule(on=branch, shown=name, other=st.sampled_from([*NAMES, "r"]))
    def rename(self, on: str, shown: str, other: str) -> None:
        side = self.sides[on]
        life = side.life_of(shown)
        if life is None or side.life_of(other) is not None:
            return
        side.properties[life] = other
        hinted = side.text().replace(f" {other}: I64?", f" {other}: I64? @rename_from({shown})")
        self.graph.apply_schema(hinted, branch=on)

    @rule(on=branch, id_=entity, shown=st.sampled_from([*NAMES, "r"]), value=st.integers(0, 2))
    def put(self, on: str, id_: str, shown: str, value: int) -> None:
        side = self.sides[on]
        life = side.life_of(shown)
        row = side.rows.setdefault(id_, {})
        if life is not None:
            row[life] = value
        given = next(item for item in side.shown() if item["k"] == id_)
        self.graph.load([{"type": "A", "data": given}], "merge", branch=on)

    @rule(on=branch, id_=entity)
    def delete(self, on: str, id_: str) -> None:
        self.sides[on].rows.pop(id_, None)
        run(self.graph, f'delete A where k = "{id_}"', branch=on)

    @rule()
    def optimize(self) -> None:
        self.graph.optimize()

    @rule(source=branch)
    def merge(self, source: str) -> None:
        target = next(name for name in BRANCHES if name != source)
        head = self.graph.snapshot(target).commit_id
        try:
            expected = merged(self.base, self.sides[source], self.sides[target])
        except Clash:
            with pytest.raises((MergeConflicts, SchemaConflict)):
                self.graph.merge(source, into=target)
            assert self.graph.snapshot(target).commit_id == head
            return
        self.graph.merge(source, into=target)
        self.sides[target] = expected
        self.base = copy.deepcopy(self.sides[source])

    def teardown(self) -> None:
        if not hasattr(self, "graph"):
            return
        for name in BRANCHES:
            assert exported(self.graph, name) == self.sides[name].shown()
            found = self.graph.catalog(name).nodes["A"].properties.keys() - {"k"}
            assert found == set(self.sides[name].properties.values())
        assert self.graph.verify().is_clean
        shutil.rmtree(self.place)


def exported(graph: omnigraph.Graph, on: str) -> list[dict[str, Any]]:
    lines = [json.loads(line)["data"] for line in b"".join(graph.export(on)).splitlines()]
    rows = [{key: value for key, value in row.items() if key != "id" and value is not None} for row in lines]
    return sorted(rows, key=lambda row: str(row["k"]))


def test_branches_that_change_their_schemas_merge_as_the_model_says() -> None:
    run_state_machine_as_test(SchemaMachine, settings=settings(max_examples=8, stateful_step_count=12))


@pytest.mark.long
def test_branches_that_change_their_schemas_merge_as_the_model_says_for_long() -> None:
    run_state_machine_as_test(
        SchemaMachine, settings=settings(max_examples=300, stateful_step_count=30, derandomize=False)
    )
