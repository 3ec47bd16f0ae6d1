"""Constraints over several rows: a delta is judged as a whole, over a small committed graph held in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.validate import TableDelta, Texts, check_delta, column_texts, missing_nodes, unique_columns
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeType
from tests.unit.rows.schemas import catalog

CATALOG = catalog("""
node Person { name: String @key email: String? @unique city: String? zip: I32? @unique(city, zip) }
node Firm { name: String @key }
edge Knows: Person -> Person
edge WorksAt: Person -> Firm @card(0..1)
edge Owns: Person -> Firm @card(1..2)
""")
PERSON, FIRM = CATALOG.nodes["Person"], CATALOG.nodes["Firm"]
KNOWS, WORKS_AT, OWNS = CATALOG.edges["Knows"], CATALOG.edges["WorksAt"], CATALOG.edges["Owns"]

Row = Mapping[str, object]


def table(entity: Entity, rows: Iterable[Row]) -> pa.Table:
    schema = pa.schema([item.with_nullable(True) for item in table_schema(entity)])
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def person(id_: str, **values: object) -> Row:
    return {"id": id_, "name": id_, **values}


def edge(id_: str, src: str, dst: str) -> Row:
    return {"id": id_, "src": src, "dst": dst}


@dataclass
class InMemory:
    """A committed graph as rows by table."""

    rows: dict[str, list[Row]] = field(default_factory=dict)

    def existing_ids(self, table_key: str, ids: Sequence[str]) -> set[str]:
        return {str(row["id"]) for row in self.rows.get(table_key, [])} & set(ids)

    def holders(self, entity: Entity, columns: Texts, wanted: set[Texts]) -> Iterable[tuple[Texts, str]]:
        held = table(entity, self.rows.get(entity.table_key, []))
        texts = zip(*(column_texts(entity, column, held) for column in columns), strict=True)
        for id_, row in zip(held.column("id").to_pylist(), texts, strict=True):
            if row in wanted:
                yield tuple(text for text in row if text is not None), id_

    def edges_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        found = [row for row in self.rows.get(edge.table_key, []) if row[end] in ids]
        return table(edge, found).select(["id", "src", "dst"])

    def edges_left_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        return self.edges_at(edge, end, ids)

    def sources(self, edge: EdgeType) -> Iterable[str]:
        return dict.fromkeys(str(row["src"]) for row in self.rows.get(edge.table_key, []))

    def vacated(self, edge: EdgeType, sources: Sequence[str]) -> set[str]:
        return set(sources)


COMMITTED = InMemory(
    {
        "node:Person": [person("ann", email="a@x", city="Rome", zip=1), person("bo", email="b@x"), person("cy")],
        "node:Firm": [{"id": "acme", "name": "acme"}, {"id": "ibm", "name": "ibm"}],
        "edge:Knows": [edge("k1", "ann", "bo")],
        "edge:WorksAt": [edge("w1", "ann", "acme")],
        "edge:Owns": [edge("o1", "ann", "acme"), edge("o2", "ann", "ibm"), edge("o3", "bo", "acme")],
    }
)


def put(entity: Entity, *rows: Row, removed: Iterable[str] = (), replaces_all: bool = False) -> TableDelta:
    return TableDelta(entity, table(entity, rows), frozenset(removed), replaces_all)


def found(*deltas: TableDelta, committed: InMemory = COMMITTED) -> list[tuple[ViolationCode, str | None, str | None]]:
    violations = Violations(keeps_all=True)
    check_delta(CATALOG, {delta.entity.table_key: delta for delta in deltas}, committed, violations)
    return [_shown(violation) for violation in violations.samples]


def _shown(violation: Violation) -> tuple[ViolationCode, str | None, str | None]:
    return violation.code, violation.entity_id, violation.other_id


UNIQUE, ENDPOINT, CARDINALITY = ViolationCode.UNIQUE, ViolationCode.ENDPOINT, ViolationCode.CARDINALITY


def test_the_stored_columns_of_unique_constraints_are_named() -> None:
    assert sorted(unique_columns(PERSON)) == [("city", "zip"), ("email",)]
    both = catalog("node P { name: String @key }\nedge E: P -> P { @unique(src, dst) }").edges["E"]
    assert unique_columns(both) == [("src", "dst")]


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (put(PERSON, person("dan", email="d@x")), []),
        (put(PERSON, person("dan", email="a@x")), [(UNIQUE, "dan", "ann")]),
        (put(PERSON, person("dan", email="d@x"), person("eve", email="d@x")), [(UNIQUE, "eve", "dan")]),
        # The same entity may keep its value, and take one that its holder gives up in the same delta.
        (put(PERSON, person("ann", email="a@x")), []),
        (put(PERSON, person("ann", email="b@x"), person("bo", email="a@x")), []),
        (put(PERSON, person("dan", email="a@x"), removed=["ann"]), []),
        (put(PERSON, person("dan", email="a@x"), replaces_all=True), []),
        # A tuple with a null is held by no row.
        (put(PERSON, person("dan", city="Rome"), person("eve", city="Rome")), []),
        (put(PERSON, person("dan", city="Rome", zip=1)), [(UNIQUE, "dan", "ann")]),
        (put(PERSON, person("dan", city="Rome", zip=2)), []),
    ],
)
def test_a_unique_value_is_held_by_one_entity_after_the_delta(delta: TableDelta, expected: list[object]) -> None:
    assert [item for item in found(delta) if item[0] is UNIQUE] == expected


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([put(KNOWS, edge("k2", "bo", "cy"))], []),
        ([put(KNOWS, edge("k2", "bo", "dan"))], [(ENDPOINT, "k2", "dan")]),
        ([put(KNOWS, edge("k2", "dan", "eve"))], [(ENDPOINT, "k2", "dan"), (ENDPOINT, "k2", "eve")]),
        ([put(KNOWS, edge("k2", "bo", "dan")), put(PERSON, person("dan"))], []),
        ([put(KNOWS, edge("k2", "bo", "cy")), put(PERSON, removed=["cy"])], [(ENDPOINT, "k2", "cy")]),
        # A deleted node strands its edges, unless they are deleted or moved with it.
        ([put(FIRM, removed=["ibm"]), put(OWNS, removed=["o2"])], []),
        ([put(FIRM, removed=["ibm"])], [(ENDPOINT, "o2", "ibm")]),
        ([put(PERSON, removed=["bo"]), put(KNOWS, edge("k1", "ann", "cy")), put(OWNS, removed=["o3"])], []),
        ([put(PERSON, removed=["cy"])], []),
    ],
)
def test_both_endpoints_of_every_edge_exist_after_the_delta(deltas: list[TableDelta], expected: list[object]) -> None:
    assert found(*deltas) == expected


def test_an_overwrite_of_nodes_keeps_only_those_it_brings() -> None:
    deltas = {"node:Person": put(PERSON, person("ann"), replaces_all=True)}
    assert missing_nodes("node:Person", ["ann", "bo", "dan"], deltas, COMMITTED) == {"bo", "dan"}
    assert missing_nodes("node:Person", ["ann", "bo", "dan"], {}, COMMITTED) == {"dan"}


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([put(WORKS_AT, edge("w2", "bo", "acme"))], []),
        ([put(WORKS_AT, edge("w2", "ann", "ibm"))], [(CARDINALITY, None, "ann")]),
        ([put(WORKS_AT, edge("w2", "ann", "ibm"), removed=["w1"])], []),
        ([put(WORKS_AT, edge("w1", "ann", "ibm"))], []),
        ([put(WORKS_AT, edge("w2", "ann", "ibm"), replaces_all=True)], []),
        # A minimum is judged for the nodes that lose an edge, not for nodes that never had one.
        ([put(OWNS, removed=["o3"])], [(CARDINALITY, None, "bo")]),
        ([put(OWNS, removed=["o1"])], []),
        ([put(OWNS, edge("o3", "cy", "acme"))], [(CARDINALITY, None, "bo")]),
        ([put(OWNS, edge("o4", "bo", "ibm"), removed=["o3"])], []),
        ([put(OWNS, removed=["o3"]), put(PERSON, removed=["bo"]), put(KNOWS, removed=["k1"])], []),
        ([put(OWNS, edge("o1", "ann", "acme"), replaces_all=True)], [(CARDINALITY, None, "bo")]),
    ],
)
def test_the_number_of_edges_of_a_touched_node_is_within_its_bounds(
    deltas: list[TableDelta], expected: list[object]
) -> None:
    assert found(*deltas) == expected


def test_everything_that_is_broken_is_reported_together() -> None:
    broken = found(
        put(PERSON, person("dan", email="a@x")),
        put(KNOWS, edge("k2", "dan", "nix")),
        put(WORKS_AT, edge("w2", "ann", "ibm")),
    )
    assert [code for code, _, _ in broken] == [UNIQUE, ENDPOINT, CARDINALITY]
