"""A graph whose time is the test's, and the S3 server."""

from pathlib import Path

import pytest

import omnigraph
from tests.promises.cleanup.graphs import Hands
from tests.promises.protocol.graphs import create
from tests.support.faults.fixtures import s3_bucket, s3_server, tracing

__all__ = ["s3_bucket", "s3_server", "tracing"]


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def graph(tmp_path: Path, hands: Hands) -> omnigraph.Graph:
    return create(tmp_path, clock=hands)
