"""Expansion of a pattern: ``$m: Message``, ``$x`` without a type and ``$a <$e> $b`` to concrete types and edges.

Works on the syntax tree, so that every concrete pattern is checked and lowered as if it had been written. A combination
of types that no edge connects is left out. In ``not`` a pattern is absent if all of its concrete patterns are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import assert_never

from omnigraph.core.limits import TYPE_COMBINATIONS_MAX
from omnigraph.core.operators import BinaryOperator
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.syntax import Name
from omnigraph.query.blocks.mentions import exists_in, expressions_of
from omnigraph.query.scope import UNCODED, Context, as_edge_word
from omnigraph.schema.catalog import Catalog, EdgeType

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


@dataclass(frozen=True, slots=True)
class Pattern:
    """A concrete pattern: its clauses, the type that each polymorphic variable has in it, and all types."""

    clauses: tuple[ast.Clause, ...]
    types: Types
    typing: Typing
    former: Types = field(default_factory=dict)
    """The types that the entities of the former stage have in it."""


def interface_properties(catalog: Catalog, name: str) -> frozenset[str] | None:
    """The properties of an interface; None if there is none of that name."""
    for interface in catalog.schema.interfaces:
        if interface.name == name:
            return frozenset(item.name for item in interface.properties)
    return None


def is_polymorphic(context: Context, clauses: tuple[ast.Clause, ...], expressions: Iterable[ast.Expr] = ()) -> bool:
    """True if a clause or an ``exists`` block names an interface or any edge, or binds a variable without a type."""
    if context.former is not None and context.former.varies:
        return True
    return has_polymorphic(context, clauses, expressions)


def has_polymorphic(context: Context, clauses: tuple[ast.Clause, ...], expressions: Iterable[ast.Expr] = ()) -> bool:
    """The same without the types of the former stage's entities."""
    if any(_is_polymorphic(context, clause, clauses) for clause in clauses):
        return True
    every = (*expressions, *(part for clause in clauses for part in expressions_of(clause)))
    return any(has_polymorphic(context, block.clauses) for part in every for block in exists_in(part))


def _is_polymorphic(context: Context, clause: ast.Clause, clauses: tuple[ast.Clause, ...]) -> bool:
    match clause:
        case ast.Binding():
            name = clause.type_name.text
            return name not in context.catalog.nodes and interface_properties(context.catalog, name) is not None
        case ast.Traversal():
            return clause.is_any
        case ast.Filter():
            alone = clause.predicate
            if not isinstance(alone, ast.Variable) or _is_known(context, alone.name):
                return False
            return alone.name not in set(_bound(clauses))
        case ast.NotBlock() | ast.MaybeBlock():
            return has_polymorphic(context, clause.clauses)
        case _:
            assert_never(clause)


def _is_known(context: Context, name: str) -> bool:
    """True for a parameter and for a variable of the former stage: alone they bind nothing."""
    former = context.former
    return name in context.parameters or (former is not None and name in former.names | former.gone)


def _bound(clauses: tuple[ast.Clause, ...]) -> Iterator[str]:
    for clause in clauses:
        if isinstance(clause, ast.Binding):
            yield clause.variable.name
        elif isinstance(clause, ast.Traversal) and not clause.is_any:
            yield from (clause.left.name, clause.right.name)


def expand(context: Context, body: ast.ReadBody) -> list[Pattern] | None:
    """The concrete patterns of a read; None if an error was reported."""
    found = list(islice(_patterns(context, body.clauses), TYPE_COMBINATIONS_MAX + 1))
    if context.diagnostics.has_errors:
        return None
    at = body.clauses[0].span if body.clauses else body.span
    if len(found) > TYPE_COMBINATIONS_MAX:
        message = f"this pattern stands for more than {TYPE_COMBINATIONS_MAX} combinations of types"
        context.error(UNCODED, message, at, "name the types or edges of some variables")
        return None
    if not found:
        message = "no node types fit this pattern: no edge connects the types of its variables"
        context.error("T5", message, at)
        return None
    return found


def _patterns(context: Context, clauses: tuple[ast.Clause, ...]) -> Iterator[Pattern]:
    """The concrete patterns for every choice of types of the former stage's entities."""
    if context.former is None:
        yield from _Expansion(context, Typing()).patterns(clauses)
        return
    nodes = {item.name: item.entity.types for item in context.former.entities if not item.entity.is_edge}
    for types in context.former.choices():
        typing = Typing({name: types[name] for name in nodes}, nodes)
        for pattern in _Expansion(context, typing).patterns(clauses):
            yield replace(pattern, former=types)


