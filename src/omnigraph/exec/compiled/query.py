"""Compiled queries: the plan of a query as a closure, where every operator and expression of it has one.

The general operators define the meaning of a query. A compiled one gives the same rows, or it gives up: at compile time
for plans that are not recognised, per version while ids or neighbour lists are not in memory, and per call if
it meets many rows or values that are not in memory. The caller then runs the general operators, which also load what
was missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import field

import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru
from omnigraph.core.tables import TablePin
from omnigraph.exec.budget import Budget
from omnigraph.exec.cells.ids import Find, id_finder
from omnigraph.exec.cells.values import GivenUp, NotInMemory, column_cells
from omnigraph.exec.columns import Columns
from omnigraph.exec.compiled.expressions import NOW
from omnigraph.exec.compiled.known import check_known
from omnigraph.exec.compiled.recipe import Bound, Call, Maker, Needs, NotCompiled, Scope, Walk, Way
from omnigraph.exec.compiled.shaping import Program, Values, compile_shape
from omnigraph.exec.compiled.stepping import can_step
from omnigraph.exec.compiled.steps import RowCompiler
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.exec.walk.expand import neighbours
from omnigraph.history.state import ManifestState
from omnigraph.query import expressions as ir
from omnigraph.query.ir import QueryIR
from omnigraph.rows.arrow_types import result_type
from omnigraph.rows.write.results import StoredForm
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.columns_by_fragment import recent_rows
from omnigraph.storage.tables.store import Store

ATTEMPTS_MAX = 8
"""Calls after which values that are still not in memory are taken to stay away."""

MISSES_MAX = 64
"""Runs of a program that met values outside of memory, after which they are taken to stay there: several columns and
fragments come into memory one after the other."""

EDGES_MAX = 4096
"""Edges that the searches of a read on an event loop follow, all of them together: about 0.1 ms."""

FOLLOWED_MAX = 2
"""Programs that a writer makes for its commit, each some tens of microseconds. The first run makes others."""

FOLLOWED_PARTS_MAX = 64
"""Fragments of a table up to which a writer does so: readers of columns go through all of them."""

PROGRAMS_MAX = 256
"""Programs kept. One is a few closures; the arrays that it reads are those of the caches."""


@dataclass(frozen=True, eq=False)
class CompiledQuery:
    """Makers of a program, and what they need of a version. Compared by identity: it is the key of its programs."""

    parameters: tuple[str, ...]
    form: StoredForm
    needs: Needs
    tables: tuple[str, ...]
    """The keys of all tables that a program depends on."""
    make: Maker[Program] = field(repr=False)
    sized: tuple[int, ...] = ()
    """The places of the columns whose values differ in size."""

    def call(self, values: Mapping[str, ir.Constant], now_ms: int, budget: Budget) -> Call:
        """The call with bound parameters."""
        return Call((*[values[name].value for name in self.parameters], now_ms), budget)


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
    return CompiledQuery(names, StoredForm.of(schema), scope.needs, _tables(scope.needs, catalog), make, sized)


def _tables(needs: Needs, catalog: Catalog) -> tuple[str, ...]:
    found = [*(key for key, _ in needs.cells), *needs.finders]
    for way in needs.ways:
        edge = catalog.edges[way.edge]
        found += [edge.table_key, *(catalog.nodes[name].table_key for name in way.pair or edge.pairs[0])]
    return tuple(dict.fromkeys(found))


def bind(needs: Needs, view: GraphView) -> Bound | None:
    """The readers for the tables of a snapshot; None if one of them is not in memory."""
    finders: list[Find] = []
    for key in needs.finders:
        finder = id_finder(view.table(key))
        if finder is None:
            return None
        finders.append(finder)
    walks: list[Walk] = []
    for way in needs.ways:
        walk = _walk(way, view.derived.topologies.find(view.pins(way.edge, way.pair)))
        if walk is None:
            return None
        walks.append(walk)
    cells = [column_cells(view.table(key), name) for key, name in needs.cells]
    return Bound(tuple(cells), tuple(finders), tuple(walks))


def follow(bound: Bound, needs: Needs, changed: Set[str], view: GraphView) -> Bound | None:
    """The same right after a commit that added rows to some tables; readers of other tables stay as they are."""
    walks: list[Walk] = []
    for way in needs.ways:
        walk = _walk(way, view.derived.topologies.follow(view.pins(way.edge, way.pair)))
        if walk is None:
            return None
        walks.append(walk)
    finders, cells = bound.finders, bound.cells
    if not changed.isdisjoint(needs.finders):
        found = [
            id_finder(view.table(key)) if key in changed else old
            for key, old in zip(needs.finders, finders, strict=True)
        ]
        finders = tuple([finder for finder in found if finder is not None])
        if len(finders) < len(found):
            return None
    if any(key in changed for key, _ in needs.cells):
        cells = tuple(
            [
                column_cells(view.table(key), name) if key in changed else old
                for (key, name), old in zip(needs.cells, cells, strict=True)
            ]
        )
    return Bound(cells, finders, tuple(walks))


def _walk(way: Way, topology: Topology | None) -> Walk | None:
    if topology is None:
        return None
    lists = neighbours(topology, way.direction, reverse=way.reverse)
    return Walk(topology, lists) if can_step(lists) else None


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


@dataclass(slots=True)
class Binding:
    """The program of a compiled query for the pins of one state, or the number of attempts to make it."""

    compiled: CompiledQuery
    state: ManifestState
    pins: tuple[TablePin, ...]
    bound: Bound | None = None
    program: Program | None = None
    attempts: int = 0
    misses: int = 0
    """Runs of the program that met values outside of memory."""
    is_missing: bool = False
    """True if the last run met such values."""
    is_used: bool = False
    """True if the program has given rows."""

    def should_try(self) -> bool:
        """True for the 1st, 2nd, 4th, 8th call and so on: what is missing may never come into memory."""
        self.attempts += 1
        return self.attempts & (self.attempts - 1) == 0

    def run(self, call: Call) -> list[Values] | None:
        """The rows of a query; None if the general operators have to run it, or the program is not made."""
        if self.program is None:
            return None
        call.budget.check()
        try:
            rows = self.program(call)
        except NotInMemory:
            self.misses, self.is_missing = self.misses + 1, True
            return None
        except GivenUp:
            return None
        self.is_missing, self.is_used = False, True
        return rows


class Programs:
    """Programs by compiled query and branch. Those of other versions are replaced, and all are dropped when columns
    leave the cache: a program would keep them in memory."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._evictions = 0
        self._known: Lru[tuple[CompiledQuery, str], Binding] = Lru(PROGRAMS_MAX)

    def made(self, compiled: CompiledQuery, state: ManifestState) -> Binding | None:
        """The program for the tables of a state, if it was made before."""
        known = self._known.get((compiled, state.incarnation))
        if known is None or known.program is None or self._evictions != self._columns.evictions:
            return None
        if known.state is not state:
            if known.pins != _pins(compiled, state):
                return None
            known.state = state
        return known

    def get(self, compiled: CompiledQuery, view: GraphView) -> Binding:
        """The same, or the program made now, if all that it needs is in memory."""
        made = self.made(compiled, view.state)
        if made is not None:
            return made
        if self._evictions != self._columns.evictions:
            self._evictions = self._columns.evictions
            self._known.clear()
        key = (compiled, view.state.incarnation)
        known = self._known.get(key)
        if known is None or known.state is not view.state:
            known = Binding(compiled, view.state, _pins(compiled, view.state))
            self._known.put(key, known)
        if known.should_try():
            known.bound = bind(compiled.needs, view)
            known.program = None if known.bound is None else compiled.make(known.bound)
        return known

    def follow(self, view: GraphView) -> None:
        """Make the programs for a state that this process has just committed, of queries that ran since the last one.

        The writer has the rows in hand, and a query right after a commit finds its program made. Nothing is read, and
        a process that only writes makes none.
        """
        state, left = view.state, FOLLOWED_MAX
        for known in reversed(self._known.values()):
            if not known.is_used or known.state is state or not _is_before(known.state, state):
                continue
            if not left or self._evictions != self._columns.evictions:
                return
            left -= 1
            followed = _followed(known, view)
            if followed is not None:
                self._known.put((known.compiled, state.incarnation), followed)

    def is_worth_trying(self, compiled: CompiledQuery, view: GraphView) -> bool:
        """True while the tables of a snapshot have no program yet, or it lacks values, and few runs have failed."""
        made = self.made(compiled, view.state)
        if made is not None:
            # Columns of larger fragments are read whole only after some reads of single rows.
            return made.is_missing and made.misses < MISSES_MAX
        known = self._known.get((compiled, view.state.incarnation))
        return known is None or known.state is not view.state or known.attempts < ATTEMPTS_MAX


