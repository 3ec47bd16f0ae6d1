"""Log output of -v: off by default, and machine-readable on request."""

import json
import logging
from pathlib import Path
from typing import Any

from tests.features.cli.run import run

COUNT = "query q() { match { $p: Person } return { count($p) as n } }"


def test_nothing_is_told_unless_asked(graph: Path) -> None:
    result = run("query", "--store", graph, "-e", COUNT)
    assert result.stderr == ""
    assert result.exit_code == 0


def test_verbs_and_commits_are_told_on_standard_error(graph: Path) -> None:
    def words(name: str) -> tuple[Any, ...]:
        insert = f'query q() {{ insert Person {{ name: "{name}" }} }}'
        return ("mutate", "--store", graph, "-e", insert, "--as", "ann")

    for told in (run(*words("Zoe"), "-v"), run("-v", *words("Zac"))):
        assert told.exit_code == 0, told.output
        commit, verb = told.stderr.splitlines()
        assert "is version" in commit
        assert " info    mutate done ms=" in verb
        assert "actor=ann" in verb


def test_records_can_be_json(graph: Path) -> None:
    failed = run("query", "--store", graph, "-e", COUNT, "--branch", "nowhere", "-vv", "--log-format", "json")
    record = json.loads(failed.stderr.splitlines()[0])
    assert record["verb"] == "query"
    assert record["outcome"] == "failed: NotFoundError"
    assert record["branch"] == "nowhere"
    assert record["ms"] >= 0


def test_a_run_leaves_neither_a_handler_nor_a_level_behind(graph: Path) -> None:
    logger = logging.getLogger("omnigraph")
    before = (list(logger.handlers), logger.level)
    run("query", "--store", graph, "-e", COUNT, "-v", "--log-format", "json")
    assert (logger.handlers, logger.level) == before
