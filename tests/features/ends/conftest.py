"""Graphs with edges over several node types."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from tests.features.ends.graphs import made


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    """A graph that a module only reads."""
    return made(tmp_path_factory.mktemp("ends") / "g")


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    """A graph to change."""
    return made(tmp_path / "g")
