"""The same commands on S3: options or the usual environment, and asking before something is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from tests.features.cli.graphs import ADD, LINES, SCHEMA, as_json, write_lines
from tests.features.cli.run import run
from tests.support.faults.s3 import Bucket, Server

pytestmark = pytest.mark.s3


@pytest.mark.parametrize("by", ["options", "environment"])
def test_a_graph_in_a_bucket_is_made_written_read_and_verified(
    by: str, s3_server: Server, s3_bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = s3_server.storage_options()
    options: list[str] = []
    if by == "options":
        options = [word for key, value in settings.items() for word in ("--storage-option", f"{key}={value}")]
    else:
        for key, value in settings.items():
            monkeypatch.setenv(f"AWS_{key.upper().removeprefix('AWS_')}", value)
    (tmp_path / "schema.pg").write_text(SCHEMA)
    data = write_lines(tmp_path / "data.jsonl", LINES)
    uri = s3_bucket.uri("graph")
    for words in (
        ["init", uri, "--schema", tmp_path / "schema.pg"],
        ["load", uri, "--data", data, "--mode", "append"],
        ["mutate", "--store", uri, "-e", ADD, "--params", '{"name": "Grace"}'],
        ["branch", "create", "b", "--store", uri],
        ["verify", uri],
    ):
        result = run(*words, *options)
        assert result.exit_code == 0, result.output
    assert len(run("export", uri, *options).stdout.splitlines()) == 5
    for words in (
        ["branch", "delete", "b", "--store", uri],
        ["load", uri, "--data", data, "--mode", "overwrite"],
        ["cleanup", uri, "--keep", "1"],
    ):
        refused = run(*words, *options)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "--yes" in refused.stderr
        refused = run(*words, *options, "--json")
        assert (refused.exit_code, json.loads(refused.stdout)["code"]) == (2, "usage")
        dry = run(*words, *options, "--dry-run")
        assert dry.exit_code == 0, dry.output
    assert len(run("export", uri, *options).stdout.splitlines()) == 5
    assert run("cleanup", uri, *options).exit_code == 0
    assert run("cleanup", uri, "--keep", "1", "--dry-run", *options).exit_code == 0
    assert run("cleanup", uri, "--keep", "1", "--yes", *options).exit_code == 0
    assert run("branch", "delete", "b", "--store", uri, "--yes", *options).exit_code == 0
    assert as_json("branch", "list", uri, *options)["branches"] == ["main"]


def run_on_terminal(*words: str, answer: str) -> tuple[int, str]:
    """Exit code and output of a command on a terminal whose prompt is answered."""
    ours, theirs = os.openpty()
    program = [sys.executable, "-m", "omnigraph", *words]
    process = subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 4_096)
        except OSError:  # the terminal has closed with the command
            break
        if shown.endswith(b"[y/N]: "):
            os.write(ours, answer.encode())
    os.close(ours)
    return process.wait(60), shown.decode()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_person_is_asked_before_a_branch_is_lost(s3_server: Server, s3_bucket: Bucket) -> None:
    settings = s3_server.storage_options()
    graph = omnigraph.create(s3_bucket.uri("graph"), SCHEMA, storage_options=settings)
    graph.create_branch("b")
    options = [word for key, value in settings.items() for word in ("--storage-option", f"{key}={value}")]
    words = ("branch", "delete", "b", "--store", graph.uri, *options)
    code, shown = run_on_terminal(*words, answer="n\n")
    assert code == 1
    assert f"This will delete branch b at {graph.uri}. Continue? [y/N]: n" in shown
    assert shown.endswith("not confirmed; nothing was changed\r\n")
    assert [branch.name for branch in graph.branches()] == ["main", "b"]
    code, shown = run_on_terminal(*words, answer="y\n")
    assert code == 0
    assert [branch.name for branch in graph.branches()] == ["main"]


def test_rows_are_written_into_a_bucket_in_every_format(
    s3_server: Server, s3_bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in s3_server.storage_options().items():
        monkeypatch.setenv(f"AWS_{key.upper().removeprefix('AWS_')}", value)
    graph = omnigraph.create(tmp_path / "graph", SCHEMA, durability="os")
    graph.load([{"type": "Person", "data": {"name": "Ann"}}])
    text = "query q() { match { $p: Person } return { $p.name as name } }"
    for name in ("rows.csv", "rows.tsv", "rows.ndjson", "rows.json", "rows.parquet", "rows.arrow", "rows.txt"):
        result = run("query", "--store", graph.uri, "-e", text, "--output", s3_bucket.uri(name))
        assert (result.exit_code, result.stdout) == (0, ""), result.output
        assert b"Ann" in s3_bucket.read(name)
    graph.nodes("Person").to_csv(s3_bucket.uri("view.csv"))
    graph.nodes("Person").to_parquet(s3_bucket.uri("view.parquet"))
    graph.draw().save(s3_bucket.uri("view.html"))
    for name in ("view.csv", "view.parquet", "view.html"):
        assert b"Ann" in s3_bucket.read(name)
