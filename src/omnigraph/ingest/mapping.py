"""Load mappings: columns of source tables to properties of entities. Pure: parses plain dicts against a schema.

    {"sources": {"people": {"path": "people.csv"}},
     "load": [{"source": "people", "node": "Person", "columns": {"name": "full_name", "age": {"sql": "year - born"}}},
              {"source": "people", "edge": "Knows", "from": "full_name", "to": "friend"}]}

A value is a column name, an SQL expression (``sql``) or a constant (``value``). Both engines read the same mapping.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.ingest.files.formats import bare_name
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType, NodeType

_IMPLIED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    ".csv": ("csv", {}),
    ".tsv": ("csv", {"sep": "\t"}),
    ".parquet": ("parquet", {}),
    ".pq": ("parquet", {}),
    ".json": ("json", {}),
    ".jsonl": ("json", {}),
    ".ndjson": ("json", {}),
    ".orc": ("orc", {}),
    ".arrow": ("arrow", {}),
    ".feather": ("arrow", {}),
}
"""The format and the options that the suffix of a path implies, in front of that of a compression."""

_SOURCE_KEYS = ("path", "format", "options")
_ENTRY_KEYS = ("source", "node", "edge", "columns", "id", "from", "to", "from_type", "to_type", "where")


@dataclass(frozen=True, slots=True)
class Expression:
    """The origin of a value: exactly one of a column, an SQL expression, or a constant. ``at`` is for messages."""

    at: str
    column: str | None = None
    sql: str | None = None
    value: object = None


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Files, their format and reader options."""

    paths: tuple[str, ...]
    format: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EntitySpec:
    """Mapping of the rows of one source to a type. ``columns=None`` maps columns by their names."""

    at: str
    source: str
    entity: Entity
    columns: Mapping[str, Expression] | None
    id: Expression | None = None
    ends: Mapping[str, tuple[Expression, ...]] = field(default_factory=dict)
    where: str | None = None
    types: Mapping[str, Expression] = field(default_factory=dict)
    """The types of nodes at ends that have several, by ``from`` and ``to``."""

    def chosen_columns(self, names: Sequence[str]) -> dict[str, Expression]:
        """The column of each property, and of the id, in a table with these columns.

        By default these are the columns with their names. A column ``id`` holds the ids of nodes, which are their keys;
        in a source of edges it may be the id of a node.
        """
        chosen = dict(self.columns or {})
        if self.columns is None:
            chosen = {name: Expression(self.at, column=name) for name in names if name in self.entity.properties}
            if isinstance(self.entity, NodeType) and ID in names:
                filled = self.entity.key if len(self.entity.key) == 1 else () if self.entity.key else (ID,)
                chosen = {**{name: Expression(self.at, column=ID) for name in filled}, **chosen}
        return chosen if self.id is None else {**chosen, ID: self.id}


@dataclass(frozen=True, slots=True)
class LoadMapping:
    """A whole mapping."""

    sources: Mapping[str, SourceSpec]
    entities: tuple[EntitySpec, ...]


def parse_mapping(given: object, catalog: Catalog) -> LoadMapping:
    """Parse a mapping. Raises UsageError that names the position of the first error."""
    whole = _mapping(given, "the mapping", ("sources", "load"))
    sources = {
        str(name): parse_source(spec, f"sources.{name}")
        for name, spec in _mapping(whole.get("sources", {}), "sources").items()
    }
    entries = whole.get("load")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise UsageError('"load" of a mapping must be a non-empty list', hint='for example {"load": [{"source": ...}]}')
    return LoadMapping(
        sources, tuple(_entity_spec(entry, f"load[{number}]", catalog) for number, entry in enumerate(entries))
    )


def parse_source(given: object, at: str) -> SourceSpec:
    """Parse a source: a path, a list of paths, or a dict with ``path``, ``format`` and ``options``."""
    if isinstance(given, str) or (isinstance(given, Sequence) and not isinstance(given, Mapping)):
        given = {"path": given}
    spec = _mapping(given, at, _SOURCE_KEYS)
    path = spec.get("path")
    paths = [path] if isinstance(path, str) else path
    if not isinstance(paths, Sequence) or not paths or not all(isinstance(item, str) for item in paths):
        hint = f"for example {at}: people.csv"
        raise UsageError(f"{at}: a source needs a path or a list of paths, got {path!r}", hint=hint, at=at)
    options = _mapping(spec.get("options", {}), f"{at}.options")
    implied, defaults = _IMPLIED.get(os.path.splitext(bare_name(paths[0]))[1].lower(), (None, {}))
    format_ = spec.get("format") or implied
    if not isinstance(format_, str):
        raise UsageError(f"{at}: unknown file format of {paths[0]!r}", hint='add "format", for example "csv"', at=at)
    return SourceSpec(tuple(paths), format_, {**defaults, **{key: _option(value) for key, value in options.items()}})


