"""A declared cluster with its first state."""

from pathlib import Path

import pytest

from tests.features.cluster.declared import Declared
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture
def cluster(tmp_path: Path) -> Declared:
    declared = Declared(tmp_path / "cluster")
    declared.import_()
    return declared
