"""The rule of ``@card`` by itself: touched sources, their edges after a write, and the bounds."""

import pytest

from omnigraph.rows.cardinality import (
    beyond_sql,
    edges_after,
    has_bounds,
    has_minimum,
    is_beyond,
    touched_sources,
)
from omnigraph.schema.catalog import EdgeType
from omnigraph.write.load.keys import KeyDatabase, open_keys
from tests.unit.rows.schemas import catalog

BOUNDS = [("", 0, None), ("@card(0..2)", 0, 2), ("@card(1..)", 1, None), ("@card(2..3)", 2, 3), ("@card(1..1)", 1, 1)]


def bounded(card: str) -> EdgeType:
    return catalog(f"node P {{ name: String @key }}\nedge E: P -> P {card}").edges["E"]


@pytest.mark.parametrize(("card", "low", "high"), BOUNDS)
def test_the_bounds_mean_the_same_in_python_and_in_sql(card: str, low: int, high: int | None) -> None:
    edge = bounded(card)
    assert has_bounds(edge) == (low > 0 or high is not None)
    assert has_minimum(edge) == (low > 0)
    with open_keys(KeyDatabase) as database:
        for count in range(6):
            expected = not low <= count <= (count if high is None else high)
            assert is_beyond(edge, count) == expected
            found = database.number(f"SELECT count(*) FROM (SELECT {count} AS n) WHERE {beyond_sql(edge, 'n')}")
            assert found == expected


def test_a_source_is_counted_if_the_write_touches_it_and_has_none_if_it_is_vacated() -> None:
    touched = touched_sources(before=["left", "moved", "left"], after=["new", "kept", "new"])
    assert touched == ["new", "kept", "left", "moved"]
    counts = edges_after(touched, kept=["kept", "moved", "untouched"], after=["new", "kept", "new"])
    assert counts == {"new": 2, "kept": 2, "left": 0, "moved": 1}
