"""Planned types: the guesses about all tables, joined into node and edge types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.errors import UsageError
from omnigraph.ingest.infer.ends import (
    STATED,
    End,
    NodeKey,
    Overlaps,
    find_contained,
    find_named,
    foreign_keys,
    named_ends,
)
from omnigraph.ingest.infer.facts import ColumnFacts, TableFacts
from omnigraph.ingest.infer.keys import is_named, owned_key, possible_key
from omnigraph.ingest.infer.names import property_name, property_names, type_name
from omnigraph.ingest.infer.planned.joined import can_join, joined_edges
from omnigraph.ingest.infer.planned.types import PlannedProperty, PlannedType
from omnigraph.ingest.infer.properties import PropertyGuess, counted, guess_property
from omnigraph.schema.types import PropertyType

ID: Final = "id"


def node_keys(tables: Sequence[TableFacts]) -> dict[int, NodeKey]:
    """Keys that edges may refer to, by the position of their table: of every table that is not an edge by its names."""
    found = {}
    for position, table in enumerate(tables):
        key = _key_of(table)
        if key is not None and not _is_surely_edge(table):
            is_certain = table.declared.key is not None or key is owned_key(table)
            found[position] = NodeKey(node_type_name(table), table.stem, key.name, table.rows, is_certain)
    return found


def _is_surely_edge(table: TableFacts) -> bool:
    if table.declared.is_edge is not None:
        return table.declared.is_edge
    return _has_named_ends(table) and owned_key(table) is None


def _key_of(table: TableFacts) -> ColumnFacts | None:
    if table.declared.is_keyless:
        return None
    return table.column(table.declared.key) if table.declared.key is not None else possible_key(table)


def node_type_name(table: TableFacts) -> str:
    """The name of a table's node type: the given one, or that of its file."""
    return table.given_type or type_name(table.stem, is_edge=False)


def plan_types(tables: Sequence[TableFacts], overlaps: Mapping[int, Overlaps]) -> list[PlannedType]:
    """The types of all tables; ``overlaps`` by the position of the table. Nodes come first."""
    keys = node_keys(tables)
    ends = _all_ends(tables, keys, overlaps)
    used = {end.type for pair in ends.values() for end in pair}
    nodes = []
    for position, table in enumerate(tables):
        if position not in ends:
            others = [key for at, key in keys.items() if at not in ends and at != position]
            foreign = foreign_keys(table, others, overlaps.get(position, {}))
            nodes.append(_node(table, keys.get(position), used, foreign))
    edges = [_edge(tables[position], pair) for position, pair in sorted(ends.items())]
    mentioned = _mentioned(edges, {node.name for node in nodes})
    pointing = joined_edges([_pointing_at(edge, mentioned) for edge in edges])
    planned = [*nodes, *mentioned, *pointing]
    _refuse_equal_names(planned)
    return planned


def _all_ends(
    tables: Sequence[TableFacts], keys: Mapping[int, NodeKey], overlaps: Mapping[int, Overlaps]
) -> dict[int, tuple[End, End]]:
    """The ends of all edge tables. They never refer to a table that is an edge itself.

    Tables that are surely nodes come first; edges are found by their keys. Tables that are left and have a key are
    nodes too, and may hold further ends.
    """

    def found(positions: Iterable[int], nodes: Mapping[int, NodeKey]) -> dict[int, tuple[End, End]]:
        pairs = {at: _ends(tables[at], list(nodes.values()), overlaps.get(at, {})) for at in positions}
        return {at: pair for at, pair in pairs.items() if pair is not None}

    sure = {at: key for at, key in keys.items() if key.is_certain and not _has_named_ends(tables[at])}
    ends = found((at for at in range(len(tables)) if at not in sure), sure)
    nodes = {at: key for at, key in keys.items() if at not in ends}
    ends |= found((at for at in range(len(tables)) if at not in keys), nodes)
    return ends | found(list(ends), nodes)


def _has_named_ends(table: TableFacts) -> bool:
    if table.declared.is_edge is not None:
        return table.declared.is_edge
    return named_ends([column.name for column in table.columns]) is not None


def _ends(table: TableFacts, keys: Sequence[NodeKey], overlaps: Overlaps) -> tuple[End, End] | None:
    if table.declared.is_edge is False:
        return None
    named = find_named(table, keys, overlaps)
    if named is not None:
        # Periods have a start and an end too, and no table holds them.
        is_period = named[0].column.lower() == "start"
        return None if is_period and all(end.type is None for end in named) else named
    return None if owned_key(table) is not None else find_contained(table, keys, overlaps)