def _option(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _entity_spec(given: object, at: str, catalog: Catalog) -> EntitySpec:
    spec = _mapping(given, at, _ENTRY_KEYS)
    source, where = spec.get("source"), spec.get("where")
    if not isinstance(source, str):
        hint = "name one of sources, or data that is passed by name"
        raise UsageError(f'{at}: "source" must be the name of a source, got {source!r}', hint=hint, at=at)
    if where is not None and not isinstance(where, str):
        hint = 'for example "age > 18"'
        raise UsageError(f"{at}.where: expected an SQL predicate, got {where!r}", hint=hint, at=at)
    entity = _entity(spec, at, catalog)
    columns = spec.get("columns")
    parsed = None
    if columns is not None:
        parsed = {}
        for name, value in _mapping(columns, f"{at}.columns").items():
            if name not in entity.properties:
                hint = _near(name, entity.properties)
                raise UsageError(f"{at}.columns: {entity.name} has no property {name!r}", hint=hint, at=at)
            parsed[name] = _expression(value, f"{at}.columns.{name}")
    id_ = _expression(spec[ID], f"{at}.id") if spec.get(ID) is not None else None
    if id_ is not None and entity.key:
        message = f"{at}.id: the id of {entity.name} is derived from its key ({', '.join(entity.key)})"
        raise UsageError(message, hint="leave out the id, and map the key", at=at)
    ends, types = _ends(spec, at, entity, catalog)
    return EntitySpec(at, source, entity, parsed, id_, ends, where, types)


def _entity(spec: Mapping[str, Any], at: str, catalog: Catalog) -> Entity:
    node, edge = spec.get("node"), spec.get("edge")
    if (node is None) == (edge is None):
        hint = f"the types are {', '.join([*catalog.nodes, *catalog.edges])}"
        raise UsageError(f'{at}: expected either "node" or "edge" with the name of a type', hint=hint, at=at)
    found: Entity | None = catalog.node(str(node)) if edge is None else catalog.edge(str(edge))
    if found is None:
        kind, name = ("node", str(node)) if edge is None else ("edge", str(edge))
        hint = _near(name, catalog.nodes if kind == "node" else catalog.edges)
        raise UsageError(f"{at}: there is no {kind} type {name!r}", hint=hint, at=at)
    return found


Ends = tuple[dict[str, tuple[Expression, ...]], dict[str, Expression]]
"""The key columns of both ends, and the types of their nodes."""


def _ends(spec: Mapping[str, Any], at: str, entity: Entity, catalog: Catalog) -> Ends:
    given = [name for name in ("from", "to", "from_type", "to_type") if name in spec]
    if not isinstance(entity, EdgeType):
        if given:
            message = f"{at}.{given[0]}: {entity.name} is a node type; only edges have ends"
            raise UsageError(message, hint=f"leave out {given[0]!r}", at=at)
        return {}, {}
    ends: dict[str, tuple[Expression, ...]] = {}
    types: dict[str, Expression] = {}
    for end in entity.ends:
        name, node_name = end.word, end.types[0]
        if end.is_typed and end.type_word in spec:
            types[name] = _expression(spec[end.type_word], f"{at}.{end.type_word}")
            node_name = _constant_type(types[name], end) or node_name
        elif end.type_word in spec:
            message = f"{at}.{end.type_word}: {name} of {entity.name} has one type, {node_name}"
            raise UsageError(message, hint=f"leave out {end.type_word!r}", at=at)
        key = catalog.nodes[node_name].key
        if end.is_typed and any(len(catalog.nodes[other].key) > 1 for other in end.types) and name not in types:
            message = f"{at}: {name} of {entity.name} may be one of {', '.join(end.types)}"
            raise UsageError(message, hint=f'name the type, "{end.type_word}": {{"value": "{node_name}"}}', at=at)
        if name not in spec:
            hint = f"add {name!r} with the column that holds the {'key' if key else 'id'} of a {node_name}"
            raise UsageError(f'{at}: an edge needs "from" and "to"', hint=hint, at=at)
        if len(key) <= 1:
            ends[name] = (_expression(spec[name], f"{at}.{name}"),)
            continue
        parts = spec[name]
        if not isinstance(parts, Mapping) or set(parts) != set(key):
            wanted = ", ".join(f'"{part}": ...' for part in key)
            message = f"{at}.{name}: {node_name} has a composite key: expected {{{wanted}}}"
            raise UsageError(message, hint="give the column of every member of the key", at=at)
        ends[name] = tuple(_expression(parts[part], f"{at}.{name}.{part}") for part in key)
    return ends, types


def _constant_type(expression: Expression, end: EdgeEnd) -> str | None:
    """The type that all nodes at an end have; None if a column or an expression gives it."""
    if expression.value is None:
        return None
    if expression.value not in end.types:
        hint = did_you_mean(str(expression.value), end.types) or f"the types are {', '.join(end.types)}"
        raise UsageError(f"{expression.at}: {expression.value!r} is no type of this end", hint=hint, at=expression.at)
    return str(expression.value)


def _expression(given: object, at: str) -> Expression:
    if isinstance(given, str):
        return Expression(at, column=given)
    if isinstance(given, Mapping) and len(given) == 1:
        [(kind, value)] = given.items()
        if kind == "sql" and isinstance(value, str):
            return Expression(at, sql=value)
        if kind == "value":
            return Expression(at, value=value)
    message = f'{at}: expected a column, {{"sql": "..."}} or {{"value": ...}}, got {given!r}'
    raise UsageError(message, hint="a name is a column; constants and expressions say what they are", at=at)


def _near(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(name, names) or f"the names are {', '.join(names) or 'none'}"


def _mapping(given: object, at: str, keys: Sequence[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        hint = "write it as names with values, as in the page about loading"
        raise UsageError(f"{at}: expected a mapping of names to values, got {type(given).__name__}", hint=hint, at=at)
    for key in given:
        if keys is not None and key not in keys:
            hint = did_you_mean(str(key), list(keys)) or f"allowed keys: {', '.join(keys)}"
            raise UsageError(f"{at}: unknown key {key!r}", hint=hint, at=at)
    return given
