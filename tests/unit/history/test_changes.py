"""Filters of changes and their JSON form: which changes are selected, and which filters are the same."""

from itertools import product

import pytest

from omnigraph.errors import UsageError
from omnigraph.history.changes import Change, ChangeFilter, Image, Op, read_filter
from omnigraph.wire.changes import change_json


@pytest.mark.parametrize(
    ("kind", "type_", "op"), list(product((None, "node", ["node", "edge"]), (None, "Person"), (None, ["insert"], [])))
)
def test_a_change_is_selected_if_every_dimension_selects_it(
    kind: str | list[str] | None, type_: str | None, op: list[str] | None
) -> None:
    chosen = read_filter(kind, type_, op)
    for change_kind, name, change_op in product(("node", "edge"), ("Person", "Knows"), Op):
        is_kind = kind is None or change_kind == kind or change_kind in kind
        is_type = type_ is None or name == type_
        assert chosen.wants_type(change_kind, name) == (is_kind and is_type)
        assert chosen.wants(change_op) == (not op or change_op.value in op)


def test_filters_that_select_the_same_have_one_digest_and_others_have_another() -> None:
    same = [
        (read_filter(), read_filter(kind=["edge", "node"], op=["delete", "insert", "update"])),
        (read_filter(kind="node"), read_filter(kind=["node", "node"])),
        (read_filter(type=["A", "B"]), read_filter(type=("B", "A"))),
        (read_filter(), read_filter(kind=[], type=[], op=[])),
    ]
    for one, other in same:
        assert one.digest == other.digest
    different = [
        read_filter(),
        read_filter(kind="node"),
        read_filter(kind="edge"),
        read_filter(type="node"),
        read_filter(type=["A", "B"]),
        read_filter(type="A,B"),
        *(read_filter(op=op.value) for op in Op),
    ]
    assert len({chosen.digest for chosen in different}) == len(different)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"kind": "table"}, "unknown kind of entity: 'table'"),
        ({"kind": ["node", "Edge"]}, "unknown kind of entity: 'Edge'"),
        ({"op": "upsert"}, "unknown operation of a change: 'upsert'"),
    ],
)
def test_an_unknown_kind_or_operation_is_refused_with_the_known_ones(
    given: dict[str, str | list[str]], match: str
) -> None:
    with pytest.raises(UsageError, match=match) as raised:
        read_filter(**given)
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("expected one of")


def test_a_type_is_not_known_to_the_filter_and_so_not_refused() -> None:
    assert read_filter(type="Persn") == ChangeFilter(types=frozenset({"Persn"}))


def test_a_change_shows_the_images_it_has_and_an_update_what_changed() -> None:
    node, edge = Image({"age": 1}), Image({}, "ann", "bo")
    inserted = change_json(Change("node", "7", "Person", "ann", Op.INSERT, None, node))
    assert inserted["after"] == {"properties": {"age": 1}}
    assert inserted.keys() & {"before", "changed"} == set()
    deleted = change_json(Change("edge", "8", "Knows", "e", Op.DELETE, edge, None))
    assert deleted["before"] == {"properties": {}, "endpoints": {"from": "ann", "to": "bo"}}
    assert deleted.keys() & {"after", "changed"} == set()
    updated = change_json(Change("node", "7", "Person", "ann", Op.UPDATE, node, Image({"age": 2}), ("age",)))
    assert (updated["op"], updated["changed"], updated["type"]) == ("update", ["age"], {"id": "7", "name": "Person"})
