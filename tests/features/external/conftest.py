"""The S3 server, and a shop: people in the graph, their orders in Parquet files outside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from tests.features.external.shop import Shop
from tests.support.faults.fixtures import s3_bucket, s3_server

__all__ = ["s3_bucket", "s3_server"]


@pytest.fixture
def make_shop(tmp_path: Path) -> Callable[[], Shop]:
    """Makes shops in directories of their own."""
    made: list[Shop] = []

    def make() -> Shop:
        made.append(Shop.create(tmp_path / f"shop{len(made)}"))
        return made[-1]

    return make


@pytest.fixture
def shop(make_shop: Callable[[], Shop]) -> Shop:
    return make_shop()


@pytest.fixture
def graph(shop: Shop) -> omnigraph.Graph:
    return shop.graph
