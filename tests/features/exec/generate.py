"""Random schemas, graphs, parameters and type-correct reads. Everything follows from one seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from omnigraph.core.temporal import format_date, format_datetime
from tests.features.exec import generate_exact as exact

TEXTS = ["", "a", "b", "ab", "Ab", "ba", "a%", "_a", "O'Neil", 'quo"te', "ünï", "z\U0001f600", "a b", "nul\x00l"]
ENUM = ["high", "low", "mid"]
INTEGERS = {
    "I32": [-(2**31), -7, -1, 0, 1, 2, 3, 7, 2**31 - 1],
    "I64": [-(2**63), -(2**53) - 1, -1, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**63 - 1],
    "U32": [0, 1, 2, 3, 7, 2**31],
    "U64": [0, 1, 2, 3, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1],
}
# Halves and quarters: sums of them are exact in any order.
FLOATS = [-2.5, -1.0, -0.0, 0.0, 0.25, 1.0, 2.0, 2.5, 3.0, 7.0, 100.75]
WIDE_FLOATS = [*FLOATS, float(2**53), float(2**63), float(2**64), 16777217.0]
DAYS = [-1, 0, 1, 18_000, 19_000]
MOMENTS = [-1, 0, 1, 1_577_836_800_000, 1_577_836_800_001]
PLAIN = ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime"]
SCALARS = [*PLAIN, *exact.EXACT]
PARTS_OF_MOMENTS = ["year", "month", "day", "hour", "minute", "second"]
KINDS = ["number", "String", "Bool", "Date", "DateTime", "Decimal", "Time", "Duration", "Uuid"]
"""What values compare with each other."""
NUMBERS = ["I32", "I64", "U32", "U64", "F32", "F64"]
# Arithmetic stays within I64, which the product of any two U32 would not.
# Whether a row that another condition drops may overflow is not defined.
CALM = ["I32", "U32", "F32", "F64"]


@dataclass
class Property:
    name: str
    scalar: str
    is_list: bool = False
    nullable: bool = True
    enum: bool = False

    @property
    def kind(self) -> str:
        """What it can be compared with."""
        return kind_of(self.scalar)

    @property
    def is_ordered(self) -> bool:
        """Whether rows can be ordered by it."""
        return not self.is_list and self.scalar != "Json"

    @property
    def text(self) -> str:
        name = exact.type_name(self.scalar)
        name = f"enum({', '.join(ENUM)})" if self.enum else f"[{name}]" if self.is_list else name
        # Key properties are indexed anyway.
        wish = "" if self.is_list or self.name == "key" or self.scalar == "Json" else " @index"
        return f"{self.name}: {name}{'?' if self.nullable else ''}{wish}"


_SAME_ARGUMENT = {
    "avg": "sum",
    "stddev": "sum",
    "percentile": "sum",
    "max": "min",
    "first": "collect",
    "last": "collect",
}
"""Aggregates that take what another one takes."""


def kind_of(scalar: str) -> str:
    return "number" if scalar in NUMBERS else scalar


Pair = tuple[str, str]
"""The node types that an edge leads from and to."""


@dataclass
class Type:
    name: str
    properties: list[Property]
    key: Property | None = None
    source: str = ""
    target: str = ""
    implements: str = ""
    pairs: list[Pair] = field(default_factory=list)
    """What an edge with several ends connects; ``ends`` is how it is declared."""
    ends: str = ""

    @property
    def chains(self) -> bool:
        """Whether one of its edges can follow another."""
        return bool({source for source, _ in self.pairs} & {target for _, target in self.pairs})

    def types_at(self, side: int) -> set[str]:
        return {pair[side] for pair in self.pairs}

    @property
    def every(self) -> list[Property]:
        return [*self.properties, *([self.key] if self.key else [])]


@dataclass
class Schema:
    nodes: dict[str, Type]
    edges: dict[str, Type]
    interface: Type
    wide: dict[str, Type] = field(default_factory=dict)
    """Edges with several types at an end."""

    @property
    def text(self) -> str:
        lines = [f"interface {self.interface.name} {{ {' '.join(item.text for item in self.interface.properties)} }}"]
        for node in self.nodes.values():
            body = [prop.text for prop in node.properties] + ([f"{node.key.text} @key"] if node.key else [])
            lines.append(f"node {node.name}{node.implements} {{ {' '.join(body)} }}")
        for edge in self.edges.values():
            body = [prop.text for prop in edge.properties]
            lines.append(f"edge {edge.name}: {edge.source} -> {edge.target} {{ {' '.join(body)} }}")
        for edge in self.wide.values():
            lines.append(f"edge {edge.name}: {edge.ends} {{ {' '.join(prop.text for prop in edge.properties)} }}")
        return "\n".join(lines)


def scalar_value(rng: Random, scalar: str) -> Any:
    match scalar:
        case "String":
            return rng.choice(TEXTS)
        case "Bool":
            return rng.random() < 0.5
        case "Date":
            return rng.choice(DAYS)
        case "DateTime":
            return rng.choice(MOMENTS)
        case "F32" | "F64":
            return rng.choice(FLOATS)
        case _:
            return rng.choice(exact.POOLS[scalar] if scalar in exact.POOLS else INTEGERS[scalar])


def property_value(rng: Random, prop: Property) -> Any:
    if prop.nullable and rng.random() < 0.2:
        return None
    if prop.enum:
        return rng.choice(ENUM)
    if prop.is_list:
        return [exact.given(prop.scalar, scalar_value(rng, prop.scalar)) for _ in range(rng.randrange(4))]
    return exact.given(prop.scalar, scalar_value(rng, prop.scalar))


def make_schema(rng: Random, *, has_wide: bool = False) -> Schema:
    nodes: dict[str, Type] = {}
    for number in range(rng.randint(2, 4)):
        key = rng.choice([None, None, *["String"] * 4, "I32", "I32", "Date", "U64", "F64", "Bool", *exact.EXACT[:4]])
        own = Property("key", key, nullable=False) if key else None
        nodes[f"N{number}"] = Type(f"N{number}", _properties(rng, rng.randint(1, 7)), own)
    edges: dict[str, Type] = {}
    for number in range(rng.randint(2, 4)):
        source = rng.choice(list(nodes))
        target = source if rng.random() < 0.6 else rng.choice(list(nodes))
        properties = _properties(rng, rng.randint(0, 3))
        edges[f"E{number}"] = Type(f"E{number}", properties, None, source, target)
    shared = [replace(prop, name=f"q{number}") for number, prop in enumerate(_properties(rng, 2))]
    for node in rng.sample(list(nodes.values()), min(len(nodes), rng.randint(1, 3))):
        node.properties += shared
        node.implements = " implements Shared"
    wide: dict[str, Type] = {}
    for number in range(rng.randint(1, 2) if has_wide else 0):
        ends, pairs = _several_ends(rng, nodes)
        wide[f"W{number}"] = Type(f"W{number}", _properties(rng, rng.randint(0, 2)), pairs=pairs, ends=ends)
    return Schema(nodes, edges, Type("Shared", shared), wide)


def _several_ends(rng: Random, nodes: dict[str, Type]) -> tuple[str, list[Pair]]:
    """Alternatives, an interface at one end, or pairs; as declared, and what they mean."""
    names = list(nodes)

    def some() -> list[str]:
        return sorted(rng.sample(names, rng.randint(1, min(3, len(names)))))

    shape = rng.random()
    if shape < 0.5:
        sources, targets = some(), some()
        if len(sources) * len(targets) == 1:
            targets = names
        ends = f"{' | '.join(sources)} -> {' | '.join(targets)}"
        return ends, [(source, target) for source in sources for target in targets]
    if shape < 0.75:
        shared, others = [name for name, node in nodes.items() if node.implements], some()
        if len(shared) * len(others) == 1:
            others = names
        text = " | ".join(others)
        if rng.random() < 0.5:
            return f"Shared -> {text}", [(source, target) for source in shared for target in others]
        return f"{text} -> Shared", [(source, target) for source in others for target in shared]
    every = [(source, target) for source in names for target in names]
    pairs = rng.sample(every, rng.randint(2, min(4, len(every))))
    return ", ".join(f"{source} -> {target}" for source, target in pairs), pairs


def _properties(rng: Random, count: int) -> list[Property]:
    found = []
    for number in range(count):
        is_list = rng.random() < 0.25
        enum = not is_list and rng.random() < 0.1
        scalar = "String" if enum else rng.choice(PLAIN if rng.random() < 0.65 else exact.EXACT)
        is_list = is_list and scalar != "Json"
        found.append(Property(f"p{number}", scalar, is_list, rng.random() < 0.7, enum))
    return found


def make_records(rng: Random, schema: Schema) -> list[dict[str, Any]]:
    """Nodes and edges to load; self-loops, parallel edges and isolated nodes are common."""
    records: list[dict[str, Any]] = []
    ids: dict[str, list[str]] = {}
    for node in schema.nodes.values():
        ids[node.name] = []
        for number in range(rng.choice([0, 1, 3, 5, 8, 8, 12])):
            data = {prop.name: property_value(rng, prop) for prop in node.properties}
            id_ = f"{node.name}-{number}"
            if node.key:
                key = key_value(node.key.scalar, number)
                data["key"], id_ = exact.given(node.key.scalar, key), key_id(node.key.scalar, key)
                if id_ in ids[node.name]:
                    continue
            else:
                data["id"] = id_
            ids[node.name].append(id_)
            records.append({"type": node.name, "data": data})
    for edge in schema.edges.values():
        records += make_edges(rng, edge, ids[edge.source], ids[edge.target], rng.choice([0, 4, 8, 16, 24]), "")
    for edge in schema.wide.values():
        records += make_wide_edges(rng, edge, ids, rng.choice([0, 8, 16, 24]), "")
    return records


def make_wide_edges(
    rng: Random, edge: Type, ids: dict[str, list[str]], count: int, prefix: str
) -> list[dict[str, Any]]:
    """Edges of any of its pairs; an end with several types names the one of its node."""
    possible = [(source, target) for source, target in edge.pairs if ids[source] and ids[target]]
    records = []
    for number in range(count if possible else 0):
        pair = rng.choice(possible)
        ends: dict[str, Any] = {}
        for side, word in enumerate(("from", "to")):
            id_ = rng.choice(ids[pair[side]])
            ends[word] = {"type": pair[side], "id": id_} if len(edge.types_at(side)) > 1 else id_
        data = {prop.name: property_value(rng, prop) for prop in edge.properties}
        data["id"] = f"{prefix}{edge.name}-{number}"
        records.append({"edge": edge.name, **ends, "data": data})
    return records


def make_edges(
    rng: Random, edge: Type, sources: list[str], targets: list[str], count: int, prefix: str
) -> list[dict[str, Any]]:
    if not sources or not targets:
        return []
    records = []
    for number in range(count):
        source = rng.choice(sources)
        loops = edge.source == edge.target and rng.random() < 0.15
        data = {prop.name: property_value(rng, prop) for prop in edge.properties}
        data["id"] = f"{prefix}{edge.name}-{number}"
        records.append(
            {"edge": edge.name, "from": source, "to": source if loops else rng.choice(targets), "data": data}
        )
    return records


def given(scalar: str, value: Any) -> Any:
    """A value as callers give it."""
    if scalar in exact.EXACT:
        return exact.given(scalar, value)
    return {"Date": format_date, "DateTime": format_datetime}.get(scalar, lambda value: value)(value)


def number_text(value: float) -> str:
    """A literal: without an exponent."""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def key_value(scalar: str, number: int) -> Any:
    match scalar:
        case "String":
            return f"{'kKé'[number % 3]}{number}"
        case "Bool":
            return number % 2 == 0
        case "F64":
            return number * 0.5
        case "U64":
            return 2**64 - 1 - number
        case _ if scalar in exact.EXACT:
            return exact.key_value(scalar, number)
        case _:
            return number - 3


def key_id(scalar: str, value: Any) -> str:
    if scalar == "F64":
        return str(int(value)) if value == int(value) else str(value)
    return str(value).lower() if scalar == "Bool" else str(value)


# --- queries ---------------------------------------------------------------------------------------------


@dataclass
class Query:
    text: str
    params: dict[str, Any]
    """As a caller gives them."""
    values: dict[str, Any]
    """As the naive evaluator takes them."""


@dataclass
class Variable:
    name: str
    type: Type
    is_node: bool
    is_varying: bool = False
    """Of a type that differs from row to row: alone it is the entity and no id."""


@dataclass
class Writer:
    """Writes one query; keeps what is in scope."""

    rng: Random
    schema: Schema
    patterns_max: int = 4
    scope: list[Variable] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    names: int = 0
    patterns: int = 0
    depth: int = 0
    """Of functions in functions."""
    is_compiled: bool = False
    """Writes what the compiled form runs."""
    is_scalar: bool = True
    columns: list[tuple[str, Property]] = field(default_factory=list)
    """What the former stage returns besides entities, as it is written."""

    # --- clauses ---------------------------------------------------------------------------------------

    def query(self) -> Query:
        if self.rng.random() < 0.2:
            clauses = self.chain()
            rest = self.counted()
            text = f"query q({', '.join(self.declared)}) {{\n  match {{\n    {clauses}\n  }}\n  {rest}\n}}"
            return Query(text, self.params, self.values)
        if not self.is_compiled and self.rng.random() < 0.05:
            reads = self.united()
            return Query(f"query q({', '.join(self.declared)}) {{ {reads} }}", self.params, self.values)
        clauses = self.polymorphic() if not self.is_compiled and self.rng.random() < 0.3 else self.match()
        body = f"match {{\n    {clauses}\n  }}\n  "
        while not self.is_compiled and self.rng.random() < 0.15 and body.count(" then") < 3:
            body += f"{self.handed_on()}\n  then {self.later()}"
        shape = self.rng.random()
        if shape < 0.25:
            body += self.grouped()
        else:
            body += self.plain(distinct=shape < 0.45)
        return Query(f"query q({', '.join(self.declared)}) {{\n  {body}\n}}", self.params, self.values)

    # --- stages ----------------------------------------------------------------------------------------

    def handed_on(self) -> str:
        """What a stage returns to the next: entities and scalars, which are all that is in scope afterwards."""
        rng = self.rng
        is_grouped, distinct = rng.random() < 0.4, rng.random() < 0.15
        kept: list[Variable] = []
        projections, names, columns = [], [], list[tuple[str, Property]]()
        for variable in rng.sample(self.scope, min(len(self.scope), rng.choice([0, 1, 1, 2]))):
            alias = ""
            if rng.random() < 0.3:
                self.names += 1
                alias = f" as h{self.names}"
            star = ".*" if rng.random() < 0.2 else ""
            projections.append(f"${variable.name}{star}{alias}")
            kept.append(replace(variable, name=alias[4:] or variable.name))
        for _ in range(rng.choice([0, 1, 1, 2])):
            self.names += 1
            alias = f"h{self.names}"
            made = self.scalar_column(is_grouped=is_grouped)
            projections.append(f"{made[0]} as {alias}")
            names.append(alias)
            columns.append((f"${alias}", replace(made[1], name=alias)))
        plain = [
            (f"${v.name}.{p.name}", p)
            for v in self.scope
            for p in v.type.every
            if not p.is_list and v.name not in [item.name for item in kept]
        ]
        if plain and rng.random() < 0.3:
            text, prop = rng.choice(plain)
            projections.append(text)
            columns.append((text, prop))
        if not projections:
            projections, names = ["1 as one"], ["one"]
            columns = [("$one", Property("one", "I64", nullable=False))]
        text = f"return{' distinct' if distinct else ''} {{ {', '.join(projections)} }}"
        names = [name for name in names if all(text != f"${name}" or prop.is_ordered for text, prop in columns)]
        if names and rng.random() < 0.6:
            # Only an order makes the rows of a limit the same for both.
            text += f" order {{ {rng.choice(names)}{rng.choice(['', ' desc'])} }}"
            text += rng.choice(["", f" limit {self.count([1, 2, 5])}", f" limit {self.count([3])} offset 1"])
        self.scope, self.columns, self.paths, self.patterns = kept, columns, [], 0
        return text

    def scalar_column(self, *, is_grouped: bool) -> tuple[str, Property]:
        rng = self.rng
        if is_grouped:
            numbers = self.properties(lambda p: p.scalar in CALM and not p.is_list)
            choices = [("count(*)", "I64", False)]
            if numbers:
                choices += [(f"{word}({rng.choice(numbers)})", "F64", True) for word in ("sum", "avg")]
            texts = self.properties(lambda p: p.scalar == "String" and not p.is_list)
            if texts:
                choices += [(f"{word}({rng.choice(texts)})", "String", True) for word in ("max", "first", "last")]
            text, scalar, nullable = rng.choice(choices)
            return text, Property("", scalar, nullable=nullable)
        kind = rng.choice([*KINDS, "Json"])
        if kind == "Bool":
            return f"({self.condition(depth=1)})", Property("", "Bool")
        if kind == "number":
            return f"cast({self.scalar('number', calm=True)} as F64)", Property("", "F64")
        return f"({self.scalar(kind)})", Property("", kind)

    def later(self) -> str:
        """The match of a later stage, sometimes without any."""
        rng = self.rng
        clauses = []
        for _ in range(rng.randrange(3)):
            if self.patterns < self.patterns_max:
                clauses.append(rng.choice([self.linked_step, self.linked_step, self.close, self.again, self.binding])())
        if rng.random() < 0.2:
            clauses += self.maybe(depth=0)
        for _ in range(rng.choice([0, 1, 1, 2])):
            clauses.insert(rng.randint(0, len(clauses)), self.filter())
        if self.node() and rng.random() < 0.3:
            clauses.append(self.negated(depth=0))
        written = "\n    ".join(clause for clause in clauses if clause)
        return f"match {{\n    {written}\n  }}\n  " if written else ""

    def united(self) -> str:
        """Two reads of nodes, and the union of their rows."""
        parts = []
        for _ in range(2):
            clauses, node = self.match(), self.rng.choice([v for v in self.scope if v.is_node])
            number = self.rng.choice(["1", "2"])
            parts.append(
                f"match {{ {clauses} }} return {{ type(${node.name}) as t, id(${node.name}) as i, {number} as n }}"
            )
            self.scope, self.paths, self.patterns = [], [], 0
        word = self.rng.choice([" union ", " union all "])
        return word.join(parts) + self.ending(["t", "i", "n"])

    def polymorphic(self) -> str:
        return self.of_several_ends() if self.schema.wide and self.rng.random() < 0.5 else self.of_several_types()

    def of_several_ends(self) -> str:
        """A pattern over an edge with several types at its ends, whose nodes have a type, an interface or neither."""
        rng = self.rng
        edge = rng.choice(list(self.schema.wide.values()))
        left, right = (self.end_of(edge, side) for side in (0, 1))
        clauses = [text for _, text in (left, right) if text]
        clauses.append(f"${left[0].name} {self.wide_walk(edge)} ${right[0].name}")
        if rng.random() < 0.3:
            again, end = rng.choice(list(self.schema.wide.values())), self.fresh(Type("", []))
            end.is_varying = True
            if right[0].type.name in again.types_at(0):
                clauses.append(f"${right[0].name} {again.name.lower()} ${end.name}")
            else:
                self.scope.remove(end)
        if rng.random() < 0.25:
            side = rng.randrange(2)
            start, other = (left, right)[side][0], self.fresh(Type("", []))
            other.is_varying = True
            if start.type.name in edge.types_at(0):
                clauses.append(f"maybe {{ ${start.name} {edge.name.lower()} ${other.name} }}")
            else:
                self.scope.remove(other)
        for _ in range(rng.choice([0, 0, 1])):
            clauses.append(self.filter())
        clauses += self.compared_nodes()
        if rng.random() < 0.3 and left[0].type.name in edge.types_at(0):
            kind = rng.choice(sorted(edge.types_at(1)))
            typed = f"$far: {kind} " if any(pair == (left[0].type.name, kind) for pair in edge.pairs) else ""
            clauses.append(f"not {{ {typed}${left[0].name} {edge.name.lower()} $far }}")
        return "\n    ".join(clauses)

    def compared_nodes(self) -> list[str]:
        """Sometimes a comparison of two nodes, one of several types."""
        nodes = [variable for variable in self.scope if variable.is_node]
        varying = [variable for variable in nodes if variable.is_varying]
        if len(nodes) < 2 or not varying or self.rng.random() < 0.7:
            return []
        left = self.rng.choice(varying)
        right = self.rng.choice([variable for variable in nodes if variable is not left])
        sides = [left.name, right.name] if self.rng.random() < 0.5 else [right.name, left.name]
        return [f"{self.rng.choice(['', 'not '])}${sides[0]} {self.rng.choice(['=', '!='])} ${sides[1]}"]

    def end_of(self, edge: Type, side: int) -> tuple[Variable, str]:
        """A variable for an end, and its binding if it has one."""
        shape = self.rng.random()
        if shape < 0.45:
            variable = self.fresh(self.schema.nodes[self.rng.choice(sorted(edge.types_at(side)))])
            return variable, f"${variable.name}: {variable.type.name}{self.inline(variable)}"
        shared = {name for name, node in self.schema.nodes.items() if node.implements}
        if shape < 0.6 and shared & edge.types_at(side):
            variable = self.fresh(self.schema.interface)
            variable.is_varying = True
            return variable, f"${variable.name}: Shared{self.inline(variable)}"
        variable = self.fresh(Type("", []))
        variable.is_varying = True
        return variable, ""

    def wide_walk(self, edge: Type) -> str:
        rng, word = self.rng, edge.name.lower()
        if edge.chains and rng.random() < 0.25:
            word = f"<{word}>"
        shape = rng.random()
        if shape < 0.3:
            return f"${self.fresh(edge, is_node=False).name}: {word}"
        if shape < 0.6:
            low = rng.randint(1, 2)
            return f"{word}{{{low},{low + rng.randrange(3)}}}"
        return word

    def wide_step(self) -> str:
        """From a bound node over an edge with several ends to a node of one type."""
        rng, start = self.rng, self.node()
        fitting = [
            (edge, target)
            for edge in self.schema.wide.values()
            for source, target in edge.pairs
            if start is not None and source == start.type.name
        ]
        if start is None or not fitting:
            return ""
        self.patterns += 1
        edge, target = rng.choice(fitting)
        walk, end = self.wide_walk(edge), self.fresh(self.schema.nodes[target])
        return f"${end.name}: {target}\n    ${start.name} {walk} ${end.name}"

    def of_several_types(self) -> str:
        """A pattern over an interface, any type and any edge; their variables have the properties of the interface."""
        rng = self.rng
        clauses = []
        nowhere = Type("", [])
        implementers = [name for name, node in self.schema.nodes.items() if node.implements]
        fitting = [edge for edge in self.schema.edges.values() if edge.source in implementers]
        if rng.random() < 0.75:
            first = self.fresh(self.schema.interface)
            clauses.append(f"${first.name}: Shared{self.inline(first)}")
        else:
            first = self.fresh(nowhere)
            clauses.append(f"${first.name}")
        first.is_varying = True
        if rng.random() < 0.5:
            edge, other = self.fresh(nowhere, is_node=False), self.fresh(nowhere)
            edge.is_varying = other.is_varying = True
            ends = [first.name, other.name] if rng.random() < 0.5 else [other.name, first.name]
            clauses.append(f"${ends[0]} <${edge.name}> ${ends[1]}")
        elif rng.random() < 0.5 and fitting and first.type is self.schema.interface:
            edge_type = rng.choice(fitting)
            end = self.fresh(self.schema.nodes[edge_type.target])
            clauses.append(f"${first.name} {self.walk(edge_type)} ${end.name}")
        for _ in range(rng.choice([0, 0, 1])):
            clauses.append(self.filter())
        clauses += self.compared_nodes()
        if rng.random() < 0.2 and implementers:
            narrow = self.schema.nodes[rng.choice(implementers)]
            name, prop = rng.choice(narrow.every).name, rng.choice(["is null", "is not null"])
            word, step = rng.choice(["exists", "not", "not exists"]), rng.choice(["", f" ${first.name} <$near> $other"])
            clauses.append(f"{word} {{ ${first.name}: {narrow.name} ${first.name}.{name} {prop}{step} }}")
        if rng.random() < 0.3:
            shape = rng.random()
            if shape < 0.5:
                word = rng.choice(["not", "exists", "not exists"])
                edges = [
                    f"<{edge.name.lower()}>" if edge.source == edge.target else edge.name.lower() for edge in fitting
                ]
                clauses.append(f"{word} {{ ${first.name} {rng.choice(['<$no>', *edges])} $other }}")
            elif self.schema.interface in [v.type for v in self.scope]:
                name = next(v.name for v in self.scope if v.type is self.schema.interface)
                word = rng.choice(["not", "exists"])
                clauses.append(f"{word} {{ $twin: Shared $twin.q0 = ${name}.q1 }}")
        return "\n    ".join(clauses)

    def match(self) -> str:
        rng = self.rng
        first = [self.binding()] if rng.random() < 0.8 else [self.free_step()]
        clauses = first
        for _ in range(rng.randrange(3)):
            if self.patterns < self.patterns_max:
                steps = [self.step, self.step, self.step, self.close, self.binding, self.again]
                clauses.append(rng.choice([*steps, *([self.wide_step] if self.schema.wide else [])])())
        if rng.random() < 0.15:
            clauses.append(self.shortest())
        if rng.random() < 0.3:
            clauses += self.maybe(depth=0)
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            clauses.insert(rng.randint(0, len(clauses)), self.filter())
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            clauses.append(self.negated(depth=0))
        return "\n    ".join(clause for clause in clauses if clause)

    def chain(self) -> str:
        """A walk of which most nodes are not looked at again, sometimes with branches and blocks."""
        rng = self.rng
        clauses = [self.binding()]
        last = self.scope[-1]
        for _ in range(rng.randint(1, 4)):
            edges = [e for e in self.schema.edges.values() if last.type.name in (e.source, e.target)]
            if not edges:
                break
            edge = rng.choice(edges)
            walk = edge.name.lower() if rng.random() < 0.6 else self.walk(edge)
            forwards = last.type.name == edge.source
            end = self.fresh(self.schema.nodes[edge.target if forwards else edge.source])
            clauses.append(f"${last.name} {walk} ${end.name}" if forwards else f"${end.name} {walk} ${last.name}")
            last = end if rng.random() < 0.8 else last
        if rng.random() < 0.5:
            clauses.append(self.filter())
        if rng.random() < 0.25:
            clauses += self.maybe(depth=1)
        if rng.random() < 0.25:
            clauses.append(self.negated(depth=1))
        return "\n    ".join(clause for clause in clauses if clause)

    def counted(self) -> str:
        """Few keys, and a number of rows; or only which rows there are."""
        rng = self.rng
        nodes = [f"${v.name}" for v in self.scope if v.is_node and not v.is_varying]
        if rng.random() < 0.2:
            chosen = rng.choice([*nodes, *self.properties(lambda p: True)])
            return f"return distinct {{ {chosen} }}{self.ending([chosen] if chosen in nodes else [])}"
        keys = rng.sample(nodes, min(len(nodes), rng.choice([0, 0, 1, 1, 2])))
        function, argument = self.aggregated() if rng.random() < 0.3 else ("count", rng.choice(nodes))
        columns = [*keys, f"{function}({argument}{self.second(function)}) as n"]
        ordered = [] if function in ("collect", "stddev") else ["n"]
        return f"return {{ {', '.join(columns)} }}{self.ending([*keys, *ordered])}"

    def fresh(self, type_: Type, *, is_node: bool = True) -> Variable:
        self.names += 1
        # Names whose order is not the order of their appearance.
        variable = Variable(f"{'vaze'[self.names % 4]}{self.names}", type_, is_node)
        self.scope.append(variable)
        return variable

    def node(self, type_name: str | None = None) -> Variable | None:
        fitting = [v for v in self.scope if v.is_node and not v.is_varying and type_name in (None, v.type.name)]
        return self.rng.choice(fitting) if fitting else None

    def binding(self) -> str:
        self.patterns += 1
        variable = self.fresh(self.rng.choice(list(self.schema.nodes.values())))
        return f"${variable.name}: {variable.type.name}{self.inline(variable)}"

    def again(self) -> str:
        """A binding written twice."""
        variable = self.node()
        return f"${variable.name}: {variable.type.name}{self.inline(variable)}" if variable else ""

    def inline(self, variable: Variable) -> str:
        if self.rng.random() < 0.85 or not variable.type.every:
            return self.rng.choice(["", "", " { }"])
        prop = self.rng.choice(variable.type.every)
        if prop.enum:
            return f' {{ {prop.name}: "{self.rng.choice(ENUM)}" }}'
        value = self.constant(prop.scalar) if self.rng.random() < 0.6 else self.parameter(prop.scalar)
        return f" {{ {prop.name}: {value} }}"

    def free_step(self) -> str:
        edge = self.rng.choice(list(self.schema.edges.values()))
        self.patterns += 2
        left, right = self.fresh(self.schema.nodes[edge.source]), self.fresh(self.schema.nodes[edge.target])
        return f"${left.name} {self.walk(edge)} ${right.name}"

    def step(self) -> str:
        return self.linked_step() or (self.free_step() if self.patterns + 2 <= self.patterns_max else "")

    def linked_step(self) -> str:
        """From a bound node over one of its edges, written from either side."""
        rng, start = self.rng, self.node()
        edges = [e for e in self.schema.edges.values() if start and start.type.name in (e.source, e.target)]
        if start is None or not edges:
            return ""
        edge = rng.choice(edges)
        self.patterns += 1
        other = edge.target if start.type.name == edge.source else edge.source
        walk = self.walk(edge)
        end = "_" if rng.random() < 0.2 else self.fresh(self.schema.nodes[other]).name
        return f"${start.name} {walk} ${end}" if rng.random() < 0.6 else f"${end} {walk} ${start.name}"

    def close(self) -> str:
        """Both ends are bound."""
        edge = self.rng.choice(list(self.schema.edges.values()))
        left, right = self.node(edge.source), self.node(edge.target)
        return f"${left.name} {self.walk(edge)} ${right.name}" if left and right else ""

    def walk(self, edge: Type) -> str:
        rng = self.rng
        word = edge.name.lower()
        if edge.source == edge.target and rng.random() < 0.25:
            word = f"<{word}>"
        shape = rng.random()
        if shape < 0.3:
            name = "_" if rng.random() < 0.1 else self.fresh(edge, is_node=False).name
            return f"${name}: {word}"
        if shape < 0.6:
            low = rng.randint(1, 3)
            return f"{word}{{{low},{low + rng.randrange(3)}}}"
        return word

    def shortest(self) -> str:
        edge = self.rng.choice(list(self.schema.edges.values()))
        left, right = self.node(edge.source), self.node(edge.target)
        if not left or not right:
            return ""
        word = edge.name.lower()
        if edge.source == edge.target and self.rng.random() < 0.3:
            word = f"<{word}>"
        bounds = self.rng.choice(["", "{1,2}", "{2,3}", "{1,4}"])
        self.names += 1
        name = f"path{self.names}"
        self.paths.append(name)
        every = "all " if self.rng.random() < 0.4 else ""
        return f"${left.name} ${name}: {every}shortest {word}{bounds} ${right.name}"

    # --- inner blocks ----------------------------------------------------------------------------------

    def maybe(self, depth: int) -> list[str]:
        """Blocks whose variables stay in scope; the caller adds no traversals after them."""
        blocks = []
        for _ in range(self.rng.choice([1, 1, 2])):
            clauses = [self.linked_step()]
            if not clauses[0]:
                return blocks
            if self.rng.random() < 0.3:
                clauses.append(self.linked_step() if self.patterns < self.patterns_max + 2 else "")
            if self.rng.random() < 0.4:
                clauses.append(self.filter())
            if depth == 0 and self.rng.random() < 0.2:
                clauses += self.maybe(depth + 1)
            if self.rng.random() < 0.15:
                clauses.append(self.negated(depth + 1))
            blocks.append(f"maybe {{ {' '.join(clauses)} }}")
        return blocks

    def negated(self, depth: int) -> str:
        return f"not {{ {self.block(depth)} }}"

    def block(self, depth: int) -> str:
        """Clauses about the rows around them; what they bind stays inside."""
        scope, paths = list(self.scope), list(self.paths)
        patterns = self.patterns
        shape = self.rng.random()
        if shape < 0.2:
            clauses = [self.again()]
        elif shape < 0.8:
            clauses = [self.linked_step() or self.again()]
        else:
            clauses = [self.close() or self.again()]
        if self.rng.random() < 0.4:
            clauses.append(self.filter())
        if self.rng.random() < 0.2:
            clauses.append(self.linked_step())
        if self.rng.random() < 0.15:
            clauses.append(self.binding())
        if depth < 2 and self.rng.random() < 0.25:
            clauses.append(self.negated(depth + 1))
        self.scope, self.paths, self.patterns = scope, paths, patterns
        return " ".join(clauses)

    # --- values ----------------------------------------------------------------------------------------

    def constant(self, scalar: str) -> str:
        value = scalar_value(self.rng, scalar)
        match scalar:
            case "String":
                escaped = value.replace("\\", "\\\\").replace('"', '\\"')
                return f'"{escaped}"'
            case "Bool":
                return "true" if value else "false"
            case "Date":
                return f'date("{format_date(value)}")'
            case "DateTime":
                return f'datetime("{format_datetime(value)}")'
            case _:
                return exact.literal(scalar, value) if scalar in exact.EXACT else number_text(value)

    def number(self) -> str:
        """A literal of any number type: out of range or between two values of most columns."""
        if self.rng.random() < 0.5:
            return self.constant(self.rng.choice(["I32", "I64", "U64"]))
        return number_text(self.rng.choice(WIDE_FLOATS))

    def parameter(self, scalar: str, *, is_list: bool = False) -> str:
        self.names += 1
        name = f"x{self.names}"
        value: Any = [scalar_value(self.rng, scalar) for _ in range(self.rng.randrange(4))] if is_list else None
        nullable = self.rng.random() < 0.2
        if not is_list and (not nullable or self.rng.random() < 0.5):
            value = scalar_value(self.rng, scalar)
        nullable = nullable or value is None
        type_ = exact.type_name(scalar)
        self.declared.append(f"${name}: {f'[{type_}]' if is_list else type_}{'?' if nullable else ''}")
        self.values[name] = value
        if value is not None:
            value = [given(scalar, item) for item in value] if is_list else given(scalar, value)
        self.params[name] = value
        return f"${name}"

    def properties(self, accept: Callable[[Property], bool]) -> list[str]:
        found = [f"${v.name}.{p.name}" for v in self.scope for p in v.type.every if accept(p)]
        return found + [text for text, prop in self.columns if accept(prop)]

    @property
    def lengths(self) -> list[str]:
        return [f"${path}.length" for path in self.paths]

    def scalar(self, kind: str, *, calm: bool = False) -> str:
        """An expression of a kind."""
        rng = self.rng
        if self.depth < 3 and rng.random() < 0.25:
            self.depth += 1
            made = self.function(kind, calm=calm)
            self.depth -= 1
            return made
        fitting = self.properties(lambda p: not p.is_list and p.kind == kind and (not calm or p.scalar in CALM))
        if fitting and rng.random() < 0.6:
            return rng.choice(fitting)
        if kind == "DateTime" and rng.random() < 0.1:
            return "now()"
        if kind == "number" and not calm:
            if self.paths and rng.random() < 0.3:
                return f"${rng.choice(self.paths)}.length"
            return self.number() if rng.random() < 0.7 else self.parameter(rng.choice(NUMBERS))
        scalar = rng.choice(CALM) if kind == "number" else kind
        return self.constant(scalar) if rng.random() < 0.7 else self.parameter(scalar)

    def function(self, kind: str, *, calm: bool) -> str:
        """A function that gives a value of a kind. Numbers stay small: nothing overflows."""
        rng = self.rng
        if rng.random() < 0.3:
            return self.choice(kind)
        match kind:
            case "String":
                return self.text_function()
            case "number":
                return self.number_function(calm=calm)
            case "Date" | "DateTime":
                return self.moment_function(kind)
            case "Bool":
                return f"({self.condition(depth=2)})"
            case _:
                return exact.expression(self, kind)

    def choice(self, kind: str) -> str:
        """A value that depends on nulls or a condition; of numbers, all of one type."""
        rng = self.rng
        scalar = rng.choice(CALM) if kind == "number" else kind
        held = self.properties(lambda p: not p.is_list and not p.enum and p.scalar == scalar)

        def one() -> str:
            return rng.choice(held) if held and rng.random() < 0.6 else self.constant(scalar)

        first, second = one(), one()
        if kind not in ("Json", "Uuid") and rng.random() < 0.3:
            return rng.choice([f"least({first}, {second})", f"greatest({first}, {second}, {one()})"])
        return rng.choice(
            [
                f"coalesce({first}, {second})",
                f"coalesce({first}, {second})" if kind == "Json" else f"nullif({first}, {second})",
                f"if({self.condition(depth=2)}, {first}, {second})",
                f"case when {self.condition(depth=2)} then {first} else {second} end",
                f"case {first} when {second} then {one()} end",
            ]
        )

    def text_function(self) -> str:
        rng, text = self.rng, self.scalar("String")
        number = rng.choice([-3, -1, 0, 1, 2])
        nodes = [f"id(${v.name})" for v in self.scope] + [f"type(${v.name})" for v in self.scope]
        return rng.choice(
            [
                f"lower({text})",
                f"upper({text})",
                f"trim({text})",
                f"substring({text}, {number}, {rng.choice([0, 1, 2])})",
                f"substring({text}, {number})",
                f'replace({text}, "a", {self.constant("String")})',
                f"({text} + {self.scalar('String')})",
                f"concat({text}, {self.constant('String')}, {self.scalar('String')})",
                f'regex_extract({text}, "{rng.choice(["a", "[ab]+", "(b)|(a)", "^.", "x?"])}")',
                f'split({text}, "{rng.choice(["a", "", " "])}")[{number}]',
                f"cast({self.scalar('number', calm=True)} as String)",
                f"cast({self.scalar(rng.choice(['Date', 'DateTime', 'Bool']))} as String)",
                *([rng.choice(nodes)] if nodes else []),
                exact.as_text(self),
                exact.as_text(self),
            ]
        )

    def number_function(self, *, calm: bool) -> str:
        rng = self.rng
        number, moment = self.scalar("number", calm=True), self.scalar(rng.choice(["Date", "DateTime"]))
        lists = self.properties(lambda p: p.is_list)
        numbers = self.properties(lambda p: p.is_list and p.scalar in CALM)
        day = self.scalar("Date")
        return rng.choice(
            [
                f"length({self.scalar('String')})",
                f"abs({number})",
                f"sign({number})",
                f"floor({number})",
                f"ceil({number})",
                f"round({number})",
                f"round({number}, {rng.choice([-1, 0, 1])})",
                f"mod({number}, {rng.choice([0, 2, 3])})",
                f"cast({self.scalar('String')} as {rng.choice(['I32', 'F64'])})",
                f"cast({number} as {rng.choice(['I32', 'U32', 'F32'])})",
                f"({day} - {self.scalar('Date')})",
                *([f"size({rng.choice(lists)})"] if lists else []),
                *([f"{rng.choice(numbers)}[{rng.choice([-1, 0, 1])}]"] if numbers else []),
                *([f"sqrt({number})", *self.rounded_functions()] * 2 if not calm else []),
                exact.as_number(self),
                exact.as_number(self),
                *[f"{part}({moment})" for part in rng.sample(PARTS_OF_MOMENTS, 3)],
            ]
        )

    def rounded_functions(self) -> list[str]:
        """Functions whose last digits are up to the library that computes them."""
        number, exponent = self.scalar("number", calm=True), self.rng.choice(["0", "1", "2", "0.5", "-1"])
        return [f"round(log({number}), 6)", f"round(pow(mod({number}, 7), {exponent}), 3)"]

    def moment_function(self, kind: str) -> str:
        rng, moment = self.rng, self.scalar(kind)
        unit = rng.choice(["year", "quarter", "month", "week", "day", "hour", "minute", "second"])
        shifts = [
            'duration("P1M")',
            'duration("P2W")',
            'duration(13, "month")',
            f'duration({rng.choice([-3, 0, 9])}, "day")',
        ]
        if kind == "DateTime":
            shifts += ['duration("PT1H30M")', 'duration("90s")', 'duration(-5, "hour")']
            lengths = exact.held(self, "Duration")
            if lengths and rng.random() < 0.3:
                return f"({self.scalar(rng.choice(['Date', 'DateTime']))} + {rng.choice(lengths)})"
        other = "Date" if kind == "DateTime" else "DateTime"
        return rng.choice(
            [
                f'date_trunc("{unit}", {moment})',
                f"({moment} {rng.choice(['+', '-'])} {rng.choice(shifts)})",
                f"{kind.lower()}({self.scalar(rng.choice([other, 'String']))})",
            ]
        )

    def arithmetic(self) -> str:
        """At most one product of two I32: nothing overflows."""
        left, right = self.scalar("number", calm=True), self.scalar("number", calm=True)
        operator = self.rng.choice(["+", "-", "*", "/", "%"])
        text = f"({left} {operator} {right})"
        if self.rng.random() < 0.3:
            text = f"({text} {self.rng.choice(['+', '-', '%'])} {self.scalar('number', calm=True)})"
        return f"-{text}" if self.rng.random() < 0.15 else text

    def filter(self) -> str:
        return self.condition(depth=0) if self.rng.random() < 0.3 else f"({self.condition(depth=0)})"

    def condition(self, depth: int) -> str:
        rng = self.rng
        shape = rng.random()
        if depth < 2 and rng.random() < 0.08:
            return f"not ({self.condition(depth + 1)})"
        if depth < 2 and self.node() and rng.random() < 0.08:
            return f"{rng.choice(['', 'not '])}exists {{ {self.block(depth + 1)} }}"
        if depth < 2 and rng.random() < 0.1:
            return self.quantified(depth)
        if depth < 2 and shape < 0.25:
            word = rng.choice(["and", "or", "or"])
            return f"({self.condition(depth + 1)}) {word} ({self.condition(depth + 1)})"
        if depth < 2 and shape < 0.3:
            return f"({self.condition(depth + 1)}) {rng.choice(['=', '!='])} {rng.choice(['true', 'false'])}"
        if shape < 0.36:
            return exact.condition(self)
        if shape < 0.55:
            return self.comparison()
        if shape < 0.65:
            every = self.properties(lambda p: True) + [
                f"${v.name}" for v in self.scope if v.is_node and not v.is_varying
            ]
            return f"({rng.choice(every)}) {rng.choice(['is null', 'is not null'])}" if every else "1 = 1"
        if shape < 0.75:
            return self.membership()
        if shape < 0.82:
            word = rng.choice(["contains", "starts_with", "ends_with", "not contains"])
            if rng.random() < 0.2:
                return f'regex_match({self.scalar("String")}, "{rng.choice(["a", "^[ab]", "b$", "(a|é)+"])}")'
            if rng.random() < 0.3:
                text = f"{word.removeprefix('not ')}({self.scalar('String')}, {self.scalar('String')})"
                return f"not {text}" if word.startswith("not") else text
            return f"({self.scalar('String')}) {word} {self.scalar('String')}"
        if shape < 0.88:
            left = self.node()
            right = self.node(left.type.name) if left else None
            return f"(${left.name}) {rng.choice(['=', '!='])} ${right.name}" if left and right else "1 = 1"
        bools = self.properties(lambda p: p.scalar == "Bool" and not p.is_list)
        return rng.choice(bools) if bools else self.comparison()

    def quantified(self, depth: int) -> str:
        """A test of the items of a list, which may read what is around it."""
        rng = self.rng
        lists = [(f"${v.name}.{p.name}", p.kind) for v in self.scope for p in v.type.every if p.is_list]
        items, kind = rng.choice([*lists, (f"[{self.fixed('String')}, {self.fixed('String')}]", "String")])
        self.names += 1
        name = f"i{self.names}"
        test = f"${name} {rng.choice(['=', '!=', '<', '>='])} {self.scalar(kind)}"
        if depth < 1 and rng.random() < 0.4:
            test = f"{test} {rng.choice(['and', 'or'])} ({self.condition(depth=2)})"
        return f"{rng.choice(['any', 'all'])}(${name} in {items} where {test})"

    def comparison(self) -> str:
        kind = self.rng.choice(["number", "number", "number", "String", "Bool", "Date", "DateTime"])
        kind = self.rng.choice(KINDS[5:]) if self.rng.random() < 0.25 else kind
        operator = self.rng.choice(["=", "!=", "!=", "<", "<=", "<=", ">", ">=", ">="])
        left, right = self.scalar(kind), self.scalar(kind)
        if kind == "number" and self.rng.random() < 0.25:
            left = self.arithmetic()
        return f"({left}) {operator} {right}"

    def membership(self) -> str:
        rng = self.rng
        kind = rng.choice(["number", "number", *KINDS[1:]])
        item = self.scalar(kind)
        lists = self.properties(lambda p: p.is_list and p.kind == kind)
        if lists and rng.random() < 0.5:
            chosen = rng.choice(lists)
            return rng.choice([f"{chosen} contains {item}", f"contains({chosen}, {item})", f"({item}) in {chosen}"])
        if rng.random() < 0.3:
            return f"({item}) in {self.parameter(rng.choice(NUMBERS) if kind == 'number' else kind, is_list=True)}"
        return f"({item}) in [{', '.join(self.fixed(kind) for _ in range(rng.randrange(4)))}]"

    def fixed(self, kind: str) -> str:
        """A literal or a parameter: what a list may hold."""
        if self.rng.random() < 0.2:
            return self.parameter(self.rng.choice(NUMBERS) if kind == "number" else kind)
        return self.number() if kind == "number" else self.constant(kind)

    # --- results ---------------------------------------------------------------------------------------

    def plain(self, *, distinct: bool) -> str:
        rng = self.rng
        projections, names = [], []
        for number in range(rng.randint(1, 4)):
            expression = self.projection(distinct=distinct)
            if rng.random() < 0.4:
                if not expression.endswith("*") and self.is_scalar:
                    names.append(f"c{number}")
                expression += f" as c{number}"
            elif expression.startswith("$") and "[" not in expression and "*" not in expression:
                names.append(expression)
            projections.append(expression)
        text = f"return{' distinct' if distinct else ''} {{ {', '.join(projections)} }}"
        keys = [name for name in names if name not in self.properties(lambda p: not p.is_ordered)]
        if not distinct:
            keys += self.properties(lambda p: p.is_ordered)
            keys += [f"${v.name}" for v in self.scope if v.is_node and not v.is_varying] + self.lengths
            if rng.random() < 0.2:
                keys.append(self.arithmetic())
        return text + self.ending(keys)

    def projection(self, *, distinct: bool) -> str:
        """A column; ``is_scalar`` tells afterwards whether rows can be ordered by it."""
        rng = self.rng
        shape = rng.random()
        self.is_scalar = True
        nodes = [f"${v.name}" for v in self.scope if v.is_node and not v.is_varying]
        if shape < 0.15 and nodes:
            return rng.choice(nodes)
        if shape < 0.17 and not self.is_compiled and self.scope and not distinct:
            return rng.choice([f"${v.name}.*" for v in self.scope if not v.is_varying] or ["1"])
        if shape < 0.2 and self.paths:
            return f"${rng.choice(self.paths)}.{rng.choice(['length', 'nodes'])}"
        if shape < 0.28:
            return self.arithmetic()
        if shape < 0.36:
            return f"({self.condition(depth=1)})"
        if shape < 0.4:
            scalar = rng.choice(PLAIN if rng.random() < 0.5 else exact.EXACT)
            self.is_scalar = scalar != "Json"
            return rng.choice(["now()", "1", '"x"', self.parameter(scalar)])
        self.is_scalar = not 0.4 <= shape < 0.46 and not 0.6 <= shape < 0.63
        if shape < 0.43:
            return f"[{self.fixed('String')}, {self.fixed('String')}]"
        if shape < 0.46:
            return f"[{self.scalar('String')}, {self.scalar('String')}]"
        if shape < 0.6:
            kind = rng.choice([*KINDS, "number", "Json", "Json"])
            self.is_scalar = kind != "Json"
            return self.number_function(calm=False) if kind == "number" else self.function(kind, calm=False)
        if shape < 0.63:
            lists = self.properties(lambda p: p.is_list)
            return f"{rng.choice(lists)}[{rng.choice(['1:', ':-1', '0:2', '-2:5'])}]" if lists else "[1, 2, 3][1:]"
        every = self.properties(lambda p: True)
        chosen = rng.choice(every) if every else "1"
        self.is_scalar = chosen not in self.properties(lambda p: not p.is_ordered)
        return chosen

    def grouped(self) -> str:
        rng = self.rng
        projections, names = [], []
        numbers: list[str] = []
        keys = (
            self.properties(lambda p: True)
            + [f"${v.name}" for v in self.scope if v.is_node and not v.is_varying]
            + self.lengths
        )
        for number in range(rng.choice([0, 1, 1, 2])):
            if keys:
                key = rng.choice(keys)
                alias = f" as k{number}" if rng.random() < 0.3 else ""
                projections.append(key + alias)
                if not alias or key not in self.properties(lambda p: not p.is_ordered):
                    names.append(f"k{number}" if alias else key)
        for number in range(rng.randint(1, 3)):
            function, argument = self.aggregated()
            distinct = "distinct " if rng.random() < 0.25 else ""
            if not self.is_compiled and rng.random() < 0.1:
                function, distinct, argument = "count", "", "*"
            second = self.second(function)
            projections.append(f"{function}({distinct}{argument}{second}) as a{number}")
            if function not in ("collect", "stddev"):
                names.append(f"a{number}")
                is_length = argument in exact.held(self, "Duration")
                if function in ("count", "percentile") or (function == "sum" and not is_length):
                    numbers.append(f"a{number}")
        rng.shuffle(projections)
        distinct = " distinct" if rng.random() < 0.1 else ""
        having = (
            f" having {{ {self.having(names, numbers)} }}"
            if names and not self.is_compiled and rng.random() < 0.3
            else ""
        )
        unordered = self.properties(lambda p: not p.is_ordered)
        ordered = [name for name in names if name not in unordered]
        return f"return{distinct} {{ {', '.join(projections)} }}{having}" + self.ending(ordered)

    def second(self, function: str) -> str:
        """The other argument of an aggregate that has one."""
        if function == "percentile":
            # Quarters of halves are exact.
            return f", {self.rng.choice(['0', '0.25', '0.5', '1'])}"
        keys = self.properties(lambda p: p.is_ordered)
        if function in ("first", "last") and keys and self.rng.random() < 0.6:
            return f", {self.rng.choice(keys)}"
        return ""

    def having(self, names: list[str], numbers: list[str]) -> str:
        """A condition on what is returned."""
        rng = self.rng
        tests = [f"({rng.choice(names)}) is {rng.choice(['', 'not '])}null"]
        if numbers:
            tests.append(f"({rng.choice(numbers)}) {rng.choice(['>', '<=', '!='])} {self.number()}")
            tests.append(f"({rng.choice(numbers)}) >= {rng.choice(numbers)}")
        chosen = rng.sample(tests, rng.randint(1, len(tests)))
        return f" {rng.choice(['and', 'or'])} ".join(chosen)

    def aggregated(self) -> tuple[str, str]:
        rng = self.rng
        names = ["count", "count", "sum", "avg", "min", "max", "collect"]
        function = rng.choice(names if self.is_compiled else [*names, "stddev", "percentile", "first", "last"])
        summed = [*CALM, "Decimal", *(["Duration"] if function in ("sum", "avg") else [])]
        fitting = {
            "count": self.properties(lambda p: True)
            + [f"${v.name}" for v in self.scope if v.is_node and not v.is_varying],
            "sum": [*self.properties(lambda p: p.scalar in summed and not p.is_list), self.arithmetic()],
            "min": self.properties(lambda p: p.kind in ("number", "String", *exact.ORDERED) and not p.is_list),
            "collect": self.properties(lambda p: p.is_ordered)
            + [f"${v.name}" for v in self.scope if v.is_node and not v.is_varying],
        }[_SAME_ARGUMENT.get(function, function)] + self.lengths
        if function in ("sum", "avg", "stddev", "percentile"):
            # A quotient is not exact, so its sums depend on their order.
            fitting = [text for text in fitting if "/" not in text]
        return (function, rng.choice(fitting)) if fitting else ("count", "1")

    def count(self, choices: list[int]) -> str:
        """A number of rows, written or given."""
        number: int | None = self.rng.choice(choices)
        if self.is_compiled or self.rng.random() < 0.7:
            return str(number)
        self.names += 1
        name = f"n{self.names}"
        is_optional = self.rng.random() < 0.3
        number = None if is_optional and self.rng.random() < 0.5 else number
        self.declared.append(f"${name}: {self.rng.choice(['I32', 'I64', 'U32', 'U64'])}{'?' if is_optional else ''}")
        self.params[name] = self.values[name] = number
        return f"${name}"

    def ending(self, keys: list[str]) -> str:
        rng = self.rng
        text = ""
        if keys and rng.random() < 0.6:
            chosen = rng.sample(keys, min(len(keys), rng.randint(1, 3)))
            text += f" order {{ {', '.join(key + rng.choice(['', ' asc', ' desc']) for key in chosen)} }}"
        if rng.random() < 0.3:
            text += f" limit {self.count([0, 1, 2, 5, 100])}"
        if rng.random() < 0.2:
            text += f" offset {self.count([0, 1, 3, 50])}"
        return text
