"""Types of nodes that a load does not name: an id that only one type of the end has tells it.

Nodes are looked up in the graph and in the load itself, so this needs the whole load in memory. Larger loads, and those
on Spark, have to name the types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.rows.arrow_types import ID
from omnigraph.rows.ends.references import UNRESOLVED, has_typed_key, tags_of
from omnigraph.rows.keys import derived_ids
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import EdgeEnd, EdgeType
from omnigraph.write.committed_graph import CommittedGraph

SourcedRows = tuple[str, TypedRows]


def is_unresolved(rows: TypedRows) -> bool:
    """True if a node at an end of several types has none."""
    return any(pc.any(_unnamed(end, rows.batch), min_count=0).as_py() for end in _typed_ends(rows))


def _typed_ends(rows: TypedRows) -> list[EdgeEnd]:
    return [end for end in rows.entity.ends if end.is_typed] if isinstance(rows.entity, EdgeType) else []


def _unnamed(end: EdgeEnd, batch: pa.RecordBatch) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(tags_of(end, batch), UNRESOLVED), False)


def resolve_types(
    rows: Sequence[SourcedRows], committed: CommittedGraph, violations: Violations, *, is_overwrite: bool
) -> list[SourcedRows]:
    """The rows with the types of all nodes; edges whose nodes have none or several are reported and left out."""
    given: dict[str, set[str]] = {}
    for _, typed in rows:
        if not isinstance(typed.entity, EdgeType):
            given.setdefault(typed.entity.name, set()).update(typed.batch.column(ID).to_pylist())
    search = _Search(given, committed, is_overwrite, violations)
    return [(source, search.resolved(source, typed) if is_unresolved(typed) else typed) for source, typed in rows]


@dataclass(frozen=True, slots=True)
class _Search:
    """Nodes by id: those of the load by type, and the committed ones."""

    given: Mapping[str, set[str]]
    committed: CommittedGraph
    is_overwrite: bool
    violations: Violations

    def resolved(self, source: str, rows: TypedRows) -> TypedRows:
        edge = rows.entity
        assert isinstance(edge, EdgeType)
        batch, lost = rows.batch, set[int]()
        for end in _typed_ends(rows):
            unnamed = pc.indices_nonzero(_unnamed(end, batch)).to_pylist()
            ids: list[str] = batch.column(end.column).to_pylist()
            types = self._types(end, {ids[row] for row in unnamed})
            tags: list[str | None] = tags_of(end, batch).to_pylist()
            for row in unnamed:
                found = types[ids[row]]
                if len(found) == 1:
                    tags[row] = end.stored_tag(found[0])
                    continue
                lost.add(row)
                place = rows.places(source)(row)
                message = f"{end.column} '{ids[row]}' {_problem(end, found)}"
                self.violations.add(Violation(ViolationCode.ENDPOINT, message, edge.table_key, None, end.column, place))
            place_of = batch.schema.get_field_index(str(end.type_column))
            batch = batch.set_column(place_of, batch.schema.field(place_of), pa.array(tags, pa.utf8()))
        whole = replace(rows, batch=batch)
        if has_typed_key(edge):
            whole = replace(whole, batch=batch.set_column(0, batch.schema.field(0), derived_ids(edge, batch)))
        return whole if not lost else whole.take(pa.array([row for row in range(batch.num_rows) if row not in lost]))

    def _types(self, end: EdgeEnd, ids: Iterable[str]) -> dict[str, list[str]]:
        """The types of an end that have a node of each id after the load."""
        wanted = sorted(ids)
        found: dict[str, list[str]] = {id_: [] for id_ in wanted}
        for name in end.types:
            own = self.given.get(name, set())
            is_replaced = self.is_overwrite and name in self.given
            held = set() if is_replaced else self.committed.existing_ids(f"node:{name}", wanted)
            for id_ in wanted:
                if id_ in own or id_ in held:
                    found[id_].append(name)
        return found


def _problem(end: EdgeEnd, found: Sequence[str]) -> str:
    if not found:
        return f"not found in {' or '.join(end.types)}"
    return f"is the id of a {' and of a '.join(found)}: name its type"
