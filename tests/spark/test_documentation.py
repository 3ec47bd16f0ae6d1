"""The page about Spark says what is true: its examples are run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from omnigraph.engine.graph import open_graph
from omnigraph.spark.mapping import parse_mapping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "user" / "spark.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


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
