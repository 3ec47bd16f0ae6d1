"""``omnigraph documents load``: dry runs, JSON, batches, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.features.cli.run import run
from tests.features.documents.texts import PIPELINE, graph_at, write_texts


@pytest.fixture
def place(tmp_path: Path) -> Path:
    graph_at(tmp_path / "g")
    write_texts(tmp_path / "texts")
    (tmp_path / "documents.yaml").write_text(yaml.safe_dump(PIPELINE))
    return tmp_path


def test_documents_are_loaded_once(place: Path) -> None:
    command = ("documents", "load", place / "g", "--data", place / "texts", "--pipeline", place / "documents.yaml")
    mock = {"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}
    assert "would load 5 documents (5 new" in run(*command, "--dry-run").output
    preview = json.loads(run(*command, "--dry-run", "--json").output)
    assert (preview["dry_run"], preview["documents"]["new"]) == (True, 5)
    made = json.loads(run(*command, "--json", "--quiet", "--batch", "2", "--commit-per-batch", env=mock).output)
    assert (len(made["commits"]), made["documents"]["total"], made["remarks"]) == (3, 5, [])
    assert made["chunks"] == preview["chunks"]
    again = run(*command, env=mock)
    assert "nothing to do: 5 documents (0 new, 0 changed, 5 unchanged)" in again.output


def test_without_an_embedder_a_remark_is_shown(place: Path) -> None:
    shown = run("documents", "load", place / "g", "--data", place / "texts", "--pipeline", place / "documents.yaml")
    assert shown.exit_code == 0
    assert "remark: no embedder is configured" in shown.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "nothing"), "there is no file"),
        (("--data", "texts", "--pipeline", "list.yaml"), "contains no pipeline"),
        (("--data", "texts", "--pipeline", "wrong.yaml"), "did you mean `chunks`?"),
        (("--data", "texts", "--batch", "0"), "0 is not in the range"),
        ((), "missing option '--data'"),
    ],
)
def test_mistakes_are_explained(
    place: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(place)
    (place / "list.yaml").write_text("[]\n")
    (place / "wrong.yaml").write_text("chunkss: {}\n")
    failed = run("documents", "load", "g", *arguments)
    assert failed.exit_code != 0
    assert message in failed.output
