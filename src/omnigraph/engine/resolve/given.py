"""Pairs that the caller gives: reviewed ones, or those that another tool has scored, such as Splink."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.exec.resolve.matches import pairs_schema
from omnigraph.exec.resolve.rules import ResolveRules
from omnigraph.ingest.files.find import FoundFile, find_sources
from omnigraph.ingest.files.formats import open_table
from omnigraph.ingest.frames import is_columns, is_frame
from omnigraph.rows.read.arrow import as_reader
from omnigraph.schema.catalog import NodeType
from omnigraph.storage.tables.scan import find_ids

GivenPairs = Any
"""A file, an Arrow table, a data frame, or a list of pairs of ids."""

_NAMES: Final = {
    "left": ("left", "unique_id_l", "id_l"),
    "right": ("right", "unique_id_r", "id_r"),
    "score": ("score", "match_probability"),
    "match": ("match",),
}
"""Columns, with the names that Splink gives them."""


def read_pairs(given: GivenPairs, snapshot: Snapshot, node: NodeType, rules: ResolveRules) -> pa.Table:
    """Pairs of existing entities as a table of matches."""
    table = _table(given, snapshot.store.options)
    columns = {
        name: next((known for known in names if known in table.schema.names), None) for name, names in _NAMES.items()
    }
    if columns["left"] is None or columns["right"] is None:
        raise UsageError(
            f"pairs need the columns left and right, got {', '.join(table.schema.names) or 'none'}",
            hint="the pairs of a preview have them",
        )
    sides = [table.column(columns[side]).combine_chunks().cast(pa.string()) for side in ("left", "right")]
    _check_ids(pc.unique(pa.concat_arrays(sides)).to_pylist(), snapshot, node)
    count = table.num_rows
    score = pa.array([1.0] * count) if columns["score"] is None else table.column(columns["score"]).cast(pa.float64())
    match = pa.array([True] * count) if columns["match"] is None else table.column(columns["match"]).cast(pa.bool_())
    return pa.Table.from_arrays([*sides, score, match], schema=pairs_schema(rules))


def _table(given: GivenPairs, options: Mapping[str, str]) -> pa.Table:
    if isinstance(given, str | os.PathLike):
        return pa.concat_tables([_read(found) for found in find_sources(given, options)])
    if is_frame(given) or is_columns(given):
        return as_reader(pa.table(given) if is_columns(given) else given).read_all()
    rows = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(row, tuple | list) and [type(id_) for id_ in row] == [str, str] for row in rows):
        raise UsageError("pairs must be a table, a file, or pairs of ids", hint='for example [("ada", "ada2")]')
    sides = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({name: pa.array(ids, pa.string()) for name, ids in zip(("left", "right"), sides, strict=True)})


def _read(found: FoundFile) -> pa.Table:
    with open_table(found.source) as table:
        return table.reader().read_all()


def _check_ids(ids: list[str | None], snapshot: Snapshot, node: NodeType) -> None:
    if None in ids:
        raise UsageError("a pair without an id", hint="left and right are ids")
    known = find_ids(snapshot.store, snapshot.state.tables[node.table_key], [str(id_) for id_ in ids])
    missing = next((id_ for id_ in ids if id_ not in known), None)
    if missing is not None:
        raise NotFoundError(f"there is no {node.name} {missing!r}", type=node.name, entity_id=missing)
