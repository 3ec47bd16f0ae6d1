"""Lists in every format: the same rows for people and programs, plain and complete if not on a terminal."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from omnigraph.cli.root import root
from tests.features.cli.graphs import add, head
from tests.features.cli.run import run

LISTS = {
    "snapshot": (("snapshot",), 3),
    "branch list": (("branch", "list"), 2),
    "commit list": (("commit", "list"), 3),
    "commit changes": (("commit", "changes", "HEAD"), 1),
    "diff": (("diff", "b", "main"), 1),
    "changes poll": (("changes", "poll", "--start", "beginning"), 5),
    "merge preview": (("merge", "preview", "b"), 0),
    "profile list": (("profile", "list"), 0),
}


@pytest.fixture
def changed(graph: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The graph, the usual one of this test, with a branch and one commit after it."""
    assert run("branch", "create", "b", "--store", graph).exit_code == 0
    add(graph, "Grace")
    monkeypatch.setenv("OMNIGRAPH_STORE", str(graph))
    return graph


@pytest.mark.parametrize("name", list(LISTS))
def test_every_list_has_every_format(changed: Path, name: str) -> None:
    given, rows = LISTS[name]
    words = [head(changed) if word == "HEAD" else word for word in given]
    columns, *values = csv.reader(io.StringIO(run(*words, "--format", "csv").stdout))
    assert len(values) == rows
    first, *documents = [json.loads(line) for line in run(*words, "--format", "jsonl").stdout.splitlines()]
    assert (first["kind"], first["query_name"], first["row_count"]) == ("metadata", name, rows)
    assert [list(document) for document in documents] == [columns] * rows
    streamed = CliRunner().invoke(root, [*words, "--format", "arrow"])
    arrow = pa.ipc.open_stream(streamed.stdout_bytes).read_all()
    assert (arrow.column_names, arrow.num_rows) == (columns, rows)
    texts = [field.name for field in arrow.schema if isinstance(field.type, pa.JsonType)]
    assert [row | {key: json.loads(row[key] or "null") for key in texts} for row in arrow.to_pylist()] == documents
    assert run(*words, "--format", "kv").stdout.count("\nrow ") == rows
    assert run(*words, "--format", "json").stdout == run(*words, "--json").stdout
    assert run(*words, "--format", "table").stdout == run(*words).stdout
    assert "\x1b" not in run(*words).stdout
    both = run(*words, "--json", "--format", "csv")
    assert (both.exit_code, both.stdout.count("not both")) == (2, 1)


def test_what_leads_on_is_not_lost_in_any_format(changed: Path) -> None:
    words = ("changes", "poll", "--start", "beginning", "--limit", "2")
    about = json.loads(run(*words, "--format", "jsonl").stdout.splitlines()[0])
    as_csv = run(*words, "--format", "csv")
    assert as_csv.stderr == f"next_page_token: {about['next_page_token']}\n"
    rest = run("changes", "poll", "--cursor", about["next_page_token"], "--format", "csv")
    assert len(rest.stdout.splitlines()) == 1 + 3


def test_conflicts_are_rows(graph: Path) -> None:
    assert run("branch", "create", "b", "--store", graph).exit_code == 0
    for branch, age in (("main", 1), ("b", 2)):
        update = f'query q() {{ update Person set {{ age: {age} }} where name = "Ada" }}'
        assert run("mutate", "--store", graph, "--branch", branch, "-e", update).exit_code == 0
    result = run("merge", "preview", "b", "--store", graph, "--format", "csv")
    assert result.exit_code == 1
    (conflict,) = csv.DictReader(io.StringIO(result.stdout))
    assert (conflict["id"], conflict["property"], conflict["source"], conflict["target"]) == ("Ada", "age", "2", "1")


def test_a_list_for_people_is_drawn_or_formatted_not_both(changed: Path) -> None:
    assert run("commit", "list", "--draw", "--format", "csv").exit_code == 2
