"""Results as JSON: encoders of web frameworks, which read the fields of dataclasses, take every result as it is."""

import dataclasses
import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_jsonable_python

import omnigraph

SCHEMA = "node Person { name: String @key\n  age: I32?\n  born: Date? }\nedge Knows: Person -> Person"
PEOPLE = [{"type": "Person", "data": {"name": name, "age": 3, "born": "2020-01-02"}} for name in ("ann", "bo")]
ROWS = "query q() { match { $p: Person } return { $p.name as name, $p.born as born } order { name asc } }"
GROW = 'query q() { update Person set {age: 4} where name = "ann" }'


def _fields(value: Any) -> Any:
    """The way of FastAPI's ``jsonable_encoder`` for a response without a model."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(dataclasses.asdict(value))
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {_fields(key): _fields(item) for key, item in value.items()}
    return [_fields(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> Any:
    """Fields alone, for programs that use nothing but the standard library."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    graph = omnigraph.create(tmp_path_factory.mktemp("json") / "g", SCHEMA, durability="os")
    found: dict[str, Any] = {"load": graph.load([*PEOPLE, {"edge": "Knows", "from": "ann", "to": "bo", "data": {}}])}
    found |= {"branch": graph.create_branch("b"), "mutate": graph.mutate(GROW, branch="b")}
    found |= {"query": graph.query(ROWS, stats=True), "sql": graph.sql("select name from Person order by name")}
    found |= {"analyze": graph.analyze.degrees("Knows"), "branches": graph.branches(), "commits": list(graph.commits())}
    found |= {"changes": graph.changes("beginning"), "commit": graph.commit_changes("HEAD"), "counts": graph.counts()}
    found |= {"preview": graph.merge_preview("b"), "merge": graph.merge("b"), "revert": graph.revert("HEAD")}
    found |= {"dry": graph.mutate_preview(GROW), "plan": graph.plan_schema(f"{SCHEMA}\nnode City {{ name: String }}")}
    found |= {"explain": graph.explain(ROWS), "verify": graph.verify(), "doctor": graph.doctor()}
    found |= {"optimize": graph.optimize(), "cleanup": graph.cleanup(dry_run=True), "schema": graph.schema}
    return found


@pytest.mark.parametrize("encode", [_fields, to_jsonable_python, _plain], ids=["fields", "pydantic", "plain"])
def test_every_result_is_encoded(results: dict[str, Any], encode: Callable[[Any], Any]) -> None:
    for name, result in results.items():
        assert json.loads(json.dumps(encode(result))) is not None, name
    assert encode(results["query"])["rows"] == [
        {"name": "ann", "born": "2020-01-02"},
        {"name": "bo", "born": "2020-01-02"},
    ]
    assert encode(results["analyze"])["rows"][0]["id"] == "ann"


def test_the_rows_of_a_result_are_plain_json(results: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(results["query"].rows))
    assert json.loads((tmp_path / "rows.json").read_text())[1]["name"] == "bo"
    assert results["query"][:1].rows == results["query"].rows[:1]
    assert [field.name for field in dataclasses.fields(results["query"])] == [
        "query_name",
        "branch",
        "commit_id",
        "operators",
        "rows",
    ]
