"""Order and limit: the rows are those of sorting everything, and little else is read or made."""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.core.tuning import Tuning
from omnigraph.exec.shape.order import Key, first_rows
from omnigraph.exec.shape.steps import sorted_rows
from omnigraph.exec.tables import Rows
from tests.features.exec.people import People
from tests.support.tuning import retuned

NAN = float("nan")
POOLS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [None, -(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1]),
    (pa.uint64(), [None, 0, 1, 2**64 - 1]),
    (pa.float64(), [None, NAN, -0.0, 0.0, -1.5, float("inf"), -float("inf")]),
    (pa.string(), [None, "", "a", "ab", "b", "é", "\U0001f600", "a\x00"]),
    (pa.bool_(), [None, True, False]),
    (pa.date32(), [None, -1, 0, 19_000]),
    (pa.timestamp("ms", tz="UTC"), [None, -1, 0, 1_577_836_800_000]),
]


def columns(rng: Random, rows: int) -> list[pa.Array]:
    found = []
    for _ in range(rng.randint(1, 3)):
        type_, pool = rng.choice(POOLS)
        pool = [value for value in pool if value is not None or rng.random() < 0.6]
        found.append(pa.array([rng.choice(pool) for _ in range(rows)], type_))
    return found


def readers(values: list[pa.Array], descending: list[bool], read: list[int] | None = None) -> list[Key]:
    def reader(number: int) -> Any:
        def take(rows: Rows) -> pa.Array:
            if read is not None:
                read[number] += len(rows)
            return values[number].take(pa.array(rows))

        return take

    return [(reader(number), flag) for number, flag in enumerate(descending)]


@pytest.mark.parametrize("seed", range(300))
def test_the_first_rows_are_those_of_sorting_everything(seed: int) -> None:
    rng = Random(seed)
    tuning = Tuning(selected_share=rng.choice([1, 1, 4]), selected_rows_min=0)
    rows = rng.choice([0, 1, 5, 40])
    values = columns(rng, rows)
    descending = [rng.random() < 0.5 for _ in values]
    stop = rng.randint(0, rows)
    expected = sorted_rows(list(zip(values, descending, strict=True)), rows)[:stop]
    found = first_rows(readers(values, descending), np.arange(rows), stop, tuning)
    assert found.tolist() == expected.tolist()


def test_later_keys_are_read_only_for_rows_that_may_be_among_the_first() -> None:
    values = [pa.array(np.arange(10_000) % 1000), pa.array(np.arange(10_000)), pa.array(np.arange(10_000))]
    read = [0, 0, 0]
    found = first_rows(readers(values, [True, False, False], read), np.arange(10_000), 3, Tuning())
    assert found.tolist() == [999, 1999, 2999]
    assert read[0] == 10_000
    assert read[1] <= 20
    assert read[2] <= 20


# --- a limit without an order ----------------------------------------------------------------------------


def scanned(result: Any) -> list[int]:
    return [operator.rows for operator in result.operators if operator.operator.lower().startswith("scan")]


@pytest.fixture
def small_steps(people: People) -> Iterator[None]:
    with retuned(people.graph, chunk_rows_min=1, chunk_growth=2):
        yield


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(
    ("match", "limit", "starts"),
    [
        ("$p: Person $p knows $q", 1, 1),
        ("$p: Person $p knows $q", 3, 3),
        ("$p: Person $p knows $q", 100, 5),
        ("$p: Person $p knows $q", 0, 1),
        ("$p: Person maybe { $p knows $q }", 2, 3),
        ("$p: Person not { $p knows $x } $q: Company", 2, 5),
        ("$p: Person $p.age > 25 $p knows $q", 1, 1),
    ],
)
def test_a_limit_stops_early(people: People, match: str, limit: int, starts: int) -> None:
    every = people.rows(match, "$p, $q")
    result = people.ask(match, "$p, $q", f"limit {limit}", stats=True)
    rows = [tuple(row.values()) for row in result.to_pylist()]
    assert len(rows) == min(limit, len(every))
    assert not [row for row in rows if row not in every]
    assert len(set(rows)) == len(rows)
    assert scanned(result)[0] <= starts
    says_stopped = any("stopped after" in remark for operator in result.operators for remark in operator.remarks)
    assert says_stopped == (scanned(result)[0] < 5 - ("age" in match) * 2)


@pytest.mark.usefixtures("small_steps")
def test_pages_without_an_order_are_all_rows_once(people: People) -> None:
    every = people.rows("$p: Person $p knows{1,3} $q $c: Company", "$p, $q, $c")
    pages = [
        row
        for start in range(0, len(every), 7)
        for row in people.rows("$p: Person $p knows{1,3} $q $c: Company", "$p, $q, $c", f"limit 7 offset {start}")
    ]
    assert sorted(pages) == sorted(every)


def test_a_few_of_very_many_combinations_fit_into_little_memory(people: People) -> None:
    variables = " ".join(f"$v{number}: Person" for number in range(6))
    assert len(people.ask(variables, "$v0, $v5", "limit 4", memory_limit=1_000_000)) == 4
