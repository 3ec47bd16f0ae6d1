"""Columns of a table and the properties that they fill: names, aliases of ends, maps, ignored columns and constants.

Nothing is guessed: a column fills the property of its own name, and the ends of an edge have a fixed list of names. Any
other name is reported with the option to write. The matching is pure and the same for both engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import Hint, UsageError
from omnigraph.ingest import advice
from omnigraph.ingest.tables import SourceTable
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.casting.arrow_casts import cast_column
from omnigraph.rows.casting.problems import WrongColumn, WrongValue
from omnigraph.rows.id_columns import id_column
from omnigraph.rows.typed_rows import PlacedBatch
from omnigraph.rows.violations import ViolationCode, shown
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.schema.types import PropertyType

_PANDAS_INDEX: Final = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True, slots=True)
class ColumnProblem:
    """A column that does not fit, and the next step."""

    code: ViolationCode
    message: str
    column: str
    hint: Hint


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """The options of a load that concern columns. A property may be written with its type: ``Person.name``."""

    map: Mapping[str, str] = field(default_factory=dict)
    """Property to column."""
    ignore: Sequence[str] = ()
    constant: Mapping[str, object] = field(default_factory=dict)
    """Property to value."""

    def __bool__(self) -> bool:
        return bool(self.map or self.ignore or self.constant)

    def check(self, catalog: Catalog) -> None:
        """Raise UsageError for a property that no type of the graph has."""
        for option, names in (("map", self.map), ("constant", self.constant)):
            for name, value in names.items():
                _check_name(option, name, value, catalog)

    def of_type(self, entity: Entity) -> ColumnOptions:
        """The options for one type, by stored column: those that name it, and those that name no type."""
        return ColumnOptions(_of_type(self.map, entity), tuple(self.ignore), _of_type(self.constant, entity))


def _check_name(option: str, name: str, value: object, catalog: Catalog) -> None:
    type_name, dot, prop = name.rpartition(".")
    types: list[Entity] = [*catalog.nodes.values(), *catalog.edges.values()]
    named = [entity for entity in types if not dot or entity.name == type_name]
    if not named:
        hint = did_you_mean(type_name, [entity.name for entity in types])
        raise UsageError(f"{option}: there is no type {type_name!r}", hint=hint, option=option)
    if not any(advice.stored_name(entity, prop) for entity in named):
        known = [known for entity in named for known in (ID, *entity.properties)]
        whose = f"{type_name} has" if dot else "no type has"
        negation = " no" if dot else " a"
        swapped = isinstance(value, str) and any(advice.stored_name(entity, value) for entity in named)
        raise UsageError(
            f"{option}: {whose}{negation} property {prop!r}",
            hint=did_you_mean(prop, known)
            or (advice.swapped_map(name, str(value)) if swapped and option == "map" else None)
            or "write property=column, such as name=full_name",
            option=option,
        )


Value = TypeVar("Value")


def _of_type(given: Mapping[str, Value], entity: Entity) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in given.items():
        type_name, _, prop = name.rpartition(".")
        stored = advice.stored_name(entity, prop) if type_name in ("", entity.name) else None
        if stored is not None:
            found[stored] = value
    return found


@dataclass(frozen=True, slots=True)
class Matched:
    """The index of the column that fills each stored column, and the columns that do not fit."""

    columns: dict[str, int]
    problems: list[ColumnProblem]


def match_columns(
    entity: Entity,
    names: Sequence[str],
    options: ColumnOptions,
    types: Iterable[Entity] = (),
    *,
    is_only_type: bool = True,
    is_text: bool = False,
) -> Matched:
    """Match the columns of a table to a type by the options for it (``of_type``). ``types`` are those of the graph.

    An option that names a column the table does not have is an error, unless the load has tables of other types
    (``is_only_type``) that may have it.
    """
    mapped: dict[str, int] = {}
    for stored, column in options.map.items():
        if column in names:
            mapped[stored] = names.index(column)
        elif is_only_type:
            raise _no_column("map", column, names)
    if is_only_type:
        for column in options.ignore:
            if column not in names:
                raise _no_column("ignore", column, names)
    found = dict(mapped)
    unknown: list[str] = []
    problems: list[ColumnProblem] = []
    for index, given in enumerate(names):
        stored_as = advice.stored_name(entity, given)
        if given in options.ignore or _PANDAS_INDEX.fullmatch(given) or mapped.get(stored_as or "") == index:
            continue
        if stored_as is not None and stored_as in found:
            first = names[found[stored_as]]
            message = f"two columns give {entity.name}.{stored_as}: {shown(first)} and {shown(given)}"
            hint = advice.doubled_column(first, given)
            problems.append(ColumnProblem(ViolationCode.MALFORMED, message, stored_as, hint))
        elif stored_as is not None:
            found[stored_as] = index
        elif index not in mapped.values():
            unknown.append(given)
    if unknown:
        hint = advice.unknown_columns(entity, unknown, names, types, is_text=is_text)
        code = ViolationCode.UNKNOWN_PROPERTY
        problems += [ColumnProblem(code, _unknown(entity, name), name, hint) for name in unknown]
    _fill_key(entity, found, options)
    for stored in options.constant:
        if stored in found:
            column = names[found[stored]]
            message = f"both the column {shown(column)} and a constant give {entity.name}.{stored}"
            hint = advice.column_and_constant(column)
            problems.append(ColumnProblem(ViolationCode.MALFORMED, message, stored, hint))
    return Matched(found, problems)


def _fill_key(entity: Entity, found: dict[str, int], options: ColumnOptions) -> None:
    """Let a column ``id`` fill a key of one property: the id of such a node is its key."""
    if isinstance(entity, NodeType) and len(entity.key) == 1 and ID in found:
        [key] = entity.key
        if key not in found and key not in options.constant:
            found[key] = found.pop(ID)


def _no_column(option: str, column: str, names: Sequence[str]) -> UsageError:
    return UsageError(
        f"{option}: there is no column {column!r}",
        hint=f"{did_you_mean(column, names) or ''} the columns are {advice.listed(names)}".strip(),
        column=column,
    )


def _unknown(entity: Entity, column: str) -> str:
    message = f"unknown property {shown(column)} of {entity.name}"
    near = advice.nearest_property(entity, column)
    return message if near is None else f"{message}; did you mean {near}?"


def missing_from(entity: Entity, stored: Sequence[str]) -> list[str]:
    """The stored columns that every row needs and a table does not have."""
    needed = [column.name for column in table_schema(entity) if not column.nullable and column.name != ID]
    return [name for name in needed if name not in stored]


def renamed(table: SourceTable, entity: Entity, options: ColumnOptions, columns: Mapping[str, int]) -> SourceTable:
    """The table with its columns under the stored names, and with the constants (options ``of_type``) as columns."""
    added = {stored: value for stored, value in constants(entity, options).items() if stored not in columns}
    fields = [table.schema.field(index).with_name(stored) for stored, index in columns.items()]
    fields += [pa.field(stored, value.type) for stored, value in added.items()]
    schema = pa.schema(fields)

    def batches() -> Iterator[PlacedBatch]:
        for placed in table.batches:
            rows = placed.batch.num_rows
            arrays = [placed.batch.column(index) for index in columns.values()]
            arrays += [pa.repeat(value, rows) for value in added.values()]
            yield PlacedBatch(pa.RecordBatch.from_arrays(arrays, schema=schema), placed.lines)

    return replace(table, schema=schema, batches=batches())


def constants(entity: Entity, options: ColumnOptions) -> dict[str, pa.Scalar]:
    """The constants of one type as stored values."""
    return {stored: _constant(entity, stored, value) for stored, value in options.constant.items()}


def _constant(entity: Entity, stored: str, value: object) -> pa.Scalar:
    """A constant as stored. Text is parsed as the type of the property, as in a CSV file."""
    type_ = entity.properties[stored].type if stored in entity.properties else PropertyType(Scalar.STRING)
    try:
        given = pa.array([value])
        is_property = stored in entity.properties
        return (cast_column(given, type_, from_texts=True) if is_property else id_column(given, None))[0]
    except (WrongColumn, WrongValue, pa.ArrowException) as problem:
        raise UsageError(
            f"constant: {shown(value)} is no value of {entity.name}.{stored} ({type_})",
            hint=f"write a value of the type {type_}",
            property=stored,
        ) from problem
