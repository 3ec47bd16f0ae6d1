"""Keys that can be read again: the same violations as from the database, and no database for an input without any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.core.ports import UlidSource
from omnigraph.engine.graph import Graph, create
from omnigraph.rows.read.json import read_objects
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violations
from omnigraph.write.load import proofs
from omnigraph.write.load.checks import GraphChecks, settle_duplicates
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.id_order import IdOrder
from omnigraph.write.load.keys import InputKeys, Piece, open_keys
from omnigraph.write.load.mode import LoadMode
from tests.support.tuning import retuned

SCHEMA = """
node Person {
    name: String @key
    mail: String? @unique
    born: Date?
    team: String?
    @unique(born, team)
}
node Note {
    text: String?
}
edge Knows: Person -> Person @unique(src, dst)
edge Wrote: Person -> Note
edge Likes: Person -> Person | Note
"""
NAMES = st.sampled_from(["a", "b", "c", "d", "\x1fa", "n1", "é"])
IDS = st.sampled_from(["n1", "n2", "a"])
PERSONS = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "mail": st.sampled_from([None, "x", "y", "z"]),
        "born": st.sampled_from([None, "1980-01-01", "1980-01-02"]),
        "team": st.sampled_from([None, "red", "blue"]),
    },
)
LIKED = st.builds(
    lambda kind, id_: {"type": kind, "id": id_}, st.sampled_from(["Person", "Note"]), st.one_of(NAMES, IDS)
)
RECORDS = st.one_of(
    PERSONS.map(lambda data: {"type": "Person", "data": data}),
    IDS.map(lambda id_: {"type": "Note", "data": {"id": id_}}),
    st.builds(lambda left, right: {"edge": "Knows", "from": left, "to": right, "data": {}}, NAMES, NAMES),
    st.builds(lambda left, right: {"edge": "Wrote", "from": left, "to": right, "data": {}}, NAMES, IDS),
    st.builds(lambda left, right: {"edge": "Likes", "from": left, "to": right, "data": {}}, NAMES, LIKED),
)
MODES = st.sampled_from([LoadMode.APPEND, LoadMode.MERGE, LoadMode.OVERWRITE])


def person(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **values}}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("proofs") / "graph", SCHEMA, durability="os")
    made.create_branch("empty")
    made.load([person("a", mail="x"), person("d"), {"type": "Note", "data": {"id": "n1"}}], "append")
    return made


def checked(
    graph: Graph, branch: str, rows: Sequence[TypedRows], mode: LoadMode, *, is_later: bool
) -> tuple[Any, set[str], int]:
    """The violations, the tables read, and the tables whose keys are in the database at the end."""
    snapshot, read, found = graph.snapshot(branch), set[str](), Violations()
    by_table: dict[str, list[TypedRows]] = {}
    for typed in rows:
        by_table.setdefault(typed.table_key, []).append(typed)
    with open_keys(lambda connection: InputKeys(connection, grouped_rows=3)) as keys:
        for key, typed_rows in by_table.items():
            source = keys.source(key)

            def pieces(
                _: Sequence[str] = (), source: int = source, typed_rows: list[TypedRows] = typed_rows
            ) -> Iterator[Piece]:
                return ((source, typed) for typed in typed_rows)

            entity = typed_rows[0].entity
            if is_later:
                keys.add_later(entity, sum(typed.batch.num_rows for typed in typed_rows), pieces, IdOrder(False, False))
            else:
                keys.add_all(entity, pieces)
        settle_duplicates(keys, mode, found)
        try:
            GraphChecks(keys, snapshot.catalog, CommittedKeys(snapshot.store, snapshot.state, read), mode, found).run()
        except Exception as error:
            return (type(error), str(error)), read, 0
        counts = {key: table.rows for key, table in keys.tables.items()}
        inserted = sum(table.later is None for table in keys.tables.values())
        return (found.counts, [str(sample) for sample in found.samples], counts), read, inserted


def typed(graph: Graph, records: Sequence[dict[str, Any]]) -> list[TypedRows]:
    violations = Violations()
    catalog = graph.catalog("main")
    mint = UlidSource().new_ids
    found = list(read_objects(records, catalog=catalog, source="s", mint_ids=mint, violations=violations, batch_rows=4))
    assert not violations.total
    return found


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    records=st.lists(RECORDS, max_size=14), mode=MODES, branch=st.sampled_from(["main", "empty"]), small=st.booleans()
)
def test_keys_read_again_have_the_same_violations(
    graph: Graph, records: list[dict[str, Any]], mode: LoadMode, branch: str, small: bool
) -> None:
    rows = typed(graph, records)
    with retuned(graph, known_ids_bytes=60) if small else nullcontext():
        later = checked(graph, branch, rows, mode, is_later=True)
    now = checked(graph, branch, rows, mode, is_later=False)
    assert later[:2] == now[:2]


CLEAN = [
    *(person(name, mail=name, born="1980-01-01", team=name) for name in "zyxwv"),
    {"type": "Note", "data": {"id": "a"}},
    {"edge": "Knows", "from": "z", "to": "y", "data": {}},
    {"edge": "Knows", "from": "z", "to": "x", "data": {}},
    {"edge": "Wrote", "from": "z", "to": "a", "data": {}},
    {"edge": "Likes", "from": "v", "to": {"type": "Note", "id": "a"}, "data": {}},
    {"edge": "Likes", "from": "v", "to": {"type": "Person", "id": "v"}, "data": {}},
]


def test_an_input_without_mistakes_needs_no_database(graph: Graph) -> None:
    _, _, inserted = checked(graph, "empty", typed(graph, CLEAN), LoadMode.APPEND, is_later=True)
    assert inserted == 0
    edges = [
        {"edge": "Knows", "from": "a", "to": "d", "data": {}},
        {"edge": "Wrote", "from": "d", "to": "n1", "data": {}},
    ]
    _, read, inserted = checked(graph, "main", typed(graph, edges), LoadMode.APPEND, is_later=True)
    assert inserted == 0
    assert {"node:Person", "node:Note"} <= read


def test_equal_texts_next_to_each_other_are_looked_up_once() -> None:
    assert proofs.without_runs(pa.array(["a", "a", "b", "b", "b", "a"])).to_pylist() == ["a", "b", "a"]
    for texts in ([], ["a"], ["a", "b"], ["a", "a"]):
        assert set(proofs.without_runs(pa.array(texts, pa.utf8())).to_pylist()) == set(texts)
