"""Tables that Spark reads, to fragments: the columns that a mapping names travel to Python workers as Arrow data.

A row is known by its file and its number in it, or by its number in the frame. Spark tells where a block of a file
begins; the rows of blocks that other tasks read are added up on the driver.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.ports import UlidSource
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.lang.diagnostics import did_you_mean
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.read_arrow import from_arrow, reference_ids
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.spark.mapping import EntitySpec, Expression, LoadMapping, SourceSpec, parse_source
from omnigraph.spark.parts import Part, PartWriter, Span, discard_part
from omnigraph.spark.tasks import OUTCOMES, attempts_max, outcome, outcome_batch, results

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

READING = {"csv": {"header": "true", "escape": '"', "mode": "FAILFAST"}, "json": {"mode": "FAILFAST"}}
"""How files are read unless a mapping says otherwise: quotes are doubled, and what does not fit is an error."""

_ENDS = {"from": SRC, "to": DST}


@dataclass(frozen=True, slots=True)
class FrameColumns:
    """What the columns of a selected frame are. With ``has_files`` the first two say where a row came from."""

    entry: int
    source: str
    entity: Entity
    ends: Mapping[str, NodeType]
    names: tuple[str, ...]
    has_files: bool


def write_frames(
    spark: SparkSession, writer: PartWriter, mapping: LoadMapping, frames: Mapping[str, Any]
) -> list[Part]:
    """Write everything a mapping names. ``frames`` are frames or paths by the names of sources; they come first."""
    read = {name: _frame(spark, name, mapping, frames) for name in dict.fromkeys(e.source for e in mapping.entities)}
    selected = [_select(spec, number, *read[spec.source], writer) for number, spec in enumerate(mapping.entities)]
    parts: list[Part] = []
    undo = partial(discard_part, writer.store)
    try:
        for frame, columns in selected:
            work = partial(_write, writer, columns, attempts_max(spark))
            parts += results(frame.mapInArrow(work, OUTCOMES), undo)
    except BaseException:
        for part in parts:
            undo(part)
        raise
    return parts


# --- driver ----------------------------------------------------------------------------------------------


def _frame(spark: SparkSession, name: str, mapping: LoadMapping, frames: Mapping[str, Any]) -> tuple[DataFrame, bool]:
    """A source as a frame, and whether its rows come from files."""
    given = frames.get(name)
    if given is not None and hasattr(given, "mapInArrow"):
        return given, False
    if given is not None:
        return _read(spark, name, parse_source(given, f"sources.{name}")), True
    spec = mapping.sources.get(name)
    if spec is None:
        known = [*frames, *mapping.sources]
        hint = did_you_mean(name, known) or f"the sources are {', '.join(known) or 'none'}"
        raise UsageError(f"there is no source {name!r}", hint=hint, source=name)
    return _read(spark, name, spec), True


def _read(spark: SparkSession, name: str, spec: SourceSpec) -> DataFrame:
    from pyspark.errors import AnalysisException

    options = {**READING.get(spec.format, {}), **spec.options}
    try:
        # The JVM may have been started elsewhere.
        paths = [path if "://" in path else os.path.abspath(path) for path in spec.paths]
        return spark.read.format(spec.format).options(**options).load(paths)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise NotFoundError(f"source {name!r}: there is no file {', '.join(spec.paths)}", source=name) from error
        raise UsageError(f"source {name!r} cannot be read: {error}", source=name) from error


def _select(
    spec: EntitySpec, number: int, frame: DataFrame, has_files: bool, writer: PartWriter
) -> tuple[DataFrame, FrameColumns]:
    from pyspark.sql import functions as f

    if spec.where is not None:
        frame = frame.where(_resolved(frame, Expression(f"{spec.at}.where", sql=spec.where)))
    given: dict[str, Expression] = dict(spec.columns or {})
    if spec.columns is None:
        given = {name: Expression(spec.at, column=name) for name in frame.columns if name in spec.entity.properties}
    if spec.id is not None:
        given[ID] = spec.id
    columns = {name: _resolved(frame, expression) for name, expression in given.items()}
    ends: dict[str, NodeType] = {}
    if isinstance(spec.entity, EdgeType):
        nodes = writer.catalog.nodes
        ends = {SRC: nodes[spec.entity.source], DST: nodes[spec.entity.target]}
        for end, parts in spec.ends.items():
            columns |= {f"{_ENDS[end]}.{n}": _resolved(frame, part) for n, part in enumerate(parts)}
    places = [f.col("_metadata.file_path"), f.col("_metadata.file_block_start")] if has_files else []
    # Numbers for names: whatever properties are called, no two columns are called alike.
    chosen = [column.alias(str(place)) for place, column in enumerate([*places, *columns.values()])]
    told = FrameColumns(number, spec.source, spec.entity, ends, tuple(columns), has_files)
    return frame.select(*chosen), told


def _resolved(frame: DataFrame, expression: Expression) -> Column:
    """A column that the frame can compute; raises UsageError that names the place in the mapping."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as f

    if expression.column is not None:
        if expression.column not in frame.columns:
            hint = did_you_mean(expression.column, frame.columns) or f"the columns are {', '.join(frame.columns)}"
            raise UsageError(f"{expression.at}: there is no column {expression.column!r}", hint=hint, at=expression.at)
        return frame[f"`{expression.column.replace('`', '``')}`"]
    if expression.sql is None:
        return f.lit(expression.value)
    try:
        column = f.expr(expression.sql)
        frame.select(column)
    except AnalysisException as error:
        raise UsageError(f"{expression.at}: {error}", at=expression.at) from error
    return column


