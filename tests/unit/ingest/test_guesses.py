"""Guesses about types, keys and ends, from statistics alone."""

from dataclasses import replace

import pytest

from omnigraph.core.scalars import Scalar
from omnigraph.errors import UsageError
from omnigraph.ingest.infer.ends import End, named_ends
from omnigraph.ingest.infer.facts import ColumnFacts, Declared, Overlap, TableFacts, TextForms
from omnigraph.ingest.infer.keys import key_rank, owned_key, possible_key
from omnigraph.ingest.infer.plans import plan_types
from omnigraph.ingest.infer.properties import guess_property
from omnigraph.ingest.infer.text import schema_text
from omnigraph.schema.types import PropertyType

TEXT = PropertyType(Scalar.STRING)
WRITTEN = ColumnFacts("c", 1, TEXT, is_written=True, rows=30, present=30, distinct=30)


def _column(name: str, position: int = 1, rows: int = 30, **facts: object) -> ColumnFacts:
    base = ColumnFacts(name, position, TEXT, is_written=True, rows=rows, present=rows, distinct=rows)
    return replace(base, **facts)  # type: ignore[arg-type] # the fields are checked by the class


def _integers(name: str, position: int = 1, rows: int = 30, **facts: object) -> ColumnFacts:
    return _column(name, position, rows, forms=TextForms(integers=rows, decimals=rows), low=1, high=rows, **facts)


def _table(stem: str, *columns: ColumnFacts, given: str | None = None, declared: Declared = Declared()) -> TableFacts:  # noqa: B008 # frozen
    return TableFacts(f"{stem}.csv", stem, given, columns[0].rows, columns, declared)


@pytest.mark.parametrize(
    ("facts", "type_"),
    [
        ({"forms": TextForms(integers=30, decimals=30), "low": 1, "high": 9}, "I64"),
        ({"forms": TextForms(integers=30, decimals=30), "low": 0, "high": 2**64 - 1}, "U64"),
        ({"forms": TextForms(integers=30, decimals=30), "low": -1, "high": 2**64 - 1}, "String"),
        ({"forms": TextForms(integers=29, decimals=30)}, "F64"),
        ({"forms": TextForms(integers=29, decimals=29)}, "String"),
        ({"forms": TextForms(booleans=30)}, "Bool"),
        ({"declared": PropertyType(Scalar.F64), "present": 29}, "F64?"),
        ({"declared": PropertyType(Scalar.F64), "present": 29, "is_gapped": True}, "I64?"),
        ({"forms": TextForms(dates=30)}, "Date"),
        ({"forms": TextForms(dates=10, times=20)}, "DateTime"),
        ({"forms": TextForms(text_lists=30)}, "[String]"),
        ({"forms": TextForms(integer_lists=30, decimal_lists=30), "lengths": (0, 4)}, "[I64]"),
        ({"forms": TextForms(integer_lists=30, decimal_lists=30, text_lists=30), "lengths": (0, 0)}, "[String]"),
        ({"forms": TextForms(decimal_lists=30), "lengths": (3, 3)}, "[F64]"),
        ({"forms": TextForms(decimal_lists=30), "lengths": (16, 16)}, "Vector(16)"),
        ({"forms": TextForms(decimal_lists=30), "lengths": (15, 16)}, "[F64]"),
        ({"name": "text_embedding", "forms": TextForms(decimal_lists=30), "lengths": (3, 3)}, "Vector(3)"),
        ({"values": ("b", "a")}, "enum(a, b)"),
        ({"values": tuple("abcdefghij")}, "enum(a, b, c, d, e, f, g, h, i, j)"),
        ({"values": ("a b", "c")}, "String"),
        ({"values": ("a",)}, "String"),
        ({"values": ("a", "b"), "present": 5}, "String?"),
        ({"values": ("a", "b"), "present": 6}, "enum(a, b)?"),
        ({"present": 29}, "String?"),
        ({"present": 0}, "String?"),
        ({"rows": 0, "present": 0}, "String?"),
        ({"is_written": False, "forms": TextForms(integers=30, decimals=30)}, "String"),
        ({"is_written": False, "forms": TextForms(dates=30)}, "Date"),
        ({"is_written": False, "is_json": True, "forms": TextForms(text_lists=30)}, "[String]"),
        ({"is_written": False, "declared": PropertyType(Scalar.U32)}, "U32"),
        ({"is_written": False, "declared": PropertyType(Scalar.F32, is_list=True), "lengths": (64, 64)}, "Vector(64)"),
    ],
)
def test_a_property_has_the_narrowest_type_that_later_rows_will_fit(facts: dict[str, object], type_: str) -> None:
    guess = guess_property(replace(WRITTEN, **facts))  # type: ignore[arg-type] # the fields are checked by the class
    assert guess is not None
    assert str(guess.type) == type_
    assert guess.reason


