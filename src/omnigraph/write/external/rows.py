"""Rows of an external table as those of a load, for its checks: typed by the same code, with their places in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.ingest.reading import references as references_of
from omnigraph.lake.external.columns import file_columns, raw_columns
from omnigraph.lake.external.files import ParquetRows, open_rows
from omnigraph.lake.external.seal import Seal, SealedFile
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.limits import BATCH_ROWS
from omnigraph.rows.read.arrow import from_batches
from omnigraph.rows.typed_rows import PlacedBatch, counting
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.write.load.plan import SourcedRows


def source_rows(
    entity: Entity, catalog: Catalog, seal: Seal, options: Mapping[str, str], violations: Violations
) -> Iterator[SourcedRows]:
    """The rows of the files of a seal. Reports values that do not fit into ``violations``."""
    references = _references(entity, catalog)
    for file in seal.files:
        source = seal.source_file(file, options)
        with open_rows(source, entity.table_key) as rows:
            first = next(_raw(seal, file, rows, limit=0))
            placed = (_identified(batch, entity, source.address, violations) for batch in _raw(seal, file, rows))
            typed = from_batches(
                entity,
                first.batch.schema,
                placed,
                source=source.address,
                mint_ids=_never,
                violations=violations,
                references=references,
                locates_columns=True,
            )
            for part in typed:
                yield source.address, part


def _references(entity: Entity, catalog: Catalog) -> dict[str, tuple[NodeType, ...]]:
    return references_of(entity, catalog) if isinstance(entity, EdgeType) else {}


def _raw(seal: Seal, file: SealedFile, rows: ParquetRows, limit: int | None = None) -> Iterator[PlacedBatch]:
    """The raw columns of live rows, and the number of each row in its file, from 1. With a limit of 0, no rows."""
    columns = [column for column in seal.columns if column.name != ID or not seal.key]
    in_file = file_columns(rows, columns)
    wanted = list(dict.fromkeys(in_file.values()))
    empty = {name: pa.array([], rows.schema.field(found).type) for name, found in in_file.items()}
    if limit == 0:
        yield _placed(raw_columns(seal, file, empty, columns, 0, 0), counting(1, 0))
        return
    dead, at = pa.array(file.dead_offsets() + 1), 0
    for batch in rows.batches(range(len(file.groups)), wanted, BATCH_ROWS):
        read = {name: batch.column(found) for name, found in in_file.items()}
        raw = raw_columns(seal, file, read, columns, at, batch.num_rows)
        lines = counting(at + 1, batch.num_rows)
        placed = _placed(raw, lines)
        if len(dead):
            live = pc.invert(pc.is_in(lines, value_set=dead))
            placed = PlacedBatch(placed.batch.filter(live), lines.filter(live))
        yield placed
        at += batch.num_rows


def _placed(raw: Mapping[str, pa.Array], lines: pa.Array) -> PlacedBatch:
    return PlacedBatch(pa.RecordBatch.from_arrays(list(raw.values()), list(raw)), lines)


def _identified(placed: PlacedBatch, entity: Entity, source: str, violations: Violations) -> PlacedBatch:
    """The rows with an id. A load would mint one, but that of a row outside the graph must stay the same."""
    if ID not in placed.batch.schema.names or not placed.batch.column(ID).null_count:
        return placed
    is_missing = pc.is_null(placed.batch.column(ID))
    for line in placed.lines.filter(is_missing).to_pylist():
        message = f"missing id of {entity.name}"
        violations.add(
            Violation(ViolationCode.REQUIRED, message, entity.table_key, property=ID, place=Place(source, line))
        )
    kept = pc.invert(is_missing)
    return PlacedBatch(placed.batch.filter(kept), placed.lines.filter(kept))


def _never(count: int) -> str:
    raise AssertionError(f"{count} rows without an id")
