"""Planned types: values that inference hands from guess to guess."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.ingest.infer.ends import End
from omnigraph.ingest.infer.facts import TableFacts
from omnigraph.ingest.infer.properties import PropertyGuess


@dataclass(frozen=True, slots=True)
class PlannedProperty:
    """A property with the column that it is read from."""

    name: str
    column: str
    guess: PropertyGuess
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class PlannedType:
    """A node or edge type with the table that it is read from; None for nodes that only edges mention."""

    name: str
    table: TableFacts | None
    properties: tuple[PlannedProperty, ...]
    ends: tuple[End, End] | None = None
    id_column: str | None = None
    """The column of the ids, of edges and of nodes without a key."""
    has_unique_pairs: bool = False
    """No two edges connect the same nodes, so both ends are the key."""
    ignored: tuple[tuple[str, str], ...] = ()
    """Columns that no property can hold, with what they hold."""
    notes: tuple[str, ...] = ()
    edges_of: tuple[tuple[str, str], ...] = field(default=())
    """For nodes that only edges mention: sources and columns that hold their ids."""

    @property
    def is_edge(self) -> bool:
        return self.ends is not None
