"""The people graph and the shortest way to ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.engine.graph import Graph
from omnigraph.engine.query.result import QueryResult

NOW_MS = 1_577_836_800_000
"""2020-01-01T00:00:00Z"""


class FixedClock:
    def now_us(self) -> int:
        return NOW_MS * 1000


SCHEMA = """
interface Named { name: String }
node Person implements Named {
    name: String @key
    age: I32?
    score: F64?
    height: F32?
    visits: U64?
    big: I64?
    nick: String?
    active: Bool?
    born: Date?
    seen: DateTime?
    tags: [String]?
    lucky: [I32]?
    level: enum(low, mid, high)?
}
node Company implements Named { name: String @key founded: I32? }
node Doc { title: String @key body: String? vec: Vector(2)? }
edge Knows: Person -> Person { since: Date? note: String? }
edge WorksAt: Person -> Company { role: String? }
edge Wrote: Person -> Doc
"""


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def edge(kind: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


# Ann -> Bob (twice), Bob -> Cid -> Dan -> Ann, Dan -> Dan; Eve knows nobody. Acme: Ann, Bob; Zeta: Ann.
RECORDS = [
    person("Ann", age=30, score=1.5, height=0.1, visits=2**64 - 1, big=2**53 + 1, active=True, level="high"),
    person("Bob", age=20, score=-0.0, nick="bb", active=False, born="1999-05-01", tags=["x", "y"], lucky=[1, 2]),
    person("Cid", age=30, score=0.0, nick="", seen="2019-12-31T23:59:59.999Z", tags=[], level="low"),
    person("Dan", nick="O'Dan", active=True, born="1969-12-31", tags=["x"]),
    person("Eve", age=25, score=2.0, height=2.5, visits=1, big=-1, level="mid"),
    {"type": "Company", "data": {"name": "Acme", "founded": 1990}},
    {"type": "Company", "data": {"name": "Zeta"}},
    {"type": "Company", "data": {"name": "Void", "founded": 2000}},
    edge("Knows", "Ann", "Bob", since="2001-01-01", id="ab1"),
    edge("Knows", "Ann", "Bob", note="again", id="ab2"),
    edge("Knows", "Bob", "Cid", id="bc"),
    edge("Knows", "Cid", "Dan", since="2003-01-01", id="cd"),
    edge("Knows", "Dan", "Ann", id="da"),
    edge("Knows", "Dan", "Dan", id="dd"),
    edge("WorksAt", "Ann", "Acme", role="boss"),
    edge("WorksAt", "Bob", "Acme"),
    edge("WorksAt", "Ann", "Zeta", role="aide"),
    {"type": "Doc", "data": {"title": "d1", "body": "the quick brown fox", "vec": [0, 0]}},
    {"type": "Doc", "data": {"title": "d2", "body": "fox fox jumping foxes", "vec": [3, 4]}},
    {"type": "Doc", "data": {"title": "d3", "body": "lazy dogs", "vec": [0, 1]}},
    {"type": "Doc", "data": {"title": "d4", "body": "graph databases are quick"}},
    {"type": "Doc", "data": {"title": "d5", "vec": [1, 0]}},
    edge("Wrote", "Ann", "d1"),
    edge("Wrote", "Ann", "d2"),
    edge("Wrote", "Bob", "d2"),
    edge("Wrote", "Bob", "d5"),
]


@dataclass
class People:
    graph: Graph

    def ask(
        self,
        match: str,
        returns: str,
        rest: str = "",
        params: str = "",
        values: dict[str, Any] | None = None,
        **how: Any,
    ) -> QueryResult:
        word = "return distinct" if rest.startswith("distinct") else "return"
        rest = rest.removeprefix("distinct")
        text = f"query q({params}) {{ match {{ {match} }} {word} {{ {returns} }} {rest} }}"
        return self.graph.query(text, values, **how)

    def rows(self, match: str, returns: str, rest: str = "", params: str = "", **values: Any) -> list[tuple[Any, ...]]:
        """The rows as tuples; sorted unless an order is asked for."""
        result = self.ask(match, returns, rest, params, values)
        found = [tuple(row) for row in zip(*(column.to_pylist() for column in result.table.columns), strict=True)]
        return found if "order" in rest else sorted(found, key=repr)

    def names(self, match: str, returns: str = "$p", params: str = "", **values: Any) -> str:
        """One column of short names, as words."""
        return " ".join(str(row[0]) for row in self.rows(match, returns, "", params, **values))
