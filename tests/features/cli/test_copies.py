"""`copy`, `backup`, `restore`, and `export` to files: summaries, and the words for everything that cannot be done."""

import json
from pathlib import Path

import pytest

from tests.features.cli.graphs import SCHEMA, add, as_json, everything, exported, head
from tests.features.cli.run import run


def test_a_backup_is_made_brought_up_to_date_and_restored(graph: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.omni"
    made = run("backup", graph, target)
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("ok: backed up 1 branch, 2 commits; ")
    assert made.stdout.rstrip().endswith("0 kept; verified")
    assert str(target) in made.stderr
    add(graph, "Grace")
    again = as_json("backup", "--store", graph, target, "--quiet")
    assert again["branches"] == [{"name": "main", "graph_commit_id": head(graph)}]
    assert (again["history"], again["verified"]["ok"]) == (True, True)  # type: ignore[index]
    assert 0 < again["files_copied"] < again["files_kept"]  # type: ignore[operator]
    restored = tmp_path / "restored.omni"
    assert run("restore", target, restored).exit_code == 0
    assert exported(restored) == exported(graph)
    add(restored, "Later")
    assert run("restore", target, restored).exit_code == 1
    replaced = as_json("restore", target, restored, "--replace", "--quick")
    assert replaced["target"] == str(restored)
    assert exported(restored) == exported(graph)


def test_a_copy_has_one_commit_or_the_history(graph: Path, tmp_path: Path) -> None:
    run("branch", "create", "review", "--store", graph)
    add(graph, "Grace", "--branch", "review")
    fresh = as_json("copy", graph, tmp_path / "fresh.omni", "--branch", "review", "--as", "ann")
    assert fresh["verified"]["commits"] == 1  # type: ignore[index]
    assert exported(tmp_path / "fresh.omni") == exported(graph, "--branch", "review")
    whole = as_json("copy", graph, tmp_path / "whole.omni", "--history")
    assert [branch["name"] for branch in whole["branches"]] == ["main", "review"]  # type: ignore[attr-defined]
    assert head(tmp_path / "whole.omni", "review") == head(graph, "review")
    both = as_json("copy", graph, tmp_path / "both.omni", "--all-branches")
    assert exported(tmp_path / "both.omni", "--branch", "review") == exported(graph, "--branch", "review")
    assert both["graph_id"] != whole["graph_id"]


def test_an_export_writes_files_or_one_type_to_standard_output(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    summary = as_json("export", graph, "--format", "csv", "--out", out)
    assert summary["files"] == [
        {"path": f"{name}.csv", "type": name, "entities": count, "bytes": (out / f"{name}.csv").stat().st_size}
        for name, count in (("Knows", 1), ("City", 1), ("Person", 2))
    ]
    assert (summary["format"], summary["entities"], summary["out"]) == ("csv", 4, str(out))
    assert (out / "schema.pg").exists()
    assert (
        run("export", graph, "--format", "csv", "--type", "Knows").stdout
        == "id,from,to,since\nk1,Ada,Alan,2020-01-15\n"
    )
    people = run("export", graph, "--format", "csv", "--type", "Person", "--null", "NA").stdout
    assert sorted(people.splitlines()) == ["Ada,Ada,36", "Alan,Alan,NA", "id,name,age"]
    assert run("export", graph, "--type", "Person", "--out", tmp_path / "people.parquet").exit_code == 0
    assert (tmp_path / "people.parquet").read_bytes()[:4] == b"PAR1"
    binary = run("export", graph, "--type", "Person", "--format", "parquet")
    assert binary.stdout_bytes[:4] == b"PAR1"
    iso = [json.loads(line) for line in run("export", graph, "--type", "Knows", "--dates", "iso").stdout.splitlines()]
    assert iso[0]["data"]["since"] == "2020-01-15"
    table = run("export", graph, "--type", "Person", "--out", tmp_path / "people.delta")
    assert table.stdout == f"ok: 2 entities in 1 table, {tmp_path / 'people.delta'}\n"
    assert (tmp_path / "people.delta" / "_delta_log").is_dir()
    assert run("export", graph, "--out", f"{tmp_path}/lines/").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "lines").iterdir()) == [
        "City.jsonl",
        "Knows.jsonl",
        "Person.jsonl",
        "schema.pg",
    ]


WRONG = {
    "backup {graph}": (2, "no graph is given"),
    "backup": (2, "'TARGET'"),
    "backup {graph} {graph}": (2, "the same place"),
    "backup {graph} {graph}/inside": (2, "within"),
    "backup {tmp}/none.omni {tmp}/x": (1, "there is no graph at"),
    "backup {graph} {tmp}/file": (1, "is a file"),
    "backup {graph} {tmp}/full": (1, "is not empty and holds no graph"),
    "backup {graph} {other}": (1, "holds another graph"),
    "backup {graph} s3://": (2, "names no bucket"),
    "backup {graph} gs://bucket/x": (2, "gs:// is not supported"),
    "copy {graph} {other}": (1, "there is a graph at"),
    "copy {graph} {tmp}/x --branch nope": (1, "there is no branch 'nope'"),
    "copy {graph} {tmp}/x --branch main --all-branches": (2, "not both"),
    "copy {graph} {tmp}/x --branch main --history": (2, "has every branch"),
    "copy {graph} {tmp}/x --target-option key": (2, "'key' is not key=value"),
    "restore {graph}": (2, "'GRAPH'"),
    "restore {graph} {other}": (1, "--replace"),
    "restore {tmp}/full {tmp}/x": (1, "there is no graph at"),
    "export {graph} --format xml": (2, "'xml'"),
    "export {graph} --format csv": (2, "one type, not 3"),
    "export {graph} --format csv --type Persn": (1, "Person"),
    "export {graph} --format csv --out {tmp}/full": (1, "exists already"),
    "export {graph} --format csv --out {tmp}/file": (1, "is a file"),
    "export {graph} --format csv --out {tmp}/x.parquet --type City": (2, "another format"),
    "export {graph} --format csv --dates number --out {tmp}/x": (2, "ISO 8601"),
    "export {graph} --out {tmp}/x.csv": (2, "one type, not 3"),
    "export {graph} --null NA": (2, "nulls of their own"),
    "export {graph} --format iceberg --type City": (2, "--out"),
    "export {graph} --format delta --out {tmp}/full": (1, "--replace"),
    "export {graph} --format delta --null NA --out {tmp}/x": (2, "nulls of their own"),
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two graphs, a file and a full directory, which no mistake changes."""
    place = tmp_path_factory.mktemp("scene")
    (place / "file").write_text("mine")
    (place / "full").mkdir()
    (place / "full" / "notes.txt").write_text("mine")
    (place / "old.pg").write_text("node Old { name: String @key }")
    (place / "schema.pg").write_text(SCHEMA)
    for name, schema in (("graph.omni", "schema.pg"), ("other.omni", "old.pg")):
        assert run("init", place / name, "--schema", place / schema).exit_code == 0
    return place


@pytest.mark.parametrize("words", WRONG)
def test_what_cannot_be_copied_or_exported_is_explained(words: str, scene: Path) -> None:
    before = everything(scene)
    places = {"graph": scene / "graph.omni", "other": scene / "other.omni", "tmp": scene}
    result = run(*words.format(**places).split(), env={"AWS_REGION": "us-east-1"})
    status, text = WRONG[words]
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    assert text in result.stderr
    assert everything(scene) == before
