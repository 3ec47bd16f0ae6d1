"""The laws of merging, on random histories of three branches, against the plain model."""

from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import omnigraph
from omnigraph.core.tuning import Tuning
from omnigraph.errors import MergeConflicts
from omnigraph.storage.tables.store import Store
from tests.features.merge.model import EDGES, NODES, SCHEMA, Conflict, History, Row, Tables, broken, empty
from tests.promises.protocol.graphs import Ticking

BRANCHES = ["main", "b1", "b2"]
PEOPLE = ["ann", "bo", "cy", "dee"]
FIRMS = ["acme", "globex"]
NUMBERS = st.sampled_from([None, -2, 0, 1, 30])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "email": st.sampled_from([None, "x", "y"]),
    "age": NUMBERS,
    "visits": NUMBERS,
    "best": NUMBERS,
    "tags": st.none() | st.lists(st.sampled_from("abc"), max_size=3, unique=True),
    "title": st.sampled_from([None, "dr", "prof"]),
    "size": NUMBERS,
    "since": NUMBERS,
}
branch = st.sampled_from(BRANCHES)


def parse(graph: omnigraph.Graph, name: str) -> Tables:
    """A branch in the model's terms."""
    tables = empty()
    for line in b"".join(graph.export(name)).splitlines():
        record = json.loads(line)
        data = record["data"]
        id_ = data.pop("id")
        data.pop("name", None)
        assert id_ not in tables[record.get("type") or record["edge"]], "an id is there once"
        if "type" in record:
            tables[record["type"]][id_] = data
        else:
            tables[record["edge"]][id_] = {"src": record["from"], "dst": record["to"], **data}
    return tables


def records(rows: list[tuple[str, str, Row]]) -> list[dict[str, Any]]:
    given = []
    for type_, id_, row in rows:
        if type_ in NODES:
            given.append({"type": type_, "data": {"name": id_, **row}})
        else:
            ends = {"from": row["src"], "to": row["dst"]}
            data = {key: value for key, value in row.items() if key not in ("src", "dst")}
            given.append({"edge": type_, **ends, "data": {"id": id_, **data}})
    return given


TUNING = Tuning(recent_commits_max=6, fold_tiers=((3, 2), (8, 2), (64, 2)))
"""Folds and spills come after many writes; here they come after a few."""


