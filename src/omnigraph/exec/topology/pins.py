"""The tables that neighbour lists are made from: of an edge type, and of one pair of node types that it connects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from omnigraph.exec.adjacency import Mask, Rows
from omnigraph.exec.tables import TableView
from omnigraph.rows.ends.references import is_of_type
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import Pair


class Pins(NamedTuple):
    """The edge table and the tables of its ends. With ``pair`` only the edges between these types count."""

    edge: TableView
    source: TableView
    target: TableView
    pair: Pair | None = None

    @property
    def tables(self) -> tuple[TableView, TableView, TableView]:
        return self.edge, self.source, self.target

    @property
    def tags(self) -> str:
        """Identity of the pair across renames of its types; empty if all edges count."""
        edge = self.edge.entity
        if self.pair is None or not isinstance(edge, EdgeType):
            return ""
        return ">".join(end.tags[end.types.index(name)] for end, name in zip(edge.ends, self.pair, strict=True))

    @property
    def type_columns(self) -> tuple[str, ...]:
        """The columns that decide which edges count."""
        edge = self.edge.entity
        if self.pair is None or not isinstance(edge, EdgeType):
            return ()
        return tuple(end.type_column for end in edge.ends if end.type_column is not None)

    def counted(self, columns: dict[str, pa.Array], rows: int) -> Mask:
        """A mask of the edges that count, given their columns of types."""
        found = np.ones(rows, bool)
        edge = self.edge.entity
        if self.pair is None or not isinstance(edge, EdgeType):
            return found
        for end, name in zip(edge.ends, self.pair, strict=True):
            if end.type_column is not None:
                held = pa.RecordBatch.from_arrays([columns[end.type_column]], names=[end.type_column])
                found &= is_of_type(end, name, held).to_numpy(zero_copy_only=False)
        return found

    def counted_rows(self) -> Rows:
        """The numbers of the live edges that count, ascending."""
        live = np.ones(self.edge.size, bool)
        live[self.edge.layout.dead] = False
        columns = {name: self.edge.read_once(name) for name in self.type_columns}
        return np.flatnonzero(live & self.counted(columns, self.edge.size))
