"""The two paths of a load give the same graph or the same violations."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.engine.graph import Graph, create
from omnigraph.write.load.mode import LoadMode
from tests.features.bulk.loading import load_sources, outcome, through_disk

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    age: I32?
    height: F64?
    born: Date?
    @range(age, 0..9)
    @unique(height, born)
}
node Note {
    text: String?
}
edge Knows: Person -> Person @card(0..2) {
    since: I32?
    @unique(src, since)
}
edge Wrote: Person -> Note @card(2..3)
edge Cites: Note -> Note {
    @unique(src, dst)
}
edge Likes: Person -> Note @key(src, dst) {
    weight: I32?
    how: String
}
"""

NAMES = st.sampled_from(["a", "b", "c", "a\x00b", "é", "é", "it's", ""])
IDS = st.sampled_from(["n1", "n2", "n3", "n4"])
EDGE_IDS = st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e6"])
SMALL = st.one_of(st.none(), st.integers(-1, 3), st.just("late"))


def _node(type_name: str, key: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Records with any of the values: what a record does not name, an upsert keeps."""
    data = st.fixed_dictionaries({key: values.pop(key)}, optional=values)
    return st.fixed_dictionaries({"type": st.just(type_name), "data": data})


def _edge(
    name: str, source: st.SearchStrategy[str], target: st.SearchStrategy[str], **values: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    data = st.fixed_dictionaries({"id": EDGE_IDS}, optional=values)
    ends = {"from": source, "to": target}
    whole = st.fixed_dictionaries({"edge": st.just(name), "data": data, **ends})
    return whole | st.fixed_dictionaries({"edge": st.just(name), "data": data}, optional=ends)


def _keyed_edge(name: str, *ends: st.SearchStrategy[str], **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    data = st.fixed_dictionaries({}, optional=values)
    return st.fixed_dictionaries({"edge": st.just(name), "from": ends[0], "to": ends[1], "data": data})


PERSONS = _node(
    "Person",
    "name",
    name=NAMES,
    mail=st.one_of(st.none(), st.sampled_from(["x", "y", "z", "it's"])),
    age=st.one_of(st.none(), st.integers(0, 10), st.just("old")),
    height=st.sampled_from([None, 1.5, 0.0, -0.0, 1e22]),
    born=st.sampled_from([None, "1980-01-01", "1980-01-02"]),
)
RECORDS = st.one_of(
    PERSONS,
    _node("Note", "id", id=IDS, text=st.one_of(st.none(), st.text(max_size=2))),
    _edge("Knows", NAMES, NAMES, since=SMALL),
    _edge("Wrote", NAMES, IDS),
    _edge("Cites", IDS, IDS),
    _keyed_edge("Likes", NAMES, IDS, weight=SMALL, how=st.sampled_from(["much", "little"])),
)
INPUTS = st.fixed_dictionaries(
    {"one.jsonl": st.lists(RECORDS, min_size=1, max_size=10), "two.jsonl": st.lists(RECORDS, max_size=6)}
)
SEED = [
    *(
        {"type": "Person", "data": {"name": name, "mail": mail, "height": 1.5}}
        for name, mail in (("a", "x"), ("b", "y"))
    ),
    *({"type": "Person", "data": {"name": name}} for name in ("c", "é")),
    *({"type": "Note", "data": {"id": id_, "text": id_}} for id_ in ("n1", "n2", "n3")),
    {"edge": "Knows", "from": "a", "to": "b", "data": {"id": "e1", "since": 1}},
    {"edge": "Knows", "from": "a", "to": "c", "data": {"id": "e2", "since": 2}},
    {"edge": "Wrote", "from": "b", "to": "n1", "data": {"id": "e3"}},
    {"edge": "Wrote", "from": "b", "to": "n2", "data": {"id": "e4"}},
    {"edge": "Cites", "from": "n1", "to": "n2", "data": {"id": "e5"}},
    {"edge": "Likes", "from": "a", "to": "n1", "data": {"weight": 1, "how": "much"}},
]
BRANCHES = count(1)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("same") / "graph", SCHEMA, durability="os")
    made.create_branch("empty")
    load_sources(made, "main", {"seed": SEED}, LoadMode.APPEND, batch_rows=1)
    return made


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    sources=INPUTS,
    mode=st.sampled_from(LoadMode),
    parent=st.sampled_from(["main", "empty"]),
)
def test_any_input_has_the_same_outcome_on_both_paths(
    graph: Graph, sources: dict[str, list[dict[str, Any]]], mode: LoadMode, parent: str
) -> None:
    number = next(BRANCHES)
    for path in ("memory", "disk"):
        graph.create_branch(f"{path}-{number}", parent)
    expected = outcome(graph, f"memory-{number}", sources, mode)
    with through_disk(graph):
        assert outcome(graph, f"disk-{number}", sources, mode) == expected
