"""The memory of a process that only writes does not grow with its commits."""

from pathlib import Path

import pyarrow as pa

import omnigraph
from omnigraph.core.lru import ENTRY_BYTES
from omnigraph.storage.objects import beside
from omnigraph.storage.tables import store as stores
from omnigraph.storage.tables.recent_rows import REMEMBERED_BYTES_MAX
from tests.promises.cost.counting import SCHEMA, grow

COMMITS = stores.OPEN_VERSIONS_MAX + 40


def test_a_process_that_only_writes_keeps_few_versions_of_a_table_open(tmp_path: Path) -> None:
    """Each holds the descriptions of its fragments: 1,024 of them were 20 to 40 MB for a table of one-row commits."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    grow(graph, COMMITS)
    location = graph.snapshot().state.tables["node:Person"].location
    held = [key for key in graph._store._open._values if key[0] == location]
    assert len(held) <= stores.OPEN_VERSIONS_MAX
    assert max(len(versions) for versions in graph._store._versions.values()) <= stores.OPEN_VERSIONS_MAX
    assert graph.snapshot().counts()["node:Person"] == COMMITS


def test_remembered_rows_are_bounded_by_what_they_need_not_by_their_values(tmp_path: Path) -> None:
    """A table of one row has a few bytes of values and needs kilobytes."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    pin = graph.snapshot().state.tables["node:City"]
    base = graph._store.open(pin.location, pin.lance_version)
    rows = pa.table({"id": ["a"], "name": ["a"]})
    most = REMEMBERED_BYTES_MAX // ENTRY_BYTES
    for number in range(most + 100):
        graph._store.recent.put(f"data/{number}.lance", base, rows)
    assert len(graph._store.recent) <= most


def test_the_handle_that_commits_manifests_keeps_few_of_them(tmp_path: Path) -> None:
    """Without a limit the session of Lance kept every manifest that the process had written."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    store = graph._store
    sizes = []
    for start in (0, 150):
        grow(graph, 150, start=start)
        sizes.append(store.beside(graph._manifests.location(graph.id)).session.size_bytes())
    assert sizes[0] > 0
    assert sizes[1] <= 1.2 * beside.SESSION_BYTES_MAX
