"""A fresh graph for every test, and the S3 server for those about lost answers."""

from pathlib import Path

import pytest

import omnigraph
from tests.promises.protocol.graphs import create
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return create(tmp_path)
