"""The meaning of a read, computed the slow way: nested loops over Python dicts, from the syntax tree.

Written only for the tests, from the text of the specification: it knows nothing of operators, row numbers or Arrow.
Dates are days and times milliseconds, floats are Python's, null is None. Text search is not here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from omnigraph.core.operators import AggregateFunction
from omnigraph.core.scalars import Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.schema.types import PropertyType
from tests.features.exec.naive_functions import length
from tests.features.exec.naive_values import Data, Edge, Item, Node, Path, Row, Values

ANY = "*"
"""The type of a variable without one."""
SHORTEST_HOPS_MAX = 64
WORK_MAX = 20_000


class TooLarge(Exception):
    """The nested loops would take too long; a generated query like this is left out."""


@dataclass
class Answer:
    """All rows before ``limit`` and ``offset``; in order if ``ordered``, and then ``keys`` are their order keys."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    ordered: bool
    keys: list[tuple[Any, ...]]
    limit: int | None
    offset: int
    collected: set[int] = field(default_factory=set)
    """Columns whose lists are in no order; here they are sorted."""
    rounded: set[int] = field(default_factory=set)
    """Columns of numbers that depend on the order of additions in their last digits."""


@dataclass
class Former:
    """The rows of a former stage, and the kind and type of their variables; of a value its scalar."""

    rows: list[Row]
    types: dict[str, tuple[str, str]]


_SAME_TYPE = (
    AggregateFunction.MIN,
    AggregateFunction.MAX,
    AggregateFunction.FIRST,
    AggregateFunction.LAST,
    AggregateFunction.COLLECT,
)
"""Aggregates that give a value, or a list, of the type of their argument."""


@dataclass
class Step:
    """A traversal with its direction: ``out``, ``in`` or ``both``, seen from its left end."""

    clause: ast.Traversal
    left: str
    right: str
    edge: EdgeType | None
    direction: str
    ends: tuple[str, str] = (ANY, ANY)