@pytest.mark.parametrize("facts", [{"declared": None}, {"is_json": True, "forms": TextForms(objects=1)}])
def test_no_property_holds_nested_values(facts: dict[str, object]) -> None:
    assert guess_property(replace(WRITTEN, **facts)) is None  # type: ignore[arg-type] # the fields are checked


def test_keys_are_preferred_by_their_names() -> None:
    best_first = ["id", "person_id", "personKey", "key", "uuid", "code", "email", "name", "company_id"]
    ranks = [key_rank(name, "people") for name in best_first]
    assert ranks == sorted(ranks, key=lambda rank: -1 if rank is None else rank)
    assert len(set(ranks)) == len(ranks)
    assert key_rank("age", "people") is None


def test_a_key_is_unique_never_null_and_named_like_one() -> None:
    age, name, email = _integers("age"), _column("name", 2), _column("email", 3)
    unique = {"is_unique": True}
    assert owned_key(_table("people", age, replace(name, **unique), replace(email, **unique))).name == "email"  # type: ignore[union-attr, arg-type] # found
    assert owned_key(_table("people", replace(age, **unique), name, email)) is None  # type: ignore[arg-type] # a fact
    assert possible_key(_table("people", replace(age, **unique), name)).name == "age"  # type: ignore[union-attr, arg-type] # found
    rates = _column("rate", forms=TextForms(decimals=30), is_unique=True)
    assert possible_key(_table("people", rates)) is None


@pytest.mark.parametrize(
    ("columns", "ends"),
    [
        (["src", "dst"], ("src", "dst")),
        (["since", "From", "TO"], ("From", "TO")),
        (["source_id", "targetId"], ("source_id", "targetId")),
        (["start_node", "end_node"], ("start_node", "end_node")),
        (["from_person", "to_company"], ("from_person", "to_company")),
        (["from_date", "to_date"], None),
        (["src", "to"], None),
        (["name"], None),
    ],
)
def test_ends_are_named_in_pairs(columns: list[str], ends: tuple[str, str] | None) -> None:
    assert named_ends(columns, ["Person", "Company"]) == ends


ID = _integers("id", is_unique=True)
PEOPLE = _table("people", ID, _column("name", 2))
COMPANIES = _table("companies", _integers("company_id", is_unique=True))
IN, OUT, HALF = Overlap(10, 0), Overlap(10, 10), Overlap(10, 4)


def _edge(*tables: TableFacts, overlaps: dict[tuple[str, str], Overlap]) -> tuple[End, End] | None:
    planned = plan_types(tables, {len(tables) - 1: overlaps})
    return next((type_.ends for type_ in planned if type_.ends is not None), None)


def _types(ends: tuple[End, End] | None) -> tuple[str | None, str | None] | None:
    return None if ends is None else (ends[0].type, ends[1].type)


def test_named_ends_have_the_type_whose_keys_hold_their_values() -> None:
    knows = _table("knows", _integers("src"), _integers("dst", 2))
    both = {("src", "Person"): IN, ("dst", "Person"): OUT, ("src", "Company"): OUT, ("dst", "Company"): IN}
    assert _types(_edge(PEOPLE, COMPANIES, knows, overlaps=both)) == ("Person", "Company")
    some = _edge(PEOPLE, knows, overlaps={("src", "Person"): IN, ("dst", "Person"): HALF})
    assert _types(some) == ("Person", "Person")
    assert some is not None
    assert "4 of its 10 different values are NOT keys of Person" in some[1].reason


def test_ends_that_no_table_holds_get_a_node_type() -> None:
    knows = _table("knows", _integers("src"), _integers("dst", 2))
    node, edge = plan_types([knows], {})
    assert (node.name, edge.name, _types(edge.ends)) == ("Node", "Knows", ("Node", "Node"))
    assert "nodeId: I64 @key" in schema_text([node, edge])


