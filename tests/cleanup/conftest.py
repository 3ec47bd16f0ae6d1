"""A graph whose time is the test's, and the S3 server."""

from pathlib import Path

import pytest

import omnigraph
from tests.cleanup.graphs import Hands
from tests.faults.fixtures import s3_bucket, s3_server, tracing
from tests.protocol.graphs import create

__all__ = ["s3_bucket", "s3_server", "tracing"]


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def graph(tmp_path: Path, hands: Hands) -> omnigraph.Graph:
    return create(tmp_path, clock=hands)
