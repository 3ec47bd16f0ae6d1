"""Load mappings: columns of source tables to properties of entities. Pure: parses plain dicts against a schema.

    {"sources": {"people": {"path": "people.csv"}},
     "load": [{"source": "people", "node": "Person", "columns": {"name": "full_name", "age": {"sql": "year - born"}}},
              {"source": "people", "edge": "Knows", "from": "full_name", "to": "friend"}]}

A value is a column name, a Spark SQL expression (``sql``) or a constant (``value``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.spark.load.formats import format_of_path

_SOURCE_KEYS = ("path", "format", "options")
_ENTRY_KEYS = ("source", "node", "edge", "columns", "id", "from", "to", "where")


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
    """Mapping of the rows of one source to a type. ``columns=None`` maps every column with the name of a property."""

    at: str
    source: str
    entity: Entity
    columns: Mapping[str, Expression] | None
    id: Expression | None = None
    ends: Mapping[str, tuple[Expression, ...]] = field(default_factory=dict)
    where: str | None = None


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
        raise UsageError(f"{at}: a source needs a path or a list of paths, got {path!r}", at=at)
    options = _mapping(spec.get("options", {}), f"{at}.options")
    implied, defaults = format_of_path(paths[0])
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
        raise UsageError(f'{at}: "source" must be the name of a source, got {source!r}', at=at)
    if where is not None and not isinstance(where, str):
        raise UsageError(f"{at}.where: expected an SQL predicate, got {where!r}", at=at)
    entity = _entity(spec, at, catalog)
    columns = spec.get("columns")
    parsed = None
    if columns is not None:
        parsed = {}
        for name, value in _mapping(columns, f"{at}.columns").items():
            if name not in entity.properties:
                hint = did_you_mean(name, list(entity.properties))
                raise UsageError(f"{at}.columns: {entity.name} has no property {name!r}", hint=hint, at=at)
            parsed[name] = _expression(value, f"{at}.columns.{name}")
    id_ = _expression(spec[ID], f"{at}.id") if spec.get(ID) is not None else None
    if id_ is not None and isinstance(entity, NodeType) and entity.key:
        raise UsageError(f"{at}.id: the id of {entity.name} is derived from its key ({', '.join(entity.key)})", at=at)
    return EntitySpec(at, source, entity, parsed, id_, _ends(spec, at, entity, catalog), where)


def _entity(spec: Mapping[str, Any], at: str, catalog: Catalog) -> Entity:
    node, edge = spec.get("node"), spec.get("edge")
    if (node is None) == (edge is None):
        raise UsageError(f'{at}: expected either "node" or "edge" with the name of a type', at=at)
    found: Entity | None = catalog.node(str(node)) if edge is None else catalog.edge(str(edge))
    if found is None:
        kind, name = ("node", str(node)) if edge is None else ("edge", str(edge))
        hint = did_you_mean(name, list(catalog.nodes if kind == "node" else catalog.edges))
        raise UsageError(f"{at}: there is no {kind} type {name!r}", hint=hint, at=at)
    return found


def _ends(spec: Mapping[str, Any], at: str, entity: Entity, catalog: Catalog) -> dict[str, tuple[Expression, ...]]:
    given = [name for name in ("from", "to") if name in spec]
    if not isinstance(entity, EdgeType):
        if given:
            raise UsageError(f"{at}.{given[0]}: {entity.name} is a node type; only edges have ends", at=at)
        return {}
    ends: dict[str, tuple[Expression, ...]] = {}
    for name, node_name in (("from", entity.source), ("to", entity.target)):
        if name not in spec:
            raise UsageError(f'{at}: an edge needs "from" and "to"', at=at)
        key = catalog.nodes[node_name].key
        if len(key) <= 1:
            ends[name] = (_expression(spec[name], f"{at}.{name}"),)
            continue
        parts = spec[name]
        if not isinstance(parts, Mapping) or set(parts) != set(key):
            wanted = ", ".join(f'"{part}": ...' for part in key)
            raise UsageError(f"{at}.{name}: {node_name} has a composite key: expected {{{wanted}}}", at=at)
        ends[name] = tuple(_expression(parts[part], f"{at}.{name}.{part}") for part in key)
    return ends


def _expression(given: object, at: str) -> Expression:
    if isinstance(given, str):
        return Expression(at, column=given)
    if isinstance(given, Mapping) and len(given) == 1:
        [(kind, value)] = given.items()
        if kind == "sql" and isinstance(value, str):
            return Expression(at, sql=value)
        if kind == "value":
            return Expression(at, value=value)
    raise UsageError(f'{at}: expected a column, {{"sql": "..."}} or {{"value": ...}}, got {given!r}', at=at)


def _mapping(given: object, at: str, keys: Sequence[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise UsageError(f"{at}: expected a mapping of names to values, got {type(given).__name__}", at=at)
    for key in given:
        if keys is not None and key not in keys:
            hint = did_you_mean(str(key), list(keys)) or f"allowed keys: {', '.join(keys)}"
            raise UsageError(f"{at}: unknown key {key!r}", hint=hint, at=at)
    return given
