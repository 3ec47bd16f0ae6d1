"""Graphs of many shapes, and the same graphs for networkx."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import networkx

from omnigraph.engine.graph import Graph, create

SCHEMA = """
node Person { name: String @key rank: F64? small: F32? group: I64? tiny: I32? count: U32? note: String? }
node Place { name: String @key group: I64? }
edge Knows: Person -> Person { w: F64? n: I32? }
edge Likes: Person -> Person { w: F64? }
edge Lives: Person -> Place { w: F64? }
edge Hosts: Place -> Person
"""

Node = tuple[str, str]
"""Type and id."""


@dataclass
class Shape:
    """Persons, places and edges; an edge is its type, the ids of its ends and its weight."""

    persons: list[str]
    edges: list[tuple[str, str, str, float]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def records(self) -> list[dict[str, Any]]:
        nodes = [("Person", name) for name in self.persons] + [("Place", name) for name in self.places]
        return [
            *({"type": type_, "data": {"name": name}} for type_, name in nodes),
            *(
                {"edge": kind, "from": source, "to": target, "data": {} if kind == "Hosts" else {"w": weight}}
                for kind, source, target, weight in self.edges
            ),
        ]

    def graph(self, place: Path) -> Graph:
        graph = create(place, SCHEMA, durability="os")
        records = self.records()
        if records:
            graph.load(records, "append")
        return graph

    def networkx(self, kinds: tuple[str, ...]) -> networkx.MultiDiGraph:
        """The chosen edges with all nodes of the types at their ends, which are known by type and id."""
        ends = {"Knows": "PP", "Likes": "PP", "Lives": "PO", "Hosts": "OP"}
        letters = {"P": ("Person", self.persons), "O": ("Place", self.places)}
        found = networkx.MultiDiGraph()
        for letter in sorted({letter for kind in kinds for letter in ends[kind]}):
            type_, names = letters[letter]
            found.add_nodes_from((type_, name) for name in names)
        for kind, source, target, weight in self.edges:
            if kind in kinds:
                first, second = (letters[letter][0] for letter in ends[kind])
                found.add_edge((first, source), (second, target), weight=weight)
        return found


def names(count: int, prefix: str = "p") -> list[str]:
    """Names whose order is not that of their numbers."""
    return [f"{prefix}{number * 7919 % 1009}-{number}" for number in range(count)]


def random_shape(seed: int, count: int, edges: int, *, kinds: tuple[str, ...] = ("Knows",)) -> Shape:
    """Random edges: loops, parallel ones and nodes without any come by themselves."""
    chance = random.Random(seed)
    persons, places = names(count), names(max(count // 3, 1), "q")
    ends = {
        "Knows": (persons, persons),
        "Likes": (persons, persons),
        "Lives": (persons, places),
        "Hosts": (places, persons),
    }
    made = []
    for _ in range(edges):
        kind = chance.choice(kinds)
        sources, targets = ends[kind]
        weight = chance.choice([0.0, 0.5, 1.0, 2.5, 7.0]) if kind != "Hosts" else 1.0
        made.append((kind, chance.choice(sources), chance.choice(targets), weight))
    return Shape(persons, made, places if {"Lives", "Hosts"} & set(kinds) else [])


def knows(persons: list[str], pairs: list[tuple[int, int]]) -> Shape:
    return Shape(persons, [("Knows", persons[a], persons[b], 1.0) for a, b in pairs])


TEN = names(10)
SHAPES: dict[str, Shape] = {
    "empty": Shape([]),
    "one node": Shape(["a"]),
    "one loop": knows(["a"], [(0, 0)]),
    "no edges": Shape(TEN),
    "two parallel edges": knows(["b", "a"], [(0, 1), (0, 1)]),
    "there and back": knows(["b", "a"], [(0, 1), (1, 0)]),
    "chain": knows(TEN, [(n, n + 1) for n in range(9)]),
    "ring": knows(TEN, [(n, (n + 1) % 10) for n in range(10)]),
    "star in": knows(TEN, [(n, 0) for n in range(1, 10)]),
    "star out": knows(TEN, [(0, n) for n in range(1, 10)]),
    "complete": knows(TEN, [(a, b) for a in range(10) for b in range(10) if a != b]),
    "two parts": knows(TEN, [(0, 1), (1, 2), (2, 0), (5, 6), (6, 7), (7, 5), (7, 7)]),
    "sparse": random_shape(1, 60, 40),
    "loops and parallels": random_shape(2, 6, 60),
    "dense": random_shape(3, 40, 500),
    "middling": random_shape(4, 200, 500),
}
