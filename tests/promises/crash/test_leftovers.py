"""Leftovers of a crashed writer do not block other writers."""

from pathlib import Path

import pytest

import omnigraph
from tests.promises.crash.writers import BASE, SCHEMA, create_counted


@pytest.mark.parametrize("place", ["nodes", "edges", "__commits", "__manifest"])
def test_half_a_first_manifest_does_not_keep_a_graph_from_being_made(place: str, tmp_path: Path) -> None:
    """Lance writes a local file under another name first; a kill leaves that name in the directory."""
    donor, root = tmp_path / "donor", tmp_path / "graph"
    create_counted(donor, era=1, durability="os")
    for manifest in sorted(donor.glob(f"{place}/**/_versions/*.manifest")):
        half = root / manifest.relative_to(donor).with_name(f"{manifest.name}#1")
        half.parent.mkdir(parents=True)
        half.write_bytes(manifest.read_bytes()[:100])
    graph = omnigraph.create(root, SCHEMA)
    graph.load(BASE, "append")
    assert graph.snapshot().counts()["node:Person"] == 3
    assert graph.verify(deep=True).is_clean
