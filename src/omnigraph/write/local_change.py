"""Local changes: inserts and upserts, which look at no other entities than those they name.

An update or a deletion searches its entities, so it is not local: another change may add one that it would have found.

Two local changes prepared on one state are *apart* if their footprints do not meet. Then each has the same effect and
the same answer before or after the other, so both are staged on that state without a second look. A footprint has:

==========  =============================================================  =========================================
fact        read                                                           altered
==========  =============================================================  =========================================
an entity   whether its id exists; the values that an upsert keeps         the entity with this id
a value     whether an entity holds it that a unique constraint admits     the entity that holds it
            once
a source    the number of its edges, which ``@card`` bounds                the number of its edges
==========  =============================================================  =========================================

The nodes that an edge connects are read too, but no local change deletes one. A node whose id only one type had keeps
this type for the edge, also if the other change adds one of another type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from omnigraph.history.plan import WriteMode
from omnigraph.rows.cardinality import has_bounds
from omnigraph.rows.validate import TableDelta, column_texts, unique_columns
from omnigraph.schema.catalog import EdgeType
from omnigraph.write import limits

Fact = tuple[object, ...]


@dataclass(frozen=True)
class LocalChange:
    """A local change. ``named`` are all rows that it names, also those that equal the committed ones.

    Those are no part of the deltas, but that they change nothing was decided from the committed rows.
    """

    deltas: Mapping[str, TableDelta]
    modes: Mapping[str, WriteMode]
    reads: frozenset[str]
    named: Mapping[str, TableDelta]

    @cached_property
    def footprint(self) -> frozenset[Fact]:
        return frozenset(fact for key, delta in self.named.items() for fact in _facts(key, delta))

    def is_apart(self, other: LocalChange) -> bool:
        """True if the changes do not depend on each other."""
        return self.footprint.isdisjoint(other.footprint)


def is_local(named: Mapping[str, TableDelta], modes: Mapping[str, WriteMode]) -> bool:
    """True if a footprint covers all that the rows depend on, and they are few: a wave writes rows twice.

    A replaced edge may have had another source, whose number of edges it changes too.
    """
    if sum(delta.rows.num_rows for delta in named.values()) > limits.WAVE_ROWS_MAX:
        return False
    if sum(delta.rows.nbytes for delta in named.values()) > limits.WAVE_BYTES_MAX:
        return False
    return all(
        modes[key] is WriteMode.APPEND
        or (modes[key] is WriteMode.UPSERT and not delta.removed and not _is_bounded(delta))
        for key, delta in named.items()
    )


def _facts(key: str, delta: TableDelta) -> Iterator[Fact]:
    yield from ((key, id_) for id_ in delta.ids())
    for columns in unique_columns(delta.entity):
        texts = zip(*(column_texts(delta.entity, column, delta.rows) for column in columns), strict=True)
        # A constraint does not apply to a tuple with a null.
        yield from ((key, columns, values) for values in texts if None not in values)
    if _is_bounded(delta):
        yield from ((key, "src", source) for source in delta.rows.column("src").to_pylist())


def _is_bounded(delta: TableDelta) -> bool:
    return isinstance(delta.entity, EdgeType) and has_bounds(delta.entity)
