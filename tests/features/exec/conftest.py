"""A small graph of people, companies and documents that the named tests ask."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph.engine.graph import Graph, create
from tests.features.exec.people import RECORDS, SCHEMA, FixedClock, People


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    graph = create(tmp_path_factory.mktemp("graph") / "g", SCHEMA, durability="os", clock=FixedClock())
    graph.load(RECORDS, "append")
    return People(graph)


@pytest.fixture
def made(tmp_path: Path) -> Any:
    """Makes graphs: ``made(schema, records)``."""

    def make(schema: str, records: list[dict[str, Any]]) -> Graph:
        graph = create(tmp_path / "g", schema, durability="os", clock=FixedClock())
        if records:
            graph.load(records, "append")
        return graph

    return make
