"""A naive evaluator of mutations over interfaces and edges with several ends, and a generator that it understands.

A node is known by its type and id: posts and comments share their ids. Conditions are built from few forms, because
expressions have an evaluator of their own in ``naive``.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

SCHEMA = """
interface Message { text: String  likes: I64? }
node Person { name: String @key  age: I64? }
node Post implements Message { slug: String @key  title: String? }
node Comment implements Message { slug: String @key }
node Tag { name: String @key  age: I64? }
edge Likes: Person -> Message { w: I64? }
edge HasTag: Post | Comment -> Tag @key(src, dst) { w: I64? }
edge Rel: Person -> Tag, Tag -> Post { w: I64? }
"""
MESSAGES = ("Comment", "Post")
KEYS = {"Person": "name", "Post": "slug", "Comment": "slug", "Tag": "name"}
IDS = {
    "Person": ("p0", "p1", "p2"),
    "Post": ("s0", "s1", "s2"),
    "Comment": ("s1", "s2", "s3"),
    "Tag": ("t0", "t1"),
}
ENDS = {
    "Likes": {("Person", "Post"), ("Person", "Comment")},
    "HasTag": {("Post", "Tag"), ("Comment", "Tag")},
    "Rel": {("Person", "Tag"), ("Tag", "Post")},
}
RECORDS = "[{ person: String, kind: String, message: String, weight: I64? }]"

Node = tuple[str, str]
Row = dict[str, Any]
Rows = list[tuple[Any, ...]]


class Refused(Exception):
    """The mutation violates a rule; nothing of it is kept."""


@dataclass
class Edge:
    """An edge; its id is minted, and not compared."""

    type: str
    source: Node
    target: Node
    weight: int | None


@dataclass
class Graph:
    """Nodes by type and id, edges in a list."""

    nodes: dict[Node, Row] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def check(self) -> None:
        for edge in self.edges:
            if edge.source not in self.nodes or edge.target not in self.nodes:
                raise Refused

    def messages(self) -> list[Node]:
        return [node for node in self.nodes if node[0] in MESSAGES]

    def liked(self) -> set[tuple[Node, Node]]:
        """The pairs that a traversal of ``likes`` finds."""
        pairs = {(edge.source, edge.target) for edge in self.edges if edge.type == "Likes"}
        return {(a, b) for a, b in pairs if a in self.nodes and b in self.nodes}

    def drop(self, nodes: Iterable[Node]) -> None:
        gone = set(nodes)
        for node in gone:
            del self.nodes[node]
        self.edges = [edge for edge in self.edges if edge.source not in gone and edge.target not in gone]

    def put_edge(self, type_: str, source: Node, target: Node, weight: int | None) -> None:
        if (source[0], target[0]) not in ENDS[type_]:
            raise Refused
        if type_ == "HasTag":
            self.edges = [e for e in self.edges if (e.type, e.source, e.target) != (type_, source, target)]
        self.edges.append(Edge(type_, source, target, weight))

    def resolved(self, type_: str, place: int, id_: str) -> Node:
        """The node of an end that is given by its id alone."""
        types = {pair[place] for pair in ENDS[type_]}
        found = [(name, id_) for name in types if (name, id_) in self.nodes]
        if len(types) > 1 and len(found) != 1:
            raise Refused
        return found[0] if len(types) > 1 else (next(iter(types)), id_)


@dataclass(frozen=True)
class Statement:
    """Its text, and what it does; ``@`` stands for ``returning``."""

    text: str
    run: Callable[[Graph], Rows]


SHOWN = "returning { id, text, likes }"


def _shown(graph: Graph, nodes: Iterable[Node]) -> Rows:
    return [(node[1], graph.nodes[node]["text"], graph.nodes[node]["likes"]) for node in nodes]


def _end(node: Node) -> str:
    return f'{{ type: "{node[0]}", id: "{node[1]}" }}'


def _literal(value: int | None) -> str:
    return "null" if value is None else str(value)


class TypedMutations:
    """Random mutations of one to three statements."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)

    def one(self) -> tuple[str, dict[str, Any], Callable[[Graph], Rows]]:
        """A text, its parameters, and its effect on a graph with the rows that it returns."""
        records = [
            {
                "person": self.choose.choice(IDS["Person"]),
                "kind": (kind := self.choose.choice(MESSAGES)),
                "message": self.choose.choice(IDS[kind]),
                "weight": self.choose.choice((None, 1, 2)),
            }
            for _ in range(self.choose.randrange(4))
        ]
        statements = [self._statement(records) for _ in range(self.choose.choice((1, 1, 2, 3)))]
        # A statement behind a match belongs to it.
        statements.sort(key=lambda item: item.text.startswith("match"))
        returning = next((place for place, item in enumerate(statements) if "@" in item.text), None)
        texts = [item.text.replace("@", SHOWN if place == returning else "") for place, item in enumerate(statements)]
        body = " ".join(texts)
        head = f"$rows: {RECORDS}" if "$rows" in body else ""

        def run(graph: Graph) -> Rows:
            rows = [statement.run(graph) for statement in statements]
            graph.check()
            return [] if returning is None else rows[returning]

        return f"query m({head}) {{ {body} }}", {"rows": records} if head else {}, run

    def _statement(self, records: list[Row]) -> Statement:
        makers = (
            self._insert,
            self._insert,
            self._upsert,
            self._insert_edge,
            self._insert_edge,
            self._upsert_edge,
            self._update_edges,
            self._delete_edges,
            self._delete_nodes,
            self._update_matched,
            self._update_from_person,
            self._update_twins,
            self._delete_matched,
            self._delete_any_edges,
            self._insert_matched,
        )
        if self.choose.random() < 0.1:
            return self._for(records)
        return self.choose.choice(makers)()

    def _node(self, *types: str) -> Node:
        type_ = self.choose.choice(types or tuple(IDS))
        return type_, self.choose.choice(IDS[type_])

    def _insert(self) -> Statement:
        node, number = self._node(), self.choose.choice((None, 0, 1, 2))
        if node[0] not in MESSAGES:

            def put(graph: Graph) -> Rows:
                graph.nodes[node] = {"age": number}
                return []

            return Statement(f'insert {node[0]} {{ name: "{node[1]}", age: {_literal(number)} }}', put)
        text = self.choose.choice(("a", "b c"))

        def run(graph: Graph) -> Rows:
            graph.nodes[node] = {"text": text, "likes": number}
            return _shown(graph, [node])

        return Statement(f'insert {node[0]} {{ slug: "{node[1]}", text: "{text}", likes: {_literal(number)} }} @', run)

    def _upsert(self) -> Statement:
        node = self._node(*MESSAGES)

        def run(graph: Graph) -> Rows:
            old = graph.nodes.get(node, {"text": "new", "likes": None})
            graph.nodes[node] = {"text": old["text"], "likes": (old["likes"] or 0) + 1}
            return _shown(graph, [node])

        text = f'slug: "{node[1]}", text: coalesce(text, "new"), likes: coalesce(likes, 0) + 1'
        return Statement(f"upsert {node[0]} {{ {text} }} @", run)

    def _ends(self, type_: str) -> tuple[Node, Node]:
        pairs = sorted(ENDS[type_])
        if self.choose.random() < 0.1:
            return self._node(*{a for a, _ in pairs}), self._node(*{b for _, b in pairs})
        source, target = self.choose.choice(pairs)
        return self._node(source), self._node(target)

    def _insert_edge(self) -> Statement:
        type_, weight = self.choose.choice(tuple(ENDS)), self.choose.choice((None, 1, 2))
        ends = self._ends(type_)
        bare = [self.choose.random() < 0.3 for _ in ends]

        def run(graph: Graph) -> Rows:
            source, target = (
                graph.resolved(type_, place, node[1]) if bare[place] else node for place, node in enumerate(ends)
            )
            graph.put_edge(type_, source, target, weight)
            return []

        source, target = (f'"{node[1]}"' if is_bare else _end(node) for node, is_bare in zip(ends, bare, strict=True))
        return Statement(f"insert {type_} {{ from: {source}, to: {target}, w: {_literal(weight)} }}", run)

    def _upsert_edge(self) -> Statement:
        source, target = self._node(*MESSAGES), self._node("Tag")

        def run(graph: Graph) -> Rows:
            old = next((e for e in graph.edges if (e.type, e.source, e.target) == ("HasTag", source, target)), None)
            graph.put_edge("HasTag", source, target, ((old and old.weight) or 0) + 1)
            return []

        return Statement(f'upsert HasTag {{ from: {_end(source)}, to: "{target[1]}", w: coalesce(w, 0) + 1 }}', run)

    def _edge_condition(self) -> tuple[str, str, Callable[[Edge], bool]]:
        node = self._node(*MESSAGES)
        forms: tuple[tuple[str, str, Callable[[Edge], bool]], ...] = (
            ("Likes", f'to_type = "{node[0]}"', lambda edge: edge.target[0] == node[0]),
            ("Likes", f'to = "{node[1]}"', lambda edge: edge.target[1] == node[1]),
            (
                "Likes",
                f'from = "p0" and to_type != "{node[0]}" or w is null',
                lambda edge: (edge.source[1] == "p0" and edge.target[0] != node[0]) or edge.weight is None,
            ),
            ("HasTag", f'from_type = "{node[0]}" and w > 1', lambda e: e.source[0] == node[0] and (e.weight or 0) > 1),
            ("Rel", 'from_type + to_type = "TagPost"', lambda edge: edge.source[0] == "Tag"),
        )
        return self.choose.choice(forms)

    def _update_edges(self) -> Statement:
        type_, text, holds = self._edge_condition()

        def run(graph: Graph) -> Rows:
            for edge in graph.edges:
                if edge.type == type_ and holds(edge):
                    edge.weight = (edge.weight or 0) + 1
            return []

        return Statement(f"update {type_} set {{ w: coalesce(w, 0) + 1 }} where {text}", run)

    def _delete_edges(self) -> Statement:
        type_, text, holds = self._edge_condition()

        def run(graph: Graph) -> Rows:
            graph.edges = [edge for edge in graph.edges if edge.type != type_ or not holds(edge)]
            return []

        return Statement(f"delete {type_} where {text}", run)

    def _delete_nodes(self) -> Statement:
        node = self._node()

        def run(graph: Graph) -> Rows:
            graph.drop([node] if node in graph.nodes else [])
            return []

        return Statement(f'delete {node[0]} where {KEYS[node[0]]} = "{node[1]}"', run)

    def _some(self) -> tuple[str, Callable[[Graph, Node], bool]]:
        """Clauses about a message, and whether they hold."""
        id_ = self.choose.choice(("s1", "s2"))
        forms: tuple[tuple[str, Callable[[Graph, Node], bool]], ...] = (
            ("$m.likes > 0", lambda graph, node: (graph.nodes[node]["likes"] or 0) > 0),
            ("$m.likes is null", lambda graph, node: graph.nodes[node]["likes"] is None),
            (f'id($m) = "{id_}"', lambda graph, node: node[1] == id_),
            ('type($m) = "Post"', lambda graph, node: node[0] == "Post"),
            ("exists { $q likes $m }", lambda graph, node: any(b == node for _, b in graph.liked())),
            ("not { $q likes $m }", lambda graph, node: all(b != node for _, b in graph.liked())),
        )
        return self.choose.choice(forms)

    def _update_matched(self) -> Statement:
        clause, holds = self._some()
        narrows = self.choose.random() < 0.4

        def run(graph: Graph) -> Rows:
            found = [node for node in graph.messages() if holds(graph, node)]
            found = [node for node in found if not narrows or graph.nodes[node]["text"].startswith("a")]
            for node in found:
                row = graph.nodes[node]
                graph.nodes[node] = {"text": (row["text"] + "!")[:9], "likes": (row["likes"] or 0) + 1}
            return _shown(graph, found)

        where = ' where text starts_with "a"' if narrows else ""
        sets = 'text: substring(text + "!", 0, 9), likes: coalesce(likes, 0) + 1'
        return Statement(f"match {{ $m: Message {clause} }} update $m set {{ {sets} }}{where} @", run)

    def _update_from_person(self) -> Statement:
        """Two people who like a message give it two texts, which is refused."""
        clause, holds = self._some()

        def run(graph: Graph) -> Rows:
            made: dict[Node, Row] = {}
            for person, node in graph.liked():
                if holds(graph, node):
                    row = {**graph.nodes[node], "text": person[1] + node[0]}
                    if made.setdefault(node, row) != row:
                        raise Refused
            graph.nodes.update(made)
            return _shown(graph, made)

        match = f"match {{ $p: Person $p likes $m {clause} }}"
        return Statement(f"{match} update $m set {{ text: $p.name + type($m) }} @", run)

    def _update_twins(self) -> Statement:
        """A post and a comment of one id exchange their numbers."""

        def run(graph: Graph) -> Rows:
            made: dict[Node, Row] = {}
            for a in graph.messages():
                for b in graph.messages():
                    if a != b and a[1] == b[1]:
                        made[a] = {**graph.nodes[a], "likes": graph.nodes[b]["likes"]}
            graph.nodes.update(made)
            return _shown(graph, made)

        match = "match { $m: Message $n: Message $m != $n id($m) = id($n) }"
        return Statement(f"{match} update $m set {{ likes: $n.likes }} @", run)

    def _delete_matched(self) -> Statement:
        clause, holds = self._some()

        def run(graph: Graph) -> Rows:
            found = [node for node in graph.messages() if holds(graph, node) and node[1] == "s1"]
            rows = _shown(graph, found)
            graph.drop(found)
            return rows

        return Statement(f'match {{ $m: Message {clause} }} delete $m where slug = "s1" @', run)

    def _delete_any_edges(self) -> Statement:
        name = self.choose.choice(IDS["Person"])

        def run(graph: Graph) -> Rows:
            graph.edges = [
                edge
                for edge in graph.edges
                if edge.source != ("Person", name) or edge.source not in graph.nodes or edge.target not in graph.nodes
            ]
            return []

        return Statement(f'match {{ $p: Person {{ name: "{name}" }} $p <$e> $x }} delete $e', run)

    def _insert_matched(self) -> Statement:
        name, (clause, holds) = self.choose.choice(IDS["Person"]), self._some()

        def run(graph: Graph) -> Rows:
            person = ("Person", name)
            for node in graph.messages() if person in graph.nodes else []:
                if (person, node) not in graph.liked() and holds(graph, node):
                    made.append((person, node))
            for pair in made:
                graph.put_edge("Likes", *pair, graph.nodes[pair[1]]["likes"])
            made.clear()
            return []

        made: list[tuple[Node, Node]] = []
        match = f'match {{ $p: Person {{ name: "{name}" }} $m: Message not {{ $p likes $m }} {clause} }}'
        return Statement(f"{match} insert Likes {{ from: $p, to: $m, w: $m.likes }}", run)

    def _for(self, records: list[Row]) -> Statement:
        def run(graph: Graph) -> Rows:
            for record in records:
                target = (record["kind"], record["message"])
                graph.put_edge("Likes", ("Person", record["person"]), target, record["weight"])
            return []

        ends = "from: $r.person, to: { type: $r.kind, id: $r.message }, w: $r.weight"
        return Statement(f"for $r in $rows {{ insert Likes {{ {ends} }} }}", run)


def applied(graph: Graph, run: Callable[[Graph], Rows]) -> tuple[Graph, Rows | None]:
    """The graph after a mutation and the rows it returns; the same graph and None if it is refused."""
    after = copy.deepcopy(graph)
    try:
        return after, run(after)
    except Refused:
        return graph, None
