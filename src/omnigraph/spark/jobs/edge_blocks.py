"""The edges of an analysis on a cluster: encoded once, divided by the nodes they lead to, and kept there.

Executors read ids from the tables themselves and turn them into numbers by their hashes; what is shuffled is arrays of
numbers. A node map is checked to have no two ids with one hash, so an edge finds its node or none.
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
"""Ways to hash ids that are tried until no two have the same hash. One is enough for billions of them."""


class Shipped(Protocol):
    """A value that executors can look at."""

    @property
    def value(self) -> Any: ...


@dataclass(frozen=True)
class NodeMap:
    """Nodes of one type by the hash of their id, ascending."""

    hashes: Hashes
    numbers: Integers
    salt: str

    def numbers_of(self, ids: pa.Array) -> Rows:
        """The number of every id, -1 where there is none."""
        if not len(self.hashes):
            return np.full(len(ids), -1, np.int64)
        wanted = salted_hashes(ids, self.salt)
        places = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[places] == wanted, self.numbers[places], -1).astype(np.int64)


@dataclass(frozen=True)
class Division:
    """How nodes are divided into blocks: all of the same size, but the last."""

    nodes: int
    blocks: int

    @property
    def size(self) -> int:
        return max(-(-self.nodes // self.blocks), 1)

    def range_of(self, block: int) -> tuple[int, int]:
        """The first node of a block and how many it has."""
        first = min(block * self.size, self.nodes)
        return first, min(self.size, self.nodes - first)


@dataclass(frozen=True)
class _Piece:
    """Fragments of an edge table that one task encodes."""

    edge: EdgeType
    pin: TablePin
    fragments: tuple[int, ...]


# --- driver ----------------------------------------------------------------------------------------------


def node_maps(spark: SparkSession, space: NodeSpace) -> dict[str, NodeMap]:
    """A map of every node type."""
    found: dict[str, NodeMap] = {}
    for salt in (str(number) if number else "" for number in range(SALTS_MAX)):
        missing = [name for name in space.tables if name not in found]
        pieces = [
            (name, group)
            for name in missing
            for group in fragment_groups(space.tables[name].store, space.tables[name].pin, limits.PARTITION_ROWS)
        ]
        pins = {name: space.tables[name].pin for name in missing}
        store = next(iter(space.tables.values())).store
        hashed = run_tasks(spark, partial(_hash_nodes, store, pins, salt), pieces)
        for name in missing:
            parts = [part for (owner, _), part in zip(pieces, hashed, strict=True) if owner == name]
            made = _map_of(parts, space.starts[name], salt)
            if made is not None:
                found[name] = made
        if len(found) == len(space.tables):
            return found
    raise SparkError("the ids of the nodes cannot be told apart by their hashes", hint="use the embedded engine")


def _map_of(parts: Sequence[Hashes], start: int, salt: str) -> NodeMap | None:
    """None if two ids have one hash."""
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
    """The blocks as rows of arrays. Nothing is run yet."""
    pieces = [
        _Piece(edge, pins[edge.table_key], group)
        for edge in chosen.edges
        for group in fragment_groups(store, pins[edge.table_key], limits.FACT_ROWS)
    ]
    numbers = spark.range(0, len(pieces), 1, max(len(pieces), 1))
    encode = partial(_encode, store, pieces, chosen.weight, form, maps, division)
    chunks = mapped(numbers, encode, CHUNKS).repartition(division.blocks, "block")
    return mapped(chunks, partial(_build, form, division), BLOCKS)


# --- executors -------------------------------------------------------------------------------------------


def salted_hashes(ids: pa.Array, salt: str) -> Hashes:
    """Hashes of ids; another salt gives others."""
    return hashes(pc.binary_join_element_wise(salt, ids, "") if salt else ids)


def _hash_nodes(store: Store, pins: Mapping[str, TablePin], salt: str, piece: tuple[str, tuple[int, ...]]) -> Hashes:
    name, fragments = piece
    batches = scan(store, pins[name], [ID], fragments=fragments)
    parts = [salted_hashes(batch.column(ID), salt) for batch in batches]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _encode(
    store: Store,
    pieces: Sequence[_Piece],
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


def _read(store: Store, piece: _Piece, weight: str | None, maps: Mapping[str, NodeMap]) -> EdgeArrays:
    """Edges by the numbers of their ends, without those whose node is missing."""
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
    """The edges along which values travel. Parallel ones are only told apart where all of a node's edges are."""
    if form is Form.SIMPLE:
        loops = edges.sources == edges.targets
        edges = EdgeArrays(edges.sources[~loops], edges.targets[~loops])
    return edges if form is Form.DIRECTED else edges.seen_as(Form.BOTH, 0)


def _chunks(edges: EdgeArrays, division: Division) -> pa.RecordBatch:
    """The edges of every block together."""
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
    """What came to one task, as whole blocks."""
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
    """A block as a row."""
    return _rows(
        BLOCKS,
        [number],
        offsets=[block.offsets.astype(np.int64).tobytes()],
        neighbours=[block.neighbours.tobytes()],
        weights=None if block.weights is None else [block.weights.tobytes()],
    )


def row_block(row: Mapping[str, Any], division: Division) -> EdgeBlock:
    """A row as a block; its arrays are not copied."""
    kind = number_kind(division.nodes)
    weights = None if row["weights"] is None else np.frombuffer(row["weights"], np.float64)
    first, _ = division.range_of(row["block"])
    offsets, neighbours = np.frombuffer(row["offsets"], np.int64), np.frombuffer(row["neighbours"], kind)
    return EdgeBlock(first, offsets, neighbours, division.nodes, weights)


def _rows(columns: str, numbers: list[int], **values: list[bytes] | None) -> pa.RecordBatch:
    """Rows of binary columns after a number, in the order that Spark was told."""
    names = [column.split()[0] for column in columns.split(", ")]
    arrays = [pa.array(numbers, pa.int64())]
    for name in names[1:]:
        given = values.get(name)
        arrays.append(pa.nulls(len(numbers), pa.binary()) if given is None else pa.array(given, pa.binary()))
    return pa.RecordBatch.from_arrays(arrays, names=names)
