"""Wrong input as a new user would give it: a typed error that names the place, no traceback, and nothing changed."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.graphs import ADD, SCHEMA, everything, write_lines
from tests.cli.run import PROGRAM, run

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
    assert "merge" in conflict["hint"]
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


def test_a_graph_of_a_newer_format_is_refused(graph: Path) -> None:
    stamp = graph / "omnigraph.json"
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "format": 99}))
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
    assert result.stderr.startswith(f"error: no such file: {tmp_path / 'poeple.jsonl'}\n")
    assert "did you mean `people.jsonl`?" in result.stderr
    directory = run("load", graph, "--data", tmp_path, "--mode", "merge")
    assert "is a directory" in directory.stderr
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
    assert process.stderr is not None
    with open(fifo, "w") as feed:
        feed.write(GOOD + "\n")
        feed.flush()
        # The line that says where it writes comes right before the load, which then waits for the rest of the data.
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert said == f"omnigraph load → {graph} (direct, local)\n"
    assert (process.returncode, out) == (130, "")
    assert err.strip() in ("interrupted: nothing was loaded", "interrupted")
    assert run("commit", "list", graph).stdout == before
    assert run("verify", graph).exit_code == 0
