"""Match blocks: names to types, traversals to directions, in source order.

Direction inference looks only at clauses that stand earlier; filters may stand anywhere in their block. Inner blocks
see what is bound before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from omnigraph.core.limits import HOPS_MAX
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import did_you_mean
from omnigraph.lang.syntax import Name
from omnigraph.query import expressions as ir
from omnigraph.query.ir import ONE_HOP, Direction, HopRange
from omnigraph.query.pattern import Block, NodeVariable, Step
from omnigraph.query.scope import UNCODED, BoundVariable, Context, Scope, VariableKind
from omnigraph.query.typecheck import check_condition
from omnigraph.query.values import check_literal
from omnigraph.query.variables import variables_of
from omnigraph.schema.catalog import EdgeType
from omnigraph.schema.ir import PropertyIR


class BlockKind(Enum):
    """The three blocks of clauses."""

    MATCH = "match"
    NOT = "not"
    MAYBE = "maybe"


def bind_match(context: Context, body: ast.ReadBody) -> tuple[Block, Scope]:
    """Resolve the match block of a read."""
    scope = Scope()
    block = _Binder(context, scope, BlockKind.MATCH).bind(body.clauses)
    if not block.nodes and not context.diagnostics.has_errors:
        context.error(UNCODED, "`match` binds no variable", body.clauses[0].span, "start with `$x: Type`")
    return block, scope


@dataclass(slots=True)
class _Binder:
    """Works through one block."""

    context: Context
    scope: Scope
    kind: BlockKind
    nodes: dict[str, NodeVariable] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    filters: list[ir.Expr] = field(default_factory=list)
    optional: list[Block] = field(default_factory=list)
    negated: list[Block] = field(default_factory=list)
    mentions: dict[str, None] = field(default_factory=dict)

    def bind(self, clauses: tuple[ast.Clause, ...]) -> Block:
        """Resolve every clause; a clause that fails breaks the variables it would have bound."""
        shortest = [clause for clause in clauses if isinstance(clause, ast.Traversal) and clause.shortest]
        for clause in clauses:
            match clause:
                case ast.Binding():
                    self._binding(clause)
                    self._break_unbound(clause.variable)
                case ast.Traversal() if not clause.shortest:
                    self._traversal(clause)
                    self._break_unbound(clause.left, clause.right, clause.edge_variable)
                case ast.NotBlock():
                    self._inner(clause.clauses, BlockKind.NOT, clause)
                case ast.MaybeBlock():
                    self._inner(clause.clauses, BlockKind.MAYBE, clause)
        for clause in shortest:
            self._shortest(clause)
            self._break_unbound(clause.edge_variable)
        for clause in clauses:
            if isinstance(clause, ast.Filter):
                self._filter(clause)
        return Block(
            tuple(sorted(self.nodes.values(), key=lambda node: not node.declared)),
            tuple(self.steps),
            tuple(self.filters),
            tuple(self.optional),
            tuple(self.negated),
            tuple(self.mentions),
        )

    def _break_unbound(self, *variables: ast.Variable | None) -> None:
        self.scope.broken.update(
            variable.name for variable in variables if variable is not None and not self.scope.lookup(variable.name)
        )

    # --- bindings and filters --------------------------------------------------------------------------

    def _binding(self, clause: ast.Binding) -> None:
        name = clause.variable.name
        node_type = self.context.catalog.node(clause.type_name.text)
        if node_type is None:
            self._unknown_node_type(clause)
            return
        if clause.variable.is_anonymous:
            name = self.context.fresh_name()
        elif name in self.context.parameters:
            self._error(UNCODED, f"`${name}` is already a parameter", clause.variable)
            return
        bound = self.scope.lookup(name)
        if bound is not None and bound.kind is not VariableKind.NODE:
            code = "T23" if bound.kind is VariableKind.EDGE else "T27"
            self._error(code, f"`${name}` is bound to {_article(bound.kind)} and cannot become a node", clause.variable)
            return
        if bound is not None and bound.type_name != node_type.name:
            message = f"`${name}` is a `{bound.type_name}` and cannot become a `{node_type.name}`"
            self._error(UNCODED, message, clause.variable)
            return
        if bound is not None and bound.optional and not self.scope.is_outer(name):
            self._may_be_null(clause.variable)
            return
        if bound is not None and self.scope.is_outer(name):
            self.mentions[name] = None
        else:
            self._bind_node(name, node_type.name, declared=True)
        for match in clause.matches:
            self._property_match(name, node_type.name, match)

    def _unknown_node_type(self, clause: ast.Binding) -> None:
        name, catalog = clause.type_name.text, self.context.catalog
        if any(interface.name == name for interface in catalog.schema.interfaces):
            hint: str | None = "an interface has no nodes of its own; bind a type that implements it"
        elif catalog.edge(name) is not None:
            hint = f"`{name}` is an edge type; bind an edge in a traversal: `$a $e: {name[:1].lower() + name[1:]} $b`"
        else:
            hint = did_you_mean(name, catalog.nodes)
        self._error("T1", f"unknown node type `{name}`", clause.type_name, hint)

    def _property_match(self, variable: str, type_name: str, match: ast.PropertyMatch) -> None:
        properties = self.context.catalog.nodes[type_name].properties
        declared = properties.get(match.property.text)
        if declared is None:
            hint = did_you_mean(match.property.text, properties)
            self._error("T2", f"node type `{type_name}` has no property `{match.property.text}`", match.property, hint)
            return
        value = self._match_value(match, declared)
        if value is None:
            return
        target = ir.Property(variable, declared.name, declared.type)
        if declared.type.is_list:
            self.filters.append(ir.Member(value, target))
        else:
            self.filters.append(ir.Compare(ast.BinaryOperator.EQ, target, value))

    def _match_value(self, match: ast.PropertyMatch, declared: PropertyIR) -> ir.Expr | None:
        wanted = declared.type.item if declared.type.is_list else declared.type
        label = f"`{declared.name}` is {declared.type}"
        if declared.type.is_blob or declared.type.is_vector:
            self._error("T3", f"{label} and cannot be matched", match.property)
            return None
        given: ir.Expr | None
        match match.value:
            case ast.Variable(name=name):
                type_ = self.context.parameters.get(name)
                if type_ is None:
                    self._error(UNCODED, f"`${name}` is not a declared parameter", match.value)
                    return None
                given, code = ir.Parameter(name, type_), "T7"
            case ast.Call():
                given, code = ir.Now(), "T7"
            case ast.Literal():
                given, code = check_literal(self.context, match.value), "T3"
            case _:
                hint = (
                    'match one item: `{ tags: "x" }` asks whether the list holds it' if declared.type.is_list else None
                )
                self._error("T3", f"{label}; a list cannot be matched", match.value, hint)
                return None
        if given is None:
            return None
        if not given.type.is_compatible_with(wanted):
            self._error(code, f"{label}; it cannot be matched with {given.type}", match.value)
            return None
        if isinstance(given, ir.Constant) and wanted.enum_values and given.value not in wanted.enum_values:
            expected = ", ".join(wanted.enum_values)
            self._error(
                "T3", f"`{given.value}` is not a value of `{declared.name}`; expected one of {expected}", match.value
            )
            return None
        return given

    def _filter(self, clause: ast.Filter) -> None:
        condition = check_condition(self.context, self.scope, clause.condition)
        if condition is None:
            return
        for name in variables_of(condition):
            if self.scope.is_outer(name):
                self.mentions[name] = None
        self.filters.append(condition)

    # --- traversals ------------------------------------------------------------------------------------

    def _traversal(self, clause: ast.Traversal) -> None:
        edge = self._edge_type(clause)
        if edge is None or not self._check_endpoints(clause) or not self._check_edge_variable(clause):
            return
        hops = self._hops(clause, edge)
        if hops is None:
            return
        direction = self._direction(clause, edge)
        if direction is None:
            return
        types = (edge.source, edge.target) if direction is not Direction.IN else (edge.target, edge.source)
        left = self._bind_endpoint(clause.left, types[0])
        right = self._bind_endpoint(clause.right, types[1])
        edge_variable: str | None = None
        if clause.edge_variable is not None and not clause.edge_variable.is_anonymous:
            edge_variable = clause.edge_variable.name
            self._bind_variable(edge_variable, VariableKind.EDGE, edge.name)
        self.steps.append(Step(left, right, edge.name, direction, hops, *types, edge_variable))

    def _edge_type(self, clause: ast.Traversal) -> EdgeType | None:
        edge = self.context.catalog.edge(clause.edge.text)
        if edge is None:
            names = [name[:1].lower() + name[1:] for name in self.context.catalog.edges]
            hint = did_you_mean(clause.edge.text, names)
            if clause.edge.text in ("in", "contains", "starts_with", "or", "and"):
                hint = f"between two variables a word is an edge; for the operator write `($a {clause.edge.text} $b)`"
            self._error("T4", f"unknown edge `{clause.edge.text}`", clause.edge, hint)
            return None
        if clause.undirected and not edge.is_homogeneous:
            message = (
                f"`{edge.name}` leads from {edge.source} to {edge.target}; only an edge within one type is undirected"
            )
            self._error("T22", message, clause.edge)
            return None
        return edge

    def _check_endpoints(self, clause: ast.Traversal) -> bool:
        for variable in (clause.left, clause.right):
            bound = self.scope.lookup(variable.name)
            if variable.name in self.context.parameters and bound is None:
                self._error(UNCODED, f"`${variable.name}` is a parameter and cannot be traversed", variable)
                return False
            if bound is None or variable.is_anonymous:
                continue
            if bound.kind is not VariableKind.NODE:
                code = "T23" if bound.kind is VariableKind.EDGE else "T27"
                self._error(code, f"`${bound.name}` is {_article(bound.kind)} and cannot be an endpoint", variable)
                return False
            if bound.optional and self.kind is BlockKind.MATCH:
                self._may_be_null(variable)
                return False
        return True

    def _may_be_null(self, variable: ast.Variable) -> None:
        hint = "put this clause into a `maybe` block as well"
        self._error("T26", f"`${variable.name}` may be null: a `maybe` block binds it", variable, hint)

    def _check_edge_variable(self, clause: ast.Traversal) -> bool:
        variable = clause.edge_variable
        if variable is None:
            return True
        if clause.hops is not None and not clause.shortest:
            hint = f"bind the path instead: `${variable.name}: shortest {clause.edge.text}{{...}}`"
            self._error("T23", "an edge variable cannot be bound over several hops", variable, hint)
            return False
        if variable.is_anonymous:
            return True
        names = (clause.left.name, clause.right.name)
        if variable.name in names or self.scope.lookup(variable.name) or variable.name in self.context.parameters:
            code = "T27" if clause.shortest else "T23"
            self._error(code, f"`${variable.name}` is already bound", variable)
            return False
        return True

    def _hops(self, clause: ast.Traversal, edge: EdgeType) -> HopRange | None:
        if clause.hops is None:
            hops = HopRange(1, HOPS_MAX) if clause.shortest else ONE_HOP
        else:
            low, high = clause.hops.low, clause.hops.high
            if high is None:
                hint = f"name an upper bound: `{{{low},{max(low, 5)}}}`"
                self._error("T15", "hops must have an upper bound", clause.hops, hint)
                return None
            if low == 0 or high < low:
                self._error("T15", f"hops {{{low},{high}}} must be at least 1 and not decrease", clause.hops)
                return None
            hops = HopRange(low, high)
        # An edge between two types cannot be followed twice in a row.
        return hops if edge.is_homogeneous else HopRange(hops.low, 1)

    def _direction(self, clause: ast.Traversal, edge: EdgeType) -> Direction | None:
        left, right = self._node_type_of(clause.left), self._node_type_of(clause.right)
        if left is not None:
            direction = Direction.OUT if left == edge.source else Direction.IN if left == edge.target else None
            wrong, found = clause.left, left
        elif right is not None:
            direction = Direction.OUT if right == edge.target else Direction.IN if right == edge.source else None
            wrong, found = clause.right, right
        else:
            direction, wrong, found = Direction.OUT, clause.left, ""
        if direction is not None and left is not None and right is not None:
            expected = edge.target if direction is Direction.OUT else edge.source
            if right != expected:
                direction, wrong, found = None, clause.right, right
        if direction is None:
            message = f"`${wrong.name}` is a `{found}`, but `{edge.name}` leads from `{edge.source}` to `{edge.target}`"
            self._error("T5", message, wrong)
            return None
        return Direction.BOTH if clause.undirected else direction

    def _node_type_of(self, variable: ast.Variable) -> str | None:
        bound = None if variable.is_anonymous else self.scope.lookup(variable.name)
        return bound.type_name if bound else None

    def _bind_endpoint(self, variable: ast.Variable, type_name: str) -> str:
        if variable.is_anonymous:
            name = self.context.fresh_name()
            self._bind_node(name, type_name, declared=False)
            return name
        if self.scope.lookup(variable.name) is None:
            self._bind_node(variable.name, type_name, declared=False)
        elif self.scope.is_outer(variable.name):
            self.mentions[variable.name] = None
        return variable.name

    def _shortest(self, clause: ast.Traversal) -> None:
        edge = self._edge_type(clause)
        if edge is None or not self._check_endpoints(clause) or not self._check_edge_variable(clause):
            return
        for variable in (clause.left, clause.right):
            if self.scope.is_broken(variable.name):
                return
            if variable.is_anonymous or self.scope.lookup(variable.name) is None:
                message = f"`shortest` connects two nodes that other clauses bind; `${variable.name}` is not bound"
                self._error("T27", message, variable)
                return
        assert clause.edge_variable is not None
        if clause.edge_variable.is_anonymous:
            self._error("T27", "a path needs a name, as in `$path: shortest knows`", clause.edge_variable)
            return
        hops, direction = self._hops(clause, edge), self._direction(clause, edge)
        if hops is None or direction is None:
            return
        left, right = self._bind_endpoint(clause.left, ""), self._bind_endpoint(clause.right, "")
        path = clause.edge_variable.name
        self._bind_variable(path, VariableKind.PATH, edge.name)
        types = (edge.source, edge.target) if direction is not Direction.IN else (edge.target, edge.source)
        self.steps.append(Step(left, right, edge.name, direction, hops, *types, path_variable=path))

    # --- inner blocks ----------------------------------------------------------------------------------

    def _inner(self, clauses: tuple[ast.Clause, ...], kind: BlockKind, at: ast.NotBlock | ast.MaybeBlock) -> None:
        if kind is BlockKind.MAYBE and self.kind is BlockKind.NOT:
            self._error("T26", "a `maybe` block inside `not` changes nothing: remove it", at)
            return
        inner = _Binder(self.context, Scope(self.scope), kind)
        block = inner.bind(clauses)
        direct = {name for clause in clauses for name in _direct_names(clause)}
        if not any(self.scope.lookup(name) for name in direct):
            code = "T9" if kind is BlockKind.NOT else "T26"
            message = f"no clause of this `{kind.value}` block mentions a variable from outside of it"
            self._error(code, message, at, "use a variable that is bound before the block")
            return
        for name in block.mentions:
            if self.scope.is_outer(name):
                self.mentions[name] = None
        if kind is BlockKind.NOT:
            self.negated.append(block)
            return
        self.optional.append(block)
        for variable in inner.scope.variables.values():
            self.scope.bind(BoundVariable(variable.name, variable.kind, variable.type_name, optional=True))

    # --- small things ----------------------------------------------------------------------------------

    def _bind_node(self, name: str, type_name: str, *, declared: bool) -> None:
        known = self.nodes.get(name)
        if known is None or not known.declared:
            self.nodes.pop(name, None)
            self.nodes[name] = NodeVariable(name, type_name, declared)
        self._bind_variable(name, VariableKind.NODE, type_name)

    def _bind_variable(self, name: str, kind: VariableKind, type_name: str) -> None:
        self.scope.bind(BoundVariable(name, kind, type_name, optional=False))

    def _error(
        self, code: str, message: str, at: ast.Expr | ast.Hops | ast.Clause | Name, hint: str | None = None
    ) -> None:
        self.context.error(code, message, at.span, hint)


def _article(kind: VariableKind) -> str:
    return "an edge" if kind is VariableKind.EDGE else f"a {kind.value}"


def _direct_names(clause: ast.Clause) -> Iterator[str]:
    """The variables a clause mentions itself, not in inner blocks."""
    match clause:
        case ast.Binding():
            yield clause.variable.name
        case ast.Traversal():
            yield clause.left.name
            yield clause.right.name
        case ast.Filter():
            yield from _names_in(clause.condition)


def _names_in(node: ast.Expr) -> Iterator[str]:
    match node:
        case ast.Variable():
            yield node.name
        case ast.PropertyAccess():
            yield node.variable.name
        case ast.Binary():
            yield from _names_in(node.left)
            yield from _names_in(node.right)
        case ast.Negate() | ast.IsNull():
            yield from _names_in(node.operand)
        case ast.Call():
            for argument in node.arguments:
                yield from _names_in(argument)
        case ast.ListLiteral():
            for item in node.items:
                yield from _names_in(item)
        case ast.Aggregate():
            yield from _names_in(node.argument)
        case ast.Literal() | ast.AliasRef():
            return
