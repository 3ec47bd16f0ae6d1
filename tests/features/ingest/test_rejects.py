"""Invalid rows go to a file with their reasons and records, and the others are one commit; nothing else is left."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import AlreadyExistsError, NotFoundError, UsageError, ViolationError
from tests.features.cli.run import run
from tests.features.spark.outcomes import data_files, lines, write_lines
from tests.features.spark.test_rejects import BAD, COMMITTED, EDGES, GOOD, MESSY, SCHEMA, mixed, person

RECORDS = [record for record in mixed() if isinstance(record, dict)]
WRONG = [record for record, _ in BAD if isinstance(record, dict)]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = create(tmp_path / "graph", SCHEMA, durability="os")
    made.load(COMMITTED, "append")
    return made


def rejected(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def reasons(path: Path) -> list[tuple[int, Any, list[str]]]:
    return [(row["line"], row["record"], [reason["code"] for reason in row["reasons"]]) for row in rejected(path)]


@pytest.mark.parametrize("mode", ["append", "merge", "upsert"])
def test_bad_lines_are_set_aside_and_the_rest_is_one_commit(graph: Graph, tmp_path: Path, mode: str) -> None:
    given = mixed()
    source, aside = write_lines(tmp_path / "data.jsonl", given), tmp_path / "rejected.jsonl"
    before = len(list(graph.commits()))
    loaded = graph.load(source, mode, reject_to=aside)
    found = rejected(aside)
    assert [row["record"] for row in found] == [record for record, _ in BAD]
    assert [given[row["line"] - 1] for row in found] == [record for record, _ in BAD]
    assert {row["file"] for row in found} == {source}
    for row, (_, message) in zip(found, BAD, strict=True):
        assert any(message in reason["message"] for reason in row["reasons"]), (row, message)
    assert (loaded.rejected, loaded.nodes, loaded.edges) == (len(BAD), {"Person": 20}, {"Knows": 2})
    assert len(list(graph.commits())) == before + 1
    # Exactly what the rest alone would have given.
    other = create(tmp_path / "other", SCHEMA, durability="os")
    other.load(COMMITTED, "append")
    other.load([*GOOD, *EDGES], mode)
    assert lines(graph) == lines(other)
    assert graph.verify().is_clean


SOURCES: dict[str, Callable[[Path], Any]] = {
    "list": lambda _: RECORDS,
    "generator": lambda _: (record for record in RECORDS),
    "stream": lambda _: io.BytesIO("\n".join(map(json.dumps, RECORDS)).encode()),
    "array": lambda path: _array(path / "data.json"),
    "stream of an array": lambda _: io.BytesIO(json.dumps(RECORDS).encode()),
}


def _array(path: Path) -> str:
    path.write_text(json.dumps(RECORDS))
    return str(path)


@pytest.mark.parametrize("name", SOURCES)
def test_records_are_kept_as_they_were_given(graph: Graph, tmp_path: Path, name: str) -> None:
    aside = tmp_path / "rejected.jsonl"
    options: dict[str, Any] = {"format": "json"} if name == "stream of an array" else {}
    loaded = graph.load(SOURCES[name](tmp_path), "append", reject_to=aside, **options)
    assert [row["record"] for row in rejected(aside)] == WRONG
    assert (loaded.rejected, loaded.total) == (len(WRONG), len(GOOD) + len(EDGES))


PEOPLE = [["p", 1, None], ["r", 300, None], ["p", 5, None], ["s", 7, "old@x"]]


@pytest.mark.parametrize("kind", ["csv", "frame", "reader", "columns"])
def test_rows_of_tables_are_kept_with_their_places(graph: Graph, tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame(PEOPLE, columns=["name", "age", "mail"])
    (tmp_path / "Person.csv").write_text(frame.to_csv(index=False).replace("r,300", "q,old,\nr,300"))
    sources = {
        "csv": tmp_path / "Person.csv",
        "frame": frame,
        "reader": pa.Table.from_pandas(frame).to_reader(),
        "columns": frame.to_dict("list"),
    }
    aside = tmp_path / "rejected.jsonl"
    loaded = graph.load(sources[kind], "append", type_name="Person", reject_to=aside)
    found = reasons(aside)
    wanted = [(1, ["duplicate_id"]), (2, ["range"]), (4, ["unique"])]
    ages: list[object] = [1, 300, 7]
    if kind == "csv":
        # Lines of the file, and values as given where one of them is wrong.
        wanted, ages = [(2, ["duplicate_id"]), (3, ["type"]), (4, ["range"]), (6, ["unique"])], [1, "old", "300", 7]
    assert [(line, codes) for line, _, codes in found] == wanted
    assert [record["data"]["age"] for _, record, _ in found] == ages
    assert found[-1][1] == {"type": "Person", "data": {"age": 7, "mail": "old@x", "name": "s"}}
    assert (loaded.rejected, loaded.nodes) == (len(wanted), {"Person": 1})


def test_the_same_file_twice_keeps_the_last_of_its_rows(graph: Graph, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "data.jsonl", [person("x"), person("y", age=999)])
    aside = tmp_path / "rejected.jsonl"
    loaded = graph.load([source, source], "append", reject_to=aside)
    assert (loaded.nodes, loaded.rejected) == ({"Person": 1}, 3)
    assert [row["line"] for row in rejected(aside)] == [1, 2, 2]


@pytest.mark.parametrize("mode", ["append", "merge", "upsert", "update", "overwrite"])
def test_a_preview_shows_what_would_be_rejected_and_writes_nothing(graph: Graph, tmp_path: Path, mode: str) -> None:
    source, aside = write_lines(tmp_path / "data.jsonl", MESSY), tmp_path / "rejected.jsonl"
    head, files = graph.snapshot().commit_id, data_files(graph)
    preview = graph.load_preview(source, mode, reject_to=aside)
    assert not list(tmp_path.glob("rejected*"))
    assert (graph.snapshot().commit_id, data_files(graph)) == (head, files)
    loaded = graph.load(source, mode, reject_to=aside)
    assert (preview.rejected, preview.total) == (loaded.rejected, sum(map(_changed, loaded.commit.tables)))
    first = rejected(aside)[0]
    assert preview.rejections[0] == f"{source}:{first['line']}: {first['reasons'][0]['message']}"
    assert f"{preview.rejected} rows rejected" in repr(preview)
    assert graph.verify().is_clean


def _changed(table: Any) -> int:
    return int(table.inserted + table.updated + table.deleted)


def test_a_load_that_fails_leaves_no_file(graph: Graph, tmp_path: Path) -> None:
    aside = tmp_path / "rejected.jsonl"
    head, files = graph.snapshot().commit_id, data_files(graph)
    too_many = [{"edge": "Knows", "from": "p1", "to": f"p{number}", "data": {}} for number in range(4)]
    with pytest.raises(ViolationError, match="@card"):
        graph.load([*GOOD, *too_many, person("bad", age=999)], "append", reject_to=aside)
    (tmp_path / "Person.csv").write_text("name,aeg\na,1\n")
    # A wrong column is no fault of a row.
    with pytest.raises(ViolationError, match="unknown property 'aeg'"):
        graph.load(tmp_path / "Person.csv", "append", reject_to=aside)
    with pytest.raises(NotFoundError):
        graph.load(tmp_path / "missing.csv", "append", type_name="Person", reject_to=aside)
    with pytest.raises(UsageError, match="cannot write"):
        graph.load(GOOD, "append", reject_to=tmp_path / "missing" / "x")
    with pytest.raises(UsageError, match="local file"):
        graph.load(GOOD, "append", reject_to="s3://bucket/x")
    assert not list(tmp_path.glob("rejected*"))
    assert (graph.snapshot().commit_id, data_files(graph)) == (head, files)
    assert graph.load(GOOD, "append", reject_to=aside).rejected == 0
    assert not aside.exists()
    aside.write_text("mine")
    with pytest.raises(AlreadyExistsError):
        graph.load(GOOD, "merge", reject_to=aside)
    assert aside.read_text() == "mine"


def test_the_command_rejects_previews_and_repeats_without_its_files(graph: Graph, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "data.jsonl", [*GOOD, "{"])
    aside = tmp_path / "rejected.jsonl"
    words = ("load", graph.uri, "--data", source, "--mode", "append", "--reject-to", aside)
    tried = run(*words, "--dry-run")
    assert tried.exit_code == 0, tried.output
    assert f"would reject {source}:21: invalid JSON" in tried.stdout
    assert json.loads(run(*words, "--dry-run", "--json").stdout)["rejected"] == 1
    done = run(*words, "--idempotency-key", "first", "--engine", "embedded")
    assert f"1 row was rejected and is in {aside}" in done.stdout
    # Neither the input nor Spark is needed any more, and the file of the first load stays.
    Path(source).unlink()
    for engine in ("auto", "embedded", "spark"):
        again = run(*words, "--idempotency-key", "first", "--engine", engine)
        assert (again.exit_code, "already loaded" in again.stdout) == (0, True), again.output
    assert len(rejected(aside)) == 1
    refused = run(*words[:-2], "--resume", "--engine", "embedded")
    assert "--resume needs Spark" in refused.stderr


def test_an_idempotency_key_answers_before_the_input_is_looked_at(graph: Graph, tmp_path: Path) -> None:
    first = graph.load([person("x")], idempotency_key="k")
    missing = str(tmp_path / "missing.csv")
    again = graph.load(missing, type_name="Person", idempotency_key="k", reject_to=tmp_path)
    on_spark = graph.load_spark(missing, idempotency_key="k", spark="no session")
    assert (again.commit.id, again.repeated) == (on_spark.commit.id, on_spark.repeated) == (first.commit.id, True)
