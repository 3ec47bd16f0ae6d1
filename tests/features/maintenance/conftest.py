"""A graph whose tables are worth an index however small they are, and the S3 server."""

from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.tuning import Tuning
from tests.features.maintenance.graphs import create, load_people
from tests.support.faults.fixtures import s3_bucket, s3_server
from tests.support.tuning import EAGER

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture
def tuning() -> Tuning:
    """Every table gets its indexes. A module with other values has a fixture of its own."""
    return EAGER


@pytest.fixture
def graph(tmp_path: Path, tuning: Tuning) -> omnigraph.Graph:
    """Three hundred people and their friendships, in several fragments."""
    graph = create(tmp_path / "g", tuning=tuning)
    load_people(graph, 0, 100)
    load_people(graph, 100, 300)
    return graph
