"""Proofs that a large input breaks no constraint, from the keys alone and without the key database.

Most inputs are without mistakes. To insert the keys of sixty million rows into the database and to join them there took
half of a load on Spark; to hash them and to look them up in memory takes a fifth of that. A proof that fails says
nothing: the statements of ``checks`` then find the violations, with their places, or find none. So what is reported
does not depend on this module.

It needs keys that can be read again (``KeyTable.later``), and whole rows: an upsert fills keys from the graph first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import ID
from omnigraph.rows.ends.references import node_references
from omnigraph.rows.text_set import SLOT_BYTES, Hashes, TextBytes, TextSet, starts_of_runs
from omnigraph.rows.validate import text_column
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType
from omnigraph.write import limits
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.keys import InputKeys, KeyTable
from omnigraph.write.load.mode import LoadMode

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def are_distinct(keys: InputKeys, table: KeyTable, columns: Sequence[str]) -> bool:
    """True only if no two rows have the same values in some columns; rows with a null have none."""
    if table.later is None:
        return False
    rounds = 1 + table.written // keys.grouped_rows
    return all(_are_distinct(table, columns, number, rounds) for number in range(rounds))


def _are_distinct(table: KeyTable, columns: Sequence[str], number: int, rounds: int) -> bool:
    """The same for the rows of one round, which their hash chooses. Different hashes have different texts."""
    found = bytearray()
    for mixed in _hashed(table, columns):
        own = mixed if rounds == 1 else mixed[mixed % np.uint64(rounds) == np.uint64(number)]
        found += own.data
    ordered = np.frombuffer(found, np.uint64)
    ordered.sort()
    return not bool((ordered[1:] == ordered[:-1]).any())


def _hashed(table: KeyTable, columns: Sequence[str]) -> Iterator[Hashes]:
    """A hash for the values of every row without a null."""
    assert table.later is not None
    for _, rows in table.later(columns):
        texts = [text_column(table.entity, column, rows.batch) for column in columns]
        if any(text.null_count for text in texts):
            given = reduce(pc.and_, [text.is_valid() for text in texts])
            texts = [text.filter(given) for text in texts]
        yield reduce(lambda mixed, more: mixed * _FACTOR ^ more, [TextBytes.of(text).hashes() for text in texts])


@dataclass
class EndProofs:
    """Proofs that the ends of edges exist, in one state of the graph. Keeps the last set of nodes."""

    keys: InputKeys
    catalog: Catalog
    committed: CommittedKeys
    mode: LoadMode
    _kept: tuple[str, TextSet] | None = None

    def are_present(self, table: KeyTable, edge: EdgeType) -> bool:
        """True only if both ends of every edge of the input will exist after the load."""
        if table.later is None or self.mode.is_partial:
            return False
        by_nodes: dict[str, list[EdgeEnd]] = {}
        for end in edge.ends:
            # Ends that hold plain ids of one type are looked up in one set.
            name = end.types[0] if end.type_column is None else f"{edge.name}.{end.column}"
            by_nodes.setdefault(name, []).append(end)
        return all(self._are_among(table, ends, name) for name, ends in by_nodes.items())

    def _are_among(self, table: KeyTable, ends: Sequence[EdgeEnd], name: str) -> bool:
        """True if the ends of all edges are among the nodes of their types."""
        end = ends[0]
        if not self._can_read(end):
            return False
        texts = self._texts(end)
        first = next(texts, None)
        if first is None:
            return False
        row_bytes = first.nbytes // len(first) + SLOT_BYTES
        parts = 1 + self._rows(end) * row_bytes // self.committed.store.tuning.known_ids_bytes
        if parts > limits.KNOWN_TEXTS_PARTS_MAX:
            return False
        for part in range(parts):
            known = self._kept[1] if self._kept is not None and self._kept[0] == name and parts == 1 else None
            if known is None:
                self._kept = None
                known = TextSet.of(chain((first,), texts) if part == 0 else self._texts(end), part, parts)
            if known is None or not self._hold(known, table, ends):
                return False
            if parts == 1:
                self._kept = name, known
            del known
        return True

    @staticmethod
    def _hold(known: TextSet, table: KeyTable, ends: Sequence[EdgeEnd]) -> bool:
        assert table.later is not None
        return all(
            known.holds_all(without_runs(text_column(table.entity, end.column, rows.batch)))
            for _, rows in table.later([end.column for end in ends])
            for end in ends
        )

    def _can_read(self, end: EdgeEnd) -> bool:
        """True if the nodes of an end can be read, and are part of what the statements would read as well."""
        loaded = [self.keys.tables.get(f"node:{name}") for name in end.types]
        if any(nodes is not None and nodes.later is None for nodes in loaded):
            return False
        # Statements read the committed nodes of a type that is not loaded only if a node is missing otherwise.
        return None not in loaded or len(loaded) == 1

    def _rows(self, end: EdgeEnd) -> int:
        """At most that many nodes."""
        keys = [f"node:{name}" for name in end.types]
        loaded = sum(self.keys.tables[key].written for key in keys if key in self.keys.tables)
        return loaded + sum(self.committed.rows(key) for key in keys)

    def _texts(self, end: EdgeEnd) -> Iterator[pa.Array]:
        """References to the nodes of an end after the load; never an empty batch."""
        for name in end.types:
            loaded = self.keys.tables.get(f"node:{name}")
            ids = [] if loaded is None or loaded.later is None else [self._ids(loaded)]
            if (loaded is None or self.mode is not LoadMode.OVERWRITE) and self.committed.rows(f"node:{name}"):
                stream = self.committed.keys(self.catalog.nodes[name], [ID])
                ids.append(batch.column(0) for batch in stream.batches())
            yield from (node_references(end, name, column) for column in chain.from_iterable(ids) if len(column))

    @staticmethod
    def _ids(table: KeyTable) -> Iterable[pa.Array]:
        assert table.later is not None
        return (rows.batch.column(ID) for _, rows in table.later([ID]))


def without_runs(texts: pa.Array) -> pa.Array:
    """The texts, with one in place of consecutive equal ones if that saves enough: edges are often sorted by an end."""
    starts = starts_of_runs(texts) if len(texts) else ()
    return texts if len(starts) * 4 > len(texts) * 3 else texts.take(pa.array(starts, pa.int64()))
