"""The S3 server, and one graph with everything that a copy has to keep."""

from pathlib import Path

import pytest

from tests.promises.copies.graphs import grown
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture(scope="session")
def grown_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that tests copy and never write to."""
    root = tmp_path_factory.mktemp("copies") / "grown.omni"
    grown(str(root))
    return root
