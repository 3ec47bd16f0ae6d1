"""Small graphs with a clock and ids of their own, and short ways to look at them."""

import json
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph.core.ids import encode_ulid
from omnigraph.engine.snapshot import Snapshot

SCHEMA = """
node Person { name: String @key
    age: I32?
    email: String? @unique
    mood: enum(calm, angry)?
    @range(age, 0..150)
    @check(email, "@") }
node Note { text: String
    rank: I32? }
edge Knows: Person -> Person { since: Date? }
edge Wrote: Person -> Note @card(0..2)
edge Needs: Person -> Person @card(2..3)
"""
START_US = 1_700_000_000_000_000
STEP_US = 1_000_000


class Ticking:
    """A clock that goes one second further each time it is looked at."""

    def __init__(self, start_us: int = START_US) -> None:
        self.us = start_us

    def now_us(self) -> int:
        self.us += STEP_US
        return self.us


class Counting:
    """ULIDs 1, 2, 3 ... in the order of minting; different numbers for different processes' sakes."""

    def __init__(self, process: int = 0) -> None:
        self._process = process
        self._last = 0

    def new_id(self) -> str:
        self._last += 1
        return encode_ulid(START_US // 1000, self._process * 2**60 + self._last)

    def new_ids(self, count: int) -> str:
        return "".join(self.new_id() for _ in range(count))


def create(path: Path, schema: str = SCHEMA, **options: Any) -> omnigraph.Graph:
    options.setdefault("clock", Ticking())
    options.setdefault("ids", Counting())
    return omnigraph.create(path / "g", schema, durability="os", **options)


def reopen(graph: omnigraph.Graph) -> omnigraph.Graph:
    """The same graph in a handle that knows nothing."""
    return omnigraph.open(graph.uri, durability="os", tuning=graph.tuning)


def person(name: str, **properties: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **properties}}


def note(id_: str, text: str = "text", **properties: Any) -> dict[str, Any]:
    return {"type": "Note", "data": {"id": id_, "text": text, **properties}}


def edge(type_: str, source: str, target: str, id_: str | None = None, **properties: Any) -> dict[str, Any]:
    data = properties if id_ is None else {"id": id_, **properties}
    return {"edge": type_, "from": source, "to": target, "data": data}


def insert(graph: omnigraph.Graph, name: str, **options: Any) -> Any:
    return graph.mutate("query q($n: String) { insert Person {name: $n} }", {"n": name}, **options)


def run(graph: omnigraph.Graph, statements: str, **options: Any) -> Any:
    """Statements as one mutation."""
    return graph.mutate(f"query q() {{ {statements} }}", **options)


def contents(source: omnigraph.Graph | Snapshot) -> dict[str, list[dict[str, Any]]]:
    """Every entity by type, without ids of edges and notes, which nobody chose."""
    snapshot = source if isinstance(source, Snapshot) else source.snapshot()
    found: dict[str, list[dict[str, Any]]] = {}
    for line in b"".join(snapshot.export()).splitlines():
        record = json.loads(line)
        shown = {key: value for key, value in record.get("data", {}).items() if key != "id" and value is not None}
        ends = {key: record[key] for key in ("from", "to") if key in record}
        found.setdefault(record.get("type") or record["edge"], []).append({**ends, **shown})
    return {name: sorted(rows, key=lambda row: json.dumps(row, sort_keys=True)) for name, rows in found.items()}


def names(source: omnigraph.Graph | Snapshot) -> list[str]:
    """The names of all persons."""
    return sorted(row["name"] for row in contents(source).get("Person", []))


def lines(path: Path, *records: dict[str, Any]) -> Path:
    """A JSON-lines file."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