class Naive(Values):
    """Answers reads about one graph."""

    def __init__(
        self,
        catalog: Catalog,
        data: Data,
        params: Mapping[str, Any],
        now_ms: int = 0,
        declared: Mapping[str, PropertyType] | None = None,
    ) -> None:
        super().__init__(catalog, data, params, now_ms, declared or {})
        self._anonymous = 0
        self._work = 0
        self._reached: dict[tuple[str, str, Node, int, int], dict[Node, int]] = {}
        self._types: dict[str, tuple[str, str]] = {}
        """What the variables of the read are that was answered last."""
        self._around: dict[str, tuple[str, str]] = {}
        """What the variables of the rows are that expressions are evaluated in."""

    # --- the whole query -------------------------------------------------------------------------------

    def run(self, body: ast.ReadBody, former: Former | None = None) -> Answer:
        if body.former is not None:
            return self.run(replace(body, former=None), self._stage(body.former))
        if body.union:
            return self._united(body, former)
        former = former or Former([{}], {})
        types: dict[str, tuple[str, str]] = dict(former.types)
        rows = [row for outer in former.rows for row in self._block(body.clauses, outer, dict(types))]
        # What a block binds is the same whatever the row, also if there is none.
        self._learn(body.clauses, types)
        self._around, self._types = types, types
        kinds = {name: kind for name, (kind, _) in types.items() if not name.startswith("_#")}
        named = sorted(name for name, kind in kinds.items() if kind in ("node", "edge"))
        named += sorted(name for name, kind in kinds.items() if kind == "value" and types[name][1] != "Json")
        expressions = [projection.expression for projection in body.projections]
        columns = [p.alias.text if p.alias else column_name(p.expression) for p in body.projections]
        if any(isinstance(expression, ast.Aggregate) for expression in expressions):
            shaped = self._grouped(expressions, rows)
            if body.having is not None:
                shaped = [row for row in shaped if self._having(body, row)]
            answer = self._shaped(body, columns, expressions, _distinct(shaped) if body.distinct else shaped)
            for place, node in enumerate(expressions):
                if isinstance(node, ast.Aggregate) and node.function is AggregateFunction.COLLECT:
                    answer.collected.add(place)
                if isinstance(node, ast.Aggregate) and node.function is AggregateFunction.STDDEV:
                    answer.rounded.add(place)
            return answer
        values = [tuple(self.value(expression, row) for expression in expressions) for row in rows]
        if body.distinct:
            return self._shaped(body, columns, expressions, _distinct(values))
        keys = [
            (
                *(self.value(self._order_expression(key.expression, body), row) for key in body.order),
                *(_identity(row[name]) for name in named),
            )
            for row in rows
        ]
        return self._ordered(body, columns, values, keys, len(body.order))

    def _stage(self, body: ast.ReadBody) -> Former:
        """The rows of a stage as the next one sees them."""
        outside, self.keeps_entities = self.keeps_entities, True
        answer = self.run(body)
        self.keeps_entities = outside
        kept = answer.rows[answer.offset :]
        kept = kept if answer.limit is None else kept[: answer.limit]
        names = [
            projection.alias.text if projection.alias else column_name(projection.expression)
            for projection in body.projections
        ]
        found, types = [], dict[str, tuple[str, str]]()
        for name, projection in zip(names, body.projections, strict=True):
            types[name] = self._returned(projection.expression)
        for row in kept:
            cells = {}
            for name, cell in zip(names, row, strict=True):
                is_value = types[name][0] == "value"
                cells[name] = Item(cell, Scalar(types[name][1])) if is_value else cell
            found.append(cells)
        return Former(found, {name: type_ for name, type_ in types.items() if name not in self.params})

    def _returned(self, node: ast.Expr) -> tuple[str, str]:
        """The kind and type of an entity, or the scalar of a value."""
        match node:
            case ast.Variable(name) | ast.Aggregate(
                AggregateFunction.FIRST | AggregateFunction.LAST, ast.Variable(name)
            ) if self._types.get(name, ("",))[0] in ("node", "edge"):
                return self._types[name]
            case ast.PropertyAccess() if ast.is_entity(node):
                return self._types[node.variable.name]
            case ast.Aggregate(function) if function is AggregateFunction.COUNT:
                return ("value", Scalar.I64.value)
            case ast.Aggregate(function, argument) if function in _SAME_TYPE:
                return self._returned(argument) if not isinstance(argument, ast.Variable) else ("value", "String")
            case ast.Aggregate():
                return ("value", Scalar.F64.value)
            case _:
                return ("value", self.scalar(node, self._sample()).value)

    def _sample(self) -> Row:
        """A row with an entity of the right type for every variable, whose values are not looked at."""
        found: Row = {}
        for name, (kind, type_) in self._types.items():
            if kind == "value":
                found[name] = Item(None, Scalar(type_))
            elif kind != "path":
                types = self._types_of(kind, type_) or self._types_of(kind, ANY)
                found[name] = (Node if kind == "node" else Edge)(types[0], "")
        return found

    def _united(self, body: ast.ReadBody, former: Former | None) -> Answer:
        """The rows of all reads; without ``all`` each once."""
        alone = replace(body, union=(), order=(), limit=None, offset=None)
        parts = [self.run(part, former) for part in (*body.union, alone)]
        parts = [parts[-1], *parts[:-1]]
        rows = [row for part in parts for row in part.rows]
        expressions = [projection.expression for projection in body.projections]
        return self._shaped(body, parts[0].columns, expressions, rows if body.keeps_duplicates else _distinct(rows))

    def _having(self, body: ast.ReadBody, row: tuple[Any, ...]) -> bool:
        """Whether the condition holds, with the columns as values."""

        def column(node: ast.Expr) -> ast.Expr:
            for place, projection in enumerate(body.projections):
                alias = projection.alias.text if projection.alias else None
                if node == projection.expression or (isinstance(node, ast.AliasRef) and node.name.text == alias):
                    return ast.Variable(f"#{place}", node.span)
            return ast.with_children(node, column)

        assert body.having is not None
        values = {f"#{place}": Item(cell, Scalar.F64) for place, cell in enumerate(row)}
        return self.value(column(body.having), values) is True

    def _order_expression(self, node: ast.Expr, body: ast.ReadBody) -> ast.Expr:
        if isinstance(node, ast.AliasRef):
            aliases = [p.alias.text if p.alias else None for p in body.projections]
            return body.projections[aliases.index(node.name.text)].expression
        return node

    def _shaped(
        self, body: ast.ReadBody, columns: list[str], expressions: list[ast.Expr], rows: list[tuple[Any, ...]]
    ) -> Answer:
        """Groups and distinct rows: ordered by what is returned, ties by the plain columns that are no aggregates."""
        positions = []
        for key in body.order:
            wanted = self._order_expression(key.expression, body)
            aliases = [p.alias.text if p.alias else None for p in body.projections]
            if isinstance(key.expression, ast.AliasRef):
                positions.append(aliases.index(key.expression.name.text))
            else:
                positions.append(expressions.index(wanted))
        ties = [position for position, node in enumerate(expressions) if not isinstance(node, ast.Aggregate)]
        ties = [p for p in ties if not any(isinstance(row[p], list | Path | dict) for row in rows)]
        ties = [p for p in ties if not self._is_json(expressions[p])]
        keys = [(*(row[p] for p in positions), *(row[p] for p in ties)) for row in rows]
        return self._ordered(body, columns, rows, keys, len(positions))

    def _is_json(self, node: ast.Expr) -> bool:
        """Whether a column holds JSON values, which rows are not ordered by."""
        kind, type_ = (
            self._types.get(node.variable.name, ("", "")) if isinstance(node, ast.PropertyAccess) else ("", "")
        )
        if kind == "path" or (kind in ("node", "edge") and not self._types_of(kind, type_)):
            return False
        return self._returned(node) == ("value", Scalar.JSON.value)

    def _ordered(
        self,
        body: ast.ReadBody,
        columns: list[str],
        rows: list[tuple[Any, ...]],
        keys: list[tuple[Any, ...]],
        written: int,
    ) -> Answer:
        together = list(zip(keys, rows, strict=True))
        if body.order:
            for place in reversed(range(len(keys[0]) if keys else 0)):
                down = place < written and bool(body.order[place].descending)
                together.sort(key=lambda pair: _sortable(pair[0][place]), reverse=down)
        ordered_rows = [row for _, row in together]
        ordered_keys = [key for key, _ in together]
        limit, offset = self._number(body.limit), self._number(body.offset)
        return Answer(columns, ordered_rows, bool(body.order), ordered_keys, limit, offset or 0)

    def _number(self, written: int | ast.Variable | None) -> int | None:
        number: int | None = self.params[written.name] if isinstance(written, ast.Variable) else written
        return number

    # --- aggregates ------------------------------------------------------------------------------------

    def _grouped(self, expressions: list[ast.Expr], rows: list[Row]) -> list[tuple[Any, ...]]:
        keys = [node for node in expressions if not isinstance(node, ast.Aggregate)]
        groups: dict[Any, tuple[tuple[Any, ...], list[Row]]] = {}
        if not keys:
            groups[()] = ((), rows)
        else:
            for row in rows:
                key = tuple(self.value(node, row) for node in keys)
                groups.setdefault(_hashable(key), (key, []))[1].append(row)
        result = []
        for key, members in groups.values():
            own = iter(key)
            result.append(
                tuple(
                    self._aggregate(node, members) if isinstance(node, ast.Aggregate) else next(own)
                    for node in expressions
                )
            )
        return result

    def _aggregate(self, node: ast.Aggregate, rows: list[Row]) -> Any:
        if isinstance(node.argument, ast.Star):
            return len(rows)
        if node.function in (AggregateFunction.FIRST, AggregateFunction.LAST):
            return self._placed(node, rows)
        values = [value for row in rows if (value := self.value(node.argument, row)) is not None]
        if node.distinct:
            values = [value for (value,) in _distinct([(value,) for value in values])]
        match node.function:
            case AggregateFunction.COUNT:
                return len(values)
            case AggregateFunction.SUM:
                return self._sum(node.argument, rows, values) if values else None
            case AggregateFunction.AVG if self._is_length(node.argument, rows):
                return length(Fraction(sum(values), len(values))) if values else None
            case AggregateFunction.AVG:
                return math.fsum(values) / len(values) if values else None
            case AggregateFunction.MIN:
                return min(values, default=None)
            case AggregateFunction.MAX:
                return max(values, default=None)
            case AggregateFunction.COLLECT:
                return sorted((value.id if isinstance(value, Node) else value for value in values), key=_sortable)
            case AggregateFunction.STDDEV:
                return statistics.stdev(map(float, values)) if len(values) > 1 else None
            case AggregateFunction.PERCENTILE:
                assert isinstance(node.second, ast.Literal)
                return _percentile(sorted(map(float, values)), float(node.second.value))  # type: ignore[arg-type] # a number

    def _sum(self, argument: ast.Expr, rows: list[Row], values: list[Any]) -> Any:
        """Decimals and durations have exact sums."""
        if isinstance(values[0], Decimal):
            return sum(values, Decimal(0))
        return sum(values) if self._is_length(argument, rows) else math.fsum(values)

    def _is_length(self, argument: ast.Expr, rows: list[Row]) -> bool:
        return any(self.value(argument, row) is not None for row in rows) and any(
            self.scalar(argument, row) is Scalar.DURATION for row in rows if self.value(argument, row) is not None
        )

    def _placed(self, node: ast.Aggregate, rows: list[Row]) -> Any:
        """The value of the first or last row, in the order of the second argument, or of the ids of all entities."""
        placed = []
        for row in rows:
            value = self.value(node.argument, row)
            if node.second is not None:
                keys = [self.value(node.second, row)]
            else:
                kinds = {name: self._types[name][0] for name in sorted(row) if not name.startswith("_#")}
                names = [name for name, kind in kinds.items() if kind in ("node", "edge")]
                names += [name for name, kind in kinds.items() if kind == "value" and self._types[name][1] != "Json"]
                keys = [_identity(row[name]) for name in names]
            if value is not None:
                placed.append(([_sortable(key) for key in (*keys, value)], value))
        ends = min if node.function is AggregateFunction.FIRST else max
        return ends(placed, key=lambda pair: pair[0])[1] if placed else None

    # --- blocks ----------------------------------------------------------------------------------------

    def _block(self, clauses: tuple[ast.Clause, ...], outer: Row, types: dict[str, tuple[str, str]]) -> Iterator[Row]:
        """Every way to bind the block's variables so that its clauses hold; ``types`` learns what it binds."""
        own, steps, shortest = self._resolve(clauses, types, set(outer))
        bindings = [clause for clause in clauses if isinstance(clause, ast.Binding)]
        inner_types: list[dict[str, tuple[str, str]]] = []
        maybes = [clause for clause in clauses if isinstance(clause, ast.MaybeBlock)]
        for _ in maybes:
            inner_types.append({})
        # The types that a `maybe` block binds are the same whatever the row, so they are learnt without one.
        for clause, learnt in zip(maybes, inner_types, strict=True):
            before = set(types)
            self._learn(clause.clauses, types)
            learnt.update({name: types[name] for name in set(types) - before})
        found: list[Row] = list(self._assign(own, steps, bindings, dict(outer)))
        self._around = types
        found = [row for row in found if self._matches(bindings, row)]
        for step in shortest:
            found = list(self._paths(step, found))
        visible = dict(types)
        for learnt in inner_types:
            for name in learnt:
                visible.pop(name, None)
        for clause, learnt in zip(maybes, inner_types, strict=True):
            extended = []
            for row in found:
                matches = list(self._block(clause.clauses, row, dict(visible)))
                extended.extend(matches or [{**row, **dict.fromkeys(learnt)}])
            visible.update(learnt)
            found = [{**dict.fromkeys(learnt), **row} for row in extended]
        self._around = types
        for clause in clauses:
            if isinstance(clause, ast.Filter) and not self._is_node(clause.predicate, types):
                found = [row for row in found if self.value(clause.predicate, row) is True]
        for clause in clauses:
            if isinstance(clause, ast.NotBlock):
                found = [row for row in found if not any(self._block(clause.clauses, row, dict(types)))]
        yield from found

    def exists(self, node: ast.Exists, row: Row) -> bool:
        around = self._around
        found = any(True for _ in self._block(node.clauses, row, dict(around)))
        self._around = around
        return found

    @staticmethod
    def _is_node(node: ast.Expr, types: Mapping[str, tuple[str, str]]) -> bool:
        return isinstance(node, ast.Variable) and types.get(node.name, ("", ""))[0] == "node"

    def _learn(self, clauses: tuple[ast.Clause, ...], types: dict[str, tuple[str, str]]) -> None:
        self._resolve(clauses, types, set())
        for clause in clauses:
            if isinstance(clause, ast.MaybeBlock):
                self._learn(clause.clauses, types)

    def _resolve(
        self, clauses: tuple[ast.Clause, ...], types: dict[str, tuple[str, str]], outer: set[str]
    ) -> tuple[dict[str, tuple[str, str]], list[Step], list[Step]]:
        """Section 3.4: what each clause binds, in the order of the text; the direction of every traversal."""
        own: dict[str, tuple[str, str]] = {}
        steps: list[Step] = []
        shortest: list[Step] = []

        def bind(name: str, kind: str, type_name: str) -> None:
            if name not in types:
                types[name] = (kind, type_name)
            if name not in outer and types[name][0] == kind:
                own.setdefault(name, types[name])

        for clause in clauses:
            if isinstance(clause, ast.Binding):
                bind(self._name(clause.variable), "node", clause.type_name.text)
            elif isinstance(clause, ast.Filter) and self._is_binding(clause, types):
                assert isinstance(clause.predicate, ast.Variable)
                bind(clause.predicate.name, "node", ANY)
            elif isinstance(clause, ast.Traversal) and clause.is_any:
                assert clause.edge_variable is not None
                left, right = self._name(clause.left), self._name(clause.right)
                bind(left, "node", ANY)
                bind(right, "node", ANY)
                bind(clause.edge_variable.name, "edge", ANY)
                steps.append(Step(clause, left, right, None, "any"))
            elif isinstance(clause, ast.Traversal) and not clause.shortest:
                step = self._step(clause, types)
                ends = self._end_types(step)
                bind(step.left, "node", ends[0])
                bind(step.right, "node", ends[1])
                assert step.edge is not None
                if len(step.edge.pairs) > 1:
                    for name, narrowed in zip((step.left, step.right), ends, strict=True):
                        types[name] = ("node", narrowed)
                        if name in own:
                            own[name] = types[name]
                if clause.edge_variable is not None and not clause.edge_variable.is_anonymous:
                    assert step.edge is not None
                    bind(clause.edge_variable.name, "edge", step.edge.name)
                steps.append(step)
        for clause in clauses:
            if isinstance(clause, ast.Traversal) and clause.shortest:
                assert clause.edge_variable is not None
                step = self._step(clause, types)
                assert step.edge is not None
                types[clause.edge_variable.name] = ("path", step.edge.name)
                shortest.append(step)
        return own, steps, shortest

    def _is_binding(self, clause: ast.Filter, types: Mapping[str, tuple[str, str]]) -> bool:
        """True for ``$x`` alone, which is a node of any type."""
        node = clause.predicate
        return isinstance(node, ast.Variable) and node.name not in self.params and node.name not in types

    def _types_of(self, kind: str, type_name: str) -> list[str]:
        """The concrete types of a type, of several divided by ``|``, of an interface or of any type."""
        if "|" in type_name:
            return [name for name in self.catalog.nodes if name in type_name.split("|")]
        if kind == "edge":
            return list(self.catalog.edges) if type_name == ANY else [type_name]
        nodes = self.catalog.nodes
        if type_name in nodes:
            return [type_name]
        return [name for name, node in nodes.items() if type_name == ANY or type_name in node.ir.implements]

    def _name(self, variable: ast.Variable) -> str:
        if not variable.is_anonymous:
            return variable.name
        self._anonymous += 1
        return f"_#{self._anonymous}"

    def _step(self, clause: ast.Traversal, types: dict[str, tuple[str, str]]) -> Step:
        edge = self.catalog.edge(clause.edge.text)
        assert edge is not None
        left, right = self._name(clause.left), self._name(clause.right)
        left_type, right_type = (types[name][1] if name in types else None for name in (left, right))
        if len(edge.pairs) > 1:
            known = [None if name is None else set(self._types_of("node", name)) for name in (left_type, right_type)]
            return self._step_of_several(Step(clause, left, right, edge, "out"), *known)
        [(source, target)] = edge.pairs
        if clause.undirected:
            direction = "both"
        elif left_type is not None:
            direction = "out" if source in self._types_of("node", left_type) else "in"
        elif right_type is not None:
            direction = "out" if target in self._types_of("node", right_type) else "in"
        else:
            direction = "out"
        ends = (source, target) if direction != "in" else (target, source)
        return Step(clause, left, right, edge, direction, ends)

    def _step_of_several(self, step: Step, left: set[str] | None, right: set[str] | None) -> Step:
        """An edge with several types at an end: as written if any types of its ends fit, else the other way round."""
        assert step.edge is not None
        low, high = self._bounds(step)
        fitting: set[tuple[str, str]] = set()
        direction = step.direction
        for direction in ("both",) if step.clause.undirected else ("out", "in"):
            for start in step.edge.node_types if left is None else left:
                found = _reached_types(step.edge.pairs, direction, start, low, high)
                fitting |= {(start, stop) for stop in found if right is None or stop in right}
            if fitting:
                break
        left_types, right_types = ("|".join(sorted({pair[side] for pair in fitting})) or "|" for side in (0, 1))
        return replace(step, direction=direction, ends=(left_types, right_types))

    @staticmethod
    def _end_types(step: Step) -> tuple[str, str]:
        return step.ends

    def _assign(
        self, own: dict[str, tuple[str, str]], steps: list[Step], bindings: list[ast.Binding], row: Row
    ) -> Iterator[Row]:
        """One variable after the other takes every entity of its type; a step is tested once its ends are bound."""
        self._work += 1
        if self._work > WORK_MAX:
            raise TooLarge
        free = [name for name in own if name not in row]
        if any(not self._holds(step, row) for step in steps if self._is_bound(step, row)):
            return
        if not free:
            yield row
            return
        linked = [
            name for name in free if any(name in self._names(s) and set(self._names(s)) & set(row) for s in steps)
        ]
        name = (linked or free)[0]
        kind, type_name = own[name]
        for concrete in self._types_of(kind, type_name):
            entities: Any = self.data.nodes[concrete] if kind == "node" else self.data.edges[concrete]
            for id_ in entities:
                entity: Any = Node(concrete, id_) if kind == "node" else Edge(concrete, id_)
                yield from self._assign(own, steps, bindings, {**row, name: entity})

    @staticmethod
    def _names(step: Step) -> list[str]:
        edge = step.clause.edge_variable
        return [step.left, step.right] + ([edge.name] if edge is not None and not edge.is_anonymous else [])

    def _is_bound(self, step: Step, row: Row) -> bool:
        return all(name in row for name in self._names(step))

    def _matches(self, bindings: list[ast.Binding], row: Row) -> bool:
        """Inline matches are equality, or membership of a list."""
        for binding in bindings:
            entity = None if binding.variable.is_anonymous else row[binding.variable.name]
            if entity is None and not binding.variable.is_anonymous:
                return False
            # A binding of a variable from outside narrows it to a type.
            narrowed = binding.type_name.text in self.catalog.nodes
            if entity is not None and narrowed and entity.type != binding.type_name.text:
                return False
            for match in binding.matches:
                held = self.data.nodes[entity.type][entity.id][match.property.text]
                wanted = self.value(match.value, row)
                if held is None or wanted is None:
                    return False
                if (wanted not in held) if isinstance(held, list) else (held != wanted):
                    return False
        return True

    # --- traversal -------------------------------------------------------------------------------------

    def _holds(self, step: Step, row: Row) -> bool:
        left, right = row[step.left], row[step.right]
        if left is None or right is None:
            return False
        if step.edge is None:
            return self._any_holds(step, row)
        if any(
            node.type not in self._types_of("node", end) for node, end in zip((left, right), step.ends, strict=True)
        ):
            return False
        variable = step.clause.edge_variable
        if variable is not None and not variable.is_anonymous:
            edge = row[variable.name]
            if edge is None:
                return False
            source, target, _ = self.data.edges[edge.type][edge.id]
            forward, backward = (source, target) == (left, right), (target, source) == (left, right)
            return {"out": forward, "in": backward, "both": forward or backward}[step.direction]
        low, high = self._bounds(step)
        assert step.edge is not None
        return right in self.reach(step.edge, step.direction, left, low, high)

    def _any_holds(self, step: Step, row: Row) -> bool:
        """Whether the edge, of whatever type, leads from one end to the other."""
        assert step.clause.edge_variable is not None
        edge = row[step.clause.edge_variable.name]
        source, target, _ = self.data.edges[edge.type][edge.id]
        return (row[step.left], row[step.right]) in ((source, target), (target, source))

    def _bounds(self, step: Step) -> tuple[int, int]:
        hops = step.clause.hops
        low = hops.low if hops else 1
        assert step.edge is not None
        high = (hops.high or 0) if hops else (SHORTEST_HOPS_MAX if step.clause.shortest else 1)
        return low, high if _chains(step.edge) else min(high, 1)

    def neighbours(self, edge: EdgeType, direction: str, node: Node) -> list[Node]:
        ends = [(source, target) for source, target, _ in self.data.edges[edge.name].values()]
        found = []
        if direction in ("out", "both"):
            found += [target for source, target in ends if source == node]
        if direction in ("in", "both"):
            found += [source for source, target in ends if target == node]
        return [neighbour for neighbour in found if neighbour.id in self.data.nodes[neighbour.type]]

    def reach(self, edge: EdgeType, direction: str, source: Node, low: int, high: int) -> dict[Node, int]:
        """Section 4.3, word for word: what is emitted, and at which hop."""
        known = (edge.name, direction, source, low, high)
        if known not in self._reached:
            self._reached[known] = self._reach(edge, direction, source, low, high)
        return self._reached[known]

    def _reach(self, edge: EdgeType, direction: str, source: Node, low: int, high: int) -> dict[Node, int]:
        homogeneous = _chains(edge)
        visited = {source} if homogeneous else set()
        frontier = [source]
        emitted: dict[Node, int] = {}
        for hop in range(1, high + 1):
            following: list[Node] = []
            for node in frontier:
                for neighbour in self.neighbours(edge, direction, node):
                    if homogeneous and neighbour == node:
                        if hop >= low and neighbour not in emitted:
                            emitted[neighbour] = hop
                    elif neighbour not in visited:
                        visited.add(neighbour)
                        following.append(neighbour)
                        if hop >= low:
                            emitted[neighbour] = hop
            frontier = following
        return emitted

    def _paths(self, step: Step, rows: list[Row]) -> Iterator[Row]:
        low, high = self._bounds(step)
        assert step.clause.edge_variable is not None
        assert step.edge is not None
        for row in rows:
            left, right = row[step.left], row[step.right]
            if left is None or right is None:
                continue
            reached = self.reach(step.edge, step.direction, left, low, high)
            if right in reached:
                path = Path(step.edge.name, step.direction, left, right, reached[right])
                for found in self._every_path(step, path) if step.clause.every else (path,):
                    yield {**row, step.clause.edge_variable.name: found}

    def _every_path(self, step: Step, path: Path) -> Iterator[Path]:
        """All walks of the least number of edges, each once however many edges connect two of its nodes."""
        assert step.edge is not None
        walks = [(path.start,)]
        distances = {path.start: 0}
        while not any(walk[-1] == path.stop for walk in walks):
            longer = {(*walk, node) for walk in walks for node in self.neighbours(step.edge, step.direction, walk[-1])}
            walks = [walk for walk in longer if distances.setdefault(walk[-1], len(walk) - 1) == len(walk) - 1]
        for walk in walks:
            if walk[-1] == path.stop:
                # One edge short: the loop at its end is walked.
                ids = [node.id for node in walk] + [path.stop.id] * (path.length + 1 - len(walk))
                yield replace(path, nodes=tuple(ids))

    def is_path(self, path: Path, nodes: list[str]) -> bool:
        """Whether these ids are such a path."""
        edge = self.catalog.edges[path.edge]
        reached = {path.start} if nodes[0] == path.source else set()
        for id_ in nodes[1:]:
            reached = {
                other for node in reached for other in self.neighbours(edge, path.direction, node) if other.id == id_
            }
        return path.stop in reached and len(nodes) - 1 == path.length