class MergeMachine(RuleBasedStateMachine):
    """Random writes, maintenance and merges on three branches."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp(prefix="laws-")

    @initialize()
    def create(self) -> None:
        uri = os.path.join(self.directory, "g")
        self.graph = omnigraph.create(uri, SCHEMA, durability="os", clock=Ticking(), tuning=TUNING)
        self.model = History()
        self.model.commit("main", self.graph.snapshot().commit_id, empty())
        rows: list[tuple[str, str, Row]] = [("Person", name, dict.fromkeys(NODES["Person"])) for name in PEOPLE[:3]]
        rows += [("Firm", "acme", {"size": None}), ("Knows", "k1", {"src": "ann", "dst": "bo", "since": None})]
        self.load("main", rows)
        for name in BRANCHES[1:]:
            self.graph.create_branch(name)
            self.model.heads[name] = self.model.heads["main"]

    def teardown(self) -> None:
        try:
            if hasattr(self, "model"):
                self.compare()
                for name in BRANCHES[1:]:
                    self.graph.delete_branch(name)
                # What was merged into main is part of its history, whatever became of the branches.
                ids = [commit.id for commit in self.graph.commits()]
                assert sorted(ids) == sorted(self.model.ancestors(self.model.heads["main"]))
                assert self.graph.verify(deep=True).is_clean
        finally:
            shutil.rmtree(self.directory)

    def compare(self) -> None:
        for name in BRANCHES:
            assert parse(self.graph, name) == self.model.tables(name), name

    def load(self, name: str, rows: list[tuple[str, str, Row]]) -> None:
        after = copy.deepcopy(self.model.tables(name))
        for type_, id_, row in rows:
            after[type_][id_] = row
        if broken(after):
            return
        self.model.commit(name, self.graph.load(records(rows), branch=name).commit.id, after)

    # --- writes -----------------------------------------------------------------------------------------

    @rule(name=branch, id_=st.sampled_from(PEOPLE), data=st.data())
    def write_person(self, name: str, id_: str, data: st.DataObject) -> None:
        row = dict(self.model.tables(name)["Person"].get(id_) or dict.fromkeys(NODES["Person"]))
        for property_ in data.draw(st.lists(st.sampled_from(NODES["Person"]), min_size=1, max_size=2, unique=True)):
            row[property_] = data.draw(VALUES[property_], label=property_)
        self.load(name, [("Person", id_, row)])

    @rule(name=branch, id_=st.sampled_from(FIRMS), size=NUMBERS)
    def write_firm(self, name: str, id_: str, size: int | None) -> None:
        self.load(name, [("Firm", id_, {"size": size})])

    @rule(
        name=branch,
        id_=st.sampled_from(["k1", "k2", "k3"]),
        ends=st.tuples(*[st.sampled_from(PEOPLE)] * 2),
        since=NUMBERS,
    )
    def write_knows(self, name: str, id_: str, ends: tuple[str, str], since: int | None) -> None:
        self.load(name, [("Knows", id_, {"src": ends[0], "dst": ends[1], "since": since})])

    @rule(name=branch, id_=st.sampled_from(["w1", "w2"]), src=st.sampled_from(PEOPLE), dst=st.sampled_from(FIRMS))
    def write_works(self, name: str, id_: str, src: str, dst: str) -> None:
        self.load(name, [("WorksAt", id_, {"src": src, "dst": dst})])

    @rule(name=branch, type_=st.sampled_from(sorted(NODES)), data=st.data())
    def delete_node(self, name: str, type_: str, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(PEOPLE if type_ == "Person" else FIRMS))
        after = copy.deepcopy(self.model.tables(name))
        if after[type_].pop(id_, None) is None:
            return
        for edge, (types, _) in EDGES.items():
            ends = [end for end, end_type in zip(("src", "dst"), types, strict=True) if end_type == type_]
            after[edge] = {key: row for key, row in after[edge].items() if all(row[end] != id_ for end in ends)}
        made = self.graph.mutate(
            f"query q($id: String) {{ delete {type_} where name = $id }}", {"id": id_}, branch=name
        ).commit
        assert made is not None
        self.model.commit(name, made.id, after)

    @rule(name=branch, data=st.data())
    def delete_edges(self, name: str, data: st.DataObject) -> None:
        source = data.draw(st.sampled_from(PEOPLE))
        after = copy.deepcopy(self.model.tables(name))
        after["Knows"] = {key: row for key, row in after["Knows"].items() if row["src"] != source}
        if after == self.model.tables(name):
            return
        made = self.graph.mutate(
            "query q($id: String) { delete Knows where from = $id }", {"id": source}, branch=name
        ).commit
        assert made is not None
        self.model.commit(name, made.id, after)

    @rule(name=branch)
    def reload(self, name: str) -> None:
        """Every row again, as it is."""
        rows = [(type_, id_, row) for type_, table in self.model.tables(name).items() for id_, row in table.items()]
        if rows:
            made = self.graph.load(records(rows), "overwrite", branch=name).commit
            self.model.commit(name, made.id, self.model.tables(name))

    @rule(name=branch, index=st.booleans())
    def maintain(self, name: str, index: bool) -> None:
        for made in self.graph.optimize(name, index=index).commits:
            self.model.commit(name, made.id, self.model.tables(name))

    @rule()
    def reopen(self) -> None:
        self.graph = omnigraph.Graph(Store(self.graph.uri, None, "os", TUNING), clock=Ticking(self.newest()))

    def newest(self) -> int:
        return max(commit.created_at_us for name in BRANCHES for commit in self.graph.commits(name))

    # --- merges -----------------------------------------------------------------------------------------

    @rule(names=st.permutations(BRANCHES))
    def merge(self, names: list[str]) -> None:
        self.merge_heads(*names[:2])

    @rule(names=st.permutations(BRANCHES))
    def cross(self, names: list[str]) -> None:
        """Two branches take what the other one had, at the same time: afterwards they have two bases."""
        one, other = names[:2]
        self.graph.create_branch("then", other)
        self.model.heads["then"] = self.model.heads[other]
        self.merge_heads(one, other)
        self.merge_heads("then", one)
        self.graph.delete_branch("then")
        del self.model.heads["then"]

    def merge_heads(self, source: str, target: str) -> None:
        outcome, expected, conflicts = self.model.merge(source, target)
        preview = self.graph.merge_preview(source, target)
        assert preview.outcome.value == outcome
        assert preview.base == self.model.base(self.model.heads[source], self.model.heads[target])
        assert in_model_terms(preview.conflicts) == conflicts
        if conflicts:
            with pytest.raises(MergeConflicts):
                self.graph.merge(source, target)
        else:
            result = self.graph.merge(source, target)
            assert result.outcome.value == outcome
            if result.commit is not None:
                assert result.commit.parents == (self.model.heads[target], self.model.heads[source])
                self.model.commit(target, result.commit.id, expected, self.model.heads[source])
            # The second time there is nothing left to do.
            assert self.graph.merge(source, target).outcome.value == "already_up_to_date"
        self.compare()

    @rule(names=st.permutations(BRANCHES), side=st.sampled_from(["source", "target"]))
    def merge_with_a_side(self, names: list[str], side: str) -> None:
        """With one side preferred everywhere, no two changes of one entity are left in conflict."""
        source, target = names[:2]
        rules = [{"take": side}]
        conflicts = self.graph.merge_preview(source, target, policy=side, resolutions=rules).conflicts
        assert not [conflict for conflict in conflicts if conflict.kind.is_of_rows]


def in_model_terms(conflicts: Any) -> set[Conflict]:
    """Conflicts in the model's terms."""
    unnamed = ("unique_violation", "cardinality_violation")
    return {
        (item.type_name(), "?" if item.kind.value in unnamed else item.id, item.kind.value, item.property)
        for item in conflicts
    }


def test_a_merge_does_what_the_model_says() -> None:
    run_state_machine_as_test(MergeMachine, settings=settings(max_examples=12, stateful_step_count=25))


@pytest.mark.long
def test_a_merge_does_what_the_model_says_for_ten_thousand_steps() -> None:
    run_state_machine_as_test(
        MergeMachine, settings=settings(max_examples=200, stateful_step_count=50, derandomize=False)
    )