def test_two_columns_of_keys_are_an_edge_only_without_a_key_of_their_own() -> None:
    works = _table("works_at", _integers("person_id"), _integers("company_id", 2), _integers("rating", 3))
    found = {("person_id", "Person"): IN, ("company_id", "Company"): IN, ("rating", "Person"): IN}
    assert _types(_edge(PEOPLE, COMPANIES, works, overlaps=found)) == ("Person", "Company")
    visits = _table("visits", ID, *works.columns[1:])
    assert _edge(PEOPLE, COMPANIES, visits, overlaps=found) is None
    numbers = _table("sizes", _integers("width"), _integers("height", 2))
    assert _edge(PEOPLE, numbers, overlaps={("width", "Person"): IN, ("height", "Person"): IN}) is None
    names = _table("likes", _column("who"), _column("whom", 2))
    assert _types(_edge(PEOPLE, names, overlaps={("who", "Person"): IN, ("whom", "Person"): IN})) == (
        "Person",
        "Person",
    )


def test_an_end_never_refers_to_a_table_of_edges() -> None:
    ids = _integers("id", is_unique=True)
    sources = [_table(stem, ids, _integers("source", 2), _integers("target", 3)) for stem in ("likes", "cites")]
    both = {(end, type_): IN for end in ("source", "target") for type_ in ("Like", "Cite", "Person")}
    planned = plan_types([*sources, PEOPLE], {0: both, 1: both})
    assert [type_.name for type_ in planned] == ["Person", "Likes", "Cites"]
    assert [_types(type_.ends) for type_ in planned[1:]] == [("Person", "Person")] * 2
    works = _table("works_at", _integers("person_id", is_unique=True), _integers("company_id", 2))
    lives = _table("lives_at", _integers("person_id"), _integers("company_id", 2))
    found = {("person_id", "Person"): IN, ("company_id", "Company"): IN, ("person_id", "WorksAt"): IN}
    planned = plan_types([works, lives, PEOPLE, COMPANIES], {0: found, 1: found})
    assert [_types(type_.ends) for type_ in planned[2:]] == [("Person", "Company")] * 2


def test_a_foreign_key_of_a_node_stays_a_property_with_a_remark() -> None:
    orders = _table("orders", _integers("order_id", is_unique=True), _integers("company_id", 2), _integers("size", 3))
    found = {("company_id", "Company"): IN, ("size", "Company"): IN}
    text = schema_text(plan_types([COMPANIES, orders], {1: found}))
    assert "company_id: I64 // guessed: integers from 1 to 30; never null in 30 rows; every value is a key of" in text
    assert text.count("every value is a key of Company") == 1


def test_a_period_is_not_an_edge() -> None:
    for columns in ([ID], [_column("value")]):
        events = _table("events", *columns, _integers("start", 2), _integers("end", 3))
        assert _edge(events, overlaps={}) is None
    days = _table("stays", _column("from", forms=TextForms(dates=30)), _column("to", 2, forms=TextForms(dates=30)))
    assert _edge(days, overlaps={}) is None


def test_a_first_column_becomes_the_key_if_edges_hold_its_values() -> None:
    airports = _table("airports", _column("iata", is_unique=True), _column("city", 2))
    flights = _table("flights", _column("from"), _column("to", 2))
    assert "iata: String @key" in schema_text(
        plan_types([airports, flights], {1: {("from", "Airport"): IN, ("to", "Airport"): IN}})
    )
    assert "@key" not in schema_text(plan_types([airports], {}))


def test_stated_facts_are_not_guessed() -> None:
    stated = Declared(is_edge=False, key="k", names={"k": "code"})
    [node] = plan_types([_table("things", _column("k", present=29), declared=stated)], {})
    assert 'code: String @key // column "k"; stated by the source' in schema_text([node])


def test_two_sources_of_one_type_are_refused_with_the_way_to_name_one() -> None:
    with pytest.raises(UsageError, match=r"two sources give the type Person: people.csv and person.csv") as raised:
        plan_types([PEOPLE, replace(PEOPLE, source="person.csv", stem="person")], {})
    assert raised.value.hint == "name one of them, such as OtherPerson=person.csv"


def test_comments_stay_in_their_lines() -> None:
    [node] = plan_types([_table("people", _column("a\nb // c"), given="Person")], {})
    [line] = [line for line in schema_text([node]).splitlines() if "aBC" in line]
    assert line.startswith('  aBC: String // column "a b // c"; guessed: ')
