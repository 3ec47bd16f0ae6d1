"""Edge blocks of an analysis: edges encoded as node numbers, partitioned by target node, and persisted on executors.

Executors read ids from the tables and convert them to numbers by hash; only arrays of numbers are shuffled.

Invariant: a node map has no two ids with the same hash, which is verified when it is built. An edge therefore finds
exactly its node, or none.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.errors import OmnigraphError, SparkError
from omnigraph.exec.adjacency import Integers, Rows
from omnigraph.exec.analytics.chosen import ChosenEdges
from omnigraph.exec.analytics.forms import Form
from omnigraph.exec.analytics.local import checked_weights
from omnigraph.exec.analytics.nodes import NodeSpace
from omnigraph.exec.analytics.steps import EdgeArrays, EdgeBlock, block_of, number_kind
from omnigraph.exec.id_map import Hashes, hashes
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHUNKS = "block long, sources binary, targets binary, weights binary, failure binary"
BLOCKS = "block long, offsets binary, neighbours binary, weights binary, failure binary"

SALTS_MAX = 8
"""Maximum salts to try until no two ids collide. The first almost always suffices, for billions of ids."""


class Shipped(Protocol):
    """A value that executors can read: a broadcast, or one sent with the job."""

    @property
    def value(self) -> Any: ...


@dataclass(frozen=True)
class NodeMap:
    """Node numbers of one type, sorted by the hash of the id."""

    hashes: Hashes
    numbers: Integers
    salt: str

    def numbers_of(self, ids: pa.Array) -> Rows:
        """The node number of every id; -1 for an unknown id."""
        if not len(self.hashes):
            return np.full(len(ids), -1, np.int64)
        wanted = salted_hashes(ids, self.salt)
        places = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[places] == wanted, self.numbers[places], -1).astype(np.int64)


@dataclass(frozen=True)
class Division:
    """Division of nodes into blocks of equal size, except the last."""

    nodes: int
    blocks: int

    @property
    def size(self) -> int:
        return max(-(-self.nodes // self.blocks), 1)

    def range_of(self, block: int) -> tuple[int, int]:
        """The first node of a block, and the number of its nodes."""
        first = min(block * self.size, self.nodes)
        return first, min(self.size, self.nodes - first)


@dataclass(frozen=True)
class _EdgeRead:
    """Fragments of an edge table that one task encodes."""

    edge: EdgeType
    pin: TablePin
    fragments: tuple[int, ...]


def node_maps(spark: SparkSession, space: NodeSpace) -> dict[str, NodeMap]:
    """Build the map of every node type."""
    found: dict[str, NodeMap] = {}
    store = next(iter(space.tables.values())).store
    for salt in (str(number) if number else "" for number in range(SALTS_MAX)):
        missing = [name for name in space.tables if name not in found]
        pieces = [
            (name, group)
            for name in missing
            for group in fragment_groups(store, space.tables[name].pin, store.tuning.partition_rows)
        ]
        pins = {name: space.tables[name].pin for name in missing}
        hashed = run_tasks(spark, partial(_hash_nodes, store, pins, salt), pieces)
        for name in missing:
            parts = [part for (owner, _), part in zip(pieces, hashed, strict=True) if owner == name]
            made = _map_of(parts, space.starts[name], salt)
            if made is not None:
                found[name] = made
        if len(found) == len(space.tables):
            return found
    raise SparkError("node ids collide under every hash salt", hint="use the embedded engine")


def _map_of(parts: Sequence[Hashes], start: int, salt: str) -> NodeMap | None:
    """The map of hashed nodes; None if two ids have the same hash."""
    every = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    order = np.argsort(every)
    ordered = every[order]
    if (ordered[1:] == ordered[:-1]).any():
        return None
    return NodeMap(ordered, order + start, salt)


def edge_blocks(
    spark: SparkSession,
    store: Store,
    pins: Mapping[str, TablePin],
    chosen: ChosenEdges,
    form: Form,
    maps: Shipped,
    division: Division,
) -> DataFrame:
    """The blocks as a lazy frame, one row of arrays each."""
    pieces = [
        _EdgeRead(edge, pins[edge.table_key], group)
        for edge in chosen.edges
        for group in fragment_groups(store, pins[edge.table_key], limits.FACT_ROWS)
    ]
    numbers = spark.range(0, len(pieces), 1, max(len(pieces), 1))
    encode = partial(_encode, store, pieces, chosen.weight, form, maps, division)
    chunks = mapped(numbers, encode, CHUNKS).repartition(division.blocks, "block")
    return mapped(chunks, partial(_build, form, division), BLOCKS)


def salted_hashes(ids: pa.Array, salt: str) -> Hashes:
    """Hashes of salted ids. An empty salt means the plain ids."""
    return hashes(pc.binary_join_element_wise(salt, ids, "") if salt else ids)


def _hash_nodes(store: Store, pins: Mapping[str, TablePin], salt: str, piece: tuple[str, tuple[int, ...]]) -> Hashes:
    name, fragments = piece
    batches = scan(store, pins[name], [ID], fragments=fragments)
    parts = [salted_hashes(batch.column(ID), salt) for batch in batches]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _encode(
    store: Store,
    pieces: Sequence[_EdgeRead],
    weight: str | None,
    form: Form,
    maps: Shipped,
    division: Division,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            piece = pieces[number]
            try:
                edges = _read(store, piece, weight, maps.value)
                yield _chunks(_turned(edges, form), division)
            except OmnigraphError as error:
                yield _rows(CHUNKS, [-1], failure=[pickle.dumps(error)])


def _read(store: Store, piece: _EdgeRead, weight: str | None, maps: Mapping[str, NodeMap]) -> EdgeArrays:
    """Edges as node numbers, without edges of unknown nodes."""
    names = [SRC, DST, *([] if weight is None else [weight])]
    found: list[EdgeArrays] = []
    for batch in scan(store, piece.pin, names, fragments=piece.fragments):
        sources = maps[piece.edge.source].numbers_of(batch.column(SRC))
        targets = maps[piece.edge.target].numbers_of(batch.column(DST))
        known = (sources >= 0) & (targets >= 0)
        weights = None
        if weight is not None:
            weights = checked_weights(batch.column(weight).filter(pa.array(known)), piece.edge.name, weight)
        found.append(EdgeArrays(sources[known], targets[known], weights))
    return _joined(found)


def _joined(parts: Sequence[EdgeArrays]) -> EdgeArrays:
    nothing = np.zeros(0, np.int64)
    weights = [part.weights for part in parts if part.weights is not None]
    return EdgeArrays(
        np.concatenate([nothing, *(part.sources for part in parts)]),
        np.concatenate([nothing, *(part.targets for part in parts)]),
        np.concatenate(weights) if weights else None,
    )


def _turned(edges: EdgeArrays, form: Form) -> EdgeArrays:
    """Orient the edges in the direction in which values propagate.

    Parallel edges are removed later, in the block that has all edges of a node.
    """
    if form is Form.SIMPLE:
        loops = edges.sources == edges.targets
        edges = EdgeArrays(edges.sources[~loops], edges.targets[~loops])
    return edges if form is Form.DIRECTED else edges.seen_as(Form.BOTH, 0)


def _chunks(edges: EdgeArrays, division: Division) -> pa.RecordBatch:
    """Divide edges into one chunk per block of their targets.

    Example with blocks of two nodes, after the stable sort by block:

    ======  ======  =====
    source  target  block
    ======  ======  =====
    4       1       0
    2       0       0
    0       2       1
    3       2       1
    1       5       2
    ======  ======  =====

    The first rows of the blocks are [0, 2, 4], so the chunks are the ranges 0:2, 2:4 and 4:5.
    """
    owners = edges.targets // division.size
    order = np.argsort(owners, kind="stable")
    sources, targets = edges.sources[order], edges.targets[order]
    weights = None if edges.weights is None else edges.weights[order]
    present, cuts = np.unique(owners[order], return_index=True)
    ranges = list(zip(cuts.tolist(), [*cuts[1:].tolist(), len(order)], strict=True))
    kind = number_kind(division.nodes)
    return _rows(
        CHUNKS,
        present.tolist(),
        sources=[sources[start:stop].astype(kind).tobytes() for start, stop in ranges],
        targets=[targets[start:stop].astype(kind).tobytes() for start, stop in ranges],
        weights=None if weights is None else [weights[start:stop].tobytes() for start, stop in ranges],
    )


def _build(form: Form, division: Division, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Assemble the chunks of one task to blocks. All chunks of a block are in one task."""
    kind = number_kind(division.nodes)
    parts: dict[int, list[EdgeArrays]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            if row["failure"] is not None:
                yield _rows(BLOCKS, [-1], failure=[row["failure"]])
                continue
            sources, targets = (np.frombuffer(row[end], kind).astype(np.int64) for end in ("sources", "targets"))
            weights = None if row["weights"] is None else np.frombuffer(row["weights"], np.float64)
            parts.setdefault(row["block"], []).append(EdgeArrays(sources, targets, weights))
    for number in sorted(parts):
        first, size = division.range_of(number)
        block = block_of(_joined(parts.pop(number)), first, size, division.nodes)
        yield block_row(number, block.without_parallels if form is Form.SIMPLE else block)


def block_row(number: int, block: EdgeBlock) -> pa.RecordBatch:
    """Serialise a block to a row."""
    return _rows(
        BLOCKS,
        [number],
        offsets=[block.offsets.astype(np.int64).tobytes()],
        neighbours=[block.neighbours.tobytes()],
        weights=None if block.weights is None else [block.weights.tobytes()],
    )


def row_block(row: Mapping[str, Any], division: Division) -> EdgeBlock:
    """Deserialise a row to a block, without copying its arrays."""
    kind = number_kind(division.nodes)
    weights = None if row["weights"] is None else np.frombuffer(row["weights"], np.float64)
    first, _ = division.range_of(row["block"])
    offsets, neighbours = np.frombuffer(row["offsets"], np.int64), np.frombuffer(row["neighbours"], kind)
    return EdgeBlock(first, offsets, neighbours, division.nodes, weights)


def _rows(columns: str, numbers: list[int], **values: list[bytes] | None) -> pa.RecordBatch:
    """A batch of numbers and binary columns, in the order of the Spark columns."""
    names = [column.split()[0] for column in columns.split(", ")]
    arrays = [pa.array(numbers, pa.int64())]
    for name in names[1:]:
        given = values.get(name)
        arrays.append(pa.nulls(len(numbers), pa.binary()) if given is None else pa.array(given, pa.binary()))
    return pa.RecordBatch.from_arrays(arrays, names=names)
