"""The outputs of LDBC Graphalytics: BFS, PR, WCC, CDLP, LCC and SSSP."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.analytics.graphalytics import NETWORKS, check_six


@pytest.mark.parametrize("name", NETWORKS)
def test_the_six_algorithms_meet_the_definitions_of_the_standard(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    check_six(network, network.graph(tmp_path / "g"))
