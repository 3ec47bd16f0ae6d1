"""Edges of dropped ends: a migration that takes pairs of node types from an edge type deletes their edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.ends.references import shown_types, tags_of, type_columns
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.stage import staging
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store

IdPair = tuple[int, int]
"""The stable ids of two node types."""


def loses_pairs(before: Entity, after: Entity, catalogs: tuple[Catalog, Catalog]) -> bool:
    """True if a type is an edge type that no longer connects some pairs of node types."""
    if not isinstance(before, EdgeType) or not isinstance(after, EdgeType):
        return False
    return not set(_pair_ids(before, catalogs[0])) <= set(_pair_ids(after, catalogs[1]))


def _pair_ids(edge: EdgeType, catalog: Catalog) -> Iterator[IdPair]:
    for source, target in edge.pairs:
        yield catalog.nodes[source].ir.id, catalog.nodes[target].ir.id


def lost_edges(
    store: Store, pin: TablePin, before: EdgeType, after: EdgeType, catalogs: tuple[Catalog, Catalog]
) -> set[int]:
    """The addresses of the edges whose pair of node types is dropped."""
    kept = set(_pair_ids(after, catalogs[1]))
    ids = dict(zip(before.pairs, _pair_ids(before, catalogs[0]), strict=True))
    gone = {pair for pair, numbers in ids.items() if numbers not in kept}
    found: set[int] = set()
    for batch in scan(store, pin, [*type_columns(before)] or [ID], with_address=True):
        sources, targets = (shown_types(end, tags_of(end, batch)).to_pylist() for end in before.ends)
        is_lost = pa.array([pair in gone for pair in zip(sources, targets, strict=True)], pa.bool_())
        found.update(batch.column("_rowaddr").filter(is_lost).to_pylist())
    return found


def without_edges(
    store: Store, pin: TablePin, altered: staging.StagedVersion | None, removed: set[int]
) -> staging.StagedVersion:
    """A version without some rows, on top of one with other columns if there is one. Both have the same addresses."""
    number = pin.lance_version if altered is None else altered.version
    base = store.open(pin.location, number)
    addresses = sorted(removed)
    version = staging.stage_delta(store, base, pin.location, [], addresses)
    if altered is None:
        return version
    # The version in between is never published.
    between = manifest_file(pin.location, altered.version)
    needed = tuple(record for record in altered.files if record.path != between)
    return replace(version, files=(*needed, *version.files))