def _chains(edge: EdgeType) -> bool:
    """Whether an edge of this type can follow another one."""
    return bool({source for source, _ in edge.pairs} & {target for _, target in edge.pairs})


def _reached_types(pairs: tuple[tuple[str, str], ...], direction: str, start: str, low: int, high: int) -> set[str]:
    """The types at which walks of so many hops may end."""
    forth = list(pairs) if direction != "in" else []
    back = [(target, source) for source, target in pairs] if direction != "out" else []
    level, found = {start}, set[str]()
    for hop in range(1, high + 1):
        level = {target for source, target in (*forth, *back) if source in level}
        found |= level if hop >= low else set()
    return found


def _percentile(values: list[float], fraction: float) -> float | None:
    if not values:
        return None
    position = fraction * (len(values) - 1)
    low, high = math.floor(position), math.ceil(position)
    return values[low] + (values[high] - values[low]) * (position - low)


def column_name(node: ast.Expr) -> str:
    """Section 4.6."""
    match node:
        case ast.PropertyAccess() if ast.is_entity(node):
            return node.variable.name
        case ast.PropertyAccess():
            return f"{node.variable.name}.{node.property.text}"
        case ast.Variable():
            return node.name
        case ast.Literal() | ast.ListLiteral():
            return "literal"
        case ast.Aggregate(argument=ast.Star()):
            return "count"
        case ast.Aggregate():
            return column_name(node.argument)
        case ast.Call():
            return node.function
        case ast.Member():
            return f"{column_name(node.operand)}.{node.name.text}"
        case ast.Index(index=ast.Literal(value=int(place))):
            return f"{column_name(node.operand)}[{place}]"
        case ast.Index(index=ast.Literal(value=str(member))):
            return f'{column_name(node.operand)}["{member}"]'
        case _:
            return "expression"


def _sortable(value: Any) -> tuple[bool, Any]:
    """Null is smallest."""
    value = (value.id, value.type) if isinstance(value, Node | Edge) else value
    return (value is not None, 0 if value is None else value)


def _identity(bound: Any) -> Any:
    """What orders rows that are equal otherwise."""
    value = bound.value if isinstance(bound, Item) else bound and bound.id
    return None if isinstance(value, list) else value


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _hashable(item)) for name, item in value.items())
    return tuple(_hashable(item) for item in value) if isinstance(value, list | tuple) else value


def _distinct(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list({_hashable(row): row for row in reversed(rows)}.values())
