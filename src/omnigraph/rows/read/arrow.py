"""Arrow data of one type to typed rows: columns are property names, ids are derived, given or minted.

An unsuitable column is reported once, an invalid value with its row. Rows whose id is known stay, with null in place of
an invalid value. pandas and polars frames are read through Arrow's stream protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.display import with_article
from omnigraph.core.scalars import Scalar
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.casting.arrow_casts import cast_column, plain
from omnigraph.rows.casting.json_values import kind_of
from omnigraph.rows.casting.problems import WrongColumn, WrongValue
from omnigraph.rows.ends.columns import flat_ends, stored_name
from omnigraph.rows.ends.references import has_typed_key, stored_tags, type_columns, with_types
from omnigraph.rows.id_columns import id_column, id_columns, text_key
from omnigraph.rows.keys import derived_ids, key_texts, tuple_texts
from omnigraph.rows.limits import BATCH_BYTES, BATCH_ROWS
from omnigraph.rows.omissions import Cells, Omissions, omitting
from omnigraph.rows.read.json_records import explicit_id_message, required_message, unfit_message
from omnigraph.rows.read.minting import MintIds, given_or_minted
from omnigraph.rows.typed_rows import Gathering, TypedRows, numbered
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations, shown
from omnigraph.schema.catalog import EdgeType, NodeType
from omnigraph.schema.types import PropertyType

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


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
        f"{with_article(type(data).__name__)} is not Arrow data",
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
    omissions: Omissions = Omissions.IGNORED,
) -> Iterator[TypedRows]:
    """Typed rows of Arrow data; a place is the row number, counted from 1.

    ``from_texts`` also parses text as numbers, booleans and arrays, as CSV files need it.
    """
    reader = as_reader(data)
    placed = numbered(reader)
    return from_batches(
        entity,
        reader.schema,
        placed,
        source=source,
        mint_ids=mint_ids,
        violations=violations,
        batch_rows=batch_rows,
        from_texts=from_texts,
        omissions=omissions,
    )


def from_batches(
    entity: Entity,
    schema: pa.Schema,
    placed: Iterable[tuple[pa.RecordBatch, pa.Array]],
    *,
    source: str,
    mint_ids: MintIds,
    violations: Violations,
    batch_rows: int = BATCH_ROWS,
    from_texts: bool = False,
    omissions: Omissions = Omissions.IGNORED,
    references: Mapping[str, tuple[NodeType, ...]] = MappingProxyType({}),
    header: Place | None = None,
    locates_columns: bool = False,
) -> Iterator[TypedRows]:
    """Typed rows of batches with the line of every row, as ``from_arrow`` gives them.

    ``references`` holds the node types whose ids the columns ``id``, ``src`` and ``dst`` hold, ``header`` the place of
    the column names. ``locates_columns``: a column of the wrong type is reported at its first value. Callers that set
    rows with a violation aside leave it out, because the fault is not that of one row.
    """
    before = violations.total
    schema, placed = flat_ends(entity, schema, placed)
    columns = _match_columns(entity, schema, violations, omissions, header)
    by_id = omissions is Omissions.ALLOWED and ID in columns
    if not by_id and not columns.keys() >= identifying_columns(entity):
        violations.unidentified.add(entity.table_key)
        return
    has_holes = violations.total > before
    typing = _Typing(
        entity, columns, source, mint_ids, violations, omissions, references, locates_columns, from_texts, has_holes
    )
    gathering = Gathering(batch_rows)
    for batch, lines in placed:
        rows = max(1, min(batch_rows, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes)))
        for start in range(0, batch.num_rows, rows):
            piece = typing.rows(batch.slice(start, rows), lines.slice(start, rows))
            if piece is not None:
                yield from gathering.add(piece)
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


def identifying_columns(entity: Entity) -> frozenset[str]:
    """The columns without which no row of a type can be identified: the key, and the ends of an edge."""
    return frozenset({*_ends(entity), *entity.key})


def _match_columns(
    entity: Entity, schema: pa.Schema, violations: Violations, omissions: Omissions, header: Place | None
) -> dict[str, int]:
    """Index of each stored column; reports unknown, duplicate and missing columns."""
    found: dict[str, int] = {}

    def report(code: ViolationCode, message: str, name: str) -> None:
        violations.add(Violation(code, message, entity.table_key, property=name, place=header))

    for index, given in enumerate(schema.names):
        name = stored_name(entity, given)
        if name in found:
            report(ViolationCode.MALFORMED, f"two columns give {entity.name}.{name}", name)
        elif name in entity.properties or name == ID or name in with_types(entity, _ends(entity)):
            found[name] = index
        elif _PANDAS_INDEX.fullmatch(given) is None:
            report(ViolationCode.UNKNOWN_PROPERTY, f"unknown property {shown(given)} of {entity.name}", given)
    required = {field.name for field in table_schema(entity) if not field.nullable and field.name != ID}
    if omissions is Omissions.ALLOWED:
        # What identifies an entity: its id, its key, or for an edge without a key both ends.
        required = set() if ID in found else set(identifying_columns(entity))
    for wanted in table_schema(entity):
        if wanted.name in required and wanted.name not in found:
            report(ViolationCode.REQUIRED, f"missing required column {wanted.name} of {entity.name}", wanted.name)
    return found


def _ends(entity: Entity) -> tuple[str, ...]:
    return (SRC, DST) if isinstance(entity, EdgeType) else ()


@dataclass
class _Typing:
    """Typing of consecutive batches. ``_refused`` holds columns that were already reported as a whole.

    ``has_holes`` tells if some column of the type is missing although it is required, or was refused.
    """

    entity: Entity
    columns: dict[str, int]
    source: str
    mint_ids: MintIds
    violations: Violations
    omissions: Omissions
    references: Mapping[str, tuple[NodeType, ...]]
    locates_columns: bool
    from_texts: bool = False
    has_holes: bool = False
    _refused: set[str] = field(default_factory=set)
    _end_types: dict[str, list[str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._schema = table_schema(self.entity)

    def rows(self, batch: pa.RecordBatch, lines: pa.Array) -> TypedRows | None:
        arrays: list[pa.Array] = []
        bad: set[int] = set()
        lost: set[int] = set()
        tags = self._tags(batch, lines, lost)
        for wanted in self._schema:
            name = wanted.name
            if name in tags:
                arrays.append(tags[name])
                continue
            is_property = name in self.entity.properties
            type_ = self.entity.properties[name].type if is_property else PropertyType(Scalar.STRING)
            # Without its id or an end a row cannot be compared with others.
            wrong = bad if is_property and name not in identifying_columns(self.entity) else lost
            array = self._typed(batch, name, type_, lines, wrong)
            if not wanted.nullable and name != ID and name in self.columns and name not in self._refused:
                self._report_nulls(name, array, batch, lines, wrong)
            arrays.append(array)
        if self._refused & {ID, *identifying_columns(self.entity)}:
            self.violations.unidentified.add(self.entity.table_key)
            return None
        typed = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if lost:
            keep = pa.array([row for row in range(batch.num_rows) if row not in lost], pa.int64())
            typed, lines = typed.take(keep), lines.take(keep)
        return self._identified(typed, lines, has_holes=self.has_holes or bool(bad or self._refused))

    def _typed(self, batch: pa.RecordBatch, name: str, type_: PropertyType, lines: pa.Array, bad: set[int]) -> pa.Array:
        if name not in self.columns:
            return pa.nulls(batch.num_rows, self._schema.field(name).type)
        column = batch.column(self.columns[name])
        try:
            pieces = list(self._located(column, name, type_, lines, 0, bad))
            return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        except WrongColumn as problem:
            if name not in self._refused and column.null_count < len(column):
                self._refused.add(name)
                first = lines.filter(column.is_valid())[0].as_py() if self.locates_columns else None
                self._report(ViolationCode.TYPE, self._unfit(name, str(problem)), name, first)
            return pa.nulls(batch.num_rows, self._schema.field(name).type)

    def _tags(self, batch: pa.RecordBatch, lines: pa.Array, lost: set[int]) -> dict[str, pa.Array]:
        """The tags of ends; rows with a type that the end does not have are lost."""
        found: dict[str, pa.Array] = {}
        self._end_types.clear()
        for end in self.entity.ends if isinstance(self.entity, EdgeType) else ():
            if end.type_column is None:
                continue
            names: list[str | None] = [None] * batch.num_rows
            if end.column not in self.columns:
                found[end.type_column] = pa.nulls(batch.num_rows, pa.utf8())
                continue
            if end.type_column in self.columns:
                names = as_texts(batch.column(self.columns[end.type_column])).to_pylist()
                for row, name in enumerate(names):
                    if name is not None and name not in end.types:
                        why = f"{shown(name)} is no type of this end (expected: {', '.join(end.types)})"
                        self._report(ViolationCode.TYPE, f"{end.type_word}: {why}", end.column, lines[row].as_py())
                        lost.add(row)
                        names[row] = None
            self._end_types[end.column] = names
            found[end.type_column] = pa.array(stored_tags(end, names), pa.utf8())
        return found

    def _cast(self, array: pa.Array, name: str, type_: PropertyType, at: int) -> pa.Array:
        if name in self.references or name == ID:
            nodes = self.references.get(name, ())
            if len(nodes) < 2:
                return id_column(array, nodes[0] if nodes else None)
            return id_columns(array, nodes, self._end_types[name][at : at + len(array)])
        if name in text_key(self.entity):
            return id_column(array, None)
        return cast_column(array, type_, from_texts=self.from_texts)

    def _located(
        self, array: pa.Array, name: str, type_: PropertyType, lines: pa.Array, at: int, bad: set[int]
    ) -> Iterator[pa.Array]:
        """The typed column, with nulls in place of invalid values, which are found by bisection.

        Casting is vectorised and fails as a whole, so a failing range is halved until a single row fails: n invalid
        values among m rows cost about n log m casts.
        """
        try:
            yield self._cast(array, name, type_, at)
        except WrongValue as problem:
            if len(array) > 1:
                half = len(array) // 2
                yield from self._located(array.slice(0, half), name, type_, lines, at, bad)
                yield from self._located(array.slice(half), name, type_, lines, at + half, bad)
                return
            why = f"{_shown(array[0])} {problem}"
            self._report(ViolationCode.TYPE, self._unfit(name, why), name, lines[at].as_py())
            bad.add(at)
            yield cast_column(pa.nulls(1), type_)

    def _report_nulls(self, name: str, array: pa.Array, batch: pa.RecordBatch, lines: pa.Array, bad: set[int]) -> None:
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
                self._report(ViolationCode.REQUIRED, message, name, lines[row].as_py())
            bad.add(row)

    def _omitted(self, given: pa.Array) -> Cells | None:
        """The cells that the table has no column for, and absent ids."""
        names = table_schema(self.entity).names
        hidden = set(type_columns(self.entity))
        absent = [name for name in names if name not in self.columns and name != ID and name not in hidden]
        # The type of a node is omitted with its id, and never alone.
        absent = with_types(self.entity, absent)
        cells = omitting(names, absent if self.omissions is not Omissions.IGNORED else (), len(given))
        if given.null_count:
            cells = omitting(names, [ID], len(given)) if cells is None else cells
            assert cells is not None
            cells[:, 0] = pc.is_null(given).to_numpy(zero_copy_only=False)
        return cells

    def _identified(self, batch: pa.RecordBatch, lines: pa.Array, *, has_holes: bool) -> TypedRows:
        given = batch.column(ID)
        rows = TypedRows(self.entity, batch, lines, has_holes, self._omitted(given))
        if not self.columns.keys() >= identifying_columns(self.entity):
            return self._by_id(rows)
        if not self.entity.key:
            return self._with_ids(rows, given_or_minted(given, self.mint_ids))
        ids = derived_ids(self.entity, batch)
        is_wrong = pc.is_null(ids)
        if not has_typed_key(self.entity):
            is_wrong = pc.or_kleene(is_wrong, pc.fill_null(pc.not_equal(given, ids), False))
        for index in pc.indices_nonzero(is_wrong):
            row = index.as_py()
            self._report_key(self.entity, given[row].as_py(), ids[row].as_py(), lines[row].as_py())
            rows = replace(rows, has_holes=True)
        if ids.null_count:
            rows, ids = rows.filter(ids.is_valid()), ids.drop_null()
        return self._with_ids(rows, ids)

    def _by_id(self, rows: TypedRows) -> TypedRows:
        """Rows of entities that only their id identifies: a member of the key, or an end of an edge, is omitted."""
        given = rows.batch.column(ID)
        for index in pc.indices_nonzero(pc.is_null(given)):
            message = f"missing id of {self.entity.name}, whose key or ends are not given"
            self._report(ViolationCode.REQUIRED, message, ID, rows.lines[index.as_py()].as_py())
        return rows.filter(pc.is_valid(given))

    def _with_ids(self, rows: TypedRows, ids: pa.Array) -> TypedRows:
        return replace(rows, batch=rows.batch.set_column(0, rows.batch.schema.field(0), ids))

    def _report_key(self, entity: Entity, given: str | None, derived: str | None, row: int) -> None:
        if derived is None or given is None:
            message = f"the key ({', '.join(entity.key)}) of {entity.name} holds a number that is not finite"
        else:
            message = explicit_id_message(entity, given, derived)
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
