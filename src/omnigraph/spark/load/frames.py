"""Frames as the source of a load: a mapping selects their columns, and tasks write them.

The selected columns reach Python workers as Arrow batches. A load can be resumed only if Spark's plan shows which file
ranges each task reads, because a second evaluation of a frame may give other rows. For the same reason no row is read
again: the task keeps the record of a rejected row, or the record is read from the written fragments.
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
from omnigraph.ingest.mapped import end_nodes
from omnigraph.ingest.mapping import EntitySpec, Expression, LoadMapping, SourceSpec, parse_mapping, parse_source
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.spark.cluster.progress import Watch
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.tasks import OUTCOMES, attempts_max, outcome, outcome_batch, results, translated_jobs
from omnigraph.spark.load.folding import fold_slices
from omnigraph.spark.load.formats import format_of_name
from omnigraph.spark.load.frame_slices import FrameColumns, write_frame_slice
from omnigraph.spark.load.input import LoadInput
from omnigraph.spark.load.journal import Journal
from omnigraph.spark.load.records import frame_lines, frame_records
from omnigraph.spark.load.runs import Identity, Unrepeatable, disposable, undo_noted, undoing
from omnigraph.spark.load.slices import InputSlice, SliceWriter
from omnigraph.spark.load.task_files import files_of_tasks
from omnigraph.write.load.mode import LoadMode

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ENDS = {"from": SRC, "to": DST}
_INTEGER_BITS = 63
"""Larger integers become decimals in Spark."""
_ENTRY_SHIFT = 32
"""The number of a slice is its mapping entry in the upper bits, and its task in the lower ones."""


class MappedTables:
    """The source of a load through a mapping. ``frames`` (frames or paths by name) override sources of the mapping."""

    def __init__(self, spark: SparkSession, mapping: Mapping[str, Any], frames: Mapping[str, Any]) -> None:
        self.spark = spark
        self._mapping = mapping
        self._frames = frames
        self._read: dict[str, tuple[DataFrame, bool]] = {}
        self._ids_given: list[bool] = []
        """By position of a slice: True if the mapping provides ids."""

    def identity(self, catalog: Catalog) -> Identity:
        """The mapping, and the file ranges of every task with size and modification time."""
        tasks = []
        for frame, columns in self._selected(catalog):
            found = files_of_tasks(frame) if columns.has_files else "it is not a file"
            if isinstance(found, str):
                return Unrepeatable(f"source {columns.source!r} may give other rows when it is read again: {found}")
            tasks.append(found)
        # A digest, because reader options may contain credentials, and the journal is stored in plain text.
        text = json.dumps([self._mapping, self._frames], sort_keys=True, default=str)
        return {"mapping": hashlib.sha256(text.encode()).hexdigest(), "tasks": tasks}

    def _selected(self, catalog: Catalog) -> list[tuple[DataFrame, FrameColumns]]:
        """One frame per mapping entry, with the columns that it needs."""
        mapping = parse_mapping(self._mapping, catalog)
        with translated_jobs():
            for name in dict.fromkeys(spec.source for spec in mapping.entities):
                if name not in self._read:
                    self._read[name] = _frame(self.spark, name, mapping, self._frames)
            specs = enumerate(mapping.entities)
            return [_select(spec, number, *self._read[spec.source], catalog.nodes) for number, spec in specs]

    def write(self, writer: SliceWriter, journal: Journal | None, mode: LoadMode, watch: Watch) -> LoadInput:
        """Run the tasks that no earlier run of this load has completed, one job per mapping entry."""
        done = {} if journal is None else journal.finished()
        watch.reuse(sum(input_slice.rows for input_slice in done.values()))
        selected = self._selected(writer.catalog)
        written: dict[int, InputSlice] = {}
        undo = undoing(writer.store, journal)
        try:
            for frame, columns in selected:
                task = FrameTask(writer, columns, journal, frozenset(done), attempts_max(self.spark))
                written |= dict(results(mapped(frame, task, OUTCOMES), lambda item: undo(item[1])))
        except BaseException:
            for input_slice in written.values():
                undo(input_slice)
            undo_noted(writer.store, journal, done)
            raise
        numbers = sorted({**done, **written})
        slices = [written[number] if number in written else done[number] for number in numbers]
        if journal is None:
            # The files of a journal must stay, because another run of the load may use them.
            folded = fold_slices(writer.store, writer.pins, writer.catalog, slices)
            numbers, slices = [numbers[place] for place in folded.origins], folded.slices
        self._ids_given = [ID in selected[number >> _ENTRY_SHIFT][1].names for number in numbers]
        kept = disposable(journal, list(written.values()))
        return LoadInput(writer.store, mode, slices, partial(frame_lines, slices), disposable=kept, journal=journal)

    def records(self, whole: LoadInput, wanted: Mapping[int, Sequence[int]]) -> Mapping[int, Mapping[int, object]]:
        """Records of rows, by slice and line in it. A slice of a frame has rows of one type."""
        return frame_records(whole, wanted, self._ids_given)


@dataclass(frozen=True)
class FrameTask:
    """The work of the tasks of one job. Pickled to the executors."""

    writer: SliceWriter
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

    def _write(self, number: int, task: int, batches: Iterator[pa.RecordBatch]) -> tuple[int, InputSlice]:
        written = write_frame_slice(self.writer, self.columns, task, batches)
        if self.journal is not None:
            self.journal.note(number, written)
        return number, written


def _frame(spark: SparkSession, name: str, mapping: LoadMapping, frames: Mapping[str, Any]) -> tuple[DataFrame, bool]:
    """A source as a frame, and True if its rows come from files."""
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
    """A frame, and True if Spark knows the file of each row: not every format has files."""
    from pyspark.errors import AnalysisException

    try:
        _ = frame.select("_metadata.file_path", "_metadata.file_block_start").schema
    except AnalysisException:
        return frame, False
    return frame, True


def _read(spark: SparkSession, name: str, spec: SourceSpec) -> DataFrame:
    from pyspark.errors import AnalysisException

    format_ = format_of_name(spec.format)
    options = {**format_.options, **spec.options}
    try:
        # Absolute, because the JVM may have another working directory.
        paths = [path if "://" in path else os.path.abspath(path) for path in spec.paths]
        frame = spark.read.format(spec.format).options(**options).load(paths)
        # Spark Connect analyses lazily: reading the schema makes it report missing files here.
        _ = frame.schema
        if format_.check is not None:
            format_.check(spark, name, paths, spec.options)
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
    columns = {name: _resolved(frame, expression) for name, expression in spec.chosen_columns(frame.columns).items()}
    ends = end_nodes(spec, nodes)
    for end, parts in spec.ends.items():
        columns |= {f"{_ENDS[end]}.{n}": _resolved(frame, part) for n, part in enumerate(parts)}
    columns |= {f"{_ENDS[end]}_type": _resolved(frame, part) for end, part in spec.types.items()}
    places = [f.col("_metadata.file_path"), f.col("_metadata.file_block_start")] if has_files else []
    # Positions as names: Spark ignores case, so names of two properties could collide.
    chosen = [column.alias(str(place)) for place, column in enumerate([*places, *columns.values()])]
    typed = spec.entity.ends if isinstance(spec.entity, EdgeType) else ()
    several = {end.column: tuple(nodes[name] for name in end.types) for end in typed if ends[end.column] is None}
    held = FrameColumns(number, spec.source, spec.entity, ends, tuple(columns), has_files, several)
    return frame.select(*chosen), held


def _resolved(frame: DataFrame, expression: Expression) -> Column:
    """The column of an expression, analysed; raises UsageError that names its position in the mapping."""
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
    """A constant in Spark's type. A time without a zone is UTC here; Spark would use the zone of the session."""
    match value:
        case datetime() if value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        case int() if value.bit_length() > _INTEGER_BITS:
            return Decimal(value)
        case list():
            return [_constant(item) for item in value]
    return value
