"""The nodes of an analysis as tasks read them: pieces of tables, and the numbers of their nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.errors import OmnigraphError, SparkError
from omnigraph.exec.adjacency import Integers, Rows
from omnigraph.exec.analytics.nodes import NodeSpace, checked_integers
from omnigraph.exec.id_map import Hashes, hashes
from omnigraph.rows.arrow_types import ID
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.messages import FAILURE, Message
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.tables.scan import fragment_rows, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SALTS_MAX = 8
"""Maximum salts to try until no two ids collide. The first almost always suffices, for billions of ids."""


@dataclass(frozen=True, slots=True)
class NodePiece:
    """Fragments of a node table that one task reads, and the number of their first node."""

    type_name: str
    pin: TablePin
    fragments: tuple[int, ...]
    first: int


def node_pieces(space: NodeSpace) -> list[NodePiece]:
    """All nodes, in the order of their numbers."""
    found = []
    for name, table in space.tables.items():
        first, group, held = space.starts[name], list[int](), 0
        for fragment, rows in fragment_rows(table.store, table.pin) if table.rows else []:
            group.append(fragment)
            held += rows
            if held >= table.store.tuning.partition_rows:
                found.append(NodePiece(name, table.pin, tuple(group), first))
                first, group, held = first + held, [], 0
        if group:
            found.append(NodePiece(name, table.pin, tuple(group), first))
    return found


def read_column(store: Store, piece: NodePiece, name: str) -> pa.Array:
    """One column of a piece."""
    batches = scan(store, piece.pin, [name], fragments=piece.fragments)
    parts = [batch.column(name) for batch in batches]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.utf8())


def salted_hashes(ids: pa.Array, salt: str) -> Hashes:
    """Hashes of salted ids. An empty salt means the plain ids."""
    return hashes(pc.binary_join_element_wise(salt, ids, "") if salt else ids)


def salts() -> Iterator[str]:
    """Salts in the order in which they are tried; raises after the last."""
    yield from (str(number) if number else "" for number in range(SALTS_MAX))
    raise SparkError("node ids collide under every hash salt", hint="use the embedded engine")


@dataclass(frozen=True)
class NodeMap:
    """Node numbers of one type, sorted by the hash of the id. No two ids have the same hash."""

    hashes: Hashes
    numbers: Integers

    @classmethod
    def of(cls, hashed: Hashes, numbers: Integers) -> NodeMap | None:
        """The map of hashed nodes; None if two ids have the same hash."""
        order = np.argsort(hashed)
        ordered = hashed[order]
        return None if (ordered[1:] == ordered[:-1]).any() else cls(ordered, numbers[order])

    def numbers_of(self, wanted: Hashes) -> Rows:
        """The node number of every hash; -1 for an unknown one."""
        if not len(self.hashes):
            return np.full(len(wanted), -1, np.int64)
        places = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[places] == wanted, self.numbers[places], -1).astype(np.int64)


@dataclass(frozen=True)
class NodeMaps:
    """The maps of all node types, and the salt of their hashes."""

    by_type: Mapping[str, NodeMap]
    salt: str

    def numbers_of(self, type_name: str, ids: pa.Array) -> Rows:
        """The node number of every id; -1 for an unknown id."""
        return self.by_type[type_name].numbers_of(salted_hashes(ids, self.salt))


def node_maps(spark: SparkSession, space: NodeSpace) -> NodeMaps:
    """Let tasks hash all ids, and build the maps on the driver: 8 bytes a node arrive, 16 stay."""
    store, pieces = _store(space), node_pieces(space)
    for salt in salts():
        hashed = run_tasks(spark, partial(_hash_piece, store, salt), pieces)
        made = {name: _map_of(name, pieces, hashed, space.starts[name]) for name in space.tables}
        if None not in made.values():
            return NodeMaps({name: map_ for name, map_ in made.items() if map_ is not None}, salt)
    raise AssertionError("the last salt raises")


def _map_of(name: str, pieces: Sequence[NodePiece], hashed: Sequence[Hashes], first: int) -> NodeMap | None:
    parts = [part for piece, part in zip(pieces, hashed, strict=True) if piece.type_name == name]
    every = np.concatenate([np.zeros(0, np.uint64), *parts])
    return NodeMap.of(every, np.arange(first, first + len(every)))


def _hash_piece(store: Store, salt: str, piece: NodePiece) -> Hashes:
    return salted_hashes(read_column(store, piece, ID), salt)


def _store(space: NodeSpace) -> Store:
    return next(iter(space.tables.values())).store


def integer_pieces(
    store: Store, name: str, division: Division, pieces: Sequence[NodePiece], number: int
) -> Iterator[Message]:
    """An integer property of the nodes of a piece, for the blocks that they are in."""
    piece = pieces[number]
    try:
        values = checked_integers(read_column(store, piece, name), piece.type_name, name)
    except OmnigraphError as error:
        yield Message(0, FAILURE, error)
        return
    numbers = np.arange(piece.first, piece.first + len(values))
    for block, part, positions in division.parts(numbers):
        yield Message(block, number, (positions, values[part]))
