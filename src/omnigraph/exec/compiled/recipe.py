"""Recipes: the needs of a plan, and the makers of its closures.

Compiling has two stages. The first one, once per plan, turns the IR into makers and notes the readers that they will
need: columns, ids, neighbour lists. The second one, once per version of the tables, resolves these and calls the
makers. A commit of another table costs nothing, and a commit of one of these costs some microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.budget import Budget
from omnigraph.exec.cells.ids import Find
from omnigraph.exec.cells.values import Cell
from omnigraph.exec.topology.neighbours import Lists, Topology
from omnigraph.query.ir import Direction
from omnigraph.schema.ir import Pair

Row = tuple[Any, ...]
"""The call, then one item per variable: a row number (-1: null), a path as its length and ids (None: null), or whether
a block has a match."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One run of a query: the values of its parameters in the order of the recipe, and its limits."""

    values: tuple[Any, ...]
    budget: Budget


class NotCompiled(Exception):
    """A plan has an operator or expression that only the general operators run."""


@dataclass(frozen=True, slots=True)
class Way:
    """The neighbour lists of one step: of an edge type, in a direction, from the bound end."""

    edge: str
    direction: Direction
    reverse: bool
    pair: Pair | None = None
    """The types of the source and the target of the edges."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The neighbour lists of a way at one version."""

    topology: Topology
    lists: Lists


@dataclass(frozen=True, slots=True)
class Bound:
    """The readers of one version, in the order of the needs."""

    cells: tuple[Cell, ...]
    finders: tuple[Find, ...]
    walks: tuple[Walk, ...]


@dataclass
class Needs:
    """Readers that a plan uses, each once. A maker knows its readers by their positions."""

    cells: list[tuple[str, str]] = field(default_factory=list)
    """Table keys and columns."""
    finders: list[str] = field(default_factory=list)
    """Table keys."""
    ways: list[Way] = field(default_factory=list)

    def cell(self, table_key: str, name: str) -> int:
        return _place(self.cells, (table_key, name))

    def finder(self, table_key: str) -> int:
        return _place(self.finders, table_key)

    def walk(self, way: Way) -> int:
        return _place(self.ways, way)


def _place(known: list[T], wanted: T) -> int:
    if wanted not in known:
        known.append(wanted)
    return known.index(wanted)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a row: its position, its table (empty for a path), and whether it may be null."""

    slot: int
    table_key: str
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of a row, and the positions of parameters."""

    parameters: Mapping[str, int]
    needs: Needs
    variables: Mapping[str, Variable] = field(default_factory=dict)
    width: int = 1

    def bind(self, name: str, table_key: str) -> Scope:
        """The scope with one more variable."""
        variables = {**self.variables, name: Variable(self.width, table_key)}
        return replace(self, variables=variables, width=self.width + 1)

    def optional(self, names: tuple[str, ...]) -> Scope:
        """The scope in which these variables may be null."""
        changed = {name: replace(self.variables[name], is_optional=True) for name in names if name in self.variables}
        return replace(self, variables={**self.variables, **changed})

    def variable(self, name: str) -> Variable:
        return self.variables[name]


Maker = Callable[[Bound], T]
