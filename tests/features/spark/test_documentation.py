"""The pages about Spark and about loading say what is true: their examples are run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from omnigraph.engine.graph import open_graph
from omnigraph.spark.load.mapping import parse_mapping
from tests.features.cli.run import EXAMPLES, REPOSITORY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = REPOSITORY / "docs" / "user" / "spark.md"
LOADING = PAGE.with_name("loading.md")


def blocks(language: str, page: Path = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_examples_run_one_after_the_other(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in blocks("python"):
        exec(compile(example, str(PAGE), "exec"), names)
    graph = open_graph(tmp_path / "people.omni")
    assert graph.snapshot().counts() == {"edge:Knows": 3, "node:Person": 6}
    for text in blocks("yaml"):
        assert len(parse_mapping(yaml.safe_load(text), graph.catalog()).entities) == 2


def test_the_examples_about_loading_run_one_after_the_other(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    monkeypatch.chdir(work)
    names: dict[str, object] = {}
    for example in blocks("python", LOADING):
        exec(compile(example, str(LOADING), "exec"), names)
    assert open_graph(work / "club.omni").snapshot().counts() == {"edge:Knows": 3, "node:Person": 8}
    assert len((work / "rejected.jsonl").read_text().splitlines()) == 1
    assert open_graph(work / "company.omni").snapshot().counts()["edge:WorksAt"] == 12
