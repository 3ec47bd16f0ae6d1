"""Name resolution of match blocks: names to types, clauses to patterns.

Clauses are resolved in evaluation order: bindings and traversals in source order, ``shortest``, ``maybe`` blocks,
filters, and ``not`` blocks. So filters and ``not`` blocks may be anywhere in their block; only direction inference and
``maybe`` depend on the source order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import Enum

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.limits import PATTERNS_MAX
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.blocks.mentions import bindable_names, count_patterns, direct_names, shaping_expressions
from omnigraph.query.matches import check_match, is_fixed
from omnigraph.query.pattern import MarkedBlock, MatchBlock, NodeVariable, Step
from omnigraph.query.scope import (
    UNCODED,
    BoundVariable,
    Context,
    Scope,
    VariableKind,
    as_edge_word,
    described_kind,
    former_scope,
    kind_code,
    report_gone,
)
from omnigraph.query.traversals import ResolvedTraversal, resolve_traversal
from omnigraph.query.typecheck import check_predicate
from omnigraph.query.variables import variables_of
from omnigraph.schema.catalog import NodeType


class BlockKind(Enum):
    """The kinds of match blocks."""

    MATCH = "match"
    NOT = "not"
    MAYBE = "maybe"
    EXISTS = "exists"


def bind_match(context: Context, body: ast.ReadBody | ast.Matched) -> tuple[MatchBlock, Scope] | None:
    """Resolve the match block of a read; None if it exceeds the limit on patterns."""
    scope = Scope(former_scope(context.former))
    shown = shaping_expressions(body) if isinstance(body, ast.ReadBody) else ()
    if count_patterns(body.clauses, shown) > PATTERNS_MAX:
        message = f"a query has at most {PATTERNS_MAX} bindings, traversals and blocks"
        context.error(UNCODED, message, body.clauses[0].span, "split the query")
        return None
    block = _Binder(context, scope, BlockKind.MATCH).bind(body.clauses)
    if not block.nodes and context.former is None and not context.diagnostics.has_errors:
        # A block that did not parse may have no clauses left.
        at = body.clauses[0].span if body.clauses else body.span
        context.error(UNCODED, "`match` binds no variable", at, "start with `$x: Type`")
    return block, scope


def check_exists(context: Context, scope: Scope, node: ast.Exists) -> ir.Computed | None:
    """An ``exists`` block of an expression as the value of a variable, which an operator below computes."""
    rows = scope.of_matches
    marked = rows.marked.get(node)
    if marked is None:
        inside = Scope(rows, broken=_refused_items(context, scope, node))
        block = _bind_inner(rows, node, _Binder(context, inside, BlockKind.EXISTS))
        if block is None:
            return None
        marked = rows.marked[node] = MarkedBlock(context.fresh_name(), block)
    return ir.Computed(marked.name, ir.ComputedPart.FOUND, ir.CERTAIN_BOOL)


def _refused_items(context: Context, scope: Scope, node: ast.Exists) -> set[str]:
    """The items of lists that a block reads, reported: a block is matched for rows, and an item is no row."""
    hidden = set[str]()
    while not scope.has_matches and scope.outer is not None:
        hidden.update(scope.variables)
        scope = scope.outer
    refused = hidden.intersection(name for clause in node.clauses for name in direct_names(clause))
    for name in sorted(refused):
        context.error("T7", f"`${name}` is the item of a list and cannot be read inside `exists`", node.span)
    return refused


def _bind_inner(around: Scope, clause: ast.NotBlock | ast.MaybeBlock | ast.Exists, inner: _Binder) -> MatchBlock | None:
    """An inner block, if it is correlated with the rows around it; otherwise that is reported."""
    block = inner.bind(clause.clauses)
    direct = {name for part in clause.clauses for name in direct_names(part)}
    if any(around.lookup(name) or around.is_broken(name) for name in direct):
        return block
    code = "T26" if inner.kind is BlockKind.MAYBE else "T9"
    message = f"no clause of this `{inner.kind.value}` block mentions a variable from outside of it"
    hint = "use a variable that the clauses around it bind"
    if not around.variables and around.outer is None:
        hint = "bind the entities with a match in front: `match { $p: Person exists { $p knows $_ } } update $p ...`"
    inner.context.error(code, message, clause.span, hint)
    return None


@dataclass(slots=True)
class _Binder:
    """Resolver of one block."""

    context: Context
    scope: Scope
    kind: BlockKind
    nodes: dict[str, NodeVariable] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    filters: list[ir.Expr] = field(default_factory=list)
    optional: list[MatchBlock] = field(default_factory=list)
    negated: list[MatchBlock] = field(default_factory=list)
    mentions: dict[str, None] = field(default_factory=dict)
    computed: list[tuple[NodeType, str, ast.PropertyMatch]] = field(default_factory=list)
    """Inline matches with an expression, which may read variables that later clauses bind."""
    left_to_maybe: set[str] = field(default_factory=set)
    """Names that an earlier ``maybe`` block of the source binds."""

    def bind(self, clauses: tuple[ast.Clause, ...]) -> MatchBlock:
        """Resolve every clause; a clause that fails breaks the variables it would have bound."""
        for clause in clauses:
            match clause:
                case ast.Binding():
                    self._binding(clause)
                    self._break_unbound(clause.variable)
                case ast.Traversal(shortest=False):
                    self._traversal(clause)
                    self._break_unbound(clause.left, clause.right, clause.edge_variable)
                case ast.MaybeBlock():
                    names = set(bindable_names(clause.clauses))
                    self.left_to_maybe.update(name for name in names if self.scope.lookup(name) is None)
        for clause in clauses:
            if isinstance(clause, ast.Traversal) and clause.shortest:
                self._shortest(clause)
                self._break_unbound(clause.edge_variable)
        for clause in clauses:
            if isinstance(clause, ast.MaybeBlock):
                self._maybe(clause)
        for node_type, name, match in self.computed:
            self._match(node_type, name, match)
        for clause in clauses:
            if isinstance(clause, ast.Filter):
                self._filter(clause)
        for clause in clauses:
            if isinstance(clause, ast.NotBlock):
                self._not(clause)
        return MatchBlock(
            tuple(sorted(self.nodes.values(), key=lambda node: not node.declared)),
            tuple(self.steps),
            tuple(self.filters),
            tuple(self.optional),
            tuple(self.negated),
            tuple(self.mentions),
            tuple(self.scope.marked.values()),
        )

    def _break_unbound(self, *variables: ast.Variable | None) -> None:
        for variable in variables:
            if variable is not None and not variable.is_anonymous:
                bound = self.scope.lookup(variable.name)
                if bound is None or bound.kind is VariableKind.GONE:
                    self.scope.broken.add(variable.name)

    def _binding(self, clause: ast.Binding) -> None:
        node_type = self.context.catalog.node(clause.type_name.text)
        if node_type is None:
            self._unknown_node_type(clause)
            return
        name = self.context.fresh_name() if clause.variable.is_anonymous else clause.variable.name
        if not self._can_be_node(clause.variable, node_type.name) or self._is_left_to_maybe(clause.variable):
            return
        if self.scope.is_outer(name):
            self._mention(name)
            bound = self.scope.lookup(name)
            if bound is not None and bound.optional:
                # A null node matches no inline property.
                self.filters.append(ir.IsNull(ir.EntityId(name, ir.OPTIONAL_TEXT), negated=True))
        else:
            self._bind_node(name, node_type.name, declared=True)
        for match in clause.matches:
            if is_fixed(match.value, self.context):
                self._match(node_type, name, match)
            else:
                self.computed.append((node_type, name, match))

    def _match(self, node_type: NodeType, name: str, match: ast.PropertyMatch) -> None:
        predicate = check_match(self.context, self.scope, node_type, name, match)
        if predicate is not None:
            self._add_filter(predicate)

    def _unknown_node_type(self, clause: ast.Binding) -> None:
        name, catalog = clause.type_name.text, self.context.catalog
        hint = self.context.suggest_or_list(name, [*catalog.nodes, *catalog.interfaces])
        if catalog.edge(name) is not None:
            hint = f"`{name}` is an edge type; bind an edge in a traversal: `$a $e: {as_edge_word(name)} $b`"
        self.context.error("T1", f"unknown node type `{name}`", clause.type_name.span, hint)

    def _can_be_node(self, variable: ast.Variable, type_name: str) -> bool:
        name = variable.name
        bound = None if variable.is_anonymous else self.scope.lookup(name)
        if name in self.context.parameters:
            self._error(UNCODED, f"`${name}` is already a parameter", variable, "choose another name")
        elif report_gone(self.context, bound, variable.span):
            return False
        elif bound is not None and bound.kind is not VariableKind.NODE:
            self._error(
                kind_code(bound.kind), f"`${name}` is {described_kind(bound.kind)} and cannot become a node", variable
            )
        elif bound is not None and bound.type_name != type_name:
            message = f"`${name}` is a `{bound.type_name}` and cannot become a `{type_name}`"
            self._error(UNCODED, message, variable, "a variable has one type")
        else:
            return True
        return False

    def _is_left_to_maybe(self, *variables: ast.Variable) -> bool:
        """T26: report a clause that requires a variable bound by an earlier ``maybe`` block."""
        for variable in variables:
            if variable.name in self.left_to_maybe and self.scope.lookup(variable.name) is None:
                hint = "put this clause into a `maybe` block as well, or in front of that block"
                self._error("T26", f"`${variable.name}` may be null: a `maybe` block binds it", variable, hint)
                return True
        return False

    def _filter(self, clause: ast.Filter) -> None:
        predicate = check_predicate(self.context, self.scope, clause.predicate)
        if predicate is not None:
            self._add_filter(predicate)

    def _traversal(self, clause: ast.Traversal) -> None:
        resolved = resolve_traversal(self.context, self.scope, clause)
        if resolved is None or self._is_left_to_maybe(clause.left, clause.right):
            return
        edge_variable: str | None = None
        if clause.edge_variable is not None and not clause.edge_variable.is_anonymous:
            edge_variable = clause.edge_variable.name
        self._add_step(clause, resolved, edge_variable=edge_variable)

    def _shortest(self, clause: ast.Traversal) -> None:
        for variable in (clause.left, clause.right):
            if self.scope.is_broken(variable.name) or self._is_left_to_maybe(variable):
                return
        resolved = resolve_traversal(self.context, self.scope, clause)
        if resolved is None:
            return
        for variable in (clause.left, clause.right):
            if variable.is_anonymous or self.scope.lookup(variable.name) is None:
                message = f"`shortest` connects two nodes that other clauses bind; `${variable.name}` is not bound"
                name = "x" if variable.is_anonymous else variable.name
                self._error("T27", message, variable, f"bind it with another clause: `${name}: Type`")
                return
        if clause.edge_variable is None or clause.edge_variable.is_anonymous:
            self._error("T27", "a path needs a name, as in `$path: shortest knows`", clause.edge_variable or clause)
            return
        self._add_step(clause, resolved, path_variable=clause.edge_variable.name, every_path=clause.every)

    def _add_step(
        self,
        clause: ast.Traversal,
        resolved: ResolvedTraversal,
        *,
        edge_variable: str | None = None,
        path_variable: str | None = None,
        every_path: bool = False,
    ) -> None:
        edge = resolved.edge.name
        left = self._bind_endpoint(clause.left, resolved.left_type)
        right = self._bind_endpoint(clause.right, resolved.right_type)
        if edge_variable is not None:
            self._bind_variable(edge_variable, VariableKind.EDGE, edge)
        if path_variable is not None:
            self._bind_variable(path_variable, VariableKind.PATH, edge)
        types = (resolved.left_type, resolved.right_type)
        names = (edge_variable, path_variable)
        has_pair = resolved.edge.has_types
        way = (resolved.direction, resolved.hops)
        self.steps.append(Step(left, right, edge, *way, *types, *names, has_pair, every_path))

    def _bind_endpoint(self, variable: ast.Variable, type_name: str) -> str:
        if variable.is_anonymous:
            name = self.context.fresh_name()
            self._bind_node(name, type_name, declared=False)
            return name
        if self.scope.lookup(variable.name) is None:
            self._bind_node(variable.name, type_name, declared=False)
        else:
            self._mention(variable.name)
        return variable.name

    def _maybe(self, clause: ast.MaybeBlock) -> None:
        if self.kind in (BlockKind.NOT, BlockKind.EXISTS):
            word = self.kind.value
            hint = f"inside `{word}` a pattern matches or it does not; for absence write another `not` block"
            self._error("T26", f"a `maybe` block cannot stand inside `{word}`", clause, hint)
            self.scope.broken.update(bindable_names(clause.clauses))
            return
        inner = _Binder(self.context, Scope(self.scope), BlockKind.MAYBE)
        block = self._inner(clause, inner)
        if block is None:
            self.scope.broken.update(bindable_names(clause.clauses))
            return
        if not block.introduced:
            message = "this `maybe` block binds no variable, so it changes nothing"
            self._error("T26", message, clause, "remove it, or write its clauses without `maybe`")
            return
        self.optional.append(block)
        self.scope.broken.update(inner.scope.broken)
        for variable in inner.scope.variables.values():
            self.scope.bind(BoundVariable(variable.name, variable.kind, variable.type_name, optional=True))

    def _not(self, clause: ast.NotBlock) -> None:
        block = self._inner(clause, _Binder(self.context, Scope(self.scope), BlockKind.NOT))
        if block is not None:
            self.negated.append(block)

    def _inner(self, clause: ast.NotBlock | ast.MaybeBlock, inner: _Binder) -> MatchBlock | None:
        """The inner block; outer variables it mentions are recorded here as well."""
        block = _bind_inner(self.scope, clause, inner)
        if block is not None:
            self._mention_all(block.mentions)
        return block

    def _bind_node(self, name: str, type_name: str, *, declared: bool) -> None:
        known = self.nodes.get(name)
        if known is None or not known.declared:
            self.nodes.pop(name, None)
            self.nodes[name] = NodeVariable(name, type_name, declared)
        self._bind_variable(name, VariableKind.NODE, type_name)

    def _bind_variable(self, name: str, kind: VariableKind, type_name: str) -> None:
        self.scope.bind(BoundVariable(name, kind, type_name))

    def _add_filter(self, predicate: ir.Expr) -> None:
        self._mention_all(variables_of(predicate))
        self.filters.append(predicate)

    def _mention_all(self, names: Iterable[str]) -> None:
        """Record the variables of an enclosing block that are used, by ``exists`` blocks too."""
        marked = {item.name: item.block for item in self.scope.marked.values()}
        for name in names:
            if name in marked:
                self._mention_all(marked[name].mentions)
            else:
                self._mention(name)

    def _mention(self, name: str) -> None:
        """Record the use of a variable of an enclosing block."""
        if self.scope.is_outer(name):
            self.mentions[name] = None

    def _error(self, code: str, message: str, at: ast.Variable | ast.Clause, hint: str | None = None) -> None:
        self.context.error(code, message, at.span, hint)
