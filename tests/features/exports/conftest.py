"""The S3 server, and a graph with every type and every awkward value."""

import pytest

import omnigraph
from tests.features.exports.graphs import ROWS, SCHEMA
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture(scope="session")
def every(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path_factory.mktemp("exports") / "every.omni", SCHEMA, durability="os")
    graph.load(ROWS, "append")
    return graph
