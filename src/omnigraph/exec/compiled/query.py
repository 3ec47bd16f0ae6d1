"""Compiled queries: the plan of a query as a closure, where every operator and expression of it has one.

The general operators define the meaning of a query. A compiled one gives the same rows, or it gives up: at compile time
for plans that are not recognised, per version while ids or neighbour lists are not in memory, and per call if
it meets many rows or values that are not in memory. The caller then runs the general operators, which also load what
was missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.core.lru import Lru
from omnigraph.core.tables import TablePin
from omnigraph.exec.budget import Budget
from omnigraph.exec.cells.ids import Find, id_finder
from omnigraph.exec.cells.values import GivenUp, NotInMemory, column_cells
from omnigraph.exec.columns import Columns
from omnigraph.exec.compiled.expressions import NOW
from omnigraph.exec.compiled.known import check_known
from omnigraph.exec.compiled.recipe import Bound, Call, Maker, Needs, NotCompiled, Scope, Walk
from omnigraph.exec.compiled.shaping import Program, Values, compile_shape
from omnigraph.exec.compiled.stepping import can_step
from omnigraph.exec.compiled.steps import RowCompiler
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.walk.expand import neighbours
from omnigraph.history.state import ManifestState
from omnigraph.query import expressions as ir
from omnigraph.query.ir import QueryIR
from omnigraph.rows.arrow_types import result_type
from omnigraph.schema.catalog import Catalog

ATTEMPTS_MAX = 8
"""Calls after which values that are still not in memory are taken to stay away."""

MISSES_MAX = 64
"""Runs of a program that met values outside of memory, after which they are taken to stay there: several columns and
fragments come into memory one after the other."""

EDGES_MAX = 4096
"""Edges that the searches of a read on an event loop follow, all of them together: about 0.1 ms."""

PROGRAMS_MAX = 256
"""Programs kept. One is a few closures; the arrays that it reads are those of the caches."""


@dataclass(frozen=True, eq=False)
class CompiledQuery:
    """Makers of a program, and what they need of a version. Compared by identity: it is the key of its programs."""

    parameters: tuple[str, ...]
    schema: pa.Schema
    needs: Needs
    tables: tuple[str, ...]
    """The keys of all tables that a program depends on."""
    make: Maker[Program] = field(repr=False)
    sized: tuple[int, ...] = ()
    """The places of the columns whose values differ in size."""

    def call(self, values: Mapping[str, ir.Constant], now_ms: int, budget: Budget) -> Call:
        """The call with bound parameters."""
        return Call((*(values[name].value for name in self.parameters), now_ms), budget)


def compile_query(query: QueryIR, catalog: Catalog) -> CompiledQuery | None:
    """The compiled form of an unbound query; None if it has an operator or expression that has no such form."""
    names = tuple(parameter.name for parameter in query.parameters)
    scope = Scope({name: place for place, name in enumerate((*names, NOW))}, Needs())
    if any(column.field for column in query.columns):
        return None
    try:
        check_known(query.root)
        make = compile_shape(query.root, RowCompiler(catalog), scope)
    except NotCompiled:
        return None
    schema = pa.schema([pa.field(item.name, result_type(item.expression.type)) for item in query.columns])
    sized = tuple(place for place, type_ in enumerate(schema.types) if not pa.types.is_primitive(type_))
    return CompiledQuery(names, schema, scope.needs, _tables(scope.needs, catalog), make, sized)


def _tables(needs: Needs, catalog: Catalog) -> tuple[str, ...]:
    found = [*(key for key, _ in needs.cells), *needs.finders]
    for way in needs.ways:
        edge = catalog.edges[way.edge]
        found += [edge.table_key, *(catalog.nodes[name].table_key for name in way.pair or edge.pairs[0])]
    return tuple(dict.fromkeys(found))


def bind(compiled: CompiledQuery, view: GraphView) -> Program | None:
    """The program for the tables of a snapshot; None if something that it needs is not in memory."""
    bound = _bound(compiled.needs, view)
    return None if bound is None else compiled.make(bound)


def _bound(needs: Needs, view: GraphView) -> Bound | None:
    finders: list[Find] = []
    for key in needs.finders:
        finder = id_finder(view.table(key))
        if finder is None:
            return None
        finders.append(finder)
    walks: list[Walk] = []
    for way in needs.ways:
        topology = view.derived.topologies.find(view.pins(way.edge, way.pair))
        if topology is None:
            return None
        lists = neighbours(topology, way.direction, reverse=way.reverse)
        if not can_step(lists):
            return None
        walks.append(Walk(topology, lists))
    cells = [column_cells(view.table(key), name) for key, name in needs.cells]
    return Bound(tuple(cells), tuple(finders), tuple(walks))


@dataclass
class BriefBudget(Budget):
    """The limits of a read on an event loop: a search from a hub may visit the whole graph for one number."""

    edges_max: int = EDGES_MAX

    @property
    def is_counted(self) -> bool:
        return True

    def follow(self, edges: int) -> None:
        self.edges_max -= edges
        if self.edges_max < 0:
            raise GivenUp


@dataclass
class Binding:
    """The program of a compiled query for the pins of one state, or the number of attempts to make it."""

    state: ManifestState
    pins: tuple[TablePin, ...]
    program: Program | None = None
    attempts: int = 0
    misses: int = 0
    """Runs of the program that met values outside of memory."""
    is_missing: bool = False
    """True if the last run met such values."""

    def should_try(self) -> bool:
        """True for the 1st, 2nd, 4th, 8th call and so on: what is missing may never come into memory."""
        self.attempts += 1
        return self.attempts & (self.attempts - 1) == 0


class Programs:
    """Programs by compiled query and branch. Those of other versions are replaced, and all are dropped when columns
    leave the cache: a program would keep them in memory."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._evictions = 0
        self._known: Lru[tuple[CompiledQuery, str], Binding] = Lru(PROGRAMS_MAX)

    def run(
        self, compiled: CompiledQuery, view: GraphView, call: Call, *, is_at_once: bool = False
    ) -> list[Values] | None:
        """The rows of a query; None if the general operators have to run it.

        ``is_at_once``: only a program that exists is run, which reads nothing but memory.
        """
        program = self._made(compiled, view) if is_at_once else self._program(compiled, view)
        if program is None:
            return None
        call.budget.check()
        known = self._known.get((compiled, view.state.incarnation))
        try:
            rows = program(call)
        except NotInMemory:
            if known is not None:
                known.misses, known.is_missing = known.misses + 1, True
            return None
        except GivenUp:
            return None
        if known is not None:
            known.is_missing = False
        return rows

    def is_worth_trying(self, compiled: CompiledQuery, view: GraphView) -> bool:
        """True while the tables of a snapshot have no program yet, or it lacks values, and few runs have failed."""
        known = self._known.get((compiled, view.state.incarnation))
        if self._made(compiled, view) is not None:
            # Columns of larger fragments are read whole only after some reads of single rows.
            return known is not None and known.is_missing and known.misses < MISSES_MAX
        return known is None or known.state is not view.state or known.attempts < ATTEMPTS_MAX

    def _made(self, compiled: CompiledQuery, view: GraphView) -> Program | None:
        """The program for the tables of a snapshot, if it was made before."""
        known = self._known.get((compiled, view.state.incarnation))
        if known is None or self._evictions != self._columns.evictions:
            return None
        if known.state is view.state or known.pins == tuple([view.state.tables[key] for key in compiled.tables]):
            return known.program
        return None

    def _program(self, compiled: CompiledQuery, view: GraphView) -> Program | None:
        if self._evictions != self._columns.evictions:
            self._evictions = self._columns.evictions
            self._known.clear()
        key = (compiled, view.state.incarnation)
        known = self._known.get(key)
        if known is None or known.state is not view.state:
            pins = tuple([view.state.tables[table] for table in compiled.tables])
            known = Binding(view.state, pins, *(() if known is None or known.pins != pins else (known.program,)))
            self._known.put(key, known)
        if known.program is None and known.should_try():
            known.program = bind(compiled, view)
        return known.program
