"""Random histories of a graph with the state at every commit, known from the plain model."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import omnigraph
from omnigraph.errors import InputError, KeyConflictError
from omnigraph.history.changes import Change, Op
from tests.promises.model import plain
from tests.promises.model.operations import adopt, mutation, parse, records
from tests.promises.model.plain import Invalid, Statement, Tables
from tests.promises.model.test_model import record, statement

ACTORS = ("ann", "bo")

Step = tuple[str, Any, Any, str]

branch_names = st.sampled_from(["main", "main", "b1", "b2"])
steps = st.lists(
    st.one_of(
        st.tuples(branch_names, st.lists(statement, min_size=1, max_size=3), st.none(), st.sampled_from(ACTORS)),
        st.tuples(
            branch_names,
            st.lists(record, max_size=5),
            st.sampled_from(["merge", "merge", "append", "overwrite"]),
            st.sampled_from(ACTORS),
        ),
        st.tuples(branch_names, st.none(), st.just("optimize"), st.just("ann")),
    ),
    min_size=3,
    max_size=14,
)


@dataclass
class History:
    """A graph, the content of its branches, and that of every commit."""

    graph: omnigraph.Graph
    heads: dict[str, Tables] = field(default_factory=dict)
    states: dict[str, Tables] = field(default_factory=dict)

    def run(self, branch: str, work: Any, how: Any, actor: str) -> None:
        if branch not in self.heads:
            self.graph.create_branch(branch)
            self.heads[branch] = copy.deepcopy(self.heads["main"])
        if how == "optimize":
            self.graph.optimize(branch, index=False)
            self.note(branch, self.heads[branch])
        elif how is None:
            self._mutate(branch, work, actor)
        else:
            self._load(branch, work, how, actor)

    def _mutate(self, branch: str, statements: list[Statement], actor: str) -> None:
        try:
            expected, made = plain.run(self.heads[branch], statements)
        except Invalid:
            return
        text, parameters = mutation(statements)
        self.graph.mutate(text, parameters, branch=branch, actor=actor, provenance={"run": actor})
        adopt(expected, made, parse(self.graph.export(branch)))
        self.note(branch, expected)

    def _load(self, branch: str, rows: list[Any], mode: str, actor: str) -> None:
        try:
            expected = plain.load(self.heads[branch], rows, mode)
        except Invalid:
            return
        try:
            self.graph.load(records(rows), mode, branch=branch, actor=actor)
        except (InputError, KeyConflictError) as error:
            raise AssertionError("the model lets it pass") from error
        self.note(branch, expected)

    def note(self, branch: str, tables: Tables) -> None:
        """A branch is at this content, and so is its newest commit."""
        self.heads[branch] = tables
        self.states[self.graph.snapshot(branch).commit_id] = copy.deepcopy(tables)


def make_history(place: Path, planned: Iterable[Step]) -> History:
    """Do all steps that the schema allows."""
    graph = omnigraph.create(place / "g", plain.SCHEMA, durability="os")
    history = History(graph)
    history.note("main", plain.empty())
    for step in planned:
        history.run(*step)
    return history


def applied(tables: Tables, changes: Iterable[Change]) -> Tables:
    """The content after some changes, each of which has to fit what is there."""
    after = copy.deepcopy(tables)
    for change in changes:
        table = after[change.type_name]
        if change.op is Op.INSERT:
            assert change.id not in table
        else:
            assert change.before is not None
            assert table.pop(change.id) == _row(change.before)
        if change.op is not Op.DELETE:
            assert change.after is not None
            table[change.id] = _row(change.after)
        if change.op is Op.UPDATE:
            assert change.before is not None
            assert change.after is not None
            old, new = _row(change.before), _row(change.after)
            assert set(change.changed) == {name for name in new if old[name] != new[name]} != set()
    return after


def _row(image: Any) -> dict[str, Any]:
    ends = {} if image.source is None else {"src": image.source, "dst": image.target}
    return {**ends, **image.properties}
