"""Types that the variables of a block may have, before one is chosen for each.

Clauses are read in source order, as the checker infers directions: a variable that an earlier clause gives a type
decides the direction of a later edge. An edge is followed as written unless only the other direction fits.

Also owns the identity of nodes of several types: ids are unique within a type only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.limits import HOPS_MAX
from omnigraph.core.operators import BinaryOperator
from omnigraph.lang import gq_ast as ast
from omnigraph.query.ir import ONE_HOP, Direction, HopRange
from omnigraph.query.polymorphic.several import bound_names, followed_edge, interface_properties, is_known
from omnigraph.query.scope import Context
from omnigraph.query.traversals import reached_types, refuse_end
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import Pair

Types = Mapping[str, str]
"""Concrete node types by variable."""


@dataclass(frozen=True, slots=True)
class Typing:
    """The types of the variables of a concrete pattern, as far as bindings and edges tell them.

    ``possible`` are all types that a variable may have, in this pattern and in others: they decide the direction of an
    edge, so that it is the same in all of them.
    """

    known: Types = field(default_factory=dict)
    possible: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def contradiction(context: Context, clauses: tuple[ast.Clause, ...]) -> str | None:
    """The variable of a block that is bound to two types or interfaces which no node type is both of."""
    bound: dict[str, list[str]] = {}
    for clause in clauses:
        if isinstance(clause, ast.Binding):
            bound.setdefault(clause.variable.name, []).append(clause.type_name.text)
    for name, types in bound.items():
        every = [
            {type_} if type_ in context.catalog.nodes else {*context.catalog.implementers(type_)} for type_ in types
        ]
        if not set.intersection(*every):
            return f"`${name}` is bound to {' and '.join(dict.fromkeys(types))}, and no node type is all of these"
    return None


@dataclass(slots=True)
class Domains:
    """The types that the variables of one block may have; ``outer`` are those of the variables around it.

    ``around`` are the types that these may have in any pattern. They decide the direction of an edge, so that it is the
    same in all patterns.
    """

    context: Context
    outer: Types
    around: Mapping[str, tuple[str, ...]]
    open: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The variables of polymorphic clauses, for which a type has to be chosen."""
    _possible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _connected: dict[int, frozenset[Pair]] = field(default_factory=dict)
    """The pairs of types, left and right, that each step connects, by the identity of its clause."""

    def read(self, clauses: tuple[ast.Clause, ...]) -> None:
        """Learn the types from all clauses of a block."""
        self._possible = {name: self.around.get(name, (type_,)) for name, type_ in self.outer.items()}
        for clause in clauses:
            if isinstance(clause, ast.Binding):
                self._bind(clause)
        bound = set(bound_names(clauses))
        for clause in clauses:
            match clause:
                case ast.Filter(ast.Variable(name)) if not is_known(self.context, name):
                    if name not in self.outer and name not in bound:
                        self._narrow(name, tuple(self.context.catalog.nodes))
                case ast.Traversal() if clause.is_any:
                    for end in (clause.left, clause.right):
                        if not end.is_anonymous:
                            self._narrow(end.name, tuple(self.context.catalog.nodes))
                case ast.Traversal() if (edge := followed_edge(self.context, clause)) is not None:
                    self._follow(clause, edge)
                case _:
                    continue

    def _bind(self, clause: ast.Binding) -> None:
        catalog, name = self.context.catalog, clause.type_name.text
        if name in catalog.nodes:
            self._allow(clause.variable.name, (name,))
        elif interface_properties(catalog, name) is not None:
            self._narrow(clause.variable.name, catalog.implementers(name))

    def _narrow(self, name: str, types: tuple[str, ...]) -> None:
        """Restrict the types of a variable for which one has to be chosen."""
        self._allow(name, types)
        self.open[name] = self._chosen(name)

    def _allow(self, name: str, types: tuple[str, ...]) -> None:
        self._possible[name] = tuple(item for item in self._possible.get(name, types) if item in types)
        if name in self.open:
            self.open[name] = self._chosen(name)

    def _chosen(self, name: str) -> tuple[str, ...]:
        """The types to choose from: those of a variable around the block are chosen already."""
        return tuple(item for item in self._possible[name] if item == self.outer.get(name, item))

    def _follow(self, step: ast.Traversal, edge: EdgeType) -> None:
        """Choose the direction of an edge, and restrict the types of its ends."""
        left, right = (None if end.is_anonymous else self._possible.get(end.name) for end in (step.left, step.right))
        fitting: frozenset[Pair] = frozenset()
        for pairs in _walks(step, edge):
            fitting = frozenset(
                (start, stop)
                for start, stop in pairs
                if (left is None or start in left) and (right is None or stop in right)
            )
            if fitting:
                break
        is_open = not edge.is_single or step.left.name in self.open or step.right.name in self.open
        if not fitting and not is_open:
            # The check of the concrete pattern says which end is wrong.
            return
        if not fitting and not self.outer:
            self._refuse(step, edge)
        self._connected[id(step)] = fitting
        for end, types in ((step.left, [start for start, _ in fitting]), (step.right, [stop for _, stop in fitting])):
            if end.is_anonymous:
                continue
            allowed = tuple(name for name in self.context.catalog.nodes if name in types)
            if not edge.is_single:
                self._narrow(end.name, allowed)
            elif end.name not in self._possible and not step.shortest:
                self._possible[end.name] = allowed

    def _refuse(self, step: ast.Traversal, edge: EdgeType) -> None:
        ends = {end: self._possible.get(end.name, ()) for end in (step.left, step.right)}
        wrong = next(
            (end for end, types in ends.items() if types and not set(types) & set(edge.node_types)), step.right
        )
        refuse_end(self.context, edge, wrong, ends[wrong])

    def connects(self, step: ast.Traversal, types: Types) -> bool:
        """False if a step cannot have ends of these types; an end without a known type fits."""
        pairs = self._connected.get(id(step))
        left, right = types.get(step.left.name), types.get(step.right.name)
        return pairs is None or any(left in (None, start) and right in (None, stop) for start, stop in pairs)

    @property
    def possible(self) -> Mapping[str, tuple[str, ...]]:
        """The types that each variable may have in any pattern."""
        return self._possible

    def inferred(self, types: Types) -> dict[str, str]:
        """The types of all variables of the block, given those that were chosen."""
        known = {name: only[0] for name, only in self._possible.items() if len(only) == 1}
        return {**known, **self.outer, **types}


