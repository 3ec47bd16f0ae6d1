"""Expansion of a pattern to concrete types and edges.

``$m: Message``, ``$x`` without a type, ``$a <$e> $b``, and edges over several types stand for several types each. Works
on the syntax tree, so that every concrete pattern is checked and lowered as if it had been written. A combination of
types that no edge connects is left out. In ``not`` a pattern is absent if all of its concrete patterns are; for
``maybe`` see ``optional``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import islice

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.limits import TYPE_COMBINATIONS_MAX
from omnigraph.core.operators import BinaryOperator
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.source import Span
from omnigraph.lang.syntax import Name
from omnigraph.query.polymorphic.domains import (
    Domains,
    Types,
    Typing,
    all_compared,
    compared,
    contradiction,
)
from omnigraph.query.polymorphic.optional import Optional, absent, introduced, never
from omnigraph.query.polymorphic.renaming import mentions
from omnigraph.query.polymorphic.several import bound_names, followed_edge, has_polymorphic, interface_properties
from omnigraph.query.scope import UNCODED, Context, as_edge_word
from omnigraph.schema.catalog import EdgeType


@dataclass(frozen=True, slots=True)
class Pattern:
    """A concrete pattern: its clauses, the type that each polymorphic variable has in it, and all types."""

    clauses: tuple[ast.Clause, ...]
    types: Types
    typing: Typing
    former: Types = field(default_factory=dict)
    """The types that the entities of the former stage have in it."""

    @property
    def known(self) -> Types:
        """The types of all variables, as far as bindings and edges tell them."""
        return self.typing.known


def expand(context: Context, clauses: tuple[ast.Clause, ...], span: Span) -> list[Pattern] | None:
    """The concrete patterns of a read; None if an error was reported. ``span`` is the place of one without clauses."""
    found = list(islice(_patterns(context, clauses), TYPE_COMBINATIONS_MAX + 1))
    if context.diagnostics.has_errors:
        return None
    at = clauses[0].span if clauses else span
    if len(found) > TYPE_COMBINATIONS_MAX:
        message = f"this pattern stands for more than {TYPE_COMBINATIONS_MAX} combinations of types"
        context.error(UNCODED, message, at, "name the types or edges of some variables")
        return None
    if not found:
        unconnected = "no node types fit this pattern: no edge connects the types of its variables"
        context.error("T5", contradiction(context, clauses) or unconnected, at)
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
    _domains: Domains = field(init=False)

    def __post_init__(self) -> None:
        self._domains = Domains(self.context, self.around.known, self.around.possible)

    @property
    def outer(self) -> Types:
        return self.around.known

    def patterns(self, clauses: tuple[ast.Clause, ...]) -> Iterator[Pattern]:
        if any(self._contradicts(clause) for clause in clauses):
            return
        clauses = tuple(self._named(clause) for clause in clauses)
        self._check_matches(clauses)
        self._domains.read(clauses)
        steps = [clause for clause in clauses if isinstance(clause, ast.Traversal)]
        open_steps = [step for step in steps if step.is_any]
        for edges, types in self._edges(open_steps, {}, {}):
            for complete in self._types(list(self._domains.open), steps, types):
                chosen = {name: complete[name] for name in self._domains.open if name in complete}
                typing = Typing(self._domains.inferred(complete), self._domains.possible)
                choices = self._choices(clauses, typing)
                required = [clause for clause in clauses if clause not in choices]
                written = tuple(self._clauses(required, edges, complete, typing))
                yield from self._optional(_Optional(Pattern(written, chosen, typing)), choices)

    def _contradicts(self, clause: ast.Clause) -> bool:
        """True for a binding of an outer variable to a type that it does not have here: nothing matches it."""
        if not isinstance(clause, ast.Binding) or clause.type_name.text not in self.context.catalog.nodes:
            return False
        return self.outer.get(clause.variable.name, clause.type_name.text) != clause.type_name.text

    def _named(self, clause: ast.Clause) -> ast.Clause:
        """A clause over an edge of several types with names for its anonymous ends, which have types as well."""
        edge = followed_edge(self.context, clause) if isinstance(clause, ast.Traversal) else None
        if not isinstance(clause, ast.Traversal) or edge is None or edge.is_single:
            return clause
        left, right = (
            ast.Variable(self.context.fresh_name(), end.span) if end.is_anonymous else end
            for end in (clause.left, clause.right)
        )
        return replace(clause, left=left, right=right)

    def _check_matches(self, clauses: tuple[ast.Clause, ...]) -> None:
        for clause in clauses:
            if not isinstance(clause, ast.Binding) or clause.type_name.text in self.context.catalog.nodes:
                continue
            properties = interface_properties(self.context.catalog, clause.type_name.text)
            for match in clause.matches if properties is not None else ():
                if match.property.text not in (properties or ()):
                    message = f"interface `{clause.type_name.text}` has no property `{match.property.text}`"
                    hint = self.context.suggest_or_list(match.property.text, sorted(properties or ()))
                    self.context.error("T2", message, match.property.span, hint)

    def _edges(
        self, steps: list[ast.Traversal], types: Types, chosen: dict[int, EdgeType]
    ) -> Iterator[tuple[dict[int, EdgeType], dict[str, str]]]:
        """Every choice of an edge type for the steps over any edge, with the types of their ends."""
        if not steps:
            yield chosen, dict(types)
            return
        step, *others = steps
        for edge in self.context.catalog.edges.values():
            ends = {*edge.pairs, *((target, source) for source, target in edge.pairs)}
            if step.left.is_anonymous and step.right.is_anonymous:
                ends = set(edge.pairs[:1])
            for left, right in sorted(ends):
                known = dict(types)
                pairs = ((step.left, left), (step.right, right))
                if all(end.is_anonymous or self._fits(end.name, type_, known) for end, type_ in pairs):
                    yield from self._edges(others, known, {**chosen, id(step): edge})

    def _fits(self, name: str, type_: str, known: dict[str, str]) -> bool:
        """Give a variable a type, if it may have it."""
        if type_ not in self._domains.open[name]:
            return False
        return known.setdefault(name, type_) == type_

    def _types(self, names: list[str], steps: list[ast.Traversal], types: dict[str, str]) -> Iterator[dict[str, str]]:
        """Every choice of types for the other variables that the edges of the block connect."""
        waiting = [name for name in names if name not in types]
        if not waiting:
            if all(self._domains.connects(step, {**self.outer, **types}) for step in steps):
                yield types
            return
        for type_ in self._domains.open[waiting[0]]:
            chosen = {**types, waiting[0]: type_}
            if all(self._domains.connects(step, {**self.outer, **chosen}) for step in steps):
                yield from self._types(waiting[1:], steps, chosen)

    def _is_interface(self, name: str) -> bool:
        """True for an interface. A name that no type has is left to be reported, like a type that does not fit."""
        return interface_properties(self.context.catalog, name) is not None

    def _clauses(
        self, clauses: list[ast.Clause], edges: Mapping[int, EdgeType], types: Types, typing: Typing
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
                    yield typed_binding(variable, types[name])
                case ast.Filter(predicate):
                    yield replace(clause, predicate=concrete(self.context, predicate, typing))
                case ast.Traversal():
                    # The types of the ends decide the direction.
                    ends = [end for end in (clause.left, clause.right) if end.name in types]
                    edge = edges.get(id(clause)) or followed_edge(self.context, clause)
                    if edge is not None and (clause.is_any or not edge.is_single):
                        yield from (typed_binding(end, types[end.name]) for end in ends if end.name not in self.outer)
                    yield clause if edge is None or not clause.is_any else _concrete(clause, edge, types)
                case ast.NotBlock():
                    for inner in _Expansion(self.context, typing).patterns(clause.clauses):
                        yield replace(clause, clauses=inner.clauses)
                case _:
                    yield clause

    def _choices(self, clauses: tuple[ast.Clause, ...], typing: Typing) -> list[ast.MaybeBlock]:
        """The ``maybe`` blocks with several patterns or, for these types, none; and those that read their variables."""
        found: list[ast.MaybeBlock] = []
        names: frozenset[str] = frozenset()
        for block in clauses:
            if isinstance(block, ast.MaybeBlock) and (
                has_polymorphic(self.context, block.clauses)
                or self._is_without_match(block, typing)
                or mentions(block.clauses, names)
            ):
                found.append(block)
                names |= introduced(block.clauses, typing.known)
        return found

    def _is_without_match(self, block: ast.MaybeBlock, typing: Typing) -> bool:
        """True for a block that other types of the variables around it match, but not these."""
        inside = _Expansion(self.context, typing)
        inside._domains.read(block.clauses)
        for clause in block.clauses:
            if isinstance(clause, ast.Traversal) and not inside._domains.connects(clause, typing.known):
                return True
            if isinstance(clause, ast.Binding) and inside._contradicts(clause):
                return clause.type_name.text in self._domains.possible.get(clause.variable.name, ())
        return False

    def _optional(self, state: _Optional, blocks: list[ast.MaybeBlock]) -> Iterator[Pattern]:
        """The pattern with one of the alternatives of each polymorphic ``maybe`` block."""
        if not blocks:
            yield self._with_optional_types(state.pattern)
            return
        block, *others = blocks
        pattern = state.pattern
        inside = _Expansion(self.context, pattern.typing)
        found = list(inside.patterns(block.clauses))
        possible = {**pattern.typing.possible, **inside._domains.possible}
        # A block that reads a variable of an absent one has no match either.
        for inner in found if state.nulls.isdisjoint(bound_names(block.clauses)) else ():
            types, known = {**pattern.types, **inner.types}, {**pattern.known, **inner.known}
            chosen = Pattern((*pattern.clauses, *inner.clauses), types, Typing(known, possible))
            yield from self._optional(_Optional(chosen, state.nulls), others)
        nothing = self._absent(block, pattern, found, possible)
        if nothing is not None:
            nulls = state.nulls | introduced(block.clauses, pattern.known)
            yield from self._optional(_Optional(nothing, nulls), others)

    def _with_optional_types(self, pattern: Pattern) -> Pattern:
        """The pattern, whose filters know the types of the variables of ``maybe`` blocks."""
        typing = self._typed(pattern.clauses, pattern.typing)
        clauses = tuple(
            replace(clause, predicate=all_compared(clause.predicate, typing))
            if isinstance(clause, ast.Filter)
            else clause
            for clause in pattern.clauses
        )
        return replace(pattern, clauses=clauses, typing=typing)

    def _typed(self, clauses: tuple[ast.Clause, ...], typing: Typing) -> Typing:
        """The types of all variables, those of ``maybe`` blocks with one type for each variable included."""
        for block in clauses:
            if isinstance(block, ast.MaybeBlock):
                inside = _Expansion(self.context, typing)._domains
                inside.read(block.clauses)
                known = {**inside.inferred({}), **typing.known}
                typing = self._typed(block.clauses, Typing(known, {**inside.possible, **typing.possible}))
        return typing

    def _absent(
        self, block: ast.MaybeBlock, pattern: Pattern, found: list[Pattern], possible: Mapping[str, tuple[str, ...]]
    ) -> Pattern | None:
        """The pattern without a match of a block, whose variables are null."""
        if found:
            types, known = {**pattern.types, **found[0].types}, {**pattern.known, **found[0].known}
            missing = absent(self.context, Optional(block, [item.clauses for item in found]), pattern.known)
            return Pattern((*pattern.clauses, *missing), types, Typing(known, possible))
        sample = next(_Expansion(self.context, Typing()).patterns(_apart(block.clauses)), None)
        if sample is None:
            message = "no node types fit this `maybe` block: no edge connects the types of its variables"
            self.context.error("T5", message, block.span)
            return None
        clauses = never(self.context, block, pattern.known, sample.known)
        types = {name: type_ for name, type_ in sample.types.items() if name not in pattern.known}
        known = {**sample.known, **pattern.known}
        typing = Typing(known, possible)
        whole = Pattern((*pattern.clauses, *(clauses or ())), {**types, **pattern.types}, typing)
        return None if clauses is None else whole


def concrete(context: Context, node: ast.Expr, typing: Typing) -> ast.Expr:
    """An expression in a pattern with known types: an ``exists`` block is true if one of its concrete patterns is."""
    if not isinstance(node, ast.Exists):
        changed = ast.with_children(node, lambda part: concrete(context, part, typing))
        return compared(changed, typing) if isinstance(changed, ast.Binary) else changed
    blocks = [replace(node, clauses=inner.clauses) for inner in _Expansion(context, typing).patterns(node.clauses)]
    if not blocks:
        return ast.Literal(ast.LiteralKind.BOOL, False, node.span)
    found: ast.Expr = blocks[0]
    for block in blocks[1:]:
        found = ast.Binary(BinaryOperator.OR, found, block, node.span)
    return found


@dataclass(frozen=True, slots=True)
class _Optional:
    """A pattern while its ``maybe`` blocks are added."""

    pattern: Pattern
    nulls: frozenset[str] = frozenset()
    """Variables of blocks without a match."""


def _apart(clauses: tuple[ast.Clause, ...]) -> tuple[ast.Clause, ...]:
    """The bindings and edges of a block by themselves, to find types for its variables whatever those around it are."""
    found: list[ast.Clause] = []
    for clause in clauses:
        if isinstance(clause, ast.Binding | ast.Traversal):
            found.append(clause)
        elif isinstance(clause, ast.MaybeBlock):
            found.extend(_apart(clause.clauses))
    return tuple(found)


def _concrete(clause: ast.Traversal, edge: EdgeType, types: Types) -> ast.Traversal:
    """A step over any edge as a step over one edge type: in both directions if it has both."""
    left, right = (types.get(end.name) for end in (clause.left, clause.right))
    both = [(left, right), (right, left)]
    is_both = all(any(a in (None, source) and b in (None, target) for source, target in edge.pairs) for a, b in both)
    return replace(clause, edge=Name(as_edge_word(edge.name), clause.edge.span), undirected=is_both and edge.chains)


def typed_binding(variable: ast.Variable, type_name: str) -> ast.Binding:
    """A binding of a variable to a concrete type."""
    return ast.Binding(variable, Name(type_name, variable.span), (), variable.span)
