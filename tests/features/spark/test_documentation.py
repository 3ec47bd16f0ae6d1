"""The pages about Spark and about loading say what is true: their examples are run."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from omnigraph.engine.graph import create, open_graph
from omnigraph.ingest.mapping import parse_mapping
from tests.features.cli.run import EXAMPLES, REPOSITORY
from tests.features.spark.outcomes import write_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = REPOSITORY / "docs" / "user" / "spark.md"
LOADING = PAGE.with_name("loading.md")
CLUSTERS = PAGE.with_name("spark-clusters.md")
PEOPLE = "node Person {\n  name: String @key\n}\nedge Knows: Person -> Person\n"


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
    assert graph.snapshot().counts() == {"edge:Knows": 3, "node:Person": 7}


def test_the_examples_about_loading_run_one_after_the_other(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))
    monkeypatch.chdir(work)
    names: dict[str, object] = {}
    for example in blocks("python", LOADING):
        exec(compile(example, str(LOADING), "exec"), names)
    club = open_graph(work / "club.omni")
    assert club.snapshot().counts() == {"edge:Knows": 5, "node:Person": 20}
    assert len((work / "rejected.jsonl").read_text().splitlines()) == 2
    for text in blocks("yaml", LOADING):
        assert len(parse_mapping(yaml.safe_load(text), club.catalog()).entities) == 2
    assert open_graph(work / "company.omni").snapshot().counts()["edge:WorksAt"] == 12


def test_the_job_for_clusters_runs_in_the_session_that_is_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create(tmp_path / "kb", PEOPLE, durability="os")
    records = [{"type": "Person", "data": {"name": "Ada"}}, {"edge": "Knows", "from": "Ada", "to": "Ada"}]
    lines = write_lines(tmp_path / "people.jsonl", records)
    monkeypatch.setattr(sys, "argv", ["job.py", str(tmp_path / "kb"), lines])
    [job] = blocks("python", CLUSTERS)
    exec(compile(job, str(CLUSTERS), "exec"), {})
    assert capsys.readouterr().out.startswith("2 loaded, 1 people, first: [{")
