"""One graph with a file of every kind, made once, and a copy of it for each test."""

import shutil
from pathlib import Path

import pytest

from omnigraph.storage.checked_reads import VARIABLE
from tests.promises.damage.graphs import copy, create
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damage") / "g"
    create(root)
    shutil.rmtree(root / "cache", ignore_errors=True)
    return root


@pytest.fixture
def root(original: Path, tmp_path: Path) -> Path:
    return copy(original, tmp_path / "g")


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are checked when they are first read."""
    monkeypatch.setenv(VARIABLE, "1")
