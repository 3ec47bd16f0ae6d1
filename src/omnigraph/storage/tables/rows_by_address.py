"""Reading whole rows of a pinned table by their addresses, blobs as bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.storage.tables.blobs import blob_values
from omnigraph.storage.tables.columns_by_fragment import layout_of
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.scan import take_rows
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import column_numbers

Addresses = npt.NDArray[np.uint64]


def rows_at(store: Store, pin: TablePin, addresses: Addresses, schema: pa.Schema) -> pa.Table:
    """The columns of ``schema`` at some addresses, in that order. Recently written rows come from the cache."""
    parts: list[pa.Table] = []
    places: list[npt.NDArray[np.int64]] = []
    fragments = (addresses >> np.uint64(OFFSET_BITS)).astype(np.int64)
    is_left = np.ones(len(addresses), np.bool_)
    for number, known in _recent(store, pin, fragments).items():
        chosen = np.flatnonzero(fragments == number)
        offsets = (addresses[chosen] & np.uint64((1 << OFFSET_BITS) - 1)).astype(np.int64)
        parts.append(known.select(schema.names).take(pa.array(offsets)).cast(schema))
        places.append(chosen)
        is_left[chosen] = False
    rest = np.flatnonzero(is_left)
    if len(rest) or not parts:
        parts.append(_stored(store, pin, addresses[rest], schema))
        places.append(rest)
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_tables(parts).take(pa.array(order))


def _recent(store: Store, pin: TablePin, fragments: npt.NDArray[np.int64]) -> Mapping[int, pa.Table]:
    """The rows of fragments that this process wrote, by fragment; a row's place in its fragment never changes."""
    if pin.is_external:
        return {}
    dataset = store.open(pin.location, pin.lance_version)
    numbers, found = column_numbers(dataset), {}
    for number in np.unique(fragments).tolist():
        fragment = dataset.get_fragment(number)
        assert fragment is not None, "an address comes from this very version"
        known = store.recent.of(pin.location, fragment.metadata, numbers)
        if known is not None:
            found[number] = known
    return found


def _stored(store: Store, pin: TablePin, addresses: Addresses, schema: pa.Schema) -> pa.Table:
    stored = open_table(store, pin).schema
    blobs = [field.name for field in schema if isinstance(stored.field(field.name).type, pa.ExtensionType)]
    names = [name for name in schema.names if name not in blobs]
    layout = layout_of(store, pin)
    positions = layout.live_positions(layout.numbers_at(addresses))
    # Lance takes no rows without a column.
    arrays = take_rows(store, pin, positions, names) if names else {}
    arrays |= {name: blob_values(store, pin, name, pa.array(addresses)) for name in blobs}
    return pa.Table.from_arrays([arrays[name] for name in schema.names], schema.names).cast(schema)