def _node(table: TableFacts, key: NodeKey | None, used: set[str | None], foreign: Mapping[str, str]) -> PlannedType:
    name = node_type_name(table)
    column = None if key is None else table.column(key.column)
    notes: tuple[str, ...] = ()
    ids = table.declared.ids
    if table.declared.is_keyless:
        notes = (f"no key; {'ids are generated' if ids is None else f'ids = column {ids}'}: {STATED}",)
    elif column is None:
        notes = ("guessed: no key, because no column is unique, never null and named like a key; ids are generated",)
    elif not (table.declared.key or is_named(column, table) or name in used):
        column = None
        notes = ("guessed: no key, because no unique column is named like a key; ids are generated",)
    properties, ignored = _properties(table, name, column, () if ids is None else (ids,), is_edge=False)
    properties = tuple(_with_foreign_key(item, foreign.get(item.column)) for item in properties)
    return PlannedType(name, table, properties, id_column=ids, ignored=ignored, notes=notes)


def _with_foreign_key(item: PlannedProperty, type_: str | None) -> PlannedProperty:
    """A property with the remark that it refers to nodes. It stays a property: edges need a table of their own."""
    if type_ is None or item.is_key:
        return item
    return replace(item, guess=replace(item.guess, reason=f"{item.guess.reason}; every value is a key of {type_}"))


def _edge(table: TableFacts, ends: tuple[End, End]) -> PlannedType:
    name = table.given_type or type_name(table.stem, is_edge=True)
    columns = {ends[0].column, ends[1].column}
    id_column = next((item for item in table.columns if item.name.lower() == ID and item.is_unique), None)
    taken = (*columns, *(() if id_column is None else (id_column.name,)))
    properties, ignored = _properties(table, name, None, taken, is_edge=True)
    return PlannedType(name, table, properties, ends, None if id_column is None else id_column.name, ignored=ignored)


def _properties(
    table: TableFacts, owner: str, key: ColumnFacts | None, others: tuple[str, ...], *, is_edge: bool
) -> tuple[tuple[PlannedProperty, ...], tuple[tuple[str, str], ...]]:
    """The properties of a table in the order of its columns, and the columns that no property can hold."""
    properties: list[PlannedProperty] = []
    ignored = []
    columns = [column for column in table.columns if column.name not in others]
    stated = table.declared.names
    wanted = {column.name: (stated.get(column.name, column.name), column.position) for column in columns}
    names = property_names(wanted, owner, is_edge=is_edge)
    for column in columns:
        guess = guess_property(column)
        if guess is None:
            ignored.append((column.name, "objects or lists of several types" if column.is_json else column.held))
            continue
        if column is key:
            guess = _key_guess(guess, column, table)
        properties.append(PlannedProperty(names[column.name], column.name, guess, column is key))
    return tuple(properties), tuple(ignored)


def _key_guess(guess: PropertyGuess, column: ColumnFacts, table: TableFacts) -> PropertyGuess:
    """A key is required. The load reports rows of a stated key that are null or equal."""
    form, divider, _ = guess.reason.rpartition("; ")
    reason = STATED if table.declared.key else f"unique and never null in {counted(column.rows)}"
    return PropertyGuess(replace(guess.type, nullable=False), f"{form}{divider}{reason}")


def _mentioned(edges: Sequence[PlannedType], taken: set[str]) -> list[PlannedType]:
    """One node type for the ends that no table holds."""
    places = []
    scalars = set()
    for edge in edges:
        assert edge.ends is not None and edge.table is not None
        for end in edge.ends:
            if end.type is None:
                places.append((edge.table.source, end.column))
                guess = guess_property(edge.table.column(end.column))
                scalars.add(Scalar.STRING if guess is None else guess.type.scalar)
    if not places:
        return []
    name, number = "Node", 2
    while name in taken:
        name, number = f"Node{number}", number + 1
    scalar = scalars.pop() if len(scalars) == 1 else Scalar.STRING
    mentioned_by = ", ".join(dict.fromkeys(source for source, _ in places))
    guess = PropertyGuess(PropertyType(scalar), f"a node for each different end in {mentioned_by}")
    key = PlannedProperty(property_name(ID, 1, name, (), is_edge=False), ID, guess, is_key=True)
    return [PlannedType(name, None, (key,), edges_of=tuple(places))]


def _pointing_at(edge: PlannedType, mentioned: Sequence[PlannedType]) -> PlannedType:
    assert edge.ends is not None
    if not mentioned:
        return edge
    name = mentioned[0].name
    first, second = (End(end.column, end.type or name, end.reason) for end in edge.ends)
    return replace(edge, ends=(first, second))


def _refuse_equal_names(planned: Sequence[PlannedType]) -> None:
    seen: dict[tuple[bool, str], PlannedType] = {}
    for type_ in planned:
        # Queries match the names of edges without case.
        known = seen.setdefault((type_.is_edge, type_.name.lower() if type_.is_edge else type_.name), type_)
        if known is type_ or (type_.is_edge and known.name == type_.name and can_join(known, type_)):
            continue
        sources = [item.table.source if item.table else "the ends of edges" for item in (known, type_)]
        raise UsageError(
            f"two sources give the type {type_.name}: {sources[0]} and {sources[1]}",
            hint=f"name one of them, such as Other{type_.name}={sources[1].partition(' (')[0]}",
        )