def _is_before(former: ManifestState, state: ManifestState) -> bool:
    """True for two states of one branch under one schema."""
    return (former.incarnation, former.schema_digest) == (state.incarnation, state.schema_digest)


def _followed(known: Binding, view: GraphView) -> Binding | None:
    """The program for a state that has more rows in some tables; None if that has to be found out by reading."""
    compiled, pins = known.compiled, _pins(known.compiled, view.state)
    changed = [(before, pin) for before, pin in zip(known.pins, pins, strict=True) if before != pin]
    if known.bound is None or not all(_only_grew(*pair, view.store) for pair in changed):
        return None
    bound = follow(known.bound, compiled.needs, {pin.key for _, pin in changed}, view) if changed else known.bound
    if bound is None:
        return None
    program = compiled.make(bound) if changed else known.program
    return Binding(compiled, view.state, pins, bound, program)


def _only_grew(before: TablePin, pin: TablePin, store: Store) -> bool:
    """True if a version differs from another one by rows that this process has just written and holds."""
    former = store.layouts.get((before.location, before.lance_version))
    layout = store.layouts.get((pin.location, pin.lance_version))
    if former is None or layout is None or not former.precedes(layout):
        return False
    added = layout.parts[len(former.parts) :]
    return len(added) == 1 and len(layout.parts) <= FOLLOWED_PARTS_MAX and recent_rows(store, pin, added[0]) is not None


def _pins(compiled: CompiledQuery, state: ManifestState) -> tuple[TablePin, ...]:
    """The versions of the tables that a program reads."""
    return tuple([state.tables[key] for key in compiled.tables])
