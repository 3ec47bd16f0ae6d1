"""`omnigraph embed`: vectors into files of JSON lines, by the deterministic embedder of the tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.embed.lines import TEXTS_PER_CALL, TypeSpec, node_text
from omnigraph.embed.offline import MockEmbedder
from tests.features.cli.graphs import as_json, write_lines
from tests.features.cli.run import run

SPEC = {"dimension": 4, "types": {"Doc": {"target": "vector", "fields": ["title", "tags"]}}}
OTHERS = [
    {"type": "Person", "data": {"name": "Ada"}},
    {"edge": "Wrote", "from": "Ada", "to": "d0"},
]


def _doc(number: int, **data: object) -> dict[str, object]:
    return {"type": "Doc", "data": {"title": f"d{number}", "tags": ["a", "b"], **data}}


@pytest.fixture(autouse=True)
def _mocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    lines = [_doc(0), *OTHERS, _doc(1, vector=[1, 0, 0, 0]), _doc(2, vector=None), _doc(3, vector=[])]
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    data = write_lines(tmp_path / "in.jsonl", lines)
    return ["--input", data, "--output", tmp_path / "out.jsonl", "--spec", tmp_path / "spec.json"]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _vectors(tmp_path: Path) -> list[object]:
    return [item["data"].get("vector") for item in _lines(tmp_path / "out.jsonl") if item.get("type") == "Doc"]


def _vector(number: int) -> list[float]:
    text = f"type: Doc\ntitle: d{number}\ntags: a, b"
    return list(MockEmbedder().embed([text], 4, "document")[0])


def test_missing_vectors_are_filled_and_everything_else_stays(tmp_path: Path, files: list[object]) -> None:
    result = as_json("embed", *files)
    assert result == {
        "input": str(files[1]),
        "output": str(files[3]),
        "records": 6,
        "selected_records": 4,
        "embedded_records": 3,
        "cleaned_records": 0,
        "mode": "fill_missing",
        "dimension": 4,
        "model": MockEmbedder().model,
    }
    assert _vectors(tmp_path) == [_vector(0), [1, 0, 0, 0], _vector(2), _vector(3)]
    before, after = (Path(str(path)).read_bytes().splitlines() for path in (files[1], files[3]))
    assert after[1:4] == before[1:4]
    assert run("embed", *files).stdout == f"ok: embedded 3 of 4 selected nodes, 6 lines, in {files[3]}\n"


@pytest.mark.parametrize(
    ("words", "embedded", "selected"),
    [
        (["--reembed-all"], 4, 4),
        (["--select", "Doc:title=d1"], 1, 1),
        (["--select", "title=d1", "--select", "title=d0"], 2, 2),
        (["--select", "tags=a, b", "--type", "Doc"], 4, 4),
        (["--select", "title=nobody"], 0, 0),
    ],
)
def test_vectors_are_made_again_where_that_is_wanted(
    files: list[object], words: list[str], embedded: int, selected: int
) -> None:
    result = as_json("embed", *files, *words)
    assert (result["embedded_records"], result["selected_records"]) == (embedded, selected)


def test_vectors_are_taken_away(tmp_path: Path, files: list[object]) -> None:
    result = as_json("embed", *files, "--clean")
    assert (result["cleaned_records"], result["embedded_records"], result["model"]) == (1, 0, None)
    assert _lines(tmp_path / "out.jsonl")[3] == _doc(1)


def test_a_seed_names_its_files_and_many_lines_keep_their_order(tmp_path: Path) -> None:
    lines = [_doc(number) for number in range(2 * TEXTS_PER_CALL + 5)]
    write_lines(tmp_path / "in.jsonl", lines)
    seed = tmp_path / "seed.yaml"
    seed.write_text(json.dumps({"input": "in.jsonl", "output": "in.jsonl", **SPEC}))
    assert as_json("embed", "--seed", seed)["embedded_records"] == len(lines)
    written = _lines(tmp_path / "in.jsonl")
    assert [item["data"]["title"] for item in written] == [f"d{number}" for number in range(len(lines))]
    assert written[-1]["data"]["vector"] == _vector(len(lines) - 1)


def test_empty_properties_are_not_part_of_the_text() -> None:
    spec = TypeSpec("v", ("a", "b", "c", "d"))
    assert node_text("T", {"a": None, "b": [], "c": 3, "d": "x"}, spec) == "type: T\nc: 3\nd: x"


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        (["--clean", "--reembed-all"], 2, "not both"),
        (["--seed", "x.yaml"], 2, "not both"),
        (["--select", "title"], 2, "expected [TYPE:]FIELD=VALUE"),
        (["--type", "Nobody"], 2, "the specification has no type 'Nobody'"),
        (["--input", "missing.jsonl"], 1, "no such file"),
        (["--spec", "missing.yaml"], 1, "there is no file"),
    ],
)
def test_what_makes_no_sense_writes_nothing(
    tmp_path: Path, files: list[object], words: list[str], status: int, what: str
) -> None:
    result = run("embed", *files, *words)
    assert (result.exit_code, result.stdout) == (status, "")
    assert what in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("[]", "contains no specification"),
        ("{dimension: 0, types: {A: {target: v, fields: [a]}}}", "above 0"),
        ("{dimension: 3}", "at least one type"),
        ("{dimension: 3, types: {A: {target: v}}}", "A needs a target and a list of fields"),
        ("{dimension: 3, types: {A: {target: v, fields: [a]}}, model: m}", "unknown key 'model'"),
    ],
)
def test_a_wrong_specification_is_told(files: list[object], spec: str, what: str) -> None:
    Path(str(files[5])).write_text(spec)
    result = run("embed", *files)
    assert (result.exit_code, what in result.stderr) == (1, True)


def test_a_wrong_line_is_told_with_its_place_and_the_old_output_stays(tmp_path: Path, files: list[object]) -> None:
    (tmp_path / "out.jsonl").write_text("old")
    Path(str(files[1])).write_text('{"type": "Doc", "data": {}}\n{"type"\n')
    result = run("embed", *files)
    assert result.exit_code == 1
    assert f"{files[1]}:2: invalid JSON" in result.stderr
    assert (tmp_path / "out.jsonl").read_text() == "old"
