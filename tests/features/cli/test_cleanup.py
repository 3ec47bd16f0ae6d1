"""`cleanup`: what it gives up and deletes, what it says, and the document that programs get."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.features.cli.graphs import add, as_json, exported, head
from tests.features.cli.run import run
from tests.promises.cleanup.reachable import files, needed


def test_old_commits_are_given_up_now_and_deleted_later(graph: Path) -> None:
    first = head(graph)
    add(graph, "Grace")
    before = exported(graph)
    result = run("cleanup", graph, "--keep", "1")
    assert result.exit_code == 0, result.output
    assert "ok: gave up 2 commits, 2 waiting; 1 can be read" in result.stdout
    assert "waiting until 20" in result.stdout
    assert "omnigraph cleanup" in result.stderr
    assert len(exported(graph)) == len(before)
    refused = run("export", graph, "--at", first)
    assert refused.exit_code == 1
    assert "given up by cleanup" in refused.stderr
    assert "--keep" in refused.stderr
    taken_back = run("cleanup", graph, "--keep", "9", "--quiet")
    assert "ok: gave up no commits; 3 can be read" in taken_back.stdout
    assert taken_back.stderr == ""
    assert run("cleanup", graph, "--keep", "1", "--grace", "0s").exit_code == 0
    assert files(graph) == needed(graph)
    assert exported(graph) == before
    assert run("verify", graph).exit_code == 0


def test_the_document_counts_files_and_a_dry_run_writes_nothing(graph: Path) -> None:
    add(graph, "Grace")
    before = files(graph)
    dry: Any = as_json("cleanup", graph, "--older-than", "0s", "--grace", "0s", "--dry-run")
    assert files(graph) == before
    done: Any = as_json("cleanup", graph, "--older-than", "0s", "--grace", "0s", "--engine", "embedded")
    assert (dry.pop("dry_run"), done.pop("dry_run")) == (True, False)
    # The fence of the real run is a version of the manifest more: it is needed, and nothing else differs.
    assert dry["total"]["deleted"] == done["total"]["deleted"]
    assert {**dry, "total": None, "files": None} == {**done, "total": None, "files": None}
    assert done["commits"] == {"retained": 1, "given_up": 2, "waiting": 0, "gone": 2}
    assert (done["keep_versions"], done["older_than_secs"], done["grace_secs"]) == (None, 0, 0)
    gone = {path for path in before - files(graph) if "__manifest/_published/" not in path}
    assert done["total"]["deleted"]["files"] == len(gone)
    assert done["total"]["deleted"]["bytes"] == sum(
        kind.get("deleted", {"bytes": 0})["bytes"] for kind in done["files"].values()
    )


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--keep", "0"), "0 is not in the range"),
        (("--older-than", "soon"), "not a duration"),
        (("--grace", "1y"), "not a duration"),
        (("--engine", "fast"), "'fast' is not one of"),
    ],
)
def test_what_makes_no_sense_changes_nothing(graph: Path, words: tuple[str, ...], wrong: str) -> None:
    before = files(graph)
    result = run("cleanup", graph, *words)
    assert result.exit_code == 2, result.output
    assert wrong in result.stderr
    assert files(graph) == before


def test_no_graph_is_an_error(tmp_path: Path, graph: Path) -> None:
    shutil.rmtree(graph)
    assert run("cleanup", graph, "--keep", "1").exit_code == 1
