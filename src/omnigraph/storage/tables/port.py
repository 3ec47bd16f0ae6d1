"""The table port: one table at one pin, as every reader above storage uses it.

``lance_table`` implements it for the tables of a graph. Tables of other formats, whose rows stay outside the graph, are
opened by the room that knows those formats; ``omnigraph.wiring`` plugs it in, so this module imports nothing at run
time. Operators, writers and Spark tasks call the functions of this package and never ask which table they read.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from omnigraph.core.classes.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import pyarrow as pa

    from omnigraph.core.tables import TablePin
    from omnigraph.storage.tables.filters import RowFilter
    from omnigraph.storage.tables.row_layout import Fragment, Rows
    from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class TableFragment:
    """A part of a table whose rows never change. ``data`` and ``deletions`` identify its values and deleted rows."""

    number: int
    data: str
    deletions: str
    physical_rows: int
    rows: int
    """Without the deleted ones."""
    dead: Callable[[], Rows] = field(repr=False, compare=False)
    """Reads the offsets of deleted rows, ascending."""
    columns: frozenset[int] = frozenset()
    """Numbers of the columns that its files hold."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The part of a table that a scan reads, and its form."""

    with_address: bool = False
    blobs_as_bytes: bool = False
    batch_rows: int = 65_536
    use_index: bool = True
    fragments: Sequence[int] | None = None
    """Numbers of fragments; None for all."""
    ahead_bytes: int | None = None
    """Bound of read-ahead; the default of Lance reaches gigabytes."""


class PinnedTable(Protocol):
    """One table at one version. Addresses hold a fragment number and an offset in it; positions count live rows."""

    @property
    def schema(self) -> pa.Schema:
        """The stored columns. That of a property carries the id of the property."""
        ...

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of every column: a column that was dropped and added again is another one."""
        ...

    def fragments(self) -> Sequence[TableFragment]:
        """The fragments in storage order."""
        ...

    def scan(
        self, columns: Sequence[str] | None, where: RowFilter | None, options: ScanOptions
    ) -> Iterator[pa.RecordBatch]:
        """Columns of the live rows that satisfy a filter, in storage order."""
        ...

    def rows_with(self, column: str, values: Sequence[str] | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Rows whose text column holds one of the values, or all rows."""
        ...

    def find_ids(self, ids: Sequence[str], fragments: Collection[int] | None) -> Mapping[str, int]:
        """Addresses of those of some distinct ids that exist, in all fragments or in some small ones."""
        ...

    def take(self, positions: Rows, names: Sequence[str]) -> pa.Table:
        """Columns of the rows at positions, in that order. Positions may repeat."""
        ...

    def column(self, parts: Sequence[Fragment], name: str) -> pa.Array:
        """A column of some fragments, concatenated, deleted rows included."""
        ...


_openers: list[Callable[[Store, TablePin], PinnedTable]] = []


def plug(opener: Callable[[Store, TablePin], PinnedTable]) -> None:
    """Set how external tables are opened."""
    _openers[:] = [opener]


def external_table(store: Store, pin: TablePin) -> PinnedTable:
    """An external table at a pin, cached in the store."""
    key = (pin.location, pin.lance_version)
    known: PinnedTable | None = store.external.get(key)
    if known is None:
        known = _openers[0](store, pin)
        store.external.put(key, known)
    return known