# --- executors -------------------------------------------------------------------------------------------


def _write(
    writer: PartWriter, columns: FrameColumns, attempts: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    yield outcome_batch(number, outcome(partial(write_part, writer, columns, number, batches), attempts))


def write_part(writer: PartWriter, columns: FrameColumns, number: int, batches: Iterator[pa.RecordBatch]) -> Part:
    """Write what comes to one task."""
    spans = _Spans(columns, number)
    violations = Violations()
    first = next(batches, None)
    if first is None:
        return Part((), violations, {})
    arriving = itertools.chain([first], batches)
    typed = (_named(columns, batch) for batch in arriving if spans.note(batch))
    schema = _named(columns, first).schema
    rows = from_arrow(
        columns.entity,
        pa.RecordBatchReader.from_batches(schema, typed),
        source=columns.source,
        mint_ids=UlidSource().new_ids,
        violations=violations,
        from_texts=True,
    )
    tables = writer.write_rows(columns.source, rows, violations)
    return Part(tuple(spans.found), violations, tables)


def _named(columns: FrameColumns, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns under the names of the table, with the ids of both ends made from their columns."""
    given = batch.columns[2 if columns.has_files else 0 :]
    arrays = {name: array for name, array in zip(columns.names, given, strict=True) if "." not in name}
    if ID in arrays:
        arrays[ID] = arrays[ID].cast(pa.utf8())
    for end, node in columns.ends.items():
        parts = [array for name, array in zip(columns.names, given, strict=True) if name.startswith(f"{end}.")]
        arrays[end] = reference_ids(node, parts)
    return pa.RecordBatch.from_pydict(arrays)


class _Spans:
    """Which rows of which files came by."""

    def __init__(self, columns: FrameColumns, number: int) -> None:
        self.found: list[Span] = []
        self._columns = columns
        self._number = number

    def note(self, batch: pa.RecordBatch) -> bool:
        """Take note of a batch; always true."""
        for source, start, rows in self._runs(batch):
            last = self.found[-1] if self.found else None
            if last is not None and (last.source, last.start) == (source, start):
                self.found[-1] = Span(last.entry, source, start, last.lines + rows)
            else:
                self.found.append(Span(self._columns.entry, source, start, rows))
        return True

    def _runs(self, batch: pa.RecordBatch) -> Iterator[tuple[str, int, int]]:
        if not self._columns.has_files:
            yield f"<{self._columns.source}>", self._number, batch.num_rows
            return
        files, blocks = batch.column(0), batch.column(1)
        ends = sorted({*_run_ends(files), *_run_ends(blocks)})
        for start, end in zip([0, *ends], ends, strict=False):
            yield _shown_path(files[start].as_py()), blocks[start].as_py(), end - start


def _run_ends(array: pa.Array) -> Sequence[int]:
    encoded = pc.run_end_encode(array, run_end_type=pa.int64())
    ends: list[int] = encoded.run_ends.to_pylist()
    return ends


def _shown_path(url: str) -> str:
    parsed = urlparse(url)
    return unquote(parsed.path) if parsed.scheme == "file" else url
