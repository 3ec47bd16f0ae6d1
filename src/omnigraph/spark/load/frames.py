"""Tables that Spark reads, through a mapping: which columns of them are written as what, by which tasks.

The columns that a mapping names travel to Python workers as Arrow data. A load can be resumed if Spark tells which part
of which file each task reads; nobody knows what a frame gives the second time. For the same reason no row is read
again: what is rejected is kept by the task, or read from what was written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError, UsageError
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.spark.cluster.progress import Watch
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.tasks import OUTCOMES, attempts_max, outcome, outcome_batch, results, translated_jobs
from omnigraph.spark.load.csv_quotes import refuse_open_quotes
from omnigraph.spark.load.frame_partitions import files_of_tasks
from omnigraph.spark.load.frame_parts import FrameColumns, Numbering, write_part
from omnigraph.spark.load.input import LoadInput, RowLines
from omnigraph.spark.load.journal import Journal
from omnigraph.spark.load.mapping import EntitySpec, Expression, LoadMapping, SourceSpec, parse_mapping, parse_source
from omnigraph.spark.load.parts import Part, PartWriter
from omnigraph.spark.load.records import stored_records
from omnigraph.spark.load.runs import Identity, Unrepeatable, disposable, undo_noted, undoing
from omnigraph.write.load.plan import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

READING = {
    # Spark would give the columns of all files the names that one of them has.
    "csv": {"header": "true", "escape": '"', "mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
    # Spark would leave out the columns that some one file does not have.
    "orc": {"mergeSchema": "true"},
    "parquet": {"mergeSchema": "true"},
}
"""How files are read unless a mapping says otherwise: quotes are doubled, and what does not fit is an error."""

_ENDS = {"from": SRC, "to": DST}
_INTEGER_BITS = 63
"""Larger numbers are decimals for Spark."""
_ENTRY_SHIFT = 32
"""Parts are numbered by the entry of the mapping, and by the task within its job."""


class MappedTables:
    """What a load through a mapping reads. ``frames`` are frames or paths by the names of sources; they come first."""

    def __init__(self, spark: SparkSession, mapping: Mapping[str, Any], frames: Mapping[str, Any]) -> None:
        self.spark = spark
        self._mapping = mapping
        self._frames = frames
        self._read: dict[str, tuple[DataFrame, bool]] = {}
        self._ids_given: list[bool] = []
        """By number of a part: whether the mapping gives ids."""

    def identity(self, catalog: Catalog) -> Identity:
        """The files as they are, and how the tasks of this session share them."""
        tasks = []
        for frame, columns in self._selected(catalog):
            found = files_of_tasks(frame) if columns.has_files else "it is no file"
            if isinstance(found, str):
                return Unrepeatable(f"source {columns.source!r} may be other rows the second time: {found}")
            tasks.append(found)
        # Options of readers may hold what nobody else should read.
        told = json.dumps([self._mapping, self._frames], sort_keys=True, default=str)
        return {"mapping": hashlib.sha256(told.encode()).hexdigest(), "tasks": tasks}

    def _selected(self, catalog: Catalog) -> list[tuple[DataFrame, FrameColumns]]:
        """A frame for each entry of the mapping, with the columns that it needs."""
        mapping = parse_mapping(self._mapping, catalog)
        with translated_jobs():
            for name in dict.fromkeys(spec.source for spec in mapping.entities):
                if name not in self._read:
                    self._read[name] = _frame(self.spark, name, mapping, self._frames)
            specs = enumerate(mapping.entities)
            return [_select(spec, number, *self._read[spec.source], catalog.nodes) for number, spec in specs]

    def write(self, writer: PartWriter, journal: Journal | None, mode: LoadMode, watch: Watch) -> LoadInput:
        """Run the tasks that no earlier run of this load has finished; a job for each entry of the mapping."""
        done = {} if journal is None else journal.finished()
        watch.reuse(sum(part.rows for part in done.values()))
        selected = self._selected(writer.catalog)
        ours: dict[int, Part] = {}
        undo = undoing(writer.store, journal)
        try:
            for frame, columns in selected:
                task = FrameTask(writer, columns, journal, frozenset(done), attempts_max(self.spark))
                ours |= dict(results(mapped(frame, task, OUTCOMES), lambda item: undo(item[1])))
        except BaseException:
            for part in ours.values():
                undo(part)
            undo_noted(writer.store, journal, done)
            raise
        numbers = sorted({**done, **ours})
        self._ids_given = [ID in selected[number >> _ENTRY_SHIFT][1].names for number in numbers]
        parts = [ours[number] if number in ours else done[number] for number in numbers]
        kept = disposable(journal, list(ours.values()))
        return LoadInput(writer.store, mode, parts, partial(_find_lines, parts), disposable=kept, journal=journal)

    def records(self, whole: LoadInput, wanted: Mapping[int, Sequence[int]]) -> Mapping[int, Mapping[int, object]]:
        """Records of rows, by number of the part and line in it. A part has rows of one type."""
        found: dict[int, dict[int, object]] = {}
        for number, lines in wanted.items():
            part = whole.parts[number]
            found[number] = {line: part.records[line] for line in lines if line in part.records}
            numbering = Numbering(part)
            rows = {numbering.row(line): line for line in lines if line not in part.records}
            for key in part.tables if rows else ():
                stored = stored_records(whole, number, key, list(rows), with_id=self._ids_given[number])
                found[number] |= {rows[row]: record for row, record in stored.items()}
        return found


def _find_lines(parts: Sequence[Part], wanted: Mapping[tuple[int, str], Sequence[int]]) -> RowLines:
    """Every row that was not set aside was written, in its order."""
    found = {}
    for (number, key), rows in wanted.items():
        numbering = Numbering(parts[number])
        found[number, key] = {row: numbering.line(row) for row in rows}
    return found


@dataclass(frozen=True)
class FrameTask:
    """What the tasks of one job do. Travels to the executors."""

    writer: PartWriter
    columns: FrameColumns
    journal: Journal | None
    done: frozenset[int]
    attempts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        number = (self.columns.entry << _ENTRY_SHIFT) | task
        if number not in self.done:
            yield outcome_batch(number, outcome(partial(self._write, number, task, batches), self.attempts))

    def _write(self, number: int, task: int, batches: Iterator[pa.RecordBatch]) -> tuple[int, Part]:
        part = write_part(self.writer, self.columns, task, batches)
        if self.journal is not None:
            self.journal.note(number, part)
        return number, part


def _frame(spark: SparkSession, name: str, mapping: LoadMapping, frames: Mapping[str, Any]) -> tuple[DataFrame, bool]:
    """A source as a frame, and whether its rows come from files."""
    given = frames.get(name)
    if given is not None and hasattr(given, "mapInArrow"):
        return given, False
    if given is not None:
        return _with_files(_read(spark, name, parse_source(given, f"sources.{name}")))
    spec = mapping.sources.get(name)
    if spec is None:
        known = [*frames, *mapping.sources]
        hint = did_you_mean(name, known) or f"the sources are {', '.join(known) or 'none'}"
        raise UsageError(f"there is no source {name!r}", hint=hint, source=name)
    return _with_files(_read(spark, name, spec))


def _with_files(frame: DataFrame) -> tuple[DataFrame, bool]:
    """A frame, and whether Spark tells which file a row came from: not every format has files."""
    from pyspark.errors import AnalysisException

    try:
        _ = frame.select("_metadata.file_path", "_metadata.file_block_start").schema
    except AnalysisException:
        return frame, False
    return frame, True


def _read(spark: SparkSession, name: str, spec: SourceSpec) -> DataFrame:
    from pyspark.errors import AnalysisException

    options = {**READING.get(spec.format, {}), **spec.options}
    try:
        # The JVM may have been started elsewhere.
        paths = [path if "://" in path else os.path.abspath(path) for path in spec.paths]
        frame = spark.read.format(spec.format).options(**options).load(paths)
        # A session of Spark Connect looks at the files only when it is asked what is in them.
        _ = frame.schema
        if spec.format == "csv":
            refuse_open_quotes(spark, name, paths, spec.options)
        return frame
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise NotFoundError(f"source {name!r}: there is no file {', '.join(spec.paths)}", source=name) from error
        raise UsageError(f"source {name!r} cannot be read: {error}", source=name) from error


def _select(
    spec: EntitySpec, number: int, frame: DataFrame, has_files: bool, nodes: Mapping[str, NodeType]
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

    if expression.column is not None and expression.column not in frame.columns:
        hint = did_you_mean(expression.column, frame.columns) or f"the columns are {', '.join(frame.columns)}"
        raise UsageError(f"{expression.at}: there is no column {expression.column!r}", hint=hint, at=expression.at)
    try:
        if expression.column is not None:
            return frame[f"`{expression.column.replace('`', '``')}`"]
        if expression.sql is None:
            return f.lit(_constant(expression.value))
        column = f.expr(expression.sql)
        _ = frame.select(column).schema
    except AnalysisException as error:
        raise UsageError(f"{expression.at}: {error}", at=expression.at) from error
    return column


def _constant(value: object) -> object:
    """A constant as Spark takes it. A time without a zone is one of UTC here, for Spark one of wherever it runs."""
    match value:
        case datetime() if value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        case int() if value.bit_length() > _INTEGER_BITS:
            return Decimal(value)
        case list():
            return [_constant(item) for item in value]
    return value
