"""A naive evaluator of mutations over dictionaries, and a generator of mutations that it understands.

A generated expression is a pair: its text, and a function of the values in scope. Null is None; a comparison with null
is null, and a condition selects only where it is true.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.features.exec.naive_functions import Misfit
from tests.features.mutations import exact

Row = dict[str, Any]
Scope = dict[str, Any]
"""Values by the way they are written: ``age``, ``$r.by``, ``$a.name``."""

PLAIN = ("email", "name", "age", "visits", "tags", "bio")
PERSON = dict.fromkeys((*PLAIN, *exact.COLUMNS))
AGES = range(-(2**31), 2**31)
NAMES = ("Ann", "Bob", "Cy", "Dee")
IDS = tuple(f"p{number}" for number in range(8))


class Refused(Exception):
    """The mutation violates a constraint; nothing of it is kept."""


@dataclass
class Graph:
    """People by key, edges in a list: their ids are not compared."""

    people: dict[str, Row] = field(default_factory=dict)
    knows: list[Row] = field(default_factory=list)

    def check(self) -> None:
        for row in self.people.values():
            if row["name"] is None or (row["age"] is not None and row["age"] not in AGES):
                raise Refused
        for edge in self.knows:
            if edge["src"] not in self.people or edge["dst"] not in self.people:
                raise Refused

    def drop_person(self, key: str) -> None:
        del self.people[key]
        self.knows = [edge for edge in self.knows if key not in (edge["src"], edge["dst"])]


@dataclass(frozen=True)
class Expr:
    text: str
    value: Callable[[Scope], Any]
    path: str = ""
    """The steps into the property that is assigned."""


def _binary(left: Expr, operator: str, right: Expr, compute: Callable[[Any, Any], Any]) -> Expr:
    def value(scope: Scope) -> Any:
        first, second = left.value(scope), right.value(scope)
        return None if first is None or second is None else compute(first, second)

    return Expr(f"({left.text} {operator} {right.text})", value)


class Expressions:
    """Random expressions over the names of a scope, by type."""

    def __init__(
        self,
        choose: random.Random,
        numbers: list[str],
        texts: list[str],
        lists: list[str],
        others: dict[str, list[str]],
    ) -> None:
        self._choose = choose
        self._names = {"number": numbers, "text": texts, "list": lists}
        self._exact = exact.ExactExpressions(choose, others) if others else None

    def exact(self, column: str, *, of_parts: bool) -> Expr:
        """A value of one of the exact columns, or an assignment of a part of a JSON value."""
        assert self._exact is not None
        if column == "data" and of_parts and self._choose.random() < 0.5:
            steps, text, value = self._exact.path_assignment()
            return Expr(text, value, steps)
        made = self._exact.of(exact.KINDS[column])
        return Expr(made.text, made.value)

    def _leaf(self, kind: str) -> Expr:
        names = self._names[kind]
        if names and self._choose.random() < 0.7:
            name = self._choose.choice(names)
            return Expr(name, lambda scope: scope[name])
        if kind == "number":
            number = self._choose.choice((0, 1, 2, 7, 1_000_000_000))
            return Expr(str(number), lambda _: number)
        text = self._choose.choice((*NAMES, "a", "", "x y"))
        return Expr(f'"{text}"', lambda _: text)

    def number(self, depth: int = 2) -> Expr:
        kind = self._choose.randrange(6) if depth else 0
        if kind == 1:
            return _binary(self.number(depth - 1), "+", self.number(depth - 1), lambda a, b: a + b)
        if kind == 2:
            return _binary(self.number(depth - 1), "-", self.number(depth - 1), lambda a, b: a - b)
        if kind == 3:
            inner, other = self.number(depth - 1), self._choose.choice((0, 5))
            return Expr(f"coalesce({inner.text}, {other})", lambda scope: _or_else(inner.value(scope), other))
        if kind == 4:
            test, first, second = self.truth(depth - 1), self.number(depth - 1), self.number(depth - 1)
            text = f"case when {test.text} then {first.text} else {second.text} end"
            return Expr(text, lambda scope: (first if test.value(scope) is True else second).value(scope))
        if kind == 5:
            inner_text = self.text(depth - 1)
            return Expr(f"length({inner_text.text})", lambda scope: _mapped(len, inner_text.value(scope)))
        return self._leaf("number")

    def text(self, depth: int = 2) -> Expr:
        kind = self._choose.randrange(5) if depth else 0
        if kind == 1:
            inner = self.text(depth - 1)
            return Expr(f"upper({inner.text})", lambda scope: _mapped(str.upper, inner.value(scope)))
        if kind == 2:
            return _binary(self.text(depth - 1), "+", self.text(depth - 1), lambda a, b: a + b)
        if kind == 3:
            inner = self.text(depth - 1)
            return Expr(f'coalesce({inner.text}, "none")', lambda scope: _or_else(inner.value(scope), "none"))
        return self._leaf("text")

    def truth(self, depth: int = 2) -> Expr:
        kind = self._choose.randrange(9 if depth else 4)
        if self._exact is not None and self._choose.random() < 0.2:
            made = self._exact.truth()
            return Expr(made.text, made.value)
        if kind == 0:
            name, compute = self._choose.choice(COMPARISONS)
            return _binary(self.number(min(depth, 1)), name, self.number(min(depth, 1)), compute)
        if kind == 1:
            name, compute = self._choose.choice(COMPARISONS[:2])
            return _binary(self.text(min(depth, 1)), name, self.text(min(depth, 1)), compute)
        if kind == 2:
            inner = self._leaf(self._choose.choice(("number", "text")))
            negated = self._choose.random() < 0.5
            text = f"({inner.text} is {'not ' if negated else ''}null)"
            return Expr(text, lambda scope: (inner.value(scope) is None) != negated)
        if kind == 3:
            return self._membership()
        if kind == 4:
            word, compute = self._choose.choice(
                (("contains", lambda a, b: b in a), ("starts_with", str.startswith), ("ends_with", str.endswith))
            )
            made = _binary(self.text(1), word, self._leaf("text"), compute)
            if self._choose.random() < 0.4:
                return made
            called = _binary(left := self.text(1), word, right := self._leaf("text"), compute)
            return Expr(f"{word}({left.text}, {right.text})", called.value)
        if kind == 5:
            inner = self.truth(depth - 1)
            return Expr(f"(not {inner.text})", lambda scope: _mapped(lambda value: not value, inner.value(scope)))
        left, right = self.truth(depth - 1), self.truth(depth - 1)
        decides = kind == 6
        word = "or" if decides else "and"

        def value(scope: Scope) -> bool | None:
            both = (left.value(scope), right.value(scope))
            return decides if decides in both else None if None in both else not decides

        return Expr(f"({left.text} {word} {right.text})", value)

    def _membership(self) -> Expr:
        if self._names["list"] and self._choose.random() < 0.5:
            name, item = self._choose.choice(self._names["list"]), self._choose.choice(("a", "b"))
            return Expr(f'({name} contains "{item}")', lambda scope: _mapped(lambda items: item in items, scope[name]))
        inner = self._leaf("text")
        items = self._choose.sample(NAMES + IDS, 3)
        text = ", ".join(f'"{item}"' for item in items)
        return Expr(
            f"({inner.text} in [{text}])", lambda scope: _mapped(lambda value: value in items, inner.value(scope))
        )


COMPARISONS: list[tuple[str, Callable[[Any, Any], bool]]] = [
    ("=", lambda a, b: a == b),
    ("!=", lambda a, b: a != b),
    ("<", lambda a, b: a < b),
    (">=", lambda a, b: a >= b),
]


def _or_else(value: Any, other: Any) -> Any:
    return other if value is None else value


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else function(value)


@dataclass(frozen=True)
class Statement:
    """The text of a statement and its effect; the effect returns the values of ``returning``."""

    text: str
    run: Callable[[Graph], list[tuple[Any, ...]]]


Names = tuple[list[str], list[str], list[str], dict[str, list[str]]]
"""Numbers, texts and lists in scope, and what is exact by kind."""
OWN: Names = (
    ["age", "visits"],
    ["name", "bio", "email"],
    ["tags"],
    {kind: [name] for name, kind in exact.KINDS.items()},
)
OWN_EDGE: Names = (["since"], ["note", "from", "to"], [], {})
RECORD: Names = (
    ["$r.by"],
    ["$r.email", "$r.name"],
    [],
    {"decimal": ["$r.cost"], "time": ["$r.at"], "length": ["$r.lasts"], "json": ["$r.part"]},
)


def _joined(*scopes: Names) -> Names:
    others = {kind: [name for scope in scopes for name in scope[3].get(kind, [])] for kind in exact.KINDS.values()}
    numbers, texts, lists = ([name for scope in scopes for name in scope[kind]] for kind in (0, 1, 2))
    return numbers, texts, lists, others if any(others.values()) else {}


def _named(variable: str, scope: Names) -> Names:
    """The names of an entity that a variable is bound to."""
    numbers, texts, lists = ([f"${variable}.{name}" for name in scope[kind]] for kind in (0, 1, 2))
    return numbers, texts, lists, {kind: [f"${variable}.{name}" for name in names] for kind, names in scope[3].items()}


def _own(row: Row) -> Scope:
    return dict(row)


def _edge_scope(edge: Row) -> Scope:
    return {"since": edge["since"], "note": edge["note"], "from": edge["src"], "to": edge["dst"]}


def _of(variable: str, row: Row) -> Scope:
    return {f"${variable}.{name}": value for name, value in row.items()}


def _shown(rows: list[Row]) -> list[tuple[Any, ...]]:
    plain = ("email", "age", "visits", "bio")
    return [
        (*(row[name] for name in plain), *(exact.shown(row[name], kind) for name, kind in exact.KINDS.items()))
        for row in rows
    ]


SHOWN = "returning { email, age, visits, bio, paid, opens, took, device, data }"


class Mutations:
    """Random mutations: each is a text, its parameters, and its effect on a naive graph."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)

    def _assignments(self, *scopes: Names, of_parts: bool = True) -> dict[str, Expr]:
        make = Expressions(self.choose, *_joined(*scopes))
        chosen = self.choose.sample(["age", "visits", "bio", "name", *exact.COLUMNS], self.choose.randint(1, 3))
        made = {}
        for name in chosen:
            if name in exact.KINDS:
                made[name] = make.exact(name, of_parts=of_parts)
            else:
                made[name] = make.number() if name in ("age", "visits") else make.text()
        return made

    def _truth(self, *scopes: Names) -> Expr:
        return Expressions(self.choose, *_joined(*scopes)).truth()

    def one(self) -> tuple[str, dict[str, Any], Callable[[Graph], list[tuple[Any, ...]]]]:
        """A mutation. Its effect raises Refused, or changes the graph and returns rows."""
        records = [
            {
                "email": self.choose.choice(IDS),
                "by": self.choose.choice((None, 1, 3)),
                "name": self.choose.choice((None, *NAMES)),
                "cost": self.choose.choice((None, *exact.DECIMALS)),
                "at": self.choose.choice((None, *exact.TIMES)),
                "lasts": self.choose.choice((None, *exact.LENGTHS)),
                "part": self.choose.choice((None, *exact.JSONS)),
            }
            for _ in range(self.choose.randint(0, 4))
        ]
        kinds = [
            self._insert, self._upsert, self._update, self._update, self._delete, self._insert_edge,
            self._update_edges, self._delete_edges, self._match_update, self._match_delete, self._match_insert,
            lambda: self._loop(records), lambda: self._loop(records),
        ]  # fmt: skip
        statements: list[Statement] = []
        for _ in range(self.choose.randint(1, 4)):
            made, place = self.choose.choice(kinds)(), len(statements)
            # Behind a match every statement belongs to it, so others go before it.
            while (
                place and not made.text.startswith(("match", "for")) and statements[place - 1].text.startswith("match")
            ):
                place -= 1
            statements.insert(place, made)
        last = statements[-1]
        text = "\n".join(statement.text for statement in statements[:-1])
        text += f"\n{last.text.replace('@', SHOWN)}"

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                rows = statement.run(graph)
            graph.check()
            return rows

        head = f"$rows: [{{ email: String, by: I64?, name: String?, {exact.RECORD} }}]"
        kinds = {"cost": "decimal", "at": "time", "lasts": "length", "part": "json"}
        given = [
            {name: exact.shown(value, kinds[name]) if name in kinds else value for name, value in record.items()}
            for record in records
        ]
        return f"query q({head}) {{\n{text.replace('@', '')}\n}}", {"rows": given}, run

    def _insert(self) -> Statement:
        key, name, age = self.choose.choice(IDS), self.choose.choice(NAMES), self.choose.choice((None, 3, 40))
        tags = self.choose.choice((None, [], ["a"], ["a", "b"]))
        made = {**PERSON, "email": key, "name": name.upper(), "age": None if age is None else age + 1, "tags": tags}
        column = self.choose.choice(exact.COLUMNS)
        held = exact.ExactExpressions(self.choose, {}).leaf(exact.KINDS[column])
        made[column] = held.value({})
        number = "null" if age is None else f"{age} + 1"
        items = "null" if tags is None else "[" + ", ".join(f'"{tag}"' for tag in tags) + "]"

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            graph.people[key] = dict(made)
            return _shown([made])

        return Statement(
            f'insert Person {{ email: "{key}", name: upper("{name}"), age: {number}, tags: {items}, '
            f"{column}: {held.text} }} @",
            run,
        )

    def _upsert(self) -> Statement:
        key, values = self.choose.choice(IDS), self._assignments(OWN, of_parts=False)

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            old = graph.people.get(key, {**PERSON, "email": key})
            graph.people[key] = {**old, **_assigned(values, _own(old))}
            return _shown([graph.people[key]])

        return Statement(f'upsert Person {{ email: "{key}", {_spelled(values)} }} @', run)

    def _update(self) -> Statement:
        values, test = self._assignments(OWN), self._truth(OWN)

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            found = [row for row in graph.people.values() if test.value(_own(row)) is True]
            made = [{**row, **_assigned(values, _own(row))} for row in found]
            graph.people.update((row["email"], row) for row in made)
            return _shown(made)

        return Statement(f"update Person set {{ {_spelled(values)} }} where {test.text} @", run)

    def _delete(self) -> Statement:
        test = self._truth(OWN)
        few = f'{test.text} and email in ["p0", "p1", "p2"]'

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            found = [
                row
                for row in graph.people.values()
                if test.value(_own(row)) is True and row["email"] in ("p0", "p1", "p2")
            ]
            for row in found:
                graph.drop_person(row["email"])
            return _shown(found)

        return Statement(f"delete Person where {few} @", run)

    def _insert_edge(self) -> Statement:
        ends, since = self.choose.choices(IDS, k=2), self.choose.choice((None, 1, 2000))

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            graph.knows.append({"src": ends[0], "dst": ends[1], "since": since, "note": None})
            return []

        value = "null" if since is None else since
        return Statement(f'insert Knows {{ from: "{ends[0]}", to: "{ends[1]}", since: {value} }}', run)

    def _update_edges(self) -> Statement:
        test = self._truth(OWN_EDGE)
        note = Expressions(self.choose, *OWN_EDGE).text()

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            for edge in graph.knows:
                scope = _edge_scope(edge)
                if test.value(scope) is True:
                    edge["note"] = note.value(scope)
            return []

        return Statement(f"update Knows set {{ note: {note.text} }} where {test.text}", run)

    def _delete_edges(self) -> Statement:
        test = self._truth(OWN_EDGE)

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            graph.knows = [edge for edge in graph.knows if test.value(_edge_scope(edge)) is not True]
            return []

        return Statement(f"delete Knows where {test.text}", run)

    def _pattern(self) -> tuple[str, Callable[[Graph], list[tuple[str, str]]]]:
        test = Expressions(self.choose, *_joined(_named("a", OWN), _named("b", OWN))).truth(1)

        def pairs(graph: Graph) -> list[tuple[str, str]]:
            try:
                graph.check()  # a pattern reads what is stored, so what cannot be stored is refused before it
            except Refused:
                if any(row["name"] is None for row in graph.people.values()):
                    raise
            found = dict.fromkeys((edge["src"], edge["dst"]) for edge in graph.knows)
            return [
                (a, b)
                for a, b in found
                if a in graph.people and b in graph.people and test.value(_both(graph, a, b)) is True
            ]

        return f"match {{ $a: Person $b: Person $a knows $b {test.text} }}", pairs

    def _match_update(self) -> Statement:
        match, pairs = self._pattern()
        values = self._assignments(OWN, _named("a", OWN))

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            made: dict[str, Row] = {}
            for a, b in pairs(graph):
                old = graph.people[b]
                row = {**old, **_assigned(values, {**_own(old), **_both(graph, a, b)})}
                if made.setdefault(b, row) != row:
                    raise Refused
            graph.people.update(made)
            return _shown(list(made.values()))

        return Statement(f"{match} update $b set {{ {_spelled(values)} }} @", run)

    def _match_delete(self) -> Statement:
        test = self._truth(OWN_EDGE)
        is_mutual = self.choose.random() < 0.4

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            pairs = {(edge["src"], edge["dst"]) for edge in graph.knows}
            graph.knows = [
                edge
                for edge in graph.knows
                if not (
                    graph.people.get(edge["src"], PERSON)["age"] == 4
                    and edge["dst"] in graph.people
                    and test.value(_edge_scope(edge)) is True
                    and (not is_mutual or (edge["dst"], edge["src"]) in pairs)
                )
            ]
            return []

        condition = f"({test.text}) and exists {{ $b knows $a }}" if is_mutual else test.text
        return Statement(f"match {{ $a: Person $a $e: knows $b $a.age = 4 }} delete $e where {condition}", run)

    def _match_insert(self) -> Statement:
        match, pairs = self._pattern()

        def run(graph: Graph) -> list[tuple[Any, ...]]:
            made = [
                {"src": b, "dst": a, "since": 5, "note": graph.people[a]["name"]}
                for a, b in pairs(graph)
                if b in ("p1", "p2")
            ]
            graph.knows += made
            return []

        narrowed = match.replace(" }", ' id($b) in ["p1", "p2"] }') if match.count(" }") == 1 else match
        if narrowed == match:
            return self._insert_edge()
        return Statement(f"{narrowed} insert Knows {{ from: $b, to: $a, since: 5, note: $a.name }}", run)

    def _loop(self, records: list[Row]) -> Statement:
        kind = self.choose.randrange(4)
        if kind == 0:

            def insert(graph: Graph) -> list[tuple[Any, ...]]:
                made = {}
                for record in records:
                    row = {
                        **PERSON,
                        "email": record["email"],
                        "name": _or_else(record["name"], "X"),
                        "visits": record["by"],
                        "paid": record["cost"],
                        "data": record["part"],
                    }
                    graph.people[record["email"]] = made[record["email"]] = row
                return _shown(list(made.values()))

            text = (
                'insert Person { email: $r.email, name: coalesce($r.name, "X"), visits: $r.by, '
                "paid: $r.cost, data: $r.part }"
            )
            return Statement(f"for $r in $rows {{ {text} @ }}", insert)
        if kind == 1:
            values = self._assignments(OWN, RECORD, of_parts=False)

            def upsert(graph: Graph) -> list[tuple[Any, ...]]:
                made = {}
                for record in records:
                    key = record["email"]
                    old = graph.people.get(key, {**PERSON, "email": key})
                    row = {**old, **_assigned(values, {**_own(old), **_of("r", record)})}
                    graph.people[key] = made[key] = row
                return _shown(list(made.values()))

            return Statement(f"for $r in $rows {{ upsert Person {{ email: $r.email, {_spelled(values)} }} @ }}", upsert)
        own, equal = self._truth(OWN, RECORD), self.choose.choice(("email = $r.email", "name = $r.name", "true"))
        test = Expr(f"{equal} and {own.text}", lambda scope: _holds(equal, scope) and own.value(scope) is True)
        if kind == 2:
            chosen = self._assignments(OWN, RECORD)

            def update(graph: Graph) -> list[tuple[Any, ...]]:
                made: dict[str, Row] = {}
                for record in records:
                    for key, row in list(graph.people.items()):
                        if test.value({**_own(row), **_of("r", record)}):
                            old = made.get(key, row)
                            made[key] = {**old, **_assigned(chosen, {**_own(old), **_of("r", record)})}
                graph.people.update(made)
                return _shown(list(made.values()))

            return Statement(
                f"for $r in $rows {{ update Person set {{ {_spelled(chosen)} }} where {test.text} @ }}", update
            )

        def delete(graph: Graph) -> list[tuple[Any, ...]]:
            found = {
                key: row
                for record in records
                for key, row in graph.people.items()
                if _holds("email = $r.email", {**_own(row), **_of("r", record)})
                and own.value({**_own(row), **_of("r", record)}) is True
            }
            for key in found:
                graph.drop_person(key)
            return _shown(list(found.values()))

        text = f"delete Person where email = $r.email and {own.text}"
        return Statement(f"for $r in $rows {{ {text} @ }}", delete)


def _holds(equality: str, scope: Scope) -> bool:
    if equality == "true":
        return True
    left, _, right = equality.partition(" = ")
    return scope[left] is not None and scope[left] == scope[right]


def _both(graph: Graph, a: str, b: str) -> Scope:
    return {**_of("a", graph.people[a]), **_of("b", graph.people[b])}


def _assigned(values: dict[str, Expr], scope: Scope) -> Row:
    made = {name: expression.value(scope) for name, expression in values.items()}
    if made.get("age") is not None and made["age"] not in AGES:
        raise Refused
    if made.get("paid") is not None:
        if not exact.fits(made["paid"]):
            raise Refused
        made["paid"] = round(made["paid"], 3)
    return made


def _spelled(values: dict[str, Expr]) -> str:
    return ", ".join(f"{name}{expression.path}: {expression.text}" for name, expression in values.items())


def applied(graph: Graph, run: Callable[[Graph], list[tuple[Any, ...]]]) -> tuple[Graph, list[tuple[Any, ...]] | None]:
    """The graph after a mutation and the rows it returns; the same graph and None if it is refused."""
    after = copy.deepcopy(graph)
    try:
        return after, run(after)
    except (Refused, Misfit):
        return graph, None
