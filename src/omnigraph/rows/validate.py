"""Constraints over several rows: unique tuples, endpoints, cardinality.

A delta is validated as a whole against the graph that results from it. Committed data is read through the ``Committed``
port, so that mutations, loads, merges and Spark jobs share the rules and implement their own access.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.cardinality import (
    cardinality_violation,
    edges_after,
    has_bounds,
    has_minimum,
    is_beyond,
    touched_sources,
)
from omnigraph.rows.ends.references import (
    end_of,
    node_of,
    reference,
    reference_texts,
    references,
    shown_types,
    tags_of,
)
from omnigraph.rows.ends.violations import endpoint_violation, pair_violation
from omnigraph.rows.keys import key_texts
from omnigraph.rows.omissions import Cells
from omnigraph.rows.violations import Place, Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, EdgeEnd, EdgeType, NodeType
from omnigraph.schema.types import PropertyType

_TEXT = PropertyType(Scalar.STRING)
Texts = tuple[str, ...]


class Committed(Protocol):
    """Read access to the graph before the delta."""

    def existing_ids(self, table_key: str, ids: Sequence[str]) -> set[str]:
        """The given ids that exist in the table."""
        ...

    def holders(self, entity: Entity, columns: Texts, wanted: set[Texts]) -> Iterable[tuple[Texts, str]]:
        """Tuple and id of each committed row whose columns, as canonical texts, are among the wanted tuples."""
        ...

    def edges_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        """Committed edges (id, src, dst) whose ``src`` or ``dst`` is one of these references (``rows.ends``).

        The ends of the result are references. With ``id`` in place of an end, these are ids of edges.
        """
        ...

    def edges_left_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        """The edges of ``edges_at`` that may remain when these nodes are deleted."""
        ...

    def sources(self, edge: EdgeType) -> Iterable[str]:
        """The references of the distinct sources of all committed edges."""
        ...

    def vacated(self, edge: EdgeType, sources: Sequence[str]) -> set[str]:
        """Of touched sources without an edge after the delta, those that had one before; all as references."""
        ...


@dataclass(frozen=True)
class TableDelta:
    """The change of one table: final images of added and replaced rows (distinct ids), and removed ids.

    With ``replaces_all`` every committed row is removed; ``vanished`` are then the ids that are not among the new rows.
    """

    entity: Entity
    rows: pa.Table
    removed: frozenset[str] = frozenset()
    replaces_all: bool = False
    vanished: frozenset[str] = frozenset()
    places: Mapping[str, Place] = field(default_factory=dict)
    omitted: Cells | None = None
    """Cells that the input of a load does not name."""
    found: Mapping[str, int] | None = None
    """Addresses of the committed rows with these ids, if they were looked up."""
    kept: int = 0
    """With ``replaces_all``: committed entities that the new rows contain unchanged."""

    def ids(self) -> list[str]:
        ids: list[str] = self.rows.column("id").to_pylist()
        return ids

    @property
    def gone(self) -> frozenset[str]:
        """Committed ids that no longer exist after the delta."""
        return self.vanished if self.replaces_all else self.removed


Deltas = Mapping[str, TableDelta]


def check_delta(catalog: Catalog, deltas: Deltas, committed: Committed, violations: Violations) -> None:
    """Check all constraints over several rows, nodes before edges, by type name."""
    for key in sorted(deltas, key=lambda key: (key.startswith("edge:"), key)):
        delta = deltas[key]
        _check_unique(delta, committed, violations)
        if isinstance(delta.entity, EdgeType):
            _check_endpoints(delta, delta.entity, deltas, committed, violations)
    _check_stranded(catalog, deltas, committed, violations)
    for key in sorted(deltas):
        delta = deltas[key]
        if isinstance(delta.entity, EdgeType) and has_bounds(delta.entity):
            _check_cardinality(delta, delta.entity, deltas, committed, violations)


def unique_columns(entity: Entity) -> list[Texts]:
    """The stored columns of every unique constraint."""
    ends = {"from": "src", "to": "dst"}
    return [tuple(ends.get(name, name) for name in constraint.properties) for constraint in entity.uniques]


def text_column(entity: Entity, column: str, table: pa.Table | pa.RecordBatch) -> pa.Array:
    """A column as canonical texts, in which unique tuples are compared; an end of an edge as references."""
    end = end_of(entity, column)
    if end is not None:
        return references(end, table)
    values = table.column(column)
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    type_ = entity.properties[column].type if column in entity.properties else _TEXT
    return key_texts(array, type_)


def column_texts(entity: Entity, column: str, table: pa.Table | pa.RecordBatch) -> list[str | None]:
    """``text_column`` as Python values."""
    texts: list[str | None] = text_column(entity, column, table).to_pylist()
    return texts


def _check_unique(delta: TableDelta, committed: Committed, violations: Violations) -> None:
    for columns in unique_columns(delta.entity):
        texts = zip(*(column_texts(delta.entity, column, delta.rows) for column in columns), strict=True)
        holder: dict[Texts, str] = {}
        for id_, row in zip(delta.ids(), texts, strict=True):
            if None in row:
                continue
            value: Texts = tuple(text for text in row if text is not None)
            if value in holder:
                place = delta.places.get(id_)
                violations.add(unique_violation(delta.entity, columns, value, (holder[value], id_), place))
            else:
                holder[value] = id_
        if not holder or delta.replaces_all:
            continue
        own = set(delta.ids())
        for value, id_ in committed.holders(delta.entity, columns, set(holder)):
            if id_ not in own and id_ not in delta.removed:
                place = delta.places.get(holder[value])
                violations.add(unique_violation(delta.entity, columns, value, (id_, holder[value]), place))


def unique_violation(
    entity: Entity, columns: Texts, value: Texts, ids: tuple[str, str], place: Place | None
) -> Violation:
    """Two entities with the same value; the second one is reported."""
    label = f"{entity.name}.{columns[0]}" if len(columns) == 1 else f"{entity.name}.({', '.join(columns)})"
    texts = [_shown(entity, column, text) for column, text in zip(columns, value, strict=True)]
    shown = f"'{texts[0]}'" if len(texts) == 1 else f"({', '.join(texts)})"
    message = f"@unique violation on {label}: value {shown} held by '{ids[0]}' and '{ids[1]}'"
    return Violation(ViolationCode.UNIQUE, message, entity.table_key, ids[1], columns[0], place, ids[0])


def _shown(entity: Entity, column: str, text: str) -> str:
    """A canonical text in a message."""
    end = end_of(entity, column)
    return text if end is None else ":".join(part for part in node_of(end, text) if part and end.is_typed) or text


def _check_endpoints(
    delta: TableDelta, edge: EdgeType, deltas: Deltas, committed: Committed, violations: Violations
) -> None:
    for end in edge.ends:
        texts = reference_texts(end, delta.rows)
        by_type = nodes_by_type(end, texts)
        missing = set(by_type.pop(None, ()))
        for node_name, ids in by_type.items():
            if f"node:{node_name}" not in violations.unidentified:
                gone = missing_nodes(f"node:{node_name}", ids.values(), deltas, committed)
                missing.update(text for text, id_ in ids.items() if id_ in gone)
        for id_, text in zip(delta.ids(), texts, strict=True) if missing else ():
            if text in missing:
                violations.add(endpoint_violation(edge, end, id_, text, delta.places.get(id_)))
    _check_pairs(delta, edge, violations)


def _check_pairs(delta: TableDelta, edge: EdgeType, violations: Violations) -> None:
    """Report edges between types that the edge type does not connect. Only with pairs of ends there are such types."""
    if len(edge.pairs) == len(edge.source.types) * len(edge.target.types):
        return
    sources, targets = (shown_types(end, tags_of(end, delta.rows)).to_pylist() for end in edge.ends)
    for id_, source, target in zip(delta.ids(), sources, targets, strict=True):
        if source in edge.source.types and target in edge.target.types and (source, target) not in edge.pairs:
            violations.add(pair_violation(edge, id_, (source, target), delta.places.get(id_)))


def nodes_by_type(end: EdgeEnd, texts: Iterable[str]) -> dict[str | None, dict[str, str]]:
    """The ids of references by node type and reference; None holds those of no type of the end."""
    wanted = dict.fromkeys(texts)
    if end.type_column is None:
        return {end.types[0]: {text: text for text in wanted}}
    found: dict[str | None, dict[str, str]] = {}
    for text in wanted:
        node_name, id_ = node_of(end, text)
        found.setdefault(node_name, {})[text] = id_
    return found


def missing_nodes(node_key: str, wanted: Iterable[str], deltas: Deltas, committed: Committed) -> set[str]:
    """The given node ids that do not exist after the delta."""
    delta = deltas.get(node_key)
    added = set(delta.ids()) if delta is not None else set()
    open_ids = [id_ for id_ in wanted if id_ not in added]
    if delta is not None and delta.replaces_all:
        return set(open_ids)
    gone = delta.removed if delta is not None else frozenset()
    existing = committed.existing_ids(node_key, open_ids) if open_ids else set()
    return {id_ for id_ in open_ids if id_ not in existing or id_ in gone}


STRANDED_HINT: Final = "keep the node in the input, or write the edges of that type in the same load"
"""The next step for a stored edge whose node a write removes."""


def _check_stranded(catalog: Catalog, deltas: Deltas, committed: Committed, violations: Violations) -> None:
    """Report committed edges that remain although the delta deletes one of their endpoints."""
    for delta in deltas.values():
        if not isinstance(delta.entity, NodeType) or not delta.gone:
            continue
        for edge in catalog.edges_of(delta.entity.name):
            edges = deltas.get(edge.table_key)
            if edges is not None and edges.replaces_all:
                continue
            handled = set(edges.ids()) | edges.removed if edges is not None else set()
            for end in edge.ends:
                if delta.entity.name not in end.types:
                    continue
                gone = sorted(reference(end, delta.entity.name, id_) for id_ in delta.gone)
                table = committed.edges_left_at(edge, end.column, gone)
                texts = table.column(end.column).to_pylist()
                for id_, text in zip(table.column("id").to_pylist(), texts, strict=True):
                    if id_ not in handled:
                        violations.advise(STRANDED_HINT)
                        violations.add(endpoint_violation(edge, end, id_, text, is_stored=True))


def _check_cardinality(
    delta: TableDelta, edge: EdgeType, deltas: Deltas, committed: Committed, violations: Violations
) -> None:
    after = reference_texts(edge.source, delta.rows)
    if delta.replaces_all:
        touched = touched_sources(committed.sources(edge) if has_minimum(edge) else (), after)
        kept: list[str] = []
    else:
        replaced = set(delta.ids()) | delta.removed
        touched = touched_sources(_sources_of(edge, replaced, committed), after)
        kept = _sources_kept(edge, touched, replaced, committed)
    gone = {
        reference(edge.source, name, id_)
        for name in edge.source.types
        if (nodes := deltas.get(f"node:{name}")) is not None
        for id_ in nodes.gone
    }
    counts = edges_after(touched, kept, after)
    beyond = {source: count for source, count in counts.items() if source not in gone and is_beyond(edge, count)}
    without = [source for source, count in beyond.items() if not count]
    vacated = committed.vacated(edge, without) if without else set()
    for source, count in beyond.items():
        if count or source in vacated:
            violations.add(cardinality_violation(edge, source, count))


def _sources_of(edge: EdgeType, ids: set[str], committed: Committed) -> list[str]:
    if not ids:
        return []
    return committed.edges_at(edge, "id", sorted(ids)).column("src").to_pylist()  # type: ignore[no-any-return] # Arrow is untyped


def _sources_kept(edge: EdgeType, touched: Sequence[str], replaced: set[str], committed: Committed) -> list[str]:
    if not touched:
        return []
    edges = committed.edges_at(edge, "src", touched)
    pairs = zip(edges.column("id").to_pylist(), edges.column("src").to_pylist(), strict=True)
    return [source for id_, source in pairs if id_ not in replaced]
