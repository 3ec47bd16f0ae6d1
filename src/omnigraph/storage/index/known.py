"""The indexes of a pinned table. Most reads look whether there is one, and few search it (``storage.index.reads``)."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.core.tables import TablePin
from omnigraph.storage.index.indexes import Coverage, IndexKind, IndexSpec, coverage_of, lance_indexes
from omnigraph.storage.tables.store import Store


def known_indexes(store: Store, pin: TablePin) -> Mapping[tuple[str, IndexKind], Coverage]:
    """The indexes that a table has, by column and kind; an external one has none. Reads manifests only, once."""
    key = (pin.location, pin.lance_version)
    known: Mapping[tuple[str, IndexKind], Coverage] | None = store.indexes.get(key)
    if pin.is_external:
        return {}
    if known is None:
        dataset = store.open(*key)
        specs = [IndexSpec(name, kind) for name in dataset.schema.names for kind in IndexKind]
        found = coverage_of(dataset, specs) if lance_indexes(dataset) else []
        known = {(item.spec.column, item.spec.kind): item for item in found if item.covered_rows}
        store.indexes.put(key, known)
    return known
