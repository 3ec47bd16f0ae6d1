"""A graph whose tables are worth an index however small they are, and the S3 server."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.write import limits
from tests.features.maintenance.graphs import create, load_people
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table gets its indexes."""
    monkeypatch.setattr(limits, "INDEX_ROWS_MIN", 0)
    monkeypatch.setattr(limits, "VECTOR_INDEX_ROWS_MIN", 0)


@pytest.fixture
def graph(tmp_path: Path, eager: None) -> omnigraph.Graph:
    """Three hundred people and their friendships, in several fragments."""
    graph = create(tmp_path / "g")
    load_people(graph, 0, 100)
    load_people(graph, 100, 300)
    return graph