def _walks(step: ast.Traversal, edge: EdgeType) -> Iterator[frozenset[Pair]]:
    """The pairs of types that a step connects as written, then those of the other direction."""
    if step.undirected:
        yield frozenset(_reached(step, edge, Direction.BOTH))
        return
    for direction in (Direction.OUT, Direction.IN):
        yield frozenset(_reached(step, edge, direction))


def _reached(step: ast.Traversal, edge: EdgeType, direction: Direction) -> Iterator[Pair]:
    hops = _hops(step)
    if edge.is_single:
        # Several hops over an edge between two types reach nothing, but they mean its two types.
        hops = ONE_HOP
    starts = edge.node_types if direction is Direction.BOTH else edge.ends[direction is Direction.IN].types
    for start in starts:
        for stop in reached_types(edge, start, hops, direction):
            yield start, stop


def _hops(step: ast.Traversal) -> HopRange:
    if step.hops is None:
        return HopRange(1, HOPS_MAX) if step.shortest else ONE_HOP
    return HopRange(max(1, step.hops.low), min(HOPS_MAX, step.hops.high or HOPS_MAX))


def compared(node: ast.Binary, typing: Typing) -> ast.Expr:
    """``$m = $n`` of nodes with two types here, if one of them may have the other's type: their typed ids compare."""
    if node.operator not in (BinaryOperator.EQ, BinaryOperator.NE):
        return node
    names = [side.name for side in (node.left, node.right) if isinstance(side, ast.Variable)]
    types = [typing.known[name] for name in names if name in typing.known]
    if len(types) < 2 or types[0] == types[1] or all(len(typing.possible.get(name, ())) < 2 for name in names):
        return node
    return replace(node, left=typed_id(node.left), right=typed_id(node.right))


def all_compared(node: ast.Expr, typing: Typing) -> ast.Expr:
    """An expression with all of its comparisons of nodes in this form."""
    changed = ast.with_children(node, lambda part: all_compared(part, typing))
    return compared(changed, typing) if isinstance(changed, ast.Binary) else changed


def typed_id(node: ast.Expr) -> ast.Expr:
    """``type($m) + "/" + id($m)``: an id that is unique among all types, and null where the variable is."""
    span = node.span
    slash = ast.Literal(ast.LiteralKind.STRING, "/", span)
    type_, id_ = (ast.Call(name, (node,), span) for name in ("type", "id"))
    return ast.Binary(BinaryOperator.ADD, ast.Binary(BinaryOperator.ADD, type_, slash, span), id_, span)
