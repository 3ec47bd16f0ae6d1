"""Arrow data of one type to typed rows: columns are property names, ids are derived, given or minted.

An unsuitable column is reported once, an invalid value with its row; invalid rows are skipped. pandas and polars frames
are read through Arrow's stream protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.scalars import Scalar
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_casts import WrongColumn, WrongValue, cast_column, plain
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.json_records import explicit_id_message, required_message, unfit_message
from omnigraph.rows.json_values import kind_of
from omnigraph.rows.keys import key_texts, node_ids, tuple_texts
from omnigraph.rows.limits import BATCH_BYTES, BATCH_ROWS
from omnigraph.rows.minting import MintIds, given_or_minted
from omnigraph.rows.typed_rows import Gathering, TypedRows, counting
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations, shown
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.types import PropertyType

_TEXT = PropertyType(Scalar.STRING)
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_ENDS = {"from": SRC, "to": DST, SRC: SRC, DST: DST}


def as_reader(data: Any) -> pa.RecordBatchReader:
    """A reader over Arrow data: tables, batches, readers, pandas and polars frames."""
    match data:
        case pa.RecordBatchReader():
            return data
        case pa.Table():
            return data.to_reader()
        case pa.RecordBatch():
            return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        return as_reader(pa.record_batch(data))
    raise UsageError(
        f"a {type(data).__name__} is not Arrow data",
        hint="pass an Arrow table, batch or reader, or a pandas or polars frame",
    )


def from_arrow(
    entity: Entity,
    data: Any,
    *,
    source: str,
    mint_ids: MintIds,
    violations: Violations,
    batch_rows: int = BATCH_ROWS,
    from_texts: bool = False,
) -> Iterator[TypedRows]:
    """Typed rows of Arrow data; a place is the row number, counted from 1.

    ``from_texts`` also parses text as numbers, booleans and arrays, as CSV files need it.
    """
    reader = as_reader(data)
    columns = _match_columns(entity, reader.schema, violations)
    if columns is None:
        return
    typing = _Typing(entity, columns, source, mint_ids, violations, from_texts)
    gathering = Gathering(batch_rows)
    first = 1
    for batch in reader:
        rows = max(1, min(batch_rows, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes)))
        for start in range(0, batch.num_rows, rows):
            piece = typing.rows(batch.slice(start, rows), first + start)
            if piece is not None:
                yield from gathering.add(piece)
        first += batch.num_rows
    yield from gathering.rest()


def reference_ids(node: NodeType, columns: Sequence[pa.Array]) -> pa.Array:
    """Node ids from reference columns: the properties of the key in order, or the id itself for a type without key.

    Null where a value is null or does not fit its property.
    """
    if not node.key:
        return as_texts(columns[0])
    types = [node.properties[name].type for name in node.key]
    parts = zip(columns, types, strict=True)
    return tuple_texts([key_texts(_fitting(plain(array), type_), type_) for array, type_ in parts])


def as_texts(array: pa.Array) -> pa.Array:
    """Ids of any type as text. A column that cannot be cast is returned unchanged; typing it reports the error."""
    try:
        return plain(array).cast(pa.utf8())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array


def _fitting(array: pa.Array, type_: PropertyType) -> pa.Array:
    """The stored column, null where a value does not fit. Invalid values are found by bisection."""
    try:
        if type_.scalar is Scalar.STRING and not pa.types.is_string(array.type):
            array = as_texts(array)
        return cast_column(array, type_, from_texts=True)
    except (WrongValue, WrongColumn):
        if len(array) <= 1:
            return cast_column(pa.nulls(len(array)), type_)
        half = len(array) // 2
        return pa.concat_arrays([_fitting(array.slice(0, half), type_), _fitting(array.slice(half), type_)])


def _match_columns(entity: Entity, schema: pa.Schema, violations: Violations) -> dict[str, int] | None:
    """Index of each stored column, or None after reporting unknown, duplicate and missing columns."""
    found: dict[str, int] = {}
    before = violations.total

    def report(code: ViolationCode, message: str, name: str) -> None:
        violations.add(Violation(code, message, entity.table_key, property=name))

    for index, given in enumerate(schema.names):
        name = _ENDS.get(given, given) if isinstance(entity, EdgeType) else given
        if name in found:
            report(ViolationCode.MALFORMED, f"two columns give {entity.name}.{name}", name)
        elif name in entity.properties or name == ID or (isinstance(entity, EdgeType) and name in (SRC, DST)):
            found[name] = index
        elif _PANDAS_INDEX.fullmatch(given) is None:
            report(ViolationCode.UNKNOWN_PROPERTY, f"unknown property {shown(given)} of {entity.name}", given)
    for wanted in table_schema(entity):
        if not wanted.nullable and wanted.name not in found and wanted.name != ID:
            report(ViolationCode.REQUIRED, f"missing required column {wanted.name} of {entity.name}", wanted.name)
    return found if violations.total == before else None


@dataclass
class _Typing:
    """Typing of consecutive batches. ``_refused`` holds columns that were already reported as a whole."""

    entity: Entity
    columns: dict[str, int]
    source: str
    mint_ids: MintIds
    violations: Violations
    from_texts: bool = False
    _refused: set[str] = field(default_factory=set)

    def rows(self, batch: pa.RecordBatch, first: int) -> TypedRows | None:
        schema = table_schema(self.entity)
        arrays: dict[str, pa.Array] = {}
        bad: set[int] = set()
        for wanted in schema:
            type_ = self.entity.properties[wanted.name].type if wanted.name in self.entity.properties else _TEXT
            array = self._typed(batch, wanted.name, type_, first, bad)
            if array is not None:
                arrays[wanted.name] = array
                if not wanted.nullable and wanted.name != ID:
                    self._report_nulls(wanted.name, array, batch, first, bad)
        if self._refused:
            return None
        keep = pa.array([row for row in range(batch.num_rows) if row not in bad], pa.int64()) if bad else None
        if keep is not None:
            arrays = {name: array.take(keep) for name, array in arrays.items()}
        lines = counting(first, batch.num_rows)
        lines = lines if keep is None else lines.take(keep)
        return self._identified(pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema), lines)

    def _typed(
        self, batch: pa.RecordBatch, name: str, type_: PropertyType, first: int, bad: set[int]
    ) -> pa.Array | None:
        if name not in self.columns:
            return pa.nulls(batch.num_rows, table_schema(self.entity).field(name).type)
        try:
            column = plain(batch.column(self.columns[name]))
            return pa.concat_arrays(list(self._located(column, name, type_, first, 0, bad)))
        except WrongColumn as problem:
            if name not in self._refused:
                self._refused.add(name)
                self._report(ViolationCode.TYPE, self._unfit(name, str(problem)), name, None)
            return None

    def _located(
        self, array: pa.Array, name: str, type_: PropertyType, first: int, at: int, bad: set[int]
    ) -> Iterator[pa.Array]:
        """The typed column, with nulls in place of invalid values, which are found by bisection.

        Casting is vectorised and fails as a whole, so a failing range is halved until a single row fails: n invalid
        values among m rows cost about n log m casts.
        """
        try:
            yield cast_column(array, type_, from_texts=self.from_texts)
        except WrongValue as problem:
            if len(array) > 1:
                half = len(array) // 2
                yield from self._located(array.slice(0, half), name, type_, first, at, bad)
                yield from self._located(array.slice(half), name, type_, first, at + half, bad)
                return
            why = f"{_shown(array[0])} {problem}"
            self._report(ViolationCode.TYPE, self._unfit(name, why), name, first + at)
            bad.add(at)
            yield cast_column(pa.nulls(1), type_)

    def _report_nulls(self, name: str, array: pa.Array, batch: pa.RecordBatch, first: int, bad: set[int]) -> None:
        if not array.null_count:
            return
        given = batch.column(self.columns[name])
        for index in pc.indices_nonzero(pc.is_null(array)):
            row = index.as_py()
            if not given[row].is_valid:
                message = (
                    required_message(self.entity, name)
                    if name in self.entity.properties
                    else f"missing {name}, the id of a node, of {self.entity.name}"
                )
                self._report(ViolationCode.REQUIRED, message, name, first + row)
            bad.add(row)

    def _identified(self, batch: pa.RecordBatch, lines: pa.Array) -> TypedRows:
        given = batch.column(ID)
        if isinstance(self.entity, NodeType) and self.entity.key:
            ids = node_ids(self.entity, batch)
            is_wrong = pc.or_kleene(pc.is_null(ids), pc.fill_null(pc.not_equal(given, ids), False))
            for index in pc.indices_nonzero(is_wrong):
                row = index.as_py()
                self._report_key(self.entity, given[row].as_py(), ids[row].as_py(), lines[row].as_py())
            keep = pc.invert(is_wrong)
            batch, lines, ids = batch.filter(keep), lines.filter(keep), ids.filter(keep)
        else:
            ids = given_or_minted(given, self.mint_ids)
        return TypedRows(self.entity, batch.set_column(0, batch.schema.field(0), ids), lines)

    def _report_key(self, node: NodeType, given: str | None, derived: str | None, row: int) -> None:
        if derived is None or given is None:
            message = f"the key ({', '.join(node.key)}) of {node.name} holds a number that is not finite"
        else:
            message = explicit_id_message(node, given, derived)
        self._report(ViolationCode.KEY, message, ID, row, given)

    def _unfit(self, name: str, why: str) -> str:
        return unfit_message(self.entity, name, why) if name in self.entity.properties else f"{name}: {why}"

    def _report(
        self, code: ViolationCode, message: str, name: str, row: int | None, entity_id: str | None = None
    ) -> None:
        place = None if row is None else Place(self.source, row)
        self.violations.add(Violation(code, message, self.entity.table_key, entity_id, name, place))


def _shown(value: pa.Scalar) -> str:
    try:
        return kind_of(value.as_py())
    except (ValueError, OverflowError):
        # Python has no value for times outside its calendar or finer than microseconds.
        return f"a {value.type}"
