"""The profile of a write: its steps, what they did to which table, and the requests that the store really got."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.profile import OperatorProfile
from omnigraph.core.tuning import Tuning
from omnigraph.engine.results import LoadResult, MutationResult
from omnigraph.wire.operators import operators_json
from tests.promises.cost.counting import PERSON, SCHEMA, THREE, Counted
from tests.support.faults.s3 import Bucket, Server

STEPS = ["Read", "Check", "Stage", "Publish"]


def _steps(result: MutationResult | LoadResult) -> dict[str, OperatorProfile]:
    whole, *below = result.operators
    assert (whole.operator, whole.depth) == ("Mutation" if isinstance(result, MutationResult) else "Load", 0)
    steps = {item.operator: item for item in below if item.depth == 1}
    assert list(steps) == STEPS
    return {"whole": whole, **steps}


@pytest.mark.s3
def test_the_requests_of_a_profile_are_those_that_the_store_got(s3_server: Server, s3_bucket: Bucket) -> None:
    counted = Counted(s3_server, s3_bucket)
    graph = counted.create()
    graph.mutate(THREE, {"n": "first"})
    made: list[MutationResult] = []
    requests = counted.requests(lambda: made.append(graph.mutate(THREE, {"n": "x"}, stats=True)))
    steps = _steps(made[0])
    assert steps["whole"].requests == len(requests) == 2 * 3 + 2
    assert (steps["Stage"].requests, steps["Publish"].requests) == (6, 2)
    assert (steps["Read"].requests, steps["Check"].requests) == (0, 0)
    assert steps["whole"].bytes == 0
    assert 0 < steps["Stage"].written < steps["whole"].written == steps["Stage"].written + steps["Publish"].written


def test_a_mutation_tells_what_every_statement_and_step_did(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA)
    graph.load([{"type": "Person", "data": {"name": f"p{number}", "age": number}} for number in range(20)])
    graph.load([{"edge": "Knows", "from": "p1", "to": "p2"}])
    text = """query q($n: String) {
        insert Person { name: $n }
        update Person set { age: 99 } where age < 5
        delete Person where name = "p1"
    }"""
    result = graph.mutate(text, {"n": "secret"}, stats=True)
    steps = _steps(result)
    statements = [item for item in result.operators if item.depth == 2]
    assert [item.operator.split(" ", 2)[:2] for item in statements] == [
        ["1.", "InsertNode"],
        ["2.", "UpdateNodes"],
        ["3.", "DeleteNodes"],
    ]
    assert [item.rows for item in statements] == [1, 5, 2]
    assert statements[1].remarks == ("full scan of node:Person",)
    assert (steps["whole"].rows, steps["Read"].rows, steps["Check"].rows, steps["Publish"].rows) == (7, 8, 5, 1)
    assert steps["Stage"].remarks == (
        "edge:Knows: modify, 0 inserted, 0 updated, 1 deleted",
        "node:Person: modify, 1 inserted, 4 updated, 1 deleted",
    )
    assert steps["Read"].bytes > 0
    assert result.commit is not None
    assert result.commit.id in steps["Publish"].remarks[0]
    assert "secret" not in result.stats()
    assert "written  operator" in result.stats().splitlines()[0]
    assert [item["operator"] for item in operators_json(result.operators)] == [
        item.operator for item in result.operators
    ]
    assert graph.mutate(PERSON, {"n": "x"}).operators == ()


def test_a_condition_on_an_indexed_property_names_its_index(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", "node Item { name: String @key\n  size: I64 @index }")
    graph.load([{"type": "Item", "data": {"name": f"i{number}", "size": number}} for number in range(10_000)])
    graph.optimize()
    result = graph.mutate("query q() { delete Item where size = 7 }", stats=True)
    assert result.operators[2].remarks == ("index size (btree), 100 % covered",)
    assert "index size (btree), 100 % covered" in str(graph.explain("query q() { delete Item where size = 7 }"))


@pytest.mark.parametrize("in_memory", [100, 99])
def test_a_load_tells_what_every_step_did_whichever_way_it_took(tmp_path: Path, in_memory: int) -> None:
    rows = 100
    graph = omnigraph.create(tmp_path / "g", SCHEMA, tuning=Tuning(buffered_rows_max=in_memory))
    people = [{"type": "Person", "data": {"name": f"p{number}"}} for number in range(rows)]
    graph.load([{"type": "Person", "data": {"name": f"p{number}", "age": 1}} for number in range(10)])
    result = graph.load(people, "merge", stats=True)
    steps = _steps(result)
    assert [steps[name].rows for name in ("whole", *STEPS)] == [rows, rows, rows, rows, 1]
    assert steps["Stage"].remarks == (f"node:Person: upsert, {rows - 10:,} inserted, 10 updated, 0 deleted",)
    assert bool(steps["Read"].remarks) == (in_memory < rows)
    assert steps["whole"].written > 5 * rows


def test_a_write_that_is_done_again_counts_both_times(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA)
    graph.mutate(PERSON, {"n": "a"})
    omnigraph.open(tmp_path / "g").mutate(PERSON, {"n": "b"})
    update = 'query q() { update Person set { age: 5 } where name = "a" }'
    result = graph.mutate(update, stats=True)
    steps = _steps(result)
    assert "concurrent commit: checked and staged again" in steps["Publish"].remarks
    assert (steps["whole"].rows, steps["Stage"].rows) == (1, 2)
