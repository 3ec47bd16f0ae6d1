"""Reuse of committed vectors: unchanged texts are not embedded again.

A few ids are looked up with a filter. For more, all ids of the table are read once and kept as hashes with row numbers,
16 bytes per row; then only the needed texts and vectors are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.exec.id_map import hashes
from omnigraph.exec.tables import distinct
from omnigraph.rows.embedding import EmbeddedProperty, Positions, Vectors
from omnigraph.storage.tables.columns_by_fragment import layout_of
from omnigraph.storage.tables.scan import find_ids, scan, take_rows
from omnigraph.storage.tables.store import Store

Kept = tuple[Positions, Vectors]
"""Positions among the given rows, ascending, and the vector of each."""


@dataclass(frozen=True)
class CommittedVectors:
    """One non-empty table at one version."""

    store: Store
    pin: TablePin

    def unchanged(self, ids: pa.Array, texts: pa.Array, prop: EmbeddedProperty) -> Kept:
        """The committed vectors of rows whose committed text is equal.

        ======  ==========  ==============  ================  ======================
        id      text        committed text  committed vector  result
        ======  ==========  ==============  ================  ======================
        a       "x"         "x"             v1                position 0, v1
        b       "y"         "old"           v2                none: text changed
        c       "z"         absent          absent            none: new entity
        d       "w"         "w"             null              none: never embedded
        e       "u"         "u"             v5                position 4, v5
        ======  ==========  ==============  ================  ======================
        """
        rows = self._live_rows(ids)
        positions = np.flatnonzero(rows >= 0)
        positions = positions[np.argsort(rows[positions], kind="stable")]
        source = prop.embed.source
        held = self._taken(rows[positions], ("id", source))
        # Ids are compared again because hashes can collide, and two rows of the input may have one id.
        is_same = pc.and_kleene(
            pc.equal(held["id"], ids.take(pa.array(positions))), pc.equal(held[source], texts.take(pa.array(positions)))
        )
        positions = positions[pc.fill_null(is_same, False).to_numpy(zero_copy_only=False)]
        vectors = self._taken(rows[positions], (prop.name,))[prop.name]
        has_vector = vectors.is_valid().to_numpy(zero_copy_only=False)
        positions = positions[has_vector]
        order = np.argsort(positions)
        numbers: Vectors = vectors.flatten().to_numpy().reshape(-1, prop.dimension)
        return positions[order], numbers[order]

    def _taken(self, rows: Positions, names: tuple[str, ...]) -> dict[str, pa.Array]:
        """Columns at ascending positions among the live rows, which may repeat."""
        wanted, places = distinct(rows)
        found = take_rows(self.store, self.pin, wanted, names)
        return {name: column.take(pa.array(places)) for name, column in found.items()}

    def _live_rows(self, ids: pa.Array) -> Positions:
        """For every id its position among the live rows of the table, or -1."""
        if len(ids) > self.store.tuning.filtered_ids_max:
            return self._by_hash(ids)
        texts = ids.to_pylist()
        addresses = find_ids(self.store, self.pin, texts)
        layout = layout_of(self.store, self.pin)
        numbers = layout.numbers_at(np.fromiter(addresses.values(), np.uint64, len(addresses)))
        rows = dict(zip(addresses, layout.live_positions(numbers).tolist(), strict=True))
        return np.fromiter((rows.get(text, -1) for text in texts), np.int64, len(texts))

    def _by_hash(self, ids: pa.Array) -> Positions:
        known, rows = self._hashed_ids
        wanted = hashes(ids)
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found: Positions = np.where(known[places] == wanted, rows[places], -1)
        return found

    @cached_property
    def _hashed_ids(self) -> tuple[npt.NDArray[np.uint64], Positions]:
        """Hashes of all ids, ascending, and the positions of their rows."""
        found = np.concatenate([hashes(batch.column("id")) for batch in scan(self.store, self.pin, ["id"])])
        order = np.argsort(found, kind="stable")
        return found[order], order.astype(np.int64)