@dataclass(slots=True)
class _Expansion:
    """The concrete patterns of one block inside of others, whose variables have the types ``around``."""

    context: Context
    around: Typing
    _possible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The types that variables may have before any is chosen."""

    @property
    def outer(self) -> Types:
        return self.around.known

    def patterns(self, clauses: tuple[ast.Clause, ...]) -> Iterator[Pattern]:
        if any(self._contradicts(clause) for clause in clauses):
            return
        domains = self._domains(clauses)
        self._widen(clauses, domains)
        steps = [clause for clause in clauses if isinstance(clause, ast.Traversal)]
        open_steps = [step for step in steps if step.is_any]
        for edges, types in self._edges(open_steps, domains, {}, {}):
            for complete in self._types(list(domains), domains, steps, types):
                chosen = {name: complete[name] for name in domains if name in complete}
                typing = Typing(self._inferred(clauses, complete), self._possible)
                yield Pattern(tuple(self._clauses(clauses, edges, complete, typing)), chosen, typing)

    def _contradicts(self, clause: ast.Clause) -> bool:
        """True for a binding of an outer variable to a type that it does not have here: nothing matches it."""
        if not isinstance(clause, ast.Binding) or clause.type_name.text not in self.context.catalog.nodes:
            return False
        return self.outer.get(clause.variable.name, clause.type_name.text) != clause.type_name.text

    def _widen(self, clauses: tuple[ast.Clause, ...], domains: Mapping[str, tuple[str, ...]]) -> None:
        """Learn the types that variables may have, for the direction of edges."""
        self._possible = {name: self.around.possible.get(name, (type_,)) for name, type_ in self.outer.items()}
        for clause in clauses:
            if isinstance(clause, ast.Binding) and clause.type_name.text in self.context.catalog.nodes:
                self._possible[clause.variable.name] = (clause.type_name.text,)
        self._possible.update({name: types for name, types in domains.items() if name not in self.outer})

    def _inferred(self, clauses: tuple[ast.Clause, ...], types: Types) -> dict[str, str]:
        """The types of all variables of the block, as its bindings and edges tell them."""
        known = {**self.outer, **types}
        for clause in clauses:
            match clause:
                case ast.Binding(variable, type_name) if type_name.text in self.context.catalog.nodes:
                    known.setdefault(variable.name, type_name.text)
                case ast.Traversal(left, edge, right) if not clause.is_any and not clause.shortest:
                    found = self.context.catalog.edge(edge.text)
                    if found is not None:
                        source, target = (left, right) if self._is_forward(clause, found) else (right, left)
                        known.setdefault(source.name, found.source)
                        known.setdefault(target.name, found.target)
                case _:
                    continue
        known.pop("_", None)
        return known

    def _domains(self, clauses: tuple[ast.Clause, ...]) -> dict[str, tuple[str, ...]]:
        """The node types that each variable of a polymorphic clause may have: those that fit all of its clauses."""
        catalog, found = self.context.catalog, dict[str, tuple[str, ...]]()
        every = tuple(catalog.nodes)

        def narrow(name: str, types: tuple[str, ...]) -> None:
            found[name] = tuple(item for item in found.get(name, types) if item in types)

        typed = {
            clause.variable.name: clause.type_name.text
            for clause in clauses
            if isinstance(clause, ast.Binding) and clause.type_name.text in catalog.nodes
        }
        for clause in clauses:
            match clause:
                case ast.Binding(variable, type_name):
                    properties = interface_properties(catalog, type_name.text)
                    if type_name.text in catalog.nodes or properties is None:
                        continue
                    self._check_matches(clause, properties)
                    narrow(variable.name, implementers(catalog, type_name.text))
                case ast.Filter(ast.Variable(name)) if not _is_known(self.context, name):
                    if name not in self.outer and name not in set(_bound(clauses)):
                        narrow(name, every)
                case ast.Traversal() if clause.is_any:
                    for end in (clause.left, clause.right):
                        if not end.is_anonymous:
                            narrow(end.name, every)
                case _:
                    continue
        for name in found:
            known = typed.get(name, self.outer.get(name))
            if known is not None:
                narrow(name, (known,))
        return found

    def _check_matches(self, clause: ast.Binding, properties: frozenset[str]) -> None:
        for match in clause.matches:
            if match.property.text not in properties:
                message = f"interface `{clause.type_name.text}` has no property `{match.property.text}`"
                hint = self.context.suggest(match.property.text, properties)
                self.context.error("T2", message, match.property.span, hint)

    def _edges(
        self,
        steps: list[ast.Traversal],
        domains: Mapping[str, tuple[str, ...]],
        types: Types,
        chosen: dict[int, EdgeType],
    ) -> Iterator[tuple[dict[int, EdgeType], dict[str, str]]]:
        """Every choice of an edge type for the steps over any edge, with the types of their ends."""
        if not steps:
            yield chosen, dict(types)
            return
        step, *others = steps
        for edge in self.context.catalog.edges.values():
            ends = {(edge.source, edge.target), (edge.target, edge.source)}
            if step.left.is_anonymous and step.right.is_anonymous:
                ends = {(edge.source, edge.target)}
            for left, right in sorted(ends):
                known = dict(types)
                pairs = ((step.left, left), (step.right, right))
                if all(end.is_anonymous or self._fits(end.name, type_, domains, known) for end, type_ in pairs):
                    yield from self._edges(others, domains, known, {**chosen, id(step): edge})

    @staticmethod
    def _fits(name: str, type_: str, domains: Mapping[str, tuple[str, ...]], known: dict[str, str]) -> bool:
        """Give a variable a type, if it may have it."""
        if type_ not in domains[name]:
            return False
        return known.setdefault(name, type_) == type_

    def _types(
        self,
        names: list[str],
        domains: Mapping[str, tuple[str, ...]],
        steps: list[ast.Traversal],
        types: dict[str, str],
    ) -> Iterator[dict[str, str]]:
        """Every choice of types for the other variables that the edges of the block connect."""
        waiting = [name for name in names if name not in types]
        if not waiting:
            if all(self._connects(step, {**self.outer, **types}) for step in steps):
                yield types
            return
        for type_ in domains[waiting[0]]:
            chosen = {**types, waiting[0]: type_}
            if all(self._connects(step, {**self.outer, **chosen}) for step in steps):
                yield from self._types(waiting[1:], domains, steps, chosen)

    def _is_interface(self, name: str) -> bool:
        """True for an interface. A name that no type has is left to be reported, like a type that does not fit."""
        return interface_properties(self.context.catalog, name) is not None

    def _connects(self, step: ast.Traversal, types: Types) -> bool:
        """False if an edge cannot have ends of these types; an end without a known type fits."""
        edge = None if step.is_any else self.context.catalog.edge(step.edge.text)
        if edge is None:
            return True
        left, right = types.get(step.left.name), types.get(step.right.name)
        ends = (edge.source, edge.target) if self._is_forward(step, edge) else (edge.target, edge.source)
        return left in (None, ends[0]) and right in (None, ends[1])

    def _is_forward(self, step: ast.Traversal, edge: EdgeType) -> bool:
        """True if an edge is followed as written. It is unless the types of the ends admit only the other direction."""
        left, right = (self._possible.get(end.name) for end in (step.left, step.right))
        return (left is None or edge.source in left) and (right is None or edge.target in right)

    def _clauses(
        self, clauses: tuple[ast.Clause, ...], edges: Mapping[int, EdgeType], types: Types, typing: Typing
    ) -> Iterator[ast.Clause]:
        for clause in clauses:
            match clause:
                case ast.Binding():
                    name = clause.type_name.text
                    if self._is_interface(name):
                        name = types.get(clause.variable.name, name)
                    matches = tuple(
                        replace(match, value=concrete(self.context, match.value, typing)) for match in clause.matches
                    )
                    yield replace(clause, type_name=Name(name, clause.type_name.span), matches=matches)
                case ast.Filter(ast.Variable(name) as variable) if name in types:
                    yield _binding(variable, types[name])
                case ast.Filter(predicate):
                    yield replace(clause, predicate=concrete(self.context, predicate, typing))
                case ast.Traversal() if clause.is_any:
                    # The types of the ends decide the direction.
                    yield from (
                        _binding(end, types[end.name]) for end in (clause.left, clause.right) if end.name in types
                    )
                    edge = edges[id(clause)]
                    word = Name(as_edge_word(edge.name), clause.edge.span)
                    yield replace(clause, edge=word, undirected=edge.is_homogeneous)
                case ast.NotBlock():
                    for inner in _Expansion(self.context, typing).patterns(clause.clauses):
                        yield replace(clause, clauses=inner.clauses)
                case _:
                    yield clause


def concrete(context: Context, node: ast.Expr, typing: Typing) -> ast.Expr:
    """An expression in a pattern with known types: an ``exists`` block is true if one of its concrete patterns is."""
    if not isinstance(node, ast.Exists):
        return ast.with_children(node, lambda part: concrete(context, part, typing))
    blocks = [replace(node, clauses=inner.clauses) for inner in _Expansion(context, typing).patterns(node.clauses)]
    if not blocks:
        return ast.Literal(ast.LiteralKind.BOOL, False, node.span)
    found: ast.Expr = blocks[0]
    for block in blocks[1:]:
        found = ast.Binary(BinaryOperator.OR, found, block, node.span)
    return found


def implementers(catalog: Catalog, interface: str) -> tuple[str, ...]:
    """The node types that implement an interface."""
    return tuple(name for name, node in catalog.nodes.items() if interface in node.ir.implements)


def _binding(variable: ast.Variable, type_name: str) -> ast.Binding:
    return ast.Binding(variable, Name(type_name, variable.span), (), variable.span)
